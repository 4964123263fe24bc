"""Compare the epsilon of runs with a target epsilon with the target and with the runs' draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from scipy.stats import norm

from pyvws.errors import SearchError
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.mechanisms.scalar_weighted import ScalarWeighted
from pyvws.release.synthesizer import synthesize
from pyvws_validation._draws import Draws
from pyvws_validation._grid_engine import KnownDraws
from pyvws_validation._measured_case import Findings, MeasuredRow
from pyvws_validation.cases.accounting import SEED, outcomes_and_draws
from pyvws_validation.report import Measurement

_SEARCHED: Final = (20, 40)


@dataclass(frozen=True, kw_only=True)
class SearchedStatement(MeasuredRow):
    """The epsilon that runs with a target report, where fits differ from each other as chains do.

    A released epsilon is at most the target, and equals or slightly exceeds the epsilon of the
    final weights and draws.
    """

    kind: str = "statement"
    source: str = "the target"
    digits: str = ".4f"
    shapes: tuple[tuple[int, ...], ...] = (_SEARCHED,)
    paper: str = "vws2024, Equation 3"
    mechanism: Mechanism
    reweight: bool = False
    seeds: tuple[int, ...] = tuple(range(1, 25))

    def found(self) -> Findings:
        pairs = [ratios for seed in self.seeds if (ratios := self._ratios(seed)) is not None]
        if not pairs:
            return Findings((), "No search ended.", seeds=self.seeds)
        over_target, over_bound = np.array(pairs).T
        measured = (
            Measurement("epsilon over its target, largest", float(over_target.max()), 0.5, 1.0),
            *(
                Measurement(f"epsilon over that of the draws, {name}", value, 1.0 - 1e-9, _MOST)
                for name, value in (
                    ("smallest", float(over_bound.min())),
                    ("largest", float(over_bound.max())),
                )
            ),
        )
        return Findings(measured, seeds=self.seeds)

    def _ratios(self, seed: int) -> tuple[float, float] | None:
        """A run's epsilon over the target and over the draws' epsilon; None if the search fails."""
        stream = Draws(seed)
        arguments = outcomes_and_draws(seed, *_SEARCHED)
        q = np.column_stack(
            [arguments["mean"], np.zeros(len(arguments["mean"])), arguments["log_scale"]]
        )
        # Each fit has its own spread, so an earlier fit does not foretell the bound of a refit.
        shifts = stream.uniform(_FITS, -0.012, 0.012)
        fits = [q + np.array([0.0, 0.0, shift]) for shift in shifts]
        try:
            release = synthesize(
                pl.DataFrame({"y": arguments["outcome"]}),
                outcome="y",
                model="normal",
                mechanism=self.mechanism,
                engine=KnownDraws(fits),
                draws=len(q),
                chains=1,
                datasets=1,
                seed=SEED,
                epsilon=_TARGET,
                reweight=self.reweight,
            )
        except SearchError:
            return None
        exact = release.summary["privacy"]["epsilon_per_dataset"]
        mean, scale = (release.posterior[name].to_numpy() for name in ("beta[1]", "sigma"))
        weights = release.records["weight_final"].to_numpy()
        terms = norm.logpdf(arguments["outcome"], mean[:, None], scale[:, None])
        return exact / _TARGET, exact / (2.0 * float(np.abs(weights * terms).max()))


_MOST: Final = 1.1  # A released figure may exceed the figure of the draws behind the datasets.
_FITS: Final = 40
_TARGET: Final = 12.0

CASES: Final = (
    SearchedStatement(id="statement/searched-lw", mechanism=LipschitzWeighted()),
    SearchedStatement(id="statement/searched-sw", mechanism=ScalarWeighted()),
    SearchedStatement(
        id="statement/searched-lw-reweighted", mechanism=LipschitzWeighted(), reweight=True
    ),
)
