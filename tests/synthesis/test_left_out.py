"""Which categories lose a level, and which runs keep it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws.models.sequence import Conditional, TableCells
from pyvws.synthesis.loop import loses_much, lost_levels
from pyvws.tables.design.cells import make_cells
from pyvws.tables.design.units import Units

few = settings(max_examples=60, derandomize=True)
_CATEGORY: Any = SimpleNamespace(categorical=True)
_NUMBER: Any = SimpleNamespace(categorical=False)


@given(
    st.lists(
        st.tuples(*[st.integers(0, 2)] * 3, st.booleans(), st.integers(0, 3)),
        min_size=2,
        max_size=12,
    ),
    st.booleans(),
)
@few
def test_lost_levels_against_a_loop(rows: list[Any], by_unit: bool) -> None:
    codes = np.array([row[:3] for row in rows], dtype=float)
    out = np.array([row[3] for row in rows])
    n, design = len(rows), np.ones((len(rows), 1))
    models = (_CATEGORY, _NUMBER, _CATEGORY)
    columns = tuple(
        Conditional(name, model, make_cells(y, design))
        for name, model, y in zip("abc", models, codes.T, strict=True)
    )
    records: Any = TableCells.of(columns, n)
    if by_unit:
        _, unit = np.unique([row[4] for row in rows], return_inverse=True)
        of_unit = np.array([out[unit == h].all() for h in range(unit.max() + 1)])
        records, out = Units.of(records, unit, []), of_unit
        each = of_unit[unit]
    else:
        each = out
    expected = [
        (place, name)
        for place, name in ((0, "a"), (2, "c"))
        if any(each[codes[:, place] == level].all() for level in set(codes[:, place]))
    ]
    assert list(lost_levels(None, records, out)) == expected
    many = out.sum() > max(1, 0.01 * len(out))
    assert loses_much(None, records, out) == (many or bool(expected))
    assert loses_much(None, records, out, 2) == (many or (2, "c") in expected)
    alone: Any = make_cells(codes[:, 0], design)
    lost = [(0, "")] if expected and expected[0][0] == 0 else []
    if not by_unit:
        assert list(lost_levels(_CATEGORY, alone, out)) == lost
        assert list(lost_levels(_NUMBER, alone, out)) == []


def test_one_record_of_a_number_may_leave_and_two_of_a_hundred_may_not() -> None:
    cells = make_cells(np.arange(200.0), np.ones((200, 1)))
    for many, lost in ((0, False), (1, False), (2, False), (3, True)):
        assert loses_much(_NUMBER, cells, np.arange(200) < many) == lost
    assert not loses_much(_NUMBER, make_cells(np.arange(9.0), np.ones((9, 1))), np.arange(9) < 1)
