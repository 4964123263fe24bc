"""What anyone can check of a release from noisy counts, from what the release holds alone.

Its datasets are made again, byte for byte. Its cost is computed again from the noise of its counts.
That can show that a claim is too low, and never that it is right: counts that were read and then
left out of the release leave no trace.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import polars as pl

from pyvws.errors import InputError
from pyvws.mechanisms.counts.chosen_cells import FineCounts
from pyvws.mechanisms.counts.measurements import NUMBER, OF_SQUARES, Measurements
from pyvws.mechanisms.counts.reference import ReferencePrior
from pyvws.mechanisms.counts.totals import PublishedTotals
from pyvws.mechanisms.counts.workload import OF_ALL, Workload
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.mechanisms.registry import make_mechanism, mechanism_settings
from pyvws.privacy.budget import deviation_of, epsilon_after, epsilon_of
from pyvws.release.datasets import joined
from pyvws.release.draw_values import imputed_values
from pyvws.release.noisy_counts import (
    BEST_FILE,
    CELLS,
    COUNTS_FILE,
    FINE_FILE,
    ROUNDNESS,
    imputed_tables,
)
from pyvws.release.output import dataset_bytes
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.private_schema import budget_of_schema
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.schema import SCHEMA_FILE, Schema
from pyvws.tables.schema.weight import MOST_PARTS
from pyvws.tables.schema.write_values import truth_words

_OPEN: Final = 1e-4  # Relative: the search for epsilon ends so far above it, at most.


@dataclass(frozen=True)
class ReleasedCounts:
    """The noisy counts of a folder `release/`, their settings, and the statement `privacy`.

    Raises InputError for a release of another mechanism, and for one whose files do not belong
    together. Nothing confidential is read.
    """

    folder: Path
    privacy: dict[str, Any]
    counts: pl.DataFrame
    fine: pl.DataFrame | None
    mechanism: NoisyCounts

    @classmethod
    def read(cls, folder: Path, privacy: dict[str, Any], reference: Path | None = None) -> Self:
        """The counts of a folder; `reference` is where its public table is, if not as stated."""
        if "counts" not in privacy:
            raise InputError.by(
                "release-not-reproducible", folder=folder, given=privacy.get("mechanism")
            )
        for name in (COUNTS_FILE, SCHEMA_FILE, "run.toml"):
            if not (folder / name).is_file():
                raise InputError.by("release-lacks-file", folder=folder, name=name)
        written = tomllib.loads((folder / "run.toml").read_text(encoding="utf-8"))
        names = mechanism_settings(NoisyCounts.name)
        own = {n: written[n] for n in names if n in written and n != "totals"}
        stated = privacy["counts"].get("reference")
        if stated is not None:
            own["reference"] = reference or own["reference"]
            if not Path(own["reference"]).exists():
                raise InputError.by(
                    "reproduce-without-reference", file=stated["file"], records=stated["records"]
                )
        elif reference is not None:
            raise InputError.by("reproduced-without-reference", folder=folder)
        chosen, mechanism = folder / FINE_FILE, make_mechanism(NoisyCounts.name, **own)
        assert isinstance(mechanism, NoisyCounts)
        return cls(
            folder=folder,
            privacy=privacy,
            counts=pl.read_parquet(folder / COUNTS_FILE),
            fine=pl.read_parquet(chosen) if chosen.is_file() else None,
            mechanism=mechanism,
        )

    @cached_property
    def schema(self) -> Schema:
        """The schema with the cells that were counted."""
        return Schema.read(self.folder / SCHEMA_FILE)

    @property
    def best_file(self) -> Path | None:
        """The best file beside the datasets, if the release has one."""
        best = self.folder / BEST_FILE
        return best if best.is_file() else None

    @property
    def epsilon(self) -> float:
        """What the released counts cost at the statement's delta, by the scales of their noise.

        What the schema cost is in it, by the scales and thresholds that stand there.
        """
        budget, paid = self.mechanism.budget, self.schema.paid
        if "weights" in self.privacy["counts"]:  # The largest weight is a unit of its parts.
            budget = replace(budget, cap=budget.cap * MOST_PARTS)
        if paid is None:
            return epsilon_of(budget, self._scales())
        budget = replace(budget, adaptive=True)
        return epsilon_after(budget, budget_of_schema(paid), paid.scales, self._scales())

    @property
    def costs_more(self) -> bool:
        """Whether the counts cost more than the settings allow or the statement says."""
        paid = self.schema.paid
        own, failing = (0.0, 0.0) if paid is None else (paid.epsilon, paid.delta)
        stated = min(self.mechanism.epsilon + own, float(self.privacy["epsilon_total"]))
        same = math.isclose(self.privacy["delta"], self.mechanism.delta + failing, rel_tol=1e-12)
        return not same or self.epsilon > stated * (1.0 + _OPEN)

    def _scales(self) -> Iterator[float]:
        """The least scale of each table of counts that has noise; InputError for one without."""
        tables = [(self.counts, ["set"])]
        if self.fine is not None:
            tables.append((self.fine, ["column", "by"]))
        for frame, names in tables:
            for of, own in frame.group_by(names):
                scale = float(own["scale"].to_numpy().min())
                if scale > 0.0:
                    yield scale * self._parts(str(of[0]))
                elif len(own) > 1 or (
                    self.privacy["number_of_rows"] == "noisy"
                    and "totals" not in self.privacy["counts"]
                ):
                    raise InputError.by(
                        "counts-without-noise", folder=self.folder, of=":".join(map(str, of))
                    )

    def _parts(self, of: str) -> float:
        """The parts of the largest weight that the unit of a scale is; 1 without weights."""
        weights = self.privacy["counts"].get("weights")
        if weights is None or of == NUMBER:
            return 1.0 if weights is None else MOST_PARTS
        heaviest = weights["range"][1] / weights["stands_for"]
        return MOST_PARTS / heaviest ** (1 + of.startswith(OF_SQUARES))

    def datasets(self, files: list[Path]) -> list[bytes]:
        """The content of each dataset of the release, whose `files` these are, and of a best file.

        The best file is last, where the release has one. The versions of the package and its
        libraries must be those of the run for the same bytes.
        """
        schema, mechanism = self.schema, self.mechanism
        kind = files[0].suffix[1:]
        columns = read_table(files[0]).frame.columns
        asked = dict.fromkeys([*columns, *filter(None, [schema.unit, schema.weight])])
        nobody = pl.DataFrame({name: [None, None] for name in asked})
        settings = RunSettings(schema=schema, mechanism=mechanism, datasets=len(files))
        table = check_table(nobody, settings)
        counting = mechanism.counting(schema)
        priced = self.counts["set"].unique(maintain_order=True).to_list()
        wide = counting.schema  # Of members; else the one that was released.
        counted, pure = counting.in_cells(wide, priced), mechanism.budget.pure
        noisy = read_counts(self.counts, counted, laplace=pure)
        if (weights := self.privacy["counts"].get("weights")) is not None:
            rows = round(self.privacy["population"] / weights["stands_for"])
            deviation = float(self.privacy["counts"]["deviation_of_records"])
            noisy = noisy.of_rows(rows, deviation / deviation_of(pure))
        if (totals := self.privacy["counts"].get("totals")) is not None:
            noisy = replace(noisy, totals=PublishedTotals.stated(totals, counted))
        seed = int(self.privacy["counts"]["public_seed"])
        prior, stated = ReferencePrior.of(counting, noisy), self.privacy["counts"].get("reference")
        if prior is not None and prior.reference.digest != stated["digest"]:
            raise InputError.by(
                "reference-of-other-digest", file=stated["file"], digest=stated["digest"]
            )
        if not {"best_file", "from_fits"} & {*self.privacy["counts"]}:
            raise InputError.by("reproduce-chains", folder=self.folder)
        fine = {} if self.fine is None else read_fine(self.fine, laplace=pure)
        made = []
        for number in (len(files), *([1] if self.best_file else [])):
            imputed = imputed_tables(noisy, mechanism, datasets=number, seed=seed, further=prior)
            values = imputed_values(counting, wide, noisy, imputed, seed, fine)
            made += table.datasets(nobody, [joined(list(own)) for own in values], order=None)
        kinds = [*[kind] * len(files), BEST_FILE.rpartition(".")[2]]
        words = truth_words(schema.columns)
        return [dataset_bytes(own, kind, words) for own, kind in zip(made, kinds, strict=False)]


def of_weights(column: str) -> pl.Expr:
    """Whether a row of noisy counts is of what is bought beside sums of weights."""
    return (pl.col(column) == NUMBER) | pl.col(column).str.starts_with(OF_SQUARES)


def read_counts(frame: pl.DataFrame, table: Workload, *, laplace: bool) -> Measurements:
    """The noisy counts of a release; InputError where they are not those of its schema's cells."""
    counts = np.zeros(len(table.possible), dtype=np.int64)
    scales = np.ones(len(table.sets))
    frame = frame.filter(~of_weights("set"))
    seen = 0
    for q, name in enumerate(table.names):
        own = frame.filter(pl.col("set") == name)
        counts[table.offsets[q] + own["cell"].to_numpy()] = own["count"].to_numpy()
        scales[q] = own["scale"][0]
        seen += len(own)
    if seen != table.possible.sum() or seen != len(frame) - 1:
        raise InputError.by(
            "counts-of-other-release",
            counts_file=COUNTS_FILE,
            frame=len(frame),
            possible=table.possible.sum() + 1,
        )
    of_all = frame.row(by_predicate=pl.col("set") == OF_ALL, named=True)
    return Measurements(
        table=table,
        counts=counts,
        scales=scales,
        laplace=laplace,
        records=int(of_all["count"]),
        records_scale=float(of_all["scale"]),
    )


def read_fine(frame: pl.DataFrame, *, laplace: bool) -> dict[str, FineCounts]:
    """The noisy counts of numbers of a release, by column."""

    def read(name: str, by: str) -> FineCounts | None:
        own = frame.filter((pl.col("column") == name) & (pl.col("by") == by))
        if own.is_empty():
            return None
        scale = float(own["scale"][0])
        return FineCounts(own["count"].to_numpy(), scale, scale * deviation_of(laplace))

    fine: dict[str, FineCounts] = {}
    for name in frame["column"].unique(maintain_order=True):
        if (own := read(name, CELLS)) is not None:
            fine[name] = replace(own, rounded=read(name, ROUNDNESS))
    return fine
