"""Each slip of the papers' text and tables, with its effect on a number."""

import math

import numpy as np
import pytest
from pyvws_validation._draws import Draws
from scipy import stats

from pyvws.bounds.lipschitz import lipschitz_bounds
from pyvws.evaluation.bootstrap import bootstrap_interval
from pyvws.evaluation.combining_rules import combine
from pyvws.evaluation.match_risk import match_risk
from pyvws.evaluation.topcoding import topcode
from pyvws.models.priors import log_half_t
from pyvws.privacy.budget import noise_scale
from pyvws.r_numbers import rarith
from pyvws.risks.identification_risk import identification_risk
from pyvws.risks.pairwise import pairwise_weights
from pyvws.weights.weights import (
    lipschitz_weights,
    reweight,
    risk_weights,
    scalar_weights,
    weighted_epsilon_weights,
)

THREE = np.array([100.0, 110.0, 400.0])


def outside(y: np.ndarray, i: int, radius: float = 0.2) -> np.ndarray:
    """Which values lie outside the ball around y_i."""
    return np.abs(y - y[i]) > radius * abs(y[i])


# The 2024 paper


def test_monte_carlo_repeats(shows) -> None:
    # 1 - (1 - p)^R = 0.95: with probability 0.95 a share p would have shown itself.
    share = {R: 1 - 0.05 ** (1 / R) for R in (100, 200)}
    shows("monte-carlo-repeats", share[200], share[100])


def test_second_dispersion(shows) -> None:
    variance = {phi: 100 + 100**2 / phi for phi in (5, 20)}
    mixed = [0.2 * variance[5] + 0.8 * variance[phi] for phi in (5, 20)]
    shows("second-dispersion", *mixed)


def test_set_of_downweighted(shows) -> None:
    weights = np.array([1.0, 1.0, 0.5])
    shows("set-of-downweighted", (weights <= 1).sum(), (weights < 1).sum())


def test_disclosure_set(shows) -> None:
    ratios = np.array([0.1, 0.1, 3.0])
    shows("disclosure-set", int((ratios > 1).all()), int((ratios > 1).any()))


def test_one_direction(shows) -> None:
    with_record, without = np.array([0.0, 1.0]), np.array([0.1, 0.9])
    with np.errstate(divide="ignore"):
        ratio = np.log(with_record / without)
    shows("one-direction", ratio.max(), np.abs(ratio).max())


def test_largest_log_likelihood(shows) -> None:
    log_lik = np.array([[-1.0], [-3.0]])
    shows("largest-log-likelihood", log_lik.max(), lipschitz_bounds(log_lik).by_record[0])


def test_isolated_near_many(shows) -> None:
    y = np.array([100.0, 110.0, 120.0, 400.0])
    near = (~outside(y, 3)).mean()
    shows("isolated-near-many", near, identification_risk(y, radius=0.2)[3])


def test_weights_called_probabilities(shows) -> None:
    shows("weights-called-probabilities", 0.75, risk_weights([0.75])[0])


def test_circular_weights(shows) -> None:
    bounds = np.array([2.0, 4.0])
    weights = np.ones(2)
    for _ in range(60):  # alpha_i = 1 / (alpha_i f_i), half a step at a time in the logarithm.
        weights = np.sqrt(weights / (weights * bounds))
    assert weights == pytest.approx(1 / (weights * bounds))
    shows("circular-weights", weights[0] / weights[1], bounds[1] / bounds[0])


def test_not_inversely_proportional(shows) -> None:
    risk = np.array([0.25, 0.5])
    weights = risk_weights(risk)
    shows("not-inversely-proportional", risk[1] / risk[0], weights[0] / weights[1])


def test_weights_unclipped(shows) -> None:
    shows("weights-unclipped", 2 * (1 - 0.1), risk_weights([0.1], c=2.0)[0])


def test_no_lower_limit(shows) -> None:
    # Equation 10 of a weight of 0.05; the package takes the same shift of the same risk.
    shows("no-lower-limit", min(0.05 - 0.1, 1.0), risk_weights([0.95], g=-0.1)[0])
    assert pairwise_weights(THREE, g=-0.9).min() == 0.0


def test_place_of_reweighting(shows) -> None:
    weights, unweighted = np.array([1.0, 0.75, 0.5]), np.array([2.0, 4.0, 8.0])
    printed = reweight(weights, unweighted, k=0.95)
    shows("place-of-reweighting", printed[1], reweight(weights, weights * unweighted, k=0.95)[1])


def test_reweight_unclipped(shows) -> None:
    new = reweight([0.9, 1.0], [3.0, 6.0], k=0.95)
    shows("reweight-unclipped", 0.95 * 0.9 * 6.0 / 3.0, new[0])


def test_not_every_weight_rises(shows) -> None:
    weights = np.array([0.8, 0.75, 0.5])
    new = reweight(weights, np.array([2.0, 3.0, 4.0]), k=0.95)
    assert new[2] == pytest.approx(0.95 * weights[2])
    shows("not-every-weight-rises", len(weights), (new > weights).sum())


def test_upper_quantile_of_lw(shows, printed) -> None:
    data, before, after = np.reshape(printed("upper-quantile-of-lw", 1)[1:], (3, 2))
    apart = [abs(interval.mean() - data.mean()) for interval in (before, after)]
    assert apart == pytest.approx([0.45, 0.70])
    ends = [np.abs(interval - data) for interval in (before, after)]
    assert ends == [pytest.approx([0.1, 1.0]), pytest.approx([1.1, 0.3])]
    shows("upper-quantile-of-lw", "below 0", apart[1] - apart[0])


def test_lower_quantile_of_lw(shows, printed) -> None:
    rows = [
        np.reshape(printed("lower-quantile-of-lw", place)[-4:], (2, 2)) for place in range(2, 6)
    ]
    apart = [lw.mean() - data.mean() for data, lw in rows]
    assert apart == pytest.approx([-0.35, -0.45, -0.85, -0.85])
    shows("lower-quantile-of-lw", "above 0", apart[0])


def test_range_of_outputs(shows) -> None:
    with_record, without = np.array([0.9, 0.1]), np.array([0.1, 0.9])
    whole = math.log(with_record.sum() / without.sum())
    shows("range-of-outputs", whole, np.log(with_record / without).max())


def test_probability_of_any_database(shows) -> None:
    discloses = np.zeros(100, dtype=bool)
    discloses[-1] = True
    shows("probability-of-any-database", float(discloses.any()), discloses.mean())


def test_sw_bound_after_refit(shows) -> None:
    y = np.array([70.0, 85.0, 95.0, 100.0, 105.0, 115.0, 130.0, 180.0])
    levels = (np.arange(400) + 0.5) / 400

    def bound(weight: float) -> float:
        """Of Poisson counts at 400 quantiles of the weighted gamma posterior."""
        mu = stats.gamma.ppf(levels, 1 + weight * y.sum(), scale=1 / (0.01 + weight * len(y)))
        return lipschitz_bounds(weight * stats.poisson.logpmf(y, mu[:, None])).database

    target = 0.375 * bound(1.0)
    (weight,) = {*scalar_weights(len(y), target=target, unweighted=bound(1.0))}
    shows("sw-bound-after-refit", target, bound(float(weight)))


def test_sw_called_vector_weighted(shows) -> None:
    scalar = scalar_weights(3, target=3.0, unweighted=8.0)
    assert len(set(risk_weights([0.1, 0.5, 0.9]))) == 3
    assert len(set(lipschitz_weights([[-1.0, -2.0, -4.0]]))) == 3
    shows("sw-called-vector-weighted", "above 1", len(set(scalar)))


# The risk-efficient paper


def test_known_columns(shows) -> None:
    genders, ages, educations, regions = 2, 5, 8, 4  # Table 1
    shows("known-columns", genders * ages * educations, genders * ages * regions)


def test_radius_of_logarithm(shows) -> None:
    shows("radius-of-logarithm", math.exp(1.2 * math.log(50_000)), 1.2 * 50_000)
    # The package's ball is on the outcome: 60,000 is inside, the next dollar is not.
    risks = [identification_risk([50_000.0, other])[0] for other in (60_000.0, 60_001.0)]
    assert risks == [0.0, 0.5]


def test_logarithm_of_loss(shows) -> None:
    with np.errstate(invalid="ignore"):
        printed = 0.8 * np.log(-7000.0)
    shows("logarithm-of-loss", printed, -7000.0 - 0.2 * 7000.0)
    assert [identification_risk([-7000.0, y])[0] for y in (-8400.0, -8401.0)] == [0.0, 0.5]


def joint_risk(i: int, j: int) -> float:
    return float((outside(THREE, i) & outside(THREE, j)).mean())


def test_pair_inside_or_outside(shows) -> None:
    inside = float((~outside(THREE, 0) & ~outside(THREE, 1)).mean())
    shows("pair-inside-or-outside", inside, joint_risk(0, 1))
    weight = 1 - (joint_risk(0, 1) + joint_risk(0, 2)) / 2
    assert pairwise_weights(THREE)[0] == pytest.approx(weight)


def test_ball_of_j_twice(shows) -> None:
    shows("ball-of-j-twice", joint_risk(2, 2), joint_risk(0, 2))


def test_shift_above_one(shows) -> None:
    shows("shift-above-one", min(0.25 + 1.01, 1.0), risk_weights([0.75], g=0.1)[0])
    assert (pairwise_weights(Draws(1).counts(40), g=1.01) == 1.0).all()


def test_scale_and_high_weights(shows) -> None:
    weights = np.array([0.9, 0.5])
    rise = {c: risk_weights(1.0 - weights, c=c) - weights for c in (1.0, 1.5)}
    assert rise[1.0] == pytest.approx([0.0, 0.0])
    unlimited = 1.5 * weights - weights
    shows("scale-and-high-weights", unlimited[0] - unlimited[1], rise[1.5][0] - rise[1.5][1])


def test_shift_and_every_weight(shows) -> None:
    shows("shift-and-every-weight", 0.1, risk_weights([0.0], g=0.1)[0] - 1.0)


def test_scale_and_utility(shows, printed) -> None:
    rows = [printed("scale-and-utility", place) for place in (1, 2)]
    assert [c for c, *_ in rows] == [1.0, 1.5]
    (_, _, before, average), (_, _, after, same) = rows
    assert average == same
    shows("scale-and-utility", "below 0", after - before)


def test_topcoding_of_low_values(shows, printed) -> None:
    y = np.array([100.0, 110.0, 400.0, 900.0])
    topcoded = topcode(y, value=300.0).values
    same = identification_risk(y, radius=0.2)[0] - identification_risk(y, [topcoded], radius=0.2)[0]
    *_, data, _, _, topcoded = printed("topcoding-of-low-values", 1)
    shows("topcoding-of-low-values", data - topcoded, same)


# The slides


def test_truncation_without_size(shows) -> None:
    record, half = np.array([[-6.0]]), 5.0 / 2
    by_words = 0.0 if record.max() > half else 1.0
    bounds = lipschitz_bounds(record).by_record
    (weight,) = weighted_epsilon_weights([1.0], bounds, epsilon=2 * half)
    shows("truncation-without-size", by_words, weight)


# Conventions


def test_weighted_epsilon_target(printed) -> None:
    target, bounds, epsilons = (printed("weighted-epsilon-target", place) for place in range(3))
    assert epsilons[1] == 2 * bounds[1] > target[0]


def test_variance_for_scale() -> None:
    epsilon = 4.0
    scale = noise_scale(epsilon, "replace")
    assert scale == 2 / epsilon
    assert stats.laplace(scale=scale).var() == pytest.approx(8 / epsilon**2)


def test_t_prior_of_a_scale() -> None:
    draws = stats.t.ppf((np.arange(1000) + 0.5) / 1000, 3)
    assert (draws < 0).mean() == 0.5
    logs = np.linspace(-3.0, 3.0, 7)
    ours = np.array([log_half_t(u, 1.0)[0] for u in logs])
    constant = ours - (stats.t.logpdf(np.exp(logs), 3) + logs)
    assert constant == pytest.approx(np.full(7, constant[0]))


def test_risk_measure() -> None:
    papers = identification_risk(THREE, [THREE])
    assert papers.tolist() == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    others = match_risk(THREE, [THREE])
    assert others.expected == pytest.approx(1 / 2 + 1 / 2 + 1)


def test_package_of_hornby_and_hu() -> None:
    loss = np.array([-100.0, -110.0, -400.0])
    assert match_risk(loss, [loss]).expected == match_risk(-loss, [-loss]).expected
    # Off by 20 % of both outcomes: inside a radius of sqrt(0.2^2 + 0.2^2) of each, outside a ball.
    y, off = np.array([[100.0, 100.0]]), np.array([[120.0, 120.0]])
    assert match_risk(y, [off], radius=0.2 * math.sqrt(2.0)).expected == [1.0]
    assert match_risk(y, [off], radius=0.2, norm="euclidean").expected == [0.0]


def test_own_ball() -> None:
    y = 10.0 ** np.arange(8)
    assert identification_risk(y).tolist() == [1 - 1 / 8] * 8


def test_lone_outlier() -> None:
    assert pairwise_weights(THREE)[2] == 1.0
    assert risk_weights(identification_risk(THREE))[2] == pytest.approx(1 / 3)
    # In a large pattern it does not: almost every record is outside both balls of most pairs.
    many = np.append(Draws(1).uniform(200, 1.0, 1000.0), 1e6)
    assert pairwise_weights(many)[-1] < 0.5


def test_pairs_across_patterns() -> None:
    y, known = np.tile(THREE, 2), np.repeat([0, 1], 3)
    alone = pairwise_weights(THREE)
    assert pairwise_weights(y, known=known).tolist() == [*alone, *alone]
    risk = 2 * (1 - alone[0])  # Of two pairs in the pattern; five with those across at risk 0.
    assert 1 - risk / 5 > alone[0]


def test_zero_outcome() -> None:
    y = [0.0, 0.0, 0.01]
    assert identification_risk(y)[0] == pytest.approx(1 / 3)
    assert identification_risk(y, radius=0.1, radius_kind="absolute")[0] == 0.0


def test_intervals() -> None:
    """Twenty datasets whose means differ more than a mean does within one."""
    shifts = 4.0 * stats.norm.ppf((np.arange(20) + 0.5) / 20)
    datasets = [100.0 + Draws(i).bell(200, 0.0, 20.0) + shift for i, shift in enumerate(shifts)]
    pooled = bootstrap_interval(datasets, rarith.mean, n=200, replicates=100, seed=1)
    means = np.array([values.mean() for values in datasets])
    within = np.array([values.var(ddof=1) / 200 for values in datasets])
    combined = combine(means, within)
    between = means.var(ddof=1)
    whole = 2 * 1.96 * math.sqrt(between + within.mean())
    assert pooled.length == pytest.approx(whole, rel=0.15)
    low, high = combined.interval(0.95)
    assert high - low < 0.5 * pooled.length


def test_overdispersion() -> None:
    variances = [stats.nbinom(phi, phi / (phi + 100)).var() for phi in (5, 20)]
    assert variances == pytest.approx([2100.0, 600.0])
