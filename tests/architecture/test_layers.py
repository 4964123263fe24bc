"""Imports go one way: every import of the product and of its evidence is read and ranked."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import pyvws_studies
import pyvws_validation

import pyvws

PACKAGE = Path(pyvws.__file__).parent
EVIDENCE = [Path(one.__file__).parent for one in (pyvws_studies, pyvws_validation)]

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
    "comparison",
    "commands",
    "judge",
    "papers",
    "__main__",
    "pyvws_studies",
    "pyvws_validation",
)
"""The rooms under pyvws/ and the evidence, each of which imports only those named before it."""

_BESIDE = {root.name for root in EVIDENCE}
RANKS = {room: rank for rank, room in enumerate(ROOMS)}
MOST_MODULES = 10  # directly under pyvws/
MOST_FLOORS = 12
MOST_ARROWS = 130

# Rooms within a room, each of which imports only those named before it.
SUB_ROOMS = {"tables": ("files", "schema", "design", "proposal")}

# A schema proposes itself at one door, within a function.
DOORS = {("pyvws.tables.schema.schema", "proposal")}

# The one way round: this engine is R's own, so it needs the bridge.
EXCEPTIONS = {("pyvws.engines.rstan", "r")}


def modules() -> dict[str, Path]:
    """Every module by dotted name, packages by the name of their folder."""
    found = {}
    for path in sorted(path for root in (PACKAGE, *EVIDENCE) for path in root.rglob("*.py")):
        root = next(root for root in (PACKAGE, *EVIDENCE) if root in path.parents)
        parts = (root.name, *path.relative_to(root).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def unit_of(module: str) -> str:
    """The file or folder right under pyvws/ that a module belongs to, or its part of evidence."""
    package, _, within = module.partition(".")
    return within.split(".")[0] if package == "pyvws" else package


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file, read once for every test that asks."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imports(module: str) -> frozenset[str]:
    """Dotted names that a module imports, wherever in the file; pyvws's own as modules."""
    found = set()
    for node in nodes(MODULES[module]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports by a relative name"
            for alias in node.names:
                deeper = f"{node.module}.{alias.name}"
                if node.module == "pyvws" and deeper not in MODULES:
                    deeper = getattr(getattr(pyvws, alias.name), "__module__", "pyvws")
                found.add(deeper if deeper in MODULES else str(node.module))
        elif isinstance(node, ast.Call) and "import_module" in (
            getattr(node.func, "id", None),
            getattr(node.func, "attr", None),
        ):
            found |= {
                inner.value
                for inner in ast.walk(node)
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
            }
    return frozenset(found)


def units_imported(module: str) -> set[str]:
    return {unit_of(name) for name in imports(module) if name.startswith(("pyvws.", "pyvws_"))}


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


def test_the_house_stays_low_and_few_rooms_know_each_other():
    """A room stands one floor above the highest that it imports; an arrow joins two rooms."""
    arrows = {(unit_of(m), unit) for m in set(MODULES) - {"pyvws"} for unit in units_imported(m)}
    arrows = {(above, below) for above, below in arrows if above not in _BESIDE | {below}}
    graph = {room: {below for above, below in arrows if above == room} for room in ROOMS}
    floors: dict[str, int] = {}
    for room in graphlib.TopologicalSorter(graph).static_order():
        floors[room] = 1 + max((floors[below] for below in graph[room]), default=0)
    assert max(floors.values()) <= MOST_FLOORS, sorted(floors.items(), key=lambda kv: kv[1])
    assert len(arrows) <= MOST_ARROWS


def test_exceptions_are_still_needed():
    for module, unit in EXCEPTIONS:
        assert unit in units_imported(module)


@pytest.mark.parametrize(
    "room", [room for room in ROOMS if room in _BESIDE or f"pyvws.{room}" in MODULES]
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
        "extras = ('rpy2', 'cmdstanpy', 'stan', 'httpstan', 'opendp', 'distributed', 'emcee')\n"
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
