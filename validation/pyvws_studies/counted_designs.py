"""The tables of the study of noisy counts: ten columns of ma2019.csv, or all that it has.

Levels, ranges, cuts and rules are those of the file's documentation [nist2023]. It lists no
codes of industries: these, their categories, the areas and their densities come from the public
file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws.errors import InputError
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_studies.whole_tables import DESIGNS

_AGES: Final = (3, 5, 10, 15, 16, *range(20, 100, 5))
_INCOMES: Final = (
    *(0, 1, 2500, 5000, 7500),
    *range(10_000, 40_001, 5_000),
    *range(50_000, 80_001, 10_000),
    *(100_000, 125_000, 150_000, 200_000, 300_000),
)
_POVERTY: Final = (1, 50, 100, 125, 150, 200, 250, 300, 350, 400, 450)
_TOP: Final = 501  # More than five times the poverty line.
_WEIGHTS: Final = ("PWGTP", "WGTP")

REGRESSION_SET: Final = {
    "columns": ["SEX", "AGEP", "EDU", "PINCP_DECILE"],
    "cuts": {
        "AGEP": [15, 30, 45, 65],
        "EDU": [5, 7, 9, 10],
        "PINCP_DECILE": [2, 4, 6, 8, "N"],
    },
}
"""A set of 300 cells that holds a regression of income on sex, age and education."""

REGRESSIONS: Final = {
    "income": ("PINCP_DECILE", "SEX", "AGEP", "EDU"),
    "education": ("EDU", "SEX", "AGEP", "OWN_RENT"),
    "renting": ("OWN_RENT", "AGEP", "EDU", "PINCP_DECILE"),
}
"""Responses, each before its predictors, by the name of the regression."""


@dataclass(frozen=True, slots=True)
class CountedDesign:
    """A table to count, and how it is judged.

    `table` has the records, and `schema` what is public. Scores read the columns `scored`; the
    numbers among them are in the bins of `bins`. `by_family` is the column whose family is tried in
    the place of classes, if any.
    """

    table: pl.DataFrame
    schema: Schema
    scored: tuple[str, ...]
    bins: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    by_family: tuple[str, ...] = ()

    def judged(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A table as scores read it: numbers, null where missing, and labels."""
        kinds = [
            _number(name).alias(name) if name in self.bins else pl.col(name).cast(pl.String)
            for name in self.scored
        ]
        return frame.select(kinds)


def ten_columns(whole: pl.DataFrame, copies: int) -> CountedDesign:
    """Ten columns, age by five years, with each record `copies` times."""
    design = DESIGNS["ma2019"]
    _check(design.source, whole)
    frame = pl.concat([design.prepare(whole.select(design.source))] * copies)
    income = ("PINCP_DECILE",)
    return CountedDesign(frame, design.schema(), tuple(frame.columns), by_family=income)


def _check(names: Iterable[str], whole: pl.DataFrame) -> None:
    if {*names} - {*whole.columns}:
        raise InputError.by("not-ma2019")


def all_columns(whole: pl.DataFrame, copies: int) -> CountedDesign:
    """All columns but the weights, with rules and lookups; scores leave the densities out."""
    texts = whole.with_columns(pl.all().cast(pl.String))
    incomes = texts.with_columns(pl.col("PINCP").str.replace(r"\.0$", ""))
    schema = Schema(_columns(incomes))
    _check(schema.columns, whole)
    scored = tuple(name for name in incomes.columns if name not in (*_WEIGHTS, "DENSITY"))
    bins = {"AGEP": _AGES, "PINCP": _INCOMES, "POVPIP": (*_POVERTY, _TOP)}
    return CountedDesign(pl.concat([incomes] * copies), schema, scored, bins)


def _columns(frame: pl.DataFrame) -> dict[str, Column]:
    density = dict(frame.select("PUMA", "DENSITY").unique().iter_rows())
    field_of = dict(frame.select("INDP", "INDP_CAT").unique().iter_rows())
    money: dict[str, Any] = {"model": "normal", "decimals": 0, "missing": "N"}
    return {
        "PUMA": _category(sorted(density)),
        "AGEP": Column(model="negative-binomial", range=(0, 99), cuts=_AGES),
        "SEX": _category((1, 2)),
        "MSP": _category(range(1, 7), "N only where AGEP < 15"),
        "HISP": _category(range(5)),
        "RAC1P": _category(range(1, 10)),
        "HOUSING_TYPE": _category((1, 2, 3)),
        "OWN_RENT": _category((1, 2), "0 only where HOUSING_TYPE != '1'", missing="0"),
        "NOC": _category(range(8), "N only where OWN_RENT == '0'"),
        "NPF": _category(range(2, 12), "N where OWN_RENT == '0'"),
        "DENSITY": Column(lookup={"PUMA": density}),
        "INDP": _category(sorted({*field_of} - {"N"}), "N where AGEP < 16"),
        "INDP_CAT": Column(lookup={"INDP": field_of}, levels=(*map(str, range(19)), "N")),
        "EDU": _category(range(1, 13), "N only where AGEP < 3"),
        "PINCP": Column(
            range=(-9_000, 1_341_000),
            cuts=_INCOMES,
            mass=(0,),
            rule="missing only where AGEP < 15",
            **money,
        ),
        "PINCP_DECILE": _category(range(10), "N only where AGEP < 15"),
        "POVPIP": Column(range=(0, _TOP), cuts=_POVERTY, mass=(_TOP,), **money),
        "DVET": _category(range(1, 7), "N where AGEP < 17"),
        "DREM": _category((1, 2), "N only where AGEP < 5"),
        "DPHY": _category((1, 2), "N only where AGEP < 5"),
        "DEYE": _category((1, 2)),
        "DEAR": _category((1, 2)),
        **{name: Column(role="drop") for name in _WEIGHTS},
    }


def _category(levels: Iterable[object], rule: str | None = None, missing: str = "N") -> Column:
    ruled: dict[str, Any] = {} if rule is None else {"missing": missing, "rule": rule}
    return Column(model="nominal", levels=tuple(map(str, levels)), **ruled)


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String).replace("N", None).cast(pl.Float64)


def regression_of(
    frame: pl.DataFrame, name: str = "income"
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Coefficients (P,) of a regression of `REGRESSIONS` by least squares, and standard errors.

    Records that lack a number of it are left out, and no education counts as 0. Errors of no more
    records than coefficients are NaN.
    """
    wanted = [_number(number) for number in REGRESSIONS[name]]
    known = frame.select(
        number.fill_null(0.0) if column == "EDU" and column != REGRESSIONS[name][0] else number
        for column, number in zip(REGRESSIONS[name], wanted, strict=True)
    ).drop_nulls()
    values = known.to_numpy()
    design = np.column_stack([np.ones(len(values)), values[:, 1:]])
    inverse = np.linalg.pinv(design.T @ design, hermitian=True)  # Of few records, one sex alone.
    fitted = inverse @ (design.T @ values[:, 0])
    left = values[:, 0] - design @ fitted
    freedom = len(values) - len(fitted)
    variance = float(left @ left) / freedom if freedom > 0 else np.nan
    return fitted, np.sqrt(np.diag(inverse) * variance)
