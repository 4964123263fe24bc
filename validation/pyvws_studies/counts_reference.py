"""Noisy counts with a public table as prior: scores of the best file with it, and without it.

The table is ma2019.csv, by the ten columns of `pyvws_studies.whole_tables` and by nineteen: all but
areas, industries by their codes, and weights, where ages, incomes and poverty ratios are in public
bands. The reference is a file of the same columns, such as national2019.csv [nist2023]. A permuted
reference has each column in a random order of its own, so it says nothing of ties.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws.errors import InputError
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_studies._report import table_of
from pyvws_studies.noisy_counts import REGRESSIONS, ScoredRow, means_of, scored
from pyvws_studies.whole_tables import DESIGNS

BUDGETS: Final = {"ten": (0.5, 1.0), "nineteen": (1.0,)}
"""Epsilons by the columns of the table."""

_DELTA: Final = 1e-5
_LEFT_OUT: Final = ("PUMA", "DENSITY", "INDP", "PWGTP", "WGTP")
_BANDS: Final = {
    "AGEP": (3, 5, 10, 15, 16, *range(20, 100, 5)),
    "PINCP": (
        *(-1e-9, 1e-9, *range(2_500, 12_500, 2_500), *range(15_000, 45_000, 5_000)),
        *(5e4, 6e4, 7e4, 8e4, 1e5, 1.25e5, 1.5e5, 2e5, 3e5),
    ),
    "POVPIP": (1, 50, 100, 125, 150, 200, 250, 300, 350, 400, 450, 500.5),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceRow(ScoredRow):
    """A row of one reference; `kappa` and `explained` are what noisy counts say of it."""

    reference: str
    kappa: float
    explained: float


@dataclass(frozen=True, slots=True)
class ReferenceStudy:
    """The rows of the study, of so many records and runs."""

    n: int
    runs: int
    rows: list[ReferenceRow]
    problems: tuple[str, ...] = ()


def run(
    file: Path,
    *,
    reference: Path,
    synthesize: Callable[..., Any],
    seed: int,
    runs: int = 5,
    listener: Listener = SILENT,
) -> ReferenceStudy:
    """Make the table's best file without a reference, with it, and with it permuted.

    `synthesize` is `vws.synthesize`; `seed` is the public seed of the first run. Raises InputError
    for files without the columns.
    """
    design, rng = DESIGNS["ma2019"], np.random.default_rng(seed)
    whole, other = read_table(file).as_written, read_table(reference).as_written
    needed = {*design.source, *_BANDS, *_LEFT_OUT}
    if not (needed <= {*whole.columns} and needed <= {*other.columns}):
        raise InputError.by("not-ma2019")
    tables = {
        "ten": [design.prepare(one.select(design.source)) for one in (whole, other)],
        "nineteen": [_banded(one) for one in (whole, other)],
    }
    rows = []
    for columns, epsilons in BUDGETS.items():
        frame, public = tables[columns]
        schema = design.schema() if columns == "ten" else schema_of(frame, public)
        permuted = public.with_columns(
            pl.Series(name, rng.permutation(public[name].to_numpy())) for name in public.columns
        )
        for epsilon in epsilons:
            for name, given in (("none", None), (reference.stem, public), ("permuted", permuted)):
                asked = {"schema": schema, "reference": given, "tables": ("none",), "datasets": 1}
                found, said = [], []
                for number in range(runs):
                    release = synthesize(
                        frame,
                        mechanism="noisy-counts",
                        epsilon=epsilon,
                        delta=_DELTA,
                        seed=seed + number,
                        **asked,
                    )
                    found.append(scored(frame, release.datasets))
                    own = release.privacy["counts"].get("reference", {})
                    said.append((own.get("kappa", 0.0), own.get("explained", 0.0)))
                kappa, explained = np.mean(said, axis=0).tolist()
                rows.append(
                    ReferenceRow(
                        columns=columns,
                        epsilon=epsilon,
                        reference=name,
                        kappa=kappa,
                        explained=explained,
                        **means_of(found),
                    )
                )
                listener.line(f"  {columns} columns, epsilon {epsilon:g}, reference {name}")
    return ReferenceStudy(len(whole), runs, rows)


def _banded(frame: pl.DataFrame) -> pl.DataFrame:
    """The nineteen columns, with the numbers in public bands."""

    def band(name: str) -> pl.Series:
        numbers = frame[name].cast(pl.Float64, strict=False).to_numpy()
        bands = np.searchsorted(_BANDS[name], np.nan_to_num(numbers), side="right")
        return pl.Series(name, np.where(np.isnan(numbers), "N", bands.astype(str)))

    return frame.drop(_LEFT_OUT).with_columns(map(band, _BANDS))


def schema_of(*frames: pl.DataFrame) -> Schema:
    """The levels that public files have between them, in the order of numbers."""
    return Schema(
        {
            name: Column(
                model="nominal",
                levels=tuple(
                    sorted(
                        {level for frame in frames for level in frame[name]},
                        key=lambda level: (level == "N", float(level) if level != "N" else 0.0),
                    )
                ),
            )
            for name in frames[0].columns
        }
    )


_SHOWN: Final = {
    **{"columns": ("columns", ""), "epsilon": ("epsilon", "g"), "reference": ("reference", "")},
    **{"pairs": ("pairs", ".1f"), "between runs": ("spread", ".1f"), "triples": ("triples", ".1f")},
    **{name: (name, ".2f") for name in (*REGRESSIONS, "kappa", "explained")},
}


def table(result: ReferenceStudy) -> Any:
    """The study as a table for a terminal."""
    rows = [asdict(row) for row in result.rows]
    title = f"{result.n} records, one dataset a run, {result.runs} runs a row"
    return table_of(title, rows, _SHOWN, group="columns")


def write(result: ReferenceStudy, folder: Path) -> list[str]:
    pl.DataFrame([asdict(row) for row in result.rows]).write_csv(folder / "reference.csv")
    return ["reference.csv"]
