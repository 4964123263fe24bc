"""The rows of `docs/data.md` on columns: each is run as it says, and the run fits its data."""

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from documents import ROOT

import pyvws as vws
from pyvws import Column, Schema

pytestmark = [
    pytest.mark.runs,
    pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("error::pyvws.errors.MisfitWarning"),
]

N = 400
QUICK: dict[str, Any] = {
    **{"draws": 60, "warmup": 200, "chains": 2, "datasets": 3, "mechanism": "unweighted"},
    "seed": 1 << 60,
}
_RNG = np.random.default_rng(3)
_AMOUNTS = _RNG.lognormal(9, 1, N).round(2)
_SOME = _RNG.random(N)
_REGION = _RNG.choice(["north", "south"], N)


def _one(y: Any, model: str, **settings: Any) -> pl.Series:
    """The first synthetic outcome of a run on one column."""
    table = pl.DataFrame({"y": y, "birth year": _RNG.integers(1950, 1999, N)})
    return vws.synthesize(table, outcome="y", model=model, **settings, **QUICK).datasets[0]["y"]


def _schema(y: Any, **entries: Any) -> pl.Series:
    """The first synthetic column of a run by a schema, beside a category that it follows."""
    schema = Schema(
        {"region": Column(role="public", levels=("north", "south")), "y": Column(**entries)}
    )
    table = pl.DataFrame({"region": _REGION, "y": y})
    return vws.synthesize(table, schema=schema, **QUICK).datasets[0]["y"]


def _amounts_above_0() -> None:
    waits = np.random.default_rng(5).gamma(2.0, 9.0, N)
    assert (_one(waits, "gamma") > 0).all()
    assert (_one(_AMOUNTS / 1000, "normal", outcome_scale="log") > 0).all()


def _cut_off() -> None:
    marks = np.random.default_rng(1).normal(8, 2, 4 * N)
    marks = marks[(marks >= 0) & (marks <= 10)][:N]
    assert _one(marks, "truncated-normal", range=(0, 10)).is_between(0, 10).all()


def _zeros() -> None:
    y = np.where(_SOME < 0.6, 0.0, _AMOUNTS)
    made = _schema(
        y, model="normal", outcome_scale="log", mass=(0,), range=(0, 1e7), scale=(1e4, 1e4)
    )
    assert (made == 0).mean() == pytest.approx((y == 0).mean(), abs=0.1)
    assert (made >= 0).all()


def _top_code() -> None:
    y = np.minimum(_AMOUNTS, 20_000.0)
    made = _schema(y, model="normal", outcome_scale="log", mass=(20_000,), range=(0, 20_000))
    assert (made == 20_000).mean() == pytest.approx((y == 20_000).mean(), abs=0.1)
    assert made.max() == 20_000


def _either_sign() -> None:
    _one(_RNG.normal(-1, 3, N), "normal")
    amounts = np.sinh(_RNG.normal(1, 2, N))
    for y, unit in ((amounts, {}), (1000 * amounts, {"outcome_unit": 1000.0})):
        assert (_one(y, "normal", outcome_scale="signed-log", **unit) < 0).any()


def _far_from_0() -> None:
    y = _RNG.normal(1960, 12, N).round()
    public = {"outcome_centre": 1960.0, "outcome_unit": 20.0}
    for model, more in (("normal", {}), ("truncated-normal", {"range": (1900, 2020)})):
        made = _one(y, model, **public, **more, round=True)
        assert made.median() == pytest.approx(np.median(y), abs=8)


def _counts() -> None:
    for model in ("poisson", "negative-binomial"):
        assert (_one(_RNG.poisson(4, N), model) >= 0).all()


def _yes_and_no() -> None:
    assert set(_one((_SOME < 0.3).astype(int), "logistic")) == {0, 1}


def _answers() -> None:
    made = _one(_RNG.integers(1, 6, N), "ordinal", levels=(1, 2, 3, 4, 5))
    assert set(made) <= {1, 2, 3, 4, 5}


def _labels() -> None:
    levels = ("owner", "let, or lodging", "other")
    made = _one(_RNG.choice(levels, N, p=[0.5, 0.3, 0.2]), "nominal", levels=levels)
    assert set(made) <= set(levels)


def _shares() -> None:
    y = np.where(_SOME < 0.01, 0.0, _RNG.beta(2, 3, N))
    assert _one(y, "beta", range=(0, 1), squeeze=0.001).is_between(0, 1).all()


def _dates() -> None:
    days = pl.Series(_RNG.integers(1, 729, N)).cast(pl.Int32).cast(pl.Date)
    said: dict[str, Any] = {"range": ("1970-01-01", "1971-12-31")}
    made = _schema(days, model="beta", days_since="1970-01-01", **said)
    assert made.str.to_date().dt.year().is_between(1970, 1971).all()
    said |= {"model": "truncated-normal", "settings": {"outcome_unit": 200.0}}
    made = _schema(days, days_since="1971-01-01", **said)
    assert made.str.to_date().dt.year().is_between(1970, 1971).all()


def _missing() -> None:
    y = pl.Series(np.where(_SOME < 0.2, np.nan, _AMOUNTS)).fill_nan(None)
    made = _schema(y, model="normal", outcome_scale="log", missing=True, range=(1, 1e7))
    assert made.is_null().mean() == pytest.approx(y.is_null().mean(), abs=0.1)


def _codes_of_numbers() -> None:
    smoked = np.where(_SOME < 0.5, 2, 1)
    refused = _RNG.random(N) < 0.1
    first = np.where(smoked == 2, 99, np.where(refused, 97, _RNG.poisson(17, N)))
    schema = Schema(
        {
            "smoked": Column(role="public", levels=(1, 2)),
            "first": Column(
                model="poisson", missing=(97, 98, 99), range=(0, 90), rule="99 where smoked == 2"
            ),
        }
    )
    table = pl.DataFrame({"smoked": smoked, "first": first})
    made = vws.synthesize(table, schema=schema, **QUICK).datasets[0]
    assert (made.filter(smoked=2)["first"] == 99).all()
    asked = made.filter(pl.col("smoked") == 1)["first"]
    assert (asked == 97).mean() == pytest.approx(refused[smoked == 1].mean(), abs=0.1)
    assert asked.filter(asked < 90).mean() == pytest.approx(first[first < 90].mean(), abs=1.5)


def _many_columns() -> None:
    table = pl.DataFrame({f"c{k}": _RNG.choice(list("abcdefgh"), N) for k in range(14)})
    schema = Schema.propose(table)
    assert {column.model for column in schema.columns.values()} == {"table"}
    made = vws.synthesize(table, schema=schema, **QUICK).datasets[0]
    assert all(set(made[name]) <= set("abcdefgh") for name in table.columns)


def _decided() -> None:
    density = {"north": 4.5, "south": 7.0}
    table = pl.DataFrame({"area": _REGION, "density": [density[one] for one in _REGION]})
    schema = Schema(
        {
            "area": Column(model="table", levels=tuple(density)),
            "density": Column(lookup={"area": density}),
        }
    )
    made = vws.synthesize(table, schema=schema, **QUICK).datasets[0]
    assert made["density"].to_list() == [density[one] for one in made["area"]]


def _many_levels() -> None:
    codes = tuple(f"{group}{place:02d}" for group in "ABCD" for place in range(50))
    made = _schema(_RNG.choice(codes, N), model="table", levels=codes, group_by=1)
    assert set(made) <= set(codes)


def _ids() -> None:
    schema = Schema({"id": Column(role="id"), "y": Column(model="poisson", range=(0, 99))})
    table = pl.DataFrame({"id": _RNG.permutation(N) + 7000, "y": _RNG.poisson(4, N)})
    made = vws.synthesize(table, schema=schema, **QUICK).datasets[0]
    assert made["id"].n_unique() == N
    assert made["id"].max() == N


def _free_text() -> None:
    schema = Schema({"said": Column(role="drop"), "y": Column(model="poisson", range=(0, 99))})
    table = pl.DataFrame({"said": [f"word {i}" for i in range(N)], "y": _RNG.poisson(4, N)})
    assert vws.synthesize(table, schema=schema, **QUICK).datasets[0].columns == ["y"]


def _joined_level() -> None:
    table = pl.DataFrame({"y": _RNG.poisson(4, N), "region": ["isle", *_REGION[1:]]})
    joined = table.with_columns(pl.col("region").replace("isle", "north"))
    made = vws.synthesize(joined, outcome="y", model="poisson", formula="~ region", **QUICK)
    assert set(made.datasets[0]["region"]) == {"north", "south"}


def _blanks() -> None:
    _one(_RNG.poisson(4, N), "poisson", formula="~ `birth year`")


ROWS = {
    "amounts above 0": _amounts_above_0,
    "amounts of which some are exactly 0, or another value that repeats": _zeros,
    "amounts cut at a top code": _top_code,
    "amounts that a public range cuts off, such as marks from 0 to 10 of which many are near "
    "10": _cut_off,
    "amounts of either sign": _either_sign,
    "numbers far from 0, or far apart, such as years of birth": _far_from_0,
    "counts": _counts,
    "yes and no": _yes_and_no,
    "answers on a scale": _answers,
    "labels without an order": _labels,
    "shares": _shares,
    "dates": _dates,
    "codes among numbers, such as 97 = refused, 98 = blank, 99 = not asked": _codes_of_numbers,
    "missing values, sums": _missing,
    "many columns": _many_columns,
    "a column that another decides, such as the density of an area": _decided,
    "ids": _ids,
    "free text": _free_text,
    "codes with hundreds of levels": _many_levels,
    "a level with few records": _joined_level,
    "names with blanks": _blanks,
}


def test_every_row_is_run() -> None:
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    table = page.split("| what you have |")[1].split("\n\n")[0]
    assert re.findall(r"^\| (?!---)([^|]+) \|", table, flags=re.M) == list(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_does_what_it_says(row: str) -> None:
    ROWS[row]()
