"""Compare the authors' public scripts and R packages, in a user's checkout, with the package.

The scripts are those of [risk2024]; the packages are LipschitzWeights [lipschitzweights2020] and
AttributeRiskCalculation [attributerisk2021]. A folder may hold several of the three. The package
stores nothing of them. R parses the scripts, this module finds function
definitions by name, and R evaluates only those functions, on the package's seeded data. The module
reads the authors' drivers but never runs the drivers. Each row carries the SHA-256 of the
function's file.

No number of a run can show some slips: missing files that a driver reads, arguments that a
function never uses, and names that no caller gives to a function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError, MissingDependencyError, PyvwsError
from pyvws.r import bridge
from pyvws.tables.files.read import file_digest
from pyvws_validation._case import numbers
from pyvws_validation.author_cases import CASES as SCRIPT_CASES
from pyvws_validation.author_cases import AuthorCall, AuthorCase
from pyvws_validation.cases.density import judge_program
from pyvws_validation.edits import apply_edits
from pyvws_validation.listings import TARGET, judged
from pyvws_validation.package_cases import CASES as PACKAGE_CASES
from pyvws_validation.report import Row

# The authors' Stan program names the weights after the letter alpha; other data names are equal.
_DATA_NAMES: Final = {"weights": "alphas"}
_NO_FUNCTION: Final = "The checkout defines no function {}."
_LIKELIHOOD: Final = "neg_binomial_2_log_lpmf"

CASES: Final[tuple[AuthorCase, ...]] = (*SCRIPT_CASES, *PACKAGE_CASES)
_SOURCES: Final = {
    "risk2024": "the risk-efficient paper's scripts",
    "lipschitzweights2020": "the R package LipschitzWeights",
    "attributerisk2021": "the R package AttributeRiskCalculation",
}


@dataclass(frozen=True, slots=True)
class AuthorFunction:
    """A function definition: the file, the file's SHA-256, and the definition's text."""

    file: str
    sha256: str
    code: str


Functions = dict[str, AuthorFunction]
Finder = Callable[[Path, Functions], tuple[AuthorFunction, str] | None]


def run(checkout: Path) -> Iterator[Row]:
    """A row for each quantity of the authors' scripts or packages in the folder `checkout`.

    A row is compared when it is asked for. It is "skipped" if the checkout lacks the function or
    R is missing. The function raises InputError for a folder that is no checkout of these.
    """
    papers = _papers_of(checkout)
    available, missing = bridge.r_available()
    functions = find_functions(checkout) if available else {}
    source = f"R {bridge.r_versions()['R']}" if available else ""
    cases = [case for case in CASES if case.paper in papers]
    slips = [slip for slip in SLIPS if slip.paper.partition(",")[0] in papers]
    own = (compared(case, functions, missing, source) for case in cases)
    return chain(own, _structure_rows(slips, checkout, functions, missing, source))


def compared(case: AuthorCase, functions: Functions, missing: str, source: str) -> Row:
    """The row of one case; `missing` says why R is not there, `source` which R it is."""
    function = functions.get(case.function)
    row = Row(
        id=case.id,
        paper=f"{case.paper}, {case.cites}",
        level="close",
        r_function=f"{function.file}:{case.function}" if function else case.function,
        python_function=case.python_function,
        seeds=case.seeds,
        shapes=tuple((n,) for n in case.sizes),
        verdict="fail",
        source=source,
        sha256=function.sha256 if function else "",
        edits=(*(edit.name for edit in case.edits), *(edit.name for edit in case.inputs)),
        erratum=case.erratum,
    )
    if missing or function is None:
        reason = missing or _NO_FUNCTION.format(case.function)
        return replace(row, verdict="skipped", reason=reason)
    try:
        needed = [functions[name].code for name in case.needs]
        code = apply_edits("\n".join([*needed, function.code, case.given]), case.edits)
        gap = max(_gap(case, code, seed, n) for n in case.sizes for seed in case.seeds)
    except MissingDependencyError as error:
        return replace(row, verdict="skipped", reason=str(error))
    except PyvwsError as error:
        return replace(row, reason=str(error))
    except Exception as error:
        reason = f"Their result is none that can be compared: {type(error).__name__}."
        return replace(row, reason=reason)
    agree = gap <= case.limit
    measured = "their function stops" if gap == np.inf else f"{gap:.2g}"
    if case.expect == "differs":
        measured = measured if agree else f"{measured}, as known"
        reason = f"Both agree, but should not: see the erratum {case.erratum}." if agree else ""
    else:
        measured = f"{measured} of {case.limit:.2g}"
        reason = "" if agree else f"Too far apart: {measured}, relative to 1 or a larger value."
    return replace(row, verdict="fail" if reason else "pass", reason=reason, measured=measured)


def _gap(case: AuthorCase, code: str, seed: int, n: int) -> float:
    """Largest difference for a seed and size, relative to 1 or more; inf where theirs stops."""
    call, ours = case.case(seed, n)
    calls = [call]
    for edit in case.inputs:
        calls = [changed for call in calls for changed in edit.change(call)]
    theirs = np.full_like(ours, np.nan)
    for own in calls:
        places = slice(None) if own.places is None else own.places
        try:
            result = _called(case, code, own)
        except bridge.RError:
            if case.expect == "differs":
                return float("inf")
            raise
        if case.expect == "differs" and result.shape != theirs[places].shape:
            return float("inf")
        theirs[places] = result
    apart = np.abs(theirs - ours) / np.maximum(1.0, np.abs(ours))
    return float("inf") if np.isnan(apart).any() else float(apart.max())


def _called(case: AuthorCase, code: str, call: AuthorCall) -> Floats:
    name = "called" if "called <- " in case.given else case.function
    arguments = {"code": code, "name": name, "arguments": call.arguments}
    value: Any = bridge.call("authors", "run_function", arguments)
    if call.part:
        return np.concatenate([numbers(value[name]).ravel() for name in call.part])
    return numbers(value).ravel()


# Files of the authors' checkout


def _r_files(checkout: Path) -> list[Path]:
    """All R files at any depth, sorted; InputError if there is no R file."""
    files = sorted(path for path in checkout.rglob("*") if path.suffix in (".R", ".r"))
    if not files:
        raise InputError.by("checkout-without-r", folder=checkout)
    return files


def _papers_of(checkout: Path) -> set[str]:
    """Whose scripts or packages the R files are: half of the compared functions; needs no R."""
    text = "\n".join(path.read_text("utf-8", errors="replace") for path in _r_files(checkout))
    papers, absences = set(), []
    for paper, source in _SOURCES.items():
        names = sorted({case.function for case in CASES if case.paper == paper})
        absent = [name for name in names if not re.search(rf"\b{name}\s*(<-|=)\s*function\b", text)]
        if 2 * len(absent) <= len(names):
            papers.add(paper)
        absences.append(f"Of {source} it does not define {', '.join(absent)}.")
    if not papers:
        raise InputError.by(
            "checkout-of-none",
            folder=checkout,
            sources=" nor of ".join(_SOURCES.values()),
            absences=" ".join(absences),
        )
    return papers


def _asked(checkout: Path, function: str) -> Iterator[tuple[AuthorFunction, Path, Any]]:
    """Each R file, as a definition without a text, with what R says of it; unreadable ones not."""
    for path in _r_files(checkout):
        try:
            answer = bridge.call("authors", function, {"file": str(path.resolve())})
        except bridge.RError:
            continue
        name = path.relative_to(checkout).as_posix()
        yield AuthorFunction(name, file_digest(path), ""), path, answer


def find_functions(checkout: Path) -> Functions:
    """Function definitions of all R files by name, the first where two share a name; needs R."""
    functions: Functions = {}
    for file, _, defined in _asked(checkout, "functions_of"):
        if isinstance(defined, dict):  # An empty list has no names.
            for name, code in defined.items():
                functions.setdefault(name, replace(file, code=str(code[0])))
    return functions


def missing_files(checkout: Path) -> Functions:
    """Files that a script reads and that are missing beside the script: name to script. Needs R."""
    missing: Functions = {}
    for script, path, read in _asked(checkout, "files_read"):
        for name in map(str, read):
            if not (path.parent / name).is_file():
                missing.setdefault(name, script)
    return missing


# Slips of structure, and the authors' Stan program


@dataclass(frozen=True, slots=True)
class _Slip:
    """A slip of structure in a `function`: `find` gives its place, or None when it has gone."""

    id: str
    erratum: str
    paper: str
    python_function: str
    find: Finder
    function: str = ""


def _structure_rows(
    slips: list[_Slip], checkout: Path, functions: Functions, missing: str, source: str
) -> Iterator[Row]:
    """Rows of the slips of structure, and the density row of each of their Stan programs."""
    for slip in slips:
        unseen = missing
        if not missing and slip.function and slip.function not in functions:
            unseen = _NO_FUNCTION.format(slip.function)
        place = None if unseen else slip.find(checkout, functions)
        where, measured = place or (None, "")
        gone = f"The slip has gone: bring the erratum {slip.erratum} up to date."
        yield Row(
            id=slip.id,
            paper=slip.paper,
            level="exact",
            r_function=where.file if where else "",
            python_function=slip.python_function,
            verdict="pass" if place else "skipped" if unseen else "fail",
            reason="" if place else unseen or gone,
            source=source,
            measured=measured,
            sha256=where.sha256 if where else "",
            erratum=slip.erratum,
        )
    for path in sorted(checkout.rglob("*.stan")):
        program = path.read_text(encoding="utf-8")
        if _LIKELIHOOD in program:
            row = Row(
                id="authors/density-negative-binomial",
                paper="risk2024, section 2.4.2",
                level="density",
                r_function=path.relative_to(checkout).as_posix(),
                python_function=TARGET,
                verdict="fail",
                sha256=file_digest(path),
            )
            asked: dict[str, Any] = {"program": program, "names": _DATA_NAMES}
            judge = partial(judge_program, "negative-binomial", "rstan", **asked)
            yield judged(row, "rstan", judge)


def _absent(suffix: str) -> Finder:
    def find(checkout: Path, _: Functions) -> tuple[AuthorFunction, str] | None:
        for name, script in missing_files(checkout).items():
            if name.endswith(suffix):
                return script, f"{name} is not there, as known"
        return None

    return find


def _loose(function: str, kind: str, names: tuple[str, ...]) -> Finder:
    def find(_: Path, functions: Functions) -> tuple[AuthorFunction, str] | None:
        arguments: dict[str, Any] = {"code": functions[function].code, "name": function}
        loose = {*map(str, bridge.call("authors", "loose_names", arguments)[kind])}
        if not loose.issuperset(names):
            return None
        return functions[function], f"{kind}: {', '.join(names)}, as known"

    return find


def _written(functions: tuple[str, ...], text: str) -> Finder:
    """A slip that stands in the text of all these functions."""

    def find(_: Path, known: Functions) -> tuple[AuthorFunction, str] | None:
        lines = [" ".join(known[name].code.split()) for name in functions if name in known]
        if len(lines) < len(functions) or not all(text in line for line in lines):
            return None
        return known[functions[0]], f"{text} in {', '.join(functions)}, as known"

    return find


_SYNTHESIS: Final = "pyvws.release.synthesizer:synthesize"
SLIPS: Final = (
    _Slip(
        "authors/driver-source", "driver-sources-missing-file", "risk2024, section 2.4",
        _SYNTHESIS, _absent(".R"),
    ),
    _Slip(
        "authors/driver-data", "driver-loads-missing-data", "risk2024, Supplement 6",
        _SYNTHESIS, _absent(".RData"),
    ),
    _Slip(
        "authors/unused-known", "pattern-size-fixed", "risk2024, Equation 6",
        "pyvws.risks.pairwise:pairwise_weights",
        _loose("IdentificationRisk_pw", "unused", ("known.vars", "all.known.vars")),
        "IdentificationRisk_pw",
    ),
    _Slip(
        "authors/records-from-global", "records-from-global", "risk2024, section 2",
        _SYNTHESIS, _loose("gen_synthetic_data", "free", ("N",)), "gen_synthetic_data",
    ),
    _Slip(
        "authors/diagnostics-undefined", "diagnostics-undefined", "risk2024, section 2",
        "pyvws.posterior.draws:diagnose",
        _loose("gen_synthetic_data", "free", ("posterior", "np")), "gen_synthetic_data",
    ),
    _Slip(
        "authors/package-poisson-for-all", "package-poisson-for-all",
        "lipschitzweights2020, synthesis", _SYNTHESIS,
        _written(("syn_logistic", "syn_ordinal"), "rpois(N, draws_exp)"), "syn_logistic",
    ),
    _Slip(
        "authors/package-trials-undefined", "package-trials-undefined",
        "lipschitzweights2020, synthesis", _SYNTHESIS,
        _loose("syn_NegativeBinomial", "free", ("trails",)), "syn_NegativeBinomial",
    ),
    _Slip(
        "authors/package-failure-odds", "package-failure-odds", "lipschitzweights2020, synthesis",
        _SYNTHESIS, _written(("syn_NegativeBinomial",), "prob = trails/draws_exp"),
        "syn_NegativeBinomial",
    ),
    _Slip(
        "authors/package-arguments-unused", "package-arguments-unused",
        "lipschitzweights2020, arguments", "pyvws.weights.weights:lipschitz_weights",
        _loose("syn_Poisson", "unused", ("thresh", "risks_method")), "syn_Poisson",
    ),
    _Slip(
        "authors/package-first-draw", "package-first-draw", "lipschitzweights2020, synthesis",
        _SYNTHESIS, _written(("syn_Poisson", "syn_logistic"), "start <- 500 / 2"), "syn_Poisson",
    ),
    _Slip(
        "authors/package-slope-for-spread", "package-slope-for-spread",
        "lipschitzweights2020, synthesis", _SYNTHESIS,
        _written(("syn_normal",), "draws_sd <- draws[start + thin * (i - 1), 2]"), "syn_normal",
    ),
)  # fmt: skip
