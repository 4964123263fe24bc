"""A run takes no kind of records out of the fit in silence, and throws no safe fit away."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused

import pyvws as vws
from pyvws.mechanisms.weighing import WeightedFit
from pyvws.synthesis.loop import SILENT, SynthesisLoop
from pyvws.synthesis.settings_by_name import arranged

pytestmark = [
    pytest.mark.runs,
    pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::pyvws.errors.MisfitWarning"),
]

TWO = pl.DataFrame({"x": [False] * 20 + [True] * 10})
SCHEMA = vws.Schema({"x": vws.Column(model="table", levels=("false", "true"))})
QUICK: dict[str, Any] = {"draws": 200, "chains": 2, "datasets": 1, "schema": SCHEMA}


def _keys(release: vws.Release) -> set[str]:
    return {said["key"] for said in release.privacy["caveat_keys"]}


def _run(frame: Any = TWO, **given: Any) -> tuple[vws.Release, str]:
    lines: list[str] = []
    chosen = vws.Synthesizer(**arranged({**QUICK, "mechanism": "lw", **given}))
    release = chosen.fit(frame, seed=1 << 60, listener=replace(SILENT, line=lines.append))
    return release, " ".join(lines)


@pytest.mark.parametrize("given", [{}, {"epsilon": 0.5}, {"by_column": True}, {"c": 0.2}])
def test_by_default_every_level_keeps_a_weight(given: dict[str, Any]) -> None:
    release, said = _run(**given)
    weight = np.asarray(release.records["weight_final"])
    true = weight[20:]
    assert 0 < true.max() == true.min()
    ends = 1.5 if given.keys() & {"c", "epsilon"} else 1.0  # c (1 + 0.5), or 1 where it is more.
    assert true.max() == pytest.approx(0.5 * weight.max() / ends)
    assert "--g" in said
    assert "sw" in said
    assert "10 of 30" in said
    assert "shift" in _keys(release)
    assert "shift" in {one["key"] for one in release.privacy["ledger"]}
    if "epsilon" in given:
        assert release.privacy["epsilon_per_dataset"] <= 0.5


@pytest.mark.parametrize("g", [0.0, 0.3])
def test_a_shift_that_was_asked_for_stays(g: float) -> None:
    release, said = _run(g=g)
    assert np.min(np.asarray(release.records["weight"])) == g
    assert "shift" not in _keys(release)
    assert ("weight 0" in said) == (g == 0.0)


def test_numbers_keep_the_papers_weights() -> None:
    numbers = pl.DataFrame({"y": np.random.default_rng(1).normal(size=60)})
    schema = vws.Schema({"y": vws.Column(model="normal", range=(-9, 9))})
    made = [_run(numbers, schema=schema, warmup=100, **given)[0] for given in ({}, {"g": 0.0})]
    assert made[0].privacy == made[1].privacy
    assert made[0].datasets[0].equals(made[1].datasets[0])
    assert np.min(np.asarray(made[0].records["weight"])) == 0.0


def test_truncation_that_would_take_a_level_stops() -> None:
    with refused("epsilon-below-bounds-of-level"):
        _run(mechanism="weighted-epsilon", epsilon=2.0)


def test_censored_weights_keep_a_level_too() -> None:
    works = pl.DataFrame({"works": [0] * 40 + [1] * 20})
    given = {"schema": None, "outcome": "works", "model": "logistic", "warmup": 100}
    release, said = _run(works, mechanism="censored", epsilon=6.0, **given)
    assert np.min(np.asarray(release.records["weight"])) == 0.5
    assert "shift" in _keys(release)
    assert "--g" in said


def test_re_weighting_that_ends_below_its_bound_is_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bound of each refit is halved, as if no k brought it up."""
    whole = SynthesisLoop.fit

    def lower(self: Any, weights: Any, label: str, **given: Any) -> WeightedFit:
        fit = whole(self, weights, label, **given)
        if label.endswith("_final"):
            bounds = replace(fit.bounds, database=0.5 * fit.bounds.database)
            self.fits[-1] = replace(fit, bounds=bounds, maxima=0.0 * fit.maxima)
        return self.fits[-1]

    monkeypatch.setattr(SynthesisLoop, "fit", lower)
    release, said = _run(g=0.2, reweight=True)
    assert "reweighted-below" in _keys(release)
    assert "ends below the bound" in said
    monkeypatch.setattr(SynthesisLoop, "fit", whole)
    release, said = _run(g=0.2, reweight=True, tolerance=0.9)
    assert "reweighted-below" not in _keys(release)
    assert "ends below" not in said


def test_what_a_search_leaves_is_said_and_why() -> None:
    """Four conditional tables, whose rare patterns make the bound noisy."""
    rng = np.random.default_rng(5)
    a, b = rng.choice(4, 400, p=[0.6, 0.3, 0.08, 0.02]), rng.choice(3, 400, p=[0.9, 0.08, 0.02])
    frame = pl.DataFrame({"a": a, "b": b, "c": (a + b + (rng.random(400) < 0.2)) % 4})
    columns = {
        name: vws.Column(model="table", levels=tuple(range(4)), predictors=before)
        for name, before in (("a", ()), ("b", ("a",)), ("c", ("a", "b")))
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release, said = _run(frame, schema=vws.Schema(columns), epsilon=2.0)
    spent = release.summary["privacy"]["epsilon_per_dataset"]
    assert spent <= 2.0
    assert ("room" in _keys(release)) == (spent < 1.9) == ("of the target 2 is spent" in said)
    assert spent < 1.9  # Under this seed.
