"""Texts of options as values, and the seed of a run that names none."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import Any

import typer

from pyvws.errors import InputError

__all__ = [
    "bound_to_meet",
    "drawn_seed",
    "file_text",
    "numbers",
    "options_of",
    "rows_of_a_dataset",
    "size_in_bytes",
]

_SIZE = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>[kKmMgGtT]?[bB])?")
_UNITS = {"": 1.0, "B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


def bound_to_meet(text: str | None) -> str | float | None:
    if text is None or text == "lw":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--match must be lw or a number. Got {text!r}.") from None


def numbers(text: str | None, option: str, *, two: bool = False) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or (two and len(values) != 2):
        wanted = "two numbers, as in 0,1" if two else "numbers, as in 1,2,3"
        raise InputError(f"{option} takes {wanted}. Got {text!r}.")
    return values


def rows_of_a_dataset(text: str | None) -> int | str | None:
    if text is None or text == "noisy":
        return text
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--records must be a whole number or noisy. Got {text!r}.") from None


def size_in_bytes(text: str) -> float:
    """2GB, 500MB or a number of bytes."""
    found = _SIZE.fullmatch(text.strip())
    if found is None or float(found["number"]) == 0:
        raise InputError(f"--memory takes a size such as 2GB or 500MB. Got {text!r}.")
    return float(found["number"]) * _UNITS[(found["unit"] or "").upper()]


def file_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path} cannot be read as text. Name a Stan program.") from None


def drawn_seed() -> int:
    """63 bits, the most that TOML has room for; the highest is set, so that none looks short."""
    return 1 << 62 | secrets.randbits(62)


_NOT_SETTINGS = ("table", "out", "config", "help", "overwrite", "quiet", "as_json")


def options_of(command: Any) -> dict[str, Any]:
    """The options of a typer function that a file of settings may hold, by name."""
    app = typer.Typer(add_completion=False)
    app.command()(command)
    made = typer.main.get_command(app)
    return {
        parameter.name: parameter
        for parameter in made.params
        if parameter.name and parameter.name not in _NOT_SETTINGS
    }
