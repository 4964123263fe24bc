"""A table of one conditional takes what one outcome takes, and gives the same release."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused
from runs import BRIEF
from switched_program import switched_program

import pyvws as vws
from pyvws.engines.user_program import UserProgram

pytestmark = pytest.mark.filterwarnings("ignore")

_N = 120
_PROGRAM = UserProgram(switched_program("pystan"))


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    return pl.DataFrame({"visits": rng.poisson(4.0, _N), "pay": rng.normal(30.0, 8.0, _N)})


@pytest.fixture(scope="module")
def reference(table: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("earlier") / "earlier.csv"
    other = np.random.default_rng(3).poisson(5.0, 2 * _N)
    pl.DataFrame({"visits": other}).write_csv(path)
    return path


LW: dict[str, Any] = {**BRIEF, "mechanism": "lw"}


def _schema(name: str, **entries: Any) -> vws.Schema:
    return vws.Schema({name: vws.Column(**entries)})


def _censored(**settings: Any) -> vws.Censored:
    return vws.Censored(epsilon=2.0, **settings)


def _both(table: pl.DataFrame, name: str, model: str, **given: Any) -> list[Any]:
    """The release of one outcome, and that of a table of one conditional."""
    schema = _schema(name, model=model)
    alone = vws.synthesize(table, outcome=name, model=model, **(LW | given))
    return [alone, vws.synthesize(table, schema=schema, **(LW | given))]


@pytest.mark.runs
@pytest.mark.parametrize(
    ("name", "model", "given"),
    [
        ("visits", "poisson", {"threshold": 0.9}),
        ("visits", "poisson", {"threshold": 0.9, "reweight": True}),
        ("pay", "normal", {"round": True}),
    ],
)
def test_threshold_and_round_are_those_of_one_outcome(
    table: pl.DataFrame, name: str, model: str, given: dict[str, Any]
) -> None:
    alone, whole = _both(table, name, model, **given)
    assert whole.privacy["epsilon_per_dataset"] == alone.privacy["epsilon_per_dataset"]
    assert whole.summary["Delta"] == alone.summary["Delta"]
    for theirs, ours in zip(alone.datasets, whole.datasets, strict=True):
        assert theirs[name].cast(pl.Float64).to_list() == ours[name].cast(pl.Float64).to_list()
        if "round" in given:
            assert (ours[name] == ours[name].round()).all()


@pytest.mark.runs
def test_a_reference_is_that_of_one_outcome(table: pl.DataFrame, reference: Path) -> None:
    mechanism = _censored(weights="reference", reference=str(reference))
    given = {"mechanism": mechanism, "draws": 1500, "warmup": 500}
    alone, whole = _both(table, "visits", "poisson", **given)
    assert whole.privacy["guarantee"] == alone.privacy["guarantee"] == "dp"
    assert whole.records["weight"].to_list() == alone.records["weight"].to_list()
    assert whole.datasets[0]["visits"].to_list() == alone.datasets[0]["visits"].to_list()


def test_a_reference_that_is_the_table_is_told_of(table: pl.DataFrame, tmp_path: Path) -> None:
    table.sample(fraction=1.0, shuffle=True, seed=1).write_csv(tmp_path / "same.csv")
    mechanism = _censored(weights="reference", reference=str(tmp_path / "same.csv"))
    told = r"^reference: it has as many records as the table"
    with pytest.warns(vws.DisclosureWarning, match=told), suppress(vws.ConvergenceError):
        vws.synthesize(
            table, schema=_schema("visits", model="poisson"), mechanism=mechanism, **BRIEF
        )


@pytest.mark.runs
@pytest.mark.parametrize("weights", ["none", "reference"])
def test_engine_grid_draws_a_table_of_one(
    table: pl.DataFrame, reference: Path, weights: str
) -> None:
    given = {} if weights == "none" else {"reference": str(reference)}
    mechanism = _censored(weights=weights, **given)
    alone, whole = _both(table, "visits", "poisson", mechanism=mechanism, engine="grid")
    assert whole.privacy["guarantee"] == "dp"
    assert whole.privacy["epsilon_per_dataset"] == alone.privacy["epsilon_per_dataset"] == 2.0
    relied = [made.privacy["relies_on"]["public_settings"] for made in (whole, alone)]
    for entry in ("grid_range", "grid_steps"):
        assert relied[0][entry] == relied[1][entry]


def test_engine_grid_is_refused_a_table_of_one_with_many_predictors() -> None:
    columns = {f"z{k}": vws.Column(role="public", levels=("a", "b")) for k in range(4)}
    schema = vws.Schema({**columns, "visits": vws.Column(model="poisson")})
    with refused("grid-too-many-parameters", most_parameters=3):
        vws.Synthesizer(schema=schema, mechanism=_censored(weights="none"), engine="grid")


@pytest.mark.runs
def test_an_own_program_fits_a_table_of_one(table: pl.DataFrame, need: Any) -> None:
    need("pystan")
    given = {"engine": "pystan", "program": _PROGRAM}
    alone, whole = _both(table, "visits", "poisson", **given)
    assert whole.privacy["epsilon_per_dataset"] == alone.privacy["epsilon_per_dataset"]
    assert whole.datasets[1]["visits"].to_list() == alone.datasets[1]["visits"].to_list()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"round": True}, "round"),
        ({"threshold": 0.9}, "threshold"),
        ({"engine": "pystan", "program": _PROGRAM}, "An own Stan program"),
        ({"mechanism": _censored(weights="reference", reference="earlier.csv")}, "A reference"),
        ({"mechanism": _censored(weights="none"), "engine": "grid"}, "Engine grid"),
    ],
)
def test_several_conditionals_are_refused_them(
    given: dict[str, Any], named: str, need: Any
) -> None:
    if "program" in given:
        need("pystan")
    two = vws.Schema(
        {
            "sex": vws.Column(model="nominal", levels=("f", "m")),
            "visits": vws.Column(model="poisson"),
        }
    )
    parts = _schema("visits", model="poisson", missing=True)
    for schema in (two, parts):
        with pytest.raises(vws.InputError, match=f"^{named} is for"):
            vws.Synthesizer(**{"schema": schema, "mechanism": "lw", **given})


def test_a_rule_leaves_records_out_of_what_needs_each_of_them() -> None:
    schema = vws.Schema(
        {
            "age": vws.Column(role="public", range=(0, 90)),
            "visits": vws.Column(model="poisson", rule="0 where age < 15"),
        }
    )
    mechanism = _censored(weights="reference", reference="earlier.csv")
    with refused("term-of-each-record"):
        vws.Synthesizer(schema=schema, mechanism=mechanism)
