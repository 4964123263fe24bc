"""A run asks its plan: few lines branch on whether there is a schema."""

import ast
from collections.abc import Iterable, Iterator

from house import MODULES, nodes
from test_layers import PACKAGE

MOST = 15
_SCHEMAS = ("schema", "public_table", "by_schema")


def _conditions(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """The conditions of a program, with each operand of `and`, `or` and `not` by itself."""
    for node in nodes:
        if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            yield node.test
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.BoolOp):
            yield from node.values
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node.operand
        elif isinstance(node, ast.Compare) and any(
            isinstance(one, ast.Constant) and one.value is None for one in node.comparators
        ):
            yield node


def _is_schema(node: ast.expr) -> bool:
    """Whether an expression is a schema, or compares one with None or with a name's text."""
    if isinstance(node, ast.Compare):
        nothing = all(
            isinstance(one, ast.Constant) and one.value is None for one in node.comparators
        )
        return nothing and _is_schema(node.left)
    if isinstance(node, ast.NamedExpr):
        return _is_schema(node.value)
    if isinstance(node, ast.Call):  # settings.get("schema")
        named = [one for one in node.args if isinstance(one, ast.Constant)]
        return bool(named) and named[0].value in _SCHEMAS
    name = getattr(node, "attr", getattr(node, "id", None))
    return name in _SCHEMAS


def branches(nodes: Iterable[ast.AST]) -> set[int]:
    """The lines of a program that branch on whether there is a schema."""
    return {node.lineno for node in _conditions(nodes) if _is_schema(node)}


def _branches_of(text: str) -> set[int]:
    return branches(ast.walk(ast.parse(text)))


def test_the_count_sees_each_kind_of_branch() -> None:
    planted = (
        *("if schema: pass", "if run.schema is None: pass", "x = 1 if schema is not None else 2"),
        *("x = schema and schema.unit", "x = not settings.public_table"),
        *("while schema is None: pass", "x = [y for y in z if schema]", "by = schema is not None"),
        "x = 1 if plan.by_schema else 2",
    )
    assert [len(_branches_of(text)) for text in planted] == [1] * len(planted)
    assert not _branches_of("if schema.unit is None: pass\nif name in schema.columns: pass")


def test_few_lines_branch_on_a_schema() -> None:
    found = {
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in MODULES.values()
        for line in branches(nodes(path))
    }
    assert len(found) <= MOST, sorted(found)
