"""A mechanism of a user's own, in one file, runs as the package's do; it is named as unchecked."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused
from runs import synthesizer
from typer.testing import CliRunner

import pyvws as vws
from pyvws._base.checks import Floats
from pyvws._base.phrase import Phrase
from pyvws.commands.cli import app
from pyvws.mechanisms.mechanism import Facts, MechanismBase
from pyvws.mechanisms.weighing import Loop, Request, Weighting
from pyvws.posterior.clamp import Clamp

pytestmark = pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
CAP = Phrase("public-cap", words="The cap was fixed without the {data}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capped(MechanismBase):
    """Weights cap / y above a public cap, and 1 up to it."""

    declared = Facts(
        name="capped",
        title="Capped <b>",
        explanation="Records above a public cap count less.",
        claim="asymptotic-dp",
        caveats=(CAP,),
        in_steps=True,
    )

    cap: float = 20.0

    def record_weights(self, request: Request) -> Floats:
        return np.asarray(self.cap / np.maximum(request.y, self.cap))


@dataclass(frozen=True, slots=True, kw_only=True)
class Clamped(Capped):
    """It clamps, and claims "dp"."""

    declared = replace(
        Capped.declared, name="clamped", claim="dp", clamps=True, weights_from_data=False
    )

    def weigh(self, loop: Loop, request: Request) -> Weighting:
        ones = np.ones(loop.cells.n_records)
        return Weighting(loop.fit(ones, self.declared.title, clamp=Clamp(12.0)), ones)


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame({"visits": rng.poisson(20, 300), "town": rng.choice(["a", "b"], 300)})


def run(mechanism: Any, **given: Any) -> vws.Synthesizer:
    return synthesizer(outcome="visits", model="poisson", mechanism=mechanism, **given)


def test_it_runs_in_memory_and_in_steps_and_is_named(table: pl.DataFrame, tmp_path: Path) -> None:
    release = run(Capped(cap=18.0), keep=["town"]).fit(table, seed=1)
    weights = release.records["weight"].to_numpy()
    y = table["visits"].to_numpy()
    np.testing.assert_array_equal(weights, 18.0 / np.maximum(y, 18.0))
    privacy = release.privacy
    assert (privacy["mechanism"], privacy["guarantee"]) == ("capped", "asymptotic-dp")
    assert privacy["unchecked"] == ["mechanism"]
    keys = [said["key"] for said in privacy["caveat_keys"]]
    assert {"unchecked-mechanism", "public-cap", "weights"} <= set(keys)
    assert CAP.words in privacy["caveats"]
    assert "# The mechanism is the user's own" in release.config
    release.write(tmp_path / "memory")
    table.write_parquet(tmp_path / "in.parquet")
    run(Capped(cap=18.0), keep=["town"]).fit_to(tmp_path / "in.parquet", tmp_path / "steps", seed=1)
    written = json.loads((tmp_path / "steps/release/privacy.json").read_text())
    assert (written["unchecked"], written["mechanism_words"]["title"]) == (
        ["mechanism"],
        "Capped <b>",
    )
    shown = CliRunner().invoke(app, ["report", str(tmp_path / "memory")])
    assert shown.exit_code == 0, shown.output
    page = next((tmp_path / "memory").rglob("*.html")).read_text()
    assert "Capped &lt;b&gt;" in page
    assert Capped.declared.explanation in page


def test_downscaling_goes_with_it(table: pl.DataFrame) -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Targeted(Capped):
        declared = replace(Capped.declared, name="targeted", takes_target=True)

    release = run(Targeted(), downscale=True, epsilon=9.0, accept_above_target=True).fit(
        table, seed=1
    )
    assert {"fit"} == {entry["key"] for entry in release.privacy["ledger"][:-1]}
    assert (release.records["weight_final"].to_numpy() <= 1.0).all()


def test_no_claim_of_it_is_dp(table: pl.DataFrame) -> None:
    assert not run(Clamped()).strict
    privacy = run(Clamped()).fit(table, seed=1).privacy
    assert (privacy["guarantee"], privacy["bound_is"]) == ("asymptotic-dp", "enforced")
    assert privacy["certified"] is None


def test_a_fit_that_the_loop_did_not_make_is_refused(table: pl.DataFrame) -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Lying(Capped):
        declared = replace(Capped.declared, name="lying")

        def weigh(self, loop: Loop, request: Request) -> Weighting:
            fit = loop.unweighted()
            bounds = replace(fit.bounds, database=0.1)
            return Weighting(replace(fit, bounds=bounds), np.ones(len(request.y)))

    with refused("own-fit-outside-loop"):
        run(Lying()).fit(table, seed=1)


def changed(**given: Any) -> Any:
    """An instance of `Capped` that declares something else."""
    other = {"declared": replace(Capped.declared, **given)}
    return dataclass(frozen=True)(type("Other", (Capped,), other))()


@pytest.mark.parametrize(
    ("made", "refusal"),
    [
        (lambda: changed(name="censored"), refused("own-part-name")),
        (lambda: changed(name="two words"), refused("own-part-name")),
        (
            lambda: dataclass(frozen=True)(type("Other", (vws.Censored,), {}))(epsilon=1),
            refused("own-part-name"),
        ),
        (
            lambda: dataclass(frozen=True)(type("Other", (MechanismBase,), {}))(),
            refused("protocol-lacks-members", missing="name, facts"),
        ),
        (
            lambda: dataclass(type("Other", (MechanismBase,), {}))(),
            refused("protocol-lacks-members"),
        ),
        (lambda: changed(caveats=(Phrase("enforced"),)), refused("own-caveat")),
        (lambda: changed(fits_model=False), refused("own-mechanism-without-fit")),
        (lambda: object(), refused("not-known-or-instance")),
    ],
)
def test_what_is_no_mechanism_is_refused_before_any_work(made: Any, refusal: Any) -> None:
    with refusal:
        run(made())


def test_it_takes_no_table_in_steps_unless_it_says_so(table: pl.DataFrame, tmp_path: Path) -> None:
    table.write_parquet(tmp_path / "in.parquet")
    with refused("not-in-steps"):
        run(changed(in_steps=False)).fit_to(tmp_path / "in.parquet", tmp_path / "out", seed=1)
