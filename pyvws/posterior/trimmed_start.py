"""Starts of a clamped fit: the rough fit of the records whose terms lie inside the window.

Records outside the window do not move a clamped target, so near a mode the target is the ordinary
posterior of the records inside. The steps that find a trimmed likelihood's maximum find the modes:
fit some records, keep those inside the window of that fit, fit these, and so on while the clamped
density rises. The first records of a column are all of them, records of neighbouring outcomes,
which find a cluster, and a few random records. A table's are all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np

from pyvws._base.checks import Floats
from pyvws.models.model import Model, Start
from pyvws.posterior.clamp import Clamp
from pyvws.tables.design.cells import Cells

_FAR = 1e16  # Sums of squares around outcomes no further out keep the digits that a start needs.
_STEPS = 12
_NEIGHBOURS, _RANDOM = 6, 6  # Groups of records to begin with, besides all records.
_LEAST_RECORDS = 20
_NEAR = 10.0  # Nats under the best mode, from where on a mode is left to chance.
_MOST = 4  # Modes that a fit starts from.


def near_cells(cells: Cells) -> Cells:
    """The cells with far outcomes taken as nearer, so that every table has a rough fit."""
    return replace(cells, values=np.clip(cells.values, -_FAR, _FAR))


def trimmed_starts(
    model: Model,
    cells: Cells,
    weights: Floats,
    clamp: Clamp,
    density: Callable[[Floats], float],
) -> tuple[Start, ...]:
    """Rough fits at modes of the clamped target, the best mode first, at most four.

    `density` is the clamped log density at a point (D,), and weights are (N,). Modes far below the
    best one are left out. The records alone decide the result: no random number of a run does.
    """
    near = near_cells(cells)
    shift = clamp.shift(model, cells)

    def terms(centre: Floats) -> Floats:
        draws = model.constrain(centre[None], cells.n_coefficients)
        by_cell = model.log_likelihood(draws, cells)[0] - shift
        return np.asarray(weights * by_cell[cells.cell_of_record])

    search = TrimmedSearch(lambda part: model.start(near, part), terms, weights, clamp, density)
    return search.modes(_first_records(near, weights))


class _Centred(Protocol):
    """A rough fit with a point (D,) in its middle."""

    @property
    def centre(self) -> Floats: ...


_Fit = TypeVar("_Fit", bound=_Centred)


@dataclass(frozen=True, slots=True)
class TrimmedSearch(Generic[_Fit]):
    """The search for modes of a clamped target, of one column or of a table.

    `fit` makes the rough fit under weights (N,). At a point (D,), `terms` are the records' weighted
    terms (N,) before the window, and `density` is the clamped log density.
    """

    fit: Callable[[Floats], _Fit]
    terms: Callable[[Floats], Floats]
    weights: Floats
    clamp: Clamp
    density: Callable[[Floats], float]

    def modes(self, first: Iterable[Floats]) -> tuple[_Fit, ...]:
        """The modes, as `trimmed_starts`, that searches from weights (N,) of some records find."""
        modes = [mode for part in first if (mode := self._climbed(part)) is not None]
        if not modes:
            return (self.fit(self.weights),)
        modes.sort(key=lambda pair: -pair[0])
        kept: list[tuple[float, _Fit]] = []
        for height, start in modes:
            apart = all(_apart(self.density, height, start, other) for _, other in kept)
            if height >= modes[0][0] - _NEAR and apart and len(kept) < _MOST:
                kept.append((height, start))
        return tuple(start for _, start in kept)

    def _climbed(self, part: Floats) -> tuple[float, _Fit] | None:
        """The highest fit, and its height, of the steps from weights (N,) of some records on."""
        low, high = self.clamp.window
        best: tuple[float, _Fit] | None = None
        for _ in range(_STEPS):
            with np.errstate(all="ignore"):  # Few records may not do for a rough fit.
                start = self.fit(part)
                height = self.density(start.centre)
                if not np.isfinite(height) or (best is not None and height <= best[0]):
                    break
                terms = self.terms(start.centre)
            best = height, start
            part = np.where((low < terms) & (terms < high), self.weights, 0.0)
            if not part.any():
                break
        return best


def _first_records(cells: Cells, weights: Floats) -> Iterator[Floats]:
    """Weights (N,) of the records that a search begins with; other records have weight 0."""
    yield weights
    used = np.flatnonzero(weights > 0)
    by_outcome = used[np.argsort(cells.value_of_cell[cells.cell_of_record[used]], kind="stable")]
    least = max(_LEAST_RECORDS, 4 * (cells.n_coefficients + 2))
    if len(used) < 2 * least:
        return
    rng = np.random.default_rng(0)
    groups = np.array_split(by_outcome, min(_NEIGHBOURS, len(used) // least))
    groups += [rng.choice(used, least, replace=False) for _ in range(_RANDOM)]
    for group in groups:
        part = np.zeros(len(weights))
        part[group] = weights[group]
        yield part


def _apart(
    density: Callable[[Floats], float], height: float, start: _Centred, other: _Centred
) -> bool:
    """Whether the target falls between a start and a higher one: they then are two modes."""
    return not density(0.5 * (start.centre + other.centre)) >= height - 1.0
