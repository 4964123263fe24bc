"""What a run takes about, before its first fit: processor seconds and memory.

A fit by NUTS takes chains x iterations x slopes of an iteration x time of a slope. A short trial on
the run's own target tells the last two. Noisy counts take fits of classes, of which a few steps on
made-up counts tell the seconds. Both bring in the speed of the machine. What is left are seconds of
one machine: noise, figures, records and files.

A trial reads the records. So a strict run makes none, and its seconds are not forecast.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.cores import steady_sums
from pyvws._base.phrase import Phrase
from pyvws._base.phrase import counted as as_count
from pyvws.engines.nuts import REFIT_SHARE, Trial
from pyvws.errors import InputError
from pyvws.mechanisms.counts.coding import MOST_OF_PAIR
from pyvws.mechanisms.counts.fitted_classes import FITS, PenalisedCounts
from pyvws.mechanisms.counts.fitted_counts import in_pairs, with_classes, within_reach
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.whole_records import swaps
from pyvws.mechanisms.counts.workload import Workload
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.models.conditional_table import ConditionalTable
from pyvws.models.model import Model
from pyvws.models.sequence import Conditional
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.synthesis.loop import Listener
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.design.cells import Cells
from pyvws.weights.search import LONGER

_A_RUN: Final = 3.5  # Seconds of any run: what is loaded, read and written.
_A_RUN_OF_COUNTS: Final = 2.5
_GIGABYTES_OF_A_RUN: Final = 0.4
_MOST_NAMED: Final = 5  # Pairs of a line.
_OF_PARAMETER: Final = 3e-3  # of a fit's diagnostics for each parameter,
_OF_DIAGNOSED: Final = 0.9e-6  # and for each draw of it,
_OF_SHARE: Final = 100e-9  # of a conditional table's share in an iteration under a clamp,
_OF_RECORD: Final = 30e-9  # of a record in each such table,
_OF_NOISE: Final = 15e-6  # of the noise of a cell in noisy counts,
_OF_FIGURE: Final = 10e-3  # of a set's price and figures there,
_OF_CHECKED: Final = 1.6e-3  # of a set in each dataset,
_OF_SWAP: Final = 12e-9  # of a triple of columns of a record that swaps look at,
_OF_FAMILY: Final = 1.0  # of a column that its own family gives,
_OF_DRAWN: Final = 300e-9  # and of a column of a record of it.
_TRIES: Final = 4  # Refits of a search or of downscaling, as a rule.
_DRAWS: Final = (1, 5)
_TIMES: Final = 3
_TRIED: Final = 10  # Steps of a fit.
_LARGE: Final = 1000  # Above each made-up count.
_WORTH_A_WORD: Final = 10.0  # Seconds.


@dataclass(frozen=True, slots=True)
class Cost:
    """Expected processor `seconds` of a run, its `gigabytes`, and what takes the `longest`."""

    seconds: float
    gigabytes: float
    longest: str = ""

    def __str__(self) -> str:
        return f"about {rounded(self.seconds)} seconds of a processor and {self.gigabytes:.1f} GB"


def expected_cost(
    settings: RunSettings, columns: Sequence[Conditional], records: int
) -> Cost | None:
    """The cost of a run that fits conditionals to a table of N records by engine native.

    None for another engine, for fits that come from elsewhere, and where nothing is fitted.
    """
    mechanism, sampler = settings.chosen_mechanism, settings.settings
    outside = settings.program is not None or settings.existing_fit is not None
    if settings.engine != "native" or outside or not mechanism.facts.fits_model:
        return None
    fits, longer = _fits(settings)
    S = sampler.chains * sampler.draws
    by_column, kept, sampled = {}, 0, 0
    for column in columns:
        model, cells = column.model, column.cells
        K, clamps = cells.n_coefficients, mechanism.facts.clamps
        D = model.dimension(K)
        draw = model.constrain(np.zeros((1, D)), K)
        of_draw, iteration, of_fit = _seconds_a_draw(model, cells, D), 0.0, 0.0
        first, refit = sampler, sampler if clamps else sampler.after(settings, share=REFIT_SHARE)
        if isinstance(model, ConditionalTable):
            of_draw += _OF_SHARE * D
            if clamps:
                iteration = _OF_SHARE * D + _OF_RECORD * cells.n_records
        else:
            trial = Trial.of(PseudoPosterior(model, cells, np.ones(cells.n_records)), sampler)
            of_fit, of_draw = trial.start + _OF_PARAMETER * D, of_draw + _OF_DIAGNOSED * D
            iteration = trial.slopes * trial.slope
        if getattr(model, "coefficient_sd", None) and not clamps:
            first = refit = sampler.after(None, share=REFIT_SHARE, shaped=True)
        warmup = first.warmup + (fits - 1 + (longer > 0)) * refit.warmup
        iterations = sampler.chains * warmup + (fits + longer) * S
        of_draws = (fits + longer) * S * of_draw + (fits + (longer > 0)) * of_fit
        by_column[column.column] = iterations * iteration + of_draws
        kept += sum(entry.size for entry in draw.values())
        sampled = max(sampled, D)
    floats = S * ((min(fits, 3) + longer) * kept + 4 * sampled) + 10 * records * len(columns)
    seconds = _A_RUN + sum(by_column.values())
    last = max(columns, key=lambda column: by_column[column.column])
    K = last.cells.n_coefficients
    longest = (
        f"Column {last.column!r} takes {by_column[last.column] / seconds:.0%} of the time, by "
        f"{K:,} design columns and {last.model.dimension(K):,} parameters. Name fewer predictors, "
        "join levels, take fewer draws, or take model table in a schema."
    )
    return Cost(seconds, _GIGABYTES_OF_A_RUN + 8e-9 * floats, longest)


def expected_of_counts(
    mechanism: NoisyCounts,
    counted: Workload,
    records: int,
    scales: Floats,
    *,
    fits: int,
    in_steps: bool = False,
) -> Cost:
    """The cost of noisy counts of a `Workload` whose N records so many `fits` give.

    It follows the codes of classes and the `scales` (Q,) of the sets' noise. It hardly follows the
    records, which are held in memory but `in_steps`.
    """
    K, Q = len(counted.columns), len(counted.sets)
    families = sum(given.family is not None for given in counted.given.values())
    draws, best = (fits, int(mechanism.best_file)) if fits > 1 else (0, 2)  # One for its figures.
    of_file, of_fit = _seconds_of_fits(mechanism, counted, records, scales)
    of_fits = (draws + best) * of_file + (draws + FITS * best) * of_fit
    of_datasets = fits * (_OF_DRAWN * records * K + _OF_CHECKED * Q + _OF_FAMILY * families)
    before = _A_RUN_OF_COUNTS + _OF_NOISE * int(counted.possible.sum()) + _OF_FIGURE * Q
    return Cost(
        float(before + of_fits + of_datasets),
        _GIGABYTES_OF_A_RUN + 8e-9 * (2 if in_steps else 20) * records * K,
        f"{records:,} records have {as_count(Q, 'set')} of {as_count(K, 'column')}. "
        f"Take {'fewer datasets (--datasets), ' if fits > 1 else ''}"
        "fewer sets (--measure predictors), or leave columns out.",
    )


def not_counted(table: Workload) -> list[Phrase]:
    """What a run says of pairs of columns with too many cells, by its schema; nothing without."""
    pairs, more = table.too_large[:_MOST_NAMED], len(table.too_large) - _MOST_NAMED
    named = ", ".join(pairs) + (f" and {more} more" if more > 0 else "")
    return [Phrase("pairs-not-counted", {"pairs": named, "most": MOST_OF_PAIR})] if pairs else []


def check_cost(cost: Cost | None, most: float, listener: Listener) -> None:
    """Tell the agency a cost that is worth a word; InputError where it is above `most` seconds."""
    if cost is None:
        return
    if cost.seconds > _WORTH_A_WORD:
        listener.line(f"  Expected: {cost}.")
    if cost.seconds > most:
        raise InputError.by("too-long", cost=cost, most=most, longest=cost.longest)


def rounded(seconds: float) -> str:
    """Seconds in two digits."""
    return f"{float(f'{seconds:.2g}'):,.0f}"


def _fits(settings: RunSettings) -> tuple[int, int]:
    """How many fits a run makes as a rule, and how many times a fit's draws confirm the last."""
    mechanism = settings.chosen_mechanism
    fits = mechanism.facts.fits + (_TRIES if settings.reweight else 0)
    if settings.downscale or settings.epsilon is not None:
        fits += _TRIES
    confirmed = settings.target_epsilon is not None and not mechanism.facts.clamps
    return fits, LONGER if confirmed else 0


def _seconds_of_fits(
    mechanism: NoisyCounts, counted: Workload, records: int, scales: Floats
) -> tuple[float, float]:
    """Processor seconds before a file's fits, and of a fit, by a few steps on made-up counts."""
    rng = np.random.default_rng(1)
    made_up = rng.integers(_LARGE, size=len(counted.possible))
    one = max(1, records)
    noisy = Measurements(counted, made_up, scales, laplace=mechanism.budget.pure, records=one)
    began = time.thread_time()
    reached = within_reach(noisy)
    of_swaps, paired = _OF_SWAP * swaps(reached), in_pairs(reached)
    counts = PenalisedCounts(with_classes(paired))
    if not len(counts.sizes):
        return of_swaps, 0.0
    at = counts.start(mechanism.classes, rng)
    with steady_sums():
        counts.penalised(at)
        started = time.thread_time()
        for _ in range(_TRIED):
            counts.penalised(at)
    return of_swaps + started - began, counts.steps / _TRIED * (time.thread_time() - started)


def _seconds_a_draw(model: Model, cells: Cells, D: int) -> float:
    """Processor seconds of one draw more in the log-likelihood of all cells, on this machine."""
    at = {}
    with np.errstate(all="ignore"):
        for S in _DRAWS:
            draws = model.constrain(np.zeros((S, D)), cells.n_coefficients)
            model.log_likelihood(draws, cells)  # The first time compiles.
            times = []
            for _ in range(_TIMES):
                began = time.thread_time()
                model.log_likelihood(draws, cells)
                times.append(time.thread_time() - began)
            at[S] = min(times)
    few, many = _DRAWS
    return max(at[many] - at[few], 0.0) / (many - few)
