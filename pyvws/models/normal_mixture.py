"""The truncated Dirichlet process mixture of normal regressions (supplement, section 1, of
[risk2024]).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from pyvws._base.checks import Arrays, Floats, Ints, choice, non_negative, positive, whole_number
from pyvws._base.kernels import inlined_kernel, kernel
from pyvws._base.phrase import Phrase
from pyvws._base.setting import setting
from pyvws.errors import InputError
from pyvws.models import _outcome_scale as scales
from pyvws.models._mixture_parts import (
    log_shares,
    log_terms,
    mixture_scale,
    relative_shares,
    rough_mixture,
)
from pyvws.models._special_functions import log_gamma
from pyvws.models.model import Draws, Family, Start
from pyvws.models.priors import (
    cholesky_factor,
    constrain_scales,
    log_sech_squared,
    pull_back_factor,
    unconstrain_scales,
)
from pyvws.models.regression import linear, linear_predictor
from pyvws.tables.design.cells import Cells

LABELS = ("full-conditional", "prior")

_SMALLEST_START = 0.1  # Least start of a scale s, where rough coefficients are near 0.
_EMPTY = 0.1  # Records that an empty component starts with.
_HALF_LOG_TWO_PI = 0.9189385332046727


@kernel
def _log_sizes_prior(v: Floats, log_gamma_now: float, by_v: Floats) -> tuple[float, float]:
    """Log density of log sizes v (C,) given log gamma; adds its gradient, returns that in gamma."""
    C = len(v)
    a = math.exp(log_gamma_now) / C
    constant, slope = log_gamma(a)
    logp = -C * constant
    by_log_gamma = -C * slope
    for c in range(C):
        size = math.exp(v[c])
        logp += a * v[c] - size
        by_v[c] += a - size
        by_log_gamma += v[c]
    return logp, a * by_log_gamma


class _Places(NamedTuple):
    """Where log s, the partial correlations, log(sigma - floor), log sizes and log gamma start."""

    scales: int
    partials: int
    sigmas: int
    sizes: int
    last: int


@inlined_kernel
def _places(C: int, K: int) -> _Places:
    sigmas = C * K + K + K * (K - 1) // 2
    return _Places(C * K, C * K + K, sigmas, sigmas + C, sigmas + 2 * C)


@kernel
def _components(q: Floats, C: int, K: int, floor: float) -> Arrays:
    """s (K,), L (K, K), beta (C, K), and of each component sigma - floor and 1 / sigma (C,)."""
    scales, partials, sigmas, _, _ = _places(C, K)
    s = np.empty(K)
    for k in range(K):
        s[k] = math.exp(q[scales + k])
    L = cholesky_factor(q, partials, K)
    beta, above, inverse = np.empty((C, K)), np.empty(C), np.empty(C)
    for c in range(C):
        for i in range(K):
            beta[c, i] = 0.0
            for j in range(i + 1):
                beta[c, i] += L[i, j] * q[c * K + j]
            beta[c, i] *= s[i]
        above[c] = math.exp(q[sigmas + c])
        inverse[c] = 1.0 / (floor + above[c])
    return s, L, beta, above, inverse


@kernel
def _log_prior(
    q: Floats,
    C: int,
    K: int,
    s: Floats,
    above: Floats,
    floor: float,
    shape: float,
    rate: float,
    grad: Floats,
) -> float:
    """Log prior at q (D,) with all log Jacobians; overwrites grad (D,)."""
    scales, partials, sigmas, sizes, last = _places(C, K)
    grad[:] = 0.0
    logp = 0.0
    for x in range(scales):
        logp -= 0.5 * q[x] * q[x]
        grad[x] = -q[x]
    for k in range(K):
        squared = s[k] * s[k]
        logp += q[scales + k] - 2.0 * math.log1p(squared / 3.0)
        grad[scales + k] = 1.0 - 4.0 * squared / (3.0 + squared)
    at = partials
    for i in range(K):
        for j in range(i):
            # Exponents of 1 - z^2: tanh's Jacobian 1, the row's stick lengths, LKJ(1) on L_ii.
            power = 1.0 + 0.5 * (i - 1 - j) + 0.5 * (K - i - 1)
            logp += power * log_sech_squared(q[at])
            grad[at] = -2.0 * power * math.tanh(q[at])
            at += 1
    for c in range(C):
        sigma = floor + above[c]
        logp += q[sigmas + c] - 2.0 * math.log1p(sigma * sigma / 3.0)
        grad[sigmas + c] = 1.0 - 4.0 * sigma / (3.0 + sigma * sigma) * above[c]
    gamma = math.exp(q[last])
    prior, by_log_gamma = _log_sizes_prior(q[sizes:last], q[last], grad[sizes:last])
    logp += prior + shape * q[last] - rate * gamma
    grad[last] = by_log_gamma + shape - rate * gamma
    return logp


@kernel
def _add_terms(
    q: Floats,
    C: int,
    parts: Arrays,
    rows: Floats,
    y: Floats,
    weight: Floats,
    row_of_cell: Ints,
    grad: Floats,
) -> float:
    """The weighted sum of cells' log-likelihoods, without constants; adds its gradient."""
    s, L, beta, above, inverse = parts
    K = rows.shape[1]
    scales, partials, sigmas, sizes, last = _places(C, K)
    log_height = np.empty(C)
    log_pi = log_shares(q[sizes:last])
    for c in range(C):
        log_height[c] = log_pi[c] + math.log(inverse[c])
    by_beta, by_log_sigma, by_log_pi = np.empty((C, K)), np.empty(C), np.empty(C)
    for c in range(C):  # np.zeros, sum and max take longer to compile.
        by_log_sigma[c], by_log_pi[c] = 0.0, 0.0
        for i in range(K):
            by_beta[c, i] = 0.0
    slopes = by_beta, by_log_sigma, by_log_pi
    total = log_terms((beta, inverse, log_height), rows, y, weight, row_of_cell, slopes)
    everything = 0.0
    for c in range(C):
        everything += by_log_pi[c]
    by_L = np.empty((K, K))
    for i in range(K):
        for j in range(i + 1):
            by_L[i, j] = 0.0
    for c in range(C):
        grad[sigmas + c] += by_log_sigma[c] * inverse[c] * above[c]
        grad[sizes + c] += by_log_pi[c] - everything * math.exp(log_pi[c])
        for i in range(K):
            grad[scales + i] += by_beta[c, i] * beta[c, i]
            slope = by_beta[c, i] * s[i]
            for j in range(i + 1):
                by_L[i, j] += slope * q[c * K + j]
                grad[c * K + j] += slope * L[i, j]
    pull_back_factor(q, partials, by_L, grad)
    return total


@kernel
def _log_density(
    q: Floats,
    rows: Floats,
    y: Floats,
    weight: Floats,
    row_of_cell: Ints,
    C: int,
    floor: float,
    shape: float,
    rate: float,
    grad: Floats,
) -> float:
    """Log density at q (D,) up to a constant, with all log Jacobians; overwrites grad (D,)."""
    K = rows.shape[1]
    parts = _components(q, C, K, floor)
    logp = _log_prior(q, C, K, parts[0], parts[3], floor, shape, rate, grad)
    return logp + _add_terms(q, C, parts, rows, y, weight, row_of_cell, grad)


@kernel
def _records(
    beta: Floats,
    sigma: Floats,
    log_pi: Floats,
    rows: Floats,
    row_of_cell: Ints,
    y: Floats,
    log_lik: Floats,
) -> None:
    """log sum_k pi_k N(y | X beta_k, sigma_k) of each cell, (C,), in nats, at one draw."""
    C = len(sigma)
    share, eta, log_height = np.empty(C), np.empty((len(rows), C)), np.empty(C)
    for c in range(C):
        log_height[c] = log_pi[c] - math.log(sigma[c]) - _HALF_LOG_TWO_PI
        for r in range(len(rows)):
            eta[r, c] = linear(beta[c], rows, r)
    for i in range(len(y)):
        for c in range(C):
            z = (y[i] - eta[row_of_cell[i], c]) / sigma[c]
            share[c] = log_height[c] - 0.5 * z * z
        largest, height = relative_shares(share)
        log_lik[i] = largest + math.log(height)


@kernel
def _cell_terms(
    q: Floats, rows: Floats, row_of_cell: Ints, data: tuple[Floats, int, float], terms: Arrays
) -> None:
    """The log-likelihood of each cell, (C,); `_cell_slopes` computes the slopes anew."""
    y, C, floor = data
    _, _, beta, above, _ = _components(q, C, rows.shape[1], floor)
    log_pi = log_shares(q[len(q) - 1 - C : len(q) - 1])
    _records(beta, floor + above, log_pi, rows, row_of_cell, y, terms[0])


@kernel
def _cell_slopes(
    q: Floats,
    rows: Floats,
    row_of_cell: Ints,
    data: tuple[Floats, int, float],
    _terms: Arrays,
    weight: Floats,
    grad: Floats,
) -> None:
    y, C, floor = data
    parts = _components(q, C, rows.shape[1], floor)
    _add_terms(q, C, parts, rows, y, weight, row_of_cell, grad)


@dataclass(frozen=True, slots=True)
class NormalMixture(scales.Scaled, Family):
    """v_i | z_i = k ~ N(X_i beta_k, sigma_k), z_i ~ pi, for v the outcome on a scale.

    (pi_1, ..., pi_C) ~ Dirichlet(gamma/C, ..., gamma/C), gamma ~ Gamma(shape, rate); beta_k ~
    MVN(0, diag(s) Omega diag(s)) with Omega uniform over correlation matrices, s and sigma_k
    half-t(3, 0, 1) (Equations 1 to 6). Labels z are summed out for sampling, so a record adds
    alpha_i log sum_k pi_k N(v_i | X_i beta_k, sigma_k).

    The unconstrained vector of C components and K columns is (x_1, ..., x_C raw coefficients (K
    each), log s (K), partial correlations (K(K-1)/2), log(sigma_k - floor) (C), log sizes v (C),
    log gamma): beta_k = diag(s) L x_k, x_k ~ N(0, I), L L' a correlation matrix with an LKJ(1)
    prior [lkj2009], and pi_k = exp(v_k) / sum exp(v), exp(v_k) ~ Gamma(gamma / C, 1). Normalised
    Gamma variables have the Dirichlet's law without the edges of a simplex. For gamma / C well
    below 1 most of the mass of some pi_k is below any double that a sum to 1 keeps.

    Labels may switch, so parameters of a component mean nothing across draws. A component beyond
    what the data clearly show can follow any of several small features. Each of them is a mode of
    the posterior that chains leave rarely. Look at R-hat of `diagnosed`, and take fewer components
    where chains disagree.

    Parameters
    ----------
    components : int
        C, which the paper leaves open: more follow the outcome's law more closely, take longer and
        can give posteriors of many modes; components in excess stay nearly empty.
    gamma_shape, gamma_rate : float
        Shape and rate of gamma's prior, which the paper leaves open; larger gamma = more
        components in use.
    smallest_sd : float
        Every sigma_k lies above it, in the unit of v: its half-t prior is cut off there. At 0, the
        paper's prior, the posterior is improper wherever more records than coefficients share one
        outcome, such as an income of 0. A component then shrinks onto them without end.
    labels : {"full-conditional", "prior"}
        How a record's component is drawn for synthesis: from its full conditional given the
        record's own confidential outcome (Equation 7, the paper's), or from pi. Under the first a
        synthetic value depends on the confidential value besides the posterior draw: epsilon says
        nothing of that value, and the package claims no differential privacy. Under
        "prior" a synthetic value does not depend on the confidential value in this way.
    outcome_scale : {"identity", "log", "signed-log"}
        v is x, log x (x above 0, the paper's), or sign(x) log(1 + |x|), for x = (y - centre) /
        unit. Likelihood, bounds and priors are on the scale of v. A record whose component holds
        few others is drawn nearly from the prior. On a logarithm that reaches amounts beyond any
        real one, so one record can ruin a dataset's mean, though not its quantiles.
    outcome_centre : float
        A public number that is taken off y.
    outcome_unit : float
        A public number above 0 that y is divided by then: v gets moderate size, where priors are.
    """

    name: ClassVar[str] = "normal-mixture"
    predicts_from: ClassVar[tuple[str, ...]] = ("beta", "sigma", "pi")
    whole_numbers: ClassVar[bool] = False
    log_density: ClassVar[Callable[..., float]] = staticmethod(_log_density)
    cell_terms: ClassVar[Callable[..., None]] = staticmethod(_cell_terms)
    cell_slopes: ClassVar[Callable[..., None]] = staticmethod(_cell_slopes)
    public_settings: ClassVar[tuple[str, ...]] = ("smallest_sd",)
    components: int = setting(
        4, "Components of the mixture: more follow finer features, and mix worse."
    )
    gamma_shape: float = setting(1.0, "Shape of the prior of gamma.")
    gamma_rate: float = setting(1.0, "Rate of the prior of gamma.")
    smallest_sd: float = setting(scales.SMALLEST_SD, scales.DECLARED_SD)
    labels: str = setting(
        "full-conditional",
        "How a record's component is drawn: full-conditional, which leaves no guarantee, or "
        "prior, which keeps one.",
        choices=LABELS,
    )
    outcome_scale: str = setting("identity", scales.DECLARED)
    outcome_centre: float = setting(0.0, scales.CENTRE)
    outcome_unit: float = setting(1.0, scales.UNIT)

    def __post_init__(self) -> None:
        components = whole_number(self.components, "components", least=1)
        object.__setattr__(self, "components", components)
        positive(self.gamma_shape, "gamma_shape")
        positive(self.gamma_rate, "gamma_rate")
        non_negative(self.smallest_sd, "smallest_sd")
        labels = choice(str(self.labels).replace("_", "-"), "labels", LABELS)
        object.__setattr__(self, "labels", labels)
        self.measured.settle(self)

    @property
    def reads_outcome(self) -> bool:
        return self.labels == "full-conditional"

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        *unit, unlimited = self.measured.caveats
        if self.smallest_sd == 0:
            return *unit, unlimited
        return *unit, Phrase("smallest-sd", {"smallest_sd": self.smallest_sd})

    @property
    def remedy(self) -> str:
        if self.components == 1:
            return ""
        return (
            f"Take fewer components than {self.components} of normal-mixture: those beyond what "
            "the data clearly show give many modes, and chains rarely leave a mode."
        )

    def prepare(self, outcome: Floats, column: str) -> NormalMixture:
        self.measured.check(outcome, column, self.name)
        return self

    def stan_settings(self, cells: Cells) -> dict[str, Any]:
        return {
            "C": self.components,
            "gamma_shape": self.gamma_shape,
            "gamma_rate": self.gamma_rate,
            "smallest_sd": self.smallest_sd,
        }

    def dimension(self, K: int) -> int:
        return self.components * (K + 2) + K + K * (K - 1) // 2 + 1

    def saturated(self, cells: Cells) -> Floats:
        """log N(v | v, smallest_sd): one component of share 1 that lies at the outcome."""
        return scales.highest_normal(cells, self.smallest_sd)

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return cells.outcome, self.components, float(self.smallest_sd)

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        sums = cells.weight_sums(weights)
        order = np.lexsort((cells.outcome, cells.row_of_cell))
        used = order[sums[order] > 0]
        kept = cells.outcome[used], sums[used], cells.row_of_cell[used]
        settings = self.components, float(self.smallest_sd)
        return cells.rows, *kept, *settings, float(self.gamma_shape), float(self.gamma_rate)

    def start(self, cells: Cells, weights: Floats) -> Start:
        C, K = self.components, cells.n_coefficients
        rough = rough_mixture(cells, weights, components=C, floor=self.smallest_sd)
        used = rough.weight > 0
        scale, first = C * K, C * K + K + K * (K - 1) // 2
        centre = np.zeros(self.dimension(K))
        s = np.ones(K)
        if used.any():
            s = np.maximum(np.sqrt((rough.beta[used] ** 2).mean(axis=0)), _SMALLEST_START)
        centre[:scale] = (rough.beta / s).ravel()
        centre[scale : scale + K] = np.log(s)
        above = np.maximum(rough.sigma - self.smallest_sd, 0.02 * rough.sigma)
        centre[first : first + C] = np.log(above)
        sizes = np.where(used, rough.weight, _EMPTY) / max(float(rough.weight.sum()), 1.0)
        centre[first + C : -1] = np.log(sizes)
        centre[-1] = math.log(self.gamma_shape / self.gamma_rate)
        return Start(centre, scale=mixture_scale(centre, rough.information, rough.beta))

    def constrain(self, q: Floats, K: int) -> Draws:
        C = self.components
        scale, first = C * K, C * K + K + K * (K - 1) // 2
        scales = constrain_scales(q[:, scale:], K)
        log_size = q[:, first + C : -1].copy()
        sizes = np.exp(log_size - log_size.max(axis=1, keepdims=True))
        raw_beta = q[:, :scale].reshape(-1, C, K).copy()
        B = scales["sigma_beta"][:, :, None] * scales["L_beta"]
        return {
            "raw_beta": raw_beta,
            **scales,
            "sigma": self.smallest_sd + np.exp(q[:, first : first + C]),
            "log_size": log_size,
            "concentration": np.exp(q[:, -1]),
            "beta": np.einsum("sij,scj->sci", B, raw_beta),
            "pi": sizes / sizes.sum(axis=1, keepdims=True),
        }

    def unconstrain(self, draws: Draws) -> Floats:
        S = len(draws["concentration"])
        K = draws["raw_beta"].shape[2]
        with np.errstate(divide="ignore"):
            return np.column_stack(
                [
                    draws["raw_beta"].reshape(S, -1),
                    unconstrain_scales(draws),
                    np.log(draws["sigma"] - self.smallest_sd),
                    draws["log_size"],
                    np.log(draws["concentration"]),
                ]
            ).reshape(S, self.dimension(K))

    def diagnosed(self, q: Floats, K: int) -> Floats:
        """Quantities that stay when components swap their labels: log gamma, sum pi_k^2, the
        mixture's mean coefficients, log sum pi_k sigma_k^2 and log s; (S, 3 + 2 K).
        """
        draws = self.constrain(q, K)
        pi = draws["pi"]
        return np.column_stack(
            [
                q[:, -1],
                (pi**2).sum(axis=1),
                np.einsum("sc,sck->sk", pi, draws["beta"]),
                np.log((pi * draws["sigma"] ** 2).sum(axis=1)),
                np.log(draws["sigma_beta"]),
            ]
        )

    def log_likelihood(self, draws: Draws, cells: Cells) -> Floats:
        beta, sigma, pi = (np.ascontiguousarray(draws[name]) for name in self.predicts_from)
        with np.errstate(divide="ignore"):
            log_pi = np.log(pi)
        log_likelihoods = np.empty((len(pi), cells.n_cells))
        table = cells.rows, cells.row_of_cell, cells.outcome
        for s, log_lik in enumerate(log_likelihoods):
            _records(beta[s], sigma[s], log_pi[s], *table, log_lik)
        return log_likelihoods

    def predict(
        self, draw: Draws, design: Floats, rng: Generator, *, outcome: Floats | None = None
    ) -> Floats:
        sigma, pi = draw["sigma"][0], draw["pi"][0]
        eta = linear_predictor(draw["beta"][0], design).T
        shares = np.broadcast_to(pi, eta.shape)
        if self.reads_outcome:
            if outcome is None:
                raise InputError.by("labels-need-outcome")
            with np.errstate(divide="ignore"):
                terms = np.log(pi / sigma) - 0.5 * ((outcome[:, None] - eta) / sigma) ** 2
            shares = np.exp(terms - terms.max(axis=1, keepdims=True))
        reached = np.cumsum(shares, axis=1)
        drawn = rng.random(len(eta)) * reached[:, -1]
        label = np.minimum((reached <= drawn[:, None]).sum(axis=1), self.components - 1)
        mean = np.take_along_axis(eta, label[:, None], axis=1)[:, 0]
        values = mean + sigma[label] * rng.standard_normal(len(mean))
        return self.measured.decode(values)
