"""Compare clamped log densities and their gradients with Stan's, on either side of the clamp.

At each point the window ends between the sizes of two weighted terms, so that about half of the
terms are clamped.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.engines.stan_run import clamp_data, paper_program, shipped_program, stan_data
from pyvws.models.model import Model
from pyvws.models.normal_mixture import NormalMixture
from pyvws.posterior.clamp import CLAMPS, Clamp
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws_validation._draws import Draws
from pyvws_validation._measured_case import Findings
from pyvws_validation._stan_answers import Answers, LiveStan
from pyvws_validation._stan_case import CLAMPED, FAMILIES, StanCase, seeded_target

# The two sums add the same terms in different orders, and terms near 0 cancel.
VALUE_LIMIT: Final = 1e-11
GRADIENT_LIMIT: Final = 1e-9

_BOUNDS: Final = 12
_RECORDS: Final = 60
_COLUMNS: Final = (1, 3)


# The mixture has three components here, as in its other cases.
_MODELS: Final[dict[str, str | Model]] = {
    **{name: name for name in FAMILIES},
    "normal-mixture": NormalMixture(components=3),
}


def _judged(model: str, engine: str, kind: str, answers: Answers | None = None) -> Findings:
    """Whether the differences are within the limits, and the largest differences."""
    asked = answers or LiveStan(engine)
    value, gradient = np.max([_at(model, engine, kind, K, asked) for K in _COLUMNS], axis=0)
    return Findings.limited(
        f"log density {value:.1e} relative, gradient {gradient:.1e} relative",
        ("log density, relative", value, VALUE_LIMIT),
        ("gradient, relative", gradient, GRADIENT_LIMIT),
    )


def _at(model: str, engine: str, kind: str, K: int, answers: Answers) -> tuple[float, float]:
    target = seeded_target(_MODELS[model], _RECORDS, K, seed=K, ends=True)
    free = replace(target, weights=np.zeros(_RECORDS))
    raw = Draws(200 + K).uniform(_BOUNDS * target.dimension, -0.7, 0.7)
    value, gradient = 0.0, 0.0
    for point in raw.reshape(_BOUNDS, target.dimension)[: answers.most]:
        clamp = Clamp(answers.number(partial(_middle, target, point, kind)), kind)
        clamped = PseudoPosterior(target.model, target.cells, target.weights, clamp)
        # The prior at the same point takes Stan's constant out of the difference.
        ours = [either.density_and_gradient()(point) for either in (clamped, free)]
        both = clamped, replace(free, clamp=clamp)
        theirs = [_theirs(either, engine, point, answers) for either in both]
        gap = (ours[0][0] - ours[1][0]) - (theirs[0][0] - theirs[1][0])
        value = max(value, abs(gap) / max(1.0, abs(theirs[0][0])))
        steepest = max(1.0, float(np.abs(theirs[0][1]).max()))
        gradient = max(gradient, float(np.abs(ours[0][1] - theirs[0][1]).max()) / steepest)
    return value, gradient


def _middle(target: PseudoPosterior, point: Floats, kind: str) -> float:
    """Epsilon of a window that ends between two terms' sizes; about half of them are larger."""
    draws = target.model.constrain(point[None], target.cells.n_coefficients)
    widest = Clamp(1.0, kind)
    terms = target.model.log_likelihood(draws, target.cells)[0]
    terms = (terms - widest.shift(target.model, target.cells))[target.cells.cell_of_record]
    used = target.weights > 0
    sizes = np.unique(np.abs(terms[used] * target.weights[used]))
    middle = len(sizes) // 2
    return float(0.5 * (sizes[middle - 1] + sizes[middle]) / -widest.window[0])


def _theirs(
    target: PseudoPosterior, engine: str, point: Floats, answers: Answers
) -> tuple[float, Floats]:
    data: dict[str, Any] = {**stan_data(target), **clamp_data(target)}
    if engine == "pystan":
        program = shipped_program(target.model)
        data["write_log_lik"] = 0
    else:
        program = paper_program(target.model, censored=True)
        del data["censored"]
    value, gradient, _ = answers.densities(program, data, point[None], log_lik=False)
    return float(value[0]), gradient[0]


_IDS: Final = {"half": "censored", "deviance": "deviance"}

CASES: Final = tuple(
    StanCase(
        id=f"{_IDS[kind]}-density/{model}-{engine}",
        kind="density",
        model=model,
        engine=engine,
        suffix="_censored",
        shapes=tuple((_RECORDS, K) for K in _COLUMNS),
        judge=partial(_judged, model, engine, kind),
    )
    for kind in reversed(CLAMPS)
    for model in _MODELS
    if (model, kind) in CLAMPED
    for engine in ("pystan", "rstan")
)
