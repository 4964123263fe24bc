"""The small pictures that the board decides by, for which a phone and a sheet have room.

Grey is the confidential data, or what is drowned in noise. Blue is the release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws.evaluation.one_column import LevelMargin
from pyvws.plots.drawing import HIGHLIGHT, guarantee_colours, panels
from pyvws.r_numbers import rarith
from pyvws.report.epsilon_in_words import become, guesses, largest_belief
from pyvws.report.evidence import Evidence
from pyvws.report.margins import NumberMargin
from pyvws.report.page import PagePicture, picture
from pyvws.sheet import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE: Final = (3.5, 1.8)
_GREY: Final = "#BDBDBD"
_BLUE: Final = guarantee_colours()["dp"]
_SMALL: Final[Any] = {"fontsize": 8, "parse_math": False}
_BARS: Final = 8  # A category of more levels is drawn as steps in their order.
_BINS: Final = 24
_PANELS: Final = 36  # So many columns are drawn, the worst.
DROWNED: Final = 2.0
"""A count below so many scales of its noise is drowned in it."""

Margin: TypeAlias = NumberMargin | LevelMargin
"""What a page keeps of a column."""

KEY: Final = (
    "Grey is the confidential data, blue the release, over all datasets. Columns furthest from the "
    "data come first. A number has its upper tail on the right: the share of rows above a value."
)


def guess_picture(privacy: Mapping[str, Any]) -> PagePicture:
    """Two bars: how likely a guess of 1 % can become by all datasets together."""
    told = guesses(privacy)
    figure, (axis,) = panels(1, size=_SIZE)
    for place, (guess, epsilon) in enumerate(told.items()):
        # No bound is a bar to the end.
        belief = largest_belief(math.inf if epsilon is None else epsilon)
        axis.barh(place, belief, color=_BLUE, height=0.4)
        inside = belief > 0.5
        axis.text(
            belief, place, f" {become(epsilon, short=True)} ", va="center",
            ha="right" if inside else "left", color="white" if inside else "black", **_SMALL,
        )  # fmt: skip
        axis.text(0.0, place - 0.25, guess, va="bottom", **_SMALL)
    axis.spines["left"].set_visible(False)
    axis.set(xlim=(0.0, 1.0), ylim=(len(told) - 0.5, -0.75), yticks=[])
    axis.set_xticks([0.01, 0.5, 1.0], ["1 %", "50 %", "100 %"], fontsize=8)
    axis.set_title("What a guess of 1 % can become", loc="left", fontsize=9)
    words = "; ".join(f"that {guess}: {become(epsilon)}" for guess, epsilon in told.items())
    return picture(figure, alt=f"Bars: a guess of 1 % can become, {words}.", caption="")


def score_picture(joint: Mapping[str, Any]) -> PagePicture:
    """One axis of the k-marginal score: independent columns, this release, a second sample."""
    points = {
        f"{label}\n{number(joint[name])}": joint[name]
        for label, name in (
            ("independent columns", "independent"),
            ("this release", "score"),
            ("a second sample", "bootstrap"),
        )
    }
    figure, (axis,) = panels(1, size=_SIZE)
    middle = rarith.mean(np.array([joint["independent"], joint["bootstrap"]]))
    for (label, score), mark, colour in zip(
        points.items(), "soD", (_GREY, _BLUE, "black"), strict=True
    ):
        own = mark == "o"
        axis.plot([score], [0.0], mark, color=colour, markersize=11 if own else 8, zorder=2 + own)
        axis.annotate(
            label, (score, 0.0), (0, 14 if own else -14), textcoords="offset points",
            ha="center" if own else "right" if score < middle else "left",
            va="bottom" if own else "top", **_SMALL,
        )  # fmt: skip
    ends = min(points.values()), max(points.values())
    room = 0.45 * max(ends[1] - ends[0], 4.0)
    axis.axhline(0.0, color="black", linewidth=0.8, zorder=0)
    axis.set(xlim=(ends[0] - room, ends[1] + room), ylim=(-1.0, 1.0), yticks=[])
    axis.spines["left"].set_visible(False)
    axis.tick_params(labelsize=8)
    axis.locator_params(axis="x", nbins=4)
    axis.set_title("Use: pairs of columns, 1000 = as the data", loc="left", fontsize=9)
    words = ", ".join(label.replace("\n", " ") for label in points)
    return picture(figure, alt=f"Axis of the k-marginal score: {words}.", caption="")


def noise_picture(counts: Floats, scales: Floats) -> PagePicture:
    """Noisy counts (C,) from the largest down beside their noise; drowned ones are grey."""
    order = np.argsort(-counts, kind="stable")
    held, noise, rank = counts[order], DROWNED * scales[order], np.arange(1, len(counts) + 1)
    drowned = held < noise
    figure, (axis,) = panels(1, size=_SIZE)
    axis.fill_between(rank, -noise, noise, color=HIGHLIGHT, alpha=0.35, linewidth=0)
    axis.scatter(rank[drowned], held[drowned], s=5, color=_GREY, linewidths=0)
    axis.scatter(rank[~drowned], held[~drowned], s=5, color=_BLUE, linewidths=0)
    axis.set_yscale("symlog", linthresh=max(float(scales.min()), 1.0))
    axis.set_xscale("log" if len(counts) > 200 else "linear")
    axis.set_xlabel("cells by their counts; orange: twice the noise", fontsize=8)
    axis.tick_params(labelsize=8)
    out = f"{int((~drowned).sum()):,} of {len(counts):,} cells stand out of the noise"
    axis.set_title(out, loc="left", fontsize=9)
    return picture(
        figure, alt=f"Noisy counts beside twice the scale of their noise: {out}.", caption=""
    )


def gaps(evidence: Evidence) -> list[tuple[float, Margin]]:
    """The margin of each column with its gap to the data in [0, 1]; the first table is the data."""
    return [
        *((one.ecdf.maximum, one.margin) for one in evidence.numbers),
        *((one.distance, one) for one in evidence.categories),
    ]


def column_pictures(
    margins: Sequence[tuple[float, Margin]], *, beside_data: bool = True
) -> list[PagePicture]:
    """A panel for each column, those with the largest gaps first.

    Without the data, all tables are datasets.
    """
    worst = sorted(margins, key=lambda entry: -entry[0])[:_PANELS]
    return [
        _number(margin, gap, beside_data)
        if isinstance(margin, NumberMargin)
        else _levels(margin, gap, beside_data)
        for gap, margin in worst
    ]


def _named(axis: Axes, last: Axes, name: str, gap: float, beside_data: bool) -> str:
    """Name a panel, and say what it shows to a reader who does not see it."""
    shown = name if len(name) < 30 else f"{name[:28]}…"
    axis.set_title(shown, loc="left", fontsize=9, parse_math=False)
    for own in (axis, last):
        own.tick_params(labelsize=7)
    if not beside_data:
        return f"{name} in the synthetic datasets"
    last.set_title(f"gap {gap:.3f}", loc="right", fontsize=8)
    return f"{name}, data behind the release; their gap is {gap:.3f}"


def _number(margin: NumberMargin, gap: float, beside_data: bool) -> PagePicture:
    """Steps of a number's shares, and its upper tail on a logarithmic axis."""
    tables = margin.curves
    figure, (bulk, tail) = panels(2, columns=2, size=(_SIZE[0] / 2, _SIZE[1]))
    low, high, top = rarith.quantile(tables[0], np.array([0.005, 0.99, 0.9])).tolist()
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1).astype(np.float64)
    inside = [np.histogram(np.clip(x, edges[0], edges[-1]), edges)[0] / len(x) for x in tables]
    _steps(bulk, np.stack(inside).astype(np.float64), edges, beside_data)
    for place, values in enumerate(tables):
        above = np.sort(values)[::-1][: int((values >= top).sum())]
        behind = beside_data and place == 0
        tail.step(
            above, np.arange(1, len(above) + 1) / len(values), where="post",
            color=_GREY if behind else _BLUE, linewidth=4.0 if behind else 0.9,
        )  # fmt: skip
    tail.set_yscale("log")
    for axis in (bulk, tail):
        axis.locator_params(axis="x", nbins=3)
    alt = f"Shares and upper tail of {_named(bulk, tail, margin.name, gap, beside_data)}."
    return picture(figure, alt=alt, caption="")


def _levels(margin: LevelMargin, gap: float, beside_data: bool) -> PagePicture:
    """Bars of a category's shares, or steps in the order of many levels."""
    levels, shares, count = margin.levels, margin.shares, len(margin.levels)
    figure, (axis,) = panels(1, size=_SIZE)
    if count > _BARS:
        _steps(axis, shares, np.arange(count + 1, dtype=np.float64) - 0.5, beside_data)
        shown = np.linspace(0, count - 1, 4).astype(int)
        axis.set_xticks(shown, [_short(levels[at], 10) for at in shown], parse_math=False)
    else:
        at, own = np.arange(count), shares[int(beside_data) :]
        if beside_data:
            axis.barh(at, shares[0], 0.8, color=_GREY)
        axis.barh(at, own.mean(axis=0), 0.35, color=_BLUE)
        axis.hlines(at, own.min(axis=0), own.max(axis=0), color="black", linewidth=0.9)
        axis.set_yticks(at, [_short(level, 18) for level in levels], parse_math=False)
        axis.invert_yaxis()
    alt = f"Shares of the levels of {_named(axis, axis, margin.name, gap, beside_data)}."
    return picture(figure, alt=alt, caption="")


def _steps(axis: Axes, shares: Floats, edges: Floats, beside_data: bool) -> None:
    """Shares (tables, B) of bins: means and ranges of datasets, before the data in the first."""
    own = shares[int(beside_data) :]
    if beside_data:
        axis.stairs(shares[0], edges, fill=True, color=_GREY)
    axis.stairs(own.max(axis=0), edges, baseline=own.min(axis=0), fill=True, color=_BLUE, alpha=0.3)
    axis.stairs(own.mean(axis=0), edges, color=_BLUE, linewidth=1.2)
    axis.set_ylim(bottom=0.0)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def counted_cells(cells: pl.DataFrame) -> tuple[Floats, Floats]:
    """The counts and scales (C,) of a release's counted cells, without that of all records."""
    known = cells.filter(cells["set"] != "records")
    return known["count"].to_numpy().astype(float), known["scale"].to_numpy()


def pictures_of_release(
    privacy: Mapping[str, Any], cells: pl.DataFrame | None, joint: Mapping[str, Any] | None
) -> list[PagePicture]:
    """What can be shown of a release without the confidential table."""
    return [
        guess_picture(privacy),
        *([score_picture(joint)] if joint else []),
        *([] if cells is None else [noise_picture(*counted_cells(cells))]),
    ]
