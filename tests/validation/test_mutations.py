"""A wrong function is noticed: each compared function, perturbed, makes the runner say "fail".

The wrong versions are the mistakes that are easy to make: NumPy's own sums and quantiles, an open
ball for a closed one, the wrong axis, a weight that is not kept within [0, 1], and one unit in the
last place more.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pytest
from counts_mistakes import COUNTED_RECORDS_MISTAKES
from fit_mistakes import FIT_MISTAKES
from noise_mistakes import TABLE_OF_ESTIMATES_MISTAKES
from pyvws_validation import expected
from pyvws_validation._case import Case
from pyvws_validation.cases import CASES
from pyvws_validation.runner import exit_code, run
from random_mistakes import RANDOM_MISTAKES
from release_mistakes import RUN_MISTAKES
from sampler_mistakes import SHARE_MISTAKES
from statement_mistakes import STATEMENT_MISTAKES, places_of_a_grid, windows_times
from table_mistakes import CONDITIONAL_TABLE_MISTAKES
from test_guarantee import plant
from whole_mistakes import UNIFORMS, of_half_the_interval, without_their_shift

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


def one_ulp_more(function: Any) -> Any:
    """The function with every number of its result moved to the next double."""
    return some_ulp_more(1)(function)


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


def scaled_by_the_largest(_: Any) -> Any:
    def weights(by_record: Any, *, c: float = 1.0, g: float = 0.0, **_: Any) -> Any:
        bounds = np.asarray(by_record)
        finite = np.isfinite(bounds)
        risk = np.where(finite, bounds / bounds[finite].max(), 1.0)
        return np.where(finite, np.clip(c * (1.0 - risk) + g, 0.0, 1.0), 0.0)

    return weights


def shares_of_the_largest(_: Any) -> Any:
    def shares(by_record: Any, **_: Any) -> Any:
        bounds = np.asarray(by_record)
        return bounds / np.max(bounds, where=np.isfinite(bounds), initial=0.0)

    return shares


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


def without_the_record_itself(function: Any) -> Any:
    def share(values: Any, balls: Any, codes: Any) -> Any:
        size = (codes[:, None] == codes[None, :]).sum(axis=1)
        return function(values, balls, codes) * size / np.maximum(size - 1, 1)

    return share


def root_of_the_average(function: Any) -> Any:
    def utility(original: Any, synthetic: Any) -> Any:
        result = function(original, synthetic)
        return dataclasses.replace(result, average=float(np.sqrt(result.average)))

    return utility


def half_open_balls(function: Any) -> Any:
    """Both ends of a ball outside."""

    def covered(ordered: Any, balls: Any, *rest: Any) -> Any:
        smaller = dataclasses.replace(balls, reach=balls.reach * (1.0 - 1e-12))
        return function(ordered, smaller, *rest)

    return covered


def next_seed(_: Any) -> Any:
    from pyvws.r_numbers.r_random import RRandom

    return lambda seed: RRandom(seed - 1 if seed > 0 else seed + 1)


def rounded_down(_: Any) -> Any:
    """The rule of R before 3.6: floor(n u) + 1."""
    from pyvws.r_numbers.r_random import RRandom

    class Stream(RRandom):
        def sample(self, n: int, size: int) -> Any:
            return np.floor(n * self.runif(size)).astype(np.int64) + 1

    return Stream


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


def divided_by_n(function: Any) -> Any:
    def fitted(design: Any, y: Any, names: Any = ()) -> Any:
        found = function(design, y, names)
        n, k = design.shape
        return dataclasses.replace(found, variances=found.variances * (n - k) / n)

    return fitted


def one_sided_overlap(_: Any) -> Any:
    def overlap(original: Any, synthetic: Any) -> Any:
        low = np.maximum(original[:, 0], synthetic[:, 0])
        high = np.minimum(original[:, 1], synthetic[:, 1])
        return np.maximum(high - low, 0.0) / (original[:, 1] - original[:, 0])

    return overlap


def removed_not_coded(function: Any) -> Any:
    def coded(original: Any, **options: Any) -> Any:
        found = function(original, **options)
        values = np.where(original < found.threshold, original, 0.0)
        share = float((original >= found.threshold).mean())
        return dataclasses.replace(found, values=values, share=share)

    return coded


def by_ratio(function: Any) -> Any:
    def moles(unweighted: Any, weighted: Any, **options: Any) -> Any:
        found = function(unweighted, weighted, **options)
        change = weighted / np.maximum(unweighted, 1e-9) - 1.0
        return dataclasses.replace(found, change=change, rose=change >= options["rise"])

    return moles


def upper_ends(_: Any) -> Any:
    """Bins that hold their upper end and not their lower one, but for the first."""

    def counts(outcome: Any, edges: Any) -> Any:
        places = np.searchsorted(edges[1:], outcome, side="left")
        return np.bincount(places, minlength=len(edges) - 1)

    return counts


def middles_of_bins(function: Any) -> Any:
    class Stream:
        def __init__(self, stream: Any) -> None:
            self.numbers = iter([stream.random, lambda size: np.full(size, 0.5)])

        def random(self, size: int) -> Any:
            return next(self.numbers)(size)

    return lambda histogram, size, rng: function(histogram, size, Stream(rng))


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


def other_margin(function: Any) -> Any:
    def share(*args: Any, **options: Any) -> Any:
        found = function(*args, **options)
        by_record = np.full_like(found.by_record, found.by_draw.mean())
        return dataclasses.replace(found, by_record=by_record)

    return share


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
    "population_spread": lambda _: lambda x: float(np.var(x)),
    "steeper_curve": lambda function: lambda values: function(1.01 * values),
    "prior_added_to_logs": lambda function: (
        lambda log_w, datasets, log_prior: function(log_w, datasets, np.exp(log_prior))
    ),
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
    "one_pattern_for_all": lambda _: lambda known, n: np.zeros(n, dtype=np.intp),
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
    "synthetic_shares_of_the_original": lambda function: (
        lambda original, synthetic: function(original, synthetic[: len(original)])
    ),
    "worse_from_a_tie_on": lambda _function: (
        lambda score, independent, bootstrap, best: (
            abs(best - score) >= max(abs(best - independent), 2.0 * abs(best - bootstrap))
        )
    ),
    "with_the_record_itself": lambda function: lambda outside, order: function(outside + 1, order),
    "without_scale": lambda function: (
        lambda *args, **options: function(*args, **{**options, "c": 1.0, "g": 0.0})
    ),
    "without_the_constant": lambda function: (
        lambda original, synthetic: function(original[:, 1:], synthetic[:, 1:])
    ),
    "at_or_above": lambda function: (
        lambda risk, *, policy: function(risk, policy=np.nextafter(policy, 0.0))
    ),
    "smallest_first": lambda function: (
        lambda by, risks, *, count: function(-by, risks, count=count)
    ),
    "nearest_root": lambda _: lambda n: round(n ** (1 / 3)),
    "numpy_edges": lambda _: lambda lower, upper, *, bins: np.linspace(lower, upper, bins + 1),
    "size_of_counts": lambda function: lambda counts: function(np.abs(counts)),
    "variance_for_scale": lambda function: (
        lambda epsilon, neighbours="replace": 2.0 * function(epsilon, neighbours) ** 2
    ),
    "one_sided_noise": lambda function: (
        lambda size, *, scale, seed: np.abs(function(size, scale=scale, seed=seed))
    ),
    "whole_epsilon": lambda function: lambda epsilon: 2.0 * function(epsilon),
    "ties_too": lambda function: lambda epsilon: np.nextafter(function(epsilon), 0.0),
    "of_one_record_fewer": lambda function: lambda outside, order: function(outside, order - 1),
    "of_the_next_count": lambda function: lambda outcome: function(outcome + 1.0),
    "least_variance": lambda function: lambda cells, smallest_sd: function(cells, smallest_sd**2),
    "twice_the_shape": lambda function: lambda shape: function(2.0 * shape),
    "mean_at_the_outcome": lambda _: lambda logit_v, kappa: logit_v,
    "main_effects_only": lambda _: lambda blocks, size: iter(()),
    "squared": lambda function: lambda first, second: function(first, second) ** 2,
    "values_as_ranks": lambda _: lambda values: np.asarray(values, dtype=np.float64),
    "doubled": lambda function: lambda *arguments, **named: 2.0 * function(*arguments, **named),
    "swapped": lambda function: lambda first, second: function(second, first),
    "exchanged": lambda function: lambda *arguments: function(*arguments)[::-1],
    "ties_are_farther": lambda _: (
        lambda first, second: float(np.mean(np.less.outer(first, second)))
    ),
    "without_strata": lambda function: (
        lambda weights, strata, clusters: function(weights, None, clusters)
    ),
    "without_clusters": lambda function: (
        lambda weights, strata, clusters: function(weights, strata)
    ),
    "value_above": lambda function: (
        lambda rising, reached, level: function(rising, reached, min(1.0, level + 0.1))
    ),
}
for name, wrong in WRONG.items():
    wrong.__name__ = name

SUM, MEAN = "pyvws.r_numbers.rarith:sum_in_order", "pyvws.r_numbers.rarith:mean"
VAR, QUANTILE = "pyvws.r_numbers.rarith:var", "pyvws.r_numbers.rarith:quantile"
ECDF, BOUNDS = "pyvws.r_numbers.rarith:ecdf_at", "pyvws.bounds.lipschitz:lipschitz_bounds"
WEIGHTED = "pyvws_validation.cases.bounds:weighted_bounds"
JOINT, BY_DRAW = "pyvws.bounds.joint:joint_bounds", "pyvws_validation.cases.evaluation:by_draw"
COLUMN = "pyvws.weights.weights:column_weights"
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
UNIFORM = "pyvws_validation.cases.r_numbers:uniforms"
SAMPLE = "pyvws_validation.cases.r_numbers:positions"
MIXED = "pyvws_validation.cases.r_numbers:mixed"
BOOTSTRAP = "pyvws_validation.cases.evaluation:bootstrap_interval"
COMBINE = "pyvws.evaluation.combining_rules:combine"
COMBINED = "pyvws_validation.cases.evaluation:"
SQUARES = "pyvws.evaluation.regressions:least_squares"
OVERLAP = "pyvws.evaluation.regression_utility:interval_overlap"
PROPENSITY = "pyvws.evaluation.pmse:logistic_pmse"
TOPCODE = "pyvws.evaluation.topcoding:topcode"
MOLES = "pyvws.evaluation.whack_a_mole:whack_a_mole"
RISKS = "pyvws_validation.cases.evaluation:"
PAIRS, TRIPLES = "pyvws.risks.pairwise:pairwise_weights", "pyvws.risks.pairwise:three_way_weights"
FOURS = "pyvws.risks.pairwise:four_way_weights"
BINS, HISTOGRAM = (
    "pyvws.mechanisms.histogram.bins:",
    "pyvws.mechanisms.histogram.perturbed_histogram:",
)
HISTOGRAMS = "pyvws_validation.cases.perturbed_histogram:"
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
TABLES, SCORES = "pyvws_validation.cases.table_utility:", "pyvws.evaluation.table_utility:"
TWO_WAY = TABLES + "two_way_pmse"
ASSOCIATIONS = "pyvws.evaluation.associations:"
GLM = "pyvws.evaluation.regressions:"
TABLE_RISK = "pyvws_validation.cases.table_risk:"
CLOSEST = "pyvws.evaluation.disclosure:"
SURVEY, LINEAR = "pyvws_validation.cases.published_table:", "pyvws.evaluation.survey_estimates:"
UTILITY_TABLE = "pyvws.evaluation.one_column:utility_table"
CORPUT = "pyvws.posterior.systematic_draws:van_der_corput"
SYSTEMATIC = "pyvws_validation.cases.clamp:uniforms"

# The compared function, what is replaced in it, and the wrong version.
_MUTATIONS: tuple[tuple[str, str, Wrong | str], ...] = (
    (SUM, "pyvws.r_numbers.rarith:extended_sum", "pairwise_extended_sum"),
    (MEAN, "pyvws.r_numbers.rarith:extended_sum", "pairwise_extended_sum"),
    (MEAN, MEAN, "numpy_mean"),
    (VAR, "pyvws.r_numbers.rarith:extended_sum", "pairwise_extended_sum"),
    (VAR, VAR, lambda _: lambda x: float(np.var(x, ddof=1))),
    (VAR, VAR, lambda _: lambda x: float(np.var(x))),
    (QUANTILE, QUANTILE, numpy_quantile),
    (ECDF, ECDF, "strictly_below"),
    (BOUNDS, BOUNDS, "wrong_axis"),
    (BOUNDS, BOUNDS, "without_threshold"),
    (BOUNDS, BOUNDS, "always_direct"),
    (BOUNDS, "pyvws.r_numbers.rarith:quantile", numpy_quantile),
    (BOUNDS, "pyvws.bounds.lipschitz:_threshold", strict_threshold),
    (JOINT, JOINT, over_paired_draws),
    (JOINT, JOINT, one_ulp_more),
    (COLUMN, COLUMN, one_ulp_more),
    (REFERENCE, "pyvws.weights.weights:fixed_scale_risks", table_scaled),
    (STAGED, "pyvws.weights.weights:fixed_scale_risks", table_scaled),
    (BY_DRAW, "pyvws_validation.cases.evaluation:combine", "without_draws"),
    (WEIGHTED, BOUNDS, "wrong_axis"),
    (WEIGHTED, BOUNDS, "without_threshold"),
    (WEIGHTED, BOUNDS, one_ulp_more),
    (COUNTS, COUNTS, "records_for_weights"),
    (COUNTS, COUNTS, one_ulp_more),
    (MAXIMA, MAXIMA, of_a_draw_less),
    (SHARE_LOGS, "pyvws.models.conditional_table:level_places", "first_level"),
    (LW, "pyvws.weights.weights:_scaled", "unclipped"),
    (LW, "pyvws.weights.weights:_scaled", "without_shift"),
    (LW, FROM_BOUNDS, scaled_by_the_largest),
    (LW, "pyvws.weights.weights:lipschitz_bounds", "without_threshold"),
    (LW, "pyvws.weights.weights:lipschitz_bounds", one_ulp_more),
    (FROM_BOUNDS, FROM_BOUNDS, scaled_by_the_largest),
    (SCALED, SCALED, shares_of_the_largest),
    (SCALED, "pyvws.weights.weights:_exp", "steeper_curve"),
    (SCALED, "pyvws.r_numbers.rarith:var", "population_spread"),
    (LW, "pyvws.weights.weights:_exp", "steeper_curve"),
    (FROM_BOUNDS, "pyvws.r_numbers.rarith:mean", "numpy_mean"),
    (CW, "pyvws.weights.weights:_scaled", "unclipped"),
    (CW, "pyvws.weights.weights:_scaled", "without_shift"),
    (COUNT, CW, one_ulp_more),
    (COUNT, "pyvws.weights.weights:_scaled", "unclipped"),
    (COUNT, "pyvws.risks.identification_risk:count_inside", "open_ball"),
    (SW, SW, "unlimited_scalar"),
    (INVERSE, INVERSE, one_ulp_more),
    (INVERSE, "pyvws.weights.weights:_power", "at_power_one"),
    (ATTRIBUTE, "pyvws.risks.attribute_risk:_posterior", without_the_weights_own_sum),
    (ATTRIBUTE, "pyvws.risks.attribute_risk:_posterior", "prior_added_to_logs"),
    (ATTRIBUTE, "pyvws.risks.attribute_risk:attribute_risk", "every_weight_one"),
    (DRAWS, "pyvws.statement.several_draws:largest_delta", places_of_a_grid),
    (LEDGER, "pyvws_validation.cases.accounting:costs_together", "without_earlier_releases"),
    (LEDGER, "pyvws.statement.releases:common_neighbours", "always_left_out"),
    (REWEIGHT, REWEIGHT, other_order),
    (REWEIGHT, REWEIGHT, "zero_weights_rise"),
    (RISK, "pyvws.risks.identification_risk:count_inside", "open_ball"),
    (RISK, "pyvws.risks.identification_risk:_share_outside", without_the_record_itself),
    (RISK, "pyvws.risks.identification_risk:pattern_codes", "one_pattern_for_all"),
    (RISK, "pyvws.risks.identification_risk:pattern_codes", "only_the_first_column"),
    (RISK, "pyvws.risks.identification_risk:make_balls", other_norm),
    (RISK, "pyvws.r_numbers.rarith:column_means", "numpy_column_means"),
    (MATCH, "pyvws.evaluation.match_risk:count_inside", "closed_ball"),
    (MATCH, "pyvws.evaluation.match_risk:make_balls", other_norm),
    (MATCH, "pyvws.r_numbers.rarith:sum_in_order", lambda _: np.sum),
    (MATCH, "pyvws.r_numbers.rarith:column_means", "numpy_column_means"),
    (PAIRS, "pyvws.risks.pairwise:_groups_outside", "with_the_record_itself"),
    (PAIRS, "pyvws.risks.pairwise:_covered", half_open_balls),
    (PAIRS, "pyvws.risks.pairwise:pattern_codes", "only_the_first_column"),
    (PAIRS, PAIRS, "without_scale"),
    (TRIPLES, "pyvws.risks.pairwise:_groups_outside", "with_the_record_itself"),
    (TRIPLES, TRIPLES, "without_scale"),
    (FOURS, "pyvws.risks.pairwise:_groups_outside", "with_the_record_itself"),
    (FOURS, "pyvws.risks.pairwise:_groups_outside", "of_one_record_fewer"),
    (FOURS, FOURS, "without_scale"),
    (CLAMP, CLAMP, weights_outside_the_clamp),
    (CLAMP, CLAMP, only_from_below),
    (CLAMP, "pyvws.posterior.censoring:half_epsilon", "whole_epsilon"),
    (SHARE, "pyvws.posterior.censoring:half_epsilon", "ties_too"),
    (SHARE, SHARE, other_margin),
    (SATURATED, "pyvws.models.poisson:highest_poisson", "of_the_next_count"),
    (SATURATED, "pyvws.models._outcome_scale:highest_normal", "least_variance"),
    (SATURATED, "pyvws.models.gamma:stirling_gap", "twice_the_shape"),
    (SATURATED, "pyvws.models.beta:_best_logit", "mean_at_the_outcome"),
    (DEVIANCE, "pyvws.posterior.pseudo_posterior:table_of_one", windows_times(0.5)),
    (TRUNCATED, "pyvws.weights.weights:half_epsilon", "whole_epsilon"),
    (TRUNCATED, "pyvws.weights.weights:half_epsilon", "ties_too"),
    (DOWN, "pyvws.weights.weights:half_epsilon", "whole_epsilon"),
    (DOWN, DOWN, down_to_the_database),
    (BINS + "cube_root_bins", BINS + "cube_root_bins", "nearest_root"),
    (BINS + "equal_edges", BINS + "equal_edges", "numpy_edges"),
    (BINS + "bin_counts", BINS + "bin_counts", upper_ends),
    (BINS + "bin_probabilities", BINS + "bin_probabilities", "size_of_counts"),
    (BINS + "bin_probabilities", "pyvws.r_numbers.rarith:sum_in_order", lambda _: np.sum),
    (HISTOGRAM + "noise_scale", HISTOGRAM + "noise_scale", "variance_for_scale"),
    (HISTOGRAM + "seeded_laplace", HISTOGRAM + "seeded_laplace", "one_sided_noise"),
    (HISTOGRAM + "perturbed_histogram", HISTOGRAM + "noise_scale", "variance_for_scale"),
    (HISTOGRAM + "perturbed_histogram", HISTOGRAM + "bin_counts", upper_ends),
    (HISTOGRAMS + "probabilities_with_noise", HISTOGRAMS + "bin_probabilities", "size_of_counts"),
    (HISTOGRAMS + "synthesized", HISTOGRAMS + "synthesize_from_histogram", middles_of_bins),
    (UNIFORM, "pyvws_validation.cases.r_numbers:RRandom", next_seed),
    (SAMPLE, "pyvws_validation.cases.r_numbers:RRandom", next_seed),
    (SAMPLE, "pyvws_validation.cases.r_numbers:RRandom", rounded_down),
    (MIXED, "pyvws_validation.cases.r_numbers:RRandom", rounded_down),
    (BOOTSTRAP, "pyvws.evaluation.bootstrap:RRandom", next_seed),
    (BOOTSTRAP, "pyvws.evaluation.bootstrap:RRandom", rounded_down),
    (BOOTSTRAP, "pyvws.evaluation.bootstrap:bootstrap_interval", a_stream_each),
    (BOOTSTRAP, "pyvws.r_numbers.rarith:mean", "numpy_mean"),
    (COMBINE, COMBINE, other_kind),
    (COMBINE, "pyvws.r_numbers.rarith:mean", "numpy_mean"),
    (COMBINED + "interval", COMBINED + "combine", other_kind),
    (COMBINED + "regression", COMBINED + "combine_formula", other_kind),
    (COMBINED + "regression", SQUARES, divided_by_n),
    (SQUARES, SQUARES, divided_by_n),
    (OVERLAP, OVERLAP, one_sided_overlap),
    (PROPENSITY, PROPENSITY, "without_the_constant"),
    (TOPCODE, TOPCODE, removed_not_coded),
    (TOPCODE, "pyvws.r_numbers.rarith:quantile", numpy_quantile),
    (MOLES, MOLES, by_ratio),
    (RISKS + "summary", "pyvws.evaluation.whack_a_mole:risk_summary", "at_or_above"),
    (RISKS + "summary", "pyvws.r_numbers.rarith:quantile", numpy_quantile),
    (RISKS + "top", "pyvws.evaluation.whack_a_mole:top_records", "smallest_first"),
    (UTILITY, "pyvws.r_numbers.rarith:ecdf_at", "strictly_below"),
    (UTILITY, "pyvws.r_numbers.rarith:mean", "numpy_mean"),
    (UTILITY, UTILITY, "first_dataset_only"),
    (UTILITY, UTILITY, root_of_the_average),
    (SHARES, SHARES, "first_pair_only"),
    (SHARES, SHARES, "synthetic_shares_of_the_original"),
    (SHARES, "pyvws.r_numbers.rarith:mean", "numpy_mean"),
    (
        WORSE + "each_worse_than_independent",
        WORSE + "worse_than_independent",
        "worse_from_a_tie_on",
    ),
    (TWO_WAY, "pyvws.evaluation.pmse:combinations", "main_effects_only"),
    (ASSOCIATIONS + "cramers_v", ASSOCIATIONS + "_v", "squared"),
    (ASSOCIATIONS + "correlation_ratio", ASSOCIATIONS + "_eta", "squared"),
    (ASSOCIATIONS + "rank_correlation", "scipy.stats:rankdata", "values_as_ranks"),
    (TABLES + "margins", SCORES + "_margins", "doubled"),
    (TABLES + "missing", SCORES + "_both_missing", "doubled"),
    (GLM + "glm", GLM + "_variance", "doubled"),
    (TABLE_RISK + "unique_shares", "pyvws.evaluation.disclosure:_counts", "swapped"),
    (TABLE_RISK + "attribute_shares", "pyvws.evaluation.disclosure:_counts", "swapped"),
    (TABLE_RISK + "copied_share", "pyvws.evaluation.table_risk:_patterns", "exchanged"),
    (TABLE_RISK + "closest_of", CLOSEST + "_differences", "doubled"),
    (CLOSEST + "share_nearer", CLOSEST + "share_nearer", "ties_are_farther"),
    (SURVEY + "totals", SURVEY + "survey_design", "without_strata"),
    (SURVEY + "totals", LINEAR + "_variance", "doubled"),
    (SURVEY + "means", SURVEY + "survey_design", "without_clusters"),
    (SURVEY + "shares", SURVEY + "survey_design", "without_clusters"),
    (SURVEY + "quantiles", SURVEY + "survey_design", "without_strata"),
    (SURVEY + "quantiles", LINEAR + "_at", "value_above"),
    (UTILITY_TABLE, "pyvws.r_numbers.rarith:quantile", numpy_quantile),
    (UTILITY_TABLE, "pyvws.r_numbers.rarith:mean", "numpy_mean"),
    (UTILITY_TABLE, "pyvws.r_numbers.rarith:column_means", "numpy_column_means"),
    (UTILITY_TABLE, UTILITY_TABLE, "first_dataset_only"),
    (CORPUT, CORPUT, "doubled"),
    (SYSTEMATIC, UNIFORMS, of_half_the_interval),
    (SYSTEMATIC, UNIFORMS, without_their_shift),
    *FIT_MISTAKES,
    *TABLE_OF_ESTIMATES_MISTAKES,
    *CONDITIONAL_TABLE_MISTAKES,
    *COUNTED_RECORDS_MISTAKES,
    *RANDOM_MISTAKES,
    *SHARE_MISTAKES,
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


def test_every_compared_function_has_a_mistake() -> None:
    assert {compared for compared, _, _ in MUTATIONS} == set(COMPARED)
