"""Arguments as words in memory, for kernels (`pyvws._base.kernels`) handed an address alone.

Arrays are packed as their address and shape, numbers as themselves, 8 bytes a word. What is packed
is read again without a copy, so the arrays have to be kept as long as the words are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_untracked
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

__all__ = ["PackedArguments", "add_one", "unpacked"]

Groups = tuple[tuple[Any, ...], ...]

_FLOAT, _WHOLE = "d", "l"


class PackedArguments:
    """Groups of arguments: `words` for the address, `kinds` for the code, both fixed for good.

    `kinds` says what stands at each place: f or i with the number of dimensions for arrays of
    doubles or whole numbers, d and l for single ones; commas part them, semicolons the groups.
    Before the arguments there is one word for a count.
    """

    def __init__(self, groups: Groups) -> None:
        self._kept: list[Any] = []
        words: list[int] = [0]
        self.kinds = ";".join(
            ",".join(self._pack(value, words) for value in group) for group in groups
        )
        self.words = np.array(words, dtype=np.int64)

    @property
    def count(self) -> int:
        """What `add_one` counted at the address."""
        return int(self.words[0])

    def _pack(self, value: Any, words: list[int]) -> str:
        if np.ndim(value) == 0:
            whole = isinstance(value, int | np.integer)
            words.append(int(np.array(value, np.int64 if whole else np.float64).view(np.int64)))
            return _WHOLE if whole else _FLOAT
        whole = np.asarray(value).dtype.kind in "iu"
        array = np.ascontiguousarray(value, dtype=np.int64 if whole else np.float64)
        self._kept.append(array)
        words.extend((array.ctypes.data, *array.shape))
        return f"{'i' if whole else 'f'}{array.ndim}"


def _type_of(kind: str) -> Any:
    if kind in (_FLOAT, _WHOLE):
        return types.float64 if kind == _FLOAT else types.int64
    return types.Array(types.float64 if kind[0] == "f" else types.int64, int(kind[1:]), "C")


def _unpacked(_typing: Any, _address: Any, kinds: Any) -> Any:
    """The groups as tuples, from the address of the words and a literal text of kinds."""
    groups = [
        [_type_of(kind) for kind in group.split(",") if kind]
        for group in kinds.literal_value.split(";")
    ]
    made = types.Tuple([types.Tuple(group) for group in groups])

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        base = builder.bitcast(arguments[0], ir.IntType(64).as_pointer())
        at = 1

        def word() -> Any:
            nonlocal at
            found = builder.load(builder.gep(base, [ir.Constant(ir.IntType(64), at)]))
            at += 1
            return found

        def value(kind: Any) -> Any:
            if kind is types.int64:
                return word()
            if kind is types.float64:
                return builder.bitcast(word(), ir.DoubleType())
            return _array(context, builder, kind, word(), [word() for _ in range(kind.ndim)])

        tuples = [
            context.make_tuple(builder, types.Tuple(group), [value(kind) for kind in group])
            for group in groups
        ]
        whole = context.make_tuple(builder, made, tuples)
        return impl_ret_untracked(context, builder, made, whole)

    return made(types.voidptr, kinds), generate


def _array(context: Any, builder: Any, kind: Any, address: Any, shape: list[Any]) -> Any:
    """A contiguous array of 8-byte elements that owns nothing."""
    steps = [context.get_constant(types.intp, 8)]
    for size in reversed(shape[1:]):
        steps.insert(0, builder.mul(steps[0], size))
    array = context.make_array(kind)(context, builder)
    populate_array(
        array,
        data=builder.inttoptr(address, array.data.type),
        shape=cgutils.pack_array(builder, shape),
        strides=cgutils.pack_array(builder, steps),
        itemsize=context.get_constant(types.intp, 8),
        meminfo=None,
    )
    return array._getvalue()


def _add_one(_typing: Any, _address: Any) -> Any:
    """Add 1 to the count at the address, whatever other threads do there."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        counter = builder.bitcast(arguments[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("add", counter, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(types.voidptr), generate


# Functions for compiled code: unpacked(address, kinds) and add_one(address).
unpacked: Any = intrinsic(prefer_literal=True)(_unpacked)
add_one: Any = intrinsic(_add_one)
