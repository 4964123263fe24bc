"""Weights by column: what each column is fitted under, what the statement says, what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from record_terms import record_log_likelihood
from refusals import refused
from runs import FEW, SEED, command
from runs import fitted as fitted_on
from runs import synthesizer as few
from scipy import stats
from scipy.special import expit
from typer.testing import CliRunner

import pyvws as vws
from pyvws import Column, ConvergenceWarning, InputError, Schema, lipschitz_weights
from pyvws.commands.cli import app
from pyvws.engines.nuts import NativeEngine
from pyvws.models.sequence import draws_of
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.release.posterior import FittedRun
from pyvws.statement.parts import figure
from pyvws.synthesis.fit_sources import ModelSource
from pyvws.synthesis.loop import SILENT

pytestmark = [
    pytest.mark.runs,
    pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"),
]

N = 90
_RNG = np.random.default_rng(8)
_SEX = _RNG.choice(["f", "m"], N)
_OWNER = np.where(_RNG.random(N) < 0.8, np.where(_SEX == "m", "yes", "no"), "yes")
TABLE = pl.DataFrame(
    {
        "sex": _SEX,
        "owner": _OWNER,
        "pay": (0.2 * (_OWNER == "yes") + _RNG.normal(0.0, 0.1, N)).round(6),
        "visits": _RNG.poisson(3.0, N),
    }
)
NAMES = ["owner", "pay", "visits"]
SCHEMA = Schema(
    {
        "sex": Column(role="public", levels=("f", "m")),
        "owner": Column(model="logistic", levels=("no", "yes")),
        "pay": Column(model="normal", range=(-2.0, 2.0)),
        "visits": Column(model="poisson", range=(0.0, 50.0), predictors=("sex", "owner")),
    }
)


BY_COLUMN: dict[str, Any] = {"schema": SCHEMA, "mechanism": "lw", "by_column": True, "g": 0.0}


def synthesizer(**settings: Any) -> vws.Synthesizer:
    return few(**{**BY_COLUMN, **settings})


def fitted(**settings: Any) -> FittedRun:
    return fitted_on(TABLE, **{**BY_COLUMN, **settings})


def _matrices(run: FittedRun, posterior: Any) -> list[Any]:
    """The log-likelihoods (S, N) of each column at the draws."""
    return [
        record_log_likelihood(
            one.model, replace(posterior, draws=draws_of(posterior.draws, one.column)), one.cells
        )
        for one in run.loop.cells.columns
    ]


def _targets(monkeypatch: pytest.MonkeyPatch) -> tuple[FittedRun, list[PseudoPosterior]]:
    """A run, and each target that its engine sampled."""
    seen: list[PseudoPosterior] = []
    sample = NativeEngine.sample

    def noting(self: Any, target: PseudoPosterior, *given: Any, **more: Any) -> Any:
        seen.append(target)
        return sample(self, target, *given, **more)

    monkeypatch.setattr(NativeEngine, "sample", noting)
    return fitted(), seen


def _check_weights(run: FittedRun, targets: list[PseudoPosterior]) -> None:
    """Each column is fitted under the LW weights of its own bounds, and bounded under the same."""
    unweighted, final = run.loop.fits
    assert len(targets) == 6
    matrices = _matrices(run, unweighted.posterior)
    for one, log_lik, given in zip(run.loop.cells.columns, matrices, final.weights.T, strict=True):
        first, last = (target.weights for target in targets if target.cells is one.cells)
        alpha = lipschitz_weights(log_lik)
        assert (first == 1.0).all()
        assert alpha.tolist() == given.tolist()
        assert alpha.tolist() == last.tolist(), "fitted under other weights"
    found = vws.joint_bounds(_matrices(run, final.posterior), weights=final.weights)
    assert final.bounds.by_record.tolist() == found.by_record.tolist()
    assert (final.bounds.by_column == found.by_column).all()


def test_each_column_is_fitted_under_its_own_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    run, targets = _targets(monkeypatch)
    _check_weights(run, targets)
    assert len({tuple(alpha) for alpha in run.final.weights.T}) == len(NAMES)


def test_each_column_has_the_map_of_its_own_bounds() -> None:
    run = fitted(map="softmax")
    matrices = _matrices(run, run.loop.unweighted().posterior)
    for log_lik, given in zip(matrices, run.final.weights.T, strict=True):
        assert lipschitz_weights(log_lik, map="softmax").tolist() == given.tolist()


def test_another_columns_weights_in_a_fit_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = ModelSource.sample

    def wrong(self: ModelSource, weights: Any, *given: Any, **more: Any) -> Any:
        turned = np.roll(weights, 1, axis=1) if weights.ndim == 2 else weights
        return sample(self, turned, *given, **more)

    monkeypatch.setattr(ModelSource, "sample", wrong)
    run, targets = _targets(monkeypatch)
    with pytest.raises(AssertionError, match="fitted under other weights"):
        _check_weights(run, targets)


def test_the_same_weights_in_each_column_are_one_weight_a_record_to_the_bit() -> None:
    loop = fitted(mechanism="lw", by_column=False).loop
    alpha = loop.fits[-1].weights
    made = [
        loop.source.sample(weights, loop.settings, seed=3, progress=None)
        for weights in (alpha, np.repeat(alpha[:, None], len(NAMES), axis=1))
    ]
    (one, bounds, maxima), (each, of_each, maxima_of_each) = made
    assert one.draws.keys() == each.draws.keys()
    assert all((one.draws[name] == each.draws[name]).all() for name in one.draws)
    for name in ("by_record", "by_draw", "by_column", "database"):
        assert np.array_equal(getattr(bounds, name), getattr(of_each, name))
    assert (maxima == maxima_of_each).all()


def _log_likelihoods(draws: pl.DataFrame) -> list[Any]:
    """l_ik (S, N) of the three columns, from their draws and the table alone."""
    male, owns = TABLE["sex"].to_numpy() == "m", TABLE["owner"].to_numpy() == "yes"

    def eta(name: str, *predictors: Any) -> Any:
        design = np.column_stack([np.ones(N), *predictors])
        names = [f"{name}.beta[{place + 1}]" for place in range(design.shape[1])]
        return draws[names].to_numpy() @ design.T

    sigma = draws["pay.sigma"].to_numpy()[:, None]
    return [
        np.log(expit(eta("owner", male) * np.where(owns, 1.0, -1.0))),
        stats.norm.logpdf(TABLE["pay"].to_numpy(), eta("pay", male, owns), sigma),
        stats.poisson.logpmf(TABLE["visits"].to_numpy(), np.exp(eta("visits", male, owns))),
    ]


def test_the_statements_numbers_are_those_of_the_records_weights_and_the_draws(
    tmp_path: Path,
) -> None:
    release = synthesizer().fit(TABLE, seed=SEED)
    out = release.write(tmp_path / "out")
    records = pl.read_parquet(out / "confidential" / "records.parquet")
    draws = pl.read_parquet(out / "confidential" / "posterior.parquet")
    privacy = json.loads((out / "release" / "privacy.json").read_text())
    terms = [
        log_lik * records[f"weight_final_{name}"].to_numpy()
        for name, log_lik in zip(NAMES, _log_likelihoods(draws), strict=True)
    ]
    assert terms[1].max() > 1.0  # A density above 1, so sums of largest sizes are not the bound.
    ends = [sum(end(term, axis=0) for term in terms) for end in (np.max, np.min)]
    joint = np.abs(ends).max(axis=0)
    np.testing.assert_allclose(records["lipschitz_bound_final"], joint, rtol=1e-12)
    alone = [2.0 * np.abs(term).max() for term in terms]
    exact = release.summary["privacy"]
    assert exact["epsilon_per_dataset"] == pytest.approx(2.0 * joint.max(), rel=1e-12)
    assert [one["epsilon_alone"] for one in exact["columns"]] == pytest.approx(alone, rel=1e-12)
    assert exact["epsilon_of_separate_runs"] == pytest.approx(sum(alone), rel=1e-12)
    for name in ("epsilon_per_dataset", "epsilon_of_separate_runs", "epsilon_total"):
        assert privacy[name] == figure(exact[name], True)
    assert privacy["epsilon_per_dataset"] < privacy["epsilon_of_separate_runs"]
    assert privacy["guarantee"] == "asymptotic-dp"
    assert "weights-by-column" in [said["key"] for said in privacy["caveat_keys"]]
    assert "weights-by-column" in privacy["relies_on"]["not_covered"]
    own = records[[f"weight_final_{name}" for name in NAMES]].to_numpy()
    for name in ("weight", "weight_final"):
        np.testing.assert_allclose(records[name], own.mean(axis=1), rtol=1e-15)
    assert release.summary["fits"][-1]["mean_weight"] == pytest.approx(own.mean(), rel=1e-14)
    assert own.min() == 0.0 < own.max() == 1.0


def test_a_table_of_one_column_is_the_same_with_and_without() -> None:
    schema = Schema({"pay": Column(model="normal", range=(-2.0, 2.0))})
    with_it, without = (
        synthesizer(schema=schema, by_column=chosen).fit(TABLE, seed=SEED)
        for chosen in (True, False)
    )
    for one, other in zip(with_it.datasets, without.datasets, strict=True):
        assert one.equals(other)
    assert with_it.posterior.equals(without.posterior)
    assert with_it.records.equals(without.records)
    figures = [made.summary["privacy"] for made in (with_it, without)]
    for name in ("epsilon_per_dataset", "epsilon_of_separate_runs", "columns"):
        assert figures[0][name] == figures[1][name]


def test_in_steps_as_in_memory(tmp_path: Path) -> None:
    # Of distinct records in the order of the tally, sums of weights have the same bits.
    table = TABLE.unique().sort("owner", "pay", "visits", "sex")
    table.write_csv(tmp_path / "in.csv")
    run = synthesizer()
    run.fit_to(tmp_path / "in.csv", tmp_path / "steps", seed=SEED)
    run.fit(pl.read_csv(tmp_path / "in.csv"), seed=SEED).write(tmp_path / "memory")
    for name in ("synthetic-01.csv", "synthetic-02.csv", "privacy.json", "run.toml"):
        files = [(tmp_path / how / "release" / name).read_bytes() for how in ("steps", "memory")]
        assert files[0] == files[1], name
    assert "by_column = true" in (tmp_path / "steps" / "release" / "run.toml").read_text()
    steps, memory = (
        pl.read_parquet(tmp_path / how / "confidential" / "records.parquet")
        for how in ("steps", "memory")
    )
    assert steps.equals(memory)
    assert {f"weight_final_{name}" for name in NAMES} <= set(steps.columns)


def test_the_agency_hears_of_columns_that_lose_records() -> None:
    lines: list[str] = []
    table = TABLE.with_columns(owner=pl.Series(np.where(np.arange(N) < 9, "no", "yes")))
    alone = replace(SCHEMA.columns["owner"], predictors=())
    schema = replace(SCHEMA, columns={**SCHEMA.columns, "owner": alone})
    synthesizer(schema=schema, g=None).fit(
        table, seed=SEED, listener=replace(SILENT, line=lines.append)
    )
    (line,) = (line for line in lines if "'owner'" in line)
    assert f"LW would give weight 0 to 9 of {N} records in column 'owner'" in line
    lines.clear()
    synthesizer(schema=schema, g=0.0).fit(
        table, seed=SEED, listener=replace(SILENT, line=lines.append)
    )
    (line,) = (line for line in lines if "'owner'" in line)
    assert f"LW gives weight 0 to 9 of {N} records in column 'owner'" in line


_CONSTANT = TABLE.with_columns(visits=pl.lit(3))
_STAGED = {"mechanism": "censored", "weights": "staged", "stage_epsilon": 1.0, "epsilon": 3.0}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "one outcome": ({"schema": None, "outcome": "pay", "model": "normal"}, "by-column-alone"),
    "re-weighting": ({"reweight": True}, "by-column-weights"),
    "a searched epsilon": ({"epsilon": 8.0}, "by-column-weights"),
    "downscaling": ({"epsilon": 8.0, "downscale": True}, "by-column-weights"),
    "strict weights": (_STAGED, "mechanism-unknown-setting"),
    "another mechanism": ({"mechanism": "cw"}, "mechanism-unknown-setting"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_weights_by_column_cannot_go_with_is_refused(case: str) -> None:
    settings, key = BAD[case]
    with pytest.raises(InputError, match="by_column") as caught:
        synthesizer(**settings)
    assert caught.value.key == key
    assert "\n" not in str(caught.value)


def test_a_constant_column_is_refused_before_any_work() -> None:
    def fit(_label: str) -> Any:
        raise AssertionError("a fit began")

    run = synthesizer()
    with refused("bounds-of-constant-column", column="visits"):
        run.fit(_CONSTANT, seed=SEED, listener=replace(SILENT, fit=fit))


def test_the_command_takes_and_refuses_the_option(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "in.csv")
    SCHEMA.write(tmp_path / "schema.toml")
    words = ["synthesize", str(tmp_path / "in.csv"), "--by-column", "--seed", str(SEED)]
    words += ["--mechanism", "lw"]
    sampler = [f"--{name}={value}" for name, value in FEW.items()]
    command(*words, *sampler, "--schema", tmp_path / "schema.toml", "--out", tmp_path / "out")
    records = pl.read_parquet(tmp_path / "out" / "confidential" / "records.parquet")
    assert {f"weight_final_{name}" for name in NAMES} <= set(records.columns)
    alone = [*words, "--outcome", "visits", "--model", "poisson", "--out", str(tmp_path / "no")]
    refused = CliRunner().invoke(app, alone)
    assert isinstance(refused.exception, InputError)
    assert not (tmp_path / "no").exists()
