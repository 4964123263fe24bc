"""Figures of households: how many are impossible, shares of couples, and what a household costs.

A run of `lw` has a process of its own; so has the same run with a record as the unit of privacy,
which fits the same conditionals. The rules are those by which NestedCategBayesImpute calls a
household impossible. They are written out here anew, and not read from the schema of a run. What is
missing breaks none of them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

import pyvws as vws
from benchmarks._found import Entry, Found, Plan, Table
from benchmarks._worker import Worker
from pyvws import SamplerSettings, Synthesizer
from pyvws.release.posterior import fitted_run
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.loop import SILENT
from pyvws.tables.files.read import read_table

__all__ = [
    "FILE",
    "SCHEMA",
    "counted_figures",
    "couples",
    "couples_off",
    "impossible",
    "members",
    "read_households",
    "record_epsilon",
    "run",
    "unit_figures",
]

FILE: Final = Path(__file__).parents[2] / "shared" / "data" / "households.txt"
SCHEMA: Final = Path(__file__).with_name("households.toml")
_SEED: Final = 1 << 60
_DRAWS: Final = 250
_CHILDREN = {3: 7, 4: 11, 5: 9}  # The least years between head and child, by kind of child.
_BANDS = [0, 30, 40, 50, 60, 70, 100]
_OF_COUNTS: Final[dict[str, dict[str, Any]]] = {"by default": {}, "without tables": {"tables": ()}}
_SEEDS: Final = (1, 2, 3, 4, 5)


def read_households(path: Path) -> pd.DataFrame:
    """The persons beside the head of each household, as whole numbers and missing ones."""
    return pd.read_csv(path, sep=" ", dtype="Int64")


def impossible(table: pd.DataFrame) -> int:
    """The number of households that break a rule between their members."""
    of = table.astype("float")
    home, relate, older = of["Hhindex"], of["relate"], of["headage"] - of["age"]
    spouse = relate == 2
    spouses = spouse.groupby(home).transform("sum")
    spouse_age = of["age"].where(spouse).groupby(home).transform("min")
    bad = of["headage"] < 16
    bad |= spouses > 1
    bad |= spouse & ((of["age"] < 16) | (of["sex"] == of["headsex"]) | (older.abs() > 49))
    for child, years in _CHILDREN.items():
        bad |= (relate == child) & (older < years)
    bad |= (relate == 6) & (older.abs() > 37)
    bad |= relate.isin([7, 9]) & (-older < 4)
    bad |= (relate == 8) & ((of["headage"] < 31) | (older < 26) | (spouse_age < 17))
    return int(bad.groupby(home).any().sum())


def couples(table: pd.DataFrame) -> pd.Series[Any]:
    """Shares of couples by sexes, races, ages and difference of ages, where both are known.

    The first share is that of households with a couple.
    """
    of = table.astype("float")
    pairs = of[of["relate"] == 2]
    found = {"couples": len(pairs) / of["Hhindex"].nunique()}
    for what in ("sex", "race"):
        known = pairs.dropna(subset=[what, f"head{what}"])
        share = known.groupby([f"head{what}", what]).size() / len(known)
        found |= {f"{what} {int(a)} and {int(b)}": x for (a, b), x in share.items()}
        found[f"same {what}"] = float((known[what] == known[f"head{what}"]).mean())
    known = pairs.dropna(subset=["age"])
    older = (known["headage"] - known["age"]).abs()
    for years in (1, 2, 5, 10):
        found[f"within {years} years"] = float((older <= years).mean())
    bands = [np.digitize(known[one], _BANDS) for one in ("headage", "age")]
    share = known.groupby(bands).size() / len(known)
    found |= {f"ages from {_BANDS[a - 1]} and {_BANDS[b - 1]}": x for (a, b), x in share.items()}
    return pd.Series(found)


def couples_off(made: Sequence[pd.DataFrame], data: pd.DataFrame) -> float:
    """The largest difference between a share of couples and its mean over datasets, in points."""
    shares = pd.concat([couples(one) for one in made], axis=1).fillna(0.0).mean(axis=1)
    return 100.0 * float(shares.sub(couples(data), fill_value=0.0).abs().max())


def members(table: pd.DataFrame) -> pd.Series[Any]:
    """Shares of households by size, of children and partners among members, and partners' ages."""
    of = table.astype("float")
    places = of["pernum"].value_counts()
    homes = [places[place] for place in (2, 3, 4)]  # The head has the number 1.
    of_size = -np.diff([*homes, 0]) / homes[0]
    relate, spouse = of["relate"].dropna(), of["relate"] == 2
    ages = of["age"][spouse].dropna()
    return pd.Series(
        {
            **{f"households of {size}": x for size, x in zip((2, 3, 4), of_size, strict=True)},
            "children": float(relate.isin([*_CHILDREN]).mean()),
            "partners": float((relate == 2).mean()),
            "mean age of partners": float(ages.mean()),
            "median age of partners": float(ages.median()),
            "mean age of heads with a partner": float(of["headage"][spouse].mean()),
            "years between partners": float((of["headage"] - of["age"])[spouse].abs().mean()),
        }
    )


def counted_figures(path: Path, settings: dict[str, Any], seed: int) -> pd.Series[Any]:
    """The share of the way, and the means over datasets of `members`, of noisy counts.

    By an accepted proposal at epsilon 4 and delta 1e-5 in all, with at most 3 records a household.
    """
    table = read_table(path).with_codes
    schema = vws.Schema.propose(table).accepted()
    mechanism = vws.NoisyCounts(epsilon=4.0, delta=1e-5, cap=3, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = vws.synthesize(table, schema=schema, mechanism=mechanism, datasets=5, seed=seed)
    found = vws.table_utility(table, made.datasets, schema=schema, s_pmse=False)
    each = [members(pd.read_csv(StringIO(one.write_csv()))) for one in made.datasets]
    shares = pd.Series({"share of the way": found.share_of_the_way})
    return pd.concat([shares, pd.concat(each, axis=1).mean(axis=1)])


def _counted(path: Path, plan: Plan) -> Table:
    """Figures of members under noisy counts beside those of the data, over several runs."""
    data, columns = members(read_households(path)), []
    for label, settings in _OF_COUNTS.items():
        runs = []
        for seed in _SEEDS:
            with Worker() as worker:
                runs.append(worker.ask(counted_figures, path, settings, seed))
            plan.say(f"{label}, seed {seed}: {runs[-1].iloc[0]:.0%} of the way")
        every = pd.concat(runs, axis=1)
        columns += [every.mean(axis=1), every.min(axis=1), every.max(axis=1)]
    rows: list[tuple[Entry, ...]] = [
        (
            *(figure, round(data[figure], 3) if figure in data else ""),
            *(round(float(column[figure]), 3) for column in columns),
        )
        for figure in columns[0].index
    ]
    note = (
        "An accepted proposal under noisy-counts at epsilon 4 and delta 1e-5 in all, with cap 3: "
        f"means of {len(_SEEDS)} runs, and the least and the largest of them."
    )
    ends = [f"{end}{label}" for label in _OF_COUNTS for end in ("", "least, ", "largest, ")]
    return Table("Members under noisy counts", ("figure", "data", *ends), rows, note)


def _settings(datasets: int, draws: int) -> Synthesizer:
    few = {"warmup": 300, "chains": 2} if draws < _DRAWS else {}
    settings = SamplerSettings(draws=draws, **few)
    return Synthesizer(schema=str(SCHEMA), mechanism="lw", datasets=datasets, settings=settings)


def unit_figures(path: Path, datasets: int, draws: int) -> dict[str, float]:
    """What whole households keep and cost under `lw`."""
    data = read_households(path)
    spent = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = _settings(datasets, draws).fit(data, seed=_SEED)
    made = release.datasets
    return {
        "processor": time.process_time() - spent,
        "impossible": sum(map(impossible, made)),
        "points": couples_off(made, data),
        "epsilon": release.summary["epsilon"],
        "largest": release.summary["units"]["largest"],
        "size": float(np.mean([len(one) / one["Hhindex"].nunique() for one in made])),
        "size_of_data": len(data) / data["Hhindex"].nunique(),
        **pd.concat([members(one) for one in made], axis=1).mean(axis=1),
    }


def record_epsilon(path: Path, draws: int) -> float:
    """The epsilon of a record where the same conditionals are run without units."""
    settings = _settings(1, draws)
    alone = replace(check_table(read_households(path), settings), units=None, members=None)
    of: Any = {"seed": _SEED, "listener": SILENT}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted_run(settings, alone, **of).final.bounds.epsilon


def run(plan: Plan) -> Found:
    """A file of households, where it is found: 3 datasets of 250 draws a chain, or 1 of few."""
    if not FILE.is_file():
        return Found([], {}, [f"{FILE.name}, which is not beside the project"])
    datasets, draws = (1, 100) if plan.small else (3, _DRAWS)
    with Worker() as worker:
        found = worker.ask(unit_figures, FILE, datasets, draws)
    with Worker() as worker:
        alone = worker.ask(record_epsilon, FILE, draws)
    rows: list[tuple[Entry, ...]] = [
        ("impossible households", found["impossible"]),
        ("largest gap of a share of couples, points", round(found["points"], 1)),
        ("epsilon of a household", round(found["epsilon"], 1)),
        ("epsilon of a record, run without units", round(alone, 1)),
        ("size of the largest household, records", found["largest"]),
        ("household over size x record", round(found["epsilon"] / found["largest"] / alone, 2)),
        ("mean size of synthetic households", round(found["size"], 3)),
        ("mean size of the data's households", round(found["size_of_data"], 3)),
        ("processor seconds of the households' run", round(found["processor"], 1)),
    ]
    for figure, value in members(read_households(FILE)).items():
        rows += [(figure, round(found[str(figure)], 3)), (f"{figure}, data", round(value, 3))]
    note = (
        f"The file's households by households.toml under lw, {datasets} datasets, {draws} draws a "
        "chain. A gap is between a share of the data and its mean over the datasets."
    )
    counted = [] if plan.small else [_counted(FILE, plan)]
    return Found([Table("Households of a survey", ("figure", "value"), rows, note), *counted])
