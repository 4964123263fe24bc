"""What datasets of one release have to do with each other, with rules, and with heaps of numbers.

Draws are known, or noise is far below one record. So each synthetic value follows from settings and
records but for its dataset's own random numbers, and two datasets share no such number.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from scipy import stats

from pyvws._base.checks import Floats
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.mechanisms.unweighted import Unweighted
from pyvws.release.release import Release
from pyvws.release.synthesizer import synthesize
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._draws import Draws
from pyvws_validation._grid_engine import KnownByWidth, KnownDraws
from pyvws_validation._measured_case import Findings, MeasuredRow
from pyvws_validation.report import Measurement

_SEED: Final = 2**60 + 1
_ROWS: Final = 400
_DIGITS: Final = 9
_FAR: Final = 1000.0  # Between the means of two draws.


@dataclass(frozen=True, kw_only=True)
class DrawnDatasets(MeasuredRow):
    """A release whose datasets `wrong` counts what must not be in: by its words, 0 of each."""

    kind: str = "statement"
    source: str = "the law of the draws"
    outside: str = "Found"
    paper: str = "vws2024, section 2"
    table: Callable[[], pl.DataFrame]
    settings: Callable[[], Mapping[str, Any]]
    wrong: Callable[[Release], Mapping[str, Any]]

    def found(self) -> Findings:
        with warnings.catch_warnings(action="ignore"):
            release = synthesize(self.table(), seed=_SEED, **self.settings())
        return Findings(
            tuple(
                Measurement(what, float(np.sum(rows)), 0.0, 0.0)
                for what, rows in self.wrong(release).items()
            )
        )


def _shared(values: Sequence[Floats]) -> dict[str, int]:
    """How many numbers two datasets have both; the numbers are not rounded."""
    found = [np.round(own, _DIGITS) for own in values]
    pairs = itertools.combinations(found, 2)
    return {"numbers in two datasets": sum(len(np.intersect1d(*pair)) for pair in pairs)}


# Datasets of known draws: the draw behind each, and random numbers of their own.


def _of_draws() -> dict[str, Any]:
    """Four datasets of two draws, which stand at the first and in the middle of four draws."""
    draws = np.column_stack([_FAR * np.arange(4), np.zeros(4), np.zeros(4)])
    return {
        "schema": Schema(
            {"place": Column(role="public"), "y": Column(model="normal", predictors=())}
        ),
        "mechanism": Unweighted(),
        "engine": KnownDraws([draws]),
        "draws": 4,
        "chains": 1,
        "datasets": 4,
        "draws_per_release": 2,
    }


def _places() -> pl.DataFrame:
    place = np.arange(_ROWS, dtype=np.float64)
    return pl.DataFrame({"place": place, "y": place % 7.0})


def _of_other_draws(release: Release) -> dict[str, Any]:
    """Rows of another draw, random numbers of another dataset, and rows in the table's order."""
    values = [own["y"].to_numpy() for own in release.datasets]
    behind = np.array([0.0, 2.0, 0.0, 2.0]) * _FAR
    off = [own - mean for own, mean in zip(values, behind, strict=True)]
    places = [own["place"].to_numpy() for own in release.datasets]
    return {
        "rows of another draw": [np.abs(own).max() > 10.0 for own in off],
        **_shared(off),
        "rows in the table's order": [np.array_equal(own, np.sort(own)) for own in places],
        "draws not as stated": release.privacy["draw_of_dataset"] != [1, 2, 1, 2],
    }


# A histogram: one for all datasets, each of which has numbers of its own.


def _histogram() -> dict[str, Any]:
    mechanism = PerturbedHistogram(epsilon=8.0, range=(0.0, 7.0), bins=7)
    return {"outcome": "y", "mechanism": mechanism, "datasets": 3}


def _of_one_histogram(release: Release) -> dict[str, Any]:
    return _shared([own["y"].to_numpy() for own in release.datasets])


# Noisy counts whose noise is far below a record: rules, how numbers heap, and the datasets.

_RULES: Final = ("N where sex == 'f'", "1 where region == 'a'")
_RULED: Final = Schema(
    {
        "sex": Column(model="nominal", levels=("f", "m")),
        "region": Column(model="nominal", levels=("a", "b")),
        "job": Column(model="nominal", levels=("1", "2"), missing="N", rule=_RULES),
        "amount": Column(model="normal", range=(0, 4000), decimals=0),
        "size": Column(model="normal", range=(0, 100)),
    }
)


def _heaped() -> pl.DataFrame:
    """Records that keep the rules by the first that holds; amounts are odd multiples of 50."""
    stream = Draws(7)
    sex, region = np.array(["f", "m"]), np.array(["a", "b"])
    first, second = sex[stream.whole(_ROWS, 2)], region[stream.whole(_ROWS, 2)]
    other = np.where(stream.uniform(_ROWS) < 0.5, "1", "2")
    return pl.DataFrame(
        {
            "sex": first,
            "region": second,
            "job": np.where(first == "f", "N", np.where(second == "a", "1", other)),
            "amount": 50 + 100 * stream.whole(_ROWS, 39),
            "size": stream.uniform(_ROWS, 0.0, 100.0),
        }
    )


def _counted() -> dict[str, Any]:
    mechanism = NoisyCounts(epsilon=1e6, classes=2, measure="pairs")
    return {"schema": _RULED, "mechanism": mechanism, "datasets": 2, "records": _ROWS}


def _of_counts(release: Release) -> dict[str, Any]:
    """Rows that a rule or the multiple of their unit should bar, counted ones too."""
    fine = release.public_tables["cells.parquet"].filter(
        (pl.col("column") == "amount") & (pl.col("by") == "roundness")
    )
    of_unit = dict(zip(fine["label"], fine["count"], strict=True))
    right = {label: _ROWS if label == "multiples of 50" else 0 for label in of_unit}
    amounts = [own["amount"].to_numpy() for own in release.datasets]
    return {
        "rows that break a rule": sum(_breaking(own) for own in release.datasets),
        "rows that are no odd multiple of 50": sum(np.sum(own % 100 != 50) for own in amounts),
        "records in another class": sum(abs(of_unit[x] - n) for x, n in right.items()),
        "classes that are not there": "multiples of 50" not in right,
        **_shared([own["size"].to_numpy() for own in release.datasets]),
    }


def _breaking(own: pl.DataFrame) -> int:
    sex, region, job = (own[name].to_numpy() for name in ("sex", "region", "job"))
    return int(
        np.sum(np.where(sex == "f", job != "N", (job == "N") | (region == "a") & (job != "1")))
    )


# Known draws under rules of each kind, of which the first that holds decides.

_SURE: Final = -20.0  # log sigma of numbers that the values before decide.
_OF_RULES: Final = Schema(
    {
        "g": Column(model="table", levels=("t", "u", "v", "w"), predictors=()),
        "h": Column(
            model="normal",
            range=(-8.0, 8.0),
            predictors=("g",),
            rule=("0 where g == 't'", "8 where g != 'w'", "-8 where g == 'u'"),
        ),
        "k": Column(
            model="table",
            levels=("x", "y"),
            missing="N",
            predictors=(),
            rule=("N only where g == 't'", "x where h > 7", "never y where g == 'w'"),
        ),
        "l": Column(lookup={"g": {"t": "1", "u": "2", "v": "1", "w": "3"}}, levels=("1", "2", "3")),
        "m": Column(range=(-9, 9), rule="= h + 1"),
        "r": Column(model="normal", range=(-20.0, 20.0), predictors=("k",), rule="> h"),
    }
)


def _unlike_the_rules() -> pl.DataFrame:
    """Records that keep no rule but a bound, without which nothing would be fitted."""
    stream = Draws(9)
    h = stream.uniform(_ROWS, -8.0, 8.0)
    return pl.DataFrame(
        {
            "g": np.array(["t", "u", "v", "w"])[stream.whole(_ROWS, 4)],
            "h": h,
            "k": np.array(["x", "y", "N"])[stream.whole(_ROWS, 3)],
            "l": np.array(["1", "2", "3"])[stream.whole(_ROWS, 3)],
            "m": stream.uniform(_ROWS, -9.0, 9.0),
            "r": h + 1.0,
        }
    )


def _known() -> dict[str, Any]:
    def number(*beta: float, log_sd: float) -> Floats:
        K = len(beta)
        return np.array([*beta, *np.zeros(K + K * (K - 1) // 2), log_sd])

    draws = (
        np.log([0.25] * 4),
        number(3.0, 0.0, 0.0, 0.0, log_sd=_SURE),
        np.log([0.5, 0.5]),
        number(0.0, 0.0, 0.0, log_sd=np.log(4.0)),
    )
    return {
        "schema": _OF_RULES,
        "mechanism": Unweighted(),
        "engine": KnownByWidth([np.tile(q, (4, 1)) for q in draws]),
        "draws": 4,
        "chains": 1,
        "datasets": 2,
    }


def _against_rules(release: Release) -> dict[str, Any]:
    """Rows by column that the first rule that holds does not give."""
    own = pl.concat(release.datasets)
    g, k, of_g = (own[name].cast(pl.String).to_numpy() for name in ("g", "k", "l"))
    h, m, r = (own[name].cast(pl.Float64).to_numpy() for name in ("h", "m", "r"))
    near = 1e-6
    return {
        "h": np.abs(h - np.select([g == "t", g == "w"], [0.0, 3.0], 8.0)) > near,
        "k": np.select([g == "t", h > 7.0, g == "w"], [k != "N", k != "x", k != "x"], False),
        "l": of_g != np.select([g == "u", g == "w"], ["2", "3"], "1"),
        "m": np.abs(m - h - 1.0) > near,
        "r": r <= h,
        "levels of g that are not there": len(np.unique(g)) != 4,
    }


# A search for a constant of weights that a map of bounds makes.


_MEANS: Final = Draws(5).uniform(20, -0.5, 0.5)
_LOG_SDS: Final = Draws(6).uniform(20, -0.5, 0.5)


def _searched() -> dict[str, Any]:
    draws = np.column_stack([_MEANS, np.zeros(len(_MEANS)), _LOG_SDS])
    return {
        "outcome": "y",
        "model": "normal",
        "mechanism": LipschitzWeighted(map="softmax", g=0.0),
        "engine": KnownDraws([draws]),
        "draws": 20,
        "chains": 1,
        "datasets": 1,
        "epsilon": 12.0,
    }


def _off_the_map(release: Release) -> dict[str, Any]:
    """Weights that are not c (1 - risk) within [0, 1], by the c that the search found."""
    weights = release.records["weight_final"].to_numpy()
    y = _places()["y"].to_numpy()
    terms = stats.norm.logpdf(y, _MEANS[:, None], np.exp(_LOG_SDS)[:, None])
    bounds = np.abs(terms).max(axis=0)
    risk = 1.0 / (1.0 + np.exp(-1.69897 * (bounds - bounds.mean()) / bounds.std(ddof=1)))
    right = np.clip(release.summary["search"][-1]["value"] * (1.0 - risk), 0.0, 1.0)
    return {"weights off the map": np.abs(weights - right) > 1e-9}


CASES: Final = tuple(
    DrawnDatasets(id=f"statement/datasets-{name}", table=table, settings=settings, wrong=wrong)
    for name, table, settings, wrong in (
        ("of-draws", _places, _of_draws, _of_other_draws),
        ("of-histogram", _places, _histogram, _of_one_histogram),
        ("of-counts", _heaped, _counted, _of_counts),
        ("under-rules", _unlike_the_rules, _known, _against_rules),
        ("searched-map", _places, _searched, _off_the_map),
    )
)
