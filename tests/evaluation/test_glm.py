"""Logistic and Poisson regression: by hand, by groups, dependent columns, and separated groups."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import refused

from pyvws.evaluation.regressions import clustered, glm, independent_columns

few = settings(max_examples=40, derandomize=True)


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=4))
@few
def test_groups_against_their_shares_and_means(counts):
    """With a column for each group, the fitted mean of a record is its group's share or mean."""
    group = np.concatenate([np.repeat(k, a + b) for k, (a, b) in enumerate(counts)])
    y = np.concatenate([np.repeat([0.0, 1.0], pair) for pair in counts])
    design = np.column_stack([group == k for k in range(len(counts))]).astype(float)
    means = np.array([b / (a + b) for a, b in counts])
    sizes = np.array([a + b for a, b in counts])
    found = glm(design, y, family="logistic")
    assert found.fitted == pytest.approx(means[group], rel=1e-9)
    assert found.variances == pytest.approx(1 / (sizes * means * (1 - means)), rel=1e-7)
    found = glm(design, y + 1.0, family="poisson")
    assert found.fitted == pytest.approx(means[group] + 1.0, rel=1e-9)
    assert found.variances == pytest.approx(1 / (sizes * (means + 1.0)), rel=1e-7)


@given(
    arrays(np.float64, (9, 2), elements=st.integers(-3, 3)),
    arrays(np.float64, 9, elements=st.integers(-4, 4)),
    arrays(np.intp, 9, elements=st.integers(0, 3)),
)
@few
def test_variances_of_units_against_sums_of_scores(more, residuals, units):
    """A unit's records move the coefficients together; a column that follows has no variance."""
    design = np.column_stack([np.ones(9), more])
    weight = 1.0 + np.arange(9) / 9
    kept, groups = independent_columns(design), np.unique(units)
    X = design[:, kept]
    inverse = np.linalg.inv(X.T @ np.diag(weight) @ X)
    scores = [sum(X[i] * residuals[i] for i in np.flatnonzero(units == g)) for g in groups]
    found = clustered(design, residuals, weight, units)
    assert np.isnan(np.delete(found, kept)).all()
    if len(groups) == 1:
        assert np.isnan(found).all()
    else:
        meat = sum(np.outer(s, s) for s in scores) * len(groups) / (len(groups) - 1)
        wanted = np.diag(inverse @ meat @ inverse)
        assert found[kept] == pytest.approx(wanted, rel=1e-6, abs=1e-9)


@given(arrays(np.float64, (12, 5), elements=st.integers(-2, 2)))
@few
def test_columns_against_ranks(design):
    """Each kept column raises the rank of the columns before it; no other does."""
    kept = [
        place
        for place in range(5)
        if np.linalg.matrix_rank(design[:, : place + 1]) > np.linalg.matrix_rank(design[:, :place])
    ]
    assert independent_columns(design).tolist() == kept


def test_a_dependent_column_has_no_estimate_and_changes_no_other():
    rng = np.random.default_rng(1)
    design = np.column_stack([np.ones(80), rng.normal(size=(80, 2))])
    y = rng.integers(0, 4, 80).astype(float)
    alone = glm(design, y, family="poisson")
    more = glm(np.column_stack([design, design[:, 1] - design[:, 2]]), y, family="poisson")
    assert more.rank == 3
    assert np.isnan(more.coefficients[3])
    assert more.coefficients[:3] == pytest.approx(alone.coefficients, rel=1e-12)


@pytest.mark.runs
@pytest.mark.parametrize("family", ["logistic", "poisson"])
def test_products_of_wild_numbers_end_at_the_largest_likelihood(family):
    """Whole steps of Fisher scoring leave seed 194 of the logit at means of 0 and 1."""
    for seed in range(185, 200):
        rng = np.random.default_rng(seed)
        x = rng.standard_t(1, size=(60, 3))
        products = x[:, [0, 1, 0]] * x[:, [1, 2, 2]]
        design = np.column_stack([np.ones(60), x, products])
        design[:, 1:] /= design[:, 1:].std(axis=0)
        y = (rng.random(60) < 0.5).astype(float) if family == "logistic" else rng.poisson(2.0, 60)
        found = glm(design, y.astype(float), family=family)
        assert np.abs(design.T @ (y - found.fitted)).max() < 1e-3, seed


def test_separated_groups_approach_0_and_1():
    x = np.repeat([0.0, 1.0], 5)
    found = glm(np.column_stack([np.ones(10), x]), x, family="logistic")
    assert found.fitted == pytest.approx(x, abs=1e-6)


def test_wrong_outcomes_and_families_are_refused():
    one = np.ones((3, 1))
    with refused("logistic-outcome"):
        glm(one, np.array([0.0, 1.0, 2.0]), family="logistic")
    for y in ([0.0, -1.0, 2.0], [0.0, 0.5, 2.0]):
        with refused("poisson-outcome"):
            glm(one, np.array(y), family="poisson")
    with refused("not-a-choice", name="family"):
        glm(one, np.zeros(3), family="gamma")
