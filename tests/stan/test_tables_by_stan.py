"""Stan engines run the programs of a table's columns one after the other."""

from __future__ import annotations

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
    marital = np.where(rng.random(120) < 0.4, "single", np.where(sex == "f", "wed", "div"))
    schema = vws.Schema(
        {
            "sex": vws.Column(model="logistic", levels=("f", "m")),
            "marital": vws.Column(model="nominal", levels=("single", "wed", "div")),
        }
    )
    made = {}
    for name in ("native", engine):
        made[name] = vws.synthesize(
            pl.DataFrame({"sex": sex, "marital": marital}),
            schema=schema,
            mechanism="unweighted",
            engine=name,
            draws=500,
            warmup=500,
            seed=1 << 60,
        )
    means = [
        [made[name].posterior[f"{of}"].mean() for of in ("sex.beta[1]", "marital.beta[2,2]")]
        for name in made
    ]
    spread = made["native"].posterior["marital.beta[2,2]"].std()
    assert means[0][0] == pytest.approx(means[1][0], abs=0.1)
    assert means[0][1] == pytest.approx(means[1][1], abs=0.5 * spread)
