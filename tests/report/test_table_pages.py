"""Both pages of a table: its joint cost, margins, pairs, and which column makes records risky."""

import html
import json
import re
import shutil
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from page_tables import rows_of
from refusals import refused

import pyvws as vws
from pyvws import Column, Schema, associations
from pyvws.evaluation.one_column import LevelMargin
from pyvws.report import page as page_module
from pyvws.report import released_columns
from pyvws.report.codebook import codebook
from pyvws.report.deciding_pictures import (
    column_pictures,
    guess_picture,
    noise_picture,
    score_picture,
)
from pyvws.report.evidence import gather
from pyvws.report.margins import NumberMargin, margin_of, scores_of
from pyvws.report.output_folder import DatasetFile, PublicPart, read_confidential, read_public
from pyvws.report.page import Heading, formatted
from pyvws.report.public_page import public_page
from pyvws.report.released_columns import ReportedColumn, read_values, valued
from pyvws.report.reports import write_pages
from pyvws.sheet import number

pytestmark = pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")

N = 150
_HEADING = Heading(day=date(2026, 2, 3))  # The pages of two days differ.
_RNG = np.random.default_rng(5)
_EDU = _RNG.choice(["low", "mid", "high"], N, p=[0.5, 0.3, 0.2])
_PAY = 9.0 + 1.5 * (_EDU == "high") + _RNG.normal(0.0, 0.5, N)
TABLE = pd.DataFrame(
    {
        "zip": [f"{i % 3:03d}" for i in range(N)],
        "a <b>": _RNG.poisson(3.0, N),
        "edu": np.where(_RNG.random(N) < 0.1, None, _EDU),
        "pay": _PAY.round(2),
        "owner": _RNG.choice([1, 2], N),
    }
)
SCHEMA = Schema(
    {
        "zip": Column(role="public", levels=("000", "001", "002")),
        "edu": Column(model="ordinal", levels=("low", "mid", "high"), missing=True),
        "pay": Column(model="normal", range=(0.0, 20.0), decimals=2),
        "owner": Column(model="logistic", levels=("1", "2"), predictors=("edu",)),
        "a <b>": Column(model="poisson", range=(0.0, 50.0)),
    }
)


@pytest.fixture(scope="module")
def release() -> vws.Release:
    return vws.synthesize(
        TABLE, schema=SCHEMA, mechanism="lw", datasets=3, draws=60, warmup=150, chains=2, seed=1
    )


@pytest.fixture(scope="module")
def made(release: vws.Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release.write(tmp_path_factory.mktemp("made") / "out")


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


def _evidence(public: PublicPart) -> Any:
    data = pl.from_pandas(TABLE)
    columns = (public.values(one, data=data[one.name]) for one in public.synthetic)
    return gather(columns, same_file=None, alone=False, scores=scores_of(public, data, SCHEMA))


def _write(out: Path) -> tuple[str, str]:
    public = read_public(out)
    paths = write_pages(out, public, read_confidential(out), _evidence(public), _HEADING)
    return paths[0].read_text(encoding="utf-8"), paths[1].read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pages(made: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    copied = tmp_path_factory.mktemp("pages") / "out"
    shutil.copytree(made, copied)
    return _write(copied)


def _own(out: Path, name: str) -> list[pl.Series]:
    kept = pl.String if name in ("zip", "edu") else None
    files = sorted((out / "release").glob("*.csv"))
    return [pl.read_csv(file, schema_overrides=kept and {name: kept})[name] for file in files]


def test_the_public_page_is_made_from_the_release_alone(out: Path, pages: tuple[str, str]) -> None:
    shutil.rmtree(out / "confidential")
    assert public_page(read_public(out), _HEADING) == pages[0]


def test_the_codebook_says_what_the_schema_and_the_datasets_say(
    made: Path, pages: tuple[str, str]
) -> None:
    rows = {row[0]: row[1:] for row in rows_of(pages[0], "The columns.")}
    empty = np.mean([own.is_null().mean() for own in _own(made, "edu")])
    assert rows["zip"] == ["released unchanged", "text", "000, 001, 002", "none", ""]
    assert rows["edu"] == ["synthetic", "text", "low, mid, high", f"empty: {empty:.1%}", ""]
    assert rows["pay"] == ["synthetic", "numbers", "0 to 20, 2 decimals", "none", ""]
    assert rows["owner"] == ["synthetic", "numbers", "1, 2", "none", ""]
    assert rows["a <b>"] == ["synthetic", "numbers", "0 to 50, whole numbers", "none", ""]


def test_columns_are_read_as_the_schema_says(made: Path) -> None:
    public = read_public(made)
    kinds = {one.name: (one.synthetic, one.levels) for one in public.columns}
    assert list(kinds) == list(TABLE)
    assert kinds["zip"] == (False, ("000", "001", "002"))
    assert kinds["edu"] == (True, ("low", "mid", "high", "(empty)"))
    assert kinds["owner"] == (True, ("1", "2"))
    assert kinds["pay"] == kinds["a <b>"] == (True, None)
    assert (public.outcome, public.predictors) == ("a <b>", ["zip", "edu", "pay", "owner"])
    for column, (_, levels) in zip(public.columns, kinds.values(), strict=True):
        for read, values in zip(public.values(column).tables, _own(made, column.name), strict=True):
            known = read if levels is None else [levels[code] for code in read]
            cells = values.fill_null("(empty)") if levels else values
            assert list(known) == [str(cell) if levels else cell for cell in cells]


def test_both_pages_have_the_joint_cost_and_each_columns_part(
    release: vws.Release, pages: tuple[str, str]
) -> None:
    privacy, exact = release.privacy, release.summary["privacy"]
    for page, statement, said in zip(pages, (privacy, exact), (formatted, number), strict=True):
        rows = rows_of(page, "The synthesized columns in their order")
        assert rows == [
            [*(one["name"], one["model"], ", ".join(one["predictors"])), said(one["epsilon_alone"])]
            for one in statement["columns"]
        ]
    joint, apart = privacy["epsilon_per_dataset"], privacy["epsilon_of_separate_runs"]
    assert (
        f"A dataset has ε = {formatted(joint)} for all columns together. A separate run" in pages[0]
    )
    assert f"each column would cost ε = {formatted(apart)} in all, and" in pages[0]
    assert joint < apart
    for name in ("epsilon_per_dataset", "epsilon_of_separate_runs", "epsilon_total"):
        for digits in (4, 6, 17):
            figure = f"{exact[name]:.{digits}g}"
            assert figure == formatted(privacy[name]) or figure not in pages[0]


def test_pages_are_well_formed_and_names_are_text(pages: tuple[str, str]) -> None:
    for page, images in zip(pages, (6, 11), strict=True):
        assert page.count("<img ") == images
        assert "<b>'" not in page
        assert "a <b>" not in page
        assert "&#39;a &lt;b&gt;&#39;, &#39;edu&#39;, &#39;pay&#39; and &#39;owner&#39;" in page
        levels = [int(level) for level in re.findall(r"<h(\d)", page)]
        assert all(after <= before + 1 for before, after in pairwise(levels))
        assert all(len(alt) > 30 for alt in re.findall(r'<img [^>]*alt="([^"]*)"', page))
    assert 'combine_formula(".", "`a <b>` ~ zip + edu")' in html.unescape(pages[0])


def test_programs_take_numbers_with_empty_cells_and_with_codes(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    table = pd.DataFrame({"pay": TABLE["pay"].where(TABLE["owner"] == 1), "aid": TABLE["owner"]})
    cuts = {"model": "normal", "range": (0.0, 20.0), "cuts": (8.0, 9.0, 10.0)}
    schema = Schema({"pay": Column(**cuts, missing=True), "aid": Column(**cuts, missing=["1"])})
    release = vws.synthesize(table, schema=schema, mechanism="noisy-counts", epsilon=4, datasets=2)
    public = read_public(release.write(tmp_path / "out"))
    assert public.outcome == "aid"
    page = html.unescape(public_page(public, _HEADING))
    assert 'combine_formula(".", "aid ~ pay")' in page
    assert "leave out records without a value" in page
    filled = [data["pay"].dropna() for data in release.datasets]
    found = vws.combine_formula(release.datasets, "pay ~ 1")["(Intercept)"]
    assert found.estimate == pytest.approx(np.mean([values.mean() for values in filled]))


def test_the_public_page_has_margins_and_pairs_of_the_datasets(
    made: Path, pages: tuple[str, str]
) -> None:
    rows = {row[0]: row[1:] for row in rows_of(pages[0], "Statistics of the numbers")}
    means = [values.mean() for values in _own(made, "pay")]
    assert rows["pay"][3:] == [number(of(means), 6) for of in (np.mean, np.min, np.max)]
    medians = [values.median() for values in _own(made, "pay")]
    assert rows["pay"][1] == number(np.mean(medians), 6)
    files = [pl.read_csv(file) for file in sorted((made / "release").glob("*.csv"))]
    found = [associations(file, categories=["zip", "owner"]) for file in files]
    place = found[0].names.index
    pairs = {tuple(row[:2]): row[2:] for row in rows_of(pages[0], "The pairs of columns that go")}
    assert len(pairs) == 10
    for (first, other), kind in (
        (("edu", "pay"), "correlation ratio"),
        (("zip", "edu"), "Cramer's V"),
        (("a <b>", "pay"), "rank correlation"),
    ):
        values = [one.matrix[place(first), place(other)] for one in found]
        figures = [number(of(values)) for of in (np.mean, np.min, np.max)]
        assert pairs[first, other] == [kind, *figures]


def test_the_board_s_page_says_which_column_makes_records_risky(
    release: vws.Release, pages: tuple[str, str]
) -> None:
    records = release.records
    order = np.argsort(-records["lipschitz_bound_final"].to_numpy(), kind="stable")
    names = release.privacy["columns_synthesized"]
    own = records[[f"lipschitz_bound_final_{name}" for name in names]].to_numpy()
    shares = own / np.maximum(own.sum(axis=1, keepdims=True), 1e-300)  # LW's last record has 0.
    first = [int((shares[order[:10]].argmax(axis=1) == place).sum()) for place in range(4)]
    assert rows_of(pages[1], "Each column's share") == [
        [
            *(name, number(own[:, place].max()), number(shares[:, place].mean())),
            *(number(shares[order[:10], place].mean()), str(first[place])),
        ]
        for place, name in enumerate(names)
    ]
    riskiest = [int(row[0]) - 1 for row in rows_of(pages[1], "The ten records with the largest")]
    before = np.argsort(-records["lipschitz_bound"].to_numpy(), kind="stable")
    assert riskiest == before[:10].tolist()
    assert "edu.beta[1] to edu.beta[3] belong to: (Intercept), zip001, zip002." in pages[1]


def test_the_board_s_page_compares_columns_and_pairs(made: Path, pages: tuple[str, str]) -> None:
    (distances,) = (row for row in rows_of(pages[1], "Shares of the levels") if row[0] == "edu")
    levels = ["low", "mid", "high", "(empty)"]
    data, *own = (
        [(values.fill_null("(empty)") == level).sum() / N for level in levels]
        for values in (pl.from_pandas(TABLE["edu"]), *_own(made, "edu"))
    )
    data, own = np.array(data), np.array(own)
    off = int(np.abs(own.mean(axis=0) - data).argmax())
    assert distances == [
        *("edu", "4", number(np.abs(own - data).sum(axis=1).mean() / 2)),
        *(levels[off], number(data[off]), number(own.mean(axis=0)[off])),
    ]
    pay = vws.ecdf_utility(TABLE["pay"], _own(made, "pay"))
    numbers = {row[0]: row[1:] for row in rows_of(pages[1], "Numbers, the furthest first")}
    assert numbers["pay"][:2] == [f"{pay.maximum:.4f}", f"{pay.average:.6f}"]
    frames = [pl.read_csv(file) for file in sorted((made / "release").glob("*.csv"))]
    found = vws.table_utility(pl.from_pandas(TABLE), frames, schema=SCHEMA, s_pmse=False)
    pairs = {row[0]: row[1:] for row in rows_of(pages[1], "Pairs of columns, the worst")}
    for pair, distance in found.by_pair.items():
        if " and ".join(pair) in pairs:
            assert pairs[" and ".join(pair)][0] == number(distance)
    scores = {row[0]: row[1] for row in rows_of(pages[1], "Scores of")}
    assert scores == {score.name: number(score.value) for score in found.scores}


def test_the_board_s_page_has_the_weights_of_each_column(
    tmp_path: Path, pages: tuple[str, str]
) -> None:
    made = vws.synthesize(
        TABLE,
        schema=SCHEMA,
        mechanism="lw",
        by_column=True,
        datasets=3,
        draws=60,
        warmup=150,
        chains=2,
        seed=1,
    )
    out = made.write(tmp_path / "out")
    _, board = (
        path.read_text() for path in write_pages(out, read_public(out), read_confidential(out))
    )
    words = "the mean of the columns' weights"
    assert words in html.unescape(board)
    assert words not in html.unescape(pages[1])
    rows = {row[0]: row[1:] for row in rows_of(board, "Quantiles over the records")}
    for name in ("edu", "pay", "owner", "a <b>"):
        least, *_, median, _, _, most = rows[f"weight, {name}"]
        weights = made.records[f"weight_final_{name}"]
        assert [least, median, most] == [number(of(weights)) for of in (np.min, np.median, np.max)]


def test_without_the_confidential_table_margins_stay_away_from_the_board_s_page(out: Path) -> None:
    _, board = (
        path.read_text() for path in write_pages(out, read_public(out), read_confidential(out))
    )
    assert 'id="utility"' not in board
    assert "Each column's share" in html.unescape(board)


def test_a_table_whose_schema_is_not_public_yet(out: Path) -> None:
    (out / "release/schema.toml").unlink()
    public = read_public(out)
    kinds = {one.name: one.levels for one in public.columns}
    assert kinds["edu"] == ()  # It holds text, so it is a category of the levels that occur.
    assert kinds["owner"] is None  # Its codes are numbers to whoever lacks the schema.
    edu = public.values(next(one for one in public.columns if one.name == "edu"))
    assert edu.levels == ("(empty)", "high", "low", "mid")
    assert "released unchanged" in public_page(public)


def test_numbers_with_empty_cells_of_a_table_whose_schema_is_not_public_yet(out: Path) -> None:
    (out / "release/schema.toml").unlink()
    last = sorted((out / "release").glob("*.csv"))[-1]
    table = pl.read_csv(last, schema_overrides={"zip": pl.String})
    changed = table.with_columns(pl.when(pl.int_range(pl.len()) > 4).then("pay").alias("pay"))
    changed.write_csv(last)
    public = read_public(out)
    missing = {one.name: one.missing for one in public.columns}
    assert missing == {**dict.fromkeys(missing, False), "pay": True}
    values = public.values(next(one for one in public.columns if one.name == "pay"))
    assert [len(one) for one in values.tables] == [N, N, N - 5]
    assert "pay" in public_page(public)


def test_a_statement_that_names_other_columns_is_refused(out: Path) -> None:
    statement = out / "release/privacy.json"
    content = json.loads(statement.read_text())
    for name, refusal in (
        (
            "columns_released_unchanged",
            refused("output-lacks-columns", many="4 synthesized columns"),
        ),
        ("columns_synthesized", refused("output-lacks-columns")),
    ):
        statement.write_text(json.dumps({**content, name: []}))
        with refusal:
            read_public(out)


def test_levels_are_found_by_their_text_or_by_their_number() -> None:
    column = ReportedColumn("x", True, ("01", "2", "true", "(empty)"))
    parts = {
        "data": pl.Series("x", ["01", None, "2", "TRUE"]),
        "a.csv": pl.Series("x", ["2.0", "01", "new", "also"]),
        "b.parquet": pl.Series("x", [2, 3, None, 2]),
    }
    found = valued(column, parts)
    assert found.levels == ("01", "2", "true", "(empty)", "3", "also", "new")
    assert [list(codes) for codes in found.tables] == [[0, 3, 1, 2], [1, 0, 6, 5], [1, 4, 3, 1]]
    assert LevelMargin.of("x", found.levels, found.tables).shares.tolist()[0] == [
        0.25,
        0.25,
        0.25,
        0.25,
        0,
        0,
        0,
    ]


def test_a_number_with_an_empty_cell_or_text_is_refused_without_its_value() -> None:
    column = ReportedColumn("x", True, None)
    for cells, key in (
        ([1.0, None], "output-missing-values"),
        (["8675309", "87!"], "cells-no-code"),
    ):
        with refused(key) as caught:
            valued(column, {"a.csv": pl.Series("x", cells)})
        assert "8675309" not in str(caught.value)
        assert "87!" not in str(caught.value)


def test_rare_levels_are_drawn_as_one() -> None:
    shares = np.full((2, 40), 0.5 / 37)
    shares[:, [3, 20, 30]] = [[0.2, 0.1, 0.2], [0.1, 0.2, 0.2]]
    folded = LevelMargin("x", tuple(map(str, range(40))), shares).folded(12)
    assert len(folded.levels) == 12
    assert folded.levels[-1] == "29 others"
    assert {"3", "20", "30"} <= set(folded.levels)
    assert list(map(int, folded.levels[:-1])) == sorted(map(int, folded.levels[:-1]))
    assert folded.shares.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert folded.shares[:, -1] == pytest.approx([29 * 0.5 / 37] * 2)


def test_margins_of_numbers_keep_few_values(tmp_path: Path) -> None:
    files = [tmp_path / f"{place}.parquet" for place in range(3)]
    for place, file in enumerate(files):
        pl.DataFrame({"x": np.arange(50_000.0) + place}).write_parquet(file)
    margin = margin_of(read_values(ReportedColumn("x", True, None), files))
    assert isinstance(margin, NumberMargin)
    assert margin.statistics[:, 3].tolist() == [24_999.5, 25_000.5, 25_001.5]
    assert {len(curve) for curve in margin.curves} == {20_000}


def test_pairs_of_a_large_table_take_evenly_spread_rows(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    public = read_public(made)
    from pyvws.report import margins

    for module in (released_columns, margins):
        monkeypatch.setattr(module, "MOST_ROWS", 40)
    files = sorted((made / "release").glob("*.csv"))
    found = scores_of(public, pl.from_pandas(TABLE), SCHEMA)
    assert found is not None
    data, *own = (pl.from_pandas(TABLE), *(pl.read_csv(one) for one in files))
    of_some = vws.table_utility(
        data[::4],
        [one[::4] for one in own],
        schema=SCHEMA,
        columns=list(found.labels),
        s_pmse=False,
    )
    assert found.k_marginal == of_some.k_marginal


@pytest.mark.filterwarnings("ignore::pyvws.errors.MisfitWarning")
def test_the_public_page_has_new_ids_and_says_what_days_count_from(tmp_path: Path) -> None:
    start = Column(model="normal", days_since="2000-01-01", range=("2020-01-01", "2020-12-31"))
    schema = Schema({"home": Column(role="id", prefix="H"), "since": start})
    table = pl.DataFrame(
        {"home": range(40), "since": [date(2020, 1 + i % 12, 5) for i in range(40)]}
    )
    release = vws.synthesize(
        table, schema=schema, mechanism="noisy-counts", epsilon=8.0, datasets=2, classes=2
    )
    release.write(tmp_path / "out")
    public = read_public(tmp_path / "out")
    page = html.unescape(public_page(public, _HEADING))
    assert "New ids, 'home', number the synthetic records" in page
    assert [row[:3] for row in rows_of(page, "The columns")] == [
        ["home", "new ids", "text"],
        ["since", "synthetic", "dates"],
    ]
    (margin,) = [margin_of(public.values(column)) for column in public.synthetic]
    assert margin.name == "since, days since 2000-01-01"


def test_very_many_columns_stand_in_groups_and_are_all_there() -> None:
    levels = Column(role="synthesize", model="nominal", levels=["a", "b"])
    numbers = Column(role="synthesize", model="normal", range=[0, 1])
    columns = [
        *(ReportedColumn(f"kind {place}", True, ("a", "b"), levels) for place in range(150)),
        *(ReportedColumn(f"size {place}", True, None, numbers) for place in range(60)),
    ]
    privacy = {"mechanism": "lw", "columns": [], "columns_released_unchanged": []}
    file = DatasetFile(Path("synthetic-01.csv"), 5, 1, "")
    sheets = codebook(PublicPart(privacy, [file], columns, None, []))
    assert [sheet.title.partition(". ")[0] for sheet in sheets] == [
        "The columns that hold text: 150 of 210",
        "The columns that hold numbers: 60 of 210",
    ]
    assert [row[0] for sheet in sheets for row in sheet.rows] == [one.name for one in columns]
    named = html.unescape(page_module._environment().from_string("{{ x|named }}").render(x=columns))
    assert named.endswith("'kind 10' and 199 more")


def test_the_column_furthest_from_the_data_is_drawn_first() -> None:
    margins = [
        (gap, LevelMargin(f"g{gap}", ("a", "b"), np.array([[0.5, 0.5], [0.5 + gap, 0.5 - gap]])))
        for gap in (0.1, 0.3, 0.2)
    ]
    told = [made.alt for made in column_pictures(margins)]
    assert [re.search(r"g(0\.\d)", alt)[1] for alt in told] == ["0.3", "0.2", "0.1"]  # type: ignore[index]
    assert "gap is 0.300" in told[0]
    many = LevelMargin("$a_1$", tuple(map(str, range(90))), np.full((3, 90), 1 / 90))
    one = NumberMargin("x", np.zeros((2, 4)), [np.arange(20.0), np.full(20, 3.0)])
    for made in column_pictures([(0.0, many), (0.0, one)], beside_data=False):
        assert "synthetic" in made.alt
        assert made.width <= 340


def test_cells_below_twice_their_noise_are_drowned() -> None:
    drawn = noise_picture(np.array([90.0, 21.0, 19.0, -3.0]), np.full(4, 10.0))
    assert "2 of 4 cells stand out of the noise" in drawn.alt
    guess = guess_picture(
        {"epsilon_total": 1.0, "neighbours": "leave-one-out", "unit_of_privacy": "one record"}
    )
    assert "in the table: 2.7 %; that its values are these: 7 %" in guess.alt
    joint = {"score": 950.0, "independent": 900.0, "bootstrap": 990.0}
    assert (
        "independent columns 900, this release 950, a second sample 990" in score_picture(joint).alt
    )
