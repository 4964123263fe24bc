"""The normal family with a range: its limits, draws, far tails, and what a run makes of a range."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import pyvws as vws
from pyvws.models.registry import find_model
from pyvws.models.truncated_normal import _row
from pyvws.tables.design.cells import make_cells


def test_a_wide_range_is_the_normal_family():
    y = np.random.default_rng(1).normal(size=20)
    cells = make_cells(y, np.column_stack([np.ones(20), np.arange(20) / 20]))
    draws = {"beta": np.array([[0.3, -1.0], [0.0, 2.0]]), "sigma": np.array([0.5, 2.0])}
    wide = find_model("truncated-normal", range=(-1e6, 1e6))
    np.testing.assert_allclose(
        wide.log_likelihood(draws, cells),
        find_model("normal").log_likelihood(draws, cells),
        rtol=1e-13,
    )


@pytest.mark.runs
@given(
    st.floats(-200.0, 200.0), st.floats(-8.0, 12.0), st.floats(-50.0, 50.0), st.floats(0.01, 100.0)
)
def test_slopes_of_a_row_are_moments_of_its_law(eta, u, low, wide):
    """G is the mean of z less t, and F + 1 + t^2 the mean of z^2, of z on the nearer side."""
    side, t, normaliser, mean, square = _row(eta, np.exp(u), low, low + wide)
    sigma = np.exp(u)
    a, b = (low - eta) / sigma, (low + wide - eta) / sigma
    if side < 0:
        a, b = -b, -a
    top = max(a, 0.0)
    place, share = np.polynomial.legendre.leggauss(300)

    def integral(start, end, value):
        """Over the steps s = x - top, which keep every digit where top is large."""
        s = start + (end - start) * 0.5 * (place + 1.0)
        weight = np.exp(-0.5 * s * (s + 2.0 * top)) * 0.5 * share * (end - start)
        return float(weight @ value(s))

    def moment(value):
        most = min(wide / sigma if a > 0.0 else b, 45.0 / (1.0 + top), 12.0)
        found = integral(0.0, most, value)
        return found + integral(max(a, -12.0), 0.0, value) if a < 0.0 else found

    total = moment(np.ones_like)
    log_total = np.log(total) + 0.5 * (t - top) * (t + top)
    assert normaliser == pytest.approx(log_total, rel=1e-11, abs=1e-11)
    off = top - t
    expected = moment(lambda s: s + off) / total
    assert mean == pytest.approx(expected, rel=1e-9, abs=1e-10)
    expected = moment(lambda s: (s + off) * (s + top + t)) / total
    assert square + 1.0 == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.runs
@settings(max_examples=40)
@given(
    st.floats(-15.0, 15.0),
    st.floats(0.5, 30.0),
    st.lists(st.tuples(st.floats(-10.0, 10.0), st.floats(1e-6, 10.0)), min_size=2, max_size=4),
)
def test_a_density_integrates_to_1_between_the_ends_of_each_record(eta, sigma, intervals):
    """Records of one design row whose ends differ; those of the range do not give 1."""
    family = find_model("truncated-normal", range=(-10.0, 20.0))
    draws = {"beta": np.array([[eta]]), "sigma": np.array([sigma])}
    place, share = np.polynomial.legendre.leggauss(300)
    low, wide = np.array(intervals).T
    y = low[:, None] + 0.5 * (place + 1.0) * wide[:, None]
    ends = np.repeat(np.column_stack([low, low + wide]), len(place), axis=0)

    def integrals(**of_records):
        cells = make_cells(y.ravel(), np.ones((y.size, 1)), **of_records)
        terms = family.log_likelihood(draws, cells)[0, cells.cell_of_record]
        return np.exp(terms).reshape(y.shape) @ share * 0.5 * wide

    np.testing.assert_allclose(integrals(ends=ends), 1.0, rtol=1e-6)
    assert (integrals() < 1.0).all()


@pytest.mark.runs
@settings(max_examples=25)
@given(
    st.floats(-60.0, 60.0),
    st.floats(0.05, 30.0),
    st.lists(st.tuples(st.floats(-10.0, 10.0), st.floats(0.0, 10.0)), min_size=1, max_size=3),
    st.integers(0, 1000),
)
def test_draws_between_ends_by_record_have_their_law(eta, sigma, intervals, seed):
    family = find_model("truncated-normal", range=(-10.0, 20.0))
    draw = {"beta": np.array([[eta]]), "sigma": np.array([sigma])}
    ends = np.repeat([(low, low + wide) for low, wide in intervals], 400, axis=0)
    made = family.predict_between(draw, np.ones((len(ends), 1)), ends, np.random.default_rng(seed))
    assert ((ends[:, 0] <= made) & (made <= ends[:, 1])).all()
    for (low, wide), own in zip(intervals, made.reshape(-1, 400), strict=True):
        side, t, _, G, F = _row(eta, sigma, low, low + max(wide, 1e-300))
        if wide > 1e-6:
            nearer = low if side > 0 else low + wide
            mean = nearer + side * sigma * G if t else eta + side * sigma * G
            spread = sigma * np.sqrt(max(F + 1.0 - 2.0 * t * G - G * G, 0.0))
            assert abs(own.mean() - mean) < 6.0 * max(spread, 1e-6 * wide) / 20.0


@pytest.mark.parametrize("eta", [-1e6, -40.0, 0.5, 38.0, 1e6])
def test_draws_lie_in_the_range_wherever_the_mean_is(eta):
    family = find_model("truncated-normal", range=(0, 2))
    draw = {"beta": np.array([[eta]]), "sigma": np.array([1.5])}
    made = family.predict(draw, np.ones((20_000, 1)), np.random.default_rng(3))
    assert ((made >= 0) & (made <= 2)).all()
    side, t, _, G, _ = _row(eta, 1.5, 0.0, 2.0)
    mean = (0.0 if side > 0 else 2.0) + side * 1.5 * G if t else eta + side * 1.5 * G
    assert made.mean() == pytest.approx(mean, abs=4.0 * made.std() / 20_000**0.5)


def test_its_settings_and_outcomes_are_checked():
    with refused("model-range"):
        find_model("truncated-normal", range=(0, np.inf))
    with refused("log-range-too-low"):
        find_model("truncated-normal", range=(0, 5), outcome_scale="log")
    with refused("values-outside-range", outside=1):
        find_model("truncated-normal", range=(0, 5)).prepare(np.array([5.0, 5.5]), "score")
    log = find_model("truncated-normal", range=(1, np.exp(2)), outcome_scale="log")
    cells = make_cells(np.array([0.5, 1.0, 0.5]), np.ones((3, 1)))
    assert {k: x.tolist() for k, x in log.stan_settings(cells).items()} == {
        "least": [0.0] * 3,
        "most": pytest.approx([2.0] * 3),
    }


@pytest.mark.runs
def test_a_cut_normal_is_reproduced_where_the_plain_family_is_not():
    """A normal with mean 1, cut one standard deviation below, at 0."""
    y = np.random.default_rng(4).normal(1.0, 1.0, 2500)
    frame = pl.DataFrame({"y": y[y > 0]})

    def off(model):
        release = vws.synthesize(
            frame,
            schema=vws.Schema({"y": vws.Column(model=model, range=(0, 10))}),
            mechanism="unweighted",
            datasets=10,
            seed=3,
        )
        made = np.array([one["y"].to_numpy() for one in release.datasets])
        assert ((made >= 0) & (made <= 10)).all()
        return abs(made.mean() - frame["y"].mean())

    assert off("truncated-normal") < 0.045
    assert off("normal") > 0.045


@pytest.mark.runs
@pytest.mark.draws
def test_a_clamp_by_deviance_is_refused_and_half_is_taken():
    frame = pl.DataFrame({"y": np.random.default_rng(4).uniform(0, 5, 60)})
    given = {"outcome": "y", "model": "truncated-normal", "range": (0, 5), "seed": 3}
    given |= {"mechanism": "censored", "epsilon": 5.0, "weights": "none"}
    given |= {"draws": 150, "warmup": 150, "accept_unconverged": True}
    with refused("truncated-normal-at-end"):
        vws.synthesize(frame, **given)
    release = vws.synthesize(frame, clamp="half", **given)
    assert release.privacy["epsilon_per_dataset"] <= 5.0
