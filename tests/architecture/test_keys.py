"""No logic reads prose: sentences, uses and labels are made from keys, and only keys are compared.

Read in every module but the one that has the words: comparisons, string methods and regular
expressions, whose operands name what holds words.
"""

import ast
from collections.abc import Iterable

import pytest
from house import MODULES, nodes

WORDS = "pyvws.statement.words"
HOLDS_WORDS = {
    *("caveat", "caveats", "ledger", "use", "uses", "problem", "problems", "trust_assumptions")
}
LABELS = {"label", "labels"}  # Of fits and figures: keys of a mapping, but never taken apart.
READERS = {
    *("startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition"),
    *("fullmatch", "search", "findall"),
}


def _named(node: ast.AST) -> set[str]:
    """The last names of what is read: of `fit.label`, `entry["use"]` and `caveats`."""
    found = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            found.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            found.add(inner.attr)
        elif isinstance(inner, ast.Subscript) and isinstance(inner.slice, ast.Constant):
            found.add(str(inner.slice.value))
    return found


def read_as_prose(nodes: Iterable[ast.AST]) -> list[int]:
    """Lines that compare or take apart what holds words."""
    lines = []
    for node in nodes:
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            texts = any(isinstance(side, ast.Constant | ast.JoinedStr) for side in sides)
            texts |= any(name.isupper() for side in sides for name in _named(side))
            others = [side for side in sides if not isinstance(side, ast.Constant)]
            none = any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
            if texts and not none and any(_named(side) & HOLDS_WORDS for side in others):
                lines.append(node.lineno)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in READERS
            and any(_named(part) & (HOLDS_WORDS | LABELS) for part in (node.func.value, *node.args))
        ):
            lines.append(node.lineno)
    return lines


def test_no_module_reads_prose() -> None:
    lines = {
        module: read_as_prose(nodes(path)) for module, path in MODULES.items() if module != WORDS
    }
    assert not any(lines.values()), "a module compares words: give them a key"


@pytest.mark.parametrize(
    "line",
    [
        'bad = [said for said in privacy["caveats"] if "Convergence" in privacy["caveats"]]',
        'any(caveat.startswith("Convergence") for caveat in caveats)',
        'CAVEATS["above target"] in privacy["caveats"]',
        'base = fit.label.removesuffix("_final")',
        'lost = entry["use"] == "fit LW"',
        're.fullmatch("LW.*", fit.label)',
    ],
)
def test_the_reader_of_prose_is_seen(line: str) -> None:
    assert read_as_prose(ast.walk(ast.parse(line)))


@pytest.mark.parametrize("line", ['"above-target" in caveat_keys(privacy)', "label is not None"])
def test_the_reader_of_keys_passes(line: str) -> None:
    assert not read_as_prose(ast.walk(ast.parse(line)))
