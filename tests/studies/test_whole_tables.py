"""The study of whole tables on a small table of one of its designs."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from pyvws_studies import whole_tables

from pyvws import ConvergenceError, InputError, SamplerSettings, synthesize

pytestmark = pytest.mark.runs


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs in this process: `test_own_process.py` has the process of its own."""
    monkeypatch.setattr(whole_tables, "in_own_process", lambda job, *given: job(*given))


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
    settings = SamplerSettings(draws=75, warmup=100, chains=2)
    lines: list[str] = []
    listener = whole_tables.Listener(fit=lambda _label: None, line=lines.append)
    result = whole_tables.run(
        file, synthesize=synthesize, seed=1 << 60, settings=settings, listener=listener
    )
    rows = {row.name: row for row in result.rows}
    names = ["unweighted", "LW", "LW, re-weighted", "SW", "LW by column"]
    if "LW, re-weighted" not in rows:  # With so few records the draws decide whether a k exists.
        names.remove("LW, re-weighted")
        assert result.problems[0].startswith("Left out: LW, re-weighted. No k brings")
    assert list(rows) == names
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
    written = pl.read_csv(tmp_path / "table.csv")
    assert written["name"].to_list() == list(rows)
    assert (written["gigabytes"] > 0.05).all()


@pytest.fixture
def acs(tmp_path: Path) -> tuple[Path, pl.DataFrame]:
    """Records with the columns of NIST's file."""
    rng = np.random.default_rng(2)
    columns = whole_tables.DESIGNS["ma2019"].columns
    levels = {name: [x for x in one.levels or () if x != "N"] for name, one in columns.items()}
    made = pl.DataFrame({name: rng.choice(own[:3], 60) for name, own in levels.items()})
    made.write_csv(tmp_path / "acs.csv")
    return tmp_path / "acs.csv", made


def test_conditional_tables_have_exact_draws(acs: tuple[Path, pl.DataFrame]) -> None:
    given = {"synthesize": synthesize, "seed": 1, "exact": True}
    settings = SamplerSettings(draws=150, warmup=150, chains=2)
    rows = whole_tables.run(acs[0], settings=settings, **given).rows
    for row in rows[-2:]:
        assert row.name.endswith("at most LW's epsilon")
        assert row.epsilon <= rows[1].epsilon
    assert all(row.rhat is None and 0 < row.score < 1000 for row in rows)


def test_under_the_clamp_all_records_have_one_public_weight(acs: tuple[Path, pl.DataFrame]) -> None:
    asked = []

    def recorded(frame: pl.DataFrame, *, mechanism: Any, **given: Any) -> Any:
        assert given["sampling"] == "systematic"
        if isinstance(mechanism, str):
            return _release(frame, mechanism, 40.0)
        asked.append((mechanism.epsilon, mechanism.weights, mechanism.c))
        assert (given["draws"], given["warmup"], mechanism.facts.claim) == (200, 200, "dp")
        if mechanism.epsilon < 16.0:
            raise ConvergenceError("The chains fail.")
        return _release(frame, "dp", mechanism.epsilon)

    settings = SamplerSettings(draws=20, warmup=100)
    given = {"synthesize": recorded, "seed": 1, "settings": settings, "sampling": "systematic"}
    result = whole_tables.run(acs[0], strict=True, **given)
    assert asked == [(16.0, "none", 1.0), (16.0, "constant", 0.45), (12.0, "constant", 0.34)]
    row = result.rows[-1]
    assert (row.name, row.guarantee, row.epsilon) == ("deviance clamp 16, weights 0.45", "dp", 16.0)
    assert row.score == 1000.0
    problem = "Left out: deviance clamp 12, weights 0.34. The chains fail."
    assert result.problems == [problem]


def _release(frame: pl.DataFrame, guarantee: str, epsilon: float) -> SimpleNamespace:
    """What the study reads of a release, with the records as they are in each dataset."""
    cost = {"epsilon_per_dataset": epsilon, "epsilon_of_separate_runs": 2.0 * epsilon}
    fit = {"mean_weight": 0.5, "diagnostics": {"rhat_max": 1.0}}
    return SimpleNamespace(
        datasets=[frame.select(list(whole_tables.DESIGNS["ma2019"].columns))],
        privacy={"guarantee": guarantee},
        summary={"privacy": cost, "fits": [fit]},
    )


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


def test_the_page_shows_rows_of_the_kept_tables() -> None:
    """Each file is the table.csv that a command of the page wrote."""
    docs = Path(__file__).parents[2] / "docs"
    text = (docs / "tables.md").read_text()
    page, kept = " ".join(text.split()), set()
    for file in ("tables-study.csv", "tables-study-10.csv", "tables-study-strict.csv"):
        assert f"({file})" in page
        by_name = {row["name"]: row for row in pl.read_csv(docs / file).to_dicts()}
        for row in by_name.values():
            cost = f"{_or_nothing(row['epsilon'], 1)} | {_or_nothing(row['separate'], 1)}"
            took = f"{row['processor_seconds']:.0f} | {row['gigabytes']:.2f} |"
            line = f"| {row['name']} | {row['guarantee']} | {cost} | {row['score']:.0f} | {took}"
            kept.add(" ".join(line.split()))
        share = by_name["LW"]["epsilon"] / by_name["LW by column"]["separate"]
        assert re.search(rf"costs? {share:.2f} of separate", page)
    shown = re.findall(r"^\| [^|]+ \| (?:none|dp|[a-z]+-dp) \|.*\|$", text, flags=re.MULTILINE)
    assert len(shown) == 6
    assert {" ".join(line.split()) for line in shown} <= kept
