"""Units counted by kind: every record is found again, wherever its unit's records stand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyvws.tables.design.units import UnitTally


def sequences(units: np.ndarray, values: np.ndarray, in_order: bool) -> dict[int, tuple[int, ...]]:
    found = {h: tuple(values[units == h].tolist()) for h in np.unique(units).tolist()}
    return found if in_order else {h: tuple(sorted(own)) for h, own in found.items()}


@pytest.mark.parametrize("in_order", [True, False])
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=40))
def test_the_tally_stands_for_every_record(in_order: bool, records: list[tuple[int, int]]) -> None:
    given_ids, places = np.array(records, dtype=np.intp).T
    units = np.unique(given_ids, return_inverse=True)[1]
    found = UnitTally.of(units, places, in_order=in_order)
    # Each record equals its row of the tally, and a unit's records are those of its kind, once.
    assert (found.places[found.of_record] == places).all()
    of = sequences(units, places, in_order)
    kinds = sequences(found.kinds, found.places, in_order)
    assert len(set(kinds.values())) == len(kinds)
    for h, own in of.items():
        rows = found.of_record[units == h]
        (kind,) = set(found.kinds[rows].tolist())
        assert kinds[kind] == own
        assert sorted(rows.tolist()) == np.flatnonzero(found.kinds == kind).tolist()
        assert not in_order or (np.diff(rows.astype(np.int64)) > 0).all()
    # The counts are those of the kinds' units, so they add up to the records.
    for kind, own in kinds.items():
        assert set(found.counts[found.kinds == kind]) == {list(of.values()).count(own)}
    assert found.counts.sum() == len(places)
