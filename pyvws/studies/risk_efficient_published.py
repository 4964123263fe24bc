"""Figures that [risk2024] prints for its simulated counts: Tables 5 and 6, supplement Table 2.

Each as the paper prints it, so that its number of decimals is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["DATA_ROW", "PUBLISHED", "Published"]


@dataclass(frozen=True, slots=True)
class Published:
    """One printed figure, and the row and column of a replicate that it belongs to."""

    table: str
    row: str
    column: str
    value: str
    mechanism: str
    radius: float
    datasets: int
    statistic: str

    @property
    def half_unit(self) -> float:
        """Half of the last printed decimal: how far rounding may have moved the figure."""
        return 0.5 * 10.0 ** -len(self.value.partition(".")[2])

    @property
    def key(self) -> tuple[str, float, int, str]:
        """What it measures; figures of two tables may share one."""
        return self.mechanism, self.radius, self.datasets, self.statistic


_UTILITY: Final = (("U_m", "u_m"), ("U_a", "u_a"))
_TABLE_5: Final = (
    ("Synthesizer", "synthesizer", 0.3, "0.0451", "0.0006"),
    ("r = 30%", "marginal", 0.3, "0.1061", "0.0040"),
    ("r = 25%", "marginal", 0.25, "0.1124", "0.0045"),
    ("r = 20%", "marginal", 0.2, "0.1152", "0.0048"),
    ("r = 15%", "marginal", 0.15, "0.1088", "0.0043"),
)
_SUPPLEMENT_2: Final = (
    ("Synthesizer", "synthesizer", 0.3, "0.0451", "0.0006"),
    ("Marginal", "marginal", 0.15, "0.1088", "0.0043"),
    ("Pairwise", "pairwise", 0.15, "0.0378", "0.0003"),
)
# Table 6 by rows: estimate, ends of the interval and length, of the mean and of the median.
_ROWS_6: Final = {
    ("synthesizer", 30): "100.46 96.63 104.34 7.71 97.09 93.00 101.00 8.00",
    ("synthesizer", 20): "100.99 97.28 104.69 7.41 97.60 93.00 101.50 8.50",
    ("synthesizer", 10): "100.95 97.07 104.97 7.90 97.36 93.00 102.00 9.00",
    ("synthesizer", 5): "99.76 96.71 103.33 6.62 96.59 93.00 101.00 8.00",
    ("synthesizer", 1): "102.05 99.97 104.04 4.07 99.82 97.00 102.00 5.00",
    ("marginal", 30): "102.37 99.49 104.87 5.38 101.05 98.00 103.50 5.50",
    ("marginal", 20): "102.60 100.13 105.02 4.89 101.37 98.00 105.00 7.00",
    ("marginal", 10): "102.93 99.92 105.34 5.42 101.63 98.00 105.00 7.00",
    ("marginal", 5): "102.26 99.69 104.64 4.95 101.00 98.00 104.00 6.00",
    ("marginal", 1): "103.78 102.34 105.12 2.78 103.15 101.00 105.00 4.00",
}
_COLUMNS_6: Final = tuple(
    (f"{statistic}: {column}", f"{statistic}{suffix}")
    for statistic in ("mean", "median")
    for column, suffix in (
        ("estimate", ""),
        ("lower", "_lower"),
        ("upper", "_upper"),
        ("length", "_length"),
    )
)

DATA_ROW: Final[dict[str, str]] = dict(
    zip(
        (name for _, name in _COLUMNS_6),
        ["100.70", "98.68", "102.58", "3.90", "97.93", "95.49", "101.00", "5.51"],
        strict=True,
    )
)
"""Row D of Table 6: the data themselves."""

PUBLISHED: Final[tuple[Published, ...]] = (
    *(
        Published(table, label, column, value, mechanism, radius, 20, statistic)
        for table, rows in (("Table 5", _TABLE_5), ("Supplement, Table 2", _SUPPLEMENT_2))
        for label, mechanism, radius, *values in rows
        for (column, statistic), value in zip(_UTILITY, values, strict=True)
    ),
    *(
        Published(
            "Table 6", f"{mechanism[0].upper()} (L = {L})", column, value, mechanism, 0.2, L, name
        )
        for (mechanism, L), values in _ROWS_6.items()
        for (column, name), value in zip(_COLUMNS_6, values.split(), strict=True)
    ),
)
