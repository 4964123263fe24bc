"""Mechanisms at an epsilon that the agency sets, from a table to a statement."""

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused

import pyvws as vws
from pyvws.errors import InputError, SearchError
from pyvws.models.registry import find_model
from pyvws.statement.words import caveat_keys

pytestmark = pytest.mark.draws

_FAST: dict[str, Any] = {"draws": 1500, "warmup": 500, "chains": 2, "datasets": 3, "seed": 1}


@pytest.fixture(scope="module")
def visits() -> pl.DataFrame:
    rng = np.random.default_rng(6)
    return pl.DataFrame({"visits": rng.negative_binomial(8, 8 / (8 + 30.0), 150)})


def release(table: pl.DataFrame, **settings: Any) -> vws.Release:
    return vws.synthesize(table, outcome="visits", **{**_FAST, **settings})


@pytest.mark.parametrize(
    "settings",
    [
        {"mechanism": "lw"},
        {"mechanism": "lw", "reweight": True},
        {"mechanism": "cw", "radius": 0.3},
        {"mechanism": "pairwise", "radius": 0.3},
        {"mechanism": "sw"},
    ],
    ids=lambda given: "-".join(map(str, given.values())),
)
def test_a_target_is_met_from_below_by_draws_that_the_search_has_not_seen(
    visits: pl.DataFrame, settings: dict[str, Any]
) -> None:
    made = release(visits, epsilon=9.0, **settings)
    assert 0.8 * 9.0 <= made.summary["epsilon"] <= 9.0
    assert made.privacy["epsilon_per_dataset"] <= 9.0
    *_, search, confirmed = made.summary["fits"]
    assert confirmed["label"] == f"{search['label']}, confirmed"
    assert search["epsilon"] <= confirmed["epsilon"] == made.summary["epsilon"]
    assert made.privacy["draws"] == len(made.posterior) == 4 * 3000
    assert "confirmed" in caveat_keys(made.privacy)
    assert len(made.summary["fits"]) <= 10
    assert made.privacy["epsilon_target"] == 9.0
    assert made.privacy["guarantee"] == "asymptotic-dp"
    assert made.summary["search"]
    assert any("search is not accounted" in said for said in made.privacy["caveats"])
    last = made.privacy["ledger"][-1]
    assert last["epsilon"] == made.privacy["epsilon_total"]
    assert all(entry["epsilon"] == "not accounted" for entry in made.privacy["ledger"][:-1])


def test_weighted_epsilon_takes_records_out_and_reports_what_it_reached(
    visits: pl.DataFrame,
) -> None:
    asked: dict[str, Any] = {"mechanism": "weighted-epsilon", "accept_above_target": True}
    made = release(visits, epsilon=6.5, **asked)
    labels = [fit["label"] for fit in made.summary["fits"]]
    truncated = "Weighted-epsilon"
    assert labels == ["unweighted", "LW", truncated, f"{truncated}, confirmed"]
    lw = made.summary["fits"][1]
    assert lw["epsilon"] > 6.5
    weights = made.records["weight"].to_numpy()
    assert (weights == 0).sum() > 1
    assert made.privacy["epsilon_target"] == 6.5
    reached = made.summary["epsilon"]
    above = any("aimed at a smaller epsilon" in said for said in made.privacy["caveats"])
    assert above == (reached > 6.5)
    with refused("epsilon-below-all-bounds"):
        release(visits, mechanism="weighted-epsilon", epsilon=0.5)
    untouched = release(visits, mechanism="weighted-epsilon", epsilon=1e3)
    labels = [fit["label"] for fit in untouched.summary["fits"]]
    assert labels == ["unweighted", "LW", "LW, confirmed"]
    plain = release(visits, mechanism="lw")
    assert untouched.records["weight_final"].equals(plain.records["weight"])


@pytest.mark.parametrize(
    "settings",
    [
        {"mechanism": "weighted-epsilon"},
        {"mechanism": "weighted-epsilon", "reweight": True, "tolerance": 0.6},
    ],
    ids=["weighted-epsilon", "reweighted"],
)
def test_a_missed_target_is_an_error_unless_it_is_accepted(
    visits: pl.DataFrame, settings: dict[str, Any]
) -> None:
    with pytest.raises(SearchError, match=r"nothing is released.*--accept-above-target") as said:
        release(visits, epsilon=6.0, **settings)
    assert not re.search(r"\d\.\d", str(said.value))  # No figure of the data.
    accepted = release(visits, epsilon=6.0, accept_above_target=True, **settings)
    assert accepted.summary["epsilon"] > 6.0
    assert accepted.privacy["epsilon_per_dataset"] >= accepted.summary["epsilon"]
    assert "above-target" in caveat_keys(accepted.privacy)
    assert accepted.summary["fits"][-1]["label"].endswith(", confirmed")


@pytest.fixture(scope="module")
def incomes() -> pl.DataFrame:
    """Heavy tails on the log scale, and two factors with rare levels."""
    rng, n = np.random.default_rng(11), 994
    logs = (
        10.8 + 0.9 * rng.standard_t(5, size=n) - 0.6 * (rng.random(n) < 0.05) * rng.gamma(3, 1, n)
    )
    return pl.DataFrame(
        {
            "visits": np.exp(logs).round(2),
            "town": rng.choice(["a", "b"], n, p=[0.92, 0.08]),
            "family": rng.choice(list("vwxyz"), n, p=[0.5, 0.21, 0.18, 0.085, 0.025]),
        }
    )


@pytest.mark.parametrize("mechanism", ["lw", "cw"])
def test_incomes_with_rare_levels_end_with_a_release_in_eight_refits(
    incomes: pl.DataFrame, mechanism: str
) -> None:
    made = release(
        incomes,
        model=find_model("normal", outcome_scale="log"),
        formula="~ town + family",
        mechanism=mechanism,
        epsilon=3.0,
        seed=1,
    )
    assert 1.5 < made.summary["epsilon"] <= 3.0
    assert len(made.summary["fits"]) - 1 <= 8


def test_what_a_missed_target_advises_works(visits: pl.DataFrame) -> None:
    for advised in (
        {"mechanism": "lw"},
        {"mechanism": "weighted-epsilon", "downscale": True},
        {"mechanism": "lw", "downscale": True},
    ):
        assert release(visits, epsilon=6.0, **advised).summary["epsilon"] <= 6.0


@pytest.mark.parametrize(
    ("weights", "guarantee", "fits"),
    [
        ("lw", "asymptotic-dp", ["unweighted", "Censored LW"]),
        ("cw", "asymptotic-dp", ["Censored CW"]),
        ("none", "dp", ["Censored"]),
    ],
)
def test_no_censored_bound_exceeds_half_of_epsilon(
    visits: pl.DataFrame, weights: str, guarantee: str, fits: list[str]
) -> None:
    made = release(visits, mechanism="censored", epsilon=9.0, weights=weights, draws=4000)
    assert [fit["label"] for fit in made.summary["fits"]] == fits
    assert made.records["lipschitz_bound"].max() <= 4.5
    assert made.privacy["lipschitz_bound"] == 4.5
    assert made.privacy["epsilon_per_dataset"] == 9.0
    assert made.privacy["epsilon_total"] == 27.0
    assert (made.privacy["guarantee"], made.privacy["bound_is"]) == (guarantee, "enforced")
    said = " ".join(made.privacy["caveats"])
    assert ("they come from the whole" in said) == (weights != "none")


def test_at_a_large_epsilon_censoring_changes_nothing(visits: pl.DataFrame) -> None:
    free = release(visits, mechanism="lw")
    made = release(visits, mechanism="censored", epsilon=1e3)
    for name in ("weight", "risk"):
        assert made.records[name].equals(free.records[name])
    assert made.summary["fits"][-1]["Delta"] == pytest.approx(free.summary["Delta"], rel=0.1)


def test_a_posterior_that_is_the_prior_is_refused() -> None:
    table = pl.DataFrame({"visits": np.random.default_rng(1).poisson(100, 60)})
    ones = {"weights": "cw", "c": 0.0, "g": 1.0}
    with pytest.raises(InputError, match="epsilon clamps every record at every draw"):
        release(table, model="poisson", mechanism="censored", epsilon=5.0, **ones)


def test_a_histogram_spends_epsilon_once_for_all_datasets(visits: pl.DataFrame) -> None:
    pytest.importorskip("opendp")
    made = release(visits, mechanism="perturbed-histogram", epsilon=5.0, range=(0, 200), round=True)
    assert made.privacy["guarantee"] == "dp-if-bounded"
    assert made.privacy["neighbours"] == made.privacy["certified"]["neighbours"] == "replace-one"
    assert made.privacy["certified"]["epsilon_total"] == 5.0
    # The rule for the number of bins takes the number of records, so a deletion moves them all.
    assert made.privacy["epsilon_by_neighbours"]["leave-one-out"]["total"] is None
    assert made.privacy["epsilon_per_dataset"] == made.privacy["epsilon_total"] == 5.0
    assert len(made.datasets) == 3
    for table in made.datasets:
        assert table["visits"].dtype == pl.Int64
        assert table["visits"].is_between(0, 200).all()
        assert len(table) == 150
    # Noise of a scale at which two draws of it agree in all bins with a chance below 1e-10.
    again = release(visits, mechanism="perturbed-histogram", epsilon=0.01, range=(0, 200))
    other = release(visits, mechanism="perturbed-histogram", epsilon=0.01, range=(0, 200))
    assert not again.posterior["noisy_count"].equals(other.posterior["noisy_count"])


def test_a_histogram_under_loo_neighbours_does_not_tell_the_number_of_records(
    visits: pl.DataFrame,
) -> None:
    pytest.importorskip("opendp")
    sizes = set()
    for _ in range(6):
        made = release(
            visits,
            mechanism="perturbed-histogram",
            epsilon=1.0,
            range=(0, 200),
            bins=8,
            neighbours="loo",
        )
        assert not any("number of records is released" in said for said in made.privacy["caveats"])
        assert made.privacy["certified"]["neighbours"] == "leave-one-out"
        assert made.privacy["epsilon_by_neighbours"]["replace-one"]["total"] == 2.0
        sizes |= {len(table) for table in made.datasets}
    assert len(sizes) > 1
    with refused("rows-protected"):
        release(
            visits.with_columns(town=pl.lit("x")),
            mechanism="perturbed-histogram",
            epsilon=1.0,
            range=(0, 200),
            bins=8,
            neighbours="loo",
            keep=["town"],
        )


def test_noise_from_a_seed_and_edges_from_data_have_no_guarantee(visits: pl.DataFrame) -> None:
    seeded = release(
        visits, mechanism="perturbed-histogram", epsilon=5.0, range=(0, 200), noise="seeded-float"
    )
    assert (seeded.privacy["guarantee"], seeded.privacy["publishable"]) == ("none", False)
    assert any("Not for publication" in said for said in seeded.privacy["caveats"])
    nothing = {"per_dataset": None, "total": None}
    # Whoever finds the seed takes the noise off.
    assert list(seeded.privacy["epsilon_by_neighbours"].values()) == [nothing, nothing]
    pytest.importorskip("opendp")
    own = release(visits, mechanism="perturbed-histogram", epsilon=5.0, edges_from_data=True)
    assert own.privacy["guarantee"] == "none"
    # Edges show two records' values, so no figure holds for either neighbours.
    assert list(own.privacy["epsilon_by_neighbours"].values()) == [nothing, nothing]


def test_a_histogram_s_statement_has_its_figures_and_columns(visits: pl.DataFrame) -> None:
    asked: dict[str, Any] = {
        **{"mechanism": "perturbed-histogram", "epsilon": 0.25, "range": (0, 200)},
        **{"noise": "seeded-float", "bins": 4},
    }
    towns = visits.with_columns(town=pl.Series(["a", "b"] * 75))
    made = release(towns, **asked, keep=["town"])
    exact = made.summary["privacy"]
    assert (made.privacy["epsilon_total"], exact["epsilon_total"]) == (0.3, 0.25)
    assert (made.privacy["ledger"][0]["epsilon"], exact["ledger"][0]["epsilon"]) == (0.3, 0.25)
    assert made.privacy["columns_released_unchanged"] == ["town"]
    assert "unchanged" in caveat_keys(made.privacy)
    assert all(table["town"].equals(towns["town"]) for table in made.aligned())
    assert made.records["record"].to_list() == list(range(1, 151))
    alone = release(visits, **asked)
    assert alone.privacy["columns_released_unchanged"] == []
    assert "unchanged" not in caveat_keys(alone.privacy)
    with refused("histogram-with-predictors"):
        release(towns, **asked, formula="~ town")
    # R's stream takes seeds below 2^31.
    first, other, wrapped = (
        release(visits, **{**asked, "seed": seed}).posterior["noisy_count"].to_list()
        for seed in (5, 6, 2**31 + 5)
    )
    assert first == wrapped != other


def test_values_outside_the_range_may_be_counted_in_the_end_bins(visits: pl.DataFrame) -> None:
    pytest.importorskip("opendp")
    asked = {"mechanism": "perturbed-histogram", "epsilon": 5.0, "range": (0, 5), "round": True}
    uncounted = release(visits, **asked).summary["records_in_no_cell"]
    assert uncounted == {"visits": (visits["visits"] > 5).sum()}
    made = release(visits, **asked, allow_outside=True)
    assert made.privacy["guarantee"] == "dp-if-bounded"
    assert any("first or last bin" in said for said in made.privacy["caveats"])
    assert "allow_outside = true" in made.config
    assert all(table["visits"].is_between(0, 5).all() for table in made.datasets)


@pytest.mark.parametrize(
    "settings",
    [
        {"mechanism": "lw"},
        {"mechanism": "lw", "epsilon": 5.0},
        {"mechanism": "censored", "epsilon": 5.0},
        {"mechanism": "censored", "epsilon": 5.0, "downscale": True},
        {"mechanism": "perturbed-histogram", "epsilon": 9.0, "range": (0, 300)},
    ],
)
def test_what_misses_no_target_accepts_no_miss(
    visits: pl.DataFrame, settings: dict[str, Any]
) -> None:
    with refused("nothing-to-miss"):
        release(visits, **settings, accept_above_target=True)


def test_a_model_that_cannot_be_clamped_is_refused_with_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before a table is read, and before anything could call the run strict."""
    monkeypatch.setattr(vws.NormalMixture, "cell_terms", None)
    mechanism = vws.Censored(epsilon=3.0, weights="none")
    with refused("likelihood-not-censored", model="normal-mixture"):
        vws.Synthesizer(
            outcome="visits", model=vws.NormalMixture(labels="prior"), mechanism=mechanism
        )
