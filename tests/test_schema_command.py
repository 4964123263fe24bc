"""pyvws schema as a user meets it: a file to review, no value on the terminal, errors in a line."""

import json
import re
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from run_here import run_here

import pyvws as vws
from pyvws.commands.output import tell_release

_CANARY = "CANARY-Zx81"
_NUMBER = 8_675_309


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """An identifier, codes with zeros in front, text with marks of TOML and csv, and an amount."""
    frame = pl.DataFrame(
        {
            "person": [f"{_CANARY}-{i}" for i in range(40)],
            "zip": [f"{i % 4:03d}" for i in range(40)],
            "note": [*['a "quote"'] * 10, *["two\nlines"] * 10, *["a, b"] * 10, *[_CANARY] * 10],
            "pay": [*range(100, 139), _NUMBER],
        }
    )
    frame.write_csv(tmp_path / "people.csv")
    return tmp_path / "people.csv"


def test_a_proposal_is_written_and_says_what_to_review(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "schema.toml"
    run = run_here("schema", table, "--out", out)
    assert (run.code, run.err) == (0, "")
    assert stat.S_IMODE(out.stat().st_mode) == 0o600  # Its levels are values of the table.
    for word in ("person", "drop", "nominal", "levels", "values of its records: 8.", "review"):
        assert word in run.out, word
    for value in (_CANARY, str(_NUMBER), "quote", "002"):
        assert value not in run.out
    found = vws.Schema.read(out)
    assert found.columns["zip"].levels == ("000", "001", "002", "003")
    assert found.columns["note"].levels == (_CANARY, 'a "quote"', "a, b", "two\nlines")
    assert found.columns["pay"].range == (100.0, 9_000_000.0)
    assert len(found.to_review) == 8
    assert (found.reviewed, found.under_review) == (False, True)
    assert [path.name for path in tmp_path.iterdir() if path != table] == ["schema.toml"]


def test_a_proposal_names_the_command_that_accepts_it_where_it_can(
    table: Path, tmp_path: Path
) -> None:
    many = tmp_path / "many.csv"
    pl.DataFrame({"a": ["x", "y"] * 60, "b": ["u", "u", "v"] * 40}).write_csv(many)
    for source, can in ((many, True), (table, False)):
        out = tmp_path / f"{source.stem}.toml"
        told = " ".join(run_here("schema", source, "--out", out).out.split())
        assert ("--accept" in told) == can


def test_what_programs_read(table: Path, tmp_path: Path) -> None:
    run = run_here("schema", table, "--out", tmp_path / "s.toml", "--json")
    told = json.loads(run.out)
    assert (told["to_review"], told["reviewed"]) == (8, False)
    scaled = ["model", "range", "decimals", "outcome_scale", "outcome_unit"]
    assert told["columns"]["pay"]["review"] == scaled
    assert _CANARY not in run.out
    assert run_here("schema", table, "--out", tmp_path / "t.toml", "--quiet").out == ""


def test_a_proposal_accepted_as_it_is_says_so_in_the_statement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, out = tmp_path / "people.csv", tmp_path / "proposal.toml"
    pl.DataFrame({"a": ["x", "y"] * 60, "b": ["u", "u", "v"] * 40}).write_csv(table)
    assert run_here("schema", table, "--out", out, "--quiet").code == 0
    signed, mine = tmp_path / "schema.toml", tmp_path / "mine.toml"
    run = run_here("schema", out, "--accept", "A. Person", "--out", signed)
    assert (run.code, run.err) == (0, "")
    assert "without a look at the records" in " ".join(run.out.split())
    found = vws.Schema.read(signed)
    assert (found.reviewed, found.under_review, found.to_review) == ("A. Person", False, ())
    assert vws.Schema.read(out).under_review  # The proposal stays as it is.
    mine.write_text(signed.read_text().replace('reviewed = "A. Person"\n', ""))
    claims = []
    for schema in (out, signed, mine):
        made = vws.synthesize(
            pl.read_csv(table), schema=schema, mechanism="noisy-counts", epsilon=4.0, datasets=1
        )
        settings = made.privacy["relies_on"]["public_settings"]
        keys = {caveat["key"] for caveat in made.privacy["caveat_keys"]}
        signed = "proposed-and-signed" in keys
        claims.append(
            (made.privacy["guarantee"], settings.get("schema_was_proposed", False), signed)
        )
        assert "A. Person" not in json.dumps(made.privacy)
        tell_release(made.privacy, tmp_path, [], quiet=False, as_json=False)
        assert ("is under review" in capsys.readouterr().out) == (schema == out)
    assert claims == [("none", True, False), ("dp-if-public", True, True), ("dp", False, False)]
    for words, message in (
        ((mine, "--accept", "B", "--out", tmp_path / "x.toml"), "is no proposal"),
        ((out, "--accept", "B", "--plan", "--out", tmp_path / "x.toml"), "--plan forecasts"),
        ((out, "--accept", " ", "--out", tmp_path / "x.toml"), "reviewed must be"),
        ((out, "--accept", "B", "--out", out), "Name another file"),
    ):
        run = run_here("schema", *words)
        assert run.code in (1, 2)
        assert message in " ".join(run.err.split())
    assert not (tmp_path / "x.toml").exists()


@pytest.mark.usefixtures("rare_values_too")
@pytest.mark.parametrize(
    ("records", "levels", "taken"),
    [(49, 2, False), (50, 2, True), (200, 40, True), (200, 41, False)],
)
def test_a_proposal_from_few_records_for_its_values_is_not_accepted(
    tmp_path: Path, records: int, levels: int, taken: bool
) -> None:
    table, out, signed = (tmp_path / name for name in ("t.csv", "p.toml", "s.toml"))
    codes = [f"{_CANARY}-{i % levels}" for i in range(records)]
    others = {f"x{k}": np.random.default_rng(k).choice([*"abcde"], records) for k in range(9)}
    pl.DataFrame({"one": ["AT"] * records, "place": codes, **others}).write_csv(table)
    proposal = vws.Schema.propose(pl.read_csv(table))
    assert proposal.proposed_from == records
    assert (proposal.why_not_accepted is None) == taken
    printed = run_here("schema", table, "--out", out)
    run = run_here("schema", out, "--accept", "A. Person", "--out", signed)
    assert (run.code == 0, signed.exists()) == (taken, taken)
    assert _CANARY not in run.out + run.err
    for said in (printed.out, run.err):
        assert ("nearly the table" in " ".join(said.split())) != taken
        assert (": place." in " ".join(said.split())) == (records == 200 and not taken)
    if taken:
        assert "proposed_from" not in signed.read_text()
        return
    by_hand = out.read_text().replace("reviewed = false", "reviewed = true")
    out.write_text(re.sub("review = .*", "", by_hand))
    checked = vws.Schema.read(out)
    assert not checked.under_review  # Who checks each entry may sign.
    assert "proposed_from" not in checked.public_text
    assert "proposed_from" not in proposal.signed().text
    out.write_text(by_hand.replace(f"proposed_from = {records}", ""))
    assert run_here("schema", out, "--accept", "A. Person", "--out", signed).code == 1


@pytest.mark.usefixtures("rare_values_too")
def test_who_checks_the_crowded_columns_may_accept_the_rest() -> None:
    rng = np.random.default_rng(6)
    places = {name: rng.permutation([*range(60)] * 4) for name in ("town", "shop")}
    table = pl.DataFrame({**places, "pay": rng.normal(size=240)})
    proposal = vws.Schema.propose(table.with_columns(pl.col("town", "shop").cast(pl.String) + "x"))
    assert "town, shop." in str(proposal.why_not_accepted)
    checked = {
        name: replace(column, review=() if name in places else column.review)
        for name, column in proposal.columns.items()
    }
    rest = replace(proposal, columns=checked)
    assert rest.to_review
    assert not rest.accepted().under_review


def test_a_proposal_of_units_counts_units() -> None:
    rng = np.random.default_rng(5)
    homes = np.repeat(np.arange(60), 3)
    table = pl.DataFrame({"home": homes, "owner": rng.permutation(60)[homes] % 2})
    proposal = vws.Schema.propose(table)
    assert (proposal.unit, proposal.proposed_from) == ("home", 60)


def test_bad_input_is_one_line_and_nothing_is_written(table: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.toml"
    old.write_text("mine")
    before = table.read_bytes()
    twice = tmp_path / "twice.csv"
    twice.write_text("a,a\n1,2\n")
    empty = tmp_path / "empty.csv"
    empty.write_text("a,b\n")
    for arguments, message in [
        ((table, "--out", old), "old.toml exists. Name another file, or use --overwrite."),
        ((table, "--out", table, "--overwrite"), "people.csv is the table. Name another file."),
        ((tmp_path / "no.csv", "--out", tmp_path / "new.toml"), "no.csv"),
        ((twice, "--out", tmp_path / "new.toml"), "column names must differ."),
        ((empty, "--out", tmp_path / "new.toml"), "at least 1 record"),
        ((table, "--out", tmp_path / "no" / "new.toml"), "could not be written"),
    ]:
        run = run_here("schema", *arguments)
        assert run.code == 1
        assert run.out == ""
        assert run.err.startswith("Error: ")
        assert run.err.count("\n") == 1
        assert message in run.err
    assert old.read_text() == "mine"
    assert table.read_bytes() == before
    assert not (tmp_path / "new.toml").exists()
    assert run_here("schema", table, "--out", old, "--overwrite").code == 0
    assert vws.Schema.read(old).to_review


def test_a_header_that_may_be_a_record_stays_off_the_terminal(tmp_path: Path) -> None:
    table = tmp_path / "bare.csv"
    table.write_text("8675309,x\n3,y\n4,y\n")
    run = run_here("schema", table, "--out", tmp_path / "s.toml")
    assert run.code == 0
    assert "column 1" in run.out
    assert "add one before you go on" in " ".join(run.out.split())
    assert str(_NUMBER) not in run.out


def test_row_names_and_rules_that_a_few_records_break_are_said(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    marital = rng.choice(["single", "married"], 900)
    year = np.where(marital == "single", "", rng.integers(1950, 2020, 900).astype(str))
    year[np.flatnonzero(marital == "single")[:3]] = "1999"
    rows = [f'"{k + 1}",{a},{b},2023{1 + k % 9:02d}{1 + k % 28:02d}' for k, (a, b) in
            enumerate(zip(marital, year, strict=True))]  # fmt: skip
    (tmp_path / "r.csv").write_text("\n".join(['"","marital","year","visit"', *rows, ""]))
    run = run_here("schema", tmp_path / "r.csv", "--out", tmp_path / "s.toml")
    assert (run.code, run.err) == (0, "")
    said = " ".join(run.out.split())
    assert "row names" in said
    assert "year: a rule by marital holds but for 3 records" in said
    assert re.search("visit: .* look like dates", said)
    assert "holds but for" not in (tmp_path / "s.toml").read_text()
    assert [*vws.Schema.read(tmp_path / "s.toml").columns] == ["marital", "year", "visit"]


def test_a_run_by_a_schema_keeps_codes_and_columns_as_they_were_written(tmp_path: Path) -> None:
    """Codes with zeros in front, and public columns of types that no model takes."""
    days = [f"2020-01-{1 + i % 28:02d}" for i in range(120)]
    table = pl.DataFrame(
        {"zip": [f"{i % 4:03d}" for i in range(120)], "day": days, "sex": ["f", "m", "m"] * 40}
    )
    table.write_csv(tmp_path / "people.csv")
    (tmp_path / "schema.toml").write_text(
        '[columns.zip]\nmodel = "ordinal"\nlevels = ["000", "001", "002", "003"]\npredictors = []\n'
        '[columns.day]\nrole = "public"\n'
        '[columns.sex]\nmodel = "logistic"\nlevels = ["f", "m"]\npredictors = ["zip"]\n'
    )
    run = run_here(
        "synthesize", tmp_path / "people.csv", "--schema", tmp_path / "schema.toml",
        "--mechanism", "unweighted", "--datasets", 1, "--draws", 100, "--warmup", 200,
        "--chains", 2, "--quiet", "--out", tmp_path / "out",
    )  # fmt: skip
    assert run.code == 0, run.err
    (made,) = (tmp_path / "out" / "release").glob("synthetic-*.csv")
    synthetic = pl.read_csv(made, infer_schema=False)
    assert synthetic.columns == table.columns
    assert sorted(synthetic["day"]) == sorted(days)
    assert set(synthetic["zip"]) <= {"000", "001", "002", "003"}
    assert set(synthetic["sex"]) <= {"f", "m"}


_SCHEMA = """
[columns.sex]
role = "public"
levels = ["f", "m"]

[columns.code]
model = "ordinal"
levels = ["00", "01", "02"]
missing = true

[columns.pay]
model = "normal"
range = [0, 20]
decimals = 2
predictors = ["code"]
"""
_FAST = ["--draws", "60", "--warmup", "150", "--chains", "2", "--datasets", "2", "--quiet"]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table as csv, parquet and Arrow, and its schema."""
    folder = tmp_path_factory.mktemp("people")
    frame = pl.DataFrame(
        {
            "sex": ["f", "m", "m"] * 40,
            "code": [None if i % 9 == 0 else f"{i % 3:02d}" for i in range(120)],
            "pay": [8.0 + i % 13 / 8 for i in range(120)],
            "note": [_CANARY] * 120,
        }
    )
    frame.write_csv(folder / "people.csv")
    frame.write_parquet(folder / "people.parquet")
    frame.write_ipc(folder / "people.arrow")
    (folder / "schema.toml").write_text(_SCHEMA)
    return folder


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_run_s_own_settings_repeat_it_byte_for_byte(people: Path, tmp_path: Path) -> None:
    table = people / "people.csv"
    run = run_here(
        *("synthesize", table, "--schema", people / "schema.toml", "--mechanism", "sw"),
        *("--match", 5, "--seed", 1 << 60, "--out", tmp_path / "first", *_FAST),
    )
    assert run.code == 0, run.err
    first = tmp_path / "first"
    for config, seed in (
        (first / "release" / "run.toml", ["--seed", 1 << 60]),
        (first / "confidential" / "run.toml", []),
    ):
        again = tmp_path / config.parent.name
        run = run_here("synthesize", table, "--config", config, *seed, "--quiet", "--out", again)
        assert run.code == 0, run.err
        assert _files(again / "release") == _files(first / "release")
        for name in ("run.toml", "schema.toml", "records.parquet", "posterior.parquet"):
            files = [(out / "confidential" / name).read_bytes() for out in (again, first)]
            assert files[0] == files[1], name
    # The command line overrides the file, and a file that lies elsewhere names its schema's place.
    moved = tmp_path / "moved.toml"
    moved.write_bytes((first / "release" / "run.toml").read_bytes())
    (tmp_path / "other.toml").write_text(_SCHEMA.replace("decimals = 2", "decimals = 1"))
    run = run_here("synthesize", table, "--config", moved, "--out", tmp_path / "no")
    assert run.code == 1
    assert run.err.startswith(f"Error: {tmp_path / 'schema.toml'}: cannot be read.")
    run = run_here(
        *("synthesize", table, "--config", moved, "--schema", tmp_path / "other.toml"),
        *("--quiet", "--out", tmp_path / "other"),
    )
    assert run.code == 0, run.err
    assert "decimals = 1" in (tmp_path / "other" / "release" / "schema.toml").read_text()
    assert not (tmp_path / "no").exists()


def test_every_format_gives_the_same_table_and_nothing_confidential(
    people: Path, tmp_path: Path
) -> None:
    made = {}
    for kind in ("csv", "parquet", "arrow"):
        out = tmp_path / kind
        run = run_here(
            *("synthesize", people / f"people.{kind}", "--schema", people / "schema.toml"),
            *("--mechanism", "lw", "--seed", 7, "--out", out, *_FAST),
        )
        assert run.code == 0, run.err
        assert _CANARY not in run.out + run.err
        (path,) = (out / "release").glob(f"synthetic-01.{kind}")
        read = {"csv": pl.scan_csv, "parquet": pl.scan_parquet, "arrow": pl.scan_ipc}[kind]
        frame = read(path, **({"infer_schema": False} if kind == "csv" else {})).collect()
        made[kind] = frame.with_columns(pl.col("pay").cast(pl.Float64))
        assert all(_CANARY.encode() not in content for content in _files(out / "release").values())
    assert made["csv"].columns == ["sex", "code", "pay"]
    assert made["csv"].equals(made["parquet"])
    assert made["parquet"].equals(made["arrow"])
    assert set(made["csv"]["code"].drop_nulls()) <= {"00", "01", "02"}
    assert made["csv"]["code"].null_count() > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--schema", "{people}/nothing.toml"], "nothing.toml: cannot be read. Name a TOML file"),
        (["--schema", "{people}"], "cannot be read. Name a TOML file"),
        (["--schema", "{people}/people.csv"], "people.csv: not TOML"),
        (["--schema", "{schema}", "--outcome", "pay"], "Leave outcome out."),
        (["--schema", "{schema}", "--formula", "~ sex", "--keep", "all"], "formula, keep out."),
        (["--schema", "{schema}", "--keep", "sex", "--model", "poisson"], "keep, model out."),
        (["--schema", "{short}"], "has 40 values that are not among the given levels"),
        (["--schema", "{unknown}"], "names column 'coda', which the table lacks. Did you mean"),
        (["--schema", "{late}"], "predictor 'pay' comes later in the order of synthesis"),
        (["--schema", "{ruled}"], "Column 'pay': rule 'missing where code = 0' cannot be read."),
    ],
)
def test_a_run_by_a_schema_that_cannot_be_is_one_line(
    people: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    changes = {
        "schema": ("", ""),
        "short": ('"01", "02"]', '"01"]'),
        "unknown": ("columns.code]", "columns.coda]"),
        "late": ("missing = true", 'missing = true\npredictors = ["pay"]'),
        "ruled": ("decimals = 2", 'rule = "missing where code = 0"'),
    }
    paths = {"people": people}
    for name, (old, new) in changes.items():
        paths[name] = tmp_path / f"{name}.toml"
        text = _SCHEMA.replace(old, new)
        paths[name].write_text(text.replace('["code"]', "[]") if name == "unknown" else text)
    before = sorted(tmp_path.iterdir())
    filled = [option.format(**paths) for option in options]
    filled += ["--mechanism", "lw", "--out", str(tmp_path / "out")]
    run = run_here("synthesize", people / "people.csv", *filled)
    assert run.code == (2 if message.endswith(" out.") else 1)
    assert run.out == ""
    assert run.err.startswith("Error: ")
    assert run.err.count("\n") == 1
    assert message in run.err
    assert _CANARY not in run.err
    assert sorted(tmp_path.iterdir()) == before
