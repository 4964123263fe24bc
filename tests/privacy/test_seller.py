"""The seller of measurements: strict runs learn what they bought, and buy what their cap allows.

A run on one table records what its seller answered. A run on another table is then given these
answers. If all that leaves is the same, nothing of the second table was read beside the seller.
"""

import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyvws_validation._grid_engine import KnownDraws

import pyvws as vws
from pyvws.errors import SpendingError
from pyvws.mechanisms.counts.counting import CellCounting, measured
from pyvws.mechanisms.histogram import laplace_sums
from pyvws.privacy.budget import Budget, epsilon_of, noise_of
from pyvws.privacy.seller import PricedMeasurement, Seller, TalliedCells
from pyvws.report.claim_layers import layers_page
from pyvws.report.page import Heading
from pyvws.report.registry_entry import registry_entry
from pyvws.synthesis import loop as fits
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.settings import RunSettings

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")

SCHEMAS = int(os.environ.get("PYVWS_SCHEMA_CASES", "40"))
SEED = 2**60 + 1
HEADING = Heading("Incomes", "Office", date(2026, 2, 3))


# The seller alone


def seller(**shares: float) -> Seller[list[int]]:
    return Seller.of_noise(noise_of(Budget(epsilon=1.0), shares or {"a": 1.0}), [0, 1, 1])


def cells(records: list[int]) -> np.ndarray:
    return np.array(records)


def test_what_was_sold_is_what_it_costs() -> None:
    sells = seller(a=1.0, b=3.0)
    assert sells.spending.sold == 0.0
    sells.counts("b", cells, 2)
    assert sells.spending.sold == pytest.approx(0.75)
    sells.counts("a", cells, 2)
    found = sells.spending
    assert (found.cap, found.delta, found.sold) == (1.0, 0.0, pytest.approx(1.0))
    assert [one.name for one in found.measurements] == ["b", "a"]


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_a_second_sale_and_one_without_a_price_are_refused(delta: float) -> None:
    noise = noise_of(Budget(epsilon=1.0, delta=delta), {"a": 1.0, "b": 1.0})
    sells = Seller.of_noise(noise, [0, 1, 1])
    sells.counts("a", cells, 2)
    with pytest.raises(SpendingError, match="'a' was sold before"):
        sells.counts("a", cells, 2)
    with pytest.raises(SpendingError, match="'c' has no price"):
        sells.counts("c", cells, 2)


def test_a_sale_beyond_the_cap_is_refused() -> None:
    goods = [PricedMeasurement(name, Fraction(2, 3), 1.5) for name in "ab"]
    sells = Seller(goods, budget=Budget(epsilon=1.0), records=[0])
    sells.counts("a", cells, 1)
    with pytest.raises(SpendingError, match="beyond what the settings allow"):
        sells.counts("b", cells, 1)
    assert sells.spending.sold == pytest.approx(2 / 3)


def test_a_unit_beyond_the_cap_is_refused() -> None:
    noise = noise_of(Budget(epsilon=1.0, cap=2), {"a": 1.0})
    Seller.of_noise(noise, [0, 1, 1], np.array([0, 0, 1]))
    with pytest.raises(SpendingError, match="counts more than 2"):
        Seller.of_noise(noise, [0, 1, 1], np.array([0, 0, 0]))


def test_a_draw_of_a_wider_window_is_refused() -> None:
    sells = Seller(
        [PricedMeasurement("draw 1", Fraction(1))], budget=Budget(epsilon=1.0), records=0
    )
    for width in (1.1, np.inf, np.nan):
        with pytest.raises(SpendingError, match="window"):
            sells.draw("draw 1", width, lambda: 5)
    assert sells.draw("draw 1", 1.0, lambda: 5) == 5


# Runs of every strict mechanism


COLUMNS = {
    "sex": vws.Column(model="table", levels=("f", "m")),
    "age": vws.Column(model="normal", range=(0, 90), decimals=0),
    "pay": vws.Column(model="normal", range=(-20, 9000), mass=(0,), missing="N"),
}


def table(seed: int, n: int = 150) -> pl.DataFrame:
    """Tables of two seeds differ in every column, and in what breaks the schema."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m", "x"], n, p=[0.6, 0.3, 0.1]),
            "age": rng.integers(0, 100, n).astype(str),
            "pay": np.where(rng.random(n) < 0.2, "N", np.exp(rng.normal(7, seed % 3, n))),
            "y": rng.uniform(0, 1 + seed % 2, n) / 2,
            "home": np.arange(n) // (1 + seed % 3),
        }
    )


def counts(frame: pl.DataFrame, **given: Any) -> Any:
    unit = given.pop("unit", None)
    columns = {**({unit: vws.Column(role="id")} if unit else {}), **COLUMNS}
    schema = vws.Schema(columns, unit=unit)
    usual = {"measure": "pairs", "epsilon": 2.0, "classes": 2, "datasets": 2}
    return vws.synthesize(
        frame, schema=schema, mechanism="noisy-counts", seed=SEED, **usual | given
    )


def of_sexes(n: int) -> pl.DataFrame:
    """Totals of a census of so many records."""
    return pl.DataFrame({"sex": ["f", "m"], "total": [n - 40, 40]})


def counts_in_steps(frame: pl.DataFrame) -> str:
    """What leaves of a run that reads its table in steps."""
    mechanism = vws.NoisyCounts(epsilon=2.0, classes=2, measure="pairs")
    asked = vws.Synthesizer(schema=vws.Schema(COLUMNS), mechanism=mechanism, datasets=2)
    with TemporaryDirectory() as folder:
        frame.write_parquet(f"{folder}/in.parquet")
        asked.fit_to(f"{folder}/in.parquet", f"{folder}/out", seed=SEED)
        files = sorted(Path(folder, "out/release").iterdir())
        texts = [
            pl.read_parquet(file).write_csv() if file.suffix == ".parquet" else file.read_text()
            for file in files
        ]
    # The name of a release is drawn anew for each.
    return re.sub(r'"release_id": "[0-9a-f]+"', "", repr([*(file.name for file in files), *texts]))


def draws(seed: int) -> Any:
    return KnownDraws([0.1 * np.random.default_rng(seed + k).normal(size=(8, 3)) for k in (0, 1)])


def clamped(frame: pl.DataFrame, seed: int, **given: Any) -> Any:
    return vws.synthesize(
        frame.select("y"),
        outcome="y",
        model="normal",
        mechanism="censored",
        engine=draws(seed),
        draws=8,
        chains=1,
        datasets=2,
        seed=SEED,
        **given,
    )


RUNS: dict[str, Callable[[int], Any]] = {
    "noisy-counts": lambda seed: counts(table(seed, 150 + seed)),
    "noisy-counts, delta": lambda seed: counts(table(seed, 150 + seed), delta=1e-5),
    "noisy-counts, units": lambda seed: counts(table(seed, 150 + seed), unit="home", cap=2),
    "noisy-counts, best file": lambda seed: counts(table(seed, 150 + seed), datasets=1),
    "noisy-counts, reference": lambda seed: counts(
        table(seed, 150 + seed), datasets=1, reference=table(1, 151), epsilon=20.0
    ),
    "noisy-counts, totals": lambda seed: counts(table(seed, 150 + seed), totals=of_sexes(151)),
    "noisy-counts, in steps": lambda seed: counts_in_steps(table(seed, 150 + seed)),
    "noisy-counts, replace": lambda seed: counts(table(seed), neighbours="replace"),
    "histogram": lambda seed: vws.synthesize(
        table(seed, 150 + seed).select("y"),
        outcome="y",
        mechanism="perturbed-histogram",
        epsilon=1.0,
        range=(0, 1),
        bins=5,
        neighbours="loo",
        datasets=2,
        seed=SEED,
    ),
    "draws": lambda seed: clamped(table(seed), seed, epsilon=1.0, weights="none"),
    "rows": lambda seed: clamped(
        table(seed, 150 + seed),
        seed,
        epsilon=1.0,
        weights="none",
        records="noisy",
        records_epsilon=0.5,
    ),
    "staged": lambda seed: clamped(
        table(seed), seed, epsilon=1.0, weights="staged", stage_epsilon=1.0, records=40
    ),
    "tabulate": lambda seed: vws.tabulate(
        [pl.DataFrame({"sex": ["f", "m"], "y": [0.1, 0.2]})] * 2,
        by={"sex": ["f", "m"]},
        count=True,
        mean="y",
        original=table(seed),
        epsilon=1.0,
        ranges={"y": (0.0, 1.0)},
    ),
}


def left(made: Any) -> str:
    """All that leaves of a run, as text."""
    if isinstance(made, str):
        return made
    if isinstance(made, vws.Release):
        tables = [*made.datasets, *made.public_tables.values()]
        privacy = {name: own for name, own in made.privacy.items() if name != "release_id"}
        return "\n".join(
            [
                *(pl.DataFrame(own).write_csv() + repr(own.schema) for own in tables),
                *map(repr, (privacy, made.config, made.public_schema)),
                *(layers_page(privacy, {}, HEADING), registry_entry(privacy, HEADING)),
            ]
        )
    return repr([(own.laplace, own.laplace_noise) for own in made.figures])


@contextmanager
def answers(known: dict[str, Any], *, given: bool) -> Iterator[None]:
    """Keep what sellers answer by name, or answer what is known."""
    numbers, draw = Seller.numbers, Seller.draw

    def answered(own: Any, name: str, exact: Any) -> Any:
        noisy = numbers(own, name, exact)
        return known[name] if given else known.setdefault(name, noisy)

    def drawn(own: Any, name: str, width: float, made: Any) -> Any:
        found = draw(own, name, width, made)
        return known[name] if given else known.setdefault(name, found)

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The answers fit no table.
        patch.setattr(Seller, "numbers", answered)
        patch.setattr(Seller, "draw", drawn)
        yield


def told_apart(run: Callable[[int], Any]) -> bool:
    """Whether two runs that bought the same answers differ in anything that leaves."""
    known: dict[str, Any] = {}
    with answers(known, given=False):
        first = left(run(1))
    with answers(known, given=True):
        return left(run(2)) != first


@pytest.mark.parametrize("name", RUNS)
def test_nothing_leaves_that_was_not_bought(name: str) -> None:
    assert not told_apart(RUNS[name])


@pytest.mark.parametrize(
    "name", [name for name in RUNS if name not in ("tabulate", "noisy-counts, in steps")]
)
def test_the_statement_says_what_was_sold(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        privacy = RUNS[name](1).privacy
    spending = privacy["spending"]
    assert 0.98 * spending["cap"] < spending["sold"] <= spending["cap"]
    assert privacy["certified"]["epsilon_total"] == pytest.approx(spending["cap"])


# Costs that nobody sold, planted in each of them


def _exact_rows(records: Any, sells: Any) -> int:
    return int(sells._records)


def _exact_number(sells: Any, size: Any) -> int:
    return int(size(sells._records))


def _exact_bins(sells: Any, name: str, own: Any, size: int) -> Any:
    found = own(sells._records)
    sells.numbers(name, np.zeros(size, dtype=np.int64))
    tallied = isinstance(found, TalliedCells)
    cell, times = (found.cells, found.records) if tallied else (found, np.ones(len(found)))
    exact = np.bincount(cell[cell >= 0], times[cell >= 0], minlength=size)
    return exact.astype(np.int64)


def _exact_sums(sells: Any, name: str, values: Any, cells: Any, **given: Any) -> Any:
    found = _SUMS(sells, name, values, cells, **given)
    exact = np.bincount(cells[cells >= 0], values[cells >= 0], minlength=given["count"])
    return laplace_sums.NoisySums(exact, found.noise)


_SUMS = laplace_sums.noisy_sums
_DRAW = Seller.draw


def _draw_beside(sells: Any, name: str, width: float, made: Any) -> Any:
    """The draw is sold, and another one is used."""
    _DRAW(sells, name, width, made)
    return made()


BESIDE: dict[str, tuple[tuple[str, ...], str, Any]] = {
    "the number of records": (
        ("noisy-counts", "noisy-counts, delta", "noisy-counts, units", "noisy-counts, in steps"),
        "pyvws.mechanisms.counts.counting.bought_number",
        _exact_number,
    ),
    "exact counts": (
        ("noisy-counts", "noisy-counts, in steps", "histogram"),
        "pyvws.privacy.seller.Seller.counts",
        _exact_bins,
    ),
    "the number of rows": (("rows",), "pyvws.release.posterior.rows_to_draw", _exact_rows),
    "exact sums": (("tabulate",), "pyvws.evaluation.laplace_table.noisy_sums", _exact_sums),
}


@pytest.mark.parametrize(
    ("name", "place", "wrong"),
    [(name, place, wrong) for names, place, wrong in BESIDE.values() for name in names],
)
def test_a_table_that_is_read_beside_the_seller_is_seen(
    monkeypatch: pytest.MonkeyPatch, name: str, place: str, wrong: Any
) -> None:
    monkeypatch.setattr(place, wrong)
    assert told_apart(RUNS[name])


def test_records_of_a_reference_are_told_inside_alone() -> None:
    found = [RUNS["noisy-counts, reference"](seed).summary["reference"] for seed in (1, 2)]
    assert found[0]["found"] > 0.9 > found[1]["found"]
    assert [own["warning"] is None for own in found] == [False, True]


def test_a_reference_that_is_taken_from_the_table_is_seen() -> None:
    def run(seed: int) -> Any:
        return counts(table(seed, 150 + seed), datasets=1, reference=table(seed, 150 + seed))

    assert told_apart(run)


def test_totals_that_are_taken_from_the_table_are_seen() -> None:
    assert told_apart(lambda seed: counts(table(seed), totals=of_sexes(150 + seed)))


@pytest.mark.parametrize("name", ["rows", "staged"])
def test_a_draw_that_was_not_bought_is_seen(name: str) -> None:
    def run(seed: int) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fits.SynthesisLoop, "bought", lambda _, __, fit, s: fit.posterior.draw(s))
            return RUNS[name](seed)

    assert told_apart(run)


@pytest.mark.parametrize("name", RUNS)
def test_what_is_bought_twice_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, draw = Seller.numbers, Seller.draw

    def numbers_twice(own: Any, name: str, exact: Any) -> Any:
        return numbers(own, name, exact) + numbers(own, name, exact)

    def draw_twice(own: Any, name: str, width: float, made: Any) -> Any:
        return draw(own, name, width, made), draw(own, name, width, made)

    monkeypatch.setattr(Seller, "numbers", numbers_twice)
    monkeypatch.setattr(Seller, "draw", draw_twice)
    warnings.simplefilter("ignore")
    with pytest.raises(SpendingError, match="was sold before"):
        RUNS[name](1)


def _smallest_first(planned: Any) -> Any:
    """Scales in their places: those of the list in another order."""

    def wrong(*given: Any, **named: Any) -> Any:
        noise = planned(*given, **named)
        scales = dict(zip(noise.scales, sorted(noise.scales.values())[:1] * 99, strict=False))
        return type(noise)(
            budget=noise.budget, scales=scales, rho=noise.rho, conversion=noise.conversion
        )

    return wrong


@pytest.mark.parametrize("name", ["noisy-counts", "noisy-counts, delta", "noisy-counts, units"])
def test_a_scale_that_is_taken_by_place_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CellCounting, "noise", _smallest_first(CellCounting.noise))
    with pytest.raises(SpendingError, match="beyond what the settings allow"):
        RUNS[name](1)


# The cost of random schemas, computed again from what is released


@st.composite
def schemas(draw: Any) -> tuple[vws.Schema, int]:
    """Columns with levels and numbers of every kind, with units or without, and the cap."""
    columns: dict[str, vws.Column] = {}
    for k in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            levels = draw(st.sampled_from([2, 3, 7, 40, 350, 530, 2000]))
            columns[f"c{k}"] = vws.Column(
                model="table", levels=tuple(map(str, range(levels))), predictors=()
            )
        else:
            high = draw(st.sampled_from([3, 30, 1000, 10**6]))
            columns[f"x{k}"] = vws.Column(
                model="normal",
                range=(0, high),
                decimals=draw(st.sampled_from([None, 0, 1])),
                cuts=draw(st.sampled_from([None, (1,), (1, 2)])),
                mass=draw(st.sampled_from([(), (0,)])),
                missing=draw(st.sampled_from([None, "N"])),
                predictors=(),
            )
    cap = draw(st.sampled_from([0, 0, 1, 3]))
    if not cap:
        return vws.Schema(columns), 0
    return vws.Schema({"home": vws.Column(role="id"), **columns}, unit="home"), cap


@settings(max_examples=SCHEMAS, derandomize=True)
@given(
    schemas(),
    st.sampled_from([0.1, 1.0, 8.0]),
    st.sampled_from([0.0, 1e-5]),
    st.sampled_from(["loo", "replace"]),
    st.sampled_from([0.0, 0.1, 0.5, 0.9]),
    st.integers(0, 2**32 - 1),
)
def test_released_counts_cost_what_is_stated_and_nearly_all_of_it(
    made: tuple[vws.Schema, int],
    epsilon: float,
    delta: float,
    neighbours: str,
    share: float,
    seed: int,
) -> None:
    schema, cap = made
    neighbours = "loo" if cap else neighbours  # Of units a number is never exact.
    mechanism = vws.NoisyCounts(
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        cells_share=share,
        cap=cap or None,
        measure="pairs",
    )
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 400))
    frame = pl.DataFrame(
        {
            name: rng.integers(0, 60, n)
            if name == "home"
            else np.rint(rng.gamma(0.5, 40.0, n)).astype(int).astype(str)
            for name in schema.columns
        }
    )
    read = check_table(frame, RunSettings(schema=schema, mechanism=mechanism))
    counting = mechanism.counting(schema)
    noise = counting.noise(mechanism.budget, hidden=neighbours == "loo")
    sells = Seller.of_noise(noise, read.counted, read.units)
    records = None if neighbours == "loo" else read.records
    bought = measured(counting, noise, sells, records=records)
    found, fine = bought.noisy, bought.fine
    scales = [*found.scales, *([found.records_scale] if found.records_scale else [])]
    scales += [own.scale for one in fine.values() for own in (one, one.rounded) if own]
    cost = epsilon_of(mechanism.budget, scales)
    assert 0.98 * epsilon <= cost <= epsilon * (1 + 1e-4)
    assert sells.spending.sold == pytest.approx(cost, rel=1e-4)
