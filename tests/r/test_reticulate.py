"""The package from R: data frames, factors and NA both ways, and the references by themselves."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pyvws as vws
from pyvws._base import resources as _resources

Run = Callable[[str, Path], subprocess.CompletedProcess[str]]

PREAMBLE = """
library(reticulate)
source(import("pyvws.r.interface")$path())
vws <- import_pyvws()
hex <- function(name, x) cat(name, sprintf("%a", as.numeric(x)), "\\n")
refused <- function(name, call) cat(name, tryCatch(call, error = conditionMessage), "\\n")
"""
TABLE = """
set.seed(1)
table <- data.frame(
  y = rpois(60, 20),
  g = factor(rep(c("b", "a"), 30), levels = c("b", "a", "unused")),
  o = factor(rep(c("lo", "hi", NA), 20), levels = c("lo", "hi"), ordered = TRUE),
  text = rep(c("x", NA, "NA", "z"), 15),
  number = c(NA, NaN, Inf, rnorm(57)),
  truth = rep(c(TRUE, NA, FALSE), 20),
  whole = c(NA, 2:60),
  large = 1e10 + 1:60,
  stringsAsFactors = FALSE
)
"""


def lines(run: Run, code: str, folder: Path) -> dict[str, str]:
    """What R printed, by the first word of each line."""
    done = run(PREAMBLE + code, folder)
    assert done.returncode == 0, done.stderr[-3000:]
    said = [line.partition(" ") for line in done.stdout.splitlines()]
    return {name: rest.strip() for name, _, rest in said}


def doubles(text: str) -> list[float]:
    return [float.fromhex(word) for word in text.split()]


def test_numbers_are_those_of_python(rscript: Run, tmp_path: Path) -> None:
    """R passes 5 as 5.0, one number as a vector of length 1, a missing option as NULL."""
    code = """
y <- c(1, 2, 3, 50, 51)
hex("risk", vws$identification_risk(y, radius = 0.2))
hex("known", vws$identification_risk(y, radius = 0.2, known = factor(c("a", "a", "b", "b", "b"))))
hex("integers", vws$identification_risk(as.integer(y), radius = 0.2, known = NULL))
hex("counts", vws$RRandom(123L)$rpois(10L, 100))
hex("floats", vws$RRandom(123)$rpois(10, 100))
set.seed(123); hex("r", rpois(10, 100))
log_lik <- matrix(-c(1, 2, 3, 4, 5, 7), 2)
bounds <- vws$lipschitz_bounds(log_lik)
hex("by_record", bounds$by_record)
hex("epsilon", bounds$epsilon)
hex("quantile", vws$quantile(y, 0.3))
utility <- vws$ecdf_utility(y, list(y, y + 1))
hex("utility", c(utility$maximum, utility$average))
hex("own", vws$bootstrap_interval(list(y, y + 1), mean, n = 5, replicates = 20, seed = 1)$estimate)
cat("print", capture.output(bounds), "\\n")
cat("names", utils:::.DollarNames(bounds, "^by"), "\\n")
cat("combined", capture.output(vws$combine(c(1, 3), c(1, 1)))[2], "\\n")
cat("path", import_pyvws("pathlib")$Path("a/b"), "\\n")
"""
    found = lines(rscript, code, tmp_path)
    y = np.array([1.0, 2.0, 3.0, 50.0, 51.0])
    known = ["a", "a", "b", "b", "b"]
    utility = vws.ecdf_utility(y, [y, y + 1])
    expected = {
        "risk": vws.identification_risk(y, radius=0.2),
        "known": vws.identification_risk(y, radius=0.2, known=known),
        "integers": vws.identification_risk(y, radius=0.2),
        "counts": vws.RRandom(123).rpois(10, 100),
        "floats": vws.RRandom(123).rpois(10, 100),
        "r": vws.RRandom(123).rpois(10, 100),
        "by_record": [2.0, 4.0, 7.0],
        "epsilon": [14.0],
        "quantile": [vws.quantile(y, 0.3)],
        "utility": [utility.maximum, utility.average],
        "own": [vws.bootstrap_interval([y, y + 1], np.mean, n=5, replicates=20, seed=1).estimate],
    }
    for name, values in expected.items():
        assert doubles(found[name]) == [float(value) for value in values], name
    assert found["print"].startswith("<LipschitzBounds of pyvws> $")
    assert found["names"] == "by_column by_draw by_record"
    assert found["combined"] == repr(vws.combine([1, 3], [1, 1]))
    assert found["path"] == "a/b"


def test_tables_cross_both_ways_unchanged(rscript: Run, tmp_path: Path) -> None:
    """Every kind of column with NA, there and back; what would change is refused."""
    code = f"""{TABLE}
there <- to_python(table)
back <- from_python(there)
for (name in names(table)) cat(name, identical(back[[name]], table[[name]]), "\\n")
cat("whole-table", identical(back, table), "\\n")
cat("dtypes", sapply(names(table), function(n) py_str(there[[n]]$dtype)), "\\n")
cat("missing", sapply(names(table), function(n) py_str(there[[n]]$isna()$sum())), "\\n")
cat("empty", identical(from_python(to_python(table[0, ]))$y, integer(0)), "\\n")
m <- matrix(c(1.5, 2, NA, 4, 5, 6), 2)
cat("matrix", identical(from_python(to_python(m)), m), "\\n")
cat("list", identical(from_python(to_python(list(a = 1, b = list("u", 2L)))),
  list(a = 1, b = list("u", 2L))), "\\n")
cat("scalars", py_str(to_python(NA)), py_str(to_python(NA_real_)), py_str(to_python(NULL)),
  py_str(to_python(c(1L, NA))), py_str(to_python(c(TRUE, NA))), "\\n")
refused("date", to_python(data.frame(d = Sys.Date())))
refused("time", to_python(Sys.time()))
refused("nested", to_python(data.frame(l = I(list(1, 2)))))
"""
    found = lines(rscript, code, tmp_path)
    columns = ("y", "g", "o", "text", "number", "truth", "whole", "large", "whole-table")
    assert {name: found[name] for name in columns} == dict.fromkeys(columns, "TRUE")
    assert found["dtypes"] == "int64 category category object float64 boolean Int64 float64"
    # NaN of a double column counts as missing in pandas; Inf does not.
    assert found["missing"] == "0 0 20 15 2 20 1 0"
    assert (found["empty"], found["matrix"], found["list"]) == ("TRUE",) * 3
    assert found["scalars"] == "None nan None [1.0, nan] [True, None]"
    remedy = "Convert it to numbers, text or a factor first."
    assert found["date"] == f"Column 'd' is of class Date. {remedy}"
    assert found["time"] == f"A value is of class POSIXct. {remedy}"
    assert found["nested"] == "Column 'l' is a list. Give it one value for each record."


@pytest.mark.slow
def test_a_run_from_r(rscript: Run, tmp_path: Path) -> None:
    """A data frame a dataset, factors with their levels, columns in order, NA refused by name."""
    code = f"""{TABLE}
run <- function(table, ...) vws$synthesize(table, model = "poisson", draws = 100, warmup = 100,
  chains = 1, datasets = 3, seed = 1, ...)
table$g <- droplevels(table$g)
kept <- c("o", "text", "number", "truth", "whole", "large")
release <- suppressWarnings(run(table, outcome = "y", formula = "~ g", keep = kept))
cat("datasets", length(release$datasets), "\\n")
first <- release$aligned()[[1]]
cat("names", names(first), "\\n")
rising <- table  # Levels without an order come back in rising order.
rising$g <- factor(as.character(table$g), levels = sort(levels(table$g), method = "radix"))
cat("kept", all(sapply(c("g", kept), function(n) identical(first[[n]], rising[[n]]))), "\\n")
cat("outcome", is.integer(first$y), all(first$y >= 0), !identical(first$y, table$y), "\\n")
again <- run(table, outcome = "y", formula = "~ g", keep = kept)
cat("again", identical(again$datasets, release$datasets), "\\n")
cat("guarantee", release$privacy$guarantee, "\\n")
cat("caveats", is.character(release$privacy$caveats), "\\n")
cat("epsilon", 2 * release$summary$Delta == release$summary$epsilon, "\\n")
cat("records", nrow(release$records), all(release$records$weight <= 1), "\\n")
release$write("out")
table$g[2] <- NA
refused("outcome-na", run(transform(table, y = c(NA, y[-1])), outcome = "y"))
refused("factor-na", run(table, outcome = "y", formula = "~ g"))
refused("text-na", run(table, outcome = "y", formula = "~ text"))
refused("truth-na", run(table, outcome = "truth"))
"""
    found = lines(rscript, code, tmp_path)
    assert found["datasets"] == "3"
    assert found["names"] == "y g o text number truth whole large"
    for name in ("kept", "again", "caveats", "epsilon"):
        assert found[name] == "TRUE", name
    assert found["outcome"] == "TRUE TRUE TRUE"
    assert found["guarantee"] == "asymptotic-dp"
    assert found["records"] == "60 TRUE"
    assert (tmp_path / "out" / "release" / "synthetic-03.csv").exists()
    end = "Remove or impute these records first."
    for name, column, rows in (
        ("outcome-na", "y", "1 (row 1)"),
        ("factor-na", "g", "1 (row 2)"),
        ("text-na", "text", "15 (first rows 2, 6, 10, 14, 18)"),
        ("truth-na", "truth", "20 (first rows 2, 5, 8, 11, 14)"),
    ):
        said = f"Column '{column}' has missing or infinite values: {rows}. {end}"
        assert found[name].startswith(f"pyvws.errors.InputError: {said}"), found[name]


def test_a_plain_import_works_for_numbers(rscript: Run, tmp_path: Path) -> None:
    """Without the interface, reticulate's own rules: enough for vectors without NA."""
    code = """
plain <- import("pyvws")
hex("quantile", plain$quantile(c(1, 2, 3, 50), 0.5))
refused("na", plain$identification_risk(c(1, NA, 3), radius = 0.2))
"""
    found = lines(rscript, code, tmp_path)
    assert doubles(found["quantile"]) == [2.5]
    said = "original has missing or infinite values: 1 (row 2). Remove or impute them first."
    assert said in found["na"]


# One call of each reference, with a result known by hand or by what it must be.
CALLS = {
    "accounting": "all(statement(0.5, 2, 2, stage = 1)[12:13] == c(4, 6))",
    "associations": "abs(cramers_v(c(1, 1, 2, 2), c(1, 1, 2, 2)) - 1) < 1e-12",
    "authors": "run_function('f <- function(x) x + 1', 'f', list(x = 2)) == 3",
    "bootstrap": "bootstrap_estimate(list(c(5, 5, 5)), 'mean', 3, 4, 1) == 5",
    "censoring": "all(clamp_log_likelihood(matrix(-c(1, 9), 1), epsilon = 4) == c(-1, -2))",
    "clamp": "all(saturated_counts(c(0, 1)) == c(0, -1))",
    "closest_records": "nearer_share(c(1, 2), c(3, 4)) == 1",
    "combining_rules": "combined_estimate(c(1, 3), c(1, 1)) == 2",
    "disclosure": "unique_shares(c(0, 1, 1, 2), c(0, 2, 2, 3))[4] == 0.25",
    "doctor": "nzchar(installed('stats')$versions)",
    "ecdf": "ecdf_maximum(c(1, 2), list(c(1, 2))) == 0",
    "glm": "abs(glm_fitted(matrix(1, 4, 1), c(0, 1, 1, 1), 'logistic') - 0.75) < 1e-9",
    "identification_risk": "all(identification_risk(c(1, 2, 3, 50)) == 0.75)",
    "interval_overlap": "interval_overlap(cbind(0, 2), cbind(0, 2)) == 1",
    "joint": "joint_epsilon(list(matrix(-1, 1, 2), matrix(-2, 1, 2))) == 6",
    "conditional_table": "all(weighted_counts(0:1, 1:0, c(0.5, 1), 2, 2) == c(0, 1, 0.5, 0))",
    "k_marginal": "k_marginal_score(cbind(0:1, 0:1), cbind(0:1, 1:0)) == 0",
    "margins": "margin_distance(cbind(c(1, 1)), cbind(c(1, 2)), TRUE) == 0.5",
    "least_squares": "abs(coefficients_of(cbind(1, c(0, 1)), c(3, 5)) - c(3, 2)) < 1e-12",
    "lipschitz": "all(lipschitz_by_record(matrix(-c(1, 2, 3, 4), 2)) == c(2, 4))",
    "listings": "run_listing('b <- a + 1', list(a = 1), 'b')$b == 2",
    "match_risk": "expected_match_risk(c(1, 50), list(c(1, 50))) == 2",
    "package_data": "nrow(package_data('datasets', 'cars')) == 50",
    "pairwise": "length(pairwise_weights(c(1, 2, 3))) == 3",
    "pipeline": "all(steps_in_vectors()$bounds(matrix(-c(1, 2, 3, 4), 2)) == c(2, 4))",
    "perturbed_histogram": "cube_root_bins(28) == 4",
    "pmse": "abs(pmse_value(matrix(1:4), matrix(1:4))) < 1e-12",
    "r_random": "length(uniforms(1, 3)) == 3",
    "rarith": "arithmetic_mean(c(1, 2, 6)) == 3",
    "reweight": "all(reweight(c(0.5, 0.5), c(1, 2), 0.5) == c(0.5, 0.25))",
    "s_pmse": "do.call(two_way_value, rep(list(cbind(c(0, 0, 1, 1)), cbind(1:4)), 2)) < 1e-12",
    "simulated_data": "all(poisson_counts(123, 2, 100) == c(94, 111))",
    "survey_estimates": "all(survey_totals(c(1, 3), 1:2 * 0, 10, 1, 1:2) == c(40, 20))",
    "topcoding": "topcode_share(c(1, 2, 3, 4), value = 3) == 0.25",
    "truncation": "all(weighted_epsilon_weights(c(1, 1), c(1, 9), 4) == c(1, 0))",
    "utility_table": "length(utility_original(c(1, 2), list(c(1, 2)), 0.5)) > 0",
    "weights": "all(scalar_weights(2, 3, 12) == 0.25)",
    "whack_a_mole": "all(risk_change(c(0.1, 0.5), c(0.2, 0.1)) == c(0.2, 0.1) - c(0.1, 0.5))",
}
NEEDS_A_COMPILER = {"rstan"}


def test_each_reference_is_usable_alone(rscript: Run, tmp_path: Path) -> None:
    """Sourced by itself in an environment of its own, without Python: base R is enough."""
    folder = _resources.folder("r_reference")
    assert {path.stem for path in folder.glob("*.R")} == set(CALLS) | NEEDS_A_COMPILER
    code = (  # R takes at most 10,000 bytes by -e, so what all calls share is a function.
        "check <- function(name, call) {\n"
        f"home <- new.env(); sys.source(paste0('{folder}/', name, '.R'), home)\n"
        "found <- tryCatch(all(eval(call, home)), error = conditionMessage)\n"
        "cat(name, found, '\\n')\n}\n"
    ) + "".join(f"check('{name}', quote({call}))\n" for name, call in CALLS.items())
    done = rscript(code, tmp_path)
    assert done.returncode == 0, done.stderr
    said = {line.partition(" ")[0]: line.partition(" ")[2] for line in done.stdout.splitlines()}
    assert said == dict.fromkeys(CALLS, "TRUE ")


@pytest.mark.slow
def test_a_whole_table_from_r_keeps_its_types_and_levels(rscript: Run, tmp_path: Path) -> None:
    """Factors, logical, integer and character columns by a schema file, which names each level."""
    (tmp_path / "schema.toml").write_text(
        '[columns.sex]\nrole = "public"\nlevels = ["m", "f"]\n'
        '[columns.own]\nmodel = "nominal"\nlevels = ["false", "true"]\n'
        '[columns.code]\nmodel = "nominal"\nlevels = [1, 2, 3]\n'
        '[columns.text]\nmodel = "nominal"\nlevels = ["x y", "z"]\n'
        '[columns.edu]\nmodel = "nominal"\nlevels = ["lo", "mid", "hi"]\n'
        '[columns.rank]\nmodel = "ordinal"\nlevels = ["lo", "hi"]\n'
    )
    code = """
n <- 60
table <- data.frame(
  sex = factor(rep(c("m", "f"), n / 2), levels = c("m", "f")),
  own = rep(c(TRUE, FALSE, FALSE), n / 3),
  code = rep(1:3, n / 3), text = rep(c("x y", "z"), n / 2),
  edu = factor(rep(c("lo", "hi"), n / 2), levels = c("lo", "mid", "hi")),
  rank = factor(rep(c("hi", "lo"), n / 2), levels = c("lo", "hi"), ordered = TRUE))
release <- suppressWarnings(vws$synthesize(table, schema = "schema.toml",
  types = "table", mechanism = "unweighted", draws = 25, warmup = 100, chains = 1, datasets = 1,
  seed = 1))
made <- release$datasets[[1]]
read <- vws$Schema$read("schema.toml")
read$write("again.toml")
again <- suppressWarnings(vws$synthesize(table, schema = read,
  types = "table", mechanism = "unweighted", draws = 25, warmup = 100, chains = 1, datasets = 1,
  seed = 1))
cat("same", identical(again$datasets[[1]], made), is.function(vws$Schema), "\\n")
cat("rows", nrow(made), "\\n")
for (name in names(table))
  cat(name, identical(class(made[[name]]), class(table[[name]])),
    identical(levels(made[[name]]), levels(table[[name]])), !anyNA(made[[name]]), "\\n")
cat("names", names(made), "\\n")
"""
    found = lines(rscript, code, tmp_path)
    assert found["rows"] == "60"
    assert found["same"] == "TRUE TRUE"
    again = vws.Schema.read(tmp_path / "again.toml")
    assert again == vws.Schema.read(tmp_path / "schema.toml")
    assert found["names"] == "sex own code text edu rank"
    for name in found["names"].split():
        assert found[name] == "TRUE TRUE TRUE", name
