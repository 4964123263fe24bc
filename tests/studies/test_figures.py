"""The figures that studies alone draw: violins over replicates, and costs."""

from typing import Any

import numpy as np
import pytest
from matplotlib.collections import FillBetweenPolyCollection
from pyvws_studies import figures

from pyvws.errors import InputError

RNG = np.random.default_rng(5)
A, B = RNG.uniform(0.1, 0.9, 40), RNG.uniform(0.1, 0.9, 40)


def _violins(axis: Any) -> int:
    return sum(isinstance(part, FillBetweenPolyCollection) for part in axis.collections)


def _horizontal(axis: Any) -> list[float]:
    """Heights of the lines that cross the whole panel."""
    lines = [(line.get_xdata(), line.get_ydata()) for line in axis.get_lines()]
    return [float(y[0]) for x, y in lines if list(x) == [0, 1] and y[0] == y[1]]


def test_contraction_and_replicates() -> None:
    figure = figures.contraction({"LW": {"100": A, "400": B}, "SW": {"100": A}}, {"LW": 3.5})
    assert [_violins(axis) for axis in figure.axes] == [2, 1]
    assert [_horizontal(axis) for axis in figure.axes] == [[3.5], []]
    colours = {tuple(part.get_facecolor()[0]) for part in figure.axes[0].collections}
    assert len(colours) == 1
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["global bound"]
    with pytest.raises(InputError, match="not drawn: CW"):
        figures.contraction({"LW": {"100": A}}, {"CW": 1.0})


def test_epsilons_of_densities_have_no_window() -> None:
    both, alone = figures.epsilons(
        {"a": {"LW": 7.0, "SW": 6.0}, "b": {"LW": 8.0}}, {"a": {"LW": 3.5, "SW": 3.0}}
    ).axes
    assert [bar.get_height() for bar in both.patches] == [7.0, 6.0, 3.5, 3.0]
    assert [bar.get_height() for bar in alone.patches] == [8.0]
    for windows in ({"c": {"LW": 1.0}}, {"a": {"LW": 1.0}}):
        with pytest.raises(InputError, match="of_window"):
            figures.epsilons({"a": {"LW": 7.0, "SW": 6.0}}, windows)
