"""A design with more columns than can be fitted is refused before any fit, with its counts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import pyvws as vws
from pyvws.errors import InputError
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema

AREAS = [f"a{k:03d}" for k in range(400)]
TABLE = pl.DataFrame({"area": AREAS * 2, "y": np.arange(800) % 5})


def test_one_outcome() -> None:
    with pytest.raises(InputError, match=r"400 design columns.* 80,600 parameters; at most 20,000"):
        vws.synthesize(
            TABLE, outcome="y", model="poisson", formula="~ area", mechanism="lw", seed=1
        )


def test_a_column_of_a_table() -> None:
    area = Column(role="public", levels=tuple(AREAS))
    schema = Schema({"area": area, "y": Column(model="poisson")})
    with pytest.raises(InputError, match="'y' make 400 design columns"):
        vws.synthesize(TABLE, schema=schema, mechanism="lw", seed=1)


def test_a_conditional_table_is_held_in_the_longest_fit() -> None:
    """A search is refused before its first fit where the confirming fit would not be held."""
    schema = Schema(
        {
            "area": Column(role="public", levels=tuple(AREAS)),
            "y": Column(model="table", levels=tuple("01234"), predictors=("area",)),
        }
    )
    run = {"schema": schema, "mechanism": "sw", "seed": 1, "draws": 10_000, "datasets": 1}
    for given, said in (
        ({"epsilon": 4.0}, "the 160,000 draws of the fit that confirms epsilon are"),
        ({"draws": 10_000_000}, "the 40,000,000 draws of a fit are"),
    ):
        whole = rf"'y' make 400 patterns of 5 shares, and {said} too many .* at most 25,000 are"
        with pytest.raises(InputError, match=whole):
            vws.synthesize(TABLE, **run | given)


def test_what_can_be_fitted_passes() -> None:
    known = [Column(role="public", levels=tuple(AREAS[:L])) for L in (150, 350)]
    few, many = (Schema({"area": one, "y": Column(model="poisson")}) for one in known)
    assert vws.Synthesizer(schema=few).plan.conditionals[0].K == 150
    with pytest.raises(InputError, match="350 design columns"):
        vws.Synthesizer(schema=many)
