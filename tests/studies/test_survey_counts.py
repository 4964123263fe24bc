"""The study of weighted counts: its population, and a small run of the whole."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pyvws_studies import survey_counts as study
from pyvws_studies.registry import find_study
from pyvws_studies.replicates import run_study

pytest.importorskip("opendp")


def test_weights_follow_the_outcome() -> None:
    people, weights = study.population(study.SETTINGS)
    low, high = study.SETTINGS["weight_range"]
    assert low <= weights.min() < weights.max() <= high
    poor = people["poor"].to_numpy() == "yes"
    assert np.log(weights[poor]).mean() - np.log(weights[~poor]).mean() == pytest.approx(
        0.8, abs=0.1
    )
    assert find_study("survey-counts") is study.STUDY


@pytest.mark.runs
def test_a_small_run(tmp_path: Path) -> None:
    small = {**study.SETTINGS, "population": 5_000, "weight_range": [2, 60]}
    small |= {"n": 400, "epsilon": 20.0}
    small["clusters"] = {**study.SETTINGS["clusters"], "epsilons": [20.0]}
    run_study(replace(study.STUDY, settings=small), tmp_path, replicates=3, seed=2, jobs=1)
    lines = pl.read_csv(tmp_path / "survey-counts.csv")
    assert lines["figure"].to_list() == [
        *("population", *["share of poor"] * 4),
        *["share of poor, clusters, epsilon 20"] * 5,
    ]
    assert lines["plain"].is_nan().sum() == 5
    assert lines["error"][0] < 0.1
    assert (lines["error"][1:] < 0.35).all()
