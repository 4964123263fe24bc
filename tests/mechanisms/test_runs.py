"""Which fits a mechanism runs and under which weights, where each fit's bounds are known before."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from record_terms import record_log_likelihood
from refusals import refused

from pyvws._base.checks import Floats
from pyvws.bounds.lipschitz import LipschitzBounds, lipschitz_bounds
from pyvws.engines.nuts import NativeEngine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.count_weighted import CountWeighted, MarginalWeighted, PairwiseWeighted
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.mechanisms.mechanism import data_weights
from pyvws.mechanisms.scalar_weighted import ScalarWeighted
from pyvws.mechanisms.unweighted import Unweighted
from pyvws.mechanisms.weighing import Downscaling, Request, target_window
from pyvws.mechanisms.weighted_epsilon import WeightedEpsilon
from pyvws.models.registry import MODELS
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.draws import Diagnostics, Posterior
from pyvws.risks.identification_risk import identification_risk
from pyvws.risks.pairwise import pairwise_weights
from pyvws.synthesis.fit_sources import ModelSource
from pyvws.synthesis.loop import SynthesisLoop
from pyvws.tables.design.cells import make_cells
from pyvws.weights.search import Window
from pyvws.weights.weights import (
    downscale,
    risk_weights,
    scaled_bounds,
    weighted_epsilon_weights,
    weights_from_bounds,
)

pytestmark = pytest.mark.runs

Y = np.array([3.0, 4.0, 4.0, 9.0, 20.0, 21.0])
TOWN = np.array(["a", "a", "b", "a", "b", "b"])
MAXIMA = np.array([2.0, 3.0, 3.0, 6.0, 8.0, 10.0])


class Known:
    """Fits whose max_s |l_i| are `maxima` (N,), larger by a share `growth` at each refit."""

    def __init__(self, maxima: Floats, growth: float, most: int) -> None:
        self.maxima, self.growth, self.most = maxima, growth, most
        self.bounds_asked: list[Clamp | None] = []
        self.draws_asked: list[int] = []

    def sample(
        self,
        weights: Floats,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Any,
        clamp: Clamp | None = None,
        previous: Posterior | None = None,
    ) -> tuple[Posterior, LipschitzBounds, Floats]:
        maxima = self.maxima * (1.0 + self.growth) ** min(self.most, len(self.bounds_asked))
        self.bounds_asked.append(clamp)
        self.draws_asked.append(settings.draws)
        by_record = np.multiply(weights, maxima, out=np.zeros(len(maxima)), where=weights > 0)
        by_draw = np.array([by_record.max()])
        bounds = LipschitzBounds(by_record, by_draw, float(by_draw[0]), np.ones(1, dtype=bool))
        posterior = Posterior(
            {"beta": np.zeros((1, 1))}, 1, Diagnostics(1.0, 1e4, 1e4, 0), 0.0, "known"
        )
        return posterior, bounds if clamp is None else bounds.clamped(clamp.half), maxima


def run(
    mechanism: Any,
    *,
    maxima: Floats = MAXIMA,
    growth: float = 0.0,
    most: int = 99,
    times: Floats | None = None,
    known: Any = (),
    **more: Any,
) -> Any:
    """The mechanism's fit, and the loop that made it; maxima grow `most` times at the most."""
    cells = make_cells(Y, np.ones((len(Y), 1)), times)
    loop = SynthesisLoop(
        MODELS["poisson"],
        cells,
        source=Known(maxima, growth, most),
        settings=SamplerSettings(draws=100, warmup=100, chains=1),
        seed=1,
    )
    return mechanism.run(loop, Request(y=Y, known=known, **more)), loop


def labels(loop: SynthesisLoop) -> list[str]:
    return [fit.label for fit in loop.fits]


def test_the_unweighted_fit_is_the_only_one_and_shows_its_bounds_as_risks() -> None:
    made, loop = run(Unweighted())
    assert labels(loop) == ["unweighted"]
    assert made.fit is loop.fits[0]
    assert made.fit.weights.tolist() == [1.0] * 6
    assert made.risk.tolist() == scaled_bounds(MAXIMA).tolist()
    assert (made.constants, made.clamp) == ({}, None)
    alike, _ = run(Unweighted(), maxima=np.full(6, 3.0))
    assert alike.risk.tolist() == [1.0] * 6
    apart, _ = run(Unweighted(), maxima=np.array([2.0, 2, 2, 2, 2, 7]))
    assert apart.risk.tolist() == [0.0] * 5 + [1.0]
    endless, _ = run(Unweighted(), maxima=np.array([2.0, 2, 2, 2, 2, np.inf]))
    assert endless.risk.tolist() == [1.0] * 6


def test_lw_takes_its_weights_from_the_unweighted_bounds() -> None:
    maxima = np.array([2.0, 3.0, 3.0, 6.0, np.inf, 10.0])
    made, loop = run(LipschitzWeighted(c=0.5, g=0.1), maxima=maxima)
    assert labels(loop) == ["unweighted", "LW"]
    assert made.fit.weights.tolist() == weights_from_bounds(maxima, c=0.5, g=0.1).tolist()
    assert made.risk.tolist() == scaled_bounds(maxima).tolist()
    assert (made.constants, made.clamp) == ({}, None)


@pytest.mark.parametrize("map", ["softmax", "logistic"])
def test_lw_under_another_map(map: str) -> None:
    made, _ = run(LipschitzWeighted(c=0.5, g=0.1, map=map))
    alpha = weights_from_bounds(MAXIMA, c=0.5, g=0.1, map=map)
    assert made.fit.weights.tolist() == alpha.tolist()
    assert alpha.tolist() != weights_from_bounds(MAXIMA, c=0.5, g=0.1).tolist()
    assert made.risk.tolist() == scaled_bounds(MAXIMA, map=map).tolist()
    searched, loop = run(LipschitzWeighted(map=map), epsilon=4.0, confirm=False)
    c = searched.constants["c"]
    assert loop.fits[-1].weights.tolist() == weights_from_bounds(MAXIMA, c=c, map=map).tolist()
    assert 2 * searched.fit.bounds.database <= 4.0


def test_softmax_counts_equal_records_as_often_as_they_occur() -> None:
    times = np.array([1.0, 5.0, 2.0, 1.0, 1.0, 3.0])
    made, _ = run(LipschitzWeighted(map="softmax"), times=times)
    each = weights_from_bounds(np.repeat(MAXIMA, times.astype(int)), map="softmax")
    assert np.repeat(made.fit.weights, times.astype(int)).tolist() == each.tolist()


@pytest.mark.parametrize(("match", "bound"), [("lw", None), (4.0, 4.0)])
def test_sw_is_one_ratio_of_bounds(match: Any, bound: float | None) -> None:
    made, _ = run(ScalarWeighted(match=match))
    bound = bound or float((weights_from_bounds(MAXIMA) * MAXIMA).max())
    assert made.fit.weights.tolist() == [bound / 10.0] * 6
    assert made.fit.label == "SW"


@pytest.mark.parametrize(
    ("mechanism", "name"),
    [
        (LipschitzWeighted(g=0.05), "c"),
        (ScalarWeighted(), "weight"),
        (CountWeighted(radius=0.3), "c"),
        (PairwiseWeighted(radius=0.3), "c"),
    ],
)
@pytest.mark.parametrize("growth", [0.0, 0.008])
def test_a_target_is_met_from_below(mechanism: Any, name: str, growth: float) -> None:
    epsilon = 5.0
    made, loop = run(mechanism, growth=growth, epsilon=epsilon)
    assert 0.95 * epsilon <= made.fit.bounds.epsilon <= epsilon
    assert made.fit.confirmed
    assert made.fit is loop.fits[-1]
    assert loop.source.draws_asked[-2:] == [100, 400]
    assert list(made.constants) == [name]
    value = made.constants[name]
    if isinstance(mechanism, ScalarWeighted):
        expected = np.full(6, value)
    elif isinstance(mechanism, LipschitzWeighted):
        expected = weights_from_bounds(MAXIMA, c=value, g=0.05)
    else:
        expected = risk_weights(made.risk, c=value)
    np.testing.assert_array_equal(made.fit.weights, expected)
    assert len(loop.tries) == len(loop.fits) - 1 >= 2
    step, _ = run(mechanism, growth=growth, epsilon=epsilon, confirm=False)
    assert not step.fit.confirmed
    assert step.fit.bounds.epsilon <= epsilon
    with refused("match-above-unweighted"):
        run(mechanism, epsilon=20.0)


def test_a_searched_weight_of_sw_never_exceeds_one() -> None:
    made, _ = run(ScalarWeighted(), growth=-0.21, most=1, epsilon=16.0)
    assert made.constants == {"weight": 1.0}
    assert made.fit.bounds.database == pytest.approx(7.9)


@pytest.mark.parametrize("kind", [CountWeighted, MarginalWeighted, PairwiseWeighted])
@pytest.mark.parametrize("times", [None, [1.0, 2.0, 1.0, 3.0, 1.0, 1.0]])
def test_counts_are_among_all_records_of_a_tally(kind: Any, times: list[float] | None) -> None:
    counts = None if times is None else np.array(times)
    each = np.repeat(np.arange(6), 1 if times is None else np.array(times, dtype=int))
    mechanism = kind(radius=2.5, radius_kind="absolute", known=("town",), c=0.9, g=0.05)
    made, loop = run(mechanism, known=[TOWN], times=counts)
    ball: dict[str, Any] = {"radius": 2.5, "radius_kind": "absolute", "known": [TOWN[each]]}
    if kind is PairwiseWeighted:
        whole = 1.0 - pairwise_weights(Y[each], **ball)
    else:
        whole = identification_risk(Y[each], **ball)
    assert made.risk[each].tolist() == whole.tolist()
    assert made.fit.weights.tolist() == risk_weights(made.risk, c=0.9, g=0.05).tolist()
    assert labels(loop) == [{"cw": "CW"}.get(kind.name, kind.name.capitalize())]
    alone, _ = run(kind(radius=2.5, radius_kind="absolute"), times=counts)
    assert alone.risk.tolist() != made.risk.tolist()


@pytest.mark.parametrize("share", [1.0, 0.8])
def test_cw_meets_the_bound_that_it_is_to_match(share: float) -> None:
    target = share * float((weights_from_bounds(MAXIMA) * MAXIMA).max())
    match = "lw" if share == 1.0 else target
    made, loop = run(CountWeighted(match=match, radius=0.3, g=0.01))
    assert abs(made.fit.bounds.database / target - 1) <= 0.05
    expected = risk_weights(made.risk, c=made.constants["c"], g=0.01)
    np.testing.assert_array_equal(made.fit.weights, expected)
    assert labels(loop)[:2] == (["unweighted", "LW"] if share == 1.0 else ["unweighted", "CW"])


def test_weighted_epsilon_truncates_once() -> None:
    """The refit lifts two more records above epsilon / 2, and they stay."""
    maxima, epsilon = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 3.5
    made, loop = run(WeightedEpsilon(epsilon=epsilon), maxima=maxima, growth=0.05)
    assert labels(loop) == ["unweighted", "LW", "Weighted-epsilon"]
    lw = loop.fits[1]
    weights = weighted_epsilon_weights(lw.weights, lw.bounds.by_record, epsilon=epsilon)
    np.testing.assert_array_equal(made.fit.weights, weights)
    assert made.fit is loop.fits[-1]
    assert (made.fit.weights == 0).sum() > (loop.fits[1].weights == 0).sum()


@pytest.mark.parametrize("weights", ["lw", "cw", "none"])
@pytest.mark.parametrize("rule", [None, Downscaling(5.0, 3)])
def test_censored_fits_clamp_the_last_one_alone(weights: str, rule: Downscaling | None) -> None:
    mechanism = Censored(epsilon=5.0, weights=weights, c=0.9, g=0.1, radius=0.3)
    made, loop = run(mechanism, downscaling=rule)
    if weights == "lw":
        risk = scaled_bounds(MAXIMA)
    else:
        risk = identification_risk(Y, radius=0.3) if weights == "cw" else np.ones(6)
    expected = np.ones(6) if weights == "none" else risk_weights(risk, c=0.9, g=0.1)
    assert made.risk.tolist() == risk.tolist()
    if rule is not None:
        expected = downscale(expected, expected * MAXIMA, epsilon=5.0)
    np.testing.assert_allclose(made.fit.weights, expected, rtol=1e-15)
    clamp = Clamp(5.0, "deviance" if weights == "none" else "half")
    assert made.clamp == clamp
    assert loop.source.bounds_asked == [None] * (len(loop.fits) - 1) + [clamp]
    assert made.fit.label == {"none": "Censored"}.get(weights, f"Censored {weights.upper()}")
    assert made.fit.bounds.database <= 2.5


def test_downscaling_ends_where_the_bound_is_met_or_passes_are_over() -> None:
    for passes in (1, 2, 10):
        rule = Downscaling(6.0, passes)
        for confirm in (True, False):
            made, loop = run(
                LipschitzWeighted(g=0.2), growth=0.01, downscaling=rule, confirm=confirm
            )
            weights, fits = loop.fits[1].weights, loop.fits[1:]
            for before, after in pairwise(fits):
                if after.confirmed:
                    assert before.bounds.database <= 3.0
                    assert after.bounds.database >= before.bounds.database
                else:
                    assert before.bounds.database > 3.0
                    by_record = before.bounds.by_record
                    weights = downscale(weights, by_record, epsilon=6.0)
                np.testing.assert_array_equal(after.weights, weights)
            refits = labels(loop).count("LW downscaled")
            assert 1 <= refits <= passes
            assert made.fit is fits[-1]
            met = made.fit.bounds.database <= 3.0
            assert met or refits == passes
            assert made.fit.confirmed == (met and confirm)
    for mechanism in (LipschitzWeighted(c=0.1), ScalarWeighted(match=3.0)):
        enough, loop = run(mechanism, downscaling=Downscaling(6.0, 5))
        assert enough.fit is loop.fits[-1]
        assert "downscaled" not in enough.fit.label


@pytest.mark.parametrize("threshold", [1.0, 0.9])
def test_a_confirmed_fit_has_the_larger_figures_of_both_and_draws_below_them(
    threshold: float,
) -> None:
    cells = make_cells(Y, np.ones((len(Y), 1)))
    model = MODELS["poisson"]
    loop = SynthesisLoop(
        model,
        cells,
        source=ModelSource(model, cells, NativeEngine(), threshold),
        settings=SamplerSettings(draws=200, warmup=100, chains=2),
        seed=2,
    )
    for _ in range(4):
        before = ScalarWeighted(match=3.0).run(loop, Request(y=Y)).fit
        after = loop.confirmed(before)
        assert after is loop.fits[-1]
        assert (after.posterior.n_draws, after.posterior.chains) == (1600, 2)
        assert (before.confirmed, after.confirmed) == (False, True)
        assert after.weights is before.weights
        assert (after.bounds.by_record >= before.bounds.by_record).all()
        assert (after.maxima >= before.maxima).all()
        log_lik = record_log_likelihood(model, after.posterior, cells) * after.weights
        own = lipschitz_bounds(log_lik, threshold=threshold)
        assert after.bounds.database == max(before.bounds.database, own.database)
        if threshold == 1.0:
            assert after.bounds.by_draw.max() <= after.bounds.database


def test_a_target_has_a_window_below_half_of_it() -> None:
    window = target_window(8.0, 0.1)
    assert window == Window(4.0 * 0.9, 4.0 * 0.98, 4.0)


@pytest.mark.parametrize(
    ("mechanism", "depends"),
    [
        (Unweighted(), False),
        (LipschitzWeighted(), True),
        (ScalarWeighted(), True),
        (CountWeighted(), True),
        (WeightedEpsilon(epsilon=1.0), True),
        (Censored(epsilon=1.0), True),
        (Censored(epsilon=1.0, weights="cw"), True),
        (Censored(epsilon=1.0, weights="none"), False),
    ],
)
def test_which_weights_depend_on_the_data(mechanism: Any, depends: bool) -> None:
    assert data_weights(mechanism, downscaled=False) is depends
    assert data_weights(mechanism, downscaled=True)
