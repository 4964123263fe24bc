"""Studies on a user's own file: `run` it, show its `table`, `write` its figures.

A study's module has these three functions; a command here adds its options.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from pyvws.commands._options import read_numbers

__all__ = ["FILE_COMMANDS"]

_File = Annotated[Path | None, typer.Option(help="CSV or Parquet.")]
_Out = Annotated[Path | None, typer.Option(help="Folder for the table; printed only without it.")]
_Seed = Annotated[int, typer.Option(help="Of sampling and synthesis.")]
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

    given = {"formula": formula, "range": _ends(range), "epsilon": epsilon}
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
    file: Annotated[
        Path, typer.Option(help="CSV or Parquet with Income, Urban, Marital and Educ.")
    ],
    out: _Out = None,
    seed: _Seed = 1,
    overwrite: _Overwrite = False,
) -> None:
    """Mixture synthesizers of income on your own Consumer Expenditure file (risk-efficient)."""
    from pyvws.studies import consumer_expenditure as study

    _run(study, file, out, overwrite, seed=seed)


def _run(study: Any, file: Path | None, out: Path | None, overwrite: bool, **given: Any) -> None:
    from pyvws._base.folders import check_folder, whole_folder
    from pyvws.commands._console import console_listener

    if out is not None:
        check_folder(out, overwrite=overwrite, source=file)
    with console_listener(Console(stderr=True)) as listener:
        result = study.run(file, listener=listener, **given)
    Console(width=None if sys.stdout.isatty() else 200).print(study.table(result), highlight=False)
    for problem in result.problems:
        print(f"Warning: {problem}", file=sys.stderr)
    if out is not None:
        with whole_folder(out, overwrite=overwrite) as folder:
            names = study.write(result, folder)
        for name in names:
            print(out / name)


def _ends(text: str | None) -> tuple[float, ...] | None:
    return None if text is None else read_numbers(text, "--range", two=True)


FILE_COMMANDS: dict[str, Callable[..., None]] = {
    "sdr": _sdr,
    "sdr-2024": _sdr_2024,
    "consumer-expenditure": _consumer_expenditure,
}
"""Commands by the name of their study."""
