"""What a verification answer asks of a confidential table, from public figures alone."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from scipy.special import ndtr

from pyvws._base.checks import positive
from pyvws.errors import InputError
from pyvws.evaluation.regressions import fit_formula
from pyvws.tables.files.frame import check_columns, open_frame
from pyvws.tables.files.labels import as_number
from pyvws.tables.schema.read_values import Unknown, coded_columns, numbers_and_codes
from pyvws.tables.schema.schema import Schema
from pyvws.tables.schema.write_values import content_of

YES, NO, CANNOT_TELL = "yes", "no", "cannot tell"
_WEIGHT: Final = "(survey weight)"  # Beside the columns of the schema.
_OF_ALL_ROWS: Final = re.compile(r"\b(poly|scale)\s*\(")


@dataclass(frozen=True, kw_only=True)
class Question:
    """Whether a coefficient agrees; all of it is public.

    - `formula`, `names`: The regression, and the names of its coefficients.
    - `coefficient`, `estimate`, `standard_error`: The one that is asked for, its estimate of the
      datasets, and its standard error in a file of as many records.
    - `within`: The tolerance, in the coefficient's unit.
    - `parts`: M, the number of parts.
    - `scale`: Scale of the noise of the number of parts that agree.
    """

    formula: str
    names: tuple[str, ...]
    coefficient: str
    estimate: float
    standard_error: float
    within: float
    parts: int
    scale: float

    @property
    def deviation(self) -> float:
        """The standard deviation of the discrete Laplace noise, in parts."""
        q = math.exp(-1.0 / self.scale)
        return math.sqrt(2.0 * q) / (1.0 - q)

    @property
    def least_within(self) -> float:
        """The least tolerance that tells: twice the standard error in a part, sqrt(M) times it."""
        return 2.0 * math.sqrt(self.parts) * self.standard_error

    def predicted(self, distance: float) -> float:
        """How many parts agree on average where the confidential estimate is that far away."""
        error = max(0.5 * self.least_within, 1e-12 * self.within)
        upper, lower = (ndtr((end - distance) / error) for end in (self.within, -self.within))
        return float(self.parts * (upper - lower))

    @property
    def can_tell(self) -> bool:
        """Whether an answer may be yes, by what is public."""
        return self.within >= self.least_within and self.answer(self.predicted(0.0)) == YES

    def answer(self, agreeing: float) -> str:
        """Yes or no, unless the noisy number of parts is within 2 deviations of half of them."""
        beyond = agreeing - 0.5 * self.parts
        if abs(beyond) <= 2.0 * self.deviation:
            return CANNOT_TELL
        return YES if beyond > 0.0 else NO

    def agrees(self, part: pl.DataFrame) -> bool:
        """Whether the regression in a part (n,) of the records has the coefficient within reach."""
        weights = _WEIGHT if _WEIGHT in part.columns else None
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                fit = fit_formula(part, self.formula, weights=weights)
        except Exception:  # No record may decide that a run stops.
            return False
        if {*fit.names} != {*self.names}:  # A level that is missing changes what others mean.
            return False
        found = float(fit.coefficients[fit.names.index(self.coefficient)])
        return abs(found - self.estimate) <= self.within  # Not where it is NaN.

    def told(self) -> dict[str, Any]:
        """What a statement has of it, with the number of parts that are predicted to agree."""
        equal, apart = self.predicted(0.0), self.predicted(2.0 * self.within)
        own = {name: value for name, value in asdict(self).items() if name != "names"}
        return {**own, "predicted": {"equal": equal, "twice_the_tolerance": apart}}


def question(
    datasets: Sequence[pl.DataFrame],
    schema: Schema,
    formula: str,
    *,
    within: float | str,
    scale: float,
    coefficient: str | None = None,
    parts: int = 30,
) -> Question:
    """The question about a formula, with the estimate of the datasets.

    InputError where they have none, and for a coefficient or a tolerance that is not one.
    """
    if _OF_ALL_ROWS.search(formula):
        raise InputError.by("verify-of-all-rows", formula=formula)
    names = datasets[0].columns
    coded = (coded_records(schema, own, names).drop(_WEIGHT, strict=False) for own in datasets)
    fits = [fit_formula(own, formula, f"dataset {i}") for i, own in enumerate(coded, start=1)]
    found = fits[0].names
    if any(fit.names != found for fit in fits):
        raise InputError.by("verify-designs-differ", formula=formula)
    others = [name for name in found if name != "(Intercept)"] or [*found]
    chosen = others[0] if coefficient is None else coefficient
    if chosen not in found or (coefficient is None and len(others) > 1):
        raise InputError.by("verify-coefficient", listed=", ".join(map(repr, others)))
    place = found.index(chosen)
    estimate = float(np.mean([fit.coefficients[place] for fit in fits]))
    return Question(
        formula=formula,
        names=found,
        coefficient=chosen,
        estimate=estimate,
        standard_error=math.sqrt(float(np.mean([fit.variances[place] for fit in fits]))),
        within=_tolerance(within, estimate),
        parts=parts,
        scale=scale,
    )


def _tolerance(within: float | str, estimate: float) -> float:
    """A tolerance above 0 in the coefficient's unit, also of a share of the estimate."""
    if not isinstance(within, str):
        return positive(within, "within")
    share = within.strip().endswith("%")
    number = as_number(within.strip().removesuffix("%")) or 0.0
    own = abs(estimate) * number / 100.0 if share else number
    if not 0.0 < own < math.inf:
        raise InputError.by("verify-within", within=within)
    return own


def coded_records(schema: Schema, table: Any, released: Sequence[str]) -> pl.DataFrame:
    """The columns of a table (N,) that a release has, coded by its schema, with survey weights.

    Each cell is read by itself, and none is refused. Numbers end at their range. What is missing
    or unknown to the schema has no value, and so has a weight that is no number above 0.
    """
    own = {name: x for name, x in schema.columns.items() if name in released and x.role != "id"}
    frame, unknown = open_frame(table, least=0), Unknown()
    check_columns(frame, own, role="The schema")
    made: dict[str, Any] = {}
    coded = coded_columns(own, frame, counts=None, by_schema=own, unknown=unknown)
    for name, column in own.items():
        values: Any = np.where(unknown[name], np.nan, coded[name])
        if column.categorical:
            gone, content = {None, *column.missing_codes}, content_of(column)
            cells = [None if x in gone else _cell(str(x), content) for x in column.coded_levels]
            places = np.where(unknown[name], len(cells), coded[name] - 1.0).astype(np.intp)
            values = [[*cells, None][place] for place in places]
        made[name] = values
    weighing = schema.weighing
    weight = schema.exponents if weighing is None else weighing.column
    if weight is not None and weight in frame.columns:
        numbers, _ = numbers_and_codes(frame[weight], (), strict=True)
        if weighing is not None:
            numbers = weighing.read(frame[weight]).parts.astype(np.float64)
        made[_WEIGHT] = np.where((numbers > 0.0) & (numbers < np.inf), numbers, np.nan)
    return pl.DataFrame(made, strict=False)


def _cell(level: str, content: str) -> Any:
    """A level as a regression reads it."""
    if content == "truth values":
        return level.lower() == "true"
    return as_number(level) if content == "numbers" else level
