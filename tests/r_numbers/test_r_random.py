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


def test_what_r_prints_under_seed_123():
    assert RRandom(123).runif(5).round(7).tolist() == [
        *(0.2875775, 0.7883051, 0.4089769, 0.8830174, 0.9404673)
    ]
    assert RRandom(123).sample(10, 10).tolist() == [3, 3, 10, 2, 6, 5, 4, 6, 9, 10]


@given(seeds)
@few
def test_words_are_those_of_the_mersenne_twister(seed):
    wanted = words(seed, 1300) * 2.3283064365386963e-10
    assert (RRandom(seed).runif(1300) == np.clip(wanted, 1e-300, 1.0)).all()


@given(seeds, st.integers(1, 2**31 - 1))
@few
def test_samples_are_the_low_bits_that_are_in_range(seed, n):
    bits = (n - 1).bit_length()
    uniform = iter(RRandom(seed).runif(400))
    drawn = []
    while len(drawn) < 20:
        value = 0
        for _ in range(0, bits + 1, 16):
            value = 65536 * value + int(np.floor(next(uniform) * 65536))
        value %= 2**bits
        drawn += [value + 1] if value < n else []
    assert RRandom(seed).sample(n, 20).tolist() == drawn


def test_one_stream():
    stream = RRandom(7)
    parts = np.concatenate([stream.runif(3), stream.runif(0), stream.runif(1000)])
    assert (parts == RRandom(7).runif(1003)).all()
    assert (RRandom(7).sample(1, 4) == 1).all()
    after_one_value = RRandom(7)
    after_one_value.sample(1, 4)  # takes a word each, as in R
    assert after_one_value.runif(1)[0] == RRandom(7).runif(5)[4]
    assert RRandom(7).runif(1)[0] != RRandom(8).runif(1)[0]


def test_uniform():
    found = np.bincount(RRandom(1).sample(6, 60_000), minlength=7)[1:]
    # Chi-square of 5 degrees of freedom: above 25.7 once in 10,000 seeds.
    assert ((found - 10_000) ** 2 / 10_000).sum() < 25.7


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
