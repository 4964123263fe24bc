"""Compare log densities, their gradients and record log-likelihoods with Stan's.

Points are random on the unconstrained scale. Coefficients, log scales and the entries after the
partial correlations, such as log 1/phi, lie in (-2, 2). The entries of L_beta lie in (-1, 1), which
gives partial correlations of up to 0.76. With larger entries and 8 columns, Stan's own transform of
a correlation matrix loses digits, because the transform takes square roots of 1 - sum z^2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from pyvws._base.checks import Floats
from pyvws.engines.stan_run import clamp_data, paper_program, shipped_program, stan_data
from pyvws.models.model import Model
from pyvws.models.registry import find_model
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws_validation._draws import Draws
from pyvws_validation._largest_terms import largest_terms
from pyvws_validation._measured_case import Findings
from pyvws_validation._stan_answers import Answers, LiveStan
from pyvws_validation._stan_case import COMPARED, StanCase, seeded_target

# The two sums add the same terms in different orders: a few hundred roundings.
VALUE_LIMIT: Final = 1e-12
# With 8 columns Stan's transform of a correlation matrix loses digits, and each level of a nominal
# outcome has its own quadratic form in the inverse. The package's prior, by itself, is within 3e-15
# of 80-bit arithmetic at such points. Measured against Stan: at most 1.1e-11.
VALUE_LIMITS: Final[Mapping[str, float]] = {"nominal": 1e-10}
# A gradient is a difference of sums of the size of its largest entry.
GRADIENT_LIMIT: Final = 1e-9
# A log-likelihood is a sum of terms that cancel, and multiplies a rounding of eta = X beta by y and
# by mu. So the unit is an ulp of the largest such term, not of the sum. Each side rounds up to 8
# products in eta by half an ulp, and up to 5 terms; log Gamma alone has an error of an ulp or two.
# That allows 8 ulp from eta and 8 from the terms. Measured: at most 4.8, and 7.5 for the negative
# binomial.
POINTWISE_LIMIT: Final = 16.0

_POINTS: Final = 200
RECORDS: Final = 60
COLUMNS: Final = (1, 3, 8)
SHAPES: Final = tuple((RECORDS, K) for K in COLUMNS)
"""The records and columns of the targets."""


class Gaps(NamedTuple):
    """Largest differences from Stan: relative ones, and of log-likelihoods in ulp of a term."""

    value: float
    gradient: float
    pointwise: float


LargestTerms = Callable[[dict[str, Floats], Floats, Floats], Floats]
"""From P draws, outcomes (N,) and design (N, K) to the largest term of each record, (P, N)."""


def judge_program(
    model: str | Model,
    engine: str,
    answers: Answers | None = None,
    *,
    first: int = 2,
    pointwise_limit: float = POINTWISE_LIMIT,
    **how: Any,
) -> Findings:
    """The largest `differences` of a Stan program, or the package's own, from the model.

    Partial correlations follow `first` entries for each column; `how` is as in `differences`.
    """
    asked = answers or LiveStan(engine)

    def at(K: int) -> Gaps:
        target = seeded_target(model, RECORDS, K, seed=K)
        return differences(target, engine, seeded_points(target, first * K), asked, **how)

    value, gradient, pointwise = np.max([at(K) for K in COLUMNS], axis=0)
    value_limit = VALUE_LIMITS.get(find_model(model).name, VALUE_LIMIT)
    measured = (
        f"log density {value:.1e} relative, gradient {gradient:.1e} relative, "
        f"log-likelihood {pointwise:.1f} ulp of its largest term"
    )
    return Findings.limited(
        measured,
        ("log density, relative", value, value_limit),
        ("gradient, relative", gradient, GRADIENT_LIMIT),
        ("log-likelihood, ulp of its largest term", pointwise, pointwise_limit),
    )


def differences(
    target: PseudoPosterior,
    engine: str,
    points: Floats,
    answers: Answers,
    *,
    program: str | None = None,
    names: Mapping[str, str] | None = None,
    largest: LargestTerms | None = None,
) -> Gaps:
    """Largest differences from Stan's `answers` over points (P, D), or the first of them.

    They are of log densities up to one constant and of gradients, both relative to Stan's, and of
    weighted record log-likelihoods in ulp of the record's `largest` term. `names` are the
    program's names of data where they are others.
    """
    data: dict[str, Any] = {(names or {}).get(key, key): v for key, v in stan_data(target).items()}
    if program is None and engine == "pystan":
        program = shipped_program(target.model)
        data |= {**clamp_data(target), "write_log_lik": 1}
    elif program is None:
        program = paper_program(target.model)
    points, family = points[: answers.most], target.model.name
    theirs, their_gradients, log_lik = answers.densities(program, data, points)
    evaluate = target.density_and_gradient()
    pairs = [evaluate(point) for point in points]
    apart = np.array([value for value, _ in pairs]) - theirs
    value = np.abs(apart - np.median(apart)) / np.abs(theirs)
    gap = np.abs(np.array([gradient for _, gradient in pairs]) - their_gradients)
    gradient = gap.max(axis=1) / np.maximum(1.0, np.abs(their_gradients).max(axis=1))
    pointwise = _pointwise(target, points, log_lik, largest or partial(largest_terms, family))
    return Gaps(float(value.max()), float(gradient.max()), pointwise)


def _pointwise(
    target: PseudoPosterior, points: Floats, theirs: Floats, largest: LargestTerms
) -> float:
    cells = target.cells
    draws = target.model.constrain(points, cells.n_coefficients)
    records = cells.cell_of_record
    ours = target.model.log_likelihood(draws, cells)[:, records] * target.weights
    X = cells.rows[cells.row_of_cell[records]]
    terms = largest(draws, cells.outcome[records], X)
    unit = np.spacing(np.maximum(target.weights * terms, np.finfo(float).tiny))
    return float((np.abs(ours - theirs) / unit).max())


def seeded_points(target: PseudoPosterior, first: int) -> Floats:
    """Points (200, D); partial correlations follow the `first` entries."""
    K = target.cells.n_coefficients
    raw = Draws(100 + K).uniform(_POINTS * target.dimension, -1.0, 1.0)
    points = raw.reshape(_POINTS, target.dimension)
    points[:, :first] *= 2.0
    points[:, first + K * (K - 1) // 2 :] *= 2.0
    return points


CASES: Final = tuple(
    StanCase(
        id=f"density/{name}-{engine}",
        kind="density",
        model=find_model(model).name,
        engine=engine,
        shapes=SHAPES,
        judge=partial(judge_program, model, engine),
    )
    for name, model in COMPARED.items()
    for engine in ("pystan", "rstan")
)
