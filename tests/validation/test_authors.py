"""The authors' scripts: each slip restated in our own lines, and the live ones where they are.

PYVWS_AUTHORS names a checkout of the repository that the risk-efficient paper names.
"""

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyvws_validation import author_cases, authors, package_cases
from pyvws_validation.authors import find_functions, missing_files
from refusals import refused

from pyvws.errors import InputError
from pyvws.evaluation.bootstrap import bootstrap_interval
from pyvws.r_numbers.r_random import RRandom
from pyvws.risks.identification_risk import identification_risk
from pyvws.risks.pairwise import pairwise_weights
from pyvws.weights.weights import risk_weights

THREE = np.array([100.0, 110.0, 400.0])


def their_rule(
    y: Any,
    synthetic: Any = None,
    *,
    names: Any = None,
    size: Any = abs,
    text: bool = False,
    last_radius: bool = False,
    radius: float = 0.2,
) -> np.ndarray:
    """Risk by their rule in our words; each argument turns one slip on or off."""
    table = np.asarray(y, dtype=float)
    table = table[:, None] if table.ndim == 1 else table
    released = table if synthetic is None else np.asarray(synthetic, dtype=float)[:, None]
    labels = np.arange(1, len(table) + 1) if names is None else np.asarray(names)
    risks = []
    for place, record in enumerate(table, start=1):
        reach = np.array([radius * size(value) for value in record])
        if last_radius:
            reach[:] = reach[-1]
        if text:
            reach = np.array([float(f"{value:.15g}") for value in reach])
        inside = ((released <= record + reach) & (released >= record - reach)).all(axis=1)
        matched = place in labels[inside]
        risks.append((1 - inside.sum() / len(table)) * matched)
    return np.array(risks)


def as_it_is(value: float) -> float:
    return value


def test_without_its_slips_the_rule_is_the_packages() -> None:
    y = np.array([-100.0, -110.0, 0.0, 55.0, 60.0, 61.0, 400.0])
    np.testing.assert_allclose(their_rule(y), identification_risk(y))
    near = y * 1.1
    np.testing.assert_allclose(their_rule(y, near), identification_risk(y, [near]))


def test_negative_radius(shows) -> None:
    y = -THREE
    printed = risk_weights(their_rule(y, size=as_it_is))
    assert (printed == 1.0).all()
    shows("negative-radius", printed[0], risk_weights(identification_risk(y))[0])


def test_row_name_matching(shows) -> None:
    printed = their_rule(THREE, names=[2, 4, 6])
    shows("row-name-matching", printed[0], identification_risk(THREE)[0])


def test_pattern_size_fixed(shows) -> None:
    y = np.array([*THREE, 420.0])
    meant = identification_risk(y, known=np.array([0, 0, 1, 1]))
    shows("pattern-size-fixed", their_rule(y)[0], meant[0])


def test_radius_of_last_outcome(shows) -> None:
    y = np.array([[100.0, 1000.0], [150.0, 1100.0]])
    shows("radius-of-last-outcome", their_rule(y, last_radius=True)[0], identification_risk(y)[0])


def test_radius_through_text(shows) -> None:
    y = np.array([1.36, 9.0])
    released = y + 0.3 * y
    printed = their_rule(y, released, text=True, radius=0.3)
    shows("radius-through-text", printed[0], identification_risk(y, [released], radius=0.3)[0])


def test_sample_of_one_value(shows) -> None:
    printed = RRandom(1).sample(7, 5).mean()
    meant = bootstrap_interval([[7.0]], np.mean, n=5, replicates=1, seed=1)
    shows("sample-of-one-value", printed, meant.estimate)


@pytest.mark.r
def test_pattern_of_one(shows, in_r) -> None:
    count = "result <- 0\nfor (j in {}) result <- result + 1"
    shows("pattern-of-one", in_r(count.format("1:(n - 1)"), n=1), in_r(count.format("NULL")))
    with refused("pattern-too-small", groups="pair"):
        pairwise_weights([5.0])


@pytest.mark.r
def test_driver_sources_missing_file(shows, in_r, tmp_path) -> None:
    (tmp_path / "there.R").write_text("result <- 1\n", encoding="utf-8")
    line = "suppressWarnings(source(file, local = TRUE))"
    shows(
        "driver-sources-missing-file",
        in_r(line, file=str(tmp_path / "absent.R")),
        in_r(line, file=str(tmp_path / "there.R")),
    )


@pytest.mark.r
def test_driver_loads_missing_data(shows, in_r, tmp_path) -> None:
    file = str(tmp_path / "there.RData")
    assert in_r("kept <- 1\nsave(kept, file = file)\nresult <- kept", file=file) == 1.0
    line = "suppressWarnings(load(file))\nresult <- kept"
    absent = str(tmp_path / "absent.RData")
    shows("driver-loads-missing-data", in_r(line, file=absent), in_r(line, file=file))


@pytest.mark.r
def test_records_from_global(shows, in_r) -> None:
    line = "draw <- function(fit) numeric({})\nresult <- length(draw(fit))"
    fit = np.zeros(3)
    assert in_r(line.format("N"), fit=fit) == "stops"
    meant = in_r(line.format("length(fit)"), fit=fit, N=5)
    shows("records-from-global", in_r(line.format("N"), fit=fit, N=5), meant)


@pytest.mark.r
def test_diagnostics_undefined(shows, in_r) -> None:
    line = "show <- function(diagnostics) if (diagnostics) chains_of_the_fit else 1\n"
    printed = in_r(f"{line}result <- show(TRUE)")
    shows("diagnostics-undefined", printed, in_r(f"{line}result <- show(FALSE)"))


@pytest.mark.r
def test_excluded_draws(shows, in_r) -> None:
    draws = "draws <- array(0, c(10, 1, 3))\nresult <- dim({})[1]"
    printed = in_r(draws.format("draws[-1, ]"))
    shows("excluded-draws", printed, in_r(draws.format("draws[-1, , ]")))


# Their code


@pytest.fixture(scope="module")
def checkout() -> Path:
    place = os.environ.get("PYVWS_AUTHORS")
    if not place:
        pytest.skip("PYVWS_AUTHORS names no checkout of the authors' scripts")
    return Path(place)


@pytest.mark.r
@pytest.mark.slow
def test_the_authors_code_gives_the_packages_numbers(checkout: Path) -> None:
    """A checkout of the scripts, of one of the packages, or a folder with several of them."""
    rows = [*authors.run(checkout)]
    assert {row.id: row.reason for row in rows if row.verdict != "pass"} == {}
    papers = {row.paper.partition(",")[0] for row in rows}
    cases = [case for case in authors.CASES if case.paper in papers]
    slips = [slip for slip in authors.SLIPS if slip.paper.partition(",")[0] in papers]
    assert len(rows) == len(cases) + len(slips) + ("risk2024" in papers)
    assert all(len(row.sha256) == 64 for row in rows)


# The machinery, on a checkout of our own with functions of the same names

OURS = """
stop("a driver is never run")
source("absent.R")
ComputeAlphas_constant <- function(exp.risk_record, scale_factor, shift_factor) {
  pmin(1, pmax(0, scale_factor * (1 - exp.risk_record) + shift_factor))
}
boot_quantile <- function(...) stop("no")
calculate_ECDF <- function(...) NULL
"""
FIRST = next(case for case in author_cases.CASES if case.id == "authors/marginal-weights")


@pytest.fixture
def own_checkout(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "functions.R").write_text(OURS, encoding="utf-8")
    (tmp_path / "notes.R").write_text("this does not parse (", encoding="utf-8")
    return tmp_path


def verdicts(checkout: Path, monkeypatch: Any, *cases: Any) -> list[Any]:
    monkeypatch.setattr(authors, "CASES", cases)
    return [*authors.run(checkout)][: len(cases)]


@pytest.mark.r
def test_functions_are_found_by_name_and_drivers_never_run(own_checkout: Path) -> None:
    functions = find_functions(own_checkout)
    defined = ("ComputeAlphas_constant", "boot_quantile", "calculate_ECDF")
    assert {name: found.file for name, found in functions.items()} == dict.fromkeys(
        defined, "deep/functions.R"
    )
    assert [*missing_files(own_checkout)] == ["absent.R"]


@pytest.mark.r
def test_verdicts(own_checkout: Path, monkeypatch: Any) -> None:
    agreeing_slip = dataclasses.replace(FIRST, expect="differs", erratum="negative-radius")
    lost_edit = dataclasses.replace(FIRST, edits=(author_cases._SIZE_OF_RADIUS,))
    elsewhere = dataclasses.replace(FIRST, function="boot_stat")
    found = verdicts(own_checkout, monkeypatch, FIRST, agreeing_slip, lost_edit, elsewhere)
    assert [row.verdict for row in found] == ["pass", "fail", "fail", "skipped"]
    assert found[0].r_function == "deep/functions.R:ComputeAlphas_constant"
    assert found[1].reason == "Both agree, but should not: see the erratum negative-radius."
    assert "radius-from-absolute-value (erratum negative-radius) no longer" in found[2].reason
    assert found[3].reason == "The checkout defines no function boot_stat."


@pytest.mark.r
def test_a_wrong_function_of_ours_fails(own_checkout: Path, monkeypatch: Any) -> None:
    def wrong(seed: int, n: int) -> Any:
        call, ours = FIRST.case(seed, n)
        return call, ours + 1e-6

    (row,) = verdicts(own_checkout, monkeypatch, dataclasses.replace(FIRST, case=wrong))
    assert (row.verdict, row.reason) == (
        "fail",
        "Too far apart: 1e-06 of 1.8e-15, relative to 1 or a larger value.",
    )


@pytest.mark.r
def test_a_slip_that_has_gone_fails(own_checkout: Path) -> None:
    rows = {row.id: row for row in authors.run(own_checkout)}
    assert rows["authors/driver-source"].verdict == "pass"
    assert rows["authors/driver-data"].verdict == "fail"
    assert rows["authors/driver-data"].reason.startswith("The slip has gone")


@pytest.mark.r
def test_a_slip_of_a_function_that_is_not_there_is_skipped(own_checkout: Path) -> None:
    rows = {row.id: row for row in authors.run(own_checkout)}
    for slip, function in (
        ("unused-known", "IdentificationRisk_pw"),
        ("records-from-global", "gen_synthetic_data"),
    ):
        row = rows[f"authors/{slip}"]
        reason = f"The checkout defines no function {function}."
        assert (row.verdict, row.reason) == ("skipped", reason)


def test_another_repository_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs.R").write_text(
        "IdentificationRisk <- function(x) x\nboot_stat(function(x) x)\n", encoding="utf-8"
    )
    with pytest.raises(InputError, match=r"is no checkout of .*scripts.*LipschitzWeights"):
        authors.run(tmp_path)


# A package of the same names, of our own lines

LIPSCHITZ = """
log_like_hamming <- function(res, thresh, risks_method, scale_factor = 1, shift_factor = 0) {
  size <- abs(res$log_lik)
  bounds <- colMaxs(size, value = TRUE)
  by_draw <- rowMaxs(size, value = TRUE)
  risks <- (bounds - min(bounds)) / (max(bounds) - min(bounds))
  list(Lipschitz_by_record = bounds, log_ratio_theta = by_draw, L = max(by_draw),
    weights = pmin(1, pmax(0, scale_factor * (1 - risks) + shift_factor)))
}
syn_part_2 <- function(fit, scale_factor, shift_factor, weights, c) {
  loglike_LW <- log_like_hamming(list(log_lik = log_lik(fit)))
  all <- loglike_LW$log_ratio_theta
  list(loglike_LW, pmin(1, weights * loglike_LW$L / all * c))
}
syn_logistic <- function(N, draws_exp) rpois(N, draws_exp)
"""


@pytest.mark.r
def test_a_package_is_known_by_its_functions_and_compared(tmp_path: Path) -> None:
    (tmp_path / "weights.R").write_text(LIPSCHITZ, encoding="utf-8")
    rows = {row.id.partition("/")[2]: row for row in authors.run(tmp_path)}
    assert {row.paper.partition(",")[0] for row in rows.values()} == {"lipschitzweights2020"}
    verdicts = {name: row.verdict for name, row in rows.items()}
    agree = ("package-bounds", "package-linear", "package-reweight", "package-reweight-as-written")
    assert [verdicts[name] for name in agree] == ["pass"] * 4
    assert rows["package-reweight"].edits == (
        *("row-maxima-in-base-r", "column-maxima-in-base-r", "maxima-by-record"),
    )
    assert (verdicts["package-softmax"], verdicts["package-threshold"]) == ("fail", "fail")
    assert "Too far apart" in rows["package-softmax"].reason
    assert verdicts["package-poisson-for-all"] == "fail"  # syn_ordinal is not there.
    assert verdicts["package-trials-undefined"] == "skipped"


ATTRIBUTE = """
AttributeRiskForRecordI <- function(modelFormulas, i, origdata, syndata, posteriorMCMCs,
    syntype, H, G, guesses, simplePrior = NULL) {
  draws <- posteriorMCMCs[[1]][seq_len(H), ]
  x <- model.matrix(modelFormulas[[1]]$formula, origdata)
  density <- function(s, y, rows) {
    eta <- x[rows, , drop = FALSE] %*% t(as.matrix(draws[s, -ncol(draws)]))
    sum(dnorm(y, eta, draws$sigma[s], log = TRUE))
  }
  all <- seq_len(H)
  release <- sapply(all, function(s) density(s, syndata[[1]]$y, seq_len(nrow(x))))
  p <- sapply(guesses[[1]], function(g) {
    w <- sapply(all, function(s) density(s, g, i) - density(s, origdata$y[i], i))
    logSumExp(w + release) - logSumExp(w)
  })
  list(FullProb = exp(p - logSumExp(p)))
}
densityCalc <- logistic <- get_index <- NULL
"""


@pytest.mark.r
def test_an_intruders_probabilities_agree_with_other_lines(tmp_path: Path) -> None:
    """One dataset, as our lines read: the case with two differs, the one with one agrees."""
    (tmp_path / "risk.R").write_text(ATTRIBUTE, encoding="utf-8")
    case = next(case for case in authors.CASES if case.id == "authors/attribute-normal")
    fewer = package_cases.guessed(package_cases.NORMAL, datasets=1)
    own = dataclasses.replace(case, needs=(), case=fewer, sizes=(3,), seeds=(1, 2))
    two = dataclasses.replace(own, case=case.case, expect="differs", erratum="package-prior-added")
    functions = find_functions(tmp_path)
    found = [authors.compared(each, functions, "", "") for each in (own, two)]
    assert [row.verdict for row in found] == ["pass", "pass"], [row.reason for row in found]


def test_a_folder_without_r_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no R file in"):
        authors.run(tmp_path)
