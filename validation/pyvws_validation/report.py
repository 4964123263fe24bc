"""Rows of a comparison with R, as a table for people and as plain values for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.table import Table

Verdict = Literal["pass", "fail", "skipped"]

_COLOURS = {"pass": "green", "fail": "red", "skipped": "yellow"}


@dataclass(frozen=True, slots=True)
class Measurement:
    """A number with its name; the number passes between `low` and `high`, `what` has its unit."""

    what: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The outcome of one case.

    `largest_difference` is in ulp over all seeds and shapes; None if nothing was compared, or if
    shapes or NaNs differ. `source` names the other side, as "stored R <version>". `measured` is the
    finding in words, and `measurements` in numbers. `tolerance` is the largest difference that
    passes, for the reason `why`. `sha256` is the hash of others' code before the named `edits`, and
    `erratum` the entry of the errata list that the row shows.
    """

    id: str
    paper: str
    level: str
    r_function: str = ""
    python_function: str
    seeds: tuple[int, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()
    largest_difference: int | None = None
    verdict: Verdict
    reason: str = ""
    source: str = ""
    measured: str = ""
    tolerance: int = 0
    sha256: str = ""
    edits: tuple[str, ...] = ()
    erratum: str = ""
    why: str = ""
    measurements: tuple[Measurement, ...] = ()


def template(name: str) -> Any:
    """A template of this folder; the template escapes values, and an unknown name is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pyvws_validation", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def render(rows: Sequence[Row], console: Console) -> None:
    """Print one line for each case, the reasons of cases that did not pass, and a count."""
    table = Table(title="Python against R, Stan and its own claims", title_justify="left")
    for heading in ("quantity", "paper", "level", "R", "Python"):
        table.add_column(heading, overflow="fold")
    for heading in ("seeds x shapes", "largest difference", "verdict"):
        table.add_column(heading, justify="right")
    for row in rows:
        gap = row.measured
        if row.largest_difference is not None:
            gap = f"{row.largest_difference} ulp" + (f" of {allowed(row)}" if row.tolerance else "")
        colour = _COLOURS[row.verdict]
        table.add_row(
            row.id,
            row.paper,
            row.level,
            row.r_function,
            row.python_function,
            f"{len(row.seeds)} x {len(row.shapes)}" if row.shapes else "",
            gap,
            f"[{colour}]{row.verdict}[/{colour}]",
        )
    console.print(table)
    for reason, ids in _reasons(rows).items():
        console.print(f"{', '.join(ids)}: {reason}", markup=False, highlight=False)
    for (code, sha256), edits in _code_of_others(rows).items():
        applied = f", edits {', '.join(edits)}" if edits else ""
        line = f"{code}: sha256 {sha256}{applied}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    counts = Counter(row.verdict for row in rows)
    sources = sorted({row.source for row in rows if row.source})
    against = f" against {', '.join(sources)}" if sources else ""
    console.print(
        f"{len(rows)} quantities{against}: {counts['pass']} pass, {counts['fail']} fail, "
        f"{counts['skipped']} skipped.",
        highlight=False,
    )


def to_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One dict of plain values for each row."""
    return [{name: _plain(value) for name, value in asdict(row).items()} for row in rows]


def _plain(value: object) -> Any:
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value


def _code_of_others(rows: Sequence[Row]) -> dict[tuple[str, str], list[str]]:
    """Edits that any row applied, by file or listing of others and its SHA-256."""
    edits_of_code: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.sha256:
            named = edits_of_code.setdefault((row.r_function, row.sha256), [])
            named += [edit for edit in row.edits if edit not in named]
    return edits_of_code


def allowed(row: Row) -> str:
    """What a row allows: "0", or a number of ulp and its share of a value, such as 2.4e-07."""
    share = row.tolerance * float(np.finfo(np.float64).eps)
    return f"{row.tolerance} ({share:.1e} of a value)" if row.tolerance else "0"


def _reasons(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Ids of the rows that did not pass, by reason; "all" if every row has the same reason."""
    ids_of_reason: dict[str, list[str]] = {}
    for row in rows:
        if row.verdict != "pass":
            ids_of_reason.setdefault(row.reason, []).append(row.id)
    return {
        reason: ["all"] if len(ids) == len(rows) and len(ids) > 1 else ids
        for reason, ids in ids_of_reason.items()
    }
