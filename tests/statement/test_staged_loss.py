"""Losses of strict weights by enumeration: of both draws of staged weights jointly, on a grid.

The loss is the largest |log ratio| of P(theta_1, theta_2) under two neighbours, over all pairs of
grid points. It is computed from the targets that whole runs sampled, and not from what they say.
"""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pyvws_validation._grid_engine import Enumerating, KnownDraws, grid, joint_log_probability
from scipy.special import logsumexp

from pyvws import Censored, SamplerSettings, Synthesizer
from pyvws._base.checks import Floats
from pyvws.errors import SpendingError
from pyvws.mechanisms import strict_weights
from pyvws.mechanisms.weighing import ReferenceSizes
from pyvws.models.registry import find_model
from pyvws.synthesis.loop import SynthesisLoop
from pyvws.synthesis.reference import Reference
from pyvws.weights.weights import fixed_scale_weights

pytestmark = [pytest.mark.runs, pytest.mark.filterwarnings("ignore:epsilon clamps every record")]

E1, E2 = 1.0, 2.0
POINTS = {
    "poisson": grid([-6.0, -1.0, 0.0, 1.0, 4.0, 7.0], [0.0]),
    "normal": grid([-700.0, 0.0, 700.0], [0.0], [-np.log(0.05), 0.0, np.log(0.05), 5.0]),
}
# A record: its outcome and its public weight.
BASES: dict[str, Any] = {
    "poisson": [
        ((1096.0, 1.0),) * 10,
        ((1.0, 1.0),) * 4
        + ((3.0, 1.0),) * 4,  # One record less, and another mean is the likeliest.
        ((1.0, 0.5), (1.0, 1.0), (3.0, 0.2)),
    ],
    "normal": [((0.0, 1.0),) * 10, ((-5.0, 0.3), (0.0, 1.0), (700.0, 1.0))],
}
EXTREMES: dict[str, Any] = {
    "poisson": [(0.0, 1.0), (1096.0, 1.0), (2.0**53, 0.5)],
    "normal": [(0.0, 1.0), (700.0, 1.0), (-1e300, 0.5)],
}
ROUNDING = 1e-9


def joint(model: str, records: Any, mechanism: Censored) -> Floats:
    """log P of what the datasets depend on: (G, G) of both draws where staged, else (1, G)."""
    table = pl.DataFrame(list(records), schema=["y", "w"], orient="row")

    def run(engine: Enumerating) -> None:
        run = Synthesizer(
            outcome="y",
            model=find_model(model),
            mechanism=mechanism,
            datasets=1,
            settings=SamplerSettings(draws=4, chains=1),
            engine=engine,
        )
        said = run.fit(table, seed=1 << 62).privacy
        assert said["guarantee"] == "dp"
        assert said["epsilon_by_neighbours"]["leave-one-out"]["per_dataset"] == claim(mechanism)

    public = int(mechanism.weights == "reference")
    found = joint_log_probability(POINTS[model], run, public=public)
    assert logsumexp(found) == pytest.approx(0.0, abs=1e-9)
    return found


def claim(mechanism: Censored) -> float:
    return mechanism.epsilon + (mechanism.stage_epsilon or 0.0)


def losses(model: str, mechanism: Censored, *, until: float = float("inf")) -> tuple[float, float]:
    """The largest leave-one-out and replace-one losses over all bases and neighbours.

    No more databases are tried once the leave-one-out loss is above `until`.
    """
    left_out = replaced = 0.0
    for base in BASES[model]:
        before = joint(model, base, mechanism)
        less = [base[:i] + base[i + 1 :] for i in range(len(base))]
        more = [(*base, extreme) for extreme in EXTREMES[model]]
        for group in (sorted(set(less)), more):
            after = []
            for other in group:
                after.append(joint(model, other, mechanism))
                left_out = max(left_out, np.abs(after[-1] - before).max())
                if left_out > until:
                    return left_out, replaced
            for one, other in combinations(after, 2):
                replaced = max(replaced, np.abs(one - other).max())
    return left_out, replaced


def mechanism_of(source: str, model: str, folder: Path, **more: Any) -> Censored:
    own: dict[str, Any] = {"public": {"weight_column": "w"}, "staged": {"stage_epsilon": E1}}
    if source == "reference":
        public = pl.DataFrame({"y": [0.0, 1.0, 2.0, 2.0, 1000.0]})
        public.write_parquet(folder / "old.parquet")
        own[source] = {"reference": str(folder / "old.parquet"), "g": 0.5}
    return Censored(epsilon=E2, weights=source, **own[source], **more)


@pytest.mark.parametrize("clamp", ["deviance", "half"])
@pytest.mark.parametrize("source", ["public", "reference", "staged"])
@pytest.mark.parametrize("model", ["poisson", "normal"])
def test_the_loss_of_all_draws_together_is_at_most_the_claim(
    model: str, source: str, clamp: str, tmp_path: Path
) -> None:
    mechanism = mechanism_of(source, model, tmp_path, clamp=clamp)
    left_out, replaced = losses(model, mechanism)
    assert left_out <= claim(mechanism) * (1 + ROUNDING)
    assert replaced <= 2 * claim(mechanism) * (1 + ROUNDING)
    if clamp == "deviance":
        assert left_out >= 0.9 * claim(mechanism)


def by_the_largest(sizes: Floats, *, low: float = 0.0, high: float, **shape: Any) -> Floats:
    """The planted error: sizes on the scale of the table's largest."""
    top = float(sizes[np.isfinite(sizes)].max())
    return fixed_scale_weights(sizes, low=low, high=max(top, low + 1e-9), **shape)


SIZES = Reference.sizes


def from_the_table(self: Reference, posterior: Any, clamp: Any) -> ReferenceSizes:
    """The planted error: constants of the confidential records."""
    found = SIZES(self, posterior, clamp)
    finite = found.by_record[np.isfinite(found.by_record)]
    high = max(finite.max(), finite.min() + 1e-9)
    return ReferenceSizes(found.by_record, finite.min(), high, high)


def unclamped(loop: Any, clamp: Any, **scale: Any) -> strict_weights.StrictWeights:
    """The planted error: the first stage clamps nothing and is paid as if it did."""

    class Free:
        cells = loop.cells
        sizes = loop.sizes

        def fit(self, weights: Floats, label: str, *, clamp: Any) -> Any:
            wide = type(clamp)(1e6, clamp.kind)
            return loop.fit(weights, label, clamp=wide)

    made = strict_weights.weights_from_stage(Free(), clamp, **scale)  # type: ignore[arg-type]
    object.__setattr__(made.stages[0], "clamp", clamp)
    return made


@pytest.mark.parametrize(
    ("source", "place", "planted"),
    [
        ("staged", (strict_weights, "fixed_scale_weights"), by_the_largest),
        ("reference", (strict_weights, "fixed_scale_weights"), by_the_largest),
        ("reference", (Reference, "sizes"), from_the_table),
    ],
)
def test_a_planted_error_costs_more_than_the_claim(
    source: str, place: Any, planted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = mechanism_of(source, "poisson", tmp_path)
    monkeypatch.setattr(*(place if isinstance(place, tuple) else (place,)), planted)
    least = 1.02 * claim(mechanism)
    assert losses("poisson", mechanism, until=least)[0] > least


def test_a_stage_that_clamps_less_than_its_price_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = mechanism_of("staged", "poisson", tmp_path)
    monkeypatch.setattr("pyvws.mechanisms.censored.weights_from_stage", unclamped)
    with pytest.raises(SpendingError, match="first stage comes from a window"):
        losses("poisson", mechanism)


def test_weights_from_more_than_one_draw_of_the_stage_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted error: the size is the largest over two points, of which one is no draw."""
    sizes = SynthesisLoop.sizes
    mechanism = mechanism_of("staged", "poisson", tmp_path)
    assert losses("poisson", mechanism)[0] <= claim(mechanism) * (1 + ROUNDING)

    def of_two(self: Any, fit: Any, s: int) -> Floats:
        best = int(np.argmax(self.source.engine.log_posteriors[0]))
        other = KnownDraws([self.source.engine.points[best][None, :]])
        (column,) = self.model.columns
        target = type("Target", (), {"model": column.model, "cells": column.cells})
        posterior = other.sample(target, self.settings, seed=0)  # type: ignore[arg-type]
        also = type(fit)(fit.label, fit.weights, posterior, fit.bounds, fit.maxima, clamp=fit.clamp)
        return np.maximum(sizes(self, fit, s), sizes(self, also, 0))

    monkeypatch.setattr(SynthesisLoop, "sizes", of_two)
    with pytest.raises(SpendingError, match="'first stage' was sold before"):
        losses("poisson", mechanism)
