"""Both pages of a report: what is in them, what is not, and that they are written whole."""

import ast
import base64
import errno
import html
import json
import os
import re
import shutil
import stat
from collections.abc import Callable
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from axe import sheets_before
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from page_tables import rows_of
from refusals import refused

import pyvws as vws
from pyvws._base.phrase import counted
from pyvws.errors import InputError, OutputError
from pyvws.mechanisms.registry import MECHANISMS
from pyvws.report import evidence, reports
from pyvws.report.evidence import RiskSettings, gather, risk_evidence
from pyvws.report.output_folder import read_confidential, read_public
from pyvws.report.page import Heading, formatted
from pyvws.report.public_page import public_page
from pyvws.report.released_columns import ColumnValues
from pyvws.report.reports import write_pages
from pyvws.sheet import Sheet, number
from pyvws.statement.words import FIELDS, GUARANTEES

_NAME = "family <b>income</b> & more"
N = 160
_HEADING = Heading(day=date(2026, 2, 3))  # The pages of two days differ.


def _table(seed: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {_NAME: rng.poisson(40, N), "urban area": rng.choice(["yes", "no"], N), "id": np.arange(N)}
    )


def _synthesize(folder: Path, **settings: Any) -> Path:
    chosen: dict[str, Any] = {"model": "poisson", "mechanism": "cw", "datasets": 3, "draws": 1000}
    chosen |= {"warmup": 500, "chains": 2, "seed": 1, "keep": ("urban area",)} | settings
    made = vws.synthesize(_table(), outcome=_NAME, **chosen)
    return made.write(folder, format="parquet" if "epsilon" in settings else "csv")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _synthesize(tmp_path_factory.mktemp("made") / "out", reweight=True, tolerance=0.3)


@pytest.fixture(scope="module")
def pages(made: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The public page and the board's, that with everything."""
    copied = tmp_path_factory.mktemp("pages") / "out"
    shutil.copytree(made, copied)
    return _write(copied, _evidence(copied))


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


def _outcomes(out: Path) -> list[Any]:
    public = read_public(out)
    return public.values(public.synthetic[0]).tables


def _evidence(out: Path, **others: Any) -> Any:
    table, datasets = _table(), _outcomes(out)
    settings = RiskSettings(known={"urban area": table["urban area"].to_numpy()})
    y = table[_NAME].to_numpy(dtype=np.float64)
    risk = risk_evidence(_NAME, y, datasets, settings, **others)
    return gather([ColumnValues(_NAME, None, [y, *datasets])], same_file=None, risk=risk)


def _write(out: Path, evidence: Any = None, **settings: Any) -> tuple[str, str]:
    public = read_public(out)
    paths = write_pages(out, public, read_confidential(out), evidence, _HEADING, **settings)
    pages = [path.read_text(encoding="utf-8") for path in paths]
    return pages[0], pages[1]


def test_the_public_page_is_made_from_the_release_alone(out: Path, pages: tuple[str, str]) -> None:
    shutil.rmtree(out / "confidential")
    assert public_page(read_public(out), _HEADING) == pages[0]


def test_the_public_page_states_the_released_figures_and_no_exact_one(
    out: Path, pages: tuple[str, str]
) -> None:
    public, board = pages
    privacy = json.loads((out / "release/privacy.json").read_text())
    exact = json.loads((out / "confidential/summary.json").read_text())["privacy"]
    rows = {row[0]: row for row in rows_of(public, "Figures are rounded up")}
    assert set(rows) == {name for name in FIELDS if name in privacy}
    for name, (_, value, _meaning, span, direction) in rows.items():
        assert value == formatted(privacy[name])
        assert (span, direction) == (FIELDS[name].range, FIELDS[name].direction)
    for entry, (use, cost) in zip(privacy["ledger"], rows_of(public, "Costs of"), strict=True):
        assert (use, cost) == (entry["use"], formatted(entry["epsilon"]))
    for said in [*privacy["caveats"], *privacy["trust_assumptions"]]:
        assert html.escape(said, quote=False) in public.replace("&#39;", "'")
    assert GUARANTEES[privacy["guarantee"]][1] in public
    for name in ("lipschitz_bound", "epsilon_per_dataset", "epsilon_total"):
        assert number(exact[name]) in board
        for digits in (4, 6, 17):
            assert f"{exact[name]:.{digits}g}" not in public
    assert "asymptotic-dp" in {row[1] for row in rows_of(public, "The guarantee") if row[0]}


def test_one_of_a_thing_is_no_several() -> None:
    """Numbers go before their nouns by `counted`."""
    assert [counted(number, "use") for number in (0, 1, "1")] == ["0 uses", "1 use", "1 use"]
    for template in Path(reports.__file__).with_name("templates").glob("[bp]*.html.j2"):
        text = template.read_text(encoding="utf-8")
        assert re.findall(r"\}\} (?:uses|records|rows|datasets|draws|bins)\b", text) == []


def test_no_figure_s_meaning_takes_in_what_an_exact_number_of_rows_tells() -> None:
    for name in ("epsilon_per_dataset", "epsilon_by_neighbours"):
        assert "number of rows reveals" in FIELDS[name].meaning


def test_one_column_takes_two_sheets_to_decide(
    pages: tuple[str, str], browser: str, tmp_path: Path
) -> None:
    (tmp_path / "board.html").write_text(pages[1])
    assert sheets_before(browser, tmp_path / "board.html", ".appendix") <= 2.0


def test_the_board_s_page_ranks_records_as_the_functions_do(out: Path) -> None:
    unweighted = [np.roll(values, 1) for values in _outcomes(out)]
    evidence = _evidence(out, unweighted=unweighted)
    _, board = _write(out, evidence)
    y = _table()[_NAME].to_numpy()
    by_record = evidence.risk.by_record
    expected = np.argsort(-by_record["Data"], kind="stable")[:10]
    rows = rows_of(board, "The ten riskiest records")
    assert [int(row[0]) - 1 for row in rows] == expected.tolist()
    assert [row[2] for row in rows] == [number(v) for v in by_record["Data"][expected]]
    largest = rows_of(board, "The ten largest records")
    assert [float(row[1]) for row in largest] == sorted(y, reverse=True)[:10]
    rose = by_record["Synthetic"] - by_record["Unweighted"]
    changes = [float(row[3]) for row in rows_of(board, "The ten records whose risk rose")]
    assert changes == pytest.approx(sorted(rose, reverse=True)[:10], rel=1e-3)
    assert f"{int((rose >= 0.25).sum())} of the records, in orange" in board
    assert len(re.findall("<img ", board)) == 11


def test_without_the_confidential_table_no_risk_and_no_utility(out: Path) -> None:
    _, board = _write(out)
    assert 'id="risks"' not in board
    assert 'id="utility"' not in board
    assert "Give the confidential table by --original" in board


def test_a_table_too_large_for_a_bootstrap_is_said_to_be(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "MOST_DRAWS", 1000)
    _, board = _write(out, _evidence(out))
    assert "too large for bootstrap intervals" in board
    assert "Bootstrap estimates" not in board


def test_names_are_text_and_never_markup(pages: tuple[str, str]) -> None:
    for page in pages:
        assert "<b>income</b>" not in page
        assert "&lt;b&gt;income&lt;/b&gt; &amp; more" in page


def test_pages_need_nothing_from_elsewhere_and_can_be_read_aloud(pages: tuple[str, str]) -> None:
    for page in pages:
        addresses = re.findall(r'(?:src|href)="([^"]*)"', page)
        assert addresses
        ids = set(re.findall(r' id="([^"]*)"', page))
        for address in addresses:
            assert address.startswith("data:image/png;base64,") or address[1:] in ids
        assert "url(" not in page
        assert "@import" not in page
        assert "default-src 'none'" in page
        levels = [int(level) for level in re.findall(r"<h(\d)", page)]
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        images = re.findall(r"<img [^>]*>", page)
        assert all(len(re.search(r'alt="([^"]*)"', image)[1]) > 30 for image in images)  # type: ignore[index]
        assert re.findall(r"<button[^>]*></button>", page) == []
        tables = page.count("<table")
        assert tables == page.count("<caption>") == page.count('class="sorts"') > 4
        assert '<html lang="en">' in page


def test_images_carry_pixels_and_nothing_else(pages: tuple[str, str]) -> None:
    for page in pages:
        for source in re.findall(r"base64,([^\"']+)\"", page):
            content, at, kinds = base64.b64decode(source), 8, []
            while at < len(content):
                size = int.from_bytes(content[at : at + 4], "big")
                kinds.append(content[at + 4 : at + 8])
                at += size + 12
            assert set(kinds) <= {b"IHDR", b"IDAT", b"IEND", b"pHYs"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"mechanism": "perturbed-histogram", "epsilon": 2.0, "range": (0, 200), "bins": 8},
         "one noisy histogram"),
        ({"mechanism": "censored", "epsilon": 4.0, "datasets": 1}, "This release has one dataset"),
        ({"mechanism": "unweighted", "keep": (), "datasets": 9}, "No other column is released"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
def test_every_kind_of_release_has_both_pages(
    tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    out = _synthesize(tmp_path / "out", **settings)
    public, board = _write(out, _evidence(out))
    assert said in public
    # Every entry of the statement has its place: a number with its meaning, or a part of the page.
    parts = {"mechanism", "model", "guarantee", "unit_of_privacy", "neighbours", "ledger"}
    parts |= {"columns_released_unchanged", "trust_assumptions", "caveats", "caveat_keys"}
    parts |= {"statement_version", "trust_keys", "draw_of_dataset", "relies_on", "release_id"}
    assert set(read_public(out).privacy) <= parts | set(FIELDS)
    words = MECHANISMS[settings["mechanism"]].declared.explanation
    assert words.split("[")[0] in html.unescape(public)
    assert ("combine_formula" in public) == (read_public(out).privacy["draws_released"] > 1)
    assert "report to the disclosure board" in board
    with pytest.raises(OutputError, match="--overwrite to replace it"):
        _write(out)


@pytest.fixture
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages that cost nothing to make, for tests of how they are written."""
    monkeypatch.setattr(reports, "public_page", lambda *_: "public")
    monkeypatch.setattr(reports, "board_page", lambda *_: "board")


@pytest.mark.usefixtures("short_pages")
def test_rights_and_the_other_files(out: Path) -> None:
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    _write(out)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((out / "confidential/report.html").stat().st_mode) == 0o600
    assert stat.S_IMODE((out / "release/report.html").stat().st_mode) == 0o644 & ~mask
    assert {path: path.read_bytes() for path in before} == before
    assert len(list(out.rglob("*"))) == len(before) + 2 + 4
    assert _write(out, overwrite=True) == ("public", "board")


def _no_space(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def _killed(*_: Any) -> None:
    raise KeyboardInterrupt


def _second_replace(failure: Callable[..., None]) -> Callable[..., Any]:
    real, calls = Path.replace, []

    def replace(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == 2:
            failure()
        return real(self, target)

    return replace


@pytest.mark.usefixtures("short_pages")
@pytest.mark.parametrize("failure", [_no_space, _killed])
@pytest.mark.parametrize("place", ["board_page", "private_write", "replace"])
@pytest.mark.parametrize("old", [True, False])
def test_a_failed_report_leaves_what_was_there(
    out: Path, monkeypatch: pytest.MonkeyPatch, place: str, failure: Callable[..., None], old: bool
) -> None:
    if old:
        for part in ("release", "confidential"):
            (out / part / "report.html").write_text(f"old {part}")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with monkeypatch.context() as patched:
        if place == "replace":
            patched.setattr(Path, "replace", _second_replace(failure))
        else:
            patched.setattr(reports, place, failure)
        with pytest.raises((OSError, KeyboardInterrupt)):
            _write(out, overwrite=True)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


@pytest.mark.usefixtures("short_pages")
def test_what_a_killed_report_left_is_swept_and_a_living_one_s_is_not(out: Path) -> None:
    dead = out / "confidential/.report.html.999999999-abcd.partial"
    alive = out / f"confidential/.report.html.{os.getppid()}-abcd.partial"
    for left in (dead, alive):
        left.write_text("1")
    _write(out)
    assert not dead.exists()
    assert alive.exists()
    assert {path.name for path in (out / "release").iterdir() if path.name[0] == "."} == set()


def test_a_folder_that_is_no_output_is_refused(out: Path, tmp_path: Path) -> None:
    with refused("output-lacks-folder", name="release"):
        read_public(tmp_path)
    (out / "release/synthetic-02.csv").unlink()
    with refused("output-number-of-datasets", paths=2):
        read_public(out)
    (out / "release/privacy.json").write_text("{")
    with refused("output-unreadable"):
        read_public(out)
    (out / "confidential/records.parquet").write_bytes(b"x")
    with refused("output-unreadable"):
        read_confidential(out)


def _change(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def _as_version_2(statement: dict[str, Any]) -> None:
    statement["statement_version"] = 2
    for name in ("draws_released", "draw_of_dataset", "relies_on"):
        del statement[name]


def _as_version_1(statement: dict[str, Any]) -> None:
    _as_version_2(statement)
    for name in ("statement_version", "caveat_keys", "trust_keys"):
        del statement[name]
    for entry in statement["ledger"]:
        del entry["key"], entry["values"]


@pytest.mark.parametrize("earlier", [_as_version_1, _as_version_2])
def test_earlier_statements_are_still_reported_on(
    out: Path, pages: tuple[str, str], earlier: Callable[[dict[str, Any]], None]
) -> None:
    _change(out / "release/privacy.json", earlier)
    _change(out / "confidential/summary.json", lambda all: earlier(all["privacy"]))
    parts = (("<h2 id=.relies.>", "<h2 id=.ledger.>"), ("<h3>What the guarantee", "<h3>Caveats"))
    found, expected = (
        [
            re.sub(r"\n+", "\n", re.sub(rf"{first}.*?(?={then})", "", page, flags=re.S))
            for page, (first, then) in zip(both, parts, strict=True)
        ]
        for both in (_write(out, _evidence(out)), pages)
    )
    assert found == expected


def test_both_pages_say_what_the_guarantee_relies_on(pages: tuple[str, str]) -> None:
    for page in pages:
        parts = {part: value for part, value, _ in rows_of(page, "Each part that the guarantee")}
        assert parts["sampler"] == "engine: native, draws: as-if-converged"
        assert parts["weights"] == "source: table, epsilon: 0"
        assert parts["clamp"] == "none"
        assert "<li>other releases of the same records</li>" in page


def test_a_statement_that_lacks_a_value_is_refused_in_words(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Figure, "savefig", lambda *_, **__: None)  # Pictures take the time.
    statement = out / "release/privacy.json"
    whole = json.loads(statement.read_text())
    for name in whole:
        statement.write_text(json.dumps({key: of for key, of in whole.items() if key != name}))
        try:
            _write(out, overwrite=True)
        except InputError as error:
            assert "Report on a folder as pyvws synthesize left it" in str(error)  # noqa: PT017
        else:
            assert name not in {"model", "bound_is", "caveats", "guarantee", "reweighted"}


def test_tables_know_their_numbers() -> None:
    made = Sheet("", ("a", "b", "c"), [("x", "1.5", ""), ("y", "none", "2"), ("2", "", "3")])
    assert made.numeric == [False, True, True]
    assert [number(v) for v in (None, True, 3, 2.0, 1234567.8, 0.123456, np.nan)] == [
        "none", "yes", "3", "2", "1234568", "0.1235", "not finite",
    ]  # fmt: skip


def _program(page: str, name: str) -> str:
    found = re.search(rf'<pre [^>]*id="{name}">(.*?)</pre>', page, flags=re.S)
    assert found is not None
    return html.unescape(found[1])


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five datasets of two draws."""
    return _synthesize(tmp_path_factory.mktemp("shared") / "out", datasets=5, draws_per_release=2)


def test_the_program_averages_the_datasets_of_a_draw_first(
    shared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = _write(shared, overwrite=True)[0]
    assert "the draws take the place of the datasets" in page
    assert ", from 2 draws" in page
    monkeypatch.chdir(shared / "release")
    exec(_program(page, "python"), {})
    found = ast.literal_eval(capsys.readouterr().out.splitlines()[-1])
    tables = [pl.read_csv(path) for path in sorted((shared / "release").glob("*.csv"))]
    formula = f"`{_NAME}` ~ `urban area`"
    expected = vws.combine_formula(tables, formula, draw_of_dataset="ABABA")
    assert expected != vws.combine_formula(tables, formula)
    assert list(found) == list(expected)
    for ends, combined in zip(found.values(), expected.values(), strict=True):
        assert ends == pytest.approx([combined.estimate, *combined.interval()])


def test_a_page_of_one_draw_gives_no_program_for_intervals(tmp_path: Path) -> None:
    out = _synthesize(tmp_path / "out", datasets=3, draws_per_release=1)
    public, board = _write(out)
    assert "stand without valid intervals" in public
    assert "combine_formula" not in public
    for page in (public, board):
        assert ", from 1 draw" in page


def test_programs_regress_on_the_formula_and_on_no_identifier(tmp_path: Path) -> None:
    kept = _synthesize(tmp_path / "kept", keep=("id", "urban area"))
    assert read_public(kept).predictors == ["urban area"]
    fitted = _synthesize(tmp_path / "fitted", formula="~ id", keep="all")
    assert read_public(fitted).predictors == ["id"]
    assert "beta[1] to beta[2] belong to: (Intercept), id." in _write(fitted)[1]
    (fitted / "release" / "run.toml").unlink()
    assert read_public(fitted).predictors == ["urban area"]


def test_both_pages_render_without_a_word_on_the_console(
    pages: tuple[str, str], visit: Callable[..., tuple[str, list[str]]], tmp_path: Path
) -> None:
    for page in pages:
        (tmp_path / "page.html").write_text(page)
        dom, said = visit(tmp_path / "page.html")
        assert said == []
        assert dom.count("<h1") == 1
        assert dom.count("<img ") == page.count("<img ")
    # The policy of the page forbids any fetch, and a try would be said: it is, once one is made.
    text = pages[0].replace("</main>", '<img src="https://example.org/x.png"></main>')
    (tmp_path / "fetches.html").write_text(text)
    _, said = visit(tmp_path / "fetches.html")
    assert len(said) == 1
    assert "Content Security Policy" in said[0]


def test_a_click_on_a_heading_sorts_a_table(
    pages: tuple[str, str], visit: Callable[..., tuple[str, list[str]]], tmp_path: Path
) -> None:
    board = pages[1]
    click = (
        "<script>for (const head of document.querySelectorAll('#risks ~ .scroll th:nth-child(2)'))"
        " head.querySelector('button').click();</script>"
    )
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", board)
    (tmp_path / "clicked.html").write_text(free.replace("</body>", click + "</body>"))
    dom, said = visit(tmp_path / "clicked.html")
    assert said == []
    sizes = [float(row[1]) for row in rows_of(dom, "The ten largest records")]
    assert sizes == sorted(sizes)
    assert sizes != [float(row[1]) for row in rows_of(board, "The ten largest records")]
    assert 'aria-sort="ascending"' in dom


@given(st.integers(0, 10**12))
@example(1_234_564)
@settings(max_examples=200, derandomize=True)
def test_a_figure_rounded_up_is_shown_whole(tenths: int) -> None:
    figure = tenths / 10
    assert float(formatted(figure)) == figure
