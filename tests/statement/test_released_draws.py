"""Datasets of one draw are paid once: losses by enumeration, turns, statements of before."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statements import statement
from test_accounting import many
from test_schema import histogram

from pyvws.statement.parts import draw_of_dataset, with_released_draws

PLAIN_HISTOGRAM = {
    "claim": "dp-if-bounded",
    "epsilon": 1.5,
    "neighbours": "loo",
    "bins": 3,
    "noise_scale": 1.0,
    "datasets": 4,
    "columns_released_unchanged": (),
    "publishable": True,
    "bins_from_records": False,
    "edges_from_data": False,
    "allows_outside": False,
    "rounded": False,
    "keep_order": False,
}


@given(st.integers(1, 60), st.data())
@many
def test_draws_take_turns(datasets, data):
    draws = data.draw(st.integers(1, datasets))
    of = draw_of_dataset(datasets, draws)
    sizes = [of.count(draw) for draw in range(1, draws + 1)]
    assert sum(sizes) == len(of) == datasets
    assert max(sizes) - min(sizes) <= 1
    assert len(set(of[:draws])) == draws


@given(st.integers(1, 9), st.booleans())
@many
def test_earlier_statements_get_their_draws(datasets, of_histogram):
    made = (
        histogram(**{**PLAIN_HISTOGRAM, "datasets": datasets})
        if of_histogram
        else statement(datasets=datasets)
    ).released()
    earlier = {
        name: value
        for name, value in made.items()
        if name not in ("draws_released", "draw_of_dataset")
    }
    assert with_released_draws(earlier) == made
    assert with_released_draws(made) == made
    shared = statement(datasets=datasets, draws_per_release=1).released()
    assert with_released_draws(shared) == shared
    assert with_released_draws({"datasets": "many"}) == {"datasets": "many"}


def test_a_histogram_is_one_draw_of_all_its_datasets():
    made = histogram(**PLAIN_HISTOGRAM).exact()
    assert (made["draws_released"], made["draw_of_dataset"]) == (1, [1, 1, 1, 1])
    assert made["epsilon_total"] == made["epsilon_per_dataset"] == made["ledger"][0]["epsilon"]
    keys = [said["key"] for said in made["caveat_keys"]]
    assert "one-draw" in keys
    alone = histogram(**{**PLAIN_HISTOGRAM, "datasets": 1}).exact()
    assert "one-draw" not in [said["key"] for said in alone["caveat_keys"]]


def releases(records, terms, epsilon, of):
    """The chance of every tuple of datasets, one value a dataset, by enumeration over the draws.

    terms (T, K) is the log-likelihood of a record of each kind at T thetas, even a priori; each
    term is clamped at epsilon / 2. A dataset shows the number of its theta, but for a slip.
    """
    posterior = np.exp(np.clip(terms[:, records], -epsilon / 2, epsilon / 2).sum(axis=1))
    posterior /= posterior.sum()
    slip = 1e-9
    chances = np.full((len(terms),) * 2, slip) + (1.0 - len(terms) * slip) * np.eye(len(terms))
    found = {}
    for made in itertools.product(range(len(terms)), repeat=len(of)):
        groups = [
            [value for value, its in zip(made, of, strict=True) if its == draw] for draw in set(of)
        ]
        found[made] = math.prod(float(posterior @ chances[:, own].prod(axis=1)) for own in groups)
    return found


@pytest.mark.parametrize("draws", [1, 2, 3])
def test_the_loss_of_all_datasets_is_that_of_their_draws(draws):
    """Three datasets: no tuple loses more than the total, and one loses nearly all of it."""
    epsilon, datasets = 3.0, 3
    of = draw_of_dataset(datasets, draws)
    terms = np.array([[40.0, -40.0, 0.1], [-40.0, 40.0, 0.2]])
    largest = 0.0
    for records in ([0, 1], [0, 0, 0, 0, 0, 0, 1], [1], [2, 2], [2, 1, 1]):
        whole = releases(records, terms, epsilon, of)
        assert math.isclose(sum(whole.values()), 1.0, rel_tol=1e-12)
        for left_out in range(len(records)):
            fewer = [*records[:left_out], *records[left_out + 1 :]]
            other = releases(fewer, terms, epsilon, of)
            largest = max(largest, *(abs(math.log(whole[k] / other[k])) for k in whole))
    made = statement(
        mechanism="censored",
        claim="dp",
        enforced=True,
        data_weights=False,
        lipschitz_bound=epsilon / 2,
        datasets=datasets,
        draws_per_release=draws,
        records="public",
    )
    total = made.exact()["certified"]["epsilon_total"]
    assert 0.99 * total < largest <= total
