"""Attacks by WP216: against loops, a copy, independent records, planted errors, and refusals."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from small_tables import SMALL, small_tables

from pyvws import AttackRisk, Column, Schema, attack_risk
from pyvws.errors import InputError
from pyvws.evaluation import attack_risk as module
from pyvws.evaluation.disclosure import distance_blocks, rate, score_of

CODES = st.lists(
    st.tuples(st.integers(0, 2), st.integers(-1, 5), st.integers(-1, 3)), min_size=1, max_size=12
)
NUMERIC = np.array([False, True, True])


def coded(rows: Any) -> Any:
    return np.array(rows, dtype=np.int32).T


def samples(*seeds: int, n: int = 300) -> list[pl.DataFrame]:
    made = [np.random.default_rng(seed).normal(size=(4, n)) for seed in seeds]
    return [pl.DataFrame(dict(zip("abcd", own, strict=True))) for own in made]


def risks(found: AttackRisk) -> dict[str, float]:
    return {own.name: own.risk for own in found.scores}


OPTIONS: dict[str, Any] = {"keys": ["a", "b", "c"], "secret": "d", "attacks": 200}


def test_a_copy_has_risk_near_1_and_independent_records_near_0() -> None:
    original, control, other = samples(1, 2, 3)
    copy = attack_risk(original, [original], control=control, **OPTIONS)
    assert [*risks(copy)] == [
        *("singling out, univariate", "singling out, multivariate", "linkability", "inference d"),
        *("membership", "membership, 10 %", "membership, 1 %"),
    ]
    assert min(risks(copy).values()) > 0.6
    apart = attack_risk(original, [other], control=control, **OPTIONS)
    for own in apart.scores:
        assert abs(own.risk) < 0.3
        assert own.lower < own.risk < own.upper
    # Half a copy: about half of the attacks, and again the same by the seed.
    half = pl.concat([original[:150], other[150:]])
    found = attack_risk(original, [half], control=control, **OPTIONS)
    assert 0.25 < risks(found)["linkability"] < 0.75
    assert found == attack_risk(original, [half], control=control, **OPTIONS)
    # Of two datasets each is attacked in turn.
    turns = attack_risk(original, [original, other], control=control, **OPTIONS)
    assert 0.25 < risks(turns)["inference d"] < 0.75


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_a_control_group_from_the_table_is_caught(share: float) -> None:
    original, control = samples(1, 2)
    planted = pl.concat(
        [original.sample(fraction=share, seed=4), control[: int(300 * (1 - share))]]
    )
    with refused("control-from-original", first="original", other="control group"):
        attack_risk(original, [original], control=planted, **OPTIONS)


def test_records_that_equal_others_by_chance_are_a_control_group() -> None:
    """Of few levels hardly a record is alone, and a sample repeats them."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        draws = rng.binomial(4, 0.4, (2, 4, 200)).astype(str)
        tables = [pl.DataFrame(dict(zip("abcd", own, strict=True))) for own in draws]
        attack_risk(tables[0], [tables[1]], control=tables[1], **OPTIONS)


def test_a_smaller_control_group_has_the_rate_of_as_many_records() -> None:
    """Predicates of the same weights: what is counted in a part says what the whole would show."""
    rng = np.random.default_rng(5)
    weights = rng.uniform(0.0, 1e-3, 4000)
    seen = rng.binomial(500, weights)
    expected = float((2000 * weights * (1.0 - weights) ** 1999).sum())
    assert module._lone_among(seen, 500, 2000) == pytest.approx(expected, rel=0.15)
    assert module._lone_among(np.zeros(3, dtype=int), 5, 9) == 0.0


@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.integers(1, 6))
@settings(max_examples=40, derandomize=True)
def test_a_larger_control_group_counts_by_its_parts(counts: list[int], wanted: int) -> None:
    def share(c: int) -> float:
        return c * math.comb(6 - c, wanted - 1) / math.comb(6, wanted)

    found = module._lone_among(np.array(counts), 6, wanted)
    assert found == pytest.approx(sum(map(share, counts)), abs=1e-9)


@given(CODES, CODES, st.integers(0, 99))
@settings(max_examples=60, derandomize=True)
def test_predicates_hold_for_one_record_by_loops(rows: Any, others: Any, seed: int) -> None:
    rng, table = np.random.default_rng(seed), coded(rows)

    def count(predicate: Any, records: Any) -> int:
        return sum(all(low <= row[k] <= high for k, low, high in predicate) for row in records)

    single = module._lone_values(table, NUMERIC, 99, 1, rng)
    several = module._lone_records(table, NUMERIC, 5, 2, rng)
    blind = module._guesses(table, NUMERIC, 9, 2, rng)
    for found in (single, several):
        assert [count(own, rows) for own in found.tolist()] == [1] * len(found)
    assert len({str(own) for own in several.tolist()}) == len(several)
    for found in (single, several, blind):
        counted = module._counts(found, coded(others))
        assert counted.tolist() == [count(own, others) for own in found.tolist()]
    lone = {(k, v, v) for k in range(3) for v in range(-1, 6) if [r[k] for r in rows].count(v) == 1}
    ends = set()
    for k in (1, 2):
        values = sorted(row[k] for row in rows if row[k] >= 0)
        ends |= {(k, 0, v) for v in values[:1] if values.count(v) == 1}
        ends |= {(k, v, module._TOP) for v in values[-1:] if values.count(v) == 1}
    assert {tuple(own[0]) for own in single.tolist()} == lone | ends


@given(CODES, CODES, st.integers(1, 3), st.integers(0, 99))
@settings(max_examples=60, derandomize=True)
def test_nearest_records_by_loops(rows: Any, others: Any, count: int, seed: int) -> None:
    """None is nearer than those found, where missing values and ties are among them."""

    def plain(records: Any) -> Any:
        g, x, y = (np.array(column) for column in zip(*records, strict=True))
        return {"g": g, "x": np.where(x < 0, np.nan, x), "y": np.where(y < 0, np.nan, y)}

    ranges = {"x": 6.0, "y": 4.0}

    def distance(one: Any, other: Any) -> float:
        parts = zip(one[1:], other[1:], ranges.values(), strict=True)
        gaps = (float(a != b) if min(a, b) < 0 else abs(a - b) / wide for a, b, wide in parts)
        return float(one[0] != other[0]) + sum(gaps)

    near = module._nearest(plain(rows), plain(others), ranges, count, np.random.default_rng(seed))
    (found,) = [own for _, own in distance_blocks(plain(rows), plain(others), ranges)]
    for place, row in enumerate(rows):
        distances = [distance(row, other) for other in others]
        assert found[place] == pytest.approx(distances)
        chosen = sorted(distances[k] for k in near[place])
        assert chosen == pytest.approx(sorted(distances)[: len(chosen)])
        assert len({*near[place]}) == min(count, len(others))


@given(st.integers(1, 400), st.integers(1, 400), st.data())
@settings(max_examples=60, derandomize=True)
def test_the_risk_and_its_interval_by_their_definition(n: int, m: int, data: Any) -> None:
    hits = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    own = score_of("x", hits, (n, m), 0.0)
    assert own.attack == rate(hits[0], n)[0]
    z, rates = 1.959964, []
    for r, k in zip(hits, (n, m), strict=True):
        p = r / k
        centre = (p + z * z / (2 * k)) / (1 + z * z / k)
        half = z / (1 + z * z / k) * math.sqrt(p * (1 - p) / k + z * z / (4 * k * k))
        rates.append((centre, half))
    (a, da), (c, dc) = rates
    step = 1e-6
    slopes = [
        ((x - y) / (1 - y) - (a - c) / (1 - c)) / step for x, y in ((a + step, c), (a, c + step))
    ]
    error = math.hypot(slopes[0] * da, slopes[1] * dc)
    assert own.risk == pytest.approx((a - c) / (1 - c), rel=1e-6, abs=1e-6)
    assert (own.upper - own.lower) / 2 == pytest.approx(error, rel=1e-2)


@given(small_tables(), small_tables(), st.integers(0, 99))
@settings(max_examples=20, derandomize=True)
def test_rates_stay_within_their_ends(
    table: pl.DataFrame, control: pl.DataFrame, seed: int
) -> None:
    """Whatever the tables and the kind of frame; few records may be those of the control too."""
    options: dict[str, Any] = {"schema": SMALL, "keys": ["g", "x"], "secret": "k", "attacks": 20}
    if table["x"].drop_nulls().is_empty():
        return
    half = table.sample(fraction=0.5, seed=seed)
    try:
        found = attack_risk(table, [half], control=control, **options)
    except InputError as error:
        if error.key != "control-from-original":
            raise
        return
    for own in found.scores:
        assert 0.0 < own.attack < 1.0
        assert 0.0 < own.control < 1.0
        assert 0.0 <= own.naive <= 1.0
        assert own.lower < own.risk < min(own.upper, 1.0)
    assert found == attack_risk(table.to_pandas(), [half.to_arrow()], control=control, **options)


def test_ties_are_broken_by_chance_and_a_single_record_is_everybodys_nearest() -> None:
    original, control, other = samples(1, 2, 3)
    flat = other.with_columns(a=pl.lit(0.0), b=pl.lit(0.0), c=pl.lit(0.0))
    found = {
        own.name: own for own in attack_risk(original, [flat], control=control, **OPTIONS).scores
    }
    assert found["linkability"].attack < 0.1  # All tie: as by chance, and never the first row.
    one = attack_risk(original, [other[:1]], control=control, **OPTIONS, neighbours=4)
    single = {own.name: own for own in one.scores}["linkability"]
    assert (single.naive, single.risk) == (1.0, 0.0)


def test_missing_values_are_guessed_as_such_and_numbers_within_5_percent() -> None:
    guesses = np.array([np.nan, np.nan, 1.0, 100.0, 100.0, -100.0, 0.0])
    values = np.array([np.nan, 1.0, np.nan, 104.9, 105.1, -95.1, 0.0])
    right = [True, False, False, True, False, True, True]
    assert module._right(guesses, values).tolist() == right
    assert module._right(np.array([1, 2]), np.array([1, 3])).tolist() == [True, False]


@pytest.mark.parametrize("kind", [pl.Int64, pl.String])
def test_a_control_group_that_shares_a_unit_is_refused(kind: Any) -> None:
    """By the ids, however a file's reader typed them; empty ids are nobody's."""
    original, control, other = samples(1, 2, 3)
    homes = pl.Series("home", np.arange(300) // 3)
    schema = Schema(
        {"home": Column(role="drop"), **{name: Column(model="normal") for name in "abcd"}},
        unit="home",
    )
    table = original.with_columns(homes)
    for last, shared in ((99, True), (None, False)):
        ids = pl.Series("home", [*range(1000, 1299), last]).cast(kind)
        asked = {**OPTIONS, "control": control.with_columns(ids), "schema": schema}
        if shared:
            with refused("control-shares-units", unit="home"):
                attack_risk(table, [other], **asked)
        else:
            attack_risk(table, [other], **asked)


def test_one_record_of_each_unit_is_attacked() -> None:
    original, control, other = samples(1, 2, 3)
    homes = [pl.Series("home", start + np.arange(300) // 3) for start in (0, 100)]
    columns = {name: Column(model="normal") for name in "abcd"}
    schema = Schema({"home": Column(role="drop"), **columns}, unit="home")
    pairs = zip((original, control), homes, strict=True)
    tables = [own.with_columns(home) for own, home in pairs]
    found = attack_risk(tables[0], [other], control=tables[1], schema=schema, **OPTIONS)
    assert {own.attacks for own in found.scores[2:5]} == {100}
    assert {own.control_attacks for own in found.scores[4:]} == {50}  # The reference: 50 units.
    with refused("attacks-too-few-records", role="hold-out"):
        attack_risk(tables[0], [other], control=tables[1][:57], schema=schema, **OPTIONS)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"secret": ()}, "secret-missing"),
        ({"keys": ()}, "keys-missing"),
        ({"secret": "a"}, "key-is-target"),
        ({"secret": "dd"}, "column-not-evaluated"),
        ({"control": None}, "control-missing"),
        ({"control": samples(2, n=19)[0]}, "attacks-too-few-records"),
        ({"control": samples(2)[0].drop("c")}, "columns-lacking"),
        ({"neighbours": 0}, "not-a-whole-number"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], key: str) -> None:
    original, control = samples(1, 2)
    with refused(key):
        attack_risk(original, [original], **{**OPTIONS, "control": control, **options})


def test_the_sheet_says_what_an_audit_is_not_and_what_was_not_tried() -> None:
    original, control = samples(1, 2)
    found = attack_risk(original, [original], control=control, keys=["a"], secret="d")
    said = " ".join(found.sheet.notes)
    assert "A small figure proves nothing" in said
    assert "by whole units, before synthesis" in said
    assert not found.smaller
    fewer = attack_risk(original, [original], control=control[:200], **OPTIONS)
    assert "extrapolated" in " ".join(fewer.sheet.notes)
    assert "linkability was not tried: it needs two keys." in said
    assert [row[0] for row in found.sheet.rows] == [own.name for own in found.scores]
    assert found.sheet.facts["attacks"]["membership"]["risk"] == found.scores[3].risk
    assert "Half of the control" in said
    few = replace(found, scores=(replace(found.scores[0], attacks=8),))
    assert "singling out, univariate: only 8 attacks could be made." in few.sheet.notes
