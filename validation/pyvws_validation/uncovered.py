"""What no row covers: public functions and classes that no case runs, and what rows leave open.

`validation/reached.json` names what cases of the levels exact, statement and guarantee run. The
list of the others follows from the package's own files, so a new function stands in it until
``python -m pyvws_validation.refresh`` has seen a case run it.
"""

from __future__ import annotations

import ast
import contextlib
import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Final

from pyvws._base import resources as _resources
from pyvws_validation._privacy_loss import Losses
from pyvws_validation.cases import CASES, MeasuredCase, guarantee, measured_cases, searched

LEFT_OPEN: Final = (
    "Whether the chains of a run reach their posterior. Rows of claims and whole runs replace the "
    "sampler. Rows of samplers have few parameters: one target of each family, tables of two "
    "columns, and the prior of classes. The level posterior has one table for each family.",
    "The chain of noisy counts as a whole. Level posterior has it, with up to five records.",
    "Compiled kernels one by one. Their results enter the rows of densities, terms and bounds.",
    "Options together. A row has few settings besides the usual ones, and their pairs are not run.",
    "Bounds of a predictor's levels under a formula with interactions, and of a column by groups.",
    "Synthetic values of a normal mixture with labels from the full conditional, and of the scale "
    "signed-log. Columns with groups or dates. The law of values that are drawn again.",
    "How numbers heap under points that stand apart, and in cells that noise chose.",
    "Weights from a reference on a table of columns or units. Weights of CW inside a clamp.",
    "Searches for a constant of CW, and Algorithm 3 and downscaling on tables and units.",
    "Whole releases of fits of R, CmdStan or own Stan programs, and of fits of several columns.",
    "Caveats and trust beyond those that rows of facts name, and which releases a ledger lists.",
    "What commands choose for a judge: keys, columns and combining rules, and the programs of "
    "pages. Rows have the figures that follow.",
    "Systematic sampling of tables beyond the families that make a value of one uniform number.",
    "Seeds: that a secret stream is secret, and that noise has no seed.",
    "What a message, a log or a temporary file shows of a confidential table.",
    "Files in and out: types, spelling, missing values and damaged input. Tests hold these.",
    "Figures, pages and the bridge from R. Tests hold these.",
)
"""Kinds of error that the rows would miss, whatever function they are in."""

_FILE: Final = "reached.json"
_LEVELS: Final = ("statement", "guarantee")
_KERNELS: Final = ("kernel", "inlined_kernel")
_NOT_RUN: Final = ("Protocol", "Error", "Warning")


@cache
def public_names(package: Path = _resources.PACKAGE) -> dict[str, tuple[str, ...]]:
    """Public functions and classes with functions, but kernels, errors, Protocols and this room."""
    reached = {}
    for path in sorted(package.rglob("*.py")):
        module = _module(path, package)
        if module.startswith("pyvws_validation"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [_run_name(node) for node in tree.body]
        own = tuple(dict.fromkeys(name for name in names if name and not name.startswith("_")))
        if own:
            reached[module] = own
    return reached


def uncovered() -> dict[str, tuple[str, ...]]:
    """The public functions and classes by module that no case was seen to run."""
    path = _resources.folder("validation") / _FILE
    seen = set(json.loads(path.read_text(encoding="utf-8")))
    left = {
        module: tuple(name for name in names if f"{module}:{name}" not in seen)
        for module, names in public_names().items()
    }
    return {module: names for module, names in left.items() if names}


def reached() -> list[str]:
    """What the cases run now, as "module:name": of each case the first part alone."""
    with functions_seen() as codes:
        for case in CASES:
            case.python(next(case.cells()))
        for measured in measured_cases():
            if measured.kind in _LEVELS:
                _begin(measured)
    return among_public(codes)


def among_public(codes: set[tuple[str, str]]) -> list[str]:
    """The public names among the files and qualified names of functions that ran."""
    ran = {(_module(Path(file)), name.split(".")[0]) for file, name in codes}
    return sorted(
        f"{module}:{name}"
        for module, own in public_names().items()
        for name in own
        if (module, name) in ran
    )


def save() -> Path:
    """Write what the cases run, and return the file."""
    path = _resources.folder("validation") / _FILE
    path.write_text(json.dumps(reached(), indent=1) + "\n", encoding="utf-8")
    return path


def _begin(case: MeasuredCase) -> None:
    if isinstance(case, guarantee.ComputedLoss):
        case.runs.log_probabilities(case.runs.bases[0], case.epsilons[0], Losses())
    elif isinstance(case, guarantee.SampledLoss):
        case.releases(case.databases[0], 2, 1)
    elif isinstance(case, searched.SearchedStatement):
        list(replace(case, seeds=(1,)).rows())
    else:
        list(case.rows())


@contextlib.contextmanager
def functions_seen() -> Iterator[set[tuple[str, str]]]:
    """The files and qualified names of the Python functions that any thread calls meanwhile."""
    seen: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            seen.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _module(path: Path, package: Path = _resources.PACKAGE) -> str:
    """The module of a file of the package; "" of another file."""
    if not path.is_relative_to(package):
        return ""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def _run_name(node: ast.stmt) -> str:
    """The name of what a case can be seen to run, if the statement defines it; else ""."""
    if isinstance(node, ast.FunctionDef):
        compiled = {ast.unparse(decorator) for decorator in node.decorator_list} & {*_KERNELS}
        return "" if compiled else node.name
    if not isinstance(node, ast.ClassDef):
        return ""
    bases = " ".join(map(ast.unparse, node.bases))
    own = any(isinstance(statement, ast.FunctionDef) for statement in node.body)
    return node.name if own and not any(word in bases for word in _NOT_RUN) else ""
