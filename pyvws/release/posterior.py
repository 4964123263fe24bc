"""The fits and draws of a run with a pseudo posterior, and the statement of their cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.phrase import Phrase
from pyvws.errors import InputError, SearchError
from pyvws.mechanisms.mechanism import Mechanism, data_weights
from pyvws.mechanisms.weighing import Downscaling, Request, WeightedFit, Weighting, target_window
from pyvws.plan.refusal import refuse_delta
from pyvws.posterior.prediction import predicted, unit_steps
from pyvws.posterior.systematic_draws import SystematicStream
from pyvws.release.draw_source import Draw, DrawSource, shared_facts
from pyvws.release.summary import fit_figures, posterior_columns, record_columns, unit_figures
from pyvws.statement.accounting import PrivacyStatement, growth_per_doubling
from pyvws.statement.parts import ColumnCost, NumberOfRows, ReliesOn, StatedBound, TableColumns
from pyvws.synthesis.confidential_table import ConfidentialTable
from pyvws.synthesis.cost import check_cost, expected_cost
from pyvws.synthesis.fit_sources import OutsideShares, share_outside
from pyvws.synthesis.judged_fits import (
    judge_convergence,
    search_caveats,
    tell_of_rest,
    tells_nothing,
)
from pyvws.synthesis.loop import Listener, SynthesisLoop
from pyvws.synthesis.open_loop import grid_settings, open_loop
from pyvws.synthesis.outside_source import (
    OWN_MODEL,
    UNCHECKED,
    UNKNOWN,
    given_values,
    outside_caveats,
    program_caveats,
)
from pyvws.synthesis.settings import RunSettings
from pyvws.synthesis.strict_seller import rows_to_draw, seller_of
from pyvws.tables.files.row_order import RowNumbers

_SHORT_SEED = 1 << 53  # An intruder can try all seeds below it against a release's numbers.

# The statement's word for the source of the number of rows, by the type of `records`.
_ROWS_FROM: Final[dict[type[Any], str]] = {type(None): "exact", int: "public", str: "noisy"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedRun(DrawSource):
    """A run with a pseudo posterior before it draws its datasets.

    `own` is the mechanism's fit with its risks; `final` is the fit that makes the datasets, and
    `drawn` has the draw behind each of them with its random stream.
    `tells_nothing` says whether the clamp left only the prior;
    `outside` has the shares of terms outside its window, where there is one.
    """

    loop: SynthesisLoop
    own: Weighting
    final: WeightedFit
    drawn: list[tuple[dict[str, Floats], np.random.Generator]]
    statement: PrivacyStatement
    tells_nothing: bool
    outside: OutsideShares | None

    @property
    def secret(self) -> bool:
        return self.statement.relies_on.exact_draws or self.statement.rows.records == "noisy"

    def draws(self) -> list[Draw]:
        systematic = self.settings.sampling == "systematic"
        return [
            partial(self._values, draw, SystematicStream(rng.bit_generator) if systematic else rng)
            for draw, rng in self.drawn
        ]

    def _values(
        self, draw: dict[str, Floats], rng: np.random.Generator, rows: RowNumbers | int
    ) -> Iterator[dict[str, Floats]]:
        """Values as `predicted` draws them, or those of whole units, which stand for no record."""
        table = self.table
        if self.settings.brings_values:
            yield given_values(table.drawn, draw, rows)
        elif table.members is not None:
            assert isinstance(rows, int)
            yield from unit_steps(table.drawn, draw, rng, drawn=table.members, units=rows)
        else:
            yield predicted(table.drawn, draw, rng, rows=rows, public=table.public)

    def figures(self) -> dict[str, Any]:
        parts: dict[str, Any] = {}
        if self.outside is not None:
            by_draw = self.outside.by_draw
            parts = {
                "posterior_is_prior": self.tells_nothing,
                "share_outside_window": {
                    "mean": float(by_draw.mean()),
                    "least": float(by_draw.min()),
                    "most": float(by_draw.max()),
                },
            }
        terms = {outcome.name: list(outcome.terms) for outcome in self.table.outcomes}
        columns = {"design_columns": terms if len(terms) > 1 else next(iter(terms.values()))}
        if self.loop.source.units is not None:
            parts = {**parts, **unit_figures(self.loop.source, self.final)}
        parts = {**parts, "largest_bound": self._largest_bound()}
        found = self.own.constants
        return parts | columns | fit_figures(self.loop, self.final, self.statement, found)

    def _largest_bound(self) -> dict[str, Any]:
        """What makes epsilon large: the column of the largest bound, and how rare its record is.

        `records_alike` have its value and its predictors in that column, and
        `records_of_its_predictors` these predictors. Of units only the column is told.
        """
        bounds, table = self.final.bounds, self.table
        record = int(bounds.by_record.argmax())
        own = bounds.by_record[[record]] if bounds.by_column is None else bounds.by_column[record]
        outcome = table.outcomes[int(own.argmax())]
        share = float(own.max() / own.sum()) if 0.0 < own.sum() < np.inf else None
        found = {"column": outcome.name, "share": share}
        if self.loop.source.units is not None:
            return found
        design = outcome.design if outcome.rows is None else outcome.design[outcome.rows]
        given = (design == design[record]).all(axis=1)
        each = np.ones(len(given)) if table.counts is None else table.counts
        alike = given & (outcome.y == outcome.y[record])
        return found | {
            "records_alike": int(each[alike].sum()),
            "records_of_its_predictors": int(each[given].sum()),
        }

    def records(self, rows: Mapping[str, RowNumbers] | None = None) -> dict[str, Any]:
        table = self.table
        columns = record_columns(self.own, self.final, [column.name for column in table.outcomes])
        if self.outside is not None:
            columns["share_outside_window"] = self.outside.by_record
        if table.units is not None:  # Each record gets the figures of its unit.
            columns = {name: values[table.units] for name, values in columns.items()}
        if table.exponents is not None:
            columns["survey_exponent"] = table.exponents
        return {**(rows or {}), **columns}

    def posterior(self) -> dict[str, Any]:
        return posterior_columns(self.final.posterior)


def fitted_run(
    settings: RunSettings,
    table: ConfidentialTable,
    *,
    seed: int,
    listener: Listener,
    loop: SynthesisLoop | None = None,
) -> FittedRun:
    """Fit by the run's mechanism.

    `loop` is one on this table to fit on, with fits that it may share; a new one if not given.
    """
    console: list[str] = []
    if loop is None:
        loop = open_loop(settings, table, seed=seed, listener=listener, log=console.append)
        if not table.plan.strict:  # A trial reads the records, and no price covers that.
            cost = expected_cost(settings, loop.model.columns, table.records)
            check_cost(cost, settings.most_seconds, listener)
    strict = table.plan.strict
    seller = seller_of(settings, loop.cells.total_records, strict=strict)
    loop.seller = seller if strict else None
    rows = rows_to_draw(settings.records, seller)
    refuse_delta(settings, table.records if rows is None else rows)
    weighting, final = _fitted(settings, loop, table)
    drawn = loop.predictors(final, settings.datasets, settings.draws_per_release)
    nothing = tells_nothing(loop, weighting, strict=strict)
    public = settings.chosen_mechanism.facts.weights_source == "constant"
    constant = float(weighting.fit.weights.flat[0]) if public else None
    judge_convergence(loop, strict=strict, clamp=weighting.clamp, constant=constant)
    statement = _statement(settings, loop, table, weighting, final, seed=seed)
    tell_of_rest(statement, listener)
    outside = None
    if weighting.clamp is not None:
        of_fit = (final.posterior, final.weights, weighting.clamp)
        outside = share_outside(loop.model, loop.cells, *of_fit)
    return FittedRun(
        settings=settings,
        table=table,
        statement=statement,
        seed=seed,
        rows=rows,
        console="".join(console),
        loop=loop,
        own=weighting,
        final=final,
        drawn=drawn,
        tells_nothing=nothing,
        outside=outside,
    )


def _fitted(
    settings: RunSettings, loop: SynthesisLoop, table: ConfidentialTable
) -> tuple[Weighting, WeightedFit]:
    """The mechanism's own fit, with the constants of all searches, and that of the datasets."""
    target = settings.target_epsilon
    rule = None
    if settings.downscale and target is not None:
        rule = Downscaling(target)
    request = Request(
        y=_numbers(table),
        known=table.known,
        levels=[own.y for own in table.outcomes if own.categorical and len(table.outcomes) > 1],
        column=table.weights,
        tolerance=settings.tolerance,
        epsilon=None if settings.downscale else settings.epsilon,
        downscaling=rule,
        confirm=not settings.reweight,
    )
    mechanism = settings.chosen_mechanism
    weighting = mechanism.run(loop, request)
    if not any(weighting.fit is fit for fit in loop.fits):
        raise InputError.by("own-fit-outside-loop", mechanism=mechanism.name)
    final = weighting.fit
    if settings.reweight:
        final, k = loop.reweighted(
            final,
            k=settings.k,
            tolerance=settings.tolerance,
            window=None
            if settings.epsilon is None
            else target_window(settings.epsilon, settings.tolerance),
        )
        weighting = replace(weighting, constants={**weighting.constants, "k": k})
    if target is not None and weighting.clamp is None:
        final = _held(settings, loop, final, target)
    return weighting, final


def _held(
    settings: RunSettings, loop: SynthesisLoop, final: WeightedFit, target: float
) -> WeightedFit:
    """The confirmed fit; SearchError if its epsilon exceeds the target and settings refuse that."""

    def refuse_missed(fit: WeightedFit) -> None:
        if fit.bounds.aimed.epsilon > target and not settings.accept_above_target:
            raise SearchError(
                "The bound of the last fit lies above the epsilon that was asked for, so nothing "
                "is released. Let downscale (--downscale) lower the weights. Or take mechanism lw "
                "with this epsilon, which searches. Or release the larger figure with "
                "accept_above_target (--accept-above-target)."
            )

    refuse_missed(final)
    if not final.confirmed:
        final = loop.confirmed(final)
        refuse_missed(final)
    return final


def _statement(
    settings: RunSettings,
    loop: SynthesisLoop,
    table: ConfidentialTable,
    weighting: Weighting,
    final: WeightedFit,
    *,
    seed: int,
) -> PrivacyStatement:
    clamp, mechanism = weighting.clamp, settings.chosen_mechanism
    facts = mechanism.facts
    own = (
        *program_caveats(settings.program, settings.engine),
        *outside_caveats(settings.existing_fit),
    )
    unknown = any(phrase.key in (UNCHECKED, UNKNOWN) for phrase in own)
    constant = facts.weights_source == "constant"  # Public records gave its constants.
    chosen = weighting.constants if constant and not settings.reweight else {}
    words = {"title": facts.title, "explanation": facts.explanation}
    return PrivacyStatement(
        **shared_facts(settings, table),
        spending=None if loop.seller is None else loop.seller.spending,
        unit=table.plan.unit,
        proposed=table.plan.proposed,
        model=OWN_MODEL if settings.brings_values else loop.model.name,
        claim="none" if unknown else facts.claim,
        draws_per_release=settings.draws_per_release,
        delta=settings.delta or None,
        brought=(
            *(*facts.caveats, *own, *table.plan.caveats),
            *(() if settings.brings_values else loop.model.caveats),
        ),
        bound=StatedBound(
            lipschitz_bound=final.bounds.database if clamp is None else clamp.half,
            growth=growth_per_doubling(final.bounds.by_draw),
            window=None if final.bounds.windows is None else final.bounds.epsilon_of_window,
            confirmed=final.confirmed,
            downweights=bool((final.weights < 1.0).any()),
            draws=final.posterior.n_draws,
            threshold=settings.threshold,
            reweighted=settings.reweight,
            searched=bool(loop.tries),
            of_search=search_caveats(settings, weighting, final),
            target=settings.target_epsilon,
            accounting=settings.accounting,
        ),
        rows=NumberOfRows(
            records=_ROWS_FROM[type(settings.records)],
            records_epsilon=settings.records_epsilon or 0.0,
            members=table.members is not None,
        ),
        columns=_of_columns(table, weighting, final),
        problems=tuple(loop.problems()),
        uses=(
            *table.plan.uses,
            *([Phrase("outside-fit")] if settings.existing_fit is not None else []),
            *_uses(mechanism, loop, weighting, final),
        ),
        relies_on=ReliesOn(
            clamp="" if clamp is None else clamp.kind,
            data_weights=data_weights(mechanism, downscaled=settings.downscale),
            weights_source=facts.weights_source,
            stage_epsilon=weighting.spent,
            engine=final.posterior.engine,
            exact_draws=settings.is_exact,
            approximated=final.posterior.approximated,
            prepared_from_data=loop.model.prepared_from_data,
            reads_outcome=loop.model.reads_outcome,
            accepts_unconverged=settings.accept_unconverged,
            short_seed=seed < _SHORT_SEED,
            unchecked=settings.unchecked,
            mechanism_words=words if "mechanism" in settings.unchecked else {},
            own_program=settings.own_program,
            public_settings={
                **table.plan.public_settings,
                **chosen,
                **grid_settings(settings, loop.model),
            },
        ),
    )


def _of_columns(
    table: ConfidentialTable, weighting: Weighting, final: WeightedFit
) -> TableColumns | None:
    """The columns of a schema, and what each conditional costs alone; None without a schema."""
    if not table.plan.by_schema:
        return None
    alone = final.bounds.separate
    if weighting.clamp is not None:
        alone = np.full(len(table.outcomes), weighting.clamp.epsilon)
    posterior = final.posterior
    engines = posterior.engines or (posterior.engine,) * len(table.outcomes)
    costs = tuple(
        ColumnCost(
            name=outcome.name,
            model=OWN_MODEL if table.plan.run.brings_values else outcome.model.name,
            predictors=outcome.predictors,
            engine=engine,
            epsilon=float(epsilon),
        )
        for outcome, engine, epsilon in zip(table.outcomes, engines, alone, strict=True)
    )
    drawn = tuple(name for name in table.synthesized if name in table.released)
    return TableColumns(synthesized=drawn, numbered=tuple(table.ids), costs=costs)


def _uses(
    mechanism: Mechanism, loop: SynthesisLoop, weighting: Weighting, final: WeightedFit
) -> tuple[Phrase, ...]:
    """The unaccounted uses of the confidential data before the fit that made the datasets."""
    counted = (final, *weighting.stages)
    fits = Counter(fit.label for fit in loop.fits if not any(fit is entry for entry in counted))
    uses = [Phrase("fit", {"label": label, "number": count}) for label, count in fits.items()]
    risks = [Phrase("risks")] if mechanism.facts.counts_in_radius else []
    outside = [Phrase("given-weights")] if mechanism.facts.weights_source == "outside" else []
    return (*risks, *outside, *uses)


def _numbers(table: ConfidentialTable) -> Floats:
    """The outcome (N,), or the numbers (N, P) among the columns of a table, 0 where missing.

    The parts of a number are a category beside it.
    """
    if len(table.outcomes) == 1:
        return table.outcomes[0].y
    numbers = [np.nan_to_num(outcome.y) for outcome in table.outcomes if not outcome.categorical]
    return np.column_stack(numbers) if numbers else np.empty((table.records, 0))
