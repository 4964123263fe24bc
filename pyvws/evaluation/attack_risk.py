"""Attacks on synthetic tables: singling out, linkability and inference, as WP216 asks [giomi2023].

Each attack is made on records of the original, and on control records that no dataset was made
from. What they find beyond the control is the risk, as `pyvws.evaluation.disclosure` says. A
membership attack asks which records the datasets were made from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from narwhals.typing import IntoFrame
from numpy.typing import NDArray

from pyvws._base.checks import Floats, whole_number
from pyvws.errors import InputError
from pyvws.evaluation.bootstrap import units_drawn
from pyvws.evaluation.disclosure import AttackScore, distance_blocks, score_of
from pyvws.evaluation.membership import membership_attack
from pyvws.evaluation.original_and_datasets import OriginalAndDatasets, Plain, plain_tables
from pyvws.sheet import InSheets, Sheet
from pyvws.tables.files.kinds import distinct
from pyvws.tables.files.labels import id_of, spells_empty
from pyvws.tables.schema.schema import Schema

_LEAST: Final = 20  # Records, or units, to attack.
_TOLERANCE: Final = 0.05  # Of the guess: how far off a number may be.
_TIE: Final = 1e-9  # Distances closer than that tie.
_TRIES: Final = 100  # Predicates are drawn at most so often for each one that is wanted.
_PART: Final = 1000  # Records that rule most predicates out.
_CELLS: Final = 4_000_000  # Predicates times records at a time.
_FEW: Final = 100  # Attacks; the sheet says where there were fewer.
_SHOWN: Final = ("attack", "control", "risk", "lower", "upper", "naive")
_TOP: Final = np.iinfo(np.int32).max

Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class AttackRisk(InSheets):
    """What `attack_risk` finds: `scores` of the attacks, and those `not_made`, with the reason.

    A score has .name, .attack, .control, .risk, .lower, .upper and .naive; larger = riskier.
    Where the control group is `smaller` than the original its singling out is extrapolated. Where
    it was `halved`, one half was the reference table of the membership attack.
    """

    scores: tuple[AttackScore, ...]
    not_made: Mapping[str, str]
    smaller: bool
    halved: bool

    @property
    def sheet(self) -> Sheet:
        """Each attack with its risk, the ends of the interval, and the naive guess."""
        useless = [own.name for own in self.scores if own.attack <= own.naive]
        return Sheet(
            "Attacks on the synthetic datasets (confidential)",
            ("attack", "data", *_SHOWN[1:]),
            [(own.name, *(round(getattr(own, part), 4) for part in _SHOWN)) for own in self.scores],
            notes=[
                "data, control: how often the attack is right on records of the data and of the "
                "control. risk = (data - control) / (1 - control), with its 95 % interval; larger "
                "= riskier, and below 0 is chance. naive: random guesses from the datasets.",
                "The control must be held out at random, by whole units, before synthesis. So the "
                "figures audit this run, and not a release that is made from all records.",
                "An audit finds faults. A small figure proves nothing: another attack may find "
                "more, and only epsilon bounds them all.",
                "membership: a record's score says how dense the datasets are about it, beside a "
                "reference table. In that share of pairs it is larger than a control record's. "
                "membership, 1 %: the share of records above the score that 1 % of the control "
                "exceeds.",
                *["The control is smaller, so its singling out is extrapolated."] * self.smaller,
                *["Half of the control was the membership attack's reference."] * self.halved,
                *(
                    f"{own.name}: only {own.attacks} attacks could be made."
                    for own in self.scores
                    if own.attacks < _FEW
                ),
                *(f"{name} is no better than naive: it tells nothing." for name in useless),
                *(f"{name} was not tried: {why}." for name, why in self.not_made.items()),
            ],
            facts={"attacks": {own.name: asdict(own) for own in self.scores}},
        )


def attack_risk(
    original: IntoFrame,
    synthetic: Sequence[Any],
    *,
    control: IntoFrame | None,
    keys: Sequence[str],
    secret: Sequence[str] | str,
    reference: IntoFrame | None = None,
    neighbours: int = 1,
    together: int = 3,
    attacks: int = 1000,
    schema: Schema | None = None,
    seed: int = 1,
) -> AttackRisk:
    """Risks of singling out, linkability, inference and membership by a control group [giomi2023].

    An audit finds faults, and small figures prove nothing: another attack may find more. Hold the
    control group out at random, by whole units, before synthesis. The figures then audit that run,
    and not a release from all records. Where the schema has a unit, one record of each is attacked.
    With several datasets each attack uses one of them, in turn.

    Singling out: a predicate that holds for one synthetic record holds for one original record. It
    is a lone value or a lowest or highest number (univariate), or some values of a synthetic record
    (multivariate), numbers from the median outwards. A smaller control group's rate is extrapolated
    to as many records, and roughly; a larger one's is that of random parts of it.

    Linkability: the first and the second half of the keys have a nearest synthetic record in
    common. Inference: the nearest synthetic record by all keys has the secret. A number is right
    within 5 % of the guess. Records are near as in `pyvws.table_risk`, and ties are by chance.

    Membership: a record's score is how dense all datasets are about it, in all columns, over how
    dense a reference table is (`pyvws.evaluation.membership`). Its risk is 2 AUC - 1, and its rates
    stand at 10 % and 1 % of false positives too.

    Parameters
    ----------
    original : pandas, polars or Arrow table
        Confidential records that the datasets were made from.
    synthetic : sequence of tables
        Synthetic datasets. A single one stands in a list.
    control : table
        At least 20 records, or units, that were held out. Records that stand in `original` too are
        no control group.
    keys : sequence of str
        Columns that an attacker knows of a record. Linkability needs two.
    secret : str or sequence of str
        Columns that an attacker wants to know.
    reference : table, optional
        Records of the same population, of neither `original` nor `control`, such as a public file.
        Without it a random half of the control group, by whole units, is the reference.
    neighbours : int
        How many nearest synthetic records of each half may be the common one.
    together : int
        Columns of a multivariate predicate.
    attacks : int
        The most attacks of a kind.
    schema : Schema, optional
        As in `pyvws.table_utility`.
    seed : int
        Seed of what is drawn: predicates, records, ties and naive guesses.

    Returns
    -------
    AttackRisk

    Raises
    ------
    InputError
        For no control group, one with records or units of the original, a reference with records
        of either, too few records, no key or secret, a secret among the keys, and a column that a
        table lacks or that is constant.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> x = np.random.default_rng(1).normal(size=(3, 200, 2))
    >>> records, control, other = (pd.DataFrame(own, columns=["a", "b"]) for own in x)
    >>> found = attack_risk(records, [records], control=control, keys=["a"], secret="b")
    >>> {own.name: round(own.risk, 1) for own in found.scores}["inference b"]
    1.0
    """
    neighbours = whole_number(neighbours, "neighbours", least=1)
    together = whole_number(together, "together", least=1)
    attacks = whole_number(attacks, "attacks", least=1)
    rng = np.random.default_rng(whole_number(seed, "seed", least=0))
    known = [keys] if isinstance(keys, str) else list(dict.fromkeys(keys))
    secrets = [secret] if isinstance(secret, str) else list(dict.fromkeys(secret))
    if not known:
        raise InputError.by("keys-missing")
    if not secrets:
        raise InputError.by("secret-missing")
    if both := sorted(set(known) & set(secrets)):
        raise InputError.by("key-is-target", both=both[0])
    if control is None:
        raise InputError.by("control-missing")
    read = OriginalAndDatasets.read(
        original, synthetic, schema=schema, holdout=control, reference=reference
    )
    tables = plain_tables(read, least=1)
    tables.require((*known, *secrets), read.first.columns)
    _refuse_shared_units(read)
    first, *datasets = tables.original, *tables.synthetic
    public = datasets.pop() if reference is not None else datasets[-1]
    held = datasets.pop()
    targets = [_targets(read, role, rng) for role in ("original", "hold-out")]
    sides = [(first, targets[0][:attacks]), (held, targets[1][:attacks])]
    numeric = np.array([name in tables.edges for name in tables.names])
    every = [first, held, public, *datasets]
    everybody, others, publics, *released = _coded(every, tables.names)
    _refuse_records_of(everybody, others, ("original", "control group"))
    if reference is not None:
        _refuse_records_of(everybody, publics, ("original", "reference"))
        _refuse_records_of(others, publics, ("control group", "reference"))
    ranges = {name: _range([own[name] for own in every]) for name in tables.edges}
    scores, not_made = [], {}
    count = -(-attacks // len(datasets))
    for name, width in (("univariate", 1), ("multivariate", min(together, len(numeric)))):
        lone = _lone_values if name == "univariate" else _lone_records
        tried = np.concatenate([lone(own, numeric, count, width, rng) for own in released])
        blind = np.concatenate([_guesses(own, numeric, count, width, rng) for own in released])
        if not len(tried):
            not_made[f"singling out, {name}"] = "no predicate holds for one synthetic record"
            continue
        hits = (
            float((_counts(tried, everybody) == 1).sum()),
            _lone_among(_counts(tried, others), others.shape[1], everybody.shape[1]),
        )
        naive = float((_counts(blind, everybody) == 1).mean())
        scores.append(score_of(f"singling out, {name}", hits, [len(tried)] * 2, naive))

    def made(name: str, hit: Callable[[Plain, NDArray[np.intp], Plain], Any], naive: float) -> None:
        hits = [_hits(hit, side, rows, datasets) for side, rows in sides]
        scores.append(score_of(name, hits, [len(rows) for _, rows in sides], naive))

    def near(
        side: Plain, rows: NDArray[np.intp], table: Plain, by: Sequence[str], count: int
    ) -> NDArray[np.intp]:
        records = {name: side[name][rows] for name in by}
        return _nearest(records, table, ranges, count, rng)

    half = (len(known) + 1) // 2

    def linked(side: Plain, rows: NDArray[np.intp], table: Plain) -> Any:
        parts = known[:half], known[half:]
        a, b = (near(side, rows, table, part, neighbours) for part in parts)
        return (a[:, :, None] == b[:, None, :]).any(axis=(1, 2))

    if len(known) > 1:
        made("linkability", linked, _linked_by_chance(neighbours, released))
    else:
        not_made["linkability"] = "it needs two keys"
    for name in secrets:

        def inferred(side: Plain, rows: NDArray[np.intp], table: Plain, name: str = name) -> Any:
            return _right(table[name][near(side, rows, table, known, 1)[:, 0]], side[name][rows])

        def guessed(side: Plain, rows: NDArray[np.intp], table: Plain, name: str = name) -> Any:
            return _right(rng.choice(table[name], size=len(rows)), side[name][rows])

        naive = _hits(guessed, *sides[0], datasets) / len(sides[0][1])
        made(f"inference {name}", inferred, naive)
    rows = rng.permutation(publics.shape[1]) if reference is not None else _half(read, rng)
    left = targets[1] if reference is not None else targets[1][~np.isin(targets[1], rows)]
    members, controls, table = (
        {name: own[name][chosen] for name in tables.names}
        for own, chosen in (sides[0], (held, left[:attacks]), (public, rows[: everybody.shape[1]]))
    )
    found, too_few = membership_attack(members, controls, table, datasets, ranges)
    smaller = others.shape[1] < everybody.shape[1]
    return AttackRisk((*scores, *found), not_made | too_few, smaller, reference is None)


def _targets(read: OriginalAndDatasets, role: str, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows to attack in a random order, one of each unit; InputError for too few."""
    units = _units(read, role)
    rows = rng.permutation(len(units))
    rows = rows[np.sort(np.unique(units[rows], return_index=True)[1])]
    if len(rows) < _LEAST:
        raise InputError.by("attacks-too-few-records", role=role, least=_LEAST)
    return rows


def _half(read: OriginalAndDatasets, rng: np.random.Generator) -> NDArray[np.intp]:
    """The rows of a random half of the control group's units."""
    units = _units(read, "hold-out")
    chosen = rng.permutation(int(units.max()) + 1)
    return rng.permutation(np.flatnonzero(chosen[units] < len(chosen) // 2))


def _units(read: OriginalAndDatasets, role: str) -> NDArray[np.intp]:
    """The unit (N,) of each record of a table, from 0 on; without a unit each is its own."""
    frame, unit = read.frames[role], getattr(read.schema, "unit", None)
    return units_drawn(frame, unit) if unit in frame.columns else np.arange(len(frame))


def _refuse_shared_units(read: OriginalAndDatasets) -> None:
    """Raise InputError if the control group has a unit of the original, by the schema's ids."""
    unit: Any = getattr(read.schema, "unit", None)
    frames = [read.frames[role] for role in ("original", "hold-out")]
    if all(unit in frame.columns for frame in frames):
        cells = [distinct(frame[unit], any_cell=True)[1] for frame in frames]
        first, other = ({id_of(x) for x in own if not spells_empty(x)} for own in cells)
        if first & other:
            raise InputError.by("control-shares-units", unit=unit)


def _refuse_records_of(first: Codes, other: Codes, roles: tuple[str, str]) -> None:
    """Raise InputError if records of another table equal lone ones of the first beyond chance.

    Chance is that of a record of the first to equal one of the others that is alone; a share may be
    three standard errors above it.
    """
    _, places = np.unique(np.hstack([first, other]), axis=1, return_inverse=True)
    mine, theirs = np.split(places.ravel(), [first.shape[1]])
    counts = np.bincount(mine, minlength=int(places.max()) + 1)
    most = float((counts[mine] == 2).mean()) + 2.0 / len(mine)
    margin = 3.0 * float(np.sqrt(most / len(theirs) + 2.0 * most / len(mine)))
    if (counts[theirs] == 1).mean() > most + margin:
        raise InputError.by("control-from-original", first=roles[0], other=roles[1])


def _hits(
    hit: Callable[[Plain, NDArray[np.intp], Plain], Any],
    side: Plain,
    rows: NDArray[np.intp],
    datasets: Sequence[Plain],
) -> int:
    """How many attacks on `rows` of a table hit, each by one of the datasets, in turn."""
    step = len(datasets)
    return sum(int(hit(side, rows[k::step], own).sum()) for k, own in enumerate(datasets))


def _nearest(
    records: Plain, table: Plain, ranges: Mapping[str, float], count: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """The places (M, count) of the records of `table` nearest to M others; ties by chance."""
    size = len(next(iter(table.values())))
    count = min(count, size)
    first = rng.permutation(size) * (_TIE / size)
    near = [
        np.argpartition(distances + first, count - 1, axis=1)[:, :count]
        for _, distances in distance_blocks(records, table, ranges)
    ]
    return np.concatenate([np.empty((0, count), dtype=np.intp), *near])


def _range(parts: Sequence[Floats]) -> float:
    values = np.concatenate(parts)
    return float(np.ptp(values[~np.isnan(values)])) if not np.isnan(values).all() else 0.0


def _right(guesses: NDArray[Any], values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind != "f":
        return np.asarray(guesses == values)
    close = np.abs(guesses - values) <= _TOLERANCE * np.abs(guesses)
    return np.asarray(close | (np.isnan(guesses) & np.isnan(values)))


def _linked_by_chance(count: int, datasets: Sequence[Codes]) -> float:
    """How often `count` of the records, drawn twice, have one in common."""
    steps = np.arange(count)
    apart = [
        np.prod((own.shape[1] - count - steps) / (own.shape[1] - steps))
        for own in datasets
        if own.shape[1] >= 2 * count
    ]
    return 1.0 - float(np.sum(apart)) / len(datasets)


def _coded(tables: Sequence[Plain], names: Sequence[str]) -> list[Codes]:
    """Each table's columns as whole numbers (K, N): codes, ranks of numbers, -1 if missing."""
    ends = np.cumsum([len(table[names[0]]) for table in tables])[:-1]
    columns = []
    for name in names:
        values = np.concatenate([table[name] for table in tables])
        if values.dtype.kind == "f":
            gone = np.isnan(values)
            values = np.where(gone, -1, np.searchsorted(np.unique(values[~gone]), values))
        columns.append(values.astype(np.int32))
    return np.split(np.stack(columns), ends, axis=1)


def _counts(terms: Codes, table: Codes) -> NDArray[np.intp]:
    """For how many records of a table (K, N) each predicate holds, of terms (A, p, 3).

    A term is a column's place and the least and the largest value.
    """
    step = max(1, _CELLS // table.shape[1])
    counts = [np.empty(0, dtype=np.intp)]
    for start in range(0, len(terms), step):
        holds: Any = True
        for place, low, high in np.moveaxis(terms[start : start + step], 0, 2):
            values = table[place]
            holds = holds & (values >= low[:, None]) & (values <= high[:, None])
        counts.append(holds.sum(axis=1))
    return np.concatenate(counts)


def _lone_values(
    table: Codes, numeric: Flags, count: int, width: int, rng: np.random.Generator
) -> Codes:
    """At most `count` of the predicates of one term that hold for one record of a table (K, N)."""
    terms = []
    for place, column in enumerate(table):
        values, times = np.unique(column, return_counts=True)
        terms += [(place, value, value) for value in values[times == 1]]
        if numeric[place] and values[-1] >= 0:
            least = int(values[0] < 0)  # A missing number is neither lowest nor highest.
            terms += [(place, 0, values[least])] * int(times[least] == 1)
            terms += [(place, values[-1], _TOP)] * int(times[-1] == 1)
    made = np.array(terms, dtype=np.int32).reshape(-1, width, 3)
    return made[rng.permutation(len(made))[:count]]


def _lone_records(
    table: Codes, numeric: Flags, count: int, width: int, rng: np.random.Generator
) -> Codes:
    """At most `count` predicates of `width` values of a record that hold for it alone."""
    medians = np.array([np.median(x[x >= 0]) if (x >= 0).any() else 0 for x in table])
    part = table[:, :: -(-table.shape[1] // _PART)]
    found = np.empty((0, width, 3), dtype=np.int32)
    for _ in range(_TRIES):
        places = _places(len(table), count, width, rng)
        values = table[places, rng.integers(table.shape[1], size=(count, 1))]
        above = values > medians[places]
        drawn = _terms(places, values, numeric, ~above, above)
        drawn = drawn[_counts(drawn, part) <= 1]
        found = np.concatenate([found, drawn[_counts(drawn, table) == 1]])
        once = np.unique(found.reshape(len(found), 3 * width), axis=0, return_index=True)[1]
        found = found[np.sort(once)[:count]]
        if len(found) == count:
            break
    return found


def _guesses(
    table: Codes, numeric: Flags, count: int, width: int, rng: np.random.Generator
) -> Codes:
    """Predicates of values that occur, in random columns and directions."""
    places = _places(len(table), count, width, rng)
    values = np.empty(places.shape, dtype=np.int32)
    for place, column in enumerate(table):
        here = places == place
        values[here] = rng.choice(np.unique(column), size=int(here.sum()))
    kind = rng.integers(3, size=values.shape)
    return _terms(places, values, numeric, kind == 1, kind == 2)


def _places(columns: int, count: int, width: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Random columns (count, width) in their order, each once in a row."""
    return np.sort(np.argsort(rng.random((count, columns)), axis=1)[:, :width], axis=1)


def _terms(
    places: NDArray[np.intp], values: Codes, numeric: Flags, most: Flags, least: Flags
) -> Codes:
    """Terms (A, p, 3): the value itself; of a number also at `most` or at `least` the value."""
    number = numeric[places] & (values >= 0)
    low, high = np.where(number & most, 0, values), np.where(number & least, _TOP, values)
    return np.stack([places, low, high], axis=2).astype(np.int32)


def _lone_among(counts: NDArray[np.intp], size: int, wanted: int) -> float:
    """How many predicates hold for one of `wanted` records, from `counts` (A,) among `size`.

    Among fewer records it is what random parts give on average. Among more it follows a model: a
    predicate of weight w holds for one of n records with probability n w (1 - w)^(n - 1), and
    weights are even up to a largest one, fitted to parts of ten sizes [giomi2023].
    """
    from scipy.stats import hypergeom

    def in_part(n: int) -> float:
        return float(hypergeom.pmf(1, size, counts, n).sum())

    if wanted <= size:
        return in_part(wanted)
    parts = np.unique(np.linspace(max(1, size // 10), size, 10).astype(int))
    seen = np.array([in_part(int(n)) for n in parts])
    if not seen[-1]:
        return 0.0
    weight, sizes = np.geomspace(1e-3 / wanted, 1.0, 2000)[:, None], np.append(parts, wanted)
    model = (1.0 - (sizes * weight + 1.0) * (1.0 - weight) ** sizes) / (sizes + 1.0)
    fitted = model[:, :-1]
    norm = (fitted * seen).sum(axis=1, keepdims=True) / (fitted**2).sum(axis=1, keepdims=True)
    best = np.argmin(((norm * fitted - seen) ** 2).sum(axis=1))
    return min(float(len(counts)), float(seen[-1] * model[best, -1] / model[best, -2]))
