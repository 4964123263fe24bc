"""Refits until a bound lies in its window, on a bound that is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws.bound_search import Window, meet
from pyvws.errors import SearchError

MAXIMA = np.array([4.0, 6.0, 10.0])
BASE = np.array([1.0, 0.6, 0.2])


def search(window, *, drift=0.0, first=None, largest=1e6):
    """Weights min(1, c BASE); fits whose maxima drift away from what the last one promised."""
    tries, rng = [], np.random.default_rng(1)

    def refit(weights):
        maxima = MAXIMA * (1.0 + drift * rng.uniform(-1, 1))
        return weights, float((weights * maxima).max()), maxima

    found = meet(
        refit,
        lambda c: np.minimum(1.0, c * BASE),
        window=window,
        first=first,
        largest=largest,
        maxima=MAXIMA,
        symbol="c",
        label="X",
        tell=tries.append,
    )
    return *found, tries


def test_by_hand():
    weights, c, tries = search(Window.around(2.0, 0.05))
    assert c == pytest.approx(0.5)  # 4 c = 2
    np.testing.assert_allclose(weights, 0.5 * BASE)
    assert len(tries) == 1
    assert search(Window.around(2.0, 0.05), first=0.1)[1] == pytest.approx(0.5)


@given(st.floats(0.5, 9.0), st.floats(0.0, 0.01))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_target_is_met_from_below_within_its_share(target, drift):
    _, _, tries = search(Window.below(target, 0.02), drift=drift)
    assert 0.98 * target <= tries[-1].reached <= target
    assert all(not 0.98 * target <= made.reached <= target for made in tries[:-1])


def test_what_cannot_be_met():
    with pytest.raises(SearchError, match="the weights reach 1 first"):
        search(Window.below(11.0, 0.02))
    with pytest.raises(SearchError, match="20 refits brought no X bound"):
        search(Window.below(2.0, 1e-6), drift=0.3)
