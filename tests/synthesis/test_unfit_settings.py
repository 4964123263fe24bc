"""What stops a run whatever its table holds is refused with the settings, before a table is read.

A refusal after that could be taken for one that tells of the table.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from refusals import refused

import pyvws as vws
from pyvws.engines.cmdstan import CmdStanEngine
from pyvws.engines.grid import GridEngine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import InputError
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.histogram.laplace_sums import noisy_sums, seller_of_sums
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.mechanisms.registry import MECHANISMS
from pyvws.models.beta import Beta
from pyvws.models.normal_mixture import NormalMixture
from pyvws.models.ordinal import Ordinal
from pyvws.models.truncated_normal import TruncatedNormal
from pyvws.privacy.budget import Budget
from pyvws.synthesis.settings_by_name import arranged, declared
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema

STRICT = Censored(epsilon=1.0, weights="none")
ON_GRID = {"engine": GridEngine()}
COLUMNS = {
    "town": Column(role="public", levels=("a", "b")),
    "ill": Column(model="logistic", levels=("no", "yes")),
    "pay": Column(model="normal", range=(0, 10)),
}


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({**ON_GRID, "mechanism": replace(STRICT, epsilon=1025.0)}, "grid-epsilon-range"),
        ({**ON_GRID, "mechanism": replace(STRICT, epsilon=1e-9)}, "grid-epsilon-range"),
        (
            {**ON_GRID, "mechanism": Censored(epsilon=1.0, weights="staged", stage_epsilon=1e-9)},
            "grid-epsilon-range",
        ),
        ({**ON_GRID, "model": NormalMixture(components=2, labels="prior")}, "grid-no-regression"),
        ({**ON_GRID, "model": Ordinal(levels=(1, 2, 3, 4, 5))}, "grid-too-many-parameters"),
        ({**ON_GRID, "settings": SamplerSettings(grid_steps=(3, 3))}, "grid-setting-length"),
        ({**ON_GRID, "settings": SamplerSettings(grid_steps=(10**7,))}, "grid-too-many-points"),
        ({"model": TruncatedNormal(range=(0, 1))}, "truncated-normal-at-end"),
        ({"records": "noisy", "records_epsilon": 1e-320}, "epsilon-too-small-for-noise"),
        ({"schema": Schema(COLUMNS), "engine": CmdStanEngine()}, "engine-one-column"),
    ],
)
def test_a_run_is_refused_without_a_table(given: dict[str, Any], key: str) -> None:
    usual = {"outcome": "y", "model": "poisson"} if "schema" not in given else {}
    with refused(key):
        vws.Synthesizer(**{**usual, "mechanism": STRICT, **given})


def test_a_table_of_one_column_takes_any_engine_under_a_clamp() -> None:
    one = Schema({"y": Column(model="poisson", range=(0, 50))})
    made = vws.Synthesizer(schema=one, mechanism=STRICT, engine=CmdStanEngine())
    assert made.engine.name == "cmdstan"


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"epsilon": 1e-320, "bins": 3}, "epsilon-too-small-for-noise"),
        ({"range": (-1e308, 1e308)}, "range-ends-order"),
        ({"range": (1.0, 1.0 + 1e-15), "bins": 100}, "range-too-narrow"),
    ],
)
def test_a_histogram_is_refused_without_a_table(given: dict[str, Any], key: str) -> None:
    with refused(key):
        PerturbedHistogram(**{"epsilon": 1.0, "range": (0.0, 1.0), **given})
    with pytest.raises(InputError, match="Give bins as a number"):
        PerturbedHistogram(epsilon=1.0, range=(0.0, 1.0), neighbours="loo")


def test_a_range_wider_than_any_float_is_refused() -> None:
    with refused("model-range"):
        Beta(range=(-1e308, 1e308))


@pytest.mark.parametrize("ends", [(0.0, 0.0), (-1e-320, 0.0), (-float("inf"), float("inf"))])
def test_a_range_without_a_step_adds_nothing_up(ends: tuple[float, float]) -> None:
    """0 / 0 as a whole number would be the lowest one, and sums of it would wrap."""
    sold = seller_of_sums(Budget(epsilon=1.0), {"all": Fraction(1)})
    with refused("range-ends-size"):
        noisy_sums(sold, "all", [0.0, 0.0], pl.Series([0, 0]).to_numpy(), count=1, range=ends)


@pytest.mark.parametrize("given", [{"formula": "~ a + b"}, {"keep": "all", "records": 5}])
def test_what_public_columns_decide_is_refused_before_the_outcome_is_read(
    given: dict[str, Any],
) -> None:
    """The outcome is none that the family takes; the refusal does not say so."""
    table = pl.DataFrame({"y": [-1.0, 2.5, 3.0], "a": [1.0, 2.0, 3.0], "b": [0.5, 1.0, 0.0]})
    steps = SamplerSettings(grid_range=(-1.0, 1.0) * 3, grid_steps=(10**3,) * 3)
    more = {**ON_GRID, "settings": steps} if "formula" in given else {}
    run = vws.Synthesizer(outcome="y", model="poisson", mechanism=STRICT, **given, **more)
    with pytest.raises(InputError, match=r"at most 1000000|another number of rows"):
        run.fit(table)


_NEEDED: dict[str, dict[str, Any]] = {
    "inverse": {"t": 2.0},
    "noisy-counts": {"epsilon": 1.0, "schema": Schema({"ill": COLUMNS["ill"]})},
    "perturbed-histogram": {"epsilon": 1.0, "range": (0.0, 1.0)},
    "censored": {"epsilon": 1.0, "weights": "none"},
    "weighted-epsilon": {"epsilon": 1.0},
}
_BESIDE: dict[str, dict[str, Any]] = {
    "records": {"records": "noisy"},
    "total_epsilon": {"total_epsilon": 2.0, "mechanism": "censored", "weights": "none"},
    "stage_epsilon": {"weights": "staged"},
}


@pytest.mark.parametrize(
    ("name", "taker", "needs"),
    [
        (name, taker, own.needs)
        for name, alike in declared().items()
        for own in alike
        for taker in own.takers or ("",)
        if {int, float} & {*own.parts}
    ],
)
def test_text_is_no_number_of_any_setting(name: str, taker: str, needs: str) -> None:
    """float("1") is a number, and "1" in the place of one ends a run where it is compared."""
    given: dict[str, Any] = {"outcome": "y", "model": "poisson", "mechanism": "lw"}
    given |= _NEEDED.get(taker, {})
    given |= {"mechanism": taker} if taker in MECHANISMS else {"model": taker} if taker else {}
    given |= _BESIDE.get(needs, {needs: True} if needs else {}) | _BESIDE.get(name, {})
    if "schema" in given:
        del given["outcome"], given["model"]
    with pytest.raises(InputError, match=rf"^{name} must be .*Got '1'\.$"):
        vws.Synthesizer(**arranged({**given, name: "1"}))
