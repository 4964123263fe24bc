"""Income in a Consumer Expenditure file: sections 2.3 and 3.2 of [risk2024] on a user's own file.

The mixture synthesizer models income given Urban, Marital and grouped education. An intruder knows
these three columns too. The study fits the synthesizer without weights, with Marginal weights and
with Pairwise weights at a radius of 20 %, and gives risks and utility of L = 20 datasets. The
paper's own sample has other known columns and is not public, so the paper's figures are for
orientation. The study's results describe confidential records: keep the results in-house.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import narwhals as nw
import numpy as np

from pyvws._base.checks import Floats
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.evaluation.bootstrap import BootstrapInterval, bootstrap_interval
from pyvws.evaluation.ecdf import ecdf_utility
from pyvws.evaluation.whack_a_mole import risk_summary, whack_a_mole
from pyvws.mechanisms.count_weighted import MarginalWeighted
from pyvws.mechanisms.weighing import Request, WeightedFit
from pyvws.models.normal_mixture import LABELS, NormalMixture
from pyvws.r_numbers import rarith
from pyvws.risks.identification_risk import identification_risk, pattern_codes
from pyvws.risks.pairwise import pairwise_weights
from pyvws.studies._native_loop import native_loop
from pyvws.studies._tables import terminal_table
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.tables.design.model_matrix import make_design
from pyvws.tables.files.frame import numeric_column, open_frame
from pyvws.tables.files.read import read_table

RADIUS: Final = 0.2
DATASETS: Final = 20
RISE: Final = 0.25
POLICY: Final = 0.5
FORMULA: Final = "~ factor(Urban) + factor(Marital) + factor(Education)"

# With 5,571 records in 40 patterns, this many samples take half a minute for a table.
_REPLICATES: Final = 50
# First codes of the groups after the first: high school, some college, bachelor's degree.
_EDUCATION: Final = (12.0, 13.0, 15.0)

_STATISTICS: Final[dict[str, Callable[[Floats], float]]] = {
    "mean": rarith.mean,
    "median": lambda values: float(rarith.quantile(values, 0.5)),
    "q90": lambda values: float(rarith.quantile(values, 0.9)),
}


@dataclass(frozen=True, slots=True)
class ExpenditureRow:
    """One synthesizer under one label rule.

    Risks lie in [0, 1], larger = riskier. The row has the risks' mean, interquartile range and
    maximum, the share above 0.5, the largest risk among incomes other than 0, and the number of
    records whose risk rose by 0.25 against the unweighted synthesizer. U_m and U_a: smaller =
    closer to the data. mean, median and q90 have bootstrap intervals in the file's unit.
    """

    synthesizer: str
    labels: str
    risk_mean: float
    risk_iqr: float
    risk_max: float
    risk_max_not_zero: float
    share_above: float
    rose: int
    u_m: float
    u_a: float
    mean: BootstrapInterval
    median: BootstrapInterval
    q90: BootstrapInterval


@dataclass(frozen=True, slots=True)
class ExpenditureStudy:
    """The study's results: incomes (N,), fits, risks (N,) by synthesizer and label rule, rows,
    the data's own figures, and the problems that the samplers' diagnostics found.
    """

    y: Floats
    fits: dict[str, WeightedFit]
    risks: dict[tuple[str, str], Floats]
    rows: list[ExpenditureRow]
    data: dict[str, BootstrapInterval]
    data_risk: Floats
    problems: list[str]


def education_groups(codes: Floats) -> Floats:
    """The group, 1 to 4, of each of the survey's education codes.

    Codes below 12 (no high school diploma) are group 1, 12 (diploma) is 2, 13 and 14 (some college
    or associate's degree) are 3, 15 and above (bachelor's degree or more) are 4.
    """
    return np.asarray(1.0 + np.searchsorted(_EDUCATION, codes, side="right"))


def run(
    file: Path | str,
    *,
    seed: int,
    components: int = 5,
    datasets: int = DATASETS,
    replicates: int = _REPLICATES,
    settings: SamplerSettings | None = None,
    listener: Listener = SILENT,
) -> ExpenditureStudy:
    """Fit the three synthesizers, and compute risks and utility of their datasets.

    The study rounds synthetic incomes to whole dollars, as the file does. Otherwise no synthetic
    value would equal an income of 0, whose ball is that one point, and all such records would look
    safe. Both label rules use the same posterior draws. A record that is alone in its pattern has
    a Pairwise weight of 0.

    Parameters
    ----------
    file : path
        CSV or Parquet with numeric columns Income, Urban, Marital and Educ.
    seed : int
        Seed of sampling and synthesis.
    components : int
        C, the number of components of the mixture.
    datasets, replicates : int
        Number of synthetic datasets, and of bootstrap samples of each dataset.
    settings : SamplerSettings, optional
        Settings of each of the three fits; by default 2 chains of 500 draws and 500 steps of
        warm-up.
    listener : Listener
        The study tells the listener of each fit.

    Returns
    -------
    ExpenditureStudy

    Raises
    ------
    InputError
        For a file that cannot be read, or a column that is missing or not numeric.
    """
    frame, y, known = _read(Path(file))
    model = NormalMixture(components=components, outcome_scale="signed-log")
    design = make_design(frame, FORMULA, outcome="Income").matrix
    sampling = settings or SamplerSettings(draws=500, warmup=500, chains=2)
    loop = native_loop(model, y, design, sampling, seed=seed, listener=listener)
    cells = loop.cells
    data_risk = identification_risk(y, radius=RADIUS, known=known)
    marginal = MarginalWeighted(radius=RADIUS, known=("pattern",))
    # The mechanism refuses a record that is alone in its pattern; here its weight is 0.
    pairwise = pairwise_weights(y, radius=RADIUS, known=known, singletons="weight-zero")
    fits = {
        "unweighted": loop.unweighted(),
        "Marginal": marginal.run(loop, Request(y=y, known=[known])).fit,
        "Pairwise": loop.fit(pairwise, "Pairwise"),
    }
    risks, rows = {}, []
    for labels in LABELS:
        rule = replace(model, labels=labels)
        seen = cells.outcome[cells.cell_of_record] if rule.reads_outcome else None
        for name, fit in fits.items():
            synthetic = [
                np.rint(rule.predict(draw, design, rng, outcome=seen))
                for draw, rng in loop.predictors(fit, datasets)
            ]
            risk = identification_risk(y, synthetic, radius=RADIUS, known=known)
            risks[name, labels] = risk
            before = risks["unweighted", labels]
            rows.append(_row(name, labels, y, synthetic, risk, before, replicates))
    return ExpenditureStudy(
        y, fits, risks, rows, _intervals([y], replicates), data_risk, loop.problems()
    )


def _read(path: Path) -> tuple[Any, Floats, Any]:
    """The frame with a column Education, incomes (N,), and the pattern of each record (N,)."""
    frame = open_frame(read_table(path).frame)
    names = ("Income", "Urban", "Marital", "Educ")
    income, urban, marital, codes = (numeric_column(frame, name, role="study") for name in names)
    groups = education_groups(codes)
    made = nw.new_series("Education", groups, nw.Float64, backend=frame.implementation)
    return frame.with_columns(made), income, pattern_codes([urban, marital, groups], len(income))


def _row(
    name: str,
    labels: str,
    y: Floats,
    synthetic: list[Floats],
    risk: Floats,
    before: Floats,
    replicates: int,
) -> ExpenditureRow:
    summary = risk_summary(risk, policy=POLICY)
    utility = ecdf_utility(y, synthetic)
    return ExpenditureRow(
        name,
        labels,
        rarith.mean(risk),
        summary.iqr,
        summary.maximum,
        float(risk[y != 0].max()),
        summary.share_above,
        int(whack_a_mole(before, risk, rise=RISE).rose.sum()),
        utility.maximum,
        utility.average,
        **_intervals(synthetic, replicates),
    )


def _intervals(datasets: list[Floats], replicates: int) -> dict[str, BootstrapInterval]:
    n = len(datasets[0])
    return {
        name: bootstrap_interval(datasets, statistic, n=n, replicates=replicates, seed=1)
        for name, statistic in _STATISTICS.items()
    }


def table(result: ExpenditureStudy) -> Any:
    """The study as a table for a terminal, the data's own figures last."""
    numbers = ("risk mean", "IQR", "max", "max, not 0", "above 0.5", "rose", "U_m", "U_a")
    made = terminal_table(
        f"Income, n = {len(result.y)}, radius {RADIUS:.0%}",
        left=["synthesizer", "labels"],
        right=[*numbers, *_STATISTICS],
    )
    for row in result.rows:
        made.add_row(
            row.synthesizer,
            row.labels,
            *(f"{value:.4f}" for value in (row.risk_mean, row.risk_iqr, row.risk_max)),
            f"{row.risk_max_not_zero:.4f}",
            f"{row.share_above:.4f}",
            str(row.rose),
            f"{row.u_m:.4f}",
            f"{row.u_a:.5f}",
            *(_shown(getattr(row, name)) for name in _STATISTICS),
        )
    made.add_section()
    summary, risk = risk_summary(result.data_risk, policy=POLICY), result.data_risk
    figures = rarith.mean(risk), summary.iqr, summary.maximum, risk[result.y != 0].max()
    made.add_row(
        *("data", "", *(f"{value:.4f}" for value in figures), f"{summary.share_above:.4f}"),
        *("", "", "", *(_shown(result.data[name]) for name in _STATISTICS)),
    )
    return made


def _shown(interval: BootstrapInterval) -> str:
    return f"{interval.estimate:.0f} [{interval.lower:.0f}, {interval.upper:.0f}]"


def write(result: ExpenditureStudy, folder: Path) -> list[str]:
    """Write table.csv into `folder`; return the files' names."""
    import polars as pl

    flat = []
    for row in result.rows:
        plain = asdict(row)
        for name in _STATISTICS:
            plain.update({f"{name}_{part}": v for part, v in plain.pop(name).items()})
        flat.append(plain)
    pl.DataFrame(flat).write_csv(folder / "table.csv")
    return ["table.csv"]
