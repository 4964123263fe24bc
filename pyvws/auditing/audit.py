"""Audit a whole run against its own statement: leave records out, and do everything anew."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, Literal, overload

import narwhals as nw
import numpy as np
from narwhals.typing import IntoDataFrame
from numpy.typing import NDArray

from pyvws._base.checks import Floats, positive, whole_number
from pyvws._base.seeds import chosen_seed
from pyvws.auditing.canaries import CanaryAudit, canary_audit
from pyvws.auditing.losses import Fitted, loss
from pyvws.auditing.records import Chosen, chosen_records
from pyvws.auditing.repeats import Figures, RepeatedRuns, figures, repeated_runs
from pyvws.errors import ConvergenceError, InputError, PyvwsError
from pyvws.release.posterior import FittedRun, fitted_run
from pyvws.release.synthesizer import Synthesizer
from pyvws.sheet import InSheets, Sheet
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.loop import SILENT
from pyvws.synthesis.settings_by_name import arranged

ITSELF: Final = "the table itself"
PROVES_NOTHING: Final = (
    "An audit finds faults and proves nothing: small figures say that these records moved this run "
    "little. It reads the confidential table, so its figures stay inside."
)
_HEADINGS: Final = (
    *("chosen", "record", "99 %", "median", "without", "error", "stated", "delta", "note"),
)
_NONE: Callable[[int, int], None] = lambda _done, _total: None  # noqa: E731


@dataclass(frozen=True, slots=True)
class AuditedRecord:
    """What one record, or unit, moves of a run; all figures are confidential.

    - `kind`: Why it was chosen: "largest bound", "lone level", "extreme" or "random"; or
      "the table itself", whose loss is 0 where the audit is sound.
    - `record`: Its place in the table, from 1; of a unit that of its first record.
    - `loss`: The loss of one draw in nats that 99 % of draws stay below, infinite where the run
      without the record is refused; larger = less private. NaN where it is not estimated.
      Here and below, "without" is with a copy of another record in its place under `replace`.
    - `median`, `median_without`: The median loss at draws of the run with the record, and at those
      of the run without it.
    - `delta`: E[(1 - exp(epsilon - L))_+] at the larger stated epsilon of both runs; larger = more
      that the epsilon leaves out.
    - `standard_error`: Of the loss; 0 where the posterior is known.
    - `stated`: The epsilon of a dataset that the run without the record states, twice that of one
      record left out under `replace`.
    - `why`: Why there is no figure; empty with one.
    """

    kind: str
    record: int
    loss: float = math.nan
    median: float = math.nan
    median_without: float = math.nan
    delta: float = math.nan
    standard_error: float = math.inf
    stated: float = math.nan
    why: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Audit(InSheets):
    """What `audit` finds. All of it is confidential: it is computed from the table.

    Attributes
    ----------
    rows : tuple of AuditedRecord
        The table itself, then a row for each record or unit that was left out or replaced: .kind,
        .record, .loss, .median, .median_without, .delta, .standard_error, .stated, .why.
    stated : float
        The epsilon of a dataset that the run on the whole table states; larger = less private.
    unit : str
        Whose change a loss is for.
    prior_count : float, optional
        The fewest records that the prior of a conditional table counts for a level; larger = a lone
        record loses less.
    replaced : bool
        Whether another record, or unit, took the place of each.
    repeated : RepeatedRuns, optional
        What datasets of repeated runs tell of the record of the largest bound: .record, .repeats,
        .epsilon, .most.
    """

    rows: tuple[AuditedRecord, ...]
    stated: float
    unit: str
    prior_count: float | None = None
    replaced: bool = False
    repeated: RepeatedRuns | None = None

    def __repr__(self) -> str:
        return f"Audit({len(self.rows) - 1} {'replaced' if self.replaced else 'left out'})"

    @property
    def largest(self) -> float:
        """The largest loss that was found, in nats; NaN where none was estimated."""
        found = [row.loss for row in self.rows if row.kind != ITSELF and not np.isnan(row.loss)]
        return max(found, default=float("nan"))

    def _of_repeats(self, found: RepeatedRuns) -> str:
        other = "with another in its place" if self.replaced else "without it"
        unit = "record" if self.unit == "one record" else "the unit of record"
        return (
            f"One dataset was taken of each of {found.repeats} runs with {unit} {found.record}, "
            f"and of as many {other}. They show {found.epsilon:.4g} or more at 95 %. So few runs "
            f"show {found.most:.4g} at most."
        )

    @property
    def sheets(self) -> tuple[Sheet]:
        """A row for each record, the largest losses first."""
        order = sorted(self.rows, key=lambda row: (row.kind != ITSELF, -np.nan_to_num(row.loss)))
        prior = ""
        if self.prior_count is not None:
            prior = f" The prior of a table's level counts {self.prior_count:.3g} records or more."
        nats = f"{self.largest:.4g}".replace("inf", "infinite")
        largest = "not estimated" if math.isnan(self.largest) else nats
        return (
            Sheet(
                f"Loss of one draw with{' another in place of' if self.replaced else 'out'} "
                f"{self.unit} (confidential), in nats. Larger = less private.",
                _HEADINGS,
                [
                    (
                        *(row.kind, row.record or "", row.loss, row.median, row.median_without),
                        *(row.standard_error, row.stated, row.delta, row.why),
                    )
                    for row in order
                ],
                notes=(PROVES_NOTHING,),
                lead=(
                    f"The run on the whole table states {self.stated:.4g} a dataset. The largest "
                    f"loss found is {largest}.{prior}",
                    *([] if self.repeated is None else [self._of_repeats(self.repeated)]),
                ),
                facts={
                    "stated": self.stated,
                    "largest": _of_json(self.largest),
                    "prior_count": self.prior_count,
                    "rows": [asdict(row) | {"loss": _of_json(row.loss)} for row in self.rows],
                    "replaced": self.replaced,
                    "repeated": None if self.repeated is None else asdict(self.repeated),
                },
            ),
        )


def _of_json(loss: float) -> float | str:
    """A loss for JSON, which has no infinity: null would read as if none was found."""
    return "infinite" if math.isinf(loss) else loss


@overload
def audit(frame: IntoDataFrame, *, canaries: Literal[0] = 0, **settings: Any) -> Audit: ...


@overload
def audit(frame: IntoDataFrame, *, canaries: int, **settings: Any) -> CanaryAudit: ...


def audit(
    frame: IntoDataFrame,
    *,
    records: int = 20,
    replace: bool = False,
    repeats: int = 0,
    canaries: int = 0,
    minutes: float = 30.0,
    seed: int | None = None,
    progress: Callable[[int, int], None] = _NONE,
    **settings: Any,
) -> Audit | CanaryAudit:
    """Leave records out, compute everything anew, and tell the loss of one draw.

    L(theta) = sum_j alpha_j l_j(theta) - sum_j alpha'_j l_j(theta) - log(Z / Z'), in nats, each sum
    and normalizer with its own table's records and weights. Larger = less private.

    The weights are recomputed too, with their searches, from the same seed. So the loss is that of
    the whole run, which a statement of the pseudo posterior alone does not bound [vws2024]. Where
    the posterior is not known the loss is estimated from draws [bennett1976]. Records of the
    largest terms, of rare levels, of extreme values and random ones are chosen in turn. Where the
    schema has a unit, all records of one unit are left out.

    A loss takes the fit for what it says. `repeats` look at released datasets alone: whole runs
    under fresh seeds, with and without the record of the largest bound. One half of the datasets
    makes a score of shares, deciles and means, and the other half shows an epsilon by exact limits.

    Noisy counts fit no model. Their audit takes `canaries` in the place of `records`: made-up
    records of the schema in a copy of the table, each in by a secret coin [steinke2023]. The copy
    is measured as a run measures a table, and never released.

    Parameters
    ----------
    frame : pandas, polars or Arrow table, N rows
        The confidential table.
    records : int
        How many records, or units, to leave out, one at a time.
    replace : bool
        Whether a copy of another record, or unit, chosen at random, takes the place of each.
    repeats : int
        0, or how many whole runs to compare on each of two tables, 20 or more. 100 show an epsilon
        of 2.4 at most.
    canaries : int
        0, or how many made-up records to try under noisy counts, 100 or more. With 1,000 at epsilon
        1 half the noise is seen, and under Laplace noise sets that count a record twice.
    minutes : float
        The audit is refused where a first run says that it would take longer.
    seed : int, optional
        Seed of all runs and of the choice of records.
    progress : callable
        Called with (runs done, runs in all).
    **settings
        Settings of the run, as `vws.synthesize` takes them: a `schema` and a `mechanism`.

    Returns
    -------
    Audit
        .rows, .stated, .largest, .prior_count, .repeated. Confidential.
    CanaryAudit
        With canaries: .bound, .mu, .stated, .verdict. Confidential.

    Raises
    ------
    InputError
        Before any other run, for a mechanism that fits no model (without canaries) or that fits one
        (with them), for canaries that the schema cannot hold, for fits that were made elsewhere,
        without a schema, for priors that follow from the table, and where the
        audit would take too long.

    Examples
    --------
    >>> import polars as pl, pyvws as vws
    >>> table = pl.DataFrame({"y": ["a"] * 60 + ["b"] * 39 + ["c"]})
    >>> schema = vws.Schema({"y": vws.Column(model="table", levels=["a", "b", "c"])})
    >>> given = {"schema": schema, "mechanism": "lw", "draws": 200, "seed": 2**60}
    >>> found = vws.audit(table, records=2, **given)
    >>> found.rows[0].loss, len(found.rows)
    (0.0, 3)
    """
    count = whole_number(records, "records", least=1)
    longest = 60.0 * positive(minutes, "minutes")
    again = repeats and whole_number(repeats, "repeats", least=20)
    run = Synthesizer(**arranged(settings))
    whole: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
    seed = chosen_seed(seed)
    if canaries:
        made = whole_number(canaries, "canaries", least=100)
        return canary_audit(run, whole, made, seed)
    _refuse(run)
    rng = np.random.default_rng([seed, 2])
    first = _run(run, whole, seed)
    if first.loop.model.prepared_from_data or first.table.plan.prepared_from_data:
        raise InputError.by("audit-prior-from-data")
    times = 2.0 if replace else 1.0  # The terms of two records move.
    of_whole = (first, Fitted.of(first), times * first.statement.epsilon_per_dataset)
    chosen = [Chosen(ITSELF, np.empty(0, dtype=np.intp))]
    chosen += chosen_records(first, count, rng, replace=replace)
    began, rows, runs = time.monotonic(), [], len(chosen) + 2 * again
    for number, one in enumerate(chosen):
        progress(number, runs)
        other = partial(_run, run, one.neighbour(whole, run.plan.unit), seed)
        rows.append(_row(one, other, of_whole, rng, times))
        if not number:  # The first run of a process is slower than the others.
            _refuse_long(time.monotonic() - began, runs - 1, longest)
    found = None
    if again and len(rows) > 1:
        one = chosen[1]  # Of the largest bound.
        like, record = whole[one.records[:1].tolist()], int(one.records[0]) + 1
        sides: list[list[Figures]] = []
        for table in (whole, one.neighbour(whole, run.plan.unit)):
            sides.append([])
            for own in rng.integers(2**53, 2**62, again):
                progress(runs - 2 * again + sum(map(len, sides)), runs)
                sides[-1].append(_released(run, table, int(own), like))
        found = repeated_runs(record, *sides)
    progress(runs, runs)
    return Audit(
        rows=tuple(rows),
        stated=of_whole[2],
        unit=run.plan.unit_of_privacy,
        prior_count=of_whole[1].prior_count,
        replaced=replace,
        repeated=found,
    )


def _released(
    run: Synthesizer, frame: nw.DataFrame[Any], seed: int, like: nw.DataFrame[Any]
) -> Figures:
    """The figures of the first dataset of a whole run; none of a run that is refused."""
    schema: Any = run.plan.schema
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return figures(run.fit(frame.to_native(), seed=seed).datasets[0], like, schema)
        except PyvwsError:
            return {}


def _refuse(run: Synthesizer) -> None:
    """Raise InputError for settings whose runs this audit cannot compare."""
    if not run.facts.fits_model:
        raise InputError.by("audit-without-fit", mechanism=run.chosen_mechanism.name)
    if run.program is not None or run.existing_fit is not None:
        raise InputError.by("audit-of-outside-fit")
    if run.outcome is not None:
        raise InputError.by("audit-without-schema")


def _refuse_long(seconds: float, runs: int, longest: float) -> None:
    """Raise InputError where `runs` of so many seconds each take longer than the `longest`."""
    if seconds * runs > longest:
        raise InputError.by(
            "audit-too-long",
            runs=runs,
            minutes=f"{seconds * runs / 60.0:.2g}",
            fitting=max(1, int(longest / seconds)),
            most=f"{longest / 60.0:g}",
        )


def _run(run: Synthesizer, frame: nw.DataFrame[Any], seed: int) -> FittedRun:
    """One whole run on a table, up to its last fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = check_table(frame.to_native(), run)
        return fitted_run(run, table, seed=seed, listener=SILENT)


def _row(
    chosen: Chosen,
    run: Callable[[], FittedRun],
    of_whole: tuple[FittedRun, Fitted, float],
    rng: np.random.Generator,
    times: float,
) -> AuditedRecord:
    """The row of one choice, whose neighbour is run by `run`; a statement counts so many times."""
    first, fitted, stated = of_whole
    record = int(chosen.records[0]) + 1 if len(chosen.records) else 0
    try:
        other = run()
    except ConvergenceError:
        why = "Not estimated: the chains of the run without it fail their diagnostics."
        return AuditedRecord(chosen.kind, record, why=why)
    except PyvwsError as error:
        key = error.key if isinstance(error, InputError) else ""
        why = f"The run without it is refused ({key or type(error).__name__})."
        none = math.inf
        return AuditedRecord(chosen.kind, record, none, none, none, 1.0, 0.0, why=why)
    own = times * other.statement.epsilon_per_dataset
    between = _between(first, other, chosen.records)
    found = loss(fitted, Fitted.of(other), max(stated, own), rng, between=between)
    if not found.known:
        why = "Not estimated: the draws of the two runs do not meet."
        error_of = found.standard_error
        return AuditedRecord(chosen.kind, record, standard_error=error_of, stated=own, why=why)
    return AuditedRecord(
        *(chosen.kind, record, found.tail, *found.medians),
        *(found.delta, found.standard_error, own),
    )


def _between(
    first: FittedRun, other: FittedRun, left_out: NDArray[np.intp]
) -> Callable[[float], Fitted] | None:
    """Fits on the whole table under weights between those of two runs; None with units."""
    if first.loop.source.units is not None:
        return None
    start = first.final.weights
    end = np.zeros_like(start)
    kept = np.delete(np.arange(len(start)), left_out)
    end[kept] = other.final.weights[: len(kept)]

    def fit(share: float) -> Fitted:
        weights: Floats = (1.0 - share) * start + share * end
        posterior, _, _ = first.loop.source.sample(
            weights, first.settings.sampler, seed=first.seed, progress=None, clamp=first.final.clamp
        )
        return Fitted.weighted(first, weights, posterior)

    return fit
