"""The truncated Dirichlet process mixture of normal regressions (supplement, section 1, of
[risk2024]).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pyvws._base.checks import Floats, choice, non_negative, positive, whole_number
from pyvws._base.phrase import Phrase
from pyvws._base.setting import setting
from pyvws.errors import InputError
from pyvws.models import _outcome_scale as scales
from pyvws.models._mixture_kernels import (
    constrained_mixture,
    mixture_log_density,
    mixture_log_likelihood,
)
from pyvws.models._mixture_start import rough_mixture
from pyvws.models._priors import unconstrain_coefficients
from pyvws.models.model import Draws, Family, Start
from pyvws.models.regression import linear_predictor
from pyvws.models.sampled_scale import mixture_scale
from pyvws.tables.cells import Cells

__all__ = ["LABELS", "NormalMixture"]

LABELS = ("full-conditional", "prior")

_SMALLEST_START = 0.1  # Of a scale s, where rough coefficients are near 0.
_EMPTY = 0.1  # Records that an empty component starts with.


@dataclass(frozen=True, slots=True)
class NormalMixture(Family):
    """v_i | z_i = k ~ N(X_i beta_k, sigma_k), z_i ~ pi, for v the outcome on a scale.

    (pi_1, ..., pi_C) ~ Dirichlet(gamma/C, ..., gamma/C), gamma ~ Gamma(shape, rate); beta_k ~
    MVN(0, diag(s) Omega diag(s)) with Omega uniform over correlation matrices, s and sigma_k
    half-t(3, 0, 1) (Equations 1 to 6). Labels z are summed out for sampling, so a record adds
    alpha_i log sum_k pi_k N(v_i | X_i beta_k, sigma_k). The unconstrained vector is described in
    `pyvws.models._mixture_kernels`.

    Labels may switch, so parameters of a component mean nothing across draws, and posteriors of
    more components than needed have many modes: look at R-hat of `diagnosed` and allow for long
    chains.

    Parameters
    ----------
    components : int
        C, more than the data need; those that they do not need stay nearly empty.
    gamma_shape, gamma_rate : float
        Of gamma's prior, which the paper leaves open; larger gamma = more components in use.
    smallest_sd : float
        Every sigma_k lies above it, in the unit of v: its half-t prior is cut off there. At 0,
        the paper's prior, the posterior is improper wherever more records than coefficients share
        one outcome, such as an income of 0: a component shrinks onto them without end.
    labels : {"full-conditional", "prior"}
        How a record's component is drawn for synthesis: from its full conditional given the
        record's own confidential outcome (Equation 7, the paper's), or from pi. Under the first a
        synthetic value depends on the confidential one besides the posterior draw, so epsilon says
        nothing about it and no differential privacy is claimed; under the second it does not.
    outcome_scale : {"identity", "log", "signed-log"}
        v is y, log y (y above 0, the paper's), or sign(y) log(1 + |y|). Likelihood, bounds and
        priors are on the scale of v, which should be of moderate size. A record whose component
        holds few others is drawn nearly from the prior, which on a logarithm reaches amounts beyond
        any real one: one record can ruin a dataset's mean, though not its quantiles.
    """

    name: ClassVar[str] = "normal-mixture"
    predicts_from: ClassVar[tuple[str, ...]] = ("beta", "sigma", "pi")
    whole_numbers: ClassVar[bool] = False
    components: int = setting(10, "Components of the mixture; those not needed stay empty.")
    gamma_shape: float = setting(1.0, "Shape of the prior of gamma.")
    gamma_rate: float = setting(1.0, "Rate of the prior of gamma.")
    smallest_sd: float = setting(0.05, "Least standard deviation of a component.")
    labels: str = setting(
        "full-conditional",
        "How a record's component is drawn: full-conditional, which leaves no guarantee, or "
        "prior, which keeps one.",
        choices=LABELS,
    )
    outcome_scale: str = setting("identity", scales.DECLARED)

    def __post_init__(self) -> None:
        components = whole_number(self.components, "components", least=1)
        object.__setattr__(self, "components", components)
        positive(self.gamma_shape, "gamma_shape")
        positive(self.gamma_rate, "gamma_rate")
        non_negative(self.smallest_sd, "smallest_sd")
        labels = choice(str(self.labels).replace("_", "-"), "labels", LABELS)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "outcome_scale", scales.known_scale(self.outcome_scale))

    @property
    def reads_outcome(self) -> bool:
        return self.labels == "full-conditional"

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        unit, unlimited = scales.scale_caveats(self.outcome_scale)
        if self.smallest_sd == 0:
            return unit, unlimited
        return unit, Phrase("smallest-sd", {"smallest_sd": self.smallest_sd})

    @property
    def log_density(self) -> Callable[..., float]:
        return mixture_log_density

    def prepare(self, outcome: Floats, column: str) -> NormalMixture:
        scales.check_scale(outcome, column, self.outcome_scale, self.name)
        return self

    def encode(self, outcome: Floats) -> Floats:
        return scales.encode(outcome, self.outcome_scale)

    def stan_settings(self) -> dict[str, Any]:
        return {
            "C": self.components,
            "gamma_shape": self.gamma_shape,
            "gamma_rate": self.gamma_rate,
            "smallest_sd": self.smallest_sd,
        }

    def dimension(self, K: int) -> int:
        return self.components * (K + 2) + K + K * (K - 1) // 2 + 1

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        sums = cells.weight_sums(weights)
        order = np.argsort(cells.row_of_cell, kind="stable")
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
        total = max(float(rough.weight.sum()), 1.0)
        sizes = np.where(used, rough.weight, _EMPTY) / total
        centre[first + C : -1] = np.log(sizes)
        centre[-1] = math.log(self.gamma_shape / self.gamma_rate)
        return Start(centre, scale=mixture_scale(centre, rough.information, rough.overall, C))

    def constrain(self, q: Floats, K: int) -> Draws:
        C = self.components
        scale, first = C * K, C * K + K + K * (K - 1) // 2
        beta, L, pi = constrained_mixture(np.ascontiguousarray(q), C, K)
        return {
            "raw_beta": q[:, :scale].reshape(-1, C, K).copy(),
            "sigma_beta": np.exp(q[:, scale : scale + K]),
            "L_beta": L,
            "sigma": self.smallest_sd + np.exp(q[:, first : first + C]),
            "log_size": q[:, first + C : -1].copy(),
            "concentration": np.exp(q[:, -1]),
            "beta": beta,
            "pi": pi,
        }

    def unconstrain(self, draws: Draws) -> Floats:
        S = len(draws["concentration"])
        K = draws["raw_beta"].shape[2]
        shared = {name: draws[name] for name in ("sigma_beta", "L_beta")}
        with np.errstate(divide="ignore"):
            return np.column_stack(
                [
                    draws["raw_beta"].reshape(S, -1),
                    unconstrain_coefficients({"beta": np.empty((S, 0)), **shared}).reshape(S, -1),
                    np.log(draws["sigma"] - self.smallest_sd),
                    draws["log_size"],
                    np.log(draws["concentration"]),
                ]
            ).reshape(S, self.dimension(K))

    def diagnosed(self, q: Floats, K: int) -> Floats:
        """What does not change when components swap their labels: log gamma, sum pi_k^2, the
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
        found = np.empty((len(pi), cells.n_cells))
        table = cells.rows, cells.row_of_cell, cells.outcome
        mixture_log_likelihood(beta, sigma, pi, *table, found)
        return found

    def predict(
        self,
        draw: Draws,
        design: Floats,
        rng: np.random.Generator,
        *,
        outcome: Floats | None = None,
    ) -> Floats:
        sigma, pi = draw["sigma"][0], draw["pi"][0]
        eta = linear_predictor(draw["beta"][0], design).T
        shares = np.broadcast_to(pi, eta.shape)
        if self.reads_outcome:
            if outcome is None:
                raise InputError("labels='full-conditional' needs the outcome. Use labels='prior'.")
            with np.errstate(divide="ignore"):
                terms = np.log(pi / sigma) - 0.5 * ((outcome[:, None] - eta) / sigma) ** 2
            shares = np.exp(terms - terms.max(axis=1, keepdims=True))
        reached = np.cumsum(shares, axis=1)
        drawn = rng.random(len(eta)) * reached[:, -1]
        label = np.minimum((reached <= drawn[:, None]).sum(axis=1), self.components - 1)
        mean = np.take_along_axis(eta, label[:, None], axis=1)[:, 0]
        made = mean + sigma[label] * rng.standard_normal(len(mean))
        return scales.decode(made, self.outcome_scale)
