"""Files of a checkout of R scripts: the functions that they define and the files that they read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from pyvws.errors import InputError
from pyvws.r import bridge

__all__ = ["AuthorFunction", "find_functions", "missing_files", "r_files", "sha256_of"]


@dataclass(frozen=True, slots=True)
class AuthorFunction:
    """A function definition: its file, that file's SHA-256, and its text."""

    file: str
    sha256: str
    code: str


def r_files(checkout: Path) -> list[Path]:
    """All R files at any depth, sorted; InputError where there is none."""
    found = sorted(path for path in checkout.rglob("*") if path.suffix in (".R", ".r"))
    if not found:
        raise InputError(f"There is no R file in {checkout}. Give the checkout of the scripts.")
    return found


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def find_functions(checkout: Path) -> dict[str, AuthorFunction]:
    """Function definitions of all R files by name; of two with one name, the first file's.

    A file that R cannot parse holds none. Needs R.
    """
    found: dict[str, AuthorFunction] = {}
    for path in r_files(checkout):
        try:
            defined = bridge.call("authors", "functions_of", {"file": str(path.resolve())})
        except bridge.RError:
            continue
        if isinstance(defined, dict):  # An empty list has no names.
            name = path.relative_to(checkout).as_posix()
            for function, code in defined.items():
                found.setdefault(function, AuthorFunction(name, sha256_of(path), str(code[0])))
    return found


def missing_files(checkout: Path) -> dict[str, AuthorFunction]:
    """Files that a script reads and that are not beside it, by name, with that script. Needs R."""
    found: dict[str, AuthorFunction] = {}
    for path in r_files(checkout):
        try:
            read = bridge.call("authors", "files_read", {"file": str(path.resolve())})
        except bridge.RError:
            continue
        for name in map(str, read):
            if not (path.parent / name).is_file():
                script = path.relative_to(checkout).as_posix()
                found.setdefault(name, AuthorFunction(script, sha256_of(path), ""))
    return found
