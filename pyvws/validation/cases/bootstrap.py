"""Cases of `pyvws.evaluation.bootstrap`: pooled estimates and intervals under R's seed."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.evaluation import bootstrap as package
from pyvws.r_numbers import rarith
from pyvws.validation._case import Case
from pyvws.validation._draws import Draws

__all__ = ["CASES", "bootstrap_interval"]

_SHAPES: Final = ((2,), (15,), (100,))
_STATISTICS: Final = {
    "mean": rarith.mean,
    "median": lambda x: rarith.quantile(x, 0.5),
    "q90": lambda x: rarith.quantile(x, 0.9),
    "variance": rarith.var,
}
_NAMES: Final = ("mean", "q90", "variance", "median", "mean")
_LEVELS: Final = (0.95, 0.9, 0.99, 0.95, 0.8)


def bootstrap_interval(statistic: str, **arguments: Any) -> package.BootstrapInterval:
    """The interval of a statistic that both sides know by name."""
    return package.bootstrap_interval(statistic=_STATISTICS[statistic], **arguments)


def _datasets(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """One to five datasets, counts or amounts; samples of another size than the dataset."""
    (records,) = shape
    draws = Draws(seed)
    datasets = [draws.counts(records + number) for number in range(seed)]
    if seed % 2 == 0:
        datasets = [np.asarray(values) * 1.1 for values in datasets]
    return {
        "datasets": datasets,
        "statistic": _NAMES[seed - 1],
        "n": records if seed < 4 else records + 3,
        "replicates": 40 + seed,
        "seed": 100 * seed + records,
        "level": _LEVELS[seed - 1],
    }


def _case(part: str) -> Case:
    return Case(
        id=f"bootstrap/{part}",
        paper="risk2024",
        cites="section 2.3.1",
        script="bootstrap",
        r_function=f"bootstrap_{part}",
        python_function="pyvws.validation.cases.bootstrap:bootstrap_interval",
        part=part,
        arguments=_datasets,
        shapes=_SHAPES,
    )


CASES: Final = (_case("estimate"), _case("lower"), _case("upper"))
