"""Starts of a clamped fit: the rough fit of the records whose terms lie inside the window.

Records outside the window do not move a clamped target, so near a mode the target is the ordinary
posterior of the records inside. The steps that find a trimmed likelihood's maximum find the modes:
fit some records, keep those inside the window of that fit, fit these, and so on while the clamped
density rises. The first records are all of them, records of neighbouring outcomes, which find a
cluster, and a few random records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from pyvws._base.checks import Floats
from pyvws.models.model import Model, Start
from pyvws.posterior.clamp import Clamp
from pyvws.tables.cells import Cells

__all__ = ["trimmed_starts"]

_FAR = 1e16  # Sums of squares around outcomes no further out keep the digits that a start needs.
_STEPS = 12
_NEIGHBOURS, _RANDOM = 6, 6  # Groups of records to begin with, besides all records.
_LEAST_RECORDS = 20
_NEAR = 10.0  # Nats under the best mode, from where on a mode is left to chance.
_MOST = 4  # Modes that a fit starts from.


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
    near = replace(cells, values=np.clip(cells.values, -_FAR, _FAR))
    shift = clamp.shift(model, cells)
    low, high = clamp.window

    def inside(centre: Floats) -> Floats:
        """The weights (N,) of the records inside the window at a point; 0 for other records."""
        with np.errstate(all="ignore"):
            draws = model.constrain(centre[None], cells.n_coefficients)
            terms = model.log_likelihood(draws, cells)[0] - shift
            weighted = weights * terms[cells.cell_of_record]
        return np.where((low < weighted) & (weighted < high), weights, 0.0)

    found: list[tuple[float, Start]] = []
    for first in _first_records(near, weights):
        best, part = None, first
        for _ in range(_STEPS):
            with np.errstate(all="ignore"):  # Few records may not do for a rough fit.
                start = model.start(near, part)
                height = density(start.centre)
            if not np.isfinite(height) or (best is not None and height <= best[0]):
                break
            best = height, start
            part = inside(start.centre)
            if not part.any():
                break
        if best is not None:
            found.append(best)
    if not found:
        return (model.start(near, weights),)
    found.sort(key=lambda pair: -pair[0])
    kept: list[tuple[float, Start]] = []
    for height, start in found:
        apart = all(_apart(density, height, start, other) for _, other in kept)
        if height >= found[0][0] - _NEAR and apart and len(kept) < _MOST:
            kept.append((height, start))
    return tuple(start for _, start in kept)


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


def _apart(density: Callable[[Floats], float], height: float, start: Start, other: Start) -> bool:
    """Whether the target falls between a start and a higher one: they then are two modes."""
    return not density(0.5 * (start.centre + other.centre)) >= height - 1.0
