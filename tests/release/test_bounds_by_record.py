"""Numbers that another number of their record bounds, under the family with the normaliser."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pyvws as vws
from pyvws import Column, Schema
from pyvws.commands.cli import app

QUICK: dict[str, Any] = {"draws": 100, "warmup": 200, "datasets": 1, "seed": 1}
pytestmark = [
    pytest.mark.runs,
    pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::pyvws.errors.DisclosureWarning"),
]
SCHEMA = """
[columns.income]
role = "public"
[columns.tax]
model = "{model}"
range = [0, 100]
decimals = 1
rule = "< income"
predictors = []
outcome_unit = 10
"""


def taxes(n: int = 1500) -> pd.DataFrame:
    """Normal amounts of which those below the income remain: for most incomes that is a tail."""
    rng = np.random.default_rng(5)
    income, tax = rng.uniform(4, 30, n).round(1), np.full(n, np.inf)
    while (again := ~((tax >= 0) & (tax < income))).any():
        tax[again] = rng.normal(20.0, 9.0, again.sum()).round(1)
    return pd.DataFrame({"income": income, "tax": tax})


def near(table: pd.DataFrame) -> float:
    return float((table["income"] - table["tax"] < 0.1 * table["income"]).mean())


def test_shares_near_a_strict_bound_agree_from_csv_to_release(tmp_path: Path) -> None:
    table = taxes()
    table.to_csv(tmp_path / "taxes.csv", index=False)
    share, mean = {}, {}
    for model in ("truncated-normal", "normal"):
        (tmp_path / "schema.toml").write_text(SCHEMA.format(model=model))
        run = ["synthesize", str(tmp_path / "taxes.csv"), "--schema", str(tmp_path / "schema.toml")]
        run += ["--mechanism", "unweighted", "--engine", "laplace", "--datasets", "4"]
        done = CliRunner().invoke(app, [*run, "--seed", "1", "--out", str(tmp_path / model)])
        assert done.exit_code == 0, done.output
        parts = [pd.read_csv(path) for path in (tmp_path / model / "release").glob("*.csv")]
        made = pd.concat(parts)
        assert ((made["tax"] >= 0) & (made["tax"] < made["income"])).all()
        share[model], mean[model] = near(made), made["tax"].mean()
        privacy = (tmp_path / model / "release" / "privacy.json").read_text()
        said = "truncated-normal avoids this" in privacy
        assert said == (model == "normal")
    assert abs(share["truncated-normal"] - near(table)) < 0.02
    assert abs(mean["truncated-normal"] - table["tax"].mean()) < 0.3
    assert share["normal"] < near(table) - 0.04
    assert mean["normal"] < table["tax"].mean() - 1.0


def schema_between(**entries: Any) -> Schema:
    public = Column(role="public", missing=True)
    number = Column(
        model="truncated-normal",
        range=(0, 10),
        predictors=(),
        rule=("> least", "<= most"),
        **entries,
    )
    return Schema({"least": public, "most": public, "y": number})


def bounds_of(table: pd.DataFrame, **entries: Any) -> np.ndarray:
    release = vws.synthesize(
        table, schema=schema_between(**entries), mechanism="unweighted", **QUICK
    )
    return release.records["lipschitz_bound_final"].to_numpy()


def wide_records(n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    y, below, above = rng.uniform(2, 8, n), *rng.uniform(1.0, 2.0, (2, n))
    return pd.DataFrame({"least": y - below, "most": y + above, "y": y})


def test_a_record_with_a_narrow_interval_raises_delta() -> None:
    """An adversary's record: its density is at least 1 over the width of what its bounds leave."""
    table = wide_records()
    before = bounds_of(table).max()
    assert before < 5.0
    for width in (1e-3, 1e-6):
        narrow = table.copy()
        narrow.loc[7, ["least", "most"]] = narrow.loc[7, "y"] + np.array([-0.5, 0.5]) * width
        bounds = bounds_of(narrow)
        assert bounds.argmax() == 7
        assert bounds[7] == pytest.approx(-np.log(width), abs=0.01)
        assert np.delete(bounds, 7).max() < 5.0


def test_a_strict_clamp_keeps_the_term_of_a_narrow_interval() -> None:
    table = wide_records()
    table.loc[7, ["least", "most"]] = table.loc[7, "y"] + np.array([-1e-7, 1e-7])
    release = vws.synthesize(
        table,
        schema=schema_between(),
        mechanism="censored",
        epsilon=4.0,
        clamp="half",
        weights="none",
        accept_unconverged=True,
        **QUICK,
    )
    assert release.privacy["epsilon_per_dataset"] <= 4.0
    assert release.records["lipschitz_bound_final"].max() <= 2.0


def test_records_that_leave_nothing_to_draw_have_no_term_and_missing_bounds_none() -> None:
    table = wide_records()
    table.loc[0, "most"] = table.loc[0, "y"]
    table.loc[0, "least"] = np.nextafter(table.loc[0, "y"], 0.0)  # Above that, one number is left.
    table.loc[1, "least"] = table.loc[1, "y"]  # The record breaks the strict rule.
    table.loc[2, ["least", "most"]] = np.nan
    bounds = bounds_of(table)
    assert (bounds[:2] == 0.0).all()
    assert (bounds[2:] > 0.0).all()
    assert np.isfinite(bounds).all()
    table.loc[2, ["least", "most"]] = -1.0, 20.0  # Beyond the range.
    assert bounds_of(table).tolist() == bounds.tolist()


def test_whole_numbers_lie_half_a_step_around_what_a_strict_bound_leaves() -> None:
    """With one whole number left the term is the density in an interval of width 1: about 0."""
    y = np.random.default_rng(2).integers(2, 9, 80).astype(float)
    table = pd.DataFrame({"least": y - 1, "most": y + np.arange(80) % 3 / 3, "y": y})
    table.loc[40:, ["least", "most"]] = np.nan
    bounds = bounds_of(table, decimals=0)
    assert bounds[:40].max() < 0.2
    assert bounds[40:].min() > 1.0
    release = vws.synthesize(
        table, schema=schema_between(decimals=0), mechanism="unweighted", **QUICK
    )
    made = pd.DataFrame(release.datasets[0]).dropna()
    assert len(made) == 40
    assert made["y"].tolist() == np.floor(made["most"]).tolist()


@pytest.mark.parametrize("scale", ["log", "signed-log"])
def test_ends_are_on_the_scale_of_the_outcome(scale: str) -> None:
    table = taxes(300).query("tax > 0.5").reset_index(drop=True)
    columns = {
        "income": Column(role="public"),
        "tax": Column(
            model="truncated-normal", outcome_scale=scale, range=(0.1, 100), rule="<= income"
        ),
    }
    columns["tax"] = Column(**{**columns["tax"].given, "predictors": ()})
    release = vws.synthesize(table, schema=Schema(columns), mechanism="unweighted", **QUICK)
    made = pd.DataFrame(release.datasets[0])
    assert ((made["tax"] >= 0.1) & (made["tax"] <= made["income"])).all()
    keys = {phrase["key"] for phrase in release.privacy["caveat_keys"]}
    assert "record-bounds" not in keys


def test_a_bound_by_a_synthetic_number_holds_after_each_draw() -> None:
    rng = np.random.default_rng(3)
    begin = rng.uniform(0, 9, 400).round(2)
    end = begin + (1e-2 + rng.exponential(0.4, 400)).round(2)
    number = {"model": "truncated-normal", "range": (0, 20), "decimals": 2}
    columns = {"begin": Column(**number), "end": Column(**number, rule="> begin")}
    table = pd.DataFrame({"begin": begin, "end": end.round(2)})
    release = vws.synthesize(table, schema=Schema(columns), mechanism="unweighted", **QUICK)
    made = pd.DataFrame(release.datasets[0])
    assert (made["end"] > made["begin"]).all()
    gap, own = made["end"] - made["begin"], table["end"] - table["begin"]
    assert abs((gap < 0.2).mean() - (own < 0.2).mean()) < 0.2
