"""What a run will about be and cost, before any fit: numbers by key [vws2024].

The figures are estimates. Those from the confidential records stay inside, as a proposal does.
Those from public records, or from a schema and a number of records, need no look at the table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, Final

import numpy as np
from narwhals.typing import IntoFrame

from pyvws._base.checks import Floats, whole_number
from pyvws._base.deltas import delta_to_decide, modest_delta
from pyvws._base.phrase import Phrase
from pyvws.errors import InputError
from pyvws.mechanisms.counts.best_file import best_file
from pyvws.mechanisms.counts.counting import CellCounting
from pyvws.mechanisms.counts.drawn_fits import once_more
from pyvws.mechanisms.counts.measurements import Measurements, of_set
from pyvws.mechanisms.counts.needs import off_on_average
from pyvws.mechanisms.counts.workload import PAIRS
from pyvws.mechanisms.inverse_weighted import InverseWeighted
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.models.sequence import TableCells, TableModel
from pyvws.plan.coded import OutcomeColumn
from pyvws.plan.plan import Plan
from pyvws.statement.words import forecast_words
from pyvws.synthesis.cost import Cost, expected_cost, expected_of_counts, not_counted
from pyvws.synthesis.loop import Places, loses_much
from pyvws.synthesis.settings import RunSettings
from pyvws.synthesis.settings_by_name import arranged
from pyvws.tables.design.units import Units
from pyvws.tables.files.frame import Frame, open_frame, unit_codes
from pyvws.tables.schema.schema import Schema
from pyvws.weights.weights import KEEPING_SHIFT, inverse_weights, weights_from_bounds

Outcomes = Sequence[OutcomeColumn]

_HIGH: Final = 10.0  # Boards seldom accept more.
_DRAWS: Final = 20  # At once,
_TIMES: Final = 10  # and so many times.
_A_COLUMN: Final = 2  # Records to a design column, in a fit that has nearly one for each record.
_CLEAR: Final = 2.0  # Deviations of its noise that a cell has on average, where most is kept,
_CLEAR_OF_UNITS: Final = 3.0  # and where units have several records, which are alike.
_MEAN_OF_NORMAL: Final = math.sqrt(2.0 / math.pi)  # The mean size of noise of deviation 1.
_EPSILONS: Final = (1.0, 2.0, 4.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0)
_OF_NOISE: Final = 0.03  # Of the noise's variance: a model shares noise among its cells.
_EPSILON: Final = 4.0  # Of noisy counts, where the run has none.


@dataclass(frozen=True, slots=True)
class Forecast:
    """The estimates of a run: `notes`, each a key with its values, in the order that they are told.

    `figures` has the values by the note's key, and `lines` a sentence for each note. The section
    `forecast` of `statement/words.toml` has the words of each key. Another key is that of a caveat
    that the run's statement will have.
    """

    notes: tuple[Phrase, ...]

    @property
    def figures(self) -> dict[str, dict[str, Any]]:
        return {note.key: dict(note.values) for note in self.notes}

    @property
    def lines(self) -> list[str]:
        return [forecast_words(note) for note in self.notes]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in self.lines)


@dataclass(frozen=True, slots=True)
class _Counts:
    """How many cells the sets have, a cell's noise, and its records on average."""

    sets: int
    cells: int
    noise: float
    records_a_cell: float

    def stand_out(self, deviations: float = 1.0) -> bool:
        """Whether a cell has as many records as `deviations` of its noise."""
        return self.records_a_cell >= deviations * self.noise


def forecast(
    schema: str | Path | Schema | None,
    table: IntoFrame | None = None,
    *,
    records: int | None = None,
    public: bool = False,
    **settings: Any,
) -> Forecast:
    """Estimate what a run costs and gives, without a fit.

    Parameters
    ----------
    schema : path or Schema
        What is public of the table. None for a run of one `outcome`.
    table : pandas, polars or Arrow table, N rows, optional
        The confidential table. Keep its figures inside: no epsilon covers what you choose by them.
        Without a table the figures are those of noisy counts alone, from the schema.
    records : int, optional
        A public number of records, in the place of a table. The schema's own if not given.
    public : bool
        Whether `table` has public records, such as those of an earlier year.
    **settings
        The mechanism, and any setting of the page Settings, such as epsilon, delta, cap and
        `needs`. With needs noisy counts may lack an epsilon: the figures are then those at 4.

    Returns
    -------
    Forecast
        .figures, numbers by key; .lines, a sentence for each key; .notes, both before any words.
        `figures["epsilon"]` is that of one dataset, 2 Delta (Algorithm 1 of [vws2024]), under `lw`,
        or under `inverse` at a given t; larger = less private.
        `figures["counts"]` has the number of sets and of cells, the mean records of a cell, and the
        standard deviation of its noise, in records. `figures["needs"]["half_widths"]` has the
        points of a share that 95 % intervals reach, by need, and `figures["least-epsilon"]` the
        least epsilon that meets each precision.

    Raises
    ------
    InputError
        Without a mechanism, for a setting that is out of range, and where neither a table nor a
        number is given.

    Examples
    --------
    >>> from pyvws import Column, Schema
    >>> columns = {name: Column(model="table", levels=["no", "yes"]) for name in "abc"}
    >>> expected = forecast(Schema(columns), records=600, mechanism="noisy-counts", epsilon=1)
    >>> expected.figures["counts"]["records_a_cell"]
    150.0
    """
    run = RunSettings(**arranged(with_epsilon({"schema": schema, **settings})))
    known = run.records if records is None else whole_number(records, "records", least=1)
    number = known if isinstance(known, int) else 0
    needs = run.mechanism.asked if isinstance(run.mechanism, NoisyCounts) else ()
    if table is None and not number and needs and all(need.size for need in needs):
        return Forecast(tuple(_of_needs(run, 0)))
    if table is None and (run.schema is None or not number):
        raise InputError.by("forecast-of-nothing")
    return forecast_of(run, table, records=number, public=public)


def with_epsilon(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of a forecast by name: of needs whose least epsilon is asked for, at a usual one."""
    asks = settings.get("needs") and settings.get("mechanism") == NoisyCounts.name
    return {**settings, "epsilon": settings.get("epsilon") or _EPSILON} if asks else settings


def forecast_of(
    run: RunSettings, table: IntoFrame | None = None, *, records: int = 0, public: bool = False
) -> Forecast:
    """The forecast of a run's settings: what is fitted, epsilon, noise, seconds and memory.

    The table is the confidential one, or has the `public` records of a reference. Without a table
    the forecast of noisy counts follows from the schema and the number of `records` alone.

    Epsilon is that of rough fits, whose coefficients scatter by their rough standard errors in the
    place of a posterior. Weights follow from their bounds as under `inverse` where its t is given,
    else as under `lw`, whose bound `sw` meets. The bounds of rough fits under these weights are the
    forecast. Noisy counts are forecast at
    the run's epsilon and delta, or at 4 and a delta of 1e-5 or below 1 / (10 n).
    """
    counts = run.facts.takes_table
    if not counts and not run.facts.fits_model:
        return Forecast((Phrase("none", {"why": f"{run.facts.name} fits no model."}),))
    if table is None:
        own = _of_counts(run, records), _of_needs(run, records)
        return Forecast((_from(run.plan, records, "schema"), *own[0], *own[1]))
    try:
        fitted = run
        if counts:
            given: Any = run.schema
            members = given.members and replace(given.members, slot=None)
            own = replace(given, weight=None, weight_range=None, weight_kind=None, members=members)
            fitted = RunSettings(schema=own, mechanism="lw", datasets=1)
        frame = open_frame(table, least=1)
        plan = fitted.plan.on(frame).designed(frame)
        units = None if plan.unit is None else unit_codes(frame, plan.unit)
        outcomes = plan.coded(frame, None, units, ()).outcomes
    except InputError as error:
        why = f"reference: {error}" if public else str(error)
        return Forecast((Phrase("none", {"why": why}),))
    N = len(frame)
    source = _from(plan, N, "reference") if public else Phrase("confidential")
    fits = _of_fits(fitted, plan, outcomes, N, units)
    needs = _of_needs(run, N, frame if public else None)
    return Forecast(
        (source, *fits, *_of_counts(run, N, units, Forecast(tuple(fits)), frame), *needs)
    )


def _from(plan: Plan, records: int, source: str) -> Phrase:
    """What the figures come from, and whether they stay inside: a proposed schema is of a table."""
    return Phrase(f"proposed-{source}" if plan.proposed else source, {"records": records})


def _of_fits(
    run: RunSettings, plan: Plan, outcomes: Outcomes, N: int, units: Places | None
) -> list[Phrase]:
    """The notes on the fits of a run to N records, of `units` (N,), and on their epsilon."""
    columns = tuple(outcome.conditional(None) for outcome in outcomes)
    cost = None
    with suppress(InputError):  # Of outcomes that no fit takes, which other notes tell.
        cost = expected_cost(run, columns, N)
    first = _bounds(outcomes, np.ones(N), units)
    total = np.sum([*first.values()], axis=0)
    bounded = np.isfinite(total)
    weights, mechanism, under = bounded.astype(np.float64), run.chosen_mechanism, "lw"
    if bounded.any() and isinstance(mechanism, InverseWeighted) and mechanism.t is not None:
        weights = inverse_weights(total, t=mechanism.t, power=mechanism.power)
        under = f"inverse at t = {mechanism.t:g}"
    elif bounded.any() and np.ptp(total[bounded]) > 0.0:
        weights = weights_from_bounds(total)
        records: Any = TableCells.of(columns, N)
        if units is not None:
            places = [(column.places(N), column.cells.n_cells) for column in columns]
            records = Units.of(records, units, places)
        if loses_much(TableModel(columns), records, weights == 0.0):  # As in a run.
            weights = weights_from_bounds(total, g=KEEPING_SHIFT)
    each = _bounds(outcomes, weights if units is None else weights[units], units)
    total = np.sum([*each.values()], axis=0)
    terms = np.sum([own > 0.0 for own in each.values()], axis=0)
    weighted = weights * np.where(weights > 0.0, total, 0.0)
    record = int(weighted.argmax())
    epsilon = 2.0 * float(weighted[record])
    column = max(each, key=lambda name: float(each[name][record]))
    share = each[column][record] / total[record] if 0.0 < total[record] < np.inf else 1.0
    parameters = sum(x.parameters for x in plan.conditionals)
    sizes = {"conditionals": len(outcomes), "parameters": parameters, "terms": int(max(terms))}
    found = {"under": under, "epsilon": epsilon, "column": column, "share": float(share)}
    notes = [Phrase("fits", sizes), Phrase("epsilon", found | {"unit": plan.unit_of_privacy})]
    if cost is not None:
        notes += _time("time", cost, run.most_seconds, {"mechanism": run.facts.name})
    notes += plan.caveats
    if not bounded.all():
        ends = [name for name, own in first.items() if not np.isfinite(own).all()]
        values = {"number": int((~bounded).sum()), "columns": ", ".join(map(repr, ends))}
        notes.append(Phrase("infinite-bounds", values))
    wide = [part for part in plan.conditionals if part.wide]
    if wide:
        family: Any = wide[0].family
        values = {"columns": ", ".join(repr(part.name) for part in wide)}
        notes.append(Phrase("wide", values | {"coefficient_sd": family.coefficient_sd}))
    for x in plan.conditionals:
        if x.parameters > N and _A_COLUMN * (x.K or 0) >= N:
            values = {"column": x.name, "K": x.K, "N": N, "parameters": x.parameters}
            notes.append(Phrase("design-columns", values))
    return notes


def _time(key: str, cost: Cost, most: float, values: dict[str, Any]) -> list[Phrase]:
    """What a run takes, and what helps where that is above `most` seconds."""
    values |= {"seconds": float(f"{cost.seconds:.2g}"), "gigabytes": cost.gigabytes}
    above = {"most_seconds": most, "longest": cost.longest}
    return [Phrase(key, values), *([Phrase(f"long-{key}", above)] if cost.seconds > most else [])]


def _of_counts(
    run: RunSettings,
    N: int,
    units: Places | None = None,
    fits: Forecast | None = None,
    records: Frame | None = None,
) -> list[Phrase]:
    """The notes on noisy counts of N records, of `units` (N,), and what is recommended.

    What helps is tried on the cells of the `records`, where these are given.
    """
    if units is not None and run.plan.counts_units:
        N, units = len(np.unique(units)), None
    modest = min(1e-5, modest_delta(N))
    usual = NoisyCounts(epsilon=_EPSILON, delta=modest, measure=(PAIRS,))
    asked: Any = run.mechanism if run.facts.takes_table else usual
    pairs = replace(usual, epsilon=asked.epsilon, delta=asked.delta, cap=asked.cap)
    notes = []

    def counts(**changes: Any) -> _Counts | None:
        mechanism = replace(pairs, **changes)
        return _counts(run.plan, N - _beyond(units, mechanism.cap), mechanism)

    def told(**changes: Any) -> float:
        return math.inf if records is None else _told(run.plan, records, replace(pairs, **changes))

    one = None if units is None else counts(cap=1)
    if units is not None and pairs.cap is None and one is not None:
        pairs = replace(pairs, cap=_cap(units, one))
    cap, out, found = pairs.cap, _beyond(units, pairs.cap), counts()
    if found is not None:
        if cap is not None:
            key = "cap" if asked.cap else "cap-suggested"
            notes.append(Phrase(key, {"cap": cap, "left_out": out}))
        at = {"epsilon": pairs.epsilon, "delta": pairs.delta, **asdict(found)}
        notes.append(Phrase("counts", at))
        if cap is not None and cap > 1 and one is not None:
            notes.append(Phrase("cap-of-one", {"left_out": _beyond(units, 1), **asdict(one)}))
        counting, most = asked.counting(run.plan.schema), run.most_seconds
        noise = counting.noise(asked.budget, hidden=False)
        settled, noise, why = counting.settled(noise, N - out)
        notes, table = [*notes, *filter(None, [why])], settled.table
        scales = np.array([noise.scales[of_set(name)] for name in table.names])
        cost = expected_of_counts(asked, table, N - out, scales, fits=run.datasets)
        notes += [*_time("time-of-counts", cost, most, {}), *not_counted(table)]
        clear = _CLEAR if cap in (None, 1) else _CLEAR_OF_UNITS
        if not found.stand_out(clear):
            notes.append(Phrase("hidden-cells", {"deviations": clear}))
            larger = ((x, counts(epsilon=x)) for x in _EPSILONS if x > pairs.epsilon)
            clearer = (x for x, own in larger if own and own.stand_out(clear))
            enough = next((x for x in clearer if told(epsilon=x) > 0.0), None)
            if enough is not None:
                notes.append(Phrase("enough-epsilon", {"epsilon": enough}))
    delta = pairs.delta
    if delta_to_decide(delta, N):
        notes.append(Phrase("delta-to-decide", {"delta": delta, "modest": modest}))
        delta = modest
    if fits is None:
        return notes
    weighing = "inverse at a public t" if run.outcome is None else "lw"
    return [*notes, _advice(fits.figures["epsilon"], weighing, found, delta)]


def _of_needs(run: RunSettings, N: int, public: Frame | None = None) -> list[Phrase]:
    """The notes on what analysts need of N records, given `public` records for regressions."""
    mechanism, schema = run.mechanism, run.schema
    if not isinstance(mechanism, NoisyCounts) or not mechanism.asked:
        return []
    assert isinstance(schema, Schema)
    notes, widths = [], mechanism.widths(schema, N, mechanism.epsilon)
    if widths:
        told = "; ".join(f"{words} {x:.2g}" for words, x in widths.items())
        values = {"epsilon": mechanism.epsilon, "half_widths": widths, "answers": told}
        notes.append(Phrase("needs", values))
    if (least := mechanism.least_epsilon(schema, N)) is not None:
        notes.append(Phrase("least-epsilon", {"epsilon": least}))
    regressions = [need for need in mechanism.asked if need.regression]
    counting = mechanism.counting(schema)
    if public is None and counting.reference is not None:
        public = counting.referred
    if not regressions:
        return notes
    if public is None:
        words = ", ".join(repr(need.words) for need in regressions)
        return [*notes, Phrase("regression-unknown", {"needs": words})]
    off = _of_copy(counting, mechanism, public)
    told = "; ".join(f"{words} {x:.2g}" for words, x in off.items())
    return [*notes, Phrase("regression-needs", {"off": off, "answers": told})]


def _of_copy(counting: CellCounting, mechanism: NoisyCounts, public: Frame) -> dict[str, float]:
    """How far regressions of a best file are off, of public records that noise is added to."""
    noise, codes = counting.noise(mechanism.budget, hidden=False), counting.read(public).codes
    counting, noise, _ = counting.settled(noise, len(codes))
    table = counting.table
    scales = np.array([noise.scales[of_set(name)] for name in table.names])
    given: Any = {"laplace": mechanism.budget.pure, "records": len(codes)}
    noisy = Measurements(table, table.counts(codes), scales, **given)
    noisy = once_more(noisy, np.random.default_rng(1))
    noisy = replace(noisy, counts=noisy.counts * table.possible)
    made = best_file(noisy, classes=mechanism.classes, seed=1).codes[0]
    return off_on_average(mechanism.asked, codes, made, table)


def _advice(
    of_fits: Mapping[str, Any], weighing: str, found: _Counts | None, delta: float
) -> Phrase:
    """What is recommended, given the counts of all pairs."""
    if of_fits["epsilon"] <= _HIGH:
        return Phrase("advice-weights", {"mechanism": weighing})
    if found is None:
        return Phrase("advice-fewer-levels", {"column": of_fits["column"]})
    key = "advice-counts" if found.stand_out() else "advice-wider-cells"
    return Phrase(key, {"delta": delta, "high": _HIGH, "under": of_fits["under"]})


def _bounds(outcomes: Outcomes, weights: Floats, units: Places | None) -> dict[str, Floats]:
    """Bounds by column of the records, or of their units, 0 without a term.

    The rough fits are under `weights` (N,), and the bounds are of unweighted terms.
    """
    each = {outcome.name: _rough(outcome, weights) for outcome in outcomes}
    if units is None:
        return each
    return {name: np.asarray(np.bincount(units, own), float) for name, own in each.items()}


def _rough(outcome: OutcomeColumn, weights: Floats) -> Floats:
    """Largest sizes (N,) of log-likelihoods at rough draws under weights (N,), 0 without a term."""
    model, cells, rng = outcome.model, outcome.conditional(None).cells, np.random.default_rng(1)
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


def _cap(units: Places, one: _Counts) -> int:
    """The cap of units (N,) that loses least, given the noise and mean count of a cap of 1.

    The noise grows with the cap. So do the records that count, and their own chance falls.
    """
    units_of_size = np.bincount(np.bincount(units))[1:]
    caps = np.arange(1, len(units_of_size) + 1)
    kept = np.cumsum(np.cumsum(units_of_size[::-1])[::-1])
    mean = one.records_a_cell * kept / kept[0]
    lost = _OF_NOISE * (caps * one.noise / mean) ** 2 + 1.0 / mean
    return int(caps[np.argmin(lost)])


def _beyond(units: Places | None, cap: int | None) -> int:
    """How many records of units (N,) a cap leaves out."""
    return 0 if units is None or cap is None else int(np.maximum(np.bincount(units) - cap, 0).sum())


def _told(plan: Plan, records: Frame, mechanism: NoisyCounts) -> float:
    """What counted sets tell of records beyond independent columns, less what their noise adds.

    A mean distance of shares over pairs of columns; at 0 or below independent columns are as near.
    """
    given: Any = plan.schema
    counting = mechanism.counting(given)
    table, told = counting.table, 0.0
    noise = counting.noise(mechanism.budget, hidden=False)
    places = dict(zip(table.columns, table.read(records)[0].T, strict=True))
    for columns, size, name in zip(table.sets, table.sizes, table.names, strict=True):
        if len(columns) < 2:
            continue
        codes = np.column_stack([places[column] for column in columns])
        cells, counts = np.unique(codes[(codes >= 0).all(axis=1)], axis=0, return_counts=True)
        N, even = counts.sum(), np.full(len(cells), float(counts.sum()))
        for own in cells.T:
            even *= np.bincount(own, counts)[own] / N
        apart = np.abs(counts - even).sum() + N - even.sum()  # In cells without a record too.
        error = _MEAN_OF_NORMAL * noise.deviation(of_set(name)) * size
        told += math.comb(len(columns), 2) * float(apart - error) / N
    return told / math.comb(len(table.columns), 2)


def _counts(plan: Plan, records: int, mechanism: NoisyCounts) -> _Counts | None:
    """The counts of records under a mechanism; None where it takes no counts of the plan."""
    members = plan.members is not None and not plan.counts_units
    if plan.run.outcome is not None or plan.predictors or members:
        return None
    given: Any = plan.schema
    counting = mechanism.counting(given)
    try:
        counted = counting.table
    except InputError:
        return None
    noise = counting.noise(mechanism.budget, hidden=False)
    cells = int(counted.possible.sum())
    sizes = np.add.reduceat(counted.possible, counted.offsets[:-1], dtype=np.int64)
    deviations = np.array([noise.deviation(of_set(name)) for name in counted.names])
    deviation = float((deviations * sizes).sum() / cells)
    if (weight := given.weighing) is not None:  # Sums of weights are in parts of the largest one.
        deviation /= weight.middle
    return _Counts(len(sizes), cells, deviation, records * len(sizes) / cells)
