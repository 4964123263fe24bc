"""A table under one clamp: the compiled sampler beside the same sampler with steps in Python.

Both make four chains of the same length on the same target, in turn, on one processor, in one run.
Processor seconds are those of starts and chains; compilation is left out. The effective draws are
the smallest bulk ESS over all parameters. The tables are 1,500 records of NIST's excerpt of the
American Community Survey, where that stands beside the project: ten columns as two levels each,
given all before them, and sex, marital status, race and education with all levels of the records.

Ten columns of all records, most of them conditional tables, are also run whole, with the tables'
rows moved by steps of their own and by NUTS as the other columns are.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import polars as pl
from pyvws_studies.whole_tables import DESIGNS

from benchmarks._found import Entry, Found, Plan, Table
from benchmarks._python_nuts import sample_joint_in_python
from benchmarks.households import FILE, read_households
from benchmarks.households import SCHEMA as HOUSEHOLDS
from benchmarks.tables import SURVEY
from pyvws import Censored, SamplerSettings, Schema, Synthesizer
from pyvws._base.checks import Floats
from pyvws._base.cores import one_core
from pyvws.engines import nuts
from pyvws.engines.nuts import NativeEngine, diagnosed, sample_joint
from pyvws.evaluation.k_marginal import k_marginal
from pyvws.families import Nominal
from pyvws.models.sequence import Conditional
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.draws import Posterior
from pyvws.posterior.joint_target import JointTarget
from pyvws.tables.design.cells import make_cells

__all__ = ["run", "table_of"]

_RECORDS: Final = 1500
_EPSILON, _WEIGHT = 12.0, 0.5
_BRIEF: Final = SamplerSettings(draws=4, warmup=100, chains=1)
_FLOORS: Final = {
    "ten of two levels": "joint: compiled over Python, ten columns",
    "four of many levels": "joint: compiled over Python, four columns",
}


def table_of(columns: Mapping[str, tuple[Floats, int]]) -> JointTarget:
    """The clamped target of columns' codes (n,) from 0 on and numbers of levels, in sequence."""
    made: list[Conditional] = []
    n = len(next(iter(columns.values()))[0])
    design = np.ones((n, 1))
    for name, (codes, levels) in columns.items():
        model: Any = Nominal(levels=tuple(map(str, range(levels))))
        cells = make_cells(model.encode(codes + 1.0), np.ascontiguousarray(design))
        made.append(Conditional(name, model, cells))
        dummies = [(codes == level).astype(float) for level in range(1, levels)]
        design = np.column_stack([design, *dummies])
    return JointTarget(tuple(made), np.full(n, _WEIGHT), Clamp(_EPSILON, "deviance"))


def _survey() -> dict[str, JointTarget]:
    whole = pl.read_csv(SURVEY, infer_schema=False).sample(_RECORDS, seed=1)
    truths = {
        **dict.fromkeys(("SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT"), "1"),
        **{"DVET": "N", **dict.fromkeys(("DREM", "DPHY", "DEYE", "DEAR"), "1")},
    }
    two = {
        name: ((whole[name] == truth).to_numpy().astype(float), 2) for name, truth in truths.items()
    }
    many = {}
    for name in ("SEX", "MSP", "RAC1P", "EDU"):
        levels, codes = np.unique(whole[name].to_numpy(), return_inverse=True)
        many[name] = (codes.astype(float), len(levels))
    return {"ten of two levels": table_of(two), "four of many levels": table_of(many)}


def _one(target: JointTarget, settings: SamplerSettings) -> tuple[Entry, ...]:
    """ESS and processor seconds compiled, then in Python, and the ratio of the seconds."""
    with one_core():
        sample_joint(target, _BRIEF, seed=1)  # Compiles.
        began = time.process_time()
        posterior = sample_joint(target, settings, seed=1)
        fast = time.process_time() - began
        sample_joint_in_python(target, _BRIEF, seed=1)
        began = time.process_time()
        q = sample_joint_in_python(target, settings, seed=1)
        slow = time.process_time() - began
    own = diagnosed(target, q, 0).ess_bulk_min
    return posterior.diagnostics.ess_bulk_min, fast, own, slow, slow / fast


_MIXED_EPSILON, _MISFIT = 4.0, 16.0
_LOGITS: Final = ("SEX", "DVET", "DEYE")
_INCOME: Final = replace(  # Dollars a year, of the other survey's study.
    DESIGNS["ce_2017"].columns["Income"],
    missing="N",
    part={"model": "table"},
    predictors=("AGEP", "SEX"),
)
_INCOMES: Final = (0, 1, 1e4, 2e4, 4e4, 6e4, 1e5, 1.5e5, 2.5e5)


def mixed_tables() -> dict[str, tuple[Schema, pl.DataFrame]]:
    """The study's ten columns, three of them logits and seven conditional tables, as they are and
    with the income itself in the place of its decile.
    """
    design = DESIGNS["ma2019"]
    whole = pl.read_csv(SURVEY, infer_schema=False)
    table = design.prepare(whole.select(design.source)).with_columns(PINCP=whole["PINCP"])
    columns = dict(design.schema(exact=True).columns)
    for name in _LOGITS:
        columns[name] = replace(design.columns[name], predictors=design.patterns[name])
    income = {"PINCP" if name == "PINCP_DECILE" else name: own for name, own in columns.items()}
    income["PINCP"] = _INCOME
    return {
        "three logits": (Schema(columns), table.select(list(columns))),
        "three logits and a number": (Schema(income), table.select(list(income))),
    }


@dataclass
class _Measured:
    """The native engine, with the processor seconds and the diagnostics of its last fit."""

    by_rows: bool
    name: str = "native"
    seconds: float = 0.0
    ess: float = 0.0
    column: str = ""
    parameters: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(NativeEngine(), name)

    def sample_table(
        self, target: JointTarget, settings: SamplerSettings, **given: Any
    ) -> Posterior:
        """As the native engine; NUTS moves all columns where rows are not asked for."""
        none: Any = patch.object(nuts, "rows_of", lambda target: (None,) * len(target.columns))
        with one_core(), nullcontext() if self.by_rows else none:
            sample_joint(target, _BRIEF, seed=1)  # Compiles.
            began = time.process_time()
            posterior = sample_joint(target, settings, **given)
        self.seconds = time.process_time() - began
        self.ess = posterior.diagnostics.ess_bulk_min
        self.column = posterior.diagnostics.column or ""
        self.parameters = target.dimension
        return posterior


def _mixed(plan: Plan) -> Table:
    """Whole runs of each mixed table, both ways in turn."""
    rows: list[tuple[Entry, ...]] = []
    settings = SamplerSettings(draws=200, warmup=100, chains=2)
    for name, (schema, table) in mixed_tables().items():
        for seed in range(1 if plan.small else 3):
            for way in ("NUTS alone", "rows and NUTS"):
                engine: Any = _Measured(by_rows=way != "NUTS alone")
                run = Synthesizer(
                    schema=schema,
                    mechanism=Censored(
                        epsilon=_MIXED_EPSILON, weights="constant", c=_MIXED_EPSILON / _MISFIT
                    ),
                    records=len(table),
                    datasets=5,
                    settings=settings,
                    engine=engine,
                )
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    made = run.fit(table, seed=(1 << 60) + seed).datasets
                bins = {"PINCP": _INCOMES} if "PINCP" in table.columns else {}
                score = k_marginal(table, made, bins=bins).score
                rate = engine.ess / engine.seconds
                rows.append((name, way, engine.ess, engine.seconds, rate, score))
                plan.say(f"  {name}, {way}: {rate:.2f} effective draws a second")
    columns = ("other columns", "way", "ESS", "processor s", "ESS a second", "k-marginal")
    note = (
        "Ten columns of all records, the others conditional tables, at epsilon 4 and the constant "
        "weight 1/4. Two chains of 200 draws after a warm-up of 100, and five datasets, in turn on "
        "one processor. The ESS is the smallest bulk ESS over the shares that records have and all "
        "other parameters."
    )
    return Table("A table of several families under one clamp", columns, rows, note)


def _units(plan: Plan) -> Table:
    """Whole households of conditional tables."""
    engine: Any = _Measured(by_rows=True)
    draws = 50 if plan.small else 160  # What the run holds at most is 331 in all.
    run = Synthesizer(
        schema=str(HOUSEHOLDS),
        mechanism=Censored(epsilon=8.0, weights="constant", c=0.2),
        datasets=1,
        settings=SamplerSettings(draws=draws, warmup=100, chains=2),
        engine=engine,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run.fit(read_households(FILE), seed=1 << 60)
    row = (engine.parameters, 2 * draws, engine.ess, engine.column, engine.seconds)
    plan.say(f"  households: {engine.ess:.0f} effective of {2 * draws} draws")
    columns = ("shares", "draws", "ESS", "slowest column", "processor s")
    note = (
        "The households of the part households, whole units at epsilon 8 and the constant weight "
        "0.2, all columns conditional tables: two chains after a warm-up of 100."
    )
    return Table("Whole units under one clamp", columns, [row], note)


def run(plan: Plan) -> Found:
    """Both samplers on both tables."""
    if not SURVEY.is_file():
        return Found([], {}, ["ma2019.csv, which is not beside the project"])
    length = 100 if plan.small else 300
    rows: list[tuple[Entry, ...]] = []
    figures: dict[str, float] = {}
    for name, target in _survey().items():
        found = _one(target, SamplerSettings(draws=length, warmup=length))
        rows.append((name, target.dimension, *found))
        figures[_FLOORS[name]] = float(found[-1])
        plan.say(f"  {name}: {found[-1]:.1f} times")
    columns = (
        *("columns", "parameters", "ESS", "processor s"),
        *("ESS in Python", "processor s in Python", "times"),
    )
    note = " ".join((__doc__ or "").split("\n\n", 1)[1].split())
    tables = [Table("A table under one clamp", columns, rows, note), _mixed(plan)]
    left_out = [] if FILE.is_file() else [f"{FILE.name}, which is not beside the project"]
    return Found([*tables, *([] if left_out else [_units(plan)])], figures, left_out)
