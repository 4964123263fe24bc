"""Cases of `pyvws.evaluation` for risks of tables: disclosure by keys, and closest records."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import numpy as np
import polars as pl

from pyvws._base.checks import Floats, Ints
from pyvws.evaluation.disclosure import attribute_disclosure, closest_distances, replicated_uniques
from pyvws.evaluation.table_risk import table_risk
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._draws import Draws


def unique_shares(original: Ints, synthetic: Ints) -> Floats:
    """UiO, UiS, UiOiS and repU."""
    return np.array(astuple(replicated_uniques(original, synthetic)))


def attribute_shares(**codes: Any) -> Floats:
    """Dorig, iS, DiS, DiSCO and DiSDiO."""
    return np.array(astuple(attribute_disclosure(**codes)))


def plain(codes: Ints, numbers: Floats) -> dict[str, Any]:
    """A table given as matrices (N, K) of codes and of numbers."""
    parts = [*np.asarray(codes).T, *np.asarray(numbers).T]
    return {f"x{place}": part for place, part in enumerate(parts)}


def closest_of(
    codes: Ints, numbers: Floats, other_codes: Ints, other_numbers: Floats, ranges: Floats
) -> Floats:
    """Distances of tables given as matrices of codes and of numbers."""
    width = {f"x{codes.shape[1] + place}": float(x) for place, x in enumerate(ranges)}
    return closest_distances(plain(codes, numbers), plain(other_codes, other_numbers), width)


def copied_share(original: Ints, synthetic: Ints) -> float:
    """Copies of unique records, of tables given as matrices (N, K) of codes."""
    levels = tuple(str(code) for code in range(1 + int(max(original.max(), synthetic.max()))))
    names = [f"x{place}" for place in range(original.shape[1])]
    schema = Schema({name: Column(model="nominal", levels=levels) for name in names})
    tables = [pl.DataFrame(codes.astype(str), schema=names) for codes in (original, synthetic)]
    risk = table_risk(tables[0], [tables[1]], keys=names[:1], schema=schema)
    return risk.copies_of_uniques


def _keys(seed: int, records: int) -> dict[str, Any]:
    """About as many keys as records; each table has keys that the other lacks."""
    draws = Draws(seed)
    return {
        "original": draws.whole(records, records + seed),
        "synthetic": draws.whole(records + seed, records + seed) + seed % 3,
    }


def _targets(seed: int, *shape: int) -> dict[str, Any]:
    draws = Draws(seed + 50)
    keys = _keys(seed, *shape)
    return {
        "original": keys["original"] // 2,
        "original_target": draws.whole(len(keys["original"]), 1 + seed),
        "synthetic": keys["synthetic"] // 2,
        "synthetic_target": draws.whole(len(keys["synthetic"]), 1 + seed),
    }


def _records(seed: int, records: int) -> dict[str, Any]:
    """Two tables of two or three categories, in which some records are alone."""
    draws, columns = Draws(seed), 2 + seed % 2
    original = draws.whole(records * columns, 5).reshape(records, columns)
    synthetic = draws.whole((records + seed) * columns, 5).reshape(-1, columns)
    return {"original": original, "synthetic": synthetic}


def _tables(seed: int, records: int) -> dict[str, Any]:
    """One or two categories and numbers, some of them missing."""
    draws = Draws(seed)
    columns = 1 + seed % 2

    def table(n: int) -> tuple[Any, Floats]:
        codes = draws.whole(n * columns, 3).reshape(n, columns)
        numbers = draws.bell(n * columns, 10.0, 4.0)
        numbers[draws.uniform(n * columns) < 0.1] = np.nan
        return codes, numbers.reshape(n, columns)

    first, second = table(records), table(records + seed)
    return {
        "codes": first[0],
        "numbers": first[1],
        "other_codes": second[0],
        "other_numbers": second[1],
        "ranges": np.array([8.0, 20.0])[:columns],
    }


def _distances(seed: int, records: int) -> dict[str, Any]:
    first = Draws(seed).whole(records, 20) / 32.0
    return {"first": first, "second": Draws(seed + 50).whole(records + seed, 16) / 16.0}
