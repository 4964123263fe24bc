"""Cases of `pyvws.evaluation`: utility, match risks, top-coding, bootstrap and combining rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
import polars as pl

from pyvws._base.checks import Floats, Ints
from pyvws.evaluation import bootstrap, whack_a_mole
from pyvws.evaluation.combining_rules import combine, combine_formula
from pyvws.evaluation.k_marginal import predicted_k_marginals, worse_than_independent
from pyvws.r_numbers import rarith
from pyvws_validation._draws import Draws
from pyvws_validation.cases.published_table import figures_of

Kind = Literal["partial", "full"]

# Match risks


def _one_outcome(seed: int, records: int) -> dict[str, Any]:
    """Whole distances, so that values lie on the edge of a ball, or shares of small amounts."""
    draws = Draws(seed)
    original = draws.amounts(records) if seed == 2 else draws.counts(records)
    return {
        "original": original,
        "synthetic": [original + draws.whole(records, 11) - 5.0 for _ in range(1 + seed % 4)],
        "known": Draws(seed + 50).whole(records, 3),
    }


def _several(seed: int, records: int) -> dict[str, Any]:
    """Two or three outcomes with ties and zeros; box and ellipsoid, open and closed."""
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


# U_m and U_a


def _numbers(seed: int, records: int) -> dict[str, Any]:
    """One to five datasets of other sizes than the original; counts tie, amounts do not."""
    draws = Draws(seed)
    values = draws.counts if seed % 2 else draws.amounts
    synthetic = [values(records + number) for number in range(seed)]
    original = values(records)
    if seed == 3:
        synthetic[1] = original.copy()
    return {"original": original, "synthetic": synthetic}


# Pooled estimates and intervals under R's seed

_STATISTICS: Final = {
    "mean": rarith.mean,
    "median": lambda x: rarith.quantile(x, 0.5),
    "q90": lambda x: rarith.quantile(x, 0.9),
    "variance": rarith.var,
}


def bootstrap_interval(statistic: str, **arguments: Any) -> bootstrap.BootstrapInterval:
    """The interval of a statistic that both sides know by name."""
    return bootstrap.bootstrap_interval(statistic=_STATISTICS[statistic], **arguments)


def _pooled(seed: int, records: int) -> dict[str, Any]:
    """One to five datasets, counts or amounts; most samples and datasets differ in size."""
    draws = Draws(seed)
    datasets = [draws.counts(records + number) for number in range(seed)]
    if seed % 2 == 0:
        datasets = [np.asarray(values) * 1.1 for values in datasets]
    n = records if seed < 4 else records + 3
    return {"datasets": datasets, "n": n, "seed": 100 * seed + records}


# Combining rules: both kinds, intervals, and a regression


def interval(estimates: Floats, variances: Floats, level: float, **options: Any) -> Floats:
    """Both ends of the combined interval."""
    return np.array(combine(estimates, variances, **options).interval(level))


def by_draw(estimates: Floats, variances: Floats, draws: Ints) -> Floats:
    """Estimate, T and degrees of freedom, with the draw behind each dataset given."""
    combined = combine(estimates, variances, draw_of_dataset=list(draws))
    return np.array([combined.estimate, combined.variance, combined.df])


def regression(outcomes: list[Floats], x: Floats, group: Ints, kind: Kind) -> Floats:
    """Combined coefficients of outcome ~ x + group, then their combined variances."""
    return _coefficients(outcomes, x, group, ("estimate", "variance"), kind=kind)


def _coefficients(
    outcomes: list[Floats], x: Floats, group: Ints, parts: Sequence[str], **how: Any
) -> Floats:
    tables = [
        pl.DataFrame({"outcome": outcome, "x": x, "group": group.astype(str)})
        for outcome in outcomes
    ]
    found = combine_formula(tables, "outcome ~ x + group", **how).values()
    return np.array([getattr(own, part) for part in parts for own in found])


def _partial(seed: int, datasets: int) -> dict[str, Any]:
    """Variances larger and smaller than the spread; seed 5 has datasets that agree."""
    draws = Draws(seed)
    estimates = draws.bell(datasets, 100.0, 2.0)
    if seed == 5:
        estimates[:] = estimates[0]
    return {"estimates": estimates, "variances": draws.uniform(datasets, 0.5, 2.0 * seed)}


def _full(seed: int, *shape: int) -> dict[str, Any]:
    """Odd seeds have variances so large that T would be negative."""
    arguments = _partial(seed, *shape)
    if seed % 2:
        arguments["variances"] = 50.0 * arguments["variances"]
    return {**arguments, "kind": "full", "size_ratio": 0.5 + 0.25 * seed}


def _by_draw(seed: int, draws: int) -> dict[str, Any]:
    """Draws in turn, and draws in blocks; the draws have unequal numbers of datasets."""
    datasets = 2 * draws + seed
    turns = np.arange(datasets) % draws if seed % 2 else np.arange(datasets) * draws // datasets
    return {**_partial(seed, datasets), "draws": turns + 1}


def _interval(seed: int, *shape: int) -> dict[str, Any]:
    return (_partial if seed % 2 else _full)(seed, *shape)


def _outcomes(seed: int, datasets: int) -> dict[str, Any]:
    draws = Draws(seed)
    x, group = draws.bell(40, 10.0, 3.0), draws.whole(40, 3)
    group[:3] = 0, 1, 2
    outcomes = [5.0 + 2.0 * x + 3.0 * group + draws.bell(40, 0.0, 4.0) for _ in range(datasets)]
    return {"outcomes": outcomes, "x": x, "group": group}


def _regression(seed: int, datasets: int) -> dict[str, Any]:
    return {**_outcomes(seed, datasets), "kind": "partial"}


# Overlap of intervals: apart, touching, nested and equal


def _intervals(seed: int, number: int) -> dict[str, Any]:
    draws = Draws(seed)
    original = draws.uniform(number, -5.0, 5.0), draws.uniform(number, 0.1, 4.0)
    synthetic = draws.uniform(number, -5.0, 5.0), draws.uniform(number, 0.1, 4.0)
    first = np.column_stack([original[0], original[0] + original[1]])
    second = np.column_stack([synthetic[0], synthetic[0] + synthetic[1]])
    second[0] = first[0] if seed % 2 else (first[0, 1], first[0, 1] + 1.0)
    return {"original": first, "synthetic": second}


# Least squares


def _design(seed: int, records: int) -> dict[str, Any]:
    """A constant, and one to five columns of several scales."""
    draws = Draws(seed)
    columns = [np.ones(records)]
    columns += [draws.bell(records, 2.0 * k, 2.0**k) for k in range(min(seed, records - 2))]
    design = np.column_stack(columns)
    return {"design": design, "y": design.sum(axis=1) + draws.bell(records, 0.0, 5.0)}


# Propensity scores and their null distribution


def _designs(seed: int, records: int) -> dict[str, Any]:
    """A constant and one to three columns; more synthetic than original records, moved a little."""
    draws = Draws(seed)
    width = 1 + seed % 3

    def design(n: int, centre: float) -> Any:
        return np.column_stack([np.ones(n), *(draws.bell(n, centre, 1.0) for _ in range(width))])

    return {"original": design(records, 0.0), "synthetic": design(records + 10 * seed, 0.4)}


# Quantiles and means, averaged over datasets, and their range

_TABLE_LEVELS: Final = (
    (0.1, 0.15, 0.25, 0.5, 0.75, 0.9),
    (0.0, 1.0),
    (0.5,),
    (0.15, 0.9),
    (0.025, 0.1, 1 / 3, 0.7, 0.975),
)


def _tabled(seed: int, records: int) -> dict[str, Any]:
    """One to five datasets of other sizes than the original; counts tie, amounts do not."""
    draws = Draws(seed)
    values = draws.counts if seed % 2 else draws.amounts
    return {
        "original": values(records),
        "synthetic": [values(records + number) for number in range(seed)],
        "probabilities": np.array(_TABLE_LEVELS[seed - 1]),
    }


# Records whose risk rose


def summary(risk: Floats, policy: float) -> Floats:
    """The three numbers of a summary."""
    numbers = whack_a_mole.risk_summary(risk, policy=policy)
    return np.array([numbers.maximum, numbers.iqr, numbers.share_above])


def top(by: Floats, risk: Floats, count: int) -> Floats:
    """Places of the largest records, then their risks."""
    records = whack_a_mole.top_records(by, {"risk": risk}, count=count)
    return np.concatenate([records.records, records.risks["risk"]])


def _risks(seed: int, records: int) -> Floats:
    """Risks as shares of a pattern, with ties and with 0 among them."""
    return np.asarray(Draws(seed).whole(records, 21) / 20.0)


def _pair(seed: int, records: int) -> dict[str, Any]:
    return {"unweighted": _risks(seed, records), "weighted": _risks(seed + 20, records)}


def _risk(seed: int, records: int) -> dict[str, Any]:
    return {"risk": _risks(seed, records)}


# Joint shares of pairs of columns


def _codes(seed: int, records: int) -> dict[str, Any]:
    """Two to four columns; the synthetic table is longer, and has categories of its own."""
    draws = Draws(seed)

    def table(n: int, most: int) -> Any:
        return np.column_stack([draws.whole(n, most + column) for column in range(2 + seed % 3)])

    return {"original": table(records, 2 + seed), "synthetic": table(records + seed, 1 + 2 * seed)}


def _tables(seed: int, records: int) -> dict[str, Any]:
    """Two to five tables of two to four columns; categories that some of them lack."""
    draws = Draws(seed)
    columns = range(2 + seed % 3)
    table = [[draws.whole(records, 2 + at) for at in columns] for _ in range(2 + seed % 4)]
    return {"tables": [np.column_stack(one) for one in table]}


def predicted_scores(tables: list[Ints]) -> Floats:
    """The predicted scores of margins, pairs and triples."""
    return np.array([*predicted_k_marginals(tables).values()])


def _scores(seed: int, scores: int) -> dict[str, Any]:
    """Scores in few whole numbers, so that many lie exactly on a margin."""
    draws = Draws(seed)
    kinds = ("score", "independent", "bootstrap")
    return {**{kind: 988.0 + draws.whole(scores, 15) for kind in kinds}, "best": 1000.0}


def each_worse_than_independent(
    score: Floats, independent: Floats, bootstrap: Floats, best: float
) -> Floats:
    """`worse_than_independent` of each place."""
    places = zip(score, independent, bootstrap, strict=True)
    return np.array([worse_than_independent(*scores, best=best) for scores in places], np.float64)


# Rules of the population and of the table


Of = Literal["population", "table"]


def imputed_estimate(estimates: Floats, variances: Floats, of: Of, noise: float) -> Floats:
    """Estimate, T and degrees of freedom, under noise of the number of records."""
    found = combine(estimates, variances, of=of, noise_of_records=noise)
    return np.array([found.estimate, found.variance, found.df])


def imputed_regression(outcomes: list[Floats], x: Floats, group: Ints, of: Of) -> Floats:
    """The same of the coefficients of outcome ~ x + group, part after part."""
    return _coefficients(outcomes, x, group, ("estimate", "variance", "df"), of=of)


def imputed_table(
    y: Floats, cell: Ints, datasets: int, of: Of, noise: float, level: float
) -> Floats:
    """Counts and means by cell of a table of datasets, part after part."""
    records = pl.DataFrame({"y": y, "cell": cell})
    return figures_of(records, datasets, mean="y", of=of, noise_of_records=noise, level=level)


def _records(seed: int, each: int, cells: int) -> dict[str, Any]:
    """Records of some datasets, each of which has records in all cells."""
    datasets, draws = 2 + seed % 3, Draws(seed)
    cell = draws.whole(datasets * each, cells)
    for start in range(0, len(cell), each):
        cell[start : start + 2 * cells] = np.repeat(np.arange(cells), 2)
    return {"y": draws.bell(len(cell), 3.0, 40.0), "cell": cell, "datasets": datasets}
