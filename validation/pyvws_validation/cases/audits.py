"""What audits print, where it is known: losses with weights found anew, canaries, a control group.

An audit that errs finds nothing, or too much. So each row has a figure that an audit must reach,
and one that it must not exceed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws.auditing.audit import audit
from pyvws.evaluation.attack_risk import attack_risk
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._measured_case import Findings, MeasuredRow
from pyvws_validation._weights_loss import AT_T, SEED, loss, shapes, table_of
from pyvws_validation.report import Measurement

_NEAR: Final = 0.1  # Of the loss: medians and quantiles of 4,000 draws.


@dataclass(frozen=True, kw_only=True)
class AuditedLoss(MeasuredRow):
    """The losses that `pyvws.audit` prints of the last record, beside those of two runs' weights.

    The record is left out, or is `replaced` by one of the others: of the first level here, and one
    more or less of so many moves the loss little.
    """

    outside: str = "Not what two runs with weights of their own lose"
    source: str = "the Dirichlet densities of two runs"
    digits: str = ",.4g"
    settings: Mapping[str, Any] = field(default_factory=dict)
    counts: tuple[int, ...] = (500, 499, 1)
    replaced: bool = False

    @property
    def function(self) -> str:
        return "pyvws.auditing.audit:audit"

    def found(self) -> Findings:
        table, schema = table_of(self.counts)
        settings = {"mechanism": "lw", "datasets": 1, "seed": SEED, **self.settings}
        audited = audit(table, records=1, replace=self.replaced, schema=schema, **settings)
        other = (self.counts[0] + self.replaced, *self.counts[1:-1], 0)
        one, none = (shapes(counts, **self.settings)[0] for counts in (self.counts, other))
        itself, row = audited.rows
        tail = max(loss(one, none, 0.99), loss(none, one, 0.99))
        spread = _NEAR * max(tail, 0.5)
        figures = {
            "of which 99 in 100 draws stay below": (row.loss, tail),
            "of half of the draws with it": (row.median, loss(one, none)),
            "of half of the draws without it": (row.median_without, loss(none, one)),
            "of the table itself": (10.0 * spread * itself.loss, 0.0),
        }
        return Findings(
            tuple(
                Measurement(f"loss {what}", found, right - spread, right + spread)
                for what, (found, right) in figures.items()
            )
        )


@dataclass(frozen=True, kw_only=True)
class GuessedCanaries(MeasuredRow):
    """The epsilon that guesses at canaries show: some share of the claim, and not more than it."""

    outside: str = "No epsilon that guesses from noisy counts can show"

    @property
    def function(self) -> str:
        return "pyvws.auditing.canaries:canary_audit"

    def found(self) -> Findings:
        sizes, rng = {"a": 20, "b": 15, "c": 12}, np.random.default_rng(1)
        levels = {name: [f"{name}{place}" for place in range(n)] for name, n in sizes.items()}
        columns = {n: Column(model="table", levels=own, predictors=()) for n, own in levels.items()}
        found = audit(
            pl.DataFrame({name: rng.choice(own, 300) for name, own in levels.items()}),
            canaries=1000,
            schema=Schema(columns),
            mechanism="noisy-counts",
            measure="a:b:c",
            epsilon=_CLAIM,
        )
        return Findings((Measurement("epsilon at 95 %", found.bound, 0.1 * _CLAIM, _CLAIM),))


@dataclass(frozen=True, kw_only=True)
class ControlGroup(MeasuredRow):
    """Attacks on records that are released, whose risk is 1, and on records of which nothing is.

    A control group that is no control group hides the first risk.
    """

    outside: str = "Not the risk of what is released"

    @property
    def function(self) -> str:
        return "pyvws.evaluation.attack_risk:attack_risk"

    def found(self) -> Findings:
        made = np.random.default_rng(1).normal(size=(3, 300, 3))
        records, control, other = (pl.DataFrame(own, schema=["a", "b", "c"]) for own in made)
        measured = []
        for what, released, low, high in (
            ("the records", records, 0.9, 1.0 + 1e-9),
            ("other records", other, -0.15, 0.15),
        ):
            risk = attack_risk(records, [released], control=control, keys=["a", "b"], secret="c")
            measured += [
                Measurement(f"{score.name} where {what} are released", score.risk, low, high)
                for score in risk.scores
                if score.name in ("linkability", "inference c")
            ]
        return Findings(tuple(measured))


_CLAIM: Final = 2.0

CASES: Final[tuple[MeasuredRow, ...]] = (
    AuditedLoss(id="guarantee/audit-lw", paper="vws2024, Algorithm 1"),
    AuditedLoss(
        id="guarantee/audit-inverse",
        paper="vws2024, section 2.1, under a map of pyvws",
        settings=AT_T,
    ),
    AuditedLoss(
        id="guarantee/audit-replaced",
        paper="vws2024, Algorithm 1",
        counts=(700, 299, 1),
        replaced=True,
    ),
    GuessedCanaries(id="guarantee/audit-canaries", paper="steinke2023"),
    ControlGroup(id="guarantee/control-group", paper="giomi2023", source="what is released"),
)
