"""What anyone can check of a release from noisy counts, from what the release holds alone.

Its datasets are made again, byte for byte. Its cost is computed again from the noise of its counts.
That can show that a claim is too low, and never that it is right: counts that were read and then
left out of the release leave no trace.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import polars as pl

from pyvws.errors import InputError
from pyvws.mechanisms.counts.reference import ReferencePrior
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.mechanisms.registry import make_mechanism, mechanism_settings
from pyvws.privacy.budget import epsilon_of, epsilon_together
from pyvws.release.datasets import joined
from pyvws.release.noisy_counts import (
    BEST_FILE,
    COUNTS_FILE,
    FINE_FILE,
    imputed_tables,
    imputed_values,
    read_counts,
    read_fine,
)
from pyvws.release.output import dataset_bytes
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.private_schema import budget_of_schema
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.schema import SCHEMA_FILE, Schema
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
        own = {name: written[name] for name in names if name in written}
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
        if paid is None:
            return epsilon_of(budget, self._scales())
        return epsilon_together(budget, self._scales(), budget_of_schema(paid), paid.scales)

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
                    yield scale
                elif self.privacy["number_of_rows"] == "noisy" or len(own) > 1:
                    raise InputError.by(
                        "counts-without-noise", folder=self.folder, of=":".join(map(str, of))
                    )

    def datasets(self, files: list[Path]) -> list[bytes]:
        """The content of each dataset of the release, whose `files` these are, and of a best file.

        The best file is last, where the release has one. The versions of the package and its
        libraries must be those of the run for the same bytes.
        """
        schema, mechanism = self.schema, self.mechanism
        kind = files[0].suffix[1:]
        columns = read_table(files[0]).frame.columns
        asked = dict.fromkeys([*columns, *filter(None, [schema.unit])])
        nobody = pl.DataFrame({name: [None, None] for name in asked})
        settings = RunSettings(schema=schema, mechanism=mechanism, datasets=len(files))
        table = check_table(nobody, settings)
        counting, priced = mechanism.counting(schema), self.counts["set"].unique()
        counted, pure = counting.in_cells(schema, priced), mechanism.budget.pure
        noisy = read_counts(self.counts, counted, laplace=pure)
        seed = int(self.privacy["counts"]["public_seed"])
        prior, stated = ReferencePrior.of(counting, noisy), self.privacy["counts"].get("reference")
        if prior is not None and prior.reference.digest != stated["digest"]:
            raise InputError.by(
                "reference-of-other-digest", file=stated["file"], digest=stated["digest"]
            )
        fine = {} if self.fine is None else read_fine(self.fine, laplace=pure)
        made = []
        for number in (len(files), *([1] if self.best_file else [])):
            imputed = imputed_tables(noisy, mechanism, datasets=number, seed=seed, further=prior)
            values = imputed_values(schema, noisy, imputed, seed, fine=fine)
            made += table.datasets(nobody, [joined(list(own)) for own in values], order=None)
        kinds = [*[kind] * len(files), BEST_FILE.rpartition(".")[2]]
        words = truth_words(schema.columns)
        return [dataset_bytes(own, kind, words) for own, kind in zip(made, kinds, strict=False)]
