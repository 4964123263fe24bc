"""Arguments as words in memory, for kernels (`pyvws._base.kernels`) that get only an address.

A number is packed as itself, 8 bytes a word, and an array as its place among the words and its
shape. What arrays hold follows, in the order of the arguments, so words can be copied.
"""

from __future__ import annotations

import ctypes
from typing import Any, TypeAlias

import numpy as np
from numba import carray
from numba.core import types
from numba.extending import overload
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Data

Groups = tuple[Data, ...]
Pointer: TypeAlias = "ctypes._Pointer[ctypes.c_double]"

_FLOAT, _WHOLE = "d", "l"


class PackedArguments:
    """Groups of arguments as `words` in memory, and the text `kinds` that says how to read them.

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
def _compile_unpacked(address: object, kinds: Any) -> Any:
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
