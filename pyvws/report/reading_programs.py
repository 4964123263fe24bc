"""How R and Python read a release, and what they compute of it: lines for the public page."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyvws.report.output_folder import PublicPart
from pyvws.report.released_columns import ReportedColumn, kinds_in
from pyvws.tables.files.labels import as_number
from pyvws.tables.files.read import CSV_NULLS
from pyvws.tables.schema.write_values import content_of, says_content

_WIDTH: Final = 88
_FEW: Final = 12  # Levels of a category that a program's table or regression takes.


def reading(public: PublicPart) -> dict[str, str]:
    """A statement by language that reads the first dataset: dates as dates, and codes as text."""
    file = public.files[0].path
    if file.suffix != ".csv":
        return {
            "python": f'import pandas as pd\ndata = pd.read_{file.suffix[1:]}("{file.name}")',
            "r": f'data <- as.data.frame(nanoparquet::read_parquet("{file.name}"))',
        }
    untold = [x.name for x in public.columns if not says_content(x.number) or x.levels == ()]
    kinds = kinds_in(file, untold)
    text, dates, missing = [], [], {}
    for column in public.columns:
        own = column.number
        kind = kinds.get(column.name)
        if content_of(own) == "text" if kind is None else str(kind) == "String":
            text.append(column.name)
        elif kind is None and own.days_since is not None:
            dates.append(column.name)
        if codes := list(CSV_NULLS) if kind is not None else _codes(column):
            missing[column.name] = codes
    text += public.privacy.get("columns_numbered", [])
    python = {
        "keep_default_na": "False",
        "dtype": _mapping(dict.fromkeys(text, "str"), "{", ": ", "}"),
        "parse_dates": _quoted(dates) if dates else "",
        "na_values": _mapping({x: _quoted(own) for x, own in missing.items()}, "{", ": ", "}"),
    }
    everywhere, alone = _missing_in_r(public, missing)
    r = {
        "check.names": "FALSE",
        "encoding": '"UTF-8"',
        "colClasses": _mapping(
            dict.fromkeys(text, '"character"') | dict.fromkeys(dates, '"Date"'), "c(", " = ", ")"
        ),
        "na.strings": _in_r(everywhere),
    }
    rest = "".join(
        f"\ndata[[{_quoted(name)}]][data[[{_quoted(name)}]] %in% {_in_r(codes)}] <- NA"
        for name, codes in alone.items()
    )
    return {
        "python": f"import pandas as pd\ndata = {_call('pd.read_csv', file.name, python, '=')}",
        "r": f"data <- {_call('read.csv', file.name, r, ' = ')}{rest}",
    }


def _missing_in_r(
    public: PublicPart, missing: Mapping[str, list[str]]
) -> tuple[list[str], dict[str, list[str]]]:
    """The codes that are missing wherever they stand, and the others by column.

    read.csv takes codes for all columns, so a number and a level of another column are none.
    """
    levels = {str(level) for column in public.columns for level in column.number.levels or ()}
    own = dict.fromkeys(code for codes in missing.values() for code in codes)
    everywhere = [code for code in own if code not in levels and as_number(code) is None]
    alone = {
        name: rest
        for name, codes in missing.items()
        if (rest := [code for code in codes if code not in everywhere])
    }
    return everywhere, alone


def programs(public: PublicPart) -> dict[str, str]:
    """Three lines by language: a table, and a regression of the columns at hand.

    There are none of one dataset, or of datasets of one draw, which have no valid intervals.
    """
    if public.privacy["draws_released"] < 2:
        return {}
    by = next((x.name for x in public.columns if 1 < len(x.number.levels or ()) <= _FEW), None)
    asked = {"by": by, "count": by is not None, "mean": public.outcome}
    known = {name: value for name, value in asked.items() if value}
    python = ", ".join(f"{name}={_quoted(value)}" for name, value in known.items())
    r = ", ".join(f"{name} = {_quoted(value)}" for name, value in known.items())
    lines = {
        "python": [
            "import pyvws as vws  # pip install pyvws; run it beside the synthetic files",
            f'print(vws.tabulate(".", {python.replace("true", "True")}).frame)',
        ],
        "r": [
            "library(pyvws)  # the R package of pyvws; run it beside the synthetic files",
            f'print(tabulate(".", {r.replace("true", "TRUE")}))',
        ],
    }
    formula = _formula(public)
    if formula:
        combined = f'vws.combine_formula(".", {_quoted(formula)})'
        lines["python"].append(
            f"print({{name: (x.estimate, *x.interval()) for name, x in {combined}.items()}})"
        )
        combined = combined.replace("vws.", "vws$")
        lines["r"].append(
            f"print(t(sapply({combined}, \\(x) c(x$estimate, unlist(x$interval())))))"
        )
    return {language: "\n".join(own) for language, own in lines.items() if known}


def _formula(public: PublicPart) -> str:
    """A regression of the outcome; backticks enclose a name that R cannot read."""
    if public.outcome is None:
        return ""
    others = [x.name for x in public.columns if x.name != public.outcome and _is_simple(x)]
    told = [x.name for x in public.columns if x.levels == () or _is_simple(x)]
    right = [name for name in public.predictors if name in told] or others
    left, *right = (
        name if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) else f"`{name}`"
        for name in (public.outcome, *right[:2])
    )
    return f"{left} ~ {' + '.join(right) or '1'}"


def _is_simple(column: ReportedColumn) -> bool:
    """Whether a column is a number, or has few levels."""
    if column.levels is None:
        return column.number.days_since is None
    return 1 < len(column.levels) <= _FEW


def _codes(column: ReportedColumn) -> list[str]:
    """The cells that stand for a missing value: an empty one too, unless it is a level."""
    own = column.number
    codes = dict.fromkeys("" if code is None else code for code in own.missing_codes)
    return [*({} if "" in (own.levels or ()) else {"": None}) | codes] if codes else []


def _quoted(value: Any) -> str:
    """A value, or a list of them, as both languages read it."""
    return json.dumps(value, ensure_ascii=False)


def _in_r(values: Sequence[str]) -> str:
    return f"c({', '.join(map(_quoted, values))})" if values else "character(0)"


def _mapping(values: Mapping[str, str], start: str, between: str, end: str) -> str:
    parts = [f"{_quoted(name)}{between}{value}" for name, value in values.items()]
    return f"{start}{_wrapped(parts)}{end}" if parts else ""


def _call(function: str, file: str, arguments: Mapping[str, str], between: str) -> str:
    parts = [_quoted(file), *(f"{x}{between}{own}" for x, own in arguments.items() if own)]
    return f"{function}({_wrapped(parts)})"


def _wrapped(parts: Sequence[str]) -> str:
    """The parts between commas, in lines that fit a page."""
    text, width = "", 0
    for part in parts:
        more = width and width + len(part) > _WIDTH
        text += f",\n  {part}" if more else f", {part}" if text else part
        width = len(part) if more else width + len(part) + 2
    return text
