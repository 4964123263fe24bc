"""Sheets: rows and notes as text, JSON and HTML, each with every text and number."""

import json
from html import escape
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyvws.commands.output import tell
from pyvws.sheet import Sheet, html, number, plain

WORDS = st.text(st.characters(codec="ascii", categories=("L", "P", "S")), min_size=1, max_size=12)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.lists(st.tuples(WORDS, NUMBERS), min_size=1, max_size=4), WORDS, st.booleans())
def test_every_text_and_number_of_a_sheet_is_told(
    rows: list[tuple[str, float]], said: str, sorts: bool
) -> None:
    sheet = Sheet(said, ("name", "value"), rows, notes=[said], lead=[said])
    shown = html([sheet], sorts=sorts)
    assert shown.count("<tr>") == len(rows) + 1
    assert shown.count(f"<p>{escape(said)}</p>") == 2
    for name, value in rows:
        assert f">{escape(name)}</td>" in shown
        assert f">{number(value)}</td>" in shown
    assert not html([Sheet(said, ("name",), [])], sorts=sorts)


@given(st.floats(-1e14, 1e14), st.integers(1, 9))
def test_a_number_keeps_its_digits(value: float, digits: int) -> None:
    told = float(number(value, digits))
    assert told == value or abs(told - value) <= max(0.5, abs(value) * 10.0 ** (1 - digits))


@given(st.recursive(st.floats() | WORDS | st.none(), lambda x: st.lists(x) | st.tuples(x, x)))
def test_json_takes_what_is_plain(value: Any) -> None:
    json.dumps(plain({"value": value, "array": np.array([np.nan])}), allow_nan=False)


def test_a_result_is_told_to_people_or_to_programs(capsys: pytest.CaptureFixture[str]) -> None:
    facts: dict[str, Any] = {"a": np.array([1.0, np.nan]), "b": {"c": np.float64(2)}}
    sheets = [
        Sheet("first", ("", "x"), [("row", 0.123456), ("gap", np.nan)], facts=facts),
        Sheet("second", ("", "x"), [("row", None)], facts={"d": (1, "e")}),
    ]
    tell(*sheets, quiet=False, as_json=True)
    assert json.loads(capsys.readouterr().out) == {"a": [1.0, None], "b": {"c": 2.0}, "d": [1, "e"]}
    tell(*sheets, quiet=False, as_json=False)
    said = capsys.readouterr().out
    for text in ("first", "second", "0.1235", "none"):
        assert text in said
    tell(*sheets, quiet=True, as_json=False)
    assert capsys.readouterr().out == ""
