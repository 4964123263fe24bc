"""A table under one clamp: the compiled sampler beside the same sampler with steps in Python.

Both make four chains of the same length on the same target, in turn, on one processor, in one run.
Processor seconds are those of starts and chains; compilation is left out. The effective draws are
the smallest bulk ESS over all parameters. Columns are made up as ten categories of two levels each,
given all before them, and as four of 2, 6, 9 and 12 levels: those of sex, marital status, race and
education in NIST's excerpt of the American Community Survey, where it stands beside the project.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from benchmarks._found import Entry, Found, Plan, Table
from benchmarks._python_nuts import sample_joint_in_python
from benchmarks.tables import SURVEY
from pyvws import Nominal, SamplerSettings
from pyvws._base.checks import Floats
from pyvws._base.cores import one_core
from pyvws.engines.joint_nuts import diagnosed, sample_joint
from pyvws.models.sequence import Conditional
from pyvws.posterior.clamp import Clamp
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
    return Found([Table("A table under one clamp", columns, rows, note)], figures)
