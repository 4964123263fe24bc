"""Canaries: made-up records in a copy of the table, which noisy counts must not tell too well.

Each of M canaries is in the copy by a secret coin. A run's own measurements of the copy are bought
as a run buys them. Nothing of the copy leaves.

Before the coins are opened, a canary's score is what the counts of its cells have beyond the table
and half of every canary. As many of the largest scores as were fixed beforehand are guesses. With
r of g guesses right, an epsilon is rejected where P[Bin(g, q) >= r] + 2 M delta max_i
P[r > Bin(g, q) >= r - i] / i is below 5 %, with q = e^epsilon / (1 + e^epsilon) [steinke2023].

That bound is far below the claim where many counts share it. So the noise is audited by its own
curve too. Once the coins are opened, a score is sum_q w_q (S_q - M_q + a b) with w_q one over the
stated variance, M_q the count of the copy, b the canary's coin and a its records. Its mean over
those in less that over those out, in deviations of the noise that was found, is
mu = a sqrt(sum_q w_q) under the noise that was stated, give or take 2 / sqrt(M). Other canaries in
the same cell are known then, so the error holds where cells are shared. Simulated noise of the
stated form says how far mu and the deviation lie from it by chance.
"""

from __future__ import annotations

import math
import secrets
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binom

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.mechanisms.counts.by_rule import BoundedColumn
from pyvws.mechanisms.counts.chosen_cells import finer_columns, recoded
from pyvws.mechanisms.counts.coding import CountedColumn
from pyvws.mechanisms.counts.counting import CellCounting, CountedRecords, MeasuredCounts
from pyvws.mechanisms.counts.differences import Difference
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.release.noisy_counts import measured_copy
from pyvws.sheet import InSheets, Sheet
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files.kinds import distinct

Counts = NDArray[np.int64]

_GUESSED: Final = {True: 0.7, False: 0.25}  # Of the canaries, under Laplace or Gaussian noise.
_CONFIDENCE: Final = 0.95
_ACCUSED: Final = 1.0 / 40.0  # Of right mechanisms by construction; 105 of 3,440 in trials.
_SIMULATED: Final = 399
_TRIED: Final = 5
"""Made-up records for each canary, of which those in cells of their own are taken."""
_REDRAWN: Final = 20  # Times that a value which a rule bars is drawn again.
_BY_SUMS: Final = 1000.0  # Scale of Gaussian noise that is no longer told from rounded normals.
_PROVES_NOTHING: Final = (
    "An audit finds faults and proves nothing: the canaries see the sets and cells that were "
    "counted, and no error in the records that are imputed. Its figures stay inside."
)


@dataclass(frozen=True, slots=True, repr=False)
class CanaryAudit(InSheets):
    """What canaries tell of noisy counts. All of it stays inside.

    Attributes
    ----------
    canaries : int
        M, the made-up records, or units, each in the copy by a secret coin.
    guesses, right : int
        How many coins were guessed, and how many guesses were right.
    bound : float
        The epsilon that the guesses show at 95 %, at `delta`; a right mechanism's is below the
        `claim`, but for 1 audit in 20. Larger = less private.
    claim, delta : float
        What the settings claim.
    mu, stated : float
        How far the noise is found to leave canaries in and out apart, in deviations of the noise,
        and how far the stated noise does; larger = less private.
    standard_error : float
        Of `mu` under the stated noise; 2 / sqrt(M), unless few cells hold all canaries.
    spread : float
        The deviation of the noise that was found, over that of the stated noise.
    chance : float
        The probability that the stated noise comes out as far from its mean.
    counted, cap : float, int
        How many records of a canary were counted, of one more than the cap where a canary is a
        unit; and how many may be.
    """

    canaries: int
    guesses: int
    right: int
    bound: float
    claim: float
    delta: float
    mu: float
    stated: float
    standard_error: float
    spread: float
    chance: float
    counted: float
    cap: int

    def __repr__(self) -> str:
        return f"CanaryAudit({self.canaries} canaries)"

    @property
    def agrees(self) -> bool:
        """Whether noise and cap are as stated; False by chance in about 1 of 30 audits."""
        return self.chance > _ACCUSED and self.counted == self.cap

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return "as stated" if self.agrees else "further from the statement than chance explains"

    @property
    def sheets(self) -> tuple[Sheet]:
        """What was found beside what is stated."""
        return (
            Sheet(
                f"{self.canaries} canaries in a copy of the table (confidential). Larger epsilon "
                "or mu = less private.",
                ("what", "found", "stated", "standard error"),
                [
                    ("epsilon, at least, at 95 %", self.bound, self.claim, ""),
                    (
                        "mu, canaries in less canaries out",
                        self.mu,
                        self.stated,
                        self.standard_error,
                    ),
                    ("deviation of the noise, over the stated one", self.spread, 1.0, ""),
                    ("records counted of a canary", self.counted, self.cap, ""),
                ],
                notes=(_PROVES_NOTHING,),
                lead=(
                    f"The noise is {self.verdict}. {self.right} of {self.guesses} guesses at coins "
                    "are right.",
                ),
                facts={**asdict(self), "verdict": self.verdict},
            ),
        )


def canary_audit(
    run: RunSettings, frame: nw.DataFrame[Any], canaries: int, seed: int
) -> CanaryAudit:
    """Put canaries into a copy of a table, measure the copy as the run would, and guess the coins.

    InputError for a mechanism that adds no noise to counts of sets, for sums of weights, and for
    more canaries than the schema has different records.
    """
    mechanism, unit = run.chosen_mechanism, run.plan.unit
    counting = getattr(run.plan, "counting", None)
    if not isinstance(mechanism, NoisyCounts) or not isinstance(counting, CellCounting):
        raise InputError.by("canaries-of-other-mechanism", mechanism=mechanism.name)
    if counting.schema.weight is not None:
        raise InputError.by("canaries-of-weights", weight=counting.schema.weight)
    if counting.slots is not None:
        raise InputError.by("canaries-of-whole-units")
    rng = np.random.default_rng([seed, 3])
    made = _made_up(counting, canaries, rng)
    coins = rng.random(canaries) < 0.5
    pure = mechanism.budget.pure
    times = mechanism.budget.cap if unit is not None else 1
    each = times + (unit is not None)  # One more than the cap, which has to be left out.
    copy = _copy(frame, made.filter(coins), unit=unit, times=each)
    with warnings.catch_warnings(action="ignore"):
        alone, table = check_table(frame.to_native(), run), check_table(copy, run)
        bought = measured_copy(counting, mechanism, table)
    assert isinstance(table.counted, CountedRecords)
    assert isinstance(alone.counted, CountedRecords)
    more = len(table.counted.codes) - len(alone.counted.codes)
    of_all, of_made = table.counted, counting.read(nw.from_native(made))
    scores, found, information = np.zeros(canaries), np.zeros((1 + _SIMULATED, canaries)), 0.0
    for told, of_canaries in zip(
        _told(counting, bought, of_all), _told(counting, bought, of_made), strict=True
    ):
        exact = np.bincount(told.cells[told.cells >= 0], minlength=len(told.counts))
        at, cell, held = np.unique(of_canaries.cells, return_inverse=True, return_counts=True)
        noise, stated = (told.counts - exact)[at], variance(told.scale, pure=pure)
        inside = times * (np.bincount(cell, weights=coins) - 0.5 * held)  # Less half of all.
        others = 0.25 * times**2 * (held - 1)  # The variance of other canaries' coins.
        scores += ((noise + inside) / (stated + others))[cell]
        simulated = drawn_noise(told.scale, (_SIMULATED, len(at)), rng, pure=pure)
        found += np.vstack([noise, simulated])[:, cell] / stated
        information += 1.0 / stated
    guesses = int(_GUESSED[pure] * canaries)
    guessed = np.argsort(-np.abs(scores), kind="stable")[:guesses]
    right = int(((scores[guessed] > 0.0) == coins[guessed]).sum())
    deviation = np.maximum(np.sqrt((found**2).mean(axis=1)), 1e-3 * math.sqrt(information))
    apart = found[:, coins].mean(axis=1) - found[:, ~coins].mean(axis=1)
    figures = np.column_stack(
        [(times * information + apart) / deviation, deviation / math.sqrt(information)]
    )
    spreads = np.maximum(figures.std(axis=0), 1e-12)
    far = np.abs((figures - figures.mean(axis=0)) / spreads).max(axis=1)
    return CanaryAudit(
        canaries=canaries,
        guesses=guesses,
        right=right,
        bound=epsilon_shown(canaries, guesses, right, mechanism.delta),
        claim=mechanism.epsilon,
        delta=mechanism.delta,
        mu=float(figures[0, 0]),
        stated=times * math.sqrt(information),
        standard_error=float(figures[1:, 0].std()),
        spread=float(figures[0, 1]),
        chance=float((far >= far[0]).mean()),
        counted=more / max(1, int(coins.sum())),
        cap=times,
    )


def epsilon_shown(canaries: int, guesses: int, right: int, delta: float) -> float:
    """The largest epsilon, at delta, that so many right guesses reject at 95 % [steinke2023].

    0 where they reject none. Larger = less private.
    """

    def chance(epsilon: float) -> float:
        at_least = binom(guesses, 1.0 / (1.0 + math.exp(-epsilon)))
        i = np.arange(1, canaries + 1)
        below = (at_least.cdf(right - 1) - at_least.cdf(right - i - 1)) / i
        return float(at_least.sf(right - 1) + 2.0 * canaries * delta * below.max())

    low, high = 0.0, 50.0
    if chance(low) > 1.0 - _CONFIDENCE:
        return 0.0
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if chance(middle) <= 1.0 - _CONFIDENCE else (low, middle)
    return low


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """The noisy counts (C,) of a measurement, the scale of its noise, and records' cells (N,)."""

    counts: Counts
    scale: float
    cells: NDArray[Any]


def _told(
    counting: CellCounting, bought: MeasuredCounts, records: CountedRecords
) -> Iterator[_Told]:
    """What was bought, but for the number of records, which has no cell of one canary."""
    table, noisy = bought.noisy.table, bought.noisy
    codes = counting.recoded(records, table).codes
    for q, (low, high) in enumerate(zip(table.offsets[:-1], table.offsets[1:], strict=True)):
        cells = table.cells(codes, q)
        yield _Told(
            noisy.counts[low:high], float(noisy.scales[q]), np.where(cells < 0, -1, cells - low)
        )
    finest = counting.finest.columns
    finer = finer_columns(bought.schema, noisy.records, bought.fine)
    for name, own in bought.fine.items():
        fine = recoded(finest[name], finer[name], records.fine[name].cells)
        yield _Told(own.counts, own.scale, fine)
        if own.rounded is not None:
            yield _Told(own.rounded.counts, own.rounded.scale, records.classes[name].cells)


def variance(scale: float, *, pure: bool) -> float:
    """The variance of discrete Laplace noise, or of discrete Gaussian noise, of a scale."""
    if pure:
        return 0.5 / math.sinh(min(0.5 / scale, 300.0)) ** 2
    if scale > _BY_SUMS:
        return scale**2
    values, shares = _gaussian(scale)
    return float(values**2 @ shares)


def drawn_noise(
    scale: float, size: tuple[int, ...], rng: np.random.Generator, *, pure: bool
) -> Floats:
    """Simulated noise of a scale: of no use for a release, since a seed brings it back."""
    if pure:
        share = -math.expm1(-1.0 / scale)
        return np.asarray(rng.geometric(share, size) - rng.geometric(share, size), dtype=float)
    if scale > _BY_SUMS:
        return np.rint(rng.normal(0.0, scale, size))
    values, shares = _gaussian(scale)
    return rng.choice(values, size, p=shares)


def _gaussian(scale: float) -> tuple[Floats, Floats]:
    """The values (V,) of discrete Gaussian noise and their probabilities."""
    reach = math.ceil(12.0 * scale) + 1
    values = np.arange(-reach, reach + 1.0)
    shares = np.exp(-0.5 * (values / scale) ** 2)
    return values, shares / shares.sum()


def _made_up(counting: CellCounting, count: int, rng: np.random.Generator) -> pl.DataFrame:
    """Different records as text, in cells of their own of sets that have so many cells."""
    table = counting.table
    columns = {n: own for n, own in table.columns.items() if not isinstance(own, Difference)}
    sizes = [own.size for own in columns.values()]
    tried, every = _TRIED * count, math.prod(sizes)
    number = np.arange(tried) % every if every <= tried else None
    drawn = rng.integers(sizes, size=(tried, len(sizes))).T
    rows = drawn if number is None else np.unravel_index(number, sizes)
    codes = {n: own.astype(np.int32) for n, own in zip(columns, rows, strict=True)}
    for name, skip in table.skips.items():
        forced = skip.of(codes)
        for _ in range(_REDRAWN):
            codes[name] = np.where(forced >= 0, forced, codes[name])
            bad = ~skip.keeps(codes, codes[name])
            codes[name][bad] = rng.integers(columns[name].size, size=int(bad.sum()))
    values: dict[str, Floats] = {}
    for name, own in columns.items():
        values |= own.values(codes[name], rng)
    texts = {}
    for name, own in columns.items():
        shown = own.later if isinstance(own, BoundedColumn) else own
        if isinstance(own, BoundedColumn) and own.earlier.name in values:
            values |= own.later_values(codes[name], values)
        texts[shown.name] = _labels(shown, codes[name], values.get(shown.name))
    pool = pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String)).unique(maintain_order=True)
    pool = pool[rng.permutation(len(pool))]
    read, _ = table.read(nw.from_native(pool))
    cells = np.column_stack([table.cells(read, q) for q in range(len(table.sets))])
    kept = np.flatnonzero((cells >= 0).all(axis=1))
    if len(kept) < count:
        raise InputError.by("canaries-too-many", canaries=count, held=len(kept))
    large = cells[kept][:, table.sizes >= count]
    taken = np.zeros(len(table.possible), dtype=np.bool_)
    alone = np.zeros(len(kept), dtype=np.bool_)
    for place, own in enumerate(large):
        alone[place] = not taken[own].any()
        taken[own] |= alone[place]
    return pool[kept[np.argsort(~alone, kind="stable")[:count]]]


def _labels(column: CountedColumn, codes: NDArray[np.int32], numbers: Floats | None) -> list[Any]:
    """Public values (n,) as text, None for an empty cell; of cells their numbers (n,)."""
    known = codes if numbers is None else numbers
    return [
        column.parts[code] if code < len(column.parts) else column.column.label_of_number(number)
        for code, number in zip(codes.tolist(), known.tolist(), strict=True)
    ]


def _copy(
    frame: nw.DataFrame[Any], added: pl.DataFrame, *, unit: str | None, times: int
) -> pl.DataFrame:
    """The table as text, then the added records, each as a new unit of so many records."""
    columns = {}
    for name in frame.columns:
        places, labels = distinct(frame[name], any_cell=True)
        own = np.array([*labels, None], dtype=object)[places].tolist()
        new: list[str | None] = [None] * len(added)
        if name == unit:
            new = [f"canary {secrets.token_hex(8)}" for _ in range(len(added))]
        elif name in added.columns:
            new = added[name].to_list()
        columns[name] = own + [label for label in new for _ in range(times)]
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
