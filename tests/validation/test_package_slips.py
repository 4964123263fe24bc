"""Slips of LipschitzWeights and AttributeRiskCalculation, each restated in our own lines."""

import numpy as np
import pytest

from pyvws import RRandom, attribute_risk, reweight
from pyvws.weights.weights import lipschitz_weights, scaled_bounds

LOG_LIK = np.array([[-1.0, -2.0, -4.0], [-2.0, -3.0, -6.0], [-1.0, -1.0, -3.0], [-2.0, -1.0, -5.0]])
FLAT = np.zeros((4, 1, 3))  # Three guesses of one record, of which four draws say nothing.


@pytest.mark.r
def test_package_reweight_by_draw(shows, in_r) -> None:
    alpha, size = lipschitz_weights(LOG_LIK, g=0.1), np.abs(LOG_LIK)
    line = "result <- length(suppressWarnings(0.95 * alpha * max(maxima) / maxima))"
    by_draw = in_r(line, alpha=alpha, maxima=size.max(axis=1))
    by_record = in_r(line, alpha=alpha, maxima=size.max(axis=0))
    assert by_record == len(reweight(alpha, size.max(axis=0), k=0.95))
    shows("package-reweight-by-draw", by_draw, by_record)


def test_package_not_finite(shows) -> None:
    log_lik = np.column_stack([LOG_LIK[:2], [-1.0, -np.inf]])
    bounds = np.abs(log_lik).max(axis=0)
    with np.errstate(invalid="ignore"):
        printed = 1.0 - (bounds - bounds.min()) / (bounds.max() - bounds.min())
    shows("package-not-finite", printed[2], lipschitz_weights(log_lik)[2])


def test_package_poisson_for_all(shows) -> None:
    drawn = RRandom(1).rpois(1000, np.exp(0.0))
    share = RRandom(1).runif(1000) < 0.5
    shows("package-poisson-for-all", drawn.max(), share.max())


@pytest.mark.r
def test_package_trials_undefined(shows, in_r) -> None:
    line = "trials <- 5\nresult <- {} / ({} + 20)"
    shows(
        "package-trials-undefined",
        in_r(line.format("trails", "trails")),
        in_r(line.format("trials", "trials")),
    )


def test_package_failure_odds(shows) -> None:
    def mean(probability: float) -> float:
        return 5.0 * (1.0 - probability) / probability

    shows("package-failure-odds", mean(5.0 / 20.0), mean(5.0 / (5.0 + 20.0)))


def test_package_arguments_unused(shows) -> None:
    meant = lipschitz_weights(LOG_LIK[:2], map="softmax")[1]
    shows("package-arguments-unused", lipschitz_weights(LOG_LIK[:2])[1], meant)
    assert meant == 1.0 - scaled_bounds([2.0, 3.0, 6.0], map="softmax")[1]


def test_package_first_draw(shows) -> None:
    shows("package-first-draw", 500 // 2, 200 - 5 * (20 - 1))


@pytest.mark.r
def test_package_slope_for_spread(shows, in_r) -> None:
    line = (
        "draws <- data.frame(intercept = 2, x = 3, sigma = 1)\n"
        "set.seed(1)\nvalues <- rnorm(10, 0, draws[1, {}])\n"
        "set.seed(1)\nresult <- values[1] / rnorm(1)"
    )
    shows("package-slope-for-spread", in_r(line.format("2")), in_r(line.format("'sigma'")))


def test_package_draws_of_the_sum(shows) -> None:
    ratios, used = np.array([1.0, 2.0, 3.0, 4.0]), 2
    printed = (ratios[:used] / ratios.sum()).sum()
    shows("package-draws-of-the-sum", printed, (ratios[:used] / ratios[:used].sum()).sum())


def held_for_likelier(datasets: int) -> float:
    """The probability of a value that is held for 8 times as likely as each of two others."""
    return attribute_risk(FLAT, np.zeros((4, datasets)), prior=[8.0, 1.0, 1.0]).by_record[0]


def test_package_prior_added(shows) -> None:
    added = np.exp(np.array([8.0, 1.0, 1.0]) / 10.0)
    shows("package-prior-added", added[0] / added.sum(), held_for_likelier(1))


def test_package_prior_by_dataset(shows) -> None:
    twice = np.array([8.0, 1.0, 1.0]) ** 2
    shows("package-prior-by-dataset", twice[0] / twice.sum(), held_for_likelier(2))


def test_package_third_column(shows) -> None:
    last = 2 * 2 * 2 - 1
    shows("package-third-column", last // 2 + 1, last // 2 % 2 + 1)


@pytest.mark.r
def test_package_synthesized_term(shows, in_r) -> None:
    line = "terms <- {}\nguessed <- 'y' %in% terms\nresult <- 3 + 0.5 * (if (guessed) 14 else 11)"
    right = "quote(y + x + other)"
    shows(
        "package-synthesized-term",
        in_r(line.format(f"paste({right})")),
        in_r(line.format(f"all.vars({right})")),
    )


@pytest.mark.r
def test_package_codes_of_a_factor(shows, in_r) -> None:
    line = "value <- factor(c(0, 1))[1]\nresult <- match({}, c(0, 1))"
    shows(
        "package-codes-of-a-factor",
        in_r(line.format("as.numeric(value)")),
        in_r(line.format("as.numeric(as.character(value))")),
    )


@pytest.mark.r
def test_package_one_column(shows, in_r) -> None:
    line = "result <- length(dim(data.frame(y = 1:3)[2, {}]))"
    shows("package-one-column", in_r(line.format("")), in_r(line.format(", drop = FALSE")))
