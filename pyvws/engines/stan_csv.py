"""CmdStan's CSV files: settings in comments, a row of names, a row a draw."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws.errors import InputError


def read_draws(path: Path, wanted: Callable[[str], bool]) -> tuple[list[str], Floats]:
    """Names and values (draws, columns) of the wanted columns of one chain, warm-up left out.

    Raises InputError for a file that is missing or was cut short.
    """
    if not path.is_file():
        raise InputError.by("program-file-missing", path=path)
    if path.stat().st_size == 0:
        raise InputError.by("csv-empty", path=path.name)
    settings, header = _head(path)
    names = [name for name in header if wanted(name)]
    if not names:
        return [], np.empty((0, 0))
    try:
        table = pl.read_csv(
            path,
            comment_prefix="#",
            columns=names,
            schema_overrides=dict.fromkeys(names, pl.Float64),
        ).select(names)
    except pl.exceptions.PolarsError:
        table = pl.DataFrame()
    kept = _draws(settings, "num_samples")
    warmup = _draws(settings, "num_warmup") or 0
    if settings.get("save_warmup", "0") not in ("1", "true"):
        warmup = 0
    complete = table.height > warmup and not any(table.null_count().row(0)) and _ended(path)
    if not complete or (kept is not None and table.height != warmup + kept):
        raise InputError.by("csv-incomplete", path=path.name)
    return names, np.ascontiguousarray(table.to_numpy()[warmup:], dtype=np.float64)


def _head(path: Path) -> tuple[dict[str, str], list[str]]:
    """The settings and column names at the start of a CSV file."""
    settings: dict[str, str] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("#"):
                return settings, line.strip().split(",")
            name, equals, value = line[1:].partition("=")
            if equals:
                settings[name.strip()] = value.replace("(Default)", "").strip()
    return settings, []


def _ended(path: Path) -> bool:
    """Whether the last line is whole; a number that was cut short still reads as a number."""
    with path.open("rb") as raw:
        raw.seek(-1, os.SEEK_END)
        return raw.read() == b"\n"


def _draws(settings: dict[str, str], name: str) -> int | None:
    """Number of rows that a file's settings announce after thinning; None where they do not."""
    if name not in settings:
        return None
    return -(-int(settings[name]) // int(settings.get("thin", "1")))
