"""Run the replicates of a study as resumable jobs, and write replicates.csv and the report."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyvws._base.checks import whole_number
from pyvws._base.folders import sweep, write_whole
from pyvws._base.resumable_jobs import (
    Key,
    Replicate,
    Result,
    ResultFolder,
    key_name,
    open_folder,
    pool,
)
from pyvws.errors import InputError

_TABLE = "replicates.csv"


@dataclass(frozen=True, slots=True)
class Report:
    """The parts that a study prints on rich's console, and the files that the study wrote."""

    shown: list[Any]
    files: list[str]


def no_report(_settings: Mapping[str, Any], _results: Mapping[Key, Result], _out: Path) -> Report:
    """An empty report, for a study whose results another function reads."""
    return Report([], [])


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicatedStudy:
    """A study in replicates.

    `settings` holds every value besides the seed that a result depends on, as JSON. `keys` gives
    the keys of a number of replicates in the order of replicates.csv; those of a smaller number are
    among those of a larger, so a study can be extended. `replicate` gives the result of settings,
    key and seed; other processes import it by name. `report` writes the report of settings and
    results by key into the folder.
    """

    name: str
    settings: Mapping[str, Any]
    replicates: int
    keys: Callable[[int], Sequence[Key]]
    replicate: Replicate
    report: Callable[[Mapping[str, Any], Mapping[Key, Result], Path], Report] = no_report


@dataclass(frozen=True, slots=True)
class StudyRun:
    """Results by key, the number of results that this run computed, and the report."""

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
    overwrite: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> StudyRun:
    """Compute the replicates that `out` lacks, write replicates.csv and the study's report.

    The same study under the same settings and seed continues from the results in `out`, unless
    `overwrite` empties it. `replicates` is their total number. Each one's seed follows from `seed`
    and its key. `jobs` run at once, in processes of their own. `progress` is called with replicates
    done and in all. Raises InputError for an argument out of range, and OutputError where `out`
    holds something else.
    """
    count = study.replicates if replicates is None else replicates
    count = whole_number(count, "replicates", least=1)
    seed = whole_number(seed, "seed", least=0)
    if jobs is not None:
        whole_number(jobs, "jobs", least=1)
    sweep()
    keys = list(study.keys(count))
    if len({key_name(key) for key in keys}) < len(keys):
        raise InputError.by("replicates-share-a-key", study=study.name)
    folder = open_folder(
        out, name=study.name, settings=study.settings, seed=seed, overwrite=overwrite
    )
    results = {key: kept for key in keys if (kept := folder.read(key)) is not None}
    missing = [key for key in keys if key not in results]
    progress(len(results), len(keys))
    if missing:
        calls = [(study.replicate, study.settings, key, seed) for key in missing]
        with pool(jobs, len(missing)) as work, closing(work(calls)) as computed:
            for key, result in computed:
                results[key] = folder.keep(key, result)
                progress(len(results), len(keys))
    ordered = {key: results[key] for key in keys}
    _write_table(folder, ordered)
    return StudyRun(ordered, len(missing), study.report(study.settings, ordered, out))


def _write_table(folder: ResultFolder, results: Mapping[Key, Result]) -> None:
    """Write replicates.csv: the rows of every replicate, in the order of the keys."""
    rows = [row for result in results.values() for row in result.rows]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(folder.path / _TABLE, text.getvalue())
