"""What a run by a schema will about be and cost, before any fit: for the steward alone.

The figures are estimates from the confidential records, so they stay inside, as a proposal does.
"""

from __future__ import annotations

import time
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError

_EPSILON: Final = 4.0
_DELTA: Final = 1e-5
_HIGH: Final = 10.0  # Boards seldom accept more.
_LONG: Final = 300.0  # Seconds.
_DRAWS: Final = 20
_EVALUATIONS: Final = 60_000  # Of a log-likelihood, by the chains of all fits of a run.
_A_RUN: Final = 10.0  # Seconds of any run.


def forecast(schema: Any, table: Any) -> list[str]:
    """Sentences on a run by a schema on a table: what is fitted, epsilon, noise and time.

    Epsilon is that of rough fits, whose coefficients scatter by their rough standard errors in the
    place of a posterior. Weights follow from these bounds as under `lw`, whose bound `sw` meets.
    """
    from pyvws.release.synthesizer import Synthesizer
    from pyvws.tables.files.frame import open_frame
    from pyvws.tables.files.kinds import distinct

    try:
        frame = open_frame(table, least=1)
        plan = Synthesizer(schema=schema, mechanism="lw", datasets=1).plan.on(frame)
        outcomes = plan.coded(frame, None, None, ()).outcomes
    except InputError as error:
        return [f"There is no forecast. {error}"]
    rough = {one.name: _rough(one) for one in outcomes}
    each = {name: np.maximum(np.abs(low), np.abs(high)) for name, (low, high, _) in rough.items()}
    if schema.unit is not None:  # The terms of a unit's records add up.
        units = distinct(frame[schema.unit])[0] + 1
        each = {name: np.bincount(units, own) for name, own in each.items()}
    total = np.sum([*each.values()], axis=0)
    whose = "a record" if schema.unit is None else f"a unit of {schema.unit!r}"
    spread = np.ptp(total)
    weights = 1.0 - (total - total.min()) / spread if spread > 0.0 else np.ones(len(total))
    epsilon = 2.0 * float((weights * total).max())
    terms = np.sum([own > 0.0 for own in each.values()], axis=0)
    record = int(total.argmax())
    column = max(each, key=lambda name: float(each[name][record]))
    share = each[column][record] / total[record] if total[record] else 0.0
    seconds = _A_RUN + sum(one[2] for one in rough.values()) * _EVALUATIONS / _DRAWS
    size = sum(2.0 * 4000.0 * 8.0 * (one.parameters + 1) for one in plan.conditionals)
    size += 8.0 * len(total) * len(outcomes) * 10.0
    lines = [
        "Forecast: these are estimates from the records, without a fit. Keep them inside.",
        f"A run fits {len(outcomes)} conditionals with "
        f"{sum(x.parameters for x in plan.conditionals)} parameters of samplers, and a record has "
        f"up to {max(terms)} terms.",
        f"Under lw epsilon is about {epsilon:.2g} a dataset, and sw is made to meet it. Column "
        f"{column!r} makes about {share:.0%} of the largest bound of {whose}. A run takes about "
        f"{_time(seconds)} of processor time and {size / 1e9 + 0.4:.1f} GB.",
    ]
    noise = _noise(schema, len(total))
    if noise is not None:
        sets, cells, deviation, mean = noise
        lines.append(
            f"Under noisy-counts at epsilon {_EPSILON:g} and delta {_DELTA:g} pairs are {sets} "
            f"sets of {cells} cells. A cell has {mean:.0f} records on average, and its noise a "
            f"standard deviation of about {deviation:.0f}."
        )
    return [*lines, f"Recommended: {_advice(epsilon, seconds, column, noise)}."]


def _rough(one: Any) -> tuple[Floats, Floats, float]:
    """Lowest and highest log-likelihood (N,) at rough draws, 0 without a term; seconds of these."""
    conditional = one.conditional(None)
    model, cells, rng = one.model, conditional.cells, np.random.default_rng(1)
    weights = np.ones(cells.n_records)
    draws = model.exact_draws(cells, weights, _DRAWS, rng)
    exact = draws is not None
    if draws is None:
        start = model.start(cells, weights)
        steps = np.zeros((_DRAWS, len(start.centre)))
        if start.information is not None:
            K = len(start.information)
            steps[:, :K] = rng.standard_normal((_DRAWS, K))
        draws = model.constrain(start.scattered(steps), one.design.shape[1])
    terms = model.log_likelihood(draws, cells)
    if not exact:  # Once more: the first time compiles.
        began = time.process_time()
        terms = model.log_likelihood(draws, cells)
    seconds = 0.0 if exact else time.process_time() - began
    rows = slice(None) if one.records is None else one.records
    low, high = (np.zeros(len(one.y)) for _ in range(2))
    low[rows] = terms.min(axis=0)[cells.cell_of_record]
    high[rows] = terms.max(axis=0)[cells.cell_of_record]
    return low, high, seconds


def _noise(schema: Any, records: int) -> tuple[int, int, float, float] | None:
    """Sets, cells, noise and mean count of noisy counts of pairs; None where it takes no counts."""
    from pyvws.mechanisms.counts.budget import noise_of
    from pyvws.mechanisms.counts.sets import usual_shares
    from pyvws.mechanisms.noisy_counts import NoisyCounts

    if schema.public or schema.unit is not None:
        return None
    mechanism = NoisyCounts(epsilon=_EPSILON, delta=_DELTA)
    try:
        counted = mechanism.counted_table(schema)
    except InputError:
        return None
    noise = noise_of(mechanism.budget, usual_shares(counted, pure=False, power=None))
    cells = int(counted.possible.sum())
    sizes = np.add.reduceat(counted.possible, counted.offsets[:-1], dtype=np.int64)
    deviation = float((noise.deviations * sizes).sum() / cells)
    return len(sizes), cells, deviation, records * len(sizes) / cells


def _advice(epsilon: float, seconds: float, column: str, noise: Any) -> str:
    if epsilon <= _HIGH and seconds <= _LONG:
        return "lw, or sw where each record shall count alike"
    if noise is None:
        return f"fewer levels or predictors of column {column!r}"
    wide = noise[2] > noise[3]
    first = "join levels or give wider cuts, since noise exceeds the counts; then " if wide else ""
    why = f"epsilon is above {_HIGH:g}" if epsilon > _HIGH else "the fits are long"
    return f"{first}noisy-counts, since under lw {why}"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120.0 else f"{seconds / 60.0:.0f} minutes"
