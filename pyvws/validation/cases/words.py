"""What takes the word `dp` away: runs that differ from a strict one in a single thing, and say so.

Each row makes two releases. The first says "dp", so that the second shows what its own thing does:
another word, the caveat that names the reason, and no certificate.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws.errors import MissingDependencyError, PyvwsError
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.models.nominal import Nominal
from pyvws.models.normal import Normal
from pyvws.posterior.draws import Posterior
from pyvws.release.synthesize import synthesize
from pyvws.statement.words import caveat_keys
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws.validation._grid_engine import KnownDraws
from pyvws.validation.report import Measurement, Row

_SEED: Final = 2**60 + 1
_DRAWS: Final = 4
_PAPER: Final = "nist2025, what a guarantee does not cover"


class _Zeros(KnownDraws):
    """All parameters are 0 at every draw, whatever the target."""

    def __init__(self) -> None:
        super().__init__([])

    def sample(self, target: Any, *given: Any, **named: Any) -> Posterior:
        """As `Engine.sample`."""
        self.fits = [np.zeros((_DRAWS, target.dimension))]
        return super().sample(target, *given, **named)


class _Approximated(_Zeros):
    """Draws of a normal approximation, as engine laplace has them."""

    def sample(self, *given: Any, **named: Any) -> Posterior:
        """As `Engine.sample`."""
        found = super().sample(*given, **named)
        return replace(found, diagnostics=replace(found.diagnostics, khat=0.1))


def _own(kind: type) -> Any:
    """The same class from outside the package, which does not check it."""
    made = type("Own", (kind,), {"__module__": "own", "name": "own"})
    return made if kind is _Zeros else dataclass(frozen=True)(made)


@dataclass(frozen=True, kw_only=True)
class LostWord:
    """A run that may not say its strict `word` for one reason, beside the run without that reason.

    `base` are the settings of the strict run on `table`, `more()` those that take the word away.
    `key` is the caveat of the reason.
    """

    key: str
    table: pl.DataFrame
    base: Mapping[str, Any]
    more: Callable[[], Mapping[str, Any]]
    word: str = "dp"
    kind: str = "guarantee"

    @property
    def id(self) -> str:
        """For example "guarantee/word-proposed"."""
        return f"guarantee/word-{self.key}"

    def rows(self) -> Iterator[Row]:
        """Make both releases now, and give the row."""
        given: dict[str, Any] = {
            "id": self.id,
            "paper": _PAPER,
            "level": self.kind,
            "python_function": "pyvws.release.synthesize:synthesize",
            "source": "the claim",
        }
        try:
            strict, lost = self._said({}), self._said(self.more())
        except PyvwsError as error:
            missing = isinstance(error, MissingDependencyError)
            yield Row(**given, verdict="skipped" if missing else "fail", reason=str(error))
            return
        told = {
            f"{self.word} without it": strict["guarantee"] == self.word and strict["certified"],
            "another word with it": lost["guarantee"] in ("asymptotic-dp", "none"),
            "no certificate with it": lost["certified"] is None,
            "its caveat": self.key in caveat_keys(lost),
        }
        wrong = [what for what, holds in told.items() if not holds]
        yield Row(
            **given,
            verdict="fail" if wrong else "pass",
            reason=f"Does not hold: {', '.join(wrong)}." if wrong else "",
            measured=f"{strict['guarantee']}, then {lost['guarantee']}",
            measurements=tuple(Measurement(n, float(bool(x)), 1.0, 1.0) for n, x in told.items()),
        )

    def _said(self, more: Mapping[str, Any]) -> dict[str, Any]:
        """The statement of a run; a run that samples has draws of no meaning."""
        engine = {"engine": _Zeros()} if "draws" in self.base else {}
        shared: dict[str, Any] = {**engine, **self.base, **more}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = synthesize(self.table, datasets=1, seed=_SEED, **shared)
        return release.privacy


_JOBS: Final = pl.DataFrame({"job": ["yes", "no", "no"] * 8})
_PAY: Final = pl.DataFrame({"pay": np.arange(24) % 5 + 0.5})
_STRICT: Final[dict[str, Any]] = {"epsilon": 4.0, "weights": "none"}
_SAMPLED: Final = {"mechanism": Censored(**_STRICT), "draws": _DRAWS, "chains": 1}
_OF_PAY: Final = {**_SAMPLED, "outcome": "pay", "model": "normal"}
_LEVELS: Final = ("yes", "no")
_OF_JOB: Final = {**_SAMPLED, "outcome": "job", "model": Nominal(levels=_LEVELS)}
_BY_SCHEMA: Final = {
    **_SAMPLED,
    "schema": Schema({"job": Column(model="nominal", levels=_LEVELS)}),
}


def _histogram(**more: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"epsilon": 1.0, "range": (0.0, 6.0), **more}
    return {"outcome": "pay", "mechanism": PerturbedHistogram(**given)}


def _lost(key: str, more: Callable[[], Mapping[str, Any]]) -> LostWord:
    return LostWord(key=key, table=_PAY, base=_OF_PAY, more=more)


def _of_bins(key: str, **more: Any) -> LostWord:
    base = _histogram()
    return LostWord(
        key=key, table=_PAY, base=base, more=lambda: _histogram(**more), word="dp-if-bounded"
    )


CASES: Final = (
    _lost("weights", lambda: {"mechanism": Censored(epsilon=4.0)}),
    LostWord(key="prepared", table=_JOBS, base=_OF_JOB, more=lambda: {"model": "nominal"}),
    LostWord(
        key="proposed",
        table=_JOBS,
        base=_BY_SCHEMA,
        more=lambda: {"schema": Schema.propose(_JOBS)},
    ),
    _lost("compared", lambda: {"compared": True}),
    _lost("accepts-unconverged", lambda: {"accept_unconverged": True}),
    _lost("approximated", lambda: {"engine": _Approximated()}),
    _lost("unchecked-mechanism", lambda: {"mechanism": _own(Censored)(**_STRICT)}),
    _lost("unchecked-model", lambda: {"model": _own(Normal)()}),
    _lost("unchecked-engine", lambda: {"engine": _own(_Zeros)()}),
    _of_bins("seeded-noise", noise="seeded-float"),
    _of_bins("edges-from-data", range=None, edges_from_data=True),
)
