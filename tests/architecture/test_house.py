"""The house does not grow, and tools/house.py walks as it says."""

import ast

import pytest
from house import bounds, climbs, figures, main
from walk import Code, Walk


@pytest.fixture(scope="module")
def today():
    return figures()


def test_every_figure_has_its_bounds(today):
    assert set(today) == set(bounds())


@pytest.mark.parametrize("name", bounds())
def test_the_house_does_not_grow(name, today):
    assert today[name] <= bounds()[name]["allowed"], "python tools/house.py prints all figures."


HALL = """
from pyvws.cellar import Box, kept, lost

def open_door(table, other):
    lost(other)
    named = kept(table)
    box = Box(named, other)
    return box.inside() if box.table is named else kept(table)
"""
CELLAR = """
from pyvws.attic import last

class Box:
    table: object
    other: object

    def inside(self):
        return last(self.table, self.other)

def kept(table):
    return [row for row in table.rows]

def lost(other):
    return last(other)
"""
ATTIC = "def last(table, other=None):\n    return None\n"


@pytest.mark.parametrize(
    ("parameter", "through", "stays"),
    [
        ("table", 0, ["hall", "cellar"]),
        ("table", 1, ["hall", "cellar", "attic"]),
        ("other", 0, ["hall", "cellar", "attic"]),
    ],
)
def test_a_walk_by_hand(parameter, through, stays):
    """`kept` takes the table; the box takes it on to the attic, where the walk may go through."""
    texts = {"pyvws.hall": HALL, "pyvws.cellar": CELLAR, "pyvws.attic": ATTIC}
    code = Code.of({name: ast.parse(text) for name, text in texts.items()})
    walk = Walk.along(code, "pyvws.hall", "open_door", parameter, through)
    assert walk.stays() == [f"pyvws.{name}" for name in stays]
    with pytest.raises(SystemExit, match="no close_door with table"):
        Walk.along(code, "pyvws.hall", "close_door", "table", 0)


def test_a_climb_is_a_stay_on_a_higher_floor():
    assert climbs(["pyvws.commands.cli", "pyvws.errors", "pyvws.plan.plan", "pyvws.plan.make"]) == 1


def test_the_tool_prints_every_figure_and_says_what_grew(capsys, monkeypatch):
    main(["--check"])
    said = capsys.readouterr().out
    assert all(name in said for name in bounds())
    assert "grown" not in said
    small = {name: {**own, "allowed": 0} for name, own in bounds().items()}
    monkeypatch.setattr("house.bounds", lambda: small)
    with pytest.raises(SystemExit, match="A figure has grown"):
        main(["--check"])
    main(["--rooms"])
    main(["--walk", "fit"])
    assert "pyvws.release.synthesizer" in capsys.readouterr().out
