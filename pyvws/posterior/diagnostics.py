"""Convergence of a fit: rank-normalised R-hat, bulk and tail ESS, divergences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.cores import quietly

__all__ = ["RHAT_LIMIT", "Diagnostics", "diagnose", "independent_draws", "together"]

RHAT_LIMIT = 1.01
ESS_LIMIT = 400


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Worst values over the unconstrained parameters of a fit.

    The values are R-hat (1 = mixed; larger = worse), effective sample sizes of bulk and tails
    (larger = better), and the number of divergent transitions after warm-up (0 is right).
    `independent` draws need no chain to converge: they have no R-hat (NaN), and no problems.
    """

    rhat_max: float
    ess_bulk_min: float
    ess_tail_min: float
    divergences: int
    independent: bool = False

    def problems(self) -> list[str]:
        """A sentence for each value outside its limit; empty when all is well."""
        if self.independent:
            return []
        found = []
        if not self.rhat_max <= RHAT_LIMIT:
            found.append(f"R-hat reaches {self.rhat_max:.4f}, above {RHAT_LIMIT}.")
        for kind, value in (("bulk", self.ess_bulk_min), ("tail", self.ess_tail_min)):
            if not value >= ESS_LIMIT:
                found.append(f"The smallest {kind} ESS is {value:.0f}, under {ESS_LIMIT}.")
        if self.divergences:
            found.append(f"{self.divergences} transitions diverged.")
        return found

    def as_dict(self) -> dict[str, float | int]:
        """The values by name; `independent` only where the draws are."""
        return {name: value for name, value in asdict(self).items() if value is not False}


def independent_draws(S: int) -> Diagnostics:
    """Diagnostics of S independent draws: each counts as one draw, and no chain is compared."""
    return Diagnostics(float("nan"), float(S), float(S), 0, independent=True)


def together(fits: Sequence[Diagnostics]) -> Diagnostics:
    """The worst values over several independent fits, and the sum of their divergences.

    R-hat is of the fits with chains.
    """
    chains = [fit.rhat_max for fit in fits if not fit.independent]
    return Diagnostics(
        rhat_max=float(np.max(chains)) if chains else float("nan"),
        ess_bulk_min=float(np.min([fit.ess_bulk_min for fit in fits])),
        ess_tail_min=float(np.min([fit.ess_tail_min for fit in fits])),
        divergences=sum(fit.divergences for fit in fits),
        independent=all(fit.independent for fit in fits),
    )


def diagnose(q: Floats, divergences: int) -> Diagnostics:
    """Diagnostics of unconstrained draws q (chains, draws, D)."""
    with quietly():
        from arviz_stats.base import array_stats

        axes = {"chain_axis": 0, "draw_axis": 1}
        # One chain is compared with itself: its first half against its second.
        compared = q if len(q) > 1 else np.concatenate(np.array_split(_even(q), 2, axis=1))
        rhat = array_stats.rhat(compared, **axes)
        bulk = array_stats.ess(q, method="bulk", **axes)
        tail = array_stats.ess(q, method="tail", prob=(0.05, 0.95), **axes)
    return Diagnostics(
        rhat_max=float(np.max(rhat)),
        ess_bulk_min=float(np.min(bulk)),
        ess_tail_min=float(np.min(tail)),
        divergences=divergences,
    )


def _even(q: Floats) -> Floats:
    return q[:, q.shape[1] % 2 :]
