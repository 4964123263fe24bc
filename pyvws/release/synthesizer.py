"""The settings of a run, and the run: from a confidential table to a release."""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import narwhals as nw
from narwhals.typing import IntoFrame

from pyvws._base.folders import check_folder, sweep
from pyvws._base.seeds import chosen_seed
from pyvws._base.setting import common_default, common_kind, documented, merged, settings_of
from pyvws.errors import InputError
from pyvws.release.datasets import draw_whole, open_draws
from pyvws.release.large import large_release
from pyvws.release.release import Release
from pyvws.release.summary import once_a_run
from pyvws.synthesis.confidential_table import check_table, collected
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.synthesis.settings import RunSettings
from pyvws.synthesis.settings_by_name import arranged, declared, refuse_elsewhere
from pyvws.tables.files.outcome_copies import look_for_copies
from pyvws.tables.files.row_order import RELEASED_ROW, UNLINKED_ROW, released_rows
from pyvws.tables.files.steps import open_large, open_lazy


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesizer(RunSettings):
    """The settings of a run. Making a Synthesizer checks its settings; `fit` takes the table.

    Parameters
    ----------
    **settings
        The run's settings on the page Settings. A mechanism or model has settings of its own.

    Raises
    ------
    InputError
        Without a mechanism, and for a setting that is out of range.
    MissingDependencyError
        If the engine is not installed; the message says what to install.

    Examples
    --------
    >>> run = Synthesizer(outcome="visits", model="poisson", mechanism="lw", datasets=2)
    >>> run.datasets, run.keep
    (2, ())
    """

    def __new__(cls, **given: Any) -> Self:
        """A new object; UsageError for a setting that belongs to a part of the run."""
        refuse_elsewhere(given)
        return object.__new__(cls)

    def fit(
        self,
        frame: IntoFrame,
        *,
        seed: int | None = None,
        listener: Listener = SILENT,
        release_frame: IntoFrame | None = None,
        input_sha256: str | None = None,
    ) -> Release:
        """Fit, weight, refit and draw (Algorithms 1 to 3 of [vws2024]).

        Parameters
        ----------
        frame : pandas, polars or Arrow table, N rows
            The confidential table, which the run does not change. The run collects the columns
            that it reads of a lazy frame; `fit_to` leaves the records where they are. An engine
            that promises no order of rows (DuckDB, Dask, Spark, Ibis) gets its rows sorted by their
            cells, and nobody can line up its datasets with records.
        seed : int, optional
            Seed of sampling and synthesis; a long one is drawn and kept in the confidential part if
            not given. The same seed gives the same release; keep the seed confidential. A short
            seed can be found from a release.
        listener : Listener
            The run tells the listener of each fit and of each try of a search.
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
            If no k or c meets its bound, or the fit misses epsilon and the settings refuse a miss.
        """
        began = time.perf_counter()
        sweep()
        seed = chosen_seed(seed)
        frame, ordered = collected(frame, self)
        if release_frame is not None and not ordered:
            raise InputError.by("release-frame-without-order")
        table = check_table(frame, self, released=release_frame)
        refuses = not table.plan.refuses_no_record
        look_for_copies(frame, table.unchanged, table.sought, refuses=refuses)
        run = open_draws(self, table, seed=seed, listener=listener)
        drawn = draw_whole(run)
        row_name = RELEASED_ROW if ordered else UNLINKED_ROW
        rows = {row_name: released_rows(drawn.order, table.records)} if run.linked else {}

        def like(columns: dict[str, Any]) -> Any:
            return nw.from_dict(columns, backend=table.implementation).to_native()

        parts = once_a_run(
            run, drawn.samples, as_table=like, began=began, input_sha256=input_sha256
        )
        source = frame if release_frame is None else release_frame
        return Release(
            datasets=table.datasets(source, drawn.values, order=drawn.order),
            records=like(run.records(rows)),
            **parts,
        )

    def fit_to(
        self,
        table: IntoFrame | str | Path,
        folder: str | Path,
        *,
        seed: int | None = None,
        overwrite: bool = False,
        listener: Listener = SILENT,
    ) -> dict[str, Any]:
        """Do the work of `fit` and `Release.write` on a table that stays where it is.

        The records are never in memory as a whole. The run counts the distinct rows, fits them with
        their counts (Algorithms 1 to 3 of [vws2024]), and writes the datasets in steps. Noisy
        counts are made of the table in steps, or by its engine, set by set.

        Parameters
        ----------
        table : path or lazy frame
            A csv, parquet or Arrow IPC file, a folder of parquet or Arrow parts, or a lazy frame
            that narwhals accepts. The run reads files and polars plans twice (with a unit once
            more for its ids, and a parquet or Arrow file once more before, for damage). Other
            engines (DuckDB, Dask, Spark, Ibis) count the distinct rows of released, known and
            modelled columns themselves. The run gets only this tally, so nobody can line up rows of
            its datasets with records, and the run refuses units of several records.
        folder : path
            The run writes `release/` and `confidential/` here, whole or not at all. The datasets
            are csv or Arrow IPC where the input is, else parquet.
        seed : int, optional
            Seed of sampling and synthesis; a long one is drawn and kept in the confidential part if
            not given. The same seed gives the same release; keep the seed confidential. A short
            seed can be found from a release.
        overwrite : bool
            Replace what the folder holds.
        listener : Listener
            The run tells the listener of each fit and of each try of a search.

        Returns
        -------
        dict
            The statement as released.

        Raises
        ------
        InputError
            Before any work, for a table or setting that the method cannot take, such as a perturbed
            histogram, an own Stan program, or noisy counts of units.
        ConvergenceError
            As for `fit`.
        OutputError
            If the folder cannot be written; nothing is left behind.
        SearchError
            If no k or c meets its bound, or the fit misses epsilon and the settings refuse a miss.
        """
        sweep()
        target = Path(folder)
        path = Path(table) if isinstance(table, str | Path) else None
        check_folder(target, overwrite=overwrite, source=path)
        source: Any
        if isinstance(table, str | Path):
            source = open_large(Path(table), every_line=self.plan.refuses_no_record)
        else:
            source = open_lazy(table, keep_order=self.keep_order)
        seed = chosen_seed(seed)
        return large_release(
            self, source, target, seed=seed, overwrite=overwrite, listener=listener
        )


Synthesizer.__doc__ = documented(Synthesizer.__doc__, merged(settings_of(Synthesizer)))


def synthesize(frame: IntoFrame, *, seed: int | None = None, **settings: Any) -> Release:
    """Make synthetic datasets of a confidential table, with a privacy statement.

    Parameters
    ----------
    frame : pandas, polars or Arrow table, N rows
        The confidential table; datasets come back in its kind.
    seed : int, optional
        Seed of sampling and synthesis; keep the seed confidential. A long one is drawn if not
        given, and stands in `summary` and `config_with_seed`.
    **settings
        Any setting of the page Settings: the run's, and by name the mechanism's and the model's.

    Returns
    -------
    Release
        .datasets, .aligned(), .privacy, .records, .posterior, .summary, .write(folder).

    Raises
    ------
    InputError
        Before the table is read, without a mechanism. Before any work, for a table or setting that
        the method cannot take.
    ConvergenceError
        If the chains of a run fail their diagnostics whose guarantee would be "dp".
    SearchError
        If no k or c meets its bound, or the fit misses epsilon and the settings refuse a miss.

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> table = pl.DataFrame({"visits": np.random.default_rng(1).poisson(20, 200)})
    >>> asked = {"outcome": "visits", "model": "poisson", "mechanism": "lw", "datasets": 2}
    >>> release = synthesize(table, **asked, seed=1)
    >>> release.privacy["guarantee"], len(release.datasets)
    ('asymptotic-dp', 2)
    """
    return Synthesizer(**arranged(settings)).fit(frame, seed=seed)


def _declare() -> None:
    """Give `synthesize` the signature and the Parameters section that the settings declare."""
    settings = declared()
    given = inspect.signature(synthesize, eval_str=True).parameters
    keywords = []
    for name, alike in settings.items():
        usual, kind = common_default(alike), common_kind(alike)
        keywords.append(
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=kind | None if usual is None else kind,
                default=inspect.Parameter.empty if usual is ... else usual,
            )
        )
    signature = inspect.Signature(
        [given["frame"], *keywords, given["seed"]], return_annotation=Release
    )
    synthesize.__signature__ = signature  # type: ignore[attr-defined]
    synthesize.__doc__ = documented(synthesize.__doc__, settings)


_declare()
