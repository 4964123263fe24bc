"""Propose the entries of a column of numbers: family, range, decimals, codes, points and scale.

A range is rounded outwards, so that its ends are no values of records. The family and the scale are
found by likelihood, among the families that a proposal makes. Each candidate is fitted to the
values by maximum likelihood, without predictors. The comparison is of mean log densities in the
number's own unit, so no unit of the number changes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.special import betaln, digamma, gammaln, log_ndtr, ndtr

from pyvws._base.checks import Floats
from pyvws.tables.files.labels import as_number, label_of
from pyvws.tables.proposal import notes
from pyvws.tables.proposal.often import Codes, Often
from pyvws.tables.schema.arithmetic import SINGLE
from pyvws.tables.schema.column import ENTRIES, Column

Ends = tuple[float, float]
"""The lowest and the highest number of a range."""

_NEAR: Final = 0.02  # Nats of mean log density by which a family that stands later is better.
_BY_FEW: Final = 3.0  # Of few numbers so many nats in all.
_POWERS: Final = 7  # Powers of ten of the scale signed-log, from the largest size down.
_MOST_VALUES: Final = 20_000  # The likelihood of so many values, evenly spread, is that of all.
_LARGEST_SHAPE: Final = 1e4
_SHARE_BELOW_0: Final = 0.01  # A scale may differ so much from the numbers in the share below 0,
_ERRORS: Final = 2.0  # or by so many standard errors.
_COUNT: Final = 1000  # The largest number of a count.
_MOST_DECIMALS: Final = 6
_BY_CHANCE: Final = 1e-12  # Numbers all are so near a grid that their single precision hides it.
_POINT: Final = 0.1  # The share of records at one value that makes it a point of mass.
_POINT_AT_0: Final = 0.01  # The same of 0.
_OFTEN: Final = 10.0  # It occurs so many times as often as most values.
MOST_CODES: Final = 10  # A number has at most so many codes of missing values.
_MOST_NEGATIVE: Final = 5  # So many of them are negative.
_LEAST_CODE: Final = -100.0
_RECORDS_OF_A_CODE: Final = 10  # So many records have each,
_CODES_SPAN: Final = 20.0  # or one that is no further from it.
_MOST_OF_A_NUMBER: Final = 0.05  # A negative number of more records is a code.
_NINES: Final = ("99", "999", "9999", "99999", "999999")
_NEXT: Final = 3
_ALIKE: Final = 3  # Times the records of the rarest of neighbours have all of them.
_GAP_OF_NINES: Final = 0.05  # Of the span of the other numbers.
_MORE: Final = 3.0  # Times the records of the numbers below.
_STEPS: Final = 5  # A range has at least so many steps of a round number.
_SPAN: Final = (1e-300, 1e300)  # From the lowest to the highest number.
_UNITS: Final = 4  # And at least so many units of the outcome.
_EXTREME: Final = "numbers less than 1e-300 or more than 1e300 apart; take another unit"
_CODES: Final = (
    "missing has numbers that stand apart from all others; a top code is no missing value, and "
    "stands under mass"
)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A family: its entries of a column, and its mean log density at the values.

    `unit` is the unit of its scale, None on the scale of the numbers themselves.
    """

    model: str
    scale: str | None
    unit: float | None
    log_density: float


def _likeliest(
    values: Floats, ends: Ends, *, whole: bool, least: float | None = None
) -> _Candidate:
    """The first family within 0.02 nats of the best for numbers (n,) in a range with these `ends`.

    `whole` says that the numbers are whole ones from 0 on, so that counts are candidates. A range
    from 0 on begins at `least` in its place for a truncated family on the scale log; None says that
    it cannot, and then the family is no candidate.
    """
    size = 1.0 if whole else float(np.abs(values).max())  # Squares of the largest float are none.
    of_log = ends[0] if ends[0] > 0.0 else least
    scaled = (ends[0] / size, ends[1] / size), None if of_log is None else of_log / size
    tried = list(_candidates(values / size, *scaled, whole=whole))
    best = max(candidate.log_density for candidate in tried)
    near = max(_NEAR, _BY_FEW / len(values))
    found = next(candidate for candidate in tried if candidate.log_density >= best - near)
    return found if found.unit is None else replace(found, unit=found.unit * size)


def _candidates(
    values: Floats, ends: Ends, of_log: float | None, *, whole: bool
) -> Iterator[_Candidate]:
    """Each family that can have the numbers (n,), the plainest first."""
    y = np.sort(values)
    if len(y) > _MOST_VALUES:
        y = y[np.linspace(0, len(y) - 1, _MOST_VALUES).round().astype(np.intp)]
    scales = list(_scales(y))
    if whole:
        yield _Candidate("negative-binomial", None, None, _negative_binomial(y))
    for model in ("normal", "truncated-normal"):
        for scale, unit in scales:
            own, truncated = ends, model != "normal"
            if truncated and scale == "log":
                if of_log is None:
                    continue
                own = of_log, ends[1]
            density = _normal(y, own, scale, unit, truncated=truncated, whole=whole)
            yield _Candidate(model, scale, unit, density)
    if y[0] > 0.0:
        yield _Candidate("gamma", None, None, _gamma(y))
    shares = (y - ends[0]) / (ends[1] - ends[0])
    if shares[0] > 0.0 and shares[-1] < 1.0:
        yield _Candidate("beta", None, None, _beta(shares, ends))


def _scales(y: Floats) -> Iterator[tuple[str | None, float | None]]:
    yield None, None
    if y[0] > 0.0:
        yield "log", float(np.median(y))
    if not y[0] < 0.0 < y[-1]:
        return
    share = float((y < 0.0).mean())
    near = max(_SHARE_BELOW_0, _ERRORS * math.sqrt(share * (1.0 - share) / len(y)))
    for unit in 10.0 ** -np.arange(1.0, _POWERS + 1.0):
        v, _ = _to_scale(y, "signed-log", unit)
        if abs(float(ndtr(-v.mean() / v.std())) - share) <= near:
            yield "signed-log", float(unit)


def _to_scale(y: ArrayLike, scale: str | None, unit: float | None) -> tuple[Floats, Floats]:
    """Numbers (n,) on a scale of the normal families, and the log of its slope there."""
    y = np.asarray(y, dtype=np.float64)
    if scale is None:
        return y, np.zeros(len(y))
    if scale == "log":
        return np.log(y), -np.log(y)
    size = np.abs(y)
    return np.sign(y) * np.log1p(size / unit), -np.log(unit + size)


def _normal(
    y: Floats, ends: Ends, scale: str | None, unit: float | None, *, truncated: bool, whole: bool
) -> float:
    """The mean log density of a normal on a scale, with the normaliser of the range or without.

    Of `whole` numbers it is the mean log probability of draws within the range that are rounded.
    """
    v, slopes = _to_scale(y, scale, unit)
    m, s = float(v.mean()), float(v.std())
    if s == 0.0:
        return -math.inf
    with np.errstate(divide="ignore"):
        low, high = map(float, _to_scale(ends, scale, unit)[0])
    loss = math.log(s) + 0.5
    if truncated:
        (m, s), loss = _truncated(v, (low, high))
    if not whole:
        return float(slopes.mean()) - 0.5 * math.log(2.0 * math.pi) - loss
    known, counts = np.unique(y, return_counts=True)
    edges = np.clip([known - 0.5, known + 0.5], *ends)
    with np.errstate(divide="ignore"):
        below, above = (_to_scale(edge, scale, unit)[0] for edge in edges)
    pairs = zip((below - m) / s, (above - m) / s, strict=True)
    shares = np.array([_log_share(*pair) for pair in pairs])
    return float(counts @ shares / len(y)) - _log_share((low - m) / s, (high - m) / s)


def _truncated(v: Floats, ends: Ends) -> tuple[tuple[float, float], float]:
    """Centre and width of a truncated normal of numbers (n,); and its loss without a constant."""
    (low, high), m, s = ends, float(v.mean()), float(v.std())

    def loss(at: Floats) -> float:
        centre, width = m + s * at[0], s * math.exp(at[1])
        squares = (s**2 + (m - centre) ** 2) / (2.0 * width**2)
        log_share = _log_share((low - centre) / width, (high - centre) / width)
        return math.log(width) + squares + log_share

    optimum = scipy.optimize.minimize(
        loss,
        np.zeros(2),
        method="Nelder-Mead",
        bounds=[(-30.0, 30.0), (-3.0, 3.0)],
        options={"xatol": 1e-3, "fatol": 1e-5},
    )
    at = m + s * float(optimum.x[0]), s * math.exp(float(optimum.x[1]))
    return at, float(optimum.fun)


def _log_share(low: float, high: float) -> float:
    """log of a standard normal's share between two ends, without loss in either tail."""
    if low > 0.0:
        low, high = -high, -low
    above, below = float(log_ndtr(high)), float(log_ndtr(low))
    return above + math.log(-math.expm1(min(below - above, -1e-300)))


def _gamma(y: Floats) -> float:
    """The mean log density of a gamma law of numbers above 0."""
    mean, logs = float(y.mean()), float(np.log(y).mean())
    gap = math.log(mean) - logs
    if gap <= 0.0:
        return -math.inf
    shape = (3.0 - gap + math.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
    for _ in range(20):  # Newton's steps for log a - digamma(a) = gap.
        slope = 1.0 / shape - (digamma(shape + 1e-6 * shape) - digamma(shape)) / (1e-6 * shape)
        shape = max(shape - (math.log(shape) - digamma(shape) - gap) / slope, shape / 2.0)
    shape = min(shape, _LARGEST_SHAPE)
    return float(shape * math.log(shape / mean) - gammaln(shape) + (shape - 1.0) * logs - shape)


def _beta(u: Floats, ends: Ends) -> float:
    """The mean log density of a beta law of shares within the range."""
    logs, rest = float(np.log(u).mean()), float(np.log1p(-u).mean())
    m, v = float(u.mean()), float(u.var())
    kappa = max(m * (1.0 - m) / max(v, 1e-12) - 1.0, 0.1)

    def loss(at: Floats) -> float:
        a, b = np.exp(at)
        return float(betaln(a, b) - (a - 1.0) * logs - (b - 1.0) * rest)

    start = np.log([m * kappa, (1.0 - m) * kappa])
    optimum = scipy.optimize.minimize(
        loss, start, method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-5}
    )
    return -float(optimum.fun) - math.log(ends[1] - ends[0])


def _negative_binomial(y: Floats) -> float:
    """The mean log probability of a negative binomial law, of which a Poisson law is an end."""
    m = float(y.mean())
    known, counts = np.unique(y, return_counts=True)
    shares = counts / len(y)

    def loss(log_phi: float) -> float:
        phi = math.exp(log_phi)
        terms = gammaln(known + phi) - gammaln(phi) - gammaln(known + 1.0)
        terms += phi * math.log(phi / (phi + m)) + known * math.log(m / (phi + m))
        return -float(shares @ terms)

    return -float(scipy.optimize.minimize_scalar(loss, bounds=(-8.0, 14.0), method="bounded").fun)


def reviewed(entries: Mapping[str, Any], note: str | None = None) -> Column:
    """A column of entries, each of which is to be reviewed."""
    fields = {name: value for name, value in entries.items() if name in ENTRIES}
    settings = {name: value for name, value in entries.items() if name not in ENTRIES}
    return Column(**fields, settings=settings, note=note, review=tuple(entries))


def rising(label: str) -> tuple[float, str]:
    """Numbers first, by size, then text."""
    number = as_number(label)
    return (np.inf, label) if number is None else (number, label)


def frequent(values: Floats) -> Floats:
    """The values among (n,) that a tenth of them have, or 0 a hundredth, far more than most."""
    known, counts = np.unique(values, return_counts=True)
    share = np.where(known == 0.0, _POINT_AT_0, _POINT)
    often = np.maximum(share * len(values), _OFTEN * float(np.median(counts)))
    return np.asarray(known[counts >= often])


def _codes_apart(values: Floats) -> Floats:
    """The codes of missing values among numbers (n,): whole, few, and far from all others.

    They begin with 7, 8 or 9 and lie further above the others than these spread; or they go up to
    99, 999 and so on and have far more records than the numbers below them; or no other number is
    below 0, and these are no part of what follows. A negative code is above -100, or has nines but
    for its last digit. Each has ten records or more, or is near one that has.
    """
    known, counts = np.unique(values, return_counts=True)
    whole, often = known == np.floor(known), counts >= _RECORDS_OF_A_CODE
    below = int((known < 0).sum())
    codes = (x > _LEAST_CODE or label_of(-x)[:-1] in _NINES for x in known[:below])
    if below > _MOST_NEGATIVE or not ((whole & often)[:below].all() and all(codes)):
        below = 0
    if below == 1 and _goes_on(known, counts):
        below = 0
    for above in range(MOST_CODES, 0, -1):
        rest, top = known[below:-above], known[-above:]
        if len(rest) < MOST_CODES:
            continue
        apart = top[0] - rest[-1] > rest[-1] - rest[0]
        if not apart and not _ends_in_nines(known[below:], counts[below:], above):
            continue
        near = np.abs(top[:, None] - top[often[-above:]]) <= _CODES_SPAN
        if (whole[-above:] & near.any(axis=1)).all() and {label_of(x)[0] for x in top} <= {*"789"}:
            return np.concatenate([known[:below], top])
    return known[:below] if len(known) - below >= MOST_CODES else np.empty(0)


def _goes_on(known: Floats, counts: Codes) -> bool:
    """Whether the first number is one more of those that follow: -1 beside 0, 1 and 2, say.

    It is rare, and has about as many records as each of the three numbers next to it.
    """
    if counts[0] > _MOST_OF_A_NUMBER * counts.sum() or len(known) <= _NEXT:
        return False
    steps, own = np.diff(known[: _NEXT + 1]), counts[: _NEXT + 1]
    return bool((steps == steps[0]).all() and own.max() <= _ALIKE * own.min())


def _ends_in_nines(known: Floats, counts: Codes, above: int) -> bool:
    """Whether the last numbers go up to 99, 999 and so on, apart from the others and with far more.

    So many of them are `above` the others, all within the last ten.
    """
    label, gap = label_of(known[-1]), known[-above] - known[-above - 1]
    usual = float(np.median(counts[-above - MOST_CODES : -above]))
    return bool(
        len(label) > 1
        and {*label} == {"9"}
        and known[-1] - known[-above] < MOST_CODES
        and gap >= max(2.0, _GAP_OF_NINES * (known[-above - 1] - known[0]))
        and counts[-above:].min() >= _MORE * usual
    )


def number_column(
    values: Floats,
    words: list[Any],
    often: Often,
    labels: list[str] | None = None,
    *,
    note: str | None = None,
    outside: bool = False,
    limits: Ends = (-math.inf, math.inf),
) -> Column:
    """A column of numbers (n,), of which two differ at least, beside `words` as missing codes.

    `labels` are all of a column of text, which may spell a number in several ways. The range lies
    within `limits`. Enough records are at each of its ends or beyond, and a number beyond is it.
    `outside` says that the schema does not list some text either.
    """
    with np.errstate(over="ignore"):
        tiny = bool((np.abs(values[values != 0.0]) < _SPAN[0]).any())
        if tiny or not _SPAN[0] <= np.ptp(values) <= _SPAN[1]:
            return reviewed({"role": "drop"}, note=_EXTREME)
    every = values
    apart = _codes_apart(values)
    no_codes = ~np.isin(values, apart)
    apart = np.intersect1d(apart, often.numbers(values))
    often, (values, decimals) = often.among(no_codes), _at_decimals(values[no_codes])
    inner = often.innermost(values)
    if inner is None:
        return reviewed({"role": "drop"}, note=notes.RARE)
    spelled = list(map(label_of, apart))
    if labels is not None:
        spelled = sorted((label for label in labels if as_number(label) in apart), key=rising)
    missing: dict[str, Any] = {"missing": (*spelled, *words)} if spelled or words else {}
    low, high = inner
    if low == high:
        one = {"levels": (label_of(low),), **missing, "outside": True}
        return reviewed({**({"model": "nominal"} if missing else {}), **one})
    points = np.intersect1d(frequent(values), often.numbers(values))
    count = decimals == 0 and low >= 0 and high <= _COUNT
    if count:
        points = points[[_towers(x, values) for x in points]]
    below, above = _around(low, high, values)
    ends = max(below, limits[0]), min(above, limits[1])
    if len(points) and points[-1] == high == values.max():  # A top code ends the range.
        ends = ends[0], high
    others = values[~np.isin(values, points) & (values >= ends[0]) & (values <= ends[1])]
    few_zeros = False
    if ends[0] == 0.0 and not count and (others == 0.0).any():
        above_0 = _family(others[others > 0.0], ends, count)
        if above_0["model"] == "gamma" or above_0.get("outcome_scale") == "log":
            few_zeros, others = 0.0 not in often.numbers(values), others[others > 0.0]
            points = points if few_zeros else np.union1d(points, [0.0])
    least = step_below(low) if ends[0] <= 0.0 < low else None
    family = _family(others, ends, count, least)
    on_log = (family["model"], family.get("outcome_scale")) == ("truncated-normal", "log")
    if least and (few_zeros or on_log):
        ends = least, ends[1]  # The scale has no 0.
    left = every[~np.isin(every, apart)]
    left = left if decimals is None else np.round(left, decimals)
    if outside or left.min() < ends[0] or left.max() > ends[1]:
        missing["outside"] = True
    entries: dict[str, Any] = {
        "model": family.pop("model"),
        "range": ends,
        "decimals": decimals,
        **missing,
        "mass": tuple(points.tolist()),
        **family,
    }
    given = {name: value for name, value in entries.items() if value not in (None, ())}
    return reviewed(given, note=_CODES if spelled else note)


def _at_decimals(values: Floats) -> tuple[Floats, int | None]:
    """Numbers (n,) at their decimals, and how many; as they are, and None, where they have more.

    Numbers of single precision, as 6.19999980926514, have those of the numbers they stand for, if
    that precision tells the last decimal of the largest.
    """
    known = np.unique(values)
    for single in (False, True):
        for decimals in range(_MOST_DECIMALS + 1):
            near = np.round(known, decimals)
            if single:
                chance = np.minimum(2.0 * SINGLE * np.abs(known) * 10.0**decimals, 1.0)
                on_grid = np.isclose(near, known, rtol=SINGLE, atol=0.0).all()
                found = on_grid and chance.max() < 1.0 and chance.prod() < _BY_CHANCE
            else:
                found = (near == known).all()
            if found:
                return np.round(values, decimals), decimals
    return values, None


def _family(values: Floats, ends: Ends, count: bool, least: float | None = None) -> dict[str, Any]:
    """The family of numbers (n,) with its scale, by likelihood; of too few the plainest."""
    if len(np.unique(values)) < 2:
        return {"model": "negative-binomial"} if count else {"model": "normal", **around(ends)}
    family = _likeliest(values, ends, whole=count, least=least)
    if family.scale is not None and family.unit is not None:
        return {
            "model": family.model,
            "outcome_scale": family.scale,
            "outcome_unit": step_below(family.unit),
        }
    return {"model": family.model, **(around(ends) if "normal" in family.model else {})}


def around(ends: Ends) -> dict[str, Any]:
    """The settings that bring numbers within `ends` to where a normal family's priors are."""
    centre, width = (ends[0] + ends[1]) / 2, ends[1] - ends[0]
    return {"outcome_centre": centre, "outcome_unit": step_below(width / _UNITS)}


def _around(low: float, high: float, values: Floats) -> Ends:
    """A range of round numbers around two, and beyond them where any of the values (n,) are.

    It then reaches half their distance further, but not from numbers above 0 to others.
    """
    below, above = rounded_outwards(low, high)
    more = (high - low) / 2.0
    if values.min() < below:
        below, _ = rounded_outwards(low - more if low < 0.0 else max(low - more, 0.0), high)
    if values.max() > above:
        _, above = rounded_outwards(low, high + more if high > 0.0 else min(high + more, 0.0))
    return below, above


def _towers(point: float, values: Floats) -> bool:
    """Whether far more of the counts (n,) are at a point than beside it, as in no smooth family."""
    beside = max(int((values == point - 1).sum()), int((values == point + 1).sum()))
    return int((values == point).sum()) >= _OFTEN * beside


def rounded_outwards(low: float, high: float) -> Ends:
    """A range of round numbers around the lowest and highest, which are values of records."""
    step = step_below((high - low) / _STEPS)
    digits = max(0, -math.floor(math.log10(step)))
    below, above = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    below -= round(below * step, digits) > low
    above += round(above * step, digits) < high
    return min(low, round(below * step, digits)), max(high, round(above * step, digits))


def step_below(most: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not above `most`."""
    power = math.floor(math.log10(most))  # Just below a power of ten it rounds up.
    units = ((unit, k) for k in (power - 1, power) for unit in (1, 2, 5))
    steps = [unit * 10.0**k if k >= 0 else unit / 10.0**-k for unit, k in units]
    return max(step for step in steps if step <= most)
