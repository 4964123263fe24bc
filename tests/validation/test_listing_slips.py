"""Each slip of the papers' listings, restated in our own lines, with its effect on a number."""

import subprocess
from collections.abc import Callable

import numpy as np
import pytest
from pyvws_validation._draws import Draws
from refusals import refused

from pyvws import lipschitz_bounds, lipschitz_weights, risk_weights
from pyvws.engines.pystan import pystan_folder
from pyvws.r_numbers import rarith

# Draw 1 has the smaller maximum, so a threshold of 0.5 keeps it alone of the two.
LOG_LIK = np.array([[-1.0, -2.0, -4.0], [-2.0, -7.0, -9.0]])

KEEP = (
    "kept <- sizes[apply(sizes, 1, max) <= quantile(apply(sizes, 1, max), level), , drop = FALSE]"
)
WEIGH = """
bounds <- apply(kept, 2, max)
result <- (1 - (bounds - min(bounds)) / (max(bounds) - min(bounds)))[2]
"""


@pytest.mark.r
def test_logthresh_undefined(shows, in_r) -> None:
    inputs = {"sizes": -LOG_LIK, "level": 0.5}
    ours = lipschitz_weights(LOG_LIK, threshold=0.5)[1]
    assert in_r(f"{KEEP}\n{WEIGH}", **inputs) == ours
    assert lipschitz_weights(LOG_LIK)[1] != ours
    shows("logthresh-undefined", in_r(WEIGH, **inputs), ours)


@pytest.mark.r
def test_rfast_maxima(shows, in_r) -> None:
    row = np.array([[5.0, 9.0, 7.0]])
    printed = in_r("result <- rowMaxs(row, value = TRUE)", row=row)
    assert in_r("result <- apply(row, 1, max)", row=row) == 9.0
    shows("rfast-maxima", printed, lipschitz_bounds(row).database)


@pytest.mark.r
def test_tuning_unset(shows, in_r) -> None:
    line = "result <- c * (1 - risk)"
    shows("tuning-unset", in_r(line, risk=0.25), in_r(line, risk=0.25, c=1.0))
    assert risk_weights([0.25])[0] == 0.75


def test_listing_not_finite(shows) -> None:
    log_lik = np.array([[-1.0, -2.0, -np.inf]])
    with np.errstate(invalid="ignore"):
        total = log_lik.sum()
        without = np.array([np.delete(log_lik, i).sum() for i in range(3)])
        printed = np.isfinite(total - without).sum()
    assert lipschitz_weights(log_lik).tolist() == [1.0, 0.0, 0.0]
    shows("listing-not-finite", printed, np.isfinite(lipschitz_bounds(log_lik).by_record).sum())


# Stan

FUNCTIONS = """functions {{
  real all_lpmf({array} y, real mu) {{ return poisson_log_lpmf(y | mu); }}
  real one_lpmf(int y, real mu) {{ return poisson_log_lpmf(y | mu); }}
{end}
"""
REST = """data {{ {y} }}
parameters {{ real mu; }}
model {{ target += all_lpmf(y | mu); }}
generated quantities {{ real first = {function}_lpmf(y[1] | mu); }}
"""


@pytest.fixture
def stan_says(need, tmp_path) -> Callable[..., float | str]:
    """1 when Stan's own compiler takes the program, "stops" when it does not."""
    need("pystan")
    stanc = pystan_folder() / "stanc"

    def says(
        end: str = "}",
        function: str = "one",
        array: str = "array[] int",
        y: str = "array[2] int y;",
    ) -> float | str:
        program = tmp_path / "slip.stan"
        text = FUNCTIONS.format(array=array, end=end) + REST.format(y=y, function=function)
        program.write_text(text, encoding="utf-8")
        run = subprocess.run([stanc, program], capture_output=True, check=False)
        return "stops" if run.returncode else 1.0

    return says


def test_functions_block_open(shows, stan_says) -> None:
    shows("functions-block-open", stan_says(end=""), stan_says())


def test_record_function_name(shows, stan_says) -> None:
    shows("record-function-name", stan_says(function="all"), stan_says())


# Conventions of the listings


@pytest.mark.r
def test_dollar_on_fit(in_r) -> None:
    fit = (
        'Fit <- setClass("PyvwsFit", representation(log_lik = "numeric"), where = environment())\n'
    )
    made = f"{fit}fit <- Fit(log_lik = c(-1, -2))\n"
    assert in_r(f"{made}result <- fit$log_lik[2]") == "stops"
    assert in_r(f"{made}result <- list(log_lik = fit@log_lik)$log_lik[2]") == -2.0


def test_equal_bounds() -> None:
    bounds = np.array([3.0, 3.0])
    with np.errstate(invalid="ignore"):
        assert np.isnan((bounds - bounds.min()) / (bounds.max() - bounds.min())).all()
    with refused("bounds-all-equal"):
        lipschitz_weights(-bounds[None, :])


def test_old_array_syntax(stan_says) -> None:
    for old in ({"array": "int[]"}, {"y": "int y[2];"}, {"array": "int[]", "y": "int y[2];"}):
        assert stan_says(**old) == "stops"
    assert stan_says() == 1.0


def test_threshold_or_maximum() -> None:
    log_lik = Draws(3).log_lik(200, 20)
    listed = lipschitz_bounds(log_lik, threshold=0.95)
    assert listed.database == rarith.quantile(np.abs(log_lik).max(axis=1), 0.95)
    assert listed.database < lipschitz_bounds(log_lik).database == np.abs(log_lik).max()


def test_leave_one_out_sums() -> None:
    log_lik = Draws(3).log_lik(20, 200)
    listed = lipschitz_bounds(log_lik, method="leave_one_out").by_record
    direct = lipschitz_bounds(log_lik).by_record
    assert 0.0 < np.abs(listed - direct).max() < 1e-11
