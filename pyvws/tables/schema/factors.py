"""Factors in R's coding: levels in order, dummy columns, treatment and polynomial contrasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import narwhals as nw
import numpy as np

from pyvws._base.checks import Floats, Places
from pyvws.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_DIGITS: Final = 15  # R turns a double into text with at most so many digits.
_POWERS: Final = (".L", ".Q", ".C")


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor: `codes` (N,) from 0 into `levels`; an `ordered` one has polynomial contrasts."""

    levels: tuple[str, ...]
    codes: Places
    ordered: bool = False

    def dummies(self) -> tuple[Floats, tuple[str, ...]]:
        """A column of 0 and 1 for each level, shape (N, L), and the columns' names."""
        return np.eye(len(self.levels))[self.codes], self.levels

    def mark(self, zeros: Floats, *, contrasts: bool) -> int:
        """Write treatment contrasts or dummies into the first columns of zeros (N, .), in place.

        Gives the number of these columns. Much faster than a matrix of its own for many records.
        """
        skipped = int(contrasts)
        rows = np.flatnonzero(self.codes >= skipped)
        zeros[rows, self.codes[rows] - skipped] = 1.0
        return len(self.levels) - skipped

    def contrasts(self) -> tuple[Floats, tuple[str, ...]]:
        """L - 1 columns and their names: treatment contrasts, or polynomial ones if `ordered`."""
        count = len(self.levels)
        if not self.ordered:
            return np.eye(count)[self.codes][:, 1:], self.levels[1:]
        steps = orthogonal_polynomials(np.arange(1.0, count + 1), count - 1)
        names = (*_POWERS, *(f"^{power}" for power in range(4, count)))
        return steps[self.codes], names[: count - 1]

    def coded_by(self, levels: tuple[str, ...]) -> Places:
        """Codes (N,) by other levels, -1 for a level that is none of them."""
        place = {level: code for code, level in enumerate(levels)}
        return np.array([place.get(level, -1) for level in self.levels], dtype=np.intp)[self.codes]

    def unused(self) -> tuple[str, ...]:
        """Levels that no record has."""
        seen = np.bincount(self.codes, minlength=len(self.levels)) > 0
        return tuple(name for name, occurs in zip(self.levels, seen, strict=True) if not occurs)


def make_factor(values: object) -> Factor:
    """The factor of a pandas Categorical, truth values, text or numbers (N,).

    A Categorical keeps its levels. Other values have the levels that occur: text by code point (R's
    order in the C locale), numbers by size.
    """
    import pandas as pd

    if isinstance(values, pd.Categorical):
        labels = tuple(level_label(level) for level in values.categories)
        return Factor(labels, np.asarray(values.codes, dtype=np.intp), bool(values.ordered))
    array = np.asarray(values)
    if array.dtype == np.bool_:
        return Factor(("FALSE", "TRUE"), array.astype(np.intp))
    codes, levels = pd.factorize(array)  # Sorting the levels alone is faster than the values.
    labels = tuple(level_label(level) for level in levels)
    ordered = [labels[place] for place in np.argsort(levels)]
    places = {label: place for place, label in enumerate(dict.fromkeys(ordered))}
    return Factor(tuple(places), np.array([places[label] for label in labels], np.intp)[codes])


def factor_values(source: nw.Series[Any], column: pd.Series, *, role: str) -> Any:
    """A column as numbers, truth values, text or a pandas Categorical (N,).

    `source` is the narwhals Series and `column` the same values as a pandas Series. Raises
    InputError for dates and for other types.
    """
    import pandas as pd

    kind = pd.api.types.infer_dtype(column, skipna=False)
    if source.dtype.is_temporal() or kind in ("date", "datetime", "time", "timedelta"):
        raise InputError.by("predictor-is-date", role=role, source=source.name)
    if isinstance(column.dtype, pd.CategoricalDtype):
        polars = source.implementation.is_polars()
        if polars and source.dtype == nw.Categorical:  # polars sorts levels by their first row.
            return column.astype(object).to_numpy()
        return column.cat.as_unordered().array if polars else column.array
    if kind == "boolean":
        return column.to_numpy(dtype=np.bool_)
    if source.dtype.is_numeric() or kind in ("integer", "floating", "decimal"):
        return column.to_numpy(dtype=np.int64 if kind == "integer" else np.float64)
    if kind == "string":
        return column.astype(object).to_numpy()
    kind_of = str(source.dtype).partition("(")[0]
    raise InputError.by("predictor-type", role=role, source=source.name, kind_of=kind_of)


def level_label(level: object) -> str:
    """A level as R's ``as.character`` gives it."""
    if isinstance(level, (bool, np.bool_)):
        return str(bool(level)).upper()
    return number_label(float(level)) if isinstance(level, (float, np.floating)) else str(level)


def number_label(value: float) -> str:
    """A double as R's ``as.character`` gives it: 15 digits at most, the shorter notation."""
    if not np.isfinite(value):
        return {np.inf: "Inf", -np.inf: "-Inf"}.get(value, "NaN")
    rounded = float(f"{value:.{_DIGITS}g}") + 0.0  # R writes -0 as 0.
    digits = next(d for d in range(_DIGITS) if float(f"{rounded:.{d}e}") == rounded)
    scientific = f"{rounded:.{digits}e}"
    exponent = int(scientific.partition("e")[2])
    fixed = f"{rounded:.{max(digits - exponent, 0)}f}"
    return fixed if len(fixed) <= len(scientific) else scientific


def orthogonal_polynomials(x: Floats, degree: int) -> Floats:
    """Columns 1 to `degree` of orthonormal polynomials over x (N,), the constant left out.

    As in R's ``poly``, each polynomial has a positive coefficient on its highest power. The
    function raises ValueError when x has too few distinct values.
    """
    if degree < 1 or degree >= len(np.unique(x)):
        raise ValueError("degree must be at least 1 and below the number of distinct values")
    powers = (x - x.mean())[:, None] ** np.arange(degree + 1)
    q, r = np.linalg.qr(powers)
    return np.asarray(q * np.sign(np.diag(r)))[:, 1:]
