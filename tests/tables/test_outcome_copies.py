"""Copies of the outcome are refused, and its ranks told, in memory and in steps by one rule."""

import json
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from typer.testing import CliRunner

import pyvws as vws
from pyvws import DisclosureWarning, InputError, SamplerSettings
from pyvws.commands.cli import app
from pyvws.tables.files.frame import open_frame
from pyvws.tables.files.outcome_copies import OutcomeCopies, look_for_copies

pytestmark = pytest.mark.runs

_N = 120
_RNG = np.random.default_rng(4)
_AMOUNT = _RNG.gamma(3, 400, _N).round(2)
_COUNT = np.round(_AMOUNT)
_TRUTH = _RNG.random(_N) < 0.4
_HOLES = np.arange(_N) % 3 == 1

# What a table may hold beside the outcome, each a copy of it.
COPIES: dict[str, tuple[Any, pl.Series]] = {
    "5.0 against 5": (_COUNT.astype(int), pl.Series(_COUNT)),
    "text": (_COUNT.astype(int), pl.Series([f" {value:.1f}" for value in _COUNT])),
    "category": (
        _COUNT.astype(int),
        pl.Series([f"{value:.0f}" for value in _COUNT], dtype=pl.Categorical),
    ),
    "rounded before": (_AMOUNT, pl.Series(_COUNT.astype(int))),
    "float32": (_AMOUNT, pl.Series(_AMOUNT.astype(np.float32))),
    "holes": (
        _AMOUNT,
        pl.Series([None if hole else y for hole, y in zip(_HOLES, _AMOUNT, strict=True)]),
    ),
    "truth as number": (_TRUTH, pl.Series(_TRUTH.astype(int))),
    "number as truth": (_TRUTH.astype(int), pl.Series(_TRUTH)),
    "truth as text": (_TRUTH.astype(int), pl.Series(["TRUE" if t else "False" for t in _TRUTH])),
}
NONE = {
    "near": np.where(np.arange(_N) == 7, _AMOUNT + 9e5, _AMOUNT),
    "constant": np.full(_N, _AMOUNT[0]),
    "words": np.array([f"w{i % 5}" for i in range(_N)]),
    "few": np.where(np.arange(_N) < _N - 50, np.nan, 3.0),
    "codes": _RNG.permutation(_N),
}
ORDERS: dict[str, Any] = {
    "ids": np.argsort(np.argsort(_AMOUNT)),
    "falling": -_AMOUNT,
    "names": [f"p{rank:04d}" for rank in np.argsort(np.argsort(_AMOUNT))],
    "log": np.log(_AMOUNT),
}


def told(columns: dict[str, Any], y: Any) -> list[str]:
    """What the look at a table in memory warns of."""
    table = pl.DataFrame({**columns, "y": y})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        look_for_copies(
            open_frame(table), table.columns, {"y": (table["y"].to_numpy().astype(float), "real")}
        )
    assert all(warning.category is DisclosureWarning for warning in caught)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("kind", COPIES)
def test_each_copy_is_refused_in_memory_and_in_steps(kind: str, tmp_path: Path) -> None:
    outcome, copy = COPIES[kind]
    table = pl.DataFrame({"id": [f"{i:03d}" for i in _RNG.permutation(_N)], "y": outcome})
    table = table.with_columns(copy.alias("copy"))
    run = vws.Synthesizer(
        outcome="y",
        model="logistic" if set(np.unique(outcome)) <= {0, 1} else "negative-binomial",
        mechanism="unweighted",
        round=True,
        keep=("copy", "id"),
        datasets=1,
        settings=SamplerSettings(draws=100, warmup=100, chains=1),
    )
    frames = [table, table.to_arrow()]
    if kind not in ("holes", "category"):
        frames.append(table.to_pandas())
    for frame in frames:
        with refused("columns-equal-outcome", same="copy"):
            run.fit(frame, seed=1)
    table.write_csv(tmp_path / "in.csv")
    table.write_parquet(tmp_path / "in.parquet")
    for name in ("in.csv", "in.parquet"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", vws.ConvergenceWarning)
            with refused("columns-equal-outcome", same="copy"):
                run.fit_to(tmp_path / name, tmp_path / "out", seed=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "in.parquet"]


def test_a_predictor_that_is_a_copy_is_refused_before_any_fit(tmp_path: Path) -> None:
    table = pl.DataFrame({"x": _COUNT, "y": _COUNT.astype(int)})
    table.write_csv(tmp_path / "in.csv")
    run = vws.Synthesizer(outcome="y", formula="~ x", mechanism="lw")

    class NoFit:
        def fit(self, label: str) -> None:
            raise AssertionError(label)

        def line(self, _text: str) -> None:
            return

    listener: Any = NoFit()
    with refused("columns-equal-outcome", same="x"):
        run.fit(table, seed=1, listener=listener)
    with refused("columns-equal-outcome", same="x"):
        run.fit_to(tmp_path / "in.csv", tmp_path / "out", seed=1, listener=listener)


def test_what_is_no_copy_passes_without_a_word() -> None:
    assert told(NONE, _AMOUNT) == []
    assert told({"share": (_AMOUNT > 5000).astype(int)}, _AMOUNT / 1e5) == []  # Rounds to 0.
    assert told({"lists": [[1]] * _N, "none": [None] * _N}, _AMOUNT) == []
    strange = pd.DataFrame({"y": _AMOUNT, "mixed": ["a", 2, None] * 40})
    look_for_copies(open_frame(strange), list(strange.columns), {"y": (_AMOUNT, "real")})
    odd = pd.DataFrame({"y": _COUNT, "mixed": [*map(str, _COUNT[:60]), *_COUNT[60:]]})
    with refused("columns-equal-outcome", same="mixed"):
        look_for_copies(open_frame(odd), list(odd.columns), {"y": (_COUNT.astype(float), "real")})


@pytest.mark.parametrize("name", ORDERS)
def test_a_column_in_rank_order_is_named(name: str) -> None:
    columns = {"other": NONE["codes"], name: ORDERS[name]}
    (said,) = told(columns, _AMOUNT)
    assert said.startswith("Columns to be released as they are stand in the rank order of the")
    assert f"opposite one: {name}. " in said
    assert not any(character.isdigit() for character in said)  # So no value, nor a number.
    tied = np.round(_AMOUNT, -2)
    assert len(told(columns, tied)) == 1  # Of equal outcomes any order does.
    swapped = np.array(_AMOUNT)
    low, high = np.argmin(swapped), np.argmax(swapped)
    swapped[[low, high]] = swapped[[high, low]]
    assert told(columns, swapped) == []
    assert told({name: np.array(ORDERS[name])[:5]}, _AMOUNT[:5]) == []


def test_classes_of_the_outcome_are_no_rank_order_and_its_complement_is() -> None:
    assert told({"class": (_AMOUNT > 900).astype(int)}, _AMOUNT) == []
    assert len(told({"not": (~_TRUTH).astype(int)}, _TRUTH.astype(int))) == 1


@given(
    kind=st.sampled_from([*COPIES, *NONE, *ORDERS]),
    sizes=st.lists(st.integers(1, 50), min_size=1, max_size=9),
)
@settings(max_examples=60)
def test_steps_find_what_memory_finds(kind: str, sizes: list[int]) -> None:
    outcome, column = COPIES.get(kind) or (_AMOUNT, pl.Series({**NONE, **ORDERS}[kind]))
    y = np.asarray(outcome, dtype=np.float64)

    def found(cuts: list[int]) -> tuple[bool, list[str]]:
        copies = OutcomeCopies(["x"], ["x", "y"], "y")
        for start, end in pairwise(cuts):
            copies.look({"x": column[start:end]}, y[start:end])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                copies.refuse()
            except InputError:
                return True, []
            copies.warn()
        return False, [str(warning.message) for warning in caught]

    cuts = [0, *(cut for cut in np.cumsum(sizes).tolist() if cut < _N), _N]
    assert found(cuts) == found([0, _N])
    assert found(cuts)[0] is (kind in COPIES)
    assert (len(found(cuts)[1]) == 1) is (kind in ORDERS)


@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
@pytest.mark.parametrize("memory", ["1GB", "1KB"])
def test_the_console_names_a_rank_order_and_the_release_does_not(
    tmp_path: Path, memory: str
) -> None:
    table = pl.DataFrame({"rank": ORDERS["ids"], "y": _AMOUNT})
    table.write_csv(tmp_path / "in.csv")
    out = tmp_path / "out"
    result = CliRunner().invoke(
        app,
        [
            *("synthesize", str(tmp_path / "in.csv"), "--outcome", "y", "--model", "gamma"),
            *("--mechanism", "censored", "--weights", "none", "--epsilon", "30", "--keep", "rank"),
            *("--datasets", "1", "--draws", "300", "--warmup", "300", "--chains", "2"),
            *("--seed", "1", "--memory", memory, "--out", str(out), "--json"),
            "--accept-unconverged",
        ],
    )
    assert result.exit_code == 0, result.output
    assert "in the rank order of the outcome 'y', or in the opposite one: rank." in result.stderr
    for path in (out / "release").iterdir():
        assert b"rank order" not in path.read_bytes()
    assert json.loads((out / "release/privacy.json").read_text())["row_order"] == "random"


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.period_range("2000-01", periods=20, freq="M")),
        pd.Series(pd.interval_range(0, 20)),
        pd.Series(pd.Categorical(pd.interval_range(0, 20))),
        pd.Series(np.arange(20) + 0j),
    ],
    ids=["period", "interval", "cut", "complex"],
)
def test_types_that_only_pandas_has_are_compared_as_text(column):
    frame = pd.DataFrame({"y": np.arange(20.0), "c": column, "text": column.astype(str)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DisclosureWarning)
        look_for_copies(open_frame(frame), ["c"], {"y": (np.arange(20.0), "real")})
        look_for_copies(open_frame(frame), ["text"], {"y": (np.arange(20.0), "real")})
    told = [str(one.message).replace("text", "c") for one in caught]
    assert told in ([], told[:1] * 2)


def test_a_first_record_in_place_of_names_is_not_told():
    table = pd.DataFrame({"4711": np.arange(20.0), "99.25": np.arange(20.0) ** 2})
    with pytest.warns(DisclosureWarning) as caught:
        look_for_copies(open_frame(table), ["4711"], {"99.25": (table["99.25"].to_numpy(), "real")})
    said = str(caught[0].message)
    assert "outcome 'column 2'" in said
    assert "4711" not in said
    assert "99.25" not in said
