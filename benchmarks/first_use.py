"""What the first run of a family costs: kernels are compiled then, and kept for later runs.

Each run has a process of its own. It makes one dataset under `lw` from 500 records and one
predictor, or datasets of three columns under `noisy-counts`. The first of a family has an empty
cache, and the second that which the first left. Seconds are those of the processor since the
process began, imports included.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks._found import Entry, Found, Plan, Table
from benchmarks._worker import Worker
from pyvws import Schema, synthesize
from pyvws.tables.schema.column import Column

__all__ = ["run"]

_N: Final = 500
_OUTCOMES: Final[dict[str, Callable[[np.random.Generator], Any]]] = {
    "negative-binomial": lambda rng: rng.negative_binomial(3, 0.1, _N),
    "normal": lambda rng: rng.normal(size=_N).round(2),
    "beta": lambda rng: rng.beta(2.0, 3.0, _N).round(3).clip(0.001, 0.999),
    "nominal": lambda rng: rng.choice(["a", "b", "c"], _N),
    "normal-mixture": lambda rng: rng.normal(size=_N).round(2),
}


def one_run(model: str) -> float:
    """Processor seconds of this process once it has made a dataset."""
    rng = np.random.default_rng(1)
    if model == "noisy-counts":
        columns = {name: Column(model="nominal", levels=("0", "1", "2")) for name in "abc"}
        table = pd.DataFrame({name: rng.integers(0, 3, _N) for name in columns})
        synthesize(table, schema=Schema(columns), mechanism=model, epsilon=1.0, seed=1)
        return time.process_time()
    table = pd.DataFrame({"y": _OUTCOMES[model](rng), "x": rng.choice(["no", "yes"], _N)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        synthesize(table, outcome="y", formula="~ x", model=model, mechanism="lw", g=0.1, seed=1)
    return time.process_time()


@contextmanager
def _empty_cache() -> Iterator[None]:
    """Processes that start within keep what they compile in a folder that is new."""
    before = os.environ.get("NUMBA_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        try:
            yield
        finally:
            del os.environ["NUMBA_CACHE_DIR"]
            if before is not None:
                os.environ["NUMBA_CACHE_DIR"] = before


def run(plan: Plan) -> Found:
    """A row a family; one family where small."""
    rows: list[tuple[Entry, ...]] = []
    for model in [*_OUTCOMES, "noisy-counts"][: 1 if plan.small else None]:
        with _empty_cache():
            taken = []
            for _ in range(2):
                with Worker() as worker:
                    taken.append(float(worker.ask(one_run, model)))
        first, second = taken
        rows.append((model, round(first, 1), round(second, 1), round(first - second, 1)))
        plan.say(f"  {model}: {first:.1f} s, then {second:.1f} s")
    note = " ".join((__doc__ or "").split("\n\n", 1)[1].split())
    columns = ("family", "first run, s", "second run, s", "compiling, s")
    return Found([Table("First use", columns, rows, note)])
