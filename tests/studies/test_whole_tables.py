"""The study of whole tables on a small table of one of its designs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import InputError
from pyvws.release.synthesize import synthesize
from pyvws.studies import whole_tables

pytestmark = pytest.mark.runs


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records with the columns of the Consumer Expenditure file."""
    rng = np.random.default_rng(4)
    n = 150
    tenure = rng.choice([1, 2, 4], n)
    made = {
        "Age": rng.integers(20, 80, n),
        "Urban": rng.choice([1, 2], n, p=[0.9, 0.1]),
        "Tenure": tenure,
        "Educ": rng.choice([10, 12, 13, 15], n),
        "Expenditure": rng.lognormal(8.5, 0.5, n).round(2),
        "Marital": np.where(tenure == 1, 1, rng.choice([1, 3, 5], n)),
        "Income": (rng.lognormal(10.5, 0.7, n) * (rng.random(n) > 0.1)).round(),
    }
    path = tmp_path_factory.mktemp("ce") / "ce.csv"
    pl.DataFrame(made).write_csv(path)
    return path


def test_the_joint_run_costs_less_than_separate_runs(file: Path, tmp_path: Path) -> None:
    settings = SamplerSettings(draws=150, warmup=150, chains=2)
    lines: list[str] = []
    listener = whole_tables.Listener(fit=lambda _label: None, line=lines.append)
    result = whole_tables.run(
        file, synthesize=synthesize, seed=1 << 60, settings=settings, listener=listener
    )
    rows = {row.name: row for row in result.rows}
    assert list(rows) == ["unweighted", "LW", "LW, re-weighted", "SW", "LW by column"]
    assert len(lines) == len(rows)
    for name, row in rows.items():
        assert row.epsilon <= row.separate * (1 + 1e-12)
        assert 0.0 < row.score < 1000.0
        assert (row.guarantee == "none") == (name == "unweighted")
    assert rows["LW"].epsilon < rows["unweighted"].epsilon
    by_column = rows["LW by column"]
    assert by_column.epsilon < by_column.separate < rows["unweighted"].separate
    assert by_column.mean_weight != rows["LW"].mean_weight
    assert result.independent < result.bootstrap
    assert whole_tables.table(result).row_count == len(rows) + 2
    assert whole_tables.write(result, tmp_path) == ["table.csv"]
    assert pl.read_csv(tmp_path / "table.csv")["name"].to_list() == list(rows)


def test_conditional_tables_have_exact_draws_and_no_clamp(tmp_path: Path) -> None:
    design = whole_tables.DESIGNS["ma2019"]
    rng = np.random.default_rng(2)
    made = {
        name: rng.choice([level for level in column.levels or () if level != "N"][:3], 60)
        for name, column in design.columns.items()
    }
    path = tmp_path / "acs.csv"
    pl.DataFrame(made).write_csv(path)
    given = {"synthesize": synthesize, "seed": 1, "exact": True}
    settings = SamplerSettings(draws=150, warmup=150, chains=2)
    pl.DataFrame(made).head(40).write_csv(tmp_path / "other.csv")
    others = {"another tool": [path, tmp_path / "other.csv"]}
    result = whole_tables.run(path, settings=settings, beside=others, **given)
    *rows, other = result.rows
    for row in rows[-2:]:
        assert row.name.endswith("at most LW's epsilon")
        assert row.epsilon <= rows[1].epsilon
    assert (other.name, other.epsilon, other.seconds) == ("another tool", None, None)
    alone = whole_tables.run(path, settings=settings, beside={"itself": [path]}, **given).rows[-1]
    assert alone.score == 1000.0 > other.score
    assert all(row.rhat is None and row.score > 0 for row in result.rows)
    assert whole_tables.table(result).row_count == len(result.rows) + 2
    others["floats"] = [tmp_path / "floats.csv"]
    for column, values, said in (
        ("SEX", ["1.0", "2.0"], "'SEX' has 60 values that are not among the given levels"),
        ("AGEP", ["young", "old"], "values of another kind"),
    ):
        pl.DataFrame({**made, column: values * 30}).write_csv(tmp_path / "floats.csv")
        with pytest.raises(InputError, match="The table of 'floats' in floats") as caught:
            whole_tables.run(tmp_path / "other.csv", beside=others, **given)
        assert re.search(said, str(caught.value))
        assert values[0] not in str(caught.value)
    pl.DataFrame(made).drop("SEX", "EDU").write_csv(path)
    with pytest.raises(InputError, match=r"'x' in acs\.csv lacks columns of the study: SEX, EDU"):
        whole_tables.run(tmp_path / "other.csv", beside={"x": [path]}, **given)
    with pytest.raises(InputError, match="No clamp takes conditional tables"):
        whole_tables.run(path, strict=True, **given)


def test_a_file_of_no_design_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"x": [1, 2]}).write_csv(tmp_path / "x.csv")
    with pytest.raises(InputError, match="the columns of no design that this study knows"):
        whole_tables.run(tmp_path / "x.csv", synthesize=synthesize, seed=1)


def test_designs_name_public_levels_alone() -> None:
    for design in whole_tables.DESIGNS.values():
        for exact in (False, True):
            assert design.schema(exact=exact).to_review == ()


def _or_nothing(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


@pytest.mark.parametrize("file", ["tables-study.csv", "tables-study-10.csv"])
def test_the_page_shows_the_figures_of_the_kept_table(file: str) -> None:
    """Each file is the table.csv that a command of the page wrote."""
    docs = Path(__file__).parents[2] / "docs"
    page = " ".join((docs / "tables.md").read_text().split())
    rows = pl.read_csv(docs / file).to_dicts()
    for row in rows:
        cost = f"{_or_nothing(row['epsilon'], 1)} | {_or_nothing(row['separate'], 1)}"
        figures = f"{cost} | {row['score']:.0f} | {_or_nothing(row['seconds'], 0)} |"
        shown = f"| {row['name']} | {row['guarantee'] or ''} | {figures}"
        assert " ".join(shown.split()) in page
    by_name = {row["name"]: row for row in rows}
    share = by_name["LW"]["epsilon"] / by_name["LW by column"]["separate"]
    assert f"costs {share:.2f} of" in page
