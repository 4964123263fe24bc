"""The picture docs/images/weights-jump.svg, with its figures: python tools/weights_jump.py

Half a, half b less one, and one c or none: the weights of a and b under lw and inverse, and the
loss that 99 in 100 draws stay below, by the number of records.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import polars as pl

import pyvws as vws
from pyvws.plots.drawing import colours, legend_below, panels

_SIZES: Final = (1_000, 10_000, 100_000)
_LEVELS: Final = ("a", "b", "c")
_PICTURE: Final = Path(__file__).parents[1] / "docs" / "images" / "weights-jump.svg"
_MECHANISMS: Final[dict[str, dict[str, Any]]] = {
    "lw": {"mechanism": "lw"},
    "inverse, t = 2": {"mechanism": "inverse", "t": 2.0},
}


def _table(n: int, lone: int = 1) -> pl.DataFrame:
    return pl.DataFrame({"y": ["a"] * (n // 2) + ["b"] * (n // 2 - 1) + ["c"] * lone})


def _weights(given: dict[str, Any], lone: int) -> dict[str, float]:
    """The weight of each level's records among 1,000, with one c or none."""
    table = _table(_SIZES[0], lone)
    release = vws.synthesize(table, **given, datasets=1)
    return dict(zip(table["y"], release.records["weight_final"], strict=True))


def main() -> None:
    warnings.simplefilter("ignore")
    schema = vws.Schema({"y": vws.Column(model="table", levels=_LEVELS)})
    figure, (weights, losses) = panels(2)
    colour = colours(["LW", "inverse"]).values()
    for (label, own), hue, aside in zip(_MECHANISMS.items(), colour, (-0.04, 0.04), strict=True):
        given = {**own, "schema": schema, "seed": 2**60}
        both = [_weights(given, lone) for lone in (1, 0)]
        print(label, "weights with and without c:", both)
        for level, mark in zip(_LEVELS, "v^o", strict=True):
            found = [side[level] for side in both if level in side]
            name = f"{level} under {label}"
            places = [place + aside for place in range(len(found))]  # Lines side by side.
            weights.plot(places, found, color=hue, marker=mark, ms=5, label=name)
        found = [vws.audit(_table(n), records=1, **given).largest for n in _SIZES]
        print(label, "99 in 100 draws lose at most", [f"{loss:.4g}" for loss in found], "nats")
        losses.plot(_SIZES, found, color=hue, marker="D")
    weights.set(xticks=[0, 1], xticklabels=["with the one c", "without it"], xlim=(-0.3, 1.3))
    weights.set(ylim=(0, 1.05), ylabel="weight of a record", title="1,000 records")
    losses.set(xscale="log", yscale="log", xlabel="records", ylabel="loss in nats, 99 % of draws")
    losses.set(title="What one c moves")
    legend_below(figure, [weights], columns=2)
    with mpl.rc_context({"svg.hashsalt": "pyvws"}):
        figure.savefig(_PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
