"""Errors in whole releases, each with the row that has to fail.

Each entry is the error, what is replaced, the wrong version, and the row. `RUN_MISTAKES` are those
of rows that R computes too, by the compared function.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from pyvws_validation.cases import CASES
from statement_mistakes import Wrong

from pyvws.evaluation.combining_rules import Combined

__all__ = ["RELEASE_MISTAKES", "RUN_MISTAKES"]


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


def undoubled(by_neighbours: Any) -> Any:
    """The other neighbours have the claim's own figure."""

    def wrong(left_out: Any, replaced: Any, *given: Any, **named: Any) -> Any:
        return by_neighbours(left_out, left_out, *given, **named)

    return wrong


def figures_all_the_same(by_neighbours: Any) -> Any:
    """Figures of a release that claims nothing."""

    def wrong(left_out: Any, replaced: Any, *given: Any, **named: Any) -> Any:
        known = [(1.5, 1.5) if math.inf in own else own for own in (left_out, replaced)]
        return by_neighbours(*known, *given, **named)

    return wrong


def infinite_as_none_at_all(figure: Any) -> Any:
    return lambda value, round_up: figure(value, round_up) if math.isfinite(value) else 0.0


def scaled_by_the_table(sizes: Any) -> Any:
    """The least and the largest size, and W, are of the table's own records."""

    def wrong(reference: Any, *given: Any) -> Any:
        found = sizes(reference, *given)
        own = found.by_record[np.isfinite(found.by_record)]
        scale = {"low": own.min(), "high": own.max(), "exceeded": np.quantile(own, 0.95)}
        return dataclasses.replace(found, **{name: float(x) for name, x in scale.items()})

    return wrong


def half_of_each(terms: Any) -> Any:
    return lambda log_lik, *given, **named: terms(0.5 * log_lik, *given, **named)


def half_of_what_is_read(read: Any) -> Any:
    def wrong(data: Any, *given: Any, **named: Any) -> Any:
        terms, predicted = read(data, *given, **named)
        return 0.5 * terms, predicted

    return wrong


def weighted_once_more(read: Any) -> Any:
    """The matrix is taken to lack its weights, whatever the user says."""
    return lambda *given, log_lik="plain", **named: read(*given, log_lik="plain", **named)


def exchanged(combine: Any) -> Any:
    """Rules of the population for the table's own figures, and the other way round."""
    other = {"population": "table", "table": "population"}
    return lambda *given, of=None, **named: combine(*given, of=other.get(of), **named)


def without_what_it_is_of(combine: Any) -> Any:
    return lambda *given, of=None, **named: combine(*given, **named)


def of_partial_data(combine: Any) -> Any:
    """Degrees of freedom by the rule for partially synthetic data."""

    def wrong(*given: Any, of: Any = None, **named: Any) -> Any:
        found = combine(*given, of=of, **named)
        df = combine(*given, **named).df if of else found.df
        return Combined(found.estimate, found.variance, df)

    return wrong


def a_draw_more(epsilon_per_draw: Any) -> Any:
    """The total is shared by all draws but one."""
    return lambda total, draws, **named: epsilon_per_draw(total, max(1, draws - 1), **named)


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


def of_the_next_unit(classes: Any) -> Any:
    """A number is taken for the number below it."""
    return lambda roundness, number: classes(roundness, number - 1)


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


def one_stream_for_all(predictors: Any) -> Any:
    def wrong(loop: Any, *given: Any) -> Any:
        found = predictors(loop, *given)
        seed = loop._next_seed()
        return [(draw, np.random.default_rng(seed)) for draw, _ in found]

    return wrong


def one_stream(_: Any) -> Any:
    def wrong(run: Any) -> Any:
        return [lambda rows: run._drawn(np.random.default_rng(1), rows)] * run.settings.datasets

    return wrong


def one_stream_of_counts(imputed_values: Any) -> Any:
    """Each dataset's numbers within cells are drawn as if it were the only one."""

    def wrong(schema: Any, noisy: Any, imputed: Any, seed: int, *, fine: Any) -> Any:
        found = []
        for codes, numbers in zip(imputed.codes, imputed.numbers, strict=True):
            alone = dataclasses.replace(imputed, codes=[codes], numbers=[numbers])
            found += imputed_values(schema, noisy, alone, seed, fine=fine)
        return found

    return wrong


def of_the_first_draw(predictors: Any) -> Any:
    """Every dataset comes from the first draw."""

    def wrong(loop: Any, fit: Any, *given: Any) -> Any:
        found = predictors(loop, fit, *given)
        return [(fit.posterior.draw(0), rng) for _, rng in found]

    return wrong


def always_linear(weights_from_bounds: Any) -> Any:
    return lambda bounds, *, map="linear", **named: weights_from_bounds(bounds, **named)


def counted_once(tally: Any) -> Any:
    """A kind of unit counts as one, however many units are of it."""

    def wrong(*given: Any, **named: Any) -> Any:
        found = tally(*given, **named)
        return dataclasses.replace(found, counts=np.ones_like(found.counts))

    return wrong


def equal_records_once(kinds: Any) -> Any:
    """Records of a unit that are equal count as one."""

    def wrong(*arguments: Any) -> Any:
        found = kinds(*arguments)
        return dataclasses.replace(found, counts=found.counts.sign())

    return wrong


def nothing_known(risk: Any) -> Any:
    def wrong(mechanism: Any, y: Any, ball: Any) -> Any:
        return risk(mechanism, y, {**ball, "known": None})

    return wrong


def without_a_weight(_: Any) -> Any:
    return lambda n, **_named: np.ones(n)


def reversed_order(record_weights: Any) -> Any:
    return lambda mechanism, request: record_weights(mechanism, request)[::-1]


def of_all_columns(weights: Any) -> Any:
    """Each column's weights are made from the bounds of whole records."""

    def wrong(loop: Any, *, by_column: bool = False, **named: Any) -> Any:
        own = weights(loop, **named)
        columns = getattr(loop.cells, "columns", ())
        return np.column_stack([own] * len(columns)) if by_column and len(columns) > 1 else own

    return wrong


def twice_the_constant(constant: Any) -> Any:
    """The weight is 2 epsilon / W."""

    def wrong(loop: Any, clamp: Any, *, c: Any) -> Any:
        return constant(loop, dataclasses.replace(clamp, epsilon=2.0 * clamp.epsilon), c=c)

    return wrong


def risks_for_weights(from_column: Any) -> Any:
    return lambda column, **named: from_column(1.0 - column, **named)


def all_alike(downscale: Any) -> Any:
    """All weights are lowered by the least factor."""

    def wrong(weights: Any, by_record: Any, **named: Any) -> Any:
        found = downscale(weights, by_record, **named)
        return weights * np.min(
            found / np.where(weights > 0, weights, 1.0), where=weights > 0, initial=1
        )

    return wrong


def one_minus(risk: Any) -> Any:
    """Pairwise weights are taken for risks."""
    return lambda *given: 1.0 - risk(*given)


def any_label(outcomes: Any) -> Any:
    """Every label of a category is inside each ball."""

    def wrong(mechanism: Any, request: Any) -> Any:
        y, radius = outcomes(mechanism, request)
        return y, [1e3 * own if own < 1.0 else own for own in np.atleast_1d(radius)]

    return wrong


def never_shifted(_: Any) -> Any:
    return lambda *_given, **_named: 0.0


def unscaled(at: Any) -> Any:
    """The default shift is one half, whatever c is."""
    return lambda shift, c: at(shift, 1.0)


def of_a_part_of_the_draws(_self: Any, said: str) -> str:
    """A guarantee beside a bound that leaves draws out, or values that follow the record's own."""
    return "asymptotic-dp" if said == "none" else said


def in_the_table_s_order(record_of_row: Any) -> Any:
    return lambda run, records: None


def nothing_unaccounted(uses: Any) -> Any:
    return lambda *given: ()


_STATEMENT = "pyvws.statement"
_COMBINE = "pyvws.evaluation.combining_rules:combine"

_MISTAKES: tuple[tuple[str, str, Wrong, str], ...] = (
    (
        "an unsigned proposal keeps the word",
        "pyvws.release.noisy_counts:NoisyCountsStatement",
        _with_property("guarantee", whatever_the_schema),
        "statement/facts-counts-proposed",
    ),
    (
        "settings that were compared keep the word",
        "pyvws.release.noisy_counts:NoisyCountsStatement",
        _with_property("guarantee", whatever_the_schema),
        "statement/facts-counts-compared",
    ),
    *(
        (
            "the other neighbours' figure is not doubled",
            f"{_STATEMENT}.statement:by_neighbours",
            undoubled,
            f"statement/facts-{row}",
        )
        for row in (
            "counts",
            "counts-replaced",
            "counts-units",
            "histogram",
            "histogram-left-out",
        )
    ),
    *(
        (
            "figures where nothing is claimed",
            f"{_STATEMENT}.statement:by_neighbours",
            figures_all_the_same,
            f"statement/facts-{row}",
        )
        for row in (
            "counts-proposed",
            "counts-delta",
            "histogram-edges",
            "histogram-bins",
        )
    ),
    *(
        (
            "an infinite figure is 0",
            f"{_STATEMENT}.{module}:figure",
            infinite_as_none_at_all,
            f"statement/facts-{row}",
        )
        for module, row in (
            ("ledger", "infinite"),
            ("accounting", "infinite"),
            ("ledger", "counts-delta"),
            ("ledger", "histogram-bins"),
        )
    ),
    (
        "weights and W are scaled by the table",
        "pyvws.synthesis.reference:Reference.sizes",
        scaled_by_the_table,
        "statement/weights-reference",
    ),
    (
        "the constant weight is twice as large",
        "pyvws.mechanisms.censored:constant_weights",
        twice_the_constant,
        "statement/weights-reference",
    ),
    (
        "an outside fit has half its bound",
        "pyvws.synthesis.outside_source:_terms",
        half_of_each,
        "statement/weights-outside",
    ),
    (
        "an outside fit is weighted twice",
        "pyvws_validation.cases.weighing:from_log_lik",
        weighted_once_more,
        "statement/weights-outside",
    ),
    (
        "a fit of arviz has half its bound",
        "pyvws.synthesis.existing_fit:_arviz_variables",
        half_of_what_is_read,
        "statement/weights-arviz",
    ),
    (
        "population and table are exchanged",
        "pyvws_validation.cases.imputed_records:combine",
        exchanged,
        "combining_rules/imputed-estimate",
    ),
    (
        "degrees of freedom of partial data",
        "pyvws_validation.cases.imputed_records:combine",
        of_partial_data,
        "combining_rules/imputed-estimate",
    ),
    (
        "population and table are exchanged",
        _COMBINE,
        exchanged,
        "combining_rules/imputed-regression",
    ),
    (
        "figures are of nothing",
        _COMBINE,
        without_what_it_is_of,
        "combining_rules/imputed-regression",
    ),
    (
        "degrees of freedom of partial data",
        _COMBINE,
        of_partial_data,
        "combining_rules/imputed-regression",
    ),
    *(
        (what, "pyvws.evaluation.published_table:combine", wrong, "combining_rules/imputed-table")
        for what, wrong in (
            ("population and table are exchanged", exchanged),
            ("figures are of nothing", without_what_it_is_of),
            ("degrees of freedom of partial data", of_partial_data),
        )
    ),
    (
        "the total is shared by a draw less",
        "pyvws.synthesis.total_of_draws:epsilon_per_draw",
        a_draw_more,
        "statement/total-of-draws",
    ),
    (
        "what was paid before is shared once more",
        "pyvws.synthesis.settings:sharing",
        nothing_paid_before,
        "statement/total-of-draws",
    ),
    (
        "the last rule fixes",
        "pyvws.tables.schema.parts:Finish.settled",
        the_last_rule,
        "statement/datasets-under-rules",
    ),
    (
        "a number is of another class",
        "pyvws.mechanisms.counts.roundness:Roundness._class_of",
        of_the_next_unit,
        "statement/datasets-of-counts",
    ),
    (
        "numbers are multiples of another unit",
        "pyvws.mechanisms.counts.roundness:Roundness.drawn",
        twice_the_unit,
        "statement/datasets-of-counts",
    ),
    (
        "one stream for all datasets",
        "pyvws.synthesis.loop:SynthesisLoop.predictors",
        one_stream_for_all,
        "statement/datasets-of-draws",
    ),
    (
        "one draw for all datasets",
        "pyvws.synthesis.loop:SynthesisLoop.predictors",
        of_the_first_draw,
        "statement/datasets-of-draws",
    ),
    (
        "rows stand in the table's order",
        "pyvws.release.draw_source:DrawSource.record_of_row",
        in_the_table_s_order,
        "statement/datasets-of-draws",
    ),
    (
        "one stream for all datasets",
        "pyvws.release.histogram:HistogramRun.draws",
        one_stream,
        "statement/datasets-of-histogram",
    ),
    (
        "one stream for all datasets",
        "pyvws.release.noisy_counts:imputed_values",
        one_stream_of_counts,
        "statement/datasets-of-counts",
    ),
    (
        "SW meets the unweighted bound",
        "pyvws.mechanisms.scalar_weighted:scalar_weights",
        without_a_weight,
        "statement/weights-scalar",
    ),
    (
        "the map is ignored",
        "pyvws.synthesis.loop:weights_from_bounds",
        always_linear,
        "statement/weights-map",
    ),
    (
        "a search ignores the map",
        "pyvws.mechanisms.lipschitz_weighted:weights_from_bounds",
        always_linear,
        "statement/datasets-searched-map",
    ),
    (
        "a kind of unit counts once",
        "pyvws.release.large:UnitTally.of",
        counted_once,
        "statement/release-tallied",
    ),
    (
        "equal records of a unit count once",
        "pyvws.tables.design.units:unit_kinds",
        equal_records_once,
        "statement/release-tallied",
    ),
    (
        "known columns are ignored",
        "pyvws.mechanisms.count_weighted:Counting._risk",
        nothing_known,
        "statement/weights-risks",
    ),
    (
        "given weights are reversed",
        "pyvws.mechanisms.given_weights:GivenWeights.record_weights",
        reversed_order,
        "statement/weights-given",
    ),
    (
        "public weights are taken for risks",
        "pyvws.mechanisms.censored:weights_from_column",
        risks_for_weights,
        "statement/weights-public",
    ),
    (
        "all weights are lowered alike",
        "pyvws.mechanisms.weighing:downscale",
        all_alike,
        "statement/weights-downscaled",
    ),
    (
        "pairwise weights are taken for risks",
        "pyvws.mechanisms.count_weighted:PairwiseWeighted._risk",
        one_minus,
        "statement/weights-pairwise",
    ),
    (
        "every label is near",
        "pyvws.mechanisms.count_weighted:Counting._outcomes",
        any_label,
        "statement/weights-risks-of-table",
    ),
    (
        "the shift is never kept",
        "pyvws.synthesis.loop:SynthesisLoop.shift",
        never_shifted,
        "statement/weights-shifted",
    ),
    (
        "the shift is no share of c",
        "pyvws.mechanisms.lipschitz_weighted:Shift.at",
        unscaled,
        "statement/weights-shifted",
    ),
    *(
        (
            "a guarantee where none may be",
            "pyvws.release.posterior:PrivacyStatement",
            _with_property("guarantee", of_a_part_of_the_draws),
            f"statement/facts-{row}",
        )
        for row in ("threshold", "own-outcome", "outside-fit-unknown")
    ),
    (
        "columns have the weights of records",
        "pyvws.synthesis.loop:SynthesisLoop.lipschitz_weights",
        of_all_columns,
        "statement/weights-by-column",
    ),
    *(
        (
            "unaccounted uses are not told",
            "pyvws.release.posterior:_uses",
            nothing_unaccounted,
            f"statement/facts-{row}",
        )
        for row in ("given-weights", "map", "risks")
    ),
)

_COMPARED = {case.id: case.python_function for case in CASES}

RUN_MISTAKES: tuple[tuple[str, str, Wrong], ...] = tuple(
    (_COMPARED[row], place, wrong) for _, place, wrong, row in _MISTAKES if row in _COMPARED
)
RELEASE_MISTAKES = tuple(mistake for mistake in _MISTAKES if mistake[-1] not in _COMPARED)
