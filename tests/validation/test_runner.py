"""The runner: verdicts, exit codes, stale results, rows for people and programs."""

import dataclasses
import io
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyvws_validation import expected, refresh, report, runner
from pyvws_validation._case import Case
from pyvws_validation._draws import Draws, digest
from pyvws_validation.cases import CASES
from refusals import refused
from rich.console import Console

from pyvws._base import resources as _resources
from pyvws.errors import InputError
from pyvws.r import bridge

LW = next(case for case in CASES if case.id == "weights/lw")
REFRESH = "Run: python -m pyvws_validation.refresh"


def verdict(case: Case) -> tuple[str, str]:
    (row,) = runner.run(source="cached", cases=[case])
    return row.verdict, row.reason


@pytest.mark.r
def test_auto_is_live() -> None:
    (row,) = runner.run(cases=[LW])
    assert row.source == f"R {bridge.r_versions()['R']}"


def test_unknown_words_are_refused() -> None:
    with refused("not-a-choice", name="levels"):
        runner.run(["exact", "near"])
    with refused("not-a-choice", name="source"):
        runner.run(source="remembered")  # type: ignore[arg-type]


@pytest.mark.parametrize("source", ["auto", "live"])
def test_missing_r_skips_with_what_to_install(monkeypatch: Any, source: Any) -> None:
    run = "pip install rpy2 'rpy2-rinterface<=3.6.5' and apt-get install r-base"
    reason = f"R is not installed. Run: {run}."
    monkeypatch.setattr(bridge, "r_available", lambda: (False, reason))
    rows = runner.run(source=source, cases=CASES[:2])
    assert [row.verdict for row in rows] == ["skipped", "skipped"]
    assert rows[0].reason.startswith(reason)
    assert rows[0].largest_difference is None
    assert runner.exit_code(rows) == 2


def test_exit_codes() -> None:
    (row,) = runner.run(source="cached", cases=[LW])
    failed = dataclasses.replace(row, verdict="fail")
    skipped = dataclasses.replace(row, verdict="skipped")
    assert runner.exit_code([row, skipped, failed]) == 1
    assert runner.exit_code([row, skipped]) == 2
    assert runner.exit_code([row]) == 0


# Stored results


def test_changed_arguments_are_stale() -> None:
    def other(seed: int, *shape: int) -> dict[str, Any]:
        return {"log_lik": Draws(seed + 1).log_lik(*shape)}

    changed = dataclasses.replace(LW, arguments=other)
    assert verdict(changed) == (
        "fail",
        f"The arguments have changed since the result was stored. {REFRESH}",
    )


def test_a_changed_script_is_stale(monkeypatch: Any, tmp_path: Path) -> None:
    (tmp_path / "weights.R").write_text("# other\n", encoding="utf-8")
    real = _resources.folder
    monkeypatch.setattr(
        _resources, "folder", lambda name: tmp_path if name == "r_reference" else real(name)
    )
    assert verdict(LW) == (
        "fail",
        f"weights.R has changed since its results were stored. {REFRESH}",
    )


def test_an_absent_result_fails() -> None:
    reason = f"No result of R is stored for this case. {REFRESH}"
    assert verdict(dataclasses.replace(LW, id="weights/new")) == ("fail", reason)
    assert verdict(dataclasses.replace(LW, script="new")) == ("fail", reason)


def test_another_long_double_skips(monkeypatch: Any) -> None:
    monkeypatch.setattr(expected, "LONG_DOUBLE_BITS", 53)
    found, reason = verdict(LW)
    assert found == "skipped"
    assert reason.endswith("this one's has 53: run R here instead.")


def test_results_come_back_from_the_file_unchanged(tmp_path: Path) -> None:
    odd = np.array([[np.nan, np.inf], [-0.0, 5e-324], [0.1, -1e300]])
    arrays = [odd] + [np.zeros(0)] * (len(LW.seeds) * len(LW.shapes) - 1)
    expected.save("weights", [(LW, arrays)], "4.2.2", tmp_path)
    back = expected.load(LW, tmp_path).results
    np.testing.assert_array_equal(back[0], odd)
    assert np.signbit(back[0][1, 0])
    assert back[1].shape == (0,)


def test_refresh_says_what_is_missing(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(bridge, "SESSION", type("None", (), {"run": _no_r})())
    assert refresh.main() == 1
    assert capsys.readouterr().err == "R is not installed.\n"


def _no_r(*_: object) -> None:
    raise InputError("R is not installed.")


# Differences


def shifted(ulps: int) -> Case:
    """LW with weights moved by some ulp, through a function of this module."""
    global _ULPS
    _ULPS = ulps
    return dataclasses.replace(LW, python_function=f"{__name__}:moved")


_ULPS = 0


def moved(log_lik: Any) -> Any:
    from pyvws.weights.weights import lipschitz_weights

    return (lipschitz_weights(log_lik).view(np.int64) + _ULPS).view(np.float64)


def test_one_ulp_fails() -> None:
    (row,) = runner.run(source="cached", cases=[shifted(1)])
    assert (row.verdict, row.largest_difference) == ("fail", 1)
    assert row.reason == "Differs by 1 ulp; 0 are allowed."


def test_a_tolerance_allows_what_it_says() -> None:
    case = dataclasses.replace(shifted(2), tolerance=2, why="for this test")
    (row,) = runner.run(source="cached", cases=[case])
    assert (row.verdict, row.largest_difference) == ("pass", 2)
    assert verdict(dataclasses.replace(shifted(3), tolerance=2, why="for this test"))[0] == "fail"


def test_a_known_slip_passes_while_it_differs() -> None:
    slip = dataclasses.replace(shifted(1), expect="differs", why="the listing drops a line")
    assert verdict(slip) == ("pass", "the listing drops a line")
    agreeing = dataclasses.replace(shifted(0), expect="differs", why="the listing drops a line")
    assert verdict(agreeing) == ("fail", "Both agree, but should not: the listing drops a line")


def test_an_exception_fails_without_its_text() -> None:
    broken = dataclasses.replace(LW, python_function=f"{__name__}:crashing")
    assert verdict(broken) == ("fail", f"{__name__}:crashing raised ValueError.")


def crashing(log_lik: Any) -> Any:
    raise ValueError(f"first value {log_lik[0, 0]}")


def halved(log_lik: Any) -> Any:
    return log_lik[0, :1]


# Jobs


def job_of(rows: Any, level: str = "density") -> runner.Job:
    return runner.Job(id=f"{level}/one", level=level, part=level, rows=rows)


def test_a_jobs_warnings_are_not_shown(recwarn: pytest.WarningsRecorder) -> None:
    def rows() -> Iterator[report.Row]:
        warnings.warn("for a user", stacklevel=1)
        yield from runner.run(source="cached", cases=[LW])

    (row,) = runner.performed(job_of(rows))
    assert row.verdict == "pass"
    assert not recwarn.list


@pytest.mark.parametrize(
    ("error", "said"),
    [(ValueError("8675309"), "ValueError"), (InputError("No draws."), "No draws.")],
)
def test_a_job_that_stops_keeps_its_rows_and_fails(error: Exception, said: str) -> None:
    def rows() -> Iterator[report.Row]:
        yield from runner.run(source="cached", cases=[LW])
        raise error

    kept, stopped = runner.performed(job_of(rows))
    assert kept.verdict == "pass"
    assert (stopped.verdict, stopped.reason) == ("fail", f"The comparison stopped: {said}")


def test_what_a_cut_run_left_out_is_a_skipped_row_of_each_part() -> None:
    left = [job_of(list, level) for level in ("exact", "density", "density")]
    rows = runner.not_run(left)
    assert [(row.id, row.level, row.verdict) for row in rows] == [
        ("exact/not-run", "exact", "skipped"),
        ("density/not-run", "density", "skipped"),
    ]
    assert "before it had finished 2 of these" in rows[1].reason
    assert runner.exit_code(rows) == 2


def test_a_row_that_allows_a_difference_is_not_called_exact() -> None:
    for row in (runner._blank(case) for case in CASES):
        assert row.level != "exact" or row.tolerance == 0, row.id
        assert row.level != "close" or (row.tolerance > 0 and row.why), row.id
    assert {case.level for case in CASES} >= {"exact", "close", "density"}
    close = next(case for case in CASES if case.level == "close")
    assert runner.run(["close"], "cached", cases=[LW, close])[0].id == close.id
    with pytest.raises(InputError, match="No case is of level close"):
        runner.run(["close"], "cached", cases=[LW])


# Cases and rows


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "near"}, "kind must be one of exact, close, density, posterior"),
        ({"paper": "nobody1999"}, "nobody1999 is not in pyvws._base.resources"),
        ({"seeds": (1, 1, 1, 1, 1)}, "at least 5 seeds and 3 shapes"),
        ({"shapes": ((1, 2), (3, 4))}, "at least 5 seeds and 3 shapes"),
        ({"tolerance": 1}, "needs a why"),
        ({"expect": "differs"}, "needs a why"),
    ],
)
def test_a_case_is_checked_at_birth(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dataclasses.replace(LW, **change)


def test_table_lists_quantities_reasons_and_a_count(monkeypatch: Any) -> None:
    monkeypatch.setattr(bridge, "r_available", lambda: (False, "No R [here]."))
    rows = runner.run(source="cached", cases=[LW]) + runner.run(cases=CASES[:1])
    sink = io.StringIO()
    report.render(rows, Console(file=sink, width=200))
    text = sink.getvalue()
    assert "weights/lw" in text
    assert "rarith/sum: No R [here]." in text
    assert "1 pass, 0 fail, 1 skipped." in text


def test_digest_tells_bits_types_and_shapes_apart() -> None:
    values: list[Any] = [
        np.array([0.0]),
        np.array([-0.0]),
        np.array([[0.0]]),
        np.array([0]),
        0.0,
        0,
        "0",
        [0],
        None,
    ]
    assert len({digest({"x": value}) for value in values}) == len(values)


def test_draws_do_not_depend_on_the_machine() -> None:
    draws = Draws(1)
    assert [value.hex() for value in draws.uniform(2).tolist()] == [
        "0x1.060d7be6f245cp-1",
        "0x1.e6a32d7782a55p-1",
    ]
    assert draws.counts(4).tolist() == [99.0, 99.0, 89.0, 122.0]
