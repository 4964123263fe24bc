"""A second sample of a table with units: whole units, and the noise of these in every score."""

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from refusals import refused

import pyvws as vws
from pyvws.evaluation.bootstrap import second_sample, units_drawn
from pyvws.evaluation.k_marginal import coded_k_marginal, k_marginal
from pyvws.evaluation.table_utility import table_utility
from pyvws.tables.files.frame import open_frame

SIZE = 6
COLUMNS = {
    "person": vws.Column(role="id"),
    **{name: vws.Column(model="nominal", levels=("1", "2", "3")) for name in "ab"},
}
SCHEMA = vws.Schema(COLUMNS, unit="person")


def persons(n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    a = rng.integers(1, 4, n)
    b = np.where(rng.random(n) < 0.5, a, rng.integers(1, 4, n))
    return pl.DataFrame({"person": np.arange(n), "a": a, "b": b}).cast({"a": str, "b": str})


def panel(n: int = 300) -> pl.DataFrame:
    """Each person's record, `SIZE` times."""
    return pl.concat([persons(n)] * SIZE).sort("person")


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(0, 99))
@settings(max_examples=100)
def test_units_come_with_all_their_records(units: list[int], seed: int) -> None:
    own = np.array(units)
    rows = second_sample(np.random.default_rng(seed), len(own), own)
    times = np.bincount(rows, minlength=len(own))
    drawn = 0
    for unit in set(units):
        (each,) = set(times[own == unit].tolist())
        drawn += each
    assert drawn == len(set(units))


@given(st.integers(1, 40), st.integers(0, 99))
@settings(max_examples=50)
def test_units_of_one_record_each_give_the_bits_of_records(n: int, seed: int) -> None:
    ids = np.random.default_rng(seed + 1).permutation(n)
    drawn = [second_sample(np.random.default_rng(seed), n, own) for own in (None, ids)]
    assert drawn[0].tolist() == drawn[1].tolist()
    assert drawn[0].tolist() == np.random.default_rng(seed).integers(0, n, n).tolist()


def test_a_share_varies_as_one_of_units_does() -> None:
    table = panel(50)
    ones, units = (table["a"] == "1").to_numpy(), table["person"].to_numpy()
    p, draws = ones.mean(), 600
    variance = {}
    for name, own in (("units", units), ("records", None)):
        rng = np.random.default_rng(3)
        variance[name] = np.var(
            [ones[second_sample(rng, len(ones), own)].mean() for _ in range(draws)]
        )
    # The relative standard error of a variance of so many draws is near the root of 2 / draws.
    for name, number in (("units", 50), ("records", 50 * SIZE)):
        assert variance[name] == pytest.approx(p * (1 - p) / number, rel=5 * (2 / draws) ** 0.5)


def test_equal_records_of_a_unit_add_nothing_to_a_second_sample() -> None:
    """Its margins are, to rounding, those of the table with each person once."""
    first, often = (
        {score.name: score for score in table_utility(table, [table], schema=SCHEMA).scores}
        for table in (persons(), panel())
    )
    assert often["margins"].bootstrap == pytest.approx(first["margins"].bootstrap, rel=1e-9)
    own = table_utility(panel().drop("person"), [panel()], schema=SCHEMA)
    assert (own.unit, table_utility(panel(), [panel()], schema=SCHEMA).unit) == (None, "person")
    of_records = {score.name: score for score in own.scores}
    assert of_records["margins"].bootstrap < 0.8 * often["margins"].bootstrap
    # A distance has the size of a standard error: about the root of SIZE as large.
    ratio = (1000 - often["k_marginal"].bootstrap) / (1000 - of_records["k_marginal"].bootstrap)
    assert 0.6 * SIZE**0.5 < ratio < 1.6 * SIZE**0.5
    assert often["s_pmse"].bootstrap > 2 * of_records["s_pmse"].bootstrap


def test_a_unit_is_named_where_no_schema_has_one() -> None:
    table = panel()
    plain = vws.Schema({name: COLUMNS[name] for name in "ab"})
    by_schema = table_utility(table, [table], schema=SCHEMA, s_pmse=False)
    by_name = table_utility(table, [table], schema=plain, unit="person", s_pmse=False)
    assert by_name.scores == by_schema.scores
    alone = table_utility(table, [table.drop("person")], unit="person", s_pmse=False)
    assert [one.name for one in alone.columns] == ["a", "b"]
    of_pairs = k_marginal(table, [table], columns=["a", "b"], unit="person")
    assert of_pairs.bootstrap == by_schema.k_marginal_bootstrap
    assert k_marginal(table, [table], columns=["a", "b"]).bootstrap > of_pairs.bootstrap
    assert "person" in by_schema._repr_html_()
    with refused("columns-lacking"):
        table_utility(table, [table], schema=plain, unit="home")


def test_a_record_without_an_id_is_a_unit_of_its_own() -> None:
    ids = [None, "1", "1.0", "x", None, "01"]
    units = units_drawn(open_frame(pl.DataFrame({"home": ids})), "home").tolist()
    assert units[1] == units[2] == units[5]
    assert len({units[k] for k in (0, 1, 3, 4)}) == 4


def test_codes_without_units_give_the_bits_they_gave() -> None:
    codes = np.random.default_rng(1).integers(0, 3, (40, 3))
    found = coded_k_marginal(codes, [codes], ["a", "b", "c"], replicates=2)
    same = coded_k_marginal(codes, [codes], ["a", "b", "c"], units=np.arange(40), replicates=2)
    assert (found.bootstrap, found.independent) == (same.bootstrap, same.independent)
