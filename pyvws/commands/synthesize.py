"""pyvws synthesize: a table in, a release folder out."""

from __future__ import annotations

import json
import re
import warnings
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyvws.commands.options import given_settings, names, template_options, wrong_usage
from pyvws.commands.output import (
    AsJson,
    Original,
    Overwrite,
    Quiet,
    fit_listener,
    plain_console,
    print_json,
    tell_release,
)
from pyvws.errors import (
    ConvergenceWarning,
    DisclosureWarning,
    InputError,
    MisfitWarning,
    UsageError,
)

if TYPE_CHECKING:
    import polars as pl

    from pyvws.synthesis.settings import RunSettings
    from pyvws.tables.files.read import TableFile

_SIZE = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>[kKmMgGtT]?[bB])?")
_UNITS = {"": 1.0, "B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}

_TYPED = "COMMANDLINE"
_NO_SETTINGS = ("memory", "plan")

_fit = partial(typer.Option, rich_help_panel="Fit")


class LogLik(StrEnum):
    weighted = "weighted"
    plain = "plain"


def take_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the file's settings the options' defaults; the command line overrides the file."""
    if path is not None:
        from pyvws.synthesis.settings_by_name import read_config

        allowed = [name for name, *_ in template_options(context.command)]
        several = {one.name for one in context.command.params if getattr(one, "multiple", False)}
        context.default_map = {
            name: [value] if name in several else value
            for name, value in read_config(path, allowed).items()
        }
    return path


def synthesize(
    context: typer.Context,
    table: Original,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder to write. It must not exist, or be empty. --plan alone needs none."
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="Settings from a TOML file, as pyvws init and every run write it.",
            is_eager=True,
            callback=take_config,
        ),
    ] = None,
    given_weights: Annotated[
        Path | None,
        typer.Option(
            help="File with one column: a weight in [0, 1] for each record, in the table's order. "
            "It takes the place of --mechanism.",
            rich_help_panel="Mechanism",
        ),
    ] = None,
    stan: Annotated[
        Path | None,
        _fit(help="Your own Stan program, with weights and log_lik, under a Stan engine."),
    ] = None,
    stan_log_lik: Annotated[
        LogLik, _fit(help="Whether the program's log_lik holds l_i times its weight, or l_i.")
    ] = LogLik.weighted,
    stan_data: Annotated[
        Path | None,
        _fit(help="JSON file of further public data for the program, such as group indices."),
    ] = None,
    stan_unread: Annotated[
        str | None,
        _fit(help="The program's parameters that --model does not predict from.", metavar="A,B"),
    ] = None,
    seed: Annotated[
        int | None,
        _fit(help="Seed that repeats the run. It is drawn if not given, as a release needs."),
    ] = None,
    memory: Annotated[
        str,
        typer.Option(help="Size such as 2GB. A table whose run would take more is read in steps."),
    ] = "2GB",
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Print a forecast of epsilon, noise, time and memory. Fit and write nothing. "
            "With --reference, under any mechanism, those records are read and the table is not.",
        ),
    ] = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write synthetic datasets and a privacy statement to OUT/release, which may leave.

    The rest goes to OUT/confidential, which may not. --help-all shows every option.

    \b
    Examples:
      pyvws synthesize households.csv --schema households.toml --out out \\
          --mechanism noisy-counts --epsilon 1 --delta 1e-6 --datasets 5
      pyvws synthesize households.csv --schema households.toml --out out \\
          --mechanism lw --reweight --datasets 5
      pyvws synthesize visits.csv --outcome visits --formula "~ urban" \\
          --mechanism censored --weights none --epsilon 3 --out out
    """
    from pyvws._base.folders import check_folder
    from pyvws._base.seeds import chosen_seed
    from pyvws.engines.user_program import UserProgram
    from pyvws.mechanisms.censored import Censored
    from pyvws.release.synthesizer import Synthesizer
    from pyvws.synthesis.earlier_releases import read_statement
    from pyvws.synthesis.forecast import forecast_of, with_epsilon
    from pyvws.synthesis.settings_by_name import arranged, read_weights
    from pyvws.tables.files.read import read_table
    from pyvws.tables.files.steps import run_bytes
    from pyvws.tables.schema.schema import Schema

    if out is None and not plan:
        raise UsageError.by("out-missing")
    given: dict[str, Any] = given_settings(context)
    if stan is not None:
        text, further = _file_text(stan), {} if stan_data is None else _json_data(stan_data)
        given["program"] = UserProgram(text, stan_log_lik.value, further, names(stan_unread))
    elif stan_data is not None or stan_unread is not None:
        raise UsageError.by("stan-options-without-program")
    if given_weights is not None:
        if "mechanism" in given:
            raise UsageError.by("weights-and-mechanism")
        if "reference" in given:
            raise UsageError.by("weights-and-reference")
        given["mechanism"] = read_weights(given_weights)
    if "schema" in given:
        given["schema"] = Schema.read(given["schema"])
    reference = given.get("reference") if plan else None
    if plan and not Censored.takes_reference(given.get("weights"), given.get("c")):
        given.pop("reference", None)  # Of the forecast alone.
    with wrong_usage():
        settings = Synthesizer(**arranged(with_epsilon(given) if plan else given))
    if out is None or plan:
        source = forecast_records(table, reference)
        records = source.with_codes if settings.plan.reads_codes else source.frame
        expected = forecast_of(settings, records, public=reference is not None)
        if as_json:
            print_json({"forecast": expected.lines, "figures": expected.figures})
        else:
            print(expected)
        return
    check_folder(out, overwrite=overwrite, source=table)
    mechanism: Any = settings.mechanism
    reused = [] if mechanism.facts.takes_table else _seed_of_another_run(context, config)
    chosen = chosen_seed(seed)
    size = run_bytes(
        table,
        used=settings.plan.used,
        datasets=settings.datasets,
        draws=settings.settings.draws * settings.settings.chains,
    )
    in_memory = size <= _size_in_bytes(memory)
    console = plain_console(stderr=True)
    silent = quiet or as_json
    for line in reused:
        console.print(f"Warning: {line}", style="yellow", soft_wrap=True)
    with (
        warnings.catch_warnings(record=True) as caught,
        fit_listener(console, silent=silent) as listener,
    ):
        for kind in (ConvergenceWarning, DisclosureWarning, MisfitWarning):
            warnings.simplefilter("always", kind)
        if in_memory:
            source = read_table(table, every_line=settings.plan.refuses_no_record)
            release = settings.fit(
                as_read(settings, source),
                seed=chosen,
                listener=listener,
                release_frame=source.as_written,
                input_sha256=source.sha256,
            )
            release.write(out, overwrite=overwrite, format=source.format)
        else:
            settings.fit_to(table, out, seed=chosen, overwrite=overwrite, listener=listener)
    for warning in caught:
        console.print(f"Warning: {warning.message}", style="yellow", soft_wrap=True)
    told = [*reused, *(str(w.message) for w in caught)]
    tell_release(read_statement(out), out, told, quiet=quiet, as_json=as_json)


def forecast_records(table: Path, reference: str | None) -> TableFile:
    """The records of a forecast: those of the table, or of a reference in their place.

    Of a reference of several datasets the first is taken, which is as large as a table. Nothing of
    the `table` is opened then.
    """
    from pyvws.tables.files.public import public_files
    from pyvws.tables.files.read import read_table

    if reference is None:
        return read_table(table)
    (file, *_) = public_files(Path(reference))
    if table.exists() and file.exists() and file.samefile(table):
        raise UsageError.by("reference-is-the-input")
    return read_table(file)


def _seed_of_another_run(context: typer.Context, config: Path | None) -> list[str]:
    """A warning where a file gives the seed, and the command line another setting."""
    sources: dict[str, Any] = {
        name: context.get_parameter_source(name) for name, *_ in template_options(context.command)
    }
    given = [name for name, source in sources.items() if getattr(source, "name", "") == _TYPED]
    other = [f"--{name.replace('_', '-')}" for name in given if name not in _NO_SETTINGS]
    if config is None or not other or "seed" in given or "seed" not in (context.default_map or {}):
        return []
    return [
        f"The seed is that of {config.name}, and the command line gives other settings: "
        f"{', '.join(other)}. Two runs under one seed share random numbers, so the epsilons of two "
        "such releases do not add up. For a release take the run.toml of release/, which has no "
        "seed, or give another --seed."
    ]


def as_read(run: RunSettings, source: TableFile) -> pl.DataFrame:
    """The table of a file as a run reads it: under a strict claim cell by cell."""
    if run.plan.refuses_no_record:
        plan = run.plan.on(source.frame)
        names = {*plan.columns_by_cell} | ({plan.unit} if plan.unit is not None else set())
        return source.by_cell(names)
    return source.with_codes if run.plan.reads_codes else source.frame


def _size_in_bytes(text: str) -> float:
    """The number of bytes in a text such as 2GB, 500MB or 1000."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or float(match["number"]) == 0:
        raise UsageError.by("memory-size", text=text)
    return float(match["number"]) * _UNITS[(match["unit"] or "").upper()]


def _file_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError.by("file-not-text", path=path) from None


def _json_data(path: Path) -> dict[str, Any]:
    """The data in a JSON file, as CmdStan reads them; InputError, without a value, for another."""
    try:
        content = json.loads(_file_text(path))
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise InputError.by("stan-data-not-json", path=path.name)
    return content
