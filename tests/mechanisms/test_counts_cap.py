"""A cap: of a larger unit as many records count, each choice as probable, by secret keys."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyvws as vws
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.settings import RunSettings

YEARS = tuple(str(year) for year in range(2001, 2005))
PLACES = tuple(f"r{place}" for place in range(24))


def counted_codes(homes: list[int], x: list[str], levels: tuple[str, ...], cap: int) -> np.ndarray:
    """The codes (n,) of the records that count, in the table's order."""
    columns = {"home": vws.Column(role="id"), "x": vws.Column(model="nominal", levels=levels)}
    run = RunSettings(
        schema=vws.Schema(columns, unit="home"),
        mechanism=vws.NoisyCounts(epsilon=1, cap=cap, measure="pairs"),
    )
    counted = check_table(pl.DataFrame({"home": homes, "x": x}), run).counted
    assert counted is not None
    return counted.codes[:, 0]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=24), st.integers(1, 5))
@settings(max_examples=60)
def test_of_each_unit_as_many_records_count_as_the_cap_allows(homes: list[int], cap: int) -> None:
    kept = counted_codes(homes, [*PLACES[: len(homes)]], PLACES, cap)
    assert (np.diff(kept) > 0).all()
    sizes, counting = np.bincount(homes), np.bincount(np.array(homes)[kept], minlength=5)
    assert counting[: len(sizes)].tolist() == np.minimum(sizes, cap).tolist()


def test_the_years_of_a_panel_count_alike() -> None:
    """Sorted by year, the later years of each person count as often as the first one."""
    persons = 2_000
    kept = counted_codes([*np.repeat(range(persons), 4)], [*YEARS] * persons, YEARS, 1)
    shares = np.bincount(kept, minlength=4) / persons
    assert np.abs(shares - 0.25).max() < 6 * (0.25 * 0.75 / persons) ** 0.5


def test_units_choose_independently_and_each_run_anew() -> None:
    """Of units alike the pairs of choices are as probable as independent ones are."""
    units = 4_000
    runs = [counted_codes([*np.repeat(range(units), 2)], [*"ab"] * units, ("a", "b"), 1)]
    runs.append(counted_codes([*np.repeat(range(units), 2)], [*"ab"] * units, ("a", "b"), 1))
    error = 6 * 0.5 / units**0.5
    for one, other in ((runs[0], runs[1]), (runs[0][:-1], runs[0][1:])):
        assert (one == other).mean() == pytest.approx(0.5, abs=error)
