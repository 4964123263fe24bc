"""Each condition of the table of refusals stops a run that has what it names, and says which.

A test of a refusal asks for its key, so the words may change.
"""

import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from refusals import refused
from run_here import run_here

import pyvws as vws
from pyvws import Column, InputError, Poisson, SamplerSettings, Schema, UserProgram
from pyvws.commands.options import wrong_usage
from pyvws.engines.stan_run import shipped_program
from pyvws.errors import UsageError
from pyvws.mechanisms.registry import MECHANISMS
from pyvws.models.registry import find_model
from pyvws.plan import make, refusals
from pyvws.synthesis import settings

PAY = Column(model="normal", range=(0, 10))
SEX = Column(model="nominal", levels=("f", "m"))
TOWN = Column(role="public", levels=("a", "b"))
VISITS = Column(model="poisson", range=(0, 50))
MANY = tuple(f"level {number}" for number in range(300))
MEMBERS = {"sizes": [1, 99], "summaries": {"persons": "size"}}
MIXTURE = {"model": "normal-mixture", "mechanism": "lw"}

Y = {"outcome": "y", "model": "poisson"}
BY_COLUMN = vws.LipschitzWeighted(by_column=True)
CENSORED = vws.Censored(epsilon=1.0, weights="none")
CLAMPED = {**Y, "mechanism": CENSORED}
HISTOGRAM = {"mechanism": vws.PerturbedHistogram(epsilon=1.0, range=(0.0, 9.0), bins=4)}
PROGRAM = {"program": UserProgram(shipped_program(find_model("poisson"))), "engine": "rstan"}


class OwnPoisson(Poisson):
    """A family of a user's own."""

    name: ClassVar[str] = "own-poisson"


def table(**columns: Any) -> dict[str, Any]:
    """Settings with a schema of these columns, and of what else a schema takes."""
    of_schema = {"unit", "members", "survey_weight"}
    rest = {name: columns.pop(name) for name in of_schema & set(columns)}
    return {"schema": Schema(columns, **rest), "mechanism": "lw"}


def paid(**settings: Any) -> dict[str, Any]:
    """Settings with a schema that was paid for under leave-one-out neighbours."""
    cost = {"name": "0", "epsilon": 1.0, "delta": 0.0, "neighbours": "loo"}
    own = {"goods": {}, "entries": {}, "word": {}}
    return {"schema": Schema({"pay": PAY}, paid={**cost, **own}), **settings}  # type: ignore[arg-type]


def counts(
    *, neighbours: str = "loo", cap: int | None = None, tables: tuple[str, ...] = (), **columns: Any
) -> dict[str, Any]:
    mechanism = vws.NoisyCounts(
        epsilon=1.0, neighbours=neighbours, cap=cap, tables=tables, measure="pairs"
    )
    return {**table(**columns), "mechanism": mechanism}


REFUSED: dict[str, dict[str, Any]] = {
    "by-column-alone": {**Y, "mechanism": BY_COLUMN},
    "counts-without-schema": {
        "outcome": "y",
        "mechanism": vws.NoisyCounts(epsilon=1.0, measure="pairs"),
    },
    "outcome-name": {**Y, "mechanism": "lw", "outcome": ("y", "z")},
    "round-with-entries": {**Y, "mechanism": "lw", "column": VISITS, "round": True},
    "column-of-own-model": {**Y, "mechanism": "lw", "model": OwnPoisson(), "column": VISITS},
    "by-column-weights": {**table(sex=SEX, pay=PAY), "mechanism": BY_COLUMN, "reweight": True},
    "schema-kind": {"schema": {"pay": PAY}, "mechanism": "lw"},
    "schema-beside-formula": {**table(pay=PAY), "formula": "~ town"},
    "histogram-of-table": {**table(sex=SEX, pay=PAY), **HISTOGRAM},
    "for-one-outcome": {**table(sex=SEX, pay=PAY), "threshold": 0.9},
    "grid-of-table": {**table(sex=SEX, pay=PAY), "mechanism": CENSORED, "engine": "grid"},
    "term-of-each-record": {
        **table(town=TOWN, visits=replace(VISITS, rule="0 where town == 'a'")),
        **PROGRAM,
    },
    "weight-column-outcome": {
        **Y,
        "mechanism": vws.Censored(epsilon=1.0, weights="public", weight_column="y"),
    },
    "unit-outcome": {**Y, "mechanism": "lw", "unit": "y"},
    "exponents-clamp": {**table(pay=PAY, survey_weight="w"), "mechanism": CENSORED},
    "exponents-members": table(pay=PAY, survey_weight="w", unit="home", members=MEMBERS),
    "weight-mechanism": {
        "schema": Schema({"sex": SEX}, weight="w", weight_range=(1, 9)),
        "mechanism": "lw",
    },
    "exponents-stan": {**table(pay=PAY, survey_weight="w"), "engine": "rstan"},
    "draws-beyond-datasets": {**CLAMPED, "datasets": 2, "draws_per_release": 3},
    "draws-read-outcome": {**Y, **MIXTURE, "datasets": 2, "draws_per_release": 1},
    "too-few-draws": {**CLAMPED, "datasets": 50, "settings": SamplerSettings(draws=4, chains=2)},
    "grid-without-clamp": {**Y, "mechanism": "lw", "engine": "grid"},
    "grid-unconverged": {**CLAMPED, "engine": "grid", "accept_unconverged": True},
    "grid-settings": {**CLAMPED, "settings": SamplerSettings(grid_steps=(9,))},
    "program-engine": {**Y, "mechanism": "lw", "program": PROGRAM["program"]},
    "target-of-public-constant": {**Y, "mechanism": vws.InverseWeighted(t=2.0), "epsilon": 4.0},
    "search-without-target": {**Y, "mechanism": vws.InverseWeighted(search_t=True)},
    "of-other-mechanisms": {"outcome": "y", **HISTOGRAM, "draws_per_release": 1},
    "beside-counts": counts(sex=SEX, town=TOWN),
    "paid-schema-mechanism": paid(mechanism="lw"),
    "paid-schema-neighbours": paid(mechanism=counts(neighbours="replace", pay=PAY)["mechanism"]),
    "cap-and-unit": counts(sex=SEX, cap=2),
    "exact-number-of-units": counts(sex=SEX, unit="home", cap=2, neighbours="replace"),
    "counts-family": counts(pay=replace(PAY, model="normal-mixture"), tables=("pay",)),
    "reference-without-fit": {
        **table(sex=SEX),
        "mechanism": vws.NoisyCounts(
            epsilon=1.0, model="conditionals", reference="public.csv", measure="pairs"
        ),
    },
    "window-of-no-bound": {**CLAMPED, "accounting": "window"},
    "match-and-epsilon": {**Y, "mechanism": vws.ScalarWeighted(match=2.0), "epsilon": 2.0},
    "downscale": {**Y, "mechanism": "lw", "downscale": True},
    "nothing-to-miss": {**CLAMPED, "accept_above_target": True},
    "order-under-loo": {
        "outcome": "y",
        "mechanism": replace(HISTOGRAM["mechanism"], neighbours="loo"),
        "keep_order": True,
    },
    "squeeze-clamp": {**CLAMPED, "model": vws.Beta(range=(0.0, 1.0), squeeze=0.01)},
    "reference-levels": {
        "outcome": "y",
        "model": "nominal",
        "mechanism": vws.Censored(epsilon=1.0, weights="reference", reference="earlier.csv"),
    },
    "records-unchanged": {**CLAMPED, "records": 5, "formula": "~ town"},
    "records-order": {**CLAMPED, "records": 5, "keep_order": True},
    "records-histogram": {"outcome": "y", **HISTOGRAM, "records": 5},
    "records-read-outcome": {**Y, **MIXTURE, "records": 5},
    "noisy-records-units": {
        **table(pay=PAY, unit="home"),
        "records": "noisy",
        "records_epsilon": 1.0,
    },
    "noisy-records-epsilon": {**CLAMPED, "records": "noisy"},
    "public-records-epsilon": {**CLAMPED, "records": 5, "records_epsilon": 1.0},
    "delta-of-public-records": {
        **table(sex=SEX),
        "mechanism": vws.NoisyCounts(epsilon=1.0, delta=0.5, measure="pairs"),
        "records": 3,
    },
    "slot-without-counts": table(sex=SEX, unit="home", members={**MEMBERS, "slot": "sex"}, pay=PAY),
    "members-order": {**table(pay=PAY, unit="home", members=MEMBERS), "keep_order": True},
    "unit-mechanism": {**table(pay=PAY, unit="home"), "mechanism": "cw"},
    "unit-program": {**Y, "mechanism": "lw", "unit": "home", **PROGRAM},
    "no-guarantee": {**Y, "mechanism": "lw", "accept_unconverged": True},
    "types-of-table": {**table(pay=PAY), "mechanism": CENSORED, "types": "table"},
    "program-clamp": {**CLAMPED, **PROGRAM},
    "too-wide": table(
        kind=Column(model="nominal", levels=MANY), job=Column(model="nominal", levels=MANY)
    ),
    "too-many-shares": {
        **table(kind=Column(model="table", levels=MANY), job=Column(model="table", levels=MANY)),
        "settings": SamplerSettings(draws=100_000),
    },
}
"""A run that has what the row of each key refuses."""


def test_each_condition_has_a_key_of_its_own_and_a_run_that_it_refuses() -> None:
    keys = [*make.OF_OUTCOME, *make.OF_SCHEMA, *refusals.OF_PLAN]
    assert len(set(keys)) == len(keys)
    assert set(keys) == set(REFUSED)


@pytest.mark.parametrize("key", REFUSED)
def test_the_condition_refuses_the_run_in_one_line(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "engine_version", lambda _name: "not asked")
    with refused(key) as caught:
        vws.Synthesizer(**REFUSED[key])
    assert "{" not in str(caught.value)


WITHOUT_MECHANISM: dict[str, Any] = {
    "synthesize": lambda table: vws.synthesize(table, outcome="y", epsilon=2.0),
    "Synthesizer": lambda _: vws.Synthesizer(outcome="y"),
    "forecast": lambda table: vws.forecast(vws.Schema({"y": Column(model="poisson")}), table),
    "audit": lambda table: vws.audit(table, schema=vws.Schema({"y": Column(model="poisson")})),
}


@pytest.mark.parametrize("asked", WITHOUT_MECHANISM)
def test_a_run_without_a_mechanism_names_three_and_reads_no_table(asked: str) -> None:
    with refused("mechanism-missing") as caught:
        WITHOUT_MECHANISM[asked](None)  # No table: whoever reads it fails otherwise.
    assert isinstance(caught.value, UsageError)
    named = re.findall(r"(?<=\. )[a-z-]+(?=[ ,])", str(caught.value))
    assert {*named} & {*MECHANISMS} == {"noisy-counts", "inverse", "lw"}


@pytest.mark.parametrize("words", [("--plan",), ("--out", "out"), ("--out", "out", "--config")])
@pytest.mark.parametrize("command", ["synthesize", "audit"])
def test_a_command_or_a_file_without_a_mechanism_writes_nothing(
    command: str, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text('outcome = "y"\ndatasets = 2\n')
    words = (*words, "run.toml") if words[-1] == "--config" else (*words, "--outcome", "y")
    words = words if command == "synthesize" else words[-2:]
    ended = run_here(command, "no-such.csv", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("Error: A run needs a mechanism, which you choose (--mechanism).")
    assert [path.name for path in tmp_path.iterdir()] == ["run.toml"]


def test_a_run_has_five_datasets_whatever_it_fits() -> None:
    counts = {**table(pay=PAY), "mechanism": vws.NoisyCounts(epsilon=1.0, measure="pairs")}
    for given in ({**Y, "mechanism": "lw"}, {**table(pay=PAY), "mechanism": "lw"}, counts):
        assert vws.Synthesizer(**given).datasets == 5


def test_no_draws_are_too_many_for_a_run_that_fits_nothing() -> None:
    vws.Synthesizer(
        **{**REFUSED["too-many-shares"], "mechanism": vws.NoisyCounts(epsilon=1.0, measure="pairs")}
    )


def test_a_command_and_another_process_keep_the_key() -> None:
    with refused("outcome-name") as of_command, wrong_usage():
        vws.Synthesizer(**REFUSED["outcome-name"])
    again = pickle.loads(pickle.dumps(of_command.value))
    assert (again.key, str(again)) == ("outcome-name", str(of_command.value))
    assert InputError("of no row").key == ""
