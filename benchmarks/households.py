"""Figures of households: how many are impossible, shares of couples, and what a household costs.

The rules are those by which NestedCategBayesImpute calls a household impossible. They are written
out here anew, and not read from the schema of a run. What is missing breaks none of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["SCHEMA", "couples", "impossible", "read_households"]

SCHEMA = Path(__file__).with_name("households.toml")
_CHILDREN = {3: 7, 4: 11, 5: 9}  # The least years between head and child, by kind of child.
_BANDS = [0, 30, 40, 50, 60, 70, 100]


def read_households(path: Path) -> pd.DataFrame:
    """The persons beside the head of each household, as whole numbers and missing ones."""
    return pd.read_csv(path, sep=" ", dtype="Int64")


def impossible(table: pd.DataFrame) -> int:
    """The number of households that break a rule between their members."""
    of = table.astype("float")
    home, relate, older = of["Hhindex"], of["relate"], of["headage"] - of["age"]
    spouse = relate == 2
    spouses = spouse.groupby(home).transform("sum")
    spouse_age = of["age"].where(spouse).groupby(home).transform("min")
    bad = of["headage"] < 16
    bad |= spouses > 1
    bad |= spouse & ((of["age"] < 16) | (of["sex"] == of["headsex"]) | (older.abs() > 49))
    for child, years in _CHILDREN.items():
        bad |= (relate == child) & (older < years)
    bad |= (relate == 6) & (older.abs() > 37)
    bad |= relate.isin([7, 9]) & (-older < 4)
    bad |= (relate == 8) & ((of["headage"] < 31) | (older < 26) | (spouse_age < 17))
    return int(bad.groupby(home).any().sum())


def couples(table: pd.DataFrame) -> pd.Series[Any]:
    """Shares of couples by sexes, races, ages and difference of ages, where both are known.

    The first share is that of households with a couple.
    """
    of = table.astype("float")
    pairs = of[of["relate"] == 2]
    found = {"couples": len(pairs) / of["Hhindex"].nunique()}
    for what in ("sex", "race"):
        known = pairs.dropna(subset=[what, f"head{what}"])
        share = known.groupby([f"head{what}", what]).size() / len(known)
        found |= {f"{what} {int(a)} and {int(b)}": x for (a, b), x in share.items()}
        found[f"same {what}"] = float((known[what] == known[f"head{what}"]).mean())
    known = pairs.dropna(subset=["age"])
    older = (known["headage"] - known["age"]).abs()
    for years in (1, 2, 5, 10):
        found[f"within {years} years"] = float((older <= years).mean())
    bands = [np.digitize(known[one], _BANDS) for one in ("headage", "age")]
    share = known.groupby(bands).size() / len(known)
    found |= {f"ages from {_BANDS[a - 1]} and {_BANDS[b - 1]}": x for (a, b), x in share.items()}
    return pd.Series(found)
