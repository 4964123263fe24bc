"""The sheets that a board decides by: epsilon in words, fails first, risks by keys, a signature."""

import html
import math
import re
import shutil
from datetime import date
from decimal import Decimal, getcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from page_tables import rows_of
from run_here import run_here

import pyvws as vws
from pyvws._base.phrase import Phrase
from pyvws.evaluation.known_keys import KnownKeys
from pyvws.evaluation.table_risk import RiskScore, table_risk
from pyvws.report.board_decision import BoardCheck, checks
from pyvws.report.epsilon_in_words import epsilon_in_words, factor, largest_belief
from pyvws.report.output_folder import DatasetFile, PublicPart, read_confidential, read_public
from pyvws.report.page import Heading
from pyvws.report.public_page import public_page, statement_facts
from pyvws.report.reports import write_pages
from pyvws.sheet import number
from pyvws.statement.words import GUARANTEES, SIGNED, caveat

pytestmark = pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")

_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_NONE = {
    **{"guarantee": "none", "neighbours": "leave-one-out", "unit_of_privacy": "one record"},
    "caveat_keys": [],
}


def _value(text: str) -> Decimal:
    digits, _, power = text.partition(" × 10")
    return Decimal(digits.replace(",", "")) * 10 ** Decimal(power.translate(_DIGITS) or 0)


@given(st.floats(0.0, 2000.0))
@example(0.0)
@example(math.log(10) * 6)
@example(math.log(999_999.9))
@example(math.log(9.999))
@settings(max_examples=200, derandomize=True)
def test_a_factor_is_never_too_small_and_at_most_a_tenth_too_large(epsilon: float) -> None:
    getcontext().prec = 40
    exact = Decimal(epsilon).exp()
    assert exact * Decimal("0.999999999999") <= _value(factor(epsilon)) <= exact * Decimal("1.11")


@given(st.floats(0.0, 15.0))
@settings(max_examples=50, derandomize=True)
def test_a_guess_is_lifted_by_the_factor_of_its_odds(epsilon: float) -> None:
    before, after = 0.01, largest_belief(epsilon)
    assert after / (1 - after) == pytest.approx(before / (1 - before) * math.exp(epsilon), rel=1e-6)


def _words(**entries: Any) -> tuple[str, list[tuple[str, ...]]]:
    figures = {"datasets": 3, "epsilon_per_dataset": 1.0, "epsilon_total": 3.0}
    text, table = epsilon_in_words({**_NONE, **figures, **entries})
    return text, list(table.rows)


def test_words_follow_the_claim() -> None:
    text, rows = _words()
    assert text.startswith("The release claims no guarantee.")
    assert [row[:3] for row in rows] == [
        ("one dataset", "1", "2.72"),
        ("all 3 datasets together", "3", "20.1"),
    ]
    assert rows[0][3] == "2.7 %"
    text, rows = _words(guarantee="approximate-dp", delta=1e-5, epsilon_total=1.0)
    assert "probability about 1e-05" in text
    assert [row[0] for row in rows] == ["all 3 datasets together"]
    certified = {"neighbours": "replace-one", "epsilon_per_dataset": 20.0, "epsilon_total": 60.0}
    text, rows = _words(guarantee="dp", certified=certified)
    assert text.startswith("Replacing one record")
    assert [row[1] for row in rows] == ["20", "60"]
    assert all("no bound" in row[3] for row in rows)


def test_words_name_what_the_claim_rests_on() -> None:
    certified = {"neighbours": "replace-one", "epsilon_per_dataset": 1.0, "epsilon_total": 3.0}
    text, _ = _words(guarantee="dp-if-bounded", certified=certified)
    assert "in the public range" in text
    chains = [{"key": "as-if-exact"}]
    assert "exact draws" in _words(guarantee="dp", certified=certified, caveat_keys=chains)[0]
    assert "exact draws" not in _words(guarantee="dp", certified=certified)[0]
    assert "weights as given" in _words(guarantee="asymptotic-dp")[0]


def test_a_guess_at_values_costs_twice_where_a_record_is_left_out() -> None:
    """The factor e^ε of leave-one-out is of presence alone: two tables with one record each."""
    left_out, _ = _words(guarantee="dp")
    assert "For a guess at values, ε counts twice." in left_out
    for kind, beliefs in (("leave-one-out", ["2.7 %", "7 %"]), ("replace-one", ["2.7 %"])):
        replaced, rows = _words(guarantee="dp", neighbours=kind)
        assert list(rows[0][3:]) == beliefs
    assert "twice" not in replaced
    units, _ = _words(unit_of_privacy="all records of one household")
    assert "adding or removing all records of one household" in units
    shown = [{"key": "records"}]
    assert "number of records" in _words(guarantee="asymptotic-dp", caveat_keys=shown)[0]
    assert "number of records" not in left_out


@pytest.mark.parametrize("epsilon", [None, math.inf])
def test_an_epsilon_that_is_not_finite_limits_nothing(epsilon: float | None) -> None:
    _, rows = _words(epsilon_per_dataset=epsilon, epsilon_total=epsilon)
    (row,) = rows
    assert row[1:3] == ("not finite", "no limit")
    assert "no bound" in row[3]


@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("neighbours", ["leave-one-out", "replace-one"])
@pytest.mark.parametrize("unit", ["one record", "all records of one household"])
def test_each_sentence_of_the_words_is_short(guarantee: str, neighbours: str, unit: str) -> None:
    keys = [{"key": "as-if-exact"}, {"key": "records"}]
    entries = {"guarantee": guarantee, "neighbours": neighbours, "unit_of_privacy": unit}
    text, _ = _words(**entries, delta=1e-6, caveat_keys=keys)
    sentences = re.split(r"(?<=\.) (?=[A-Z])", text)
    assert [sentence for sentence in sentences if len(sentence.split()) > 25] == []


def _table() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    sex, age = rng.integers(0, 2, 200), rng.integers(0, 5, 200)
    return pd.DataFrame({"sex": sex, "age": age, "ill": (rng.random(200) < 0.1 + 0.1 * age) * 1})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    entries = {
        name: vws.Column(model="table", levels=[str(level) for level in range(count)])
        for name, count in (("sex", 2), ("age", 5), ("ill", 2))
    }
    release = vws.synthesize(
        _table(), schema=vws.Schema(entries), mechanism="lw", datasets=2, draws=100, seed=1
    )
    folder = tmp_path_factory.mktemp("decision")
    _table().to_csv(folder / "table.csv", index=False)
    return release.write(folder / "out").parent


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "all"))


def test_the_board_decides_on_sheets_before_the_appendix(folder: Path) -> None:
    run = run_here(
        *("report", folder / "out", "--original", folder / "table.csv", "--keys", "sex,age"),
        *("--target", "ill", "--agency", "Office <of> Numbers", "--title", "People"),
    )
    assert run.code == 0, run.err
    board, public = (
        (folder / "out" / part / "report.html").read_text() for part in ("confidential", "release")
    )
    sheets, appendix = board.split('class="appendix')
    for page in (board, public):
        assert "<h1>People: " in page
        assert "Office &lt;of&gt; Numbers, " in page
        assert str(date.today().year) in page
    tones = re.findall(r'<li class="(\w+)">', sheets)
    assert tones == sorted(tones, key=["bad", "warn", "good"].index)
    exact = read_confidential(folder / "out").summary["privacy"]
    replaced = exact["epsilon_by_neighbours"]["replace-one"]["of_window"]
    assert f"{number(replaced)} where a record is replaced" in sheets
    for part in ("What epsilon says", "Risks by keys"):
        assert rows_of(sheets, part)
    assert 'id="decision"' in sheets
    assert 'id="statement"' in appendix
    files = sorted((folder / "out/release").glob("*.csv"))
    risk = table_risk(
        _table(), [pd.read_csv(file) for file in files], keys=["sex", "age"], target=["ill"]
    )
    in_words = rows_of(sheets, "Risks by keys")
    assert [[row[0].rsplit("(")[-1].rstrip(")"), *row[1:]] for row in in_words] == [
        [score.name, *map(number, (score.value, score.without_synthesis, score.independent))]
        for score in risk.scores
    ]
    # The public page has nothing of the keys, which come from the confidential table.
    assert "replicated_uniques" not in public


def test_without_keys_the_board_has_the_risks_by_those_of_the_schema(folder: Path) -> None:
    run = run_here("report", folder / "out", "--original", folder / "table.csv")
    assert run.code == 0, run.err
    board, public = (
        html.unescape((folder / "out" / part / "report.html").read_text())
        for part in ("confidential", "release")
    )
    sheets, appendix = board.split('class="appendix')
    schema = vws.Schema.read(folder / "out/release/schema.toml")
    files = sorted((folder / "out/release").glob("*.csv"))
    risk = table_risk(_table(), [pd.read_csv(file) for file in files], schema=schema)
    assert risk.known.words in sheets
    assert [row[1] for row in rows_of(sheets, "Risks by keys")] == [
        number(score.value) for score in risk.scores
    ]
    assert rows_of(appendix, "Which key makes the risk") == [list(x) for x in risk.by_key.cells]
    assert "Which key" not in public


def test_the_board_reads_of_attacks_beside_a_holdout_and_nobody_else(folder: Path) -> None:
    table, held = _table(), _table().sample(frac=1.0, replace=True, random_state=3)
    held.to_csv(folder / "held.csv", index=False)
    asked = ["--keys", "sex,age", "--target", "ill", "--holdout", folder / "held.csv"]
    run = run_here("report", folder / "out", "--original", folder / "table.csv", *asked)
    assert run.code == 0, run.err
    board, public = (
        html.unescape((folder / "out" / part / "report.html").read_text())
        for part in ("confidential", "release")
    )
    files = sorted((folder / "out/release").glob("*.csv"))
    datasets = [pd.read_csv(file) for file in files]
    found = vws.attack_risk(table, datasets, control=held, keys=["sex", "age"], secret="ill")
    rows = rows_of(board.split('class="appendix')[1], "Attacks on the synthetic datasets")
    assert rows == [list(row) for row in found.sheet.cells]
    assert {"linkability", "inference ill", "membership"} <= {row[0] for row in rows}
    assert "a small figure proves nothing" in board.split('class="appendix')[0]
    assert "A small figure proves nothing" in board
    for word in ("linkability", "membership", "singling out"):
        assert word not in public
    sure = found.scores[-1].__class__("membership", 0.9, 0.5, 0.8, 0.7, 0.9, 0.5, 9, 9)
    seen: Any = SimpleNamespace(same_file=True, by_keys=None, risk=None, attacks=None)
    for scores, tone, said in (((sure,), "warn", "membership 0.8."), ((), "good", "No attack")):
        seen.attacks = SimpleNamespace(scores=scores)
        joint = {"score": 960.0, "independent": 910.0, "bootstrap": 980.0}
        (told,) = [check for check in _checks(joint, seen) if "find faults" in check.text]
        assert (told.tone, said in told.text) == (tone, True)


@pytest.mark.parametrize("reviewed", ["A. Person", None])
def test_both_pages_say_that_a_claim_rests_on_a_signed_proposal(
    tmp_path: Path, reviewed: str | None
) -> None:
    columns = {
        name: vws.Column(model="table", levels=[str(level) for level in range(count)])
        for name, count in (("sex", 2), ("age", 5), ("ill", 2))
    }
    mechanism = vws.NoisyCounts(epsilon=4.0, classes=3, measure="pairs")
    schema = vws.Schema(columns, reviewed=reviewed, proposed_entries=reviewed and 6)
    release = vws.synthesize(_table(), schema=schema, mechanism=mechanism, datasets=2, seed=1)
    out = release.write(tmp_path / "out")
    paths = write_pages(out, read_public(out), read_confidential(out), None, Heading("T", "A"))
    said = caveat(Phrase(SIGNED))
    pages = [html.unescape(path.read_text()) for path in paths]
    title = GUARANTEES["dp-if-public"][0]
    signed = reviewed is not None
    for page in pages:
        assert (said in page) == signed
        assert f"guarantee is: {title}" in page or not signed or page is pages[0]
    assert "A. Person" not in pages[0]
    assert ("A. Person signed that it is. 6 of the entries came from the" in pages[1]) == signed
    decided = checks(read_public(out), release.summary, None)
    tones = [check.tone for check in decided if "signed that" in check.text]
    assert tones == (["warn"] if signed else [])
    left = b"".join(file.read_bytes() for file in (out / "release").iterdir())
    assert not any(word in left for word in (b"A. Person", b"proposed_entries"))
    assert epsilon_in_words(release.privacy)[0] in pages[1]


def test_a_release_that_was_not_compared_says_what_is_missing(folder: Path) -> None:
    out = folder / "out"
    heading = Heading("T", "A")
    paths = write_pages(out, read_public(out), read_confidential(out), None, heading)
    board = html.unescape(paths[1].read_text())
    assert "by --original" in board
    shutil.rmtree(out / "confidential")
    assert public_page(read_public(out), heading) == paths[0].read_text()


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--keys", "sex"], 2, "Add --original"),
        (["--original", "{table}", "--target", "ill"], 2, "Add --keys"),
        (["--original", "{table}", "--holdout", "{table}"], 2, "Add --keys"),
        (["--original", "{table}", "--keys", "sex", "--holdout", "{table}"], 1, "(--target)"),
        (["--original", "{table}", "--keys", "town"], 1, "town"),
    ],
)
def test_keys_that_cannot_be_measured_write_nothing(
    folder: Path, options: list[str], code: int, said: str
) -> None:
    options = [option.format(table=folder / "table.csv") for option in options]
    run = run_here("report", folder / "out", *options)
    assert run.code == code
    assert said in run.err.splitlines()[-1]
    assert list(folder.rglob("report.html")) == []


_BARE = {
    **{"guarantee": "none", "certified": None, "epsilon_total": 1.0, "ledger": []},
    **{"neighbours": "leave-one-out", "columns_released_unchanged": [], "counts": {}},
    "caveats": [],
}
_HELP = "Take a larger epsilon, or count fewer sets."


def _checks(joint: dict[str, Any], evidence: Any = None) -> list[BoardCheck]:
    public = PublicPart(_BARE, [], [], None, [])
    summary = {"privacy": _BARE, "column_checks": {"k_marginal": joint}}
    return checks(public, summary, evidence)


@pytest.mark.parametrize(
    ("score", "independent", "bootstrap", "margin", "tone", "words"),
    [
        (960.0, 910.0, 980.0, 2.0, "good", "better than independent columns. They go 71%"),
        (936.6, 936.4, 957.6, 0.0, "warn", f"hardly better {{}} 1% of the way {{}} {_HELP}"),
        (924.9, 910.0, 985.0, 2.0, "warn", "hardly better"),
        (925.1, 910.0, 985.0, 2.0, "good", "better than independent columns. They go 20%"),
        (912.0, 910.0, 917.0, 3.0, "warn", "hardly better"),
        (914.0, 910.0, 917.0, 3.0, "good", "better than independent columns. They go 57%"),
        (900.0, 910.0, 980.0, 2.0, "bad", f"worse than independent columns. {_HELP}"),
        (985.0, 990.0, 988.0, 4.0, "good", "as near to the data as a second sample"),
        (979.0, 990.0, 988.0, 4.0, "warn", "hardly better"),
    ],
)
def test_a_pass_takes_a_fifth_of_the_way_and_more_than_chance(
    score: float, independent: float, bootstrap: float, margin: float, tone: str, words: str
) -> None:
    joint = {"score": score, "independent": independent, "bootstrap": bootstrap}
    own = {**joint, "margin": margin, "help": _HELP}
    (told,) = [check for check in _checks(own) if "independent columns" in check.text]
    assert told.tone == tone
    assert all(part in told.text for part in words.split(" {} "))
    assert (_HELP in told.text) == (tone != "good")
    if margin == 0.0:  # The summary of an earlier run has neither.
        (told,) = [check for check in _checks(joint) if "independent columns" in check.text]
        assert told.tone == tone


@pytest.mark.parametrize(
    ("value", "chance", "margin", "tone", "words"),
    [
        (0.002, 0.0015, 0.001, "good", "no more than chance explains: of records drawn"),
        (0.002, 0.0, 0.003, "good", "no more than chance explains: of records drawn"),
        (0.02, 0.0015, 0.001, "bad", "more than chance explains"),
    ],
)
def test_copies_of_lone_records_are_judged_with_their_own_chance(
    value: float, chance: float, margin: float, tone: str, words: str
) -> None:
    """A single lone record of many equal ones may be drawn twice: the data's share is smaller."""
    copies = RiskScore(
        "copies_of_uniques", value, (value,), 0.001, 0.0, "", chance=chance, chance_margin=margin
    )
    other = RiskScore("closest", 0.5, (0.5,), 1.0, 0.2, "")
    by_keys: Any = SimpleNamespace(scores=(copies, other), known=KnownKeys(("age",)))
    evidence: Any = SimpleNamespace(same_file=True, by_keys=by_keys, risk=None, attacks=None)
    joint = {"score": 960.0, "independent": 910.0, "bootstrap": 980.0}
    found = _checks(joint, evidence)
    (told,) = [check for check in found if "Lone records" in check.text]
    assert (told.tone, words in told.text) == (tone, True)
    assert not any("exceed" in check.text for check in found)


def test_an_original_that_is_spelled_otherwise_has_the_same_copies_on_the_page(
    folder: Path,
) -> None:
    shown = {}
    table = _table()
    for name, original in {
        "as it is": table,
        "in words": table.astype({"ill": float}).assign(sex=table["sex"].map("0{} ".format)),
    }.items():
        original.to_csv(folder / "original.csv", index=False)
        run = run_here(
            *("report", folder / "out", "--original", folder / "original.csv", "--overwrite"),
            *("--keys", "sex,age", "--target", "ill"),
        )
        assert run.code == 0, run.err
        page = (folder / "out/confidential/report.html").read_text()
        shown[name] = rows_of(page.split('class="appendix')[0], "Risks by keys")
        assert "Lone records: " in page
    assert shown["as it is"] == shown["in words"]
    table.assign(sex=table["sex"].map(["x", "y"].__getitem__)).to_csv(
        folder / "original.csv", index=False
    )
    run = run_here(
        *("report", folder / "out", "--original", folder / "original.csv", "--overwrite")
    )
    assert run.code == 1
    assert "hardly a value in common" in run.err
    assert "sex" in run.err.splitlines()[-1]


def test_each_epsilon_at_the_top_has_its_neighbours() -> None:
    """A strict claim under replace-one neighbours stands beside figures of leave-one-out ones."""
    privacy = {
        **{"neighbours": "leave-one-out", "epsilon_per_dataset": 3.0, "epsilon_total": 60.0},
        "certified": {
            **{"neighbours": "replace-one", "epsilon_per_dataset": 6.0, "epsilon_total": 120.0}
        },
        "epsilon_by_neighbours": {
            "leave-one-out": {"total_by_delta": {"1e-06": 45.8}},
            "replace-one": {"total_by_delta": {"1e-06": 104.8}},
        },
        **{"unit_of_privacy": "one record", "datasets": 20, "draws_released": 20},
    }
    notes = {name: (value, note) for name, value, note in statement_facts(privacy, "9")}
    assert notes["Certified ε of all datasets"] == ("120", "replace-one neighbours, 6 a dataset")
    for name, value in (("ε of a dataset", "3"), ("ε of all datasets", "60")):
        assert notes[name] == (value, "leave-one-out neighbours, not certified")
    assert notes["ε of all datasets, δ = 1e-06"] == ("104.8", "replace-one neighbours")
    assert notes["Unit of privacy"] == ("one record", "replace-one neighbours")
    del privacy["certified"]
    notes = {name: note for name, _, note in statement_facts(privacy, "9")}
    assert notes["ε of a dataset"] == notes["Unit of privacy"] == "leave-one-out neighbours"


@pytest.mark.parametrize(
    ("largest", "lost", "tones"), [(2.0, 40, ("bad", "warn")), (0.5, 0, ("good", "good"))]
)
def test_the_board_reads_of_delta_cap_schema_window_and_audit(
    largest: float, lost: int, tones: tuple[str, str]
) -> None:
    privacy = {
        **_BARE,
        **{"delta": 1e-6, "unit_column": "home", "counts": {"cap": 2}, "epsilon_of_window": 0.7},
        "relies_on": {"public_settings": {"schema": "schema.toml"}},
    }
    public = PublicPart(
        privacy, [DatasetFile(Path("x"), 1000, 1, "")], [], None, [], {"records": 3}
    )
    summary = {
        **{"privacy": privacy, "records": 1000, "records_in_no_cell": {"records": lost}},
        "audit": {"largest": largest, "stated": 1.0},
    }
    said = {check.text: check.tone for check in checks(public, summary, None)}

    def tone(words: str) -> str:
        (found,) = (tone for text, tone in said.items() if words in text)
        return found

    assert tone("δ = 1e-06 is small for 1,000 rows") == "good"
    assert tone("With weights held fixed a dataset costs 0.7") == "warn"
    assert tone("every entry of the schema is known") == "warn"
    assert tone(f"the largest loss is {largest:g}, and 1 is stated") == tones[0]
    assert tone(f"At most 2 records of each home were counted. That left out {lost} ") == tones[1]
    for text in said:
        assert max(len(x.split()) for x in re.split(r"(?<=[.:]) (?=[A-Z])", text)) <= 25
