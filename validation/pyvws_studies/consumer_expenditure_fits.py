"""Income in a Consumer Expenditure file: sections 2.3 and 3.2 of [risk2024], supplement section 7.

A mixture of normal regressions models an outcome given public predictors, and an intruder knows
some of these. The study fits it without weights (the paper's Synthesizer), with Marginal and with
Pairwise weights, with Pairwise weights under another c and another g, and with weights from three
and from four records. Topcoding stands beside them. The study gives risks and utility of L
datasets, and `consumer_expenditure` arranges them as the paper's tables and figures.

The paper's own sample is not public, so the paper's figures are for orientation. The study's
results describe confidential records: keep the results in-house.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import narwhals as nw
import numpy as np

from pyvws._base.checks import Floats, Ints, finite_number, non_negative, positive, whole_number
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import InputError
from pyvws.evaluation.bootstrap import bootstrap_interval
from pyvws.evaluation.combining_rules import Combined, combine
from pyvws.evaluation.one_column import EcdfUtility, ecdf_utility
from pyvws.evaluation.regressions import LeastSquares, least_squares
from pyvws.evaluation.topcoding import Topcoded, topcode
from pyvws.evaluation.whack_a_mole import WhackAMole, whack_a_mole
from pyvws.mechanisms.count_weighted import MarginalWeighted
from pyvws.mechanisms.weighing import Request, WeightedFit
from pyvws.models.normal_mixture import NormalMixture
from pyvws.r_numbers import rarith
from pyvws.risks.identification_risk import identification_risk, pattern_codes
from pyvws.risks.pairwise import four_way_weights, pairwise_weights, three_way_weights
from pyvws.synthesis.loop import SILENT, Listener, SynthesisLoop
from pyvws.tables.design.model_matrix import Design, make_design
from pyvws.tables.files.frame import check_columns, numeric_column, open_frame
from pyvws.tables.files.read import read_table
from pyvws_studies._native_loop import native_loop

OUTCOME: Final = "Income"
FORMULA: Final = (
    "~ factor(Urban) + factor(Marital) + factor(Educ) + factor(Tenure) + factor(Age) "
    "+ factor(Expenditure)"
)
KNOWN: Final = ("Urban", "Marital", "Educ")
GROUPS: Final = ("Educ=12,13,15", "Age=25,35,50,65", "Expenditure=3000,5500,8500,14000")
REGRESSION: Final = "~ factor(Urban) + factor(Marital) + factor(Tenure)"
COEFFICIENT: Final = "factor(Tenure)4"
"""All columns of ce_2017.csv, as categories: what the study takes where no formula is given."""

RISE: Final = 0.25
POLICY: Final = 0.5
SYNTHESIZER, MARGINAL, PAIRWISE = "Synthesizer", "Marginal", "Pairwise"
THREE_WAY, FOUR_WAY, TOPCODING = "Three-way", "Four-way", "Topcoding"

# With 5,571 records in 40 patterns, this many samples take half a minute for a table.
_REPLICATES: Final = 50

Interval = tuple[float, float, float]

_STATISTICS: Final[dict[str, Callable[[Floats], float]]] = {
    "mean": rarith.mean,
    "median": lambda values: float(rarith.quantile(values, 0.5)),
    "90 % quantile": lambda values: float(rarith.quantile(values, 0.9)),
}


@dataclass(frozen=True, slots=True)
class Synthesized:
    """The fit of one synthesizer, its L datasets (N,) and what they are worth.

    `risk` (N,) lies in [0, 1], larger = riskier; `moles` compares it with the Synthesizer's.
    `utility`: smaller = closer to the data. `estimates` holds (estimate, lower, upper) of each
    statistic, in the outcome's unit.
    """

    fit: WeightedFit
    datasets: list[Floats]
    risk: Floats
    moles: WhackAMole
    utility: EcdfUtility
    estimates: dict[str, Interval]


@dataclass(frozen=True, slots=True)
class ExpenditureStudy:
    """The study's results: outcomes (N,), what each synthesizer made, and the data's own figures.

    `columns` has the number of distinct values of each column by name, and `known` those that the
    intruder knows. `data_risk` and `topcoded_risk` (N,) lie in [0, 1], larger = riskier.
    `data` holds (estimate, lower, upper) of each statistic, in the outcome's unit.
    """

    outcome: str
    y: Floats
    columns: dict[str, int]
    known: tuple[str, ...]
    patterns: int
    radius: float
    datasets: int
    adjusted: tuple[str, str]
    results: dict[str, Synthesized]
    data: dict[str, Interval]
    data_risk: Floats
    topcoded: Topcoded
    topcoded_risk: Floats
    problems: list[str]


def run(
    file: Path | str,
    *,
    seed: int,
    outcome: str = OUTCOME,
    formula: str | None = None,
    known: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    regression: str | None = None,
    coefficient: str | None = None,
    radius: float = 0.2,
    components: int = 5,
    labels: str = "full-conditional",
    datasets: int = 20,
    topcoding: float = 0.94,
    c: float = 1.5,
    g: float = 0.1,
    replicates: int = _REPLICATES,
    settings: SamplerSettings | None = None,
    listener: Listener = SILENT,
) -> ExpenditureStudy:
    """Fit the synthesizers, and compute risks and utility of their datasets.

    Where the outcome has whole numbers alone, synthetic values are rounded to whole numbers.
    Otherwise no synthetic value would equal an income of 0, whose ball is that one point, and all
    such records would look safe. A record whose pattern has too few records for a pair, a triple
    or a group of four has a weight of 0 there.

    Without a `formula` the study takes the predictors, `known`, `groups`, `regression` and
    `coefficient` that suit the file ce_2017.csv. `pyvws study consumer-expenditure --help` has the
    words of each argument. Raises InputError for a file that cannot be read, a column that is
    missing or not numeric, or an argument out of range.
    """
    if formula is None:
        known = KNOWN if known is None else known
        groups = GROUPS if groups is None else groups
        regression = regression or REGRESSION
        coefficient = coefficient or (COEFFICIENT if regression == REGRESSION else None)
    formula = formula or FORMULA
    radius = positive(radius, "radius")
    c, g = non_negative(c, "c"), finite_number(g, "g")
    whole_number(datasets, "datasets", least=2)
    frame = _grouped(open_frame(read_table(Path(file)).frame), groups or ())
    y = numeric_column(frame, outcome, role="outcome")
    names = tuple(known or ())
    check_columns(frame, names, role="known")
    codes = pattern_codes(frame.select(names).to_native() if names else None, len(y))
    design = make_design(frame, formula, outcome=outcome)
    on = _Regression(make_design(frame, regression or formula, outcome=outcome), coefficient)
    threshold = "quantile" if 0 < topcoding < 1 else "value"
    topcoded = topcode(y, **{threshold: topcoding})
    model = NormalMixture(components=components, labels=labels, outcome_scale="signed-log")
    sampling = settings or SamplerSettings(draws=500, warmup=500, chains=2)
    loop = native_loop(model, y, design.matrix, sampling, seed=seed, listener=listener)
    results: dict[str, Synthesized] = {}
    for name, fit in _fits(loop, y, codes, radius=radius, c=c, g=g).items():
        sets = loop.synthetic(fit, design.matrix, datasets)
        if (y == np.rint(y)).all():
            sets = [np.rint(values) for values in sets]
        risk = identification_risk(y, sets, radius=radius, known=codes)
        before = results[SYNTHESIZER].risk if results else risk
        results[name] = Synthesized(
            fit,
            sets,
            risk,
            whack_a_mole(before, risk, rise=RISE, policy=POLICY),
            ecdf_utility(y, sets),
            {**_intervals(sets, replicates), on.coefficient: on.combined(sets)},
        )
    read = dict.fromkeys([outcome, *names, *design.predictors])
    return ExpenditureStudy(
        outcome,
        y,
        {name: frame[name].n_unique() for name in read},
        names,
        len(np.unique(codes)),
        radius,
        datasets,
        (_adjusted(c, 0.0), _adjusted(1.0, g)),
        results,
        {**_intervals([y], replicates), on.coefficient: on.of_data(y)},
        identification_risk(y, radius=radius, known=codes),
        topcoded,
        identification_risk(y, [topcoded.values], radius=radius, known=codes),
        loop.problems(),
    )


def _fits(
    loop: SynthesisLoop, y: Floats, codes: Ints, *, radius: float, c: float, g: float
) -> dict[str, WeightedFit]:
    """A fit for each synthesizer, the unweighted one first."""
    # A mechanism refuses a record that is alone in its pattern; here its weight is 0.
    alike: dict[str, Any] = {"radius": radius, "known": codes, "singletons": "weight-zero"}
    weights = {
        PAIRWISE: pairwise_weights(y, **alike),
        _adjusted(c, 0.0): pairwise_weights(y, c=c, **alike),
        _adjusted(1.0, g): pairwise_weights(y, g=g, **alike),
        THREE_WAY: three_way_weights(y, **alike),
        FOUR_WAY: four_way_weights(y, **alike),
    }
    marginal = MarginalWeighted(radius=radius, known=("pattern",))
    return {
        SYNTHESIZER: loop.unweighted(),
        MARGINAL: marginal.run(loop, Request(y=y, known=[codes])).fit,
        **{name: loop.fit(own, name) for name, own in weights.items()},
    }


def _adjusted(c: float, g: float) -> str:
    return f"{PAIRWISE}, c = {c:g}, g = {g:g}"


def _grouped(frame: nw.DataFrame[Any], conditions: Sequence[str]) -> nw.DataFrame[Any]:
    """The frame with numbers of groups, from 1, in place of the columns of the conditions.

    A condition has the first values of the groups after the first.
    """
    for condition in conditions:
        name, _, text = (part.strip() for part in condition.partition("="))
        try:
            firsts = [float(part) for part in text.split(",")]
        except ValueError:
            firsts = []
        if not firsts or not np.isfinite(firsts).all() or (np.diff(firsts) <= 0).any():
            raise InputError.by("group-no-condition", condition=condition)
        values = numeric_column(frame, name, role="group")
        numbers = 1.0 + np.searchsorted(firsts, values, side="right")
        column = nw.new_series(name, numbers, nw.Float64, backend=frame.implementation)
        frame = frame.with_columns(column)
    return frame


@dataclass(frozen=True, slots=True)
class _Regression:
    """Least squares of an outcome on public predictors, and the coefficient to show."""

    design: Design
    chosen: str | None

    def __post_init__(self) -> None:
        if self.coefficient not in self.design.names:
            names = ", ".join(self.design.names)
            raise InputError.by("coefficient-unknown", name=self.chosen, names=names)

    @property
    def coefficient(self) -> str:
        return self.chosen or self.design.names[-1]

    def combined(self, datasets: Sequence[Floats]) -> Interval:
        """The coefficient by the combining rule for partially synthetic data [reiter2003]."""
        place = self.design.names.index(self.coefficient)
        fits = [self._fit(values) for values in datasets]
        combined = combine(
            [fit.coefficients[place] for fit in fits], [fit.variances[place] for fit in fits]
        )
        return combined.estimate, *combined.interval()

    def of_data(self, y: Floats) -> Interval:
        place, fit = self.design.names.index(self.coefficient), self._fit(y)
        freedom = len(y) - self.design.matrix.shape[1]
        own = Combined(fit.coefficients[place], fit.variances[place], freedom)
        return float(own.estimate), *own.interval()

    def _fit(self, y: Floats) -> LeastSquares:
        return least_squares(self.design.matrix, y, self.design.names)


def _intervals(datasets: list[Floats], replicates: int) -> dict[str, Interval]:
    """Bootstrap estimates and 95 % intervals of the statistics, pooled over the datasets."""
    intervals = {
        name: bootstrap_interval(
            datasets, statistic, n=len(datasets[0]), replicates=replicates, seed=1
        )
        for name, statistic in _STATISTICS.items()
    }
    return {name: (own.estimate, own.lower, own.upper) for name, own in intervals.items()}
