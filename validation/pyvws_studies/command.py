"""pyvws study: repeat the studies of the papers on all processors, and resume a stopped study."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from pyvws.commands.options import names, read_numbers, with_options
from pyvws.commands.output import counted_progress
from pyvws_studies.registry import STUDIES, find_study
from pyvws_studies.replicates import ReplicatedStudy

_INTERRUPTED = 130

app = typer.Typer(
    name="study",
    rich_markup_mode=None,
    add_completion=False,
    help="Run a study of the papers. --out keeps each replicate, so an interrupted study goes on.",
    no_args_is_help=True,
)


@app.callback(invoke_without_command=True)
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


def _joined(own: Callable[..., Any], run: Callable[..., None]) -> Callable[..., None]:
    """A command whose own options say what to run, and which runs it by the options of `run`."""
    mine, every = (inspect.signature(part, eval_str=True).parameters for part in (own, run))
    shared = {name: option for name, option in every.items() if option.kind is option.KEYWORD_ONLY}
    needed = [option for option in shared.values() if option.default is option.empty]
    others = [option for option in shared.values() if option.default is not option.empty]

    def command(**given: Any) -> None:
        asked = own(**{name: given[name] for name in mine})
        run(asked, **{name: given[name] for name in shared})

    command.__doc__ = own.__doc__
    return with_options(command, [*needed, *mine.values(), *others])


def _run_replicates(
    study: ReplicatedStudy,
    *,
    out: Annotated[Path, typer.Option(help="Folder for the replicates and the tables.")],
    replicates: Annotated[
        int | None, typer.Option(help="Replicates in all; more of them extend a study.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Replicates at once; one a processor if not given.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed from which those of replicates follow.")] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Empty the folder first.")] = False,
) -> None:
    """Run a study in replicates, show its report and name its files."""
    from pyvws_studies.replicates import run_study

    done = 0
    given: Any = {"replicates": replicates, "seed": seed, "overwrite": overwrite, "jobs": jobs}
    with counted_progress(study.name) as tick:

        def progress(now: int, total: int) -> None:
            nonlocal done
            done = now
            tick(now, total)

        try:
            report = run_study(study, out, progress=progress, **given).report
        except KeyboardInterrupt:
            report = None
    if report is None:
        print(
            f"Error: Interrupted; {done} results are kept in {out}. The same command goes on "
            "from there.",
            file=sys.stderr,
        )
        sys.exit(_INTERRUPTED)
    console = Console(width=None if sys.stdout.isatty() else 140)
    for part in report.shown:
        console.print(part, highlight=False)
    for file in ("replicates.csv", *report.files):
        print(out / file)


# Studies on a user's own file: a command runs the study, shows the table and writes the figures.

_Asked = tuple[Any, Path | None, dict[str, Any]]
"""A study, the user's file, and the arguments of its run."""

_File = Annotated[Path | None, typer.Option(help="Your file, csv or parquet.")]
_Data = Annotated[
    Path, typer.Option(help="Folder of your ma2019.csv, households.txt and ce_2017.csv.")
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
) -> _Asked:
    """Five synthesizers of salaries on your own file beside the slides' table (SDR 2017)."""
    from pyvws_studies import doctorate_salaries as study

    ends = None if range is None else read_numbers(range, "--range", two=True)
    given = {"outcome": outcome, "filters": filter or (), "formula": formula}
    return study, file, {**given, "range": ends, "epsilon": epsilon}


def _sdr_2024(file: _File = None, outcome: _Salary = "SALARY", filter: _Filter = None) -> _Asked:
    """LW, CW and SW, re-weighted too, on 1000 salaries of your own file (2024 paper)."""
    from pyvws_studies import sampled_salaries as study

    return study, file, {"outcome": outcome, "filters": filter or ()}


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
) -> _Asked:
    """Risk-weighted mixture synthesizers of one column of your own file (risk-efficient paper)."""
    from pyvws.engines.sampler_settings import SamplerSettings
    from pyvws_studies import consumer_expenditure as study

    known_names = None if known is None else names(known)
    columns = {"outcome": outcome, "formula": formula, "known": known_names, "groups": group}
    reported = {"regression": regression, "coefficient": coefficient, "topcoding": topcode}
    fits = {"radius": radius, "components": components, "datasets": datasets, "labels": labels}
    settings = SamplerSettings(draws=draws, warmup=warmup, chains=chains)
    return study, file, {**columns, **reported, **fits, "c": c, "g": g, "settings": settings}


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
) -> _Asked:
    """Whole tables at one joint epsilon, beside separate runs, by the k-marginal score."""
    from pyvws_studies import whole_tables as study

    return study, file, {"strict": strict, "exact": exact, "copies": copies, "sampling": sampling}


def _inverse_tables(data: _Data) -> _Asked:
    """Weights at a bound t beside LW, SW and truncation, on three tables at equal epsilons."""
    from pyvws_studies import inverse_tables as study

    return study, data, {}


def _other_tools(
    data: _Data,
    others: Annotated[
        Path | None,
        typer.Option(help="A Python that may have dpmm (MST, AIM) and SDV.", metavar="PYTHON"),
    ] = None,
    runs: Annotated[int, typer.Option(help="Runs of each row, under fresh noise.", min=1)] = 5,
    tool_runs: Annotated[int, typer.Option(help="Runs of each other tool.", min=1)] = 3,
) -> _Asked:
    """Noisy counts beside AIM, MST, synthpop and SDV, where they are installed, on three files."""
    from pyvws_studies import other_tools as study

    return study, data, {"others": others, "runs": runs, "tool_runs": tool_runs}


def _noisy_counts(
    file: Annotated[Path, typer.Option(help="Your copy of ma2019.csv (NIST).")],
    runs: Annotated[int, typer.Option(help="Runs of each row, under fresh noise.", min=1)] = 5,
    copies: Annotated[
        int, typer.Option(help="How many times each record stands in the table.", min=1)
    ] = 1,
    schema: Annotated[
        Path | None, typer.Option(help="A schema of all columns, which are a second table.")
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            help="Public file of the same columns, such as national2019.csv (NIST): the "
            "best file with it, without it and with its columns permuted."
        ),
    ] = None,
) -> _Asked:
    """Noisy counts of a whole table: scores of pairs and triples against the budget."""
    from pyvws_studies import counts_reference
    from pyvws_studies import noisy_counts as study

    if reference is not None:
        return counts_reference, file, {"reference": reference, "runs": runs}
    return study, file, {"runs": runs, "copies": copies, "schema": schema}


def _counts_records(
    file: Annotated[Path, typer.Option(help="Your copy of ma2019.csv (NIST).")],
    databases: Annotated[int, typer.Option(help="Databases of a row.", min=1)] = 30,
    model: Annotated[str, typer.Option(help="That of the datasets, as in synthesize.")] = "classes",
) -> _Asked:
    """How often intervals from noisy counts hold the figures of a real file."""
    from pyvws_studies import counts_records as study

    return study, file, {"databases": databases, "model": model}


def _whole_units(
    file: Annotated[Path, typer.Option(help="Your copy of households.txt, or of eusilc.csv.")],
    runs: Annotated[int, typer.Option(help="Datasets of each table.", min=1)] = 5,
) -> _Asked:
    """Noisy counts of whole households, and of a panel: sizes, children, ages, pairs and moves."""
    from pyvws_studies import whole_units as study

    return study, file, {"runs": runs}


def _private_schema(
    file: Annotated[
        Path,
        typer.Option(
            help="Your copy of ma2019.csv, ce_2017.csv or households.txt, or of households.csv."
        ),
    ],
    runs: Annotated[int, typer.Option(help="Purchases and runs of each row.", min=1)] = 5,
) -> _Asked:
    """What a schema that is paid for costs in score, beside one made by hand, at one budget."""
    from pyvws_studies import private_schema as study

    return study, file, {"runs": runs}


def _needs(
    data: Annotated[
        Path, typer.Option(help="Folder of your copies: ma2019.csv, SD2011.csv or eusilc.csv.")
    ],
    runs: Annotated[int, typer.Option(help="Runs of each row, under fresh noise.", min=1)] = 5,
) -> _Asked:
    """What analysts need of three files: named regressions, many columns, means of amounts."""
    from pyvws_studies import needs as study

    return study, data, {"runs": runs}


def _run(
    asked: _Asked,
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for table and figures; if not given, the table is only printed."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of sampling and synthesis.")] = 1,
    overwrite: Annotated[
        bool, typer.Option("--overwrite/--no-overwrite", help="Replace the folder whole.")
    ] = False,
) -> None:
    """Run a study on a file, show its table, and write its files."""
    from pyvws._base.folders import check_folder, whole_folder
    from pyvws.commands.output import console_listener, plain_console
    from pyvws.release.synthesizer import synthesize

    study, file, given = asked
    if "synthesize" in inspect.signature(study.run).parameters:
        given["synthesize"] = synthesize
    if out is not None:
        check_folder(out, overwrite=overwrite, source=file)
    with console_listener(plain_console(stderr=True)) as listener:
        result = study.run(file, seed=seed, listener=listener, **given)
    Console(width=None if sys.stdout.isatty() else 200).print(study.table(result), highlight=False)
    for problem in result.problems:
        print(f"Warning: {problem}", file=sys.stderr)
    if out is not None:
        with whole_folder(out, overwrite=overwrite) as folder:
            written = study.write(result, folder)
        for name in written:
            print(out / name)


for _name in STUDIES:
    _command = _joined(partial(find_study, _name), _run_replicates)
    _command.__doc__ = f"{STUDIES[_name].about}."
    app.command(_name)(_command)
for _asking in (
    *(_sdr, _sdr_2024, _consumer_expenditure, _tables, _inverse_tables, _other_tools),
    *(_whole_units, _noisy_counts, _private_schema, _needs, _counts_records),
):
    app.command(_asking.__name__[1:].replace("_", "-"))(_joined(_asking, _run))
