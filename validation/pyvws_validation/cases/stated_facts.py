"""Facts that whole statements have to say: words, neighbours, units, unaccounted uses, caveats.

Each row makes one release and compares entries of its statement with what is right for it. What is
right stands beside the run: a figure for the other neighbours is double or half, one that is not
known is None and never a number, and a use that nobody paid for is in the ledger.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.count_weighted import CountWeighted
from pyvws.mechanisms.given_weights import GivenWeights
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.mechanisms.unweighted import Unweighted
from pyvws.models.normal_mixture import NormalMixture
from pyvws.release.synthesizer import synthesize
from pyvws.statement.words import caveat_keys
from pyvws.synthesis.existing_fit import from_log_lik
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._grid_engine import KnownByWidth, KnownDraws
from pyvws_validation._measured_case import Findings, MeasuredRow
from pyvws_validation.report import Measurement

_SEED: Final = 2**60 + 1
_N: Final = 24
_BOTH: Final = ("leave-one-out", "replace-one")


@dataclass(frozen=True, kw_only=True)
class StatedFacts(MeasuredRow):
    """A release on `table`, and `facts` of its statement.

    A fact is named by its path in the statement. "ledger" and a key is what that use costs, and
    "caveat" and a key whether the caveat is there.
    """

    kind: str = "statement"
    outside: str = "Not as stated"
    paper: str = "nist2025, what a guarantee does not cover"
    table: pl.DataFrame
    settings: Callable[[], Mapping[str, Any]]
    facts: Mapping[str, Any]

    def found(self) -> Findings:
        with warnings.catch_warnings(action="ignore"):
            release = synthesize(self.table, seed=_SEED, **{"datasets": 2, **self.settings()})
        measured = []
        for statement, kind in ((release.privacy, "released"), (release.summary["privacy"], "own")):
            said = {
                **statement,
                "ledger": {entry["key"]: entry["epsilon"] for entry in statement["ledger"]},
                "caveat": dict.fromkeys(caveat_keys(statement), True),
            }
            for path, right in self.facts.items():
                what: Any = said
                for name in path.split("."):
                    what = what.get(name) if isinstance(what, Mapping) else None
                same = what == right and (what is None) == (right is None)
                measured.append(Measurement(f"{path}, {kind}", float(same), 1.0, 1.0))
        return Findings(tuple(measured), words=f"{len(self.facts)} facts")


def _neighbours(left_out: float | None, replaced: float | None, own: str = "") -> dict[str, Any]:
    """Totals of both neighbours, and the one that is certified; figures of two datasets alike."""
    figures = dict(zip(_BOTH, (left_out, replaced), strict=True))
    facts: dict[str, Any] = {}
    for name, figure in figures.items():
        facts |= {f"epsilon_by_neighbours.{name}.{x}": figure for x in ("per_dataset", "total")}
    if not own:
        return {**facts, "guarantee": "none", "certified": None}
    stated = {"certified.neighbours": own, "certified.epsilon_total": figures[own]}
    return {**facts, **stated, "neighbours": own, "epsilon_total": figures[own]}


_JOBS: Final = pl.DataFrame(
    {"home": np.arange(_N) // 2, "job": ["yes", "no", "no"] * 8, "sex": ["f", "m"] * 12}
)
_OF_JOBS: Final = {
    "job": Column(model="nominal", levels=("yes", "no")),
    "sex": Column(model="nominal", levels=("f", "m")),
}
_PAY: Final = pl.DataFrame({"pay": np.arange(_N) % 5 + 0.5, "sex": ["f", "m"] * 12})
_DRAWN: Final[Floats] = np.array([[0.5 * s, 0.0, 0.25 * s] for s in range(4)])


def _counts(home: bool = False, **given: Any) -> dict[str, Any]:
    """A run of noisy counts, small and quick."""
    counts: dict[str, Any] = {"measure": "pairs"}
    counts |= {key: given.pop(key) for key in ("delta", "neighbours", "cap") if key in given}
    columns = {"home": Column(role="id"), **_OF_JOBS} if home else _OF_JOBS
    return {
        "schema": Schema(columns, unit="home" if home else None),
        "mechanism": NoisyCounts(epsilon=1.5, classes=2, **counts),
        **given,
    }


def _histogram(**given: Any) -> dict[str, Any]:
    own = {"epsilon": 1.0, "range": (0.0, 6.0), "bins": 4, **given}
    return {"outcome": "pay", "mechanism": PerturbedHistogram(**own)}


def _fitted(mechanism: Mechanism, draws: Floats = _DRAWN, **given: Any) -> dict[str, Any]:
    """A run of a normal model without predictors whose fits have these draws."""
    of_run = {"engine": KnownDraws([draws]), "draws": len(draws), "chains": 1}
    return {"outcome": "pay", "model": "normal", "mechanism": mechanism, **of_run, **given}


def _elsewhere(y_rep_from: str) -> dict[str, Any]:
    """A release of a fit made elsewhere, of weights below 1."""
    terms = -np.add.outer(np.arange(4.0), np.arange(_N) % 5 + 0.5)
    weights = np.linspace(0.2, 0.8, _N)
    predicted: Any = {"y_rep": np.ones_like(terms), "y_rep_from": y_rep_from}
    fit = from_log_lik(terms, weights, log_lik="plain", **predicted)
    return {"outcome": "pay", "model": "normal", "existing_fit": fit}


def _of_units(**given: Any) -> dict[str, Any]:
    """An LW run on one number whose records are those of units."""
    engine = KnownByWidth([_DRAWN])
    schema = Schema({"home": Column(role="id"), "pay": Column(model="normal")}, unit="home")
    of_run = {"engine": engine, "draws": len(_DRAWN), "chains": 1}
    return {"schema": schema, "mechanism": LipschitzWeighted(g=0.0), **of_run, **given}


_MIXTURE: Final = NormalMixture(components=2, labels="full-conditional")
_OF_MIXTURE: Final = np.array([[-1.0, 2.0, 0.0, 0.0, 0.25 * s, *[0.0] * 3] for s in range(4)])
_UNKNOWN: Final = "not accounted"
_OUTSIDE: Final = {"ledger.given-weights": _UNKNOWN, "caveat.given-weights": True}
_ELSEWHERE: Final = {**_OUTSIDE, "ledger.outside-fit": _UNKNOWN, "caveat.outside-fit": True}
_BEYOND: Final = np.array([[0.0, 0.0, -400.0], *_DRAWN])  # A density of 0 at the first draw.

_RUNS: Final[dict[str, tuple[pl.DataFrame, Callable[[], Mapping[str, Any]], dict[str, Any]]]] = {
    "counts": (
        _JOBS.drop("home"),
        _counts,
        {"guarantee": "dp", "delta": 0.0, **_neighbours(1.5, 3.0, "leave-one-out")},
    ),
    "counts-replaced": (
        _JOBS.drop("home"),
        lambda: {**_counts(neighbours="replace"), "mechanism": _replaced(1.0)},
        {"guarantee": "dp", **_neighbours(0.5, 1.0, "replace-one")},
    ),
    "counts-delta": (
        _JOBS.drop("home"),
        lambda: _counts(delta=1e-3),
        {
            "guarantee": "approximate-dp",
            "delta": 1e-3,
            **_neighbours(1.5, None, "leave-one-out"),
            "caveat.counts-delta": True,
        },
    ),
    "counts-units": (
        _JOBS,
        lambda: _counts(home=True, cap=2),
        {
            "guarantee": "dp",
            **_neighbours(1.5, 3.0, "leave-one-out"),
            "unit_of_privacy": "all records of one home",
            "unit_column": "home",
            "counts.cap": 2,
        },
    ),
    "counts-proposed": (
        _JOBS.drop("home"),
        lambda: {**_counts(), "schema": Schema.propose(_JOBS.drop("home"))},
        {**_neighbours(None, None), "caveat.proposed": True, "ledger.proposed": _UNKNOWN},
    ),
    "counts-compared": (
        _JOBS.drop("home"),
        lambda: _counts(compared=True),
        {**_neighbours(None, None), "caveat.compared": True, "ledger.compared": _UNKNOWN},
    ),
    "histogram": (_PAY, _histogram, _neighbours(0.5, 1.0, "replace-one")),
    "histogram-left-out": (
        _PAY,
        lambda: _histogram(neighbours="loo"),
        _neighbours(1.0, 2.0, "leave-one-out"),
    ),
    "histogram-bins": (
        _PAY,
        lambda: _histogram(bins=None),
        {**_neighbours(None, 1.0, "replace-one"), "caveat.bins-from-records": True},
    ),
    "histogram-edges": (
        _PAY,
        lambda: _histogram(range=None, edges_from_data=True),
        {**_neighbours(None, None), "caveat.edges-from-data": True},
    ),
    "infinite": (
        _PAY,
        lambda: _fitted(Unweighted(), _BEYOND),
        {
            **_neighbours(None, None),
            **dict.fromkeys(("lipschitz_bound", "epsilon_per_dataset", "epsilon_total")),
            "ledger.datasets": None,
        },
    ),
    "given-weights": (
        _PAY,
        lambda: _fitted(GivenWeights(np.linspace(0.2, 0.8, _N))),
        {"guarantee": "asymptotic-dp", "certified": None, **_OUTSIDE},
    ),
    "outside-fit": (
        _PAY,
        lambda: _elsewhere("parameters"),
        {"guarantee": "asymptotic-dp", "certified": None, **_ELSEWHERE},
    ),
    "outside-fit-unknown": (
        _PAY,
        lambda: _elsewhere("unknown"),
        {"guarantee": "none", "caveat.unknown-predictions": True, **_ELSEWHERE},
    ),
    "map": (
        _PAY,
        lambda: _fitted(LipschitzWeighted(map="softmax")),
        {"caveat.map-of-bounds": True, "caveat.weights": True, "ledger.fit": _UNKNOWN},
    ),
    "risks": (
        _PAY,
        lambda: _fitted(CountWeighted(radius=0.5, known=("sex",)), keep=["sex"]),
        {"ledger.risks": _UNKNOWN, "columns_released_unchanged": ["sex"], "caveat.unchanged": True},
    ),
    "threshold": (
        _PAY,
        lambda: _fitted(LipschitzWeighted(g=0.0), threshold=0.9),
        {"guarantee": "none", "certified": None, "threshold": 0.9, "caveat.threshold": True},
    ),
    "own-outcome": (
        _PAY,
        lambda: _fitted(LipschitzWeighted(g=0.0), _OF_MIXTURE, model=_MIXTURE),
        {"guarantee": "none", "certified": None, "caveat.reads-outcome": True},
    ),
    "strict": (
        _PAY,
        lambda: _fitted(Censored(epsilon=2.0, weights="none"), records=7),
        {
            "guarantee": "dp",
            "bound_is": "enforced",
            "number_of_rows": "public",
            "certified.neighbours": "leave-one-out",
            "relies_on.neighbours": "leave-one-out",
            "relies_on.clamp.kind": "deviance",
            "relies_on.clamp.epsilon": 2.0,
            "relies_on.weights.source": "none",
            "relies_on.sampler.draws": "as-if-converged",
            "caveat.as-if-exact": True,
        },
    ),
    "staged": (
        _PAY,
        lambda: _fitted(Censored(epsilon=2.0, weights="staged", stage_epsilon=0.5)),
        {
            "guarantee": "dp",
            "number_of_rows": "exact",
            "certified.neighbours": "replace-one",
            "relies_on.neighbours": "replace-one",
            "relies_on.weights.source": "staged",
            "relies_on.weights.epsilon": 0.5,
            "ledger.first-stage": 0.5,
            "caveat.records": True,
        },
    ),
    "units": (
        _PAY.select("pay").with_columns(home=np.arange(_N) // 2),
        _of_units,
        {
            "guarantee": "asymptotic-dp",
            "unit_of_privacy": "all records of one home",
            "unit_column": "home",
            "caveat.units": True,
            "caveat.leave-one-out": None,
        },
    ),
}


def _replaced(epsilon: float) -> NoisyCounts:
    return NoisyCounts(epsilon=epsilon, neighbours="replace", classes=2, measure="pairs")


CASES: Final = tuple(
    StatedFacts(id=f"statement/facts-{name}", table=table, settings=settings, facts=facts)
    for name, (table, settings, facts) in _RUNS.items()
)
