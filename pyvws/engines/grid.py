"""The grid engine: independent draws from a clamped target on a finite public grid, no chain.

The target gives a point of the grid the probability exp(prior + sum of clamped terms) over the sum
of that over all points. This is the exponential mechanism: one record moves a point's score by a
number of units between -W and 0, whatever the other records are, so the draw's probabilities move
by a factor between exp(-epsilon) and exp(epsilon) (docs/proofs.md has the proof). The largest of
scores with Gumbel noise is such a draw; OpenDP draws that noise exactly, without rounding, from a
generator that no seed can bring back.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar, Final

import numpy as np
import scipy  # Its parts are imported where they are first used, each for half a second.
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from pyvws._base.checks import Data, Floats, Ints, Places
from pyvws._base.cores import usable_cores
from pyvws._base.kernels import kernel_of_kernels
from pyvws._base.secret_noise import contributed
from pyvws.engines.engine import Progress
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import ConvergenceWarning, InputError
from pyvws.models.model import Model
from pyvws.models.priors import LKJ_SHAPE, cholesky_factor, coefficient_dimension
from pyvws.models.regression import Regression
from pyvws.posterior.clamp import Clamp, refuse_unclamped
from pyvws.posterior.draws import Posterior, independent_draws
from pyvws.posterior.pseudo_posterior import PseudoPosterior

Scores = NDArray[np.int64]

UNITS_A_NAT: Final = 1 << 24
LOWEST: Final = -(1 << 61)
"""The lowest sum of the records' numbers, in units: 2^37 nats below 0."""

_LARGEST_EPSILON: Final = 1024.0


def window_units(clamp: Clamp) -> int:
    """W, the clamp's width in units, rounded down; InputError above 1024 nats or below a unit."""
    W = int(np.floor(min(clamp.epsilon, 2.0 * _LARGEST_EPSILON) * UNITS_A_NAT))
    if not 1 <= W <= _LARGEST_EPSILON * UNITS_A_NAT:
        raise InputError.by(
            "grid-epsilon-range", it=1.0 / UNITS_A_NAT, largest_epsilon=_LARGEST_EPSILON
        )
    return W


def whole_scores(
    target: PseudoPosterior, points: Floats, progress: Callable[[float], None]
) -> Scores:
    """The sum over the records of their clamped terms at each point, less the window's upper end.

    A float sum of many terms rounds, and the rounding depends on every term: one record could then
    change the sum by more than the record's own term. Here each record adds a whole number of units
    to a point's score, at least -W and at most 0, and whole numbers add up exactly. The number is a
    function of the record, the point and public settings alone, to the bit: the term of each cell
    is computed apart from all other cells. A sum that would fall below `LOWEST` stays there, so no
    sum leaves 64 bits, whatever the number of records is. One more record then moves the score by a
    part of its own number, or not at all.

    Points (G, D) are unconstrained vectors; the result (G,) is in units. `progress` is called with
    the share of the work that is done. A target without a clamp has no such scores.
    """
    clamp, cells, model = target.clamp, target.cells, target.model
    assert clamp is not None
    distinct = target.joint().distinct()
    cell, weight, count = cells.cell_of_record[distinct.first], distinct.weight, distinct.count
    width = model.slope_width(cells.n_coefficients)
    high, W = clamp.window[1], window_units(clamp)
    add = _adder(refuse_unclamped(model)[0])

    def sums(pairs: Places) -> Scores:
        total = np.zeros(len(points), dtype=np.int64)
        for pair in pairs:
            own = cells.part(slice(cell[pair], cell[pair] + 1))
            data, shift = model.term_data(own), float(clamp.shift(model, own)[0])
            number = np.int64(count[pair])
            alpha = float(weight[pair])
            add(
                points, own.rows, own.row_of_cell, data, width, alpha, shift, high, W, number, total
            )
        return total

    used = np.flatnonzero(weight > 0.0)
    parts = np.array_split(used, max(1, min(len(used), 64)))
    score = np.zeros(len(points), dtype=np.int64)
    with ThreadPoolExecutor(usable_cores()) as pool:
        for done, part in enumerate(pool.map(sums, parts), start=1):
            score = np.maximum(score + part, LOWEST)
            progress(done / len(parts))
    return score


def whole_prior(log_prior: Floats) -> Scores:
    """A log prior (G,), in nats, in units below its largest value: none is below `LOWEST`."""
    with np.errstate(invalid="ignore"):
        units = np.rint((log_prior - log_prior.max()) * UNITS_A_NAT)
    if not (units >= LOWEST).all():  # Nor is a value that is not a number.
        raise InputError.by("grid-prior-underflows")
    return units.astype(np.int64)


@cache
def _adder(terms: Callable[..., None]) -> Callable[..., None]:
    """The compiled loop over the points of one cell, for a family's kernel of terms."""
    units = float(UNITS_A_NAT)

    def add(
        points: Floats,
        rows: Floats,
        row_of_cell: Ints,
        data: Data,
        width: int,
        weight: float,
        shift: float,
        high: float,
        W: np.int64,
        count: int,
        total: Ints,
    ) -> None:
        log_lik, by_eta, by_extra = np.empty(1), np.empty(1), np.empty((1, width))
        for g in range(len(points)):
            terms(points[g], rows, row_of_cell, data, (log_lik, by_eta, by_extra))
            term = (weight * (log_lik[0] - shift) - high) * units
            fall = W  # A term that is not a number counts as the lowest.
            if term > -W:
                fall = np.int64(np.rint(-min(term, 0.0)))
            if fall > 0 and count > (total[g] - LOWEST) // fall:
                total[g] = LOWEST
            else:
                total[g] -= count * fall

    return kernel_of_kernels(add)


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

    Nothing of it reads a record: the settings and the family decide the grid. The coefficients'
    scales and correlations have no part in a likelihood, so the grid has no axis for them and the
    prior is summed over them. With beta_k = s_k v_k, v ~ N(0, Omega), Omega ~ LKJ(6) and s_k ~
    half-t(3, 0, 1) [lkj2009], a cell has prior probability E_v prod_k P(s_k v_k in the cell's side
    k). The mean over v is one over a fixed set of evenly spread points, and P is exact.

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


_SCORED = 0.5  # Share of the progress that the scores make up; draws are the rest.
_COARSE = 0.5  # Share of the probability on one step, from which a grid is coarse.
_AT_AN_END = 0.05


@dataclass(frozen=True, slots=True)
class GridEngine:
    """Independent draws from a clamped target on a public grid of up to three parameters.

    A draw has the parameters of the likelihood: `beta` and the family's own. The prior is summed
    over the coefficients' scales and correlations, which no prediction reads. `exact` says that no
    chain has to converge. The engine reads no seed: nobody can repeat its draws.
    """

    exact: ClassVar[bool] = True
    name: str = "grid"

    def sample(
        self,
        target: PseudoPosterior,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Progress | None = None,
        previous: Posterior | None = None,
    ) -> Posterior:
        """As `Engine.sample`, but `seed`, `previous`, warm-up and acceptance have no part in it.

        Raises InputError for a target without a clamp, and for what `check_grid` refuses: a run's
        settings have passed it before a table is read, but for levels that come from the table.
        """
        began = time.perf_counter()
        model, K = target.model, target.cells.n_coefficients
        if target.clamp is None:
            raise InputError.by("grid-target-unclamped")
        S = settings.draws * settings.chains

        def report(share: float) -> None:
            if progress is not None:
                progress(int(share * S), S)

        grid = public_grid(settings, model, K)
        prior, points = public_scores(grid), grid.points()
        scores = prior + whole_scores(target, points, lambda share: report(_SCORED * share))
        _warn_of_the_grid(scores, grid.shape)
        assert isinstance(model, Regression)
        q = self.drawn(points, scores, S, lambda share: report(_SCORED + (1 - _SCORED) * share))
        own = q[:, q.shape[1] - model.own_entries :]
        draws = {"beta": q[:, :K].copy()} | model.own_draws(own)
        seconds = time.perf_counter() - began
        return Posterior(draws, settings.chains, independent_draws(S), seconds, self.name)

    def drawn(
        self, points: Floats, scores: Scores, draws: int, progress: Callable[[float], None]
    ) -> Floats:
        """Draws (S, D) of the points (G, D), with chances proportional to exp(score / units)."""
        return points[noisy_maximum(scores, draws, progress)]


def _warn_of_the_grid(scores: Scores, shape: tuple[int, ...]) -> None:
    """Warn the agency alone of steps wider than the posterior, and of one at a range's end."""
    share = np.exp((scores - scores.max()) / UNITS_A_NAT).reshape(shape)
    share /= share.sum()
    for axis, steps in enumerate(shape):
        along = share.sum(axis=tuple(other for other in range(len(shape)) if other != axis))
        problems = []
        if steps > 2 and along.max() > _COARSE:
            problems.append("The posterior is narrower than the steps of its grid.")
        if steps > 2 and along[0] + along[-1] > _AT_AN_END:
            problems.append("The posterior lies at an end of its grid.")
        if problems:
            warnings.warn(
                f"Parameter {axis + 1}: {' '.join(problems)} Choose grid_range and grid_steps "
                "again, by what is public and not by this table: a grid chosen by the data has no "
                "guarantee.",
                ConvergenceWarning,
                stacklevel=3,
            )


def noisy_maximum(
    scores: Scores, draws: int, progress: Callable[[float], None] = lambda _: None
) -> Places:
    """Places (S,) of independent draws, with chances proportional to exp(score / 2^24)."""
    measurement = noisy_maximum_measurement()
    values = scores.tolist()
    with ThreadPoolExecutor(usable_cores()) as pool:
        places = []
        for place in pool.map(lambda _: measurement(values), range(draws)):
            places.append(place)
            progress(len(places) / draws)
    return np.array(places, dtype=np.intp)


def noisy_maximum_measurement() -> Any:
    """OpenDP's largest score with Gumbel noise; its `map(W)` gives the zCDP of a W-wide window."""
    with contributed():
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_noisy_max
        from opendp.measures import zero_concentrated_divergence
        from opendp.metrics import linf_distance

        # Under this measure OpenDP's noise is Gumbel's. Under the maximal divergence it would be
        # exponential noise, whose largest score is no draw from the target.
        return make_noisy_max(
            vector_domain(atom_domain(T="i64")),
            linf_distance(T="i64", monotonic=True),
            zero_concentrated_divergence(),
            scale=float(UNITS_A_NAT),
        )
