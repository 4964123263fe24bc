"""What analysts need: the sets that follow, their noise, and the least epsilon."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.mechanisms.counts.by_rule import counted_columns
from pyvws.mechanisms.counts.cliques import grouping
from pyvws.mechanisms.counts.needs import LEVEL, Need, needs_of
from pyvws.mechanisms.counts.workload import PAIRS

REGIONS = tuple("abcd")


def schema(**more: Any) -> vws.Schema:
    table = {"model": "table"}
    columns = {
        "poor": vws.Column(**table, levels=("no", "yes")),
        "region": vws.Column(**table, levels=REGIONS),
        "age": vws.Column(**table, levels=(*map(str, range(9)), "N")),
        "income": vws.Column(model="normal", range=(0, 1000), mass=(0,), missing="-9"),
    }
    return vws.Schema(columns, **more)


def mechanism(*needs: str, epsilon: float = 4.0, **more: Any) -> vws.NoisyCounts:
    return vws.NoisyCounts(
        **{"measure": "pairs", "epsilon": epsilon, "delta": 1e-5, "needs": needs, **more}
    )


def test_a_need_in_words() -> None:
    read = Need.read("poor by region + age within 2 points of 400")
    assert (read.columns, read.within, read.size) == (("poor", "region", "age"), 2.0, 400)
    read = Need.read("log(income) ~ age + poor:region within 1.5")
    assert (read.columns, read.regression) == (("income", "age", "poor", "region"), True)
    assert needs_of("poor by age, income ~ poly(age, 2)") == (
        "poor by age",
        "income ~ poly(age, 2)",
    )
    for words in ("poor", "poor by", "by age", "poor by poor", "poor by age within 0"):
        with refused("need-words", need=words):
            mechanism(words)


def test_needs_choose_sets_of_the_plan_and_their_shares() -> None:
    needs = mechanism("poor by region", "income ~ age + poor + region", measure="margins")
    table = needs.workload(schema())
    shares = dict(zip(table.names, table.weights, strict=True))
    joint = "poor:region:age/#3:income/#3"
    assert {"poor:region", "age:income", "poor:age", joint} <= {*shares}
    assert shares["poor:region"] == shares[joint] == shares["age:income"] == 3.0
    usual = mechanism(measure=(PAIRS,)).workload(schema())
    assert {*usual.weights} == {1.0}
    many = mechanism("income ~ age + region + poor", measure="margins", epsilon=1).workload(
        schema()
    )
    assert max(crossed.size for crossed in many.cliques if crossed.groups) <= 1000


@pytest.mark.parametrize(
    ("needs", "share"),
    [
        (("poor by region",), 32),  # As many times as there are columns, at most,
        (("income ~ age + poor + region",), 32),
        (("income ~ age + poor + region", *(f"x{k} ~ age + poor" for k in range(20))), 496 // 69),
        (
            (
                *(f"x{k} ~ income + poor + region" for k in range(28)),
                *(f"x{k} ~ x{k + 1} + poor + region" for k in range(27)),
            ),
            3,  # and 3 times at least.
        ),
    ],
)
def test_needs_have_about_as_much_of_the_budget_as_all_pairs(needs, share):
    many = {f"x{k}": vws.Column(model="table", levels=("0", "1")) for k in range(28)}
    whole = vws.Schema({**schema().columns, **many})
    table = mechanism(*needs).workload(whole)
    shares = dict(zip(table.names, table.weights, strict=True))
    assert {*shares.values()} == {1.0, share}
    assert shares["poor:region" if "region" in needs[0] else "poor:age"] == share


def test_even_groups_keep_codes_apart_that_are_no_numbers() -> None:
    columns = counted_columns(schema())
    assert grouping(columns["age"], ["#3"]).labels == ["0 to 2", "3 to 5", "6 to 8", "N"]
    income = grouping(columns["income"], ["#4"])
    assert income.labels[:2] == ["0", "-9"]
    assert income.size == 2 + 4
    assert grouping(columns["region"], ["#9"]).size == 4
    with refused("measure-groups", column="age", groups="x"):
        mechanism(measure=("poor:age/#x",)).workload(schema())


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("poor by regoin", "need-unknown-column"),
        ("pay ~ age", "need-unknown-column"),
        ("income by region", "need-of-number"),
        ("poor by income", "need-of-number"),
    ],
)
def test_needs_of_columns_that_cannot_be_are_refused(words: str, key: str) -> None:
    with refused(key, need=words):
        vws.forecast(schema(), mechanism=mechanism(words), records=1000)


def test_the_deviation_of_a_share_is_that_of_simulated_noise() -> None:
    """Of the worst p, a group of which has noise alone and one of which is a sample too."""
    rng, n, sigma, levels = np.random.default_rng(4), 2_000, 6.0, 4
    columns = counted_columns(schema())
    need = Need.read(f"region by poor within 2 of {n}")
    spread = []
    for p in (0.0, 0.3, 0.5, 0.8, 1.0):
        own = rng.binomial(n, p, 40_000)
        noise = rng.normal(0.0, sigma, (levels, len(own)))
        shares = (own + noise[0]) / (n + noise.sum(axis=0))
        spread.append(float(np.std(shares)))
    said = need.half_width(columns, sigma, 0) / 100.0 / 1.959964
    assert said == pytest.approx(max(spread), rel=0.05)
    assert need.half_width(columns, n / 8.0, 0) == math.inf  # Noise hides the group.
    assert LEVEL == 0.95


def test_the_least_epsilon_is_enough_and_a_hundredth_less_is_not() -> None:
    needs = ("poor by region within 3 of 1500", "region by poor within 4")
    expected = vws.forecast(
        schema(), mechanism="noisy-counts", delta=1e-5, records=6000, needs=needs
    )
    least = expected.figures["least-epsilon"]["epsilon"]
    asked = {"poor by region": 3.0, "region by poor": 4.0}
    for epsilon, enough in ((least, True), (least - 0.01, False)):
        widths = mechanism(*needs, measure="auto").widths(schema(), 6000, epsilon)
        assert all(widths[words] <= within for words, within in asked.items()) is enough
    with refused("need-beyond-epsilon", need="poor by region", within=1.0):
        vws.synthesize(
            pl.DataFrame({}), schema=schema(), mechanism=mechanism("poor by region within 1 of 900")
        )


def test_a_forecast_of_sizes_needs_no_number_of_records() -> None:
    given: dict[str, Any] = {"mechanism": "noisy-counts", "delta": 1e-5}
    sized = vws.forecast(schema(), needs=["poor by region within 4 of 900"], **given)
    assert [*sized.figures] == ["needs", "least-epsilon"]
    with refused("forecast-of-nothing"):
        vws.forecast(schema(), needs=["poor by region within 4"], **given)
    said = vws.forecast(schema(), needs="income ~ age + poor", records=900, **given)
    assert "regression-unknown" in said.figures
    assert "income ~ age + poor" in said.lines[-1]


@pytest.mark.runs
def test_a_plan_says_the_least_epsilon_and_tries_regressions_on_public_records(
    tmp_path: Path,
) -> None:
    rng, n = np.random.default_rng(5), 800
    age = rng.integers(0, 9, n)
    pl.DataFrame(
        {
            "poor": np.where(rng.random(n) < 0.1 * age, "yes", "no"),
            "region": rng.choice(REGIONS, n),
            "age": np.where(np.arange(n) < 9, "N", age.astype(str)),
            "income": rng.normal(400.0 + 30.0 * age, 50.0).clip(1, 999).round(),
        }
    ).write_csv(tmp_path / "public.csv")
    (tmp_path / "schema.toml").write_text(schema().text)
    needs = ["--need", "income ~ age + poor", "--need", "poor by region within 6 of 900"]
    words = ["--mechanism", "noisy-counts", "--delta", "1e-5", "--plan", "--json", *needs]
    paths = ["absent.csv", "--schema", str(tmp_path / "schema.toml")]
    reference = ["--reference", str(tmp_path / "public.csv")]
    ended = CliRunner().invoke(app, ["synthesize", *paths, *words, *reference])
    assert ended.exit_code == 0, ended.output
    figures = json.loads(ended.output)["figures"]
    assert 0.0 < figures["least-epsilon"]["epsilon"] < 20.0
    assert 0.0 <= figures["regression-needs"]["off"]["income ~ age + poor"] < 20.0
