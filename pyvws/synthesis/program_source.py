"""Fits of a user's own Stan program: its bounds, and what its synthetic values are drawn from."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.phrase import Phrase
from pyvws.bounds.lipschitz import lipschitz_bounds
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.stan_run import StanEngine
from pyvws.engines.user_program import UserFit, UserProgram, parameter_names, program_data
from pyvws.engines.weighted_terms import CHECKING_ENGINES
from pyvws.errors import InputError, MisfitWarning
from pyvws.models.model import Draws
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.diagnostics import diagnose
from pyvws.posterior.draws import Y_REP, Posterior
from pyvws.synthesis.fit_sources import FitProgress, SampledFit

_COMPARED: Final = 8  # Draws at which the program's likelihood is compared with the family's.
_ROUNDING: Final = 1e-6  # Of a record's log-likelihood; another likelihood moves by whole nats.


@dataclass(frozen=True, slots=True)
class ProgramSource:
    """A user's Stan program, whose log_lik gives the bounds.

    Its y_rep are the synthetic values, or its draws predict like a family. `predicts_from` names
    the parameters that the family's predictive draw reads, beta among them, and `family` gives the
    family's log-likelihood (S, N) at draws, to compare. The class raises InputError if the
    program's parameters block lacks such a name: a quantity that the program computes elsewhere
    under the name may tell more of the records than the records' weighted terms let through. It
    also raises it for a parameter that the prediction would leave out without being asked.
    """

    program: UserProgram
    engine: StanEngine
    y: Floats
    design: Floats
    predicts_from: tuple[str, ...]
    threshold: float = 1.0
    family: Callable[[Draws], Floats] | None = None
    units: None = None

    def __post_init__(self) -> None:
        if self.program.predicts:
            return
        declared = parameter_names(self.program.text)
        missing = [name for name in self.predicts_from if name not in declared]
        if missing:
            raise InputError.by("program-parameter-undeclared", missing=", ".join(missing))
        read = {*self.predicts_from, *self.program.unread}
        unread = [name for name in declared if name not in read]
        if unread:
            raise InputError.by(
                "program-parameters-unread", unread=", ".join(unread), unread2=",".join(unread)
            )

    def sample(
        self,
        weights: Floats,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: FitProgress | None,
        clamp: Clamp | None = None,
        previous: Posterior | None = None,
    ) -> SampledFit:
        """As `FitSource.sample`; a record of weight 0 has a bound of 0.

        A user's program starts at Stan's own starting point and ignores `previous`.
        """
        if clamp is not None:
            raise InputError.by("own-program-censored")
        fit = self.program.fit(
            self.engine,
            program_data(self.y, self.design, weights),
            settings,
            seed=seed,
            progress=progress,
        )
        weighted = fit.log_lik.copy()
        used = weights > 0
        weighted[:, ~used] = 0.0
        if self.program.log_lik == "plain":
            weighted[:, used] *= weights[used]
        if not self.program.predicts:
            self._compare(fit.draws, weighted[:, used] / weights[used], used)
        bounds = lipschitz_bounds(weighted, threshold=self.threshold)
        maxima = np.zeros(len(weights))
        maxima[used] = bounds.by_record[used] / weights[used]
        return SampledFit(_posterior(fit, self.engine.name), bounds, maxima)

    def _compare(self, draws: Draws, log_lik: Floats, used: NDArray[np.bool_]) -> None:
        """Refuse a likelihood (S, n) of the used records that is not the family's.

        Two likelihoods of one family differ by what no parameter moves, such as a constant left
        out. A user who named unread parameters gets a warning in place of the refusal.
        """
        if self.family is None:
            return
        rows = np.unique(np.linspace(0, len(log_lik) - 1, _COMPARED).astype(int))
        own = self.family({name: values[rows] for name, values in draws.items()})[:, used]
        with np.errstate(invalid="ignore"):
            apart = own - log_lik[rows]
            moved = np.abs(apart - apart[0])
        allowed = _ROUNDING * np.maximum(1.0, np.abs(log_lik[rows]))
        if (np.nan_to_num(moved, nan=0.0, posinf=0.0) <= allowed).all():
            return
        words = (
            "The likelihood of the Stan program is not that of the model whose prediction is used, "
            "so synthetic values are not those of the program."
        )
        if self.program.unread:
            warnings.warn(words, MisfitWarning, stacklevel=2)
            return
        raise InputError.by("y-rep-cannot-be-made", words=words)


def program_caveats(program: UserProgram | None, engine: object) -> tuple[Phrase, ...]:
    """What a statement says of a program's own predictions and of data that it was given."""
    if program is None:
        return ()
    caveats = []
    if program.predicts:
        caveats.append(Phrase("own-predictions" if engine in CHECKING_ENGINES else UNCHECKED))
    if program.data:
        caveats.append(Phrase("program-data", {"names": ", ".join(sorted(program.data))}))
    return tuple(caveats)


UNCHECKED: Final = "unchecked-predictions"
"""Key of the caveat on predictions that nothing compared, under which no guarantee is claimed."""


def _posterior(fit: UserFit, engine: str) -> Posterior:
    """The program's draws, with diagnostics of every variable that varies but y_rep."""
    S = len(fit.log_lik)
    parameters = [value for name, value in fit.draws.items() if name != Y_REP]
    flat = np.concatenate([value.reshape(S, -1) for value in parameters], axis=1)
    varying = flat[:, np.ptp(flat, axis=0) > 0]
    return Posterior(
        draws=fit.draws,
        chains=fit.chains,
        diagnostics=diagnose(varying.reshape(fit.chains, S // fit.chains, -1), fit.divergences),
        seconds=fit.seconds,
        engine=engine,
    )
