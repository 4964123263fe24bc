"""The five-mechanisms study: its columns, its order, its check of the clamp, a small run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pyvws_studies._native_loop import native_loop, one_chain
from pyvws_studies.five_mechanisms import (
    COLUMNS,
    SETTINGS,
    STUDY,
    Cases,
    _squared,
    _straight,
    check_censored,
    compare,
    keys,
    truth,
    verdict,
)
from pyvws_studies.five_synthesizers import (
    COUNTS,
    DEVIANCE,
    HISTOGRAM,
    LABELS,
    FiveSynthesizers,
    Made,
    _nearest,
    deviance_clamped,
    largest_effect,
)
from pyvws_studies.registry import find_study
from pyvws_studies.replicates import run_study
from pyvws_studies.simulated_data import beta_proportions
from report_text import report_text

from pyvws import Beta, PyvwsError
from pyvws._base.resumable_jobs import replicate_seed
from pyvws.posterior.clamp import Clamp
from pyvws.synthesis.loop import SynthesisLoop

_SMALL = {**SETTINGS, "n": 200, "epsilons": [5.0, 3.0], "draws": 60, "warmup": 100}


def shares_loop(n: int, seed: int, *, draws: int, warmup: int) -> SynthesisLoop:
    """A replicate's loop on n shares."""
    y = beta_proportions(seed, n)
    model = Beta(range=(0.0, 1.0)).prepare(y, "y")
    settings = one_chain({"draws": draws, "warmup": warmup})
    return native_loop(model, y, np.ones((n, 1)), settings, seed=1)


def _row(name: str, u_a: float, number: int = 1, **more: Any) -> dict[str, Any]:
    place = {"mechanism": name, "epsilon": 5.0, "replicate": number, "downscaled": False}
    return {**place, "u_a": u_a, **more}


def test_the_slides_true_values() -> None:
    true = truth(SETTINGS)
    found = {name: round(value, 4) for name, value in true.items()}
    assert found == {"q15": 0.0065, "median": 0.0790, "mean": 0.1429, "q90": 0.3862}


def test_order_of_three_replicates_by_hand() -> None:
    values = {
        "weighted": (1.0, 1.0, 1.0),
        "weighted-epsilon": (2.9, 3.0, 3.1),  # 1.9, 2, 2.1 above: 2 +- 9.92 x 0.1 / sqrt(3)
        "censored-weighted": (0.0, 2.0, 4.0),  # -1, 1, 3: 1 +- 9.92 x 2 / sqrt(3)
        "censored-unweighted": (9.0, 9.0, 9.0),
        HISTOGRAM: (5.0, 5.0, 5.1),
    }
    rows = [
        _row(name, value, number)
        for name, of_name in values.items()
        for number, value in enumerate(of_name)
    ]
    pairs = compare(Cases(rows))
    assert [verdict(pair) for pair in pairs] == [
        *("as on the slides", "not told apart", "as on the slides", "not told apart"),
        "the other way round",
    ]
    for pair, mean, deviation in ((pairs[0], 2.0, 0.1), (pairs[1], 1.0, 2.0)):
        half = 9.924843 * deviation / 3**0.5
        assert (pair.mean, pair.low, pair.high) == pytest.approx((mean, mean - half, mean + half))


def test_a_term_above_the_bound_stops_the_report() -> None:
    of_fit = {"clamped": 1, "largest_term": 2.5, "largest_effect": 2.5, "far_end": 2.5}
    good = _row("censored-weighted", 0.1, **of_fit)
    assert check_censored(Cases([good, _row("weighted", 0.1)])) == (1.0, 1.0)
    for name in ("largest_term", "largest_effect"):
        with pytest.raises(PyvwsError, match="a term outside its window"):
            check_censored(Cases([good, {**good, name: 2.5000001}]))


def test_the_deviance_clamp_has_the_whole_of_epsilon_and_no_more() -> None:
    of_fit = {"clamped": 1, "largest_term": 2.5, "largest_effect": 5.0, "far_end": 5.0}
    assert check_censored(Cases([_row(DEVIANCE, 0.1, **of_fit)])) == (1.0, 1.0)
    loop = shares_loop(60, 1, draws=100, warmup=100)
    made = deviance_clamped(loop, 3.0)
    assert 1.5 < largest_effect(loop, made) <= 3.0 + 1e-9
    assert made.fit.weights.min() == 1.0


def test_the_effect_of_one_record_shows_a_missing_clamp() -> None:
    loop = shares_loop(60, 1, draws=100, warmup=100)
    fit = loop.fit(np.ones(60), "Censored", clamp=Clamp(3.0))
    assert largest_effect(loop, Made(fit)) <= 1.5 + 1e-9
    assert (fit.weights * fit.maxima).max() > 3.0
    assert largest_effect(loop, Made(replace(fit, clamp=None))) > 3.0


def test_a_failed_search_takes_the_largest_bound_below() -> None:
    assert _nearest([2.6, 2.3, 2.45, 2.51], 2.5) == 2
    assert _nearest([2.6, 2.53, 2.7], 2.5) == 1


def test_distances_of_a_curve_by_hand() -> None:
    y = np.array([0.6, 0.2])
    # ECDF 0.5 and 1 at 0.2 and 0.6; two bins of 0.75 and 0.25 reach 0.3 and 0.8.
    edges, shares = np.array([0.0, 0.5, 1.0]), np.array([0.75, 0.25])
    assert _straight(y, edges, shares) == pytest.approx((0.2**2 + 0.2**2) / 2)
    assert _squared(y, np.array([0.5, 1.0])) == 0.0


def test_shared_fits_are_made_once() -> None:
    loop = shares_loop(200, 2, draws=200, warmup=150)
    five = FiveSynthesizers(loop, passes=1)
    plain, down = (five.fits(3.0, downscaled=lowered) for lowered in (False, True))
    labels = [fit.label for fit in loop.fits]
    assert labels.count("unweighted") == 1
    assert labels.count("Weighted-epsilon") == 1
    lw = loop.lipschitz()
    assert (down["censored-weighted"].fit.weights == down["weighted"].fit.weights).all()
    assert (plain["censored-weighted"].fit.weights == lw.weights).all()
    out = plain["weighted-epsilon"].fit.weights == 0
    assert (out >= (lw.bounds.by_record > 1.5)).all()
    assert (plain["censored-unweighted"].fit.weights == 1).all()
    assert plain["weighted"].fit.weights == pytest.approx(
        np.minimum(1.0, plain["weighted"].c * lw.weights)
    )
    for made in down.values():
        assert made.fit.weights.max() <= 1.0
    count = len(loop.fits)
    five.fits(3.0, downscaled=True)
    assert len(loop.fits) == count + 2  # The censored ones alone; the others are kept.


@pytest.mark.draws
def test_a_small_study_has_the_columns_and_resumes(tmp_path: Path) -> None:
    study, out = replace(STUDY, settings=_SMALL), tmp_path / "out"
    made = run_study(study, out, replicates=2, seed=1, jobs=1)
    header = (out / "replicates.csv").read_text().splitlines()[0]
    assert header == (
        "mechanism,epsilon,replicate,downscaled,lipschitz,u_m,u_a,q15,median,mean,q90"
    )
    rows = pl.read_csv(out / "replicates.csv")
    assert rows.columns == list(COLUMNS)
    assert rows["downscaled"].dtype == pl.Boolean
    cases = rows.group_by("mechanism", "epsilon", "replicate", "downscaled").len()
    assert cases.height == rows.height == len(LABELS) * 2 * 2 * 2
    assert set(rows["mechanism"]) == set(LABELS)
    histogram = rows.filter(mechanism=HISTOGRAM)
    assert histogram["lipschitz"].is_null().all()
    counts = rows.filter(mechanism=COUNTS)
    assert counts["lipschitz"].is_null().all()
    assert (counts["u_m"] < 0.2).all()  # Of 200 records under the family that made them.
    fitted = rows.filter(~pl.col("mechanism").is_in((HISTOGRAM, COUNTS)))
    assert fitted["lipschitz"].is_not_null().all()
    for fixed in (histogram, counts):
        halves = fixed.partition_by("downscaled", include_key=False)
        assert halves[0].equals(halves[1])
    censored = rows.filter(pl.col("mechanism").str.starts_with("censored"))
    assert (censored["lipschitz"] <= censored["epsilon"] / 2).all()
    assert {"summary.csv", "explanation.txt", "lipschitz.png", "median.png"} < {
        path.name for path in out.iterdir()
    }
    said = report_text(made.report)
    for text in (
        "Pairs of the slides' order",
        "Order of avg-ECDF at epsilon 5",
        "Censored bounds: the largest term",
        "divergences.",
    ):
        assert text in said
    before = (out / "replicates.csv").read_bytes()
    (out / "replicates" / "beta-2.json").unlink()
    assert run_study(study, out, replicates=2, seed=1, jobs=1).computed == 1
    assert (out / "replicates.csv").read_bytes() == before


def test_keys_seeds_and_the_registry() -> None:
    assert keys(2) == [("beta", 1), ("beta", 2)]
    assert find_study("five-mechanisms").replicates == 100
    seeds = {tuple(replicate_seed(1, key).generate_state(2)) for key in keys(50)}
    assert len(seeds) == 50


_WEIGHTED = ("weighted", "weighted-epsilon", "censored-weighted")


def test_the_page_shows_the_figures_of_the_kept_summary() -> None:
    """docs/five-mechanisms.csv is the summary.csv of the study's 100 replicates."""
    docs = Path(__file__).parents[2] / "docs"
    page = " ".join((docs / "studies.md").read_text().split())
    lines = pl.read_csv(docs / "five-mechanisms.csv")
    plain = lines.filter(~pl.col("downscaled")).sort("epsilon", descending=True)
    for name, label in LABELS.items():
        cells = " | ".join(f"{u_a:.5f}" for u_a in plain.filter(mechanism=name)["u_a"])
        kind = "asymptotic" if name in _WEIGHTED else "strict"
        assert f"| {label} | {kind} | {cells} |" in page
    (mean,) = plain.filter(mechanism=DEVIANCE, epsilon=3.0)["mean"]
    assert f"mean is {mean:.3f} there" in page
    within = plain.filter(mechanism="weighted-epsilon")["within"]
    assert "{:.0%}, {:.0%} and {:.0%}".format(*within).replace("%", " %") in page
    own = (HISTOGRAM, DEVIANCE, COUNTS)
    lowered = lines.filter(pl.col("downscaled") & ~pl.col("mechanism").is_in(own))
    best = lowered.group_by("epsilon").agg(pl.col("u_a").min()).sort("epsilon", descending=True)
    assert "{:.5f}, {:.5f} and {:.5f}".format(*best["u_a"]) in page
