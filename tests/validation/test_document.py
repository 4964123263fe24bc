"""The document of a validation: what each file says, that nothing is fetched, whole or nothing."""

import dataclasses
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from pyvws_validation import document, errata, provenance, runner
from pyvws_validation.report import Measurement, Row
from pyvws_validation.uncovered import LEFT_OPEN
from run_here import Ended, run_here

from pyvws._base import resources as _resources
from pyvws.errors import OutputError

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
EXACT = Row(
    id="weights/lw",
    paper="vws2024, Algorithm 1",
    level="exact",
    r_function="weights.R:lipschitz_weights",
    python_function="pyvws.weights.weights:lipschitz_weights",
    seeds=(1, 2, 3, 4, 5),
    shapes=((1, 2), (5, 8)),
    largest_difference=0,
    verdict="pass",
    reason="",
    source="R 4.2.2",
)
ALLOWED = dataclasses.replace(
    EXACT, id="pmse/value", level="close", largest_difference=50, tolerance=4096, why="Two solvers."
)
POSTERIOR = dataclasses.replace(
    EXACT,
    id="posterior/poisson-pystan",
    level="posterior",
    largest_difference=None,
    measured="2.3 Monte Carlo standard errors",
    measurements=(Measurement("Monte Carlo standard errors", 2.3, 0.0, 4.0),),
)
PRINTED = dataclasses.replace(
    POSTERIOR,
    id="paper/cell",
    paper="vws2024, Table 1, CW, median: lower",
    level="paper",
    measured="12 datasets",
    measurements=(Measurement("printed", 98.7, 97.0, 99.0),),
)
SKIPPED = dataclasses.replace(
    POSTERIOR,
    id="posterior/poisson-cmdstan",
    verdict="skipped",
    reason="CmdStan <is> not installed.",
    measured="",
    measurements=(),
)
FAILED = dataclasses.replace(
    EXACT, id="weights/cw", largest_difference=3, verdict="fail", reason="Differs by 3 ulp."
)
THEIRS = dataclasses.replace(
    EXACT,
    id="listings/vws2024-weights",
    sha256="ab" * 32,
    edits=("base-r",),
    erratum="rfast-maxima",
)
CLAIMED = dataclasses.replace(
    POSTERIOR,
    id="guarantee/histogram",
    level="guarantee",
    measured="loss: 1.987 of 2",
    measurements=(Measurement("loss", 1.987, 0.3, 2.0),),
)
ALL = (EXACT, ALLOWED, POSTERIOR, PRINTED, SKIPPED, FAILED, CLAIMED, THEIRS)


@pytest.fixture
def no_r(monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions without a start of R."""
    monkeypatch.setattr(provenance, "r_versions", lambda: {"R": provenance.NOT_INSTALLED})
    monkeypatch.setattr(provenance, "engine_version", lambda _name: "1.0")


class _Page(HTMLParser):
    """Tags and text of a page; fails on a tag that is closed in the wrong order."""

    VOID = ("meta", "wbr", "br", "link", "img", "input")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.open: list[str] = []
        self.said: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        self.said.append(" " if tag in ("td", "th") else "")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def page(rows: Sequence[Row]) -> _Page:
    found = document.content(rows, began=BEGAN, seconds=75.0, command="pyvws validate")
    return _Page(document.to_html(found, rows))


def words(rows: Sequence[Row]) -> str:
    return " ".join("".join(page(rows).said).split())


@pytest.mark.usefixtures("no_r")
def test_the_page_needs_nothing_from_elsewhere_and_is_well_formed() -> None:
    found = page(ALL)
    assert {tag for tag, _ in found.tags} & {"link", "img", "iframe", "object", "base"} == set()
    for tag, attributes in found.tags:
        assert "src" not in attributes, tag
        if "href" in attributes:
            assert attributes["href"].startswith("#")
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {a["href"][1:] for tag, a in found.tags if tag == "a"}
    assert targets <= set(ids)
    text = document.to_html(document.content(ALL, began=BEGAN, seconds=1.0), ALL)
    assert "@import" not in text
    assert "url(" not in text


@pytest.mark.usefixtures("no_r")
@pytest.mark.parametrize(
    ("rows", "verdict", "said"),
    [
        ((EXACT, PRINTED), "pass", "All 2 comparisons ran, and each is within what it allows."),
        (
            (EXACT, SKIPPED),
            "incomplete",
            "1 of 2 comparisons could not run, so this document shows nothing about them; 1 that "
            "ran pass, none fails.",
        ),
        (
            (EXACT, SKIPPED, FAILED),
            "fail",
            "1 of 3 comparisons is outside what is allowed; 1 pass, 1 could not run.",
        ),
    ],
)
def test_the_verdict_is_on_top_and_a_skip_is_no_pass(
    rows: tuple[Row, ...], verdict: str, said: str
) -> None:
    found = document.content(rows, began=BEGAN, seconds=1.0)
    assert found["verdict"] == verdict
    assert sum(found["counts"].values()) == len(rows)
    text = words(rows)
    assert said in text
    assert text.index(said) < text.index("Summary")


@pytest.mark.usefixtures("no_r")
def test_a_run_in_which_nothing_ran_has_not_passed() -> None:
    assert document.content([], began=BEGAN, seconds=0.0)["verdict"] == "incomplete"


@pytest.mark.usefixtures("no_r")
def test_the_page_says_what_the_rows_say() -> None:
    text = words(ALL)
    for row in ALL:
        assert row.level == "paper" or row.id in text
        assert row.paper in text
        assert row.reason in text
    for said in (
        "Two solvers.",
        "2.3 Monte Carlo standard errors",
        "98.7 97 99 ✓ pass",
        "1 min 15 s",
        "2026-03-01 12:00:00 UTC",
        "ab" * 32,
        "rfast-maxima",
        "1 to 5",
        "1×2, 5×8",
        "50 4096",
        "loss: 1.987 of 2",
    ):
        assert said in text
    for entry in (*errata.errata(), *errata.conventions()):
        assert entry.id in text
    for said in (*LEFT_OPEN, "pyvws.engines.grid noisy_maximum"):
        assert said in text
    left_out = "Densities against Stan and R; Privacy statements against R."
    assert f"Not asked for in this run: {left_out}" in text


@pytest.mark.usefixtures("no_r")
def test_hashes_are_those_of_the_files_and_cover_every_program() -> None:
    found = document.content([EXACT], began=BEGAN, seconds=1.0)["sha256"]
    names = {
        f"{folder}/{path.relative_to(_resources.folder(folder)).as_posix()}"
        for folder, kinds in (("r_reference", ("*.R", "*.stan")), ("stan", ("*.stan",)))
        for kind in kinds
        for path in _resources.folder(folder).rglob(kind)
    }
    assert len(names) > 20
    assert names <= set(found)
    content = (_resources.folder("r_reference") / "weights.R").read_bytes()
    assert found["r_reference/weights.R"] == sha256(content).hexdigest()
    assert re.fullmatch(r"pyvws/ \(\d+ Python files\)", list(found)[-1])


def test_junit_counts_skips_as_skipped() -> None:
    tree = ElementTree.fromstring(document.to_junit(ALL, began=BEGAN, seconds=2.5))
    assert (tree.get("tests"), tree.get("failures"), tree.get("skipped")) == ("8", "1", "1")
    levels = {suite.get("name"): suite for suite in tree}
    assert list(levels) == ["exact", "close", "posterior", "paper", "guarantee"]
    assert levels["posterior"].get("skipped") == "1"
    cases = {case.get("name"): case for case in tree.iter("testcase")}
    assert [child.tag for child in cases["posterior/poisson-cmdstan"]] == ["skipped", "system-out"]
    failure = cases["weights/cw"].find("failure")
    assert failure is not None
    assert failure.get("message") == "Differs by 3 ulp."
    assert cases["weights/lw"].find("failure") is None


@pytest.mark.usefixtures("no_r")
def test_the_folder_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "audit"
    paths = document.write_report(place, ALL, began=BEGAN, seconds=1.0)
    assert [path.name for path in paths] == list(document.FILES)
    kept = json.loads(paths[1].read_text())
    assert [row["id"] for row in kept["rows"]] == [row.id for row in ALL]
    assert kept["rows"][2]["measurements"][0]["high"] == 4.0
    with pytest.raises(OutputError, match="is not empty"):
        document.write_report(place, ALL, began=BEGAN, seconds=1.0)
    monkeypatch.setattr(document, "to_junit", lambda *_, **__: 1 / 0)
    for name in ("audit", "other"):
        with pytest.raises(ZeroDivisionError):
            document.write_report(
                tmp_path / name, [EXACT], began=BEGAN, seconds=1.0, overwrite=True
            )
    assert json.loads(paths[1].read_text()) == kept
    assert [path.name for path in tmp_path.iterdir()] == ["audit"]


def test_the_command_writes_the_document_of_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "r_versions", dict)
    monkeypatch.setattr(runner, "CASES", runner.CASES[:6])
    monkeypatch.chdir(tmp_path)

    def run(*options: str) -> Ended:
        return run_here("validate", "--level", "exact", "--cached", *options)

    first = run("--report", "audit")
    assert first.code == 0, first.err
    assert first.out.splitlines()[-3:] == [f"audit/{name}" for name in document.FILES]
    kept = json.loads((tmp_path / "audit" / "validation.json").read_text())
    assert kept["verdict"] == "pass"
    assert kept["command"] == "pyvws validate --level exact --cached --report audit"
    again = run("--report", "audit")
    assert again.code == 1
    assert "is not empty" in again.err
    assert first.out.splitlines()[-4] not in again.out
    assert run("--report", "audit", "--overwrite").code == 0
