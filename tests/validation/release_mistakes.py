"""Errors in whole releases, each with the row that has to fail.

Each entry is what is replaced, the wrong version, and the row. `RUN_MISTAKES` are those of rows
that R computes too, by the compared function.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from pyvws_validation.cases import CASES
from statement_mistakes import Wrong

from pyvws.evaluation.combining_rules import Combined
from pyvws.weights.weights import weights_from_bounds

_STATEMENT = "pyvws.statement"
_COMBINE = "pyvws.evaluation.combining_rules:combine"
_MISTAKES: list[tuple[str, Wrong, str]] = []


def _wrong(place: str, *rows: str) -> Callable[[Wrong], Wrong]:
    """The function is wrong at the place, and these rows have to fail for it."""

    def entered(function: Wrong) -> Wrong:
        _MISTAKES.extend((place, function, row) for row in rows)
        return function

    return entered


def _with_property(name: str, value: Any) -> Wrong:
    """The class whose property is what `value` gives of an instance and of its own answer."""

    def wrong(own: Any) -> Any:
        right = getattr(own, name).fget
        answer = property(lambda self: value(self, right(self)))
        return type(own.__name__, (own,), {"__slots__": (), name: answer})

    return wrong


def whatever_the_schema(_self: Any, said: str) -> str:
    """The word of noisy counts under a schema that nobody signed."""
    return "dp" if said == "none" else said


@_wrong(
    f"{_STATEMENT}.noise:by_neighbours",
    *(
        f"statement/facts-{row}"
        for row in ("counts", "counts-replaced", "counts-units", "histogram", "histogram-left-out")
    ),
)
def undoubled(by_neighbours: Any) -> Any:
    """The other neighbours have the claim's own figure."""

    def wrong(left_out: Any, replaced: Any, *given: Any, **named: Any) -> Any:
        return by_neighbours(left_out, left_out, *given, **named)

    return wrong


@_wrong(
    f"{_STATEMENT}.noise:by_neighbours",
    *(
        f"statement/facts-{row}"
        for row in ("counts-proposed", "counts-delta", "histogram-edges", "histogram-bins")
    ),
)
def figures_all_the_same(by_neighbours: Any) -> Any:
    """Figures of a release that claims nothing."""

    def wrong(left_out: Any, replaced: Any, *given: Any, **named: Any) -> Any:
        known = [(1.5, 1.5) if math.inf in own else own for own in (left_out, replaced)]
        return by_neighbours(*known, *given, **named)

    return wrong


@_wrong(
    "pyvws.statement.parts:figure",
    "statement/facts-infinite",
    "statement/facts-counts-delta",
    "statement/facts-histogram-bins",
)
@_wrong("pyvws.statement.accounting:figure", "statement/facts-infinite")
def infinite_as_none_at_all(figure: Any) -> Any:
    return lambda value, round_up: figure(value, round_up) if math.isfinite(value) else 0.0


@_wrong("pyvws.synthesis.reference:Reference.sizes", "statement/weights-reference")
def scaled_by_the_table(sizes: Any) -> Any:
    """The least and the largest size, and W, are of the table's own records."""

    def wrong(reference: Any, *given: Any) -> Any:
        found = sizes(reference, *given)
        own = found.by_record[np.isfinite(found.by_record)]
        scale = {"low": own.min(), "high": own.max(), "exceeded": np.quantile(own, 0.95)}
        return dataclasses.replace(found, **{name: float(x) for name, x in scale.items()})

    return wrong


@_wrong("pyvws_validation.cases.weighing:from_log_lik", "statement/weights-outside")
def weighted_once_more(read: Any) -> Any:
    """The matrix is taken to lack its weights, whatever the user says."""
    return lambda *given, log_lik="plain", **named: read(*given, log_lik="plain", **named)


@_wrong("pyvws_validation.cases.evaluation:combine", "combining_rules/imputed-estimate")
@_wrong(_COMBINE, "combining_rules/imputed-regression")
@_wrong("pyvws.evaluation.published_table:combine", "combining_rules/imputed-table")
def exchanged(combine: Any) -> Any:
    """Rules of the population for the table's own figures, and the other way round."""
    other = {"population": "table", "table": "population"}
    return lambda *given, of=None, **named: combine(*given, of=other.get(of), **named)


@_wrong("pyvws_validation.cases.evaluation:combine", "combining_rules/imputed-estimate")
@_wrong(_COMBINE, "combining_rules/imputed-regression")
@_wrong("pyvws.evaluation.published_table:combine", "combining_rules/imputed-table")
def of_partial_data(combine: Any) -> Any:
    """Degrees of freedom by the rule for partially synthetic data."""

    def wrong(*given: Any, of: Any = None, **named: Any) -> Any:
        found = combine(*given, of=of, **named)
        df = combine(*given, **named).df if of else found.df
        return Combined(found.estimate, found.variance, df)

    return wrong


@_wrong("pyvws_validation.cases.evaluation:combine", "combining_rules/imputed-estimate")
@_wrong("pyvws.evaluation.published_table:combine", "combining_rules/imputed-table")
def number_taken_for_exact(combine: Any) -> Any:
    """Counts and totals without the noise of the number of records."""
    return lambda *given, noise_of_records=0.0, **named: combine(*given, **named)


@_wrong("pyvws.synthesis.settings:sharing", "statement/total-of-draws")
def nothing_paid_before(sharing: Any) -> Any:
    """What a first stage and noisy rows cost is not taken off the total first."""

    def wrong(plan: Any, total: float) -> Any:
        run = plan.run
        if run.mechanism.epsilon != total:  # The settings are checked twice.
            return run.mechanism
        once = (run.records_epsilon or 0.0) + (getattr(run.mechanism, "stage_epsilon", None) or 0.0)
        found = sharing(plan, total)
        return dataclasses.replace(found, epsilon=found.epsilon + once / run.datasets)

    return wrong


@_wrong("pyvws.tables.schema.parts:Finish.settled", "statement/datasets-under-rules")
def the_last_rule(settled: Any) -> Any:
    """The last rule that holds fixes the value."""

    def wrong(finish: Any, drawn: Any, values: Any) -> Any:
        column = finish.column
        if any(rule.computes for rule in column.rules):
            return settled(finish, drawn, values)
        other = dataclasses.replace(column, rule=tuple(reversed(_texts(column))))
        schema = dataclasses.replace(
            finish.schema, columns={**finish.schema.columns, finish.name: other}
        )
        return settled(dataclasses.replace(finish, schema=schema), drawn, values)

    return wrong


def _texts(column: Any) -> tuple[str, ...]:
    rule = column.rule or ()
    return (rule,) if isinstance(rule, str) else tuple(rule)


@_wrong("pyvws.mechanisms.counts.roundness:Roundness._class_of", "statement/datasets-of-counts")
def of_the_next_unit(classes: Any) -> Any:
    """A number is taken for the number below it."""
    return lambda roundness, number: classes(roundness, number - 1)


@_wrong("pyvws.mechanisms.counts.roundness:Roundness.drawn", "statement/datasets-of-counts")
def twice_the_unit(drawn: Any) -> Any:
    """Numbers are drawn as multiples of the next rounder unit."""

    def wrong(roundness: Any, cells: Any, classes: Any, rng: Any) -> Any:
        step = roundness.column.column.step or 1.0
        number = drawn(roundness, cells, classes, rng)
        return number + roundness.units[classes] * step

    return wrong


class OneStream:
    """A seed whose children are all one."""

    def __init__(self, seed: Any) -> None:
        self._seed = np.random.SeedSequence(seed)

    def spawn(self, number: int) -> list[Any]:
        return [self._seed.spawn(1)[0]] * number

    def __getattr__(self, name: str) -> Any:
        return getattr(self._seed, name)


@_wrong("pyvws.synthesis.loop:SynthesisLoop.predictors", "statement/datasets-of-draws")
def one_stream_for_all(predictors: Any) -> Any:
    def wrong(loop: Any, *given: Any) -> Any:
        found = predictors(loop, *given)
        seed = loop._next_seed()
        return [(draw, np.random.default_rng(seed)) for draw, _ in found]

    return wrong


@_wrong("pyvws.release.histogram:HistogramRun.draws", "statement/datasets-of-histogram")
def one_stream(_: Any) -> Any:
    def wrong(run: Any) -> Any:
        return [lambda rows: run._drawn(np.random.default_rng(1), rows)] * run.settings.datasets

    return wrong


@_wrong("pyvws.release.noisy_counts:imputed_values", "statement/datasets-of-counts")
def one_stream_of_counts(imputed_values: Any) -> Any:
    """Each dataset's numbers within cells are drawn as if it were the only one."""

    def wrong(counting: Any, schema: Any, noisy: Any, imputed: Any, seed: int, fine: Any) -> Any:
        found = []
        for codes, numbers in zip(imputed.codes, imputed.numbers, strict=True):
            alone = dataclasses.replace(imputed, codes=[codes], numbers=[numbers])
            found += imputed_values(counting, schema, noisy, alone, seed, fine)
        return found

    return wrong


@_wrong("pyvws.synthesis.loop:SynthesisLoop.predictors", "statement/datasets-of-draws")
def of_the_first_draw(predictors: Any) -> Any:
    """Every dataset comes from the first draw."""

    def wrong(loop: Any, fit: Any, *given: Any) -> Any:
        found = predictors(loop, fit, *given)
        return [(fit.posterior.draw(0), rng) for _, rng in found]

    return wrong


@_wrong("pyvws.mechanisms.inverse_weighted:inverse_weights", "statement/weights-inverse")
def by_least_and_largest(_inverse: Any) -> Any:
    """LW's map in the place of the inverse: one record moves the weights of all others."""
    return lambda by_record, **_named: weights_from_bounds(by_record)


@_wrong("pyvws.mechanisms.inverse_weighted:inverse_weights", "statement/weights-inverse")
def t_of_the_table(inverse: Any) -> Any:
    """t is half of the largest bound, which is a record's own."""
    return lambda by_record, *, t, power: inverse(by_record, t=0.5 * max(by_record), power=power)


@_wrong("pyvws.synthesis.loop:weights_from_bounds", "statement/weights-map")
@_wrong(
    "pyvws.mechanisms.lipschitz_weighted:weights_from_bounds", "statement/datasets-searched-map"
)
def always_linear(weights_from_bounds: Any) -> Any:
    return lambda bounds, *, map="linear", **named: weights_from_bounds(bounds, **named)


@_wrong("pyvws.release.large:UnitTally.of", "statement/release-tallied")
def counted_once(tally: Any) -> Any:
    """A kind of unit counts as one, however many units are of it."""

    def wrong(*given: Any, **named: Any) -> Any:
        found = tally(*given, **named)
        return dataclasses.replace(found, counts=np.ones_like(found.counts))

    return wrong


@_wrong("pyvws.tables.design.units:unit_kinds", "statement/release-tallied")
def equal_records_once(kinds: Any) -> Any:
    """Records of a unit that are equal count as one."""

    def wrong(*arguments: Any) -> Any:
        found = kinds(*arguments)
        return dataclasses.replace(found, counts=found.counts.sign())

    return wrong


@_wrong("pyvws.mechanisms.count_weighted:Counting._risk", "statement/weights-risks")
def nothing_known(risk: Any) -> Any:
    def wrong(mechanism: Any, y: Any, ball: Any) -> Any:
        return risk(mechanism, y, {**ball, "known": None})

    return wrong


@_wrong("pyvws.synthesis.loop:SynthesisLoop.lipschitz_weights", "statement/weights-by-column")
def of_all_columns(weights: Any) -> Any:
    """Each column's weights are made from the bounds of whole records."""

    def wrong(loop: Any, *, by_column: bool = False, **named: Any) -> Any:
        own = weights(loop, **named)
        columns = getattr(loop.cells, "columns", ())
        return np.column_stack([own] * len(columns)) if by_column and len(columns) > 1 else own

    return wrong


@_wrong("pyvws.mechanisms.count_weighted:Counting._outcomes", "statement/weights-risks-of-table")
def any_label(outcomes: Any) -> Any:
    """Every label of a category is inside each ball."""

    def wrong(mechanism: Any, request: Any) -> Any:
        y, radius = outcomes(mechanism, request)
        return y, [1e3 * own if own < 1.0 else own for own in np.atleast_1d(radius)]

    return wrong


@_wrong("pyvws.synthesis.loop:SynthesisLoop.shift", "statement/weights-shifted")
def never_shifted(_: Any) -> Any:
    return lambda *_given, **_named: 0.0


def of_a_part_of_the_draws(_self: Any, said: str) -> str:
    """A guarantee beside a bound that leaves draws out, or values that follow the record's own."""
    return "asymptotic-dp" if said == "none" else said


@_wrong("pyvws.release.draw_source:DrawSource.record_of_row", "statement/datasets-of-draws")
def in_the_table_s_order(record_of_row: Any) -> Any:
    return lambda run, records: None


@_wrong(
    "pyvws.release.posterior:_uses",
    *(f"statement/facts-{row}" for row in ("given-weights", "map", "risks")),
)
def nothing_unaccounted(uses: Any) -> Any:
    return lambda *given: ()


_MISTAKES += (
    (
        "pyvws.release.noisy_counts:NoisyCountsStatement",
        _with_property("guarantee", whatever_the_schema),
        "statement/facts-counts-proposed",
    ),
    (
        "pyvws.release.noisy_counts:NoisyCountsStatement",
        _with_property("guarantee", whatever_the_schema),
        "statement/facts-counts-compared",
    ),
    *(
        (
            "pyvws.release.posterior:PrivacyStatement",
            _with_property("guarantee", of_a_part_of_the_draws),
            f"statement/facts-{row}",
        )
        for row in ("threshold", "own-outcome", "outside-fit-unknown")
    ),
)

_COMPARED = {case.id: case.python_function for case in CASES}

RUN_MISTAKES: tuple[tuple[str, str, Wrong], ...] = tuple(
    (_COMPARED[row], place, wrong) for place, wrong, row in _MISTAKES if row in _COMPARED
)
RELEASE_MISTAKES = tuple(mistake for mistake in _MISTAKES if mistake[-1] not in _COMPARED)
