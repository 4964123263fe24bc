"""Run the cases: compare the package's numbers with R's numbers, live or stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import choice
from pyvws.errors import InputError, MissingDependencyError, PyvwsError
from pyvws.r import bridge
from pyvws.validation import expected
from pyvws.validation._case import KINDS, Case, numbers
from pyvws.validation.cases import CASES, measured_cases
from pyvws.validation.compare import largest_ulp
from pyvws.validation.report import Row, Verdict, collected

__all__ = ["exit_code", "live_results", "run"]

_WITHOUT_STORED: Final = ("statement", "guarantee")

Results = Iterator[NDArray[np.float64]] | Sequence[NDArray[np.float64]]


def run(
    levels: Sequence[str] | None = None,
    source: Literal["auto", "live", "cached"] = "auto",
    progress: Callable[[Row], None] | None = None,
    *,
    cases: Sequence[Case] | None = None,
) -> list[Row]:
    """Compare every case with R.

    Parameters
    ----------
    levels : sequence of str, optional
        Kinds of case to run, some of `KINDS`; by default all kinds.
    source : {"auto", "live", "cached"}
        "live" runs R now; without R every row is skipped with the reason. "cached" takes the stored
        results of R. "auto" is "live": a user must ask for a check that never runs R. Comparisons
        with Stan and with printed tables have no stored results and always run, but "cached"
        without levels leaves these comparisons out. Privacy losses need no stored results and
        always run.
    progress : callable, optional
        `run` calls this function with each finished row.
    cases : sequence of Case, optional
        Cases to run instead of the registry's cases.

    Returns
    -------
    list of Row
        One row for each case, in the registry's order; at the level "paper" one row for each
        printed figure.

    Raises
    ------
    InputError
        For an unknown level or source.
    """
    choice(source, "source", ("auto", "live", "cached"))
    wanted = tuple(KINDS if levels is None else levels)
    for level in wanted:
        choice(level, "levels", KINDS)
    chosen = [case for case in (CASES if cases is None else cases) if case.kind in wanted]
    measured = [case for case in measured_cases() if case.kind in wanted] if cases is None else []
    if source == "cached" and levels is None:
        measured = [case for case in measured if case.kind in _WITHOUT_STORED]
    if not chosen and not measured:
        raise InputError(f"No case is of level {', '.join(wanted)}.")
    missing, version = "", ""
    if source != "cached":
        available, missing = bridge.r_available()
        version = bridge.r_versions()["R"] if available else ""
    without_r = f"{missing} Or compare with R's stored results: pyvws validate --cached"
    against_r = (
        replace(_blank(case), verdict="skipped", reason=without_r)
        if missing
        else _judged(case, f"R {version}" if version else "")
        for case in chosen
    )
    against_others = chain.from_iterable(case.rows() for case in measured)
    return collected(chain(against_r, against_others), progress)


def exit_code(rows: Sequence[Row]) -> int:
    """1 if a row failed, else 2 if a row could not run, else 0."""
    verdicts = {row.verdict for row in rows}
    return 1 if "fail" in verdicts else 2 if "skipped" in verdicts else 0


def live_results(case: Case) -> Iterator[NDArray[np.float64]]:
    """R's numbers for the cells of a case, from R itself."""
    for cell in case.cells():
        yield numbers(bridge.call(case.script, case.r_function, cell.arguments))


def _judged(case: Case, live: str) -> Row:
    """The row of a case, compared with live R, or with stored results when `live` is empty."""
    row = replace(_blank(case), source=live)
    results: Results = live_results(case)
    try:
        if not live:
            stored = expected.load(case)
            row = replace(row, source=f"stored R {stored.r_version}")
            if stored.long_double_bits != expected.LONG_DOUBLE_BITS:
                reason = (
                    f"The stored results come from a machine whose long double has "
                    f"{stored.long_double_bits} bits, this one's has "
                    f"{expected.LONG_DOUBLE_BITS}: run R here instead."
                )
                return replace(row, verdict="skipped", reason=reason)
            results = stored.results
        return _compared(row, case, results)
    except MissingDependencyError as error:
        return replace(row, verdict="skipped", reason=str(error))
    except PyvwsError as error:
        return replace(row, reason=str(error))
    except Exception as error:
        return replace(row, reason=f"{case.python_function} raised {type(error).__name__}.")


def _compared(row: Row, case: Case, results: Results) -> Row:
    largest = 0
    for cell, theirs in zip(case.cells(), results, strict=True):
        ours = case.python(cell)
        gap = largest_ulp(ours, theirs)
        if gap is None:
            what = "the shapes differ" if ours.shape != theirs.shape else "NaN against a number"
            return replace(row, reason=f"{cell.label}: {what}.")
        largest = max(largest, gap)
    agree = largest <= case.tolerance
    reason = "" if agree else f"Differs by {largest} ulp; {case.tolerance} are allowed."
    if case.expect == "differs":
        reason = f"Both agree, but should not: {case.why}" if agree else case.why
    passed = agree == (case.expect == "same")
    verdict: Verdict = "pass" if passed else "fail"
    return replace(row, largest_difference=largest, verdict=verdict, reason=reason)


def _blank(case: Case) -> Row:
    """The row of a case that has compared nothing yet; such a row has failed."""
    target = f"{case.python_function}.{case.part}" if case.part else case.python_function
    return Row(
        id=case.id,
        paper=f"{case.paper}, {case.cites}",
        level=case.kind,
        r_function=f"{case.script}.R:{case.r_function}",
        python_function=target,
        seeds=case.seeds,
        shapes=case.shapes,
        verdict="fail",
        tolerance=case.tolerance,
        why=case.why,
    )
