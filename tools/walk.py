"""Follow one argument of a function through the calls that pass it on, by the code alone.

The walk takes calls in the order of the code, branches one after the other, by these rules.

- A name, an attribute, an item or a comprehension of the argument is the argument, and so is a name
  that was it once. So is what a function outside of the package makes of it, where the argument
  comes first or the function is its method.
- A function of the package is entered at the first call that passes the argument on. What the
  function returns is the argument where one of its returns is.
- An object that the argument was put into carries it in that field. The walk goes through
  `through` such objects, one in another, and ends at the next. Their methods and properties are
  entered where annotations tell the class.
- A function that is entered in another file than the one before it is a stay. A stay on a higher
  floor than the one before is a climb.

Where a class is `Any`, the walk loses the argument: a short walk can also be a blind one.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Place: TypeAlias = tuple[str, str]
"""A function or class: its module, and its name there, such as Class.method."""
Carried: TypeAlias = tuple[Place | None, int] | None
"""The class of an object that has the argument in a field, or None for the argument itself; and
the objects that it went through."""
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def last_name(node: ast.AST) -> str:
    return str(getattr(node, "id", getattr(node, "attr", "")))


@dataclass
class Code:
    """The functions, classes and imports of modules, by name."""

    functions: dict[Place, Function] = field(default_factory=dict)
    classes: dict[Place, ast.ClassDef] = field(default_factory=dict)
    imported: dict[str, dict[str, Place]] = field(default_factory=dict)

    @classmethod
    def of(cls, trees: Mapping[str, ast.Module]) -> Code:
        """Of modules by dotted name."""
        code = cls()
        for module, tree in trees.items():
            code.imported[module] = {
                alias.asname or alias.name: (str(node.module), alias.name)
                for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            }
            for node in tree.body:
                if isinstance(node, Function):
                    code.functions[module, node.name] = node
                elif isinstance(node, ast.ClassDef):
                    code.classes[module, node.name] = node
                    for own in node.body:
                        if isinstance(own, Function):
                            code.functions[module, f"{node.name}.{own.name}"] = own
        return code

    def find(self, module: str, name: str) -> Place | None:
        """The function or class that a name of a module means."""
        place = module, name
        if place in self.functions or place in self.classes:
            return place
        home, original = self.imported.get(module, {}).get(name, ("", ""))
        if f"{home}.{original}" in self.imported:
            return f"{home}.{original}", ""
        return self.find(home, original) if home in self.imported else None

    def bases(self, place: Place) -> list[Place]:
        """A class and what it inherits from."""
        found = [place]
        for base in self.classes[place].bases:
            known = self.find(place[0], last_name(getattr(base, "value", base)))
            found += self.bases(known) if known in self.classes else []
        return found

    def method(self, place: Place, name: str) -> Place | None:
        """The method of a class or of its bases, if it has a body."""
        for module, owner in self.bases(place):
            own = module, f"{owner}.{name}"
            if own in self.functions:
                last = self.functions[own].body[-1]
                empty = isinstance(last, ast.Expr) and getattr(last.value, "value", 0) is ...
                return None if empty else own
        return None

    def fields(self, place: Place) -> dict[str, ast.expr]:
        """The annotated fields of a class, those of its bases first."""
        return {
            node.target.id: node.annotation
            for base in reversed(self.bases(place))
            for node in self.classes[base].body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }

    def annotated(self, module: str, node: ast.expr | None, own: str = "") -> Place | None:
        """The class of the package that an annotation names; `own` stands for Self."""
        if isinstance(node, ast.BinOp):
            return self.annotated(module, node.left) or self.annotated(module, node.right)
        name = getattr(node, "id", getattr(node, "value", ""))
        place = self.find(module, own if name == "Self" else str(name))
        return place if place in self.classes else None


@dataclass
class Walk:
    """One argument's way: the functions that it entered, in order."""

    code: Code
    through: int = 0
    entered: list[Place] = field(default_factory=list)
    returned: dict[Place, Carried] = field(default_factory=dict)
    held: defaultdict[Place, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))

    @classmethod
    def along(cls, code: Code, module: str, name: str, parameter: str, through: int) -> Walk:
        """Walk from a parameter of a function."""
        walk, function = cls(code, through), code.functions.get((module, name))
        if function is None or parameter not in [one.arg for one in _parameters(function)]:
            raise SystemExit(f"{module}: no {name} with {parameter}. Mend WALKS of tools/house.py.")
        walk.enter((module, name), {parameter: (None, 0)})
        return walk

    def enter(self, place: Place, given: dict[str, Carried]) -> Carried:
        """Go into a function whose parameters `given` carry the argument, and through it once."""
        if place not in self.returned:
            self.entered.append(place)
            self.returned[place] = None
            body = _Body(self, place, dict(given))
            body.run(self.code.functions[place].body)
            self.returned[place] = body.returned
        return self.returned[place]

    def stays(self) -> list[str]:
        """The modules, in the order in which the argument came to them."""
        found = [place[0] for place in self.entered]
        return [name for name, before in zip(found, ["", *found], strict=False) if name != before]


def _parameters(function: Function) -> list[ast.arg]:
    given = function.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs]


def _joined(*ways: Carried) -> Carried:
    """The argument itself, else an object that holds it, the nearest first."""
    there = [way for way in ways if way is not None]
    return min(there, key=lambda way: (way[0] is not None, way[1]), default=None)


class _Body:
    """What a function's body does with the names that carry the argument."""

    def __init__(self, walk: Walk, place: Place, carried: dict[str, Carried]) -> None:
        self.walk, self.code, self.module = walk, walk.code, place[0]
        self.owner = place[1].rpartition(".")[0]
        self.carried = carried
        self.returned: Carried = None
        own = _parameters(self.code.functions[place])
        self.classes = {one.arg: self._annotated(one.annotation) for one in own}
        if self.owner and own:
            self.classes[own[0].arg] = self.module, self.owner

    def _annotated(self, node: ast.expr | None) -> Place | None:
        return self.code.annotated(self.module, node, self.owner)

    def run(self, statements: list[ast.stmt]) -> None:
        for node in statements:
            self._take(node)

    def _take(self, node: ast.AST) -> None:
        """One statement, or the parts of one, in the order of the code."""
        if isinstance(node, ast.Raise | ast.ClassDef):
            return
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            way = self.way(node.value)
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self._bind(target, way, node.value)
        elif isinstance(node, ast.For):
            self._bind(node.target, self.way(node.iter), None)
            self.run([*node.body, *node.orelse])
        elif isinstance(node, ast.withitem):
            way = self.way(node.context_expr)
            if node.optional_vars is not None:
                self._bind(node.optional_vars, way, node.context_expr)
        elif isinstance(node, ast.Return):
            self.returned = _joined(self.returned, self.way(node.value))
        elif isinstance(node, ast.expr):
            way = self.way(node)
            if isinstance(node, ast.Yield | ast.YieldFrom):
                self.returned = _joined(self.returned, way)
        else:
            for part in ast.iter_child_nodes(node):
                if not isinstance(part, ast.arguments):
                    self._take(part)

    def _bind(self, target: ast.expr, way: Carried, value: ast.expr | None) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._bind(part, way, None)
        elif isinstance(target, ast.Name):
            if way is not None:
                self.carried[target.id] = way
            if value is not None and not isinstance(value, ast.Constant):
                self.classes[target.id] = self._class_of(value)
        elif isinstance(target, ast.Attribute) and way is not None:
            holder = self._class_of(target.value)
            if holder is not None:
                self._put(holder, target.attr, way)

    def _put(self, holder: Place, name: str, way: Carried) -> Carried:
        """The object, carrying what one of its fields now has; None where the walk ends at it."""
        if way is None or way[1] >= self.walk.through:
            return None
        self.walk.held[holder][name] = way[1] + 1
        return holder, way[1] + 1

    def _class_of(self, node: ast.expr) -> Place | None:
        """The package's class of what an expression gives, as far as annotations tell."""
        if isinstance(node, ast.Name):
            return self.classes.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._class_of(node.value)
            if owner is None:
                return None
            method = self.code.method(owner, node.attr)
            if method is not None:
                return self.code.annotated(method[0], self.code.functions[method].returns)
            return self.code.annotated(owner[0], self.code.fields(owner).get(node.attr))
        if isinstance(node, ast.IfExp):
            return self._class_of(node.body) or self._class_of(node.orelse)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "cast":
            return self._annotated(node.args[0])
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "replace":
            return self._class_of(node.args[0])
        place = self._called(node.func) if isinstance(node, ast.Call) else None
        if place in self.code.functions:
            owner_name = place[1].rpartition(".")[0]
            return self.code.annotated(place[0], self.code.functions[place].returns, owner_name)
        return place if place in self.code.classes else None

    def _called(self, node: ast.expr) -> Place | None:
        """The function or class of the package that a call means."""
        if isinstance(node, ast.Name):
            return self.code.find(self.module, node.id)
        if not isinstance(node, ast.Attribute):
            return None
        place = self.code.find(self.module, last_name(node.value))
        if isinstance(node.value, ast.Name) and place is not None:
            if not place[1]:
                return self.code.find(place[0], node.attr)
            return self.code.method(place, node.attr) if place in self.code.classes else None
        owner = self._class_of(node.value)
        return None if owner is None else self.code.method(owner, node.attr)

    def way(self, node: ast.AST | None) -> Carried:
        """How an expression carries the argument; enters what the expression calls with it."""
        if isinstance(node, ast.Name):
            return self.carried.get(node.id)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Lambda):
            return None
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            for loop in node.generators:
                self._bind(loop.target, self.way(loop.iter), None)
        if isinstance(node, ast.NamedExpr):
            self._bind(node.target, self.way(node.value), node.value)
        parts = [self.way(part) for part in ast.iter_child_nodes(node)] if node else []
        if isinstance(node, ast.Compare | ast.JoinedStr):
            return None
        if isinstance(node, ast.Subscript):
            return parts[0]
        if isinstance(node, ast.IfExp):
            return _joined(*parts[1:])
        return _joined(*parts)

    def _attribute(self, node: ast.Attribute) -> Carried:
        way, owner = self.way(node.value), self._class_of(node.value)
        if way is None:
            return None
        if way[0] is None:
            return way
        method = None if owner is None else self.code.method(owner, node.attr)
        if method is not None:
            function = self.code.functions[method]
            named = {last_name(one) for one in function.decorator_list}
            if named & {"property", "cached_property"}:
                return self.walk.enter(method, {_parameters(function)[0].arg: way})
        held = [self.walk.held[base].get(node.attr) for base in self.code.bases(way[0])]
        return next(((None, depth) for depth in held if depth is not None), None)

    def _call(self, node: ast.Call) -> Carried:
        receiver = self.way(node.func.value) if isinstance(node.func, ast.Attribute) else None
        by_place = [self.way(one) for one in node.args]
        by_name = {one.arg or "": self.way(one.value) for one in node.keywords}
        if not any((receiver, *by_place, *by_name.values())):
            return None
        place = self._called(node.func)
        if getattr(node.func, "id", "") == "replace":
            made = self._class_of(node)
            kept = [] if made is None else [self._put(made, *one) for one in by_name.items()]
            return _joined(by_place[0], *kept)
        if place in self.code.classes:
            maker = self.code.method(place, "__init__")
            names = list(self.code.fields(place))
            if maker is not None:
                self._enter(maker, None, by_place, by_name)
                names = [one.arg for one in _parameters(self.code.functions[maker])][1:]
            given = {**dict(zip(names, by_place, strict=False)), **by_name}
            return _joined(*(self._put(place, *one) for one in given.items()))
        if place in self.code.functions:
            return self._enter(place, receiver, by_place, by_name)
        first = [way for way in (receiver, *by_place[:1]) if way is not None and way[0] is None]
        return _joined(*first)

    def _enter(
        self,
        place: Place,
        receiver: Carried,
        by_place: list[Carried],
        by_name: dict[str, Carried],
    ) -> Carried:
        function = self.code.functions[place]
        given, names = function.args, [one.arg for one in _parameters(function)]
        static = any(last_name(one) == "staticmethod" for one in function.decorator_list)
        if "." in place[1] and not static:
            by_place = [receiver, *by_place]
        most = len(given.posonlyargs) + len(given.args)
        rest = "" if given.vararg is None else given.vararg.arg
        others = "" if given.kwarg is None else given.kwarg.arg
        ways = [(names[i] if i < most else rest, way) for i, way in enumerate(by_place)]
        ways += [(name if name in names else others, way) for name, way in by_name.items()]
        carried: dict[str, Carried] = {name: way for name, way in ways if name and way is not None}
        return self.walk.enter(place, carried) if carried else None
