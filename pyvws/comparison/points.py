"""Run the points of a comparison: each seed's points share its unweighted and LW fits.

A point's result is a file of the comparison's folder as soon as it is there, so a comparison that
stops, or runs out of time, goes on from the points that it has.
"""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import narwhals as nw
import numpy as np

from pyvws._base.resumable_jobs import (
    Call,
    Key,
    Result,
    ResultFolder,
    pool,
    replicate_seed,
    whole_seed,
)
from pyvws.comparison.choices import Point
from pyvws.errors import InputError, PyvwsError
from pyvws.evaluation.ecdf import ecdf_utility
from pyvws.evaluation.second_sample import second_sample, units_drawn
from pyvws.evaluation.table_scores import BLIND, Score
from pyvws.evaluation.table_utility import table_utility
from pyvws.release.datasets import WholeDraws, draw_whole, open_draws
from pyvws.statement.words import SIGNED, caveat_keys
from pyvws.synthesis.confidential_table import ConfidentialTable, check_table
from pyvws.synthesis.fit_sources import FitProgress
from pyvws.synthesis.loop import Listener, SynthesisLoop
from pyvws.synthesis.open_loop import open_loop

_LOOK_SECONDS = 0.5


class _OutOfTime(Exception):
    """The budget of time is spent."""


def point_key(point: Point, seed: int) -> Key:
    """The name of the result of a point under a seed, from 1."""
    return (*point.key, seed)


@dataclass(frozen=True, slots=True)
class Seeds:
    """What the points of each seed need; `end` is the time at which no fit goes on."""

    frame: Any
    points: Sequence[Point]
    folder: ResultFolder
    seed: int
    end: float

    def missing(self, number: int) -> list[Point]:
        """The points that have no result under a seed."""
        return [
            point for point in self.points if self.folder.read(point_key(point, number)) is None
        ]

    def __call__(
        self, _settings: Mapping[str, Any], key: Key, sequence: np.random.SeedSequence
    ) -> Result:
        """Run the missing points of a seed while there is time, and keep each result."""
        earlier: list[SynthesisLoop] = []
        number = int(key[1])
        for point in self.missing(number):
            began = time.process_time()
            try:
                row = self._row(point, number, earlier, sequence)
            except _OutOfTime:
                break
            except PyvwsError as error:
                row = {"problem": str(error)}
            row |= {"seconds": time.process_time() - began}
            self.folder.keep(point_key(point, number), Result([_plain(row)]))
        return Result([])

    def _row(
        self,
        point: Point,
        number: int,
        earlier: list[SynthesisLoop],
        sequence: np.random.SeedSequence,
    ) -> dict[str, Any]:
        """One run, and the scores of its datasets."""
        settings = point.settings
        mechanism = settings.chosen_mechanism
        table = check_table(self.frame, settings)
        own = whole_seed(replicate_seed(self.seed, point_key(point, number)))
        self._in_time()
        listener = Listener(fit=self._timed, line=lambda _text: None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # The rows have each run's R-hat.
            loop = None
            if mechanism.facts.fits_model and not (
                mechanism.facts.clamps_every_fit or mechanism.facts.reference
            ):
                if not earlier:
                    seed = whole_seed(sequence)
                    earlier.append(open_loop(settings, table, seed=seed, listener=listener))
                loop = earlier[0].branch(seed=own, listener=listener)
            run = open_draws(settings, table, seed=own, listener=listener, loop=loop)
            scores = self._scores(table, draw_whole(run), point)
        exact, figures = run.statement.exact(), run.figures()
        final = (figures.get("fits") or [{}])[-1]
        return {
            "epsilon": exact["epsilon_per_dataset"],
            "epsilon_of_window": exact.get("epsilon_of_window"),
            "epsilon_total": exact["epsilon_total"],
            "delta": exact.get("delta", 0.0),
            "guarantee": exact["guarantee"],
            "signed": SIGNED in caveat_keys(exact),
            "mean_weight": final.get("mean_weight"),
            "rhat": final.get("diagnostics", {}).get("rhat_max"),
            "fits": len(figures.get("fits", ())),
            "scores": [_plain(asdict(score)) for score in scores],
        }

    def _in_time(self) -> None:
        if time.time() > self.end:
            raise _OutOfTime

    def _timed(self, _label: str) -> FitProgress:
        """A fit's progress, which stops the fit when time is out."""
        self._in_time()
        return lambda *_told: self._in_time()

    def _scores(self, table: ConfidentialTable, drawn: WholeDraws, point: Point) -> Sequence[Score]:
        """Scores of the datasets beside the columns that they release."""
        datasets = table.datasets(self.frame, drawn.values, order=drawn.order)
        columns = [name for name in table.released if name not in table.ids]
        data, unit = nw.from_native(self.frame, eager_only=True), table.plan.unit
        if len(columns) == 1:
            return [_margin(data, columns[0], datasets, unit)]
        return table_utility(
            data.to_native(),
            datasets,
            schema=table.plan.schema,
            columns=columns,
            unit=unit,
            s_pmse=False,
        ).scores


def _margin(data: nw.DataFrame[Any], name: str, datasets: Sequence[Any], unit: str | None) -> Score:
    """The distance of a single column's margin, U_m, beside that of a bootstrap."""
    y = data[name].to_numpy()
    margins = [nw.from_native(dataset, eager_only=True)[name].to_numpy() for dataset in datasets]
    if y.dtype.kind not in "iufb":
        raise InputError.by("no-score-of-one-category")
    values = tuple(ecdf_utility(y, [dataset]).maximum for dataset in margins)
    units = None if unit is None else units_drawn(data, unit)
    again = second_sample(np.random.default_rng(1), len(y), units)
    bootstrap = ecdf_utility(y, [y[again]]).maximum
    mean = float(np.mean(values))
    return Score("margins", mean, values, bootstrap, 0.0, 0.0, 1.0, False, BLIND["margins"])


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row for JSON, which has neither NaN nor infinity."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }


def run_seeds(
    work: Seeds, seeds: int, *, jobs: int | None, progress: Callable[[int, int], None]
) -> None:
    """Run what is missing of seeds 1 to `seeds`, `jobs` seeds at once."""
    missing = [number for number in range(1, seeds + 1) if work.missing(number)]
    if not missing:
        progress(len(work.points) * seeds, len(work.points) * seeds)
        return
    calls: list[Call] = [(work, {}, ("seed", number), work.seed) for number in missing]
    with (
        _watched(work, seeds, progress),
        pool("loky", jobs, None, len(missing)) as share,
        closing(share(calls)) as ended,
    ):
        for _ in ended:
            pass


@contextmanager
def _watched(work: Seeds, seeds: int, progress: Callable[[int, int], None]) -> Iterator[None]:
    """Tell the progress from the results in the folder, which any process may have written."""
    keys = [point_key(point, number) for number in range(1, seeds + 1) for point in work.points]
    ended = threading.Event()

    def look() -> None:
        reported = -1
        while True:
            last = ended.wait(_LOOK_SECONDS)
            done = sum(work.folder.has(key) for key in keys)
            if done != reported:
                reported = done
                progress(done, len(keys))
            if last:
                return

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
