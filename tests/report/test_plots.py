"""Each figure has the panels, violins, points and lines that it should, and says what they are."""

import inspect
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib import rcParams
from matplotlib.collections import FillBetweenPolyCollection, PathCollection
from matplotlib.figure import Figure
from pyvws_studies import figures
from refusals import refused

from pyvws import plots
from pyvws.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
RNG = np.random.default_rng(5)
A, B = RNG.uniform(0.1, 0.9, 40), RNG.uniform(0.1, 0.9, 40)
SECRET = 8_675_309.0
OF_STUDIES = ("contraction", "epsilons", "replicate_violins")


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
    with refused("bounds-and-weights-labels"):
        plots.bounds_against_weights({"LW": A}, {"CW": A})
    with refused("unequal-lengths", first=40, second=39):
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
    with refused("figure-datasets-shape", columns=4):
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


def test_parameter_densities() -> None:
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
    # A bootstrap of counts may give an interval that leaves its own estimate out.
    (axis,) = plots.intervals({"median": {"S": (1.5, 1, 1), "M": (2, 3, 4)}}).axes
    boxes = [line.get_ydata()[0] for line in axis.get_lines() if line.get_marker() == "s"]
    assert boxes == [1.5, 2]
    with refused("figure-interval"):
        plots.intervals({"mean": {"S": (5, 6, 4)}})


def test_risk_figures() -> None:
    figure = plots.risk_violins({"r = 15%": {"D": A, "S": B}, "r = 20%": {"D": A, "S": B, "M": A}})
    assert [_violins(axis) for axis in figure.axes] == [2, 3]
    means = [line.get_ydata()[0] for line in figure.axes[0].get_lines()[::2]]
    assert means == pytest.approx([A.mean(), B.mean()])
    (legend,) = figure.legends  # Each letter once, and only the letters that are drawn.
    assert [text.get_text()[:2] for text in legend.get_texts()] == ["D:", "S:", "M:"]
    assert plots.risk_violins({"": {"Data": A}}).legends == []
    # By hand: changes are 0.4, 0.25, 0 and -0.7.
    before, after = [0.1, 0.25, 0.3, 0.9], [0.5, 0.5, 0.3, 0.2]
    for rise, rose in ((0.0, 2), (0.25, 2), (0.3, 1)):
        (axis,) = plots.whack_a_mole_scatter(before, {"Marginal": after}, rise=rise).axes
        assert _points(axis) == [4 - rose, rose]
        assert axis.get_title().startswith(f"Marginal: {rose} of 4 rose")
        (identity,) = axis.get_lines()
        assert list(identity.get_xdata()) == list(identity.get_ydata()) == [0.0, 0.9]


def test_choices_against_epsilon_joins_means_with_bars_of_two_standard_errors() -> None:
    lines = {"none": {5.0: [1.0, 3.0], 1.0: [9.0]}, "public": {1.0: [2.0]}}
    shares = {"1 draw": {1.0: [1.0, 0.0]}}
    figure = plots.choices_against_epsilon(
        {"counts": lines, "coverage": shares},
        {"coverage": 0.95},
        names={"coverage": "share"},
        against={"coverage": "spent"},
    )
    wide, narrow = figure.axes
    none, public = wide.containers
    assert none[0].get_xydata().tolist() == [[1.0, 9.0], [5.0, 2.0]]
    (bars,) = none[2]  # Of [1, 3] the variance is 2 and the standard error 1.
    ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
    assert ends == [[9.0, 9.0], [0.0, 4.0]]
    assert none[0].get_color() != public[0].get_color()
    assert (wide.get_xscale(), wide.get_yscale()) == ("log", "log")
    assert (narrow.get_yscale(), narrow.get_ylabel(), narrow.get_xlabel()) == (
        *("linear", "share", "spent (log scale)"),
    )
    assert "(log scale)" in wide.get_ylabel()
    assert [0.95, 0.95] in [list(line.get_ydata()) for line in narrow.get_lines()]
    named = {"coverage": {"asked": 0.95, "chance": 0.5}}
    (axis,) = plots.choices_against_epsilon({"coverage": shares}, named).axes
    *_, asked, chance = axis.get_lines()
    assert (list(asked.get_ydata()), list(chance.get_ydata())) == ([0.95] * 2, [0.5] * 2)
    assert asked.get_linestyle() != chance.get_linestyle()
    assert {"asked", "chance"} < {text.get_text() for text in axis.get_legend().get_texts()}
    with refused("figure-unknown-panels", name="levels", unknown="other"):
        plots.choices_against_epsilon({"counts": lines}, {"other": 1.0})
    with refused("not-above-0", name="epsilon"):
        plots.choices_against_epsilon({"counts": {"none": {0.0: [1.0]}}})
    with refused("figure-empty", entry="epsilon"):
        plots.choices_against_epsilon({"counts": {"none": {}}})


def test_association_matrices_share_their_colours() -> None:
    data = np.array([[1.0, 0.4], [0.4, np.nan]])
    figure = plots.association_matrices({"Data": data, "LW": data / 2}, ["a", "b"], limit=0.5)
    images = [axis.images[0] for axis in figure.axes if axis.images]
    assert [image.get_clim() for image in images] == [(-0.5, 0.5)] * 2
    np.testing.assert_array_equal(images[1].get_array().filled(np.nan), data / 2)
    assert figure.axes[-1].get_ylabel() == "association"
    for wrong, key in (({"Data": [[1.0]]}, "figure-matrix-shape"), ({}, "figure-empty")):
        with refused(key):
            plots.association_matrices(wrong, ["a", "b"])


def test_bound_shares_add_up() -> None:
    figure = plots.bound_shares({"a": [1, 0, 0], "b": [3, 2, 0]}, ["r1", "r2", "r3"])
    (axis,) = figure.axes
    assert [bar.get_width() for bar in axis.patches] == [0.25, 0, 0, 0.75, 1, 0]
    assert [bar.get_x() for bar in axis.patches] == [0, 0, 0, 0.25, 0, 0]
    many = {f"c{i}": [1.0] for i in range(9)}
    bars = plots.bound_shares(many, ["r1"]).axes[0].patches
    looks = {(bar.get_facecolor(), bar.get_hatch()) for bar in bars}
    assert len(looks) == 9
    with refused("figure-parts-length", records=2):
        plots.bound_shares({"a": [1.0]}, ["r1", "r2"])


def test_long_names_of_many_columns_stay_in_the_picture() -> None:
    names = [f"answer_to_question_{place:02d}_of_the_interview" for place in range(24)]
    bounds = plots.bound_shares({name: [1.0] * 10 for name in names}, ["a row"] * 10)
    texts = bounds.legends[0].get_texts()
    bounds.draw_without_rendering()
    assert set(names) <= {text.get_text() for text in texts}
    for box in (text.get_window_extent() for text in texts if text.get_text() in names):
        assert 0.0 <= box.x0 < box.x1 <= bounds.bbox.width
        assert 0.0 <= box.y0 < box.y1 <= bounds.bbox.height
    assert bounds.axes[0].bbox.height > 0.4 * bounds.bbox.height


@pytest.mark.parametrize(
    "draw",
    [
        lambda bad: plots.choices_against_epsilon({"t": {"LW": {1.0: bad}}}),
        lambda bad: plots.bounds_and_weights({"LW": bad}, {"LW": A}),
        lambda bad: plots.densities({"LW": A}, bad),
        lambda bad: plots.risk_violins({"r": {"D": bad}}),
        lambda bad: plots.whack_a_mole_scatter(bad, {"M": A}),
        lambda bad: figures.contraction({"LW": {"100": bad}}),
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
    from pyvws.plots.drawing import colours

    alone, beside = colours(["CW"]), colours(["x", "CW", "y", "LW", "SW"])
    assert alone["CW"] == beside["CW"]
    assert len(set(beside.values())) == 5


@pytest.fixture(scope="module")
def gallery() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "gallery.py"))


def test_the_gallery_draws_every_function(gallery: dict[str, Any]) -> None:
    assert set(gallery["FIGURES"]) == {*plots.__all__, *OF_STUDIES}


@pytest.mark.parametrize("name", [*plots.__all__, *OF_STUDIES])
def test_figures_belong_to_no_window_and_warn_of_nothing(
    name: str, gallery: dict[str, Any]
) -> None:
    before = dict(rcParams)
    figure = gallery["FIGURES"][name]()
    assert isinstance(figure, Figure)
    assert figure.canvas.manager is None
    assert dict(rcParams) == before
    assert figure._repr_png_()[:4] == b"\x89PNG"  # A notebook shows it.
    # Nothing but titles, names and ticks is written: no text inside a panel.
    assert [axis.texts for axis in figure.axes if axis.texts] == []
    for axis in figure.axes:
        assert unnamed(axis) == []


def unnamed(axes: Any) -> list[str]:
    """Axes with numbers at their ticks and no name, where no panel that shares them has one."""
    found = []
    for letter in "xy":
        sharing = getattr(axes, f"get_shared_{letter}_axes")().get_siblings(axes)
        axis = getattr(axes, f"{letter}axis")
        numbers = any(re.fullmatch(r"[−\d.]+", tick.get_text()) for tick in axis.get_ticklabels())
        names = [getattr(panel, f"get_{letter}label")() for panel in sharing]
        if numbers and axis.get_visible() and not any(names):
            found.append(f"{letter} of {axes.get_title()}")
    return found


def test_an_axis_without_a_name_is_noticed() -> None:
    figure = Figure()
    figure.subplots().plot([1, 2], [3, 4])
    assert len(unnamed(figure.axes[0])) == 2


def test_every_figure_of_the_papers_has_a_function_that_cites_it() -> None:
    rows = pl.read_csv(ROOT / "docs" / "studies" / "figures.csv")
    for source, last in (("vws2024", 17), ("risk2024", 10), ("risk2024 supplement", 7)):
        figures = rows.filter(pl.col("source") == source)["figure"].to_list()
        listed = {int(n) for one in figures if re.fullmatch(r"[\d, a-f]+", one)
                  for n in re.findall(r"\d+", one)}  # fmt: skip
        assert listed == set(range(1, last + 1))
    drawn = {*dir(plots), *OF_STUDIES}
    named = drawn & set(re.findall(r"\w+", " ".join(rows["function"].drop_nulls())))
    assert named == {*plots.__all__, *OF_STUDIES}
    of_tables = {"association_matrices", "bound_shares"}
    for name in set(plots.__all__) - {"parameter_densities"} - of_tables:
        assert re.search(r"\[(vws|risk|global)20\d\d\]", inspect.getdoc(getattr(plots, name)) or "")


def test_importing_the_figures_loads_no_matplotlib() -> None:
    program = "import sys, pyvws.plots; print('matplotlib' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "False"
