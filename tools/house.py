"""Count and walk the house: python tools/house.py [--check | --rooms | --walk NAME]

It reads the code and runs none of it. `house.toml` beside it has two numbers for each figure:
`limit` is where the figure should be, `allowed` is what `--check` and a test let pass.

- Lines are those of .py files, words those of `wc -w docs/*.md`.
- A room is a file or folder right under pyvws/. An arrow joins a room with another that it
  imports, and a room stands one floor above the highest that it imports.
- Stays and climbs of a walk are explained in walk.py. A walk begins at one of `WALKS`.

The others are of the product and its evidence. `any` counts parameters that are annotated as `Any`
alone, without *args and **kwargs. `casts` counts calls of `typing.cast`. `tuples` counts functions
whose annotation returns a tuple of three values or more. `keyless` counts the places that raise
InputError, or one of its kinds, without a key.
"""

from __future__ import annotations

import argparse
import ast
import graphlib
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from walk import Code, Walk, last_name

ROOT: Final = Path(__file__).resolve().parents[1]
EVIDENCE: Final = ("pyvws_studies", "pyvws_validation")
PACKAGES: Final = (ROOT / "pyvws", *(ROOT / "validation" / name for name in EVIDENCE))

# Where a walk begins: module, function, parameter, and the objects that it goes through.
WALKS: Final = {
    "fit": ("pyvws.release.synthesizer", "Synthesizer.fit", "frame", 0),
    "noisy_counts": ("pyvws.release.noisy_counts", "counts_run", "table", 2),
    "command": ("pyvws.commands.synthesize", "synthesize", "table", 1),
    "utility": ("pyvws.commands.utility", "utility", "original", 2),
}


def modules(packages: Iterable[Path] = PACKAGES) -> dict[str, Path]:
    """Every module by dotted name, packages by the name of their folder."""
    found: dict[str, Path] = {}
    for package in packages:
        for path in sorted(package.rglob("*.py")):
            parts = (package.name, *path.relative_to(package).with_suffix("").parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES: Final = modules()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file, read once for all that ask."""
    return tuple(ast.walk(tree(path)))


@cache
def homes() -> dict[str, str]:
    """The module of each name that `pyvws` itself hands on."""
    found: dict[str, str] = {}
    for node in nodes(MODULES["pyvws"]):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: str(node.module) for alias in node.names}
        elif isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "_PUBLIC":
            found |= ast.literal_eval(node.value or ast.Dict([], []))
    return found


@cache
def imports(module: str) -> frozenset[str]:
    """Dotted names that a module imports, wherever in the file; pyvws's own as modules."""
    found: set[str] = set()
    for node in nodes(MODULES[module]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports by a relative name"
            for alias in node.names:
                deeper = f"{node.module}.{alias.name}"
                if node.module == "pyvws" and deeper not in MODULES:
                    deeper = homes().get(alias.name, "pyvws")
                found.add(deeper if deeper in MODULES else str(node.module))
        elif isinstance(node, ast.Call) and last_name(node.func) == "import_module":
            strings = (n.value for n in ast.walk(node) if isinstance(n, ast.Constant))
            found |= {value for value in strings if isinstance(value, str)}
    return frozenset(found)


def unit_of(module: str) -> str:
    """The file or folder right under pyvws/ that a module belongs to, or its part of evidence."""
    package, _, within = module.partition(".")
    return within.split(".")[0] if package == "pyvws" else package


def units_imported(module: str) -> set[str]:
    """The rooms, its own too, that a module imports."""
    return {unit_of(name) for name in imports(module) if name.startswith(("pyvws.", "pyvws_"))}


@cache
def arrows() -> frozenset[tuple[str, str]]:
    """Each room of the product with each other room that it imports."""
    inside = [module for module in MODULES if module.startswith("pyvws.")]
    pairs = {(unit_of(module), unit) for module in inside for unit in units_imported(module)}
    return frozenset((above, below) for above, below in pairs if above != below)


@cache
def floors() -> dict[str, int]:
    """The floor of each room of the product; CycleError where rooms import each other."""
    graph: dict[str, set[str]] = {unit_of(name): set() for name in MODULES if name != "pyvws"}
    for above, below in arrows():
        graph[above].add(below)
    found: dict[str, int] = {}
    for room in graphlib.TopologicalSorter(graph).static_order():
        found[room] = 1 + max((found[below] for below in graph[room]), default=0)
    return found


def product() -> list[str]:
    return [module for module in MODULES if module.split(".")[0] == "pyvws"]


def _lines(paths: Iterable[Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in paths)


@cache
def input_errors() -> frozenset[str]:
    """InputError and the names of its kinds."""
    classes = [n for m in MODULES for n in nodes(MODULES[m]) if isinstance(n, ast.ClassDef)]
    kinds, known = {"InputError"}, 0
    while len(kinds) > known:
        known = len(kinds)
        kinds |= {one.name for one in classes if kinds & {last_name(base) for base in one.bases}}
    return frozenset(kinds)


def findings(module: str) -> Iterator[str]:
    """What stands in a module that a house should have few of: "any", "casts" and so on."""
    for node in nodes(MODULES[module]):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            for one in (*given.posonlyargs, *given.args, *given.kwonlyargs):
                if one.annotation is not None and last_name(one.annotation) == "Any":
                    yield "any"
            returned = node.returns
            values = getattr(getattr(returned, "slice", None), "elts", ())
            if len(values) >= 3 and getattr(getattr(returned, "value", None), "id", "") == "tuple":
                yield "tuples"
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "cast":
            yield "casts"
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            keyed = any(word.arg == "key" for word in node.exc.keywords)
            if last_name(node.exc.func) in input_errors():
                yield "keyed" if keyed else "keyless"


def rooms() -> dict[str, Counter[str]]:
    """`findings` by room, and by part of the evidence."""
    found: dict[str, Counter[str]] = {}
    for module in MODULES:
        found.setdefault(unit_of(module) or "pyvws", Counter()).update(findings(module))
    return found


@cache
def walks() -> dict[str, Walk]:
    code = Code.of({module: tree(MODULES[module]) for module in product()})
    return {name: Walk.along(code, *start) for name, start in WALKS.items()}


def climbs(stays: list[str]) -> int:
    """How often a stay is on a higher floor than the one before."""
    heights = [floors()[unit_of(module)] for module in stays]
    return sum(after > before for before, after in pairwise(heights))


def figures() -> dict[str, int]:
    """What the house has, by the names of house.toml."""
    own = [MODULES[module] for module in product()]
    evidence = [path for module, path in MODULES.items() if module.split(".")[0] in EVIDENCE]
    found = {
        "product_lines": _lines(own),
        "product_files": len(own),
        "validation_lines": _lines(evidence),
        "tests_lines": _lines((ROOT / "tests").rglob("*.py")),
        "page_words": sum(
            len(page.read_text(encoding="utf-8").split()) for page in (ROOT / "docs").glob("*.md")
        ),
        "longest_file": max(_lines([path]) for path in MODULES.values()),
        "floors": max(floors().values()),
        "arrows": len(arrows()),
    }
    kinds = Counter(kind for module in MODULES for kind in findings(module))
    found |= {name: kinds[name] for name in ("any", "casts", "tuples", "keyless")}
    for name, walk in walks().items():
        found[f"{name}_stays"] = len(walk.stays())
        if f"{name}_climbs" in bounds():
            found[f"{name}_climbs"] = climbs(walk.stays())
    return found


def bounds() -> dict[str, dict[str, int]]:
    """`limit` and `allowed` of each figure."""
    return tomllib.loads((ROOT / "tools" / "house.toml").read_text(encoding="utf-8"))


def print_figures() -> bool:
    """The figures beside their bounds; whether one is above what is allowed."""
    found, known = figures(), bounds()
    print(f"{'figure':<22}{'today':>9}{'limit':>9}{'allowed':>9}")
    for name, today in found.items():
        limit, allowed = known[name]["limit"], known[name]["allowed"]
        mark = "  grown" if today > allowed else "  missed" if today > limit else ""
        print(f"{name:<22}{today:>9,}{limit:>9,}{allowed:>9,}{mark}")
    return any(today > known[name]["allowed"] for name, today in found.items())


def print_rooms() -> None:
    kinds = ("any", "casts", "tuples", "keyless", "keyed")
    print(f"{'room':<20}" + "".join(f"{kind:>9}" for kind in kinds))
    for room, own in sorted(rooms().items(), key=lambda kv: -kv[1].total()):
        print(f"{room:<20}" + "".join(f"{own[kind]:>9}" for kind in kinds))


def print_walk(name: str) -> None:
    for module in walks()[name].stays():
        print(f"{floors()[unit_of(module)]:>3}  {module}")


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Count and walk the house.")
    parser.add_argument("--check", action="store_true", help="fail on a figure above `allowed`")
    parser.add_argument("--rooms", action="store_true", help="print the counts of each room")
    parser.add_argument("--walk", choices=WALKS, help="print the stays of one walk")
    asked = parser.parse_args(given)
    if asked.rooms:
        print_rooms()
    elif asked.walk:
        print_walk(asked.walk)
    elif print_figures() and asked.check:
        sys.exit("A figure has grown. Take away as much, or change `allowed` in tools/house.toml.")


if __name__ == "__main__":
    main()
