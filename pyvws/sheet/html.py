"""Sheets as HTML, for notebooks and for pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from pyvws.sheet.sheet import Sheet

_LONG = 44  # A longer cell may break into lines.
_SHORT = 12, 80  # Print keeps at most so many rows on one sheet, and no longer cells.


class InSheets:
    """What is told by its sheets, and shows them in a notebook."""

    __slots__ = ()

    @property
    def sheets(self) -> Sequence[Sheet]:
        """The sheets in their order."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return html(self.sheets)


def html(sheets: Iterable[Sheet], *, sorts: bool = False) -> str:
    """The sheets that have rows; every text is escaped.

    A page `sorts`: its script puts the rows in the order of a column, and its style sets columns of
    numbers to the right.
    """
    return "".join(_shown(sheet, sorts) for sheet in sheets if sheet.rows)


def _shown(sheet: Sheet, sorts: bool) -> str:
    heads = [escape(heading) for heading in sheet.columns]
    cells = sheet.cells
    if sorts:
        numeric = sheet.numeric
        short = len(cells) <= _SHORT[0] and all(len(x) < _SHORT[1] for row in cells for x in row)
        opening = f'<div class="scroll"><table class="sorts"{" data-short" if short else ""}>'
        head = "".join(
            f'<th scope="col" data-name="{name}" data-numbers="{"yes" if own else "no"}">'
            f'<button type="button">{name}</button></th>'
            for name, own in zip(heads, numeric, strict=True)
        )
        marks = [
            [
                f' data-label="{name}"' + _class(cell, own)
                for cell, name, own in zip(row, heads, numeric, strict=True)
            ]
            for row in cells
        ]
        closing = "</table></div>"
    else:
        opening, closing = "<table>", "</table>"
        head = "".join(f"<th>{name}</th>" for name in heads)
        marks = [[""] * len(row) for row in cells]
    body = "".join(
        "<tr>"
        + "".join(f"<td{mark}>{escape(cell)}</td>" for cell, mark in zip(row, own, strict=True))
        + "</tr>"
        for row, own in zip(cells, marks, strict=True)
    )
    return (
        _sentences(sheet.lead)
        + f"{opening}<caption>{escape(sheet.title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody>{closing}" + _sentences(sheet.notes)
    )


def _class(cell: str, numeric: bool) -> str:
    if numeric:
        return ' class="number"'
    return ' class="long"' if len(cell) > _LONG else ""


def _sentences(said: Iterable[str]) -> str:
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in said)
