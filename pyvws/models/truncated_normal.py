"""Normal regression of an outcome between two ends, with the normaliser of what lies between."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from pyvws._base.checks import Arrays, Data, Floats, Ints
from pyvws._base.kernels import kernel
from pyvws._base.phrase import Phrase
from pyvws._base.setting import setting
from pyvws.errors import InputError
from pyvws.models import _outcome_scale as scales
from pyvws.models._outcome_scale import check_within, known_range
from pyvws.models.model import Draws, Start
from pyvws.models.normal import Normal
from pyvws.models.priors import log_half_t, log_level_prior
from pyvws.models.regression import (
    Regression,
    add_slope,
    linear,
    linear_predictor,
    predictors,
    row_totals,
)
from pyvws.tables.design.cells import Cells

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
_FAR = 5.0  # From here on a tail is its continued fraction, whose first 40 steps give every digit.
_STEPS = 40
_NARROW = 1e-3
_SIGMA_SCALE = 1.0  # sigma ~ half-t(3, 0, 1), as `normal`


@kernel
def _beyond(x: float) -> float:
    """phi(x) / P(Z > x) - x for x >= 5, by the tail's continued fraction."""
    rest = 0.0
    for k in range(_STEPS, 0, -1):
        rest = k / (x + rest)
    return rest


class _Row(NamedTuple):
    """What the cells of a design row share: side, t, the normaliser, and its slopes G and F."""

    side: float
    t: float
    normaliser: float
    G: float
    F: float


@kernel
def _row(eta: float, sigma: float, low: float, high: float) -> _Row:
    """The normaliser of a design row between low and high.

    With z = side (v - eta) / sigma, and side -1 where the range lies mostly below eta, so that its
    nearer end is at a: log f(v) = -log sigma - (z - t)(z + t) / 2 - normaliser, with slopes
    side (z - t - G) / sigma in eta and (z - t)(z + t) - 1 - F in log sigma. Where a is far in the
    tail, t = a, and no large terms cancel; else t = 0.
    """
    a, b, side = (low - eta) / sigma, (high - eta) / sigma, 1.0
    if a + b < 0.0:
        a, b, side = -b, -a, -1.0
    wide, t = b - a, a if a >= _FAR else 0.0
    if wide * (1.0 + b) < _NARROW:  # Nearly uniform: the next terms are below a rounding.
        middle, moved = a + 0.5 * wide, 0.5 * wide if t > 0.0 else a + 0.5 * wide
        part, square = wide * wide / 12.0, middle * middle
        normaliser = math.log(wide) - 0.5 * moved * (middle + t)
        normaliser += math.log1p(0.5 * part * (square - 1.0))
        F = moved * (middle + t) + part * (1.0 - 2.0 * square) - 1.0
        return _Row(side, t, normaliser, moved - middle * part, F)
    if a < _FAR:
        if a <= 0.0:
            inside = 0.5 * (math.erf(b * _ROOT_HALF) - math.erf(a * _ROOT_HALF))
        else:
            inside = 0.5 * (math.erfc(a * _ROOT_HALF) - math.erfc(b * _ROOT_HALF))
        scale = math.exp(-_HALF_LOG_TWO_PI) / inside
        at_a, at_b = scale * math.exp(-0.5 * a * a), scale * math.exp(-0.5 * b * b)
        by_a = a * at_a if at_a > 0.0 else 0.0
        by_b = b * at_b if at_b > 0.0 else 0.0
        normaliser = math.log(inside) + _HALF_LOG_TWO_PI
        return _Row(side, 0.0, normaliser, at_a - at_b, by_a - by_b)
    over_a, over_b = _beyond(a), _beyond(b)
    ratio = (a + over_a) / (b + over_b)  # Of P(Z > b) / phi(b) to P(Z > a) / phi(a).
    fall = -0.5 * wide * (b + a)
    inside = -math.expm1(fall + math.log(ratio))
    G, F = over_a, a * over_a
    at_b = math.exp(fall) * (a + over_a) / inside
    if at_b > 0.0:
        G, F = over_a + at_b * (ratio - 1.0), a * over_a + at_b * (a * ratio - b)
    return _Row(side, a, math.log(inside / (a + over_a)), G, F)


@kernel
def _log_density(
    q: Floats,
    rows: Floats,
    sums: Floats,
    all_weight: float,
    low: Floats,
    high: Floats,
    grad: Floats,
) -> float:
    """log prior + sum_i alpha_i log f(v_i) up to a constant, from sums (7, R) by design row."""
    grad[:] = 0.0
    logp = log_level_prior(q, rows.shape[1], 1, grad)
    u = q[-1]
    sigma = math.exp(u)
    prior, slope = log_half_t(u, _SIGMA_SCALE)
    logp += prior - all_weight * u
    for r in range(len(rows)):
        weight = sums[0, r]
        if weight == 0.0:
            continue
        eta = linear(q, rows, r)
        side, t, normaliser, G, F = _row(eta, sigma, low[r], high[r])
        if t == 0.0:
            gap = (sums[1, r] - eta) / sigma
            steps = side * weight * gap
            squares = sums[2, r] / sigma / sigma + weight * gap * gap
        else:
            end = 3 if side > 0.0 else 5
            steps = sums[end, r] / sigma
            squares = sums[end + 1, r] / sigma / sigma + 2.0 * t * steps
        logp -= 0.5 * squares + weight * normaliser
        slope += squares - weight * (1.0 + F)
        add_slope(grad, side * (steps - weight * G) / sigma, rows, r)
    grad[-1] += slope
    return logp


@kernel
def _records(parts: Data, row_of_cell: Ints, data: Data, terms: Arrays) -> None:
    """log f(v) of each cell, its derivatives in eta and u = log sigma; eta by row."""
    (eta, sigma, u), (y, low, high), (log_lik, by_eta, by_extra) = parts, data, terms
    row = -1
    side, t, normaliser, G, F = _row(eta[0], sigma, low[0], high[0])
    for c in range(len(y)):
        if row_of_cell[c] != row:  # Cells of a row follow each other.
            row = row_of_cell[c]
            side, t, normaliser, G, F = _row(eta[row], sigma, low[row], high[row])
        if t == 0.0:
            step = side * (y[c] - eta[row]) / sigma
            square = step * step
        else:
            step = (y[c] - low[row] if side > 0.0 else high[row] - y[c]) / sigma
            square = step * (step + 2.0 * t)
        log_lik[c] = -u - 0.5 * square - normaliser
        by_eta[c] = side * (step - G) / sigma
        by_extra[c, 0] = square - 1.0 - F


@kernel
def _cell_terms(q: Floats, rows: Floats, *rest: Any) -> None:
    _records((predictors(q, rows), math.exp(q[-1]), q[-1]), *rest)


@dataclass(frozen=True, slots=True)
class TruncatedNormal(scales.Scaled, Regression, kernels=(_log_density, _cell_terms, _records)):
    """v_i ~ N(X_i beta, sigma) given L <= y_i <= U, sigma ~ half-t(3, 0, 1), v the outcome on a
    scale.

    f(v) = N(v | eta, sigma) / (Phi((U - eta) / sigma) - Phi((L - eta) / sigma)), L and U on the
    scale of v. Where a rule bounds the outcome by another number of its record, L and U are the
    record's own, within the range. Beta and the unconstrained vector are those of `Normal`. The
    term of a record at an end grows without end as eta moves away beyond that end. So there is no
    saturated log-likelihood, and a clamp needs `clamp="half"`.

    Parameters
    ----------
    range : (float, float)
        L and U in the outcome's unit, known without looking at the data; the wider, the nearer to
        `Normal`. An outcome outside is an error, never moved. Synthetic outcomes lie in the range.
    outcome_scale : {"identity", "log", "signed-log"}
        v is x, log x (x above 0), or sign(x) log(1 + |x|), for x = (y - centre) / unit. The
        likelihood, and so every Lipschitz bound, is of v; synthetic outcomes are y again.
    outcome_centre : float
        A public number that is taken off y.
    outcome_unit : float
        A public number above 0 that y is divided by then: v gets moderate size, where priors are.

    Raises
    ------
    InputError
        For a range that is not two finite numbers in rising order, or of which an end has no
        logarithm under "log".
    """

    name: ClassVar[str] = "truncated-normal"
    whole_numbers: ClassVar[bool] = False
    scale: ClassVar[str] = "sigma"
    own_prior: ClassVar[Any] = (log_half_t, _SIGMA_SCALE)
    samples_inverse: ClassVar[bool] = False
    range: tuple[float, float] = setting(
        (0.0, 1.0), "Public range of the outcome, known without looking at the data."
    )
    outcome_scale: str = setting("identity", scales.DECLARED)
    outcome_centre: float = setting(0.0, scales.CENTRE)
    outcome_unit: float = setting(1.0, scales.UNIT)

    def __post_init__(self) -> None:
        object.__setattr__(self, "range", known_range(self.range))
        self.measured.settle(self)
        if self.outcome_scale == "log" and not self.range[0] > self.outcome_centre:
            raise InputError.by(
                "log-range-too-low", outcome_centre=self.outcome_centre, range=self.range
            )

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        return Phrase("truncated"), *self.measured.caveats

    def prepare(self, outcome: Floats, column: str) -> TruncatedNormal:
        check_within(outcome, column, self.range, self.name)
        self.measured.check(np.array(self.range), column, self.name)
        return self

    def stan_settings(self, cells: Cells) -> dict[str, Any]:
        row = cells.row_of_cell[cells.cell_of_record[cells.one_by_one()]]
        least, most = self._ends(cells)
        return {"least": least[row], "most": most[row]}

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        low, high = self._ends(cells)
        y, row = cells.outcome, cells.row_of_cell
        above, below = y - low[row], high[row] - y
        ends = above, above**2, below, below**2
        weight, total, *distances = row_totals(cells, weights, y, *ends)
        mean = np.divide(total, weight, out=np.zeros_like(weight), where=weight > 0)
        (_, around) = row_totals(cells, weights, (y - mean[cells.row_of_cell]) ** 2)
        sums = np.array([weight, mean, around, *distances])
        return cells.rows, sums, float(weight.sum()), low, high

    def saturated(self, cells: Cells) -> Floats:
        raise InputError.by("truncated-normal-at-end")

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return cells.outcome, *self._ends(cells)

    def parts(self, eta: Floats, draws: Draws) -> tuple[Floats, ...]:
        return eta, draws["sigma"], np.log(draws["sigma"])

    def start(self, cells: Cells, weights: Floats) -> Start:
        return Normal().start(cells, weights)

    def simulate(self, eta: Floats, draw: Draws, rng: np.random.Generator) -> Floats:
        return self._between(eta, draw, self._range[None], rng)

    def predict_between(
        self, draw: Draws, design: Floats, ends: Floats, rng: np.random.Generator
    ) -> Floats:
        return self._between(linear_predictor(draw["beta"], design)[0], draw, ends, rng)

    def _between(self, eta: Floats, draw: Draws, ends: Floats, rng: np.random.Generator) -> Floats:
        """By the inverse of the nearer tail's distribution function, which keeps far tails."""
        sigma = float(draw["sigma"][0])
        least, most = self._range
        low = np.clip(ends[:, 0], least, most)
        high = np.clip(ends[:, 1], low, most)
        a, b = (low - eta) / sigma, (high - eta) / sigma
        below = a + b < 0.0
        a, b = np.where(below, -b, a), np.where(below, -a, b)
        tail = log_ndtr(-a)
        with np.errstate(divide="ignore"):
            share = np.log1p(rng.random(len(eta)) * np.expm1(log_ndtr(-b) - tail))
        z = -ndtri_exp(tail + share)
        drawn = np.clip(eta + sigma * np.where(below, -z, z), low, high)
        return np.clip(self.measured.decode(drawn), *self.range)

    @property
    def _range(self) -> Floats:
        """The ends of the range (2,) on the scale of v."""
        return self.measured.encode(np.array(self.range))

    def _ends(self, cells: Cells) -> tuple[Floats, Floats]:
        """L and U of each design row (R,) on the scale of v."""
        whole = np.broadcast_to(self._range, (len(cells.rows), 2))
        low, high = np.array((whole if cells.ends is None else cells.ends).T)
        return np.maximum(low, whole[:, 0]), np.minimum(high, whole[:, 1])
