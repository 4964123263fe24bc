"""The loop fit -> bounds -> weights -> refit -> draw (Algorithms 1 to 3 of [vws2024]).

Nothing numerical lives here: the loop orders the steps, counts the fits and searches k and c.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Bools, Floats, Places
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import ConvergenceWarning, InputError
from pyvws.mechanisms.weighing import ReferenceSizes, WeightedFit
from pyvws.models.conditional_table import ConditionalTable
from pyvws.models.model import Draws, Model
from pyvws.models.sequence import DrawnColumn, TableCells, TableModel
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.log_likelihood import largest_terms
from pyvws.posterior.prediction import predicted
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.privacy.seller import Seller
from pyvws.statement.parts import draw_of_dataset
from pyvws.synthesis.fit_sources import FitProgress, FitSource, ModelSource
from pyvws.synthesis.reference import Reference
from pyvws.synthesis.strict_seller import draw_name
from pyvws.tables.design.cells import Cells, Records
from pyvws.tables.design.units import Units
from pyvws.weights.search import LONGER, Reached, Try, Window, leveled, meet, stay_below
from pyvws.weights.weights import KEEPING_SHIFT, reweight, weights_from_bounds

MANY: Final = 0.01  # More of the records than this share are many.


def left_out(records: Records, out: Bools) -> int:
    """How many records of the whole table, or units, `out` (N,) has."""
    return round(records.mean(out.astype(np.float64)) * records.total_records)


def loses_much(
    model: Model | TableModel, records: Records, out: Bools, column: int | None = None
) -> bool:
    """Whether `out` (N,) has a whole level of a category, or many records and more than one.

    With `column` the levels are those of a table's conditional alone.
    """
    number = left_out(records, out)
    if number > max(1, MANY * records.total_records):
        return True
    return number > 0 and any(
        column in (None, place) for place, _ in lost_levels(model, records, out)
    )


def lost_levels(
    model: Model | TableModel, records: Records, out: Bools
) -> Iterator[tuple[int, str]]:
    """Place and name of each category that has a level all of whose records are in `out` (N,).

    A family without a table has no name: the name is empty.
    """
    if isinstance(records, Units):
        out, records = out[records.of_record], records.records
    cell = records.cell_of_record
    gone = np.bincount(cell[out], minlength=records.n_cells)
    every = np.bincount(cell, minlength=records.n_cells)
    for place, (name, own, cells, of_cell) in enumerate(_conditionals(model, records)):
        if own.categorical:
            has = of_cell >= 0
            level = cells.value_of_cell[of_cell[has]]
            lost, all_of = (np.bincount(level, weights=x[has]) for x in (gone, every))
            if ((lost == all_of) & (lost > 0)).any():
                yield place, name


def _conditionals(
    model: Model | TableModel, records: Records
) -> Iterator[tuple[str, Any, Cells, Places]]:
    """Name, model and cells of each conditional, and the cell of each distinct record in them."""
    if isinstance(records, Cells):
        yield "", model, records, np.arange(records.n_cells)
        return
    assert isinstance(records, TableCells)
    for column, of_cell in zip(records.columns, records.places.T, strict=True):
        yield column.column, column.model, column.cells, of_cell


_LW = (1.0, 0.0, False, "linear")  # c, g, by_column and map of the papers' LW fit.
_LARGEST_C = 1e6
_LARGEST_K = 0.999


@dataclass(frozen=True, slots=True)
class Listener:
    """A receiver of a run's news: `fit` opens a fit and gives its progress; `line` takes a text."""

    fit: Callable[[str], FitProgress | None]
    line: Callable[[str], None]


SILENT = Listener(fit=lambda _label: None, line=lambda _text: None)


@dataclass(frozen=True, slots=True)
class ReferenceFits:
    """Public records, the source of fits to these records alone, and how long it samples."""

    records: Reference
    source: FitSource
    settings: SamplerSettings


class SynthesisLoop:
    """Fits of one table from one source and seed; the loop keeps the unweighted and LW fits.

    `model` and `cells` are one outcome's, or those of all columns of a table; `cells` are the units
    of a run that has units, and the weights and bounds are then theirs. `source` samples and
    computes the bounds. `reference` is there where a mechanism asks for public records. `shared`
    has fits of an earlier loop on the table, by the key under which they are kept. Unless the loop
    `keeps_tries`, a search frees the draws of its fits but the latest: each may take gigabytes.
    Where a run has a `seller`, whatever reads a draw buys it.
    """

    seller: Seller[int] | None = None

    def __init__(
        self,
        model: Model | TableModel,
        cells: Cells | TableCells | Units,
        *,
        source: FitSource,
        settings: SamplerSettings,
        seed: int,
        listener: Listener = SILENT,
        reference: ReferenceFits | None = None,
        shared: Mapping[Any, Callable[[], WeightedFit]] | None = None,
        keeps_tries: bool = True,
    ) -> None:
        self.model: Any = model
        self.cells: Any = cells
        self.source = source
        self.settings = settings
        self.fits: list[WeightedFit] = []
        self.tries: list[Try] = []
        self._seeds = np.random.SeedSequence(seed)
        self._listener = listener
        self._kept: dict[Any, WeightedFit] = {}
        self._reference = reference
        self._shared = shared or {}
        self._keeps_tries = keeps_tries

    def branch(self, *, seed: int, listener: Listener = SILENT) -> SynthesisLoop:
        """A loop on the same table under another seed, with this loop's unweighted and LW fits.

        This loop makes a fit when a branch first asks for it. A branch has no public records.
        """
        return SynthesisLoop(
            self.model,
            self.cells,
            source=self.source,
            settings=self.settings,
            seed=seed,
            listener=listener,
            shared={"unweighted": self.unweighted, _LW: self.lipschitz},
        )

    def fit(
        self, weights: Floats, label: str, *, clamp: Clamp | None = None, longer: int = 1
    ) -> WeightedFit:
        """Sample the pseudo posterior under weights (N,) and compute the fit's bounds.

        Weights (N, K) are of each of the K columns of a table.
        With a `clamp` the source keeps each record's term in the clamp's window. The chains start
        from draws of the latest fit, and have `longer` times the settings' draws.
        """
        made = self.source.sample(
            weights,
            replace(self.settings, draws=longer * self.settings.draws),
            seed=self._next_seed(),
            progress=self._listener.fit(label),
            clamp=clamp,
            previous=self.fits[-1].posterior if self.fits else None,
        )
        self.fits.append(WeightedFit(label, weights, *made, clamp=clamp))
        return self.fits[-1]

    def _next_seed(self) -> int:
        return int(self._seeds.spawn(1)[0].generate_state(1, np.uint64)[0] >> np.uint64(1))

    def density(
        self, weights: Floats, clamp: Clamp | None
    ) -> Callable[[Floats], tuple[float, Floats]]:
        """The log density of one outcome up to a constant, and its gradient, under weights (N,)."""
        return PseudoPosterior(self.model, self.cells, weights, clamp).density_and_gradient()

    def sizes(self, fit: WeightedFit, s: int) -> Floats:
        """|term| (N,) of each record at draw s of a clamped fit, in nats and before weights.

        Nothing else of the fit enters, so the sizes are a function of the record and of the draw.
        """
        if fit.clamp is None:
            raise InputError.by("window-without-clamp")
        single = replace(fit.posterior, draws=self.bought(fit.label, fit, s), chains=1)
        return largest_terms(self.model, single, self.cells, fit.clamp)

    def reference_sizes(self, clamp: Clamp) -> ReferenceSizes:
        """Sizes of the terms that a clamp sees, under an unweighted fit to the public records.

        Chains of that fit that fail their diagnostics are a warning: the weights are a function of
        the record and of the draws that were made, whatever the draws are.
        """
        public = self._reference
        if public is None:
            raise InputError.by("reference-not-in-loop")
        posterior = public.source.sample(
            np.ones(public.records.cells.n_records),
            public.settings,
            seed=self._next_seed(),
            progress=self._listener.fit("reference"),
        ).posterior
        if problems := posterior.diagnostics.problems():
            warnings.warn(
                f"The fit to the reference, which decides weights alone: {' '.join(problems)}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return public.records.sizes(posterior, clamp)

    def confirmed(self, earlier: WeightedFit) -> WeightedFit:
        """Fit again under the same weights, from a fresh seed and with `LONGER` times the draws.

        The new fit has the larger bounds of both fits, so the bounds hold for all of its draws.
        """
        fit = self.fit(earlier.weights, f"{earlier.label}, confirmed", longer=LONGER)
        self.fits[-1] = fit.confirming(earlier)
        return self.fits[-1]

    def once(self, key: Hashable, make: Callable[[], WeightedFit]) -> WeightedFit:
        """The fit kept under a key; the loop makes the fit the first time."""
        if key in self._shared and key not in self._kept:
            self._kept[key] = self._shared[key]()
            self.fits.append(self._kept[key])
        elif key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def unweighted(self) -> WeightedFit:
        """The fit of the ordinary posterior, made once."""
        alike = np.ones(self.cells.n_records)
        return self.once("unweighted", lambda: self.fit(alike, "unweighted"))

    def closed_bounds(self) -> Floats | None:
        """Unweighted bounds (N,) that no draw moves, in nats, where all columns are tables.

        A record's is the sum over columns of the median of max_s |l_ik(theta_s)| over the settings'
        draws. None for other families, for units and exponents, and for a `threshold` below 1.
        """
        source, S = self.source, self.settings.draws * self.settings.chains
        if not isinstance(source, ModelSource) or source.threshold < 1.0:
            return None
        if source.units is not None or source.exponents is not None:
            return None
        bounds = np.zeros(self.cells.n_records)
        for column in source.whole.columns:
            if not isinstance(column.model, ConditionalTable):
                return None
            of_cell = np.append(column.model.median_maxima(column.cells, S), 0.0)
            bounds += of_cell[column.places(len(bounds))]  # The last for a record without a term.
        return bounds

    def shift(self, *, by_column: bool = False, map: str = "linear") -> float:
        """LW's shift g by default, as a share of c; with `by_column` for weights by column.

        It is the papers' 0, or `KEEPING_SHIFT` where 0 would take a whole level of a category out
        of the fit, or more than one record and more than 1 % of them.
        """
        of_run = self.unweighted().bounds
        each: dict[int | None, Floats] = {None: of_run.by_record}
        if by_column and of_run.by_column is not None:
            each = dict(enumerate(of_run.by_column.T))
        for column, bounds in each.items():
            out = weights_from_bounds(bounds, map=map, counts=self.cells.multiplicity) == 0.0
            if loses_much(self.model, self.cells, out, column):
                where = (
                    "" if column is None else f" in column {self.cells.columns[column].column!r}"
                )
                self._listener.line(
                    f"  At g = 0 LW would give weight 0 to {self._counted(out)}{where}: a whole "
                    f"level of a category, or more than 1 %. So g is {KEEPING_SHIFT:g} c here. "
                    "--g sets another g, and sw gives all records one weight."
                )
                return KEEPING_SHIFT
        return 0.0

    def lost(self, weights: Floats) -> list[str]:
        """Names of the categories that have a level all of whose records have weight 0.

        A family without a table has no name: the name is empty.
        """
        return [name for _, name in lost_levels(self.model, self.cells, weights == 0.0)]

    def lipschitz(
        self, *, c: float = 1.0, g: float = 0.0, by_column: bool = False, map: str = "linear"
    ) -> WeightedFit:
        """The LW fit of Algorithm 1, made once for each c, g and map, and for weights by column."""

        def fit() -> WeightedFit:
            return self.fit(self.lipschitz_weights(c=c, g=g, by_column=by_column, map=map), "LW")

        return self.once((c, g, by_column, map), fit)

    def lipschitz_weights(
        self, *, c: float, g: float, by_column: bool = False, map: str = "linear"
    ) -> Floats:
        """LW's weights (N,), from the unweighted fit; tells the listener of many weights of 0.

        With `by_column` the weights are (N, K): each column's are made from its own bounds. One
        column has weights (N,).
        """
        bounds = self.unweighted().bounds
        how: Any = {"c": c, "g": g, "map": map, "counts": self.cells.multiplicity}
        if not by_column or bounds.by_column is None:
            return self._announced(weights_from_bounds(bounds.by_record, **how))
        each = zip(self.cells.columns, bounds.by_column.T, strict=True)
        return np.column_stack(
            [
                self._announced(weights_from_bounds(own, **how), f" in column {column.column!r}")
                for column, own in each
            ]
        )

    def _announced(self, weights: Floats, where: str = "") -> Floats:
        """LW's weights (N,), after a word to the listener where many of them are 0."""
        out = weights == 0.0
        if left_out(self.cells, out) >= max(2, MANY * self.cells.total_records):
            self._listener.line(
                f"  LW gives weight 0 to {self._counted(out)}{where}, those of the largest bound. "
                "Where these are alike, other draws can put another kind there, and epsilon then "
                "differs by a factor. With g above 0 (--g), or under sw, all keep a weight."
            )
        return weights

    def _counted(self, out: Bools) -> str:
        """How many records or units `out` (N,) has, of how many."""
        return f"{left_out(self.cells, out)} of {self.cells.total_records} {self.cells.called}"

    def met(
        self,
        weights_at: Callable[[float], Floats],
        window: Window,
        *,
        below: bool = False,
        **search: Any,
    ) -> tuple[WeightedFit, float]:
        """Refit until the bound lies in the window; return the fit and the searched value.

        `weights_at` gives weights (N,) that rise with the value; `_search` takes `search`. With
        `below` a bound below the window may end the search.
        """
        return meet(weights_at=weights_at, window=window, below=below, **self._search(**search))

    def below(
        self,
        weights_at: Callable[[float], Floats],
        window: Window,
        *,
        confirm: bool = True,
        **search: Any,
    ) -> tuple[WeightedFit, float]:
        """Refit until the bound is usually as high as the window lets a confirmed bound be.

        The result is as of `met`. The fit that ends the search is confirmed, unless `confirm` is
        off.
        """
        return stay_below(
            confirm=(lambda earlier: self.confirmed(earlier.fit).reached) if confirm else None,
            weights_at=weights_at,
            window=window,
            **self._search(**search),
        )

    def _search(
        self,
        *,
        symbol: str,
        label: str,
        start: WeightedFit | None = None,
        first: float | None = None,
        largest: float = _LARGEST_C,
    ) -> dict[str, Any]:
        """Arguments of both searches; `start` is the unweighted fit by default."""
        begin = start or self.unweighted()
        before = len(self.fits)

        def fit(weights: Floats) -> Reached[WeightedFit]:
            weighted = self.fit(weights, label)
            if not self._keeps_tries:
                for earlier in self.fits[before:-1]:
                    earlier.posterior.draws.clear()
            return weighted.reached

        return {
            "fit": fit,
            "first": first,
            "largest": largest,
            "start": begin.reached,
            "symbol": symbol,
            "label": label,
            "tell": partial(self._tell, len(self.tries)),
        }

    def _tell(self, before: int, attempt: Try) -> None:
        """Note a try, and tell the listener its number in a search after `before` earlier tries."""
        self.tries.append(attempt)
        self._listener.line(f"  try {len(self.tries) - before}: {attempt}")

    def reweighted(
        self,
        weighted: WeightedFit,
        *,
        k: float = 0.95,
        tolerance: float = 0.05,
        window: Window | None = None,
    ) -> tuple[WeightedFit, float]:
        """Algorithm 3: refit, starting from k, until the bound meets the bound of `weighted`.

        Return the fit and k. With a `window` the confirmed bound must end in the window instead,
        and k is a share of the window's upper end. Where no k brings the bound up to its target,
        the fit below the target is the result.
        """
        alpha, aimed = weighted.weights, weighted.bounds.aimed
        by_record = aimed.by_record
        label = f"{weighted.label}_final"
        search: dict[str, Any] = {"symbol": "k", "label": label, "start": weighted, "first": k}
        if window is None:
            near = Window.around(aimed.database, tolerance)
            search |= {"largest": _LARGEST_K, "below": True}
            return self.met(lambda at: reweight(alpha, by_record, k=at), near, **search)
        return self.below(lambda at: leveled(alpha, by_record, at * window.high), window, **search)

    def synthetic(self, fit: WeightedFit, design: Floats, datasets: int) -> list[Floats]:
        """The one outcome (N,) of each dataset, from the draws that `predictors` gives."""
        seen = None
        if self.model.reads_outcome:
            seen = self.cells.outcome[self.cells.cell_of_record]
        column = DrawnColumn("y", self.model, design, seen=seen)
        return [
            predicted([column], draw, rng, rows=len(design), public={})["y"]
            for draw, rng in self.predictors(fit, datasets)
        ]

    def predictors(
        self, fit: WeightedFit, datasets: int, draws: int | None = None
    ) -> list[tuple[Draws, np.random.Generator]]:
        """The posterior draw behind each dataset, and the dataset's own random stream.

        The datasets take `draws` posterior draws in turn, evenly thinned; one draw a dataset if
        None.
        """
        S, d = fit.posterior.n_draws, draws or datasets
        if d > S:
            raise InputError.by("too-few-posterior-draws", datasets=datasets, d=d, s=S)
        streams = self._seeds.spawn(datasets)
        bought = [self.bought(draw_name(k + 1), fit, k * S // d) for k in range(d)]
        return [
            (bought[number - 1], np.random.default_rng(stream))
            for number, stream in zip(draw_of_dataset(datasets, d), streams, strict=True)
        ]

    def bought(self, name: str, fit: WeightedFit, s: int) -> Draws:
        """Draw s of a fit, at the width of its clamp where the run has a seller."""
        if self.seller is None:
            return fit.posterior.draw(s)
        width = np.inf if fit.clamp is None else fit.clamp.epsilon
        return self.seller.draw(name, width, lambda: fit.posterior.draw(s))

    def problems(self) -> list[str]:
        """The problems that the diagnostics of every fit so far found, a sentence each."""
        return [
            f"{fit.label}: {problem}"
            for fit in self.fits
            for problem in fit.posterior.diagnostics.problems()
        ]
