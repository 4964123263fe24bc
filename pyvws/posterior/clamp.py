"""The window that a fit clamps each record's term to, and how a target reads it.

The half clamp is the slides' of [global2022]: alpha_i l_i stays in [-epsilon / 2, epsilon / 2]. The
deviance clamp takes a constant of the record off first, its saturated log-likelihood a_i:
alpha_i (l_i - a_i), minus half the record's unit deviance, stays in [-epsilon, 0]. Either window is
epsilon wide, and the width is what one record can cost (docs/strict.md).

A clamped fit starts from the rough fit of the records whose terms lie inside the window. Records
outside do not move a clamped target, so near a mode the target is the ordinary posterior of the
records inside. The steps that find a trimmed likelihood's maximum find the modes: fit some records,
keep those inside the window of that fit, fit these, and so on while the clamped density rises. The
first records of a column are all of them, records of neighbouring outcomes, which find a cluster,
and a few random records. A table's are all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np

from pyvws._base.checks import Floats, choice, half_epsilon
from pyvws.bounds.lipschitz import LipschitzBounds
from pyvws.errors import InputError
from pyvws.models.model import Likelihood, Model, Start
from pyvws.models.sequence import TableCells
from pyvws.tables.design.cells import Cells

CLAMPS: Final = ("deviance", "half")
"""The kinds of a clamp: of half the unit deviance, and of the log-likelihood itself."""


@dataclass(frozen=True, slots=True)
class Clamp:
    """The window of each record's term in a fit.

    - `epsilon`: Width of the window in nats, above 0 and finite; larger = riskier.
    - `kind` {"half", "deviance"}: "half" clamps alpha_i l_i to [-epsilon / 2, epsilon / 2].
      "deviance" clamps alpha_i (l_i - a_i) to [-epsilon, 0], a_i the family's saturated
      log-likelihood.

    Raises
    ------
    InputError
        For an epsilon that is not above 0 and finite, or another kind.
    """

    epsilon: float
    kind: str = "half"

    def __post_init__(self) -> None:
        if not np.isfinite(half_epsilon(self.epsilon)):
            raise InputError.by("clamp-epsilon-infinite")
        choice(self.kind, "clamp", CLAMPS)

    @property
    def half(self) -> float:
        """epsilon / 2, the largest bound Delta_{alpha,x_i} under the clamp, in nats."""
        return 0.5 * self.epsilon

    @property
    def window(self) -> tuple[float, float]:
        """Both ends of the window, in nats."""
        return (-self.half, self.half) if self.kind == "half" else (-self.epsilon, 0.0)

    def terms(self, log_lik: Floats, shift: Floats) -> Floats:
        """The terms (S, C) that the window is put on, from log-likelihoods and `shift` (C,)."""
        if self.kind == "half":
            return log_lik
        with np.errstate(invalid="ignore"):
            return np.minimum(log_lik - shift, 0.0)

    def bounds(self, bounds: LipschitzBounds) -> LipschitzBounds:
        """The bounds of the clamped terms, in nats, from those of the terms that the clamp sees."""
        low, high = self.window
        return bounds.clamped(-low, share=self.half / (high if high > 0.0 else -low))

    def shift(self, model: Likelihood, cells: Cells | TableCells) -> Floats:
        """What is taken off each cell's log-likelihood first, (C,), in nats."""
        if self.kind == "half":
            return np.zeros(cells.n_cells)
        return model.saturated(cells)


def refuse_unclamped(model: Model) -> tuple[Callable[..., None], Callable[..., None]]:
    """The kernels of a model's terms and slopes; InputError for a model without them."""
    terms, slopes = model.cell_terms, model.cell_slopes
    if terms is None or slopes is None:
        raise InputError.by("likelihood-not-censored", model=model.name)
    return terms, slopes


def prior_data(model: Model, cells: Cells) -> tuple[Any, ...]:
    """The arguments after q with which a model's density is its prior's, at every point.

    One record of weight 0 stands for all: its design row of zeros leaves no term that overflows.
    """
    cell = cells.part(slice(0, 1))
    return model.density_data(replace(cell, rows=np.zeros_like(cell.rows)), np.zeros(1))


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
    model: Model, cells: Cells, weights: Floats, clamp: Clamp, density: Callable[[Floats], float]
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
            between = (0.5 * (start.centre + other.centre) for _, other in kept)
            apart = not any(self.density(q) >= height - 1.0 for q in between)
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
