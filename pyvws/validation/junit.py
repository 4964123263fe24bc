"""Rows of validation as JUnit XML, which build servers read: a suite a level, a test case a row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from xml.etree import ElementTree

from pyvws.validation.report import Row

__all__ = ["to_junit"]


def to_junit(rows: Sequence[Row], *, began: datetime, seconds: float) -> bytes:
    """The rows as an XML document; a skipped row is a skipped test, never a passed one.

    `began` is when the run began, with its zone, and `seconds` how long it took.
    """
    suites = ElementTree.Element("testsuites", _counts(rows) | {"name": "pyvws validate"})
    suites.set("time", f"{seconds:.3f}")
    for level in dict.fromkeys(row.level for row in rows):
        own = [row for row in rows if row.level == level]
        suite = ElementTree.SubElement(suites, "testsuite", {"name": level} | _counts(own))
        suite.set("errors", "0")
        suite.set("timestamp", began.isoformat(timespec="seconds"))
        for row in own:
            _case(suite, row)
    ElementTree.indent(suites)
    text: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _counts(rows: Sequence[Row]) -> dict[str, str]:
    return {
        "tests": str(len(rows)),
        "failures": str(sum(row.verdict == "fail" for row in rows)),
        "skipped": str(sum(row.verdict == "skipped" for row in rows)),
    }


def _case(suite: ElementTree.Element, row: Row) -> None:
    place = {"classname": f"pyvws.{row.level}.{row.id.partition('/')[0]}", "name": row.id}
    case = ElementTree.SubElement(suite, "testcase", place)
    if row.verdict != "pass":
        tag = "failure" if row.verdict == "fail" else "skipped"
        ElementTree.SubElement(case, tag, {"message": row.reason})
    gap = None if row.largest_difference is None else f"{row.largest_difference} ulp"
    said = {
        "paper": row.paper,
        "R or Stan": row.r_function,
        "Python": row.python_function,
        "against": row.source,
        "largest difference": gap,
        "measured": row.measured,
    }
    out = ElementTree.SubElement(case, "system-out")
    out.text = "\n".join(f"{name}: {value}" for name, value in said.items() if value)
