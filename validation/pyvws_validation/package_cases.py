"""Cases that compare the R packages of the authors' group with the package, on seeded data.

LipschitzWeights [lipschitzweights2020] has bounds, weights and re-weighting. An intruder's
probabilities of guesses are in AttributeRiskCalculation [attributerisk2021]. Neither is installed:
the functions come from a user's checkout. What they take from other packages has stand-ins here.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from pyvws._base.checks import Floats
from pyvws.bounds.lipschitz import lipschitz_bounds
from pyvws.risks.attribute_risk import attribute_risk
from pyvws.weights.weights import lipschitz_weights, reweight
from pyvws_validation._draws import Draws
from pyvws_validation.author_cases import (
    AuthorCall,
    AuthorCase,
    Compared,
    InputEdit,
    written_and_edited,
)
from pyvws_validation.edits import Edit
from pyvws_validation.listings import COLUMN_MAXIMA, ROW_MAXIMA

_DRAWS: Final = 12
_SCALES: Final = ((1.0, 0.0), (1.7, 0.3), (0.8, -0.25), (0.9, 0.05), (1.5, 0.0))
_THRESHOLDS: Final = (1.0, 0.9, 0.5, 0.75, 0.95)


# LipschitzWeights


def _weights(map: str = "linear", *, thresholds: bool = False) -> Compared:
    """Weights under one map, with c and g; or under thresholds."""

    def case(seed: int, n: int) -> tuple[AuthorCall, Floats]:
        log_lik, (c, g) = Draws(seed).log_lik(_DRAWS, n), _SCALES[seed - 1]
        level = _THRESHOLDS[seed - 1] if thresholds else 1.0
        arguments = {
            "res": {"log_lik": log_lik},
            "thresh": level,
            "risks_method": map,
            "scale_factor": c,
            "shift_factor": g,
        }
        how: dict[str, Any] = {"c": c, "g": g, "threshold": level, "map": map}
        return AuthorCall(arguments, part=("weights",)), lipschitz_weights(log_lik, **how)

    return case


def _bounds(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    log_lik = Draws(seed).log_lik(_DRAWS, n)
    bounds = lipschitz_bounds(log_lik)
    ours = np.array([*bounds.by_record, *bounds.by_draw, bounds.database])
    parts = ("Lipschitz_by_record", "log_ratio_theta", "L")
    return AuthorCall({"res": {"log_lik": log_lik}}, part=parts), ours


def _not_finite(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    """A record at -Inf for one draw, whose weight the paper's text sets to 0."""
    log_lik = Draws(seed).log_lik(_DRAWS, n)
    log_lik[0, 1] = -np.inf
    ours = np.delete(lipschitz_weights(log_lik), 1)  # The others' weights.
    return AuthorCall({"log_lik": log_lik}), ours


def _reweighted(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    """Algorithm 3 after an LW fit; the stand-in for a fit is its log-likelihood."""
    log_lik = Draws(seed).log_lik(_DRAWS, n)
    alpha = lipschitz_weights(log_lik, g=0.1)
    refit = alpha * Draws(seed + 50).log_lik(_DRAWS, n)
    ours = reweight(alpha, lipschitz_bounds(refit).by_record, k=0.95)
    return AuthorCall({"fit": refit, "weights": alpha, "k": 0.95}), ours


_BY_RECORD: Final = Edit(
    "maxima-by-record",
    "package-reweight-by-draw",
    r"(<-\s*loglike_LW\$)log_ratio_theta",
    r"\1Lipschitz_by_record",
)
_MAXIMA: Final = (ROW_MAXIMA, COLUMN_MAXIMA)

_lipschitz = partial(
    AuthorCase,
    paper="lipschitzweights2020",
    function="log_like_hamming",
    python_function="pyvws.weights.weights:lipschitz_weights",
    edits=_MAXIMA,
    sizes=(3, 8, 40),
    given="require <- function(...) invisible(TRUE)\n",
)
_REWEIGHT: Final = _lipschitz(
    id="authors/package-reweight",
    cites="re-weighting",
    function="syn_part_2",
    python_function="pyvws.weights.weights:reweight",
    case=_reweighted,
    needs=("log_like_hamming",),
    given="""require <- function(...) invisible(TRUE)
log_lik <- function(fit) fit
called <- function(fit, weights, k) syn_part_2(fit, 1, 0, weights, k)[[2]]
""",
)


# AttributeRiskCalculation: normal, Poisson and logistic models, of one or of two columns in order

_GUESSES: Final = 3
_ALL: Final = 6
_USED: Final = 4


def _table(seed: int, n: int) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """A table of two predictors and four outcomes, and two synthetic tables of it."""
    tables = []
    for number in range(3):
        draws = Draws(10 * seed + number)
        x, other = draws.whole(n, 2), draws.uniform(n, 0.0, 3.0)
        y = 10.0 + 2.0 * x + draws.bell(n, 0.0, 2.0)
        z = 3.0 + 0.5 * y + draws.bell(n, 0.0, 1.0)
        columns = {"y": y, "z": z, "count": draws.whole(n, 9) * 1.0, "yes": draws.whole(n, 2) * 1.0}
        tables.append(pd.DataFrame({"x": x * 1.0, "other": other, **columns}))
    first, *rest = tables
    return first, [table.assign(x=first.x, other=first.other) for table in rest]


def _coefficients(seed: int, centres: tuple[float, ...], *, spread: bool) -> pd.DataFrame:
    draws = Draws(seed)
    each = {f"b{k}": draws.bell(_ALL, centre, 0.1) for k, centre in enumerate(centres)}
    return pd.DataFrame(each | ({"sigma": draws.uniform(_ALL, 1.0, 2.5)} if spread else {}))


_Kind = dict[str, Any]
NORMAL: Final[_Kind] = {"type": "norm", "outcome": "y", "terms": ("x",), "centres": (10.0, 2.0)}
_LATER: Final[_Kind] = {"type": "norm", "outcome": "z", "terms": ("y",), "centres": (3.0, 0.5)}
_LONG: Final[_Kind] = {
    **_LATER, "terms": ("y", "x", "other"), "centres": (3.0, 0.5, 0.1, 0.1)
}  # fmt: skip
_COUNT: Final[_Kind] = {"type": "pois", "outcome": "count", "terms": (), "centres": (1.2,)}
_YES: Final[_Kind] = {"type": "binom", "outcome": "yes", "terms": ("x",), "centres": (0.2, 0.4)}
_THIRD: Final[_Kind] = {"type": "norm", "outcome": "other", "terms": ("z",), "centres": (1.0, 0.1)}


def _log_density(kind: _Kind, draws: pd.DataFrame, values: ArrayLike, rows: pd.DataFrame) -> Floats:
    """log f (S, M) of `values` (M,) under the predictors of `rows` (M,)."""
    eta = np.add.outer(draws["b0"].to_numpy(), np.zeros(len(rows)))
    for k, term in enumerate(kind["terms"], start=1):
        eta = eta + np.outer(draws[f"b{k}"], rows[term])
    values = np.asarray(values, dtype=float)
    if kind["type"] == "norm":
        return stats.norm.logpdf(values, eta, draws["sigma"].to_numpy()[:, None])
    if kind["type"] == "pois":
        return stats.poisson.logpmf(values, np.exp(eta))
    return stats.bernoulli.logpmf(values, 1.0 / (1.0 + np.exp(-eta)))


def guessed(*kinds: _Kind, used: int = _ALL, times: float = 1.0, datasets: int = 2) -> Compared:
    """The probabilities (N, G) of all guesses; the confidential value is `times` as likely."""

    def case(seed: int, n: int) -> tuple[AuthorCall, Floats]:
        table, synthetic = _table(seed, n)
        synthetic = synthetic[:datasets]
        posterior = [
            _coefficients(seed + 7 * at, kind["centres"], spread=kind["type"] == "norm")
            for at, kind in enumerate(kinds)
        ]
        grids = [_grids(kind, table) for kind in kinds]
        outcomes = [kind["outcome"] for kind in kinds]

        def density(rows: pd.DataFrame) -> Floats:
            parts = zip(kinds, posterior, strict=True)
            terms = [
                _log_density(kind, draws, rows[kind["outcome"]], rows) for kind, draws in parts
            ]
            return np.sum(terms, axis=0)

        log_guesses = []
        for i in range(n):
            meshes = np.meshgrid(*(grid[i] for grid in grids), indexing="ij")
            own = {name: table[name].iloc[i] for name in table}
            own |= dict(zip(outcomes, (mesh.ravel(order="F") for mesh in meshes), strict=True))
            log_guesses.append(density(pd.DataFrame(own, index=range(meshes[0].size))))
        log_synthetic = np.column_stack([density(release).sum(axis=1) for release in synthetic])
        prior = np.ones(meshes[0].size)
        prior[0] = times
        ours = attribute_risk(
            np.stack(log_guesses, axis=1)[:used], log_synthetic[:used], prior=prior
        ).posterior
        arguments = {
            "origdata": table,
            "syndata": synthetic,
            "draws": posterior,
            "guesses": [[grid[i] for grid in grids] for i in range(n)],
            "types": [kind["type"] for kind in kinds],
            "formulas": [f"{k['outcome']} ~ {' + '.join(k['terms']) or '1'}" for k in kinds],
            "used": used,
            **({"prior": times} if times != 1.0 else {}),
        }
        return AuthorCall(arguments), ours.ravel()

    return case


def _grids(kind: _Kind, table: pd.DataFrame) -> list[Floats]:
    """Each record's guesses, the confidential value first."""
    values = table[kind["outcome"]].to_numpy()
    if kind["type"] == "binom":
        return [np.array([value, 1.0 - value]) for value in values]
    steps = np.arange(_GUESSES) * (2.0 if kind["type"] == "pois" else 1.7)
    return [value + steps for value in values]


def _as_factor(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    """A logistic outcome as a factor, as their help asks for."""

    def factor(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(yes=pd.Categorical(table.yes.map({0.0: "0", 1.0: "1"}), ["0", "1"]))

    call, ours = guessed(_YES)(seed, n)
    own = dict(call.arguments)
    factors = {"origdata": factor(own["origdata"]), "syndata": [*map(factor, own["syndata"])]}
    return AuthorCall(own | factors), ours


def _used_draws(call: AuthorCall) -> list[AuthorCall]:
    draws = [each.iloc[: call.arguments["used"]] for each in call.arguments["draws"]]
    return [replace(call, arguments={**call.arguments, "draws": draws})]


def _synthesized_last(call: AuthorCall) -> list[AuthorCall]:
    """The formula z ~ x + other + y for z ~ y + x + other, and the coefficients in its order."""
    first, later = call.arguments["draws"]
    moved = {
        "formulas": [call.arguments["formulas"][0], "z ~ x + other + y"],
        "draws": [first, later[["b0", "b2", "b3", "b1", "sigma"]]],
    }
    return [replace(call, arguments={**call.arguments, **moved})]


_LOG_PRIOR: Final = Edit(
    "prior-as-a-logarithm",
    "package-prior-added",
    r"(logSumExp\(log_pq_h_all\) \+ )(\(\w+ / denom\))",
    r"\1log(\2)",
)
_FEWER: Final = InputEdit("the-used-draws-alone", "package-draws-of-the-sum", _used_draws)
_LAST: Final = InputEdit("synthesized-term-last", "package-synthesized-term", _synthesized_last)

_attribute = partial(
    AuthorCase,
    paper="attributerisk2021",
    cites="importance weights",
    function="AttributeRiskForRecordI",
    python_function="pyvws.risks.attribute_risk:attribute_risk",
    needs=(
        *("densityCalc", "logistic", "get_index", "index_to_guesses", "guessed_mean"),
        "get_abs_diff",
    ),
    sizes=(2, 4),
    limit=1e-9,  # Theirs multiplies densities of whole datasets, ours adds their logarithms.
    given="""
logSumExp <- function(x) max(x) + log(sum(exp(x - max(x))))
get_ranks <- function(...) NULL
called <- function(origdata, syndata, draws, guesses, types, formulas, used, prior = NULL) {
  formulas <- lapply(formulas, function(text) list(formula = as.formula(text)))
  found <- lapply(seq_len(nrow(origdata)), function(i) {
    own <- guesses[[i]]
    as.numeric(suppressWarnings(AttributeRiskForRecordI(
      formulas, i, origdata, syndata, draws, unlist(types),
      H = used, G = lengths(own), guesses = own, simplePrior = prior
    ))$FullProb)
  })
  unlist(found)
}
""",
)


CASES: Final[tuple[AuthorCase, ...]] = (
    _lipschitz(
        id="authors/package-bounds",
        cites="bounds",
        python_function="pyvws.bounds.lipschitz:lipschitz_bounds",
        case=_bounds,
    ),
    _lipschitz(id="authors/package-linear", cites="the map linear", case=_weights()),
    _lipschitz(id="authors/package-threshold", cites="thresh", case=_weights(thresholds=True)),
    _lipschitz(id="authors/package-softmax", cites="the map softmax", case=_weights("softmax")),
    _lipschitz(id="authors/package-logistic", cites="the map logistic", case=_weights("logistic")),
    replace(
        _lipschitz(id="authors/package-not-finite-as-written", cites="bounds", case=_not_finite),
        expect="differs",
        erratum="package-not-finite",
        given="""require <- function(...) invisible(TRUE)
called <- function(log_lik) log_like_hamming(list(log_lik = log_lik))$weights[-2]
""",
    ),
    *written_and_edited(_REWEIGHT, _BY_RECORD),
    _attribute(id="authors/attribute-normal", case=guessed(NORMAL)),
    _attribute(id="authors/attribute-poisson", case=guessed(_COUNT)),
    _attribute(id="authors/attribute-logistic", case=guessed(_YES)),
    _attribute(id="authors/attribute-two-columns", case=guessed(NORMAL, _LATER), sizes=(2,)),
    *written_and_edited(
        _attribute(id="authors/attribute-draws", case=guessed(NORMAL, used=_USED)), _FEWER
    ),
    *written_and_edited(
        _attribute(id="authors/attribute-prior", case=guessed(NORMAL, times=8.0, datasets=1)),
        _LOG_PRIOR,
    ),
    *written_and_edited(
        _attribute(id="authors/attribute-terms", case=guessed(NORMAL, _LONG), sizes=(2,)), _LAST
    ),
    _attribute(
        id="authors/attribute-prior-by-dataset-as-written",
        case=guessed(NORMAL, times=8.0),
        edits=(_LOG_PRIOR,),
        expect="differs",
        erratum="package-prior-by-dataset",
    ),
    _attribute(
        id="authors/attribute-three-columns-as-written",
        case=guessed(NORMAL, _LATER, _THIRD),
        sizes=(2,),
        expect="differs",
        erratum="package-third-column",
    ),
    _attribute(
        id="authors/attribute-factor-as-written",
        case=_as_factor,
        expect="differs",
        erratum="package-codes-of-a-factor",
    ),
)
