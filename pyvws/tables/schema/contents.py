"""What the columns of a schema hold, for those who read a release: regressions, programs, files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pyvws.tables.files.labels import are_numbers, are_truth_values
from pyvws.tables.schema.column import Column

Content = Literal["numbers", "dates", "truth values", "text"]
"""What the values of a column are to those who read them."""


def content_of(column: Column) -> Content:
    """What a regression reads a column as; of a category the levels say it, with all codes.

    Levels such as 02139 are more than their number, so they are text.
    """
    if not column.categorical:
        return "numbers" if column.days_since is None else "dates"
    levels = [level for level in column.coded_levels if level is not None]
    if are_truth_values(levels):
        return "truth values"
    return "numbers" if are_numbers(levels) else "text"


def says_content(column: Column) -> bool:
    """Whether an entry says what its column holds: that of a public one may not."""
    told = column.days_since is not None or column.categorical or bool(column.missing_codes)
    return told or column.role == "synthesize"


def truth_words(columns: Mapping[str, Column]) -> dict[str, dict[bool, str]]:
    """How a csv spells the truth values of each column that has them: by its levels."""
    return {
        name: {level.lower() == "true": level for level in column.levels or ()}
        for name, column in columns.items()
        if column.categorical and content_of(column) == "truth values"
    }
