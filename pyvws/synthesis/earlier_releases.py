"""Statements of earlier releases of a table, read from their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from pyvws.errors import InputError

STATEMENT_FILE: Final = "privacy.json"


def read_statement(path: str | Path) -> dict[str, Any]:
    """A release's statement; `path` is its file, the release folder, or a run's output folder.

    Raises InputError for a path without a statement.
    """
    given = Path(path)
    for file in (given, given / STATEMENT_FILE, given / "release" / STATEMENT_FILE):
        if file.is_file():
            break
    else:
        raise InputError(f"{given}: no {STATEMENT_FILE} there. Name a release or its statement.")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or not {"guarantee", "epsilon_by_neighbours"} <= found.keys():
        raise InputError(f"{file}: not a privacy statement of pyvws. Name its {STATEMENT_FILE}.")
    return found
