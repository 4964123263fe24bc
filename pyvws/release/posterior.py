"""The fits and draws of a run with a pseudo posterior, and the statement of their cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.phrase import Phrase
from pyvws.engines._engine import Engine
from pyvws.engines._public_grid import public_grid
from pyvws.engines._weighted_terms import CHECKING_ENGINES
from pyvws.engines.registry import find_engine, find_stan_engine, is_exact
from pyvws.errors import InputError, SearchError
from pyvws.mechanisms.histogram.discrete_laplace import add_discrete_laplace
from pyvws.mechanisms.histogram.perturbed_histogram import noise_scale
from pyvws.mechanisms.mechanism import Mechanism, data_weights
from pyvws.mechanisms.weighing import Downscaling, Request, WeightedFit, Weighting, target_window
from pyvws.release.summary import Drawn, fit_figures, posterior_columns, record_columns
from pyvws.statement.accounting import PrivacyStatement, growth_per_doubling
from pyvws.synthesis.confidential_table import ConfidentialTable
from pyvws.synthesis.fit_sources import FitSource, ModelSource, ProgramSource, share_outside
from pyvws.synthesis.judged_fits import judge_convergence, tells_nothing
from pyvws.synthesis.loop import Listener, SynthesisLoop
from pyvws.synthesis.reference import Reference
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.cells import Cells, make_cells
from pyvws.tables.row_order import RowNumbers, order_stream, released_rows, row_order

__all__ = ["FittedRun", "draw_from_posterior", "fitted_run"]

_SHORT_SEED = 1 << 53  # An intruder can try all seeds below it against a release's numbers.

# The statement's word for the source of the number of rows, by the type of `records`.
_ROWS_FROM: Final[dict[type[Any], str]] = {type(None): "exact", int: "public", str: "noisy"}


@dataclass(frozen=True, slots=True)
class FittedRun:
    """A run before it draws its datasets.

    `own` is the mechanism's fit with its risks; `final` is the fit that makes the datasets.
    Searches found `constants`; Stan printed `console`. `rows` is the number of rows by a setting,
    None for one row a record. `tells_nothing` says whether the clamp left only the prior.
    """

    settings: RunSettings
    table: ConfidentialTable
    loop: SynthesisLoop
    own: Weighting
    final: WeightedFit
    constants: dict[str, float]
    statement: PrivacyStatement
    console: str
    rows: int | None
    tells_nothing: bool

    def figures(self) -> dict[str, Any]:
        """The run's own part of summary.json."""
        told: dict[str, Any] = {}
        if self.own.clamp is not None:
            fit, loop = self.final, self.loop
            outside = share_outside(
                *(loop.model, loop.cells, fit.posterior, fit.weights, self.own.clamp)
            )
            told = {
                "posterior_is_prior": self.tells_nothing,
                "share_outside_window": {
                    "mean": float(outside.mean()),
                    "least": float(outside.min()),
                    "most": float(outside.max()),
                },
            }
        columns = {"design_columns": list(self.table.design.names)}
        return told | columns | fit_figures(self.loop, self.final, self.statement, self.constants)


def fitted_run(
    settings: RunSettings,
    mechanism: Mechanism,
    table: ConfidentialTable,
    *,
    seed: int,
    listener: Listener,
    multiplicity: Floats | None = None,
) -> FittedRun:
    """Fit by the mechanism. Record i of the table stands for multiplicity[i] equal records."""
    console: list[str] = []
    log, model = console.append, table.model
    cells = make_cells(model.encode(table.y), table.design.matrix, multiplicity)
    rows = _number_of_rows(settings, table.released, cells.total_records)
    loop = SynthesisLoop(
        model,
        cells,
        source=_source(settings, cells, table, log),
        settings=settings.sampler,
        seed=seed,
        listener=listener,
        reference=_reference(settings, table, log),
    )
    weighting, final, constants = _fitted(settings, mechanism, loop, table)
    nothing = tells_nothing(settings, loop, weighting)
    judge_convergence(settings, loop, clamped=weighting.clamp is not None)
    statement = _statement(settings, mechanism, loop, table, weighting, final, seed=seed)
    said = "".join(console)
    return FittedRun(
        settings, table, loop, weighting, final, constants, statement, said, rows, nothing
    )


def draw_from_posterior(
    settings: RunSettings,
    mechanism: Mechanism,
    table: ConfidentialTable,
    *,
    seed: int,
    row_name: str,
    listener: Listener,
) -> Drawn:
    """Run a mechanism on a checked table; `row_name` heads the row numbers in records.parquet."""
    run = fitted_run(settings, mechanism, table, seed=seed, listener=listener)
    records, design = len(table.y), table.design.matrix
    columns = record_columns(run.own, run.final)
    order: RowNumbers | None
    if run.rows is not None:  # There are no predictors, so one row of the design is like another.
        order = np.zeros(run.rows, dtype=np.intp)
        own: dict[str, Any] = {"design": design[order]}
    else:
        order = None if settings.keep_order else row_order(order_stream(seed), records)
        columns = {row_name: released_rows(order, records), **columns}
        own = {"design": design, "order": order}
    draws = settings.draws_per_release
    outcomes = run.loop.synthetic(run.final, datasets=settings.datasets, draws=draws, **own)
    return Drawn(
        outcomes=outcomes,
        order=order,
        records=columns,
        posterior=posterior_columns(run.final.posterior),
        statement=run.statement,
        figures=run.figures(),
        console=run.console,
    )


def _number_of_rows(settings: RunSettings, released: list[str], records: int) -> int | None:
    """The public number of rows, or a noisy number of records; None for one row a record.

    One record more or less changes the count by 1, so noise of scale 1 / records_epsilon costs
    records_epsilon. Raises InputError where the run releases columns unchanged, since these have
    the table's own rows; MissingDependencyError for noise where OpenDP is not installed.
    """
    if settings.records is None:
        return None
    if released != [settings.outcome]:
        raise InputError(
            "records draws another number of rows than the table has, and columns that are "
            "released as they are have the table's own. Take formula and keep out, or records."
        )
    if settings.records_epsilon is None:
        return cast(int, settings.records)
    scale = noise_scale(settings.records_epsilon, "loo")
    noisy = add_discrete_laplace(np.array([records]), scale=scale)
    return max(1, int(noisy[0]))


def _fitted(
    settings: RunSettings, mechanism: Mechanism, loop: SynthesisLoop, table: ConfidentialTable
) -> tuple[Weighting, WeightedFit, dict[str, float]]:
    """The mechanism's own fit, the fit that makes the datasets, and the constants of searches."""
    target = settings.target_epsilon
    rule = None
    if settings.downscale and target is not None:
        rule = Downscaling(target, settings.passes, settings.psi)
    request = Request(
        y=table.y,
        known=table.known,
        column=table.weights,
        tolerance=settings.tolerance,
        epsilon=None if settings.downscale else settings.epsilon,
        downscaling=rule,
        confirm=not settings.reweight,
    )
    weighting = mechanism.run(loop, request)
    if not any(weighting.fit is fit for fit in loop.fits):
        raise InputError(
            f"Mechanism {mechanism.name!r} returned a fit that the loop did not make, so its bound "
            "is not known. Return what loop.fit or one of its searches gave."
        )
    final, constants = weighting.fit, dict(weighting.constants)
    if settings.reweight:
        final, constants["k"] = loop.reweighted(
            final,
            k=settings.k,
            tolerance=settings.tolerance,
            window=None
            if settings.epsilon is None
            else target_window(settings.epsilon, settings.tolerance),
        )
    if target is not None and weighting.clamp is None:
        final = _held(settings, loop, final, target)
    return weighting, final, constants


def _held(
    settings: RunSettings, loop: SynthesisLoop, final: WeightedFit, target: float
) -> WeightedFit:
    """The confirmed fit; SearchError if its epsilon exceeds the target and settings refuse that."""

    def refuse_missed(fit: WeightedFit) -> None:
        if fit.bounds.epsilon > target and not settings.accept_above_target:
            raise SearchError(
                "The bound of the last fit lies above the epsilon that was asked for, so nothing "
                "is released. Let downscale (--downscale) lower the weights, with more passes "
                "(--passes) where it ran out of them; take mechanism lw with this epsilon, which "
                "searches; or release the larger figure with accept_above_target "
                "(--accept-above-target)."
            )

    refuse_missed(final)
    if not final.confirmed:
        final = loop.confirmed(final)
        refuse_missed(final)
    return final


def _statement(
    settings: RunSettings,
    mechanism: Mechanism,
    loop: SynthesisLoop,
    table: ConfidentialTable,
    weighting: Weighting,
    final: WeightedFit,
    *,
    seed: int,
) -> PrivacyStatement:
    enforced = weighting.clamp is not None
    from_data = data_weights(mechanism, downscaled=settings.downscale)
    return PrivacyStatement(
        mechanism=mechanism.name,
        claim=mechanism.claim,
        mechanism_caveats=mechanism.caveats,
        unchecked=settings.unchecked,
        mechanism_words=(
            {"title": mechanism.title, "explanation": mechanism.explanation}
            if "mechanism" in settings.unchecked
            else {}
        ),
        model=loop.model.name,
        reweighted=settings.reweight,
        searched=bool(loop.tries),
        lipschitz_bound=(
            final.bounds.database if weighting.clamp is None else weighting.clamp.half
        ),
        enforced=enforced,
        data_weights=from_data,
        prepared_from_data=loop.model.prepared_from_data,
        downweights=bool((final.weights < 1.0).any()),
        confirmed=final.confirmed,
        target=settings.target_epsilon,
        growth=growth_per_doubling(final.bounds.by_draw),
        datasets=settings.datasets,
        draws=final.posterior.n_draws,
        draws_per_release=settings.draws_per_release,
        threshold=settings.threshold,
        columns_released_unchanged=tuple(c for c in table.released if c != settings.outcome),
        rounded=settings.round,
        keep_order=settings.keep_order,
        reads_outcome=loop.model.reads_outcome,
        model_caveats=loop.model.caveats,
        problems=tuple(loop.problems()),
        uses=_uses(mechanism, loop, weighting, final),
        weights_source=mechanism.weights_source,
        stage_epsilon=weighting.spent,
        own_program=_own_program(settings),
        short_seed=seed < _SHORT_SEED,
        accepts_unconverged=settings.accept_unconverged,
        records=_ROWS_FROM[type(settings.records)],
        records_epsilon=settings.records_epsilon or 0.0,
        clamp=weighting.clamp.kind if weighting.clamp is not None else "half",
        engine=final.posterior.engine,
        exact_draws=is_exact(settings.engine),
        public_settings={**settings.public, **_grid(settings, loop)},
    )


def _grid(settings: RunSettings, loop: SynthesisLoop) -> dict[str, Any]:
    """Range and steps of the grid that an exact engine draws from; empty for other engines."""
    if not is_exact(settings.engine):
        return {}
    own = cast(Any, loop.model).own_entries  # The engine takes regressions alone.
    return public_grid(settings.settings, loop.model, loop.cells.n_coefficients, own).settings


def _own_program(settings: RunSettings) -> str:
    """The key of the caveat on a Stan program of the agency's own; empty without such a program."""
    if settings.program is None:
        return ""
    return "own-program" if settings.engine in CHECKING_ENGINES else "unchecked-program"


def _uses(
    mechanism: Mechanism, loop: SynthesisLoop, weighting: Weighting, final: WeightedFit
) -> tuple[Phrase, ...]:
    """The unaccounted uses of the confidential data before the fit that made the datasets."""
    counted = (final, *weighting.stages)
    fits = Counter(fit.label for fit in loop.fits if not any(fit is one for one in counted))
    uses = [Phrase("fit", {"label": label, "number": count}) for label, count in fits.items()]
    risks = [Phrase("risks")] if mechanism.counts_in_radius else []
    return (*risks, *uses)


Log = Callable[[str], None]


def _source(settings: RunSettings, cells: Cells, table: ConfidentialTable, log: Log) -> FitSource:
    model = table.model
    if settings.program is not None:
        engine = find_stan_engine(str(settings.engine), log=log)
        y, X = model.encode(table.y), table.design.matrix
        return ProgramSource(
            settings.program, engine, y, X, model.predicts_from, settings.threshold
        )
    return ModelSource(model, cells, _sampler(settings, log), settings.threshold)


def _sampler(settings: RunSettings, log: Log) -> Engine:
    named = settings.engine
    return find_engine(named, log=log) if isinstance(named, str) else named


def _reference(
    settings: RunSettings, table: ConfidentialTable, log: Log
) -> tuple[Reference, FitSource] | None:
    """The public records of a run that has them, and the source of fits to these records alone."""
    public = table.reference
    if public is None:
        return None
    return public, ModelSource(public.model, public.cells, _sampler(settings, log))
