"""A case whose row passes by measured numbers within limits, not by equal bits."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from pyvws.errors import (
    ConvergenceWarning,
    DisclosureWarning,
    MisfitWarning,
    MissingDependencyError,
    PyvwsError,
)
from pyvws_validation.report import Measurement, Row, Verdict

OF_DRAWS = ConvergenceWarning, MisfitWarning
"""Draws are few, or known ones that fit no table."""
OF_TABLES = DisclosureWarning, MisfitWarning
"""Tables are so small that a column tells of another one."""


@contextmanager
def expected(*kinds: type[Warning]) -> Iterator[None]:
    """Leave out the warnings of these kinds, which a case's run gives for good reason."""
    with warnings.catch_warnings():
        for kind in kinds:
            warnings.simplefilter("ignore", kind)
        yield


class Findings(NamedTuple):
    """The numbers of a case; a `reason` that fails it whatever they are; words, seeds, source."""

    measurements: tuple[Measurement, ...]
    reason: str = ""
    words: str = ""
    seeds: tuple[int, ...] = ()
    source: str = ""

    @classmethod
    def limited(cls, words: str, *differences: tuple[str, float, float]) -> Findings:
        """Differences, each (name, size, the largest size that passes), and the same in words."""
        return cls(
            tuple(Measurement(what, float(size), 0.0, high) for what, size, high in differences),
            words=words,
        )

    @property
    def wrong(self) -> list[str]:
        """The names of the numbers outside their limits."""
        return [x.what for x in self.measurements if not x.low <= x.value <= x.high]

    @property
    def passed(self) -> bool:
        return not (self.reason or self.wrong)


@dataclass(frozen=True, kw_only=True)
class MeasuredRow(ABC):
    """One row of measured numbers; it is "skipped" where what it needs is not installed."""

    id: str
    paper: str
    kind: str = "guarantee"
    source: str = "the claim"
    shapes: tuple[tuple[int, ...], ...] = ()
    outside: str = "Outside its limits"
    digits: str = ".3g"

    @property
    def function(self) -> str:
        """What the case runs, as "module:function"."""
        return "pyvws.release.synthesizer:synthesize"

    @property
    def programs(self) -> str:
        """What stands on the other side, if that is a program."""
        return ""

    @abstractmethod
    def found(self) -> Findings:
        """Measure now."""

    def rows(self) -> Iterator[Row]:
        verdict: Verdict
        try:
            findings = self.found()
            limits = f"{self.outside}: {', '.join(findings.wrong)}." if findings.wrong else ""
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
            r_function=self.programs,
            python_function=self.function,
            seeds=findings.seeds,
            shapes=self.shapes,
            verdict=verdict,
            reason=reason,
            source=findings.source or self.source,
            measured=findings.words or numbers,
            measurements=findings.measurements,
        )
