"""Section 5 of [vws2024]: the six fits on 1000 salaries of the Survey of Doctorate Recipients.

The synthesizer is an intercept-only negative binomial. The fits are unweighted, LW, CW and SW at
one bound, and LW and CW re-weighted from k = 0.95. The paper samples 1000 records of the public
use file of 2017 and does not name the records, so this study's seed draws 1000 records. The file is
not part of this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import InputError
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.tables.files.frame import numeric_column, open_frame
from pyvws.tables.files.read import read_table
from pyvws_studies import negative_binomial_mixture as six_fits
from pyvws_studies.row_filters import filtered

SAMPLED: Final = 1000


@dataclass(frozen=True, slots=True)
class SampledSalaries:
    """The six fits on the sampled salaries, and the problems that the diagnostics found."""

    fits: six_fits.MixtureStudy
    problems: tuple[str, ...]


def run(
    file: Path | None,
    *,
    seed: int,
    outcome: str = "SALARY",
    filters: Sequence[str] = (),
    settings: SamplerSettings | None = None,
    listener: Listener = SILENT,
) -> SampledSalaries:
    """Fit the six mechanisms to 1000 records of a file, or to all records of a smaller file."""
    if file is None:
        raise InputError.by("salaries-not-given")
    frame = filtered(open_frame(read_table(file).frame), filters)
    salaries = np.rint(numeric_column(frame, outcome, role="outcome"))
    if (salaries < 0).any():
        raise InputError.by("salaries-negative", column=outcome)
    if len(salaries) > SAMPLED:
        salaries = np.random.default_rng(seed).choice(salaries, SAMPLED, replace=False)
    fits = six_fits.run(seed=seed, y=salaries, settings=settings, listener=listener)
    problems = tuple(
        f"{label}: {problem}"
        for label, fit in fits.fits.items()
        for problem in fit.posterior.diagnostics.problems()
    )
    return SampledSalaries(fits, problems)


def table(result: SampledSalaries) -> Any:
    table_of_fits = six_fits.table(result.fits)
    table_of_fits.title = f"{len(result.fits.y)} salaries (section 5 of the 2024 paper)"
    return table_of_fits


def write(result: SampledSalaries, folder: Path) -> list[str]:
    return six_fits.write(result.fits, folder)
