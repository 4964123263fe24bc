"""HTML pages that need no other file: each holds its own tables, figures, style and script."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.phrase import counted
from pyvws.mechanisms.registry import MECHANISMS
from pyvws.sheet import Sheet, html, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FOLDER: Final = Path(__file__).parent / "templates"
_DPI: Final = 150
_NAMED: Final = 12  # A sentence lists at most so many names.


@dataclass(frozen=True, slots=True)
class Heading:
    """What the agency says at the top of both pages, and the day on which they are made."""

    title: str = "Synthetic data"
    agency: str = ""
    day: date = field(default_factory=date.today)

    @property
    def line(self) -> str:
        """Who releases, if the agency said so, and the day in words."""
        return ", ".join(filter(None, [self.agency, f"{self.day.day} {self.day:%B %Y}"]))


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A figure as a data address, its alternative text, and its size in CSS pixels."""

    source: str
    alt: str
    caption: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a page: sentences, small pictures, then figures and tables in order."""

    name: str
    title: str
    text: list[str]
    parts: list[PagePicture | Sheet] = field(default_factory=list)
    small: list[PagePicture] = field(default_factory=list)


def picture(figure: Figure, *, alt: str, caption: str | None = None) -> PagePicture:
    """A figure as PNG inside the page, without metadata.

    `alt` names the curves and axes of the figure for a reader who does not see the figure; it is
    the caption too where none is given.
    """
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
    content = base64.b64encode(buffer.getvalue()).decode("ascii")
    width, height = (round(96 * inches) for inches in figure.get_size_inches())
    return PagePicture(
        f"data:image/png;base64,{content}", alt, alt if caption is None else caption, width, height
    )


def render(template: str, **content: Any) -> str:
    """A page from a template of the package.

    The page's policy stops a browser from fetching anything. The policy allows images in the page,
    its style, and the script whose digest the policy names. LookupError if content lacks a value.
    """
    from jinja2 import UndefinedError

    script = (_FOLDER / "sort.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    content |= {"version": version("pyvws"), "script": script, "script_digest": digest}
    content["style"] = (_FOLDER / "style.css").read_text(encoding="utf-8")
    try:
        return str(_environment().get_template(template).render(content))
    except UndefinedError as error:
        raise LookupError(str(error)) from error


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=lambda name: str(name).endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "listing": _listing,
        "named": lambda columns: _listing([repr(column.name) for column in columns]),
        "number": number,
        "repr": repr,
        "sheet": lambda made: Markup(html([made], sorts=True)),
    }
    environment.filters |= {"formatted": formatted, "counted": counted}
    return environment


def _listing(names: Sequence[str]) -> str:
    """Names as a sentence lists them: "a, b and c". Of very many the first stand for all."""
    if len(names) > _NAMED:
        names = [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} more"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def mechanism_words(privacy: Mapping[str, Any]) -> tuple[str, str]:
    """Title and explanation of a mechanism; the statement itself holds both for an agency's own."""
    name = privacy["mechanism"]
    if name in MECHANISMS:
        return MECHANISMS[name].declared.title, MECHANISMS[name].declared.explanation
    brought = privacy.get("mechanism_words", {})
    return brought.get("title", name), brought.get("explanation", "")


def fit_label(privacy: Mapping[str, Any]) -> str:
    """The papers' label of the fit that made the datasets."""
    label = mechanism_words(privacy)[0]
    return f"{label}_final" if privacy.get("reweighted") else label


def ten_largest(caption: str, by: Floats, columns: Mapping[str, Floats]) -> Sheet:
    """The columns of the ten records that are largest in `by` (N,)."""
    rows = np.argsort(-by, kind="stable")[:10]
    figures = [(int(row) + 1, *(x[row] for x in columns.values())) for row in rows]
    return Sheet(caption, ("row", *columns), figures)


def _figure(value: float) -> str:
    return f"{value:.7g}" if value < 1e6 else str(value)


def formatted(value: object, figure: Callable[[float], str] = _figure) -> str:
    """A value of the statement as a reader sees it, with every digit of a figure rounded up."""
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        nested = any(isinstance(inner, Mapping) for inner in value.values())
        parts = (f"{name}: {formatted(inner, figure)}" for name, inner in value.items())
        return ("; " if nested else ", ").join(parts)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return figure(value) if isinstance(value, float) else str(value)
