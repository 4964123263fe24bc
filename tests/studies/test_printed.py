"""Printed figures beside recomputed ones: the interval, the verdict, the studies behind them."""

import math
import runpy
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyvws_studies import mixture_table, poisson_figures, risk_efficient
from pyvws_studies.printed import (
    LEVEL,
    Printed,
    Recomputed,
    half_unit,
    interval_of,
    paired_difference,
)
from pyvws_studies.risk_efficient_comparison import PUBLISHED
from pyvws_validation import runner
from pyvws_validation.cases import printed
from refusals import refused

from pyvws import SearchError, bootstrap_interval
from pyvws._base import resources as _resources

SCRIPTS = sorted((_resources.folder("validation") / "reproduce").glob("*.py"))


def test_the_interval_of_three_runs_by_hand() -> None:
    # t with 2 degrees of freedom has its 99.5 % point at 9.9248; sd of 1, 2, 3 is 1.
    mean, low, high = interval_of([1.0, 2.0, 3.0])
    half = 9.924843 * math.sqrt(4 / 3)
    assert (mean, low, high) == pytest.approx((2.0, 2.0 - half, 2.0 + half), rel=1e-6)
    assert interval_of([1.0, 2.0, 3.0], rounding=half_unit("2.5"))[2] == pytest.approx(high + 0.05)
    assert [half_unit(value) for value in ("6", "3.5", "0.375")] == [0.5, 0.05, 0.0005]
    with refused("not-a-whole-number", name="replicates"):
        interval_of([1.0])


def test_the_interval_holds_a_further_run_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    runs = rng.normal(size=(2000, 9))
    ends = [interval_of(row[:-1].tolist())[1:] for row in runs]
    held = sum(low <= row[-1] <= high for (low, high), row in zip(ends, runs, strict=True))
    assert abs(held / 2000 - LEVEL) < 4 * math.sqrt(LEVEL * (1 - LEVEL) / 2000)


def test_ends_of_intervals_are_the_bootstrap_function_s_averaged() -> None:
    """Of one dataset they are its percentiles, up to the resampling; of two, the average."""
    rng = np.random.default_rng(2)
    first, second = rng.normal(100.0, 30.0, 400), rng.normal(120.0, 30.0, 400)
    one = mixture_table.interval_ends([first], 4000, np.random.default_rng(3))
    theirs = bootstrap_interval([first], np.mean, n=400, replicates=4000, seed=1)
    spread = 30.0 / math.sqrt(400)
    np.testing.assert_allclose(one[2], [theirs.lower, theirs.upper], atol=0.15 * spread)
    both = mixture_table.interval_ends([first, second], 4000, np.random.default_rng(3))
    other = mixture_table.interval_ends([second], 4000, np.random.default_rng(4))
    np.testing.assert_allclose(both, (one + other) / 2, atol=0.3 * spread)
    assert (both[:, 0] < both[:, 1]).all()


def _rows(moved: dict[str, float]) -> list[dict[str, Any]]:
    """Replicates whose data differ much and whose mechanisms move them by the given amounts."""
    rows = []
    for number, place in enumerate((-9.0, 4.0, 5.0), start=1):
        for name in mixture_table.PUBLISHED:
            printed_row = [float(value) for value in mixture_table.PUBLISHED["Data"].split()]
            shift = place + moved.get(name, 0.0) + (0.01 * number if name != "Data" else 0.0)
            columns = [f"{s}: {e}" for s in mixture_table.STATISTICS for e in ("lower", "upper")]
            values = dict(zip(columns, np.add(printed_row, shift), strict=True))
            rows.append({"replicate": number, "column": name, **values, "delta": 6.0, "c": 2.0})
    return rows


def test_a_mechanism_is_compared_by_what_it_moved_not_by_where_the_sample_lies() -> None:
    cells = mixture_table.compare(_rows({"CW": 7.2}), "by hand")
    assert len(cells) == 5 * 8 + 1
    of = {(cell.row, cell.column): cell for cell in cells}
    data, cw = (of[name, "15th quantile: lower"] for name in ("Data", "CW"))
    assert data.high - data.low > 100.0  # Three samples far apart say little.
    # 70.0 + 7.2 + 0.02, within 9.92 sqrt(4/3) 0.01 and the rounding of both printed figures.
    assert (cw.mean, cw.high - cw.mean) == pytest.approx((77.22, 0.1146 + 0.1), abs=1e-3)
    assert cw.inside
    assert not of["LW_final", "15th quantile: lower"].inside  # It did not move; 70.6 is printed.
    unmoved = mixture_table.compare(_rows({}), "by hand")
    assert not next(c for c in unmoved if c.place == cw.place).inside


def test_columns_are_compared_within_a_replicate() -> None:
    """Samples far apart; CW moves each by 7.2, CW_final by nothing."""
    pairs = mixture_table.differences(_rows({"CW": 7.2}))
    assert len(pairs) == 4 * 8
    for pair in pairs:
        moved = {("CW", "CW_final"): -7.2, ("LW", "CW"): 7.2}.get((pair.first, pair.second), 0.0)
        assert pair.mean == pytest.approx(moved, abs=1e-9)
        assert pair.excludes_zero == (moved != 0.0)


_FEW = {"datasets": 3, "bootstrap": 20, "draws": 200, "warmup": 200}


@pytest.mark.draws
@pytest.mark.slow
def test_studies_of_few_draws_give_every_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {**mixture_table.SETTINGS, **_FEW}
    monkeypatch.setattr(mixture_table, "STUDY", replace(mixture_table.STUDY, settings=few))
    first = mixture_table.table_1(replicates=2, jobs=1)
    assert len(first.cells) == 41
    assert first.cells[-1].mean == pytest.approx(5.5, abs=1.0)
    quick = replace(poisson_figures.STUDY, settings={"n": 1000, "draws": 500, "warmup": 200})
    monkeypatch.setattr(poisson_figures, "STUDY", quick)
    delta, weight = poisson_figures.poisson_figures(replicates=2, jobs=1).cells
    assert (delta.value, weight.value) == ("3.5", "0.375")
    assert delta.mean == pytest.approx(3.5, abs=0.3)
    assert weight.mean == pytest.approx(0.375, abs=0.02)
    tables = risk_efficient.risk_efficient_tables(
        replicates=2, jobs=1, settings={"draws": 100, "warmup": 100, "bootstrap": 20}
    )
    assert [cell.place for cell in tables.cells] == [
        f"{shown.table}, {shown.row}, {shown.column}" for shown in PUBLISHED
    ]


# Rows


def _cell(value: str) -> Printed:
    return Printed("vws2024", "Table 1", "CW", "mean: lower", value, 100.0, 99.0, 101.0, "3 runs")


def test_a_row_a_printed_figure_and_what_lies_outside_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pair = paired_difference("CW", "CW_final", "mean: lower", [1.0, 2.0], [3.0, 4.0])
    made = Recomputed([_cell("100.6"), _cell("101.1")], [pair])
    monkeypatch.setattr(mixture_table, "table_1", lambda *, seed: made)
    monkeypatch.setattr(runner, "measured_cases", lambda: printed.CASES[1:2])
    inside, outside = runner.run(["paper"])
    assert (inside.verdict, outside.verdict) == ("pass", "fail")
    assert inside.paper == "vws2024, Table 1, CW, mean: lower"
    assert inside.measured == "printed 100.6; mean 100; 3 runs; told apart from CW_final"
    assert outside.reason == "Printed 101.1 lies outside 99 to 101."
    (found,) = inside.measurements
    assert (found.value, found.low, found.high) == (100.6, 99.0, 101.0)


def test_a_study_that_stops_is_a_failed_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopping(**_: Any) -> Recomputed:
        raise SearchError("No c meets the bound.")

    monkeypatch.setattr(mixture_table, "table_1", stopping)
    (row,) = printed.CASES[1].rows()
    assert (row.verdict, row.reason) == ("fail", "No c meets the bound.")


def test_stored_results_of_r_leave_the_minutes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CASES", runner.CASES[:2])
    monkeypatch.setattr(runner, "measured_cases", lambda: printed.CASES)
    monkeypatch.setattr(mixture_table, "table_1", lambda **_: Recomputed([_cell("100")]))
    assert {row.level for row in runner.run(source="cached")} == {"exact"}


# Scripts


def test_there_is_a_script_for_every_printed_case() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in SCRIPTS)
    for case in printed.CASES:
        assert f"import {case.python_function.split(':')[1]}" in text


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_each_script_prints_its_tables(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the study put in its place: the tables, a count, and 1 for a figure outside."""

    def table(**chosen: Any) -> Recomputed:
        assert chosen == {"replicates": 3, "seed": 2, "jobs": 1}
        cells = [
            Printed("vws2024", "Table 1", "CW", "mean: lower", value, 2.0, 1.0, 3.0, "3 runs")
            for value in ("2.5", "3.5")
        ]
        pair = paired_difference("CW", "CW_final", "mean: lower", [1.0, 2.0], [3.0, 4.0])
        return Recomputed(cells, [pair])

    studies = ((mixture_table, "table_1"), (poisson_figures, "poisson_figures"))
    for module, name in (*studies, (risk_efficient, "risk_efficient_tables")):
        monkeypatch.setattr(module, name, table)
    monkeypatch.setattr(sys, "argv", ["", "--replicates", "3", "--seed", "2", "--jobs", "1"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script), run_name="__main__")
    assert ended.value.code == 1
    printed_text = capsys.readouterr().out
    assert "vws2024, Table 1" in printed_text
    assert "3.5 OUT [1.0, 3.0]" in printed_text
    assert "CW_final less CW" in printed_text
