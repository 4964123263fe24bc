"""The result of every engine: the draws of one fit, with their diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.cores import quietly
from pyvws.models.model import Draws
from pyvws.tables.files.headers import display_names

RHAT_LIMIT = 1.01
ESS_LIMIT = 400
KHAT_LIMIT = 0.7


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Worst values over the unconstrained parameters of a fit.

    The values are R-hat (1 = mixed; larger = worse), effective sample sizes of bulk and tails
    (larger = better), and the number of divergent transitions after warm-up (0 is right).
    `independent` draws need no chain to converge: they have no R-hat (NaN), and no problems.
    Draws of an approximation have no R-hat either, but `khat`, the shape of the tail of their
    importance ratios [psis2024]: larger = a worse approximation, and above 0.7 an unreliable one.
    Their effective sample size is that of the importance weights. Of a table `column` has the
    largest R-hat.
    """

    rhat_max: float
    ess_bulk_min: float
    ess_tail_min: float
    divergences: int
    independent: bool = False
    khat: float | None = None
    column: str | None = None

    def problems(self) -> list[str]:
        """A sentence for each value outside its limit; empty when all is well."""
        if self.independent:
            return []
        problems = []
        alone = self.khat is not None and np.isnan(self.rhat_max)
        if not (alone or self.rhat_max <= RHAT_LIMIT):
            where = "" if self.column is None else f" of {self.column}"
            problems.append(f"R-hat{where} reaches {self.rhat_max:.4f}, above {RHAT_LIMIT}.")
        for kind, value in (("bulk", self.ess_bulk_min), ("tail", self.ess_tail_min)):
            if not value >= ESS_LIMIT:
                problems.append(f"The smallest {kind} ESS is {value:.0f}, under {ESS_LIMIT}.")
        if self.divergences:
            word = "transition" if self.divergences == 1 else "transitions"
            problems.append(f"{self.divergences} {word} diverged.")
        if self.khat is not None and not self.khat <= KHAT_LIMIT:
            problems.append(f"Pareto's khat reaches {self.khat:.2f}, above {KHAT_LIMIT}.")
        return problems

    def as_dict(self) -> dict[str, float | int | str]:
        """The values by name; those that the draws do not have are left out."""
        values = asdict(self).items()
        return {name: v for name, v in values if v is not False and v is not None}


def independent_draws(S: int) -> Diagnostics:
    """Diagnostics of S independent draws: each counts as one draw, and no chain is compared."""
    return Diagnostics(float("nan"), float(S), float(S), 0, independent=True)


def resampled_draws(weights: Floats, khat: float, S: int) -> Diagnostics:
    """Diagnostics of S draws resampled from independent ones by weights (P,) of sum 1."""
    effective = min(float(S), float(1.0 / (weights**2).sum()))
    return Diagnostics(float("nan"), effective, effective, 0, khat=khat)


def together(fits: Sequence[Diagnostics], columns: Sequence[str]) -> Diagnostics:
    """The worst values over independent fits of some columns, and the sum of their divergences.

    R-hat is of the fits with chains, and khat of the approximations. The column of the largest
    R-hat has its place for a name where the names may be values of a record.
    """
    chains = {
        column: fit.rhat_max
        for column, fit in zip(columns, fits, strict=True)
        if not fit.independent and fit.khat is None
    }
    worst = max(chains, key=lambda name: np.nan_to_num(chains[name], nan=np.inf), default=None)
    approximations = [fit.khat for fit in fits if fit.khat is not None]
    return Diagnostics(
        rhat_max=float("nan") if worst is None else chains[worst],
        ess_bulk_min=float(np.min([fit.ess_bulk_min for fit in fits])),
        ess_tail_min=float(np.min([fit.ess_tail_min for fit in fits])),
        divergences=sum(fit.divergences for fit in fits),
        independent=all(fit.independent for fit in fits),
        khat=max(approximations) if approximations else None,
        column=None if worst is None else display_names(columns)[worst],
    )


def diagnose(q: Floats, divergences: int) -> Diagnostics:
    """Diagnostics of unconstrained draws q (chains, draws, D)."""
    with quietly():
        from arviz_stats.base import array_stats

        axes = {"chain_axis": 0, "draw_axis": 1}
        # One chain is compared with itself: its first half against its second.
        even = q[:, q.shape[1] % 2 :]
        compared = q if len(q) > 1 else np.concatenate(np.array_split(even, 2, axis=1))
        rhat = array_stats.rhat(compared, **axes)
        bulk = array_stats.ess(q, method="bulk", **axes)
        tail = array_stats.ess(q, method="tail", prob=(0.05, 0.95), **axes)
    return Diagnostics(
        rhat_max=float(np.max(rhat)),
        ess_bulk_min=float(np.min(bulk)),
        ess_tail_min=float(np.min(tail)),
        divergences=divergences,
    )


Y_REP: Final = "y_rep"
"""Name of the predictive draws (S, N) that a fit may bring along; they are no parameters."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """Draws of one fit.

    - `draws` (dict of ndarray, each of shape (S, ...)): Parameters by name, chain after chain.
    - `chains`: Number of chains; S is a multiple of it.
    - `diagnostics`: R-hat, effective sample sizes, divergences.
    - `seconds`: Time that sampling took.
    - `engine`: Name of the engine that drew; of a table, the names of all that drew a column.
    - `engines`: The engine of each column of a table; empty where one fit drew all.
    """

    draws: Draws
    chains: int
    diagnostics: Diagnostics
    seconds: float
    engine: str
    engines: tuple[str, ...] = ()

    @property
    def approximated(self) -> bool:
        """Whether any of the draws come from an approximation of the target."""
        return self.diagnostics.khat is not None

    @property
    def n_draws(self) -> int:
        """S, the number of draws over all chains."""
        return len(next(iter(self.draws.values())))

    def draw(self, s: int) -> Draws:
        """The draw at place s, with a leading axis of 1."""
        return {name: values[s : s + 1] for name, values in self.draws.items()}

    def block(self, rows: slice) -> Draws:
        """The draws at the places `rows`."""
        return {name: values[rows] for name, values in self.draws.items()}
