"""Warn or stop if a run's chains fail their diagnostics, or if a clamp leaves only the prior."""

from __future__ import annotations

import warnings

from pyvws.engines._remedies import design_remedy
from pyvws.errors import ConvergenceError, ConvergenceWarning, InputError
from pyvws.mechanisms.weighing import Weighting
from pyvws.synthesis.fit_sources import clamps_everything
from pyvws.synthesis.loop import SynthesisLoop
from pyvws.synthesis.settings import RunSettings

__all__ = ["judge_convergence", "tells_nothing"]

_REMEDY = "Raise draws, warmup or target_accept."
_OF_APPROXIMATION = "Choose engine native, or auto, which takes native where this happens."
_OF_CLAMPS = (
    "give all records one public weight below 1 (weights public and c), nominal columns a "
    "coefficient_sd, and numbers a public range nearer to what you expect of them (smallest_sd, "
    "largest_kappa and their like), {more}or try engine ensemble, which needs no gradient "
    "(pip install emcee)."
)
_FOR_CLAMPS = f"Or ask for a larger epsilon, {_OF_CLAMPS.format(more='')}"
_STOPPED = (
    "The chains fail their diagnostics, so their draws may not be those of the posterior that the "
    "guarantee dp is about, and nothing is released. {problems} Ask for a larger epsilon, "
    + _OF_CLAMPS.format(more="raise draws, warmup or target_accept, ")
    + " --accept-unconverged (accept_unconverged=True in Python) releases them with the guarantee "
    "none."
)
_PRIOR = (
    "epsilon clamps every record at every draw, so the posterior is the prior and the synthetic "
    "data say nothing of the table. Ask for a larger epsilon. (A count near y has a log-likelihood "
    "of size 0.5 log(2 pi y) or more whatever the parameters.)"
)


def judge_convergence(settings: RunSettings, loop: SynthesisLoop, *, clamped: bool) -> None:
    """Warn if the diagnostics find problems; raise ConvergenceError if the run would say "dp"."""
    problems = loop.problems()
    if not problems:
        return
    if settings.strict:
        raise ConvergenceError(_STOPPED.format(problems=" ".join(problems)))
    remedies = [_REMEDY, _FOR_CLAMPS] if clamped else [_REMEDY]
    if any(fit.posterior.approximated for fit in loop.fits):
        remedies = [_OF_APPROXIMATION]
    remedies[:0] = [design_remedy(loop.cells.rows), loop.model.remedy]
    warnings.warn(" ".join(filter(None, [*problems, *remedies])), ConvergenceWarning, stacklevel=5)


def tells_nothing(settings: RunSettings, loop: SynthesisLoop, weighting: Weighting) -> bool:
    """Whether a clamp left only the prior; InputError if so, unless the run is strict.

    A strict run only warns, because a refusal would tell of the data.
    """
    fit, clamp = weighting.fit, weighting.clamp
    if clamp is None or not clamps_everything(
        loop.model, loop.cells, fit.posterior, fit.weights, clamp
    ):
        return False
    if not settings.strict:
        raise InputError(_PRIOR)
    warnings.warn(_PRIOR, ConvergenceWarning, stacklevel=5)
    return True
