"""Make the datasets of a release from noisy counts again, from what the release holds alone."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, cast

import polars as pl

from pyvws.errors import InputError
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.mechanisms.registry import make_mechanism, mechanism_settings
from pyvws.release.noisy_counts import (
    COUNTS_FILE,
    FINE_FILE,
    imputed_tables,
    imputed_values,
    read_counts,
    read_fine,
)
from pyvws.release.output import dataset_bytes
from pyvws.synthesis.counted_records import counted_records
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.contents import truth_words
from pyvws.tables.schema.schema import SCHEMA_FILE, Schema


def reproduced(release: Path, privacy: dict[str, Any], files: list[Path]) -> list[bytes]:
    """The content of each dataset of a folder `release/`, whose `files` these are.

    `privacy` is its statement. Nothing confidential is read. The versions of the package and its
    libraries must be those of the run for the same bytes. Raises InputError for a release of
    another mechanism, and for one whose files do not belong together.
    """
    if "counts" not in privacy:
        raise InputError(
            f"{release}: mechanism {privacy.get('mechanism')} draws from confidential parameters. "
            "A release from noisy-counts can be reproduced."
        )
    for name in (COUNTS_FILE, SCHEMA_FILE, "run.toml"):
        if not (release / name).is_file():
            raise InputError(
                f"{release} has no {name}, which the datasets follow from. Name a whole release."
            )
    written = tomllib.loads((release / "run.toml").read_text(encoding="utf-8"))
    own = {name: written[name] for name in mechanism_settings(NoisyCounts.name) if name in written}
    mechanism = cast(NoisyCounts, make_mechanism(NoisyCounts.name, **own))
    schema = Schema.read(release / SCHEMA_FILE)
    kind = files[0].suffix[1:]
    columns = read_table(files[0]).frame.columns
    nobody = pl.DataFrame(
        {name: [None, None] for name in dict.fromkeys([*columns, *filter(None, [schema.unit])])}
    )
    settings = RunSettings(schema=schema, mechanism=mechanism, datasets=len(files))
    table = counted_records(nobody, settings)
    counted = cast(Any, table.counted).table
    noisy = read_counts(
        pl.read_parquet(release / COUNTS_FILE), counted, laplace=mechanism.budget.pure
    )
    seed = int(privacy["counts"]["public_seed"])
    imputed = imputed_tables(noisy, mechanism, datasets=len(files), seed=seed)
    chosen = release / FINE_FILE
    fine = read_fine(pl.read_parquet(chosen), laplace=noisy.laplace) if chosen.is_file() else {}
    values = imputed_values(schema, noisy, imputed, seed, fine=fine)
    datasets = table.datasets(nobody, values, order=None)
    return [dataset_bytes(dataset, kind, truth_words(schema.columns)) for dataset in datasets]
