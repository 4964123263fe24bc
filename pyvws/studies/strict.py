"""What a strict guarantee costs in utility: the deviance clamp against epsilon, and beside it all.

The study takes the counts of section 3.1 of [vws2024], its negative binomial mixture, the shares of
[global2022], the repeated databases of section 6 of [vws2024] at growing n, and two tables with
predictors at growing n: incomes of the Consumer Expenditure Surveys and wages of CPS1988 of the R
package AER. A replicate fits each mechanism and draws datasets of it. Every clamped fit has a loop
of its own, since a strict run makes that one fit. Public settings (range, largest kappa, smallest
sd) stand in `SETTINGS` and come from no data. The histogram has a seeded noise, so that a user can
repeat a replicate; a release takes secret noise. So have the noisy counts of 20 public bins, whose
columns have the families of the fits. Epsilon is for one record left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import Key, Result, whole_seed
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import InputError, MissingDependencyError, SearchError
from pyvws.evaluation.ecdf import ecdf_utility
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.histogram.perturbed_histogram import synthesize_from_histogram
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.mechanisms.mechanism import Claim
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.mechanisms.scalar_weighted import ScalarWeighted
from pyvws.mechanisms.unweighted import Unweighted
from pyvws.mechanisms.weighing import Request, WeightedFit
from pyvws.models.beta import Beta
from pyvws.models.model import Model
from pyvws.models.normal import Normal
from pyvws.models.registry import find_model
from pyvws.r.bridge import RError, call
from pyvws.studies._native_loop import native_loop
from pyvws.studies.consumer_expenditure_fits import education_groups
from pyvws.studies.contraction import SETTINGS as CONTRACTION
from pyvws.studies.contraction import simulate
from pyvws.studies.counted_column import counted_column
from pyvws.studies.five_synthesizers import searched
from pyvws.studies.replicates import ReplicatedStudy
from pyvws.studies.simulated_data import beta_proportions
from pyvws.studies.strict_report import full_size, report
from pyvws.synthesis.loop import SynthesisLoop
from pyvws.tables.design.model_matrix import make_design
from pyvws.tables.files.frame import numeric_column, open_frame
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.column import Column

SETTINGS: Final[Mapping[str, Any]] = {
    "epsilons": [0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0],
    "half_epsilons": [1.0, 3.0, 5.0, 10.0],
    "few_epsilons": [1.0, 3.0, 5.0],
    "weighted_epsilons": [3.0, 4.0, 5.0],
    "far_epsilons": [4.0],
    "counted_epsilons": [0.5, 1.0, 2.0, 5.0],
    "seed": 123,
    "n": {"poisson": 1000, "mixture": 1000, "beta": 2000},
    "databases": [100, 400, 1600, 6400],
    "tables": [500, 2000, 8000],
    "largest_full": 8000,
    "ranges": {"poisson": [0.0, 200.0], "mixture": [0.0, 400.0], "beta": [0.0, 1.0]},
    "largest_kappa": 30.0,
    "far_kappa": 1000.0,
    "smallest_sd": 0.25,
    "datasets": 20,
    "draws": 300,
    "warmup": 400,
    "chains": 2,
    "database_share": 0.2,
    "table_share": 0.01,
}

SMALL: Final[Mapping[str, Any]] = {
    **SETTINGS,
    "epsilons": [1.0, 3.0, 5.0],
    "half_epsilons": [5.0],
    "few_epsilons": [5.0],
    "counted_epsilons": [1.0],
    "n": {"poisson": 200, "mixture": 200, "beta": 400},
    "databases": [100],
    "tables": [],
    "datasets": 5,
    "draws": 150,
    "warmup": 150,
}
"""Settings of a run that ends in seconds, and shows the form of the figures and not their size."""

COLUMNS: Final = (
    *("data", "n", "replicate", "mechanism", "guarantee", "target", "epsilon"),
    *("u_m", "u_a", "mean_weight", "outside", "rhat", "ess", "divergences"),
)
"""Columns of replicates.csv.

`target` is the epsilon that was set, empty where a mechanism has none. `epsilon` is the set one of
a strict mechanism, and 2 Delta of the others. `u_m` and `u_a` are means over the datasets of one
fit. `outside` is the share of records whose term left the window at some draw.
"""

_MODELS: Final = {"poisson": "poisson", "mixture": "negative-binomial"}
_FAMILIES: Final = {**_MODELS, "beta": "beta"}
_DATABASES: Final = "_databases"
_INCOME_FORMULA: Final = "~ factor(Urban) + factor(Marital) + factor(Education)"
_WAGE_FORMULA: Final = (
    "~ education + experience + I(experience^2) + ethnicity + smsa + region + parttime"
)


def keys(settings: Mapping[str, Any], replicates: int) -> list[Key]:
    """A key for each kind of data, n and replicate; repeated databases and tables have fewer."""
    all_keys: list[Key] = [
        (data, n, number) for number in _numbers(replicates) for data, n in settings["n"].items()
    ]
    all_keys += [
        (data + _DATABASES, n, number)
        for number in _numbers(settings["database_share"] * replicates)
        for data in _MODELS
        for n in settings["databases"]
    ]
    all_keys += [
        (data, n, number)
        for number in _numbers(settings["table_share"] * replicates)
        for data, table in settings.get("files", {}).items()
        for n in table["sizes"]
    ]
    return all_keys


def _numbers(count: float) -> range:
    return range(1, math.ceil(count - 1e-9) + 1)


def strict_study(
    *, income: Path | str | None = None, wages: Path | str | None = None, small: bool = False
) -> ReplicatedStudy:
    """The study with the tables that are there; its settings name the others under "skipped".

    `income` is a file with numeric columns Income, Urban, Marital and Educ, of which the incomes
    above 0 are taken. `wages` has the columns of CPS1988; without it R brings the data of its
    package AER. `small` takes `SMALL`, without tables. Raises InputError for a file that cannot be
    read.
    """
    settings: dict[str, Any] = dict(SMALL if small else SETTINGS)
    files: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    if small:
        skipped = dict.fromkeys(("income", "wages"), "a small run takes no tables")
    else:
        if income is None:
            skipped["income"] = "no file is given (--income FILE)"
        else:
            files["income"] = {"file": str(income)}
        files["wages"] = {"file": None if wages is None else str(wages)}
        try:
            _table("wages", files["wages"]["file"])
        except (MissingDependencyError, RError):
            del files["wages"]
            skipped["wages"] = (
                "R or its package AER is not there (apt-get install r-cran-aer), and no file is "
                "given (--wages FILE)"
            )
    for name, of_table in files.items():
        n = len(_table(name, of_table["file"])[0])
        of_table["sizes"] = [*(size for size in settings["tables"] if size < n), n]
    return _study(settings | {"files": files, "skipped": skipped}, 2 if small else 100)


def _study(settings: Mapping[str, Any], replicates: int) -> ReplicatedStudy:
    return ReplicatedStudy(
        name="strict",
        settings=settings,
        replicates=replicates,
        keys=partial(keys, settings),
        replicate=replicate,
        report=report,
    )


@cache
def _table(name: str, file: str | None) -> tuple[Floats, Floats]:
    """Outcomes (N,) above 0 and the design (N, K) of a table with predictors."""
    if name == "income":
        frame = open_frame(read_table(Path(str(file))).frame)
        groups = education_groups(numeric_column(frame, "Educ", role="study"))
        import narwhals as nw

        education = nw.new_series("Education", groups, nw.Float64, backend=frame.implementation)
        frame, outcome, formula = frame.with_columns(education), "Income", _INCOME_FORMULA
    else:
        if file is None:
            arguments = {"package": "AER", "name": "CPS1988"}
            native = call("package_data", "package_data", arguments)
        else:
            native = read_table(Path(file)).frame
        frame, outcome, formula = open_frame(native), "wage", _WAGE_FORMULA
    y = numeric_column(frame, outcome, role="study")
    if not (y > 0).any():
        raise InputError(f"Column {outcome!r} has no value above 0, so the study has no records.")
    return y[y > 0], make_design(frame, formula, outcome=outcome).matrix[y > 0]


def replicate(settings: Mapping[str, Any], key: Key, seed: np.random.SeedSequence) -> Result:
    """One database: a row for each mechanism and epsilon; `extra` counts the missed searches."""
    data, n = str(key[0]), int(key[1])
    measured = _Replicate(settings, key, seed)
    full = data in settings["n"] or n == full_size(settings, data)
    missed = list(measured.measured(reweighted=full))
    measured.clamped("deviance", settings["epsilons" if full else "few_epsilons"])
    if full:
        measured.clamped(
            "half", settings["half_epsilons" if data in settings["n"] else "few_epsilons"]
        )
    if data in settings["ranges"]:
        measured.histograms(settings["epsilons"])
    if data == "beta":
        missed += measured.at_targets(settings["weighted_epsilons"])
        far = Beta(range=(0.0, 1.0), largest_kappa=settings["far_kappa"])
        measured.clamped("deviance-far", settings["far_epsilons"], far)
    if data in settings["ranges"]:
        measured.counted(settings["counted_epsilons"])
    return Result(measured.rows, {"missed": missed})


class _Replicate:
    """The rows of one database, and what each mechanism needs for a row."""

    def __init__(self, settings: Mapping[str, Any], key: Key, seed: np.random.SeedSequence) -> None:
        self.rows: list[dict[str, Any]] = []
        self._settings, self._seed = settings, seed
        self._place = data, n, _ = str(key[0]), int(key[1]), int(key[2])
        data_seed = whole_seed(seed.spawn(1)[0]) % 2**31
        self._y, self._design, self._model = database(settings, data, n, data_seed)
        self._request = Request(y=self._y)
        self._shared = self._loop(self._model)

    def _loop(self, model: Model) -> SynthesisLoop:
        names = ("draws", "warmup", "chains")
        sampling = SamplerSettings(**{name: self._settings[name] for name in names})
        seed = whole_seed(self._seed.spawn(1)[0])
        return native_loop(model, self._y, self._design, sampling, seed=seed)

    def measured(self, *, reweighted: bool) -> Iterator[str]:
        """Add the mechanisms whose epsilon is measured; give the names of missed searches."""
        loop, request = self._shared, self._request
        lw = LipschitzWeighted()
        claim = lw.facts.claim
        self._fit("unweighted", "none", None, loop, Unweighted().run(loop, request).fit)
        weighted = lw.run(loop, request).fit
        self._fit("LW", claim, None, loop, weighted)
        if reweighted:
            makers: dict[str, Callable[[], WeightedFit]] = {
                "LW_final": lambda: loop.reweighted(weighted)[0],
                "SW": lambda: ScalarWeighted().run(loop, request).fit,
            }
            for name, make in makers.items():
                try:
                    self._fit(name, claim, None, loop, make())
                except SearchError:
                    yield name

    def at_targets(self, epsilons: list[float]) -> Iterator[str]:
        """Add LW with c searched below each epsilon, as the slides' Weighted."""
        claim = LipschitzWeighted().facts.claim
        for epsilon in epsilons:
            search = searched(self._shared, Request(y=self._y, epsilon=epsilon))
            self._fit("Weighted", claim, epsilon, self._shared, search.fit)
            if search.short:
                yield f"Weighted at {epsilon:g}"

    def clamped(self, name: str, epsilons: list[float], model: Model | None = None) -> None:
        """Add a clamp without weights at each epsilon, each fit on a loop of its own."""
        kind = name.removesuffix("-far")
        for epsilon in epsilons:
            mechanism = Censored(epsilon=epsilon, weights="none", clamp=kind)
            loop = self._loop(model or self._model)
            fit = mechanism.run(loop, self._request).fit
            self._fit(name, mechanism.facts.claim, epsilon, loop, fit)

    def histograms(self, epsilons: list[float]) -> None:
        """Add the perturbed histogram with as many bins as the cube root of n, rounded up."""
        low, high = self._settings["ranges"][self._place[0]]
        for epsilon in epsilons:
            noise, drawing = self._seed.spawn(2)
            rng = np.random.default_rng(drawing)
            n = len(self._y)
            bins = math.ceil(n ** (1 / 3) - 1e-9)
            common = {"epsilon": epsilon, "range": (low, high), "bins": bins, "neighbours": "loo"}
            seeded = PerturbedHistogram(**common, noise="seeded-float", allow_outside=True)
            datasets = []
            for stream in noise.spawn(self._settings["datasets"]):
                noisy = seeded.perturb(self._y, seed=whole_seed(stream))
                drawn = synthesize_from_histogram(noisy, n, rng)
                datasets.append(drawn if self._place[0] == "beta" else np.floor(drawn))
            claim = PerturbedHistogram(**common).facts.claim
            self._row("PH", claim, epsilon, epsilon, datasets, {})

    def counted(self, epsilons: list[float]) -> None:
        """Add noisy counts of public bins, under the family of the fits."""
        data = self._place[0]
        column = Column(model=_FAMILIES[data], range=tuple(self._settings["ranges"][data]))
        for place, epsilon in enumerate(epsilons):
            own = np.random.SeedSequence([whole_seed(self._seed), place])
            number = self._settings["datasets"]
            datasets = counted_column(self._y, column, epsilon=epsilon, datasets=number, seed=own)
            claim = NoisyCounts(epsilon=epsilon).facts.claim
            self._row("counts", claim, epsilon, epsilon, datasets, {})

    def _fit(
        self, name: str, claim: Claim, target: float | None, loop: SynthesisLoop, fit: WeightedFit
    ) -> None:
        """Add the row of a fit, with its diagnostics."""
        datasets = loop.synthetic(fit, self._design, self._settings["datasets"])
        diagnostics = fit.posterior.diagnostics
        outside = None
        if fit.clamp is not None:
            outside = float((fit.weights * fit.maxima >= -fit.clamp.window[0]).mean())
        reached = fit.bounds.epsilon if fit.clamp is None else fit.clamp.epsilon
        more = {
            "mean_weight": float(fit.weights.mean()),
            "outside": outside,
            "rhat": diagnostics.rhat_max,
            "ess": diagnostics.ess_bulk_min,
            "divergences": diagnostics.divergences,
        }
        self._row(name, claim, target, reached, datasets, more)

    def _row(
        self,
        name: str,
        claim: Claim,
        target: float | None,
        epsilon: float,
        datasets: list[Floats],
        more: Mapping[str, Any],
    ) -> None:
        each = [ecdf_utility(self._y, [drawn]) for drawn in datasets]
        u_m, u_a = (float(np.mean([getattr(drawn, c) for drawn in each])) for c in _DISTANCES)
        guarantee = "dp" if claim == "dp-if-bounded" else claim
        values = (*self._place, name, guarantee, target, epsilon, u_m, u_a)
        self.rows.append(
            {**dict.fromkeys(COLUMNS), **dict(zip(COLUMNS, values, strict=False)), **more}
        )


_DISTANCES: Final = ("maximum", "average")


def database(
    settings: Mapping[str, Any], data: str, n: int, seed: int
) -> tuple[Floats, Floats, Model]:
    """Outcomes (n,), the design (n, K) and the model of one database; "poisson" and "mixture" have
    R's seed 123.
    """
    kind = data.removesuffix(_DATABASES)
    if kind in _MODELS:
        y = simulate(CONTRACTION, kind, n, settings["seed"] if kind == data else seed)
        return y, np.ones((n, 1)), find_model(_MODELS[kind])
    if kind == "beta":
        y = beta_proportions(seed, n)
        model: Model = Beta(range=(0.0, 1.0), largest_kappa=settings["largest_kappa"])
        return y, np.ones((n, 1)), model.prepare(y, "y")
    whole, design = _table(kind, settings["files"][kind]["file"])
    chosen = np.random.default_rng(seed).permutation(len(whole))[:n]
    y = whole[chosen]
    model = Normal(outcome_scale="log", smallest_sd=settings["smallest_sd"])
    return y, np.ascontiguousarray(design[chosen]), model.prepare(y, kind)


STUDY: Final = _study({**SETTINGS, "files": {}, "skipped": {}}, 100)
"""The study without tables; `strict_study` adds them."""
