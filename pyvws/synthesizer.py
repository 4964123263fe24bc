"""From a confidential table to a release: the whole job as one function and one object."""

from __future__ import annotations

import hashlib
import time
import warnings
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from pyvws._checks import Floats, open_unit_interval, threshold_level, whole_number
from pyvws.accounting import PrivacyStatement
from pyvws.engines._engine import Engine, SamplerSettings
from pyvws.engines.nuts import NativeEngine
from pyvws.errors import ConvergenceWarning, InputError
from pyvws.identification_risk import identification_risk
from pyvws.io.cells import make_cells
from pyvws.io.design import Design, make_design
from pyvws.io.frame import (
    check_columns,
    numeric_column,
    open_frame,
    plain_columns,
    with_outcome,
)
from pyvws.loop import SILENT, Listener, SynthesisLoop, WeightedFit
from pyvws.mechanisms import (
    CountWeighted,
    LipschitzWeighted,
    Mechanism,
    ScalarWeighted,
    Unweighted,
    make_mechanism,
)
from pyvws.models.registry import find_model
from pyvws.report.release import Release
from pyvws.report.summary import posterior_columns, summarize, table_like

__all__ = ["Synthesizer", "synthesize"]

_REMEDY = (
    "Raise draws and warmup, or target_accept; give predictors units in which coefficients are "
    "near 1."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesizer:
    """Settings of a run, checked when they are made; `fit` takes the table.

    Parameters
    ----------
    outcome : str
        Column to synthesize, counts.
    model : {"negative-binomial", "poisson"}
        Family of the outcome given the predictors.
    mechanism : {"lw", "cw", "sw", "unweighted"} or an instance
        How records are weighted; strings take the papers' defaults.
    formula : str
        One-sided, as in R: "~ Urban + Marital". Its columns are treated as public and released.
    keep : sequence of str, or "all"
        Further columns that are public and released unchanged.
    datasets : int
        Synthetic datasets, one posterior draw each; each spends epsilon.
    reweight : bool
        Run Algorithm 3 after the weighted fit.
    k : float
        First k of Algorithm 3 to try, strictly between 0 and 1; the paper's by default.
    tolerance : float
        How near a searched bound must come to the one to meet, as a share of it (0.05 = 5 %).
    threshold : float
        Quantile of the draws' maxima that the bounds take, in (0, 1]; below 1 no guarantee.
    round : bool
        Round the outcome to whole numbers first (halves to even, as R does).
    settings : SamplerSettings
        Draws, warm-up and chains of each fit.
    engine : Engine
        Sampler; the native one by default.

    Raises
    ------
    InputError
        For a setting that is out of range.
    """

    outcome: str
    model: str = "negative-binomial"
    mechanism: str | Mechanism = "lw"
    formula: str = "~ 1"
    keep: tuple[str, ...] | list[str] | str = ()
    datasets: int = 20
    reweight: bool = False
    k: float = 0.95
    tolerance: float = 0.05
    threshold: float = 1.0
    round: bool = False
    settings: SamplerSettings = field(default_factory=SamplerSettings)
    engine: Engine = field(default_factory=NativeEngine)

    def __post_init__(self) -> None:
        find_model(self.model)
        object.__setattr__(self, "mechanism", make_mechanism(self.mechanism))
        object.__setattr__(self, "threshold", threshold_level(self.threshold))
        whole_number(self.datasets, "datasets", least=1)
        S = self.settings.draws * self.settings.chains
        if self.datasets > S:
            raise InputError(
                f"{self.datasets} datasets need as many posterior draws. Got {S}; raise draws or "
                "chains."
            )
        open_unit_interval(self.k, "k")
        open_unit_interval(self.tolerance, "tolerance")
        if self.reweight and isinstance(self.mechanism, Unweighted):
            raise InputError("reweight needs a weighted mechanism: lw, cw or sw.")

    def fit(
        self,
        frame: Any,
        *,
        seed: int,
        listener: Listener = SILENT,
        release_frame: Any = None,
        input_sha256: str | None = None,
    ) -> Release:
        """Fit, weight, refit and draw (Algorithms 1 to 3 of [vws2024]).

        Parameters
        ----------
        frame : pandas, polars or Arrow table, N rows
            The confidential table; left as it is.
        seed : int
            Of sampling and synthesis. The same seed gives the same release; keep it confidential.
        listener : Listener
            Told of fits and tries.
        release_frame : table, N rows, optional
            The same records whose unchanged columns go into the release instead of `frame`'s.
        input_sha256 : str, optional
            Digest of the file that the table came from.

        Returns
        -------
        Release
            Datasets in the kind of `frame` (or `release_frame`), statement, confidential parts.

        Raises
        ------
        InputError
            Before any work, for a table that the method cannot take.
        SearchError
            If no k or c meets its bound.
        """
        began = time.perf_counter()
        whole_number(seed, "seed", least=0)
        job = _Job.prepare(self, frame)
        loop = SynthesisLoop(
            find_model(self.model),
            make_cells(job.y, job.design.matrix),
            engine=self.engine,
            settings=self.settings,
            seed=seed,
            threshold=self.threshold,
            listener=listener,
        )
        weighted, risk, constants = _weighted_fit(loop, self, job)
        final = weighted
        if self.reweight:
            final, constants["k"] = loop.reweighted(weighted, k=self.k, tolerance=self.tolerance)
        outcomes = loop.synthetic(final, job.design.matrix, self.datasets)
        problems = [
            f"{fit.label}: {problem}"
            for fit in loop.fits
            for problem in fit.posterior.diagnostics.problems()
        ]
        if problems:
            warnings.warn(" ".join([*problems, _REMEDY]), ConvergenceWarning, stacklevel=2)
        statement = PrivacyStatement(
            mechanism=_name(self.mechanism),
            model=find_model(self.model).name,
            reweighted=bool(self.reweight),
            searched=bool(loop.tries),
            lipschitz_bound=final.bounds.database,
            datasets=self.datasets,
            draws=final.posterior.n_draws,
            threshold=self.threshold,
            columns_released_unchanged=tuple(c for c in job.released if c != self.outcome),
            rounded=self.round,
            problems=tuple(problems),
        )
        source = open_frame(frame if release_frame is None else release_frame)
        kind = open_frame(frame).implementation
        summary = summarize(
            loop,
            final,
            statement,
            seed=seed,
            digest=_digest(input_sha256, job),
            design_columns=job.design.names,
            settings={**_settings(self), **constants},
            seconds=time.perf_counter() - began,
        )
        records = {
            "weight": weighted.weights,
            "lipschitz_bound": weighted.bounds.by_record,
            "risk": risk,
            "weight_final": final.weights,
            "lipschitz_bound_final": final.bounds.by_record,
        }
        return Release(
            datasets=[
                with_outcome(source, columns=job.released, outcome=self.outcome, values=values)
                for values in outcomes
            ],
            privacy=statement.released(),
            records=table_like(records, kind),
            posterior=table_like(posterior_columns(final.posterior), kind),
            summary=summary,
        )


@dataclass(frozen=True, slots=True)
class _Job:
    """The checked parts of a table: outcome (N,), design, known columns, columns to release."""

    y: Floats
    design: Design
    known: list[Any]
    released: list[str]

    @classmethod
    def prepare(cls, settings: Synthesizer, table: Any) -> _Job:
        """Refuse, before any work, what the method cannot take."""
        frame = open_frame(table)
        outcome = settings.outcome
        y = numeric_column(frame, outcome, role="outcome")
        if settings.round:
            y = np.rint(y)
        find_model(settings.model).check_outcome(y, outcome)
        mechanism = settings.mechanism
        scales = isinstance(mechanism, LipschitzWeighted) or (
            getattr(mechanism, "match", None) == "lw"
        )
        if scales and (y == y[0]).all():
            raise InputError(
                f"Column {outcome!r} is constant, so all Lipschitz bounds are equal and LW has no "
                "scale. Check the column."
            )
        design = make_design(frame, settings.formula, outcome=outcome)
        known = getattr(mechanism, "known", ())
        columns = plain_columns(frame, known, role="known")
        kept = list(frame.columns) if settings.keep in ("all", ("all",), ["all"]) else settings.keep
        kept = [kept] if isinstance(kept, str) else list(kept)
        check_columns(frame, kept, role="keep")
        public = {outcome, *design.predictors, *kept}
        return cls(
            y=y,
            design=design,
            known=[np.asarray(column.astype(object)) for column in columns.values()],
            released=[name for name in frame.columns if name in public],
        )


def _weighted_fit(
    loop: SynthesisLoop, settings: Synthesizer, job: _Job
) -> tuple[WeightedFit, Floats, dict[str, Any]]:
    """The mechanism's own fit, the risks its weights were made from, and constants it found."""
    mechanism = settings.mechanism
    if isinstance(mechanism, CountWeighted):
        risk = identification_risk(
            job.y,
            radius=mechanism.radius,
            radius_kind=mechanism.radius_kind,  # type: ignore[arg-type]
            known=job.known or None,
        )
        if mechanism.match is None:
            return loop.count(risk, c=mechanism.c, g=mechanism.g), risk, {}
        fit, c = loop.count_matched(
            risk, match=mechanism.match, g=mechanism.g, tolerance=settings.tolerance
        )
        return fit, risk, {"c": c}
    if isinstance(mechanism, LipschitzWeighted):
        fit = loop.lipschitz(c=mechanism.c, g=mechanism.g)
    elif isinstance(mechanism, ScalarWeighted):
        fit = loop.scalar(match=mechanism.match)
    else:
        fit = loop.unweighted()
    return fit, _scaled_bounds(loop.unweighted()), {}


def _scaled_bounds(unweighted: WeightedFit) -> Floats:
    """Algorithm 1's risk in [0, 1]: the unweighted bounds between their smallest and largest."""
    bounds = unweighted.bounds.by_record
    finite = bounds[np.isfinite(bounds)]
    span = np.ptp(finite) if finite.size else 0.0
    if span == 0:
        return np.ones(len(bounds))
    return np.where(np.isfinite(bounds), (bounds - finite.min()) / span, 1.0)


def _name(mechanism: str | Mechanism) -> str:
    return mechanism if isinstance(mechanism, str) else mechanism.name


def _settings(settings: Synthesizer) -> dict[str, Any]:
    mechanism = settings.mechanism
    assert not isinstance(mechanism, str)  # made an instance when the settings were checked
    return {
        "outcome": settings.outcome,
        "model": find_model(settings.model).name,
        "formula": settings.formula,
        "keep": settings.keep,
        "mechanism": mechanism.name,
        **asdict(mechanism),
        "reweight": settings.reweight,
        "tolerance": settings.tolerance,
        "threshold": settings.threshold,
        "round": settings.round,
        "datasets": settings.datasets,
        **asdict(settings.settings),
    }


def _digest(file_sha256: str | None, job: _Job) -> dict[str, str]:
    if file_sha256 is not None:
        return {"input_sha256": file_sha256, "input_sha256_of": "file"}
    made = hashlib.sha256(job.y.tobytes() + job.design.matrix.tobytes()).hexdigest()
    return {"input_sha256": made, "input_sha256_of": "outcome and design matrix as float64"}


def synthesize(
    frame: Any,
    *,
    outcome: str,
    model: str = "negative-binomial",
    mechanism: str | Mechanism = "lw",
    formula: str = "~ 1",
    keep: tuple[str, ...] | list[str] | str = (),
    datasets: int = 20,
    draws: int = 1000,
    warmup: int = 1000,
    chains: int = 4,
    target_accept: float = 0.8,
    engine: str | Engine = "native",
    reweight: bool = False,
    k: float = 0.95,
    tolerance: float = 0.05,
    threshold: float = 1.0,
    round: bool = False,
    seed: int,
    **mechanism_settings: Any,
) -> Release:
    """Synthesize one outcome of a confidential table with a privacy statement.

    Parameters
    ----------
    frame : pandas, polars or Arrow table, N rows
        The confidential table; datasets come back in its kind.
    outcome, model, mechanism, formula, keep, datasets, reweight, k, tolerance, threshold, round
        As in `Synthesizer`.
    draws, warmup, chains, target_accept
        Of each fit; S = draws x chains. As in `SamplerSettings`.
    engine : str or Engine
        "native", or an engine object.
    seed : int
        Of sampling and synthesis; keep it confidential.
    **mechanism_settings
        c, g, radius, radius_kind, known, match: those that a mechanism named by a string takes.

    Returns
    -------
    Release
        .datasets, .privacy, .records, .posterior, .summary and .write(folder). Larger epsilon =
        less private.

    Raises
    ------
    InputError
        Before any work, for a table or setting that the method cannot take.

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> table = pl.DataFrame({"visits": np.random.default_rng(1).poisson(20, 200)})
    >>> release = synthesize(table, outcome="visits", model="poisson", datasets=2, seed=1)
    >>> release.privacy["guarantee"], len(release.datasets)
    ('asymptotic-dp', 2)
    """
    made = make_mechanism(mechanism, **mechanism_settings)
    sampler = SamplerSettings(
        draws=draws, warmup=warmup, chains=chains, target_accept=target_accept
    )
    return Synthesizer(
        outcome=outcome,
        model=model,
        mechanism=made,
        formula=formula,
        keep=keep,
        datasets=datasets,
        reweight=reweight,
        k=k,
        tolerance=tolerance,
        threshold=threshold,
        round=round,
        settings=sampler,
        engine=_engine(engine),
    ).fit(frame, seed=seed)


def _engine(engine: str | Engine) -> Engine:
    if not isinstance(engine, str):
        return engine
    if engine != "native":
        raise InputError(f"engine must be 'native' or an engine object. Got {engine!r}.")
    return NativeEngine()
