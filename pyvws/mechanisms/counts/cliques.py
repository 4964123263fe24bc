"""Cliques: combinations of columns by their codes, or by coarser public groups of codes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyvws.errors import InputError
from pyvws.mechanisms.counts.coding import Codes, CountedColumn


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """The groups that the codes of a column belong to.

    Attributes
    ----------
    group_of_code : ndarray of int32, shape (L,)
        The group of each code.
    labels : list of str
        Each group in words, of (G,).
    name : str
        The cuts in words, as the set's name has them.
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

    Attributes
    ----------
    name : str
        The columns' names and cuts, joined by a colon.
    places : tuple of int
        Places of the columns.
    sizes : tuple of int
        The codes or groups of each column.
    groups : mapping of int to Grouping
        The groups of columns that are not counted by their own codes, by place.
    """

    name: str
    places: tuple[int, ...]
    sizes: tuple[int, ...]
    groups: Mapping[int, Grouping]

    @property
    def size(self) -> int:
        """The number of combinations."""
        return math.prod(self.sizes)

    @property
    def steps(self) -> list[NDArray[np.int64]]:
        """What each code of each column adds to the number of a combination."""
        steps, stride = [], self.size
        for k, size in zip(self.places, self.sizes, strict=True):
            stride //= size
            group_of_code = self.groups[k].group_of_code if k in self.groups else np.arange(size)
            steps.append(group_of_code.astype(np.int64) * stride)
        return steps

    @property
    def codes(self) -> dict[int, NDArray[np.intp]]:
        """The code or group of each column, by its place, in each combination."""
        grids = np.indices(self.sizes)
        return {k: grid.ravel() for k, grid in zip(self.places, grids, strict=True)}

    def cells(self, codes: Codes) -> NDArray[np.int64]:
        """The number of each record's combination (N,); an unknown code counts as the last."""
        cell = np.zeros(len(codes), dtype=np.int64)
        for k, step in zip(self.places, self.steps, strict=True):
            cell += step[codes[:, k]]
        return cell


def clique(
    columns: Sequence[CountedColumn], places: tuple[int, ...], groups: Mapping[int, Grouping]
) -> Clique:
    """The combinations of columns at places, by the groups of some."""
    return Clique(
        ":".join(columns[k].name + (groups[k].name if k in groups else "") for k in places),
        places,
        tuple(groups[k].size if k in groups else columns[k].size for k in places),
        groups,
    )


def grouping(column: CountedColumn, cuts: Sequence[str]) -> Grouping:
    """The groups of a column's codes by cuts.

    A category's groups are runs of its levels, in the schema's order, and each cut is the first
    level of one. A number's groups are runs of its cells, and each cut begins a cell. Its points of
    mass and missing codes are groups of their own. Raises InputError for a cut that begins none.
    """
    own = 0 if column.column.categorical else len(column.parts)
    begins = np.zeros(column.size, dtype=np.bool_)
    begins[: own + 1] = True
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
