"""What takes the word `dp` away: runs that differ from a strict one in a single thing, and say so.

Each row makes two releases. The first says "dp", so that the second shows what its own thing does:
another word, the caveat that names the reason, and no certificate.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.models.nominal import Nominal
from pyvws.models.normal import Normal
from pyvws.posterior.draws import Posterior
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.release.synthesizer import synthesize
from pyvws.statement.words import caveat_keys
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._grid_engine import KnownDraws
from pyvws_validation._measured_case import Findings, MeasuredRow
from pyvws_validation.report import Measurement

_SEED: Final = 2**60 + 1
_DRAWS: Final = 4


class _Zeros(KnownDraws):
    """All parameters are 0 at every draw, whatever the target."""

    def __init__(self) -> None:
        super().__init__([])

    def sample(self, target: PseudoPosterior, *given: Any, **named: Any) -> Posterior:
        self.fits = [np.zeros((_DRAWS, target.dimension))]
        return super().sample(target, *given, **named)


class _Approximated(_Zeros):
    """Draws of a normal approximation, as engine laplace has them."""

    def sample(self, *given: Any, **named: Any) -> Posterior:
        posterior = super().sample(*given, **named)
        return replace(posterior, diagnostics=replace(posterior.diagnostics, khat=0.1))


def _own(kind: type) -> Any:
    """The same class from outside the package, which does not check it."""
    own = type("Own", (kind,), {"__module__": "own", "name": "own"})
    return own if kind is _Zeros else dataclass(frozen=True)(own)


@dataclass(frozen=True, kw_only=True)
class LostWord(MeasuredRow):
    """A run on `table` that may not say its strict `word` under `more()`, beside the run without;
    `key` is the caveat of the reason.
    """

    key: str
    table: pl.DataFrame
    base: Mapping[str, Any]
    more: Callable[[], Mapping[str, Any]]
    word: str = "dp"
    outside: str = "Does not hold"
    paper: str = "nist2025, what a guarantee does not cover"

    def found(self) -> Findings:
        strict, lost = self._statement({}), self._statement(self.more())
        holds = {
            f"{self.word} without it": strict["guarantee"] == self.word and strict["certified"],
            "another word with it": lost["guarantee"] in ("asymptotic-dp", "none"),
            "no certificate with it": lost["certified"] is None,
            "its caveat": self.key in caveat_keys(lost),
        }
        measured = tuple(Measurement(n, float(bool(x)), 1.0, 1.0) for n, x in holds.items())
        return Findings(measured, words=f"{strict['guarantee']}, then {lost['guarantee']}")

    def _statement(self, more: Mapping[str, Any]) -> dict[str, Any]:
        """The statement of a run; a run that samples has draws of no meaning."""
        engine = {"engine": _Zeros()} if "draws" in self.base else {}
        shared: dict[str, Any] = {**engine, **self.base, **more}
        with warnings.catch_warnings(action="ignore"):
            release = synthesize(self.table, datasets=1, seed=_SEED, **shared)
        return release.privacy


_JOBS: Final = pl.DataFrame({"job": ["yes", "no", "no"] * 8})
_PAY: Final = pl.DataFrame({"pay": np.arange(24) % 5 + 0.5})
_STRICT: Final[dict[str, Any]] = {"epsilon": 4.0, "weights": "none"}
_SAMPLED: Final = {"mechanism": Censored(**_STRICT), "draws": _DRAWS, "chains": 1}
_OF_PAY: Final = {**_SAMPLED, "outcome": "pay", "model": "normal"}
_LEVELS: Final = ("yes", "no")
_OF_JOB: Final = {**_SAMPLED, "outcome": "job", "model": Nominal(levels=_LEVELS)}
_BY_SCHEMA: Final = {**_SAMPLED, "schema": Schema({"job": Column(model="nominal", levels=_LEVELS)})}


def _histogram(**more: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"epsilon": 1.0, "range": (0.0, 6.0), **more}
    return {"outcome": "pay", "mechanism": PerturbedHistogram(**given)}


def _word(
    key: str,
    more: Callable[[], Mapping[str, Any]],
    base: Mapping[str, Any] = _OF_PAY,
    table: pl.DataFrame = _PAY,
    **given: Any,
) -> LostWord:
    return LostWord(id=f"guarantee/word-{key}", key=key, table=table, base=base, more=more, **given)


def _of_bins(key: str, **more: Any) -> LostWord:
    return _word(key, lambda: _histogram(**more), _histogram(), word="dp-if-bounded")


CASES: Final = (
    _word("weights", lambda: {"mechanism": Censored(epsilon=4.0)}),
    _word("prepared", lambda: {"model": "nominal"}, _OF_JOB, _JOBS),
    _word("proposed", lambda: {"schema": Schema.propose(_JOBS)}, _BY_SCHEMA, _JOBS),
    _word("compared", lambda: {"compared": True}),
    _word("accepts-unconverged", lambda: {"accept_unconverged": True}),
    _word("approximated", lambda: {"engine": _Approximated()}),
    _word("unchecked-mechanism", lambda: {"mechanism": _own(Censored)(**_STRICT)}),
    _word("unchecked-model", lambda: {"model": _own(Normal)()}),
    _word("unchecked-engine", lambda: {"engine": _own(_Zeros)()}),
    _of_bins("seeded-noise", noise="seeded-float"),
    _of_bins("edges-from-data", range=None, edges_from_data=True),
)
