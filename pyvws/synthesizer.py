"""From a confidential table to a release: the whole job as one function and one object."""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict, dataclass, field
from typing import Any

from pyvws._checks import open_unit_interval, threshold_level, whole_number
from pyvws.accounting import PrivacyStatement
from pyvws.confidential_table import check_table
from pyvws.engines._engine import Engine, SamplerSettings
from pyvws.engines.registry import engine_version, find_engine
from pyvws.errors import ConvergenceWarning, InputError
from pyvws.io.cells import make_cells
from pyvws.io.frame import open_frame, with_outcome
from pyvws.loop import SILENT, Listener, SynthesisLoop
from pyvws.mechanisms import Mechanism, Unweighted, make_mechanism
from pyvws.models.registry import find_model
from pyvws.report.release import Release
from pyvws.report.summary import posterior_columns, record_columns, summarize, table_like
from pyvws.weighting import run_mechanism

__all__ = ["Synthesizer", "synthesize"]

_REMEDY = "Raise draws, warmup or target_accept; give predictors units with coefficients near 1."


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
    engine : {"native", "cmdstan", "rstan", "pystan"} or an Engine
        Sampler; all of them sample the same density.

    Raises
    ------
    InputError
        For a setting that is out of range.
    MissingDependencyError
        If the engine is not installed; the message says what to install.
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
    engine: str | Engine = "native"

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
        if isinstance(self.engine, str):
            engine_version(self.engine)
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
        model = find_model(self.model)
        mechanism = make_mechanism(self.mechanism)
        table = check_table(
            frame,
            outcome=self.outcome,
            model=model,
            mechanism=mechanism,
            formula=self.formula,
            keep=self.keep,
            round=self.round,
        )
        console: list[str] = []
        loop = SynthesisLoop(
            model,
            make_cells(table.y, table.design.matrix),
            engine=_engine(self.engine, console),
            settings=self.settings,
            seed=seed,
            threshold=self.threshold,
            listener=listener,
        )
        weighting = run_mechanism(
            loop, mechanism, y=table.y, known=table.known, tolerance=self.tolerance
        )
        final, constants = weighting.fit, dict(weighting.constants)
        if self.reweight:
            final, constants["k"] = loop.reweighted(
                weighting.fit, k=self.k, tolerance=self.tolerance
            )
        problems = loop.problems()
        if problems:
            warnings.warn(" ".join([*problems, _REMEDY]), ConvergenceWarning, stacklevel=2)
        outcomes = loop.synthetic(final, table.design.matrix, self.datasets)
        statement = PrivacyStatement(
            mechanism=mechanism.name,
            model=model.name,
            reweighted=self.reweight,
            searched=bool(loop.tries),
            lipschitz_bound=final.bounds.database,
            datasets=self.datasets,
            draws=final.posterior.n_draws,
            threshold=self.threshold,
            columns_released_unchanged=tuple(c for c in table.released if c != self.outcome),
            rounded=self.round,
            problems=tuple(problems),
        )
        source = open_frame(frame if release_frame is None else release_frame)
        return Release(
            datasets=[
                with_outcome(source, columns=table.released, outcome=self.outcome, values=values)
                for values in outcomes
            ],
            privacy=statement.released(),
            records=table_like(record_columns(weighting, final), table.implementation),
            posterior=table_like(posterior_columns(final.posterior), table.implementation),
            summary=summarize(
                loop,
                final,
                statement,
                seed=seed,
                input_sha256=input_sha256,
                table=table,
                settings={**self._recorded(mechanism), **constants},
                seconds=time.perf_counter() - began,
            ),
            console="".join(console),
        )

    def _recorded(self, mechanism: Mechanism) -> dict[str, Any]:
        """The settings as plain values, for summary.json."""
        own = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("mechanism", "settings", "engine")
        }
        return {"mechanism": mechanism.name, **asdict(mechanism), **own, **asdict(self.settings)}


def _engine(engine: str | Engine, console: list[str]) -> Engine:
    return find_engine(engine, log=console.append) if isinstance(engine, str) else engine


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
        "native", "cmdstan", "rstan", "pystan", or an engine object.
    seed : int
        Of sampling and synthesis; keep it confidential.
    **mechanism_settings
        Those of c, g, radius, radius_kind, known, match that a mechanism named by a string takes.

    Returns
    -------
    Release
        .datasets, .privacy, .records, .posterior, .summary, .write(folder).

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
        engine=engine,
    ).fit(frame, seed=seed)
