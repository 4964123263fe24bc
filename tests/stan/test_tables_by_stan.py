"""Stan engines run the programs of a table's columns one after the other."""

import numpy as np
import polars as pl
import pytest

import pyvws as vws
from pyvws.errors import ConvergenceWarning


@pytest.mark.slow
@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.parametrize("engine", ["pystan", "rstan"])
def test_each_stan_engine_makes_a_table_as_the_native_one_does(engine, need) -> None:
    need(engine)
    rng = np.random.default_rng(1)
    sex = rng.choice(["f", "m"], 120)
    calls = rng.poisson(np.where(sex == "f", 6.0, 3.0))
    visits = rng.negative_binomial(4, 4 / (4 + 2.0 + calls))
    schema = vws.Schema(
        {
            "sex": vws.Column(role="public", levels=("f", "m")),
            "calls": vws.Column(model="poisson", range=(0, 40)),
            "visits": vws.Column(model="negative-binomial"),
        }
    )
    posteriors = {
        name: vws.synthesize(
            pl.DataFrame({"sex": sex, "calls": calls, "visits": visits}),
            schema=schema,
            mechanism="unweighted",
            engine=name,
            draws=500,
            warmup=500,
            seed=1 << 60,
        ).posterior
        for name in ("native", engine)
    }
    for coefficient in ("calls.beta[2]", "visits.beta[1]", "visits.beta[3]"):
        native, other = (posterior[coefficient] for posterior in posteriors.values())
        assert other.mean() == pytest.approx(native.mean(), abs=0.5 * native.std())
