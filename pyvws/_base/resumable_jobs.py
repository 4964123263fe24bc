"""Independent jobs side by side, whose results stay in a folder from which they resume.

A job's seed follows from a whole seed and the job's key alone. So neither the order, nor the
number of jobs, nor an interruption changes a result. In the folder, study.json holds the name,
the settings and the seed; each replicates/KEY.json holds one result. This module writes a file
under another name, flushes the file and renames it, so a killed run leaves whole files only.
Other processes get their work by pipe, so no file holds it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pyvws._base.cores import one_core, usable_cores
from pyvws._base.folders import check_folder, write_whole
from pyvws.errors import InputError, OutputError

Key = tuple[str | int, ...]
"""The unique name of one replicate, such as ("data", 123, 7)."""

_SETTINGS = "study.json"
_REPLICATES = "replicates"
_PARTIAL = ".partial"
_STALE_SECONDS = 60.0
_PART = re.compile(r"[A-Za-z0-9_.]+")


@dataclass(frozen=True, slots=True)
class Result:
    """One replicate as JSON: `rows` for replicates.csv, and `extra` for the report."""

    rows: list[dict[str, Any]]
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResultFolder:
    """An open folder of results, and the fingerprint that every file in it must bear; the owner
    alone can read the files of a `private` one.
    """

    path: Path
    fingerprint: str
    private: bool = False

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

    def has(self, key: Key) -> bool:
        """Whether a file for the result is there."""
        return self._place(key).exists()

    def keep(self, key: Key, result: Result) -> Result:
        """Write a replicate's result, whole or not at all; return the result as `read` gives it."""
        content = {"settings": self.fingerprint, "rows": result.rows, "extra": result.extra}
        text = json.dumps(content, allow_nan=False)
        write_whole(self._place(key), text + "\n", private=self.private)
        kept = json.loads(text)
        return Result(kept["rows"], kept["extra"])

    def _place(self, key: Key) -> Path:
        return self.path / _REPLICATES / f"{key_name(key)}.json"


def open_folder(
    path: Path,
    *,
    name: str,
    settings: Mapping[str, Any],
    seed: int,
    overwrite: bool,
    private: bool = False,
) -> ResultFolder:
    """Make a folder of results, or open the folder that an earlier run of the same jobs left.

    Raises OutputError when the folder holds another study, other settings, another seed or other
    files; `overwrite` empties the folder first.
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
        for folder in (path, path / _REPLICATES):
            folder.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
        if kept is None:
            write_whole(path / _SETTINGS, json.dumps(ours, indent=2) + "\n", private=private)
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(
            f"{path} could not be written ({error.strerror}). Name another."
        ) from None
    text = json.dumps(ours, sort_keys=True)
    return ResultFolder(path, hashlib.sha256(text.encode()).hexdigest(), private)


def key_name(key: Key) -> str:
    """The parts of a key joined by hyphens: each key has its own file name."""
    parts = [str(part) for part in key]
    if not parts or not all(_PART.fullmatch(part) for part in parts):
        raise InputError.by("replicate-key", key=key)
    return "-".join(parts)


def _sweep(path: Path) -> None:
    """Remove files that a killed run left half written; a file now being written is younger."""
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
    """The first few settings that differ: the folder's value and this run's value."""
    flat = [{**side, **side.get("settings", {})} for side in (kept, ours)]
    names = [
        name
        for name in sorted({*flat[0], *flat[1]} - {"settings"})
        if flat[0].get(name) != flat[1].get(name)
    ]
    listed = [f"{name} {flat[0].get(name)} there, {flat[1].get(name)} here" for name in names[:3]]
    return "; ".join([*listed, *(["..."] if len(names) > 3 else [])])


Replicate = Callable[[Mapping[str, Any], Key, np.random.SeedSequence], Result]

_WATCH_SECONDS = 0.5
_WATCHED: set[int] = set()


def replicate_seed(seed: int, key: Key) -> np.random.SeedSequence:
    """The seed of a replicate, independent of the other replicates, their order and number."""
    digest = hashlib.sha256(key_name(key).encode()).digest()
    words = [int.from_bytes(digest[at : at + 4], "little") for at in range(0, 16, 4)]
    return np.random.SeedSequence(seed, spawn_key=words)


def whole_seed(sequence: np.random.SeedSequence) -> int:
    """A whole number of 63 bits from a seed, for functions that take no SeedSequence."""
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


Call = tuple[Replicate, Mapping[str, Any], Key, int]
Work = Callable[[list[Call]], Generator[tuple[Key, Result]]]


@contextmanager
def pool(jobs: int | None, tasks: int) -> Iterator[Work]:
    """A function that yields each result as a job ends; every job keeps to one processor."""
    import joblib

    if (at_once := min(jobs or usable_cores(), tasks)) == 1:
        yield lambda calls: (_one(*call) for call in calls)
    else:
        with joblib.parallel_config("loky", inner_max_num_threads=1):
            yield partial(_parallel, at_once)


def _parallel(jobs: int, calls: list[Call]) -> Generator[tuple[Key, Result]]:
    import joblib

    pool = joblib.Parallel(
        n_jobs=jobs,
        return_as="generator_unordered",
        batch_size=1,
        max_nbytes=None,  # Else large arrays go into files that a killed run leaves behind.
    )
    task = joblib.delayed(partial(_one_of, os.getpid()))
    yield from pool(task(*call) for call in calls)


def _one(
    function: Replicate, settings: Mapping[str, Any], key: Key, seed: int
) -> tuple[Key, Result]:
    return key, function(settings, key, replicate_seed(seed, key))


def _one_of(parent: int, *call: Any) -> tuple[Key, Result]:
    """`_one` on one of several processors, in a process that ends when the main one is killed."""
    if parent not in _WATCHED:
        _WATCHED.add(parent)
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    with one_core():
        return _one(*call)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)
