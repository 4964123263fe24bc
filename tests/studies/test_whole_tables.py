"""The study of whole tables on a small table of one of its designs."""

import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from pyvws_studies import whole_tables
from pyvws_studies.other_tools import Tool, installed, made_by

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
    with pytest.raises(InputError, match="a table of categories alone"):
        whole_tables.run(file, synthesize=synthesize, seed=1, others=Path(sys.executable))


_COPY = """
import sys
import polars as pl
path, out, datasets, seed, *levels = sys.argv[1:]
assert (datasets, seed, levels[2]) == ("5", "1", "2")
for one in range(5):
    pl.read_csv(path).reverse().write_csv(f"{out}/{one + 1}.csv")
print("words", 1.5, 0.25)
"""


@pytest.fixture
def acs(tmp_path: Path) -> tuple[Path, pl.DataFrame]:
    """Records with the columns of NIST's file."""
    rng = np.random.default_rng(2)
    columns = whole_tables.DESIGNS["ma2019"].columns
    levels = {name: [x for x in one.levels or () if x != "N"] for name, one in columns.items()}
    made = pl.DataFrame({name: rng.choice(own[:3], 60) for name, own in levels.items()})
    made.write_csv(tmp_path / "acs.csv")
    return tmp_path / "acs.csv", made


def test_conditional_tables_have_exact_draws_and_other_tools_stand_beside(
    acs: tuple[Path, pl.DataFrame], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tools = [
        Tool("copy", (sys.executable, "-c", _COPY)),
        Tool("noise", (sys.executable, "-c", _COPY), "approximate-dp", 1.0),
        Tool("broken", (sys.executable, "-c", "raise SystemExit(3)")),
    ]
    monkeypatch.setattr(whole_tables, "installed", lambda _python: (tools, ["Left out: x."]))
    given = {"synthesize": synthesize, "seed": 1, "exact": True}
    settings = SamplerSettings(draws=150, warmup=150, chains=2)
    result = whole_tables.run(acs[0], settings=settings, others=Path("python"), **given)
    *rows, copy, noise = result.rows
    for row in rows[-2:]:
        assert row.name.endswith("at most LW's epsilon")
        assert row.epsilon <= rows[1].epsilon
    assert all(row.rhat is None and 0 < row.score < 1000 for row in rows)
    assert (copy.score, copy.epsilon, copy.processor_seconds, copy.gigabytes) == (
        *(1000.0, None, 1.5, 0.25),
    )
    assert (noise.guarantee, noise.epsilon) == ("approximate-dp", 1.0)
    assert result.problems == ["Left out: x.", "Left out: broken, which ended with exit status 3."]
    assert whole_tables.table(result).row_count == len(result.rows) + 2


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


def test_a_tool_that_takes_too_long_or_is_not_there_is_a_line(
    acs: tuple[Path, pl.DataFrame], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    levels = {name: sorted(set(acs[1][name])) for name in acs[1].columns}
    slow = Tool("slow", (sys.executable, "-c", "import time; time.sleep(60)"))
    said = made_by(slow, acs[1], levels, datasets=5, seed=1, minutes=0.001)
    assert said == "Left out: slow, which took more than 0.001 minutes."
    monkeypatch.setenv("PATH", str(tmp_path))
    tools, left_out = installed(tmp_path / "python")
    assert tools == []
    assert [line.split(",")[0] for line in left_out] == [
        *("Left out: synthpop", "Left out: MST and AIM of dpmm")
    ]


def test_dpmm_is_asked_for_tables_of_the_public_levels(
    acs: tuple[Path, pl.DataFrame], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A package that only looks like dpmm: it returns the records in another order."""
    for kind in ("aim", "mst"):
        (tmp_path / "dpmm/pipelines").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"dpmm/pipelines/{kind}.py").write_text(
            f"class {kind.upper()}Pipeline:\n"
            "    def __init__(self, **given):\n"
            "        self.given = given\n"
            "    def fit(self, table, domain, random_state):\n"
            "        assert list(domain) == list(table) and domain['SEX'] == 2\n"
            "        assert self.given['delta'] == 1e-5 and self.given['disable_processing']\n"
            "        self.table = table\n"
            "    def generate(self, n_records, random_state):\n"
            "        return self.table.sample(n_records, random_state=random_state).iloc[:, ::-1]\n"
        )
    (tmp_path / "dpmm-9.9.dist-info").mkdir()
    (tmp_path / "dpmm-9.9.dist-info/METADATA").write_text("Name: dpmm\nVersion: 9.9\n")
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{before}")
    tools = [tool for tool in installed(Path(sys.executable))[0] if "dpmm" in tool.name]
    names = [("MST", 1.0), ("MST", 10.0), ("AIM", 1.0)]
    assert [(tool.name, tool.epsilon) for tool in tools] == [
        (f"{kind} (dpmm 9.9), ({epsilon:g}, 1e-05)-DP", epsilon) for kind, epsilon in names
    ]
    levels = {name: tuple(sorted(set(acs[1][name]))) for name in acs[1].columns}
    for tool in tools[1:]:
        found = made_by(tool, acs[1], levels, datasets=2, seed=(1 << 60) + 3)
        assert not isinstance(found, str)
        datasets, seconds, gigabytes = found
        assert seconds > 0.0 < gigabytes
        assert not datasets[0].equals(datasets[1])
        for one in datasets:
            assert one.sort(one.columns).equals(acs[1].sort(acs[1].columns))


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
    assert len(shown) == 9
    assert {" ".join(line.split()) for line in shown} <= kept
