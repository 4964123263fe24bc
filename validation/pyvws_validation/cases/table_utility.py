"""Cases of `pyvws.evaluation` for tables: S_pMSE, associations, margins, regressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pyvws._base.checks import Floats, Ints
from pyvws.evaluation import pmse
from pyvws.evaluation.pmse import PropensityScore
from pyvws.evaluation.regressions import fit_formula
from pyvws.evaluation.table_utility import table_utility
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._draws import Draws
from pyvws_validation.cases.table_risk import plain

# S_pMSE: categories, and numbers of which some are missing


def two_way_pmse(
    original_codes: Ints, original_numbers: Floats, synthetic_codes: Ints, synthetic_numbers: Floats
) -> PropensityScore:
    """The score of tables given as matrices of codes and of numbers."""
    tables = plain(original_codes, original_numbers), plain(synthetic_codes, synthetic_numbers)
    return pmse.two_way_pmse(*tables).score


def _tables(seed: int, records: int) -> dict[str, Any]:
    """One or two categories, one or two numbers; odd seeds have missing numbers."""
    draws = Draws(seed)

    def table(n: int, centre: float) -> tuple[Any, Floats]:
        codes = np.column_stack([draws.whole(n, 2 + place) for place in range(1 + seed % 2)])
        numbers = [draws.bell(n, centre, 2.0**place) for place in range(1 + seed // 3)]
        if seed % 2:
            numbers[0][draws.uniform(n) < 0.25] = np.nan
        return codes, np.column_stack(numbers)

    original, synthetic = table(records, 0.0), table(records + 10 * seed, 0.5)
    return {
        "original_codes": original[0],
        "original_numbers": original[1],
        "synthetic_codes": synthetic[0],
        "synthetic_numbers": synthetic[1],
    }


# Associations of two columns


def _labels(seed: int, records: int) -> dict[str, Any]:
    first, second = Draws(seed).whole(records, 2 + seed % 3), Draws(seed + 50).whole(records, 4)
    first[:2], second[:2] = (0, 1), (0, 1)
    return {"first": first, "second": (second + (seed % 2) * first) % 4}


def _label_and_number(seed: int, records: int) -> dict[str, Any]:
    draws = Draws(seed)
    categories = draws.whole(records, 3)
    categories[:2] = 0, 1
    return {"categories": categories, "numbers": draws.counts(records) + 10.0 * categories}


def _two_numbers(seed: int, records: int) -> dict[str, Any]:
    """Counts with ties, of which the second follows the first under odd seeds."""
    first = Draws(seed).counts(records)
    return {"first": first, "second": Draws(seed + 50).counts(records) + (seed % 2) * first}


# Margins and missing cells


def _scores(
    original: Floats, synthetic: Floats, categorical: NDArray[np.bool_]
) -> dict[str, float]:
    """The scores of tables given as matrices (N, K), with `categorical` (K,), by name."""
    known = np.concatenate([original, synthetic])
    codes = [str(code) for code in range(1 + int(np.nanmax(known[:, categorical])))]
    columns, tables = {}, []
    for place, category in enumerate(categorical):
        own = {"model": "nominal", "levels": tuple(codes)} if category else {"model": "normal"}
        columns[f"x{place}"] = Column(**own, missing=True)
    for matrix in (original, synthetic):
        table = pl.DataFrame(matrix, schema=list(columns)).fill_nan(None)
        labels = [name for name, column in columns.items() if column.model == "nominal"]
        tables.append(table.with_columns(pl.col(labels).cast(pl.Int64).cast(pl.String)))
    scored = table_utility(tables[0], [tables[1]], schema=Schema(columns), s_pmse=False)
    return {"missing": 0.0, **{score.name: score.value for score in scored.scores}}


def margins(original: Floats, synthetic: Floats, categorical: NDArray[np.bool_]) -> float:
    """The mean distance of the margins."""
    return _scores(original, synthetic, categorical)["margins"]


def missing(original: Floats, synthetic: Floats) -> float:
    """The largest change of what is missing together, in tables of numbers."""
    categorical = np.array([True, *[False] * (original.shape[1] - 1)])
    return _scores(original, synthetic, categorical)["missing"]


def _with_gaps(seed: int, records: int) -> dict[str, Any]:
    """A category and one or two numbers with ties; a fifth is missing, more under odd seeds."""
    draws, columns = Draws(seed), 2 + seed % 2

    def table(n: int) -> Floats:
        values = draws.whole(n * columns, 4 + seed).astype(np.float64)
        values[draws.uniform(n * columns) < 0.2 + 0.1 * (seed % 2)] = np.nan
        return values.reshape(n, columns)

    return {"original": table(records), "synthetic": table(records + 3 * seed)}


def _of_kinds(seed: int, *shape: int) -> dict[str, Any]:
    """The same, where the first column is a category."""
    tables = _with_gaps(seed, *shape)
    return {**tables, "categorical": np.arange(tables["original"].shape[1]) == 0}


# Logistic and Poisson regressions


def clustered_variances(design: Floats, y: Floats, family: str, units: Ints) -> Floats:
    """Variances of a regression's coefficients where records of one unit are dependent."""
    table = pl.DataFrame({f"x{k}": column for k, column in enumerate(design.T)})
    table = table.with_columns(y=y, home=units)
    formula = f"y ~ 0 + {' + '.join(table.columns[:-2])}"
    schema = Schema({"home": Column(role="id"), "y": Column(model="normal")}, unit="home")
    return fit_formula(table, formula, "table", family, schema).variances


def _regression_of_units(seed: int, records: int) -> dict[str, Any]:
    """As `_regression`, with units of some five records; every third seed has least squares."""
    own = _regression(seed, records)
    family = own["family"] if seed % 3 else "gaussian"
    return own | {"family": family, "units": Draws(seed + 99).whole(records, records // 5)}


def _regression(seed: int, records: int) -> dict[str, Any]:
    """Odd seeds have an outcome of 0 and 1, even ones counts; one to three columns."""
    draws = Draws(seed)
    columns = [draws.bell(records, 0.0, 1.0) for _ in range(1 + seed % 3)]
    logistic = seed % 2 == 1
    below = 0.5 + 0.1 * sum(columns)
    y = draws.uniform(records) < below if logistic else draws.whole(records, 2 + seed)
    return {
        "design": np.column_stack([np.ones(records), *columns]),
        "y": np.asarray(y, dtype=np.float64),
        "family": "logistic" if logistic else "poisson",
    }
