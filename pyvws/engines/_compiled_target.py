"""A target as C functions: density and gradient on the sampled scale, and draws back from it.

A sampler in another language calls the functions without Python, so chains run side by side. Each
function is made of kernels of the family and of the scale. A text names these kernels, and numba
finds the machine code on disk again by that text. The machine code holds no data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, Final

import numpy as np
from numba import carray
from numba.core import types

from pyvws._base.checks import Floats
from pyvws._base.kernels import callback, inlined_kernel
from pyvws.engines._nutpie_chains import LEAST_SLOPE, NO_SLOPE
from pyvws.engines._packed_arguments import PackedArguments, add_one, unpacked
from pyvws.models.model import SampledScale
from pyvws.posterior.clamp import add_terms_inside
from pyvws.posterior.joint_target import GivenOthers, add_sums_inside
from pyvws.posterior.pseudo_posterior import PseudoPosterior

_DOUBLES = types.CPointer(types.float64)
DENSITY: Final = types.int64(types.uint64, _DOUBLES, _DOUBLES, _DOUBLES, types.voidptr)
DRAW: Final = types.int64(types.uint64, types.uint64, _DOUBLES, _DOUBLES, types.voidptr)
_NOT_FINITE = 1  # Tells nutpie to turn back from a point.

_NAMED: dict[str, Any] = {}


class CompiledTarget:
    """The C functions `density` and `draw`, and the `arguments` whose address both take last.

    density(D, z, gradient, value, address) and draw(D, D, z, q, address) are C functions that
    return 0, or another number where the density or its gradient is not finite.
    """

    def __init__(self, target: PseudoPosterior | GivenOthers, scale: SampledScale) -> None:
        kernels, groups = target.kernels()
        self.arguments = PackedArguments((scale.data, *groups))
        names = tuple(map(_name, (*scale.kernels, *kernels)))
        form = "plain" if kernels[1] is None else "clamped"
        if isinstance(target, GivenOthers):
            form = "given_others"
        self.density, self.draw = _functions(form, self.arguments.kinds, *names)

    def moves(self, z: Floats) -> bool:
        """Whether density and gradient are finite at z (D,), and the gradient nowhere near 0."""
        gradient, value = np.zeros(len(z)), np.zeros(1)
        call, words = self.density.ctypes, self.arguments.words
        doubles = (array.ctypes.data_as(call.argtypes[1]) for array in (z, gradient, value))
        ended = call(len(z), *doubles, words.ctypes.data)
        return ended == 0 and bool((np.abs(gradient) > LEAST_SLOPE).all())


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


def _plain(dimension: Any, z_at: Any, gradient_at: Any, value_at: Any, address: Any) -> int:
    z, gradient = carray(z_at, dimension), carray(gradient_at, dimension)
    groups = unpacked(address, _kinds)
    q = np.empty(len(z))
    jacobian, state = _restore(z, *groups[0], q)
    value = jacobian + _density(q, *groups[1], gradient)
    _pull_back(state, q, *groups[0], gradient)
    value_at[0] = value
    return _ended(value, gradient)


def _clamped(dimension: Any, z_at: Any, gradient_at: Any, value_at: Any, address: Any) -> int:
    z, gradient = carray(z_at, dimension), carray(gradient_at, dimension)
    groups = unpacked(address, _kinds)
    q = np.empty(len(z))
    jacobian, state = _restore(z, *groups[0], q)
    value = _density(q, *groups[1], gradient)
    rows, row_of_cell = groups[2][0], groups[2][1]
    cells = len(row_of_cell)
    terms = np.empty(cells), np.empty(cells), np.empty((cells, groups[3][6]))
    inside = np.empty(cells)
    _terms(q, rows, row_of_cell, groups[2][2:], terms)
    cell, weight, count, low, high, shift, _ = groups[3]
    clamps: Any = (cell, weight, count, low, high, shift, terms[0], inside)
    value += add_terms_inside(*clamps)
    _slopes(q, rows, row_of_cell, groups[2][2:], terms, inside, gradient)
    value += jacobian
    _pull_back(state, q, *groups[0], gradient)
    value_at[0] = value
    return _ended(value, gradient)


def _given_others(dimension: Any, z_at: Any, gradient_at: Any, value_at: Any, address: Any) -> int:
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


def _draw(dimension: Any, _length: Any, z_at: Any, q_at: Any, address: Any) -> int:
    add_one(address)
    groups = unpacked(address, _kinds)
    _restore(carray(z_at, dimension), *groups[0], carray(q_at, dimension))
    return 0


_FORMS: Final = {"plain": _plain, "clamped": _clamped, "given_others": _given_others}


@cache
def normal_functions() -> tuple[Any, Any]:
    """C functions of a standard normal density, which take no arguments from an address."""
    return callback(_normal, DENSITY, cached=True), callback(_same, DRAW, cached=True)


def _normal(dimension: Any, z_at: Any, gradient_at: Any, value_at: Any, _address: Any) -> int:
    z, gradient = carray(z_at, dimension), carray(gradient_at, dimension)
    value_at[0] = 0.0
    for i in range(len(z)):
        gradient[i] = -z[i]
        value_at[0] -= 0.5 * z[i] * z[i]
    return _ended(value_at[0], gradient)


def _same(dimension: Any, _length: Any, z_at: Any, q_at: Any, _address: Any) -> int:
    z, q = carray(z_at, dimension), carray(q_at, dimension)
    for i in range(len(z)):
        q[i] = z[i]
    return 0


@inlined_kernel
def _ended(value: float, gradient: Any) -> int:
    """Fill slopes of 0, and say whether the value and all slopes are finite."""
    finite = np.isfinite(value)
    for entry in range(len(gradient)):
        finite = finite and np.isfinite(gradient[entry])
        if gradient[entry] == 0.0:
            gradient[entry] = NO_SLOPE
    return 0 if finite else _NOT_FINITE
