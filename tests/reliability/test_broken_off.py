"""Runs that are killed, interrupted, or many at once: a whole folder, the old one, or none."""

import random
import signal
from pathlib import Path

import pytest
from broken_runs import break_off, concurrent
from platformdirs import user_cache_path
from real_runs import Place, table_with_canaries

_SIGNALS = [signal.SIGKILL, signal.SIGINT, signal.SIGTERM]
_AT_ONCE = 4


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """With the user's cache of compiled kernels, so that nothing is compiled here."""
    table = table_with_canaries(tmp_path / "table.csv", 5_000)
    return Place(
        tmp_path / "runs", table, user_cache_path(), ("--datasets", "20", "--engine", "laplace")
    )


@pytest.mark.slow
def test_kills_and_interrupts(place: Place) -> None:
    assert break_off(place, random.Random(8), _SIGNALS).problems == []


@pytest.mark.slow
def test_runs_at_once(place: Place) -> None:
    assert concurrent(place, _AT_ONCE, alone=place.cache).problems == []
