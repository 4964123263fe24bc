"""From a confidential table to a release: the settings of a run and the run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pyvws._base.checks import whole_number
from pyvws._base.folders import check_folder
from pyvws._base.private_folder import sweep
from pyvws.errors import InputError
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.models.model import Model
from pyvws.release.histogram import histogram_release
from pyvws.release.large import large_release
from pyvws.release.posterior import posterior_release
from pyvws.release.release import Release
from pyvws.synthesis.columns import collected
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.large_files import open_large
from pyvws.tables.lazy_tables import open_lazy
from pyvws.tables.outcome_copies import look_for_copies
from pyvws.tables.row_order import RELEASED_ROW, UNLINKED_ROW

__all__ = ["Synthesizer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesizer(RunSettings):
    """Settings of a run, checked when they are made; `fit` takes the table.

    Parameters
    ----------
    outcome : str
        Column to synthesize; numbers that the family can have, or booleans.
    model : str or an instance
        Family of the outcome given the predictors: "negative-binomial" or "poisson" for counts,
        "normal" for amounts, "gamma" for amounts above 0, "logistic" for 0 and 1, "ordinal" for a
        few levels, "beta" for a public range. Names take default settings; `pyvws.Beta(range=(0,
        5))` and its like take others.
    mechanism : str or an instance
        How records are weighted: "lw", "cw", "marginal", "pairwise", "sw", "unweighted",
        "weighted-epsilon", "censored" or "perturbed-histogram"; names take the papers' defaults.
    formula : str
        One-sided, as in R: "~ Urban + Marital". Its columns are treated as public and released.
    keep : sequence of str, or "all"
        Further columns that are public and released unchanged.
    datasets : int
        Synthetic datasets, one posterior draw each; each spends epsilon.
    epsilon : float, optional
        A target for lw, cw, marginal, pairwise or sw: their constant (c, or SW's weight) is
        searched, and k after it with `reweight`, until 2 Delta lies below the target in the fit
        that ends the search and in one under the same weights with four times the draws.
    downscale : bool
        Lower each record's weight to psi_i alpha_i, psi_i = min(1, (epsilon / 2) / Delta_i), and
        refit, until Delta is at most epsilon / 2. The papers leave psi open; with `psi` it is one
        constant for all records.
    psi : float, optional
        Constant factor of `downscale`, strictly between 0 and 1.
    passes : int
        Refits that `downscale` makes at most.
    reweight : bool
        Run Algorithm 3 after the weighted fit.
    k : float
        First k of Algorithm 3 to try, strictly between 0 and 1; the paper's by default.
    tolerance : float
        How near a searched bound must come to the one to meet, as a share of it (0.05 = 5 %); for
        `epsilon`, how far below it may end, or further where the bound's noise asks for room.
    accept_above_target : bool
        Release also where truncation or downscaling ends above epsilon, at the larger figure.
    threshold : float
        Quantile of the draws' maxima that the bounds take, in (0, 1]; below 1 no guarantee.
    round : bool
        Round the outcome to whole numbers first (halves to even, as R does).
    keep_order : bool
        Leave the rows in the table's order. They are in a secret random one otherwise, since an
        order can tell of the outcome: of records sorted by income, a row's place tells its rank.
    settings : SamplerSettings
        Draws, warm-up and chains of each fit.
    engine : {"native", "ensemble", "cmdstan", "rstan", "pystan"} or an Engine
        Sampler; all of them sample the same density.
    program : UserProgram, optional
        Your own Stan program instead of the model's, under a Stan engine named by a string. Its
        log_lik is bounded; its draws predict as `model` does, by the same parameter names.
    records : int or "noisy", optional
        How many rows each dataset has: a number that is public already, or that of the records with
        exact discrete Laplace noise (`pip install 'pyvws[dp]'`), at least 1. By default that of the
        records. Only where no column is released unchanged.
    records_epsilon : float, optional
        What the noisy number costs, once for all datasets; larger = less noise, less private.
    accept_unconverged : bool
        Release draws whose chains fail their diagnostics, where the guarantee would be "dp"; it is
        "none" then, whether they fail or not.

    Raises
    ------
    InputError
        For a setting that is out of range.
    MissingDependencyError
        If the engine is not installed; the message says what to install.
    """

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
            The confidential table; left as it is. Of a lazy frame the columns that the run reads
            are collected; `fit_to` leaves the records where they are. An engine that promises no
            order of rows (DuckDB, Dask, Spark, Ibis) has them sorted by their cells, and its
            datasets cannot be lined up with records.
        seed : int
            Of sampling and synthesis. The same seed gives the same release; keep it confidential.
            A short one can be found from a release: draw it, as by `secrets.randbits(63)`.
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
        ConvergenceError
            If the chains of a run fail their diagnostics whose guarantee would be "dp".
        SearchError
            If no k or c meets its bound, or epsilon is missed and that is not accepted.
        """
        began = time.perf_counter()
        sweep()
        seed = whole_number(seed, "seed", least=0)
        mechanism = cast(Mechanism, self.mechanism)
        frame, ordered = collected(frame, self)
        if release_frame is not None and not ordered:
            raise InputError(
                "release_frame needs the records in the order of frame, whose engine keeps none. "
                "Collect both first, or leave release_frame out."
            )
        table = check_table(
            frame,
            outcome=self.outcome,
            model=cast(Model, self.model),
            mechanism=mechanism,
            formula=self.formula,
            keep=self.keep,
            round=self.round,
        )
        look_for_copies(frame, table.released, self.outcome)
        given: dict[str, Any] = {
            "source": frame if release_frame is None else release_frame,
            "seed": seed,
            "row_name": RELEASED_ROW if ordered else UNLINKED_ROW,
            "input_sha256": input_sha256,
            "began": began,
        }
        if not mechanism.fits_model:
            return histogram_release(self, cast(PerturbedHistogram, mechanism), table, **given)
        return posterior_release(self, mechanism, table, listener=listener, **given)

    def fit_to(
        self,
        table: Any,
        folder: str | Path,
        *,
        seed: int,
        overwrite: bool = False,
        listener: Listener = SILENT,
    ) -> dict[str, Any]:
        """As `fit` and `Release.write`, on a table that stays where it is.

        The records are never held whole: the distinct rows are counted, fitted with their counts
        (Algorithms 1 to 3 of [vws2024]), and the datasets written in steps.

        Parameters
        ----------
        table : path or lazy frame
            A csv, parquet or Arrow IPC file, a folder of parquet or Arrow parts, or a lazy frame
            that narwhals accepts. Files and polars plans are read twice (a parquet or Arrow file
            once more before, for damage). Other engines (DuckDB, Dask, Spark, Ibis) count the
            distinct rows of released, known and modelled columns themselves, and only that tally
            comes over: their rows cannot be lined up with records.
        folder : path
            Gets `release/` and `confidential/`, whole or not at all: as csv or Arrow IPC where the
            input is, else as parquet.
        seed : int
            Of sampling and synthesis. The same seed gives the same release; keep it confidential.
            A short one can be found from a release: draw it, as by `secrets.randbits(63)`.
        overwrite : bool
            Replace what the folder holds.
        listener : Listener
            Told of fits and tries.

        Returns
        -------
        dict
            The statement as released.

        Raises
        ------
        InputError
            Before any work, for a table or setting that the method cannot take, such as a perturbed
            histogram or an own Stan program.
        ConvergenceError
            As for `fit`.
        OutputError
            If the folder cannot be written; nothing is left behind.
        SearchError
            If no k or c meets its bound, or epsilon is missed and that is not accepted.
        """
        sweep()
        named = isinstance(table, str | Path)
        target = Path(folder)
        check_folder(target, overwrite=overwrite, source=Path(table) if named else None)
        source = open_large(Path(table)) if named else open_lazy(table, keep_order=self.keep_order)
        return large_release(
            self, source, target, seed=seed, overwrite=overwrite, listener=listener
        )
