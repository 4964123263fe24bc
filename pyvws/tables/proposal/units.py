"""Tell which column holds ids of units, such as households, and which records are of one unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import narwhals as nw
import numpy as np

from pyvws.tables.files.kinds import distinct, has_labels
from pyvws.tables.proposal import notes
from pyvws.tables.proposal.codes import FEW, named_as_times, part_in_waves
from pyvws.tables.proposal.often import Bools, Codes, Often
from pyvws.tables.schema.column import Column

OF_NUMBERS: Final = ("negative-binomial", "normal", "truncated-normal", "gamma", "beta")
"""Families of numbers. A column of one may still be of ids."""

_PAIRS_APART: Final = 10.0  # So many pairs of records would differ if no unit held them together.
_FEW_UNITS: Final = 4  # So few may still be units, of which a rule needs several.
_MOST_MEMBERS: Final = 30  # A unit has at most so many records on average,
_MOST_OF_AN_ID: Final = 100  # or so many where its name is one of ids.


def proposed_unit(frame: nw.DataFrame[Any], proposed: Mapping[str, Column]) -> str | None:
    """The column of ids whose units are the largest; None where no records share an id."""
    noted = [name for name, column in proposed.items() if column.note == notes.UNIT]
    return min(noted, key=lambda name: len(distinct(frame[name])[1]), default=None)


def units_of_records(frame: nw.DataFrame[Any], proposed: Mapping[str, Column]) -> Often:
    """The unit of each record (N,): what all records of one household have is one observation.

    Few units are units here too.
    """
    noted = [name for name, column in proposed.items() if column.note == notes.UNIT]
    names = noted or ids_of_units(frame, proposed, least=_FEW_UNITS)
    return Often.of(distinct(frame[names[0]])[0] if names else np.arange(len(frame)))


def ids_of_units(
    frame: nw.DataFrame[Any],
    proposed: Mapping[str, Column],
    least: int = FEW + 1,
    *,
    larger: bool = False,
) -> list[str]:
    """Columns of text or whole numbers that say which records are of one household or person.

    Their values stand together, and in some other column neighbours in a unit are alike, of which
    10 pairs or more would differ if they were any records. A column whose values stand together
    itself tells of no units: a table sorted by age has age groups so. Or each value comes at most
    once in each wave of some other column, as in a panel, in any order. No unit has empty cells.
    `larger` gives those with up to 100 records a value that are too many for a household.
    """
    shared: list[str] = []
    for name, column in proposed.items():
        codes_too = column.note in (notes.CODE, notes.MANY_CODES) or (
            least <= FEW and column.categorical
        )
        apart = column.note in (
            notes.NAMED_ID,
            notes.NUMBERED,
        )  # Its units may stand in rows apart.
        kind = (column.model in OF_NUMBERS or codes_too) and frame[name].dtype.is_integer()
        text = has_labels(frame[name]) and column.note in (None, notes.TEXT, notes.NUMBERED_CODES)
        if not (kind or text or apart) or column.days_since is not None or named_as_times(name):
            continue
        own = distinct(frame[name])[0]
        if (own < 0).any():
            continue
        rows = np.argsort(own, kind="stable") if apart else np.arange(len(own))
        own = own[rows]
        others = [
            distinct(frame[other])[0][rows]
            for other in frame.columns
            if other != name and proposed[other].note not in (notes.ONE, notes.OTHER, notes.ID)
        ]
        number = len(np.unique(own))
        most = _MOST_OF_AN_ID if apart or larger else _MOST_MEMBERS
        fewest = _MOST_MEMBERS if larger and not apart else _MOST_OF_AN_ID if larger else 0
        if not (least <= number < len(own) and fewest * number < len(own) <= most * number):
            continue
        alike = own[1:] == own[:-1]
        together = number == len(own) - int(alike.sum())
        if any(
            (together and _holds_together(alike, codes, numbered=apart))
            or (number > FEW and part_in_waves(own, codes))
            for codes in others
        ):
            shared.append(name)
    return shared


def _holds_together(alike: Bools, codes: Codes, *, numbered: bool) -> bool:
    """Whether neighbours of one unit are alike in codes (N,), hardly by chance.

    Codes that have each value in one place may follow the units' order alone. Of ids that look
    `numbered` they tell too.
    """
    shares = np.unique(codes, return_counts=True)[1] / len(codes)
    apart = codes[1:] != codes[:-1]
    return bool(
        not apart[alike].any()
        and (numbered or apart.sum() >= len(shares))
        and alike.sum() * (1.0 - (shares**2).sum()) >= _PAIRS_APART
    )
