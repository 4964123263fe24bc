"""A failed fit says what its design has to do with it, and nothing where it has nothing."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import pyvws as vws
from pyvws import ConvergenceError, SamplerSettings
from pyvws.engines import cmdstan, stan_run
from pyvws.engines.cmdstan import CmdStanEngine
from pyvws.engines.engine import design_remedy, failure_remedy
from pyvws.engines.nuts import Chain, NativeEngine
from pyvws.models.registry import MODELS
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells

_MANY, _SCALE, _ELSE = "too many design columns", "Rescale the predictors", "leave enough of"


def _design(K: int, size: float) -> Any:
    drawn = np.random.default_rng(1).normal(size=(300, K - 1))
    return np.column_stack([np.ones(300), size * drawn])


@pytest.mark.parametrize(
    ("K", "size", "said"),
    [(4, 1.0, ""), (4, 1e6, _SCALE), (4, 1e-6, _SCALE), (201, 1.0, _MANY), (201, 1e6, _MANY)],
)
def test_scale_and_columns_are_told_apart(K: int, size: float, said: str) -> None:
    assert (said in design_remedy(_design(K, size))) if said else not design_remedy(_design(K, 1))
    assert (said or _ELSE) in failure_remedy(_design(K, size))
    assert _ELSE in failure_remedy(None)


@pytest.mark.parametrize("values", [[0.0], [1.0], [0.0, 9999.0]])
def test_patterns_of_a_table_and_an_intercept_have_no_scale(values: list[float]) -> None:
    assert design_remedy(np.array(values)[:, None]) == ""


def test_a_sampler_that_cannot_start_for_its_columns_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Chain, "run", lambda _: False)
    y = np.random.default_rng(2).poisson(5.0, 300).astype(float)
    target = PseudoPosterior(MODELS["poisson"], make_cells(y, _design(60, 1.0)), np.ones(300))
    settings = SamplerSettings(draws=10, warmup=100, chains=1)
    with pytest.raises(ConvergenceError, match=_MANY) as caught:
        NativeEngine().sample(target, settings, seed=1)
    assert _SCALE not in str(caught.value)


@pytest.mark.parametrize(("K", "size", "said"), [(3, 1.0, _ELSE), (3, 1e9, _SCALE), (60, 1, _MANY)])
def test_stan_that_stops_says_the_same(
    K: int, size: float, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cmdstanpy")
    monkeypatch.setattr(cmdstan, "built", lambda _: "none")
    monkeypatch.setattr(stan_run, "run_chains", lambda *_: [1])
    settings = SamplerSettings(draws=10, warmup=100, chains=1)
    with pytest.raises(ConvergenceError, match=said):
        CmdStanEngine().run("model {}", {"X": _design(K, size)}, settings, seed=1)


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_a_warning_speaks_of_scale_where_it_is_the_matter(size: float) -> None:
    rng = np.random.default_rng(3)
    table = pl.DataFrame({"y": rng.poisson(5.0, 80), "x": size * rng.normal(size=80)})
    with pytest.warns(vws.ConvergenceWarning, match="Raise draws") as caught:
        vws.synthesize(
            *(table,), outcome="y", model="poisson", formula="~ x", mechanism="unweighted",
            datasets=1, draws=20, warmup=100, chains=1, seed=1,
        )  # fmt: skip
    assert (_SCALE in str(caught[0].message)) == (size > 1e3)


@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.parametrize("whole", [False, True])
def test_a_mixture_whose_chains_fail_has_fewer_components_to_take(
    components: int, whole: bool
) -> None:
    rng = np.random.default_rng(3)
    table = pl.DataFrame({"y": rng.normal(size=80)})
    own = {"components": components, "labels": "prior"}
    how: dict[str, Any] = {"outcome": "y", "model": "normal-mixture", **own}
    if whole:
        column = vws.Column(model="normal-mixture", range=(-9, 9), settings=own)
        how = {"schema": vws.Schema({"y": column})}
    with pytest.warns(vws.ConvergenceWarning, match="Raise draws") as caught:
        vws.synthesize(
            table, **how, mechanism="unweighted", datasets=1, draws=20, warmup=100, chains=1, seed=1
        )
    said = f"Take fewer components than {components} of normal-mixture"
    assert (said in str(caught[0].message)) == (components > 1)
