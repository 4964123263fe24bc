"""From a confidential table to a release: the settings of a run and the run."""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from pyvws._checks import open_unit_interval, threshold_level, whole_number
from pyvws.accounting import PrivacyStatement
from pyvws.confidential_table import ConfidentialTable, check_table
from pyvws.engines._engine import Engine, SamplerSettings
from pyvws.engines.registry import ENGINES, engine_version, find_engine, find_stan_engine
from pyvws.engines.user_program import UserProgram
from pyvws.errors import ConvergenceWarning, InputError
from pyvws.fit_sources import FitSource, ModelSource, ProgramSource
from pyvws.io.cells import Cells, make_cells
from pyvws.io.frame import open_frame, with_outcome
from pyvws.loop import SILENT, Listener, SynthesisLoop
from pyvws.mechanisms import Mechanism, Unweighted, make_mechanism
from pyvws.models._model import Model
from pyvws.models.registry import find_model
from pyvws.report.release import Release
from pyvws.report.summary import posterior_columns, record_columns, summarize, table_like
from pyvws.weighting import run_mechanism

__all__ = ["Synthesizer"]

_REMEDY = "Raise draws, warmup or target_accept; give predictors units with coefficients near 1."


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesizer:
    """Settings of a run, checked when they are made; `fit` takes the table.

    Parameters
    ----------
    outcome : str
        Column to synthesize; numbers that the family can have, or booleans.
    model : str or an instance
        Family of the outcome given the predictors: "negative-binomial", "poisson".
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
    program : UserProgram, optional
        Your own Stan program instead of the model's, under a Stan engine named by a string. Its
        log_lik is bounded; its draws predict as `model` does, by the same parameter names.

    Raises
    ------
    InputError
        For a setting that is out of range.
    MissingDependencyError
        If the engine is not installed; the message says what to install.
    """

    outcome: str
    model: str | Model = "negative-binomial"
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
    program: UserProgram | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", find_model(self.model))
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
        if self.program is not None and self.engine not in ENGINES[1:]:
            raise InputError(f"A Stan program needs engine {', '.join(ENGINES[1:])} by its name.")
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
        mechanism = make_mechanism(self.mechanism)
        table = check_table(
            frame,
            outcome=self.outcome,
            model=find_model(self.model),
            mechanism=mechanism,
            formula=self.formula,
            keep=self.keep,
            round=self.round,
        )
        console: list[str] = []
        model = table.model
        cells = make_cells(model.encode(table.y), table.design.matrix)
        loop = SynthesisLoop(
            model,
            cells,
            source=self._source(model, cells, table, console),
            settings=self.settings,
            seed=seed,
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
        if self.round:
            outcomes = [np.rint(values) for values in outcomes]
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
            reads_outcome=model.reads_outcome,
            model_caveats=model.caveats,
            problems=tuple(problems),
        )
        source = open_frame(frame if release_frame is None else release_frame)
        return Release(
            datasets=[
                with_outcome(
                    source,
                    columns=table.released,
                    outcome=self.outcome,
                    values=values,
                    kind=table.kind,
                )
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
                settings={**self._recorded(model, mechanism), **constants},
                seconds=time.perf_counter() - began,
            ),
            console="".join(console),
        )

    def _source(
        self, model: Model, cells: Cells, table: ConfidentialTable, console: list[str]
    ) -> FitSource:
        log = console.append
        if self.program is not None:
            engine = find_stan_engine(str(self.engine), log=log)
            y, X = model.encode(table.y), table.design.matrix
            return ProgramSource(self.program, engine, y, X, model.predicts_from, self.threshold)
        named = self.engine
        sampler = find_engine(named, log=log) if isinstance(named, str) else named
        return ModelSource(model, cells, sampler, self.threshold)

    def _recorded(self, model: Model, mechanism: Mechanism) -> dict[str, Any]:
        """The settings as plain values, for summary.json."""
        own = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("model", "mechanism", "settings", "engine", "program")
        }
        sampler = asdict(self.settings)
        text = self.program and self.program.text
        family: Any = model
        return {
            "model": model.name,
            **asdict(family),
            "mechanism": mechanism.name,
            **asdict(mechanism),
            **own,
            **sampler,
            "program": text,
        }
