"""What a run says of its fits: failed chains, a clamp that leaves the prior, a search's end."""

from __future__ import annotations

import warnings

from pyvws._base.phrase import counted
from pyvws.engines.engine import design_remedy
from pyvws.errors import ConvergenceError, ConvergenceWarning, InputError
from pyvws.mechanisms.weighing import WeightedFit, Weighting
from pyvws.statement.accounting import PrivacyStatement
from pyvws.synthesis.fit_sources import clamps_everything
from pyvws.synthesis.loop import Listener, SynthesisLoop
from pyvws.synthesis.settings import RunSettings
from pyvws.weights.search import Window

_SPENT = 0.95  # A statement tells of a target of which a smaller share is spent.

_MOST_TOLD = 3  # The last fits, a line each, before a line of remedies and one of earlier fits.
_ALL_FITS = "fits in confidential/summary.json and the board's page have the figures of each fit."
_REMEDY = "Raise draws, warmup or target_accept."
_OF_APPROXIMATION = "Choose engine native, or auto, which takes native where this happens."
_OF_CLAMPS = (
    "or give all records one public weight below 1 (weights constant and c). Give nominal columns "
    "a coefficient_sd, and numbers a public range nearer to what you expect of them (smallest_sd, "
    "largest_kappa and their like).{more}"
)
_FOR_CLAMPS = f"Or ask for a larger epsilon, {_OF_CLAMPS.format(more='')}"
_STOPPED = (
    "The chains fail their diagnostics, and nothing is released. Their draws may not be those of "
    "the posterior that the guarantee dp is about. {problems} Ask for a larger epsilon, "
    + _OF_CLAMPS.format(more=f" {_REMEDY}")
    + " --accept-unconverged (accept_unconverged=True in Python) releases them with the guarantee "
    "none."
)


def judge_convergence(loop: SynthesisLoop, *, strict: bool, clamped: bool) -> None:
    """Warn if the diagnostics find problems; raise ConvergenceError if the run would say "dp"."""
    problems = loop.problems()
    if not problems:
        return
    if strict:
        raise ConvergenceError(_STOPPED.format(problems=" ".join(problems)))
    remedies = [_REMEDY, _FOR_CLAMPS] if clamped else [_REMEDY]
    if any(fit.posterior.approximated for fit in loop.fits):
        remedies = [_OF_APPROXIMATION]
    remedies[:0] = [design_remedy(loop.cells.rows), loop.model.remedy]
    failing = [
        f"{fit.label}: {' '.join(own)}"
        for fit in loop.fits
        if (own := fit.posterior.diagnostics.problems())
    ]
    more = len(failing) - _MOST_TOLD
    rest = [f"{counted(more, 'earlier fit')} had problems too: {_ALL_FITS}"] if more > 0 else []
    told = [*failing[-_MOST_TOLD:], " ".join(filter(None, remedies)), *rest]
    warnings.warn("\n".join(told), ConvergenceWarning, stacklevel=5)


def tells_nothing(loop: SynthesisLoop, weighting: Weighting, *, strict: bool) -> bool:
    """Whether a clamp left only the prior; InputError if so, unless the run is strict.

    A strict run only warns, because a refusal would tell of the data.
    """
    fit, clamp = weighting.fit, weighting.clamp
    if clamp is None or not clamps_everything(
        loop.model, loop.cells, fit.posterior, fit.weights, clamp
    ):
        return False
    refusal = InputError.by("posterior-is-prior")
    if not strict:
        raise refusal
    warnings.warn(str(refusal), ConvergenceWarning, stacklevel=5)
    return True


def search_caveats(
    settings: RunSettings, weighting: Weighting, final: WeightedFit
) -> tuple[str, ...]:
    """Keys of the caveats on the constants of the weights.

    "shift" where the data decided g, "room" where an estimated epsilon lies more than 5 % below its
    target, and "reweighted-below" where Algorithm 3 ended below the bound that it was to meet.
    """
    target, reached = settings.target_epsilon, final.bounds.aimed
    searches = settings.reweight and settings.epsilon is None
    near = Window.around(weighting.fit.bounds.aimed.database, settings.tolerance)
    applies = {
        "shift": "g" in weighting.constants,
        "room": weighting.clamp is None and reached.epsilon < _SPENT * (target or 0.0),
        "reweighted-below": searches and reached.database < near.low,
    }
    return tuple(key for key, holds in applies.items() if holds)


def tell_of_rest(statement: PrivacyStatement, listener: Listener) -> None:
    """Tell the listener why a search ended below its target."""
    if "room" in statement.bound.of_search:
        listener.line(
            f"  epsilon {statement.aimed_epsilon:.4g} of the target {statement.bound.target:.4g} "
            "is spent. The bound is the largest of many draws, and the search leaves room for what "
            "further draws are likely to add. Rare levels and patterns make the bound noisy: join "
            "them, or name fewer predictors, to come nearer."
        )
    if "reweighted-below" in statement.bound.of_search:
        listener.line(
            "  Re-weighting ends below the bound of the weights before it: no k brings it up. That "
            "is safe, and the statement says so."
        )
