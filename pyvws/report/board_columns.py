"""The board's section on single columns: each statistic of the data beside its synthetic range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyvws.evaluation.column_checks import TROUBLES
from pyvws.report.page import Section
from pyvws.sheet.sheet import Sheet, number

_HEADINGS = ("column", "statistic", "data", "synthetic, mean", "lowest", "highest")


def columns_section(checks: Mapping[str, Any]) -> Section:
    """The part `column_checks` of summary.json: what differs, then all statistics."""
    entries = [(name, row) for name, rows in checks["columns"].items() for row in rows]
    bad = [(name, row) for name, row in entries if row["trouble"]]
    words = (
        "Statistics that differ from the data by more than chance and a tolerance are listed first."
        if bad
        else "No synthetic column does what its data does not."
    )
    text = [
        f"{words} Means, lowest and highest figures are over the datasets, of which "
        f"{checks['rows_checked']} rows each were looked at. A synthetic range that does not hold "
        "the data's figure says that the model cannot make it."
    ]
    return Section(
        "columns",
        "Columns beside their data",
        text,
        [
            Sheet(
                "What to do about each column",
                ("column", "what is wrong, and what to do"),
                [*checks.get("advice", {}).items()],  # Earlier runs have none.
            ),
            Sheet(
                "What a synthetic column does that its data does not",
                (*_HEADINGS, "what differs"),
                [(*_row(name, row), TROUBLES[row["trouble"]]) for name, row in bad],
            ),
            Sheet(
                "Predictive check: statistics of each column, in its unit or as shares in [0, 1]",
                _HEADINGS,
                [_row(name, row) for name, row in entries],
            ),
        ],
    )


def _row(name: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    figures = (row[part] for part in ("data", "mean", "lowest", "highest"))
    return name, row["name"], *(number(value, 6) for value in figures)
