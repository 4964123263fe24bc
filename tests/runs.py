"""Runs of few draws that several tests read: of a table and settings, each is made once."""

from pathlib import Path
from typing import Any

import polars as pl
from run_here import run_here
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.release.posterior import FittedRun, fitted_run
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.loop import SILENT
from pyvws.synthesis.settings_by_name import arranged

SEED = 1 << 60
FEW: dict[str, Any] = {"draws": 40, "warmup": 150, "chains": 2}
BRIEF: dict[str, Any] = {**FEW, "datasets": 2, "seed": SEED}
_MADE: dict[tuple[int, int, str], tuple[vws.Release, Any, Any]] = {}


def synthesizer(**settings: Any) -> vws.Synthesizer:
    """Of few draws, two datasets and no weights, unless the settings say otherwise."""
    return vws.Synthesizer(
        **arranged({"mechanism": "unweighted", "datasets": 2, **FEW, **settings})
    )


def release_of(table: Any, seed: int = SEED, **settings: Any) -> vws.Release:
    """The release in memory. Other tests read the same one, so who changes it copies it first."""
    schema = getattr(settings.get("schema"), "text", None)  # Its repr has no entries.
    key = (id(table), seed, repr((sorted(settings.items()), schema)))
    if key not in _MADE:  # The table and settings stay, so that no others take their addresses.
        _MADE[key] = synthesizer(**settings).fit(table, seed=seed), table, settings
    return _MADE[key][0]


def fitted(table: Any, **settings: Any) -> FittedRun:
    """The fits of such a run, whose datasets are not drawn."""
    run = synthesizer(**settings)
    return fitted_run(run, check_table(table, run), seed=SEED, listener=SILENT)


def in_steps(table: pl.DataFrame, folder: Path, **settings: Any) -> Path:
    """The folder of the run on `folder/in.csv`, the table as a file, in steps."""
    table.write_csv(folder / "in.csv")
    synthesizer(**settings).fit_to(folder / "in.csv", folder / "steps", seed=SEED)
    return folder / "steps"


def report_on(out: Path, source: Path) -> None:
    """The reports of a run's folder, beside the file of its records."""
    ran = run_here("report", out, "--original", source)
    assert ran.code == 0, ran.err


def command(*words: object) -> str:
    """What a command prints that has to end well."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


def released(folder: Path, table: pl.DataFrame, schema: vws.Schema, words: str) -> Path:
    """The release of a table by `pyvws synthesize WORDS`, in a folder below this one."""
    table.write_csv(folder / "table.csv")
    schema.write(folder / "schema.toml")
    given = ("--schema", folder / "schema.toml", "--out", folder / "out", *words.split())
    command("synthesize", folder / "table.csv", *given)
    return folder / "out"
