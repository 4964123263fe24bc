"""The authors' public scripts of [risk2024], from a user's checkout, against the package.

Nothing of theirs is stored here. Their files are parsed in R, function definitions are found by
name, and only those are evaluated, with our own seeded data; drivers are read, never run. Each row
carries the SHA-256 of the file that the function came from.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import MissingDependencyError, PyvwsError
from pyvws.r import bridge
from pyvws.validation._author_case import AuthorCall, AuthorCase
from pyvws.validation._case import numbers
from pyvws.validation.author_cases import CASES
from pyvws.validation.author_files import AuthorFunction, find_functions, r_files
from pyvws.validation.author_structure import structure_rows
from pyvws.validation.edits import apply_edits
from pyvws.validation.report import Row

__all__ = ["LIMIT", "run"]

# Both sides add the same whole numbers and divide: they may round apart, by a few units of the
# last place of 1. Anything that is not rounding is at least 1 / (60 * 60 * 3), the smallest step of
# a risk or a weight at the largest size.
LIMIT: Final = 8 * 2.0**-52


def run(checkout: Path, progress: Callable[[Row], None] | None = None) -> list[Row]:
    """Compare every function of the authors' scripts with the package.

    Parameters
    ----------
    checkout : Path
        A folder with their R files, at any depth.
    progress : callable, optional
        Called with each row as it is done.

    Returns
    -------
    list of Row
        One a quantity. A function that is not in the checkout, or a missing R, makes a row
        "skipped".

    Raises
    ------
    InputError
        If the folder does not exist or holds no R file.
    """
    r_files(checkout)
    available, missing = bridge.r_available()
    functions = find_functions(checkout) if available else {}
    source = f"R {bridge.r_versions()['R']}" if available else ""
    rows = []
    for case in CASES:
        rows.append(_row(case, functions.get(case.function), missing, source))
        if progress is not None:
            progress(rows[-1])
    for row in structure_rows(checkout, functions, missing, source):
        rows.append(row)
        if progress is not None:
            progress(row)
    return rows


def _row(case: AuthorCase, function: AuthorFunction | None, missing: str, source: str) -> Row:
    if missing or function is None:
        reason = missing or f"The checkout defines no function {case.function}."
        return _as_row(case, function, "skipped", reason, "", source)
    try:
        code = apply_edits(function.code, case.edits)
        gap = max(_gap(case, code, seed, n) for n in case.sizes for seed in case.seeds)
    except MissingDependencyError as error:
        return _as_row(case, function, "skipped", str(error), "", source)
    except PyvwsError as error:
        return _as_row(case, function, "fail", str(error), "", source)
    agree = gap <= LIMIT
    measured = "their function stops" if gap == np.inf else f"{gap:.2g}"
    if case.expect == "differs":
        measured = f"{measured}, as known" if not agree else measured
        reason = f"Both agree, but should not: see the erratum {case.erratum}." if agree else ""
        return _as_row(case, function, "fail" if agree else "pass", reason, measured, source)
    measured = f"{measured} of {LIMIT:.2g}"
    reason = "" if agree else f"Too far apart: {measured}, relative to 1 or a larger value."
    return _as_row(case, function, "pass" if agree else "fail", reason, measured, source)


def _gap(case: AuthorCase, code: str, seed: int, n: int) -> float:
    """Largest difference of one seed and size, relative to 1 or the value; inf if theirs stops."""
    call, ours = case.case(seed, n)
    calls = [call]
    for edit in case.inputs:
        calls = [changed for one in calls for changed in edit.change(one)]
    theirs = np.full_like(ours, np.nan)
    for one in calls:
        try:
            theirs[slice(None) if one.places is None else one.places] = _called(case, code, one)
        except bridge.RError:
            if case.expect == "differs":
                return float("inf")
            raise
    apart = np.abs(theirs - ours) / np.maximum(1.0, np.abs(ours))
    return float("inf") if np.isnan(apart).any() else float(apart.max())


def _called(case: AuthorCase, code: str, call: AuthorCall) -> Floats:
    arguments = {"code": code, "name": case.function, "arguments": call.arguments}
    value: Any = bridge.call("authors", "run_function", arguments)
    if call.part:
        return np.array([numbers(value[name])[0] for name in call.part])
    return numbers(value).ravel()


def _as_row(
    case: AuthorCase,
    function: AuthorFunction | None,
    verdict: Literal["pass", "fail", "skipped"],
    reason: str,
    measured: str,
    source: str,
) -> Row:
    edits = (*(edit.name for edit in case.edits), *(edit.name for edit in case.inputs))
    return Row(
        id=case.id,
        paper=f"risk2024, {case.cites}",
        level="exact",
        r_function=f"{function.file}:{case.function}" if function else case.function,
        python_function=case.python_function,
        seeds=case.seeds,
        shapes=tuple((n,) for n in case.sizes),
        largest_difference=None,
        verdict=verdict,
        reason=reason,
        source=source,
        measured=measured,
        sha256=function.sha256 if function else "",
        edits=edits,
        erratum=case.erratum,
    )
