"""What the authors' scripts lack, and their Stan program against the package's model.

Slips that no number of a run can show: files that a driver reads but that are not there, arguments
that a function never uses, names that nobody gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pyvws.engines.registry import engine_version
from pyvws.errors import PyvwsError
from pyvws.r import bridge
from pyvws.validation.author_files import AuthorFunction, missing_files, sha256_of
from pyvws.validation.cases.density import judge_program
from pyvws.validation.report import Row

__all__ = ["structure_rows"]

Functions = dict[str, AuthorFunction]

# Their program names the weights after the letter; the data are otherwise those of the package.
_DATA_NAMES: Final = {"weights": "alphas"}
_LIKELIHOOD: Final = "neg_binomial_2_log_lpmf"


@dataclass(frozen=True, slots=True)
class _Slip:
    """A slip of structure: `find` gives where it is, or None when it has gone."""

    id: str
    erratum: str
    paper: str
    python_function: str
    find: Callable[[Path, Functions], tuple[AuthorFunction, str] | None]


def structure_rows(
    checkout: Path, functions: Functions, missing: str, source: str
) -> Iterator[Row]:
    """Rows of the slips of structure, and the density row of each of their Stan programs."""
    for slip in _SLIPS:
        found = None if missing else slip.find(checkout, functions)
        verdict: Literal["pass", "fail", "skipped"]
        if missing:
            verdict, reason = "skipped", missing
        elif found is None:
            verdict = "fail"
            reason = f"The slip has gone: bring the erratum {slip.erratum} up to date."
        else:
            verdict, reason = "pass", ""
        yield Row(
            id=slip.id,
            paper=slip.paper,
            level="exact",
            r_function=found[0].file if found else "",
            python_function=slip.python_function,
            seeds=(),
            shapes=(),
            largest_difference=None,
            verdict=verdict,
            reason=reason,
            source=source,
            measured=found[1] if found else "",
            sha256=found[0].sha256 if found else "",
            erratum=slip.erratum,
        )
    for path in sorted(checkout.rglob("*.stan")):
        program = path.read_text(encoding="utf-8")
        if _LIKELIHOOD in program:
            yield _density(path.relative_to(checkout).as_posix(), sha256_of(path), program)


def _density(name: str, sha256: str, program: str) -> Row:
    verdict: Literal["pass", "fail", "skipped"]
    measured = source = ""
    try:
        source = f"rstan {engine_version('rstan')}"
    except PyvwsError as missing:
        verdict, reason = "skipped", str(missing)
    else:
        try:
            passed, measured = judge_program(
                "negative-binomial", "rstan", program, names=_DATA_NAMES
            )
            verdict, reason = ("pass", "") if passed else ("fail", f"Too far apart: {measured}")
        except PyvwsError as error:
            verdict, reason = "fail", str(error)
    return Row(
        id="authors/density-negative-binomial",
        paper="risk2024, section 2.4.2",
        level="density",
        r_function=name,
        python_function="pyvws.posterior.pseudo_posterior:PseudoPosterior",
        seeds=(1,),
        shapes=((60, 1), (60, 3), (60, 8)),
        largest_difference=None,
        verdict=verdict,
        reason=reason,
        source=source,
        measured=measured,
        sha256=sha256,
    )


def _absent(suffix: str) -> Callable[[Path, Functions], tuple[AuthorFunction, str] | None]:
    def find(checkout: Path, _: Functions) -> tuple[AuthorFunction, str] | None:
        for name, script in missing_files(checkout).items():
            if name.endswith(suffix):
                return script, f"{name} is not there, as known"
        return None

    return find


def _loose(
    function: str, kind: str, names: tuple[str, ...]
) -> Callable[[Path, Functions], tuple[AuthorFunction, str] | None]:
    def find(_: Path, functions: Functions) -> tuple[AuthorFunction, str] | None:
        if function not in functions:
            return None
        arguments: dict[str, Any] = {"code": functions[function].code, "name": function}
        loose = {*map(str, bridge.call("authors", "loose_names", arguments)[kind])}
        if not loose.issuperset(names):
            return None
        return functions[function], f"{kind}: {', '.join(names)}, as known"

    return find


_SYNTHESIS: Final = "pyvws.release.synthesize:synthesize"
_SLIPS: Final = (
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
    ),
    _Slip(
        "authors/records-from-global", "records-from-global", "risk2024, section 2",
        _SYNTHESIS, _loose("gen_synthetic_data", "free", ("N",)),
    ),
    _Slip(
        "authors/diagnostics-undefined", "diagnostics-undefined", "risk2024, section 2",
        "pyvws.posterior.diagnostics:diagnose",
        _loose("gen_synthetic_data", "free", ("posterior", "np")),
    ),
)  # fmt: skip
