"""A design with more columns than can be fitted is refused before any fit, with its counts."""

import numpy as np
import polars as pl
from refusals import refused

import pyvws as vws
from pyvws import Column, Schema

AREAS = [f"a{k:03d}" for k in range(400)]
TABLE = pl.DataFrame({"area": AREAS * 2, "y": np.arange(800) % 5})


def test_one_outcome() -> None:
    with refused("too-wide"):
        vws.synthesize(
            TABLE, outcome="y", model="poisson", formula="~ area", mechanism="lw", seed=1
        )


def test_a_conditional_table_is_held_in_the_longest_fit() -> None:
    """A search is refused before its first fit where the confirming fit would not be held."""
    schema = Schema(
        {
            "area": Column(role="public", levels=tuple(AREAS)),
            "y": Column(model="table", levels=tuple("01234"), predictors=("area",)),
        }
    )
    run = {"schema": schema, "mechanism": "sw", "seed": 1, "draws": 10_000, "datasets": 1}
    for given, draws in (({"epsilon": 4.0}, "160,000"), ({"draws": 10_000_000}, "40,000,000")):
        with refused("too-many-shares") as caught:
            vws.synthesize(TABLE, **run | given)
        assert draws in str(caught.value)


def test_what_can_be_fitted_passes() -> None:
    known = [Column(role="public", levels=tuple(AREAS[:L])) for L in (150, 350)]
    few, many = (Schema({"area": one, "y": Column(model="poisson")}) for one in known)
    assert vws.Synthesizer(schema=few, mechanism="lw").plan.conditionals[0].K == 150
    with refused("too-wide"):
        vws.Synthesizer(schema=many, mechanism="lw")
