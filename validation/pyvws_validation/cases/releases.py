"""Cases of `pyvws.synthesis.fit_sources`: whole runs on tables and units, compared with R.

R gets the same records, draws and settings. An engine with known draws replaces the sampler, so
the statement, each record's weight and bound, and what each fit sees of the draws follow from the
arguments.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws._base.checks import Floats, Ints
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.release.release import Release
from pyvws.release.synthesizer import Synthesizer
from pyvws.synthesis import existing_fit as package
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.members import Members
from pyvws.tables.schema.schema import Schema
from pyvws_validation._case import in_steps
from pyvws_validation._draws import Draws
from pyvws_validation._grid_engine import KnownByWidth
from pyvws_validation._measured_case import OF_DRAWS, expected
from pyvws_validation.cases.accounting import (
    SEED,
    costs,
    normal_draws,
    outcomes_and_draws,
    released,
    table_and_draws,
)

_OF_RECORDS: Final = ("weight_final", "lipschitz_bound_final")


def table_release(
    *,
    first: Floats,
    second: Floats,
    log_odds: Floats,
    mean: Floats,
    log_scale: Floats,
    intercept: Floats,
    at_missing: Floats,
    slope: Floats,
    log_scale_2: Floats,
    half_width: float,
    datasets: int,
    **of_records: Any,
) -> Floats:
    """An LW run on a table whose first number may be missing, with units and survey weights."""
    S = len(mean)
    columns = {
        "first": Column(model="normal", range=(-half_width, half_width), missing=True),
        "second": Column(model="normal"),
    }
    engine = KnownByWidth(
        [
            np.column_stack([log_odds, np.zeros(S)]),
            normal_draws(mean, log_scale),
            np.column_stack([intercept, at_missing, slope, np.zeros((S, 6)), log_scale_2]),
        ]
    )
    values = {"first": pl.Series(first).fill_nan(None), "second": second}
    return _figures(_run(values, columns, engine, datasets=datasets, **of_records), engine)


def number_release(
    *, outcome: Floats, mean: Floats, log_scale: Floats, datasets: int, **of_records: Any
) -> Floats:
    """An LW run on one number, with units and survey weights."""
    engine = KnownByWidth([normal_draws(mean, log_scale)])
    columns = {"outcome": Column(model="normal")}
    release = _run({"outcome": outcome}, columns, engine, datasets=datasets, **of_records)
    return _figures(release, engine)


def tallied_release(
    *,
    outcome: Floats,
    mean: Floats,
    log_scale: Floats,
    unit: Ints,
    datasets: int,
    survey: Floats,
    mean_weight: float,
) -> Floats:
    """The same of a file that is read in steps, whose equal units are counted, without weights."""
    assert set(survey) == {mean_weight}
    engine = KnownByWidth([normal_draws(mean, log_scale)])
    run = Synthesizer(
        schema=Schema({"home": Column(role="id"), "outcome": Column(model="normal")}, unit="home"),
        mechanism=LipschitzWeighted(g=0.0),
        engine=engine,
        settings=SamplerSettings(draws=len(mean), chains=1),
        datasets=datasets,
    )
    with TemporaryDirectory() as folder, expected(*OF_DRAWS):
        table, out = Path(folder, "table.parquet"), Path(folder, "out")
        pl.DataFrame({"home": unit, "outcome": outcome}).write_parquet(table)
        stated = run.fit_to(table, out, seed=SEED)
        summary = json.loads((out / "confidential" / "summary.json").read_text(encoding="utf-8"))
        records = pl.read_parquet(out / "confidential" / "records.parquet")
    return _numbers(summary["privacy"], stated, records, engine)


def members_release(
    level: Floats,
    amount: Floats,
    unit: Ints,
    log_odds: Floats,
    mean: Floats,
    log_scale: Floats,
    intercept: Floats,
    slope: Floats,
    at_second: Floats,
    log_scale_2: Floats,
    half_width: float,
    datasets: int,
) -> Floats:
    """An LW run on units of one or two members with a number of the unit and one of each member."""
    S, wide = len(mean), (-half_width, half_width)
    columns = {
        "level": Column(model="normal", range=wide, predictors=()),
        "amount": Column(model="normal", range=wide, predictors=("level", "before")),
    }
    summaries = {"persons": "size", "before": "count"}
    members = Members(sizes=(1, 2), of_unit=("level",), summaries=summaries)
    sizes = np.column_stack([-np.logaddexp(0.0, log_odds), -np.logaddexp(0.0, -log_odds)])
    engine = KnownByWidth(
        [
            sizes,
            normal_draws(mean, log_scale),
            np.column_stack([intercept, slope, at_second, np.zeros((S, 6)), log_scale_2]),
        ]
    )
    values = {"level": level, "amount": amount}
    release = _run(values, columns, engine, unit=unit, datasets=datasets, members=members)
    return _figures(release, engine)


def truncated_release(
    outcome: Floats, mean: Floats, log_scale: Floats, low: float, high: float, datasets: int
) -> Floats:
    """An LW run on a number within a public range."""
    engine = KnownByWidth([normal_draws(mean, log_scale)])
    columns = {"outcome": Column(model="truncated-normal", range=(low, high))}
    return _figures(_run({"outcome": outcome}, columns, engine, datasets=datasets), engine)


def bounded_release(
    *,
    mean: Floats,
    log_scale: Floats,
    low: float,
    high: float,
    datasets: int,
    least: Floats,
    **values: Any,
) -> Floats:
    """An LW run on a whole number that two public numbers of its record bound."""
    engine = KnownByWidth([normal_draws(mean, log_scale)])
    columns = {
        "least": Column(role="public", missing=True),
        "most": Column(role="public"),
        "outcome": Column(
            model="truncated-normal",
            range=(low, high),
            decimals=0,
            predictors=(),
            rule=("> least", "<= most"),
        ),
    }
    values["least"] = pl.Series(least).fill_nan(None)
    return _figures(_run(values, columns, engine, datasets=datasets), engine)


def clamped_release(
    count: Floats,
    amount: Floats,
    log_mean: Floats,
    intercept: Floats,
    slope: Floats,
    log_scale: Floats,
    half_width: float,
    epsilon: float,
    smallest_sd: float,
) -> Floats:
    """Bounds, shares outside the window and summed terms of a table under the deviance clamp."""
    S = len(log_mean)
    engine = KnownByWidth(
        [
            np.column_stack([log_mean, np.zeros(S)]),
            np.column_stack([intercept, slope, np.zeros((S, 3)), log_scale]),
        ]
    )
    columns = {
        "count": Column(model="poisson", range=(0.0, 2.0 * half_width)),
        "amount": Column(
            model="normal", range=(-64.0, 64.0), settings={"smallest_sd": smallest_sd}
        ),
    }
    mechanism = Censored(epsilon=epsilon, weights="none", clamp="deviance")
    values = {"count": count, "amount": amount}
    records = _run(values, columns, engine, mechanism=mechanism, datasets=1).records
    (target,) = engine.joint
    density = target.density_and_gradient()
    prior = [
        PseudoPosterior(column.model, column.cells, np.zeros(len(count))).density_and_gradient()
        for column in target.columns
    ]
    sums = []
    for q in np.column_stack(engine.draws):
        parts = zip(prior, target.blocks(), strict=True)
        sums.append(density(q)[0] - sum(own(q[block])[0] for own, block in parts))
    bounds, outside = (
        records[name].to_numpy() for name in ("lipschitz_bound_final", "share_outside_window")
    )
    return np.array([*in_steps(bounds), *outside, *in_steps(sums)])


def _run(
    values: dict[str, Any],
    columns: dict[str, Column],
    engine: KnownByWidth,
    *,
    unit: Ints | tuple[()] = (),
    survey: Floats | tuple[()] = (),
    mean_weight: float = 0.0,
    members: Members | None = None,
    **given: Any,
) -> Release:
    """A run on a table, with units where one has several records, and weights where they differ."""
    table: dict[str, Any] = dict(values)
    of_table: dict[str, Any] = {}
    if len(set(unit)) < len(unit):
        table["home"] = unit
        columns, of_table["unit"] = {"home": Column(role="id"), **columns}, "home"
    if len(set(survey)) > 1:
        table["weight"], of_table["survey_weight"] = survey, "weight"
        of_table["mean_survey_weight"] = mean_weight or None
    return released(
        pl.DataFrame(table),
        schema=Schema(columns, members=members, **of_table),
        engine=engine,
        draws=len(engine.draws[0]),
        **{"mechanism": LipschitzWeighted(g=0.0), **given},
    )


def _figures(release: Release, engine: KnownByWidth) -> Floats:
    """The figures in the order of `release_figures` in fit_sources.R."""
    return _numbers(release.summary["privacy"], release.privacy, release.records, engine)


def _numbers(
    exact: dict[str, Any], stated: dict[str, Any], of_records: pl.DataFrame, engine: KnownByWidth
) -> Floats:
    records = [of_records[name].to_numpy() for name in _OF_RECORDS]
    fitted = [_fitted(engine, q) for q in engine.draws]
    return np.array([*costs(exact, stated), *in_steps(np.concatenate([*records, *fitted]))])


def _fitted(engine: KnownByWidth, q: Floats) -> Floats:
    """The weighted terms of a column's last fit at each draw, above those at the first draw."""
    target = engine.targets[q.shape[1]]
    if target.model.name == "table":
        return np.empty(0)
    nothing = PseudoPosterior(target.model, target.cells, np.zeros(len(target.weights)))
    whole, prior = (either.density_and_gradient() for either in (target, nothing))
    terms = np.array([whole(point)[0] - prior(point)[0] for point in q])
    return np.asarray(terms - terms[0])


# Arguments


def _missing(seed: int, *shape: int) -> dict[str, Any]:
    """A third of the first numbers are missing, among them one whose second number is far out."""
    arguments, stream = table_and_draws(seed, *shape), Draws(seed + 200)
    (S, N), first = shape, arguments.pop("outcome")
    first[stream.uniform(N) < 0.3] = np.nan
    first[0], arguments["second"][0] = np.nan, 6.0
    return {
        **{"first": first, "unit": np.arange(1, N + 1), "survey": np.ones(N), "mean_weight": 1.0},
        **arguments,
        "log_odds": stream.uniform(S, -3.0, -1.0),
        "at_missing": stream.uniform(S, -1.0, 1.0),
    }


def _units(seed: int, *shape: int) -> dict[str, Any]:
    """Units of one to three records wherever they stand; a record in three equals one of its unit.

    The records far out are among the equal ones.
    """
    arguments, stream, N = _missing(seed, *shape), Draws(seed + 300), shape[1]
    half = N // 2
    unit = np.concatenate([np.arange(half), stream.whole(N - half, half)]) + 1
    for name in ("first", "second"):
        values = arguments[name]
        copied = half + np.flatnonzero(stream.uniform(N - half) < 0.6)
        copied = np.union1d(copied, [N - 1])
        values[copied] = values[unit[copied] - 1]
    return {**arguments, "unit": unit}


def _survey(seed: int, *shape: int) -> dict[str, Any]:
    """Survey weights about 100, some of them 0; their mean is public but under two seeds."""
    weights = np.floor(Draws(seed + 400).uniform(shape[1], 0.0, 240.0))
    weights[weights < 30.0] = 0.0
    weights[0] = 90.0 + seed
    mean = (0.0, 110.0, 95.5, 0.0, 256.0)[seed - 1]
    return {**_missing(seed, *shape), "survey": weights, "mean_weight": mean}


def _both(seed: int, *shape: int) -> dict[str, Any]:
    survey = _survey(seed, *shape)
    return {**_units(seed, *shape), **{name: survey[name] for name in ("survey", "mean_weight")}}


def _number(seed: int, *shape: int) -> dict[str, Any]:
    arguments = _both(seed, *shape)
    kept = ("mean", "log_scale", "unit", "survey", "mean_weight")
    return {"outcome": arguments["second"], **{name: arguments[name] for name in kept}}


def _alike(seed: int, *shape: int) -> dict[str, Any]:
    """Units of one to three records, many of which are equal to another unit, and far out alike."""
    arguments, stream, N = outcomes_and_draws(seed, *shape), Draws(seed + 350), shape[1]
    half = N // 2
    unit = np.sort(np.concatenate([np.arange(half), stream.whole(N - half, half)]) + 1)
    values = np.array([-0.5, 1.25, 4.0])
    arguments["outcome"] = values[np.where(stream.uniform(N) < 0.1, 2, unit % 2)]
    return {**arguments, "unit": unit, "survey": np.full(N, 2.0), "mean_weight": 2.0}


def _members(seed: int, *shape: int) -> dict[str, Any]:
    """Some units have a second member, equal to the first or not, whose records stand behind."""
    arguments, stream, (S, H) = table_and_draws(seed, *shape), Draws(seed + 500), shape
    unit = np.arange(1, H + 1)
    more = np.union1d(np.flatnonzero(stream.uniform(H) < 0.5), [1])
    amount, level = np.clip(arguments.pop("second"), -15.0, 15.0), arguments.pop("outcome")
    again = np.where(stream.uniform(len(more)) < 0.5, amount[more], amount[more] - 1.25)
    return {
        "level": np.concatenate([level, level[more]]),
        "amount": np.concatenate([amount, again]),
        "unit": np.concatenate([unit, unit[more]]),
        **arguments,
        "log_odds": stream.uniform(S, -1.5, 1.5),
        "at_second": stream.uniform(S, -1.0, 1.0),
    }


def _truncated(seed: int, *shape: int) -> dict[str, Any]:
    """Ranges whose upper end, lower end, both or hardly any cut much off."""
    low, high = ((-8.0, 0.5), (-0.5, 8.0), (-0.75, 0.5), (-8.0, 8.0), (-1.0, 2.0))[seed - 1]
    arguments = outcomes_and_draws(seed, *shape)
    arguments["outcome"] = np.clip(arguments["outcome"], low, high)
    return {**arguments, "low": low, "high": high}


def _bounded(seed: int, *shape: int) -> dict[str, Any]:
    """Intervals of one whole number and more, without a lower bound, and a record beyond its."""
    arguments, stream, N = outcomes_and_draws(seed, *shape), Draws(seed + 700), shape[1]
    outcome = np.clip(np.rint(2.0 * arguments.pop("outcome")), -7.0, 7.0)
    least = outcome - 1.0 - stream.whole(N, 3) + 0.5 * stream.whole(N, 2)
    least[1], least[2] = np.nan, outcome[2]
    most = outcome + stream.whole(N, 3) + 0.25 * stream.whole(N, 2)
    most[2] = outcome[2] + 1.0
    return {**arguments, "outcome": outcome, "least": least, "most": most, "low": -8.0, "high": 8.0}


def _clamped(seed: int, *shape: int) -> dict[str, Any]:
    arguments, (S, N) = table_and_draws(seed, *shape), shape
    stream = Draws(seed + 600)
    return {
        "count": stream.whole(N, 6).astype(np.float64),
        "amount": arguments["second"],
        "log_mean": stream.uniform(S, -1.0, 2.0),
        **{name: arguments[name] for name in ("intercept", "slope")},
        "log_scale": arguments["log_scale_2"],
    }


# The terms that readers read of a fit made elsewhere


def terms_of_files(terms: Floats, chains: int, kind: str) -> Floats:
    """The terms (S, N) of CmdStan's files of these chains; R reads them of a `kind` of object."""
    assert kind in ("stanfit", "array", "several")
    names = ["lp__", *(f"log_lik.{i + 1}" for i in range(terms.shape[1]))]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"chain-{chain}.csv" for chain in range(chains)]
        for file, rows in zip(files, np.split(terms, chains), strict=True):
            lines = [",".join(["0", *map(repr, row.tolist())]) for row in rows]
            header = [f"# num_samples = {len(rows)}", "# num_warmup = 0", "# save_warmup = 0"]
            ended = "#  Elapsed Time: 1 seconds (Warm-up)"
            file.write_text("\n".join([*header, ",".join(names), *lines, ended, ""]))
        return package.from_cmdstan_csv(files).log_lik


def weighted_terms(terms: Floats, weights: Floats, chains: int) -> Floats:
    """The terms (S, N), weights included, of a fit whose terms lack the weights."""
    return package.from_log_lik(terms, weights, log_lik="plain", chains=chains).log_lik


def _terms(seed: int, chains: int, draws: int, records: int) -> dict[str, Any]:
    return {"terms": Draws(seed).log_lik(chains * draws, records)}


def _weighted(seed: int, chains: int, draws: int, records: int) -> dict[str, Any]:
    """Weights from 0 to 1, both among them."""
    stream = Draws(seed)
    weights = np.clip(stream.uniform(records, -0.3, 1.3), 0.0, 1.0)
    return {"terms": stream.log_lik(chains * draws, records), "weights": weights}
