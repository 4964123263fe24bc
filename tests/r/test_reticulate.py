"""The package from R: data frames, factors and NA both ways, and the references by themselves."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import pyvws as vws
from pyvws._base import resources as _resources

Run = Callable[[str, Path], subprocess.CompletedProcess[str]]
Lines = Callable[[str, Path], dict[str, str]]

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


# One R for all tests: R and the package take seconds to start. Each test has variables of its own.
SERVER = """
calls <- file("stdin", "r")
while (length(path <- readLines(calls, 1)) == 1) {
  setwd(dirname(path))
  stopped <- tryCatch({
    source(path, local = new.env(), encoding = "UTF-8")
    ""
  }, error = conditionMessage)
  options(warn = 0)
  import("sys")$stdout$flush()
  cat("@@", gsub("\\n", " ", stopped), "\n")
}
"""


@pytest.fixture(scope="module")
def lines(rscript: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lines]:
    """A function that runs R code in a folder; what R printed, by the first word of each line."""
    folder = tmp_path_factory.mktemp("r")
    (folder / "server.R").write_text(PREAMBLE + SERVER)
    with (
        (folder / "said").open("w") as errors,
        subprocess.Popen(
            [str(shutil.which("Rscript")), str(folder / "server.R")],
            env={**os.environ, "RETICULATE_PYTHON": sys.executable},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as r,
    ):
        assert r.stdin is not None
        assert r.stdout is not None

        def run(code: str, place: Path) -> dict[str, str]:
            (place / "code.R").write_text(code, encoding="utf-8")
            print(place / "code.R", file=r.stdin, flush=True)
            found = {}
            for line in r.stdout:
                name, _, rest = line.rstrip("\n").partition(" ")
                if name == "@@":
                    assert rest.strip() == ""
                    return found
                found[name] = rest.strip()
            pytest.fail(f"R has stopped: {(folder / 'said').read_text()[-3000:]}")

        yield run
        r.stdin.close()


def doubles(text: str) -> list[float]:
    return [float.fromhex(word) for word in text.split()]


def test_numbers_are_those_of_python(lines: Lines, tmp_path: Path) -> None:
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
cat("parts", "epsilon" %in% names(bounds), bounds[["epsilon"]],
  capture.output(str(bounds))[1], "\\n")
cat("combined", capture.output(vws$combine(c(1, 3), c(1, 1)))[2], "\\n")
level <- function(x) vws$Column(model = "table", levels = c("no", "yes"))
schema <- vws$Schema(lapply(list(a = 1, b = 2, c = 3), level))
expected <- vws$forecast(schema, records = 600, mechanism = "noisy-counts", epsilon = 1)
hex("forecast", unlist(expected$figures$counts[c("sets", "cells", "records_a_cell")]))
cat("path", import_pyvws("pathlib")$Path("a/b"), "\\n")
"""
    found = lines(code, tmp_path)
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
    expected["forecast"] = [3, 12, 150]
    for name, values in expected.items():
        assert doubles(found[name]) == [float(value) for value in values], name
    assert found["print"].startswith("<LipschitzBounds of pyvws> $")
    assert found["names"] == "by_column by_draw by_record"
    assert found["parts"].startswith("TRUE 14 <LipschitzBounds of pyvws>")
    assert found["combined"] == repr(vws.combine([1, 3], [1, 1]))
    assert found["path"] == "a/b"


def test_tables_cross_both_ways_unchanged(lines: Lines, tmp_path: Path) -> None:
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
dated <- data.frame(
  d = as.Date(c("2024-02-29", NA, "1900-03-01")),
  t = as.POSIXct(c(0.25, NA, -1e9), origin = "1970-01-01", tz = "Europe/Berlin")
)
dated$i <- structure(c(4.94065645841246544e-324, 0, -0), class = "integer64")
back <- from_python(to_python(dated))
cat("dates", identical(back[1:2], dated[1:2]), py_str(to_python(dated)$dtypes$tolist()), "\n")
cat("wholes", back$i, "\n")
none <- transform(dated[1:2], d = as.Date(NA))
cat("none", identical(from_python(to_python(none)), none),
  identical(from_python(to_python(dated[0, 1:2])), dated[0, 1:2]), "\n")
cat("lists", identical(from_python(to_python(dated$d[1])), dated$d[1]),
  py_str(to_python(dated$t[1])), "\n")
gap <- from_python(to_python(addNA(factor(c("x", NA, "NA", "y"), levels = c("x", "NA", "y", "z")))))
cat("gap", levels(gap), is.na(gap), as.character(gap)[-2], "\n")
cat("latin", identical(from_python(to_python(iconv("\u00e9", "UTF-8", "latin1"))), "\u00e9"), "\n")
pieces <- import_builtins(convert = FALSE)$len(blocks_of_bytes(c(1, NA, 3), at_once = 2))
cat("blocks", py_str(pieces), "\n")
"""
    found = lines(code, tmp_path)
    columns = ("y", "g", "o", "text", "number", "truth", "whole", "large", "whole-table")
    assert {name: found[name] for name in columns} == dict.fromkeys(columns, "TRUE")
    assert found["dtypes"] == "int64 category category object float64 boolean Int64 float64"
    # NaN of a double column counts as missing in pandas; Inf does not.
    assert found["missing"] == "0 0 20 15 2 20 1 0"
    assert (found["empty"], found["matrix"], found["list"]) == ("TRUE",) * 3
    assert found["scalars"] == "None nan None [1.0, nan] [True, None]"
    kinds = "[dtype('O'), datetime64[us, Europe/Berlin], Int64Dtype()]"
    assert found["dates"] == f"TRUE {kinds}"
    assert found["wholes"] == "1 0 NA"
    assert found["none"] == "TRUE TRUE"
    assert found["lists"] == "TRUE 1970-01-01 00:00:00.250000"
    assert found["gap"] == "x NA y z FALSE TRUE FALSE FALSE x NA y"
    assert (found["latin"], found["blocks"]) == ("TRUE", "2")


def test_what_python_makes_keeps_its_value(lines: Lines, tmp_path: Path) -> None:
    """Whole numbers to 2^53 as numbers, beyond as text; a missing number of a table is NA."""
    values = [2**31 - 1, 2**31, -(2**31), 2**33 + 5, 2**53, 2**53 + 1, 2**63 - 1, 2**64, -(2**70)]
    code = (
        f"""
values <- '{values}'
dict <- '{dict(enumerate(values))}'
"""
        + """
made <- function(text) from_python(py_eval(text, convert = FALSE))
shown <- function(x) if (is.character(x)) x else format(x, digits = 17, scientific = FALSE)
values <- made(values)
cat("alone", unlist(lapply(values, shown)), "\n")
cat("dict", unlist(lapply(made(dict), shown)), "\n")
py_run_string("
import numpy as np, pandas as pd
def column(values): return pd.DataFrame({'x': values})
nan = float('nan')
")
of <- function(text) made(paste0("[__import__('__main__').", text, "]"))[[1]]
for (at in 1:7) {
  back <- of(sprintf("np.array([%s])", shown(values[[at]])))
  cat(paste0("array", at), shown(back), "\n")
}
whole <- of("column([2**33 + 5, 1])")$x
cat("column", typeof(whole), shown(whole), "\n")
cat("nullable", shown(of("column(pd.array([2**53 + 1, None], dtype='Int64'))")$x), "\n")
cat("levels", levels(of("column(pd.Categorical([100000, 5000000000]))")$x), "\n")
gaps <- of("column([1.0, nan, None])")$x
cat("gaps", is.na(gaps) & !is.nan(gaps), "\n")
cat("result", is.nan(of("np.array([nan])")), is.nan(of("nan")), "\n")
cat("objects", typeof(of("column(pd.Series([True, None], dtype=object))")$x),
  typeof(of("column(pd.Series([1, None], dtype=object))")$x),
  of("column(pd.Series([1, 'b', None], dtype=object))")$x, "\n")
"""
    )
    found = lines(code, tmp_path)
    text = [str(value) for value in values]
    assert found["alone"].split() == found["dict"].split() == text
    assert [found[f"array{at}"] for at in range(1, 8)] == text[:7]
    assert found["column"].split() == ["double", str(2**33 + 5), "1"]
    assert found["nullable"].split() == [str(2**53 + 1), "NA"]
    assert found["levels"] == "100000 5000000000"
    assert found["gaps"] == "FALSE TRUE TRUE"
    assert found["result"] == "TRUE TRUE"
    assert found["objects"] == "logical integer 1 b NA"


def test_unused_columns_warnings_and_seeds(lines: Lines, tmp_path: Path) -> None:
    """A column of any class stops no run; warnings are R's conditions; a long seed is text."""
    code = """
n <- 40
table <- data.frame(y = rep(c(3L, 5L, 9L, 4L), 10), d = as.Date("2020-01-31") + 1:n)
table$d[3] <- NA
table$t <- as.POSIXct("2024-07-01 12:00:00", tz = "UTC") + 1:n
table$i <- structure(rep(4.94e-324, n), class = "integer64")
table$u <- structure(rep(1:2, 20), class = c("haven_labelled", "integer"), labels = c(a = 1L))
table$m <- matrix(1:(2 * n), n)
table$s <- scale(1:n %% 3)
table$l <- as.list(1:n)
table$c <- complex(n)
run <- function(...) vws$synthesize(table, outcome = "y", model = "poisson", draws = 25,
  mechanism = "unweighted", warmup = 100, chains = 1, datasets = 1, ...)
seed <- "9223372036854775807"
said <- list()
release <- withCallingHandlers(run(seed = seed, keep = c("d", "t", "i", "m.2", "s")),
  warning = function(w) { said[[length(said) + 1]] <<- w; invokeRestart("muffleWarning") })
first <- release$datasets[[1]]
cat("names", names(first), nrow(first), "\n")
cat("seed", identical(release$summary$seed, seed), "\n")
own <- function(w) inherits(w, "pyvws_warning")
cat("crossing", vapply(Filter(Negate(own), said), function(w) sub(" .*", "", sub("Column ", "",
  conditionMessage(w))), ""), "\n")
cat("classes", class(Filter(own, said)[[1]]), "\n")
cat("typed", class(first$d), class(first$t), class(first$i), class(first$s), "\n")
cat("same", identical(sort(table$d), sort(first$d)), identical(sort(table$t), sort(first$t)), "\n")
drawn <- suppressWarnings(run())$summary$seed
cat("drawn", nchar(drawn), is.character(drawn), "\n")
refused("rounded", suppressWarnings(run(seed = 2^53 + 2)))
table <- table["y"]
options(warn = 2)
refused("strict", run(seed = 1))
"""
    found = lines(code, tmp_path)
    assert found["names"] == "y d t i m.2 s 40"
    assert found["seed"] == "TRUE"
    assert found["crossing"] == "'u': 'l' 'c'"
    assert found["classes"] == "ConvergenceWarning pyvws_warning warning condition"
    assert found["typed"] == "Date POSIXct POSIXt integer numeric"
    assert found["same"] == "TRUE TRUE"
    assert found["drawn"] == "19 TRUE"
    assert "seed is beyond 2^53" in found["rounded"]
    assert found["strict"].startswith("(converted from warning)")


def test_help_and_matrices_with_names(lines: Lines, tmp_path: Path) -> None:
    """Help speaks R; names of a matrix's dimensions tell the draws; its bytes cross."""
    code = """
cat("printed", capture.output(vws$from_log_lik)[1], "\n")
page <- capture.output(vws_help(vws$from_log_lik))
cat("page", "Arguments:" %in% page, "Value:" %in% page, any(grepl("None|>>>", page)), "\n")
cat("method", capture.output(vws_help("Schema$read"))[5], "\n")
cat("all", sum(grepl("vws$", capture.output(vws_help()), fixed = TRUE)) > 60, "\n")
refused("unknown", vws_help("synthesise"))
for (name in c("import_pyvws", "vws_help")) {
  text <- capture.output(vws_help(name))
  usage <- trimws(text[which(text == "Usage:") + 2])
  stated <- sapply(names(formals(get(name))), grepl, x = usage, fixed = TRUE)
  cat(name, all(stated), startsWith(usage, paste0(name, "(")), "\n")
}
cat("packages", any(grepl("map", capture.output(vws_help("lipschitz_weights")))), "\n")
draws <- matrix(-c(1, 2, 3, 4, 5, 6), 3)
named <- function(x, ...) { dimnames(x) <- list(...); x }
weights <- function(x, ...) vws$from_log_lik(x, ...)$lipschitz_weights()
cat("plain", weights(draws), weights(named(draws, iterations = NULL, NULL)), "\n")
cat("turned", identical(weights(named(t(draws), parameters = NULL, iterations = 1:3)),
  weights(draws)), "\n")
chains <- named(array(draws, c(3, 1, 2)), iterations = NULL, chains = NULL, parameters = NULL)
cat("chains", identical(weights(chains), weights(draws)), "\n")
pair <- named(array(c(-4, -1, -3, -2, -6, -5, -7:-12), c(3, 2, 2)), iterations = NULL,
  chains = NULL, parameters = NULL)
pair <- vws$from_log_lik(pair)
cat("pair", pair$chains, pair$log_lik[, 1], "\n")
refused("checked", weights(t(draws), records = 2))
refused("rows", weights(data.frame(X = 1:3, draws)))
"""
    found = lines(code, tmp_path)
    assert found["printed"].startswith("vws$from_log_lik(matrix, weights = NULL")
    assert found["page"] == "TRUE TRUE FALSE"
    assert found["method"] == "vws$Schema$read(path)"
    assert found["all"] == "TRUE"
    assert "Did you mean 'synthesize'?" in found["unknown"]
    assert found["import_pyvws"] == found["vws_help"] == "TRUE TRUE"
    assert found["packages"] == "TRUE"
    assert found["plain"] == "1 0 1 0"
    assert (found["turned"], found["chains"]) == ("TRUE", "TRUE")
    assert found["pair"] == "2 -4 -1 -3 -2 -6 -5"
    assert "Got 2 rows and 3 columns. Give its transpose." in found["checked"]
    assert "Column 1 of log_lik counts the rows" in found["rows"]


@pytest.mark.slow
def test_a_run_from_r(lines: Lines, tmp_path: Path) -> None:
    """A data frame a dataset, factors with their levels, columns in order, NA refused by name."""
    code = f"""{TABLE}
run <- function(table, ...) vws$synthesize(table, model = "poisson", draws = 100, warmup = 100,
  chains = 1, datasets = 3, seed = 1, ..., mechanism = "lw")
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
refused("mechanism", vws$synthesize(table, outcome = "y"))
"""
    found = lines(code, tmp_path)
    assert found["datasets"] == "3"
    assert found["names"] == "y g o text number truth whole large"
    for name in ("kept", "again", "caveats", "epsilon"):
        assert found[name] == "TRUE", name
    assert found["outcome"] == "TRUE TRUE TRUE"
    assert found["guarantee"] == "asymptotic-dp"
    assert found["mechanism"].startswith("A run needs a mechanism")
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
        assert found[name].startswith(f"{said}"), found[name]


def test_a_plain_import_works_for_numbers(lines: Lines, tmp_path: Path) -> None:
    """Without the interface, reticulate's own rules: enough for vectors without NA."""
    code = """
plain <- import("pyvws")
hex("quantile", plain$quantile(c(1, 2, 3, 50), 0.5))
refused("na", plain$identification_risk(c(1, NA, 3), radius = 0.2))
"""
    found = lines(code, tmp_path)
    assert doubles(found["quantile"]) == [2.5]
    said = "original has missing or infinite values: 1 (row 2). Remove or impute them first."
    assert said in found["na"]


# One call of each reference, with a result known by hand or by what it must be.
CALLS = {
    "accounting": "all(statement(0.5, 2, 2, stage = 1)[12:13] == c(4, 6))",
    "associations": "abs(cramers_v(c(1, 1, 2, 2), c(1, 1, 2, 2)) - 1) < 1e-12",
    "attribute_risk": (
        "abs(attribute_risk(list(t(c(-1, -1))), t(-9), 0, 1, t(c(1, 3))) - 0.25) < 1e-12"
    ),
    "authors": "run_function('f <- function(x) x + 1', 'f', list(x = 2)) == 3",
    "bootstrap": "bootstrap_estimate(list(c(5, 5, 5)), 'mean', 3, 4, 1) == 5",
    "censoring": "all(clamp_log_likelihood(matrix(-c(1, 9), 1), epsilon = 4) == c(-1, -2))",
    "clamp": "all(saturated('poisson', c(0, 1)) == c(0, -1))",
    "closest_records": "nearer_share(c(1, 2), c(3, 4)) == 1",
    "combining_rules": "combined_estimate(c(1, 3), c(1, 1)) == 2",
    "disclosure": "unique_shares(c(0, 1, 1, 2), c(0, 2, 2, 3))[4] == 0.25",
    "doctor": "nzchar(installed('stats')$versions)",
    "ecdf": "ecdf_maximum(c(1, 2), list(c(1, 2))) == 0",
    "fit_sources": "up_to_a_tenth(0.11) == 0.2",
    "glm": "abs(glm_fitted(matrix(1, 4, 1), c(0, 1, 1, 1), 'logistic') - 0.75) < 1e-9",
    "identification_risk": "all(identification_risk(c(1, 2, 3, 50)) == 0.75)",
    "interval_overlap": "interval_overlap(cbind(0, 2), cbind(0, 2)) == 1",
    "joint": "joint_epsilon(list(matrix(-1, 1, 2), matrix(-2, 1, 2))) == 6",
    "conditional_table": "all(weighted_counts(0:1, 1:0, c(0.5, 1), 2, 2) == c(0, 1, 0.5, 0))",
    "k_marginal": "k_marginal_score(cbind(0:1, 0:1), cbind(0:1, 1:0)) == 0",
    "margins": "margin_distance(cbind(c(1, 1)), cbind(c(1, 2)), TRUE) == 0.5",
    "least_squares": "abs(coefficients_of(cbind(1, c(0, 1)), c(3, 5)) - c(3, 2)) < 1e-12",
    "ledger": "all(releases_together(1, 2, 0, 9, 0, 1) == c(4, 0, 8, 0, 0, 1, 0, 0, 1))",
    "lipschitz": "all(lipschitz_by_record(matrix(-c(1, 2, 3, 4), 2)) == c(2, 4))",
    "listings": "run_listing('b <- a + 1', list(a = 1), 'b')$b == 2",
    "match_risk": "expected_match_risk(c(1, 50), list(c(1, 50))) == 2",
    "package_data": "nrow(package_data('datasets', 'cars')) == 50",
    "noisy_counts": "all(pair_counts(0:1, 1:0, c(0, 0), c(2, 2, 1))[1:4] == c(0, 1, 1, 0))",
    "pairwise": "length(pairwise_weights(c(1, 2, 3))) == 3",
    "pipeline": "all(steps_in_vectors()$bounds(matrix(-c(1, 2, 3, 4), 2)) == c(2, 4))",
    "perturbed_histogram": "cube_root_bins(28) == 4",
    "pmse": "abs(pmse_value(matrix(1:4), matrix(1:4))) < 1e-12",
    "published_table": "all(laplace_errors(2, 1, 3, 1, 2, 1) == sqrt(2) * c(1.5, 3))",
    "r_random": "length(uniforms(1, 3)) == 3",
    "rarith": "arithmetic_mean(c(1, 2, 6)) == 3",
    "reweight": "all(reweight(c(0.5, 0.5), c(1, 2), 0.5) == c(0.5, 0.25))",
    "s_pmse": "do.call(two_way_value, rep(list(cbind(c(0, 0, 1, 1)), cbind(1:4)), 2)) < 1e-12",
    "window": ("all.equal(window_widths(matrix(-1), matrix(2), matrix(-0.5), 1), c(1, 0.5))"),
    "several_draws": "abs(total_epsilon(0.5, 20, 1e-6) - 5.393) < 1e-3",
    "simulated_data": "all(poisson_counts(123, 2, 100) == c(94, 111))",
    "survey_estimates": "all(survey_totals(c(1, 3), 1:2 * 0, 10, 1, 1:2) == c(40, 20))",
    "systematic_draws": "all(van_der_corput(4) == c(0, 0.5, 0.25, 0.75))",
    "topcoding": "topcode_share(c(1, 2, 3, 4), value = 3) == 0.25",
    "truncation": "all(weighted_epsilon_weights(c(1, 1), c(1, 9), 4) == c(1, 0))",
    "utility_table": "length(utility_original(c(1, 2), list(c(1, 2)), 0.5)) > 0",
    "weighing": "all(weights_of_risks(c(0, 0.5, 1), 1, 0) == c(1, 0.5, 0))",
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
def test_a_whole_table_from_r_keeps_its_types_and_levels(lines: Lines, tmp_path: Path) -> None:
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
    found = lines(code, tmp_path)
    assert found["rows"] == "60"
    assert found["same"] == "TRUE TRUE"
    again = vws.Schema.read(tmp_path / "again.toml")
    assert again == vws.Schema.read(tmp_path / "schema.toml")
    assert found["names"] == "sex own code text edu rank"
    for name in found["names"].split():
        assert found[name] == "TRUE TRUE TRUE", name


@pytest.mark.slow
def test_truth_values_are_logical_in_r(lines: Lines, tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    (tmp_path / "schema.toml").write_text(
        '[columns.own]\nmodel = "nominal"\nlevels = ["FALSE", "TRUE"]\nmissing = true\n'
    )
    code = """
table <- data.frame(own = rep(c(TRUE, FALSE, NA, FALSE), 30))
run <- function(...) suppressWarnings(
  vws$synthesize(table, schema = "schema.toml", datasets = 1, seed = 1, ...)$datasets[[1]]$own)
counted <- run(mechanism = "noisy-counts", epsilon = 20)
drawn <- run(mechanism = "unweighted", draws = 25, warmup = 100, chains = 1)
cat("counted", is.logical(counted), anyNA(counted), any(counted, na.rm = TRUE), "\\n")
cat("drawn", is.logical(drawn), anyNA(drawn), any(drawn, na.rm = TRUE), "\\n")
"""
    assert lines(code, tmp_path) == dict.fromkeys(["counted", "drawn"], "TRUE TRUE TRUE")


def test_a_fit_of_r_is_read_by_another_process(lines: Lines, tmp_path: Path) -> None:
    """A second R in the process of the first would end both."""
    code = """
m <- matrix(-c(1:40) / 8, 8, 5)
saveRDS(m, "fit.rds")
hex("bound", vws$from_stanfit("fit.rds")$bounds()$epsilon)
saveRDS("text", "text.rds")
refused("other", vws$from_stanfit("text.rds"))
hex("again", vws$from_stanfit("fit.rds")$bounds()$epsilon)
hex("here", 2 * max(abs(m)))
left <- list.files(tempdir(), "rds$")
fit <- structure(list(), class = "stanfit")
refused("object", vws$from_stanfit(fit))
cat("left", identical(left, list.files(tempdir(), "rds$")), "\\n")
"""
    pytest.importorskip("rpy2")
    found = lines(code, tmp_path)
    assert found["bound"] == found["again"] == found["here"]
    assert "not a stanfit" in found["other"]
    assert "not a stanfit" in found["object"]
    assert found["left"] == "TRUE"


def test_text_keeps_its_letters_or_stays_behind(lines: Lines, tmp_path: Path) -> None:
    code = """
latin <- "M\\xfcller"
refused("unknown", to_python(latin))
refused("level", to_python(factor(latin)))
refused("bytes", to_python({x <- "\\xfc"; Encoding(x) <- "bytes"; x}))
refused("wrong", to_python({x <- "\\xfc"; Encoding(x) <- "UTF-8"; x}))
Encoding(latin) <- "latin1"
cat("known", identical(from_python(to_python(latin)), "M\\u00fcller"), "\\n")
"""
    found = lines(code, tmp_path)
    for name in ("unknown", "level", "bytes"):
        assert "unknown encoding" in found[name], name
    assert "no letters" in found["wrong"]
    assert found["known"] == "TRUE"


def test_columns_of_one_name_formulas_and_single_values(lines: Lines, tmp_path: Path) -> None:
    code = """
twice <- data.frame(a = 1:2, a = 3:4, check.names = FALSE)
hex("twice", unlist(from_python(frame_to_python(twice))))
column <- vws$Column(model = "nominal", levels = "yes", formula = ~ age + sex)
cat("formula", column$formula, "\\n")
cat("levels", column$levels, "\\n")
hex("mass", vws$Column(model = "normal", mass = 0)$mass)
text <- data.frame(y = c(2, 1, 4, 3, 7, 5, 9, 6), t = rep(c("b", "A", "a", "B"), 2))
text$y <- text$y + (text$t == "a")
named <- function() names(vws$combine_formula(list(text, text), y ~ t))
cat("bytes", named(), "\n")
options(pyvws.text = "factor")
cat("locale", identical(named(), colnames(model.matrix(y ~ t, text))), "\n")
options(pyvws.text = "letters")
refused("option", named())
options(pyvws.text = NULL)
chained <- array(-1, c(4, 2, 5), list(iterations = NULL, chains = NULL, parameters = NULL))
refused("chains", vws$from_log_lik(chained, y_rep = matrix(0, 8, 5)))
cat("fit", class(vws$from_log_lik(chained, y_rep = chained)), "\\n")
"""
    found = lines(code, tmp_path)
    assert doubles(found["twice"]) == [1, 2, 3, 4]
    assert found["formula"] == "~age + sex"
    assert found["levels"] == "yes"
    assert doubles(found["mass"]) == [0]
    assert found["bytes"] == "(Intercept) tB ta tb"
    assert found["locale"] == "TRUE"
    assert "pyvws.text" in found["option"]
    assert "no" in found["chains"]
    assert "y_rep" in found["chains"]
    assert found["fit"] == "pyvws_object"
