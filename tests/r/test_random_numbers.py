"""`RRandom` against R as it runs: equal bits, whatever the parameters and the order of calls."""

import json
from typing import Any

import numpy as np
import pytest
from random_parameters import (
    DIGESTS,
    HERE,
    MANY,
    PARAMETERS,
    SOME,
    UNEVEN,
    Call,
    by_r,
    by_us,
    digests,
)

from pyvws.r.bridge import call
from pyvws.r_numbers._continuous import normal_quantile
from pyvws.r_numbers._stream import fresh_stream, uniform

# Parameters that give a number without drawing.
WITHOUT_DRAWING: list[Call] = [
    ("runif", {"n": 3, "min": 2.0, "max": 2.0}),
    ("rnorm", {"n": 3, "mean": 2.0, "sd": 0.0}),
    ("rgamma", {"n": 3, "shape": 0.0}),
    ("rpois", {"n": 3, "lambda": 0.0}),
    ("rbinom", {"n": 3, "size": np.array([0.0, 5.0, 5.0]), "prob": np.array([0.5, 0.0, 1.0])}),
    ("rnbinom", {"n": 3, "size": 2.0, "prob": 1.0}),
    ("rnbinom", {"n": 3, "size": 2.0, "mu": 0.0}),
    ("rmultinom", {"n": 3, "size": 0, "prob": np.array([1.0, 2.0])}),
    ("rmultinom", {"n": 3, "size": 4, "prob": np.array([0.0, 2.0])}),
    ("sample.int", {"n": 3, "size": 0}),
]
TIED = 1.0 + (7.0 * np.arange(1000)) % 5
LEFT_OUT = (7.0 * np.arange(1000)) % 5
RARE = np.r_[np.ones(200), np.full(100, 1e-4)]  # 200 of 300 are probable enough


def differing(seed: int, calls: list[Call], kind: str = "Rejection") -> int:
    """Numbers of a sequence of calls that are not R's; the lengths must agree."""
    ours, theirs = by_us(seed, calls, kind), by_r(seed, calls, kind)
    assert ours.shape == theirs.shape
    return int((ours != theirs).sum())


def test_every_branch_gives_the_bits_that_r_gave() -> None:
    """100,000 numbers of each set of parameters, from digests of R's: no R needed."""
    assert digests(by_us) == json.loads(DIGESTS.read_text(encoding="utf-8"))


@pytest.mark.r
def test_digests_are_those_of_r() -> None:
    assert digests(by_r) == json.loads(DIGESTS.read_text(encoding="utf-8"))


@pytest.mark.r
@pytest.mark.parametrize("name", PARAMETERS)
def test_every_branch(name: str) -> None:
    """One set of parameters after another, in one stream; a uniform number ends it."""
    calls: list[Call] = [(name, {"n": SOME, **given}) for given in PARAMETERS[name]]
    assert differing(11, [*calls, ("runif", {"n": 1})]) == 0


@pytest.mark.r
@pytest.mark.parametrize("name", PARAMETERS)
def test_a_million_with_parameters_in_turn(name: str) -> None:
    """A million draws with all parameters recycled along them: no two neighbours share theirs."""
    for names in {tuple(given) for given in PARAMETERS[name]}:
        sets = [given for given in PARAMETERS[name] if tuple(given) == names]
        recycled = {key: np.array([given[key] for given in sets]) for key in names}
        assert differing(-7, [(name, {"n": MANY, **recycled}), ("runif", {"n": 1})]) == 0


@pytest.mark.r
def test_normal_quantiles_far_out() -> None:
    """Where a million draws do not come: AS 241 has a third approximation below 1.4e-11."""
    tail = 10.0 ** np.linspace(-300, -0.5, 20_000)
    p = np.concatenate([tail, np.arange(1, 20_000) / 20_000, 1 - 10.0 ** np.linspace(-15, -1, 999)])
    ours = np.array([normal_quantile(value) for value in p])
    assert (ours == call("random_numbers", "quantiles", {"p": p}, folder=HERE)).all()


@pytest.mark.r
def test_the_word_0_is_kept_off_0() -> None:
    stream = fresh_stream(np.uint64(1))
    stream[625], stream[-1] = 0, 1  # one tempered word used, and the second is 0
    assert uniform(stream) == call("random_numbers", "least", {}, folder=HERE)[0] > 0


@pytest.mark.r
@pytest.mark.parametrize("kind", ["Rejection", "Rounding"])
@pytest.mark.parametrize("seed", [0, 123, -1, 2**31 - 1, -(2**31) + 1])
def test_samples(seed: int, kind: str) -> None:
    calls: list[Call] = [
        ("sample.int", {"n": n, "size": 20_000, "replace": True})
        for n in (1, 2, 10, 65536, 65537, 2**31 - 1)
    ]
    for n, size in ((1, 1), (10, 10), (1000, 500), (65537, 65537)):
        calls.append(("sample.int", {"n": n, "size": size}))
    # Above 10 million, and at most half of them: R looks up what it has drawn.
    calls.append(("sample.int", {"n": 2**31 - 1, "size": 50_000}))
    assert differing(seed, [*calls, ("runif", {"n": 1})], kind) == 0


@pytest.mark.r
def test_samples_from_ten_million() -> None:
    """Either side of both limits of R's look-up."""
    for n, size in ((10**7, 5), (10**7 + 1, 1_000_000), (10**7 + 1, 5_000_001)):
        assert differing(5, [("sample.int", {"n": n, "size": size})]) == 0


@pytest.mark.r
@pytest.mark.parametrize("kind", ["Rejection", "Rounding"])
@pytest.mark.parametrize("weights", [np.ones(1000), TIED, LEFT_OUT, UNEVEN])
def test_weighted_samples(weights: Any, kind: str) -> None:
    calls: list[Call] = []
    for n in (1, 2, 3, 5, 10, 50, 200, 201, 250, 999):
        p = weights[1 : n + 1]
        possible = int((p > 0).sum())
        calls.append(("sample.int", {"n": n, "size": 10_000, "replace": True, "prob": p}))
        calls.append(("sample.int", {"n": n, "size": possible, "replace": False, "prob": p}))
        if n < 100:
            calls.append(("rmultinom", {"n": 1000, "size": 20, "prob": p}))
    calls.append(("sample.int", {"n": 300, "size": 100, "replace": True, "prob": RARE}))
    assert differing(2, [*calls, ("runif", {"n": 1})], kind) == 0


@pytest.mark.r
def test_a_million_of_each_sample() -> None:
    few, many = UNEVEN[:7], UNEVEN[:500]
    calls: list[Call] = [
        ("sample.int", {"n": 1000, "size": MANY, "replace": True}),
        ("sample.int", {"n": MANY}),
        ("sample.int", {"n": 7, "size": MANY, "replace": True, "prob": few}),
        ("sample.int", {"n": 500, "size": MANY, "replace": True, "prob": many}),
        ("rmultinom", {"n": MANY // 7, "size": 100, "prob": few}),
    ]
    assert differing(3, calls) == 0


@pytest.mark.r
def test_parameters_that_need_no_draw() -> None:
    calls = [step for wanted in WITHOUT_DRAWING for step in (wanted, ("runif", {"n": 1}))]
    assert differing(4, calls) == 0


@pytest.mark.r
@pytest.mark.parametrize("seed", [1, -2024, 40_000])
def test_one_record_at_a_time(seed: int) -> None:
    """A simulation script: generators in any order, few numbers each, parameters that alternate."""
    chosen = np.random.PCG64(seed % 2**32).random_raw(3 * 600).reshape(600, 3)
    calls: list[Call] = []
    for which, parameters, number in chosen.astype(object):
        name = sorted(PARAMETERS)[which % len(PARAMETERS)]
        sets = PARAMETERS[name]
        calls.append((name, {"n": number % 3 + 1, **sets[parameters % len(sets)]}))
        if number % 5 == 0:
            calls.append(("sample.int", {"n": int(number % 1000) + 1}))
    assert differing(seed, calls) == 0


@pytest.mark.r
@pytest.mark.parametrize("seed", [123, 1234, -99])
def test_the_papers_data(seed: int) -> None:
    from pyvws_studies.simulated_data import beta_proportions, poisson_data, risk_efficient_counts

    counts = {"seed": seed, "n": 1000, "mu": 100.0}
    assert (poisson_data(seed) == call("simulated_data", "poisson_counts", counts)).all()
    mixture = {"shares": np.array([0.7, 0.3]), "mu": 100.0, "phi": np.array([20.0, 5.0])}
    there = call(
        "simulated_data", "negative_binomial_mixture", {"seed": seed, "n": 1000, **mixture}
    )
    assert (risk_efficient_counts(seed) == there).all()
    beta: Call = ("rbeta", {"n": 2000, "shape1": 0.5, "shape2": 3.0})
    theirs = {"seed": seed, "calls": [{"name": beta[0], "arguments": beta[1]}]}
    assert (beta_proportions(seed) == call("random_numbers", "stream", theirs, folder=HERE)).all()
