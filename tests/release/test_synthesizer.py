"""From a table of any kind to a release, and what is refused before any work."""

import json
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused
from runs import release_of, synthesizer

import pyvws as vws
from pyvws.engines.nuts import NativeEngine
from pyvws.errors import ConvergenceWarning, InputError

# A release of few draws, of which no test asks whether the chains agree.
pytestmark = pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")


def _columns(n: int = 120) -> dict[str, Any]:
    rng = np.random.default_rng(6)
    region = rng.choice(["north", "south"], n)
    return {
        "id": np.arange(n) + 900_001,
        "visits": rng.poisson(np.where(region == "north", 30, 20)),
        "region": region,
        "urban": rng.random(n) < 0.7,
        "note": [f"person {i}" for i in range(n)],
    }


def _release(table: Any, **settings: Any) -> vws.Release:
    given = {"outcome": "visits", "model": "poisson", "mechanism": "lw", "datasets": 3, **settings}
    return release_of(table, **{"seed": 1, **given})


TABLE = pl.DataFrame(_columns())


def test_each_kind_of_table_comes_back_in_kind_with_the_same_numbers() -> None:
    columns = _columns()
    made = [
        _release(kind(columns), formula="~ region")
        for kind in (pl.DataFrame, pd.DataFrame, pa.table)
    ]
    assert [type(release.datasets[0]) for release in made] == [
        pl.DataFrame, pd.DataFrame, pa.Table,
    ]  # fmt: skip
    first, *others = made
    for other in others:
        assert other.privacy == first.privacy
        for ours, theirs in zip(first.datasets, other.datasets, strict=True):
            assert list(pl.DataFrame(ours)["visits"]) == list(theirs["visits"].to_numpy())


def test_a_release_shows_no_record_when_it_is_printed() -> None:
    release = _release(TABLE)
    assert repr(release) == (
        f"Release({len(release.datasets)} datasets, mechanism='lw', guarantee='asymptotic-dp', "
        f"epsilon_total={release.privacy['epsilon_total']})"
    )
    with refused("outcome-name"):
        _release(TABLE, outcome=["visits", "id"])


def test_a_pandas_index_stays_with_the_order_and_the_input_is_unchanged() -> None:
    frame = pd.DataFrame(_columns(), index=[f"r{i}" for i in range(120)][::-1])
    before = frame.copy(deep=True)
    release = _release(frame, formula="~ region", keep_order=True)
    pd.testing.assert_frame_equal(frame, before)
    assert list(release.datasets[0].index) == list(frame.index)
    assert list(release.datasets[0].columns) == ["visits", "region"]
    assert list(release.datasets[0]["region"]) == list(frame["region"])


def test_only_outcome_predictors_and_kept_columns_are_released() -> None:
    frame = TABLE
    assert _release(frame).datasets[0].columns == ["visits"]
    kept = _release(frame, formula="~ urban", keep=["note"])
    assert kept.datasets[0].columns == ["visits", "urban", "note"]
    assert kept.privacy["columns_released_unchanged"] == ["urban", "note"]
    assert _release(frame, keep="all").datasets[0].columns == frame.columns


def test_the_same_seed_gives_the_same_release_and_another_another() -> None:
    made = synthesizer(outcome="visits", model="poisson", mechanism="lw", datasets=3)
    first, second, other = (made.fit(TABLE, seed=seed) for seed in (1, 1, 2))
    assert first.datasets[2].equals(second.datasets[2])
    assert first.records.equals(second.records)
    assert not first.datasets[2].equals(other.datasets[2])


@pytest.mark.draws
def test_statement_records_and_posterior_have_their_parts() -> None:
    release = _release(TABLE, formula="~ region", reweight=True, tolerance=0.2)
    privacy, summary = release.privacy, release.summary
    assert privacy["guarantee"] == "asymptotic-dp"
    assert privacy["neighbours"] == "leave-one-out"
    assert privacy["draws"] == 80
    assert summary["epsilon"] == 2 * summary["Delta"]
    assert summary["epsilon_total"] == 3 * summary["epsilon"]
    assert 0 <= privacy["epsilon_total"] - summary["epsilon_total"] < 0.1
    assert 0 <= privacy["lipschitz_bound"] - summary["Delta"] < 0.1
    assert set(summary["diagnostics"]) == {
        "rhat_max", "ess_bulk_min", "ess_tail_min", "divergences",
    }  # fmt: skip
    assert release.records.columns == [
        "released_row", "weight", "lipschitz_bound", "risk", "weight_final",
        "lipschitz_bound_final",
    ]  # fmt: skip
    assert release.records.height == 120
    assert release.records["lipschitz_bound_final"].max() == summary["Delta"]
    assert release.posterior.columns[:4] == ["chain", "draw", "beta[1]", "beta[2]"]
    assert release.posterior.height == 80
    assert len(summary["search"]) >= 1
    json.dumps(summary, allow_nan=False)


def test_cw_takes_patterns_from_known_columns() -> None:
    release = _release(TABLE, mechanism="cw", radius=0.3, known=["region", "urban"])
    known = [TABLE["region"], TABLE["urban"]]
    expected = vws.identification_risk(TABLE["visits"], radius=0.3, known=known)
    np.testing.assert_array_equal(release.records["risk"], expected)
    np.testing.assert_array_equal(release.records["weight"], 1.0 - expected)


@pytest.mark.draws
@pytest.mark.parametrize(
    ("settings", "guarantee"),
    [
        ({"mechanism": "unweighted"}, "none"),
        ({"mechanism": "lw", "threshold": 0.95}, "none"),
        ({"mechanism": "sw"}, "asymptotic-dp"),
        ({"mechanism": "sw", "match": 4.0}, "asymptotic-dp"),
    ],
)
def test_the_guarantee_follows_mechanism_and_threshold(
    settings: dict[str, Any], guarantee: str
) -> None:
    release = _release(TABLE, **settings)
    assert release.privacy["guarantee"] == guarantee
    assert any("guarantee" in sentence for sentence in release.privacy["caveats"])


@pytest.mark.draws
def test_poor_convergence_is_a_warning_and_a_caveat() -> None:
    with pytest.warns(ConvergenceWarning, match="ESS"):
        release = _release(pl.DataFrame(_columns()))
    assert any("may be understated" in one for one in release.privacy["caveats"])


def _with(**changed: Any) -> pl.DataFrame:
    return pl.DataFrame({**TABLE.to_dict(as_series=False), **changed})


_BAD: list[tuple[str, Any, dict[str, Any], str]] = [
    ("missing outcome", _with(visits=[None, 1, None, *[5] * 117]), {},
     "column-missing-at-rows"),
    ("infinite outcome", _with(visits=[1.0, np.inf, *[5.0] * 118]), {},
     "column-missing-at-rows"),
    ("missing predictor", _with(region=[None] * 9 + ["a", "b"] * 55 + ["a"]),
     {"formula": "~ region"},
     "column-missing-at-rows"),
    ("negative counts", _with(visits=[-1, *range(119)]), {},
     "counts-negative"),
    ("fractions", _with(visits=[0.5, 1.5, *range(118)]), {},
     "counts-with-fraction"),
    ("unknown outcome", _with(), {"outcome": "visit"}, "columns-lacking"),
    ("unknown predictor", _with(), {"formula": "~ regions"}, "columns-lacking"),
    ("unknown kept", _with(), {"keep": ["notes"]}, "columns-lacking"),
    ("unknown known", _with(), {"mechanism": "cw", "known": ["x"]}, "columns-lacking"),
    ("constant outcome", _with(visits=[7] * 120), {}, "bounds-of-constant-column"),
    ("constant for sw", _with(visits=[7] * 120), {"mechanism": "sw"}, "bounds-of-constant-column"),
    (
        "constant for weighted-epsilon",
        *(_with(visits=[7] * 120), {"mechanism": "weighted-epsilon", "epsilon": 5.0}),
        "bounds-of-constant-column",
    ),
    (
        "constant for censored with LW's weights",
        *(_with(visits=[7] * 120), {"mechanism": "censored", "epsilon": 5.0}),
        "bounds-of-constant-column",
    ),
    ("one record", _with().head(1), {}, "table-too-small"),
    ("no record", _with().head(0), {}, "table-too-small"),
    ("rank", _with(), {"formula": "~ region + C(region)"}, "design-rank-deficient"),
    ("k at 1", _with(), {"reweight": True, "k": 1.0}, "not-strictly-between-0-and-1"),
    ("k at 0", _with(), {"reweight": True, "k": 0.0}, "not-strictly-between-0-and-1"),
    ("negative c", _with(), {"c": -0.1}, "negative-number"),
    ("zero radius", _with(), {"mechanism": "cw", "radius": 0}, "not-above-0"),
    ("strange radius", _with(), {"mechanism": "cw", "radius_kind": "ratio"}, "not-a-choice"),
    ("zero threshold", _with(), {"threshold": 0.0}, "threshold-range"),
    ("setting of another", _with(), {"radius": 0.2}, "mechanism-unknown-setting"),
    ("unknown model", _with(), {"model": "gaussian"}, "not-a-choice"),
    ("unknown mechanism", _with(), {"mechanism": "dp"}, "not-a-choice"),
    ("reweight unweighted", _with(), {"mechanism": "unweighted", "reweight": True},
     "of-other-mechanisms"),
    ("too many datasets", _with(), {"datasets": 3001}, "too-few-draws"),
    ("outcome as predictor", _with(), {"formula": "~ visits"}, "formula-reads-outcome"),
    ("known missing", _with(region=[None, *["a"] * 119]),
     {"mechanism": "cw", "known": ["region"]}, "column-missing-at-rows"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("table", "settings", "key"), [bad[1:] for bad in _BAD], ids=[bad[0] for bad in _BAD]
)
def test_bad_input_is_refused_before_any_fit(
    table: Any, settings: dict[str, Any], key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_work(*_args: Any, **_kwargs: Any) -> None:
        raise AssertionError("a fit was started")

    monkeypatch.setattr(NativeEngine, "sample", no_work)
    with refused(key):
        _release(table, **settings)


@pytest.mark.draws
@pytest.mark.parametrize(
    ("settings", "refusal"),
    [
        ({"draws": 500}, refused("setting-of-a-part", name="draws")),
        ({"c": 0.5}, refused("setting-of-a-part", name="c")),
        ({"outcome_scale": "log"}, refused("setting-of-a-part")),
        ({"drws": 500}, refused("unknown-setting")),
    ],
)
def test_a_synthesizer_says_where_a_setting_of_a_part_goes(
    settings: dict[str, Any], refusal: Any
) -> None:
    with refusal:
        vws.Synthesizer(outcome="visits", mechanism="lw", **settings)


def test_zeros_ties_and_two_records_run() -> None:
    release = _release(pl.DataFrame({"visits": [0, 0, 0, 1, 1, 9]}))
    assert release.records["weight"].min() == 0.0
    with pytest.warns(ConvergenceWarning):
        two = _release(pl.DataFrame({"visits": [0, 3]}))
    assert two.datasets[0].height == 2


@pytest.mark.parametrize("settings", [{"g": 1.0}, {"mechanism": "cw", "c": 1e9}])
def test_no_guarantee_where_the_settings_leave_every_weight_at_one(
    settings: dict[str, Any],
) -> None:
    release = _release(TABLE, **settings)
    assert (release.records["weight_final"] == 1).all()
    assert release.privacy["guarantee"] == "none"
    assert any("No record is downweighted" in said for said in release.privacy["caveats"])
    assert release.privacy["epsilon_total"] > 0


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.table])
@pytest.mark.parametrize("settings", [{"keep": ["id", "copy"]}, {"formula": "~ copy"}])
def test_a_column_that_holds_the_outcome_is_not_released(kind: Any, settings: Any) -> None:
    columns = _columns()
    table = kind({**columns, "copy": columns["visits"].astype(float), "id": columns["visits"] + 1})
    key = "columns-equal-outcome"
    with refused(key):
        _release(table, **settings)


_CANARY = "CANARYq7"


@pytest.mark.parametrize(
    ("values", "formats"),
    [
        ([1, *[_CANARY] * 119], ("csv", "parquet", "arrow")),
        ([10**40] * 120, ("csv", "parquet", "arrow")),
        ([[_CANARY]] * 120, ("csv",)),
        ([_CANARY.encode()] * 120, ("csv",)),
    ],
    ids=["several kinds", "too large", "lists", "bytes"],
)
def test_a_kept_column_that_no_file_can_hold_is_named_and_not_shown(
    values: list[object], formats: tuple[str, ...], tmp_path: Path
) -> None:
    frame = pd.DataFrame({**_columns(), "odd": pd.Series(values, dtype=object)})
    release = _release(
        frame, keep="odd", mechanism="perturbed-histogram", model="negative-binomial", epsilon=1,
        range=(0, 200),
    )  # fmt: skip
    for format in ("csv", "parquet", "arrow"):
        if format not in formats:
            release.write(tmp_path / format, format=format)
            continue
        with pytest.raises(InputError) as caught:
            release.write(tmp_path / format, format=format)
        said = "".join(traceback.format_exception(caught.value))
        assert f"No {format} file can hold the values of odd" in said
        assert _CANARY not in said
        assert not (tmp_path / format).exists()


def test_a_dot_in_the_formula_is_all_columns_but_the_outcome(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    table = pl.DataFrame(
        {"y": rng.poisson(9, 80), "town": rng.choice(["a", "b"], 80), "the age": rng.random(80)}
    )
    runs = [
        synthesizer(outcome="y", model="poisson", datasets=1, formula=formula)
        for formula in ("~ .", "~ town + `the age`")
    ]
    one, two = (run.fit(table, seed=5) for run in runs)
    assert one.datasets[0].equals(two.datasets[0])
    assert one.privacy["columns_released_unchanged"] == ["town", "the age"]
    assert 'formula = "~ ( `town` + `the age` )"'.replace(" ", "") in one.config.replace(" ", "")
    table.write_parquet(tmp_path / "table.parquet")
    privacy = runs[0].fit_to(tmp_path / "table.parquet", tmp_path / "out", seed=5)
    assert privacy["columns_released_unchanged"] == ["town", "the age"]
