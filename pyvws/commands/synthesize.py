"""pyvws synthesize: a table in, a release folder out."""

from __future__ import annotations

import warnings
from functools import partial
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
from pyvws.commands._values import (
    bound_to_meet,
    drawn_seed,
    file_text,
    numbers,
    rows_of_a_dataset,
    size_in_bytes,
)
from pyvws.errors import ConvergenceWarning, DisclosureWarning, InputError

__all__ = ["synthesize"]

_model = partial(typer.Option, rich_help_panel="Model")
_named = partial(_model, metavar="NAME")
_weighting = partial(typer.Option, rich_help_panel="Mechanism")
_histogram = partial(typer.Option, rich_help_panel="Perturbed histogram")
_sampler = partial(typer.Option, rich_help_panel="Fit")


def _take_config(context: typer.Context, path: Path | None) -> Path | None:
    """What the file sets becomes the default of each option; the command line goes before it."""
    if path is not None:
        from pyvws.commands._values import options_of
        from pyvws.synthesis.config import read_config

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
    keep: Annotated[str, typer.Option(help="COL,COL or all: further public columns.")] = "",
    datasets: Annotated[int, typer.Option(help="Synthetic datasets; each spends epsilon.")] = 20,
    records: Annotated[
        str | None,
        typer.Option(
            help="Rows of a dataset: N, a public number, or noisy. One a record if not given."
        ),
    ] = None,
    records_epsilon: Annotated[
        float | None, typer.Option(help="What --records noisy costs, once for all datasets.")
    ] = None,
    formula: Annotated[
        str, _model(help="Predictors, as in R. They are treated as public and released.")
    ] = "~ 1",
    model: Annotated[
        Model, _named(help=f"Family of the outcome: {', '.join(Model)}.")
    ] = Model.negative_binomial,
    keep_order: Annotated[
        bool,
        typer.Option("--keep-order", help="Release the order of rows; random if not given."),
    ] = False,
    round: Annotated[bool, _model("--round", help="Round the outcome to whole numbers.")] = False,
    range: Annotated[
        str | None, _model(help="L,U: public range of the outcome, for a histogram or beta.")
    ] = None,
    outcome_scale: Annotated[
        OutcomeScale | None, _named(help="Of continuous models: identity, log or signed-log.")
    ] = None,
    levels: Annotated[str | None, _model(help="1,2,3: public levels, for ordinal.")] = None,
    squeeze: Annotated[
        float | None, _model(help="Of beta: share of --range to move every outcome inwards by.")
    ] = None,
    components: Annotated[int | None, _model(help="Components of normal-mixture.")] = None,
    labels: Annotated[
        Labels | None,
        _named(help="Of normal-mixture: full-conditional, or prior, which keeps a guarantee."),
    ] = None,
    gamma_shape: Annotated[
        float | None, _model(help="Of normal-mixture: shape of the prior of gamma; 1 if not given.")
    ] = None,
    gamma_rate: Annotated[
        float | None, _model(help="Of normal-mixture: rate of the prior of gamma; 1 if not given.")
    ] = None,
    smallest_sd: Annotated[
        float | None,
        _model(help="Of normal-mixture: least deviation of a component; 0.05 if not given."),
    ] = None,
    mechanism: Annotated[
        Mechanism,
        _weighting(metavar="NAME", help=f"How records are weighted: {', '.join(Mechanism)}."),
    ] = Mechanism.lw,
    reweight: Annotated[
        bool, _weighting("--reweight", help="Raise weights that lie below the bound (Algorithm 3).")
    ] = False,
    epsilon: Annotated[
        float | None,
        _weighting(help="Target for a dataset: searched for, truncated or clamped at, or spent."),
    ] = None,
    match: Annotated[
        str | None,
        _weighting(help="Bound to meet, for sw and the count weights: lw or a number."),
    ] = None,
    c: Annotated[
        float | None, _weighting(help="Scale of the weights, but for sw; 1 if not given.")
    ] = None,
    g: Annotated[
        float | None, _weighting(help="Shift of the weights, but for sw; 0 if not given.")
    ] = None,
    k: Annotated[
        float | None, _weighting(help="First k of --reweight, between 0 and 1; 0.95 if not given.")
    ] = None,
    tolerance: Annotated[
        float, _weighting(help="How near a searched bound must come, as a share of it.")
    ] = 0.05,
    accept_above_target: Annotated[
        bool,
        _weighting(
            "--accept-above-target",
            help="Release also where truncation or downscaling ends above --epsilon.",
        ),
    ] = False,
    radius: Annotated[
        float | None,
        _weighting(
            help="Radius of the count weights: 0.2 = 20 % if not given, or in the outcome's unit."
        ),
    ] = None,
    radius_kind: Annotated[
        RadiusKind | None,
        _weighting(help="Whether --radius is a share (percentage) or a distance (absolute)."),
    ] = None,
    known: Annotated[
        str | None, _weighting(help="COL,COL: public columns whose values make the patterns.")
    ] = None,
    weights: Annotated[
        CensoredWeights | None,
        _weighting(help="Weights inside censored: lw if not given, cw or none."),
    ] = None,
    passes: Annotated[
        int | None,
        _weighting(help="Truncations of weighted-epsilon (1 if not given), or of --downscale (5)."),
    ] = None,
    downscale: Annotated[
        bool, _weighting("--downscale", help="Lower each weight to the bound epsilon / 2.")
    ] = False,
    psi: Annotated[float | None, _weighting(help="One factor for all in --downscale.")] = None,
    threshold: Annotated[
        float, _weighting(help="Quantile of the draws' maxima; below 1 there is no guarantee.")
    ] = 1.0,
    accept_unconverged: Annotated[
        bool,
        _weighting(
            "--accept-unconverged",
            help="Of a run that would be dp: release chains that fall short, as none.",
        ),
    ] = False,
    bins: Annotated[
        int | None,
        _histogram(
            help="How many, needed under loo; the cube root of n, rounded up, if not given."
        ),
    ] = None,
    neighbours: Annotated[
        Neighbours | None,
        _histogram(help="Of a histogram's epsilon: replace if not given, or loo."),
    ] = None,
    edges_from_data: Annotated[
        bool, _histogram("--edges-from-data", help="No public range: gives up the guarantee.")
    ] = False,
    allow_outside: Annotated[
        bool,
        _histogram("--allow-outside", help="Count values outside --range in the end bins."),
    ] = False,
    noise: Annotated[
        Noise | None, _histogram(help="secret if not given; seeded-float is never for publication.")
    ] = None,
    engine: Annotated[
        Engine,
        _sampler(
            metavar="NAME",
            help="Sampler: native, ensemble, or Stan through cmdstan, rstan or pystan.",
        ),
    ] = Engine.native,
    stan: Annotated[
        Path | None,
        _sampler(help="Your own Stan program, with weights and log_lik, under a Stan engine."),
    ] = None,
    stan_log_lik: Annotated[
        LogLik, _sampler(help="Whether the program's log_lik holds l_i times its weight, or l_i.")
    ] = LogLik.weighted,
    draws: Annotated[int, _sampler(help="Draws of each chain.")] = 1000,
    warmup: Annotated[int, _sampler(help="Warm-up iterations of each chain.")] = 1000,
    refit_warmup: Annotated[
        int | None, _sampler(help="Those of each fit but the first; half under native.")
    ] = None,
    chains: Annotated[int, _sampler(help="Chains.")] = 4,
    target_accept: Annotated[
        float, _sampler(help="Sampler's acceptance; nearer 1 = fewer divergences, slower.")
    ] = 0.8,
    seed: Annotated[
        int | None,
        _sampler(help="Makes the run repeatable. Drawn if not given, as a release needs."),
    ] = None,
    memory: Annotated[
        str,
        typer.Option(help="A run that would take more tallies its table and reads it in steps."),
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
    from pyvws._base.folders import check_folder
    from pyvws.commands._tables import names
    from pyvws.engines.sampler_settings import SamplerSettings
    from pyvws.engines.user_program import UserProgram
    from pyvws.mechanisms.registry import make_mechanism
    from pyvws.models.registry import find_model
    from pyvws.release.synthesizer import Synthesizer
    from pyvws.synthesis.columns import columns_used
    from pyvws.synthesis.settings import placed
    from pyvws.tables.files import read_table
    from pyvws.tables.large_files import run_bytes

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
            squeeze=squeeze,
            components=components,
            labels=labels and labels.value,
            gamma_shape=gamma_shape,
            gamma_rate=gamma_rate,
            smallest_sd=smallest_sd,
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
            allow_outside=allow_outside or None,
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
        accept_above_target=accept_above_target,
        threshold=threshold,
        round=round,
        keep_order=keep_order,
        records=rows_of_a_dataset(records),
        records_epsilon=records_epsilon,
        accept_unconverged=accept_unconverged,
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
    large = run_bytes(
        table,
        used=columns_used(settings),
        datasets=datasets,
        draws=draws * chains,
    ) > size_in_bytes(memory)
    console = Console(stderr=True)
    silent = quiet or as_json
    with (
        warnings.catch_warnings(record=True) as caught,
        fit_listener(console, silent=silent) as listener,
    ):
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.simplefilter("always", DisclosureWarning)
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
        console.print(
            f"Warning: {warning.message}",
            style="yellow",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    tell_release(privacy, out, [str(w.message) for w in caught], quiet=quiet, as_json=as_json)
