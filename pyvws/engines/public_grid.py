"""A public grid over the parameters of a likelihood, and the prior's share of each of its cells.

Nothing here reads a record: the settings and the family decide the grid. The coefficients' scales
and correlations have no part in a likelihood, so the grid has no axis for them and the prior is
summed over them. With beta_k = s_k v_k, v ~ N(0, Omega), Omega ~ LKJ(6) and s_k ~ half-t(3, 0, 1)
[lkj2009], a cell of the grid has prior probability E_v prod_k P(s_k v_k in the cell's side k). The
mean over v is one over a fixed set of evenly spread points, and P is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import scipy  # Its parts are imported where they are first used, each for half a second.
from scipy.special import betaincinv, ndtri

from pyvws._base.checks import Floats
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.whole_scores import Scores, whole_prior, window_units
from pyvws.errors import InputError
from pyvws.models.model import Model
from pyvws.models.priors import LKJ_SHAPE, cholesky_factor, coefficient_dimension
from pyvws.models.regression import Regression
from pyvws.posterior.clamp import Clamp

MOST_PARAMETERS: Final = 3
MOST_POINTS: Final = 1_000_000

_OF_COEFFICIENT: Final = (-10.0, 10.0)
_OF_LOGARITHM: Final = (-6.0, 4.0)
_USUAL_POINTS: Final = 200_000
_STEPS_OF_LOGARITHM: Final = 200  # Beside one coefficient, which takes the other points.
_STEPS_OF_ONE: Final = 20_000
_NODES_OF_ONE: Final = 1 << 10
_NODES: Final = 1 << 13
_NODES_AT_ONCE: Final = 64
_FARTHEST_LOGARITHM: Final = 700.0  # exp(709) is the largest float.
_SMALL: Final = 0.05
_SERIES: Final = [(-1) ** (n + 1) * 2 * n / (2 * n + 1) for n in range(1, 9)]


@dataclass(frozen=True, slots=True)
class PublicGrid:
    """The middles of equal cells, one axis a parameter: G points in all, the last axis fastest.

    `ends` are the lower and upper ends of each axis, of the `coefficients` (K) and then of the
    family's own entries of q, whose prior is `own_prior`. `shape` has the number of cells of each
    axis.
    """

    ends: tuple[float, ...]
    shape: tuple[int, ...]
    coefficients: int
    own_prior: tuple[Callable[[float, float], tuple[float, float]], float] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """`grid_range` and `grid_steps` of this grid, as a statement names them."""
        return {"grid_range": list(self.ends), "grid_steps": list(self.shape)}

    @property
    def edges(self) -> tuple[Floats, ...]:
        """Ends of the cells of each axis."""
        sides = zip(self.ends[::2], self.ends[1::2], self.shape, strict=True)
        return tuple(np.linspace(low, high, n + 1) for low, high, n in sides)

    @property
    def middles(self) -> list[Floats]:
        """The middles of the cells of each axis."""
        return [0.5 * ends[:-1] + 0.5 * ends[1:] for ends in self.edges]

    def points(self) -> Floats:
        """Unconstrained vectors (G, D) of the middles; entries for scales of the prior are 0."""
        columns = [axis.ravel() for axis in np.meshgrid(*self.middles, indexing="ij")]
        K = self.coefficients
        between = np.zeros((len(columns[0]), coefficient_dimension(K) - K))
        return np.ascontiguousarray(np.column_stack([*columns[:K], between, *columns[K:]]))

    def log_prior(self) -> Floats:
        """Log prior probability (G,) of each cell, up to a constant, in nats; not finite out of
        range.
        """
        K = self.coefficients
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_masses = np.log(coefficient_masses(self.edges[:K]))
            own = self.middles[K:]
        for axis in own:
            assert self.own_prior is not None
            density, scale = self.own_prior
            log_masses = np.add.outer(
                log_masses, np.array([density(float(u), scale)[0] for u in axis])
            )
        return log_masses.ravel()


def public_grid(settings: SamplerSettings, model: Model, K: int) -> PublicGrid:
    """The grid that the settings and the family decide, for K coefficients, or InputError."""
    if not isinstance(model, Regression) or (model.own_entries and model.own_prior is None):
        raise InputError.by("grid-no-regression", model=model.name)
    own = model.own_entries
    P = K + own
    if P > MOST_PARAMETERS:
        raise InputError.by(
            "grid-too-many-parameters",
            most_parameters=MOST_PARAMETERS,
            k=K,
            model=model.name,
            own=own,
        )
    ends = settings.grid_range or (*_OF_COEFFICIENT * K, *_OF_LOGARITHM * own)
    steps = settings.grid_steps or _usual_steps(K, own)
    for name, given, needed in (("grid_range", ends, 2 * P), ("grid_steps", steps, P)):
        if len(given) != needed:
            raise InputError.by(
                "grid-setting-length",
                name=name,
                needed=needed,
                k=K,
                own=own,
                model=model.name,
                given=len(given),
            )
    if any(abs(end) > _FARTHEST_LOGARITHM for end in ends[2 * K :]):
        raise InputError.by("grid-range-of-logarithm", farthest_logarithm=_FARTHEST_LOGARITHM)
    if math.prod(steps) > MOST_POINTS:
        raise InputError.by("grid-too-many-points", prod=math.prod(steps), most_points=MOST_POINTS)
    return PublicGrid(tuple(ends), tuple(steps), K, model.own_prior)


@lru_cache(maxsize=4)
def public_scores(grid: PublicGrid) -> Scores:
    """The whole prior (G,) of a grid's points, as of `whole_prior`; the array is not writable."""
    scores = whole_prior(grid.log_prior())
    scores.flags.writeable = False
    return scores


def check_grid(settings: SamplerSettings, model: Model, K: int, clamps: Sequence[Clamp]) -> None:
    """Raise InputError for what engine grid takes for no table: its grid, prior and windows."""
    public_scores(public_grid(settings, model, K))
    for clamp in clamps:
        window_units(clamp)


def _usual_steps(K: int, own: int) -> tuple[int, ...]:
    if K == 1 and own < 2:
        return (
            (_USUAL_POINTS // _STEPS_OF_LOGARITHM, _STEPS_OF_LOGARITHM) if own else (_STEPS_OF_ONE,)
        )
    P = K + own
    return (int(_USUAL_POINTS ** (1.0 / P)),) * P


def coefficient_masses(edges: tuple[Floats, ...]) -> Floats:
    """Prior probability of each cell of K axes, given by their ends (G_k + 1,): (G_1, ..., G_K)."""
    K = len(edges)
    v = _standard_coefficients(K)
    shape = tuple(len(ends) - 1 for ends in edges)
    total = np.zeros((math.prod(shape[:-1]), shape[-1]))
    for at in range(0, len(v), _NODES_AT_ONCE):
        part = v[at : at + _NODES_AT_ONCE]
        sides = [_sides(ends, part[:, k]) for k, ends in enumerate(edges)]
        left = np.ones((len(part), 1))
        for side in sides[:-1]:
            left = (left[:, :, None] * side[:, None, :]).reshape(len(part), -1)
        total += left.T @ sides[-1]
    return total.reshape(shape) / len(v)


def _standard_coefficients(K: int) -> Floats:
    """Evenly spread points v (M, K) of N(0, Omega), Omega ~ LKJ(6)."""
    pairs = K * (K - 1) // 2
    nodes = _NODES_OF_ONE if K == 1 else _NODES
    even = scipy.stats.qmc.Sobol(K + pairs, scramble=False).random(nodes) + 0.5 / nodes
    x = ndtri(even[:, :K])
    v = np.empty((nodes, K))
    partials = np.empty((nodes, pairs))
    columns = [j for i in range(K) for j in range(i)]
    for at, j in enumerate(columns):
        shape = LKJ_SHAPE + 0.5 * (K - 2 - j)  # (1 + z_ij) / 2 ~ Beta(shape, shape)
        partials[:, at] = np.arctanh(2.0 * betaincinv(shape, shape, even[:, K + at]) - 1.0)
    for m in range(nodes):
        v[m] = cholesky_factor(partials[m], 0, K) @ x[m]
    return v


def _sides(ends: Floats, v: Floats) -> Floats:
    """P(s v in each cell) for s ~ half-t(3, 0, 1): ends (G + 1,) and v (m,) to (m, G)."""
    placed = ends[None, :] / v[:, None]
    beyond = _half_t_beyond(np.maximum(placed, 0.0))
    return np.abs(np.diff(beyond, axis=1))


def _half_t_beyond(x: Floats) -> Floats:
    """P(s > x) for s ~ half-t(3, 0, 1) and x of at least 0."""
    with np.errstate(divide="ignore"):
        y = math.sqrt(3.0) / x
    near = np.arctan(y) - 1.0 / (y + 1.0 / y)
    # Far out both terms are nearly y, so their difference is the sum over n of its power series,
    # (-1)^(n + 1) 2n / (2n + 1) y^(2n + 1).
    small = np.minimum(y, _SMALL)
    far = small**3 * np.polynomial.polynomial.polyval(small**2, _SERIES)
    return np.asarray(np.where(y < _SMALL, far, near) * (2.0 / math.pi))
