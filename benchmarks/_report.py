"""The tables of a run with its machine, as Markdown and as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pyvws_studies.own_process import memory_gigabytes
from pyvws_validation import provenance

from benchmarks._floors import FLOORS
from benchmarks._found import Entry, Found, Table
from pyvws._base.cores import usable_cores
from pyvws._base.folders import whole_folder

__all__ = ["FILES", "content", "machine", "to_markdown", "write"]

FILES: Final = ("results.md", "results.json")
_MACHINE: Final = ("distribution", "architecture", "processor", "processors")


def machine() -> dict[str, str]:
    """What speed depends on: processor, memory, and how busy it was. No host name, no path."""
    found = provenance.machine()
    return {
        **{name: found[name] for name in _MACHINE},
        "processors of this run": str(usable_cores()),
        "memory": f"{memory_gigabytes():.1f} GB",
        "load when it began": f"{os.getloadavg()[0]:.2f}",
    }


def content(
    found: Mapping[str, Found],
    figures: Mapping[str, float],
    about: Mapping[str, str],
    *,
    began: datetime,
    seconds: float,
    options: str,
) -> dict[str, Any]:
    """All that the report says, as plain values.

    `found` is by part, `figures` by the name of a floor, `about` is the machine, `began` has its
    zone, `options` are those of the command.
    """
    return {
        "began": began.astimezone(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "options": options,
        "machine": dict(about),
        "versions": provenance.versions(),
        "floors": [
            {
                "figure": name,
                "measured": figures.get(name),
                "floor": str(floor),
                "verdict": _verdict(name, figures.get(name)),
            }
            for name, floor in FLOORS.items()
        ],
        "parts": {name: asdict(part) for name, part in found.items()},
    }


def _verdict(name: str, value: float | None) -> str:
    if value is None:
        return "not measured"
    floor = FLOORS[name]
    if floor.met(value):
        return "met"
    return "not met, by more than half" if floor.fails(value) else "not met"


def to_markdown(made: Mapping[str, Any]) -> str:
    """The page of a `content`."""
    floors: list[tuple[Entry, ...]] = []
    for row in made["floors"]:
        measured = "" if row["measured"] is None else row["measured"]
        floors.append((row["figure"], row["floor"], measured, row["verdict"]))
    facts: list[tuple[Entry, ...]] = list(made["machine"].items())
    for group, versions in made["versions"].items():
        missing = provenance.NOT_INSTALLED
        present = [f"{name} {text}" for name, text in versions.items() if text != missing]
        facts.append((group, ", ".join(present) or missing))
    lines = [
        "# Benchmarks",
        "",
        f"Began {made['began']}, took {made['seconds']:.0f} s. "
        f"Options: {made['options'] or 'none'}.",
        "",
        *_table(Table("Floors", ("figure", "floor", "measured", "verdict"), floors)),
        *_table(Table("Machine and versions", ("what", "is"), facts)),
    ]
    for part in made["parts"].values():
        for table in part["tables"]:
            lines += _table(Table(**table))
    left_out = [reason for part in made["parts"].values() for reason in part["left_out"]]
    if left_out:
        lines += ["## Left out", "", *(f"- {reason}" for reason in left_out), ""]
    return "\n".join(lines)


def _table(table: Table) -> list[str]:
    """Lines of one table under its heading."""
    numbers = [
        all(not isinstance(row[at], str) for row in table.rows) for at in range(len(table.columns))
    ]
    rule = ["---:" if number else "---" for number in numbers]
    rows = [table.columns, rule, *([_shown(entry) for entry in row] for row in table.rows)]
    lines = [f"## {table.title}", "", *(f"| {' | '.join(row)} |" for row in rows), ""]
    return [*lines, table.note, ""] if table.note else lines


def _shown(entry: Entry) -> str:
    """Whole numbers with commas, others to three figures; text without what ends a cell."""
    if isinstance(entry, str):
        return entry.replace("|", "\\|")
    if isinstance(entry, int):
        return f"{entry:,}"
    return f"{entry:,.0f}" if abs(entry) >= 1000 else f"{entry:.3g}"


def write(folder: Path, made: Mapping[str, Any], page: str) -> list[Path]:
    """Write both files into `folder`, which is replaced whole or left as it is."""
    with whole_folder(folder, overwrite=True) as partial:
        (partial / FILES[0]).write_text(page, encoding="utf-8")
        text = json.dumps(made, indent=2, allow_nan=False) + "\n"
        (partial / FILES[1]).write_text(text, encoding="utf-8")
    return [folder / name for name in FILES]
