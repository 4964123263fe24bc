"""Growth of pairwise weights and of the risk of 20 synthetic datasets; the authors' functions.

Amounts are log-normal, the radius is 20 %. Each size runs in a process of its own, so that its peak
memory is its own, Python and the data included. Seconds are those of the call alone.

With a checkout of the risk-efficient paper's public scripts, their functions run on the same
records as ours: pairwise weights, and the risk of three synthetic datasets. Theirs run once a size,
ours a thousand times, of which the median counts, both in processor seconds. The numbers must
agree.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np
import pandas as pd
from pyvws_studies.own_process import peak_gigabytes
from pyvws_validation.authors import find_functions

from benchmarks._found import Entry, Found, Plan, Table
from benchmarks._worker import Worker
from pyvws import identification_risk, pairwise_weights
from pyvws.r import bridge

__all__ = ["run"]

_THEIRS = {"pairwise weights": "IdentificationRisk_pw", "risk": "IdentificationRisk"}
_COMPARED = 3  # Synthetic datasets whose risk is compared.
_PATTERNS = 4


def amounts(records: int) -> tuple[np.ndarray, np.ndarray]:
    """Log-normal amounts and one of four patterns for each."""
    random = np.random.default_rng(1)
    return random.lognormal(4.0, 1.0, records), random.integers(0, _PATTERNS, records)


def pairwise(records: int, patterns: bool) -> tuple[float, float]:
    """Seconds and peak gigabytes of the pairwise weights of so many records."""
    y, pattern = amounts(records)
    known = pattern if patterns else None
    pairwise_weights(y[:9], known=None if known is None else known[:9], singletons="weight-zero")
    start = perf_counter()
    pairwise_weights(y, known=known, singletons="weight-zero")
    return perf_counter() - start, peak_gigabytes()


def risk(records: int, patterns: bool, datasets: int = 20) -> tuple[float, float]:
    """Seconds and peak gigabytes of the averaged risk of synthetic datasets."""
    y, pattern = amounts(records)
    known = pattern if patterns else None
    random = np.random.default_rng(2)
    synthetic = [y * random.lognormal(0.0, 0.3, records) for _ in range(datasets)]
    start = perf_counter()
    identification_risk(y, synthetic, known=known)
    return perf_counter() - start, peak_gigabytes()


def beside_theirs(checkout: Path, what: str, records: int) -> tuple[float, float]:
    """Processor seconds of the authors' function and of ours for the same numbers."""
    y, name = amounts(records)[0], _THEIRS[what]
    random = np.random.default_rng(2)
    datasets = [y * random.lognormal(0.0, 0.3, records) for _ in range(_COMPARED)]
    if what == "pairwise weights":
        datasets = [y]  # The confidential data stand in for a synthetic dataset.
    arguments = {
        "origdata": pd.DataFrame({"outcome": y}),
        "syndata": [pd.DataFrame({"outcome": values}) for values in datasets],
        "syn.vars": "outcome",
        "m": len(datasets),
        "n": records,
        "r": 0.2,
    }
    call = {"code": find_functions(checkout)[name].code, "name": name, "arguments": arguments}
    theirs = bridge.call("authors", "time_function", call)
    times = []
    for _ in range(1000):
        start = process_time()
        ours = pairwise_weights(y) if len(datasets) == 1 else identification_risk(y, datasets)
        times.append(process_time() - start)
    np.testing.assert_allclose(ours, theirs["value"], rtol=0, atol=1e-12)
    return float(theirs["seconds"][0]), median(times)


def run(plan: Plan) -> Found:
    """Growth, and the authors' function where their scripts are given."""
    powers = range(3, 6 if plan.small else min(plan.largest, 7) + 1)
    rows: list[tuple[Entry, ...]] = []
    for name, job in (("pairwise weights", pairwise), ("risk of 20 datasets", risk)):
        for records in [10**power for power in powers if job is pairwise or power < 7]:
            for patterns in (False, True):
                with Worker() as worker:
                    seconds, memory = worker.ask(job, records, patterns)
                rows.append((name, records, _PATTERNS if patterns else 1, seconds, memory))
    columns = ("what", "records", "patterns", "seconds", "peak GB")
    tables = [Table("Pairwise weights and risk", columns, rows)]
    left_out = []
    if plan.authors is None:
        left_out.append("the authors' functions: no checkout of their scripts was given")
    else:
        compared: list[tuple[Entry, ...]] = []
        for what, name in _THEIRS.items():
            for records in (100, 200, 300):
                with Worker() as worker:
                    theirs, ours = worker.ask(beside_theirs, plan.authors, what, records)
                compared.append((what, name, records, theirs, ours, theirs / ours))
        heads = ("what", "theirs", "records", "theirs, s", "pyvws, s", "theirs over pyvws")
        tables.append(Table("The authors' functions in R", heads, compared))
    return Found(tables, {}, left_out)
