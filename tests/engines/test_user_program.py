"""What a user's Stan program must and may declare."""

import numpy as np
import pytest
from refusals import refused

from pyvws._base.resources import folder
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.stan_run import StanRun
from pyvws.engines.user_program import UserProgram, check_program, parameter_names, program_data
from pyvws.models.registry import find_model
from pyvws.tables.design.cells import make_cells

PROGRAM = """
// data { int other; }
functions { real f(data real x) { return x; } }
data {
  int<lower=1> n; /* records */ int K;
  array[n] int<lower=0> y;
  matrix[n, K] X;
  vector<lower=0, upper=1>[n]weights;
}
transformed data { real unused = 3; vector[K] zeros = rep_vector(0, K); }
parameters { vector[K] beta; }
model { target += dot_product(weights, to_vector(y)); }
generated quantities {
  vector[n] log_lik;
  for (i in 1:n) { real inner = 2; log_lik[i] = weights[i] * inner; }
}
"""


def test_what_it_declares_is_found():
    assert check_program(PROGRAM) == ("n", "K", "y", "X", "weights")


@pytest.mark.parametrize("place", ["stan", "r_reference/stan"])
def test_the_packages_own_programs_pass_in_both_dialects(place):
    root, _, below = place.partition("/")
    found = sorted((folder(root) / below).glob("*.stan"))
    assert found
    for path in found:
        if find_model(path.stem.removesuffix("_censored")).stan_settings(
            make_cells(np.ones(1), np.ones((1, 1)))
        ):
            continue  # It needs data that only the package's own model has.
        names = check_program(path.read_text())
        assert set(names) >= {"n", "K", "y", "X", "weights"}


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        ("vector<lower=0, upper=1>[n]weights;", "", "stan-data-without-weights"),
        ("vector[n] log_lik;", "", "stan-without-log-lik"),
        ("int K;", "int K; real<lower=0> scale;", "stan-data-unknown"),
        ("functions", '#include "more.stan"\nfunctions', "stan-includes-file"),
        ("inner; }\n}", "inner; }\n", "stan-open-brace"),
    ],
)
def test_what_is_wrong_is_named(before, after, key):
    changed = PROGRAM.replace(before, after)
    assert changed != PROGRAM
    with refused(key):
        check_program(changed)


def test_a_comment_declares_nothing():
    changed = PROGRAM.replace("vector<lower=0, upper=1>[n]weights;", "// vector[n] weights;")
    with refused("stan-data-without-weights"):
        check_program(changed)


DECLARED = (
    *("real beta;", "vector[K] beta;", "vector<lower=-1, upper=max({K, n})>[K]beta;"),
    *("array[2] vector<offset=f((1)), multiplier=2>[K] beta;", "array[2, K] real<lower=0> beta;"),
    *("real<lower=0> beta[K, 2];", "row_vector [K] other, beta;"),
    *("cholesky_factor_corr[K] beta; // } /*", "real other; /* } */ real beta;"),
)


@pytest.mark.parametrize("declared", DECLARED)
@pytest.mark.parametrize("before", ["", 'transformed data { print("parameters { /* "); }'])
def test_parameters_are_found_however_they_are_declared(declared, before):
    rest = "transformed parameters { real gamma; } generated quantities { real delta; }"
    others = ["other"] if "other" in declared else []
    text = f"{before} parameters {{ {declared}\n }} {rest}"
    assert list(parameter_names(text)) == [*others, "beta"]
    assert parameter_names(f"{before} {rest}") == ()


def test_whole_outcomes_become_integers():
    assert program_data([1.0, 2.0], [[1.0], [1.0]], [1, 1])["y"].dtype.kind == "i"
    assert program_data([1.5, 2.0], [[1.0], [1.0]], [1, 1])["y"].dtype.kind == "f"


class Recorder:
    """An engine that notes its data and writes a log_lik of a given width."""

    name = "recorder"

    def __init__(self, width: int) -> None:
        self.width = width

    def run(self, program, data, settings, *, seed, initial=None, keep=None, progress=None):
        self.data = data
        shape = (settings.chains, settings.draws)
        draws = {"log_lik": np.zeros((*shape, self.width)), "beta": np.ones((*shape, 1))}
        return StanRun(draws, divergences=1, seconds=2.0)


def test_it_gets_what_it_declares_and_no_more():
    engine = Recorder(2)
    data = program_data([1.0, 2.0], [[1.0], [1.0]], [1.0, 0.5])
    settings = SamplerSettings(draws=4, warmup=100, chains=3)
    fit = UserProgram(PROGRAM).fit(engine, data, settings, seed=1)
    assert set(engine.data) == {"n", "K", "y", "X", "weights"}
    assert fit.log_lik.shape == (12, 2)
    assert set(fit.draws) == {"beta"}
    assert (fit.chains, fit.divergences, fit.seconds) == (3, 1, 2.0)


def test_log_lik_of_another_length_says_so():
    data = program_data([1.0, 2.0], [[1.0], [1.0]], [1.0, 0.5])
    settings = SamplerSettings(draws=4, warmup=100, chains=1)
    with refused("program-vector-length", n=2):
        UserProgram(PROGRAM).fit(Recorder(3), data, settings, seed=1)


def test_what_log_lik_holds_is_one_of_two_words():
    with refused("not-a-choice"):
        UserProgram(PROGRAM, log_lik="both")


GROUPED = PROGRAM.replace("int K;", "int K; int G; array[n] int group;")
PREDICTING = PROGRAM.replace("vector[n] log_lik;", "vector[n] log_lik; array[n] int y_rep;")


def test_further_data_reach_the_program_with_the_tables():
    engine = Recorder(2)
    program = UserProgram(GROUPED, data={"G": 2, "group": [1, 2]})
    data = program_data([1.0, 3.0], [[1.0], [1.0]], [1.0, 0.5])
    program.fit(engine, data, SamplerSettings(draws=4, warmup=100, chains=1), seed=1)
    assert set(engine.data) == {"n", "K", "y", "X", "weights", "G", "group"}
    assert (engine.data["G"], engine.data["group"].tolist()) == (2, [1, 2])
    assert engine.data["group"].dtype.kind == "i"


@pytest.mark.parametrize(
    ("data", "refusal"),
    [
        ({"G": 2}, refused("stan-data-unknown")),
        ({"G": 2, "group": [1, 2], "other": 1}, refused("stan-data-undeclared")),
        (
            {"G": 2, "group": [1, 2], "weights": [1, 1]},
            refused("stan-data-reserved", name="weights"),
        ),
        ({"G": 2, "group": [1, 2], "y": [0, 0]}, refused("stan-data-reserved", name="y")),
        ({"G": "two", "group": [1, 2]}, refused("stan-data-not-numbers", name="G")),
        ({"G": 2, "group": [[1], [2, 3]]}, refused("stan-data-not-numbers", name="group")),
        ({"G": None, "group": [1, 2]}, refused("stan-data-not-numbers", name="G")),
    ],
)
def test_further_data_that_do_not_fit_are_refused(data, refusal):
    with refusal:
        UserProgram(GROUPED, data=data)


def test_the_outcome_is_no_further_data():
    program = UserProgram(GROUPED, data={"G": 2, "group": [1, 2]})
    data = program_data([1.0, 2.0], [[1.0], [1.0]], [1.0, 0.5])
    settings = SamplerSettings(draws=4, warmup=100, chains=1)
    with refused("stan-data-is-outcome", copies="group"):
        program.fit(Recorder(2), data, settings, seed=1)


def test_a_program_predicts_where_it_declares_y_rep():
    assert UserProgram(PREDICTING).predicts
    assert not UserProgram(PROGRAM).predicts
    hidden = PROGRAM.replace("real inner = 2;", "real inner = 2; real y_rep = 3;")
    assert not UserProgram(hidden).predicts
    data = program_data([1.0, 2.0], [[1.0], [1.0]], [1.0, 0.5])
    settings = SamplerSettings(draws=4, warmup=100, chains=1)
    with refused("program-vector-length", name="y_rep"):
        UserProgram(PREDICTING).fit(Recorder(2), data, settings, seed=1)


def test_unread_parameters_are_those_of_the_program():
    assert UserProgram(PROGRAM, unread="beta").unread == ("beta",)
    with refused("stan-parameter-undeclared", strange="tau"):
        UserProgram(PROGRAM, unread=("tau",))
