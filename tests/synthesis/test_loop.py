"""The loop: fits in the right order, searches that meet their bound, draws evenly thinned."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from record_terms import record_log_likelihood
from refusals import refused

from pyvws._base.checks import Floats
from pyvws.bounds.lipschitz import lipschitz_bounds
from pyvws.engines.nuts import NativeEngine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.mechanisms.scalar_weighted import ScalarWeighted
from pyvws.mechanisms.weighing import Request
from pyvws.models.registry import MODELS
from pyvws.posterior.draws import Posterior
from pyvws.synthesis.fit_sources import ModelSource
from pyvws.synthesis.loop import Listener, SynthesisLoop
from pyvws.tables.design.cells import make_cells
from pyvws.weights.search import Window
from pyvws.weights.weights import lipschitz_weights

pytestmark = pytest.mark.draws


def _loop(y: Floats, *, lines: list[str] | None = None, **given: Any) -> SynthesisLoop:
    model, cells = MODELS["negative-binomial"], make_cells(y, np.ones((len(y), 1)))
    return SynthesisLoop(
        model,
        cells,
        source=ModelSource(model, cells, NativeEngine()),
        settings=SamplerSettings(draws=500, warmup=300, chains=2),
        seed=3,
        listener=Listener(fit=lambda label: None, line=(lines if lines is not None else []).append),
        **given,
    )


@pytest.fixture(scope="module")
def y() -> Floats:
    rng = np.random.default_rng(4)
    phi = np.where(rng.random(300) < 0.2, 5.0, 20.0)
    return rng.negative_binomial(phi, phi / (phi + 100.0)).astype(float)


@pytest.fixture(scope="module")
def loop(y: Floats) -> SynthesisLoop:
    return _loop(y)


def test_weights_and_bounds_are_those_of_the_pure_functions(loop: SynthesisLoop) -> None:
    unweighted, weighted = loop.unweighted(), loop.lipschitz()
    log_lik = record_log_likelihood(loop.model, unweighted.posterior, loop.cells)
    np.testing.assert_array_equal(weighted.weights, lipschitz_weights(log_lik))
    after = record_log_likelihood(loop.model, weighted.posterior, loop.cells)
    whole = lipschitz_bounds(after * weighted.weights)
    np.testing.assert_array_equal(weighted.bounds.by_record, whole.by_record)
    np.testing.assert_array_equal(weighted.bounds.by_draw, whole.by_draw)
    assert weighted.bounds.database == whole.database


def test_weighting_lowers_the_bound_and_fits_are_kept(loop: SynthesisLoop) -> None:
    assert loop.lipschitz().bounds.database < loop.unweighted().bounds.database
    count = len(loop.fits)
    loop.unweighted()
    loop.lipschitz()
    assert len(loop.fits) == count


def test_each_fit_starts_from_the_one_before(y: Floats, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Posterior | None] = []
    sample = NativeEngine.sample

    def noting(*given: Any, previous: Posterior | None = None, **more: Any) -> Posterior:
        seen.append(previous)
        return sample(*given, previous=previous, **more)

    monkeypatch.setattr(NativeEngine, "sample", noting)
    loop = _loop(y)
    loop.lipschitz()
    ScalarWeighted().run(loop, Request(y=y))
    assert seen[0] is None
    assert [id(fit.posterior) for fit in loop.fits[:-1]] == [id(one) for one in seen[1:]]


@pytest.mark.parametrize("tolerance", [0.05, 0.02])
def test_the_reweighted_bound_meets_the_weighted_one(y: Floats, tolerance: float) -> None:
    lines: list[str] = []
    loop = _loop(y, lines=lines)
    weighted = loop.lipschitz()
    final, k = loop.reweighted(weighted, k=0.9, tolerance=tolerance)
    assert abs(final.bounds.database / weighted.bounds.database - 1) <= tolerance
    assert 0 < k < 1
    assert final.weights.mean() > weighted.weights.mean()
    assert len(lines) == len(loop.tries) >= 1
    assert "k = 0.9000" in lines[0]


def test_datasets_follow_the_posterior_and_differ(loop: SynthesisLoop, y: Floats) -> None:
    fit = loop.unweighted()
    datasets = loop.synthetic(fit, np.ones((len(y), 1)), 200)
    means = np.array([values.mean() for values in datasets])
    draws = np.exp(fit.posterior.draws["beta"][:, 0])
    error = means.std() / np.sqrt(len(means))
    assert abs(means.mean() - draws.mean()) < 5 * error
    assert len({values.tobytes() for values in datasets}) == 200
    assert all((values >= 0).all() and (values == np.floor(values)).all() for values in datasets)


def test_more_datasets_than_draws_are_refused(loop: SynthesisLoop, y: Floats) -> None:
    with refused("too-few-posterior-draws", datasets=1001, d=1001):
        loop.synthetic(loop.unweighted(), np.ones((len(y), 1)), 1001)


def test_a_record_of_weight_zero_leaves_the_fit_as_if_it_were_not_there(y: Floats) -> None:
    extreme = np.append(y, 5000.0)
    with_it = _loop(extreme)
    fit = with_it.fit(np.append(np.ones(len(y)), 0.0), "without the last")
    alone = _loop(y).fit(np.ones(len(y)), "alone")
    assert fit.bounds.by_record[-1] == 0.0
    gap = fit.posterior.draws["beta"].mean() - alone.posterior.draws["beta"].mean()
    sd = alone.posterior.draws["beta"].std()
    assert abs(gap) < 5 * sd * np.sqrt(2 / alone.posterior.diagnostics.ess_bulk_min)


def _lw_weights(loop: SynthesisLoop, c: float) -> Floats:
    return loop.lipschitz_weights(c=c, g=0.0)


def test_a_search_frees_the_draws_that_nobody_reads_again(y: Floats) -> None:
    found = []
    for keeps in (True, False):
        loop = _loop(y, keeps_tries=keeps)
        loop.lipschitz()
        weights_at = partial(_lw_weights, loop)
        fit, _ = loop.below(weights_at, Window.below(6.0, 0.05), symbol="c", label="LW", first=0.2)
        found.append((fit.bounds.database, fit.posterior.draws["phi"].tolist()))
        empty = [not one.posterior.draws for one in loop.fits]
        assert len(empty) > 4
        tries = [False, False, *[not keeps] * (len(empty) - 4), False, False]
        assert empty == tries  # Unweighted and LW stay, and so does the fit that is confirmed.
    assert found[0] == found[1]
