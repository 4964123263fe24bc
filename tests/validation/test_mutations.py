"""A wrong function is noticed: each compared function, perturbed, makes the runner say "fail".

Every row fails for one unit in the last place more, so for each mistake that moves all numbers.
The other wrong versions are mistakes that show only where a row's arguments reach them: NumPy's own
sums and quantiles, an open ball for a closed one, the wrong axis, a weight above 1.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pytest
from counts_mistakes import COUNTED_RECORDS_MISTAKES
from pyvws_validation import expected
from pyvws_validation._case import Case
from pyvws_validation.cases import CASES
from pyvws_validation.runner import exit_code, run
from release_mistakes import RUN_MISTAKES
from statement_mistakes import STATEMENT_MISTAKES, places_of_a_grid, windows_times
from test_guarantee import plant

from pyvws.bounds.joint import JointBounds

Wrong = Callable[[Any], Any]


def some_ulp_more(steps: int) -> Wrong:
    """The function with every number of its result moved up by so many doubles."""

    def moved(result: Any) -> Any:
        if dataclasses.is_dataclass(result) and not isinstance(result, type):
            parts = {part.name: moved(getattr(result, part.name)) for part in fields(result)}
            return dataclasses.replace(result, **parts)
        if result is None or isinstance(result, str):
            return result
        if np.asarray(result).dtype == np.bool_:
            return ~np.asarray(result)
        bits = np.asarray(result, dtype=np.float64).view(np.int64)
        found = np.where(bits >= 0, bits + steps, bits - steps).view(np.float64)
        return np.where(np.isfinite(result), found, result)

    return lambda function: lambda *args, **kwargs: moved(function(*args, **kwargs))


def fields(result: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(result)


def numpy_quantile(_: Any) -> Any:
    def quantile(x: Any, p: Any) -> Any:
        with np.errstate(invalid="ignore"):
            return np.quantile(x, p)

    return quantile


def strict_threshold(function: Any) -> Any:
    def strict(by_draw: Any, level: float) -> Any:
        database, _ = function(by_draw, level)
        return database, by_draw < database if len(by_draw) > 1 else by_draw <= database

    return strict


def of_a_draw_less(function: Any) -> Any:
    return lambda own, others, S: function(own, others, S - 1)


def over_paired_draws(_: Any) -> Any:
    """The bound over one pairing of the columns' draws, which the order of draws decides."""

    def bounds(log_liks: Any, *, weights: Any = None, **_probabilities: Any) -> Any:
        alpha = np.ones((log_liks[0].shape[1], 1)) if weights is None else np.asarray(weights)
        alpha = np.broadcast_to(alpha.reshape(len(alpha), -1), (len(alpha), len(log_liks)))
        few = min(map(len, log_liks))
        with np.errstate(invalid="ignore"):
            terms = [alpha[:, k] * matrix[:few] for k, matrix in enumerate(log_liks)]
            by_column = np.column_stack([np.abs(term).max(axis=0) for term in terms])
            by_record = np.abs(sum(terms)).max(axis=0)
        separate = 2.0 * float(by_column.max(axis=0).sum())
        windows = 2.0 * by_record
        return JointBounds(by_record, by_column, float(by_record.max()), separate, windows)

    return bounds


def table_scaled(_: Any) -> Any:
    """Risks by the largest size of the table, where a constant should stand."""

    def risks(sizes: Any, *, low: float = 0.0, high: float) -> Any:
        finite = np.isfinite(sizes)
        top = np.max(sizes, where=finite, initial=low + 1e-9)
        return np.where(finite, np.clip((sizes - low) / (top - low), 0.0, 1.0), 1.0)

    return risks


def without_the_weights_own_sum(function: Any) -> Any:
    """The importance weights not normalised: the constant cancels only where all sums agree."""

    def posterior(log_w: Any, datasets: Any, log_prior: Any) -> Any:
        top = log_w.max(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            sums = top + np.log(np.exp(log_w - top).sum(axis=0))
        extra = np.where(np.isfinite(sums), sums, 0.0) * datasets.shape[1]
        return function(log_w, datasets, log_prior + extra)

    return posterior


def other_order(_: Any) -> Any:
    def raised(weights: Any, by_record: Any, *, k: float) -> Any:
        top = by_record.max()
        bounds = np.where(by_record > 0, by_record, 1.0)
        result = np.where(by_record > 0, np.minimum(1.0, k * weights * top / bounds), 1.0)
        return np.where(weights > 0, result, 0.0)

    return raised


def other_norm(function: Any) -> Any:
    def balls(y: Any, radius: Any, kind: str, norm: str) -> Any:
        return function(y, radius, kind, "box" if norm == "euclidean" else "euclidean")

    return balls


def half_open_balls(function: Any) -> Any:
    """Both ends of a ball outside."""

    def covered(ordered: Any, balls: Any, *rest: Any) -> Any:
        smaller = dataclasses.replace(balls, reach=balls.reach * (1.0 - 1e-12))
        return function(ordered, smaller, *rest)

    return covered


def a_stream_each(function: Any) -> Any:
    """Every dataset from the start of the stream."""

    def interval(datasets: Any, statistic: Any, **options: Any) -> Any:
        found = [function([values], statistic, **options) for values in datasets]
        parts = ("estimate", "lower", "upper")
        means = {part: float(np.mean([getattr(f, part) for f in found])) for part in parts}
        return dataclasses.replace(found[0], **means)

    return interval


def other_kind(function: Any) -> Any:
    def combined(*args: Any, **options: Any) -> Any:
        kind = "partial" if options.get("kind") == "full" else "full"
        return function(*args, **{**options, "kind": kind})

    return combined


def upper_ends(_: Any) -> Any:
    """Bins that hold their upper end and not their lower one, but for the first."""

    def counts(outcome: Any, edges: Any) -> Any:
        places = np.searchsorted(edges[1:], outcome, side="left")
        return np.bincount(places, minlength=len(edges) - 1)

    return counts


def weights_outside_the_clamp(function: Any) -> Any:
    def clamped(log_lik: Any, weights: Any = None, *, epsilon: float) -> Any:
        alpha = 1.0 if weights is None else weights
        with np.errstate(invalid="ignore"):
            return alpha * function(log_lik, epsilon=epsilon)

    return clamped


def only_from_below(_: Any) -> Any:
    """What bounds a pmf but not a density."""

    def clamped(log_lik: Any, weights: Any = None, *, epsilon: float) -> Any:
        alpha = 1.0 if weights is None else weights
        with np.errstate(invalid="ignore"):
            return np.maximum(alpha * np.where(np.isnan(log_lik), -np.inf, log_lik), -epsilon / 2)

    return clamped


def down_to_the_database(_: Any) -> Any:
    def scaled(weights: Any, by_record: Any, *, epsilon: float) -> Any:
        finite = by_record[np.isfinite(by_record)]
        return weights * min(1.0, 0.5 * epsilon / max(finite.max(), 1e-9))

    return scaled


WRONG: dict[str, Wrong] = {
    "without_earlier_releases": lambda costs_together: (
        lambda statements: costs_together(statements[-1:])
    ),
    "at_power_one": lambda _function: lambda values, _exponent: values,
    "always_left_out": lambda _: lambda _statements: "leave-one-out",
    "pairwise_extended_sum": lambda _: (
        lambda x: np.longdouble(np.sum(np.asarray(x, dtype=np.float64)))
    ),
    "wrong_axis": lambda function: (
        lambda log_lik, **options: function(np.asarray(log_lik).T, **options)
    ),
    "without_threshold": lambda function: (
        lambda *args, **options: function(*args, **{**options, "threshold": 1.0})
    ),
    "always_direct": lambda function: (
        lambda log_lik, **options: function(log_lik, **{**options, "method": "direct"})
    ),
    "unclipped": lambda _: lambda risk, c, g: c * (1.0 - risk) + g,
    "without_shift": lambda function: lambda risk, c, g: function(risk, c, 0.0),
    # The counts of records, whatever their weights.
    "records_for_weights": lambda function: (
        lambda pattern, level, weights, P, L: function(
            pattern, level, np.ones(len(np.asarray(weights))), P, L
        )
    ),
    "first_level": lambda _: lambda cells: np.zeros(cells.n_cells, dtype=np.intp),
    # The combining rule that takes datasets of one draw for datasets of several.
    "without_draws": lambda function: (
        lambda *arguments, draw_of_dataset=None, **options: function(*arguments, **options)
    ),
    "steeper_curve": lambda function: lambda values: function(1.01 * values),
    "every_weight_one": lambda function: lambda *given, weights, **named: function(*given, **named),
    "unlimited_scalar": lambda _: lambda n, *, target, unweighted: np.full(n, target / unweighted),
    "zero_weights_rise": lambda function: (
        lambda weights, by_record, *, k: np.where(
            weights == 0, 1.0, function(weights, by_record, k=k)
        )
    ),
    "open_ball": lambda function: (
        lambda values, balls, codes: function(values, balls, codes, closed=False)
    ),
    "closed_ball": lambda function: (
        lambda *args, **options: function(*args, **{**options, "closed": True})
    ),
    "numpy_column_means": lambda _: lambda rows: np.mean(rows, axis=0),
    "only_the_first_column": lambda function: (
        lambda known, n: function(known[0] if isinstance(known, list) else known, n)
    ),
    "strictly_below": lambda _: (
        lambda x, points: np.searchsorted(np.sort(x), points, side="left") / len(x)
    ),
    "numpy_mean": lambda _: lambda x: float(np.mean(x)),
    "first_dataset_only": lambda function: (
        lambda original, synthetic, **more: function(original, synthetic[:1], **more)
    ),
    "first_pair_only": lambda function: (
        lambda original, synthetic: function(original[:, :2], synthetic[:, :2])
    ),
    "worse_from_a_tie_on": lambda _function: (
        lambda score, independent, bootstrap, best: (
            abs(best - score) >= max(abs(best - independent), 2.0 * abs(best - bootstrap))
        )
    ),
    "without_scale": lambda function: (
        lambda *args, **options: function(*args, **{**options, "c": 1.0, "g": 0.0})
    ),
    "at_or_above": lambda function: (
        lambda risk, *, policy: function(risk, policy=np.nextafter(policy, 0.0))
    ),
    "nearest_root": lambda _: lambda n: round(n ** (1 / 3)),
    "numpy_edges": lambda _: lambda lower, upper, *, bins: np.linspace(lower, upper, bins + 1),
    "size_of_counts": lambda function: lambda counts: function(np.abs(counts)),
    "ties_too": lambda function: lambda epsilon: np.nextafter(function(epsilon), 0.0),
    "of_the_next_count": lambda function: lambda outcome: function(outcome + 1.0),
    "least_variance": lambda function: lambda cells, smallest_sd: function(cells, smallest_sd**2),
    "twice_the_shape": lambda function: lambda shape: function(2.0 * shape),
    "mean_at_the_outcome": lambda _: lambda logit_v, kappa: logit_v,
    "main_effects_only": lambda _: lambda blocks, size: iter(()),
    "values_as_ranks": lambda _: lambda values: np.asarray(values, dtype=np.float64),
    "swapped": lambda function: lambda first, second: function(second, first),
    "ties_are_farther": lambda _: (
        lambda first, second: float(np.mean(np.less.outer(first, second)))
    ),
    "without_strata": lambda function: (
        lambda weights, strata, clusters: function(weights, None, clusters)
    ),
    "without_clusters": lambda function: (
        lambda weights, strata, clusters: function(weights, strata)
    ),
}
for name, wrong in WRONG.items():
    wrong.__name__ = name

SUM, MEAN = "pyvws.r_numbers.rarith:sum_in_order", "pyvws.r_numbers.rarith:mean"
VAR, QUANTILE = "pyvws.r_numbers.rarith:var", "pyvws.r_numbers.rarith:quantile"
ECDF, BOUNDS = "pyvws.r_numbers.rarith:ecdf_at", "pyvws.bounds.lipschitz:lipschitz_bounds"
JOINT, BY_DRAW = "pyvws.bounds.joint:joint_bounds", "pyvws_validation.cases.evaluation:by_draw"
REFERENCE, STAGED = (
    "pyvws_validation.cases.weights:reference_weights",
    "pyvws_validation.cases.weights:staged_weights",
)
LW, FROM_BOUNDS = (
    "pyvws.weights.weights:lipschitz_weights",
    "pyvws.weights.weights:weights_from_bounds",
)
SCALED = "pyvws.weights.weights:scaled_bounds"
INVERSE = "pyvws.weights.weights:inverse_weights"
CW, SW = "pyvws.weights.weights:risk_weights", "pyvws.weights.weights:scalar_weights"
COUNT = "pyvws_validation.cases.weights:count_weights"
ATTRIBUTE = "pyvws_validation.cases.risks:attribute_risk"
REWEIGHT = "pyvws.weights.weights:reweight"
RISK = "pyvws.risks.identification_risk:identification_risk"
MATCH = "pyvws.evaluation.match_risk:match_risk"
BOOTSTRAP = "pyvws_validation.cases.evaluation:bootstrap_interval"
COMBINE = "pyvws.evaluation.combining_rules:combine"
COMBINED = "pyvws_validation.cases.evaluation:"
TOPCODE = "pyvws.evaluation.topcoding:topcode"
RISKS = "pyvws_validation.cases.evaluation:"
PAIRS, TRIPLES = "pyvws.risks.pairwise:pairwise_weights", "pyvws.risks.pairwise:three_way_weights"
FOURS = "pyvws.risks.pairwise:four_way_weights"
BINS = "pyvws.mechanisms.histogram.bins:"
CLAMP, SHARE = (
    "pyvws.posterior.censoring:clamp_log_likelihood",
    "pyvws.posterior.censoring:censored_share",
)
DRAWS = "pyvws_validation.cases.accounting:total_epsilon"
LEDGER = "pyvws_validation.cases.accounting:releases_together"
DEVIANCE = "pyvws_validation.cases.clamp:deviance_terms"
SATURATED = "pyvws_validation.cases.clamp:saturated"
TRUNCATED, DOWN = (
    "pyvws.weights.weights:weighted_epsilon_weights",
    "pyvws.weights.weights:downscale",
)
UTILITY = "pyvws.evaluation.one_column:ecdf_utility"
SHARES = "pyvws.evaluation.k_marginal:pair_distances"
COUNTS = "pyvws.models.conditional_table:weighted_counts"
MAXIMA = "pyvws.models.conditional_table:median_maxima"
SHARE_LOGS = "pyvws_validation.cases.conditional_table:log_likelihood"
WORSE = "pyvws_validation.cases.evaluation:"
TWO_WAY = "pyvws_validation.cases.table_utility:two_way_pmse"
ASSOCIATIONS = "pyvws.evaluation.associations:"
TABLE_RISK = "pyvws_validation.cases.table_risk:"
CLOSEST = "pyvws.evaluation.disclosure:"
SURVEY = "pyvws_validation.cases.published_table:"
UTILITY_TABLE = "pyvws.evaluation.one_column:utility_table"

# The compared function, what is replaced in it, and the wrong version.
_MUTATIONS: tuple[tuple[str, str, Wrong | str], ...] = (
    (SUM, "pyvws.r_numbers.rarith:extended_sum", "pairwise_extended_sum"),
    (MEAN, "pyvws.r_numbers.rarith:extended_sum", "pairwise_extended_sum"),
    (MEAN, MEAN, "numpy_mean"),
    (VAR, VAR, lambda _: lambda x: float(np.var(x, ddof=1))),
    (QUANTILE, QUANTILE, numpy_quantile),
    (ECDF, ECDF, "strictly_below"),
    (BOUNDS, BOUNDS, "wrong_axis"),
    (BOUNDS, BOUNDS, "without_threshold"),
    (BOUNDS, BOUNDS, "always_direct"),
    (BOUNDS, "pyvws.r_numbers.rarith:quantile", numpy_quantile),
    (BOUNDS, "pyvws.bounds.lipschitz:_threshold", strict_threshold),
    (JOINT, JOINT, over_paired_draws),
    (REFERENCE, "pyvws.weights.weights:fixed_scale_risks", table_scaled),
    (STAGED, "pyvws.weights.weights:fixed_scale_risks", table_scaled),
    (BY_DRAW, "pyvws_validation.cases.evaluation:combine", "without_draws"),
    (COUNTS, COUNTS, "records_for_weights"),
    (MAXIMA, MAXIMA, of_a_draw_less),
    (SHARE_LOGS, "pyvws.models.conditional_table:level_places", "first_level"),
    (LW, "pyvws.weights.weights:_scaled", "unclipped"),
    (LW, "pyvws.weights.weights:_scaled", "without_shift"),
    (SCALED, "pyvws.weights.weights:_exp", "steeper_curve"),
    (CW, "pyvws.weights.weights:_scaled", "unclipped"),
    (COUNT, "pyvws.risks.identification_risk:count_inside", "open_ball"),
    (SW, SW, "unlimited_scalar"),
    (INVERSE, "pyvws.weights.weights:_power", "at_power_one"),
    (ATTRIBUTE, "pyvws.risks.attribute_risk:_posterior", without_the_weights_own_sum),
    (ATTRIBUTE, "pyvws.risks.attribute_risk:attribute_risk", "every_weight_one"),
    (DRAWS, "pyvws.statement.several_draws:largest_delta", places_of_a_grid),
    (LEDGER, "pyvws_validation.cases.accounting:costs_together", "without_earlier_releases"),
    (LEDGER, "pyvws.statement.releases:common_neighbours", "always_left_out"),
    (REWEIGHT, REWEIGHT, other_order),
    (REWEIGHT, REWEIGHT, "zero_weights_rise"),
    (RISK, "pyvws.risks.identification_risk:count_inside", "open_ball"),
    (RISK, "pyvws.risks.identification_risk:pattern_codes", "only_the_first_column"),
    (RISK, "pyvws.risks.identification_risk:make_balls", other_norm),
    (RISK, "pyvws.r_numbers.rarith:column_means", "numpy_column_means"),
    (MATCH, "pyvws.evaluation.match_risk:count_inside", "closed_ball"),
    (PAIRS, "pyvws.risks.pairwise:_covered", half_open_balls),
    (PAIRS, "pyvws.risks.pairwise:pattern_codes", "only_the_first_column"),
    (PAIRS, PAIRS, "without_scale"),
    (TRIPLES, TRIPLES, "without_scale"),
    (FOURS, FOURS, "without_scale"),
    (CLAMP, CLAMP, weights_outside_the_clamp),
    (CLAMP, CLAMP, only_from_below),
    (SHARE, "pyvws.posterior.censoring:half_epsilon", "ties_too"),
    (SATURATED, "pyvws.models.poisson:highest_poisson", "of_the_next_count"),
    (SATURATED, "pyvws.models._outcome_scale:highest_normal", "least_variance"),
    (SATURATED, "pyvws.models.gamma:stirling_gap", "twice_the_shape"),
    (SATURATED, "pyvws.models.beta:_best_logit", "mean_at_the_outcome"),
    (DEVIANCE, "pyvws.posterior.pseudo_posterior:table_of_one", windows_times(0.5)),
    (TRUNCATED, "pyvws.weights.weights:half_epsilon", "ties_too"),
    (DOWN, DOWN, down_to_the_database),
    (BINS + "cube_root_bins", BINS + "cube_root_bins", "nearest_root"),
    (BINS + "equal_edges", BINS + "equal_edges", "numpy_edges"),
    (BINS + "bin_counts", BINS + "bin_counts", upper_ends),
    (BINS + "bin_probabilities", BINS + "bin_probabilities", "size_of_counts"),
    (BOOTSTRAP, "pyvws.evaluation.bootstrap:bootstrap_interval", a_stream_each),
    (COMBINE, COMBINE, other_kind),
    (COMBINED + "interval", COMBINED + "combine", other_kind),
    (COMBINED + "regression", COMBINED + "combine_formula", other_kind),
    (TOPCODE, "pyvws.r_numbers.rarith:quantile", numpy_quantile),
    (RISKS + "summary", "pyvws.evaluation.whack_a_mole:risk_summary", "at_or_above"),
    (RISKS + "summary", "pyvws.r_numbers.rarith:quantile", numpy_quantile),
    (UTILITY, "pyvws.r_numbers.rarith:ecdf_at", "strictly_below"),
    (UTILITY, UTILITY, "first_dataset_only"),
    (SHARES, SHARES, "first_pair_only"),
    (
        WORSE + "each_worse_than_independent",
        WORSE + "worse_than_independent",
        "worse_from_a_tie_on",
    ),
    (TWO_WAY, "pyvws.evaluation.pmse:combinations", "main_effects_only"),
    (ASSOCIATIONS + "rank_correlation", "scipy.stats:rankdata", "values_as_ranks"),
    (TABLE_RISK + "unique_shares", "pyvws.evaluation.disclosure:_counts", "swapped"),
    (TABLE_RISK + "attribute_shares", "pyvws.evaluation.disclosure:_counts", "swapped"),
    (CLOSEST + "share_nearer", CLOSEST + "share_nearer", "ties_are_farther"),
    (SURVEY + "totals", SURVEY + "survey_design", "without_strata"),
    (SURVEY + "means", SURVEY + "survey_design", "without_clusters"),
    (SURVEY + "shares", SURVEY + "survey_design", "without_clusters"),
    (SURVEY + "quantiles", SURVEY + "survey_design", "without_strata"),
    (UTILITY_TABLE, "pyvws.r_numbers.rarith:quantile", numpy_quantile),
    (UTILITY_TABLE, UTILITY_TABLE, "first_dataset_only"),
    *COUNTED_RECORDS_MISTAKES,
    *STATEMENT_MISTAKES,
    *RUN_MISTAKES,
)
MUTATIONS = [
    (compared, place, WRONG[wrong] if isinstance(wrong, str) else wrong)
    for compared, place, wrong in _MUTATIONS
]
COMPARED = sorted({case.python_function for case in CASES})
# R's stored results, which tests/validation/test_cases.py finds equal to what R gives now.
SOURCE: Any = "cached"
if expected.load(CASES[0]).long_double_bits != expected.LONG_DOUBLE_BITS:
    SOURCE = "live"


def in_two_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain's cell takes seconds, and its mistakes show in the first two seeds of a shape."""
    cells, load = Case.cells, expected.load

    def of_two(case: Case, entries: Iterable[Any]) -> Iterator[Any]:
        few = case.kind == "posterior"
        return (e for i, e in enumerate(entries) if not few or i % len(case.seeds) < 2)

    def stored(case: Case) -> expected.Stored:
        with monkeypatch.context() as patch:
            patch.setattr(Case, "cells", cells)  # All arguments have the hash that is stored.
            found = load(case)
        return dataclasses.replace(found, results=tuple(of_two(case, found.results)))

    monkeypatch.setattr(Case, "cells", lambda case: of_two(case, cells(case)))
    monkeypatch.setattr(expected, "load", stored)


@pytest.mark.parametrize(
    ("compared", "place", "wrong"),
    MUTATIONS,
    ids=[
        f"{compared.split(':')[1]}-{place.split(':')[1]}-{wrong.__name__}"
        for compared, place, wrong in MUTATIONS
    ],
)
def test_a_mistake_fails(
    monkeypatch: pytest.MonkeyPatch, compared: str, place: str, wrong: Wrong
) -> None:
    """In one case at least: none runs after the first that fails."""
    if SOURCE == "cached":
        in_two_seeds(monkeypatch)
    plant(monkeypatch, place, wrong)
    reasons = []
    for case in CASES:
        if case.python_function == compared:
            rows = run(source=SOURCE, cases=[case])
            reasons.append(rows[0].reason)
            if rows[0].verdict == "fail" and " raised " not in rows[0].reason:
                assert exit_code(rows) == 1
                return
    pytest.fail(f"No case fails: {reasons}")


def results_of_r(cases: Sequence[Case]) -> Wrong:
    """Instead of the function, what is stored of R for one cell after the other."""
    results = chain.from_iterable(expected.load(case).results for case in cases)
    return lambda _: lambda *_, **__: next(results)


@pytest.mark.parametrize("compared", COMPARED)
def test_ulp_more_than_allowed_fail_every_row(
    monkeypatch: pytest.MonkeyPatch, compared: str
) -> None:
    """One ulp more where none is allowed, else twice the tolerance and one.

    A chain's means, which have Monte Carlo errors, are R's own results, moved beyond the tolerance.
    """
    for tolerance in {case.tolerance for case in CASES if case.python_function == compared}:
        cases = [
            case
            for case in CASES
            if (case.python_function, case.tolerance) == (compared, tolerance)
        ]
        chains = SOURCE == "cached" and cases[0].kind == "posterior"
        steps = tolerance + 1 if chains else 2 * tolerance + 1
        wrong = some_ulp_more(steps)
        with monkeypatch.context() as patch:
            if chains:
                plant(patch, compared, results_of_r(cases))
            plant(patch, compared, wrong)
            rows = run(source=SOURCE, cases=cases)
        assert [row.verdict for row in rows] == ["fail"] * len(cases)
        truth = (".kept_draws", ".rose", ".constant")
        moved = [row for row in rows if not row.python_function.endswith(truth)]
        assert all(row.largest_difference <= steps + tolerance for row in moved)
