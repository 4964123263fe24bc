"""What a run says of its fits: failed chains, a clamp that leaves the prior, a search's end."""

from __future__ import annotations

import warnings

from pyvws._base.phrase import counted
from pyvws.engines.engine import design_remedy
from pyvws.errors import ConvergenceError, ConvergenceWarning, InputError
from pyvws.mechanisms.weighing import WeightedFit, Weighting
from pyvws.models.conditional_table import ConditionalTable
from pyvws.posterior.clamp import Clamp
from pyvws.statement.accounting import PrivacyStatement
from pyvws.synthesis.fit_sources import clamps_everything
from pyvws.synthesis.loop import Listener, SynthesisLoop
from pyvws.synthesis.settings import RunSettings
from pyvws.weights.search import Window

_SPENT = 0.95  # A statement tells of a target of which a smaller share is spent.

_SCALES = ("smallest_sd", "largest_kappa", "largest_shape")
_MOST_TOLD = 3  # The last fits, a line each, before a line of remedies and one of earlier fits.
_ALL_FITS = "fits in confidential/summary.json and the board's page have the figures of each fit."
_REMEDY = "Raise draws, warmup or target_accept."
_OF_APPROXIMATION = "Choose engine native, or auto, which takes native where this happens."
_OF_TABLES = "Raise draws or warmup."
_LESS_WEIGHT = (
    "Ask for a larger epsilon, or give all records one public weight below {weight} (weights "
    "constant and c){room}."
)
_ROOM = ": the clamp now gives up a record whose misfit exceeds {misfit:.3g} nats"
_STOPPED = (
    "The chains fail their diagnostics, and nothing is released. Their draws may not be those of "
    "the posterior that the guarantee dp is about. {problems} {remedies} --accept-unconverged "
    "(accept_unconverged=True in Python) releases them with the guarantee none."
)


def judge_convergence(
    loop: SynthesisLoop, *, strict: bool, clamp: Clamp | None, constant: float | None = None
) -> None:
    """Warn if the diagnostics find problems; raise ConvergenceError if the run would say "dp".

    `constant` is the public weight of all records of a clamped fit, if there is one.
    """
    problems = loop.problems()
    if not problems:
        return
    remedies = [_REMEDY] if clamp is None else _clamp_remedies(loop, clamp, constant)
    if strict:
        told = _STOPPED.format(problems=" ".join(problems), remedies=" ".join(remedies))
        raise ConvergenceError(told)
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
    told_of = [*failing[-_MOST_TOLD:], " ".join(filter(None, remedies)), *rest]
    warnings.warn("\n".join(told_of), ConvergenceWarning, stacklevel=5)


def _clamp_remedies(loop: SynthesisLoop, clamp: Clamp, constant: float | None) -> list[str]:
    """What helps chains of a clamped fit, by its settings: only what is still to be done."""
    models = [column.model for column in loop.model.columns]
    of_tables = all(isinstance(model, ConditionalTable) for model in models)
    room = "" if constant is None else _ROOM.format(misfit=clamp.epsilon / constant)
    lower = _LESS_WEIGHT.format(weight=f"{constant or 1.0:.3g}", room=room)
    help_of = [lower, _OF_TABLES if of_tables else _REMEDY]
    if of_tables:
        help_of.append("Or name fewer predictors, and join rare levels.")
    if any(getattr(model, "coefficient_sd", 0.0) is None for model in models):
        help_of.append("Give nominal columns a coefficient_sd.")
    if any(hasattr(model, name) for model in models for name in _SCALES):
        help_of.append(
            "Give numbers a public range nearer to what you expect of them (smallest_sd, "
            "largest_kappa and their like)."
        )
    return help_of


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
