"""pyvws study: repeat the studies of the papers on all processors, and resume a stopped study."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from pyvws.commands._options import names, read_numbers
from pyvws.commands._output import counted_progress
from pyvws.studies.registry import STUDIES

_INTERRUPTED = 130

study = typer.Typer(
    rich_markup_mode=None,
    help="Run a study of the papers. --out keeps each replicate, so an interrupted study goes on.",
    no_args_is_help=True,
)


@study.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    show: Annotated[bool, typer.Option("--list", help="List the studies and leave.")] = False,
) -> None:
    """Run a study of the papers. --out keeps each replicate, so an interrupted study goes on."""
    if show:
        commands = context.command.commands  # type: ignore[attr-defined]
        width = max(map(len, commands))
        for name, command in commands.items():
            print(f"{name:<{width}}  {command.get_short_help_str(limit=200)}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise typer.BadParameter("Name a study; --list shows them.")


_Replicates = Annotated[
    int | None, typer.Option(help="Replicates in all; more of them extend a study.")
]
_Jobs = Annotated[
    int | None, typer.Option(help="Replicates at once; one a processor if not given.")
]
_Backend = Annotated[str, typer.Option(help="loky (this machine) or dask.", metavar="loky|dask")]
_Scheduler = Annotated[
    str | None, typer.Option(help="With dask: the scheduler, as tcp://host:8786.")
]
_Kept = Annotated[Path, typer.Option(help="Folder for the replicates and the tables.")]
_StudySeed = Annotated[int, typer.Option(help="Seed from which those of replicates follow.")]
_Empty = Annotated[bool, typer.Option("--overwrite", help="Empty the folder first.")]


def _replicated(name: str) -> Callable[..., None]:
    """The command of a study in replicates."""

    def run(
        out: _Kept,
        replicates: _Replicates = None,
        jobs: _Jobs = None,
        backend: _Backend = "loky",
        scheduler: _Scheduler = None,
        seed: _StudySeed = 1,
        overwrite: _Empty = False,
    ) -> None:
        from pyvws.studies.registry import find_study

        given = {"replicates": replicates, "jobs": jobs, "backend": backend, "scheduler": scheduler}
        _run_replicates(find_study(name), out, seed=seed, overwrite=overwrite, **given)

    return run


def _strict(
    out: _Kept,
    income: Annotated[
        Path | None,
        typer.Option(help="Your csv or parquet file with Income, Urban, Marital and Educ."),
    ] = None,
    wages: Annotated[
        Path | None, typer.Option(help="CPS1988 as csv or parquet; R's package AER if not given.")
    ] = None,
    small: Annotated[
        bool, typer.Option("--small", help="Few records, epsilons and draws: ends in seconds.")
    ] = False,
    replicates: _Replicates = None,
    jobs: _Jobs = None,
    backend: _Backend = "loky",
    scheduler: _Scheduler = None,
    seed: _StudySeed = 1,
    overwrite: _Empty = False,
) -> None:
    from pyvws.studies.strict import strict_study

    made = strict_study(income=income, wages=wages, small=small)
    given = {"replicates": replicates, "jobs": jobs, "backend": backend, "scheduler": scheduler}
    _run_replicates(made, out, seed=seed, overwrite=overwrite, **given)


def _survey(
    out: _Kept,
    simulated: Annotated[
        bool, typer.Option("--simulated", help="A simulated population, which needs no R.")
    ] = False,
    small: Annotated[
        bool, typer.Option("--small", help="Few samples of a simulated population.")
    ] = False,
    replicates: _Replicates = None,
    jobs: _Jobs = None,
    backend: _Backend = "loky",
    scheduler: _Scheduler = None,
    seed: _StudySeed = 1,
    overwrite: _Empty = False,
) -> None:
    """Tables of a weighted survey over repeated samples, beside Laplace noise."""
    from pyvws.release.synthesize import synthesize
    from pyvws.studies.survey import survey_study

    made = survey_study(synthesize, simulated=simulated, small=small)
    given = {"replicates": replicates, "jobs": jobs, "backend": backend, "scheduler": scheduler}
    _run_replicates(made, out, seed=seed, overwrite=overwrite, **given)


def _run_replicates(study: Any, out: Path, **given: Any) -> None:
    """Run a study in replicates, show its report and name its files."""
    from pyvws.studies.replicates import run_study

    done = 0
    with counted_progress(study.name) as tick:

        def progress(now: int, total: int) -> None:
            nonlocal done
            done = now
            tick(now, total)

        try:
            found = run_study(study, out, progress=progress, **given)
        except KeyboardInterrupt:
            interrupted = True
        else:
            interrupted = False
    if interrupted:
        print(
            f"Error: Interrupted; {done} results are kept in {out}. The same command goes on "
            "from there.",
            file=sys.stderr,
        )
        sys.exit(_INTERRUPTED)
    console = Console(width=None if sys.stdout.isatty() else 140)
    for shown in found.report.shown:
        console.print(shown, highlight=False)
    for file in ("replicates.csv", *found.report.files):
        print(out / file)


# Studies on a user's own file: a command runs the study, shows the table and writes the figures.

_File = Annotated[Path | None, typer.Option(help="Your file, csv or parquet.")]
_Out = Annotated[
    Path | None,
    typer.Option(help="Folder for table and figures; if not given, the table is only printed."),
]
_Seed = Annotated[int, typer.Option(help="Seed of sampling and synthesis.")]
_Overwrite = Annotated[
    bool, typer.Option("--overwrite/--no-overwrite", help="Replace the folder whole.")
]
_Salary = Annotated[str, typer.Option(help="Column of the salary.")]
_Filter = Annotated[
    list[str] | None,
    typer.Option(help="COLUMN=VALUE,VALUE or COLUMN>=NUMBER; repeatable.", metavar="CONDITION"),
]


def _sdr(
    file: _File = None,
    outcome: _Salary = "SALARY",
    formula: Annotated[str | None, typer.Option(help="Predictors, as '~ GENDER + AGEGRP'.")] = None,
    range: Annotated[
        str | None, typer.Option(help="L,U: public range of the outcome.", metavar="L,U")
    ] = None,
    filter: _Filter = None,
    epsilon: Annotated[float, typer.Option(help="Target; larger = riskier.")] = 5.0,
    out: _Out = None,
    seed: _Seed = 1,
    overwrite: _Overwrite = False,
) -> None:
    """Five synthesizers of salaries on your own file beside the slides' table (SDR 2017)."""
    from pyvws.studies import doctorate_salaries as study

    given: dict[str, Any] = {"formula": formula, "range": _ends(range), "epsilon": epsilon}
    _run(study, file, out, overwrite, seed=seed, outcome=outcome, filters=filter or (), **given)


def _sdr_2024(
    file: _File = None,
    outcome: _Salary = "SALARY",
    filter: _Filter = None,
    out: _Out = None,
    seed: _Seed = 1,
    overwrite: _Overwrite = False,
) -> None:
    """LW, CW and SW, re-weighted too, on 1000 salaries of your own file (2024 paper)."""
    from pyvws.studies import sampled_salaries as study

    _run(study, file, out, overwrite, seed=seed, outcome=outcome, filters=filter or ())


def _consumer_expenditure(
    file: Annotated[Path, typer.Option(help="Your csv or parquet file.")],
    outcome: Annotated[str, typer.Option(help="Column to synthesize.")] = "Income",
    formula: Annotated[
        str | None,
        typer.Option(help="Public predictors, as '~ factor(Region) + Age'; ce_2017.csv's if none."),
    ] = None,
    known: Annotated[
        str | None, typer.Option(help="Columns that an intruder knows.", metavar="COL,COL")
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            help="COLUMN=NUMBER,NUMBER: the column becomes groups, which begin there; repeatable.",
            metavar="GROUPS",
        ),
    ] = None,
    regression: Annotated[
        str | None, typer.Option(help="Predictors of Table 4's regression; the formula if none.")
    ] = None,
    coefficient: Annotated[
        str | None, typer.Option(help="R's name of Table 4's coefficient, as 'factor(Earner)2'.")
    ] = None,
    radius: Annotated[float, typer.Option(help="Share of the value; larger = risks fall.")] = 0.2,
    components: Annotated[int, typer.Option(help="Components of the mixture.")] = 5,
    datasets: Annotated[int, typer.Option(help="Synthetic datasets, at least 2.")] = 20,
    topcode: Annotated[
        float, typer.Option(help="Threshold: a level in (0, 1) of a quantile, else a value.")
    ] = 0.94,
    c: Annotated[float, typer.Option(help="Scale of Pairwise weights, supplement 7.")] = 1.5,
    g: Annotated[float, typer.Option(help="Shift of Pairwise weights, supplement 7.")] = 0.1,
    labels: Annotated[
        Literal["full-conditional", "prior"],
        typer.Option(help="How a record's component is drawn; the paper's is the first."),
    ] = "full-conditional",
    draws: Annotated[int, typer.Option(help="Draws of each chain.")] = 500,
    warmup: Annotated[int, typer.Option(help="Steps of warm-up of each chain.")] = 500,
    chains: Annotated[int, typer.Option(help="Chains of each fit.")] = 2,
    out: _Out = None,
    seed: _Seed = 1,
    overwrite: _Overwrite = False,
) -> None:
    """Risk-weighted mixture synthesizers of one column of your own file (risk-efficient paper)."""
    from pyvws.engines.sampler_settings import SamplerSettings
    from pyvws.report.study_page import study_page
    from pyvws.studies import consumer_expenditure as study

    def write(result: Any, folder: Path) -> list[str]:
        return study.write(result, folder, page=study_page)

    known_names = None if known is None else names(known)
    columns = {"outcome": outcome, "formula": formula, "known": known_names, "groups": group}
    shown = {"regression": regression, "coefficient": coefficient, "topcoding": topcode}
    fits = {"radius": radius, "components": components, "datasets": datasets, "labels": labels}
    settings = SamplerSettings(draws=draws, warmup=warmup, chains=chains)
    given: dict[str, Any] = {**columns, **shown, **fits, "c": c, "g": g, "settings": settings}
    _run(study, file, out, overwrite, seed=seed, write=write, **given)


def _tables(
    file: Annotated[
        Path, typer.Option(help="Your copy of ma2019.csv (NIST) or ce_2017.csv (BLS).")
    ],
    strict: Annotated[
        bool, typer.Option("--strict", help="Run the deviance clamp too; it takes the longest.")
    ] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Conditional tables of few predictors: exact draws.")
    ] = False,
    copies: Annotated[
        int, typer.Option(help="How many times each record stands in the table.", min=1)
    ] = 1,
    sampling: Annotated[
        Literal["independent", "systematic"],
        typer.Option(help="How synthetic records are drawn given the parameters."),
    ] = "independent",
    others: Annotated[
        Path | None,
        typer.Option(
            help="Run synthpop too, and MST and AIM of dpmm in the Python of this path, where "
            "they are installed.",
            metavar="PYTHON",
        ),
    ] = None,
    out: _Out = None,
    seed: _Seed = 1,
    overwrite: _Overwrite = False,
) -> None:
    """Whole tables at one joint epsilon, beside separate runs, by the k-marginal score."""
    from pyvws.release.synthesize import synthesize
    from pyvws.studies import whole_tables as study

    own: dict[str, Any] = {"strict": strict, "exact": exact, "copies": copies, "sampling": sampling}
    _run(study, file, out, overwrite, seed=seed, synthesize=synthesize, others=others, **own)


def _misfit(
    file: Annotated[Path, typer.Option(help="A public file, such as ma2019.csv (NIST).")],
    schema: Annotated[Path, typer.Option(help="The schema of the file's columns.")],
    columns: Annotated[
        str, typer.Option(help="How many of the schema's conditional tables to take.")
    ] = "5,10,19",
    out: _Out = None,
    seed: _Seed = 1,
    overwrite: _Overwrite = False,
) -> None:
    """The constant weight of strict tables, min(1, epsilon / W), by a public reference."""
    from pyvws.release.synthesize import synthesize
    from pyvws.studies import misfit as study

    own: dict[str, Any] = {"schema": schema, "synthesize": synthesize, "seed": seed}
    own["columns"] = read_numbers(columns, "--columns", two=False)
    _run(study, file, out, overwrite, **own)


def _noisy_counts(
    file: Annotated[Path, typer.Option(help="Your copy of ma2019.csv (NIST).")],
    runs: Annotated[int, typer.Option(help="Runs of each row, under fresh noise.", min=1)] = 5,
    copies: Annotated[
        int, typer.Option(help="How many times each record stands in the table.", min=1)
    ] = 1,
    columns: Annotated[
        str, typer.Option(help="ten columns, or all that the file has, with rules and lookups.")
    ] = "ten",
    epsilon: Annotated[
        str | None, typer.Option(help="Epsilons to run, such as 1,4; all if not given.")
    ] = None,
    out: _Out = None,
    seed: _Seed = 1,
    overwrite: _Overwrite = False,
) -> None:
    """Noisy counts of a whole table: scores of pairs and triples against the budget."""
    from pyvws.release.synthesize import synthesize
    from pyvws.studies import noisy_counts as study

    own: dict[str, Any] = {"runs": runs, "copies": copies, "columns": columns}
    if epsilon is not None:
        own["chosen"] = read_numbers(epsilon, "--epsilon", two=False)
    _run(study, file, out, overwrite, seed=seed, synthesize=synthesize, **own)


def _run(
    study: Any,
    file: Path | None,
    out: Path | None,
    overwrite: bool,
    *,
    write: Callable[[Any, Path], list[str]] | None = None,
    **given: Any,
) -> None:
    """Run a study on a file, show its table, and write its files, by `write` or by its own way."""
    from pyvws._base.folders import check_folder, whole_folder
    from pyvws.commands._output import console_listener, plain_console

    if out is not None:
        check_folder(out, overwrite=overwrite, source=file)
    with console_listener(plain_console(stderr=True)) as listener:
        result = study.run(file, listener=listener, **given)
    Console(width=None if sys.stdout.isatty() else 200).print(study.table(result), highlight=False)
    for problem in result.problems:
        print(f"Warning: {problem}", file=sys.stderr)
    if out is not None:
        with whole_folder(out, overwrite=overwrite) as folder:
            written = (write or study.write)(result, folder)
        for name in written:
            print(out / name)


def _ends(text: str | None) -> tuple[float, ...] | None:
    return None if text is None else read_numbers(text, "--range", two=True)


_OWN_OPTIONS: dict[str, Callable[..., None]] = {"strict": _strict}
for _name in STUDIES:
    _command = _OWN_OPTIONS.get(_name) or _replicated(_name)
    _command.__doc__ = f"{STUDIES[_name].about}."
    study.command(_name)(_command)
study.command("sdr")(_sdr)
study.command("sdr-2024")(_sdr_2024)
study.command("consumer-expenditure")(_consumer_expenditure)
study.command("tables")(_tables)
study.command("strict-weights")(_misfit)
study.command("survey")(_survey)
study.command("noisy-counts")(_noisy_counts)
