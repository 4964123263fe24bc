"""A case whose row passes by measured numbers within limits, not by equal bits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from pyvws.errors import MissingDependencyError, PyvwsError
from pyvws_validation.report import Measurement, Row, Verdict


class Findings(NamedTuple):
    """The numbers of a case; a `reason` that fails it whatever they are; their words, seeds."""

    measurements: tuple[Measurement, ...]
    reason: str = ""
    words: str = ""
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MeasuredRow(ABC):
    """One row of measured numbers; it is "skipped" where what it needs is not installed."""

    kind: ClassVar[str] = "guarantee"
    source: ClassVar[str] = "the claim"
    shapes: ClassVar[tuple[tuple[int, ...], ...]] = ()
    outside: ClassVar[str] = "Outside its limits"
    digits: ClassVar[str] = ".3g"
    id: str
    paper: str

    @property
    def function(self) -> str:
        """What the case runs, as "module:function"."""
        return "pyvws.release.synthesizer:synthesize"

    @abstractmethod
    def found(self) -> Findings:
        """Measure now."""

    def rows(self) -> Iterator[Row]:
        verdict: Verdict
        try:
            findings = self.found()
            wrong = [x.what for x in findings.measurements if not x.low <= x.value <= x.high]
            limits = f"{self.outside}: {', '.join(wrong)}." if wrong else ""
            reason = findings.reason or limits
            verdict = "fail" if reason else "pass"
        except PyvwsError as error:
            verdict = "skipped" if isinstance(error, MissingDependencyError) else "fail"
            findings, reason = Findings(()), str(error)
        numbers = "; ".join(f"{x.what}: {x.value:{self.digits}}" for x in findings.measurements)
        yield Row(
            id=self.id,
            paper=self.paper,
            level=self.kind,
            python_function=self.function,
            seeds=findings.seeds,
            shapes=self.shapes,
            verdict=verdict,
            reason=reason,
            source=self.source,
            measured=findings.words or numbers,
            measurements=findings.measurements,
        )
