"""What a run will about be and cost, before any fit: for the steward alone.

The figures are estimates from records. Those from the confidential ones stay inside, as a proposal
does. Those from the public records of a reference need no look at the table.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError, UsageError
from pyvws.statement.words import caveat
from pyvws.synthesis.left_out import MANY
from pyvws.tables.files.read import TableFile, read_table

_HIGH: Final = 10.0  # Boards seldom accept more.
_SHIFT: Final = 0.5  # The default g of lw where weights of 0 would take out much.
_DRAWS: Final = 20  # At once,
_TIMES: Final = 10  # and so many times.
_A_COLUMN: Final = 2  # Records to a design column, in a fit that has nearly one for each record.
_NONE: Final = "There is no forecast. {}"
_CLEAR: Final = 2.0  # Deviations of its noise that a cell has on average, where most is kept,
_CLEAR_OF_UNITS: Final = 3.0  # and where units have several records, which are alike.
_EPSILONS: Final = (1.0, 2.0, 4.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0)
_OF_NOISE: Final = 0.03  # Of the noise's variance: a model shares noise among its cells.


def forecast_records(table: Path, reference: str | None) -> TableFile:
    """The records of a forecast: those of the table, or of a reference in their place.

    Of a reference of several datasets the first is taken, which is as large as a table. Nothing of
    the `table` is opened then.
    """
    from pyvws.synthesis.reference import public_files

    if reference is None:
        return read_table(table)
    (file, *_) = public_files(Path(reference))
    if table.exists() and file.exists() and file.samefile(table):
        raise UsageError("--reference is the confidential table. Name a file of public records.")
    return read_table(file)


def forecast_of_schema(schema: Any, table: Any, *, public: bool = False) -> list[str]:
    """The forecast of a run of lw by a schema."""
    from pyvws.release.synthesizer import Synthesizer

    try:
        settings = Synthesizer(schema=schema, mechanism="lw", datasets=1)
    except InputError as error:
        return [_NONE.format(error)]
    return forecast(settings, table, public=public)


def forecast(settings: Any, table: Any, *, public: bool = False) -> list[str]:
    """Sentences on a run on a table: what is fitted, epsilon, noise, seconds and memory.

    The table is the confidential one, or has the `public` records of a reference.

    Epsilon is that of rough fits, whose coefficients scatter by their rough standard errors in the
    place of a posterior. Weights follow from their bounds as under `lw`, whose bound `sw` meets,
    and the bounds of rough fits under these weights are the forecast. Noisy counts are forecast at
    the run's epsilon and delta, or at 4 and a delta of 1e-5 or below 1 / (10 n).
    """
    from pyvws._base.deltas import delta_to_decide, modest_delta
    from pyvws.mechanisms.noisy_counts import NoisyCounts
    from pyvws.release.synthesizer import Synthesizer
    from pyvws.synthesis.cost import expected_cost, expected_of_counts
    from pyvws.tables.files.frame import open_frame, unit_codes

    fitted, mechanism = settings, settings.mechanism
    if mechanism.facts.takes_table:
        fitted = Synthesizer(schema=settings.schema, mechanism="lw", datasets=1)
    elif not mechanism.facts.fits_model:
        return [_NONE.format(f"{mechanism.name} fits no model.")]
    try:
        frame = open_frame(table, least=1)
        plan = fitted.plan.on(frame).designed(frame)
        units = None if plan.unit is None else unit_codes(frame, plan.unit)
        outcomes = plan.coded(frame, None, units, ()).outcomes
    except InputError as error:
        return [_NONE.format(f"reference: {error}" if public else error)]
    columns = [outcome.conditional(None) for outcome in outcomes]
    cost = expected_cost(fitted, columns, len(frame))
    total, first, _ = _bounds(outcomes, np.ones(len(frame)), units)
    bounded = np.isfinite(total)
    spread = np.ptp(total[bounded]) if bounded.any() else 0.0
    weights = bounded.astype(np.float64)
    if spread > 0.0:
        weights[bounded] -= (total[bounded] - total[bounded].min()) / spread
    if _loses_much(outcomes, weights == 0.0):  # Then a run takes this shift too.
        weights[bounded] = np.minimum(weights[bounded] + _SHIFT, 1.0)
    own_weights = weights if units is None else weights[units]
    total, each, terms = _bounds(outcomes, own_weights, units)
    weighted = weights * np.where(weights > 0.0, total, 0.0)
    record = int(weighted.argmax())
    of_lw = 2.0 * float(weighted[record])
    column = max(each, key=lambda name: float(each[name][record]))
    share = each[column][record] / total[record] if 0.0 < total[record] < np.inf else 1.0
    lines = [
        "Forecast: these are estimates without a fit. They come from "
        f"{_source(plan, frame, public)}",
        f"A run fits {len(outcomes)} conditionals with "
        f"{sum(x.parameters for x in plan.conditionals)} parameters of samplers, and a record has "
        f"up to {max(terms)} terms.",
        f"Under lw epsilon is about {of_lw:.2g} a dataset, and sw is made to meet it. Column "
        f"{column!r} makes about {share:.0%} of the largest bound of {plan.unit_of_privacy}.",
    ]
    if cost is not None:
        lines.append(f"A run of {fitted.mechanism.name} takes {cost}.")
    if cost is not None and cost.seconds > fitted.most_seconds:
        lines.append(f"That is above --most-seconds, {fitted.most_seconds:g}. {cost.longest}")
    lines += [caveat(phrase) for phrase in plan.caveats]
    if not bounded.all():
        ends = [name for name, own in first.items() if not np.isfinite(own).all()]
        lines.append(
            f"{(~bounded).sum()} bounds are infinite, since a density of column "
            f"{', '.join(map(repr, ends))} is 0 or infinite there. The forecast leaves them out. "
            "Under beta such values lie at an end of the range, and --squeeze moves them inwards."
        )
    wide = [part for part in plan.conditionals if part.name in plan.wide]
    if wide:
        family: Any = wide[0].family
        lines.append(
            f"The schema gives no coefficient_sd to {', '.join(repr(part.name) for part in wide)}. "
            f"{'Their' if wide[1:] else 'Its'} levels have many coefficients, and each has a "
            f"normal prior of standard deviation {family.coefficient_sd:g}."
        )
    for part in plan.conditionals if fitted is settings else ():
        if part.parameters > len(frame) and _A_COLUMN * (part.K or 0) >= len(frame):
            lines.append(
                f"The predictors of {part.name!r} make {part.K} design columns for {len(frame)} "
                f"records. Its {part.parameters:,} parameters take long, and tell little. Name "
                "fewer predictors, or join levels."
            )
    modest = min(1e-5, modest_delta(len(frame)))
    epsilon, delta, cap = 4.0, modest, None
    if mechanism.facts.takes_table:
        epsilon, delta, cap = mechanism.epsilon, mechanism.delta, mechanism.cap
    counting: Any = mechanism if mechanism.facts.takes_table else NoisyCounts(epsilon=epsilon)
    least = _beyond(units, 1)
    one = None if units is None else _noise(plan, len(frame) - least, epsilon, delta, 1)
    suggested = ""
    if cap is None and one is not None:
        cap, suggested = _cap(units, one), "should lose least, and "
    out = _beyond(units, cap)
    noise = _noise(plan, len(frame) - out, epsilon, delta, cap)
    if noise is not None:
        sets, cells, deviation, mean = noise
        tables, most = counting.counted_table(plan.schema), settings.most_seconds
        counts = expected_of_counts(counting, tables, len(frame) - out, most=most)
        capped = f" with --cap {cap}, which {suggested}leaves {out} records out," if cap else ""
        lines.append(
            f"Under noisy-counts{capped} at epsilon {epsilon:g} and delta {delta:g} pairs are "
            f"{sets} sets of {cells} cells. A cell has {mean:.0f} records on average, and its "
            f"noise a standard deviation of about {deviation:.0f}. A run takes {counts}."
        )
        if cap is not None and cap > 1 and one is not None:
            lines.append(
                "Noise grows with the cap, and so do the records that count. With --cap 1 a cell "
                f"has {one[3]:.0f} records on average and a noise of about {one[2]:.0f}, and "
                f"{least} records are left out. Chance decides which records of a unit count."
            )
        if counts.seconds > most:
            lines.append(f"That is above --most-seconds, {most:g}. {counts.longest}")
        lines += _hidden(
            noise, cap, lambda x: _noise(plan, len(frame) - out, x, delta, cap), epsilon
        )
    few = None
    if noise is not None and noise[2] > noise[3]:
        few = _noise(plan, len(frame) - out, epsilon, delta, cap, measure=("predictors",))
    if delta_to_decide(delta, len(frame)):
        lines.append(
            f"Delta {delta:g} is above a tenth of 1 over the number of records, so a board has to "
            f"decide on it. Take {modest:g}."
        )
        delta = modest
    return [*lines, f"Recommended: {_advice(of_lw, column, noise, few, delta)}."]


def _source(plan: Any, frame: Any, public: bool) -> str:
    """What the figures come from, and whether they stay inside: a proposed schema is of a table."""
    if not public:
        return "the confidential table: keep them inside."
    records = f"the records of the reference ({len(frame)})"
    if plan.proposed:
        return (
            f"{records}, and from a schema under review, which a look at the table proposed: keep "
            "them inside."
        )
    return (
        f"{records}, so nothing confidential was read. A record of the table that is unlike these "
        "may have a larger bound."
    )


def _loses_much(outcomes: Any, out: Any) -> bool:
    """Whether `out` (N,) has many records or units, or of records a whole level of a category."""
    if out.sum() > max(1.0, MANY * len(out)):
        return True
    for outcome in outcomes:
        if outcome.categorical and len(outcome.y) == len(out):
            has = np.zeros(len(out), dtype=np.bool_)
            has[slice(None) if outcome.records is None else outcome.records] = True
            if set(outcome.y[has & out]) - set(outcome.y[has & ~out]):
                return True
    return False


def _bounds(outcomes: Any, weights: Floats, units: Any) -> tuple[Floats, dict[str, Floats], Floats]:
    """Bounds of the records, or of their units, in all and by column, and how many terms each has.

    The rough fits are under `weights` (N,), and the bounds are of unweighted terms.
    """
    each = {outcome.name: _rough(outcome, weights) for outcome in outcomes}
    if units is not None:  # The terms of a unit's records add up.
        each = {name: np.asarray(np.bincount(units, own), float) for name, own in each.items()}
    own_bounds = [*each.values()]
    return np.sum(own_bounds, axis=0), each, np.sum([own > 0.0 for own in own_bounds], axis=0)


def _rough(outcome: Any, weights: Floats) -> Floats:
    """Largest sizes (N,) of log-likelihoods at rough draws under weights (N,), 0 without a term."""
    conditional = outcome.conditional(None)
    model, cells, rng = outcome.model, conditional.cells, np.random.default_rng(1)
    rows = slice(None) if outcome.records is None else outcome.records
    own, start = weights[rows], None
    largest = np.zeros(cells.n_cells)
    for _ in range(_TIMES):
        draws = model.exact_draws(cells, own, _DRAWS, rng)
        if draws is None:
            start = start or model.start(cells, own)
            steps = np.zeros((_DRAWS, len(start.centre)))
            if start.information is not None:
                K = len(start.information)
                steps[:, :K] = rng.standard_normal((_DRAWS, K))
            draws = model.constrain(start.scattered(steps), outcome.design.shape[1])
        terms = model.log_likelihood(draws, cells)
        largest = np.maximum(largest, np.abs(terms).max(axis=0))
    bounds = np.zeros(len(outcome.y))
    bounds[rows] = largest[cells.cell_of_record]
    return bounds


def _cap(units: Any, one: tuple[int, int, float, float]) -> int:
    """The cap of units (N,) that loses least, given the noise and mean count of a cap of 1.

    The noise grows with the cap. So do the records that count, and their own chance falls.
    """
    units_of_size = np.bincount(np.bincount(units))[1:]
    caps = np.arange(1, len(units_of_size) + 1)
    kept = np.cumsum(np.cumsum(units_of_size[::-1])[::-1])
    mean = one[3] * kept / kept[0]
    lost = _OF_NOISE * (caps * one[2] / mean) ** 2 + 1.0 / mean
    return int(caps[np.argmin(lost)])


def _beyond(units: Any, cap: int | None) -> int:
    """How many records of units (N,) a cap leaves out."""
    return 0 if units is None or cap is None else int(np.maximum(np.bincount(units) - cap, 0).sum())


def _noise(
    plan: Any,
    records: int,
    epsilon: float,
    delta: float,
    cap: int | None,
    measure: tuple[str, ...] = ("pairs",),
) -> tuple[int, int, float, float] | None:
    """Sets, cells, noise and mean count of noisy counts of sets; None where it takes no counts."""
    from pyvws.mechanisms.counts.noisy_tables import of_set
    from pyvws.mechanisms.noisy_counts import NoisyCounts

    if plan.run.outcome is not None or plan.predictors or plan.members is not None:
        return None
    mechanism = NoisyCounts(epsilon=epsilon, delta=delta, cap=cap, measure=measure)
    try:
        counted = mechanism.counted_table(plan.schema)
    except InputError:
        return None
    workload = mechanism.workload(plan.schema)
    noise = workload.noise(mechanism.budget, hidden=False)
    cells = int(counted.possible.sum())
    sizes = np.add.reduceat(counted.possible, counted.offsets[:-1], dtype=np.int64)
    deviations = np.array([noise.deviation(of_set(name)) for name in counted.names])
    deviation = float((deviations * sizes).sum() / cells)
    return len(sizes), cells, deviation, records * len(sizes) / cells


def _hidden(
    noise: tuple[int, int, float, float],
    cap: int | None,
    at: Callable[[float], tuple[int, int, float, float] | None],
    epsilon: float,
) -> list[str]:
    """A sentence where a cell hardly stands out of its noise, and which epsilon would be enough.

    `at` gives the noise at an epsilon.
    """
    clear = _CLEAR if cap in (None, 1) else _CLEAR_OF_UNITS

    def stands_out(of: tuple[int, int, float, float] | None) -> bool:
        return of is not None and of[3] >= clear * of[2]

    if stands_out(noise):
        return []
    enough = next((x for x in _EPSILONS if x > epsilon and stands_out(at(x))), None)
    return [
        f"A cell has fewer records than {clear:g} standard deviations of its noise, so a dataset "
        "may be hardly better than independent columns."
        + (f" Epsilon {enough:g} would be enough." if enough else "")
        + " Join levels, give wider cuts, or leave columns out."
    ]


def _advice(epsilon: float, column: str, noise: Any, few: Any, delta: float) -> str:
    if epsilon <= _HIGH:
        return "lw, or sw where each record shall count alike"
    if noise is None:
        return f"fewer levels or predictors of column {column!r}"
    wide, at = noise[2] > noise[3], f" at --delta {delta:g}" if delta else ""
    if few is not None and few[2] < few[3]:
        return (
            f"noisy-counts{at} with --measure predictors, since noise exceeds the counts of all "
            f"pairs; its {few[0]} sets have {few[3]:.0f} records a cell and a noise of about "
            f"{few[2]:.0f}"
        )
    first = "join levels or give wider cuts, since noise exceeds the counts; then " if wide else ""
    return f"{first}noisy-counts{at}, since under lw epsilon is above {_HIGH:g}"
