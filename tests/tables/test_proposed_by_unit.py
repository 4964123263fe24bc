"""Numbers of units with many records: what a unit has in each record is one observation."""

import numpy as np
import polars as pl
import pytest

from pyvws.tables.schema.schema import Schema

pytestmark = pytest.mark.usefixtures("rare_values_too")

UNITS = 120


def persons(seed: int = 0) -> pl.DataFrame:
    """Persons whose height, and a rate of their place, are the same in all of their records."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(UNITS), rng.integers(5, 29, UNITS))
    height = rng.normal(172, 9, UNITS).round().astype(int)
    rates = np.sort(rng.choice(np.arange(1, 900), 30, replace=False)) / 100 + 0.001
    return pl.DataFrame(
        {
            "person": [f"P{x:04d}" for x in of],
            "sex": rng.choice(["f", "m"], UNITS)[of],
            "height": height[of],
            "rate": rates[rng.integers(0, 30, UNITS)][of],
            "dose": rng.lognormal(2, 0.6, len(of)).round(2),
        }
    )


def test_numbers_of_a_unit_are_judged_by_units_and_the_proposal_can_be_accepted() -> None:
    table = persons()
    schema = Schema.propose(table)
    assert schema.unit == "person"
    assert schema.why_not_accepted is None
    for name in ("height", "rate"):
        column = schema.columns[name]
        assert not column.categorical
        assert (column.range or (0, 0))[0] <= table[name].min() <= table[name].max()
    assert schema.coded(table)["height"].max() == table["height"].max()


@pytest.mark.runs
def test_whole_numbers_of_a_wide_table_are_levels_where_each_has_several_units() -> None:
    rng = np.random.default_rng(1)
    wide = {f"k{j}": [f"l{x}" for x in rng.integers(0, 12, 60)] for j in range(14)}
    for units, levels in ((60, False), (2000, True)):
        of = np.repeat(np.arange(units), 20)
        table = {name: np.asarray(rng.choice(x, units))[of] for name, x in wide.items()}
        table |= {"person": [f"P{x:05d}" for x in of]}
        table |= {"score": rng.binomial(40, 0.5, len(of))}
        schema = Schema.propose(pl.DataFrame(table))
        assert schema.unit == "person"
        assert schema.columns["score"].categorical == levels
        assert schema.columns["k0"].model == "table"
