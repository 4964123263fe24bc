"""The application of [global2022]: five synthesizers of salaries on a public range, epsilon 5.

The slides take the Survey of Doctorate Recipients' public use file of 2017: 1601 respondents with a
position at a 4-year college or university in mathematics and statistics. Their model is a beta
regression of salary on gender, age and weeks worked. The file is not part of this package; any
other file of wages will do as well. The slides name no range for the salary, so the user must give
the range. The study makes one dataset of each synthesizer, compares the dataset with the file, and
never writes the dataset. The histogram's noise comes from a seed, so that a user can repeat a run.
The printed figures describe the records of the file, and are no release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats, positive
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import InputError
from pyvws.evaluation.one_column import ecdf_utility
from pyvws.mechanisms.histogram.perturbed_histogram import synthesize_from_histogram
from pyvws.models.beta import Beta
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files.frame import open_frame
from pyvws.tables.files.read import read_table
from pyvws_studies._native_loop import native_loop
from pyvws_studies._report import terminal_table
from pyvws_studies.five_mechanisms import statistics
from pyvws_studies.five_synthesizers import HISTOGRAM, LABELS, FiveSynthesizers, seeded_histogram
from pyvws_studies.row_filters import filtered


@dataclass(frozen=True, slots=True)
class SalaryRow:
    """A column of the slides' table; None where the slides have NA.

    lipschitz in nats and epsilon: larger = riskier. max_ecdf and avg_ecdf: smaller = more useful.
    Mean and quantiles are in the outcome's unit. The slides do not print mean_weight and the shares
    of records that are out (weight 0) and clamped (at some draw); these explain the other figures.
    """

    label: str
    lipschitz: float | None
    epsilon: float | None
    max_ecdf: float | None
    avg_ecdf: float | None
    mean: float
    median: float
    q15: float
    q90: float
    mean_weight: float | None = None
    out: float | None = None
    clamped: float | None = None


PUBLISHED: Final = (
    SalaryRow("Data", None, None, None, None, 91019, 80000, 51000, 150000),
    SalaryRow("Weighted", 2.62, 5.24, 0.0656, 0.0011, 92994, 80135, 44303, 162351),
    SalaryRow("Weighted-e", 2.61, 5.22, 0.1020, 0.0025, 89525, 76451, 40574, 158037),
    SalaryRow("Censor_w", 2.50, 5.00, 0.0968, 0.0026, 88581, 75642, 41142, 158426),
    SalaryRow("Censor_uw", 2.50, 5.00, 0.1350, 0.0039, 88840, 75211, 38107, 162686),
    SalaryRow("PH", None, 5.00, 0.1310, 0.0057, 93654, 91180, 30108, 163872),
)
"""The table as the slides print it, n = 1601, target epsilon 5."""


@dataclass(frozen=True, slots=True)
class SalaryStudy:
    """Rows of the slides' table for a file of n records, the settings, and any problems found."""

    outcome: str
    n: int
    range: tuple[float, float]
    target: float
    rows: list[SalaryRow]
    bins: int
    problems: list[str]


def run(
    file: Path | str | None,
    *,
    seed: int,
    outcome: str = "SALARY",
    formula: str | None = None,
    range: tuple[float, float] | None = None,
    epsilon: float = 5.0,
    filters: Sequence[str] = (),
    settings: SamplerSettings | None = None,
    listener: Listener = SILENT,
) -> SalaryStudy:
    """Fit the five synthesizers and compare a dataset of each with the file.

    `outcome` is the salary's column, `formula` its predictors, and `range` its public ends.
    `epsilon` is the target; larger = riskier. `filters` are those of `row_filters`. Raises
    InputError without a file, formula or range, and for columns or values that the study cannot
    use.
    """
    if file is None:
        raise InputError.by("salaries-not-given")
    if formula is None or range is None:
        raise InputError.by("salaries-without-range")
    target = positive(epsilon, "epsilon")
    (chosen,) = check_table(
        filtered(open_frame(read_table(Path(file)).frame), filters).to_native(),
        RunSettings(outcome=outcome, model=Beta(range=range), formula=formula, mechanism="lw"),
    ).outcomes
    y, design = chosen.y, chosen.design
    sampling = settings or SamplerSettings(draws=500, warmup=500, chains=2)
    loop = native_loop(chosen.model, y, design, sampling, seed=seed, listener=listener)
    five = FiveSynthesizers(loop, passes=1)
    rows = [SalaryRow("Data", None, None, None, None, **statistics(y))]
    for name, fitted in five.fits(target, downscaled=False).items():
        (drawn,) = loop.synthetic(fitted.fit, design, 1)
        fit, clamped = fitted.fit, None
        if fit.clamp is not None:
            clamped = float((fit.weights * fit.maxima >= -fit.clamp.window[0]).mean())
        row = _row(LABELS[name], fit.bounds.database, fit.bounds.epsilon, y, drawn)
        weight, out = float(fit.weights.mean()), float((fit.weights == 0).mean())
        rows.append(replace(row, mean_weight=weight, out=out, clamped=clamped))
    noise, draw = np.random.SeedSequence(seed).spawn(2)
    noisy = seeded_histogram(target, range).perturb(y, seed=int(noise.generate_state(1)[0]))
    drawn = synthesize_from_histogram(noisy, len(y), np.random.default_rng(draw))
    rows.append(_row(LABELS[HISTOGRAM], None, target, y, drawn))
    return SalaryStudy(
        outcome, len(y), range, target, rows, len(noisy.probabilities), loop.problems()
    )


def _row(label: str, bound: float | None, epsilon: float, y: Floats, drawn: Floats) -> SalaryRow:
    utility = ecdf_utility(y, [drawn])
    return SalaryRow(label, bound, epsilon, utility.maximum, utility.average, **statistics(drawn))


_LINES = {
    "Lipschitz": ("lipschitz", ".2f"),
    "Privacy epsilon": ("epsilon", ".2f"),
    "max-ECDF": ("max_ecdf", ".4f"),
    "avg-ECDF": ("avg_ecdf", ".4f"),
    "Mean": ("mean", ".6g"),
    "Median": ("median", ".6g"),
    "15th Q": ("q15", ".6g"),
    "90th Q": ("q90", ".6g"),
    "Mean weight": ("mean_weight", ".3f"),
    "Records out": ("out", ".1%"),
    "Records clamped": ("clamped", ".1%"),
}


def table(result: SalaryStudy) -> Any:
    """A table for a terminal: this file's rows beside the published rows."""
    from rich.columns import Columns

    low, high = result.range
    title = f"{result.outcome} on [{low:g}, {high:g}], n = {result.n}, target {result.target:g}"
    published = "published: SDR 2017, n = 1601, target 5"
    return Columns([_one(title, result.rows), _one(published, PUBLISHED)])


def _one(title: str, rows: Sequence[SalaryRow]) -> Any:
    table = terminal_table(title, left=[""], right=[row.label for row in rows])
    for line, (name, style) in _LINES.items():
        values = [getattr(row, name) for row in rows]
        if any(value is not None for value in values):
            table.add_row(
                line, *("NA" if value is None else f"{value:{style}}" for value in values)
            )
    return table


def write(result: SalaryStudy, folder: Path) -> list[str]:
    """Write this file's rows and the published rows to table.csv in `folder`; return its name."""
    import polars as pl

    rows = [{"source": "file", **asdict(row)} for row in result.rows]
    rows += [{"source": "published", **asdict(row)} for row in PUBLISHED]
    pl.DataFrame(rows, infer_schema_length=None).write_csv(folder / "table.csv")
    return ["table.csv"]
