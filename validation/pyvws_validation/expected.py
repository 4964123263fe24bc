"""Results of R that travel with the package, for comparisons where R is missing.

Each script has one file, ``validation/expected/<script>.json``. The file holds the script's hash
and, for each case, the hash of the case's arguments and one line for each cell. A result is stale
if its script or its arguments have changed since. A stale result is a failure:
`python -m pyvws_validation.refresh` writes all results anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base import resources as _resources
from pyvws.errors import PyvwsError
from pyvws_validation._case import Case
from pyvws_validation._draws import digest

# R adds in long double, so the last bits depend on the width of long double on a machine.
LONG_DOUBLE_BITS: Final = int(np.finfo(np.longdouble).nmant) + 1
REFRESH: Final = "Run: python -m pyvws_validation.refresh"


class StaleError(PyvwsError):
    """A stored result is absent, or belongs to another script or to other arguments."""


@dataclass(frozen=True, slots=True)
class Stored:
    """R's numbers for the cells of one case, in the order of `Case.cells`."""

    results: tuple[NDArray[np.float64], ...]
    r_version: str
    long_double_bits: int


def script_hash(script: str) -> str:
    """SHA-256 of an R reference, the same for every kind of line end."""
    text = (_resources.folder("r_reference") / f"{script}.R").read_text(encoding="utf-8")
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def arguments_hash(case: Case) -> str:
    """SHA-256 of the arguments of all cells of a case."""
    return digest({cell.label: cell.arguments for cell in case.cells()})


def load(case: Case, folder: Path | None = None) -> Stored:
    """The stored results of a case; StaleError if the script or the arguments have changed."""
    path = _place(folder) / f"{case.script}.json"
    content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"cases": {}}
    entry = content["cases"].get(f"{case.id} {case.r_function}")
    if entry is None:
        raise StaleError(f"No result of R is stored for this case. {REFRESH}")
    if content["script_sha256"] != script_hash(case.script):
        raise StaleError(f"{case.script}.R has changed since its results were stored. {REFRESH}")
    if entry["arguments_sha256"] != arguments_hash(case):
        raise StaleError(f"The arguments have changed since the result was stored. {REFRESH}")
    return Stored(
        tuple(decode(line) for line in entry["results"]), content["r"], content["long_double_bits"]
    )


def save(
    script: str,
    results: Iterable[tuple[Case, list[NDArray[np.float64]]]],
    r_version: str,
    folder: Path | None = None,
) -> Path:
    """Write the results of one script's cases and return the file."""
    content: dict[str, Any] = {
        "script": f"{script}.R",
        "script_sha256": script_hash(script),
        "r": r_version,
        "long_double_bits": LONG_DOUBLE_BITS,
        "cases": {
            f"{case.id} {case.r_function}": {
                "arguments_sha256": arguments_hash(case),
                "results": [encode(result) for result in arrays],
            }
            for case, arrays in results
        },
    }
    path = _place(folder) / f"{script}.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


def _place(folder: Path | None) -> Path:
    return folder or _resources.folder("validation") / "expected"


def encode(array: NDArray[np.float64]) -> str:
    """'shape: hexadecimal doubles', exact and short."""
    shape = "x".join(map(str, array.shape))
    return f"{shape}: {' '.join(float(value).hex() for value in array.ravel())}"


def decode(line: str) -> NDArray[np.float64]:
    """The array that `encode` wrote."""
    shape, _, values = line.partition(": ")
    flat = [float.fromhex(value) for value in values.split()]
    return np.array(flat).reshape([int(size) for size in shape.split("x")])
