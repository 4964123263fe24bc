"""Arguments as words in memory, for kernels (`pyvws._base.kernels`) that get only an address.

An array is packed as its address and shape, a number as itself, 8 bytes a word. Kernels read the
arrays without a copy, so the caller has to keep the arrays as long as the words. numba has no
function for two steps, which LLVM does: to read a word as a pointer, and to count across threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray
from numba.core import types
from numba.extending import intrinsic, overload

Groups = tuple[tuple[Any, ...], ...]

_FLOAT, _WHOLE = "d", "l"


class PackedArguments:
    """Groups of arguments as `words` in memory, and the text `kinds` that says how to read them.

    A letter is an argument's kind: f or i with its dimensions for an array of doubles or whole
    numbers, d or l for one of them; commas part arguments, semicolons groups.
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
        """How often compiled code called `add_one` at the address."""
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


def unpacked(address: Any, kinds: str) -> Any:
    """The groups as tuples, from the words' address and a literal text; compiled code only."""


@overload(unpacked, prefer_literal=True, strict=False)
def _compile_unpacked(address: Any, kinds: Any) -> Any:
    if not isinstance(kinds, types.Literal):
        return None
    at, groups = 1, []
    for group in kinds.literal_value.split(";"):
        values = []
        for kind in filter(None, group.split(",")):
            sizes = [f"words[{at + 1 + axis}]" for axis in range(int(kind[1:] or 0))]
            if kind in (_FLOAT, _WHOLE):
                values.append(f"{'floats' if kind == _FLOAT else 'words'}[{at}]")
            else:
                number = "float64" if kind[0] == "f" else "int64"
                values.append(f"carray(pointer(words[{at}]), ({', '.join(sizes)},), {number})")
            at += 1 + len(sizes)
        groups.append(f"({', '.join(values)},)" if values else "()")
    text = (
        f"def made(address, kinds):\n"
        f"    words, floats = carray(address, ({at},), int64), carray(address, ({at},), float64)\n"
        f"    return ({', '.join(groups)},)\n"
    )
    names = {"carray": carray, "pointer": _pointer, "int64": np.int64, "float64": np.float64}
    exec(text, names)
    return names["made"]


@intrinsic
def _pointer(_typing: Any, _word: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.voidptr(types.int64), generate


def _add_one(_typing: Any, _address: Any) -> Any:
    """Add 1 to the count at the address, whatever other threads do there."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        counter = builder.bitcast(arguments[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("add", counter, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(types.voidptr), generate


add_one: Any = intrinsic(_add_one)  # add_one(address), in compiled code only.
