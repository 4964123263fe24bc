"""Cases of `pyvws.evaluation.combining_rules`: both kinds, intervals, and a regression."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.evaluation.combining_rules import combine, combine_formula
from pyvws.validation._case import Case
from pyvws.validation._draws import Draws, Floats

__all__ = ["CASES", "interval", "regression"]

_SHAPES: Final = ((2,), (5,), (20,))
_LEVELS: Final = (0.95, 0.9, 0.99, 0.5, 0.95)


def interval(estimates: Any, variances: Any, level: float, **options: Any) -> Floats:
    """Both ends of the combined interval."""
    return np.array(combine(estimates, variances, **options).interval(level))


def regression(outcomes: list[Floats], x: Floats, group: Any, kind: Any) -> Floats:
    """Combined coefficients of outcome ~ x + group, then their combined variances."""
    import pandas as pd

    tables = [
        pd.DataFrame({"outcome": outcome, "x": x, "group": group.astype(str)})
        for outcome in outcomes
    ]
    found = combine_formula(tables, "outcome ~ x + group", kind=kind).values()
    return np.array([f.estimate for f in found] + [f.variance for f in found])


def _partial(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Variances larger and smaller than the spread; seed 5 has datasets that agree."""
    (datasets,) = shape
    draws = Draws(seed)
    estimates = draws.bell(datasets, 100.0, 2.0)
    if seed == 5:
        estimates[:] = estimates[0]
    return {"estimates": estimates, "variances": draws.uniform(datasets, 0.5, 2.0 * seed)}


def _full(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Odd seeds have variances so large that T would be negative."""
    arguments = _partial(seed, shape)
    if seed % 2:
        arguments["variances"] = 50.0 * arguments["variances"]
    return {**arguments, "kind": "full", "size_ratio": 0.5 + 0.25 * seed}


def _interval(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    which = _partial if seed % 2 else _full
    return {**which(seed, shape), "level": _LEVELS[seed - 1]}


def _regression(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    (datasets,) = shape
    draws = Draws(seed)
    x, group = draws.bell(40, 10.0, 3.0), draws.whole(40, 3)
    group[:3] = 0, 1, 2
    outcomes = [5.0 + 2.0 * x + 3.0 * group + draws.bell(40, 0.0, 4.0) for _ in range(datasets)]
    return {"outcomes": outcomes, "x": x, "group": group, "kind": "partial"}


def _case(name: str, r_part: str, arguments: Any, part: str | None = None, **more: Any) -> Case:
    place = "pyvws.evaluation.combining_rules:combine"
    return Case(
        id=f"combining_rules/{name}",
        paper="reiter2003" if "full" not in name else "raghunathan2003",
        cites=more.pop("cites", "the combining rules"),
        script="combining_rules",
        r_function=f"combined_{r_part}",
        python_function=more.pop("python_function", place),
        part=part,
        arguments=arguments,
        shapes=_SHAPES,
        **more,
    )


_HELPERS: Final = "pyvws.validation.cases.combining_rules"

CASES: Final = (
    *(
        _case(f"{name}-{part}", part, arguments, part)
        for name, arguments in (("partial", _partial), ("full", _full))
        for part in ("estimate", "variance", "df")
    ),
    _case(
        "interval",
        "interval",
        _interval,
        python_function=f"{_HELPERS}:interval",
        tolerance=4096,
        why=(
            "R and SciPy evaluate the quantile of the t distribution by different series, each to "
            "about 1e-12; an end near 0 shows it in more ulp."
        ),
    ),
    _case(
        "regression",
        "regression",
        _regression,
        python_function=f"{_HELPERS}:regression",
        tolerance=1024,
        why=(
            "R's lm and LAPACK order the operations of a QR decomposition differently: the error "
            "of each is a few ulp times the condition of the design, here about 100."
        ),
    ),
)
