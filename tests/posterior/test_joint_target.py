"""The joint target: against plain numpy, its gradient, and where it must collapse."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyvws_validation._stan_case import CLAMPED, seeded_target
from refusals import refused
from scipy.special import expit

from pyvws import Logistic, Normal, Ordinal, Poisson
from pyvws.models.sequence import Conditional, TableCells
from pyvws.posterior.clamp import CLAMPS, Clamp
from pyvws.posterior.joint_target import JointTarget, add_sums_inside
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells
from pyvws.tables.design.units import Units

KINDS = pytest.mark.parametrize("kind", CLAMPS)
LEVELS = Ordinal(levels=(1, 2, 3))


def conditional(column, model, outcome, *predictors, multiplicity=None):
    design = np.column_stack([np.ones(len(outcome)), *predictors])
    outcome = model.encode(np.asarray(outcome, dtype=float))
    return Conditional(column, model, make_cells(outcome, design, multiplicity))


def table(n=60, seed=1):
    """Three columns in sequence, and weights, some of which are 0 and 1."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n).astype(float)
    level = 1.0 + rng.integers(0, 3, n)
    amount = np.round(rng.normal(level, 0.7), 1)
    columns = (
        conditional("truth", Logistic(), truth),
        conditional("level", LEVELS, level, truth),
        conditional("amount", Normal(smallest_sd=0.1), amount, truth, level == 2, level == 3),
    )
    weights = np.clip(rng.uniform(-0.2, 1.2, n), 0.0, 1.0).round(1)
    return columns, weights


def points(target, count=4, reach=0.6):
    return np.random.default_rng(5).uniform(-reach, reach, (count, target.dimension))


def column_terms(of, block, q, kind):
    """l - a of one column, record by record."""
    draws = of.model.constrain(q[None, block], of.cells.n_coefficients)
    found = of.model.log_likelihood(draws, of.cells)[0]
    if kind == "deviance":
        found = found - of.model.saturated(of.cells)
    return found[of.cells.cell_of_record]


def log_prior(target, q):
    """The sum of the columns' log priors, as each column's own density gives it."""
    none = np.zeros(len(target.weights))
    return sum(
        PseudoPosterior(of.model, of.cells, none).density_and_gradient()(q[block])[0]
        for of, block in zip(target.columns, target.blocks(), strict=True)
    )


def half_outside(target, q):
    """The target with a window that about half of the records lie outside of at q."""
    sizes = np.unique(np.abs(target.terms()(q)))
    at = len(sizes) // 2
    epsilon = 0.5 * (sizes[at - 1] + sizes[at]) * (2.0 if target.clamp.kind == "half" else 1.0)
    return replace(target, clamp=Clamp(float(epsilon), target.clamp.kind))


@KINDS
@given(seed=st.integers(0, 10**6), n=st.integers(2, 12), epsilon=st.floats(0.5, 12.0))
@settings(max_examples=30)
def test_any_small_table_against_a_double_loop(kind, seed, n, epsilon):
    """Records and columns one by one, each density as its textbook has it."""
    rng = np.random.default_rng(seed)
    truth, amount = rng.integers(0, 2, n).astype(float), rng.normal(1.0, 2.0, n).round(1)
    weights = rng.choice([0.0, 0.3, 1.0], n)
    columns = (
        conditional("truth", Logistic(), truth),
        conditional("amount", Normal(smallest_sd=0.1), amount, truth),
    )
    target = JointTarget(columns, weights, Clamp(epsilon, kind))
    q = rng.normal(0.0, 0.7, target.dimension)
    low, high = (-epsilon, 0.0) if kind == "deviance" else (-epsilon / 2, epsilon / 2)
    share, (a, b), sd = expit(q[0]), q[2:4], np.exp(q[-1])
    total = 0.0
    for i in range(n):
        term = 0.0
        for column in ("truth", "amount"):
            if column == "truth":
                term += np.log(share if truth[i] else 1.0 - share)
                continue
            gap = (amount[i] - a - b * truth[i]) / sd
            term += -np.log(sd) - 0.5 * gap**2 - 0.5 * np.log(2.0 * np.pi)
            if kind == "deviance":
                term -= -np.log(0.1) - 0.5 * np.log(2.0 * np.pi)
        total += min(max(weights[i] * term, low), high)
    value = target.density_and_gradient()(q)[0]
    assert value - log_prior(target, q) == pytest.approx(total, rel=1e-9, abs=1e-9)


@KINDS
def test_the_gradient_is_the_slope_off_the_edges(kind):
    target = JointTarget(*table(), Clamp(3.0, kind))
    for q in points(target):
        at = half_outside(target, q)
        terms = at.terms()(q)
        low, high = at.clamp.window
        assert 0.2 < ((low < terms) & (terms < high)).mean() < 0.8
        density = at.density_and_gradient()
        numeric = [
            (density(q + step)[0] - density(q - step)[0]) / 2e-7
            for step in 1e-7 * np.eye(target.dimension)
        ]
        np.testing.assert_allclose(density(q)[1], numeric, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(("name", "kind"), CLAMPED)
def test_one_column_is_the_columns_own_clamped_target(name, kind):
    one = replace(seeded_target(name, 80, 2, seed=3), clamp=Clamp(4.0, kind))
    joint = JointTarget((Conditional("y", one.model, one.cells),), one.weights, one.clamp)
    assert joint.dimension == one.dimension
    for q in points(joint):
        (value, gradient), (own, slope) = (
            target.density_and_gradient()(q) for target in (joint, one)
        )
        assert value == own
        np.testing.assert_array_equal(gradient, slope)


def test_equal_records_are_one_term_and_tallied_tables_count_them():
    truth, amount = np.array([0.0, 1.0, 1.0]), np.array([0.3, 2.0, 9.0])
    count = np.array([3.0, 1.0, 2.0])
    clamp = Clamp(5.0, "deviance")

    def columns(of, multiplicity=None):
        return (
            conditional("truth", Logistic(), truth[of], multiplicity=multiplicity),
            conditional("amount", Normal(), amount[of], truth[of], multiplicity=multiplicity),
        )

    each = np.repeat(np.arange(3), count.astype(int))
    weights = np.array([1.0, 0.5, 0.8])
    many = JointTarget(columns(each), weights[each], clamp)
    few = JointTarget(columns(np.arange(3), count), weights, clamp, count)
    for q in points(many):
        for one, other in zip(
            many.density_and_gradient()(q), few.density_and_gradient()(q), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-13)


def test_a_start_is_each_columns_rough_fit_of_the_records_inside():
    columns, _ = table(n=200)
    target = JointTarget(columns, np.ones(200), Clamp(4.0, "deviance"))
    found = np.concatenate([start.centre for start in target.starts()])
    rough = [of.model.start(of.cells, target.weights).centre for of in columns]
    density = target.density_and_gradient()
    assert density(found)[0] >= density(np.concatenate(rough))[0]


@pytest.mark.runs
@KINDS
def test_a_columns_density_is_the_joint_one_with_the_others_given(kind):
    target = JointTarget(*table(), Clamp(3.0, kind))
    density, blocks = target.density_and_gradient(), target.blocks()
    others, own = np.zeros((2, target.distinct_units))
    columns = target.given_others(others, own)
    for q in points(target):
        terms = []
        others[:] = 0.0
        for of, at in zip(columns, blocks, strict=True):
            of_column(of, q[at])
            terms.append(own.copy())
        value, gradient = density(q)
        for k, (of, at) in enumerate(zip(columns, blocks, strict=True)):
            others[:] = sum(terms[:k] + terms[k + 1 :])
            here, slope = of_column(of, q[at])
            np.testing.assert_allclose(slope, gradient[at], rtol=1e-9, atol=1e-9)
            np.testing.assert_array_equal(own, terms[k])
            moved = q.copy()
            moved[at] += 0.1
            rise = of_column(of, moved[at])[0] - here
            assert rise == pytest.approx(density(moved)[0] - value, rel=1e-9, abs=1e-9)


def of_column(of, q):
    """Log density and gradient of a column at q, by the kernels of its target."""
    (log_density, terms, slopes), groups = of.kernels()
    prior, (rows, row_of_cell, *data), (*clamps, shift, width, others, own) = groups
    entries, units, window = clamps[:3], clamps[3:5], clamps[5:]
    C, gradient = len(row_of_cell), np.empty(len(q))
    found, inside = (np.empty(C), np.empty(C), np.empty((C, width))), np.empty(C)
    value = log_density(q, *prior, gradient)
    terms(q, rows, row_of_cell, tuple(data), found)
    value += add_sums_inside(
        tuple(entries), tuple(units), tuple(window), shift, found[0], others, own, inside
    )
    slopes(q, rows, row_of_cell, tuple(data), found, inside, gradient)
    return value, gradient


@pytest.mark.parametrize("far", [1e300, -1e300])
def test_a_table_starts_whatever_one_record_holds(far):
    columns = (
        conditional("count", Poisson(), [1.0, 2.0, 2.0, 4.0, 2.0**53]),
        conditional("amount", Normal(), [0.0, 1.0, 2.0, 3.0, far], [0.0, 1.0, 0.0, 1.0, 0.0]),
    )
    for weights in (np.ones(5), np.zeros(5)):
        target = JointTarget(columns, weights, Clamp(8.0, "deviance"))
        value, gradient = target.density_and_gradient()(
            np.concatenate([start.centre for start in target.starts()])
        )
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()


@KINDS
def test_a_record_without_a_term_in_a_column_has_the_terms_of_the_others(kind):
    truth, amount = np.array([0.0, 1.0, 1.0, 0.0]), np.array([2.0, 0.3])
    has, count = np.array([1, 2]), np.array([3.0, 1.0, 2.0, 1.0])
    first = conditional("truth", Logistic(), truth, multiplicity=count)
    second = conditional("amount", Normal(), amount, multiplicity=count[has])
    columns = first, replace(second, records=has)
    weights = np.array([1.0, 0.5, 0.8, 1.0])
    part = half_outside(JointTarget(columns, weights, Clamp(3.0, kind), count), np.zeros(7))
    low, high = part.clamp.window
    value = part.density_and_gradient()
    for q in points(part):
        total = column_terms(columns[0], part.blocks()[0], q, kind)
        total[has] += column_terms(columns[1], part.blocks()[1], q, kind)
        np.testing.assert_allclose(part.terms()(q), weights * total, rtol=1e-12)
        prior = sum(
            PseudoPosterior(of.model, of.cells, of.own(np.zeros(4))).density_and_gradient()(
                q[block]
            )[0]
            for of, block in zip(columns, part.blocks(), strict=True)
        )
        clamped = (count * np.clip(weights * total, low, high)).sum()
        found, gradient = value(q)
        assert found == pytest.approx(prior + clamped, rel=1e-10)
        for k in range(len(q)):
            step = 1e-6 * np.eye(len(q))[k]
            slope = (value(q + step)[0] - value(q - step)[0]) / 2e-6
            assert gradient[k] == pytest.approx(slope, rel=1e-4, abs=1e-5)


def of_units(columns, unit, weights, clamp, count=None):
    """The target of records that belong to units, whose weights and window are the units'."""
    N = len(unit)
    cells = TableCells.of(columns, N, count)
    places = [(of.places(N), of.cells.n_cells) for of in columns]
    return JointTarget(columns, weights, clamp, count, Units.of(cells, unit, places))


@KINDS
def test_the_window_is_of_a_units_whole_sum(kind):
    columns, _ = table(n=24)
    rng = np.random.default_rng(6)
    unit = rng.permutation(np.repeat(np.arange(9), [1, 1, 1, 2, 2, 3, 4, 5, 5]))
    weights = np.array([1.0, 0.5, 0.0, 1.0, 0.3, 0.8, 1.0, 0.5, 1.0])
    target = half_outside(of_units(columns, unit, weights, Clamp(4.0, kind)), np.zeros(14))
    low, high = target.clamp.window
    density = target.density_and_gradient()
    assert target.distinct_units == 9
    for q in points(target):
        total = np.zeros(9)
        for of, block in zip(columns, target.blocks(), strict=True):
            np.add.at(total, unit, column_terms(of, block, q, kind))
        np.testing.assert_allclose(target.terms()(q), weights * total, rtol=1e-12)
        none = JointTarget(columns, np.zeros(24), target.clamp)
        clamped = np.clip(weights * total, low, high).sum()
        value, gradient = density(q)
        assert value == pytest.approx(none.density_and_gradient()(q)[0] + clamped, rel=1e-12)
        kept = np.where((low < weights * total) & (weights * total < high), weights, 0.0)[unit]
        for of, block in zip(columns, target.blocks(), strict=True):
            free = PseudoPosterior(of.model, of.cells, kept).density_and_gradient()
            np.testing.assert_allclose(gradient[block], free(q[block])[1], rtol=1e-9, atol=1e-9)


@KINDS
def test_units_of_one_record_are_the_records_and_equal_units_are_counted(kind):
    columns, weights = table(n=24)
    clamp = Clamp(3.0, kind)
    alone = JointTarget(columns, weights, clamp)
    each = of_units(columns, np.arange(24), weights, clamp)
    unit = np.repeat(np.arange(8), 3)
    once = of_units(columns, unit, weights[:8], clamp)
    twice = tuple(
        replace(of, cells=replace(of.cells, cell_of_record=np.tile(of.cells.cell_of_record, 2)))
        for of in columns
    )
    many = of_units(twice, np.concatenate([unit, unit + 8]), np.tile(weights[:8], 2), clamp)
    doubled = np.full(24, 2.0)
    counted = tuple(replace(of, cells=replace(of.cells, multiplicity=doubled)) for of in columns)
    few = of_units(counted, unit, weights[:8], clamp, doubled)
    assert many.distinct_units == few.distinct_units == once.distinct_units
    for q in points(alone):
        for ours, theirs in ((each, alone), (few, many)):
            (value, slope), (other, slopes) = (
                target.density_and_gradient()(q) for target in (ours, theirs)
            )
            assert value == pytest.approx(other, rel=1e-13)
            np.testing.assert_allclose(slope, slopes, rtol=1e-9, atol=1e-9)


def test_tables_that_are_none():
    columns, weights = table()
    clamp = Clamp(4.0, "deviance")
    with refused("no-column-to-synthesize"):
        JointTarget((), weights, clamp)
    with refused("column-twice", column="truth"):
        JointTarget((*columns, columns[0]), weights, clamp)
    with refused("unequal-lengths", first=59, second=60):
        JointTarget(columns, weights[1:], clamp)
    with refused("outside-0-to-1"):
        JointTarget(columns, weights + 0.5, clamp)
    with refused("unequal-lengths", first=60, second=30):
        of_units(columns, np.arange(60) // 2, weights, clamp)
    counted = replace(columns[1].cells, multiplicity=np.full(60, 2.0))
    with refused("tally-of-other-table", column="level"):
        JointTarget((columns[0], replace(columns[1], cells=counted)), weights, clamp)
