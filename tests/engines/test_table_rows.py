"""Rows of conditional tables under a clamp: exact moments beside other families, and their draws.

Rows of `pyvws_validation.cases.table_steps` hold the steps, and tables alone.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pyvws_validation._tiny_tables import (
    COIN,
    EACH,
    FIRST,
    OTHERS,
    SECOND,
    WEIGHTS,
    Copies,
    two_columns,
)
from scipy.stats import norm, t

from pyvws import Nominal, Normal, SamplerSettings
from pyvws._base.checks import Floats
from pyvws._base.cores import one_core
from pyvws.engines import nuts
from pyvws.engines.nuts import NativeEngine
from pyvws.engines.table_groups import groups_of
from pyvws.engines.table_rows import move_cells, move_rows, rows_of
from pyvws.models.sequence import Conditional
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.draws import Diagnostics
from pyvws.posterior.joint_target import JointTarget
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells

_GRID = 50
_AMOUNT = np.array([0.1, 0.4, -0.3, 0.9, 0.2, 0.0, 1.3])


def _beside(family: str, epsilon: float) -> tuple[JointTarget, Floats, Floats]:
    """A table's share beside two parameters of another family: the target, the log priors and
    parameters (3, G) of a grid.

    A nominal's are an intercept and a slope by the share's level, a normal's its mean and log sd.
    """
    first = Conditional("a", replace(COIN, patterns=1), make_cells(FIRST, np.zeros((7, 1))))
    angle = (np.arange(_GRID) + 0.5) / _GRID * np.pi / 2.0
    if family == "nominal":
        model: Any = Nominal(levels=("x", "y"), coefficient_sd=1.0)
        design, outcome = np.column_stack([np.ones(7), FIRST - 1.0]), SECOND
        axes = np.linspace(-5.0, 5.0, 70), np.linspace(-5.0, 5.0, 70)
        priors = [norm.logpdf(axis) for axis in axes]
    else:
        model, design, outcome = Normal(smallest_sd=0.1), np.ones((7, 1)), _AMOUNT
        # The mean's prior has no limit at 0.
        axes = (np.arange(-150, 150) + 0.5) / 40.0, np.linspace(-5.0, 3.0, 70)
        u = np.linspace(-12.0, 8.0, 401)  # log s, where the mean is N(0, s) and s is half-t.
        scale = u + t.logpdf(np.exp(u), 3)
        mean = np.logaddexp.reduce(norm.logpdf(axes[0][:, None], scale=np.exp(u)) + scale, axis=1)
        priors = [mean, axes[1] + t.logpdf(np.exp(axes[1]), 3)]
    grid = np.stack(np.meshgrid(angle, *axes, indexing="ij")).reshape(3, -1)
    log_prior = np.add.outer(np.zeros(_GRID), np.add.outer(*priors)).ravel()
    columns = first, Conditional("b", model, make_cells(outcome, design))
    return JointTarget(columns, WEIGHTS, Clamp(epsilon, "deviance")), log_prior, grid


@pytest.mark.draws
@pytest.mark.parametrize(
    ("family", "epsilon"), [("nominal", 1.5), ("nominal", 3.0), ("normal", 4.0)]
)
def test_a_table_beside_another_family_has_the_moments_of_the_clamped_target(
    family: str, epsilon: float
) -> None:
    target, log_density, (angle, one, other) = _beside(family, epsilon)
    for a, b, amount, weight in zip(FIRST, SECOND, _AMOUNT, WEIGHTS, strict=True):
        term = 2.0 * np.log(np.sin(angle) if a == 1.0 else np.cos(angle))
        if family == "nominal":
            eta = one + other * (a - 1.0)
            term = term - np.logaddexp(0.0, -eta if b == 2.0 else eta)
        else:
            term = term - (other - np.log(0.1)) - 0.5 * ((amount - one) / np.exp(other)) ** 2
        log_density = log_density + np.clip(weight * term, -epsilon, 0.0)
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    known = np.array([np.sin(angle) ** 2, one, other])
    mean = known @ density
    sd = np.sqrt((known - mean[:, None]) ** 2 @ density)
    settings = SamplerSettings(draws=3000, warmup=500, chains=4)
    posterior = NativeEngine().sample_table(target, settings, seed=4)
    draws = posterior.draws
    b = draws["b.beta"].reshape(len(draws["b.beta"]), -1)
    second = b[:, 1] if family == "nominal" else np.log(draws["b.sigma"])
    drawn = np.column_stack([np.exp(draws["a.log_theta"][:, 0, 0]), b[:, 0], second])
    error = sd / np.sqrt(posterior.diagnostics.ess_bulk_min)
    assert (np.abs(drawn.mean(axis=0) - mean) < 4.0 * error + 2e-3).all()
    assert np.allclose(drawn.std(axis=0), sd, rtol=0.1)


def test_the_density_is_that_of_shares_and_its_slope_follows() -> None:
    target = two_columns(3.0)
    density = target.density_and_gradient()
    q = np.random.default_rng(3).normal(size=target.dimension)
    value, slope = density(q)
    moved = np.eye(len(q)) * 1e-6
    steps = [(density(q + step)[0] - density(q - step)[0]) / 2e-6 for step in moved]
    assert np.allclose(slope, steps, atol=1e-6)
    # A larger exp(q) of all levels of a pattern leaves the shares: the gamma density alone moves.
    wider = q + np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    gone = np.exp(q[:2]).sum() * (np.e - 1.0)
    assert density(wider)[0] - value == pytest.approx(2 * 0.5 - gone)
    assert np.allclose(target.terms()(wider), target.terms()(q))


@pytest.mark.draws
@pytest.mark.parametrize("cells", [False, True], ids=["rows", "cells"])
def test_a_window_without_the_other_columns_is_seen(cells: bool) -> None:
    copies = Copies(EACH, OTHERS, 200_000)
    after, _ = copies.moved(move_cells if cells else move_rows, 0.0 * copies.others, cells=cells)
    assert copies.irreversible(after) > 10.0


def test_one_column_is_a_table_of_one() -> None:
    cells = make_cells(FIRST, np.zeros((7, 1)))
    model, clamp = replace(COIN, patterns=1), Clamp(2.0, "deviance")
    settings = SamplerSettings(draws=50, warmup=100, chains=2)
    alone = NativeEngine().sample(PseudoPosterior(model, cells, WEIGHTS, clamp), settings, seed=2)
    target = JointTarget((Conditional("y", model, cells),), WEIGHTS, clamp)
    with one_core():
        joint = NativeEngine().sample_table(target, settings, seed=2)
    assert np.array_equal(alone.draws["log_theta"], joint.draws["y.log_theta"])


def test_equal_records_and_counts_of_them_have_one_target() -> None:
    each = np.repeat(np.arange(7), [1, 3, 1, 2, 1, 1, 2])
    settings = SamplerSettings(draws=20, warmup=100, chains=1)

    def sampled(counted: bool) -> Floats:
        at, count = (
            (np.arange(7), np.bincount(each).astype(np.float64)) if counted else (each, None)
        )
        columns = tuple(
            replace(column, cells=make_cells(y[at], design[at], count))
            for column, y, design in zip(
                two_columns(3.0).columns,
                (FIRST, SECOND),
                (np.zeros((7, 1)), FIRST[:, None] - 1.0),
                strict=True,
            )
        )
        target = JointTarget(columns, WEIGHTS[at], Clamp(3.0, "deviance"), count)
        return NativeEngine().sample_table(target, settings, seed=1).draws["b.log_theta"]

    assert np.allclose(sampled(True), sampled(False), rtol=1e-9)


def test_a_table_beside_another_family_has_the_same_draws_on_any_number_of_cores() -> None:
    target, settings = _beside("normal", 4.0)[0], SamplerSettings(draws=30, warmup=100, chains=2)
    first = NativeEngine().sample_table(target, settings, seed=2)
    with one_core():
        second = NativeEngine().sample_table(target, settings, seed=2)
    assert {"a.log_theta", "b.beta", "b.sigma"} <= set(first.draws)
    for name, values in first.draws.items():
        np.testing.assert_array_equal(values, second.draws[name])


def test_chains_that_fail_are_made_once_more_four_times_as_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = SamplerSettings(draws=200, warmup=100, chains=2)
    monkeypatch.setattr(nuts, "diagnosed", lambda *given: Diagnostics(1.1, 36.0, 36.0, 0))
    totals: list[int] = []
    fit = NativeEngine().sample_table(
        two_columns(3.0), settings, seed=1, progress=lambda _, total: totals.append(total)
    )
    assert (set(totals), fit.n_draws) == ({2 * 300, 2 * 900}, 400)


def test_a_level_moves_with_the_rows_that_only_its_units_have() -> None:
    target = two_columns(3.0)
    firsts, first_entries, _, (places, _), levels = groups_of(target, rows_of(target))
    assert levels.tolist() == [0, 1]
    # Each level of a, of which both shares are in the row of places 0 and 1, and its row of b.
    assert places.tolist() == [[0, 2], [2, 4], [0, 2], [4, 6]]
    assert len(first_entries) == 2
    assert firsts[:, 2].tolist() == [0, 4, 8]


def test_an_interrupt_stops_chains_of_tables() -> None:
    def interrupt(done: int, _total: int) -> None:
        if done > 0:
            raise KeyboardInterrupt

    settings = SamplerSettings(draws=10_000_000, warmup=100, chains=1)
    with pytest.raises(KeyboardInterrupt):
        NativeEngine().sample_table(two_columns(3.0), settings, seed=1, progress=interrupt)


@pytest.mark.draws
def test_columns_may_have_no_rare_cell_or_one_or_many() -> None:
    """A chain reads them all alike."""
    numbers = np.repeat([1.0, 2.0], [100, 100]), np.repeat([1.0, 2.0], [190, 10])
    outcomes = *numbers, np.repeat([1.0, 2.0, 1.0], [50, 60, 90])
    designs = np.zeros((200, 1)), np.zeros((200, 1)), np.repeat([0.0, 1.0, 2.0, 3.0], 50)[:, None]
    columns = tuple(
        Conditional(name, replace(COIN, patterns=4), make_cells(y, design))
        for name, y, design in zip("abc", outcomes, designs, strict=True)
    )
    target = JointTarget(columns, np.ones(200), Clamp(12.0, "deviance"))
    assert [len(own.rare[0]) for own in rows_of(target) if own is not None] == [0, 1, 5]
    settings = SamplerSettings(draws=400, warmup=100, chains=1)
    draws = NativeEngine().sample_table(target, settings, seed=1).draws
    share = np.exp(draws["b.log_theta"][:, 0, 1])
    assert share.mean() == pytest.approx(0.05, abs=0.01)
