"""Cases of `pyvws.synthesis.existing_fit`: the terms that readers read of a fit made elsewhere."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.synthesis import existing_fit as package
from pyvws_validation._draws import Draws


def terms_of_files(terms: Floats, chains: int, kind: str) -> Floats:
    """The terms (S, N) of CmdStan's files of these chains; R reads them of a `kind` of object."""
    assert kind in ("stanfit", "array", "several")
    names = ["lp__", *(f"log_lik.{i + 1}" for i in range(terms.shape[1]))]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"chain-{chain}.csv" for chain in range(chains)]
        for file, rows in zip(files, np.split(terms, chains), strict=True):
            lines = [",".join(["0", *map(repr, row.tolist())]) for row in rows]
            header = [f"# num_samples = {len(rows)}", "# num_warmup = 0", "# save_warmup = 0"]
            ended = "#  Elapsed Time: 1 seconds (Warm-up)"
            file.write_text("\n".join([*header, ",".join(names), *lines, ended, ""]))
        return package.from_cmdstan_csv(files).log_lik


def weighted_terms(terms: Floats, weights: Floats, chains: int) -> Floats:
    """The terms (S, N), weights included, of a fit whose terms lack the weights."""
    return package.from_log_lik(terms, weights, log_lik="plain", chains=chains).log_lik


def _terms(seed: int, chains: int, draws: int, records: int) -> dict[str, Any]:
    return {"terms": Draws(seed).log_lik(chains * draws, records)}


def _weighted(seed: int, chains: int, draws: int, records: int) -> dict[str, Any]:
    """Weights from 0 to 1, both among them."""
    stream = Draws(seed)
    weights = np.clip(stream.uniform(records, -0.3, 1.3), 0.0, 1.0)
    return {"terms": stream.log_lik(chains * draws, records), "weights": weights}
