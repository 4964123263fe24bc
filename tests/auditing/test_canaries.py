"""Canaries: what they tell of noisy counts that are right, and of planted errors."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from runs import command
from scipy.stats import beta

import pyvws as vws
from pyvws.auditing import canaries
from pyvws.auditing.canaries import CanaryAudit, epsilon_shown
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.plan import reading
from pyvws.privacy import seller
from pyvws.release import noisy_counts

LEVELS = {name: [f"{name}{i}" for i in range(n)] for name, n in {"a": 20, "b": 15, "c": 12}.items()}
SCHEMA = vws.Schema(
    {name: vws.Column(model="table", levels=own, predictors=()) for name, own in LEVELS.items()}
)
TABLE = pl.DataFrame({n: np.random.default_rng(1).choice(own, 300) for n, own in LEVELS.items()})
FEW: dict[str, Any] = {
    "schema": SCHEMA,
    "mechanism": "noisy-counts",
    "measure": "a:b:c",
    "epsilon": 2.0,
}
FORMS = [{}, {"epsilon": 4.0, "delta": 1e-5}]


def audited(**given: Any) -> CanaryAudit:
    found = vws.audit(TABLE, canaries=1000, **{**FEW, **given})
    assert isinstance(found, CanaryAudit)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_a_right_mechanism_is_seldom_accused(form: dict[str, Any]) -> None:
    """By chance 1 in 40 is. More of 40 than here are less than once in 50,000 runs."""
    found = [audited(**form) for _ in range(40)]
    assert sum(not one.agrees for one in found) <= 7
    assert all(0.0 < one.bound < one.claim for one in found)
    one = found[0]
    assert one.standard_error == pytest.approx(2.0 / math.sqrt(1000), rel=0.35)
    mean = np.mean([each.mu for each in found])
    assert mean == pytest.approx(one.stated, abs=6.0 * one.standard_error / math.sqrt(40))
    assert {each.stated for each in found} == {one.stated}


def half_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("add_discrete_laplace", "add_discrete_gaussian"):
        right = getattr(seller, name)
        monkeypatch.setattr(
            seller, name, lambda counts, *, scale, right=right: right(counts, scale=0.5 * scale)
        )


def sets_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record counts twice in the sets."""

    right = seller.Seller.counts

    def wrong(own: Any, name: str, cells: Any, size: int) -> Any:
        def twice(records: Any) -> Any:
            found = cells(records)
            return replace(found, records=2 * found.records) if name[:4] == "set " else found

        return right(own, name, twice, size)

    monkeypatch.setattr(seller.Seller, "counts", wrong)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("plant", [half_the_noise, sets_twice])
def test_planted_errors_are_seen(
    plant: Any, form: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    found = [audited(**form) for _ in range(20)]
    assert sum(not one.agrees for one in found) >= 19
    assert "further from the statement" in found[0].verdict


@given(st.integers(1, 400), st.data())
def test_the_bound_without_delta_is_that_of_a_share(guesses: int, data: Any) -> None:
    right = data.draw(st.integers(1, guesses))
    share = float(beta.ppf(0.05, right, guesses - right + 1))
    expected = max(0.0, math.log(share / (1.0 - share))) if share > 0.0 else 0.0
    assert epsilon_shown(500, guesses, right, 0.0) == pytest.approx(expected, abs=1e-4)
    assert epsilon_shown(500, guesses, right, 1e-3) <= expected + 1e-4


@pytest.mark.quick
@pytest.mark.parametrize("scale", [0.4, 1.0, 7.3])
@pytest.mark.parametrize("pure", [True, False])
def test_the_stated_noise_has_the_variance_of_its_probabilities(scale: float, pure: bool) -> None:
    values = np.arange(-400.0, 401.0)
    shares = np.exp(-np.abs(values) / scale if pure else -0.5 * (values / scale) ** 2)
    expected = values**2 @ shares / shares.sum()
    assert canaries.variance(scale, pure=pure) == pytest.approx(expected)
    drawn = canaries.drawn_noise(scale, (100_000,), np.random.default_rng(3), pure=pure)
    assert (drawn**2).mean() == pytest.approx(expected, rel=0.1)


RULED = vws.Schema(
    {
        "sex": vws.Column(model="table", levels=["f", "m"], predictors=()),
        "age": vws.Column(model="normal", range=(0, 99), decimals=0, predictors=("sex",)),
        "pay": vws.Column(
            model="normal",
            range=(0, 500),
            decimals=1,
            missing="none",
            rule="none only where age < 15",
            predictors=("sex", "age"),
        ),
    }
)


def test_canaries_are_different_records_that_keep_the_rules() -> None:
    counting = NoisyCounts(epsilon=1.0, measure="pairs").counting(RULED)
    made = canaries._made_up(counting, 400, np.random.default_rng(5))
    assert len(made.unique()) == 400
    young = made["age"].cast(pl.Int64) < 15
    assert young.any()
    assert (made.filter(young)["pay"] == "none").all()
    read = counting.read(nw.from_native(made))
    assert (read.codes >= 0).all()


def test_canaries_have_cells_of_their_own_where_a_set_has_so_many() -> None:
    counting = NoisyCounts(epsilon=1.0, measure="a:b,a:b:c").counting(SCHEMA)
    made = canaries._made_up(counting, 250, np.random.default_rng(5))
    assert len(made.select("a", "b").unique()) == 250


@pytest.mark.parametrize("more", [{}, {"neighbours": "replace"}, {"delta": 1e-6}])
def test_all_that_a_run_buys_is_audited(more: dict[str, Any]) -> None:
    """Fine cells and how round numbers are, chosen cells, rules; chance stays within 7 errors."""
    rng = np.random.default_rng(2)
    age, sex = rng.integers(0, 100, 500), rng.choice(["f", "m", "?"], 500)
    pay = np.where(age < 15, "none", rng.uniform(0, 500, 500).round(1).astype(str))
    table = pl.DataFrame({"sex": sex, "age": age, "pay": pay})
    given = {"schema": RULED, "mechanism": "noisy-counts", "epsilon": 3.0, **more}
    found = vws.audit(table, canaries=500, **given)
    assert abs(found.mu - found.stated) < 7.0 * found.standard_error
    assert 0.5 < found.spread < 2.0


def test_a_canary_is_a_unit_of_which_the_cap_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    home = np.repeat(np.arange(100), 3)
    schema = vws.Schema({"home": vws.Column(role="id"), **SCHEMA.columns}, unit="home")
    given = {**FEW, "schema": schema, "cap": 2}
    found = vws.audit(TABLE.with_columns(home=home), canaries=1000, **given)
    assert found.stated == pytest.approx(audited().stated, rel=0.1)
    assert abs(found.mu - found.stated) < 7.0 * found.standard_error
    assert (found.counted, found.cap) == (2.0, 2)
    monkeypatch.setattr(reading, "places_in", lambda units: np.zeros(len(units), dtype=np.intp))
    right = seller.Seller.of_noise  # It would refuse to sell.
    monkeypatch.setattr(seller.Seller, "of_noise", lambda noise, records, _: right(noise, records))
    uncapped = vws.audit(TABLE.with_columns(home=home), canaries=200, **given)
    assert (uncapped.counted, uncapped.agrees) == (3.0, False)


@pytest.mark.parametrize(
    ("key", "given"),
    [
        ("canaries-too-many", {"canaries": 3601}),
        ("not-a-whole-number", {"canaries": 99}),
        ("audit-without-fit", {"canaries": 0}),
    ],
)
def test_what_canaries_refuse(key: str, given: dict[str, Any]) -> None:
    with refused(key) as caught:
        vws.audit(TABLE, **{**FEW, **given})
    if key == "audit-without-fit":
        assert "--canaries 1000" in str(caught.value)


def test_a_fitted_model_takes_no_canaries() -> None:
    with refused("canaries-of-other-mechanism"):
        vws.audit(TABLE, canaries=1000, schema=SCHEMA, mechanism="lw")


def test_the_copy_and_the_table_stay_out_of_all_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    copies = []
    right = noisy_counts.measured

    def seen(counting: Any, noise: Any, own: Any, **given: Any) -> Any:
        copies.append(own._records.codes)
        return right(counting, noise, own, **given)

    monkeypatch.setattr(noisy_counts, "measured", seen)
    table = TABLE.with_columns(name=pl.lit("secret-value"))
    found = vws.audit(table, canaries=200, **FEW)
    assert 300 < len(copies[0]) < 500
    assert not [*tmp_path.iterdir()]
    said = repr(found) + found._repr_html_() + json.dumps(found.sheets[0].facts)
    assert "secret-value" not in said
    assert not any(level in said for own in LEVELS.values() for level in own)


def test_the_command_prints_what_canaries_tell(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "t.csv")
    (tmp_path / "s.toml").write_text(SCHEMA.text)
    words = ["audit", tmp_path / "t.csv", "--schema", tmp_path / "s.toml"]
    words += ["--mechanism", "noisy-counts", "--epsilon", 2, "--measure", "a:b:c"]
    told = json.loads(command(*words, "--canaries", 200, "--json"))
    assert (told["canaries"], told["claim"], told["guesses"]) == (200, 2.0, 140)
    assert "guesses at coins" in command(*words, "--canaries", 200)
