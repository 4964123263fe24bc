"""Every public pure function has a property test, by hypothesis, against a plain reference.

A function is public where its module and its name have no leading underscore. A module that
computes nothing, or not from its arguments alone, is listed with the reason.
"""

import ast
import inspect
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from house import MODULES

import pyvws

TESTS = Path(__file__).parents[1]

PUBLIC = {name: getattr(pyvws, name) for name in pyvws.__all__}
PUBLIC = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}

# Folders and modules whose functions are not pure, or no functions of numbers.
NOT_PURE = {
    "auditing": "fits anew and draws at random; its losses are held against claims",
    "posterior.clamp": "asks a model; clamped densities and starts are held against sums and Stan",
    "posterior.joint_target": "a class",
    "posterior.draws": "of chains; held against its definition by tests of its own",
    "posterior.log_likelihood": "asks a model, block by block; models have tests of their own",
    "commands": "the command line",
    "comparison": "orchestrates runs; the advice is held against rows by hand",
    "engines": "sample",
    "errors": "classes",
    "mechanisms": "settings and runs, but for the modules in PURE",
    "models": "classes; each density is held against scipy, gradients and Stan",
    "plan": "reads settings, schemas and tables; refusals have tests of their own",
    "plots": "figures",
    "privacy": "secret noise and its seller, but for the modules in PURE",
    "posterior.prediction": "draws at random",
    "posterior.pseudo_posterior": "a class",
    "r": "calls R",
    "r_numbers.r_random": "streams of R's random numbers, held against R",
    "release": "orchestrates a run",
    "report": "writes pages and files",
    "statement.words": "sentences",
    "synthesis": "orchestrates a run, but for the modules in PURE",
    "tables": "reads and writes tables, but for the modules in PURE",
}
PURE = {
    "mechanisms.histogram.bins",
    "privacy.budget",
    "privacy.discrete_noise",
    "mechanisms.histogram.perturbed_histogram",
    "synthesis.existing_fit",
    "tables.design.cells",
}

# Single functions of pure modules, with the reason.
NOT_PURE_FUNCTIONS = {
    "privacy.discrete_noise.add_discrete_gaussian": "secret noise, the same never twice",
    "privacy.discrete_noise.add_discrete_laplace": "secret noise, the same never twice",
    "privacy.discrete_noise.laplace": "secret noise, the same never twice",
    "privacy.budget.deviation_of": "a constant",
    "statement.parts.spent": "names figures",
    "statement.releases.refuse_other_units": "compares words of statements",
    "statement.releases.earlier_of": "reads one entry of a statement",
    "statement.releases.releases_unnamed": "reads one entry of a statement",
    "evaluation.combining_rules.rule_named": "words",
    "evaluation.needs_met.needs_met": "figures with tests of their own, of what a release holds",
    "evaluation.released_folder.read_by": "reads a folder",
    "evaluation.verification_question.question": "refusals and fits with tests of their own",
    "evaluation.one_column.one_column": "puts scores with tests of their own into a sheet",
    "evaluation.public_cells.estimates_by_cell": "of `tabulate`, whose figures have a test",
    "evaluation.published_table.of_capped": "words",
    "evaluation.regression_utility.cells_beside": "compares figures with tests of their own",
    "evaluation.regression_utility.left_out": "words",
    "evaluation.regression_utility.together": "puts sheets together",
    "sheet.plain_console": "a console",
    "sheet.print_json": "prints",
    "sheet.print_sheets": "prints",
    "evaluation.combining_rules.rule_of": "reads the entries of a statement",
    "evaluation.laplace_table.laplace_figures": "secret noise, the same never twice",
    "evaluation.laplace_table.most_records": "reads one entry of a schema",
    "evaluation.laplace_table.weighing": "reads the entries of a schema",
    "evaluation.laplace_table.public_ranges": "reads the entries of a schema",
    "posterior.cell_family.by_no_family": "reads the entries of a schema",
    "posterior.cell_family.cell_family": "reads the entries of a schema",
    "evaluation.original_and_datasets.described": "reads the columns of a schema",
    "evaluation.original_and_datasets.plain_tables": "reads columns of tables by a schema",
    "evaluation.public_cells.read_records": "reads columns of a table by its schema",
    "evaluation.bootstrap.units_drawn": "reads a column of ids",
    "evaluation.public_cells.table_plan": "reads the words of a command",
    "synthesis.existing_fit.from_arviz": "reads groups of arviz",
    "synthesis.existing_fit.from_cmdstan_csv": "reads files",
    "synthesis.existing_fit.from_stanfit": "reads a file",
}


def public_functions(modules: Iterable[str]) -> Iterator[str]:
    """Names of the functions that public modules define, without the package's own."""
    for module in modules:
        package, *parts = module.split(".")
        if package != "pyvws" or not parts or any(part.startswith("_") for part in parts):
            continue
        if {parts[0], ".".join(parts)} & NOT_PURE.keys() and ".".join(parts) not in PURE:
            continue
        loaded = import_module(module)
        for name, value in vars(loaded).items():
            public = inspect.isfunction(value) and not name.startswith("_")
            if public and value.__module__ == module:
                yield ".".join([*parts, name])


@cache
def definitions(path: Path) -> dict[str, ast.stmt]:
    """What a test file defines at its top, by name."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            named = [n for target in node.targets for n in ast.walk(target)]
            found |= {n.id: node for n in named if isinstance(n, ast.Name)}
    return found


def reached(path: Path, test: str) -> set[str]:
    """Names that a test uses, itself or through what its file defines."""
    known, names, waiting = definitions(path), set[str](), [test]
    while waiting:
        for node in ast.walk(known[waiting.pop()]):
            if isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.Name) and node.id not in names:
                names.add(node.id)
                waiting += [node.id] if node.id in known else []
    return names


def is_property_test(node: ast.stmt) -> bool:
    """Whether hypothesis draws what it is called with."""
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(mark, ast.Call) and ast.unparse(mark.func) == "given"
        for mark in node.decorator_list
    )


def in_property_tests(path: Path) -> set[str]:
    """Functions that a test file imports, by module and name, and calls in property tests."""
    tests = [name for name, node in definitions(path).items() if is_property_test(node)]
    names = set[str]().union(*(reached(path, test) for test in tests))
    found = {f"{place_of(name)}.{name}" for name in names & PUBLIC.keys()}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            place = node.module.removeprefix("pyvws.")
            found |= {f"{place}.{one.name}" for one in node.names if one.name in names}
            found |= {f"{place}.{one.name}.{name}" for one in node.names for name in names}
    return found


def place_of(name: str) -> str:
    return PUBLIC[name].__module__.removeprefix("pyvws.")


def test_every_pure_function_has_a_property_test() -> None:
    pure = set(public_functions(MODULES))
    tested = set[str]().union(*map(in_property_tests, TESTS.rglob("test_*.py")))
    assert pure - tested == NOT_PURE_FUNCTIONS.keys()


def test_what_is_not_pure_is_still_there() -> None:
    assert {unit for unit in NOT_PURE if f"pyvws.{unit}" not in MODULES} == set()
    assert {name for name in PURE if f"pyvws.{name}" not in MODULES} == set()


def test_every_public_name_of_the_package_is_judged() -> None:
    pure = set(public_functions(MODULES))
    for name in PUBLIC:
        assert f"{place_of(name)}.{name}" in pure or place_of(name).split(".")[0] in NOT_PURE, name


def test_a_new_function_or_a_plain_test_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "test_made.py"
    path.write_text(
        "from m import e, f, h\ndef g(x): return f(x)\ndef test_a(): h(e)\n"
        "@given(st.floats())\ndef test_b(x): g(x)\n"
    )
    assert "m.f" in in_property_tests(path)
    assert in_property_tests(path).isdisjoint({"m.e", "m.h"})
    modules = ("weights.weights", "_base.checks", "synthesis.loop", "tables.files.read")
    found = set(public_functions(f"pyvws.{module}" for module in modules))
    assert "weights.weights.risk_weights" in found
    assert {name.split(".")[0] for name in found} == {"weights"}
