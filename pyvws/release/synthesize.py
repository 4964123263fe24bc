"""The whole job in one call: Algorithms 1 to 3 of [vws2024]."""

from __future__ import annotations

from typing import Any

from pyvws.engines._engine import Engine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.user_program import UserProgram
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.mechanisms.registry import make_mechanism
from pyvws.models.model import Model
from pyvws.models.registry import find_model, model_settings
from pyvws.release.release import Release
from pyvws.release.synthesizer import Synthesizer
from pyvws.synthesis.settings import placed

__all__ = ["synthesize"]


def synthesize(
    frame: Any,
    *,
    outcome: str,
    model: str | Model = "negative-binomial",
    mechanism: str | Mechanism = "lw",
    formula: str = "~ 1",
    keep: tuple[str, ...] | list[str] | str = (),
    datasets: int = 20,
    draws: int = 1000,
    warmup: int = 1000,
    refit_warmup: int | None = None,
    chains: int = 4,
    target_accept: float = 0.8,
    engine: str | Engine = "native",
    program: UserProgram | None = None,
    epsilon: float | None = None,
    downscale: bool = False,
    psi: float | None = None,
    passes: int | None = None,
    reweight: bool = False,
    k: float = 0.95,
    tolerance: float = 0.05,
    accept_above_target: bool = False,
    threshold: float = 1.0,
    round: bool = False,
    keep_order: bool = False,
    records: int | str | None = None,
    records_epsilon: float | None = None,
    accept_unconverged: bool = False,
    seed: int,
    **settings: Any,
) -> Release:
    """Synthesize one outcome of a confidential table with a privacy statement.

    Parameters
    ----------
    frame : pandas, polars or Arrow table, N rows
        The confidential table; datasets come back in its kind.
    outcome : str
        Column to synthesize.
    model : str or model
        Family of the outcome, by name or with settings of its own.
    mechanism : str or mechanism
        How records are weighted, by name or with settings of its own.
    formula : str
        Predictors, as in R; treated as public and released unchanged.
    keep : sequence of str or "all"
        Further public columns to release unchanged.
    datasets : int
        Synthetic datasets; each spends epsilon.
    draws : int
        Draws of each chain; S = draws x chains.
    warmup : int
        Warm-up iterations of each chain.
    refit_warmup : int, optional
        Those of each fit but the first; half under the native engine.
    chains : int
        Chains of each fit.
    target_accept : float
        Sampler's acceptance in (0, 1); larger = fewer divergences, slower.
    engine : str or Engine
        "native", "ensemble", "cmdstan", "rstan", "pystan", or an engine object.
    program : UserProgram, optional
        Your own Stan program, under a Stan engine.
    epsilon : float, optional
        The mechanism's own, for weighted-epsilon, censored and perturbed-histogram; else the target
        of a dataset that weights are searched for.
    downscale : bool
        Lower each weight until the refit's bound is epsilon / 2.
    psi : float, optional
        One factor for all weights in `downscale`.
    passes : int, optional
        Truncations of weighted-epsilon (1), or refits of `downscale` (5).
    reweight : bool
        Raise weights that lie below the bound (Algorithm 3).
    k : float
        First k of Algorithm 3, strictly between 0 and 1.
    tolerance : float
        How near a searched bound must come, as a share of it.
    accept_above_target : bool
        Release also where truncation or downscaling ends above epsilon.
    threshold : float
        Quantile of the draws' maxima that the bounds take; below 1 there is no guarantee.
    round : bool
        Round the outcome to whole numbers first.
    keep_order : bool
        Leave the rows in the table's order, which is released then; random and secret otherwise.
    records : int or "noisy", optional
        How many rows each dataset has, where not as many as there are records.
    records_epsilon : float, optional
        What a noisy number of rows costs.
    accept_unconverged : bool
        Release draws whose chains fail their diagnostics, with the guarantee "none".
    seed : int
        Of sampling and synthesis; keep it confidential.
    **settings
        Those that a mechanism or a model named by a string takes: c, g, radius, radius_kind, known,
        match, weights, range, bins, neighbours, edges_from_data, allow_outside, noise;
        outcome_scale of normal, levels of ordinal, range and squeeze of beta.

    Returns
    -------
    Release
        .datasets, .aligned(), .privacy, .records, .posterior, .summary, .write(folder).

    Raises
    ------
    InputError
        Before any work, for a table or setting that the method cannot take.
    SearchError
        If no k or c meets its bound, or epsilon is missed and that is not accepted.

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> table = pl.DataFrame({"visits": np.random.default_rng(1).poisson(20, 200)})
    >>> release = synthesize(table, outcome="visits", model="poisson", datasets=2, seed=1)
    >>> release.privacy["guarantee"], len(release.datasets)
    ('asymptotic-dp', 2)
    """
    taken = model_settings(find_model(model)) if isinstance(model, str) else ()
    family = find_model(model, **{key: settings.pop(key) for key in taken if key in settings})
    own, run = placed(mechanism, epsilon=epsilon, passes=passes, downscale=downscale)
    made = make_mechanism(mechanism, **settings, **own)
    sampler = SamplerSettings(
        draws=draws,
        warmup=warmup,
        refit_warmup=refit_warmup,
        chains=chains,
        target_accept=target_accept,
    )
    return Synthesizer(
        outcome=outcome,
        model=family,
        mechanism=made,
        formula=formula,
        keep=keep,
        datasets=datasets,
        psi=psi,
        **run,
        reweight=reweight,
        k=k,
        tolerance=tolerance,
        accept_above_target=accept_above_target,
        threshold=threshold,
        round=round,
        keep_order=keep_order,
        records=records,
        records_epsilon=records_epsilon,
        accept_unconverged=accept_unconverged,
        settings=sampler,
        engine=engine,
        program=program,
    ).fit(frame, seed=seed)
