"""Tell what whole numbers are: amounts, ids of records, ids of a panel or of units, or codes.

Codes have no smooth law: a trade has ten times the records of the next one, and many numbers
between two codes are none. Codes without gaps, such as those of states, tell themselves by their
name, or by neighbours that are as unlike as any two codes are. Amounts and counts have gaps that
widen with their size, or a middle far from which they are rare. Ids of a panel come once in each
wave. Ids of units, such as households, say which records are of one unit. Survey weights are no
columns of a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from pyvws._base.checks import Floats
from pyvws.tables.files.frame import Frame
from pyvws.tables.files.kinds import distinct, floats_of, has_labels, holds_numbers
from pyvws.tables.files.labels import label_of
from pyvws.tables.proposal import notes
from pyvws.tables.proposal.often import Bools, Codes, Often
from pyvws.tables.schema.column import Columns
from pyvws.tables.schema.families import MOST_LEVELS

OF_NUMBERS: Final = ("negative-binomial", "normal", "truncated-normal", "gamma", "beta")
"""Families of numbers. A column of one may still be of ids."""

FEW: Final = 20  # Whole numbers with at most so many values are codes.
_PAIRS: Final = 5.0  # So many pairs of alike numbers were to be expected of no ids.
_DIGITS: Final = 6
_EXACT: Final = 2.0**53  # Floats tell no larger whole numbers apart.
_RISING: Final = 0.9  # So many of the steps between neighbours go one way in ids of records.
_UNLIKE: Final = 0.4  # Neighbours in a code differ by such a share of their records, half of them.
_UNLIKE_WITHOUT: Final = 0.35  # Without gaps by such a share,
_AS_ANY: Final = 0.8  # and by such a share of what any two codes do.
_RECORDS_A_PAIR: Final = 8
_LEAST_PAIRS: Final = 10
_MIDDLE: Final = 0.2  # Records fall by such a rank correlation with the distance from the median,
_WIDENING: Final = 0.3  # or gaps widen by such a one with the size of a number.
_GAPS: Final = 0.5  # A code has at most such a share of the numbers that its span has.
_FEW_UNITS: Final = 4  # So few may still be units, of which a rule needs several.
_MOST_MEMBERS: Final = 30  # A unit has at most so many records on average,
_MOST_OF_AN_ID: Final = 100  # or so many where its name is one of ids.
_OF_CODES: Final = re.compile(
    "codes?|states?|region|county|district|province|canton|country|municipality|fips|nuts|puma|"
    "occupation|occ|isco|nace|sic"
)
_OF_IDS: Final = re.compile(
    "[chpu]?ids?|rownames|serial|(case|child|class|clinic|county|dist|district|family|firm|hh|home|"
    "hosp|hospital|house|household|mother|pat|patient|person|pupil|record|resp|respondent|school|"
    "stud|student|subj|subject|teacher|town|unit|user|worker)id"
)
_LAST_OF_IDS: Final = re.compile("nr|patient|pupil|respondent|subject")
_OF_TIMES: Final = re.compile(
    "(year|time|date|month|week|day|hour|quarter|period|wave|round|season)s?|yr|t"
)
_OF_WEIGHTS: Final = re.compile(
    r"[ph]?w(gh?|eigh)?ts?[0-9]*|w|gewicht|poids|ponder[a-z]*|pond|peso|fexp|expansion"
)
_OF_SURVEYS: Final = re.compile(
    r"(?:^|_)(?:[ph]?wgtp|fnlwgt|pweight|hweight|dweight|pspwg?h?t|anweight)[0-9]*$"
    r"|(?:survey|sampl\w*|design|final|person|hh|house\w*|calib\w*|base|resp\w*)_?(?:weight|wgh?t|wt)"
)
_BETWEEN_WORDS: Final = re.compile(r"[^a-z0-9]+")
_DECIMALS: Final = 2  # Of measured sizes, at most; weights are quotients.
_HEAVY: Final = 250.0  # No mean weight of persons in kilograms or pounds is as large.
_NUMBERED: Final = re.compile(r"([^\W\d_]+[-_ ]?)([0-9]{3,})")
_PART_OF_NAME: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_BY_CHANCE: Final = 10.0  # Standard errors.
_FAR_FROM_EVEN: Final = 2.0  # Distances from evenly spread ids, over the root of their number.
_PAIRS_APART: Final = 10.0  # So many pairs would be alike, or differ, if no id or unit did it.


def numbers_records(values: Floats) -> bool:
    """Whether whole numbers (n,) in the order of their rows look like ids of records.

    All differ, and are spread evenly with as many digits each, or have mostly one step. They hardly
    differ by chance: drawn from as many numbers as their span has, several pairs would be alike. Or
    they rise or fall with the row, and have six digits or more. Amounts are not so even, of a
    sorted file neither.
    """
    if not _differ(values):
        return False
    if _by_chance(values):
        up = float((np.diff(values) > 0).mean())
        if max(up, 1.0 - up) < _RISING or not may_number_records(values):
            return False
    return _are_even(values, digits=1)


def _are_even(values: Floats, *, digits: int) -> bool:
    """Whether numbers (n,) have mostly one step, or are spread evenly, of enough digits."""
    y = np.sort(values)
    if np.unique(np.diff(y), return_counts=True)[1].max() >= (len(y) - 1) / 2:
        return True
    even = (y - y[0]) / (y[-1] - y[0])
    apart = np.abs(even - np.linspace(0.0, 1.0, len(y))).max()
    return _digits(values) >= digits and bool(apart <= _FAR_FROM_EVEN / np.sqrt(len(y)))


def may_number_records(values: Floats) -> bool:
    """Whether whole numbers (n,) all differ, and hardly by chance or with six digits or more."""
    return _differ(values) and (not _by_chance(values) or _digits(values) >= _DIGITS)


def _by_chance(values: Floats) -> bool:
    """Whether numbers (n,) in their span may all differ by chance."""
    return bool(0.5 * len(values) ** 2 / (values.max() - values.min() + 1.0) < _PAIRS)


def _digits(values: Floats) -> int:
    """The digits of numbers (n,) above 0 that have as many each; else 0."""
    low, high = float(values.min()), float(values.max())
    digits = {len(label_of(end)) for end in (low, high)}
    return min(digits) if low > 0 and len(digits) == 1 else 0


def _differ(values: Floats) -> bool:
    return FEW < len(values) == len(np.unique(values))


def named_as_codes(name: str, known: Floats) -> bool:
    """Whether a name has a word for codes, as state_of_birth has, and the codes leave no gaps.

    The different numbers `known` (L,) rise. Those of state_tax have the word too, and leave gaps.
    """
    words = _has_word(name, _OF_CODES)
    filled = len(known) > _GAPS * (known[-1] - known[0] + 1.0)
    return words and bool(filled) and known[0] >= 0 and len(known) <= MOST_LEVELS


def named_as_ids(name: str) -> bool:
    """Whether a name has a word for ids, as RespondentID and patient_id have, or ends in one."""
    last = _PART_OF_NAME.findall(name)[-1:]
    return _has_word(name, _OF_IDS) or any(map(_LAST_OF_IDS.fullmatch, map(str.lower, last)))


def digits_of_numbered(values: Sequence[str]) -> int:
    """The digits of values that are one word and a number of so many, as F00017 is; else 0."""
    parts = [_NUMBERED.fullmatch(value) for value in values]
    found = {(part[1], len(part[2])) for part in parts if part}
    return found.pop()[1] if None not in parts and len(found) == 1 else 0


def named_as_times(name: str) -> bool:
    """Whether a name has a word for a time, as year and SeasonStart have, and none for ids."""
    return _has_word(name, _OF_TIMES) and not named_as_ids(name)


def _has_word(name: str, words: re.Pattern[str]) -> bool:
    return any(words.fullmatch(part.lower()) for part in _PART_OF_NAME.findall(name))


def look_like_codes(values: Floats) -> bool:
    """Whether whole numbers (n,) look like codes: their frequencies are in no smooth order.

    Neighbours are compared among equally round numbers, since people round amounts. Without gaps
    they are as unlike as any two numbers are. Few records tell nothing, so their numbers stay
    numbers.
    """
    known, counts = np.unique(values, return_counts=True)
    if not len(known) > FEW or known[0] < 0 or known[-1] >= _EXACT:
        return False
    step = float(np.gcd.reduce(np.diff(known).astype(np.int64)))
    gaps = len(known) <= _GAPS * ((known[-1] - known[0]) / step + 1.0)
    if not gaps and len(known) > MOST_LEVELS:  # An amount; all pairs would be many, too.
        return False
    steps = np.diff(known)
    beside = np.concatenate([steps[:1], steps]) + np.concatenate([steps, steps[-1:]])
    if gaps and _rank_correlation(known, beside) > _WIDENING:  # As amounts have in a tail.
        return False
    if not gaps or len(known) > MOST_LEVELS:  # More proof is needed: numbers have a middle.
        apart = np.abs(known - np.median(values))
        if _rank_correlation(apart, counts) < -_MIDDLE:
            return False
    round_to = _roundness(known)
    pairs = [
        np.stack([own[:-1:2], own[1::2]])
        for own in (counts[round_to == as_round] for as_round in np.unique(round_to))
        if len(own) > 1
    ]
    a, b = np.concatenate(pairs, axis=1).astype(np.float64)
    enough = a + b >= _RECORDS_A_PAIR
    if enough.sum() < _LEAST_PAIRS or (a + b)[enough].sum() < len(values) / 2:
        return False
    a, b = a[enough], b[enough]
    by_chance = len(a) + _BY_CHANCE * np.sqrt(2.0 * len(a))
    unlike = float(np.median(np.abs(a - b) / (a + b)))
    if ((a - b) ** 2 / (a + b)).sum() <= by_chance:
        return False
    if gaps:
        return unlike >= _UNLIKE
    beside, any_two = (_unlike(counts, round_to, every=every) for every in (False, True))
    return beside >= max(_UNLIKE_WITHOUT, _AS_ANY * any_two)


def _rank_correlation(a: ArrayLike, b: ArrayLike) -> float:
    """The correlation of the mean ranks of two columns (n,); 0 where one is constant."""
    ranks = [rankdata(values) for values in (a, b)]
    if min(map(np.ptp, ranks)) == 0.0:
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])


def _unlike(counts: Codes, round_to: Codes, *, every: bool) -> float:
    """The median share by which counts (n,) of equally round numbers differ: of neighbours, or all.

    Pairs of few records are left out.
    """
    shares = []
    for as_round in np.unique(round_to):
        own = counts[round_to == as_round].astype(np.float64)
        pairs = np.triu_indices(len(own), 1)
        a, b = (own[pairs[0]], own[pairs[1]]) if every else (own[:-1], own[1:])
        shares.append((np.abs(a - b) / (a + b))[a + b >= _RECORDS_A_PAIR])
    return float(np.median(np.concatenate(shares)))


def _roundness(known: Floats) -> Codes:
    """How round whole numbers (n,) are: by how many of 5, 10, 50, 100 and so on they divide."""
    powers = 10.0 ** np.arange(1, 13)
    steps = np.concatenate([powers / 2.0, powers])
    return np.asarray((np.mod(known[:, None], steps) == 0.0).sum(axis=1), dtype=np.intp)


def part_in_waves(ids: Codes, waves: Codes) -> bool:
    """Whether codes (N,) come at most once in each of some waves (N,), as those of a panel do.

    Else 10 pairs of records or more with one id would be of one wave by chance.
    """
    if min(ids.min(), waves.min()) < 0:  # Empty cells.
        return False
    own, of_wave = np.bincount(ids), np.bincount(waves)
    if np.count_nonzero(of_wave) > np.count_nonzero(own):
        return False
    pairs = float((own * (own - 1.0)).sum() / 2.0)
    shares = of_wave / len(waves)
    if pairs * float((shares**2).sum()) < _PAIRS_APART:
        return False
    both: Any = ids.astype(np.int64) * len(of_wave) + waves
    return len(np.unique(both)) == len(both)


def proposed_unit(frame: Frame, proposed: Columns) -> str | None:
    """The column of ids whose units are the largest; None where no records share an id."""
    noted = [name for name, column in proposed.items() if column.note == notes.UNIT]
    return min(noted, key=lambda name: len(distinct(frame[name])[1]), default=None)


def units_of_records(frame: Frame, proposed: Columns) -> Often:
    """The unit of each record (N,): what all records of one household have is one observation.

    Few units are units here too.
    """
    noted = [name for name, column in proposed.items() if column.note == notes.UNIT]
    names = noted or ids_of_units(frame, proposed, least=_FEW_UNITS)
    return Often.of(distinct(frame[names[0]])[0] if names else np.arange(len(frame)))


def ids_of_units(
    frame: Frame, proposed: Columns, least: int = FEW + 1, *, larger: bool = False
) -> list[str]:
    """Columns of text or whole numbers that say which records are of one household or person.

    Their values stand together, and in some other column neighbours in a unit are alike, of which
    10 pairs or more would differ if they were any records. A column whose values stand together
    itself tells of no units: a table sorted by age has age groups so. Or each value comes at most
    once in each wave of some other column, as in a panel, in any order. No unit has empty cells.
    `larger` gives those to ask for: of up to 100 records a value, which are too many for a
    household, or whose values look like ids by nothing else and stand in rows apart. Where nothing
    else tells of units, as of purchases, so does the name of an id that records share.
    """
    shared: list[str] = []
    by_name: list[str] = []
    for name, column in proposed.items():
        codes_too = column.note in (notes.CODE, notes.MANY_CODES) or (
            least <= FEW and column.categorical
        )
        named = column.note in (notes.NAMED_ID, notes.TEXT) and named_as_ids(name)
        of_ids = named or column.note in (notes.NAMED_ID, notes.NUMBERED)
        kind = (column.model in OF_NUMBERS or codes_too) and frame[name].dtype.is_integer()
        text = has_labels(frame[name]) and column.note in (None, notes.TEXT, notes.NUMBERED_CODES)
        if not (kind or text or of_ids) or column.days_since is not None or named_as_times(name):
            continue
        own, known = distinct(frame[name])
        if (own < 0).any():
            continue
        number = len(known)
        alike = own[1:] == own[:-1]
        together = number == len(own) - int(alike.sum())
        # Units of these may stand in rows apart; what only looks like ids is asked for alone.
        small = least <= number < len(own) <= _MOST_MEMBERS * number
        looks = small and kind and _are_even(np.array(known, dtype=np.float64), digits=1)
        looks |= small and column.note == notes.TEXT
        shuffled = larger and looks and not (together or of_ids)
        rows = np.argsort(own, kind="stable") if of_ids or shuffled else np.arange(len(own))
        alike = own[rows][1:] == own[rows][:-1]
        together |= of_ids or shuffled
        others = [
            distinct(frame[other])[0][rows]
            for other in frame.columns
            if other != name and proposed[other].note not in (notes.ONE, notes.OTHER, notes.ID)
        ]
        most = _MOST_OF_AN_ID if of_ids or larger else _MOST_MEMBERS
        fewest = 0 if shuffled or not larger else _MOST_OF_AN_ID if of_ids else _MOST_MEMBERS
        if not (least <= number < len(own) and fewest * number < len(own) <= most * number):
            continue
        held = sum(
            (together and _holds_together(alike, codes, numbered=of_ids))
            or (number > FEW and not shuffled and part_in_waves(own[rows], codes))
            for codes in others
        )
        if held > int(shuffled):
            shared.append(name)
        elif named and not larger:
            by_name.append(name)
    return shared or by_name


def _holds_together(alike: Bools, codes: Codes, *, numbered: bool) -> bool:
    """Whether neighbours of one unit are alike in codes (N,), hardly by chance.

    Codes that have each value in one place may follow the units' order alone. Of ids that look
    `numbered` they tell too.
    """
    shares = np.unique(codes, return_counts=True)[1] / len(codes)
    apart = codes[1:] != codes[:-1]
    return bool(
        not apart[alike].any()
        and (numbered or apart.sum() >= len(shares))
        and alike.sum() * (1.0 - (shares**2).sum()) >= _PAIRS_APART
    )


def are_survey_weights(column: nw.Series[Any]) -> bool:
    """Whether a column looks like survey weights: by a name of weights, and values above 0.

    "weight" may be that of a body. So such a name needs values with many decimals, or values that
    no body has.
    """
    if not holds_numbers(column):
        return False
    name, values = column.name.lower(), floats_of(column)
    values = values[~np.isnan(values)]
    if len(np.unique(values)) < 2 or (values < 0.0).any() or np.isinf(values).any():
        return False
    if _OF_SURVEYS.search(name):
        return True
    if not any(_OF_WEIGHTS.fullmatch(word) for word in _BETWEEN_WORDS.split(name)):
        return False
    parts = values * 10**_DECIMALS
    fractions = np.abs(parts - np.rint(parts)) > 1e-6 * np.maximum(1.0, parts)
    return bool(np.mean(fractions) > 0.5 or values.mean() > _HEAVY)
