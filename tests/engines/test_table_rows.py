"""Rows of conditional tables under a clamp: exact moments on tiny tables, by sums over a grid."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm, t

from pyvws._base.checks import Floats
from pyvws._base.cores import one_core
from pyvws.engines import table_rows
from pyvws.engines.nuts import NativeEngine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.table_rows import move_cells, move_rows, rows_of
from pyvws.models.conditional_table import ConditionalTable
from pyvws.models.nominal import Nominal
from pyvws.models.normal import Normal
from pyvws.models.sequence import Conditional, TableCells
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.joint_target import JointTarget
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells
from pyvws.tables.design.units import Units

_GRID = 50
_FIRST = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0])
_SECOND = np.array([1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 2.0])
_WEIGHTS = np.array([1.0, 1.0, 0.5, 1.0, 1.0, 0.0, 1.0])
_COIN = ConditionalTable(levels=("x", "y"))


def _target(epsilon: float, kind: str = "deviance") -> JointTarget:
    """Two columns of two levels, the second by the first, of seven records."""
    columns = (
        Conditional("a", replace(_COIN, patterns=1), make_cells(_FIRST, np.zeros((7, 1)))),
        Conditional("b", replace(_COIN, patterns=2), make_cells(_SECOND, _FIRST[:, None] - 1.0)),
    )
    return JointTarget(columns, _WEIGHTS, Clamp(epsilon, kind))


def _moments(epsilon: float, low: float) -> tuple[Floats, Floats]:
    """Means and standard deviations of P(a = x), P(b = x | a = x), P(b = x | a = y), by sums.

    Under Dirichlet(1/2, 1/2) a share is sin(angle)^2 with a uniform angle.
    """
    share = np.sin((np.arange(_GRID) + 0.5) / _GRID * np.pi / 2.0) ** 2
    shares = np.stack(np.meshgrid(share, share, share, indexing="ij")).reshape(3, -1)
    logs = np.log([shares, 1.0 - shares])
    log_density = np.zeros(shares.shape[1])
    for a, b, weight in zip(_FIRST, _SECOND, _WEIGHTS, strict=True):
        term = logs[int(a) - 1, 0] + logs[int(b) - 1, int(a)]
        log_density += np.clip(weight * term, low, 0.0)
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    mean = shares @ density
    return mean, np.sqrt((shares - mean[:, None]) ** 2 @ density)


@pytest.mark.draws
@pytest.mark.parametrize(("epsilon", "kind"), [(1.5, "deviance"), (3.0, "deviance"), (6.0, "half")])
def test_draws_have_the_moments_of_the_clamped_target(epsilon: float, kind: str) -> None:
    settings = SamplerSettings(draws=2000, warmup=100, chains=4)
    posterior = NativeEngine().sample_table(_target(epsilon, kind), settings, seed=4)
    first, second = (np.exp(posterior.draws[f"{name}.log_theta"]) for name in "ab")
    assert np.allclose(second.sum(axis=2), 1.0)
    drawn = np.column_stack([first[:, 0, 0], second[:, :, 0]])
    mean, sd = _moments(epsilon, -epsilon if kind == "deviance" else -epsilon / 2.0)
    error = sd / np.sqrt(posterior.diagnostics.ess_bulk_min)
    assert (np.abs(drawn.mean(axis=0) - mean) < 4.0 * error + 2e-3).all()
    assert np.allclose(drawn.std(axis=0), sd, rtol=0.1)


_AMOUNT = np.array([0.1, 0.4, -0.3, 0.9, 0.2, 0.0, 1.3])


def _beside(family: str, epsilon: float) -> tuple[JointTarget, Floats, Floats]:
    """A table's share beside two parameters of another family: the target, the log priors and
    parameters (3, G) of a grid.

    A nominal's are an intercept and a slope by the share's level, a normal's its mean and log sd.
    """
    first = Conditional("a", replace(_COIN, patterns=1), make_cells(_FIRST, np.zeros((7, 1))))
    angle = (np.arange(_GRID) + 0.5) / _GRID * np.pi / 2.0
    if family == "nominal":
        model: Any = Nominal(levels=("x", "y"), coefficient_sd=1.0)
        design, outcome = np.column_stack([np.ones(7), _FIRST - 1.0]), _SECOND
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
    return JointTarget(columns, _WEIGHTS, Clamp(epsilon, "deviance")), log_prior, grid


@pytest.mark.draws
@pytest.mark.parametrize(
    ("family", "epsilon"), [("nominal", 1.5), ("nominal", 3.0), ("normal", 4.0)]
)
def test_a_table_beside_another_family_has_the_moments_of_the_clamped_target(
    family: str, epsilon: float
) -> None:
    target, log_density, (angle, one, other) = _beside(family, epsilon)
    for a, b, amount, weight in zip(_FIRST, _SECOND, _AMOUNT, _WEIGHTS, strict=True):
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


_UNIT = np.array([0, 0, 1, 0, 1, 2, 3])
_OF_UNITS = np.array([1.0, 0.7, 0.0, 0.9])


def _moments_of_units(epsilon: float) -> tuple[Floats, Floats]:
    """As `_moments`, of a window of each unit's whole sum."""
    share = np.sin((np.arange(_GRID) + 0.5) / _GRID * np.pi / 2.0) ** 2
    shares = np.stack(np.meshgrid(share, share, share, indexing="ij")).reshape(3, -1)
    logs = np.log([shares, 1.0 - shares])
    total = np.zeros((4, shares.shape[1]))
    for a, b, unit in zip(_FIRST, _SECOND, _UNIT, strict=True):
        total[unit] += logs[int(a) - 1, 0] + logs[int(b) - 1, int(a)]
    log_density = np.clip(_OF_UNITS[:, None] * total, -epsilon, 0.0).sum(axis=0)
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    mean = shares @ density
    return mean, np.sqrt((shares - mean[:, None]) ** 2 @ density)


@pytest.mark.draws
@pytest.mark.parametrize("epsilon", [1.5, 4.0])
def test_draws_have_the_moments_of_the_target_of_units(epsilon: float) -> None:
    """One unit has records of two levels in one pattern, and records in both patterns."""
    columns = _target(epsilon).columns
    cells = TableCells.of(columns, 7)
    places = [(column.places(7), column.cells.n_cells) for column in columns]
    target = JointTarget(
        columns,
        _OF_UNITS,
        Clamp(epsilon, "deviance"),
        units=Units.of(cells, _UNIT, places),
    )
    settings = SamplerSettings(draws=2000, warmup=100, chains=4)
    posterior = NativeEngine().sample_table(target, settings, seed=4)
    first, second = (np.exp(posterior.draws[f"{name}.log_theta"]) for name in "ab")
    drawn = np.column_stack([first[:, 0, 0], second[:, :, 0]])
    mean, sd = _moments_of_units(epsilon)
    error = sd / np.sqrt(posterior.diagnostics.ess_bulk_min)
    assert (np.abs(drawn.mean(axis=0) - mean) < 4.0 * error + 2e-3).all()
    assert np.allclose(drawn.std(axis=0), sd, rtol=0.1)


def test_the_density_is_that_of_shares_and_its_slope_follows() -> None:
    target = _target(3.0)
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


_MANY = np.array([1.0, 1.0, 1.0, 2.0, 1.0, 2.0, 2.0, 1.0])
_EACH = np.arange(8)
_PAIRS = np.array([0, 0, 1, 1, 2, 2, 3, 4])
_ALONE = np.zeros((1, 8))
_OTHERS = np.log([np.linspace(0.2, 0.9, 8), np.linspace(0.8, 0.3, 8), np.full(8, 0.6)])
"""The terms (3, 8) of another column's three equally likely parameters."""


class _Copies:
    """Exact draws of a pattern's shares and of the other columns' parameter, before and after a
    move.

    The draws are by the inverse of their distribution, and each of P has a pattern with its own
    copies of the records, whose units are those of `unit`. `others` (Q, 8) are the records' terms
    in the other columns, at each of their Q parameters.
    """

    def __init__(self, unit: NDArray[np.intp], others: Floats, P: int) -> None:
        column = Conditional("y", replace(_COIN, patterns=1), make_cells(_MANY, np.zeros((8, 1))))
        units = Units.of(TableCells.of((column,), 8), unit, [(column.places(8), 2)])
        weights = np.linspace(1.0, 0.6, unit.max() + 1)
        target = JointTarget((column,), weights, Clamp(1.6, "deviance"), units=units)
        distinct = target.distinct()
        (rows,) = rows_of(target)
        assert rows is not None
        # Units that are alike stand together, so the others' terms are those of one of each.
        of_units = np.array([others[:, unit == at].sum(axis=1) for at in distinct.first]).T
        (start, own, level, times), M = rows.entries, len(distinct.weight)

        def sums(log_share: Floats) -> Floats:
            """The units' sums (M, P) at log shares (2, P)."""
            terms = times[:, None] * log_share[level]
            return np.array([terms[own == at].sum(axis=0) for at in range(M)])

        angle = (np.arange(40_000) + 0.5) / 40_000 * np.pi / 2.0
        at_angles = sums(2.0 * np.log([np.sin(angle), np.cos(angle)]))
        density = np.array(
            [
                np.exp(
                    distinct.count @ np.clip(distinct.weight[:, None] * (at_angles + more), -1.6, 0)
                )
                for more in of_units[:, :, None]
            ]
        )
        rng = np.random.default_rng(8)
        parameter = rng.choice(len(others), P, p=density.sum(axis=1) / density.sum())
        below = np.cumsum(density, axis=1) / density.sum(axis=1, keepdims=True)
        u, ends = rng.random(P), angle + 0.25 * np.pi / 40_000
        before = np.empty(P)
        for at in range(len(others)):
            before[parameter == at] = np.interp(u[parameter == at], below[at], ends)
        self.before = np.sin(before) ** 2
        self.others = of_units[parameter].T
        self._sums, self._rng, self._P = sums, rng, P
        entries = (
            np.arange(P + 1) * start[1],
            np.add.outer(np.arange(P) * M, own).ravel(),
            *(np.tile(part, P) for part in (level, times)),
        )
        copied = tuple(np.tile(part, P) for part in (distinct.weight, distinct.count))
        self._given = entries, copied, distinct.window
        self._rare = np.arange(P), np.zeros(P, np.intp), np.full(P, rows.rare[2][0])

    def moved(self, move: Any, others: Floats, *, cells: bool) -> Floats:
        """The shares (P,) after a move, of single `cells` or whole rows, that takes the other
        columns' terms to be `others` (M, P).
        """
        shares = np.log([self.before, 1.0 - self.before]).T.copy()
        total = (self._sums(shares.T) + others).T.ravel().copy()
        rare = (self._rare,) if cells else ()
        count = move(self._rng, shares, 0.5, *rare, *self._given, total)
        assert np.allclose(np.exp(shares).sum(axis=1), 1.0)
        assert np.allclose(total.reshape(self._P, -1), (self._sums(shares.T) + others).T)
        assert count > 0.5 * self._P
        return np.exp(shares[:, 0])

    def irreversible(self, after: Floats) -> float:
        """How far x^a y^b - y^a x^b of shares before and after is from 0, in standard errors.

        Its mean is 0 where a move from the target is as likely as its reverse.
        """
        x, far = self.before, []
        for a, b in ((0, 1), (0, 2), (1, 2), (1, 4)):
            gap = x**a * after**b - after**a * x**b
            far.append(abs(gap.mean()) / gap.std() * np.sqrt(self._P))
        return max(far)


@pytest.mark.draws
@pytest.mark.parametrize("unit", [_EACH, _PAIRS], ids=["records", "units"])
@pytest.mark.parametrize("cells", [False, True], ids=["rows", "cells"])
@pytest.mark.parametrize("others", [_ALONE, _OTHERS], ids=["alone", "mixed"])
def test_a_move_from_the_target_is_as_likely_as_its_reverse(
    unit: NDArray[np.intp], cells: bool, others: Floats
) -> None:
    copies = _Copies(unit, others, 200_000)
    after = copies.moved(move_cells if cells else move_rows, copies.others, cells=cells)
    assert copies.irreversible(after) < 4.0


@pytest.mark.draws
@pytest.mark.parametrize("cells", [False, True], ids=["rows", "cells"])
def test_a_window_without_the_other_columns_is_seen(cells: bool) -> None:
    copies = _Copies(_EACH, _OTHERS, 200_000)
    after = copies.moved(move_cells if cells else move_rows, 0.0 * copies.others, cells=cells)
    assert copies.irreversible(after) > 10.0


@pytest.mark.draws
@pytest.mark.parametrize(
    ("move", "right", "wrong"),
    [
        (move_rows, "(shares[p], count_after,", "(shares[p], count,"),
        (move_cells, "whole[c], count_after[1])", "whole[c], count[1])"),
    ],
    ids=["rows", "cells"],
)
def test_a_reverse_with_the_counts_of_the_move_is_seen(move: Any, right: str, wrong: str) -> None:
    """The wrong move is Python's, so it has few copies."""
    text = inspect.getsource(move.py_func).replace("@kernel", "")
    assert text.count(right) == 1
    names = dict(vars(table_rows))
    exec(text.replace(right, wrong), names)
    copies, name = _Copies(_EACH, _OTHERS, 10_000), move.py_func.__name__
    after = copies.moved(names[name], copies.others, cells=name == "move_cells")
    assert copies.irreversible(after) > 5.0


def test_one_column_is_a_table_of_one() -> None:
    cells = make_cells(_FIRST, np.zeros((7, 1)))
    model, clamp = replace(_COIN, patterns=1), Clamp(2.0, "deviance")
    settings = SamplerSettings(draws=50, warmup=100, chains=2)
    alone = NativeEngine().sample(PseudoPosterior(model, cells, _WEIGHTS, clamp), settings, seed=2)
    target = JointTarget((Conditional("y", model, cells),), _WEIGHTS, clamp)
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
                _target(3.0).columns,
                (_FIRST, _SECOND),
                (np.zeros((7, 1)), _FIRST[:, None] - 1.0),
                strict=True,
            )
        )
        target = JointTarget(columns, _WEIGHTS[at], Clamp(3.0, "deviance"), count)
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


def test_an_interrupt_stops_chains_of_tables() -> None:
    def interrupt(done: int, _total: int) -> None:
        if done > 0:
            raise KeyboardInterrupt

    settings = SamplerSettings(draws=10_000_000, warmup=100, chains=1)
    with pytest.raises(KeyboardInterrupt):
        NativeEngine().sample_table(_target(3.0), settings, seed=1, progress=interrupt)


@pytest.mark.draws
def test_columns_may_have_no_rare_cell_or_one_or_many() -> None:
    """A chain reads them all alike."""
    numbers = np.repeat([1.0, 2.0], [100, 100]), np.repeat([1.0, 2.0], [190, 10])
    outcomes = *numbers, np.repeat([1.0, 2.0, 1.0], [50, 60, 90])
    designs = np.zeros((200, 1)), np.zeros((200, 1)), np.repeat([0.0, 1.0, 2.0, 3.0], 50)[:, None]
    columns = tuple(
        Conditional(name, replace(_COIN, patterns=4), make_cells(y, design))
        for name, y, design in zip("abc", outcomes, designs, strict=True)
    )
    target = JointTarget(columns, np.ones(200), Clamp(12.0, "deviance"))
    assert [len(own.rare[0]) for own in rows_of(target) if own is not None] == [0, 1, 5]
    settings = SamplerSettings(draws=400, warmup=100, chains=1)
    draws = NativeEngine().sample_table(target, settings, seed=1).draws
    share = np.exp(draws["b.log_theta"][:, 0, 1])
    assert share.mean() == pytest.approx(0.05, abs=0.01)
