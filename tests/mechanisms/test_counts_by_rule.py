"""Numbers with a bound under noisy counts: their codes, and the order in every synthetic record."""

from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from typer.testing import CliRunner

import pyvws as vws
from pyvws.auditing.canaries import _made_up
from pyvws.commands.cli import app
from pyvws.mechanisms.counts.by_rule import bounded_columns
from pyvws.report.output_folder import dataset_files

CASES = Path(__file__).parents[3] / "shared" / "cases"
WHOLE = {"model": "normal", "decimals": 0}


def schema(**end: Any) -> vws.Schema:
    """A begin that may be missing or 20, and an end by a rule."""
    begin = vws.Column(**WHOLE, range=(10, 90), mass=(20,), missing=True)
    of_end = {"range": (0, 100), "missing": ("R", True), "rule": ">= begin", **WHOLE, **end}
    return vws.Schema({"begin": begin, "end": vws.Column(**of_end)})


cells = st.one_of(st.none(), st.integers(10, 90))
RULES = st.sampled_from(
    [">= begin", "> begin", "<= begin", "< begin", ["0 where begin == 20", "<= begin"]]
)


@given(
    st.lists(st.tuples(cells, st.one_of(st.none(), st.just("R"), cells)), min_size=1, max_size=30),
    RULES,
    st.sampled_from([(), (40,), (0, 100)]),
    st.integers(0, 2**20),
)
@settings(max_examples=40)
def test_codes_are_of_a_record_alone_and_give_the_order_back(rows, rule, mass, seed) -> None:
    own = schema(rule=rule, mass=mass)
    (one,) = bounded_columns(own).values()
    frame = pl.DataFrame(
        {
            "begin": [None if b is None else str(b) for b, _ in rows],
            "end": [None if e is None else str(e) for _, e in rows],
        },
        schema={"begin": pl.String, "end": pl.String},
    )
    codes, _ = one.read(nw.from_native(frame))
    assert len({*one.labels}) == one.size
    alone = [one.read(nw.from_native(frame[k : k + 1]))[0][0] for k in range(len(frame))]
    assert codes.tolist() == alone
    begin, values = one.earlier.read(nw.from_native(frame))
    end = one.later.read(nw.from_native(frame))[1]
    lower = one.lower
    order = (np.greater if one.strict else np.greater_equal)(
        *((end, values)[:: 1 if lower else -1])
    )
    broken = ~(order | np.isnan(end) | np.isnan(values))
    assert ((codes < 0) == broken).all()
    kept = ~broken & (begin >= 0)
    if not kept.any():
        return
    known = {"begin": values[kept]}
    known |= one.values(codes[kept], np.random.default_rng(seed))
    made = one.later_values(codes[kept], known)["end"]
    assert (np.isnan(made) == np.isnan(end[kept])).all()
    point = codes[kept] < len(one.later.parts)
    assert np.array_equal(made[point], end[kept][point], equal_nan=True)
    both = ~np.isnan(made) & ~np.isnan(known["begin"]) & ~point
    gap = (made - known["begin"])[both] * (1 if lower else -1)
    assert (gap > 0).all() if one.strict else (gap >= 0).all()
    equal = (end == values)[kept][both] if not one.strict else np.zeros(both.sum(), dtype=bool)
    assert ((gap == 0) == equal).all()
    free = ~np.isnan(made) & np.isnan(known["begin"])
    assert ((made[free] >= 0) & (made[free] <= 100)).all()


def table(n: int, seed: int) -> pd.DataFrame:
    """Records with blanks, equal numbers and points; a few break the order."""
    rng = np.random.default_rng(seed)
    begin = rng.integers(10, 91, n).astype(float)
    end = np.minimum(100, begin + rng.integers(0, 12, n))
    begin[rng.random(n) < 0.2] = 20
    end = np.where(rng.random(n) < 0.9, np.maximum(end, begin), rng.integers(0, 101, n))
    begin[rng.random(n) < 0.15] = np.nan
    end[rng.random(n) < 0.15] = np.nan
    close = np.minimum(100, np.nan_to_num(end, nan=50) + rng.integers(0, 9, n))
    frame = pd.DataFrame({"begin": begin, "end": end, "close": close}).astype("Int64")
    return frame.assign(days=frame["end"] - frame["begin"])


def with_close() -> vws.Schema:
    """The same with a second number that the first one bounds, and one that is computed of both."""
    days = vws.Column(rule="= end - begin", range=(0, 80), missing=True, decimals=0)
    close = vws.Column(**WHOLE, range=(0, 100), rule=[">= end", "40 where end == missing"])
    columns = schema(missing=True, mass=(100,)).columns
    return vws.Schema({**columns, "close": close, "days": days})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("datasets", [1, 2])
@pytest.mark.parametrize(("n", "epsilon"), [(1, 1.0), (60, 0.5), (400, 8.0)])
def test_every_synthetic_record_keeps_order_and_sums(n: int, epsilon: float, datasets: int) -> None:
    made = vws.synthesize(
        table(n, 7),
        schema=with_close(),
        mechanism=vws.NoisyCounts(epsilon=epsilon, delta=1e-6, classes=4, measure="pairs"),
        records=n,
        datasets=datasets,
        seed=3,
    )
    assert made.privacy["guarantee"] == "approximate-dp"
    for own in made.datasets:
        begin, end, close = (own[name].astype("Float64") for name in ("begin", "end", "close"))
        assert len(own) == n
        assert not (end < begin).any()
        assert not (close < end).any()
        assert (close[end.isna()] == 40).all()
        assert ((own["days"] == end - begin) | begin.isna() | end.isna()).all()
        assert own["days"].isna().equals(begin.isna() | end.isna())


@pytest.mark.filterwarnings("ignore")
def test_a_release_is_made_again_from_its_counts(tmp_path: Path) -> None:
    out = tmp_path / "out"
    frame = table(300, 1)
    made = vws.synthesize(
        frame,
        schema=with_close(),
        mechanism=vws.NoisyCounts(epsilon=4, delta=1e-6, classes=4, measure="pairs"),
        datasets=2,
        seed=3,
    )
    made.write(out)
    counts = pl.read_parquet(out / "release" / "counts.parquet")
    assert {"begin:end - begin", "end - begin:close - end"} <= {*counts["set"]}
    assert not any(name.split(":")[0] in ("end", "close") for name in counts["set"])
    again = CliRunner().invoke(app, ["reproduce", str(out)])
    assert again.exit_code == 0, again.output
    assert "other bytes" not in again.output


def test_a_canary_keeps_the_order_too() -> None:
    counting = vws.NoisyCounts(epsilon=1, measure="pairs").counting(schema())
    made = _made_up(counting, 12, np.random.default_rng(2))
    numbers = made.select(pl.all().cast(pl.Float64, strict=False)).drop_nulls()
    assert (numbers["end"] >= numbers["begin"]).all()


def test_what_cannot_be_counted_names_the_way_out() -> None:
    asked = vws.Schema(
        {
            **schema().columns,
            "late": vws.Column(model="nominal", levels=["n", "y"], rule="y where end > 50"),
        }
    )
    with refused("counts-rule-of-bounded") as of_rule:
        vws.NoisyCounts(epsilon=1, measure="pairs").workload(asked)
    with refused("counts-bounded-by-family") as of_family:
        vws.NoisyCounts(epsilon=1, model="conditionals", measure="pairs").workload(schema())
    for caught in (of_rule, of_family):
        assert "= begin + duration" in str(caught.value)
    missing = vws.Schema(
        {
            **schema().columns,
            "late": vws.Column(model="nominal", levels=["n", "y"], rule="n where end == missing"),
        }
    )
    assert "late" in vws.NoisyCounts(epsilon=1, measure="pairs").workload(missing).skips


@pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not in this copy")
@pytest.mark.parametrize("datasets", ["1", "3"])
def test_the_case_of_begin_and_end(tmp_path: Path, datasets: str) -> None:
    """Strictly rising in every record, as in the table."""
    (tmp_path / "s.toml").write_text(
        '[columns.begin]\nmodel = "normal"\nrange = [300, 1200]\ndecimals = 0\n'
        '[columns.end]\nmodel = "normal"\nrange = [300, 1300]\ndecimals = 0\nrule = "> begin"\n'
    )
    asked = ["synthesize", str(CASES / "begin_end.csv"), "--schema", str(tmp_path / "s.toml")]
    asked += ["--mechanism", "noisy-counts", "--epsilon", "4", "--delta", "1e-6"]
    asked += ["--datasets", datasets, "--seed", "1", "--out", str(tmp_path / "out")]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 0, found.output
    for file in dataset_files(tmp_path / "out"):
        made = pl.read_csv(file)
        assert (made["end"] > made["begin"]).all()
        assert abs((made["end"] - made["begin"]).median() - 20) < 20


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("mechanism", "datasets"),
    [
        *((vws.NoisyCounts(epsilon=8, delta=1e-6, classes=4, measure="pairs"), m) for m in (1, 2)),
        pytest.param("lw", 1, marks=pytest.mark.runs),
    ],
)
def test_a_sum_with_blanks_is_kept_and_its_blanks_are_too(mechanism: Any, datasets: int) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 50, (2, 500)).astype(float)
    a[rng.random(500) < 0.1] = np.nan
    total = np.where(rng.random(500) < 0.3, np.nan, a + b + (rng.random(500) < 0.05))
    frame = pd.DataFrame({"a": a, "b": b, "total": total}).astype("Int64")
    part = vws.Column(**WHOLE, range=(0, 60), missing=True)
    rule = "= a + b within 1 or missing"
    columns = {"a": part, "b": vws.Column(**WHOLE, range=(0, 60))}
    columns["total"] = vws.Column(rule=rule, missing=True, decimals=0)
    run: Any = {"draws": 200, "warmup": 200} if mechanism == "lw" else {}
    made = vws.synthesize(
        frame, schema=vws.Schema(columns), mechanism=mechanism, datasets=datasets, seed=1, **run
    )
    for own in made.datasets:
        assert ((own["total"] == own["a"] + own["b"]) | own["total"].isna()).all()
        assert own["total"].isna()[own["a"].isna()].all()
        assert abs(own["total"].isna().mean() - frame["total"].isna().mean()) < 0.15


def test_what_leaves_a_missing_value_free_needs_a_code_for_it() -> None:
    with refused("rule-says-missing"):
        vws.Column(rule="= a + b or missing", decimals=0)
    for text in ("= a within", "= a within -1", "= a or missing or missing", "= within 0.2"):
        with pytest.raises(vws.InputError):
            vws.Column(rule=text, missing=True, decimals=0)
