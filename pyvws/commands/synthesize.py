"""pyvws synthesize: a table in, a release folder out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pyvws.commands._choices import (
    CensoredWeights,
    Engine,
    Labels,
    LogLik,
    Mechanism,
    Model,
    Neighbours,
    Noise,
    OutcomeScale,
    RadiusKind,
)
from pyvws.commands._output import AsJson, Quiet, fit_listener, tell_release
from pyvws.commands._values import bound_to_meet, drawn_seed, file_text, numbers, size_in_bytes
from pyvws.errors import ConvergenceWarning, InputError

__all__ = ["synthesize"]


def _take_config(context: typer.Context, path: Path | None) -> Path | None:
    """What the file sets becomes the default of each option; the command line goes before it."""
    if path is not None:
        from pyvws.commands.init import options_of
        from pyvws.run_config import read_config

        context.default_map = read_config(path, options_of(synthesize))
    return path


def synthesize(
    table: Annotated[
        Path,
        typer.Argument(help="Confidential table: .csv, .parquet, .arrow, or a folder of parts."),
    ],
    outcome: Annotated[str, typer.Option(help="Column to synthesize.")],
    out: Annotated[Path, typer.Option(help="Folder to write; must not exist or be empty.")],
    config: Annotated[
        Path | None,
        typer.Option(
            help="Settings from a TOML file, as pyvws init and every run write it.",
            is_eager=True,
            callback=_take_config,
        ),
    ] = None,
    formula: Annotated[
        str, typer.Option(help="Predictors, as in R. They are treated as public and released.")
    ] = "~ 1",
    round: Annotated[
        bool, typer.Option("--round", help="Round the outcome to whole numbers first.")
    ] = False,
    engine: Annotated[
        Engine, typer.Option(help="Sampler: native, or Stan through cmdstan, rstan or pystan.")
    ] = Engine.native,
    stan: Annotated[
        Path | None,
        typer.Option(help="Your own Stan program, with weights and log_lik, under a Stan engine."),
    ] = None,
    stan_log_lik: Annotated[
        LogLik, typer.Option(help="Whether the program's log_lik holds weights[i] * l_i or l_i.")
    ] = LogLik.weighted,
    model: Annotated[Model, typer.Option(help="Family of the outcome.")] = (
        Model.negative_binomial
    ),
    mechanism: Annotated[Mechanism, typer.Option(help="How records are weighted.")] = (
        Mechanism.lw
    ),
    reweight: Annotated[
        bool, typer.Option("--reweight", help="Run Algorithm 3 after the weighted fit.")
    ] = False,
    match: Annotated[
        str | None,
        typer.Option(help="Bound to meet, for sw and the count weights: lw or a number."),
    ] = None,
    c: Annotated[float | None, typer.Option(help="Scale of the weights, but for sw.")] = None,
    g: Annotated[float | None, typer.Option(help="Shift of the weights, but for sw.")] = None,
    k: Annotated[
        float | None, typer.Option(help="First k of --reweight, between 0 and 1; 0.95.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="How near a searched bound must come, as a share of it.")
    ] = 0.05,
    radius: Annotated[
        float | None,
        typer.Option(help="Radius of the count weights: 0.2 = 20 %, or in the outcome's unit."),
    ] = None,
    radius_kind: Annotated[
        RadiusKind | None, typer.Option(help="Whether --radius is a share or a distance.")
    ] = None,
    known: Annotated[
        str | None, typer.Option(help="COL,COL: public columns whose values make the patterns.")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Target for a dataset: searched for, truncated or clamped at, or spent."),
    ] = None,
    weights: Annotated[
        CensoredWeights | None, typer.Option(help="Weights inside censored; lw.")
    ] = None,
    passes: Annotated[
        int | None, typer.Option(help="Truncations of weighted-epsilon (1), or of --downscale (5).")
    ] = None,
    downscale: Annotated[
        bool, typer.Option("--downscale", help="Lower each weight to the bound epsilon / 2.")
    ] = False,
    psi: Annotated[
        float | None, typer.Option(help="One factor for all weights in --downscale.")
    ] = None,
    range: Annotated[
        str | None, typer.Option(help="L,U: public range of the outcome, for a histogram or beta.")
    ] = None,
    bins: Annotated[int | None, typer.Option(help="Bins of a histogram; n^(1/3) up.")] = None,
    neighbours: Annotated[
        Neighbours | None, typer.Option(help="Of a histogram's epsilon; replace.")
    ] = None,
    edges_from_data: Annotated[
        bool, typer.Option("--edges-from-data", help="No public range: gives up the guarantee.")
    ] = False,
    noise: Annotated[
        Noise | None, typer.Option(help="Of a histogram; seeded-float is never for publication.")
    ] = None,
    outcome_scale: Annotated[
        OutcomeScale | None, typer.Option(help="Scale on which a continuous model works.")
    ] = None,
    levels: Annotated[
        str | None, typer.Option(help="1,2,3: public levels of an ordinal outcome.")
    ] = None,
    components: Annotated[int | None, typer.Option(help="Components of normal-mixture.")] = None,
    labels: Annotated[
        Labels | None, typer.Option(help="How normal-mixture draws labels for synthesis.")
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
    refit_warmup: Annotated[
        int | None, typer.Option(help="Those of each fit but the first; half under native.")
    ] = None,
    chains: Annotated[int, typer.Option(help="Chains.")] = 4,
    target_accept: Annotated[
        float, typer.Option(help="Sampler's acceptance; nearer 1 = fewer divergences, slower.")
    ] = 0.8,
    seed: Annotated[
        int | None, typer.Option(help="Makes the run repeatable. Drawn if not given, as a release needs.")
    ] = None,
    memory: Annotated[
        str, typer.Option(help="A larger table is tallied and read in steps, never held whole.")
    ] = "2GB",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the output folder whole.")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write synthetic datasets and a privacy statement to OUT/release, the rest to
    OUT/confidential.

    Example: pyvws synthesize ce.csv --outcome Expenditure --formula "~ Urban + Marital" --round
    --mechanism lw --reweight --datasets 20 --seed 1 --out out/
    """
    from pyvws.commands._tables import names
    from pyvws.engines.sampler_settings import SamplerSettings
    from pyvws.engines.user_program import UserProgram
    from pyvws.io.files import read_table
    from pyvws.io.large_files import table_bytes
    from pyvws.mechanisms import make_mechanism
    from pyvws.models.registry import find_model
    from pyvws.report._folder import check_folder
    from pyvws.run_settings import placed
    from pyvws.synthesizer import Synthesizer

    if k is not None and not reweight:
        raise InputError("--k belongs to --reweight. Add --reweight or leave --k out.")
    check_folder(out, overwrite=overwrite, source=table)
    histogram = mechanism is Mechanism.perturbed_histogram
    own, run = placed(mechanism.value, epsilon=epsilon, passes=passes, downscale=downscale)
    ends = numbers(range, "--range", two=True)
    settings = Synthesizer(
        outcome=outcome,
        model=find_model(
            model.value,
            outcome_scale=outcome_scale and outcome_scale.value,
            range=None if histogram else ends,
            levels=numbers(levels, "--levels"),
            components=components,
            labels=labels and labels.value,
        ),
        mechanism=make_mechanism(
            mechanism.value,
            c=c,
            g=g,
            radius=radius,
            radius_kind=radius_kind and radius_kind.value,
            known=names(known) or None,
            match=bound_to_meet(match),
            weights=weights and weights.value,
            range=ends if histogram else None,
            bins=bins,
            neighbours=neighbours and neighbours.value,
            edges_from_data=edges_from_data or None,
            noise=noise and noise.value,
            **own,
        ),
        **run,
        psi=psi,
        formula=formula,
        keep="all" if keep == "all" else names(keep),
        datasets=datasets,
        reweight=reweight,
        k=0.95 if k is None else k,
        tolerance=tolerance,
        threshold=threshold,
        round=round,
        settings=SamplerSettings(
            draws=draws,
            warmup=warmup,
            refit_warmup=refit_warmup,
            chains=chains,
            target_accept=target_accept,
        ),
        engine=engine.value,
        program=None if stan is None else UserProgram(file_text(stan), stan_log_lik.value),
    )
    chosen = drawn_seed() if seed is None else seed
    large = table_bytes(table) > size_in_bytes(memory)
    console = Console(stderr=True)
    silent = quiet or as_json
    with (
        warnings.catch_warnings(record=True) as caught,
        fit_listener(console, silent=silent) as listener,
    ):
        warnings.simplefilter("always", ConvergenceWarning)
        if large:
            privacy = settings.fit_to(
                table, out, seed=chosen, overwrite=overwrite, listener=listener
            )
        else:
            source = read_table(table)
            release = settings.fit(
                source.frame,
                seed=chosen,
                listener=listener,
                release_frame=source.as_written,
                input_sha256=source.sha256,
            )
            release.write(out, overwrite=overwrite, format=source.format)
            privacy = release.privacy
    for warning in caught:
        console.print(f"Warning: {warning.message}", style="yellow", highlight=False)
    tell_release(privacy, out, [str(w.message) for w in caught], quiet=quiet, as_json=as_json)
