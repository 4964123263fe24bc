"""A target as C functions: density and gradient on the sampled scale, and draws back from it.

A sampler calls the functions without Python, so chains run side by side, and it is compiled once
for all families. Each function is made of kernels of the family and of the scale. A text names
these kernels, and numba finds the machine code on disk again by that text. The machine code holds
no data.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from types import FunctionType
from typing import Any, Final, TypeAlias

import numpy as np
from numba import carray
from numba.core import types
from numba.core.typing.templates import Signature
from numba.extending import overload
from numba.typed import List
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Data, Floats
from pyvws._base.kernels import callback, inlined_kernel
from pyvws.models.model import SampledScale
from pyvws.posterior.joint_target import GivenOthers, add_sums_inside
from pyvws.posterior.pseudo_posterior import PseudoPosterior

Groups = tuple[Data, ...]
Pointer: TypeAlias = "ctypes._Pointer[ctypes.c_double]"

_FLOAT, _WHOLE = "d", "l"


class PackedArguments:
    """Groups of arguments as `words` in memory, and the text `kinds` that says how to read them.

    A number is packed as itself, 8 bytes a word, and an array as its place among the words and its
    shape. What arrays hold follows, in the order of the arguments, so words can be copied.
    A letter is an argument's kind: f or i with its dimensions for an array of doubles or whole
    numbers, d or l for one of them; commas part arguments, semicolons groups.
    """

    def __init__(self, groups: Groups) -> None:
        head: list[int] = [0]
        arrays: list[tuple[int, NDArray[np.int64]]] = []
        self.kinds = ";".join(
            ",".join(_packed(value, head, arrays) for value in group) for group in groups
        )
        head[0] = len(head) + sum(len(array) for _, array in arrays)
        end = len(head)
        for place, array in arrays:
            head[place], end = end, end + len(array)
        self.words = np.concatenate([np.array(head, np.int64), *(array for _, array in arrays)])


def _packed(value: ArrayLike, head: list[int], arrays: list[tuple[int, NDArray[np.int64]]]) -> str:
    """The kind of an argument, which is added to the head and, if it is one, to the arrays."""
    kind = np.asarray(value).dtype.kind
    whole = isinstance(value, int | np.integer) if np.ndim(value) == 0 else kind in "iu"
    array = np.ascontiguousarray(value, dtype=np.int64 if whole else np.float64)
    if np.ndim(value) == 0:
        head.append(int(array.view(np.int64)[0]))
        return _WHOLE if whole else _FLOAT
    arrays.append((len(head), array.ravel().view(np.int64)))
    head.extend((0, *array.shape))
    return f"{'i' if whole else 'f'}{array.ndim}"


def unpacked(address: Pointer, kinds: str) -> Any:
    """The groups as tuples, from the words' address and a literal text; compiled code only."""


@overload(unpacked, prefer_literal=True, strict=False)
def _compile_unpacked(address: object, kinds: object) -> Any:
    if not isinstance(kinds, types.Literal):
        return None
    at, groups = 1, []
    for group in kinds.literal_value.split(";"):
        values = []
        for kind in filter(None, group.split(",")):
            numbers = "floats" if kind[0] in (_FLOAT, "f") else "words"
            sizes = [f"words[{at + 1 + axis}]" for axis in range(int(kind[1:] or 0))]
            if kind in (_FLOAT, _WHOLE):
                values.append(f"{numbers}[{at}]")
            else:
                end = f"words[{at}] + {' * '.join(sizes)}"
                shape = f".reshape(({', '.join(sizes)}))" if len(sizes) > 1 else ""
                values.append(f"{numbers}[words[{at}] : {end}]{shape}")
            at += 1 + len(sizes)
        groups.append(f"({', '.join(values)},)" if values else "()")
    text = (
        f"def made(address, kinds):\n"
        f"    count = carray(address, (1,), int64)[0]\n"
        f"    words = carray(address, (count,), int64)\n"
        f"    floats = carray(address, (count,), float64)\n"
        f"    return ({', '.join(groups)},)\n"
    )
    names = {"carray": carray, "int64": np.int64, "float64": np.float64}
    exec(text, names)
    return names["made"]


_DOUBLES = types.CPointer(types.float64)
DENSITY: Final = types.int64(types.uint64, _DOUBLES, _DOUBLES, _DOUBLES, types.voidptr)
DRAW: Final = types.int64(types.uint64, _DOUBLES, _DOUBLES, types.voidptr)
_NOT_FINITE = 1

_NAMED: dict[str, Any] = {}


class CompiledTarget:
    """The C functions `density` and `draw`, and the `arguments` whose address both take last.

    density(D, z, gradient, value, address) and draw(D, z, q, address) are C functions that return
    0, or another number where the density or its gradient is not finite. `records` is M where
    there is a clamp: the density then writes to the last M words.
    """

    def __init__(self, target: PseudoPosterior | GivenOthers, scale: SampledScale) -> None:
        kernels, groups = target.kernels()
        self.arguments = PackedArguments((scale.data, *groups))
        names = tuple(map(_name, (*scale.kernels, *kernels)))
        form = "plain" if kernels[1] is None else "given_others"
        self.records = 0 if form == "plain" else len(groups[2][-1])
        self.density, self.draw = _functions(form, self.arguments.kinds, *names)


def function_list(functions: Sequence[Any], signature: Signature = DENSITY) -> Any:
    """C functions of one signature, as a list that compiled code reads."""
    pointers = List.empty_list(types.FunctionType(signature))
    for function in functions:
        pointers.append(function)
    return pointers


def _name(kernel: Callable[..., Any] | None) -> str:
    """The name of a kernel in this module; the empty text where there is no kernel."""
    if kernel is None:
        return ""
    function = getattr(kernel, "py_func", kernel)
    name = f"{function.__module__}.{function.__qualname__}"
    if _NAMED.setdefault(name, kernel) is not kernel:
        name += f" at {id(kernel)}"
        _NAMED[name] = kernel
    return name


@cache
def _functions(
    form: str, kinds: str, restore: str, pull_back: str, density: str, terms: str, slopes: str
) -> tuple[Any, Any]:
    names = restore, pull_back, density, terms, slopes
    called = dict(zip(_CALLED, (_NAMED.get(name) for name in names), strict=True))
    # numba names machine code by the function, not by the kernels that the function calls. In one
    # process, numba would mistake two functions of one name, read from disk, for each other.
    own_name = hashlib.sha256(" ".join([form, kinds, *names]).encode()).hexdigest()[:16]
    own = all(name.startswith("pyvws.") and " " not in name for name in names if name)
    callbacks = []
    for source, signature in ((_FORMS[form], DENSITY), (_draw, DRAW)):
        function = FunctionType(source.__code__, {**globals(), **called, "_kinds": kinds})
        function.__qualname__ = f"{source.__name__}_{own_name}"
        callbacks.append(callback(function, signature, cached=own))
    return callbacks[0], callbacks[1]


_CALLED = ("_restore", "_pull_back", "_density", "_terms", "_slopes")
# Each target has the forms below with globals of its own: its kernels under these names. A kernel
# that is a global is called without a layer between, and each layer is machine code once more.
_restore: Any = None
_pull_back: Any = None
_density: Any = None
_terms: Any = None
_slopes: Any = None
_kinds = ""


def _plain(
    dimension: int, z_at: Pointer, gradient_at: Pointer, value_at: Pointer, address: Pointer
) -> int:
    z, gradient = carray(z_at, dimension), carray(gradient_at, dimension)
    groups = unpacked(address, _kinds)
    q = np.empty(len(z))
    jacobian, state = _restore(z, *groups[0], q)
    value = jacobian + _density(q, *groups[1], gradient)
    _pull_back(state, q, *groups[0], gradient)
    value_at[0] = value
    return _ended(value, gradient)


def _given_others(
    dimension: int, z_at: Pointer, gradient_at: Pointer, value_at: Pointer, address: Pointer
) -> int:
    z, gradient = carray(z_at, dimension), carray(gradient_at, dimension)
    groups = unpacked(address, _kinds)
    q = np.empty(len(z))
    jacobian, state = _restore(z, *groups[0], q)
    value = _density(q, *groups[1], gradient)
    rows, row_of_cell = groups[2][0], groups[2][1]
    cells = len(row_of_cell)
    terms = np.empty(cells), np.empty(cells), np.empty((cells, groups[3][8]))
    inside = np.empty(cells)
    _terms(q, rows, row_of_cell, groups[2][2:], terms)
    start, cell, times, weight, count, low, high, shift, _, others, own = groups[3]
    entries, units, window = (start, cell, times), (weight, count), (low, high)
    clamps: Any = (entries, units, window, shift, terms[0], others, own, inside)
    value += add_sums_inside(*clamps)
    _slopes(q, rows, row_of_cell, groups[2][2:], terms, inside, gradient)
    value += jacobian
    _pull_back(state, q, *groups[0], gradient)
    value_at[0] = value
    return _ended(value, gradient)


def _draw(dimension: int, z_at: Pointer, q_at: Pointer, address: Pointer) -> int:
    groups = unpacked(address, _kinds)
    _restore(carray(z_at, dimension), *groups[0], carray(q_at, dimension))
    return 0


_FORMS: Final = {"plain": _plain, "given_others": _given_others}


@inlined_kernel
def _ended(value: float, gradient: Floats) -> int:
    """0 where the value and all slopes are finite."""
    finite = np.isfinite(value)
    for entry in range(len(gradient)):
        finite = finite and np.isfinite(gradient[entry])
    return 0 if finite else _NOT_FINITE
