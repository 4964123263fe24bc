"""Refits until a bound lies in its window, on a bound that is known in closed form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws.errors import SearchError
from pyvws.weights.search import Reached, Try, Window, meet

MAXIMA = np.array([4.0, 6.0, 10.0])
BASE = np.array([1.0, 0.6, 0.2])
START = Reached(np.ones(3), 10.0, MAXIMA, 0.0)


def search(window, *, drift=0.0, first=None, largest=1e6):
    """Weights min(1, c BASE); fits whose maxima drift away from what the last one promised."""
    tries, rng = [], np.random.default_rng(1)

    def refit(weights):
        maxima = MAXIMA * (1.0 + drift * rng.uniform(-1, 1))
        return Reached(weights, float((weights * maxima).max()), maxima, 0.0)

    found = meet(
        refit,
        lambda c: np.minimum(1.0, c * BASE),
        window=window,
        first=first,
        largest=largest,
        start=START,
        symbol="c",
        label="X",
        tell=tries.append,
    )
    return *found, tries


def scripted(*reached, maxima, first=0.5, largest=2.0, symbol="c", below=False):
    """A search for 4 to 6 whose refits reach what is said, with these maxima each time."""
    tries, left = [], list(reached)

    def search():
        return meet(
            lambda weights: Reached(weights, left.pop(0), np.array(maxima), 0.0),
            lambda c: np.minimum(1.0, c * BASE),
            window=Window(4.0, 5.0, 6.0),
            first=first,
            largest=largest,
            start=Reached(np.ones(3), 10.0, np.array(maxima), 0.0),
            below=below,
            symbol=symbol,
            label="X",
            tell=tries.append,
        )

    return search, tries


def test_windows_by_hand():
    assert Window.around(2.0, 0.25) == Window(1.5, 2.0, 2.5)
    assert Window.below(2.0, 0.25) == Window(1.5, 1.9, 2.0)


@pytest.mark.parametrize("edge", [4.0, 6.0])
def test_the_edges_of_a_window_are_inside(edge):
    search, tries = scripted(edge, maxima=MAXIMA)
    assert search()[1] == 0.5
    assert tries == [Try("X", "c", 0.5, edge, 5.0)]


def test_what_a_fit_promises_too_little_of_is_tried_at_the_largest_value_once():
    search, tries = scripted(3.0, 5.0, maxima=[1.0, 1.0, 1.0])
    assert search()[1] == 2.0
    for reached, values in [((3.0, 3.5), [0.5, 2.0]), ((7.0,), [0.5])]:
        search, tries = scripted(*reached, maxima=[1.0, 1.0, 1.0])
        with pytest.raises(SearchError, match="the weights reach 1 first"):
            search()
        assert [made.value for made in tries] == values
    search, tries = scripted(3.0, maxima=[1.0, 1.0, 1.0], first=2.0)
    with pytest.raises(SearchError, match="the weights reach 1 first"):
        search()
    assert len(tries) == 1


def test_a_last_fit_below_the_window_is_a_result_where_that_is_asked_for():
    """Nothing brings the bound up: the weights end, or 20 refits come no nearer."""
    for reached, values in [((3.0, 3.5), [0.5, 2.0]), ((9.0, 3.5), [0.5, 0.3])]:
        ones = [1.0, 1.0, 1.0]
        search, tries = scripted(*reached, maxima=ones, first=values[0], below=True)
        if reached[0] > 6.0:  # Above the window and nothing lower is foreseen.
            with pytest.raises(SearchError, match="the weights reach 1 first"):
                search()
            continue
        weights, value = search()
        assert ([made.value for made in tries], value) == (values, values[-1])
        np.testing.assert_array_equal(weights, np.minimum(1.0, value * BASE))
    search, tries = scripted(*[3.0] * 20, maxima=MAXIMA, below=True)
    assert search()[1] == tries[-1].value
    assert len(tries) == 20
    search, _ = scripted(*[3.0] * 19, 7.0, maxima=MAXIMA, below=True)
    with pytest.raises(SearchError, match="20 refits"):
        search()


@pytest.mark.parametrize(
    ("symbol", "remedy"), [("k", "Leave re-weighting out"), ("c", "Ask for a smaller bound")]
)
def test_each_constant_has_its_own_remedy(symbol, remedy):
    search, _ = scripted(maxima=[1.0, 1.0, 1.0], first=None, symbol=symbol)
    with pytest.raises(SearchError, match=rf"No {symbol} brings .* {remedy}"):
        search()


def test_a_shift_that_keeps_weights_up_ends_the_search_at_once():
    tries = []
    with pytest.raises(SearchError, match="Even a c near 0 leaves the"):
        meet(
            lambda weights: Reached(weights, float((weights * MAXIMA).max()), MAXIMA, 0.0),
            lambda c: np.minimum(1.0, c * BASE + 0.5),
            window=Window.around(2.0, 0.05),
            first=None,
            largest=1e6,
            start=START,
            symbol="c",
            label="X",
            tell=tries.append,
        )
    assert len(tries) == 1


def test_by_hand():
    weights, c, tries = search(Window.around(2.0, 0.05))
    assert c == pytest.approx(0.5)  # 4 c = 2
    np.testing.assert_allclose(weights, 0.5 * BASE)
    assert len(tries) == 1
    weights, c, tries = search(Window.around(2.0, 0.05), first=0.1)
    assert c == pytest.approx(0.5)
    assert [made.value for made in tries] == [0.1, c]


@given(st.floats(0.5, 9.0), st.floats(0.0, 0.01))
@settings(max_examples=60, derandomize=True)
def test_the_first_fit_inside_a_window_ends_the_search(target, drift):
    _, _, tries = search(Window.around(target, 0.02), drift=drift)
    assert abs(tries[-1].reached - target) <= 0.02 * target
    assert all(abs(made.reached - target) > 0.02 * target for made in tries[:-1])


def test_what_cannot_be_met():
    with pytest.raises(SearchError, match="the weights reach 1 first"):
        search(Window.around(11.0, 0.02))
    with pytest.raises(SearchError, match=r"20 refits brought no X bound.*Raise the tolerance"):
        search(Window.around(2.0, 1e-6), drift=0.3)
    _, _, tries = search(Window.around(2.0, 0.2), drift=0.3)  # As that message advises.
    assert len(tries) <= 20
