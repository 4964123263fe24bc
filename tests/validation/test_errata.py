"""The errata list: every entry is shown by a test, every edit and every row points to an entry."""

import ast
import io
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyvws_validation import authors, errata, listings, runner
from pyvws_validation.report import Row
from rich.console import Console
from typer.testing import CliRunner

from pyvws.commands.cli import app
from pyvws.errors import PyvwsError

_ROOT = Path(__file__).parents[2]

# What stands in one paper's text alone: files may have any name.
_PAPERS = _ROOT.parent / "shared" / "papers"
_MARKS = {
    "vws2020": "06/01/2020",
    "vws2024": "December 22, 2024",
    "risk2024": "March 6, 2024",
    "slides": "Five microdata synthesizers",
}

ENTRIES = errata.errata()
CONVENTIONS = errata.conventions()
IDS = {entry.id for entry in ENTRIES}


@cache
def functions_of(path: str) -> dict[str, str]:
    """Source of each test function of a file, by name."""
    text = (_ROOT / path).read_text(encoding="utf-8")
    return {
        node.name: ast.get_source_segment(text, node) or ""
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_every_slip_is_shown_by_a_test_that_computes_its_numbers(entry: errata.Erratum) -> None:
    path, name = entry.test.split("::")
    assert name == f"test_{entry.id.replace('-', '_')}"
    source = functions_of(path)[name]
    assert "shows(" in source
    assert f'"{entry.id}"' in source


@pytest.mark.parametrize(
    "entry", [entry for entry in CONVENTIONS if entry.test], ids=lambda entry: entry.id
)
def test_functions_of_conventions_exist(entry: errata.Convention) -> None:
    path, name = entry.test.split("::")
    assert "assert" in functions_of(path)[name]


@cache
def papers() -> dict[str, str]:
    """The text of each paper by source, with single blanks."""
    if not _PAPERS.is_dir():
        pytest.skip("the papers are not beside the checkout")
    texts = [" ".join(path.read_text("utf-8").split()) for path in _PAPERS.glob("*.txt")]
    found = {source: [t for t in texts if mark in t] for source, mark in _MARKS.items()}
    assert all(len(own) == 1 for own in found.values())
    return {source: text for source, (text,) in found.items()}


@pytest.mark.parametrize("entry", [*ENTRIES, *CONVENTIONS], ids=lambda entry: entry.id)
def test_every_entry_on_a_paper_quotes_it(entry: errata.Erratum | errata.Convention) -> None:
    own = _MARKS.keys() & set(entry.sources)
    assert len(entry.quotes) >= (1 if own else 0)
    assert own or not entry.quotes
    texts = {source: papers()[source] for source in own}
    for quote in entry.quotes:
        assert any(" ".join(quote.split()) in text for text in texts.values()), quote
    for source, text in texts.items():
        assert any(" ".join(quote.split()) in text for quote in entry.quotes), source


def test_what_no_source_claims_is_no_slip() -> None:
    """A convention, a target that the slides print as missed, a sentence on another figure."""
    merely = {"variance-for-scale", "weighted-epsilon-target", "label-probabilities"}
    assert merely <= {entry.id for entry in CONVENTIONS}
    of_tables = [entry for entry in ENTRIES if ", against Table" in entry.place]
    assert of_tables
    assert not [entry.id for entry in of_tables if "Table 5" in entry.place]


def test_every_named_edit_and_every_expected_difference_refers_to_an_entry() -> None:
    edits = [
        *(edit for named in listings.LISTING_EDITS.values() for edit in named),
        *listings.TODAYS_STAN,
        *(edit for case in authors.CASES for edit in (*case.edits, *case.inputs)),
    ]
    assert len({edit.name for edit in edits}) >= 12
    assert {edit.erratum for edit in edits} <= IDS | {entry.id for entry in CONVENTIONS}
    differing = [case for case in authors.CASES if case.expect == "differs"]
    assert differing
    assert {case.erratum for case in differing} <= IDS
    assert {slip.erratum for slip in authors.SLIPS} <= IDS
    assert "listing-not-finite" in IDS


def test_slips_of_the_scripts_that_change_a_number_are_run() -> None:
    """Each entry on the authors' scripts is met by a case, but for what needs a Stan fit."""
    met = {case.erratum for case in authors.CASES}
    met |= {slip.erratum for slip in authors.SLIPS}
    theirs = {entry.id for entry in ENTRIES if entry.sources == ("authors",)}
    assert theirs - met == {"excluded-draws"}


def test_ids_and_texts() -> None:
    assert len(IDS | {entry.id for entry in CONVENTIONS}) == len(ENTRIES) + len(CONVENTIONS)
    for entry in ENTRIES:
        for text in (entry.says, entry.meant, entry.package):
            assert text.endswith("."), entry.id
        assert entry.as_printed != entry.as_meant
    assert all(entry.differs.endswith(".") and entry.package.endswith(".") for entry in CONVENTIONS)
    assert errata.count() == f"{len(ENTRIES)} errata and {len(CONVENTIONS)} conventions"


def test_a_wrong_entry_is_refused() -> None:
    names = ("id", "sources", "quotes", "differs", "package")
    good = {name: getattr(CONVENTIONS[0], name) for name in names}
    assert errata._entry(errata.Convention, good) == CONVENTIONS[0]
    for change in ({"sources": ["nobody1999"]}, {"place": "here"}):
        with pytest.raises(PyvwsError, match=r"mixture-shares: \w+ is unknown"):
            errata._entry(errata.Convention, {**good, **change})
    with pytest.raises(PyvwsError, match="missing 1 required"):
        errata._entry(errata.Convention, {"id": "x", "sources": [], "package": "."})


def test_printed_in_full() -> None:
    console = Console(file=io.StringIO(), width=100)
    errata.render(console)
    printed = console.file.getvalue()
    for entry in (*ENTRIES, *CONVENTIONS):
        assert f"\n{entry.id} (" in printed
    assert printed.count("  Reads: ") == sum(len(e.quotes) for e in (*ENTRIES, *CONVENTIONS))


# The command


def row(verdict: str = "pass") -> Row:
    return Row(
        id="a/b",
        paper="p",
        level="exact",
        r_function="f.R:g",
        python_function="h",
        seeds=(1,),
        shapes=((2,),),
        largest_difference=0,
        verdict=verdict,
        source="R",
        sha256="ab",
    )


def test_command_prints_the_list() -> None:
    result = CliRunner().invoke(app, ["validate", "--errata"])
    assert result.exit_code == 0
    assert result.stdout.endswith(f"{errata.count()}.\n")


def test_command_counts_the_list_and_names_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    job = runner.Job(id="a/b", level="exact", part="exact", rows=lambda: [row()])
    monkeypatch.setattr(runner, "jobs", lambda *_: [job])
    result = CliRunner().invoke(app, ["validate"])
    assert result.exit_code == 0
    assert "f.R:g: sha256 ab\n" in result.stdout
    assert f"Known slips of the papers: {errata.count()};" in result.stdout


@pytest.mark.parametrize(
    ("options", "called"),
    [
        (["--authors", "."], {"authors"}),
        (["--listings", "."], {"listings"}),
        (["--authors", ".", "--listings", "."], {"authors", "listings"}),
        (["--authors", ".", "--level", "exact"], {"authors", "runner"}),
        ([], {"runner"}),
    ],
)
def test_command_runs_what_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, options: list[str], called: set[str]
) -> None:
    from pyvws_validation import authors, listings

    seen = set()
    for module in (authors, listings, runner):
        name = module.__name__.rpartition(".")[2]

        def run(*_: object, name: str = name) -> Any:
            seen.add(name)
            made = [row("fail" if name == "authors" else "pass")]
            job = runner.Job(id=name, level="exact", part="exact", rows=lambda: made)
            return [job] if name == "runner" else iter(made)

        monkeypatch.setattr(module, "jobs" if name == "runner" else "run", run)
    result = CliRunner().invoke(app, ["validate", *options])
    assert seen == called
    assert result.exit_code == (1 if "authors" in called else 0)


@pytest.mark.parametrize("option", ["--authors", "--listings"])
def test_command_refuses_a_path_that_is_not_there(option: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["validate", option, str(tmp_path / "absent")])
    assert result.exit_code != 0
    assert f"{option}: " in str(result.exception)
