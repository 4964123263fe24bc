"""Losses of whole runs whose units of privacy have several records, and their databases.

A database is a tuple of units, and a unit a tuple of its records. Neighbours have one whole unit
more, less or another, of any size. A run whose window were each record's own would lose its epsilon
once for each record of a unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.mechanisms.censored import Censored
from pyvws.release.synthesizer import Synthesizer
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.members import read_members
from pyvws.tables.schema.schema import Schema
from pyvws_validation._grid_engine import EnumeratedGrid, grid
from pyvws_validation._measured_case import OF_DRAWS, expected
from pyvws_validation._privacy_loss import Losses, Runs

_SEED: Final = 2**60 + 1
_ROWS: Final = 2  # The public number of rows.


@dataclass(frozen=True, kw_only=True)
class UnitRuns(Runs):
    """Runs of Censored on tables of units, by a schema, on points (G, D), unconstrained.

    A record has one value a column of `names`. `own` are settings of the mechanism. Where the
    schema has members, rows are those of whole units, and their number is the table's own.
    """

    schema: Schema
    names: tuple[str, ...]
    clamp: str
    points: Floats
    own: Mapping[str, Any] = field(default_factory=lambda: {"weights": "none"})

    def log_probabilities(
        self, outcomes: tuple[Any, ...], epsilon: float, losses: Losses
    ) -> Floats:
        """Log posterior of each point of the grid."""
        records = [
            (f"unit {number}", *record) for number, unit in enumerate(outcomes) for record in unit
        ]
        table = pl.DataFrame(records, schema=["home", *self.names], orient="row")
        engine: Any = EnumeratedGrid(self.points)
        run = Synthesizer(
            schema=self.schema,
            mechanism=Censored(epsilon=epsilon, clamp=self.clamp, **self.own),
            records=_ROWS if self.schema.members is None else None,
            datasets=1,
            settings=SamplerSettings(draws=100, chains=1),
            engine=engine,
        )
        with expected(*OF_DRAWS):
            # The run warns the agency that the clamp left only the prior, and of the draws' misfit.
            statement = run.fit(table, seed=_SEED).privacy
        losses.hear(statement, "leave-one-out", epsilon)
        return engine.log_posterior


def _units(columns: Mapping[str, Column], **more: Any) -> Schema:
    return Schema({"home": Column(role="drop"), **columns}, unit="home", **more)


_LOG_1000: Final = float(np.log(1000.0))
_VISITS: Final = _units({"visits": Column(model="poisson", range=(0, 2.0**53))})
_PAY: Final = _units({"pay": Column(model="normal", range=(-1e9, 1e12))})
_COIN: Final = Column(model="table", levels=("no", "yes"), settings={"concentration": 0.01})
_PAIR: Final = _units({"owner": _COIN, "ill": replace(_COIN, predictors=("owner",))})
_RULED: Final = _units(
    {
        "owner": _COIN,
        "ill": replace(_COIN, predictors=("owner",), rule="never yes where owner == 'no'"),
    }
)
"""Records without a house that are ill break the rule, and have no term there."""
_MEMBERS: Final = Schema(
    {"home": Column(role="id"), "ill": replace(_COIN, predictors=())},
    unit="home",
    members=read_members({"sizes": [1, 3], "summaries": {"persons": "size"}}),
)
_SHARES: Final = (-30.0, 0.0)

_COUNTED: Final[dict[str, Any]] = {
    "bases": ((((0,),) * 2,) * 6, (((0,),), ((3,), (1000,)), ((0,),))),
    "extremes": (((0,),) * 3, ((1000,),) * 2, ((1000,), (0,), (2**53,))),
}
_AMOUNTS: Final[dict[str, Any]] = {
    "bases": ((((0.0,),) * 3,) * 3, (((-5.0,), (700.0,)), ((0.0,),))),
    "extremes": (((0.0,),), ((700.0,),) * 2, ((0.0,), (-7e8,), (1e9,))),
}
_PAIRS: Final[dict[str, Any]] = {
    "bases": (
        ((("no", "no"),) * 2,) * 20,
        ((("no", "yes"), ("yes", "yes")), (("no", "no"),), (("yes", "no"),) * 2),
    ),
    "extremes": ((("no", "no"),), (("yes", "yes"),) * 2, (("no", "yes"), ("yes", "no")) * 2),
}
_HOMES: Final[dict[str, Any]] = {
    "bases": (((("no",),) * 3,) * 30, ((("yes",), ("no",)), (("no",),), (("yes",),) * 3)),
    "extremes": ((("no",),), (("yes",),) * 2, (("no",), ("yes",), ("yes",)), (("no",),) * 3),
}


def _runs(schema: Schema, names: str, clamp: str, *axes: Any, **given: Any) -> UnitRuns:
    names_of = tuple(names.split())
    return UnitRuns(schema=schema, names=names_of, clamp=clamp, points=grid(*axes), **given)


_LOW: Final = {"own": {"weights": "constant", "c": 0.4}}
_CENTRES: Final = ([-700.0, 0.0, 700.0], [0.0], [-7.0, 0.0, 6.0])
_MEANS: Final = ([-30.0, -3.0, 0.0, _LOG_1000, 36.0], [0.0])

UNITS: Final[dict[str, UnitRuns]] = {
    "deviance-poisson": _runs(_VISITS, "visits", "deviance", *_MEANS, **_COUNTED),
    "censored-normal": _runs(_PAY, "pay", "half", *_CENTRES, **_AMOUNTS),
    "deviance-tables": _runs(_PAIR, "owner ill", "deviance", *(_SHARES,) * 6, **_PAIRS),
    "deviance-never": _runs(_RULED, "owner ill", "deviance", *(_SHARES,) * 6, **_PAIRS),
    "deviance-weight-0.4": _runs(_PAIR, "owner ill", "deviance", *(_SHARES,) * 6, **_LOW, **_PAIRS),
    "deviance-members": _runs(_MEMBERS, "ill", "deviance", *(_SHARES,) * 5, **_HOMES),
}
"""Runs of units by name."""
