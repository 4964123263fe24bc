"""Imports go one way: every import of the product and of its evidence is read and ranked."""

import ast
import graphlib
import subprocess
import sys

import pytest
from house import EVIDENCE, MODULES, imports, nodes, unit_of, units_imported

PACKAGE = MODULES["pyvws"].parent

ROOMS = (
    "sheet",
    "errors",
    "_base",
    "r_numbers",
    "privacy",
    "tables",
    "bounds",
    "models",
    "posterior",
    "engines",
    "risks",
    "weights",
    "mechanisms",
    "plan",
    "statement",
    "plots",
    "evaluation",
    "synthesis",
    "release",
    "report",
    "r",
    "auditing",
    "comparison",
    "commands",
    "families",
    "judge",
    "papers",
    "__main__",
    "pyvws_studies",
    "pyvws_validation",
)
"""The rooms under pyvws/ and the evidence, each of which imports only those named before it."""

RANKS = {room: rank for rank, room in enumerate(ROOMS)}
MOST_MODULES = 10  # directly under pyvws/

# Rooms within a room, each of which imports only those named before it.
SUB_ROOMS = {"tables": ("files", "schema", "design", "proposal")}

# A schema proposes itself at one door, within a function.
DOORS = {("pyvws.tables.schema.schema", "proposal")}

# The one way round: this engine is R's own, so it needs the bridge.
EXCEPTIONS = {("pyvws.engines.rstan", "r")}


def test_every_room_has_one_rank():
    assert len(ROOMS) == len(RANKS)
    units = {unit_of(name) for name in MODULES if name != "pyvws"}
    assert units == set(RANKS), "give the new room a place in ROOMS"


def test_few_modules_stand_outside_of_rooms():
    assert len(list(PACKAGE.glob("*.py"))) <= MOST_MODULES


def test_the_parser_sees_what_it_should():
    assert "pyvws.models.model" in imports("pyvws.posterior.pseudo_posterior")
    assert "pyvws.r_numbers.rarith" in imports("pyvws.bounds.lipschitz")  # the name of a module
    assert "formulaic" in imports("pyvws.tables.schema.formula")  # inside a function
    assert len(MODULES) > 40


def test_imports_point_downwards():
    upwards = {
        (module, unit)
        for module in set(MODULES) - {"pyvws"}
        for unit in units_imported(module)
        if RANKS[unit] > RANKS[unit_of(module)] and (module, unit) not in EXCEPTIONS
    }
    assert not upwards


@pytest.mark.parametrize("room", SUB_ROOMS)
def test_sub_rooms_stand_in_their_order(room):
    order = SUB_ROOMS[room]
    inside = {m: m.split(".")[2] for m in MODULES if m.startswith(f"pyvws.{room}.")}
    assert set(inside.values()) == set(order), "give the new sub-room a place in SUB_ROOMS"
    upwards = {
        (module, inside[name])
        for module, own in inside.items()
        for name in imports(module) & set(inside)
        if order.index(inside[name]) > order.index(own)
    }
    assert upwards == DOORS


def test_exceptions_are_still_needed():
    for module, unit in EXCEPTIONS:
        assert unit in units_imported(module)


@pytest.mark.parametrize(
    "room", [room for room in ROOMS if room in EVIDENCE or f"pyvws.{room}" in MODULES]
)
def test_no_circle_within_a_room(room):
    """Imports inside functions count."""
    inside = {module for module in MODULES if module.startswith((f"pyvws.{room}.", f"{room}."))}
    graph = {module: set(imports(module)) & inside - {module} for module in inside}
    assert len(list(graphlib.TopologicalSorter(graph).static_order())) == len(inside)


def test_r_stays_behind_its_bridge():
    users = {m for m in MODULES if any(n.split(".")[0] == "rpy2" for n in imports(m))}
    assert users
    assert {unit_of(module) for module in users} == {"r"}


@pytest.mark.runs
def test_every_module_imports_without_the_extras():
    program = (
        "import sys, importlib, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "extras = ('rpy2', 'cmdstanpy', 'stan', 'httpstan', 'opendp', 'distributed')\n"
        "for extra in extras: sys.modules[extra] = None\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
    )
    names = [name for name in MODULES if not name.endswith("__main__")]
    run = subprocess.run(
        [sys.executable, "-c", program, *names], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]


def test_no_room_imports_a_private_module_of_another():
    """An underscore in a module's name means that its own room alone imports it."""
    foreign = {
        (module, name)
        for module in MODULES
        for name in imports(module)
        if name.startswith(("pyvws.", "pyvws_"))
        and any(part.startswith("_") for part in name.removeprefix("pyvws.").split(".")[1:])
        and unit_of(name) != unit_of(module)
    }
    assert not foreign


def test_no_two_public_classes_share_a_name():
    places: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        for node in nodes(path)[0].body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_only_the_faces_of_packages_list_what_they_export():
    lists = {
        module
        for module, path in MODULES.items()
        if path.name != "__init__.py"
        and path.parent != PACKAGE
        and any(line.startswith("__all__") for line in path.read_text("utf-8").splitlines())
    }
    assert not lists
