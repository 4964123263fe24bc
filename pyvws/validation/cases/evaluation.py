"""Cases of `pyvws.evaluation`: utility, match risks, top-coding, bootstrap and combining rules."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.evaluation import bootstrap, whack_a_mole
from pyvws.evaluation.combining_rules import combine, combine_formula
from pyvws.r_numbers import rarith
from pyvws.validation._case import Case, cases_of
from pyvws.validation._draws import Draws, Floats

_HERE: Final = "pyvws.validation.cases.evaluation"
_EVALUATION: Final = "pyvws.evaluation"

# Match risks

_RADII_AS_SHARES: Final = (0.2, 0.3, 0.1, 0.05, 1.0)
_RADII: Final = (4.0, 2.0, 1.0, 0.5, 40.0)


def _one_outcome(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Whole distances, so that values lie on the edge of a ball, or shares of small amounts."""
    (records,) = shape
    draws = Draws(seed)
    original = draws.amounts(records) if seed == 2 else draws.counts(records)
    kind = "absolute" if seed % 2 else "percentage"
    return {
        "original": original,
        "synthetic": [original + draws.whole(records, 11) - 5.0 for _ in range(1 + seed % 4)],
        "radius": _RADII[seed - 1] if seed % 2 else _RADII_AS_SHARES[seed - 1],
        "radius_kind": kind,
        "known": Draws(seed + 50).whole(records, 3),
        "ball": "open" if seed < 4 else "closed",
    }


def _several(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Two or three outcomes with ties and zeros; box and ellipsoid, open and closed."""
    (records,) = shape
    outcomes = 2 + seed % 2
    draws = Draws(seed)
    size = records * outcomes
    original = draws.whole(size, 7).astype(np.float64).reshape(records, outcomes)
    moves = [draws.whole(size, 3).reshape(records, outcomes) - 1.0 for _ in range(1 + seed % 3)]
    return {
        "original": original,
        "synthetic": [original + move for move in moves],
        "radius": 0.5 if seed < 3 else np.array([1.0, 2.0, 1.5][:outcomes]),
        "radius_kind": "percentage" if seed < 3 else "absolute",
        "norm": "euclidean" if seed in (2, 3, 4) else "box",
        "ball": "open" if seed % 2 else "closed",
    }


_match_risk = cases_of(
    "match_risk",
    paper="hornby2021",
    cites="the three match risks",
    python_function=f"{_EVALUATION}.match_risk:match_risk",
    shapes=((1,), (12,), (50,)),
)
_MATCH_RISK: Final = tuple(
    _match_risk(f"{name}{more}", function, arguments, part=name.replace("-", "_"))
    for more, arguments in (("", _one_outcome), ("-several", _several))
    for name, function in (
        ("expected", "expected_match_risk"),
        ("true-rate", "true_match_rate"),
        ("false-rate", "false_match_rate"),
        ("by-record", "match_risk_by_record"),
    )
)

# U_m and U_a


def _numbers(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """One to five datasets of other sizes than the original; counts tie, amounts do not."""
    (records,) = shape
    draws = Draws(seed)
    values = draws.counts if seed % 2 else draws.amounts
    synthetic = [values(records + number) for number in range(seed)]
    original = values(records)
    if seed == 3:
        synthetic[1] = original.copy()
    return {"original": original, "synthetic": synthetic}


_ecdf = cases_of(
    "ecdf",
    paper="risk2024",
    cites="utility measures U_m and U_a",
    python_function=f"{_EVALUATION}.ecdf:ecdf_utility",
    shapes=((1,), (11,), (70,)),
)
_ECDF: Final = tuple(
    _ecdf(part, f"ecdf_{part}", _numbers, part=part) for part in ("maximum", "average")
)

# Pooled estimates and intervals under R's seed

_STATISTICS: Final = {
    "mean": rarith.mean,
    "median": lambda x: rarith.quantile(x, 0.5),
    "q90": lambda x: rarith.quantile(x, 0.9),
    "variance": rarith.var,
}
_NAMES: Final = ("mean", "q90", "variance", "median", "mean")
_BOOTSTRAP_LEVELS: Final = (0.95, 0.9, 0.99, 0.95, 0.8)


def bootstrap_interval(statistic: str, **arguments: Any) -> bootstrap.BootstrapInterval:
    """The interval of a statistic that both sides know by name."""
    return bootstrap.bootstrap_interval(statistic=_STATISTICS[statistic], **arguments)


def _pooled(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """One to five datasets, counts or amounts; most samples and datasets differ in size."""
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
        "level": _BOOTSTRAP_LEVELS[seed - 1],
    }


_bootstrap = cases_of(
    "bootstrap",
    paper="risk2024",
    cites="section 2.3.1",
    python_function=f"{_HERE}:bootstrap_interval",
    shapes=((2,), (15,), (100,)),
)
_BOOTSTRAP: Final = tuple(
    _bootstrap(part, f"bootstrap_{part}", _pooled, part=part)
    for part in ("estimate", "lower", "upper")
)

# Combining rules: both kinds, intervals, and a regression

_INTERVAL_LEVELS: Final = (0.95, 0.9, 0.99, 0.5, 0.95)


def interval(estimates: Any, variances: Any, level: float, **options: Any) -> Floats:
    """Both ends of the combined interval."""
    return np.array(combine(estimates, variances, **options).interval(level))


def by_draw(estimates: Floats, variances: Floats, draws: Any) -> Floats:
    """Estimate, T and degrees of freedom, with the draw behind each dataset given."""
    found = combine(estimates, variances, draw_of_dataset=list(draws))
    return np.array([found.estimate, found.variance, found.df])


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


def _by_draw(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Draws in turn, and draws in blocks; the draws have unequal numbers of datasets."""
    (draws,) = shape
    datasets = 2 * draws + seed
    turns = np.arange(datasets) % draws if seed % 2 else np.arange(datasets) * draws // datasets
    return {**_partial(seed, (datasets,)), "draws": turns + 1}


def _interval(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    which = _partial if seed % 2 else _full
    return {**which(seed, shape), "level": _INTERVAL_LEVELS[seed - 1]}


def _regression(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    (datasets,) = shape
    draws = Draws(seed)
    x, group = draws.bell(40, 10.0, 3.0), draws.whole(40, 3)
    group[:3] = 0, 1, 2
    outcomes = [5.0 + 2.0 * x + 3.0 * group + draws.bell(40, 0.0, 4.0) for _ in range(datasets)]
    return {"outcomes": outcomes, "x": x, "group": group, "kind": "partial"}


_combined = cases_of(
    "combining_rules",
    paper="reiter2003",
    cites="the combining rules",
    python_function=f"{_EVALUATION}.combining_rules:combine",
    shapes=((2,), (5,), (20,)),
)
_COMBINED: Final = (
    *(
        _combined(f"{name}-{part}", f"combined_{part}", arguments, part=part, paper=paper)
        for name, paper, arguments in (
            ("partial", "reiter2003", _partial),
            ("full", "raghunathan2003", _full),
        )
        for part in ("estimate", "variance", "df")
    ),
    _combined(
        "by-draw",
        "combined_by_draw",
        _by_draw,
        python_function=f"{_HERE}:by_draw",
        shapes=((2,), (5,), (12,)),
    ),
    _combined(
        "interval",
        "combined_interval",
        _interval,
        python_function=f"{_HERE}:interval",
        tolerance=4096,
        why=(
            "R and SciPy evaluate the quantile of the t distribution by different series, each to "
            "about 1e-12; an end near 0 shows it in more ulp."
        ),
    ),
    _combined(
        "regression",
        "combined_regression",
        _regression,
        python_function=f"{_HERE}:regression",
        tolerance=1024,
        why=(
            "R's lm and LAPACK order the operations of a QR decomposition differently: the error "
            "of each is a few ulp times the condition of the design, here about 100."
        ),
    ),
)

# Overlap of intervals: apart, touching, nested and equal


def _intervals(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    (number,) = shape
    draws = Draws(seed)
    original = draws.uniform(number, -5.0, 5.0), draws.uniform(number, 0.1, 4.0)
    synthetic = draws.uniform(number, -5.0, 5.0), draws.uniform(number, 0.1, 4.0)
    first = np.column_stack([original[0], original[0] + original[1]])
    second = np.column_stack([synthetic[0], synthetic[0] + synthetic[1]])
    second[0] = first[0] if seed % 2 else (first[0, 1], first[0, 1] + 1.0)
    return {"original": first, "synthetic": second}


_OVERLAP: Final = cases_of("interval_overlap")(
    "share",
    "interval_overlap",
    _intervals,
    paper="karr2006",
    cites="the interval overlap",
    python_function=f"{_EVALUATION}.interval_overlap:interval_overlap",
    shapes=((1,), (8,), (60,)),
)

# Least squares


def _design(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """A constant, and one to five columns of several scales."""
    (records,) = shape
    draws = Draws(seed)
    columns = [np.ones(records)]
    columns += [draws.bell(records, 2.0 * k, 2.0**k) for k in range(min(seed, records - 2))]
    design = np.column_stack(columns)
    return {"design": design, "y": design.sum(axis=1) + draws.bell(records, 0.0, 5.0)}


_least_squares = cases_of(
    "least_squares",
    paper="reiter2003",
    cites="estimates and variances to combine",
    python_function=f"{_EVALUATION}.least_squares:least_squares",
    shapes=((3,), (12,), (80,)),
    tolerance=8192,
    why=(
        "R's lm and LAPACK order the operations of a QR decomposition differently: the error "
        "of each is a few ulp times the condition of the design, here up to 100, or its square "
        "where a residual is nearly 0."
    ),
)
_LEAST_SQUARES: Final = tuple(
    _least_squares(part, f"{part}_of", _design, part=part) for part in ("coefficients", "variances")
)

# Propensity scores and their null distribution


def _designs(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """A constant and one to three columns; more synthetic than original records, moved a little."""
    (records,) = shape
    draws = Draws(seed)
    width = 1 + seed % 3

    def design(n: int, centre: float) -> Any:
        return np.column_stack([np.ones(n), *(draws.bell(n, centre, 1.0) for _ in range(width))])

    return {"original": design(records, 0.0), "synthetic": design(records + 10 * seed, 0.4)}


_pmse = cases_of(
    "pmse",
    paper="snoke2018",
    cites="the propensity score mean squared error",
    python_function=f"{_EVALUATION}.pmse:logistic_pmse",
    shapes=((30,), (80,), (200,)),
)
_PMSE: Final = (
    _pmse(
        "value",
        "pmse_value",
        _designs,
        part="value",
        tolerance=4096,
        why=(
            "Both sides solve the same equations by Fisher scoring and stop within 1e-14 of the "
            "fitted probabilities; their distances from the share are some 100 times smaller."
        ),
    ),
    *(_pmse(part, f"pmse_{part}", _designs, part=part) for part in ("null_mean", "null_sd")),
)

# Top-coding by value and by quantile

_TOP_LEVELS: Final = (0.975, 0.9, 0.5, 0.99, 0.75)


def _quantile(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"original": Draws(seed).amounts(*shape), "quantile": _TOP_LEVELS[seed - 1]}


def _value(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Whole counts, some of them at the threshold."""
    return {"original": Draws(seed).counts(*shape), "value": 80.0 + 10.0 * seed}


_topcoding = cases_of(
    "topcoding",
    paper="risk2024",
    cites="section 1",
    python_function=f"{_EVALUATION}.topcoding:topcode",
    shapes=((1,), (13,), (70,)),
)
_TOPCODING: Final = tuple(
    _topcoding(f"{name}-{part}", f"topcode_{part}", arguments, part=part)
    for name, arguments in (("value", _value), ("quantile", _quantile))
    for part in ("values", "threshold", "share")
)

# Quantiles and means, averaged over datasets, and their range

_TABLE_LEVELS: Final = (
    (0.1, 0.15, 0.25, 0.5, 0.75, 0.9),
    (0.0, 1.0),
    (0.5,),
    (0.15, 0.9),
    (0.025, 0.1, 1 / 3, 0.7, 0.975),
)


def _tabled(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """One to five datasets of other sizes than the original; counts tie, amounts do not."""
    (records,) = shape
    draws = Draws(seed)
    values = draws.counts if seed % 2 else draws.amounts
    return {
        "original": values(records),
        "synthetic": [values(records + number) for number in range(seed)],
        "probabilities": np.array(_TABLE_LEVELS[seed - 1]),
    }


_utility_table = cases_of(
    "utility_table",
    paper="risk2024",
    cites="utility of quantiles and means",
    python_function=f"{_EVALUATION}.utility_table:utility_table",
    shapes=((1,), (13,), (80,)),
)
_UTILITY_TABLE: Final = tuple(
    _utility_table(part, f"utility_{part}", _tabled, part=part)
    for part in ("original", "average", "lowest", "highest")
)

# Records whose risk rose


def summary(risk: Any, policy: float) -> Floats:
    """The three numbers of a summary."""
    found = whack_a_mole.risk_summary(risk, policy=policy)
    return np.array([found.maximum, found.iqr, found.share_above])


def top(by: Any, risk: Any, count: int) -> Floats:
    """Places of the largest records, then their risks."""
    found = whack_a_mole.top_records(by, {"risk": risk}, count=count)
    return np.concatenate([found.records, found.risks["risk"]])


def _risks(seed: int, records: int) -> Floats:
    """Risks as shares of a pattern, with ties and with 0 among them."""
    return np.asarray(Draws(seed).whole(records, 21) / 20.0)


def _pair(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    (records,) = shape
    return {
        "unweighted": _risks(seed, records),
        "weighted": _risks(seed + 20, records),
        "rise": (0.25, 0.5, 0.25, 0.1, 0.05)[seed - 1],
    }


def _one(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"risk": _risks(seed, shape[0]), "policy": (0.5, 0.25, 0.9, 0.5, 0.05)[seed - 1]}


def _ranked(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    (records,) = shape
    return {"by": Draws(seed).counts(records), "risk": _risks(seed, records), "count": 3 * seed}


_whack_a_mole = cases_of(
    "whack_a_mole",
    paper="risk2024",
    cites="section 2.3.2",
    python_function=f"{_EVALUATION}.whack_a_mole:whack_a_mole",
    shapes=((1,), (14,), (90,)),
)
_WHACK_A_MOLE: Final = (
    _whack_a_mole("change", "risk_change", _pair, part="change"),
    _whack_a_mole("rose", "records_that_rose", _pair, part="rose"),
    _whack_a_mole("summary", "risk_summary", _one, python_function=f"{_HERE}:summary"),
    _whack_a_mole(
        "top", "top_records", _ranked, python_function=f"{_HERE}:top", cites="Tables 2 and 3"
    ),
)

CASES: Final[tuple[Case, ...]] = (
    *_MATCH_RISK,
    *_ECDF,
    *_BOOTSTRAP,
    *_COMBINED,
    _OVERLAP,
    *_LEAST_SQUARES,
    *_PMSE,
    *_TOPCODING,
    *_UTILITY_TABLE,
    *_WHACK_A_MOLE,
)
