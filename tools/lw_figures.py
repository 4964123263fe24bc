"""Figures of docs/mechanisms.md on lw: python tools/lw_figures.py [ma2019.csv]

Without a file the tool prints the table of a wide table's blanks, on records that it makes up. With
SDNist's ma2019.csv it prints the epsilons at which four conditional tables end, for three targets.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import pyvws as vws
from pyvws.posterior.prediction import predicted
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.loop import SILENT
from pyvws.synthesis.open_loop import open_loop
from pyvws.synthesis.settings_by_name import arranged
from pyvws.weights.weights import weights_from_bounds

Floats = NDArray[np.float64]

_RECORDS, _AMOUNTS = 1500, 10
_NEAR = 0.03  # Weights are scaled until epsilon is this near to that of lw, as a share.
_COLUMNS = ("SEX", "MSP", "RAC1P", "OWN_RENT")


def _amounts() -> pl.DataFrame:
    """Amounts of which a tenth are missing, and all of them in 45 % of the records."""
    rng = np.random.default_rng(1)
    gone = rng.random(_RECORDS) < 0.45
    part = rng.random((_RECORDS, _AMOUNTS)) < 0.1
    z = rng.normal(size=(_RECORDS, _AMOUNTS))
    z[:, 1:] = 0.6 * z[:, :-1] + 0.8 * z[:, 1:]
    y = np.exp(0.7 * z + 3.0)
    made = {f"x{k}": np.where(gone | part[:, k], np.nan, y[:, k]) for k in range(_AMOUNTS)}
    return pl.DataFrame(made).with_columns(pl.all().fill_nan(None))


def _two_before(names: tuple[str, ...], place: int) -> tuple[str, ...]:
    return names[max(0, place - 2) : place]


def blanks() -> None:
    """Print the shares of datasets without a first amount under five kinds of weights."""
    frame = _amounts()
    names = tuple(frame.columns)
    amount = {"model": "normal", "outcome_scale": "log", "missing": True, "range": (0, 10_000)}
    schema = vws.Schema(
        {
            name: vws.Column(**amount, predictors=_two_before(names, place))  # type: ignore[arg-type]
            for place, name in enumerate(names)
        }
    )
    given = {"schema": schema, "mechanism": "lw", "datasets": 5, "engine": "laplace"}
    run = vws.Synthesizer(**arranged({**given, "draws": 200, "warmup": 200, "chains": 2}))
    table = check_table(frame, run)
    loop = open_loop(run, table, seed=3, listener=SILENT)
    bounds = loop.unweighted().bounds.by_record
    terms = (loop.cells.places >= 0).sum(axis=1)[loop.cells.cell_of_record]
    lw = weights_from_bounds(bounds)
    target = loop.fit(lw, "lw").bounds.database

    def show(label: str, shape: Floats) -> None:
        c = 1.0
        for _ in range(5):
            reached = loop.fit(np.minimum(1.0, c * shape), label).bounds.database
            if abs(reached / target - 1.0) < _NEAR:
                break
            c *= target / reached
        weights = np.minimum(1.0, c * shape)
        fit = loop.fit(weights, label)
        datasets = [
            predicted(table.drawn, draw, rng, rows=_RECORDS, public=table.public)
            for draw, rng in loop.predictors(fit, 5)
        ]
        missing = np.mean([np.isnan(drawn["x0"]).mean() for drawn in datasets])
        print(
            f"{label}: epsilon {fit.bounds.epsilon:.1f}, missing {missing:.3f}, "
            f"mean weight {weights.mean():.3f}",
            flush=True,
        )

    print(f"data: missing {frame['x0'].is_null().mean():.3f}")
    show("lw", lw)
    show("lw, bounds by the number of terms", weights_from_bounds(bounds / terms))
    show("lw, g half of c", weights_from_bounds(bounds, g=0.5))
    show("sw", np.ones(_RECORDS))


def targets(path: Path) -> None:
    """Print the epsilon of a dataset that four conditional tables end at, for three targets."""
    whole = pl.read_csv(path, infer_schema=False).sample(_RECORDS, seed=1)
    columns = {
        name: vws.Column(
            model="table",
            levels=sorted(whole[name].unique().to_list()),
            predictors=_two_before(_COLUMNS, place),
        )
        for place, name in enumerate(_COLUMNS)
    }
    for epsilon in (0.2, 2.0, 8.0):
        release = vws.synthesize(
            whole.select(_COLUMNS),
            schema=vws.Schema(columns),
            mechanism="lw",
            epsilon=epsilon,
            datasets=2,
            seed=1,
        )
        print(f"target {epsilon}: {release.summary['epsilon']:.3g}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ma2019", type=Path, nargs="?")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.ma2019 is None:
        blanks()
    else:
        targets(options.ma2019)


if __name__ == "__main__":
    main()
