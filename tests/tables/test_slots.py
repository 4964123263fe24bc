"""Units as wide records of slots: what a slot holds, their neighbours, and the way back."""

from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws import Column, InputError, Schema
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.tables.files.frame import units_by_id
from pyvws.tables.schema.column import part_of
from pyvws.tables.schema.slots import Slots

CELLS = {
    "area": ["n", "s", "x", None],
    "job": ["a", "b", "N", "x", None],
    "pay": ["0", "12", "700", "-3", "N", None],
    "wave": ["w1", "w2", "w3", "w9", None],
}


def schema(*, slot: str | None = None, low: int = 1, **entries: Any) -> Schema:
    columns = {
        "home": Column(role="id", prefix="H"),
        "area": Column(model="table", levels=("n", "s"), predictors=()),
        "wave": Column(model="table", levels=("w1", "w2", "w3"), predictors=()),
        "job": Column(model="table", levels=("a", "b"), missing=["N", True], predictors=()),
        "pay": Column(
            model="normal", range=(0, 900), decimals=0, mass=(0,), missing=True, predictors=(),
            cuts=(10, 100),
        ),
    }  # fmt: skip
    if slot is None:
        del columns["wave"]
    columns |= entries
    members = {"sizes": (low, 3), "of_unit": ("area",), "summaries": {"persons": "size"}}
    return Schema(columns, unit="home", members=members | ({"slot": slot} if slot else {}))


def table(homes: list[list[tuple[str | None, ...]]], names: tuple[str, ...]) -> pl.DataFrame:
    rows = [(f"{number}", *row) for number, home in enumerate(homes) for row in home]
    return pl.DataFrame(rows, schema=dict.fromkeys(["home", *names], pl.String), orient="row")


def wide_rows(slots: Slots, frame: pl.DataFrame) -> pl.DataFrame:
    view = nw.from_native(frame, eager_only=True)
    wide, _ = slots.widened(view, units_by_id(view["home"]))
    return wide.to_native()


def test_two_homes_by_hand() -> None:
    slots = Slots(schema())
    homes: Any = [
        [("n", "a", "12")],
        [("s", "b", None), ("n", None, "0"), ("s", "N", "7"), ("s", "a", "5")],
    ]
    view = nw.from_native(table(homes, ("area", "job", "pay")), eager_only=True)
    wide, rows = slots.widened(view, units_by_id(view["home"]))
    none = "no member"
    assert wide.to_native().rows(named=True) == [
        {
            **{"area": "n", "persons": "1", "job_1": "a", "pay_1": "12"},
            **{"job_2": none, "job_3": none, "pay_2": none, "pay_3": none},
        },
        {
            **{"area": "s", "persons": "3", "job_1": "b", "pay_1": "blank"},
            **{"job_2": "blank", "pay_2": "0", "job_3": "N", "pay_3": "7"},
        },
    ]
    assert rows.figures == {"units": 2, "rows_in_no_slot": 1, "units_that_differ": {"area": 1}}


@pytest.mark.parametrize("slot", [None, "wave"])
@given(data=st.data())
@settings(max_examples=40)
def test_a_unit_more_is_one_wide_record_more(slot: str | None, data: st.DataObject) -> None:
    """The neighbours of units are those of wide records, whatever the cells and the rows' order."""
    slots = Slots(schema(slot=slot))
    names = ("area", *((slot,) if slot else ()), "job", "pay")
    row = st.tuples(*(st.sampled_from(CELLS[name]) for name in names))
    homes = data.draw(st.lists(st.lists(row, min_size=1, max_size=5), min_size=1, max_size=4))
    frame = table(homes, names)
    gone = data.draw(st.integers(0, len(homes) - 1))
    order = data.draw(st.permutations(range(len(homes))))
    among = pl.concat([frame.filter(pl.col("home") == f"{number}") for number in order])
    whole = wide_rows(slots, among).rows()
    fewer = wide_rows(slots, among.filter(pl.col("home") != f"{gone}")).rows()
    assert len(whole) == len(homes)
    at = order.index(gone)
    assert whole[:at] + whole[at + 1 :] == fewer


@pytest.mark.parametrize("slot", [None, "wave"])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=25)
def test_wide_records_come_back_as_the_rows_they_are_made_of(slot: str | None, seed: int) -> None:
    slots, rng = Slots(schema(slot=slot)), np.random.default_rng(seed)
    names = ("area", *((slot,) if slot else ()), "job", "pay")
    homes: Any = []
    for _ in range(rng.integers(1, 6)):
        waves = sorted(rng.choice(["w1", "w2", "w3"], rng.integers(1, 4), replace=False).tolist())
        area = str(rng.choice(["n", "s"]))
        own = [
            (rng.choice(["a", "b", "N", None]), rng.choice(["0", "7", "880", None])) for _ in waves
        ]
        homes.append([(area, *((w,) if slot else ()), *x) for w, x in zip(waves, own, strict=True)])
    frame = nw.from_native(table(homes, names), eager_only=True)
    wide, _ = slots.widened(frame, units_by_id(frame["home"]))
    back = slots.members(slots.wide.coded(wide), rng)
    like = {n: nw.new_series(n, ["x"], nw.String, backend="polars") for n in names}
    made = {
        n: slots.schema.decoded(n, back[n], like=like[n], parts=back.get(part_of(n))).to_list()
        for n in names
    }
    assert made == {n: frame[n].to_list() for n in names}
    assert (back["home"] == np.array(frame["home"].to_list(), dtype=int) + 1).all()


def test_an_empty_slot_is_empty_in_all_columns_and_costs_as_one_record() -> None:
    slots = Slots(schema(slot="wave"))
    wide = slots.wide
    assert wide.columns["persons"].levels == (
        "w1+w2+w3",
        "w1+w2",
        "w1+w3",
        "w1",
        "w2+w3",
        "w2",
        "w3",
    )
    counting = NoisyCounts(epsilon=1.0, measure="pairs").counting(slots.schema)
    size, job = counting.table.columns["persons"], counting.table.columns["job_2"]
    (q,) = [q for q, own in enumerate(counting.table.sets) if {*own} == {"persons", "job_2"}]
    low, high = counting.table.offsets[q : q + 2]
    possible = counting.table.possible[low:high].reshape(size.size, job.size)
    there = np.array(["w2" in level.split("+") for level in wide.columns["persons"].levels or ()])
    empty = job.code_of("no member")
    assert (possible[:, empty] == ~there).all()
    assert (np.delete(possible, empty, axis=1) == there[:, None]).all()


def test_pairs_are_of_one_slot_of_neighbours_and_of_the_unit() -> None:
    by_rows = Slots(schema())
    assert by_rows.together(("area", "job_3"))
    assert by_rows.together(("job_1", "job_3"))  # The first member and each other one.
    by_wave = Slots(schema(slot="wave"))
    assert by_wave.together(("job_2", "pay_3"))
    assert not by_wave.together(("job_1", "pay_3"))
    assert not by_wave.together(("job_1", "job_2", "job_3"))


def test_a_set_of_members_is_one_of_each_slot() -> None:
    words = Slots(schema()).in_slots(("pairs", "area:job*2", "pay/10:job", "job_1:job_2"))
    assert words == (
        *("pairs", "area:job_1*2", "area:job_2*2", "area:job_3*2"),
        *("pay_1/10:job_1", "pay_2/10:job_2", "pay_3/10:job_3", "job_1:job_2"),
    )


def test_rules_of_members_hold_in_their_slot() -> None:
    job = Column(
        model="table", levels=("a", "b"), missing="N", predictors=(),
        rule=["N only where area == 's'", "never a where pay > 100"],
    )  # fmt: skip
    own = schema()
    ordered = {"home", "area", "pay"}
    columns = {name: own.columns[name] for name in own.columns if name in ordered} | {"job": job}
    assert own.members is not None
    slots = Slots(Schema(columns, unit="home", members=own.members))
    assert slots.wide.columns["job_2"].rule == (
        "'no member' only where `persons` in ['1']",
        "N only where (area == 's') and `persons` in ['2', '3']",
        "never a where (`pay_2` > 100) and `persons` in ['2', '3']",
    )


JOB = Column(model="table", levels=("a", "b"), predictors=(), rule="a where persons == 1")
PAY = Column(model="table", levels=("1",))


@pytest.mark.parametrize(
    ("given", "key"),
    [
        (schema(slot="job"), "slot-levels"),
        (schema(slot="area"), "slot-unknown-column"),
        (schema(pay_1=PAY), "slot-name-taken"),
        (schema(job=JOB), "slot-rule"),
    ],
)
def test_what_no_slots_can_have_is_refused(given: Schema, key: str) -> None:
    with pytest.raises(InputError) as error:
        assert Slots(given).wide
    assert error.value.key == key


def test_impossible_members_take_the_values_of_the_most_similar_unit() -> None:
    own = schema()
    assert own.members is not None
    members = {**own.members.entries, "impossible": ("job == 'a' and pay > 100",)}
    columns = {n: x for n, x in own.columns.items() if n != "persons"}
    slots = Slots(Schema(columns, unit="home", members=members))
    homes: Any = [
        [("n", "a", "700")],
        [("n", "a", "12")],
        [("s", "b", "700")],
        [("s", "b", "7")] * 2,
    ]
    frame = nw.from_native(table(homes, ("area", "job", "pay")), eager_only=True)
    wide, _ = slots.widened(frame, units_by_id(frame["home"]))
    back = slots.members(slots.wide.coded(wide), np.random.default_rng(1))
    assert back["pay"].tolist() == [12, 12, 700, 7, 7]  # Area and job tell more than the number.
    assert back["home"].tolist() == [1, 2, 3, 4, 4]


def test_categories_that_make_units_impossible_stay_before_all_others() -> None:
    both = {x: Column(model="table", levels=("0", "1"), predictors=()) for x in ("hue", "shade")}
    own = schema(**both)
    assert own.members is not None
    members = {**own.members.entries, "impossible": ("job == 'a' and pay > 100",)}
    columns = {n: x for n, x in own.columns.items() if n != "persons"}
    slots = Slots(Schema(columns, unit="home", members=members))
    homes: Any = [[("n", "a", "700", "0", "0")], [("s", "a", "12", "1", "1")]]
    homes += [[("n", "b", "700", "0", "0")]] * 9
    frame = nw.from_native(table(homes, ("area", "job", "pay", *both)), eager_only=True)
    wide, _ = slots.widened(frame, units_by_id(frame["home"]))
    back = slots.members(slots.wide.coded(wide), np.random.default_rng(1))
    assert back["pay"].tolist() == [12, 12, *[700] * 9]
