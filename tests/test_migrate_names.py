"""The table of names in docs/migrate.md: each row's Python runs, and gives what the row says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pyvws as vws
from pyvws.models.conditional_table import weighted_counts  # noqa: F401 (a row calls it)

PAGE = Path(__file__).parents[1] / "docs" / "migrate.md"
ROW = re.compile(
    r"^\| `(?P<theirs>[^`]+)` \| (?P<of>[^|]+) \| (?P<ours>[^|]+) \| (?P<differs>[^|]*) \|$"
)


def rows() -> dict[tuple[str, str], tuple[str, str]]:
    """The Python, or "none", and what differs, by the package and the name there."""
    section = PAGE.read_text(encoding="utf-8").partition("## Names beside names")[2]
    lines = section.partition("\n## ")[0].splitlines()
    found = [ROW.match(line) for line in lines if line.startswith("| `")]
    assert all(found)
    return {
        (row["of"], row["theirs"]): (row["ours"].strip("`"), row["differs"]) for row in found if row
    }


# What the names of the table stand for

y = np.array([100.0, 112.0, 125.0, 400.0, 90.0, 95.0, 310.0])
urban = ["yes"] * 4 + ["no"] * 3
z = np.array([104.0, 99.0, 131.0, 350.0, 97.0, 88.0, 240.0])
log_lik = -np.array([[2.1, 3.4, 0.7, 9.3], [1.9, 3.9, 0.6, 8.8], [2.4, 3.1, 0.9, 9.9]])
alpha = np.array([0.4, 0.7, 1.0, 0.25])
refit = alpha * log_lik
rate = np.array([90.0, 100.0, 110.0, 130.0])
guesses = np.column_stack([y, y + 20.0, y - 20.0])
log_guesses = stats.poisson.logpmf(guesses, rate[:, None, None])
log_synthetic = stats.poisson.logpmf(z, rate[:, None]).sum(axis=1, keepdims=True)
people = pd.DataFrame(
    {"age": [30.0, 31.0, 60.0, 62.0, 33.0], "income": [10.0, 10.5, 20.0, 50.0, 9.9]}
)
released = people.assign(income=[10.4, 20.0, 20.5, 48.0, 10.1])
sex = ["f", "f", "m", "m", "m"]
tenure, synthetic_tenure = np.array([1, 2, 2, 1, 1]), np.array([1, 2, 1, 1, 2])
_rng = np.random.default_rng(1)
_eta = _rng.normal(0.0, 0.5, 150)
table = pd.DataFrame(
    {
        "count": _rng.poisson(9.0, 150),
        "income": _rng.normal(50.0, 4.0, 150),
        "amount": _rng.gamma(3.0, 2.0, 150),
        "owner": (_rng.random(150) < 0.4).astype(int),
        "grade": _rng.integers(1, 4, 150),
    }
)


def synthesize(frame: Any, **more: Any) -> Any:
    """A short run; the row gives the settings that matter."""
    short = {
        "draws": 100,
        "warmup": 100,
        "chains": 1,
        "datasets": 2,
        "seed": 1,
        "engine": "laplace",
    }
    return vws.synthesize(frame, **{**short, **more})


def outside(value: float, record: float) -> bool:
    return abs(value - record) > 0.2 * record


def shares() -> list[float]:
    """The share of a record's pattern that lies outside its ball."""
    pairs = list(zip(y, urban, strict=True))
    each = []
    for record, own in pairs:
        pattern = [value for value, other in pairs if other == own]
        each.append(sum(outside(value, record) for value in pattern) / len(pattern))
    return each


def gaps() -> list[float]:
    """Distances of the two distribution functions at all values of both."""
    return [abs((y <= at).mean() - (z <= at).mean()) for at in [*y, *z]]


def joint_shares() -> list[float]:
    values = y[:4]
    return [
        1
        - np.mean(
            [
                sum(outside(v, a) and outside(v, b) for v in values) / 4
                for j, b in enumerate(values)
                if j != i
            ]
        )
        for i, a in enumerate(values)
    ]


def matches_of_people() -> list[float]:
    """T_i / c_i of an intruder who knows the sex, and age and income to a tenth of themselves."""
    found = []
    for i, own in people.iterrows():
        near = [
            all(abs(other[name] - own[name]) < 0.1 * own[name] for name in people)
            and sex[j] == sex[i]
            for j, other in released.iterrows()
        ]
        found.append(near[i] / max(sum(near), 1))
    return found


def probabilities() -> np.ndarray:
    """Bayes' rule by importance weights, without logarithms."""
    chances = []
    for i in range(len(y)):
        ratios = np.exp(log_guesses[:, i] - log_guesses[:, i, [0]])
        of_release = np.exp(log_synthetic - log_synthetic.max())
        chance = (ratios * of_release).sum(axis=0) / ratios.sum(axis=0)
        chances.append(chance / chance.sum())
    return np.array(chances)


def released_values(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether all values of both synthetic datasets of a run are of a kind."""
    return lambda release: (
        len(release.datasets) == 2
        and all(
            len(values) == 150 and kind(values)
            for values in (np.asarray(frame.iloc[:, 0]) for frame in release.datasets)
        )
    )


def whole(values: Any) -> bool:
    return bool((values >= 0).all() and (values == np.round(values)).all())


def near(expected: Any, rel: float = 1e-12) -> Callable[[Any], bool]:
    return lambda value: bool(np.allclose(value, expected, rtol=rel, atol=0))


def is_figure(value: Any) -> bool:
    return bool(value.axes)


SCRIPTS, LW, IRC, ARC, CS = (
    "scripts of [risk2024]",
    *(
        "LipschitzWeights",
        "IdentificationRiskCalculation",
        "AttributeRiskCalculation",
        "csSampling",
    ),
)
_bounds = np.abs(log_lik).max(axis=0)
_scaled = (_bounds - _bounds.min()) / (_bounds.max() - _bounds.min())
_of_refit = np.abs(refit).max(axis=0)
CHECKS: dict[tuple[str, str], Callable[[Any], bool]] = {
    (SCRIPTS, "IdentificationRisk"): near(shares()),
    (SCRIPTS, "IdentificationRisk_pw"): near(joint_shares()),
    (SCRIPTS, "ComputeAlphas_constant"): near(np.clip(1.2 * (1 - np.array(shares())) + 0.1, 0, 1)),
    (SCRIPTS, "gen_synthetic_data"): released_values(whole),
    (SCRIPTS, "wt_NB.stan"): lambda model: isinstance(model, vws.NegativeBinomial),
    (SCRIPTS, "calculate_ECDF"): lambda found: (
        near(max(gaps()))(found.maximum) and near(np.mean(np.square(gaps())))(found.average)
    ),
    (SCRIPTS, "boot_stat"): lambda found: found.lower <= found.estimate <= found.upper,
    (SCRIPTS, "boot_quantile"): lambda found: found.lower <= found.estimate <= found.upper,
    (LW, "log_like_hamming"): near(1 - _scaled),
    (LW, "syn_part_1"): near(1 - _scaled),
    (LW, "syn_part_2"): near(np.minimum(1, 0.95 * alpha * _of_refit.max() / _of_refit)),
    (LW, "syn_part_3"): near(_of_refit),
    (LW, "syn_plots"): is_figure,
    (LW, "syn_Poisson"): released_values(whole),
    (LW, "syn_NegativeBinomial"): released_values(whole),
    (LW, "syn_normal"): released_values(lambda values: 40 < values.mean() < 60),
    (LW, "syn_Gamma"): released_values(lambda values: values.min() > 0),
    (LW, "syn_logistic"): released_values(lambda values: set(values) == {0, 1}),
    (LW, "syn_ordinal"): released_values(lambda values: set(values) == {1, 2, 3}),
    (IRC, "IdentificationRisk"): lambda found: near(matches_of_people())(found.by_record),
    (IRC, "IdentificationRiskCategorical"): lambda found: (
        found.by_record.tolist() == [1.0, 1.0, 0.0, 0.5, 0.0] and near(1 / 3)(found.false_rate)
    ),
    (ARC, "AttributeRisk"): lambda found: near(probabilities(), 1e-9)(found.posterior),
    (ARC, "AttributeRiskForRecordI"): lambda found: near(probabilities()[0], 1e-9)(
        found.posterior[0]
    ),
    (ARC, "randomGuessPlot"): is_figure,
    (CS, "load_wt_multi_model"): near([[2.0, 1.0], [0.5, 1.5]]),
}
NOT_HERE = {(CS, "cs_sampling"), (CS, "cs_sampling_brms"), (CS, "plot.cs_sampling")}


def test_the_table_has_every_function_once() -> None:
    assert set(rows()) == {*CHECKS, *NOT_HERE}


@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", sorted(CHECKS), ids="-".join)
def test_a_rows_python_gives_what_their_function_means(name: tuple[str, str]) -> None:
    python, _ = rows()[name]
    known = {key: value for key, value in globals().items() if not key.startswith("_")}
    value = eval(python, known)
    assert CHECKS[name](value), value


@pytest.mark.parametrize("name", sorted(NOT_HERE), ids="-".join)
def test_what_is_not_here_has_a_reason(name: tuple[str, str]) -> None:
    python, differs = rows()[name]
    assert python == "none"
    assert "survey.md#" in differs
    assert not hasattr(vws, name[1])


def test_a_wrong_row_is_noticed() -> None:
    assert not CHECKS[LW, "syn_part_2"](vws.from_log_lik(refit, alpha).reweight(0.9))
    assert not CHECKS[SCRIPTS, "IdentificationRisk"](vws.identification_risk(y, radius=0.2))
