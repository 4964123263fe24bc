"""Calibration of the fits' datasets on a small population, whose truth is known."""

import numpy as np
import pytest
from pyvws_studies.counts_databases import SETTINGS, Database, Population

import pyvws as vws
from pyvws.mechanisms.counts import drawn_fits
from pyvws.mechanisms.counts.workload import workload

pytestmark = [pytest.mark.runs, pytest.mark.draws]
pytest.importorskip("opendp")

DATABASES = 12


def population() -> Population:
    """Rent follows age, and nobody in a group quarter pays any."""
    rng, N = np.random.default_rng(1), 20_000
    age, group = rng.integers(0, 5, N), rng.random(N) < 0.08
    rent = np.where(group, 0, 1 + (rng.random(N) < 0.15 + 0.15 * age))
    x = np.column_stack([age, group, rent, rng.random(N) < 0.3 + 0.1 * age]).astype(np.int32)
    sizes = {"age": 5, "home": 2, "rent": 3, "sex": 2}
    columns = {
        name: vws.Column(model="nominal", levels=tuple(map(str, range(L))), predictors=())
        for name, L in sizes.items()
    }
    columns["rent"] = vws.Column(model="nominal", levels=("0", "1", "2"), predictors=("age",))
    return Population(vws.Schema(columns), x, np.full(N, 1.0 / N))


def held(*tables: str, epsilon: float = 0.3) -> dict[str, float]:
    """The share of figures of each kind whose interval, by datasets alone, holds the truth."""
    whole, found = population(), dict[str, list[float]]()
    table = workload(whole.schema, ("pairs",), tables)
    asked = {**SETTINGS, "datasets": 8, "classes": 6}
    for one in range(DATABASES):
        run = {"n": 1500, "epsilon": epsilon, "delta": 1e-5}
        own = Database.drawn(asked, whole, table, run, np.random.SeedSequence([7, one]))
        for row in own.coverage(asked, whole, table):
            if (row["method"], row["of"]) == ("fits", "population"):
                found.setdefault(row["kind"], []).append(row["within"])
    return {kind: float(np.mean(shares)) for kind, shares in found.items()}


@pytest.mark.parametrize("tables", ["none", "rent:age", "rent", "rent:age,sex:rent:home"])
def test_intervals_hold_the_population_about_as_often_as_they_say(tables: str) -> None:
    found = held(*tables.split(","))
    for kind in ("margin", "measured pair", "strong pair", "triple"):
        assert found[kind] > 0.85, (kind, found)


def test_datasets_of_the_same_counts_would_hold_it_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without noise once more, datasets differ by the fits' starts alone."""
    monkeypatch.setattr(drawn_fits, "around", lambda noisy, rngs: [noisy.to_totals for _ in rngs])
    assert held("none")["measured pair"] < 0.85
