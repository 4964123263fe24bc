"""Figures of the validation report as inline SVG, in the page's colours, each with a text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyvws_validation.report import Measurement, Row, allowed, template

_WIDTH: Final = 900
_LABELS: Final = 330
_PLOT: Final = _WIDTH - _LABELS - 40
_LINE: Final = 21
_TOP: Final = 14
_FOOT: Final = 44
_PLACES: Final = (("0", 0, 0), ("1 to 3", 1, 3), ("4 to 15", 4, 15), ("16 to 255", 16, 255))
_BEYOND: Final = 256
_LEAST_POWER: Final = -8
_MOST_TICKS: Final = 8
_EDGE: Final = 1.9  # In half widths of an interval; points further out are drawn at this edge.


@dataclass(frozen=True, slots=True)
class Figure:
    """A title, a text that describes the drawing, and the drawing."""

    title: str
    text: str
    svg: str


@dataclass(frozen=True, slots=True)
class _Dot:
    x: float
    passed: bool
    text: str
    limit: float | None = None


Lane = tuple[str, list[_Dot]]


def figures(rows: Sequence[Row]) -> list[Figure]:
    """The figures of these rows, without figures that would show no number."""
    exact = [
        row
        for row in rows
        if row.level in ("exact", "close") and row.largest_difference is not None and not row.sha256
    ]
    drawings = [_counted(exact), _allowed(exact)]
    for level, title in (("density", "Densities"), ("posterior", "Posteriors")):
        drawings.append(_shares([row for row in rows if row.level == level], title))
    drawings.append(_printed([row for row in rows if row.level == "paper"]))
    return [figure for figure in drawings if figure is not None]


def _counted(rows: Sequence[Row]) -> Figure | None:
    """Bars: the number of exact rows for each size of difference."""
    if not rows:
        return None
    gaps = [int(row.largest_difference or 0) for row in rows]
    counts = [(f"{label} ulp", sum(low <= g <= high for g in gaps)) for label, low, high in _PLACES]
    counts.append((f"{_BEYOND} ulp and more", sum(gap >= _BEYOND for gap in gaps)))
    listed = ", ".join(f"{label}: {count}" for label, count in counts)
    text = f"Quantities compared with R by their largest difference. {listed}."
    most = max(count for _, count in counts)
    widths = [max(count / most * _PLOT, 1.0 if count else 0.0) for _, count in counts]
    bars = [(label, count, width) for (label, count), width in zip(counts, widths, strict=True)]
    return Figure("Differences from R", text, _drawn(text, bars=bars, rows=len(bars), foot=8))


def _allowed(rows: Sequence[Row]) -> Figure | None:
    """Lanes of the exact rows that allow more than 0 ulp: the difference and the tolerance."""
    own = [row for row in rows if row.tolerance]
    if not own:
        return None
    most = max(max(row.tolerance, row.largest_difference or 0) for row in own)
    top = math.log2(1 + most)

    def place(ulp: int) -> float:
        return math.log2(1 + ulp) / top

    lanes: list[Lane] = []
    for row in own:
        gap = int(row.largest_difference or 0)
        hint = f"{row.id}: {gap} ulp of {allowed(row)}"
        lanes.append(
            (row.id, [_Dot(place(gap), row.verdict == "pass", hint, place(row.tolerance))])
        )
    step = max(1, math.ceil(top / _MOST_TICKS))
    powers = range(step, int(top) + 1, step)
    ticks = [(0.0, "0"), *((place(2**power), f"2^{power}") for power in powers)]
    text = (
        f"{len(own)} quantities may differ from R by more than 0 ulp, each for a stated reason. "
        "Dot: largest difference; bar: the largest that passes; scale: logarithm of 1 + ulp."
    )
    title = "Quantities that are allowed a difference"
    return Figure(title, text, _lanes(lanes, ticks, text, axis="ulp"))


def _shares(rows: Sequence[Row], title: str) -> Figure | None:
    """Lanes of measured differences as shares of their limits, on a log scale."""
    lanes: list[Lane] = []
    shares = []
    for row in rows:
        dots = []
        for number in row.measurements:
            share = number.value / number.high
            hint = f"{row.id}, {number.what}: {number.value:.2g}, limit {number.high:.2g}"
            dots.append(_Dot(_log_place(share), share <= 1, hint))
            shares.append(share)
        if dots:
            lanes.append((row.id, dots))
    if not lanes:
        return None
    whats = dict.fromkeys(
        number.what.partition(",")[0] for row in rows for number in row.measurements
    )
    text = (
        f"{title}: {len(shares)} measured differences from Stan ({', '.join(whats)}), each as a "
        f"share of its limit; the largest is {max(shares):.2f} of its limit. The line at 1 is the "
        "limit; the scale is logarithmic."
    )
    ticks = [(_log_place(10.0**power), f"{10.0**power:g}") for power in range(_LEAST_POWER, 1)]
    drawn = _lanes(lanes, ticks, text, axis="share of the limit", lines=(_log_place(1.0),))
    return Figure(f"{title} against Stan", text, drawn)


def _log_place(share: float) -> float:
    """The place in [0, 1] of a share: 0 for 10^-8 or less, 1 for 10 or more and for NaN."""
    if not share < 10.0:
        return 1.0
    power = math.log10(max(share, 10.0**_LEAST_POWER))
    return (power - _LEAST_POWER) / (1 - _LEAST_POWER)


def _printed(rows: Sequence[Row]) -> Figure | None:
    """Lanes of printed figures in their Monte Carlo intervals, a lane for each row of a table."""
    lanes: dict[str, list[_Dot]] = {}
    count = inside = 0
    for row in rows:
        for number in row.measurements:
            at = max(-_EDGE, min(_EDGE, _standardized(number)))
            passed = number.low <= number.value <= number.high
            hint = f"{row.paper}: {number.value:g} in {number.low:.4g} to {number.high:.4g}"
            lane = row.paper.rpartition(", ")[0]
            lanes.setdefault(lane, []).append(_Dot((at / _EDGE + 1) / 2, passed, hint))
            count, inside = count + 1, inside + passed
    if not lanes:
        return None
    text = (
        f"{inside} of {count} printed figures lie inside their Monte Carlo intervals. Each dot is "
        "a printed figure, placed in its interval: -1 is the lower end, 1 the upper end."
    )
    places = [(0.5 * (1 + tick / _EDGE), f"{tick:g}") for tick in (-1, 0, 1)]
    drawn = _lanes(
        *(list(lanes.items()), places, text),
        axis="place in the interval",
        lines=(places[0][0], places[2][0]),
    )
    return Figure("Printed figures beside recomputed ones", text, drawn)


def _standardized(number: Measurement) -> float:
    half = (number.high - number.low) / 2
    middle = (number.high + number.low) / 2
    return (number.value - middle) / half if half > 0 else 0.0 if number.value == middle else _EDGE


def _lanes(lanes: Sequence[Lane], ticks: Sequence[tuple[float, str]], text: str, **own: Any) -> str:
    return _drawn(text, rows=len(lanes), foot=_FOOT, lanes=lanes, ticks=ticks, **own)


def _drawn(text: str, **marks: Any) -> str:
    shape = {"width": _WIDTH, "left": _LABELS, "plot": _PLOT, "line": _LINE, "top": _TOP}
    return template("figure.svg.j2").render(text=text, **shape, **marks)
