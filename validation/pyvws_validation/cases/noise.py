"""Claims of secret noise: Laplace figures and noisy rows at their scale, and OpenDP's own numbers.

The first rows compute the loss of whole calls up to the noise. The last rows hold the noise itself
against its probabilities: proportional to exp(-|k| / b) over the whole numbers k for Laplace noise
of scale b, and to exp(-k^2 / (2 sigma^2)) for Gaussian noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from pyvws._base.checks import Floats
from pyvws.privacy.discrete_noise import add_discrete_gaussian, add_discrete_laplace
from pyvws_validation._measured_case import Findings, MeasuredRow
from pyvws_validation._seen_noise import NoisyRows, Tables
from pyvws_validation._verified_losses import VerifiedRuns
from pyvws_validation.cases.guarantee import ComputedLoss
from pyvws_validation.report import Measurement

_PAPER: Final = "wasserman2010, section 4"
_FAR: Final = 60.0  # Scales: what lies beyond has a chance below 1e-25.
_ERRORS: Final = 6.0  # A right sampler leaves this range with a chance of 1e-8 a row.


@dataclass(frozen=True, kw_only=True)
class DrawnNoise(MeasuredRow):
    """Whether noise has its probabilities: of 0, of each sign, and the mean of its size."""

    outside: str = "Noise of another distribution"
    digits: str = ".2f"
    paper: str = _PAPER
    scale: float
    gaussian: bool = False
    count: int = 20_000

    @property
    def function(self) -> str:
        add = self._add
        return f"{add.__module__}:{add.__name__}"

    @property
    def _add(self) -> Any:
        return add_discrete_gaussian if self.gaussian else add_discrete_laplace

    def found(self) -> Findings:
        """Draw now; nobody can repeat these draws."""
        noise = self._add(np.zeros(self.count, dtype=np.int64), scale=self.scale)
        return Findings(
            tuple(
                Measurement(f"{what}, in standard errors", value, -_ERRORS, _ERRORS)
                for what, value in self.measured(noise.astype(np.float64)).items()
            )
        )

    def measured(self, noise: Floats) -> dict[str, float]:
        """How far statistics of the noise (n,) are from their expectations."""
        k = np.arange(-math.ceil(_FAR * self.scale), math.ceil(_FAR * self.scale) + 1)
        apart = np.abs(k) / self.scale
        mass = np.exp(-0.5 * apart**2 if self.gaussian else -apart)
        mass /= mass.sum()
        zero, size, square = mass @ (k == 0), mass @ np.abs(k), mass @ k**2
        expected = {
            "share of 0": (noise == 0.0, zero, zero * (1.0 - zero)),
            "sign": (np.sign(noise), 0.0, 1.0 - zero),
            "size": (np.abs(noise), size, square - size**2),
        }
        root = math.sqrt(len(noise))
        return {
            what: float((values.mean() - mean) / math.sqrt(variance) * root)
            for what, (values, mean, variance) in expected.items()
        }


_BASES: Final = (((0.5, 1.0), (-0.5, 2.0)), ((1.0, 4.0), (1.0, 4.0), (-1.0, 4.0)))
_EXTREMES: Final = ((1.0, 4.0), (-1.0, 4.0), (0.0, 0.0), (1e300, 1e300), (-1e300, 3.0))
# A record replaced takes a weight from one cell to another, but for the mean's sum in it.
_TABLES: Final = {"leave-one-out": 0.999, "replace-one": 0.999}
_NEIGHBOURS: Final[tuple[Literal["loo", "replace"], ...]] = ("loo", "replace")
_ROWS: Final = {"leave-one-out": 0.999, "replace-one": 0.0}
_VERIFIED: Final = {"leave-one-out": 0.9, "replace-one": 0.999}
_AGREES, _FAR_OFF = (5.0, 5.0), (9.0, 9.0)
_UNITS: Final[Any] = (_AGREES, _FAR_OFF, (5.0,), ("?", "1e300"), (5.0,) * 9)

CASES: Final[tuple[ComputedLoss | DrawnNoise, ...]] = (
    *(
        ComputedLoss(
            id=f"guarantee/laplace-figures{name}",
            paper=_PAPER,
            runs=Tables(bases=_BASES, extremes=_EXTREMES, each=each, exponents=exponents),
            share=_TABLES,
            epsilons=(0.5, 4.0),
        )
        for name, each, exponents in (("", 1, False), ("-units", 3, False), ("-exponents", 1, True))
    ),
    ComputedLoss(
        id="guarantee/noisy-rows",
        paper=_PAPER,
        runs=NoisyRows(bases=((0.0, 1.0), (1.0, 1.0, 3.0)), extremes=(-1e300, 0.0, 2.0)),
        share=_ROWS,
        epsilons=(0.5, 4.0),
    ),
    *(
        ComputedLoss(
            id=f"guarantee/verification-{name}",
            paper="barrientos2018",
            runs=VerifiedRuns(
                bases=((_AGREES,), (_AGREES, _FAR_OFF, _FAR_OFF)), extremes=_UNITS, neighbours=name
            ),
            share=_VERIFIED,
            epsilons=(0.5, 4.0),
        )
        for name in _NEIGHBOURS
    ),
    *(DrawnNoise(id=f"guarantee/drawn-noise-{scale:g}", scale=scale) for scale in (0.4, 2.0, 50.0)),
)
