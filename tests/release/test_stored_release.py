"""A release of given draws has the stored bytes, on any processor.

Draws of a sampler differ from processor to processor in their last bits. The draws here come from
additions and multiplications alone, so other bytes are a change of the package.
"""

import hashlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pyvws_validation._draws import Draws

import pyvws as vws

pytestmark = pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")

N, S = 64, 160
STORED = {
    "synthetic-01.csv": "af62826aea17b6aa4e596377777bbb8d64a369311cb86d3e4b8d13725ed4c2c6",
    "synthetic-02.csv": "dacdd74208d88e03d8710a23a55681c0cda3579e32562148b119dc2cef6e7275",
    "synthetic-03.csv": "4daac6504ba074c02c7bf4a71c2b427749ca8760a0f6c2202785141fd76d6eda",
    "bounds": "a33030eb4e764a60ee5242c26aac116b8753c73a60337d04d7546d36d20c68b6",
}


def test_a_release_of_given_draws_has_the_stored_bytes(tmp_path: Path) -> None:
    draws = Draws(7)
    table = pl.DataFrame({"visits": draws.counts(N), "town": draws.whole(N, 3)})
    weights = np.floor(draws.uniform(N, 1.0, 17.0)) / 16.0
    terms = -draws.whole(S * N, 4096).reshape(S, N) / 256.0
    values = draws.counts(S * N).reshape(S, N)
    fit = vws.from_log_lik(
        terms, weights, log_lik="plain", chains=2, y_rep=values, y_rep_from="parameters"
    )
    given = {"outcome": "visits", "model": "poisson", "keep": ["town"], "datasets": 3, "seed": 5}
    release = vws.synthesize(table, existing_fit=fit, **given)
    assert (release.summary["epsilon"], release.privacy["epsilon_total"]) == (31.9375, 95.9)
    out = release.write(tmp_path / "out") / "release"
    written = {path.name: path.read_bytes() for path in out.glob("*.csv")}
    written["bounds"] = fit.bounds().by_record.tobytes().hex().encode()
    assert {name: hashlib.sha256(text).hexdigest() for name, text in written.items()} == STORED
