"""A family that a user wrote, in one file, runs as the package's do, and is named as unchecked."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numba
import numpy as np
import polars as pl
import pytest
from refusals import refused
from runs import synthesizer
from scipy import stats
from typer.testing import CliRunner

import pyvws as vws
from pyvws._base.checks import Floats
from pyvws.commands.cli import app
from pyvws.engines.stan_run import shipped_program
from pyvws.errors import InputError
from pyvws.models.model import Draws, Family
from pyvws.tables.design.cells import Cells

pytestmark = pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")


@numba.njit
def _log_density(q: Any, rows: Any, row_of_cell: Any, y: Any, weight: Any, gradient: Any) -> float:
    total = 0.0
    for k in range(len(q)):
        total -= 0.5 * (q[k] / 5.0) ** 2
        gradient[k] = -q[k] / 25.0
    for cell in range(len(y)):
        row = rows[row_of_cell[cell]]
        eta = 0.0
        for k in range(len(q)):
            eta += row[k] * q[k]
        ratio = y[cell] * np.exp(-eta)
        total -= weight[cell] * (eta + ratio)
        for k in range(len(q)):
            gradient[k] += weight[cell] * (ratio - 1.0) * row[k]
    return total


@dataclass(frozen=True, slots=True)
class Exponential(Family):
    """y_i ~ Exponential with mean exp(X_i beta), beta_k ~ Normal(0, 5)."""

    name: ClassVar[str] = "exponential"
    whole_numbers: ClassVar[bool] = False
    predicts_from: ClassVar[tuple[str, ...]] = ("beta",)
    log_density: ClassVar[Callable[..., float]] = staticmethod(_log_density)

    def prepare(self, outcome: Floats, column: str) -> "Exponential":
        if (outcome <= 0).any():
            raise InputError(f"Column {column!r} has values that are not above 0.")
        return self

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        return cells.rows, cells.row_of_cell, cells.outcome, cells.weight_sums(weights)

    def log_likelihood(self, draws: Draws, cells: Cells) -> Floats:
        eta = (draws["beta"] @ cells.rows.T)[:, cells.row_of_cell]
        return np.asarray(-eta - cells.outcome * np.exp(-eta))

    def predict(
        self,
        draw: Draws,
        design: Floats,
        rng: np.random.Generator,
        *,
        outcome: Floats | None = None,
    ) -> Floats:
        return rng.exponential(np.exp(design @ draw["beta"][0]))


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    town = rng.choice(["a", "b"], 300)
    mean = np.where(town == "a", 10.0, 40.0)
    return pl.DataFrame({"cost": rng.exponential(mean).round(1) + 0.1, "town": town})


def run(**given: Any) -> vws.Synthesizer:
    return synthesizer(**{"outcome": "cost", "model": Exponential(), "formula": "~ town", **given})


def test_it_runs_in_memory_and_in_steps_and_is_named(table: pl.DataFrame, tmp_path: Path) -> None:
    release = run(mechanism="unweighted").fit(table, seed=1)
    privacy = release.privacy
    assert (privacy["model"], privacy["unchecked"]) == ("exponential", ["model"])
    assert "unchecked-model" in {said["key"] for said in privacy["caveat_keys"]}
    assert "# The model is the user's own" in release.config
    posterior = release.posterior
    for town, mean in (("a", 10.0), ("b", 40.0)):
        eta = posterior["beta[1]"] + (posterior["beta[2]"] if town == "b" else 0.0)
        assert np.exp(eta).mean() == pytest.approx(mean, rel=0.3)
    y = table["cost"].to_numpy()
    eta = np.column_stack([posterior["beta[1]"], posterior["beta[1]"] + posterior["beta[2]"]])
    log_lik = stats.expon.logpdf(y, scale=np.exp(eta[:, (table["town"] == "b").to_numpy() * 1]))
    assert release.summary["Delta"] == pytest.approx(np.abs(log_lik).max(), rel=1e-12)
    release.write(tmp_path / "memory")
    table.write_parquet(tmp_path / "in.parquet")
    stepwise = run(mechanism="unweighted")
    steps = stepwise.fit_to(tmp_path / "in.parquet", tmp_path / "steps", seed=1)
    assert steps["epsilon_total"] == privacy["epsilon_total"]
    shown = CliRunner().invoke(app, ["report", str(tmp_path / "memory")])
    assert shown.exit_code == 0, shown.output


def test_no_claim_of_it_is_dp(table: pl.DataFrame) -> None:
    @dataclass(frozen=True, slots=True)
    class Counts(vws.Poisson):
        name: ClassVar[str] = "counts"

    strict = vws.Censored(epsilon=16.0, weights="none")
    given: dict[str, Any] = {"outcome": "cost", "mechanism": strict, "round": True, "datasets": 1}
    assert vws.Synthesizer(model="poisson", **given).strict
    made = synthesizer(model=Counts(), **given)
    assert not made.strict
    privacy = made.fit(table, seed=1).privacy
    assert (privacy["guarantee"], privacy["bound_is"]) == ("asymptotic-dp", "enforced")
    assert (privacy["certified"], privacy["unchecked"]) == (None, ["model"])


def test_stan_has_no_program_of_it() -> None:
    with refused("no-stan-program-of-family", model="exponential"):
        shipped_program(Exponential())


def test_what_cannot_be_clamped_is_refused(table: pl.DataFrame) -> None:
    with refused("likelihood-not-censored"):
        run(mechanism=vws.Censored(epsilon=12.0))

    @dataclass(frozen=True, slots=True)
    class WithTerms(Exponential):
        name: ClassVar[str] = "with-terms"
        cell_terms: ClassVar[Any] = staticmethod(_log_density)

    with refused("likelihood-not-censored"):  # It has no slopes.
        run(model=WithTerms(), mechanism=vws.Censored(epsilon=12.0))

    @dataclass(frozen=True, slots=True)
    class NoHighest(vws.Poisson):
        name: ClassVar[str] = "no-highest"
        saturated: ClassVar[Any] = Family.saturated

    strict = vws.Censored(epsilon=12.0, weights="none")
    with refused("deviance-without-saturated"):
        run(model=NoHighest(), mechanism=strict, round=True).fit(table, seed=1)


def test_an_outcome_that_it_refuses_ends_the_run(table: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="not above 0"):
        run().fit(table.with_columns(cost=-pl.col("cost")), seed=1)


def test_what_is_no_family_is_refused_before_any_work() -> None:
    for other, key in (
        (type("Other", (Exponential,), {"name": "poisson"}), "own-part-name"),
        (type("Other", (Family,), {"name": "other"}), "protocol-lacks-members"),
    ):
        with refused(key):
            vws.Synthesizer(outcome="cost", model=dataclass(frozen=True)(other)(), mechanism="lw")
