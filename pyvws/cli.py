"""The command line: the same steps as the Python functions.

Exit codes: 0 done; 1 the input, the output folder or a search stopped the run, or a validation row
failed; 2 wrong usage, or a validation that could not run; 130 interrupted.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
import traceback
import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from pyvws.errors import ConvergenceWarning, InputError, OutputError, PyvwsError

__all__ = ["app", "main"]

_INTERRUPTED = 130

app = typer.Typer(
    name="pyvws",
    help="Synthetic microdata with a privacy statement, checked against R.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)


class _Model(StrEnum):
    negative_binomial = "negative-binomial"
    poisson = "poisson"


class _Mechanism(StrEnum):
    unweighted = "unweighted"
    lw = "lw"
    cw = "cw"
    sw = "sw"


class _RadiusKind(StrEnum):
    percentage = "percentage"
    absolute = "absolute"


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _match(text: str | None) -> str | float | None:
    if text is None or text == "lw":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--match must be lw or a number. Got {text!r}.") from None


@app.callback()
def _options(
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show the traceback of an error. It may hold data values."),
    ] = False,
) -> None:
    """Synthetic microdata with a privacy statement, checked against R."""
    if debug:
        os.environ["PYVWS_DEBUG"] = "1"


@app.command()
def synthesize(
    table: Annotated[Path, typer.Argument(help="Confidential table, .csv or .parquet.")],
    outcome: Annotated[str, typer.Option(help="Column to synthesize.")],
    out: Annotated[Path, typer.Option(help="Folder to write; must not exist or be empty.")],
    formula: Annotated[
        str, typer.Option(help="Predictors, as in R. They are treated as public and released.")
    ] = "~ 1",
    round: Annotated[
        bool, typer.Option("--round", help="Round the outcome to whole numbers first.")
    ] = False,
    model: Annotated[_Model, typer.Option(help="Family of the outcome.")] = (
        _Model.negative_binomial
    ),
    mechanism: Annotated[_Mechanism, typer.Option(help="How records are weighted.")] = (
        _Mechanism.lw
    ),
    reweight: Annotated[
        bool, typer.Option("--reweight", help="Run Algorithm 3 after the weighted fit.")
    ] = False,
    match: Annotated[
        str | None, typer.Option(help="Bound to meet, for cw and sw: lw or a number.")
    ] = None,
    c: Annotated[float | None, typer.Option(help="Scale of the weights, for lw and cw.")] = None,
    g: Annotated[float | None, typer.Option(help="Shift of the weights, for lw and cw.")] = None,
    k: Annotated[
        float | None, typer.Option(help="First k of --reweight, between 0 and 1; 0.95.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="How near a searched bound must come, as a share of it.")
    ] = 0.05,
    radius: Annotated[
        float | None, typer.Option(help="Radius of cw: 0.2 = 20 %, or in the outcome's unit.")
    ] = None,
    radius_kind: Annotated[
        _RadiusKind | None, typer.Option(help="Whether --radius is a share or a distance.")
    ] = None,
    known: Annotated[
        str | None, typer.Option(help="COL,COL: public columns whose values make cw's patterns.")
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Quantile of the draws' maxima; below 1 there is no guarantee.")
    ] = 1.0,
    keep: Annotated[
        str, typer.Option(help="COL,COL or all: further columns that are public.")
    ] = "",
    datasets: Annotated[int, typer.Option(help="Synthetic datasets; each spends epsilon.")] = 20,
    draws: Annotated[int, typer.Option(help="Draws of each chain.")] = 1000,
    warmup: Annotated[int, typer.Option(help="Warm-up iterations of each chain.")] = 1000,
    chains: Annotated[int, typer.Option(help="Chains.")] = 4,
    target_accept: Annotated[
        float, typer.Option(help="Sampler's acceptance; nearer 1 = fewer divergences, slower.")
    ] = 0.8,
    seed: Annotated[
        int | None, typer.Option(help="Makes the run repeatable. Drawn and noted if not given.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the output folder whole.")
    ] = False,
) -> None:
    """Write synthetic datasets and a privacy statement to OUT/release, the rest to
    OUT/confidential.

    Example: pyvws synthesize ce.csv --outcome Expenditure --formula "~ Urban + Marital" --round
    --mechanism lw --reweight --datasets 20 --seed 1 --out out/
    """
    from pyvws.engines._engine import SamplerSettings
    from pyvws.io.files import read_table
    from pyvws.mechanisms import make_mechanism
    from pyvws.report._folder import check_folder
    from pyvws.report.console import console_listener
    from pyvws.synthesizer import Synthesizer

    if k is not None and not reweight:
        raise InputError("--k belongs to --reweight. Add --reweight or leave --k out.")
    check_folder(out, overwrite=overwrite, source=table)
    settings = Synthesizer(
        outcome=outcome,
        model=model.value,
        mechanism=make_mechanism(
            mechanism.value,
            c=c,
            g=g,
            radius=radius,
            radius_kind=radius_kind and radius_kind.value,
            known=_names(known) or None,
            match=_match(match),
        ),
        formula=formula,
        keep="all" if keep == "all" else _names(keep),
        datasets=datasets,
        reweight=reweight,
        k=0.95 if k is None else k,
        tolerance=tolerance,
        threshold=threshold,
        round=round,
        settings=SamplerSettings(
            draws=draws, warmup=warmup, chains=chains, target_accept=target_accept
        ),
    )
    source = read_table(table)
    console = Console(stderr=True)
    with warnings.catch_warnings(record=True) as caught, console_listener(console) as listener:
        warnings.simplefilter("always", ConvergenceWarning)
        release = settings.fit(
            source.frame,
            seed=secrets.randbits(31) if seed is None else seed,
            listener=listener,
            release_frame=source.as_written,
            input_sha256=source.sha256,
        )
    for warning in caught:
        console.print(f"Warning: {warning.message}", style="yellow", highlight=False)
    release.write(out, overwrite=overwrite, format=source.format)
    _tell(release.privacy, out)


def _tell(privacy: dict[str, Any], out: Path) -> None:
    print(
        f"{privacy['datasets']} synthetic datasets in {out / 'release'}\n"
        f"guarantee {privacy['guarantee']} ({privacy['neighbours']} neighbours): epsilon "
        f"{privacy['epsilon_per_dataset']} a dataset, {privacy['epsilon_total']} in total"
    )


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figures and the table.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Of data, sampling and synthesis.")] = 2024,
    overwrite: Annotated[
        bool, typer.Option("--overwrite/--no-overwrite", help="Replace the folder whole.")
    ] = False,
) -> None:
    """Run every mechanism on the negative binomial mixture of the 2024 paper (section 3.2)."""
    from pyvws.report._folder import check_folder, whole_folder
    from pyvws.report.console import console_listener
    from pyvws.studies import negative_binomial_mixture as study

    check_folder(out, overwrite=overwrite)
    console = Console(stderr=True)
    with console_listener(console) as listener:
        result = study.run(seed=seed, listener=listener)
    with whole_folder(out, overwrite=overwrite) as folder:
        names = study.write(result, folder)
    Console(width=120).print(study.table(result))
    for name in names:
        print(out / name)


@app.command()
def validate(
    level: Annotated[
        str, typer.Option(help="LEVEL,LEVEL: exact, density, posterior; all without it.")
    ] = "",
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the rows to this file as well.")
    ] = None,
    cached: Annotated[
        bool, typer.Option("--cached", help="Compare with R's stored results: needs no R.")
    ] = False,
) -> None:
    """Compare every number with R, a row a quantity.

    Exit code 0: all equal. 1: a row failed. 2: a row could not run.
    """
    from pyvws.validation import report, runner

    console = Console(stderr=True)
    with console.status("comparing with R") as status:
        rows = runner.run(
            levels=_names(level) or None,
            source="cached" if cached else "auto",
            progress=lambda row: status.update(f"{row.id}: {row.verdict}"),
        )
    report.render(rows, Console(width=None if sys.stdout.isatty() else 160))
    if json_file is not None:
        _write_json(json_file, report.to_json(rows))
    raise typer.Exit(runner.exit_code(rows))


def _write_json(path: Path, rows: list[dict[str, Any]]) -> None:
    try:
        path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path} could not be written ({error.strerror}).") from None


def main() -> None:
    """Run the command line and leave with its exit code."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)
    try:
        code = app(standalone_mode=False)
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except Exception as error:
        if os.environ.get("PYVWS_DEBUG"):
            traceback.print_exc()
        if hasattr(error, "format_message"):  # a usage error of typer's own
            _fail(error.format_message() or "Name a command; --help lists them.", 2)
        if isinstance(error, PyvwsError):
            _fail(str(error), 1)
        if type(error).__name__ == "Abort":
            _fail("Interrupted; nothing was written.", _INTERRUPTED)
        _fail(
            f"An unexpected {type(error).__name__} stopped the run; nothing was written. Run "
            "pyvws --debug ... to see where; what it shows may hold data values.",
            1,
        )
    if code == _INTERRUPTED:
        _fail("Interrupted; nothing was written.", _INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def _interrupt(_signal: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def _fail(message: str, code: int) -> None:
    print(f"Error: {message}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
