"""Columns of noisy counts that their own families give: the posterior against sums over all tables
of five records, whose probabilities are means over draws of the families' priors."""

import itertools
import json
import math

import numpy as np
import polars as pl
import pytest
from refusals import refused
from scipy import special, stats
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.mechanisms.counts.classes import impute
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.workload import Workload
from pyvws.models.public_cells import cell_probabilities, drawn_in_cells, open_ends
from pyvws.models.registry import find_model

pytestmark = [pytest.mark.runs, pytest.mark.draws]

N = 5
_DRAWS = 20_000
_SWEEPS = 1_200
_BATCHES = 20
_FAR = 4.5  # Batch standard errors.

A = vws.Column(model="table", levels=("0", "1"), predictors=[])


def priors(columns: int, rng: np.random.Generator) -> np.ndarray:
    """Coefficients (S, 2, columns) of an intercept and a slope, under one scale and correlation."""
    scale = np.abs(rng.standard_t(3, (_DRAWS, 2)))
    r = 2.0 * rng.beta(6.0, 6.0, _DRAWS) - 1.0
    z = rng.standard_normal((_DRAWS, 2, columns))
    second = r[:, None] * z[:, 0] + np.sqrt(1.0 - r**2)[:, None] * z[:, 1]
    return np.stack([scale[:, :1] * z[:, 0], scale[:, 1:] * second], axis=1)


def etas(rng: np.random.Generator, columns: int = 1) -> np.ndarray:
    """eta (S, 2, columns) of the two levels of a."""
    beta = priors(columns, rng)
    return np.stack([beta[:, 0], beta[:, 0] + beta[:, 1]], axis=1)


def same(rng: np.random.Generator) -> np.ndarray:
    """eta (S, 2, 1) of a column without predictors."""
    return np.repeat(priors(1, rng)[:, :1], 2, axis=1)


def of_levels(eta: np.ndarray) -> np.ndarray:
    """Shares (S, 2, L) of levels, the first of which has eta 0."""
    whole = np.concatenate([np.zeros((*eta.shape[:2], 1)), eta], axis=2)
    shares = np.exp(whole - whole.max(axis=2, keepdims=True))
    return shares / shares.sum(axis=2, keepdims=True)


def of_ends(below: np.ndarray) -> np.ndarray:
    """Shares (S, 2, C) of cells from the probabilities below their inner ends (S, 2, C - 1)."""
    edge = np.zeros((*below.shape[:2], 1))
    return np.diff(np.concatenate([edge, below, edge + 1.0], axis=2), axis=2)


def half_cauchy(scale: float, rng: np.random.Generator) -> np.ndarray:
    return scale * np.abs(rng.standard_cauchy((_DRAWS, 1, 1)))


def ordinal(rng):
    gap = 2.5 * np.abs(rng.standard_t(3, (_DRAWS, 1, 1)))
    cuts = np.concatenate([np.zeros_like(gap), gap], axis=2)
    return of_ends(1.0 / (1.0 + np.exp(etas(rng) - cuts)))


def normal(ends):
    def shares(rng):
        sigma = np.abs(rng.standard_t(3, (_DRAWS, 1, 1)))
        return of_ends(stats.norm.cdf(ends, etas(rng), sigma))

    return shares


def with_part(rng):
    """A point of mass and three cells: the logit of the point, and normal logarithms."""
    part, cells = of_levels(etas(rng)), normal(np.log([2.0, 4.0]))(rng)
    return np.concatenate([part[:, :, 1:], part[:, :, :1] * cells], axis=2)


def in_range(rng):
    """Three cells of a range from -1 to 1; where it holds no mass, the nearer end has it all."""
    ends = np.array([-1.0, -0.5, 0.5, 1.0])
    eta, sigma = same(rng), np.abs(rng.standard_t(3, (_DRAWS, 1, 1)))
    z = np.where(eta > 0.0, ends - eta, eta - ends) / sigma
    mass = np.abs(np.diff(special.ndtr(z), axis=2))
    whole = mass.sum(axis=2, keepdims=True)
    nearer = np.where(eta > 0.0, [0.0, 0.0, 1.0], [1.0, 0.0, 0.0])
    return np.where(whole > 1e-300, mass / np.maximum(whole, 1e-300), nearer)


def gamma(rng):
    shape, mu = 1.0 / half_cauchy(5.0, rng), np.exp(np.clip(same(rng), -300, 300))
    return of_ends(special.gammainc(shape, shape * np.array([1.0, 3.0]) / mu))


def beta(rng):
    kappa, eta = 1.0 / half_cauchy(5.0, rng), same(rng)
    a, b = (np.maximum(kappa * special.expit(side * eta), 1e-300) for side in (1, -1))
    return of_ends(special.betainc(a, b, np.array([0.3, 0.7])))


def poisson(rng):
    mu = np.exp(np.minimum(same(rng), 300))
    return of_ends(special.gammaincc(np.array([1.0, 3.0]), mu))


def negative_binomial(rng):
    phi, mu = 1.0 / half_cauchy(5.0, rng), np.exp(np.clip(etas(rng), -300, 300))
    return of_ends(special.betainc(phi, np.array([1.0, 3.0]), phi / (phi + mu)))


def number(model, low, cuts, high, **more):
    return vws.Column(model=model, range=(low, high), cuts=cuts, **{"predictors": ["a"], **more})


def category(model, levels, **more):
    return vws.Column(model=model, levels=tuple("012"[:levels]), predictors=["a"], **more)


FAMILIES = {
    "logistic": (category("logistic", 2), lambda rng: of_levels(etas(rng))),
    "ordinal": (category("ordinal", 3), ordinal),
    "nominal": (category("nominal", 3), lambda rng: of_levels(etas(rng, 2))),
    "table": (
        category("table", 3, settings={"concentration": 1.0}),
        lambda rng: rng.dirichlet(np.full(3, 1.0 / 3.0), (_DRAWS, 2)),
    ),
    "normal": (number("normal", -9, (-1, 1), 9), normal(np.array([-1.0, 1.0]))),
    "mass": (number("normal", 0, (2, 4), 90, outcome_scale="log", mass=(0,)), with_part),
    "truncated-normal": (number("truncated-normal", -1, (-0.5, 0.5), 1, predictors=[]), in_range),
    "gamma": (number("gamma", 0, (1, 3), 9, predictors=[]), gamma),
    "beta": (number("beta", 0, (0.3, 0.7), 1, predictors=[]), beta),
    "poisson": (number("poisson", 0, (1, 3), 9, predictors=[]), poisson),
    "negative-binomial": (number("negative-binomial", 0, (1, 3), 9), negative_binomial),
}


def exact_means(noisy: Measurements, states: list[tuple[int, int]], shares: np.ndarray):
    """E[number of records in each state | S] by all tables of N records."""
    tables = itertools.combinations_with_replacement(range(len(states)), N)
    found = np.array([np.bincount(members, minlength=len(states)) for members in tables])
    log_shares = np.log(np.maximum(shares, 1e-300)).reshape(len(shares), -1)
    given = np.exp(found @ log_shares.T).mean(axis=1)
    ones = found @ np.array([a for a, _ in states])
    log_p = np.log(given) - special.gammaln(found + 1.0).sum(axis=1)
    log_p += special.gammaln(0.5 + ones) + special.gammaln(0.5 + N - ones)
    log_p -= 0.5 * (((noisy.counts - found) / noisy.scales[0]) ** 2).sum(axis=1)
    p = np.exp(log_p - log_p.max())
    return p @ found / p.sum()


def counted(column: vws.Column) -> Workload:
    return vws.NoisyCounts(epsilon=1, measure=["a:b"], model="conditionals").workload(
        vws.Schema({"a": A, "b": column})
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_a_column_that_its_family_gives_has_its_posterior(name):
    column, shares = FAMILIES[name]
    table = counted(column)
    states = list(itertools.product((0, 1), range(table.columns["b"].size)))
    middle = states.index((0, 1))
    truth = np.array([states[k] for k in (0, middle, middle, -2, -1)], dtype=np.int32)
    counts = table.counts(truth) + np.where(np.arange(len(table.possible)) % 2, 1, -1)
    noisy = Measurements(
        table=table, counts=counts, scales=np.array([1.5]), laplace=False, records=N
    )
    made = impute(noisy, datasets=_SWEEPS // 2, classes=1, sweeps=_SWEEPS, seed=3).codes
    wide = table.columns["b"].size
    places = np.array(made, dtype=np.int64)[:, :, 0] * wide + np.array(made)[:, :, 1]
    seen = np.array([np.bincount(own, minlength=len(states)) for own in places])
    batches = seen.reshape(_BATCHES, -1, len(states)).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / math.sqrt(_BATCHES)
    expected = exact_means(noisy, states, shares(np.random.default_rng(4)))
    assert (np.abs(batches.mean(axis=0) - expected) < _FAR * error + 0.01).all()
    assert (error < 0.2).all()


LAWS = {
    "normal": ({"sigma": 0.7}, lambda eta: stats.norm(eta, 0.7)),
    "gamma": ({"shape": 2.5}, lambda eta: stats.gamma(2.5, scale=math.exp(eta) / 2.5)),
    "beta": (
        {"kappa": 4.0},
        lambda eta: stats.beta(4.0 * special.expit(eta), 4.0 * special.expit(-eta)),
    ),
    "poisson": ({}, lambda eta: stats.poisson(math.exp(eta))),
    "negative-binomial": ({"phi": 1.5}, lambda eta: stats.nbinom(1.5, special.expit(0.4055 - eta))),
}


@pytest.mark.parametrize("name", LAWS)
def test_cells_have_the_mass_of_the_law_and_numbers_are_drawn_from_it(name):
    """Also in cells beyond the range, in wide ones, and in the far tail."""
    family, (scale, law) = find_model(name), LAWS[name]
    draw = {key: np.array([value]) for key, value in scale.items()}
    whole = name in ("poisson", "negative-binomial")
    ends = np.array([-1.0, 0, 1, 2, 5, 150] if whole else [0, 0.1, 0.3, 0.5, 0.9, 1])
    low, high = open_ends(family, ends[:-1].copy(), ends[1:].copy())
    etas = np.array([-1.0, 0.3, 2.0])
    found = cell_probabilities(family, draw, etas, low, high)
    rng, n = np.random.default_rng(1), 4000
    for row, eta in zip(found, etas, strict=True):
        below = law(eta).cdf(ends)
        below[0], below[-1] = 0.0, 1.0
        np.testing.assert_allclose(row, np.diff(below), atol=2e-5)  # The law's odds are rounded.
        for c in (0, 2, 4):
            drawn = drawn_in_cells(
                family, draw, *(np.full(n, x) for x in (eta, low[c], high[c])), rng
            )
            assert ((drawn > low[c]) & (drawn <= high[c])).all()
            at = np.quantile(drawn, 0.5)
            share = (law(eta).cdf(at) - below[c]) / np.diff(below)[c]
            nearly = (law(eta).cdf(at - 1) - below[c]) / np.diff(below)[c] if whole else share
            assert nearly - 0.04 < 0.5 < share + 0.04


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_far_beyond_its_range_a_truncated_normal_has_the_nearer_end(side):
    """Where the mass of the whole range is too small for a double."""
    family, draw = find_model("truncated-normal", range=(-1.0, 1.0)), {"sigma": np.array([0.1])}
    low, high = np.array([-1.0, -0.5, 0.5]), np.array([-0.5, 0.5, 1.0])
    eta = np.array([6.0 * side])
    shares = cell_probabilities(family, draw, eta, low, high)[0]
    np.testing.assert_allclose(shares[:: int(side)], [0.0, 0.0, 1.0], atol=1e-9)
    rng, n = np.random.default_rng(1), 500
    drawn = side * drawn_in_cells(family, draw, *(np.full(n, x) for x in (eta[0], -0.5, 0.5)), rng)
    fall = (6.0 - 0.5) / 0.1**2  # Of the log density at the nearer end.
    assert ((drawn <= 0.5) & (drawn > 0.4)).all()
    assert abs((0.5 - drawn).mean() * fall - 1.0) < 0.2


def test_numbers_in_a_wide_cell_follow_the_family_and_the_release_is_made_again(tmp_path):
    rng, n = np.random.default_rng(2), 400
    sex = rng.choice(["f", "m"], n)
    size = np.clip(np.where(sex == "f", 45, 60) + 5 * rng.standard_normal(n), 1, 99).round(1)
    size = np.where(sex == "m", np.where(rng.random(n) < 0.3, "0", size.astype(str)), size)
    pl.DataFrame({"sex": sex, "size": size.astype(str)}).write_csv(tmp_path / "table.csv")
    vws.Schema(
        {
            "sex": vws.Column(model="logistic", levels=("f", "m")),
            "size": vws.Column(
                model="normal",
                range=(0, 100),
                cuts=(45, 50, 60),
                decimals=1,
                mass=(0,),
                settings={"outcome_centre": 50, "outcome_unit": 10},
            ),
        }
    ).write(tmp_path / "schema.toml")
    words = ["synthesize", str(tmp_path / "table.csv"), "--schema", str(tmp_path / "schema.toml")]
    words += ["--mechanism", "noisy-counts", "--epsilon", "20", "--tables", "size"]
    words += ["--sweeps", "200", "--datasets", "2", "--seed", "3", "--out", str(tmp_path / "out")]
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 0, ended.output
    made = pl.read_csv(tmp_path / "out/release/synthetic-02.csv", infer_schema=False)
    for one, mean in (("f", 45), ("m", 60)):
        sizes = made.filter((pl.col("sex") == one) & ~pl.col("size").is_in(["0", "0.0"]))
        numbers = sizes["size"].cast(pl.Float64)
        assert abs(numbers.mean() - mean) < 2  # The middles of the outer cells are 22.5 and 80.
        assert 3 < numbers.std() < 8
    ended = CliRunner().invoke(app, ["reproduce", str(tmp_path / "out"), "--json"])
    assert ended.exit_code == 0, ended.output
    assert all(json.loads(ended.output)["same"].values())


@pytest.mark.parametrize(
    "column",
    [
        number("normal-mixture", 0, (1, 3), 9),
        number("normal", -9, (-1, 3), 9, outcome_scale="log"),
        number("gamma", -9, (-1, 3), 9),
        vws.Column(model="nominal", levels=("a1", "a2", "b1", "b2"), group_by=1),
        vws.Column(model="nominal", levels=("0", "1"), predictors=["c"]),
    ],
)
def test_families_without_probabilities_of_cells_are_refused_by_a_key(column):
    lookup = vws.Column(lookup={"a": {"0": 1.0, "1": 2.0}}, range=(1, 2))
    columns = {"a": A, "c": lookup, "b": column}
    with refused("counts-family"):
        vws.Synthesizer(
            schema=vws.Schema(columns), mechanism=vws.NoisyCounts(epsilon=1, tables=["b"])
        )
