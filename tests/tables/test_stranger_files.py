"""Files nobody here has seen: what a proposal makes of their columns, by small tables made here."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import pyvws as vws
from pyvws import Column, Schema
from pyvws.tables.files.read import read_table

pytestmark = pytest.mark.usefixtures("rare_values_too")

RNG = np.random.default_rng(45)
CASES = Path(__file__).parents[3] / "shared" / "cases"


def columns_of(**values: Any) -> dict[str, Column]:
    return dict(Schema.propose(pl.DataFrame(values, strict=False)).columns)


def proposed(values: Any) -> Column:
    return columns_of(y=values)["y"]


def test_one_value_is_a_constant_and_one_value_or_none_a_category() -> None:
    for value, label in (("AT", "AT"), (3, "3"), (-7.0, "-7"), (2.5, "2.5")):
        assert proposed([value] * 30) == Column(levels=[label], review=["levels"])
        some = proposed([value, None, None] * 10)
        assert (some.model, some.levels, some.missing) == ("nominal", (label,), True)
    for kind in (pl.String, pl.Float64, pl.Int64, pl.Boolean):
        table = pl.DataFrame({"y": pl.Series([None] * 30, dtype=kind)})
        schema = Schema.propose(table)
        found = schema.columns["y"]
        assert (found.levels, found.missing, found.is_constant) == ((), True, True)
        assert schema.decoded("y", schema.coded(table)["y"], like=table["y"]).null_count() == 30
    with pytest.raises(ValueError, match="levels must be at least 1"):
        Column(levels=[])


def test_codes_are_told_from_numbers() -> None:
    rng = np.random.default_rng(46)
    trades = np.unique(rng.integers(111, 970, 150)) * 10 + 1
    often = rng.dirichlet(np.exp(rng.normal(size=len(trades))))
    trade = rng.choice(trades, 4000, p=often)
    for values in (trade, pl.Series([*trade, None])):
        found = proposed(values)
        assert found.model == "nominal"
        assert {*map(int, found.levels or ())} == {*trade.tolist()}
        assert "look like codes" in str(found.note)
    places = np.sort(rng.choice(np.arange(1000, 9000), 400, replace=False))
    many = np.repeat(places, np.exp(rng.normal(3, 1, 400)).astype(int) + 1)
    assert proposed(rng.permutation(many)).role == "drop"  # More levels than a category has.
    pay = np.round(rng.lognormal(10, 0.7, 4000), -2)
    heaped = np.where(rng.random(4000) < 0.4, np.round(pay, -3), pay).astype(int)
    hours = rng.choice([40, 38, 35, 20, 30, *range(1, 80)], 4000)
    for values in (heaped, hours, trade[:60], rng.integers(0, 40, 4000) * 50):
        assert proposed(values).model not in ("nominal", None)


_STATES = (  # Millions of people, by the alphabet.
    *(5.0, 0.7, 7.2, 3.0, 39.5, 5.8, 3.6, 1.0, 0.7, 21.5, 10.7, 1.5, 1.8, 12.8, 6.8, 3.2, 2.9),
    *(4.5, 4.7, 1.4, 6.2, 7.0, 10.1, 5.7, 3.0, 6.2, 1.1, 2.0, 3.1, 1.4, 9.3, 2.1, 20.2, 10.4),
    *(0.8, 11.8, 4.0, 4.2, 13.0, 1.1, 5.1, 0.9, 6.9, 29.1, 3.3, 0.6, 8.6, 7.7, 1.8, 5.9, 0.6),
)


@pytest.mark.parametrize("seed", range(5))
def test_codes_without_gaps_are_told_by_their_neighbours_or_their_name(seed: int) -> None:
    rng = np.random.default_rng(seed)
    states = rng.choice(np.arange(1, 52), 4000, p=np.array(_STATES) / sum(_STATES))
    found = proposed(states)
    assert (found.model, len(found.levels or ())) == ("nominal", len(np.unique(states)))
    assert "look like codes" in str(found.note)
    age = rng.integers(0, 60, 4000)
    heaped = np.where(rng.random(4000) < 0.3, 5 * (age // 5), age)
    hours = np.where(rng.random(4000) < 0.5, rng.choice([35, 38, 40, 50], 4000), age)
    for values in (age, heaped, hours, rng.poisson(30, 4000), states[:60]):
        assert proposed(values).model not in ("nominal", None)
    for name, code in (("state", True), ("BirthCounty", True), ("estate", False), ("pay", False)):
        named = columns_of(**{name: age})[name]
        assert (named.model == "nominal") is code
        assert (named.note is not None) is code


def test_amounts_are_no_codes_by_their_name_or_their_number() -> None:
    """Rounded amounts leave gaps, and codes that leave none are few."""
    rng = np.random.default_rng(3)
    tax = 50 * rng.poisson(40, 4000)
    assert columns_of(state_tax=tax)["state_tax"].model not in ("nominal", None)
    many = np.repeat(np.arange(1, 2001), rng.integers(1, 40, 2000))
    assert columns_of(paid=many)["paid"].model not in ("nominal", None)


@pytest.mark.parametrize("seed", range(3))
def test_heaps_and_long_tails_make_no_codes(seed: int) -> None:
    """Months in dozens, drinks in packs, hourly pay in quarters: near a middle, with wider gaps."""
    rng = np.random.default_rng(seed)
    heaped = rng.random(3000) < 0.6
    pay, months = rng.lognormal(6.3, 0.45, 3000), rng.lognormal(3.6, 1.0, 3000)
    drinks = np.floor(rng.lognormal(2.5, 1.0, 3000))
    for values in (
        np.where(heaped, 25 * np.round(pay / 25), np.round(pay)),
        np.where(heaped, 12 * np.ceil(months / 12), np.round(months))[:1300],
        np.where(heaped, 6 * np.round(drinks / 6), drinks)[:450],
    ):
        found = proposed(values.astype(int))
        assert (found.role, found.note) == ("synthesize", None)
        assert found.model not in ("nominal", None)
    many = np.sort(rng.choice(np.arange(1000, 9000), 400, replace=False))
    codes = rng.choice(many, 4000, p=rng.dirichlet(np.exp(rng.normal(size=400))))
    dropped = proposed(codes)
    assert dropped.role == "drop"
    assert "text" not in str(dropped.note)


def test_levels_that_spell_one_number_have_a_note() -> None:
    assert "spell one number" in str(proposed(["1", "01", "x"] * 20).note)
    assert proposed(["1", "10", "x"] * 20).note is None


def test_an_id_of_a_panel_is_seen_in_any_order() -> None:
    rng = np.random.default_rng(47)
    ids = rng.choice(np.arange(10_000, 99_999), 90, replace=False)
    panel = pl.DataFrame({"id": np.tile(ids, 3), "wave": np.repeat([1, 2, 3], 90)})
    panel = panel.with_columns(pay=rng.integers(900, 4000, 270))
    for table in (panel, panel.sample(fraction=1.0, shuffle=True, seed=1)):
        for one in (table, table.with_columns(pl.format("P{}", "id").alias("id"))):
            found = Schema.propose(one).columns
            assert found["id"].role == "drop"
            assert "unit" in str(found["id"].note)
            assert found["wave"].role == found["pay"].role == "synthesize"
    twice = panel.with_columns(wave=pl.Series([1, 1, *[1] * 88, 1, 1, *[2] * 88, *[3] * 90]))
    assert Schema.propose(twice).unit == "id"  # By its name.
    assert Schema.propose(twice.rename({"id": "who"})).unit is None
    assert Schema.propose(twice.rename({"id": "who"})).columns["who"].role == "synthesize"


@pytest.mark.runs
def test_times_are_no_units_and_ids_that_look_like_codes_are() -> None:
    rng = np.random.default_rng(49)
    years = np.tile(np.arange(1950, 2010), 3)
    land = np.repeat([*"abc"], 60)
    for name, is_unit in (("year", False), ("SeasonStart", False), ("who", True)):
        table = pl.DataFrame({"land": land, name: years, "gdp": rng.normal(size=180)})
        found = Schema.propose(table)
        assert (found.unit == name, found.columns[name].role == "drop") == (is_unit, is_unit)
    visits = rng.choice([2, 3, 4, 9, 14, 30, 40], 150)
    person = np.repeat(np.sort(rng.choice(np.arange(1, 400), 150, replace=False)), visits)
    rows = len(person)
    sex = np.repeat(rng.integers(0, 2, 150), visits)
    dose = pl.DataFrame({"person": person, "sex": sex, "dose": rng.normal(size=rows)})
    assert Schema.propose(dose).unit == "person"
    often = np.repeat(np.arange(100, 140), 60)  # 60 records each are many, but for an id.
    for name, is_unit in (("patient_id", True), ("place", False)):
        table = {name: often, "sex": often % 2, "dose": rng.normal(size=len(often))}
        assert (Schema.propose(pl.DataFrame(table)).unit == name) == is_unit


def test_a_code_of_missing_ages_is_judged_by_its_share() -> None:
    rng = np.random.default_rng(49)
    ages = [*range(90)] * 30
    for values, missing in (
        ([*ages, *[-1] * 28], None),  # As many as are 0, 1 and 2.
        ([*ages, *[-1] * 280], "-1"),
        ([*ages, *[-1] * 9], None),
        ([x for x in ages if x > 15] + [-1] * 28, "-1"),  # Nobody is 0 to 15.
        ([*ages, *[99] * 150], "99"),
        ([*ages, *[999] * 150], "999"),
        ([*ages, *[99] * 30], None),  # As many as are 89.
        ([*range(100)] * 30, None),
        (np.minimum(99, rng.integers(0, 110, 3000)).tolist(), None),  # A top code.
    ):
        assert proposed(values).missing == missing


def test_dates_without_marks_and_moments_are_seen() -> None:
    days = np.datetime64("2021-01-01") + RNG.integers(0, 700, 200)
    plain = [int(str(day).replace("-", "")) for day in days]
    for values in (plain, [*map(str, plain)], [*map(float, plain)], [*plain, None]):
        found = proposed(values)
        assert found.role == "drop"
        assert "look like dates" in str(found.note)
        assert str(plain[0]) not in str(found.note)
    assert proposed([*plain, 20_219_999]).role == "synthesize"  # No month has 99 days.
    moments = [f"{day} {k % 24:02d}:{k % 60:02d}:07" for k, day in enumerate(days)]
    for values in (moments, [x.replace(" ", "T") for x in moments], [x[11:] for x in moments]):
        assert str(proposed(values).note).startswith("it has times of the day")


def test_row_names_of_r_and_pandas_are_left_out(tmp_path: Path) -> None:
    for start in (0, 1):
        rows = "\n".join(f'"{k + start}",{21 + k % 9},"f"' for k in range(30))
        (tmp_path / "r.csv").write_text(f'"","age","sex"\n{rows}\n')
        found = read_table(tmp_path / "r.csv")
        assert found.row_names
        assert found.frame.columns == found.as_written.columns == ["age", "sex"]
    (tmp_path / "r.csv").write_text('"","age"\n1,4\n3,5\n2,6\n')
    assert not read_table(tmp_path / "r.csv").row_names  # They number no rows.


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e6])
def test_family_and_scale_follow_from_likelihood_whatever_the_unit(size: float) -> None:
    z = RNG.permutation(np.linspace(0.0005, 0.9995, 600))
    made = {
        "uniform": (100.0 * z, "truncated-normal", None),
        "skewed": (np.exp(1.0 + np.sqrt(2.0) * _probit(z)), "normal", "log"),
        "bell": (50.0 + 4.0 * _probit(z), "normal", None),
        "waiting": (-7.0 * np.log(z), "truncated-normal", None),
        "ends": (50.0 + 49.9 * np.sin(np.pi * (z - 0.5)), "beta", None),
    }
    for name, (values, model, scale) in made.items():
        found = proposed(size * values)
        assert (found.model, found.outcome_scale) == (model, scale), name


def _probit(z: Any) -> Any:
    from scipy.special import ndtri

    return ndtri(z)


def test_bands_and_copies_are_computed() -> None:
    n = 400
    rng = np.random.default_rng(6)
    age, wage = rng.integers(15, 90, n), rng.lognormal(9, 1, n).round(2)
    found = columns_of(
        age=age,
        band=np.select([age < 25, age < 65], ["16-24", "25-64"], "65+"),
        wage=wage,
        copy=wage,
        other=rng.lognormal(9, 1, n).round(2),
        noisy=np.where(np.arange(n) == 7, "65+", np.where(age < 50, "16-24", "65+")),
    )
    assert found["band"].rule == (
        "'16-24' where age < 25",
        "'25-64' where age < 65",
        "'65+' where age >= 65",
    )
    assert found["copy"].rule == "= wage"
    assert found["other"].rule is None
    assert isinstance(found["noisy"].rule, str)  # One record breaks the bands.
    schema = Schema(found)
    assert schema.computed == {"band", "copy"}
    assert all("rule" in found[name].review for name in schema.computed)


def test_a_band_of_few_records_is_none() -> None:
    age = [*range(20, 60)] * 3
    few = ["old" if x >= 59 else "young" for x in age]
    assert columns_of(age=age, band=few)["band"].rule is None
    gone = [None if k % 7 == 0 else x for k, x in enumerate(age)]
    band = [None if x is None else "old" if x >= 40 else "young" for x in gone]
    rules = columns_of(age=gone, band=band)["band"].rule
    assert rules == ("missing where age == missing", "young where age < 40", "old where age >= 40")


def case(name: str) -> dict[str, Any]:
    """A case's table and the settings of a short run of it."""
    if not CASES.exists():
        pytest.skip("needs the cases that lie beside the checkout of the developers")
    table = read_table(CASES / f"{name}.csv").frame
    return {"frame": table, "schema": CASES / f"{name}.toml", "datasets": 1, "mechanism": "lw"}


def test_amounts_that_all_differ_are_amounts_and_shuffled_ids_are_not() -> None:
    ids = RNG.permutation(1000)
    spread = RNG.choice(90_000, 1000, replace=False) + 10_000
    pay = np.unique(RNG.lognormal(10, 0.5, 3000).astype(int))[:2000]
    for numbers in (pay, RNG.permutation(pay)):
        assert proposed(numbers).role == "synthesize"
        assert "these are ids, take the role" in str(proposed(numbers).note)
    assert proposed(1 + ids).role == proposed(7 * ids).role == proposed(spread).role == "drop"
    found = Schema.propose(case("taxes")["frame"]).columns
    assert {found[name].role for name in ("income", "tax")} == {"synthesize"}


@pytest.mark.parametrize("kind", ["numbers", "random", "text", "words"])
def test_ids_of_units_that_are_shuffled_or_oddly_named_are_asked_for(kind: str) -> None:
    homes = np.repeat(np.arange(600), RNG.integers(1, 6, 600))
    own: dict[str, Any] = {"numbers": 1 + homes}
    own["random"] = RNG.choice(900_000, 600, replace=False)[homes] + 100_000
    own["text"] = np.array([f"H{x:04d}" for x in homes])
    own["words"] = np.array([f"{x:06x}" for x in RNG.choice(16**6, 600, replace=False)])[homes]
    others = {
        "region": RNG.choice(["a", "b", "c"], 600)[homes],
        "income": RNG.lognormal(10, 0.6, 600).round()[homes],
        "age": RNG.integers(0, 90, len(homes)),
    }
    order = RNG.permutation(len(homes))
    for name, rows in (("hid", order), ("nummer", np.arange(len(homes)))):
        values = {name: own[kind], **others}
        made = Schema.propose(pl.DataFrame({key: x[rows] for key, x in values.items()}))
        assert made.unit == name
    values = {"nummer": own[kind], **others}
    made = Schema.propose(pl.DataFrame({key: x[order] for key, x in values.items()}))
    assert (made.unit, made.columns["nummer"].role) == (None, "drop")
    assert "name it as unit" in str(made.columns["nummer"].note)
    assert [made.columns[name].role for name in others] == ["synthesize"] * 3


@pytest.mark.runs
@pytest.mark.filterwarnings("ignore")
def test_no_level_of_a_stranger_is_emptied_in_silence() -> None:
    release = vws.synthesize(**case("two_levels"), seed=1)
    assert release.datasets[0].to_series(0).n_unique() == 2


@pytest.mark.runs
@pytest.mark.filterwarnings("ignore")
def test_a_reweighting_of_a_stranger_that_stops_is_released() -> None:
    settings = {"draws": 300, "warmup": 300, "reweight": True}
    release = vws.synthesize(**case("reweight_stops"), **settings, seed=2)
    assert len(release.datasets) == 1
    assert "reweighted-below" in str(release.privacy)
