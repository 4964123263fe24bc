"""Combining rules: one estimate, variance and interval from m synthetic datasets.

With estimates q_l and their variances v_l: q = mean(q_l), b = var(q_l), v = mean(v_l).

- Partially synthetic [reiter2003]: T = b / m + v with (m - 1) (1 + v m / b)^2 degrees of freedom.
- Fully synthetic [raghunathan2003]: T = (1 + 1/m) b - v with (m - 1) (1 - v / ((1 + 1/m) b))^2.
  Where this T is negative, (n_syn / n) v takes its place [reiter2002].

- Imputed records of noisy counts, of the population: T = (1 + 1/m) b + v with
  (m - 1) (1 + v / ((1 + 1/m) b))^2 [rubin1987]. Of the confidential table's own figures, whose
  records are no sample: T = (1 + 1/m) b with m - 1.
- A count or a total is a share or a mean times the number of records. Where that number has noise
  of deviation r n, its T gains (r q)^2, which no dataset shows: all of them have that number.

The first two rules take the datasets as independent given the confidential data: each has a
posterior draw of its own. Datasets of one draw differ by the noise of prediction alone, so b lacks
the variance between draws. Where m datasets come from d < m draws, the mean of the estimates of
each draw takes the place of q_l, and d that of m, in the rule for partially synthetic data. The
means are independent of each other, and their spread has both variances. Nothing estimates the
variance between draws where d = 1.

These two take v as the variance of independent records. Where records are drawn systematically
(`sampling` of a run), b lacks a part of that noise: the first rule adds to b and holds, the second
subtracts v from b, so its T is too small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, Self, TypeAlias, runtime_checkable

import narwhals as nw
import numpy as np
from narwhals.typing import IntoDataFrame, IntoFrame
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from pyvws._base.checks import (
    choice,
    finite_vector,
    non_negative,
    open_unit_interval,
    positions,
    positive,
)
from pyvws.errors import InputError
from pyvws.r_numbers import rarith
from pyvws.sheet import Sheet, html

if TYPE_CHECKING:
    from pyvws.tables.schema.schema import Schema

OF: Final = ("population", "table")
"""What figures of imputed records may be estimates of."""


@dataclass(frozen=True, slots=True)
class CombiningRule:
    """How T and its degrees of freedom follow from b, v and m, in words and in numbers.

    - `words`: What it is a rule for, and of whose figures.
    - `adds_spread`: Whether b itself counts beside b / m.
    - `sign` {1, -1, 0}: Whether T adds v, subtracts it, or leaves it out.
    - `cites`: The paper.
    """

    words: str
    adds_spread: bool
    sign: int
    cites: str

    @property
    def spread(self) -> str:
        """The part of T that b has, as R computes it."""
        return "(1 + 1/m) * b" if self.adds_spread else "b / m"

    @property
    def within(self) -> str:
        """The part of T that v has, as R computes it behind the other part."""
        return {1: " + v", -1: " - v", 0: ""}[self.sign]

    @property
    def formula(self) -> str:
        """T and its degrees of freedom in one line."""
        spread = self.spread.replace(" * ", " ")
        share = f"(T / ({spread}))²" if self.sign else ""
        return f"T = {spread}{self.within}; degrees of freedom (m - 1){share}".replace("-", "−")

    def moments(
        self, between: float, within: float, m: int, *, known: float = 0.0
    ) -> tuple[float, float]:
        """T, and its degrees of freedom, of b, v and m datasets; T has a `known` part besides."""
        spread = (1.0 + 1.0 / m) * between if self.adds_spread else between / m
        share = inf
        if between > 0:  # The quotient as the paper orders it, to the bit.
            quotient = within / spread if self.adds_spread else within * m / between
            share = 1.0 + self.sign * quotient + known / spread
        return spread + self.sign * within + known, (m - 1) * (share * share)


RULES: Final = {
    "partial": CombiningRule("partially synthetic data", False, 1, "reiter2003"),
    "full": CombiningRule("fully synthetic data", True, -1, "raghunathan2003"),
    "population": CombiningRule("imputed records, figures of the population", True, 1, "rubin1987"),
    "table": CombiningRule("imputed records, figures of the table", True, 0, "rubin1987"),
}
"""Each rule by its `kind`, or for imputed records by what figures are `of`."""


def rule_named(kind: str, of: str | None = None) -> CombiningRule:
    """The rule of these words; InputError for words that name none."""
    choice(kind, "kind", ("partial", "full"))
    if of is not None:
        choice(of, "of", OF)
        if kind == "full":
            raise InputError.by("kind-of-estimand")
    return RULES[of or kind]


def rule_of(privacy: Mapping[str, Any], of: str | None = None) -> dict[str, Any]:
    """The rule that a statement says of its datasets, as arguments of `combine`.

    Imputed records take the rule of figures of the population unless `of` names the table. Raises
    InputError for `of` where no record was imputed.
    """
    imputed = "counts" in privacy
    if of is not None and not imputed:
        raise InputError.by("figures-of-imputed-records", given=privacy.get("mechanism"))
    draws = {name: privacy[name] for name in ("draw_of_dataset",) if name in privacy}
    return {"of": (of or OF[0]) if imputed else None, **draws}


def noise_of_records(privacy: Mapping[str, Any], rows: int) -> float:
    """The deviation of the noise of a release's number of records, over that number of `rows`.

    0 where a statement has none: where the number is public or exact, or no counts were noisy.
    """
    return float(privacy.get("counts", {}).get("deviation_of_records", 0.0)) / max(rows, 1)


@runtime_checkable
class Released(Protocol):
    """What a release has of its datasets: the statement, the schema as text, and noisy counts."""

    @property
    def datasets(self) -> Sequence[Any]: ...

    @property
    def privacy(self) -> Mapping[str, Any]: ...

    @property
    def schema(self) -> str: ...

    @property
    def public_tables(self) -> Mapping[str, Any]: ...


Datasets: TypeAlias = Sequence[IntoFrame] | Released | str | Path
"""Synthetic tables, the release that has them, or the path of its folder."""


@dataclass(frozen=True, slots=True)
class NoisyCells:
    """The noisy counts of a release, as its counts.parquet has them.

    - `frame`: With the columns `set`, `cell`, `label`, `count` and `scale`.
    - `noise`: The kind of the discrete noise, as the statement says it.
    - `lost`: The columns of each set whose noisy counts the datasets do not hold.
    - `weights`: What the statement says of survey weights that counts are sums of.
    - `totals`: The sets of published totals that the datasets meet, as the statement has them.
    """

    frame: IntoDataFrame
    noise: Literal["laplace", "gaussian"]
    lost: Sequence[Sequence[str]]
    weights: Mapping[str, Any] = field(default_factory=dict)
    totals: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def of(cls, frame: IntoDataFrame, privacy: Mapping[str, Any]) -> Self:
        """Those of a release with that statement."""
        counts = privacy["counts"]
        lost, weights = counts.get("lost_sets", ()), counts.get("weights", {})
        return cls(frame, counts["noise"], lost, weights, counts.get("totals", {}).get("sets", ()))

    @property
    def sets(self) -> list[str]:
        """The names of the sets that were counted, that of all records among them."""
        return list(dict.fromkeys(nw.from_native(self.frame, eager_only=True)["set"].to_list()))


@dataclass(frozen=True, slots=True)
class SeveralDatasets:
    """Synthetic tables, and what is known of how they were made.

    - `tables`: The datasets as they were given, a list where a release was given.
    - `schema`: What their columns hold, if known.
    - `rule`: Arguments of `combine`.
    - `counted`: The noisy counts of their release, if any.
    - `noise`: `noise_of_records`, for figures that grow with the number of records.
    """

    tables: Any
    schema: Schema | None
    rule: dict[str, Any]
    counted: NoisyCells | None = None
    noise: float = 0.0

    @classmethod
    def of(
        cls,
        datasets: Datasets,
        schema: Schema | None,
        counted: NoisyCells | None = None,
        noise: float = 0.0,
        **given: Any,
    ) -> Self:
        """The tables of a list with what is `given`, or those of a release, which says the rest.

        Raises InputError for another rule than that of the release.
        """
        if isinstance(datasets, (str, Path)):
            from pyvws.evaluation.released_folder import ReleasedFolder

            datasets = ReleasedFolder.read(Path(datasets))
        if not isinstance(datasets, Released):
            return cls(datasets, schema, given, counted, noise)
        from pyvws.tables.schema.schema import Schema

        said = rule_of(datasets.privacy, given["of"])
        if given["draw_of_dataset"] is not None:
            said["draw_of_dataset"] = given["draw_of_dataset"]
        known = next(filter(None, (schema, Schema.parse(datasets.schema))), None)
        sets = [
            table
            for table in datasets.public_tables.values()
            if {"set", "scale"} <= {*table.columns} and "slots" not in datasets.privacy["counts"]
        ]
        cells = [NoisyCells.of(table, datasets.privacy) for table in sets]
        own = noise_of_records(datasets.privacy, len(datasets.datasets[0]))
        return cls(datasets.datasets, known, given | said, next(iter(cells), None), own)


@dataclass(frozen=True, slots=True)
class Combined:
    """A combined estimate, its variance in the unit squared, and its degrees of freedom `df`.

    `df` is infinite where all datasets give the same estimate. Larger variance = less certain.
    """

    estimate: float
    variance: float
    df: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Lower and upper end of the t interval of a level; for infinite df the normal interval.

        For 0 df the interval is (-inf, inf). Fully synthetic data have 0 df where v = (1 + 1/m) b.
        """
        upper = 1.0 - (1.0 - open_unit_interval(level, "level")) / 2.0
        if self.df == 0:
            return -inf, inf
        factor = float(ndtri(upper) if self.df == inf else stdtrit(self.df, upper))
        half = factor * sqrt(self.variance)
        return self.estimate - half, self.estimate + half


class CombinedCoefficients(dict[str, Combined]):
    """A `Combined` for each coefficient of a regression, by R's name of it.

    `dropped` (m,) has the number of records of each dataset that lack a value, and are left out.
    """

    def __init__(self, combined: Mapping[str, Combined], dropped: Sequence[int]) -> None:
        super().__init__(combined)
        self.dropped = tuple(dropped)

    def _repr_html_(self) -> str:
        columns = ("coefficient", "estimate", "standard error", "df", "lower 95%", "upper")
        rows = [
            (name, one.estimate, one.variance**0.5, one.df, *one.interval())
            for name, one in self.items()
        ]
        return html([Sheet("Combined coefficients", columns, rows)])


def combine(
    estimates: ArrayLike,
    variances: ArrayLike,
    *,
    kind: Literal["partial", "full"] = "partial",
    of: Literal["population", "table"] | None = None,
    size_ratio: float = 1.0,
    draw_of_dataset: Sequence[Any] | None = None,
    noise_of_records: float = 0.0,
) -> Combined:
    """Combine the estimates of m synthetic datasets.

    Parameters
    ----------
    estimates : array_like, shape (m,)
        q_l, the estimate from each dataset.
    variances : array_like, shape (m,)
        v_l, the estimated variance of q_l (a squared standard error), at least 0.
    kind : {"partial", "full"}
        "partial" where some values were synthesized, "full" where every record was drawn anew, and
        independently: of systematic draws take "partial".
    of : {"population", "table"}, optional
        For imputed records, which noisy-counts releases: whether the figure is of the population
        that the confidential records are a sample of, or of these records themselves.
    size_ratio : float
        n_syn / n for "full": the number of records of a synthetic dataset, divided by the number of
        records of the confidential dataset. The rule reads this ratio only where T is negative.
    draw_of_dataset : sequence of m labels, optional
        The draw behind each dataset, as privacy.json names it under draw_of_dataset: equal labels
        stand for one draw. By default each dataset has a draw of its own.
    noise_of_records : float
        Of a count or a total of imputed records: the deviation of the noise of their number, which
        privacy.json has as deviation_of_records, over that number. Larger = a wider interval.

    Returns
    -------
    Combined
        .estimate, .variance (T), .df and .interval(level).

    Raises
    ------
    InputError
        For fewer than 2 datasets, missing values, a negative variance, or lengths that differ. Also
        for datasets that all come from one draw, fully synthetic datasets that share draws, and
        `of` beside kind "full".

    Examples
    --------
    >>> found = combine([1.0, 2.0, 3.0], [0.5, 0.5, 0.5])
    >>> found.estimate, round(found.variance, 4), round(found.df, 4)
    (2.0, 0.8333, 12.5)
    >>> round(combine([1.0, 2.0, 3.0], [0.5, 0.5, 0.5], of="table").variance, 4)
    1.3333
    >>> combine([10.0, 10.0], [0.0, 0.0], of="table", noise_of_records=0.5).variance
    25.0
    """
    q = finite_vector(np.atleast_1d(estimates), "estimates")
    v = finite_vector(np.atleast_1d(variances), "variances")
    if len(q) != len(v):
        raise InputError.by("estimates-and-variances", q=len(q), v=len(v))
    rule, ratio = rule_named(kind, of), positive(size_ratio, "size_ratio")
    m = len(q)
    if m < 2:
        raise InputError.by("too-few-estimates")
    if (v < 0).any():
        raise InputError.by("variances-negative", it=positions(v < 0))
    if draw_of_dataset is not None:
        draws = np.array(_draws(draw_of_dataset, m, kind))
        q = np.array([rarith.mean(q[draws == draw]) for draw in range(max(draws) + 1)])
        m = len(q)
    within = rarith.mean(v)
    estimate = rarith.mean(q)
    known = (non_negative(noise_of_records, "noise_of_records") * estimate) ** 2
    total, df = rule.moments(rarith.var(q), within, m, known=known)
    return Combined(estimate, ratio * within + known if total < known else total, df)


def combine_formula(
    datasets: Datasets,
    formula: str,
    *,
    kind: Literal["partial", "full"] = "partial",
    of: Literal["population", "table"] | None = None,
    size_ratio: float = 1.0,
    draw_of_dataset: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    family: Literal["gaussian", "logistic", "poisson"] = "gaussian",
    schema: Schema | None = None,
) -> CombinedCoefficients:
    """Combine the coefficients of a regression over m synthetic tables.

    Records without a value in a column of the formula are left out, as R's ``lm`` leaves them out.

    Parameters
    ----------
    datasets : sequence of m pandas, polars or Arrow tables, Release, or path of its folder
        Synthetic tables with the same columns. A release says its own rule, draws and schema.
    formula : str
        For example "income ~ region + urban + earner" or "log(income) ~ region".
    kind : {"partial", "full"}
        As in `combine`.
    of : {"population", "table"}, optional
        As in `combine`.
    size_ratio : float
        As in `combine`.
    draw_of_dataset : sequence of m labels, optional
        As in `combine`, for example `release.privacy["draw_of_dataset"]`.
    names : sequence of m str, optional
        Names of the tables in messages, such as their files; by default "dataset 1" and so on.
    family : {"gaussian", "logistic", "poisson"}
        Least squares, or the regression of an outcome of 0 and 1, or of counts, as R's ``glm``.
    schema : Schema, optional
        Which codes of the columns are missing values besides empty cells. Its numbers are read as
        numbers, also where a code such as N makes text of them.

    Returns
    -------
    CombinedCoefficients
        A dict with a `Combined` for each coefficient. The keys are R's names of the coefficients,
        such as "(Intercept)" and "regionNorth". `.dropped` (m,) counts the records left out.

    Raises
    ------
    InputError
        For fewer than 2 tables, an unknown column, designs that differ between tables, and draws
        that `combine` refuses.

    Examples
    --------
    >>> import pandas as pd
    >>> tables = [pd.DataFrame({"y": [1.0, 2.0, x, 5.0], "x": [0, 1, 2, 3]}) for x in (2.5, 3.5)]
    >>> combine_formula(tables, "y ~ x")["x"].estimate.__round__(10)
    1.3
    """
    from pyvws.evaluation.regressions import fit_formula

    several = SeveralDatasets.of(
        datasets, schema, kind=kind, of=of, size_ratio=size_ratio, draw_of_dataset=draw_of_dataset
    )
    tables, draws = several.tables, several.rule["draw_of_dataset"]
    if not isinstance(tables, (list, tuple)):
        raise InputError.by("datasets-not-tables")
    if len(tables) < 2:
        raise InputError.by("too-few-datasets", datasets=len(tables))
    called = [f"dataset {k}" for k in range(1, len(tables) + 1)] if names is None else list(names)
    if len(called) != len(tables):
        raise InputError.by("names-length", called=len(called), datasets=len(tables))
    if draws is not None:  # Refuse before the work.
        _draws(draws, len(tables), kind)
    fits = [
        fit_formula(table, formula, name, family, several.schema)
        for table, name in zip(tables, called, strict=True)
    ]
    for name, fit in zip(called, fits, strict=True):
        if fit.names != fits[0].names:
            alone = len(set(fit.names) ^ set(fits[0].names))
            raise InputError.by("designs-differ", called=called[0], name=name, alone=alone)
    combined = {
        name: combine(
            [fit.coefficients[k] for fit in fits],
            [fit.variances[k] for fit in fits],
            **several.rule,
        )
        for k, name in enumerate(fits[0].names)
    }
    return CombinedCoefficients(combined, [fit.dropped for fit in fits])


def _draws(draw_of_dataset: Sequence[Any], datasets: int, kind: str) -> list[int]:
    """The place of each dataset's draw among the draws, from 0, as they first occur.

    Raises InputError where the draws behind the datasets allow no rule.
    """
    labels = list(draw_of_dataset)
    if len(labels) != datasets:
        raise InputError.by("draw-of-dataset-length", labels=len(labels), datasets=datasets)
    places: dict[Any, int] = {}
    draws = [places.setdefault(label, len(places)) for label in labels]
    if len(places) == 1:
        raise InputError.by("datasets-of-one-draw", draws=datasets)
    if len(places) < datasets and kind == "full":
        raise InputError.by("rule-needs-draw-each", draws=datasets, distinct=len(places))
    return draws
