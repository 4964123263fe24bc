"""What the 2024 paper shows, on its own simulated data."""

from functools import cache

import numpy as np
import pytest
from pyvws_studies import negative_binomial_mixture as mixture
from pyvws_studies.simulated_data import poisson_data

from pyvws import SamplerSettings, ScalarWeighted
from pyvws.engines.nuts import NativeEngine
from pyvws.mechanisms.weighing import Request
from pyvws.models.registry import MODELS
from pyvws.synthesis.fit_sources import ModelSource
from pyvws.synthesis.loop import SynthesisLoop
from pyvws.tables.design.cells import make_cells

pytestmark = pytest.mark.draws


@cache
def _study(seed: int) -> mixture.MixtureStudy:
    return mixture.run(seed=seed)


def test_poisson_bound_and_scalar_weight_are_those_of_the_figures() -> None:
    """Section 3.1: Delta of LW about 3.5 and an SW weight about 0.375, on the authors' data."""
    y = poisson_data()
    model, cells = MODELS["poisson"], make_cells(y, np.ones((1000, 1)))
    loop = SynthesisLoop(
        model,
        cells,
        source=ModelSource(model, cells, NativeEngine()),
        settings=SamplerSettings(),
        seed=1,
    )
    assert 3.3 <= loop.lipschitz(c=1.0, g=0.0).bounds.database <= 4.4
    assert 0.33 <= ScalarWeighted().run(loop, Request(y=y)).fit.weights[0] <= 0.43


def test_the_mixture_s_rows_show_what_table_1_shows() -> None:
    study = _study(2024)
    weighted = ("LW", "LW_final", "CW", "CW_final", "SW")
    for quantile in ("q15", "q90"):
        gaps = {label: _gap(study, label, quantile) for label in weighted}
        assert max(gaps, key=gaps.__getitem__) == "CW"
        assert gaps["CW_final"] < gaps["CW"]
        assert gaps["CW_final"] <= 4.0
    assert _gap(study, "SW", "mean") < 1.5
    assert _gap(study, "SW", "median") < 2.0
    assert 1.4 < study.c < 3.0


@pytest.mark.parametrize("seed", [2024, 1])
def test_every_reweighted_bound_meets_its_weighted_one_with_larger_weights(seed: int) -> None:
    rows = {row.label: row for row in _study(seed).rows}
    for label in ("LW", "CW"):
        final = rows[f"{label}_final"]
        assert abs(final.delta / rows[label].delta - 1) <= 0.05
        assert final.mean_weight > rows[label].mean_weight
    assert abs(rows["CW"].delta / rows["LW"].delta - 1) <= 0.05


@pytest.mark.parametrize("seed", [2024, 1])
def test_reweighting_brings_cw_closer_at_both_ends(seed: int) -> None:
    for quantile in ("q15", "q90"):
        assert _gap(_study(seed), "CW_final", quantile) < _gap(_study(seed), "CW", quantile)


def _gap(study: mixture.MixtureStudy, label: str, statistic: str) -> float:
    """Distance of a mechanism's average statistic from the data's."""
    names = ("q15", "q90", "mean", "median")
    row = next(row for row in study.rows if row.label == label)
    return abs(getattr(row, statistic) - mixture.statistics(study.y)[names.index(statistic)])


def test_the_six_rows_come_in_the_paper_s_order_and_weights_fall() -> None:
    rows = _study(2024).rows
    assert [row.label for row in rows] == [
        "unweighted", "LW", "LW_final", "CW", "CW_final", "SW",
    ]  # fmt: skip
    assert rows[0].mean_weight == 1.0
    assert all(row.epsilon == 2 * row.delta for row in rows)
    assert all(row.delta < rows[0].delta for row in rows[1:])


def test_scalar_weighting_widens_what_vector_weighting_keeps() -> None:
    """Figure 7c: the posterior of mu is much wider under SW than under LW."""
    fits = _study(2024).fits
    spread = {label: np.exp(fit.posterior.draws["beta"]).std() for label, fit in fits.items()}
    assert spread["SW"] > 1.3 * spread["LW_final"]
