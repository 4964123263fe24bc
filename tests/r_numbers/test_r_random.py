"""R's stream: known numbers, NumPy's own Mersenne Twister, and what a stream must keep."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from pyvws.r_numbers.r_random import RRandom

few = settings(max_examples=40, derandomize=True)
seeds = st.integers(-(2**31) + 1, 2**31 - 1)


def words(seed, n):
    """NumPy's Mersenne Twister from R's 624 words."""
    key, word = [], seed % 2**32
    for step in range(51 + 624):
        word = (69069 * word + 1) % 2**32
        if step >= 51:
            key.append(word)
    generator = np.random.MT19937()
    state = {"key": np.array(key, dtype=np.uint32), "pos": 624}
    generator.state = {"bit_generator": "MT19937", "state": state}
    return generator.random_raw(n)


@given(seeds)
@few
def test_words_are_those_of_the_mersenne_twister(seed):
    wanted = words(seed, 1300) * 2.3283064365386963e-10
    assert (RRandom(seed).runif(1300) == np.clip(wanted, 1e-300, 1.0)).all()


def test_one_stream():
    stream = RRandom(7)
    parts = np.concatenate([stream.runif(3), stream.runif(0), stream.runif(1000)])
    assert (parts == RRandom(7).runif(1003)).all()
    assert (RRandom(7).sample(1, 4) == 1).all()
    after_one_value = RRandom(7)
    after_one_value.sample(1, 4)  # takes a word each, as in R
    assert after_one_value.runif(1)[0] == RRandom(7).runif(5)[4]
    assert RRandom(7).runif(1)[0] != RRandom(8).runif(1)[0]


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        (lambda: RRandom(2**31), refused("seed-too-large")),
        (
            lambda: RRandom(1.5),  # type: ignore[arg-type]
            refused("not-a-whole-number", name="seed"),
        ),
        (lambda: RRandom(1).runif(-1), refused("not-a-whole-number", name="n")),
        (lambda: RRandom(1).sample(0, 1), refused("not-a-whole-number", name="n")),
        (lambda: RRandom(1).sample(2**31, 1), refused("too-many-numbers")),
    ],
)
def test_bad_input(call, refusal):
    with refusal:
        call()
