"""Whole runs with strict weights: the bytes that leave, chains that fail, the command line."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from refusals import refused
from test_strict_claims import BAD, FINE, SeededEngine, run_twice, what_leaves_by
from test_strict_claims import strict as strict_settings

from pyvws import Censored, ConvergenceError, DisclosureWarning, Synthesizer
from pyvws.posterior.draws import Diagnostics, Posterior
from pyvws.report.output_folder import read_public
from pyvws.report.public_page import public_page

pytestmark = [pytest.mark.runs, pytest.mark.filterwarnings("ignore:epsilon clamps every record")]

SOURCES = ("public", "reference", "staged")
TABLE = pl.DataFrame({"y": [3, 4, 1, 2, 5, 2, 2, 3], "w": [0.5, 1.0] * 4, "town": ["a", "b"] * 4})
OLD = pl.DataFrame({"y": [0, 1, 2, 3, 9, 4], "town": ["b", "a"] * 3})


@dataclass
class Failing:
    """An engine whose fit number `number`, from 0, has bad diagnostics."""

    number: int
    asked: list[Any] = field(default_factory=list)
    name: str = "failing"

    def sample(self, target: Any, settings: Any, *, seed: int, **more: Any) -> Posterior:
        own: Diagnostics = BAD if len(self.asked) == self.number else FINE
        self.asked.append(target)
        return SeededEngine(own).sample(target, settings, seed=seed)


Failing.__module__ = "pyvws.engines.nuts"  # It stands in for an engine of the package.


def censored(source: str, folder: Path) -> Censored:
    OLD.write_csv(folder / "old.csv")
    own: dict[str, dict[str, Any]] = {
        "public": {"weight_column": "w"},
        "reference": {"reference": str(folder / "old.csv")},
        "staged": {"stage_epsilon": 1.0},
    }
    return Censored(epsilon=2.0, weights=source, **own[source])


def strict(source: str, folder: Path, **changes: Any) -> Synthesizer:
    given = {"formula": "~ town", "mechanism": censored(source, folder), **changes}
    return Synthesizer(**strict_settings(**given))


@pytest.mark.parametrize("how", ["in memory", "in steps"])
@pytest.mark.parametrize("source", SOURCES)
def test_neighbours_release_the_same_bytes_but_for_the_values(
    source: str, how: str, tmp_path: Path
) -> None:
    run = strict(source, tmp_path, keep_order=True)
    left = []
    for value in (3, 0, 2**53):
        table = TABLE.with_columns(pl.Series("y", [value, *TABLE["y"][1:]]))
        left.append(what_leaves_by(how, run, table))
    assert left[0] == left[1] == left[2]
    statement = json.loads(left[0]["privacy.json"])
    assert (statement["guarantee"], statement["relies_on"]["weights"]["source"]) == ("dp", source)


@pytest.mark.parametrize("number", [0, 1])
def test_chains_of_either_stage_that_fail_stop_a_strict_run(number: int, tmp_path: Path) -> None:
    run = strict("staged", tmp_path, engine=Failing(number=number))
    with pytest.raises(ConvergenceError, match="nothing is released") as caught:
        run.fit(TABLE, seed=1)
    assert ("first stage: " in str(caught.value)) == (number == 0)
    accepted = strict("staged", tmp_path, engine=Failing(number=number), accept_unconverged=True)
    with pytest.warns(UserWarning, match="R-hat reaches"):
        release = accepted.fit(TABLE, seed=1)
    assert release.privacy["guarantee"] == "none"


def test_the_table_itself_is_no_reference(tmp_path: Path) -> None:
    """Its weights would follow from all records. A refusal would tell that it is the same."""
    run = strict("reference", tmp_path)
    TABLE.sample(fraction=1.0, shuffle=True, seed=1).write_csv(tmp_path / "old.csv")
    with pytest.warns(DisclosureWarning, match=r"^reference: it has as many records as the table"):
        run.fit(TABLE, seed=1)
    TABLE.with_columns(y=pl.col("y") + 1).write_csv(tmp_path / "old.csv")
    assert run.fit(TABLE, seed=1).privacy["guarantee"] == "dp"


def test_chains_of_the_reference_that_fail_are_a_warning(tmp_path: Path) -> None:
    run = strict("reference", tmp_path, engine=Failing(number=0))
    with pytest.warns(UserWarning, match=r"^The fit to the reference, .*R-hat reaches"):
        release = run.fit(TABLE, seed=1)
    assert release.privacy["guarantee"] == "dp"
    with pytest.raises(ConvergenceError, match="nothing is released"):
        strict("reference", tmp_path, engine=Failing(number=1)).fit(TABLE, seed=1)


@pytest.mark.parametrize("source", SOURCES)
def test_downscaled_weights_are_not_strict(source: str, tmp_path: Path) -> None:
    run = strict(source, tmp_path, downscale=True)
    assert not run.strict
    said = run.fit(TABLE, seed=1).privacy
    assert said["guarantee"] == "asymptotic-dp"
    assert said["relies_on"]["weights"]["source"] == "table"
    unaccounted = [entry for entry in said["ledger"] if entry["epsilon"] == "not accounted"]
    assert unaccounted
    if source == "staged":
        assert ("first-stage", 1.0) in [(one["key"], one["epsilon"]) for one in said["ledger"]]


def test_the_public_page_says_what_a_first_stage_spends(tmp_path: Path) -> None:
    pages = []
    for source in ("staged", "public"):
        strict(source, tmp_path).fit(TABLE, seed=1).write(tmp_path / source)
        pages.append(public_page(read_public(tmp_path / source)))
    said = "one draw of a first fit, whose terms are clamped too. That draw spends 1"
    assert [said in page for page in pages] == [True, False]


def test_a_noisy_or_public_number_of_rows_goes_with_a_first_stage(tmp_path: Path) -> None:
    run = strict("staged", tmp_path, formula="~ 1", records=5)
    said = run.fit(TABLE, seed=1).privacy
    assert said["certified"] == {
        "neighbours": "leave-one-out",
        "epsilon_per_dataset": 3.0,
        "epsilon_total": 5.0,
    }


def test_one_draw_for_all_datasets_pays_each_stage_once(tmp_path: Path) -> None:
    said = strict("staged", tmp_path, draws_per_release=1).fit(TABLE, seed=1).privacy
    assert (said["epsilon_total"], said["relies_on"]["weights"]["epsilon"]) == (3.0, 1.0)
    assert said["certified"]["epsilon_total"] == 6.0


def test_the_beta_family_takes_ends_of_the_range_where_every_fit_clamps(tmp_path: Path) -> None:
    table = pl.DataFrame({"y": [0.0, 0.2, 0.5, 1.0], "w": [1.0] * 4})
    beta: dict[str, Any] = {"model": "beta", "formula": "~ 1"}
    for source in ("public", "staged"):
        strict(source, tmp_path, **beta).fit(table, seed=1)
        with refused("squeeze-clamp"):
            strict(source, tmp_path, **{**beta, "model": _squeezed()})
    strict("reference", tmp_path, **{**beta, "model": _squeezed()})


def _squeezed() -> Any:
    from pyvws.models.beta import Beta

    return Beta(squeeze=0.01)


def test_the_command_line_repeats_a_staged_run_from_its_own_file(tmp_path: Path) -> None:
    given = [
        *("--outcome", "y", "--model", "poisson", "--mechanism", "censored"),
        *("--weights", "staged", "--stage-epsilon", "3", "--epsilon", "20"),
        *("--datasets", "1", "--draws", "500", "--seed", str(1 << 62), "--accept-unconverged"),
    ]
    run = run_twice(tmp_path, *given)
    for name in ("privacy.json", "run.toml", "synthetic-01.csv"):
        one, two = ((tmp_path / which / "release" / name).read_bytes() for which in ("one", "two"))
        assert one == two
    said = json.loads((tmp_path / "one/release/privacy.json").read_text())
    assert said["relies_on"]["weights"]["epsilon"] == 3.0
    wrong = run(*given[:6], "--weights", "staged", "--epsilon", "2", "--out", str(tmp_path / "no"))
    assert str(wrong.exception).startswith("weights staged needs stage_epsilon.")
