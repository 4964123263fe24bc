"""The forecast: figures before any fit, near those of a run, and nothing written."""

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from scipy.stats import norm
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.engines.compiled_target import CompiledTarget
from pyvws.engines.nuts import Chain, Trial
from pyvws.mechanisms.counts import counting
from pyvws.mechanisms.counts.chosen_cells import MOST_CHOSEN
from pyvws.models.registry import find_model
from pyvws.models.sampled_scale import sampled_scale
from pyvws.models.sequence import Conditional
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.synthesis.cost import Cost, expected_cost, expected_of_counts
from pyvws.synthesis.forecast import _cap, _Counts
from pyvws.tables.design.cells import make_cells

SCHEMA = """
[columns.sex]
model = "table"
levels = ["f", "m"]
[columns.job]
model = "table"
levels = ["a", "b", "c", "rare"]
predictors = ["sex"]
[columns.pay]
model = "normal"
outcome_scale = "log"
range = [0, 100000]
predictors = ["sex"]
"""


def forecast(schema: vws.Schema | None, data: Any, **settings: Any) -> list[str]:
    """The forecast of a run, of noisy counts where epsilon or nothing but delta is given."""
    if schema is not None and settings:
        settings["mechanism"] = "noisy-counts"
    found = vws.forecast(schema, data, **{"mechanism": "lw", **settings})
    assert found._repr_html_().count("<p>") == len(found.lines)
    return found.lines


def table(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    job = rng.choice(["a", "b", "c"], n).astype(object)
    job[3] = "rare"
    return pd.DataFrame(
        {"sex": rng.choice(["f", "m"], n), "job": job, "pay": rng.lognormal(8, 0.3, n).round(2)}
    )


@pytest.mark.runs
@pytest.mark.draws
def test_the_forecast_of_epsilon_is_near_that_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCHEMA)
    schema = vws.Schema.read(tmp_path / "s.toml")
    lines = "\n".join(forecast(schema, table()))
    found = re.search(r"epsilon is about ([\d.]+) a dataset", lines)
    assert found is not None
    release = vws.synthesize(
        table(), schema=schema, mechanism="lw", datasets=1, draws=300, warmup=300, seed=1
    )
    assert 0.5 < float(found[1]) / release.privacy["epsilon_per_dataset"] < 2.0
    assert "3 conditionals" in lines
    assert "count 3 pairs of columns" in lines
    assert lines.count(" seconds of a processor and ") == 2  # Of lw, and of counts.
    assert lines.count("Recommended") == 1
    given: dict[str, Any] = {"schema": schema, "mechanism": vws.InverseWeighted(t=0.5)}
    expected = vws.forecast(table=table(), **given)
    assert expected.figures["epsilon"]["under"] == "inverse at t = 0.5"
    release = vws.synthesize(table(), datasets=1, draws=300, warmup=300, seed=1, **given)
    assert 0.5 < expected.figures["epsilon"]["epsilon"] / release.privacy["epsilon_per_dataset"] < 2


def test_the_sizes_of_a_forecast_are_those_by_hand(tmp_path: Path) -> None:
    """Patterns of sex and of job by sex; of pay two coefficients, a scale and chosen cells."""
    (tmp_path / "s.toml").write_text(SCHEMA)
    schema = vws.Schema.read(tmp_path / "s.toml")
    said = " ".join(forecast(schema, table(400), epsilon=2.0, delta=1e-5))
    assert f"3 conditionals with {1 + 2 + 3} parameters" in said
    assert "up to 3 terms" in said
    assert re.search(r"Column 'pay' makes about \d+% of the largest bound of one record", said)
    cells = 2 * 4 + (2 + 4) * MOST_CHOSEN
    assert f"count 3 pairs of columns, {cells} cells in all" in said
    assert f"A cell has {400 * 3 / cells:.0f} records" in said
    # The Gaussian mechanism, for a record in one cell of each of three sets.
    sigma = np.linspace(1.0, 20.0, 2000) / np.sqrt(3)
    lost = norm.cdf(0.5 / sigma - 2 * sigma) - np.exp(2) * norm.cdf(-0.5 / sigma - 2 * sigma)
    (noise,) = re.findall(r"deviation of about (\d+)", said)
    assert float(noise) == round(float(np.sqrt(3) * sigma[lost <= 1e-5].min()))
    assert "Under lw epsilon is about" in said


@pytest.mark.filterwarnings("ignore")
def test_a_bound_by_record_without_a_normaliser_is_said_before_a_run_and_after() -> None:
    rng = np.random.default_rng(11)
    begin = rng.uniform(0, 5, 60)
    homes = pd.DataFrame({"begin": begin, "end": begin + rng.exponential(1.0, 60)})
    number = {"model": "normal", "range": (0.0, 30.0)}
    said = []
    for rule in (None, "> begin"):
        end = vws.Column(**number, rule=rule)
        schema = vws.Schema({"begin": vws.Column(**number), "end": end})
        lines = "\n".join(forecast(schema, homes))
        made = vws.synthesize(
            homes, schema=schema, mechanism="lw", engine="laplace", datasets=1, draws=60, seed=1
        )
        keys = {phrase["key"]: phrase["values"] for phrase in made.privacy["caveat_keys"]}
        said.append(("truncated-normal avoids this" in lines, keys.get("record-bounds")))
    assert said == [(False, None), (True, {"columns": "'end'"})]


def test_a_density_of_0_at_rough_draws_makes_no_forecast_of_nan(tmp_path: Path) -> None:
    """A share of 0 or 1 has no density under beta, or an infinite one."""
    normal = 'model = "normal"\noutcome_scale = "log"\nrange = [0, 100000]'
    assert normal in SCHEMA
    beta = 'model = "beta"\nrange = [0, 1]'
    (tmp_path / "s.toml").write_text(SCHEMA.replace(normal, beta))
    shares = table()
    shares["pay"] = np.random.default_rng(1).beta(2, 2, len(shares)).round(3)
    shares.loc[[5, 6], "pay"] = [0.0, 1.0]
    lines = "\n".join(forecast(vws.Schema.read(tmp_path / "s.toml"), shares))
    assert re.search(r"epsilon is about [\d.]+ a dataset", lines)
    assert "2 bounds are infinite" in lines
    assert "nan" not in lines


@pytest.mark.runs
def test_the_commands_print_it_and_write_no_run(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "s.toml").write_text(SCHEMA)
    files = [str(tmp_path / name) for name in ("t.csv", "s.toml", "out")]
    run = ["synthesize", files[0], "--mechanism", "lw", "--plan"]
    done = CliRunner().invoke(app, [*run, "--schema", files[1], "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["forecast"][0].startswith("Forecast: these are estimates")
    run[3:4] = ["noisy-counts", "--epsilon", "1.5"]
    for out in ([], ["--out", files[2]]):
        done = CliRunner().invoke(app, [*run, "--schema", files[1], *out])
        assert "noisy-counts at epsilon 1.5 and delta 0 " in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.toml", "t.csv"]
    done = CliRunner().invoke(
        app, ["schema", files[0], "--out", str(tmp_path / "p.toml"), "--plan", "--json"]
    )
    assert len(json.loads(done.output)["forecast"]) >= 4
    assert str(table()["pay"].max()) not in done.output


def _planned(*words: Any) -> list[str]:
    """The lines of a forecast by the command line."""
    done = CliRunner().invoke(app, [*map(str, words), "--plan", "--json"])
    assert done.exit_code == 0, done.output
    return list(json.loads(done.output)["forecast"])


def _epsilons(lines: list[str]) -> list[str]:
    """What a forecast says of epsilon and of the noise, which no clock decides."""
    return [line.partition(" A run takes")[0] for line in lines if "epsilon" in line]


def test_a_forecast_from_a_reference_reads_nothing_of_the_table(tmp_path: Path) -> None:
    """Other values, a file that is no table and no file at all give the same lines."""
    (tmp_path / "s.toml").write_text(SCHEMA)
    secret, public = tmp_path / "t.csv", tmp_path / "r.csv"
    other = table(300)
    other["pay"] = other["pay"][::-1].to_numpy() ** 1.1
    run = ("synthesize", secret, "--mechanism", "lw", "--schema", tmp_path / "s.toml")
    said, own = [], []
    for records in (table(), other):
        records.to_csv(secret, index=False)
        other[:250].to_csv(public, index=False)
        own.append(_planned(*run))
        said.append(_planned(*run, "--reference", public))
    secret.write_bytes(b"\x00 no table")
    said.append(_planned(*run, "--reference", public))
    secret.unlink()
    said.append(_planned(*run, "--reference", public))
    release = tmp_path / "out" / "release"
    release.mkdir(parents=True)
    public.rename(release / "synthetic-1.csv")
    table(90).to_csv(release / "synthetic-2.csv", index=False)
    said.append(_planned(*run, "--reference", tmp_path / "out"))
    assert all(_epsilons(lines) == _epsilons(said[0]) for lines in said)
    assert len(_epsilons(said[0])) >= 2
    assert len({str(_epsilons(lines)) for lines in (*own, said[0])}) == 3
    assert all("nothing confidential was read" in lines[0] for lines in said)
    assert all("the reference (250)" in lines[0] for lines in said)
    assert all("confidential table: keep them inside" in lines[0] for lines in own)


def test_a_forecast_by_a_schema_under_review_stays_inside(tmp_path: Path) -> None:
    """A proposal has looked at the table, whatever records the forecast reads then."""
    secret, public, proposal = (tmp_path / name for name in ("t.csv", "r.csv", "p.toml"))
    table(350)[["sex", "job"]].to_csv(public, index=False)
    proposals, said = [], []
    for sorted_records in (0, 200):
        records = table()[["sex", "job"]].replace("rare", "c")
        for name in records:  # Other pairs, and no other shares.
            records[name] = [
                *sorted(records[name][:sorted_records]),
                *records[name][sorted_records:],
            ]
        records.to_csv(secret, index=False)
        public.write_text(public.read_text().replace("rare", "c"))
        words = ("schema", secret, "--out", proposal, "--overwrite")
        said.append([_planned(*words), _planned(*words, "--reference", public)])
        proposals.append(proposal.read_text())
    run = ("synthesize", secret, "--mechanism", "lw", "--schema", proposal, "--reference", public)
    assert proposals[0] == proposals[1]
    assert said[0][0] != said[1][0]
    assert _epsilons(said[0][1]) == _epsilons(said[1][1]) == _epsilons(_planned(*run))
    for lines in (said[0][1], _planned(*run)):
        assert "under review" in lines[0]
        assert "keep them inside" in lines[0]
        assert "nothing confidential" not in lines[0]


def test_a_reference_of_a_forecast_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCHEMA)
    secret, public, other = (tmp_path / name for name in ("t.csv", "r.csv", "o.csv"))
    table().to_csv(secret, index=False)
    table(90).drop(columns="pay").to_csv(public, index=False)
    by_weights = ["synthesize", secret, "--schema", tmp_path / "s.toml"]
    run = [*by_weights, "--mechanism", "lw"]
    (line,) = _planned(*run, "--reference", public)
    assert line.startswith("There is no forecast. reference: ")
    assert "'pay'" in line
    other.symlink_to(secret)
    for words, message in (
        ([*run, "--plan", "--reference", other], "is the confidential table"),
        ([*run, "--plan", "--reference", tmp_path / "no.csv"], "no.csv: cannot be read"),
        ([*by_weights, "--plan", "--reference", public, "--given-weights", secret], "of others"),
        (["schema", secret, "--out", tmp_path / "p.toml", "--reference", public], "Add --plan"),
    ):
        done = CliRunner().invoke(app, [*map(str, words)])
        assert done.exit_code != 0
        assert message in str(done.exception)
    assert not (tmp_path / "p.toml").exists()


@pytest.mark.parametrize("weights", [("reference",), ("constant",), ("constant", "--c", "0.5")])
def test_a_mechanism_with_a_reference_of_its_own_is_forecast_from_it(
    tmp_path: Path, weights: tuple[str, ...]
) -> None:
    wide(1, 80).to_csv(tmp_path / "r.csv", index=False)
    words = ("--outcome", "y", "--formula", "~ x0", "--model", "poisson", "--epsilon", "1")
    run = ("synthesize", tmp_path / "none.csv", *words, "--mechanism", "censored", "--weights")
    lines = _planned(*run, *weights, "--reference", tmp_path / "r.csv")
    assert "the reference (80), so nothing confidential was read" in lines[0]


def test_a_table_of_wide_logits_has_a_normal_prior_that_is_said_before_the_run() -> None:
    levels = {"a": "uvwxyz", "b": "uvwxyz", "c": "uv", "d": "uv"}
    columns = {name: vws.Column(model="nominal", levels=[*each]) for name, each in levels.items()}
    columns["d"] = vws.Column(model="nominal", levels=["u", "v"], settings={"coefficient_sd": 0})
    schema = vws.Schema(columns)
    rng = np.random.default_rng(3)
    data = pd.DataFrame({name: rng.choice([*each], 60) for name, each in levels.items()})
    plan = vws.Synthesizer(schema=schema, mechanism="lw", datasets=1).plan
    # Eleven coefficients have a normal prior, one and six none, and twelve what is asked for.
    sds = [one.family.coefficient_sd for one in plan.conditionals]
    assert sds == [None, None, 2.0, 0]
    assert [part.name for part in plan.conditionals if part.wide] == ["c"]
    (line,) = (line for line in forecast(schema, data) if "coefficient_sd" in line)
    assert "coefficient_sd to 'c', whose" in line
    assert "standard deviation 2." in line
    both = vws.Schema({**columns, "d": columns["c"]})
    assert any("'c', 'd', whose " in line for line in forecast(both, data))
    alone = vws.Schema(
        {"a": vws.Column(role="public", levels=[*"abcdefghijklmn"]), "c": columns["c"]}
    )
    (one,) = vws.Synthesizer(schema=alone, mechanism="lw", datasets=1).plan.conditionals
    assert one.K == 14
    assert one.family.coefficient_sd is None


def test_a_table_that_no_run_takes_has_no_forecast(tmp_path: Path) -> None:
    """A proposal is written all the same; Python raises what the run would."""
    table()[["sex"]].assign(sex="f").to_csv(tmp_path / "t.csv", index=False)
    (line,) = _planned("schema", tmp_path / "t.csv", "--out", tmp_path / "p.toml")
    assert line == "There is no forecast. The schema synthesizes no column. Give a column a model."
    with refused("nothing-to-synthesize"):
        vws.forecast(vws.Schema.read(tmp_path / "p.toml"), table(), mechanism="lw")
    histogram = vws.PerturbedHistogram(epsilon=1.0, range=(0, 30))
    run: Any = {"outcome": "y", "mechanism": histogram}
    assert [*vws.forecast(None, wide(1), **run).figures] == ["none"]


@pytest.mark.runs
def test_rare_levels_cost_in_the_weighted_fit_what_the_forecast_says() -> None:
    rng = np.random.default_rng(4)
    data = pd.DataFrame(
        {
            "place": rng.choice(list("abcdefgh"), 3000),
            "kind": rng.choice(list("uvwxyz"), 3000, p=[0.9, 0.09, 0.004, 0.003, 0.002, 0.001]),
            "part": rng.choice(list("klmnop"), 3000, p=[0.9, 0.09, 0.004, 0.003, 0.002, 0.001]),
        }
    )
    chosen = {
        "place": vws.Column(model="table", levels=[*"abcdefgh"]),
        "kind": vws.Column(model="table", levels=[*"uvwxyz"], predictors=["place"]),
        "part": vws.Column(model="table", levels=[*"klmnop"], predictors=["place", "kind"]),
    }
    lines = "\n".join(forecast(vws.Schema(chosen), data))
    expected = re.search(r"epsilon is about ([\d.]+) a dataset", lines)
    assert expected is not None
    release = vws.synthesize(data, schema=vws.Schema(chosen), mechanism="lw", datasets=1, seed=1)
    assert 0.5 < float(expected[1]) / release.privacy["epsilon_per_dataset"] < 2.0
    assert "confidential" in lines
    assert re.search(r"A run of lw takes about \d+ seconds of a processor and 0\.\d GB", lines)


def test_whole_households_have_a_forecast_by_unit() -> None:
    rng = np.random.default_rng(2)
    home = np.repeat(np.arange(120), rng.integers(1, 4, 120))
    people = pd.DataFrame(
        {
            "home": home,
            "owner": rng.choice(["yes", "no"], 120)[home],
            "sex": rng.choice(["f", "m"], len(home)),
        }
    )
    schema = vws.Schema(
        {
            "owner": vws.Column(model="table", levels=["yes", "no"]),
            "sex": vws.Column(model="table", levels=["f", "m"], predictors=["owner"]),
        },
        unit="home",
        members={"sizes": [1, 3], "of_unit": ["owner"], "summaries": {"persons": "size"}},
    )
    lines = "\n".join(forecast(schema, people))
    assert "the largest bound of all records of one home" in lines
    assert "noisy-counts" not in lines  # They count records alone.
    assert forecast(schema, people.drop(columns="home"))[0].startswith("There is no forecast.")


@pytest.mark.parametrize(("levels", "said"), [(60, True), (12, False)])
def test_a_level_for_each_record_is_said_before_a_fit(levels: int, said: bool) -> None:
    names = [f"n{k:02d}" for k in range(levels)]
    table = pd.DataFrame({"name": (names * 60)[:60], "y": np.arange(60) % 7})
    schema = vws.Schema(
        {
            "name": vws.Column(role="public", levels=names),
            "y": vws.Column(model="poisson", range=(0, 9), predictors=["name"]),
        }
    )
    lines = " ".join(forecast(schema, table))
    assert (f"'y' make {levels} design columns for 60 records" in lines) == said


def wide(columns: int, records: int = 300) -> pd.DataFrame:
    """A count beside numbers that are no category, so a design has one column for each."""
    rng = np.random.default_rng(8)
    numbers = {f"x{k}": rng.normal(size=records).round(3) for k in range(columns)}
    return pd.DataFrame({**numbers, "y": rng.poisson(3, records)})


def test_a_run_by_a_formula_is_refused_where_its_forecast_is_too_long(tmp_path: Path) -> None:
    """150 design columns pass the limit of parameters, and take hours."""
    run: Any = {"outcome": "y", "formula": "~ .", "model": "poisson", "mechanism": "lw"}
    lines = "\n".join(forecast(None, wide(150), **run))
    assert "above --most-seconds, 300" in lines
    with refused("too-long"):
        vws.synthesize(wide(150), **run, seed=1)
    assert "long-time" not in vws.forecast(None, wide(150), **run, most_seconds=1e9).figures
    wide(150).to_csv(tmp_path / "t.csv", index=False)
    words = ["synthesize", str(tmp_path / "t.csv"), "--outcome", "y", "--formula", "~ ."]
    words += ["--model", "poisson", "--mechanism", "lw", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*words, "--plan"])
    assert done.exit_code == 0, done.output
    assert "A run of lw takes about" in done.output
    assert not (tmp_path / "out").exists()


def test_a_strict_run_makes_no_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial reads the records before a price is paid; a run without a claim makes one."""
    tried: list[object] = []
    own = Trial.of
    monkeypatch.setattr(
        Trial, "of", classmethod(lambda _cls, *given: [own(*given), tried.append(given)][0])
    )
    brief: Any = {"draws": 500, "warmup": 300, "chains": 2, "datasets": 1, "seed": 1}
    run: Any = {"outcome": "y", "model": "poisson", "most_seconds": 1e-6, **brief}
    with refused("too-long"):
        vws.synthesize(wide(1, 60), mechanism="lw", **run)
    assert len(tried) == 1
    strict = vws.Censored(epsilon=4.0, weights="constant", c=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        vws.synthesize(wide(1, 60), mechanism=strict, **run)
    assert len(tried) == 1


def test_a_trial_counts_the_slopes_that_a_fit_takes() -> None:
    """Slopes an iteration within a factor of 2 of those of a whole chain; no time is asserted."""
    cells = make_cells(np.arange(40.0) % 5, rng_design(40, 3))
    target = PseudoPosterior(find_model("poisson"), cells, np.ones(40))
    trial = Trial.of(target, vws.SamplerSettings())
    chain = Chain(
        [CompiledTarget(target, sampled_scale(target.starts()[0]))],
        [target.dimension],
        vws.SamplerSettings(chains=1),
        np.random.default_rng(5),
        jitter=1.0,
    )
    assert chain.run()
    assert 0.5 < trial.slopes / (chain.slopes[1] / 1000) < 2.0
    assert trial.slope > 0.0


PAIR = vws.Schema(
    {name: vws.Column(model="table", levels=("a", "b"), predictors=()) for name in ("x", "y")}
)
FEW = pd.DataFrame({"x": ["a", "b"] * 30, "y": ["a", "a", "b"] * 20})


@pytest.mark.parametrize("noisy", [40, 5_000_000])
def test_noisy_counts_are_refused_by_the_noisy_number_of_records_alone(
    noisy: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The true number is 60 in both runs, so a refusal tells no more than the noisy number."""
    monkeypatch.setattr(counting, "bought_number", lambda *_: noisy)
    mechanism = vws.NoisyCounts(epsilon=1.0, measure="pairs")
    run: Any = {"schema": PAIR, "mechanism": mechanism, "datasets": 2}
    if noisy == 40:
        assert len(vws.synthesize(FEW, **run).datasets[0]) == noisy
        with refused("too-long", most=0.5):
            vws.synthesize(FEW, **run, most_seconds=0.5)
        short = vws.forecast(run["schema"], FEW, mechanism=run["mechanism"], most_seconds=0.5)
        assert "above --most-seconds, 0.5" in str(short)
        return
    with refused("too-long"):
        vws.synthesize(FEW, **run, most_seconds=2.0)


def test_more_noisy_counts_cost_more() -> None:
    def cost(records: int = 10**6, fits: int = 5, **given: Any) -> Cost:
        mechanism = vws.NoisyCounts(epsilon=1.0, **{"measure": "pairs", **given})
        counted = mechanism.workload(PAIR)
        scales = np.ones(len(counted.sets))
        return expected_of_counts(mechanism, counted, records, scales, fits=fits)

    _, usual = cost(), cost()  # The first one loads and compiles.
    assert "fewer datasets" in usual.longest
    assert "fewer datasets" not in cost(fits=1).longest
    more: tuple[dict[str, Any], ...] = (
        {"records": 2 * 10**6},
        {"fits": 10},
        {"classes": 3000},
    )
    for given in more:
        assert cost(**given).seconds > usual.seconds


def rng_design(records: int, K: int) -> Any:
    return np.random.default_rng(3).normal(size=(records, K))


def test_what_a_run_does_more_costs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_dimension(target: Any, _: Any) -> Trial:
        return Trial(start=0.01, slope=1e-5 * target.dimension, slopes=8.0)

    monkeypatch.setattr(Trial, "of", of_dimension)  # Whatever else the machine does.

    def seconds(K: int, records: int = 50, **settings: Any) -> float:
        design = rng_design(records, K)
        columns = [Conditional("y", find_model("poisson"), make_cells(np.ones(records), design))]
        run: Any = {"outcome": "y", "model": "poisson", "mechanism": "lw"} | settings
        cost = expected_cost(vws.Synthesizer(**run), columns, records)
        assert cost is not None
        return cost.seconds

    usual = seconds(60)
    assert seconds(5) < usual < seconds(120)
    assert usual > 1.5 * seconds(60, mechanism="unweighted")
    assert seconds(60, epsilon=3.0) > 2.0 * usual
    assert seconds(60, settings=vws.SamplerSettings(draws=4000)) > 2.0 * usual
    assert seconds(60, settings=vws.SamplerSettings(warmup=9000)) > 2.0 * usual


def test_what_is_kept_of_a_fit_takes_memory() -> None:
    """151 design columns have a matrix of 22,801 correlations a draw, in each of two fits."""
    design = rng_design(50, 151)
    columns = [Conditional("y", find_model("poisson"), make_cells(np.ones(50), design))]
    run = vws.Synthesizer(outcome="y", model="poisson", mechanism="lw")
    cost = expected_cost(run, columns, 50)
    assert cost is not None
    assert cost.gigabytes > 8e-9 * 4000 * (2 * 151**2 + 2 * 151 * 150 / 2)
    other = vws.Synthesizer(outcome="y", model="poisson", mechanism="lw", engine="laplace")
    assert expected_cost(other, columns, 50) is None  # Of engine native alone.


def test_units_get_a_cap_and_what_a_smaller_one_gives() -> None:
    """Noise is in proportion to the cap; a cap that a run has is the one that is told."""
    table = pd.DataFrame({"person": np.repeat(np.arange(200), 5), "year": [*range(5)] * 200})
    levels = {"year": [str(year) for year in range(5)], "sex": ["f", "m"]}
    table = table.assign(sex=np.where(table["person"] % 2, "f", "m"))
    columns = {name: vws.Column(model="table", levels=own) for name, own in levels.items()}
    schema = vws.Schema({"person": vws.Column(role="id"), **columns}, unit="person")
    suggested = " ".join(forecast(schema, table))
    assert "lose least with --cap 5, which leaves 0 records out" in suggested
    assert "With --cap 1 a cell has 20 records on average" in suggested
    assert "800 records are left out" in suggested
    of_run = " ".join(forecast(schema, table, epsilon=1.0, cap=2))
    assert "With --cap 2 noisy-counts leaves 600 records out" in of_run
    assert "Noise grows" not in " ".join(forecast(schema, table, epsilon=1.0, cap=1))


def test_a_forecast_names_the_epsilon_at_which_cells_stand_out_of_their_noise(
    tmp_path: Path,
) -> None:
    (tmp_path / "s.toml").write_text(SCHEMA)
    schema = vws.Schema.read(tmp_path / "s.toml")

    def figures(epsilon: float, records: int = 100) -> dict[str, Any]:
        return vws.forecast(
            schema, records=records, mechanism="noisy-counts", epsilon=epsilon, delta=1e-5
        ).figures

    at = figures(1.0)["enough-epsilon"]["epsilon"]
    assert "hidden-cells" not in figures(at)
    assert figures(at / 2.0)["hidden-cells"]["deviations"] == 2.0
    assert "enough-epsilon" not in figures(50.0, records=8)


def test_without_a_table_the_figures_of_counts_are_those_of_as_many_records(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCHEMA)
    run: Any = {"mechanism": "noisy-counts", "epsilon": 1.0}
    read = vws.forecast(tmp_path / "s.toml", table(400), **run)
    unread = vws.forecast(tmp_path / "s.toml", records=400, **run)
    assert unread.figures["schema"] == {"records": 400}
    assert unread.figures["counts"] == read.figures["counts"]
    assert str(unread) == "\n".join(unread.lines)
    assert "no record was read" in unread.lines[0]
    with refused("forecast-of-nothing"):
        vws.forecast(tmp_path / "s.toml", **run)


def test_one_unit_of_many_records_raises_no_cap_for_all() -> None:
    """A cap of 400 would keep all records, under 400 times the noise."""
    sizes = [1] * 300 + [2] * 100 + [400]
    found = _cap(np.repeat(np.arange(len(sizes)), sizes), _Counts(3, 60, 3.0, 20.0))
    assert found in (1, 2)
    alike = np.repeat(np.arange(90), 6)
    assert _cap(alike, _Counts(3, 60, 9.0, 4.5)) == 6  # As much noise a record at any cap.
