"""The choices of a comparison, as words such as "lw reweight c=0.5", and the points that they give.

A point is a choice under its own constants, or at an epsilon that its constant is searched for.
Each seed's points share its unweighted and LW fits. A point's result is a file of the comparison's
folder as soon as it is there, so a comparison that stops goes on from the points that it has.
"""

from __future__ import annotations

import re
import shlex
import threading
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import narwhals as nw
import numpy as np
from narwhals.typing import IntoDataFrame

from pyvws._base.checks import near, positive
from pyvws._base.resumable_jobs import (
    Call,
    Key,
    Result,
    ResultFolder,
    pool,
    replicate_seed,
    whole_seed,
)
from pyvws.errors import InputError, PyvwsError
from pyvws.evaluation.bootstrap import second_sample, units_drawn
from pyvws.evaluation.one_column import ecdf_utility
from pyvws.evaluation.table_scores import BLIND, Score
from pyvws.evaluation.table_utility import table_utility
from pyvws.mechanisms.registry import MECHANISMS, mechanism_settings
from pyvws.release.datasets import WholeDraws, draw_whole, open_draws
from pyvws.sheet import plain
from pyvws.statement.words import SIGNED, caveat_keys
from pyvws.synthesis.confidential_table import ConfidentialTable, check_table
from pyvws.synthesis.fit_sources import FitProgress
from pyvws.synthesis.loop import Listener, SynthesisLoop
from pyvws.synthesis.open_loop import open_loop
from pyvws.synthesis.settings import RunSettings
from pyvws.synthesis.settings_by_name import arranged, declared

OF_OUTCOME: Final = (
    *("unweighted", "lw", "lw reweight", "sw", "cw"),
    *("weighted-epsilon", "censored weights=none"),
)
"""What is compared on one outcome if nobody names choices."""
OF_TABLE: Final = (
    *("unweighted", "inverse t=0.5", "inverse t=2", "lw", "sw"),
    *("weighted-epsilon", "noisy-counts", "censored weights=none"),
)
"""What is compared on a table of a schema if nobody names choices."""

_OF_RUN: Final = (
    *("reweight", "k", "tolerance", "downscale"),
    *("accept_above_target", "accept_unconverged"),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A mechanism with its settings; `label` is what a user wrote."""

    label: str
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Point:
    """A choice at an epsilon, None for its own constants; `given` are settings by name."""

    choice: Choice
    epsilon: float | None
    given: Mapping[str, Any] = field(repr=False)

    @property
    def settings(self) -> RunSettings:
        return RunSettings(**arranged(self.given))

    @property
    def name(self) -> str:
        """The choice, and the epsilon that was asked for."""
        return self.choice.label + ("" if self.epsilon is None else f" at {self.epsilon:g}")

    @property
    def key(self) -> tuple[str, str]:
        """The names of the point's files in a comparison's folder."""
        at = "own" if self.epsilon is None else repr(self.epsilon)
        return re.sub(r"[^A-Za-z0-9_.]+", "_", self.choice.label), at.replace("-", "m")


def read_choice(text: str) -> Choice:
    """A choice from words: a mechanism's name, then NAME for yes or NAME=VALUE of its settings."""
    try:
        name, *words = shlex.split(text)
    except ValueError:
        raise InputError.by("choice-words", text=text) from None
    allowed = (*_OF_RUN, *(setting for setting in mechanism_settings(name) if setting != "epsilon"))
    entries: dict[str, Any] = {"mechanism": name}
    for word in words:
        given, _, value = word.partition("=")
        given = given.replace("-", "_")
        if given not in allowed:
            more = " Epsilons are those of the comparison." if given == "epsilon" else ""
            raise InputError.by(
                "choice-unknown-setting",
                text=text,
                given=given,
                allowed=", ".join(allowed),
                more=more or near(given, allowed),
            )
        several = any(setting.several for setting in declared()[given])
        entries[given] = tuple(map(_one, value.split(","))) if several else _one(value)
    return Choice(" ".join(text.split()), entries)


def _one(text: str) -> Any:
    """A value of a setting: yes without a text, else as TOML or as it is."""
    try:
        return tomllib.loads(f"value = {text or 'true'}")["value"]
    except tomllib.TOMLDecodeError:  # Such as .5, and words.
        return float(text) if re.fullmatch(r"[-+]?\.\d+", text) else text


def planned(
    frame: IntoDataFrame,
    common: Mapping[str, Any],
    choices: Sequence[str] | None,
    epsilons: Sequence[float],
) -> tuple[list[Point], dict[str, str]]:
    """The points to run, cheap ones first, and the reason of each usual choice that has none."""
    asked = sorted({positive(float(epsilon), "epsilons") for epsilon in epsilons})
    usual = OF_OUTCOME if common.get("schema") is None else OF_TABLE
    texts = [" ".join(text.split()) for text in (usual if choices is None else choices)]
    points: list[Point] = []
    left_out: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        try:
            points += _points(frame, common, read_choice(text), asked)
        except InputError as error:
            if choices is not None:
                raise
            left_out[text] = str(error)
    if not points:
        raise InputError.by("no-choice-runs", why=next(iter(left_out.values()), "Name one."))
    # Clamped fits last, since they share no fit and take the longest; else epsilon by epsilon.
    clamps = {point.key: point.settings.chosen_mechanism.facts.clamps for point in points}
    return sorted(points, key=lambda at: (clamps[at.key], at.epsilon or 0.0)), left_out


def _points(
    frame: IntoDataFrame, common: Mapping[str, Any], choice: Choice, epsilons: Sequence[float]
) -> list[Point]:
    """The points that the settings allow; the last InputError where they allow none."""
    listed: list[Point] = []
    refused = None
    for epsilon in (None, *epsilons):
        given = {**common, **choice.settings}
        point = Point(choice, epsilon, given if epsilon is None else {**given, "epsilon": epsilon})
        try:
            settings = point.settings
        except InputError as error:
            refused = error
            continue
        if not listed:
            check_table(frame, settings)
        listed.append(point)
    if not listed:
        raise refused or InputError.by("choice-without-point", label=choice.label)
    return listed


def refuse_choices(common: Mapping[str, Any]) -> None:
    """Raise InputError for a common setting that belongs to a choice, or to the comparison."""
    of_run = {name for name, alike in declared().items() if not all(own.takers for own in alike)}
    of_mechanisms = {name for kind in MECHANISMS for name in mechanism_settings(kind)} - of_run
    for name in ("epsilon", "mechanism", "compared", *_OF_RUN, *sorted(of_mechanisms)):
        if common.get(name):
            where = {"epsilon": "epsilons", "compared": "the run.toml that it writes"}
            raise InputError.by("comparison-setting", name=name, given=where.get(name, "choices"))


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
            self.folder.keep(point_key(point, number), Result([plain(row)]))
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
            "scores": [plain(asdict(score)) for score in scores],
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
        pool(jobs, len(missing)) as share,
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
