"""Datasets, counted tables and densities are those of the stored digests.

Bits are compared where the environment is the recorded one, and rounded sums elsewhere.
`python tests/digests/digested.py --write` stores them again.
"""

import json
from typing import Any

import pytest
from digested import STORED, asked, dataset, densities, environment, table_of_counts

STORE: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
SAME = STORE["environment"] == environment()


def compared(name: str, stored: dict[str, Any], made: dict[str, Any]) -> None:
    assert made.get("same") == stored.get("same"), name
    if "sums" in stored:
        assert made["sums"] == pytest.approx(stored["sums"], rel=1e-6, abs=1e-9), name
    if SAME:
        assert made.get("digest") == stored.get("digest"), name


def test_every_run_is_stored() -> None:
    assert set(STORE["datasets"]) == set(asked())
    assert len(STORE["datasets"]) >= 40


@pytest.mark.runs
@pytest.mark.draws
@pytest.mark.parametrize("name", STORE["datasets"])
def test_datasets(name: str) -> None:
    if "histogram" in name or "counts" in name:
        pytest.importorskip("opendp")
    compared(name, STORE["datasets"][name], dataset(name))


@pytest.mark.parametrize("name", STORE["counted"])
def test_counted_tables(name: str) -> None:
    compared(name, STORE["counted"][name], table_of_counts(name))


def test_densities_and_gradients() -> None:
    made = densities()
    assert set(made) == set(STORE["densities"])
    assert len(made) >= 400
    for name, item in made.items():
        compared(name, STORE["densities"][name], item)
