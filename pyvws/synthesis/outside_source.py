"""Fits that no family of a run makes: its own Stan program, or a fit made elsewhere.

Such a fit brings its bounds. It may bring synthetic values as y_rep, in the place of a family's
prediction. The weights of one made elsewhere are the mechanism.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Bools, Floats
from pyvws._base.phrase import Phrase
from pyvws._base.setting import setting
from pyvws.bounds.joint import ColumnTerms, blockwise_joint_bounds
from pyvws.bounds.lipschitz import lipschitz_bounds
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.stan_run import StanEngine
from pyvws.engines.user_program import (
    CHECKING_ENGINES,
    UserFit,
    UserProgram,
    parameter_names,
    program_data,
)
from pyvws.errors import InputError, MisfitWarning
from pyvws.models.model import Draws
from pyvws.models.sequence import DrawnColumn, draws_of, joint_draws
from pyvws.plan.coded import OutcomeColumn
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.draws import Y_REP, Posterior, diagnose
from pyvws.synthesis.existing_fit import ExistingFit
from pyvws.synthesis.fit_sources import FitProgress, SampledFit
from pyvws.tables.files.row_order import RowNumbers

Fits = ExistingFit | Mapping[str, ExistingFit]

EXISTING_FIT: Final = setting(
    None,
    "A fit made elsewhere, or one of each column by its name: its y_rep are released.",
    more="As `vws.from_arviz` and the like read it. Its weights are the mechanism, and its log_lik "
    "is bounded; nothing is fitted.",
    option=False,
    in_steps=False,
)
"""The setting `existing_fit` of a run."""

OUTSIDE: Final = "outside"
"""The statement's word for the engine of a fit made elsewhere."""

_TOTAL: Final = "log_lik_total"  # What the chains of such a fit are compared by.


def fits_by_column(
    fit: ExistingFit | Mapping[str, ExistingFit], columns: Sequence[str]
) -> dict[str, ExistingFit]:
    """The fit of each column in their order; InputError for fits that are not these columns'."""
    given = dict(fit) if isinstance(fit, Mapping) else dict.fromkeys(columns[:1], fit)
    if sorted(given) != sorted(columns):
        raise InputError.by("existing-fit-columns", columns=", ".join(columns))
    return {name: given[name] for name in columns}


def check_fits(fit: Fits) -> tuple[ExistingFit, ...]:
    """The fits that a run was given; InputError unless they can be released together."""
    fits = tuple(fit.values()) if isinstance(fit, Mapping) else (fit,)
    if not fits or not all(isinstance(each, ExistingFit) for each in fits):
        raise InputError.by("existing-fit-kind")
    if any(each.y_rep is None for each in fits):
        raise InputError.by("y-rep-missing")
    if len({each.log_lik.shape for each in fits}) > 1:
        raise InputError.by("fits-differ-in-shape")
    if len({None if each.weights is None else each.weights.tobytes() for each in fits}) > 1:
        raise InputError.by("fits-differ-in-weights")
    return fits


def outside_caveats(fit: Fits | None) -> tuple[Phrase, ...]:
    """What a statement says of a fit made elsewhere; empty without one."""
    if fit is None:
        return ()
    known = all(each.y_rep_from == "parameters" for each in check_fits(fit))
    return (Phrase("outside-fit"), *(() if known else (Phrase(UNKNOWN),)))


UNKNOWN: Final = "unknown-predictions"
"""Key of the caveat on synthetic values of unknown origin, under which nothing is claimed."""


@dataclass(frozen=True, slots=True)
class OutsideSource:
    """Fits made elsewhere, one a column, as the source of the one fit of a run.

    Their bounds are joint: over all pairings of the columns' draws.
    """

    fits: Mapping[str, ExistingFit]
    threshold: float = 1.0
    units: None = None

    def sample(
        self,
        weights: Floats,
        settings: SamplerSettings,
        *,
        clamp: Clamp | None = None,
        **_unread: object,
    ) -> SampledFit:
        """As `FitSource.sample`, but only under the weights that the fits have."""
        first = next(iter(self.fits.values()))
        own = np.ones(first.log_lik.shape[1]) if first.weights is None else first.weights
        if len(weights) != len(own):
            raise InputError.by("existing-fit-records", own=len(own), weights=len(weights))
        if clamp is not None or not np.array_equal(weights, own):
            raise InputError.by("existing-fit-refitted")
        bounds, _ = blockwise_joint_bounds(
            [_terms(fit.log_lik) for fit in self.fits.values()],
            draws=len(first.log_lik),
            weights=np.ones_like(own),
            exponents=None,
            threshold=self.threshold,
        )
        maxima = np.divide(bounds.by_record, own, out=np.zeros(len(own)), where=own > 0)
        return SampledFit(self._posterior(), bounds, maxima)

    def _posterior(self) -> Posterior:
        draws: dict[str, Any] = {
            name: {_TOTAL: fit.log_lik.sum(axis=1), Y_REP: fit.y_rep}
            for name, fit in self.fits.items()
        }
        fits = list(self.fits.values())
        chains = fits[0].chains if len({fit.chains for fit in fits}) == 1 else 1
        totals = np.column_stack([fit.log_lik.sum(axis=1) for fit in fits])
        return Posterior(
            draws=joint_draws(draws) if len(draws) > 1 else next(iter(draws.values())),
            chains=chains,
            diagnostics=diagnose(totals.reshape(chains, -1, len(fits)), 0),
            seconds=0.0,
            engine=OUTSIDE,
        )


def _terms(log_lik: Floats) -> ColumnTerms:
    """The terms (S, N) of a column, weights included, as the joint bounds read them."""
    S, N = log_lik.shape
    return ColumnTerms(
        blocks=lambda: iter([(slice(0, S), slice(0, N), lambda: log_lik)]),
        at=lambda places: log_lik[:, places],
        cell_of_record=np.arange(N),
        n_cells=N,
    )


_COMPARED: Final = 8  # Draws at which the program's likelihood is compared with the family's.
_ROUNDING: Final = 1e-6  # Of a record's log-likelihood; another likelihood moves by whole nats.


@dataclass(frozen=True, slots=True)
class ProgramSource:
    """A user's Stan program, whose log_lik gives the bounds.

    Its y_rep are the synthetic values, or its draws predict like a family. `predicts_from` names
    the parameters that the family's predictive draw reads, beta among them, and `family` gives the
    family's log-likelihood (S, N) at draws, to compare. The class raises InputError if the
    program's parameters block lacks such a name: a quantity that the program computes elsewhere
    under the name may tell more of the records than the records' weighted terms let through. It
    also raises it for a parameter that the prediction would leave out without being asked.
    """

    program: UserProgram
    engine: StanEngine
    y: Floats
    design: Floats
    predicts_from: tuple[str, ...]
    threshold: float = 1.0
    family: Callable[[Draws], Floats] | None = None
    units: None = None

    def __post_init__(self) -> None:
        if self.program.predicts:
            return
        declared = parameter_names(self.program.text)
        missing = [name for name in self.predicts_from if name not in declared]
        if missing:
            raise InputError.by("program-parameter-undeclared", missing=", ".join(missing))
        read = {*self.predicts_from, *self.program.unread}
        unread = [name for name in declared if name not in read]
        if unread:
            raise InputError.by(
                "program-parameters-unread", unread=", ".join(unread), unread2=",".join(unread)
            )

    def sample(
        self,
        weights: Floats,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: FitProgress | None,
        clamp: Clamp | None = None,
        previous: Posterior | None = None,
    ) -> SampledFit:
        """As `FitSource.sample`; a record of weight 0 has a bound of 0.

        A user's program starts at Stan's own starting point and ignores `previous`.
        """
        if clamp is not None:
            raise InputError.by("own-program-censored")
        fit = self.program.fit(
            self.engine,
            program_data(self.y, self.design, weights),
            settings,
            seed=seed,
            progress=progress,
        )
        weighted = fit.log_lik.copy()
        used = weights > 0
        weighted[:, ~used] = 0.0
        if self.program.log_lik == "plain":
            weighted[:, used] *= weights[used]
        if not self.program.predicts:
            self._compare(fit.draws, weighted[:, used] / weights[used], used)
        bounds = lipschitz_bounds(weighted, threshold=self.threshold)
        maxima = np.divide(bounds.by_record, weights, out=np.zeros(len(weights)), where=used)
        return SampledFit(_posterior(fit, self.engine.name), bounds, maxima)

    def _compare(self, draws: Draws, log_lik: Floats, used: Bools) -> None:
        """Refuse a likelihood (S, n) of the used records that is not the family's.

        Two likelihoods of one family differ by what no parameter moves, such as a constant left
        out. A user who named unread parameters gets a warning in place of the refusal.
        """
        if self.family is None:
            return
        rows = np.unique(np.linspace(0, len(log_lik) - 1, _COMPARED).astype(int))
        own = self.family({name: values[rows] for name, values in draws.items()})[:, used]
        with np.errstate(invalid="ignore"):
            apart = own - log_lik[rows]
            moved = np.abs(apart - apart[0])
        allowed = _ROUNDING * np.maximum(1.0, np.abs(log_lik[rows]))
        if (np.nan_to_num(moved, nan=0.0, posinf=0.0) <= allowed).all():
            return
        words = (
            "The likelihood of the Stan program is not that of the model whose prediction is used, "
            "so synthetic values are not those of the program."
        )
        if self.program.unread:
            warnings.warn(words, MisfitWarning, stacklevel=2)
            return
        raise InputError.by("y-rep-cannot-be-made", words=words)


def program_caveats(program: UserProgram | None, engine: object) -> tuple[Phrase, ...]:
    """What a statement says of a program's own predictions and of data that it was given."""
    if program is None:
        return ()
    caveats = []
    if program.predicts:
        caveats.append(Phrase("own-predictions" if engine in CHECKING_ENGINES else UNCHECKED))
    if program.data:
        caveats.append(Phrase("program-data", {"names": ", ".join(sorted(program.data))}))
    return tuple(caveats)


UNCHECKED: Final = "unchecked-predictions"
"""Key of the caveat on predictions that nothing compared, under which no guarantee is claimed."""


def _posterior(fit: UserFit, engine: str) -> Posterior:
    """The program's draws, with diagnostics of every variable that varies but y_rep."""
    S = len(fit.log_lik)
    parameters = [value for name, value in fit.draws.items() if name != Y_REP]
    flat = np.concatenate([value.reshape(S, -1) for value in parameters], axis=1)
    varying = flat[:, np.ptp(flat, axis=0) > 0]
    return Posterior(
        draws=fit.draws,
        chains=fit.chains,
        diagnostics=diagnose(varying.reshape(fit.chains, S // fit.chains, -1), fit.divergences),
        seconds=fit.seconds,
        engine=engine,
    )


OWN_MODEL: Final = "own"
"""The statement's word for the family of a fit that brings its synthetic values along."""


def given_values(
    columns: Sequence[DrawnColumn], draw: Draws, rows: RowNumbers | int
) -> dict[str, Floats]:
    """Synthetic values by column, in the table's coding, from y_rep of one draw (S = 1).

    Row j stands for record rows[j]; a number stands for all records in their order. Raises
    InputError for values that the column cannot have: nothing can draw them again.
    """
    values: dict[str, Floats] = {}
    for column in columns:
        own = (draws_of(draw, column.column) or draw)[Y_REP][0]
        drawn = own if isinstance(rows, int) else own[rows]
        finish = column.finish
        finite = bool(np.isfinite(drawn).all())
        if not finite or (
            column.model is not None
            and column.model.whole_numbers
            and (drawn != np.floor(drawn)).any()
        ):
            kind = "whole numbers" if finite else "finite numbers"
            raise InputError.by("y-rep-values", column=column.column, kind=kind)
        drawn = drawn + column.first
        if finish is not None:
            drawn = finish.rounded(drawn)
            if np.any(finish.refused(drawn, values)):
                raise InputError.by("y-rep-breaks-rules", column=column.column)
            drawn = finish.settled(drawn, values)
        values[column.column] = drawn
    return values


def check_given(outcome: OutcomeColumn) -> None:
    """Raise InputError where the family would put the outcome on another scale than y_rep's."""
    if not np.array_equal(outcome.encoded, outcome.y - outcome.first):
        raise InputError.by("y-rep-unit", outcome=outcome.name)


def refuse_own_outcome(outcome: OutcomeColumn, y_rep: Floats | None) -> None:
    """Raise InputError where y_rep (S, N) has the records' own outcomes at most draws.

    Draws from parameters repeat no whole column, unless all of its values are one.
    """
    if y_rep is None or y_rep.shape[1] != len(outcome.y) or np.ptp(outcome.y) == 0.0:
        return
    if (y_rep == outcome.y - outcome.first).all(axis=1).mean() > 0.5:
        raise InputError.by("y-rep-is-the-data", outcome=outcome.name)
