"""Cliques: combinations of columns by their codes, or by coarser public groups of codes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pyvws.errors import InputError
from pyvws.mechanisms.counts.coding import Codes, CountedColumn

EVENLY: Final = "#"
"""What a cut begins with that says how many groups there are, as in #3."""

_OF_TIE: Final = 0.008  # Of the error of all margins, what knowing a pair of columns is worth,
_OF_PAIRS: Final = 400  # or less, where it is one of more pairs.


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """The groups that the codes of a column belong to.

    - `group_of_code` (L,): The group of each code.
    - `labels`: Each group in words, of (G,).
    - `name`: The cuts in words, as the set's name has them.
    """

    group_of_code: Codes
    labels: list[str]
    name: str

    @property
    def size(self) -> int:
        """The number G of groups."""
        return len(self.labels)


@dataclass(frozen=True, slots=True, eq=False)
class Clique:
    """A set of columns whose combinations are numbered, the last column's codes fastest.

    - `name`: The columns' names and cuts, joined by a colon.
    - `columns`: Names of the columns, in the table's order.
    - `sizes`: The codes or groups of each column.
    - `groups`: The groups of columns that are not counted by their own codes.
    """

    name: str
    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    groups: Mapping[str, Grouping]

    @property
    def size(self) -> int:
        """The number of combinations."""
        return math.prod(self.sizes)

    @property
    def is_pair(self) -> bool:
        """Whether it is two columns by their own codes."""
        return len(self.columns) == 2 and not self.groups

    @property
    def steps(self) -> list[NDArray[np.int64]]:
        """What each code of each column adds to the number of a combination."""
        steps, stride = [], self.size
        for name, size in zip(self.columns, self.sizes, strict=True):
            stride //= size
            groups = self.groups.get(name)
            group_of_code = np.arange(size) if groups is None else groups.group_of_code
            steps.append(group_of_code.astype(np.int64) * stride)
        return steps

    @property
    def codes(self) -> dict[str, NDArray[np.intp]]:
        """The code or group of each column in each combination."""
        grids = np.indices(self.sizes)
        return {name: grid.ravel() for name, grid in zip(self.columns, grids, strict=True)}

    def cells(self, codes: Mapping[str, Codes]) -> NDArray[np.int64]:
        """The number of each record's combination (N,); an unknown code counts as the last.

        `codes` has those of the records (N,) in each column, and in others.
        """
        cell = np.zeros(len(next(iter(codes.values()))), dtype=np.int64)
        for name, step in zip(self.columns, self.steps, strict=True):
            cell += step[codes[name]]
        return cell


def clique(
    columns: Mapping[str, CountedColumn],
    names: Collection[str],
    groups: Mapping[str, Grouping] | None = None,
) -> Clique:
    """The combinations of the columns of those names, by the groups of some."""
    groups = groups or {}
    among = tuple(name for name in columns if name in names)
    return Clique(
        ":".join(name + (groups[name].name if name in groups else "") for name in among),
        among,
        tuple((groups.get(name) or columns[name]).size for name in among),
        groups,
    )


def joined(sizes: Mapping[str, int], most: int, *, pure: bool) -> dict[tuple[str, ...], float]:
    """Columns of these sizes (K,) that are counted together where noise drowns pairs.

    Each set has at most `most` cells, and its share of the budget, times that of its cells. Of a
    set of C cells under noise of scale b a margin of L codes is off by about b sqrt(C L). So all
    margins are off by a power of the sum over sets of [sqrt(C) sum sqrt(L)]^p, with p of 1/2 under
    Laplace noise, where prices add up, and 2/3 under Gaussian noise, where their squares do. Sets
    are joined while the sum grows by less than what the pairs that they then hold are worth.
    """
    power = 0.5 if pure else 2.0 / 3.0
    worth = _OF_TIE * min(1.0, _OF_PAIRS / max(1, math.comb(len(sizes), 2)))
    sets: list[tuple[str, ...]] = [(name,) for name in sizes]
    cells = np.array([*sizes.values()], dtype=np.float64)
    roots, columns = np.sqrt(cells), np.ones(len(cells))
    while len(sets) > 1:
        error = (np.sqrt(cells) * roots) ** power
        together = np.outer(cells, cells)
        change = (np.sqrt(together) * np.add.outer(roots, roots)) ** power
        change -= np.add.outer(error, error) + worth * error.sum() * np.outer(columns, columns)
        change[(together > most) | np.tri(len(sets), dtype=np.bool_)] = np.inf
        first, other = divmod(int(change.argmin()), len(sets))
        if change[first, other] >= 0.0:
            break
        sets[first] += sets.pop(other)
        cells[first] *= cells[other]
        roots[first] += roots[other]
        columns[first] += columns[other]
        cells, roots, columns = (np.delete(own, other) for own in (cells, roots, columns))
    shares = ((roots / np.sqrt(cells)) ** power).tolist()
    return {own: share for own, share in zip(sets, shares, strict=True) if len(own) > 1}


def grouping(column: CountedColumn, cuts: Sequence[str]) -> Grouping:
    """The groups of a column's codes by cuts.

    A category's groups are runs of its levels, in the schema's order, and each cut is the first
    level of one. A number's groups are runs of its cells, and each cut begins a cell. Its points of
    mass and missing codes are groups of their own. A cut #G alone makes G groups of about as many
    codes, and those that are no numbers among numbers stand apart. Raises InputError for a cut
    that begins none.
    """
    own = 0 if column.column.categorical else len(column.parts)
    begins = np.zeros(column.size, dtype=np.bool_)
    begins[: own + 1] = True
    if len(cuts) == 1 and cuts[0].startswith(EVENLY):
        begins |= _evenly(column, cuts[0].removeprefix(EVENLY))
    else:
        for cut in cuts:
            begins[_begun(column, cut)] = True
    group_of_code = np.asarray(np.cumsum(begins) - 1, dtype=np.int32)
    first, labels = np.flatnonzero(begins), column.labels
    last = np.append(first[1:], column.size) - 1
    words = []
    for low, high in zip(first.tolist(), last.tolist(), strict=True):
        if low == high:
            words.append(labels[low])
        elif not column.column.categorical:
            shown = column.column.label_of_number
            ends = column.edges[[low - own, high - own + 1]]
            words.append(f"{shown(ends[0])} to {shown(ends[1])}")
        else:
            words.append(f"{labels[low]} to {labels[high]}")
    return Grouping(group_of_code, words, "".join(f"/{cut}" for cut in cuts))


def _evenly(column: CountedColumn, groups: str) -> NDArray[np.bool_]:
    """Whether a group begins at each code (L,), of so many groups of about as many codes."""
    if not groups.isdigit() or groups == "0":
        raise InputError.by("measure-groups", column=column.name, groups=groups)
    apart = np.arange(column.size) < len(column.parts)
    if column.column.categorical:
        missing = column.column.missing_codes
        levels = [part for part in column.parts if part not in missing]
        numbers = [str(part).removeprefix("-").isdigit() for part in levels]
        some = 2 * sum(numbers) > len(numbers)
        number = dict(zip(levels, numbers, strict=True))
        apart = np.array(
            [not number.get(part, False) and (some or part in missing) for part in column.parts]
        )
    begins = apart | np.append(True, apart[:-1])
    own = np.flatnonzero(~apart)
    group = np.arange(len(own)) * int(groups) // max(len(own), int(groups))
    begins[own[1:]] |= np.diff(group) > 0
    return begins


def _begun(column: CountedColumn, cut: str) -> int:
    """The code that a cut begins at."""
    if column.column.categorical:
        if cut in column.parts:
            return column.parts.index(cut)
        raise InputError.by("measure-cut-no-level", column=column.name, cut=cut)
    number = column.column.number_of(cut)
    begun = np.isclose(column.edges[:-1], np.nan if number is None else number, rtol=1e-12)
    at = np.flatnonzero(begun)
    if not len(at):
        raise InputError.by("measure-cut-no-cell", column=column.name, cut=cut)
    return len(column.parts) + int(at[0])
