"""A public table as prior of noisy counts: its slopes, its weight, and what leaves of it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.mechanisms.counts import skips
from pyvws.mechanisms.counts.best_file import best_file
from pyvws.mechanisms.counts.counting import CellCounting
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.reference import ReferencePrior, ReferenceRecords, overlap
from pyvws.tables.files import public

pytestmark = pytest.mark.runs
_LEVELS = {"a": "xyz", "b": "uvw", "c": "01", "d": "pqrs"}
_SCHEMA = vws.Schema(
    {name: vws.Column(model="nominal", levels=tuple(own)) for name, own in _LEVELS.items()}
)


def _table(seed: int, n: int, tie: float = 0.6) -> pl.DataFrame:
    """Records whose columns follow the first one in a share `tie` of cases."""
    rng = np.random.default_rng(seed)
    first = rng.choice(4, n, p=(0.5, 0.3, 0.1, 0.1))
    columns = {}
    for name, levels in _LEVELS.items():
        own = np.where(rng.random(n) < tie, first, rng.integers(0, 4, n)) % len(levels)
        columns[name] = np.array([*levels])[own]
    return pl.DataFrame(columns)


def _counting(reference: Any) -> CellCounting:
    return vws.NoisyCounts(epsilon=1.0, reference=reference, measure="pairs").counting(_SCHEMA)


def _noisy(
    counting: CellCounting, frame: pl.DataFrame, scale: float, seed: int, *, laplace: bool = False
) -> Measurements:
    table = counting.table
    exact = table.counts(counting.read(_counting(frame).referred).codes)
    rng = np.random.default_rng(seed)
    noise = (rng.laplace if laplace else rng.normal)(0.0, scale, len(exact))
    counts = exact + np.rint(noise).astype(np.int64)
    scales = np.full(len(table.sets), scale)
    return Measurements(table, counts, scales, laplace=laplace, records=len(frame))


def _prior(reference: pl.DataFrame, scale: float = 5.0, seed: int = 1, **given: Any) -> Any:
    counting = _counting(reference)
    prior = ReferencePrior.of(counting, _noisy(counting, _table(7, 2_000), scale, seed, **given))
    assert prior is not None
    return prior


def _far_from_differences(prior: ReferencePrior) -> float:
    """How far slopes are from differences of -kappa sum w log p, records one by one."""
    counts = prior.counts
    at = counts.start(3, np.random.default_rng(2))
    slopes = prior.batches(np.random.default_rng(1)).at(_soft(at.shares), counts.profiles(at.codes))
    w = prior.raked(prior.weights, _soft(at.shares) @ counts.profiles(at.codes), 2)
    w *= counts.noisy.records / w.sum()

    def value() -> float:
        shares, phi, total = _soft(at.shares), counts.profiles(at.codes), 0.0
        for weight, codes in zip(w, prior.reference.codes, strict=True):
            likely = shares.copy()
            for k, code in enumerate(codes):
                own = slice(*counts.offsets[k : k + 2])
                there = prior.covered[own]
                if code >= 0:
                    likely *= phi[:, own][:, code] / phi[:, own][:, there].sum(axis=1)
            total -= prior.kappa * weight * np.log(likely.sum())
        return total

    worst, step = 0.0, 1e-5
    for x, slope in zip(at[:2], slopes, strict=True):
        for place in np.ndindex(x.shape):
            here, values = x[place], []
            for moved in (here - step, here + step):
                x[place] = moved
                values.append(value())
            x[place] = here
            worst = max(worst, abs((values[1] - values[0]) / (2 * step) - slope[place]))
    return worst


def _soft(logits: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(logits) / np.exp(logits).sum())


def test_slopes_are_those_of_the_records_and_a_prior_counted_twice_is_seen(monkeypatch) -> None:
    # Unknown values, and levels that the reference lacks.
    reference = _table(3, 200).with_columns(
        pl.when(pl.col("a") == "z").then(pl.lit("?")).otherwise("a").alias("a"),
        pl.when(pl.col("d") == "s").then(pl.lit("p")).otherwise("d").alias("d"),
    )
    prior = _prior(reference)
    assert prior.kappa > 0.05
    assert _far_from_differences(prior) < 1e-2
    once = ReferencePrior.batches

    class Twice:
        def __init__(self, own: Any) -> None:
            self.own = own

        def at(self, *given: Any) -> Any:
            return tuple(2.0 * slope for slope in self.own.at(*given))

    monkeypatch.setattr(ReferencePrior, "batches", lambda own, rng: Twice(once(own, rng)))
    assert _far_from_differences(prior) > 1.0


@pytest.mark.parametrize("most", [64, 1])
def test_records_that_break_a_rule_are_none_of_the_prior(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(skips, "MOST_PATTERNS", most)
    rule = "never 1 where a == 'x' and b != 'w'"
    ruled = vws.Column(model="nominal", levels=("0", "1"), rule=rule)
    schema = vws.Schema({**_SCHEMA.columns, "c": ruled})
    told = {"reference": _table(3, 300), "measure": "pairs"}
    counting = vws.NoisyCounts(epsilon=1.0, **told).counting(schema)
    read = ReferenceRecords.of(counting, _noisy(counting, _table(7, 2_000), 5.0, 1))
    by_name, skip = counting.table.by_name(read.codes), counting.table.skips["c"]
    assert skip.keeps(by_name, by_name["c"]).all()
    records = counting.table.by_name(counting.read(counting.referred).codes)
    assert read.times.sum() == skip.keeps(records, records["c"]).sum() < read.records


def test_each_record_twice_is_the_same_prior() -> None:
    reference = _table(3, 300)
    once, twice = _prior(reference), _prior(pl.concat([reference] * 2))
    assert twice.kappa == pytest.approx(once.kappa)
    np.testing.assert_allclose(twice.weights, once.weights)
    np.testing.assert_allclose(
        once.cells.T @ once.weights, once.counts.margins * 2_000, rtol=0.01, atol=1.0
    )


@pytest.mark.parametrize("laplace", [False, True])
def test_the_excess_of_squares_is_that_of_the_table(laplace: bool) -> None:
    """Beside the reference and beside margins, the noise of margins and cells is taken off."""
    reference, found = _table(3, 4_000, 0.5), []
    for seed in range(25):
        prior = _prior(reference, 12.0, seed, laplace=laplace)
        found.append((prior._gaps.sum(), prior._dependence.sum()))
    exact = _prior(reference, 1e-3)
    truth = exact._gaps.sum(), exact._dependence.sum()
    errors = np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - truth) < 4.5 * errors + 0.01 * np.array(truth)).all()


def test_the_weight_follows_from_noisy_counts() -> None:
    alike, permuted = _table(3, 4_000), _table(4, 4_000, 0.0)
    near = _prior(alike)
    assert near.explained > 0.9
    assert 0.2 < near.kappa <= 1.0
    assert near.contradicted == []
    worthless = _prior(permuted)
    assert abs(worthless.explained) < 0.1
    assert worthless.kappa < 0.01
    assert len(worthless.contradicted) == 6
    drowned = _prior(alike, 400.0)
    assert (drowned.is_clear, drowned.kappa, drowned.explained) == (False, 0.0, 0.0)


def test_a_reference_brings_ties_that_noise_hides_and_one_of_no_weight_nothing() -> None:
    counting, truth = _counting(_table(3, 4_000)), _table(7, 2_000)
    noisy = _noisy(counting, truth, 60.0, 2)
    exact = counting.table.counts(counting.read(_counting(truth).referred).codes)
    prior = ReferencePrior.of(counting, noisy)
    assert prior is not None
    assert prior.kappa > 0.0
    apart = {}
    for name, further in {
        "none": None,
        "reference": prior,
        "worthless": ReferencePrior.of(_counting(_table(4, 4_000, 0.0)), noisy),
    }.items():
        (made,) = best_file(noisy, classes=6, seed=1, further=further).codes
        apart[name] = np.abs(counting.table.counts(made) - exact).sum()
        if name == "worthless":
            assert further is not None
            assert further.kappa < 0.02
    assert apart["reference"] < 0.75 * apart["none"]
    assert apart["worthless"] < 1.1 * apart["none"]


def test_columns_and_levels_that_a_reference_lacks_are_counted() -> None:
    reference = (
        _table(3, 500)
        .drop("c")
        .with_columns(pl.when(pl.col("b") == "w").then(pl.lit("other")).otherwise("b").alias("b"))
    )
    prior = _prior(reference)
    own = prior.reference
    assert own.lacks == ("c",)
    assert own.unknown == {"b": int((reference["b"] == "other").sum())}
    assert prior.figures()["records"] == 500
    assert (own.codes[:, 2] == -1).all()
    shuffled = reference.sample(fraction=1.0, shuffle=True, seed=1).select("d", "b", "a")
    assert _prior(shuffled).reference.digest == own.digest
    assert _prior(reference.with_columns(b=pl.lit("u"))).reference.digest != own.digest


def test_records_of_the_table_are_seen_inside() -> None:
    wide = {f"x{k}": vws.Column(model="nominal", levels=tuple("abcdefgh")) for k in range(6)}
    rng = np.random.default_rng(3)
    table, other = (
        pl.DataFrame({name: rng.choice([*"abcdefgh"], 600) for name in wide}) for _ in range(2)
    )
    cases: dict[float, pl.DataFrame] = {
        0.0: other,
        0.1: pl.concat([other[:540], table[:60]]),
        1.0: pl.concat([other, table]),
    }
    for share, reference in cases.items():
        mechanism = vws.NoisyCounts(epsilon=1.0, reference=reference, measure="pairs")
        counting = mechanism.counting(vws.Schema(wide))
        found = overlap(counting, counting.read(pl_records(counting, table)))
        assert found is not None
        assert (found["warning"] is not None) == (share > 0.0)
        assert found["by_chance"] < 0.05


def pl_records(counting: CellCounting, table: pl.DataFrame) -> Any:
    return replace(counting, reference=public.PublicTable(table)).referred


def _run(frame: pl.DataFrame, reference: Any, **given: Any) -> Any:
    usual = {"measure": "pairs", "epsilon": 3.0, "classes": 3, "datasets": 1, "seed": 5}
    return vws.synthesize(
        frame, schema=_SCHEMA, mechanism="noisy-counts", reference=reference, **usual | given
    )


@pytest.mark.parametrize(
    ("spoil", "key"),
    [
        (lambda frame: frame.rename(dict(zip("abcd", "efgh", strict=True))), "reference-columns"),
        (lambda frame: frame.select("a"), "reference-columns"),
        (lambda frame: frame[:0], "reference-empty"),
    ],
)
def test_a_reference_that_says_nothing_is_refused(
    tmp_path: Path, spoil: Callable[[pl.DataFrame], pl.DataFrame], key: str
) -> None:
    spoil(_table(1, 50)).write_csv(tmp_path / "public.csv")
    with refused(key, file="public.csv"):
        vws.Synthesizer(
            schema=_SCHEMA,
            mechanism=vws.NoisyCounts(
                epsilon=1.0, reference=tmp_path / "public.csv", measure="pairs"
            ),
            datasets=1,
        )


def test_what_no_fit_takes_and_no_memory_holds_is_refused_before(monkeypatch) -> None:
    with refused("reference-without-fit"):
        _run(_table(1, 50), _table(2, 50), model="conditionals")
    monkeypatch.setattr(public, "MOST_VALUES", 100)
    with refused("reference-too-large", most=25):
        _run(_table(1, 50), _table(2, 50))


def test_a_release_says_its_reference_and_is_made_again_with_it(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    _table(3, 900).write_csv(tmp_path / "public.csv")
    _table(4, 900).write_csv(tmp_path / "other.csv")
    own, out = _table(1, 700), tmp_path / "out"
    release = _run(own, str(tmp_path / "public.csv"))
    said = release.privacy["counts"]["reference"]
    assert (said["file"], said["records"], said["is_release"]) == ("public.csv", 900, False)
    assert release.privacy["ledger"][-1]["epsilon"] == 0.0
    assert "counts-reference" in json.dumps(release.privacy["caveat_keys"])
    assert release.privacy["guarantee"] == "dp"
    release.write(out)
    reproduce = ["reproduce", str(out)]
    made = CliRunner().invoke(app, reproduce)
    assert made.exit_code == 0, made.output
    assert CliRunner().invoke(app, ["report", str(out)]).exit_code == 0
    told = (out / "confidential" / "report.html").read_text(encoding="utf-8")
    assert "of the dependence of pairs" in " ".join(told.split())
    assert set(release.summary["reference"]) == {"found", "by_chance", "warning"}
    (tmp_path / "public.csv").rename(tmp_path / "moved.csv")
    for path, key in (
        (None, "reproduce-without-reference"),
        ("other", "reference-of-other-digest"),
    ):
        asked = [] if path is None else ["--reference", str(tmp_path / f"{path}.csv")]
        with refused(key, file="public.csv"):
            raise CliRunner().invoke(app, reproduce + asked).exception or AssertionError
    moved = CliRunner().invoke(app, [*reproduce, "--reference", str(tmp_path / "moved.csv")])
    assert moved.exit_code == 0, moved.output
    later = _run(_table(2, 700), str(out), after=str(out))
    assert later.privacy["counts"]["reference"]["is_release"]
    assert "counts-reference-release" in json.dumps(later.privacy["caveat_keys"])
    assert later.privacy["costs_together"]["releases"]["strict"] == 2
