"""The study beside other tools: made-up files, programs that only look like the tools, and docs."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from documents import ROOT
from pyvws_studies import other_tools
from pyvws_studies.other_tools import Tool, ToolRow, installed, made_by
from refusals import refused

import pyvws as vws

KEPT = ROOT / "docs/studies/other-tools"
_COPY = """
import shutil, sys
path, out, seed, *levels = sys.argv[1:]
assert 1 <= int(seed) <= 2 and all(int(size) > 1 for size in levels)
shutil.copy(path, out)
print("words", 1.5)
"""
_BROKEN = Tool("broken", "y 2.0", (sys.executable, "-c", "raise SystemExit(3)"))


def _file(folder: Path, name: str) -> pl.DataFrame:
    """Records with the columns of a file of the study."""
    rng, own = np.random.default_rng(3), other_tools.TABLES[name]
    made = {column: rng.integers(1, 3, 80) for column in own.columns}
    made |= {column: rng.choice([-1, *edges], 80) for column, edges in own.bands.items()}
    found = pl.DataFrame({own.unit or "row": np.arange(80), **made})
    found.write_csv(folder / name)
    return found


@pytest.mark.runs
def test_each_file_has_rows_of_each_way_and_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opendp")
    for name in ("ma2019.csv", "ce_2017.csv"):
        _file(tmp_path, name)
    tools = [Tool("AIM", "x 1.0", (sys.executable, "-c", _COPY), 1.0), _BROKEN]
    monkeypatch.setattr(other_tools, "installed", lambda _python: (tools, ["Left out: z."]))
    monkeypatch.setattr(other_tools, "EPSILONS", (1.0, 50.0))
    given: dict[str, Any] = {"synthesize": vws.synthesize, "seed": 1, "runs": 1, "tool_runs": 2}
    found = other_tools.run(tmp_path, others=Path(sys.executable), **given)
    assert found.problems[0] == "Left out: z."
    said = "Left out: broken, which ended with exit status 3."
    assert found.problems[1:] == [f"{name}: {said}" for name in ("ma2019.csv", "ce_2017.csv")]
    ways = [("pyvws", 1.0), ("pyvws", 50.0), ("AIM", 1.0), *((x, None) for x in other_tools.SCALE)]
    for name in ("ma2019.csv", "ce_2017.csv"):
        rows = [row for row in found.rows if row.file == name]
        assert [(row.way, row.epsilon) for row in rows] == ways
        assert (rows[2].pairs, rows[2].triples, rows[2].runs) == (1000.0, 1000.0, 2)
        assert rows[2].processor_seconds == 1.5
        assert all(row.least <= row.pairs <= row.most for row in rows)
        assert rows[0].pairs < rows[1].pairs
    assert other_tools.table(found).row_count == len(found.rows)
    out = tmp_path / "out"
    out.mkdir()
    written = other_tools.write(found, out)
    assert {*written} == {path.name for path in out.iterdir()}
    _agree(out)
    with refused("folder-of-no-file"):
        other_tools.run(out, **given)


def _agree(folder: Path) -> list[ToolRow]:
    """The rows of a folder's table, which its pages and pictures show."""
    rows = [ToolRow(**row) for row in pl.read_csv(folder / "table.csv").to_dicts()]
    for file in {row.file for row in rows}:
        own, name = [row for row in rows if row.file == file], Path(file).stem
        assert (folder / f"{name}.txt").read_text() == other_tools.markdown(own)
        drawn = (folder / f"{name}.svg").read_text()
        assert f">{other_tools.in_words(own)}<" in drawn
        assert len(drawn) < 100_000
    machine = (folder / "machine.txt").read_text()
    assert "processor: " in machine
    assert "/" not in machine
    assert os.uname().nodename not in machine
    for row in rows:
        assert row.package in machine
    return rows


def test_the_page_and_the_readme_show_what_the_command_wrote() -> None:
    rows, page = _agree(KEPT), (ROOT / "docs/other-tools.md").read_text()
    for file in other_tools.TABLES:
        name = Path(file).stem
        assert f"](studies/other-tools/{name}.svg)" in page
        assert f'"docs/studies/other-tools/{name}.txt"' in page
    assert "](docs/studies/other-tools/ma2019.svg)" in (ROOT / "README.md").read_text()
    shown = {f"{x:.1f}" for row in rows for x in (row.pairs, row.triples)}
    assert {*re.findall(r"\b\d{3}\.\d\b", page)} <= shown
    own = {(row.file, row.epsilon): row for row in rows if row.way == "pyvws"}
    assert len(own) == len(other_tools.TABLES) * len(other_tools.EPSILONS)
    for row in rows:  # What the page says in words.
        if row.way in ("AIM", "MST"):
            assert own[row.file, row.epsilon].pairs > row.pairs
        if row.way == "synthpop":
            assert own[row.file, 0.5].pairs < row.pairs
            assert own[row.file, 1.0].triples < row.triples
        if (row.way, row.file) == ("a bootstrap", "households.txt"):
            ours = [own[row.file, epsilon] for epsilon in other_tools.EPSILONS]
            assert all(one.triples < row.triples for one in ours)


def test_a_tool_that_takes_too_long_or_is_not_there_is_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, levels = pl.DataFrame({"x": ["a", "b"]}), {"x": ("a", "b")}
    slow = Tool("slow", "", (sys.executable, "-c", "import time; time.sleep(60)"))
    said = made_by(slow, table, levels, seed=1, minutes=0.001)
    assert said == "Left out: slow, which took more than 0.001 minutes."
    monkeypatch.setenv("PATH", str(tmp_path))
    tools, left_out = installed(tmp_path / "python")
    assert tools == []
    assert [line.split(",")[0] for line in left_out] == [
        *("Left out: synthpop", "Left out: MST and AIM of dpmm", "Left out: SDV")
    ]


_LIKE_DPMM = """
class {}Pipeline:
    def __init__(self, **given):
        assert given["delta"] == 1e-5 and given["disable_processing"]
    def fit(self, table, domain, random_state):
        assert domain == {{"x": 3, "y": 2}}
        self.table = table
    def generate(self, n_records, random_state):
        return self.table.iloc[::-1, ::-1]
"""
_LIKE_SDV = """
class Metadata:
    load_from_dict = dict
class GaussianCopulaSynthesizer:
    def __init__(self, metadata):
        assert [*metadata["tables"]["table"]["columns"]] == ["x", "y"]
    def fit(self, data):
        self.table = data["table"]
    def sample(self, rows):
        return {"table": self.table.iloc[:rows, ::-1]}
"""


def test_tools_get_codes_of_the_public_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packages that only look like the tools return the records in another order."""
    pytest.importorskip("pandas")
    fake = {"dpmm/pipelines/aim.py": _LIKE_DPMM.format("AIM"), "sdv/metadata.py": _LIKE_SDV}
    fake |= {"dpmm/pipelines/mst.py": _LIKE_DPMM.format("MST"), "sdv/single_table.py": _LIKE_SDV}
    for name in ("dpmm", "sdv"):
        fake[f"{name}-9.9.dist-info/METADATA"] = f"Name: {name}\nVersion: 9.9\n"
    for name, text in fake.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{before}")
    tools = [tool for tool in installed(Path(sys.executable))[0] if "9.9" in tool.package]
    of_dpmm = [("AIM", 1.0), ("AIM", 4.0), ("MST", 1.0), ("MST", 4.0)]
    assert [(tool.name, tool.epsilon) for tool in tools] == [*of_dpmm, ("SDV", None)]
    table = pl.DataFrame({"x": ["c", "a", "a"], "y": ["n", "m", "n"]})
    for tool in tools[-3:]:
        made = made_by(tool, table, {"x": ("a", "b", "c"), "y": ("m", "n")}, seed=(1 << 60) + 3)
        assert not isinstance(made, str)
        assert made[0].sort("x", "y").equals(table.sort("x", "y"))
        assert made[1] > 0.0
