"""Run the cases: compare the package's numbers with R's numbers, live or stored."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import choice
from pyvws.errors import InputError, MissingDependencyError, PyvwsError
from pyvws.r import bridge
from pyvws_validation import expected
from pyvws_validation._case import KINDS, Case, numbers
from pyvws_validation._stan_case import StanCase
from pyvws_validation.cases import CASES, measured_cases
from pyvws_validation.compare import largest_ulp
from pyvws_validation.report import Row, Verdict

# Measured cases of these levels need neither R nor Stan, if they take stored answers.
_CACHED: Final = ("density", "statement", "guarantee")

# Rough seconds of a case on one processor, for the time that is left.
_SECONDS: Final[Mapping[str, float]] = {
    "exact": 0.05,
    "close": 0.05,
    "density": 0.5,
    "posterior": 20.0,
    "paper": 100.0,
    "statement": 0.5,
    "guarantee": 3.0,
}

Results = Iterator[NDArray[np.float64]] | Sequence[NDArray[np.float64]]


def run(
    levels: Sequence[str] | None = None,
    source: Literal["auto", "live", "cached"] = "auto",
    *,
    cases: Sequence[Case] | None = None,
) -> list[Row]:
    """Compare every case of the levels with R, Stan and claims: rows in the registry's order.

    `source` "live" runs R and Stan now, and rows are skipped without them. "cached" takes the
    stored results of R, and Stan's of densities; without levels it leaves out posteriors and
    printed tables, which always run. "auto" is "live": a user must ask for a check that never runs
    R. Raises InputError for an unknown level or source.
    """
    return [row for job in jobs(levels, source, cases=cases) for row in performed(job)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Comparisons that run together; `part` is what a cut run leaves out as a whole."""

    id: str
    level: str
    part: str
    rows: Callable[[], Iterable[Row]]

    @property
    def seconds(self) -> float:
        """A rough guess of how long the job takes."""
        return _SECONDS[self.level]


def jobs(
    levels: Sequence[str] | None = None,
    source: Literal["auto", "live", "cached"] = "auto",
    *,
    cases: Sequence[Case] | None = None,
) -> list[Job]:
    """The jobs of a `run`, which takes the same parameters; nothing is compared yet."""
    choice(source, "source", ("auto", "live", "cached"))
    wanted = tuple(KINDS if levels is None else levels)
    for level in wanted:
        choice(level, "levels", KINDS)
    chosen = [case for case in (CASES if cases is None else cases) if case.level in wanted]
    measured = [case for case in measured_cases() if case.kind in wanted] if cases is None else []
    if source == "cached":
        # Densities are compared with Stan's stored answers, if there are any.
        measured = [
            replace(case, cached=True)
            if isinstance(case, StanCase) and case.kind == "density"
            else case
            for case in measured
            if levels is not None or case.kind in _CACHED
        ]
    if not chosen and not measured:
        raise InputError.by("level-without-case", levels=", ".join(wanted))
    missing, live = "", ""
    if source != "cached":
        available, missing = bridge.r_available()
        live = f"R {bridge.r_versions()['R']}" if available else ""
    without_r = f"{missing} Or compare with R's stored results: pyvws validate --cached"

    def against_r(case: Case) -> list[Row]:
        if missing:
            return [replace(_blank(case), verdict="skipped", reason=without_r)]
        return [_judged(case, live)]

    todo = [
        Job(id=case.id, level=case.level, part=case.level, rows=partial(against_r, case))
        for case in chosen
    ]
    todo += [Job(id=case.id, level=case.kind, part=case.kind, rows=case.rows) for case in measured]
    return todo


def performed(job: Job) -> Iterator[Row]:
    """The rows of a job, compared now without warnings; an unknown error gives a failed row."""
    rows = _rows(job)
    while True:
        try:
            with warnings.catch_warnings(action="ignore"):
                row = next(rows)
        except StopIteration:
            return
        except Exception as error:
            own = str(error) if isinstance(error, PyvwsError) else type(error).__name__
            row = _odd(job, "fail", f"The comparison stopped: {own}")
        yield row


def _rows(job: Job) -> Iterator[Row]:
    yield from job.rows()


def not_run(left: Sequence[Job]) -> list[Row]:
    """Skipped rows for the jobs that a cut run did not finish, one for each part."""
    counts = Counter(job.part for job in left)
    reason = "The run was interrupted before it had finished {} of these comparisons."
    return [
        _odd(job, "skipped", reason.format(counts[job.part]), name=f"{job.part}/not-run")
        for job in {job.part: job for job in left}.values()
    ]


def _odd(job: Job, verdict: Verdict, reason: str, name: str = "") -> Row:
    """The row of a job that compared nothing."""
    return Row(
        id=name or job.id,
        paper="",
        level=job.level,
        python_function="",
        verdict=verdict,
        reason=reason,
    )


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
        level=case.level,
        r_function=f"{case.script}.R:{case.r_function}",
        python_function=target,
        seeds=case.seeds,
        shapes=case.shapes,
        verdict="fail",
        tolerance=case.tolerance,
        why=case.why,
    )
