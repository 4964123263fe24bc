"""From a fit made elsewhere, or from given weights, to a written release and its pages."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
import xarray
from refusals import refused
from run_here import run_here
from scipy import stats

import pyvws as vws
from pyvws.errors import InputError
from pyvws.statement.words import SCHEMA

pytestmark = pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")

_N, _CHAINS, _DRAWS = 80, 2, 150
_RNG = np.random.default_rng(3)
_WEIGHTS = np.where(np.arange(_N) % 2, 0.4, 0.8)
_TABLE = pl.DataFrame(
    {
        "visits": _RNG.poisson(6.0, _N),
        "cost": _RNG.normal(30.0, 5.0, _N).round(2),
        "region": _RNG.choice(["north", "south"], _N),
    }
)


def _fit(column: str, weights: Any = _WEIGHTS, **given: Any) -> vws.ExistingFit:
    """A conjugate fit as a library hands it out: terms without weights, and predictive draws."""
    y = _TABLE[column].to_numpy().astype(float)
    alpha = np.ones(_N) if weights is None else weights
    draws = (_CHAINS, _DRAWS, 1)
    if column == "visits":
        rate = _RNG.gamma(alpha @ y, 1 / alpha.sum(), draws)
        terms, made = stats.poisson.logpmf(y, rate), _RNG.poisson(rate, (*draws[:2], _N))
    else:
        mean = _RNG.normal(alpha @ y / alpha.sum(), 5.0 / np.sqrt(alpha.sum()), draws)
        terms, made = stats.norm.logpdf(y, mean, 5.0), _RNG.normal(mean, 5.0, (*draws[:2], _N))
    dims = ("chain", "draw", "record")
    groups = {"log_likelihood": terms, "posterior_predictive": made}
    tree = xarray.DataTree.from_dict(
        {name: xarray.Dataset({column: (dims, values)}) for name, values in groups.items()}
    )
    said = {} if weights is None else {"log_lik": "plain"}
    return vws.from_arviz(tree, weights, **said, **{"y_rep_from": "parameters", **given})


def _keys(release: vws.Release, part: str = "caveat_keys") -> set[str]:
    return {one["key"] for one in release.privacy[part]}


def _one(fit: Any, **given: Any) -> vws.Release:
    of_run = {"outcome": "visits", "model": "poisson", "keep": ["region"], "datasets": 4, "seed": 5}
    return vws.synthesize(_TABLE, existing_fit=fit, **{**of_run, **given})


def test_it_ends_in_a_folder_with_its_statement_and_both_pages(tmp_path: Path) -> None:
    fit = _fit("visits")
    release = _one(fit)
    Delta = np.abs(fit.log_lik).max()
    assert release.summary["Delta"] == Delta
    assert release.summary["epsilon_total"] == 8 * Delta
    assert release.privacy["guarantee"] == "asymptotic-dp"
    assert {"given-weights", "outside-fit"} <= _keys(release)
    assert "unknown-predictions" not in _keys(release)
    ledger = {one["key"]: one["epsilon"] for one in release.privacy["ledger"]}
    assert ledger["given-weights"] == ledger["outside-fit"] == "not accounted"
    assert release.privacy["relies_on"]["weights"]["source"] == "outside"
    rows = {tuple(row) for row in fit.y_rep}
    for aligned in release.aligned():
        assert tuple(aligned["visits"]) in rows
        assert aligned["region"].to_list() == _TABLE["region"].to_list()
    np.testing.assert_array_equal(release.records["weight"].to_numpy(), _WEIGHTS)
    np.testing.assert_array_equal(
        release.records["lipschitz_bound_final"].to_numpy(), fit.bounds().by_record
    )

    folder = release.write(tmp_path / "out")
    ended = run_here("report", str(folder))
    assert not ended.code
    assert (folder / "release" / "report.html").is_file()
    assert (folder / "confidential" / "report.html").is_file()
    written = json.loads((folder / "release" / "privacy.json").read_text())
    assert written == release.privacy
    pytest.importorskip("jsonschema").validate(written, SCHEMA)
    public = "".join(p.read_text() for p in (folder / "release").iterdir() if p.suffix != ".csv")
    assert "0.4" not in (folder / "release" / "run.toml").read_text()
    assert not any(f"{value:.6f}" in public for value in fit.bounds().by_record)


def test_what_nobody_computed_is_not_claimed() -> None:
    """Of unknown predictions and of unweighted fits no statement says more than none."""
    unknown = _one(_fit("visits", y_rep_from="unknown"))
    assert unknown.privacy["guarantee"] == "none"
    assert "unknown-predictions" in _keys(unknown)
    plain = _one(_fit("visits", None))
    assert plain.privacy["guarantee"] == "none"
    assert (plain.privacy["mechanism"], "unweighted" in _keys(plain)) == ("unweighted", True)
    ones = _one(_fit("visits", np.ones(_N)))
    assert ones.privacy["guarantee"] == "none"


def test_a_record_with_an_infinite_term_has_no_figure() -> None:
    fit = _fit("visits")
    log_lik = fit.log_lik.copy()
    log_lik[3, 7] = -np.inf
    told = vws.from_log_lik(log_lik, _WEIGHTS, y_rep=fit.y_rep, y_rep_from="parameters")
    privacy = _one(told).privacy
    assert (privacy["guarantee"], privacy["epsilon_total"]) == ("none", None)


def test_several_fits_are_bounded_jointly() -> None:
    schema = vws.Schema(
        {
            "region": vws.Column(role="public", levels=("north", "south")),
            "visits": vws.Column(model="poisson"),
            "cost": vws.Column(model="normal", predictors=()),
        }
    )
    fits = {name: _fit(name) for name in ("visits", "cost")}
    release = vws.synthesize(_TABLE, schema=schema, existing_fit=fits, datasets=3, seed=2)
    joint = vws.joint_bounds([fit.log_lik for fit in fits.values()])
    assert release.summary["Delta"] == joint.database
    assert release.privacy["columns"][0]["model"] == "own"
    alone = [one["epsilon_alone"] for one in release.privacy["columns"]]
    assert max(alone) <= release.privacy["epsilon_per_dataset"] <= sum(alone) + 0.1
    np.testing.assert_array_equal(release.records["lipschitz_bound_final"], joint.by_record)
    for dataset in release.aligned():
        for name, fit in fits.items():
            assert any(np.array_equal(dataset[name].to_numpy(), row) for row in fit.y_rep)
    with refused("existing-fit-columns", columns="visits, cost"):
        vws.synthesize(_TABLE, schema=schema, existing_fit=fits["visits"], seed=2)


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"reweight": True}, refused("existing-fit-with-setting", given="reweight")),
        ({"mechanism": "sw"}, refused("existing-fit-with-setting", given="mechanism")),
        ({"epsilon": 3.0}, refused("existing-fit-with-setting", given="epsilon")),
        ({"draws_per_release": 1}, refused("y-rep-with-setting")),
        ({"model": "normal", "outcome_scale": "log"}, refused("y-rep-unit")),
        ({"existing_fit": vws.from_log_lik(-np.ones((8, _N)))}, refused("y-rep-missing")),
        ({"existing_fit": 3.0}, refused("existing-fit-kind")),
    ],
)
def test_what_such_a_release_cannot_have_is_refused(given: Any, refusal: Any) -> None:
    with refusal:
        _one(given.pop("existing_fit", None) or _fit("visits"), **given)


def test_a_fit_is_of_the_tables_records_and_of_records_alone() -> None:
    for weights, key in ((None, "existing-fit-records"), (_WEIGHTS, "given-weights-length")):
        with refused(key):
            vws.synthesize(
                _TABLE.head(70),
                outcome="visits",
                model="poisson",
                existing_fit=_fit("visits", weights),
            )
    columns = {"region": vws.Column(role="drop"), "visits": vws.Column(model="poisson")}
    unit = vws.Schema({**columns, "cost": vws.Column(role="id")}, unit="cost")
    with refused("existing-fit-with-setting", given="unit"):
        vws.synthesize(_TABLE, schema=unit, existing_fit=_fit("visits", None))


def test_values_that_the_column_cannot_have_are_refused() -> None:
    fit = _fit("visits")
    halves = vws.from_log_lik(fit.log_lik, _WEIGHTS, y_rep=fit.y_rep + 0.5)
    with refused("y-rep-values", kind="whole numbers"):
        _one(halves)
    empty = vws.from_log_lik(fit.log_lik, _WEIGHTS, y_rep=np.full_like(fit.y_rep, np.nan))
    with refused("y-rep-values", kind="finite numbers"):
        _one(empty)


def test_values_that_are_the_records_own_are_refused() -> None:
    """Such a release would be the confidential column, under a figure that says otherwise."""
    y = _TABLE["visits"].to_numpy()
    fit, copied = _fit("visits"), np.tile(y, (_CHAINS * _DRAWS, 1))
    for y_rep, stops in ((copied, True), (np.where(np.arange(_N) == 0, y + 1, copied), False)):
        made = vws.from_log_lik(fit.log_lik, _WEIGHTS, y_rep=y_rep, y_rep_from="parameters")
        with pytest.raises(InputError, match="itself") if stops else nullcontext():
            _one(made)


def test_given_weights_run_the_loop_and_the_ledger_says_so() -> None:
    few: Any = {"draws": 200, "warmup": 200, "chains": 2, "datasets": 2, "seed": 4}
    given = vws.GivenWeights(_WEIGHTS)
    release = vws.synthesize(_TABLE, outcome="visits", model="poisson", mechanism=given, **few)
    np.testing.assert_array_equal(release.records["weight"].to_numpy(), _WEIGHTS)
    assert [fit["label"] for fit in release.summary["fits"]] == ["Given weights"]
    assert release.privacy["guarantee"] == "asymptotic-dp"
    assert {"given-weights"} <= _keys(release) & _keys(release, "ledger")
    assert "weights" not in _keys(release)
    assert "unchecked" not in release.privacy
    assert "alpha" not in release.summary["settings"]
    assert "0.4" not in release.config
    ones = vws.GivenWeights(np.ones(_N))
    plain = vws.synthesize(_TABLE, outcome="visits", model="poisson", mechanism=ones, **few)
    assert plain.privacy["guarantee"] == "none"


def test_given_weights_of_a_file_are_those_of_python(tmp_path: Path) -> None:
    """The command reads a column of weights, and its run.toml says what to name again."""
    _TABLE.write_csv(tmp_path / "table.csv")
    frame = pl.DataFrame({"alpha": _WEIGHTS})
    frame.write_csv(tmp_path / "alpha.csv")
    frame.write_parquet(tmp_path / "alpha.parquet")
    words = ["--outcome", "visits", "--model", "poisson", "--datasets", "2", "--seed", "4"]
    words += ["--draws", "200", "--warmup", "200", "--chains", "2"]
    synthesize = ["synthesize", tmp_path / "table.csv"]
    first, again = tmp_path / "first", tmp_path / "again"
    ended = run_here(*synthesize, *words, "--given-weights", tmp_path / "alpha.csv", "--out", first)
    assert ended.code == 0, ended.err
    privacy = json.loads((first / "release" / "privacy.json").read_text())
    assert {"given-weights"} <= {one["key"] for one in privacy["ledger"]}
    assert (privacy["guarantee"], privacy["relies_on"]["weights"]["source"]) == (
        "asymptotic-dp",
        "outside",
    )
    records = pl.read_parquet(first / "confidential" / "records.parquet")
    np.testing.assert_array_equal(records["weight"].to_numpy(), _WEIGHTS)
    assert "0.4" not in (first / "release" / "run.toml").read_text()
    config = ["--config", first / "confidential" / "run.toml", "--out", again]
    ended = run_here(*synthesize, "--given-weights", tmp_path / "alpha.parquet", *config)
    assert ended.code == 0, ended.err
    for name in ("synthetic-01.csv", "privacy.json"):
        assert (again / "release" / name).read_bytes() == (first / "release" / name).read_bytes()


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("alpha\n" + "0.5\n" * (_N - 1), (), f"{_N - 1} given weights, and the table has {_N}"),
        ("alpha\n" + "1.5\n" * _N, (), "must lie in [0, 1]"),
        ("alpha\n" + "0.5\n" * (_N - 1) + "NA\n", (), "missing"),
        ("alpha\n" + "half\n" * _N, (), "not numeric"),
        ("row,alpha\n" + "1,0.5\n" * _N, (), "must have one column of weights"),
        ("alpha\n" + "0.5\n" * _N, ("--mechanism", "cw"), "takes the place of --mechanism"),
        ("alpha\n" + "0.5\n" * _N, ("--c", "0.5"), "given-weights' takes no c. Leave it out"),
        ("alpha\n" + "0.5\n" * _N, ("--memory", "1"), "given weights, a fit made elsewhere"),
    ],
)
def test_other_files_of_weights_are_refused(
    text: str, more: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    _TABLE.write_csv(tmp_path / "table.csv")
    (tmp_path / "alpha.csv").write_text(text)
    words = ["--outcome", "visits", "--model", "poisson", "--seed", "4", *more]
    out = tmp_path / "out"
    ended = run_here(
        *("synthesize", tmp_path / "table.csv", *words, "--out", out),
        *("--given-weights", tmp_path / "alpha.csv"),
    )
    assert ended.code
    assert message in " ".join(ended.err.split())
    assert not out.exists()


def test_given_weights_are_one_a_record_in_an_order() -> None:
    with refused("outside-0-to-1"):
        vws.GivenWeights([0.5, 1.5])
    short = vws.GivenWeights(_WEIGHTS[:-1])
    of_run: Any = {"outcome": "visits", "model": "poisson", "seed": 1}
    with refused("given-weights-length", alpha=79, records=80):
        vws.synthesize(_TABLE, mechanism=short, **of_run)
    held = duckdb.from_arrow(_TABLE.to_arrow())
    with refused("arrays-in-steps"):
        vws.synthesize(held, mechanism=vws.GivenWeights(_WEIGHTS), **of_run)
