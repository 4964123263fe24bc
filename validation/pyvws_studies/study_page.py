"""The page of a study on a user's file: its tables and figures under their numbers in the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pyvws.report.page import Section, picture, render
from pyvws.sheet.sheet import Sheet, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Shown(Protocol):
    """A table of `rows`, or a `figure`, with its title and a text."""

    @property
    def title(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def rows(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def figure(self) -> Figure | None: ...


def study_page(title: str, lead: str, exhibits: Iterable[Shown], notes: Sequence[str]) -> str:
    """The page as HTML, with a part for each exhibit in order, and `notes` at its end."""
    sections = [
        Section(f"part-{place}", exhibit.title, [exhibit.text], [_part(exhibit)])
        for place, exhibit in enumerate(exhibits, start=1)
    ]
    return render(
        "study.html.j2", command="study", title=title, lead=lead, sections=sections, notes=notes
    )


def _part(exhibit: Shown) -> Any:
    if exhibit.figure is not None:
        return picture(
            exhibit.figure, alt=f"{exhibit.title}. {exhibit.text}", caption=exhibit.title
        )
    headings = tuple(exhibit.rows[0])
    rows = [tuple(_text(row[name]) for name in headings) for row in exhibit.rows]
    return Sheet(exhibit.title, headings, rows)


def _text(value: float | str | None) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else number(value)
