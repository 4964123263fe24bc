"""The folder of a study: its settings and one whole file a replicate, so that a study resumes.

study.json holds the name, the settings and the seed; replicates/KEY.json one result. A file is
written under another name, flushed and renamed, so a killed study leaves whole files only.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyvws._base.folders import check_folder, write_whole
from pyvws.errors import InputError, OutputError

__all__ = ["Key", "Result", "ResultFolder", "key_name", "open_folder"]

Key = tuple[str | int, ...]
"""What tells one replicate from the others, such as ("data", 123, 7)."""

_SETTINGS = "study.json"
_REPLICATES = "replicates"
_PARTIAL = ".partial"
_STALE_SECONDS = 60.0
_PART = re.compile(r"[A-Za-z0-9_.]+")


@dataclass(frozen=True, slots=True)
class Result:
    """One replicate: `rows` for replicates.csv, and what else a report needs, all of it JSON."""

    rows: list[dict[str, Any]]
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResultFolder:
    """An open folder, and the fingerprint that its files must bear."""

    path: Path
    fingerprint: str

    def read(self, key: Key) -> Result | None:
        """The kept result of a replicate; None when there is none yet."""
        path = self._place(key)
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["settings"] == self.fingerprint:
                return Result(kept["rows"], kept["extra"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            pass
        raise OutputError(
            f"{path} is no result of this study under these settings. Delete it, and the replicate "
            "is computed again; or name another folder."
        )

    def keep(self, key: Key, result: Result) -> Result:
        """Write the result of a replicate, whole or not at all; returns it as it will be read."""
        content = {"settings": self.fingerprint, "rows": result.rows, "extra": result.extra}
        text = json.dumps(content, allow_nan=False)
        write_whole(self._place(key), text + "\n")
        kept = json.loads(text)
        return Result(kept["rows"], kept["extra"])

    def _place(self, key: Key) -> Path:
        return self.path / _REPLICATES / f"{key_name(key)}.json"


def open_folder(
    path: Path, *, name: str, settings: Mapping[str, Any], seed: int, overwrite: bool
) -> ResultFolder:
    """Make the folder of a study, or find the one that an earlier run of the same study left.

    Raises OutputError when it holds another study, other settings, another seed or other files;
    `overwrite` empties it first.
    """
    from pyvws import __version__

    ours = {"study": name, "seed": seed, "version": __version__, "settings": dict(settings)}
    ours = json.loads(json.dumps(ours))
    if overwrite and path.exists():
        check_folder(path, overwrite=True)
        shutil.rmtree(path)
    _sweep(path)
    kept = _kept_settings(path)
    if kept is None:
        check_folder(path, overwrite=False)
    elif kept != ours:
        raise OutputError(
            f"{path} holds a study with other settings: {_difference(kept, ours)}. Name another "
            "folder, or use --overwrite to empty it first."
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
        if kept is None:
            write_whole(path / _SETTINGS, json.dumps(ours, indent=2) + "\n")
        (path / _REPLICATES).mkdir(exist_ok=True)
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(
            f"{path} could not be written ({error.strerror}). Name another."
        ) from None
    text = json.dumps(ours, sort_keys=True)
    return ResultFolder(path, hashlib.sha256(text.encode()).hexdigest())


def key_name(key: Key) -> str:
    """The parts of a key joined by hyphens: a file name, one for each key."""
    parts = [str(part) for part in key]
    if not parts or not all(_PART.fullmatch(part) for part in parts):
        raise InputError(f"A replicate's key needs parts of letters, digits, _ and dots: {key}.")
    return "-".join(parts)


def _sweep(path: Path) -> None:
    """Remove what a killed run left half written; a write under way is younger."""
    for left in [*path.glob(f".*{_PARTIAL}"), *(path / _REPLICATES).glob(f".*{_PARTIAL}")]:
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                left.unlink()


def _kept_settings(path: Path) -> dict[str, Any] | None:
    try:
        kept = json.loads((path / _SETTINGS).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:
        kept = None
    if not isinstance(kept, dict):
        raise OutputError(f"{path / _SETTINGS} cannot be read. Name another folder.")
    return kept


def _difference(kept: dict[str, Any], ours: dict[str, Any]) -> str:
    """The first few entries that differ, theirs and ours."""
    flat = [{**side, **side.get("settings", {})} for side in (kept, ours)]
    names = [
        name
        for name in sorted({*flat[0], *flat[1]} - {"settings"})
        if flat[0].get(name) != flat[1].get(name)
    ]
    shown = [f"{name} {flat[0].get(name)} there, {flat[1].get(name)} here" for name in names[:3]]
    return "; ".join([*shown, *(["..."] if len(names) > 3 else [])])
