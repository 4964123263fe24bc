"""Proposed numbers: what a type can hold, how text spells them, and what tells amounts from ids."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from pyvws.tables.column import Column
from pyvws.tables.schema import Schema

RNG = np.random.default_rng(1)
AMOUNTS = np.unique(RNG.lognormal(7, 1, 200).round(2))
RNG.shuffle(AMOUNTS)
N = len(AMOUNTS)


def proposed(values: Any) -> Column:
    return Schema.propose(pl.DataFrame({"y": values})).columns["y"]


def test_decimals_are_the_numbers_that_they_spell() -> None:
    cells = [*map(Decimal, (f"{x:.2f}" for x in AMOUNTS)), None]
    kind = pa.decimal128(12, 2)
    tables = [
        pl.DataFrame({"y": pl.Series(cells, dtype=pl.Decimal(12, 2))}),
        pa.table({"y": pa.array(cells, kind)}),
        pd.DataFrame({"y": cells}),
        pd.DataFrame({"y": pd.array(cells, dtype=pd.ArrowDtype(kind))}),
    ]
    want = proposed([*AMOUNTS, None])
    assert (want.decimals, want.missing) == (2, True)
    for table in tables:
        schema = Schema.propose(table)
        assert schema.columns["y"] == want
        coded = schema.coded(table)
        assert np.array_equal(coded["y"], [*AMOUNTS, np.nan], equal_nan=True)
        back = schema.decoded("y", coded["y"], like=table["y"], parts=coded["part of y"])
        assert np.array_equal([float(x) for x in back.to_list()[:N]], AMOUNTS)
    few = pl.DataFrame({"y": pl.Series([Decimal("1.00"), Decimal("2.00")] * 9, dtype=pl.Decimal)})
    schema = Schema.propose(few)
    assert schema.decoded("y", schema.coded(few)["y"], like=few["y"]).to_native().equals(few["y"])
