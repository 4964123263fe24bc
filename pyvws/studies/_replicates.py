"""Run the replicates of a study: each its own seed and file, in parallel, resumed where it stopped.

A replicate's seed follows from the study's seed and the replicate's key alone, so neither the
order nor the number of jobs nor an interruption changes a result. In the study's folder study.json
holds the name, the settings and the seed; replicates/KEY.json one result. A file is written under
another name, flushed and renamed, so a killed study leaves whole files only.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pyvws._base.checks import choice, whole_number
from pyvws._base.cores import one_core, usable_cores
from pyvws._base.folders import check_folder, write_whole
from pyvws._base.private_folder import sweep
from pyvws.errors import ClusterError, InputError, OutputError

__all__ = [
    "Backend",
    "Key",
    "ReplicatedStudy",
    "Report",
    "Result",
    "StudyRun",
    "no_report",
    "replicate_seed",
    "run_study",
    "whole_seed",
]

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


Backend = Literal["loky", "dask"]
Replicate = Callable[[Mapping[str, Any], Key, np.random.SeedSequence], Result]

_TABLE = "replicates.csv"
_WATCH_SECONDS = 0.5
_WATCHED: set[int] = set()


@dataclass(frozen=True, slots=True)
class Report:
    """What a study prints, for rich's console, and the files that it wrote into its folder."""

    shown: list[Any]
    files: list[str]


def no_report(_settings: Mapping[str, Any], _results: Mapping[Key, Result], _out: Path) -> Report:
    """The report of a study whose results another one reads."""
    return Report([], [])


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicatedStudy:
    """A study in replicates.

    Attributes
    ----------
    name : str
        As the command line calls it.
    settings : mapping
        All that a result depends on besides the seed, as JSON.
    replicates : int
        How many by default.
    keys : callable
        From a number of replicates to the keys, in the order of replicates.csv. A smaller number
        gives a part of the keys of a larger one, so that a study can be extended.
    replicate : callable
        From settings, key and seed to a result; importable by name, for other processes.
    report : callable
        From settings, results by key and the folder to the report; writes its files there.
    """

    name: str
    settings: Mapping[str, Any]
    replicates: int
    keys: Callable[[int], Sequence[Key]]
    replicate: Replicate
    report: Callable[[Mapping[str, Any], Mapping[Key, Result], Path], Report] = no_report


@dataclass(frozen=True, slots=True)
class StudyRun:
    """Results by key, how many of them were computed now, and the report."""

    results: dict[Key, Result]
    computed: int
    report: Report


def run_study(
    study: ReplicatedStudy,
    out: Path,
    *,
    replicates: int | None = None,
    seed: int,
    jobs: int | None = None,
    backend: Backend = "loky",
    scheduler: str | None = None,
    overwrite: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> StudyRun:
    """Compute the replicates that `out` lacks, write replicates.csv and the study's report.

    Parameters
    ----------
    study : ReplicatedStudy
        What to run.
    out : Path
        Folder; the same study under the same settings and seed goes on from what it holds.
    replicates : int, optional
        Replicates in all, those there included; the study's own number without it.
    seed : int
        At least 0; a replicate's seed follows from it and the key.
    jobs : int, optional
        Replicates at once: all processors without it, with Dask those of the cluster.
    backend : {"loky", "dask"}
        Processes of this machine, or an existing Dask cluster.
    scheduler : str, optional
        Address of the cluster's scheduler, such as tcp://host:8786.
    overwrite : bool
        Empty the folder first.
    progress : callable
        Called with (replicates done, replicates in all), at the start as well.

    Returns
    -------
    StudyRun

    Raises
    ------
    InputError
        For an argument out of range.
    ClusterError
        If the scheduler does not answer or has no workers, at the start or later. What was
        computed is kept.
    OutputError
        If `out` holds something else, or cannot be written.
    MissingDependencyError
        If Dask is asked for and not installed.
    """
    count = study.replicates if replicates is None else replicates
    count = whole_number(count, "replicates", least=1)
    seed = whole_number(seed, "seed", least=0)
    _check_pool(backend, jobs, scheduler)
    sweep()
    keys = list(study.keys(count))
    if len({key_name(key) for key in keys}) < len(keys):
        raise InputError(f"Two replicates of {study.name} have one key.")
    folder = open_folder(
        out, name=study.name, settings=study.settings, seed=seed, overwrite=overwrite
    )
    results = {key: kept for key in keys if (kept := folder.read(key)) is not None}
    missing = [key for key in keys if key not in results]
    progress(len(results), len(keys))
    if missing:
        calls = [(study.replicate, study.settings, key, seed) for key in missing]
        try:
            with (
                _pool(backend, jobs, scheduler, len(missing)) as work,
                closing(work(calls)) as found,
            ):
                for key, result in found:
                    results[key] = folder.keep(key, result)
                    progress(len(results), len(keys))
        except ClusterError as error:
            raise ClusterError(
                f"{error} {len(results)} of {len(keys)} results are kept in {out}. The same "
                "command goes on from there once the cluster runs, or without --backend."
            ) from None
    ordered = {key: results[key] for key in keys}
    _write_table(folder, ordered)
    return StudyRun(ordered, len(missing), study.report(study.settings, ordered, out))


def replicate_seed(seed: int, key: Key) -> np.random.SeedSequence:
    """The seed of a replicate: independent of all others, whatever their order or number."""
    digest = hashlib.sha256(key_name(key).encode()).digest()
    words = [int.from_bytes(digest[at : at + 4], "little") for at in range(0, 16, 4)]
    return np.random.SeedSequence(seed, spawn_key=words)


def whole_seed(sequence: np.random.SeedSequence) -> int:
    """A whole number of 63 bits from a seed, for what takes no SeedSequence."""
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


Call = tuple[Replicate, Mapping[str, Any], Key, int]
Work = Callable[[list[Call]], Generator[tuple[Key, Result]]]


def _check_pool(backend: str, jobs: int | None, scheduler: str | None) -> None:
    choice(backend, "backend", ("loky", "dask"))
    if jobs is not None:
        whole_number(jobs, "jobs", least=1)
    if (backend == "dask") != (scheduler is not None):
        raise InputError(
            "The dask backend needs the address of a scheduler, and loky takes none. Give both "
            "--backend dask and --scheduler ADDRESS, or neither."
        )


@contextmanager
def _pool(backend: str, jobs: int | None, scheduler: str | None, tasks: int) -> Iterator[Work]:
    """What yields results as they come; every job keeps to one processor."""
    import joblib

    if backend == "dask":
        from pyvws.studies._dask_cluster import on_cluster

        with on_cluster(str(scheduler)) as share:
            yield lambda calls: share(_one_alone, calls, jobs)
    elif (at_once := min(jobs or usable_cores(), tasks)) == 1:
        yield _one_by_one
    else:
        with joblib.parallel_config("loky", inner_max_num_threads=1):
            yield _parallel(at_once, partial(_one_of, os.getpid()))


def _one_by_one(calls: list[Call]) -> Generator[tuple[Key, Result]]:
    for call in calls:
        yield _one(*call)


def _parallel(jobs: int, task: Callable[..., tuple[Key, Result]]) -> Work:
    import joblib

    def work(calls: list[Call]) -> Generator[tuple[Key, Result]]:
        pool = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        yield from pool(joblib.delayed(task)(*call) for call in calls)

    return work


def _one(
    function: Replicate, settings: Mapping[str, Any], key: Key, seed: int
) -> tuple[Key, Result]:
    return key, function(settings, key, replicate_seed(seed, key))


def _one_alone(*call: Any) -> tuple[Key, Result]:
    """`_one` beside others, on one processor."""
    with one_core():
        return _one(*call)


def _one_of(parent: int, *call: Any) -> tuple[Key, Result]:
    """`_one` in a process that ends when the study's own is killed."""
    if parent not in _WATCHED:
        _WATCHED.add(parent)
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    return _one_alone(*call)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)


def _write_table(folder: ResultFolder, results: Mapping[Key, Result]) -> None:
    """replicates.csv: the rows of every replicate, in the order of the keys."""
    rows = [row for result in results.values() for row in result.rows]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(folder.path / _TABLE, text.getvalue())
