"""Count models: which outcomes they take, where they start, and what they draw."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pyvws.errors import InputError
from pyvws.io.cells import make_cells
from pyvws.models.registry import MODELS, find_model
from pyvws.pseudo_posterior import PseudoPosterior

BOTH = sorted(MODELS)


def test_names():
    assert BOTH == ["negative-binomial", "poisson"]
    assert find_model("negative_binomial") is MODELS["negative-binomial"]
    with pytest.raises(InputError) as caught:
        find_model("gamma")
    assert str(caught.value) == "model must be one of poisson, negative-binomial. Got 'gamma'."


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_the_start_is_finite_and_near_the_rows_means(name, weight):
    y, X = np.repeat([8.0, 12.0, 40.0, 60.0], 50), np.repeat([[1.0, 0.0], [1.0, 1.0]], 100, axis=0)
    target = PseudoPosterior(find_model(name), make_cells(y, X), np.full(200, weight))
    centre = target.start().centre
    assert np.isfinite(target.density_and_gradient()(centre)[0])
    if weight:
        assert np.exp(X[[0, 150]] @ centre[:2]) == pytest.approx([10.0, 50.0], rel=0.1)


@pytest.mark.parametrize("name", BOTH)
def test_synthetic_outcomes_have_the_models_mean_and_variance(name):
    model, n = find_model(name), 100_000
    phi = 4.0
    draw = {"beta": np.array([[3.0, -0.5]]), "phi": np.array([phi])}
    X = np.column_stack([np.ones(2 * n), np.repeat([0.0, 1.0], n)])
    made = model.predict(draw, X, np.random.default_rng(11)).reshape(2, n)
    assert (made == np.floor(made)).all()
    for y, mu in zip(made, np.exp([3.0, 2.5]), strict=True):
        law = stats.poisson(mu) if name == "poisson" else stats.nbinom(phi, phi / (mu + phi))
        variance, fourth = law.var(), law.moment(4)
        # Four standard errors of a mean and of a variance.
        assert abs(y.mean() - law.mean()) < 4 * np.sqrt(variance / n)
        central = fourth - 4 * mu * law.moment(3) + 6 * mu**2 * law.moment(2) - 3 * mu**4
        assert abs(y.var() - variance) < 4 * np.sqrt((central - variance**2) / n)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([-1.0, 2.0], "has 1 negative values; {} takes counts. Choose another outcome or model."),
        (
            [0.5, 2.5, 1.0],
            "has 2 values with a fraction; {} takes counts. Use --round (round=True in Python) to "
            "round to whole numbers.",
        ),
        ([1e17], "has counts above 2^53, which floats cannot hold exactly. Rescale."),
    ],
)
@pytest.mark.parametrize("name", BOTH)
def test_outcomes_that_are_not_counts(name, values, said):
    with pytest.raises(InputError) as caught:
        find_model(name).prepare(np.array(values), "visits")
    assert str(caught.value) == "Column 'visits' " + said.format(name)
