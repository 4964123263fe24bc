"""One column in the original and in synthetic datasets: a number, or the levels of a category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Final, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.evaluation.ecdf import ecdf_utility
from pyvws.evaluation.pmse import pmse
from pyvws.evaluation.utility_table import utility_table
from pyvws.sheet.html import Told
from pyvws.sheet.sheet import Sheet

_BESIDE: Final = ("data", "average", "lowest", "highest")
_ONE_MARGIN: Final = (
    "One margin cannot see what ties the column to others: a permuted column scores as a copy. "
    "Leave --outcome out to judge the whole table."
)


@dataclass(frozen=True, slots=True, eq=False)
class LevelMargin(Told):
    """A category in several tables: the share of each of its L levels, shape (tables, L)."""

    name: str
    levels: tuple[str, ...]
    shares: Floats

    @classmethod
    def of(cls, name: str, levels: Sequence[str], tables: Sequence[NDArray[np.intp]]) -> Self:
        """Of codes 0 to L - 1 of the levels in each table (N_l,)."""
        counts = (np.bincount(codes, minlength=len(levels)) / len(codes) for codes in tables)
        return cls(name, tuple(levels), np.array([*counts]))

    @property
    def distance(self) -> float:
        """Half the sum of the differences to the first table's shares, as a mean over the others.

        The share of rows that would have to change; in [0, 1].
        """
        return float(np.abs(self.shares[1:] - self.shares[0]).sum(axis=1).mean()) / 2

    @property
    def sheets(self) -> tuple[Sheet]:
        """The share of each level in the data and in the datasets."""
        own = self.shares[1:]
        rows = [
            *zip(self.shares[0], own.mean(axis=0), own.min(axis=0), own.max(axis=0), strict=True)
        ]
        distance = f"distance {self.distance:.4f}: the share of rows that would have to change"
        return (
            Sheet(
                f"{self.name}: shares in the data and in {len(own)} synthetic datasets",
                ("level", *_BESIDE),
                [(level, *row) for level, row in zip(self.levels, rows, strict=True)],
                notes=[f"{distance} (smaller = nearer)", _ONE_MARGIN],
                facts={
                    "outcome": self.name,
                    "datasets": len(own),
                    "distance": self.distance,
                    "blind": _ONE_MARGIN,
                    "levels": {
                        level: dict(zip(_BESIDE, row, strict=True))
                        for level, row in zip(self.levels, rows, strict=True)
                    },
                },
            ),
        )

    def folded(self, most: int) -> LevelMargin:
        """The margin with the rarest levels in one, so that at most `most` are left to draw."""
        if len(self.levels) <= most:
            return self
        common = np.sort(np.argsort(-self.shares.mean(axis=0), kind="stable")[: most - 1])
        others = 1.0 - self.shares[:, common].sum(axis=1)
        return LevelMargin(
            self.name,
            (*(self.levels[place] for place in common), f"{len(self.levels) - most + 1} others"),
            np.column_stack([self.shares[:, common], np.maximum(others, 0.0)]),
        )


def one_column(name: str, levels: Sequence[str] | None, tables: Sequence[Any]) -> Sequence[Sheet]:
    """The sheets of a column in the original, the first of `tables` (N_l,), and in the datasets.

    The values are numbers, or codes of the `levels`.
    """
    if levels is None:
        return [_of_number(name, tables[0], tables[1:])]
    return LevelMargin.of(name, levels, tables).sheets


def _of_number(name: str, original: Floats, datasets: Sequence[Floats]) -> Sheet:
    """Quantiles and means of the number in each table, and how far the tables are apart."""
    distance, table = ecdf_utility(original, datasets), utility_table(original, datasets)
    data, *own = (pl.DataFrame({"value": x}) for x in (original, *datasets))
    scores = [pmse(data, one, formula="~ value + I(value^2)") for one in own]
    value, ratio = (fmean(getattr(score, part) for score in scores) for part in ("value", "ratio"))
    sheet = table.sheet(f"{name}: data and {len(own)} synthetic datasets")
    return replace(
        sheet,
        notes=[
            f"U_m {distance.maximum:.4f}, U_a {distance.average:.6f} (smaller = nearer)",
            f"pMSE {value:.3g}, {ratio:.2f} times what chance gives (1 = alike)",
            _ONE_MARGIN,
        ],
        facts={
            "outcome": name,
            "datasets": len(own),
            "u_m": distance.maximum,
            "u_a": distance.average,
            "pmse": value,
            "pmse_ratio": ratio,
            "blind": _ONE_MARGIN,
            **sheet.facts,
        },
    )
