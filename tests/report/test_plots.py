"""Each figure has the panels, violins, points and lines that it should, and says what they are."""

from __future__ import annotations

import inspect
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import rcParams
from matplotlib.collections import FillBetweenPolyCollection, PathCollection
from matplotlib.figure import Figure

from pyvws import plots
from pyvws.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
RNG = np.random.default_rng(5)
A, B = RNG.uniform(0.1, 0.9, 40), RNG.uniform(0.1, 0.9, 40)
SECRET = 8_675_309.0


def _violins(axis: Any) -> int:
    return sum(isinstance(part, FillBetweenPolyCollection) for part in axis.collections)


def _points(axis: Any) -> list[int]:
    found = [part for part in axis.collections if isinstance(part, PathCollection)]
    return [len(part.get_offsets()) for part in found]


def _horizontal(axis: Any) -> list[float]:
    """Heights of the lines that cross the whole panel."""
    lines = [(line.get_xdata(), line.get_ydata()) for line in axis.get_lines()]
    return [float(y[0]) for x, y in lines if list(x) == [0, 1] and y[0] == y[1]]


def _legend(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_bounds_and_weights() -> None:
    same = np.full(40, 0.4)
    figure = plots.bounds_and_weights({"LW": A, "CW": B}, {"LW": A, "CW": B, "SW": same})
    left, right = figure.axes
    assert (_violins(left), _violins(right)) == (2, 2)  # one weight for all is a bar
    assert [tick.get_text() for tick in right.get_xticklabels()] == ["LW", "CW", "SW"]
    assert left.get_ylabel() == "by-record Lipschitz bound (nats)"
    assert any(list(line.get_ydata()) == [0.4, 0.4] for line in right.get_lines())


def test_bounds_against_weights_has_a_line_at_the_maximum() -> None:
    figure = plots.bounds_against_weights({"LW": 5 * A, "CW": B}, {"LW": A, "CW": B})
    for axis, bounds in zip(figure.axes, (5 * A, B), strict=True):
        assert _points(axis) == [40]
        assert _horizontal(axis) == [bounds.max()]
    assert _legend(figure) == ["database bound"]
    with pytest.raises(InputError, match="must have the same labels"):
        plots.bounds_against_weights({"LW": A}, {"CW": A})
    with pytest.raises(InputError, match="Got 40 and 39"):
        plots.bounds_against_weights({"LW": A}, {"LW": A[1:]})


def test_before_and_after_draws_the_bound_before() -> None:
    figure = plots.before_and_after({"LW": ((A, 2 * A), (B, 3 * B))})
    (axis,) = figure.axes
    assert _points(axis) == [40, 40]
    assert _horizontal(axis) == [2 * A.max()]
    assert _legend(figure) == ["LW", "LW_final", "database bound before"]


def test_weights_before_and_after_and_against_the_outcome() -> None:
    (axis,) = plots.weights_before_and_after({"CW": (A, B)}).axes
    assert _points(axis) == [40]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("weight before", "weight after")
    figure = plots.weights_against_outcome(B, {"c = 1": A, "c = 2": A}, name="income")
    assert [(a.get_title(), a.get_xlabel()) for a in figure.axes] == [
        ("c = 1", "income"), ("c = 2", "income"),
    ]  # fmt: skip


def test_utility_has_a_panel_a_statistic_and_the_data_s_line() -> None:
    rows = RNG.normal(size=(30, 4))
    figure = plots.utility({"LW": rows, "CW": rows, "Data": rows}, [1.0, 2.0, 3.0, 4.0])
    assert [axis.get_title() for axis in figure.axes] == [
        "15th quantile", "90th quantile", "mean", "median",
    ]  # fmt: skip
    assert [_violins(axis) for axis in figure.axes] == [3] * 4
    assert [_horizontal(axis) for axis in figure.axes] == [[1.0], [2.0], [3.0], [4.0]]
    with pytest.raises(InputError, match=r"shape \(datasets, 4\). Got \(30, 3\)"):
        plots.utility({"LW": rows[:, :3]})


def test_densities_integrate_to_one_and_the_data_s_line_is_thickest() -> None:
    (axis,) = plots.densities({"LW": RNG.normal(size=2000)}, RNG.normal(size=2000)).axes
    lines = {line.get_label(): line for line in axis.get_lines()}
    assert list(lines) == ["Data", "LW"]
    assert lines["Data"].get_linewidth() > lines["LW"].get_linewidth()
    assert lines["Data"].get_color() == "#000000"
    for line in lines.values():
        assert 0.95 < np.trapezoid(line.get_ydata(), line.get_xdata()) <= 1.0
    (axis,) = plots.densities({"LW": A}, B, as_violins=True).axes
    assert _violins(axis) == 2


def test_an_outlier_does_not_flatten_a_density() -> None:
    values = np.random.default_rng(2).normal(size=500)
    (axis,) = plots.densities({"LW": np.append(values, 1e5)}, values).axes
    data, synthetic = (line.get_ydata().max() for line in axis.get_lines())
    assert synthetic == pytest.approx(data, rel=0.1)


def test_posterior_densities() -> None:
    (axis,) = plots.posterior_density({"LW": A, "SW": B}, 0.5).axes
    assert [line.get_label() for line in axis.get_lines()] == ["LW", "SW", "data"]
    figure = plots.parameter_densities({"mu": A, "phi": B}, np.repeat([1, 2], 20))
    assert [(a.get_xlabel(), len(a.get_lines())) for a in figure.axes] == [("mu", 2), ("phi", 2)]


def test_intervals_draw_the_data_s_three_lines() -> None:
    figure = plots.intervals({"mean": {"S": (5, 4, 6), "M": (7, 5, 9)}}, {"mean": (5.5, 5, 6)})
    (axis,) = figure.axes
    assert _horizontal(axis) == [5.5, 5.0, 6.0]
    bars = [
        [segment[:, 1].tolist() for segment in bar.lines[2][0].get_segments()]
        for bar in axis.containers
    ]
    assert bars == [[[4, 6]], [[5, 9]]]
    with pytest.raises(InputError, match="the estimate between the ends"):
        plots.intervals({"mean": {"S": (5, 6, 4)}})


def test_risk_figures() -> None:
    figure = plots.risk_violins({"r = 15%": {"D": A, "S": B}, "r = 20%": {"D": A, "S": B, "M": A}})
    assert [_violins(axis) for axis in figure.axes] == [2, 3]
    means = [line.get_ydata()[0] for line in figure.axes[0].get_lines()[::2]]
    assert means == pytest.approx([A.mean(), B.mean()])
    # By hand: changes are 0.4, 0.25, 0 and -0.7.
    before, after = [0.1, 0.25, 0.3, 0.9], [0.5, 0.5, 0.3, 0.2]
    for rise, rose in ((0.0, 2), (0.25, 2), (0.3, 1)):
        (axis,) = plots.whack_a_mole_scatter(before, {"Marginal": after}, rise=rise).axes
        assert _points(axis) == [4 - rose, rose]
        assert axis.get_title().startswith(f"Marginal: {rose} of 4 rose")
        (identity,) = axis.get_lines()
        assert list(identity.get_xdata()) == list(identity.get_ydata()) == [0.0, 0.9]


def test_risk_examples_compute_the_paper_s_cases() -> None:
    inside, outside = np.full((8, 2), 0.1), np.full((10, 2), 3.0)
    cases = {
        "a": ((0, 0), np.vstack([inside[:3], outside])),
        "b": ((0, 0), np.vstack([inside, outside[:5]])),
        "c": ((0, 0), np.vstack([outside, inside[:3]])),
    }
    assert [axis.get_title() for axis in plots.risk_examples(cases, radius=1).axes] == [
        "a: 10 of 13 outside, T = 1, risk 0.77",
        "b: 5 of 13 outside, T = 1, risk 0.38",
        "c: 10 of 13 outside, T = 0, risk 0.00",
    ]


def test_contraction_and_replicates() -> None:
    figure = plots.contraction({"LW": {"100": A, "400": B}, "SW": {"100": A}}, {"LW": 3.5})
    assert [_violins(axis) for axis in figure.axes] == [2, 1]
    assert [_horizontal(axis) for axis in figure.axes] == [[3.5], []]
    colours = {tuple(part.get_facecolor()[0]) for part in figure.axes[0].collections}
    assert len(colours) == 1
    assert _legend(figure) == ["global bound"]
    with pytest.raises(InputError, match="not drawn: CW"):
        plots.contraction({"LW": {"100": A}}, {"CW": 1.0})


def test_utility_against_epsilon_joins_the_means() -> None:
    figure = plots.utility_against_epsilon({"LW": {5.0: [1.0, 3.0], 3.0: [4.0, 6.0]}})
    (axis,) = figure.axes
    (bar,) = axis.containers
    assert bar.lines[0].get_xdata().tolist() == [3.0, 5.0]
    assert bar.lines[0].get_ydata().tolist() == [5.0, 2.0]
    with pytest.raises(InputError, match="epsilon must be above 0"):
        plots.utility_against_epsilon({"LW": {0.0: [1.0]}})


def test_utility_by_guarantee_colours_the_kind_and_carries_the_unprotected_across() -> None:
    lines = {"Clamp": {5.0: [1.0, 3.0], 1.0: [4.0, 6.0]}, "Half": {5.0: [9.0]}, "S": {20.0: [1.5]}}
    kinds = {"Clamp": "dp", "Half": "dp", "S": "none"}
    figure = plots.utility_by_guarantee({"counts": lines}, kinds)
    (axis,) = figure.axes
    clamp, half, plain, across = axis.get_lines()
    assert (clamp.get_xdata().tolist(), clamp.get_ydata().tolist()) == ([1.0, 5.0], [5.0, 2.0])
    assert clamp.get_color() == half.get_color() != plain.get_color() == across.get_color()
    assert clamp.get_linestyle() != half.get_linestyle()
    assert list(across.get_ydata()) == [1.5, 1.5]
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    with pytest.raises(InputError, match="no guarantee of 'S'"):
        plots.utility_by_guarantee({"counts": lines}, {"Clamp": "dp", "Half": "dp"})
    with pytest.raises(InputError, match="guarantees\\['S'\\]"):
        plots.utility_by_guarantee({"counts": lines}, {**kinds, "S": "sure"})
    with pytest.raises(InputError, match="epsilon must be above 0"):
        plots.utility_by_guarantee({"counts": {"S": {0.0: [1.0]}}}, kinds)


@pytest.mark.parametrize(
    "draw",
    [
        lambda bad: plots.bounds_and_weights({"LW": bad}, {"LW": A}),
        lambda bad: plots.densities({"LW": A}, bad),
        lambda bad: plots.risk_violins({"r": {"D": bad}}),
        lambda bad: plots.whack_a_mole_scatter(bad, {"M": A}),
        lambda bad: plots.contraction({"LW": {"100": bad}}),
        lambda bad: plots.weights_against_outcome(bad, {"LW": A}),
        lambda bad: plots.utility({"LW": bad.reshape(10, 4)}),
    ],
)
def test_bad_input_is_said_without_a_value(draw: Callable[[Any], Any]) -> None:
    bad = np.where(np.arange(40) == 3, np.nan, SECRET)
    with pytest.raises(InputError, match="missing or infinite values") as caught:
        draw(bad)
    assert "8675309" not in str(caught.value)


def test_papers_labels_keep_their_colours_and_others_differ() -> None:
    from pyvws.plots._drawing import colours

    alone, beside = colours(["CW"]), colours(["x", "CW", "y", "LW", "SW"])
    assert alone["CW"] == beside["CW"]
    assert len(set(beside.values())) == 5


@pytest.fixture(scope="module")
def gallery() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "gallery.py"))


def test_the_gallery_draws_every_function(gallery: dict[str, Any]) -> None:
    assert set(gallery["FIGURES"]) == set(plots.__all__)


@pytest.mark.parametrize("name", plots.__all__)
def test_figures_belong_to_no_window_and_warn_of_nothing(
    name: str, gallery: dict[str, Any], tmp_path: Path
) -> None:
    before = dict(rcParams)
    figure = gallery["FIGURES"][name]()
    assert isinstance(figure, Figure)
    assert figure.canvas.manager is None
    assert dict(rcParams) == before
    figure.savefig(tmp_path / "x.png", dpi=40)
    assert (tmp_path / "x.png").read_bytes()[:4] == b"\x89PNG"
    # Nothing but titles, names and ticks is written: no text inside a panel.
    assert [axis.texts for axis in figure.axes if axis.texts] == []
    assert all(axis.get_xlabel() or axis.get_ylabel() or axis.get_title() for axis in figure.axes)


def test_every_figure_of_the_papers_has_a_function_that_cites_it() -> None:
    text = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    parts = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", text, flags=re.M | re.S))
    for title, last in (("Savitsky", 17), ("Hu, S", 10), ("Its", 7)):
        body = next(part for heading, part in parts.items() if heading.startswith(title))
        listed = {int(n) for row in re.findall(r"^\| ([\d, a-f]+?) \|", body, flags=re.M)
                  for n in re.findall(r"\d+", row)}  # fmt: skip
        assert listed == set(range(1, last + 1))
    named = set(re.findall(r"`(\w+)`", text)) & set(dir(plots))
    assert named == set(plots.__all__)
    for name in set(plots.__all__) - {"parameter_densities"}:
        assert re.search(r"\[(vws|risk|global)20\d\d\]", inspect.getdoc(getattr(plots, name)) or "")


@pytest.mark.parametrize("name", plots.__all__)
def test_each_function_says_what_it_takes(name: str) -> None:
    function = getattr(plots, name)
    said = inspect.getdoc(function) or ""
    for section in ("Parameters", "Returns", "Raises", "Examples"):
        assert f"\n\n{section}\n{'-' * len(section)}\n" in said
    described = said.split("Parameters\n")[1].split("\n\nReturns\n")[0]
    assert all(parameter in described for parameter in inspect.signature(function).parameters)


def test_importing_the_figures_loads_no_matplotlib() -> None:
    program = "import sys, pyvws.plots; print('matplotlib' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "False"
