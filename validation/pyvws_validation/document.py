"""The document of a validation: one folder with JSON, one self-contained page, and JUnit XML."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pyvws._base.folders import whole_folder
from pyvws_validation import errata, provenance
from pyvws_validation.report import Row, allowed, template, to_json
from pyvws_validation.uncovered import LEFT_OPEN, uncovered

FILES: Final = ("validation.html", "validation.json", "validation.xml")
_LEVELS: Final = {
    "exact": "Numbers equal to R's",
    "close": "Numbers close to R's",
    "density": "Densities against Stan and R",
    "posterior": "Posteriors against Stan",
    "paper": "Printed tables, recomputed",
    "statement": "Privacy statements against R",
    "guarantee": "Claims of differential privacy against computed losses",
    "others": "Code of the papers and of their authors",
}
_MARK: Final = re.compile(r"([_:./])")
_VERDICTS: Final = ("pass", "fail", "skipped")


def write_report(
    folder: Path,
    rows: Sequence[Row],
    *,
    began: datetime,
    seconds: float,
    command: str = "",
    interrupted: bool = False,
    overwrite: bool = False,
) -> list[Path]:
    """Write the page, the JSON and the XML of these rows into `folder`, whole or not at all.

    The folder does not exist or is empty, unless `overwrite`. `began` has its time zone, `command`
    is the user's, and `interrupted` says that rows are missing. Raises OutputError where the folder
    cannot be written.
    """
    report = content(rows, began=began, seconds=seconds, command=command, interrupted=interrupted)
    with whole_folder(folder, overwrite=overwrite) as partial:
        page = to_html(report, rows)
        (partial / FILES[0]).write_text(page, encoding="utf-8")
        text = json.dumps(report, indent=2, allow_nan=False) + "\n"
        (partial / FILES[1]).write_text(text, encoding="utf-8")
        written = to_junit(rows, began=began, seconds=seconds)
        (partial / FILES[2]).write_text(written, encoding="utf-8")
    return [folder / name for name in FILES]


def content(
    rows: Sequence[Row],
    *,
    began: datetime,
    seconds: float,
    command: str = "",
    interrupted: bool = False,
) -> dict[str, Any]:
    """The document's content as plain values; `write_report` explains the parameters."""
    verdicts: Counter[str] = Counter(row.verdict for row in rows)
    return {
        "verdict": _verdict(verdicts),
        "interrupted": interrupted,
        "counts": {name: verdicts[name] for name in _VERDICTS},
        "levels": [
            {"level": level, "title": title} | _counted([row for row in rows if _of(row) == level])
            for level, title in _LEVELS.items()
        ],
        "began": began.astimezone(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "command": command,
        "versions": provenance.versions(),
        "machine": provenance.machine(),
        "sha256": provenance.hashes(),
        "rows": _finite(to_json(rows)),
        "errata": _finite([asdict(slip) for slip in errata.errata()]),
        "conventions": [asdict(entry) for entry in errata.conventions()],
        "not_covered": {"left_open": list(LEFT_OPEN), "not_run": uncovered()},
    }


def to_html(report: dict[str, Any], rows: Sequence[Row]) -> str:
    """The HTML page of a `content`; the page loads no script, style or image from elsewhere."""
    groups = {level: [row for row in rows if _of(row) == level] for level in _LEVELS}
    page = template("page.html.j2").render(
        **report,
        titles=_LEVELS,
        groups=groups,
        not_installed=provenance.NOT_INSTALLED,
        duration=_duration(report["seconds"]),
        span=_span,
        allowed=allowed,
        breakable=_breakable,
    )
    return f"{page}\n"


def to_junit(rows: Sequence[Row], *, began: datetime, seconds: float) -> str:
    """The rows as JUnit XML: a suite for each level, and a test case for each row."""
    levels = dict.fromkeys(row.level for row in rows)
    suites = {level: [row for row in rows if row.level == level] for level in levels}
    when = began.isoformat(timespec="seconds")
    text = template("junit.xml.j2").render(
        rows=rows, suites=suites, began=when, seconds=seconds, said=_described
    )
    return f"{text}\n"


def _described(row: Row) -> str:
    """The comparison and the finding of a row, a line for each non-empty value."""
    gap = None if row.largest_difference is None else f"{row.largest_difference} ulp"
    entries = {
        "paper": row.paper,
        "R or Stan": row.r_function,
        "Python": row.python_function,
        "against": row.source,
        "largest difference": gap,
        "measured": row.measured,
    }
    return "\n".join(f"{name}: {value}" for name, value in entries.items() if value)


def _breakable(text: str) -> Any:
    """A name as HTML that a narrow column may break after punctuation marks."""
    from markupsafe import Markup, escape

    return Markup(_MARK.sub(r"\1<wbr>", str(escape(text))))


def _verdict(verdicts: Counter[str]) -> str:
    """ "fail" if a row failed, "incomplete" if a row could not run or no row ran, else "pass"."""
    if verdicts["fail"]:
        return "fail"
    return "incomplete" if verdicts["skipped"] or not verdicts["pass"] else "pass"


def _of(row: Row) -> str:
    """The level of a row, or "others" for a row that ran code of others."""
    return "others" if row.id.partition("/")[0] in ("authors", "listings") else row.level


def _counted(rows: Sequence[Row]) -> dict[str, int]:
    verdicts: Counter[str] = Counter(row.verdict for row in rows)
    equal = sum(row.largest_difference == 0 for row in rows)
    return {"rows": len(rows), **{name: verdicts[name] for name in _VERDICTS}, "equal_bits": equal}


def _finite(value: object) -> Any:
    """The value with infinities and NaN as text, at any depth, because JSON has no such numbers."""
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    infinite = isinstance(value, float) and not abs(value) < float("inf")
    return str(value) if infinite else value


def _duration(seconds: float) -> str:
    """For example "4 min 12 s"."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def _span(numbers: Sequence[int]) -> str:
    """ "1 to 5" for consecutive numbers, else the numbers themselves."""
    run = list(range(numbers[0], numbers[0] + len(numbers))) if numbers else []
    if len(run) > 2 and list(numbers) == run:
        return f"{run[0]} to {run[-1]}"
    return ", ".join(map(str, numbers))
