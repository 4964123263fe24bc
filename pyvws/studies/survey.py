"""Tables of a weighted survey by repeated sampling: coverage, bias and RMSE beside Laplace noise.

The population are the schools of California of the year 2000, `apipop` of R's package survey
[lumley2004], or a simulated population of the same columns. Schools are drawn with replacement with
probabilities in proportion to their enrolment, cut to 200 to 1200, so the weights are informative:
high schools are large. From each sample the study publishes one table by type of school: the number
of schools, the mean and the median of the Academic Performance Index in classes of 50, and the
share with an award. All columns are conditional tables, whose draws are exact.

Beside the published figures stand those of the confidential sample with its design weights, those
of the Laplace mechanism at the epsilon that LW's datasets cost together, and those of the
Laplace mechanism where ten such tables share this epsilon, which synthetic data need not. The
Laplace noise of this study is seeded, so that a run can be repeated; a release takes secret noise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws._base.folders import write_whole
from pyvws._base.resumable_jobs import Key, Result, whole_seed
from pyvws.errors import ConvergenceWarning, MisfitWarning
from pyvws.evaluation.laplace_table import laplace_figures
from pyvws.evaluation.public_cells import read_records, table_plan
from pyvws.evaluation.published_table import tabulate
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.mechanisms.scalar_weighted import ScalarWeighted
from pyvws.mechanisms.unweighted import Unweighted
from pyvws.r.bridge import call
from pyvws.studies._report import all_rows
from pyvws.studies._tables import terminal_table
from pyvws.studies.replicates import ReplicatedStudy, Report
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema

SETTINGS: Final[Mapping[str, Any]] = {
    "population": "apipop",
    "n": 400,
    "constants": [1.0, 0.3, 0.1, 0.03],
    "concentration": 4.0,
    "datasets": 3,
    "tables": 10,
    "draws": 200,
}
SMALL: Final = {**SETTINGS, "population": "simulated", "constants": [1.0, 0.03]}

_TYPES: Final = ("E", "M", "H")
_EDGES: Final = np.arange(200, 1001, 50)  # The index has the public scale 200 to 1000.
_CLASSES: Final = tuple(f"{x:g}" for x in (_EDGES[:-1] + _EDGES[1:]) / 2)
_RANGES: Final = {"api": (200.0, 1000.0)}
_ASKED: Final[dict[str, Any]] = {
    "by": {"stype": _TYPES},
    "count": True,
    "mean": "api",
    "share": {"awards": ("Yes", "No")},
    "quantile": {"api": [0.5]},
    "weights": "w",
}
_STATISTICS: Final = ("count", "mean", "share", "quantile")
MECHANISMS: Final = {
    "design": "the confidential sample",
    "unweighted": "exponents, unprotected",
    "exponents": "LW, exponents",
    "one weight": "SW, exponents, at LW's bound",
    "synthetic weights": "LW, synthetic weights",
    "ignored": "LW, weights ignored",
    "laplace": "Laplace, one table",
    "laplace of many": "Laplace, ten tables",
}


@cache
def population(kind: str) -> pl.DataFrame:
    """The schools: stype, awards, api as the middle of its class, and size, the enrolment cut."""
    if kind == "simulated":
        rng = np.random.default_rng(2000)
        stype = rng.choice(_TYPES, 6000, p=[0.71, 0.17, 0.12])
        of_type = {"E": (0.0, 0.0), "M": (0.6, -15.0), "H": (0.9, -35.0)}
        shift, lower = np.array([of_type[kind] for kind in stype]).T
        enrolled = np.exp(6.0 + shift + 0.5 * rng.normal(size=6000))
        index = np.clip(670 + lower + 120 * rng.normal(size=6000) - 0.02 * enrolled, 346, 969)
        awards = np.where(rng.random(6000) < 0.8 - 0.0003 * enrolled, "Yes", "No")
        schools = pl.DataFrame(
            {"stype": stype, "awards": awards, "api00": index, "enroll": enrolled}
        )
    else:
        asked = {"package": "survey", "name": "api", "object": "apipop"}
        frame = call("package_data", "package_data", asked)
        schools = pl.from_pandas(frame[["stype", "awards", "api00", "enroll"]]).drop_nulls()
    place = np.searchsorted(_EDGES, schools["api00"].to_numpy(), side="right") - 1
    return schools.select(
        pl.col("stype").cast(pl.String),
        pl.col("awards").cast(pl.String),
        api=pl.Series(np.array(_CLASSES)[np.clip(place, 0, len(_CLASSES) - 1)]),
        size=pl.col("enroll").cast(pl.Float64).clip(200.0, 1200.0),
    )


def keys(replicates: int) -> list[Key]:
    return [("sample", number) for number in range(1, replicates + 1)]


def replicate(
    synthesize: Callable[..., Any],
    settings: Mapping[str, Any],
    key: Key,
    seed: np.random.SeedSequence,
) -> Result:
    """One sample: a row for each mechanism, constant, statistic and cell."""
    schools, n = population(settings["population"]), settings["n"]
    streams = seed.spawn(3)
    rng = np.random.default_rng(streams[0])
    shares = schools["size"] / schools["size"].sum()
    at = rng.choice(len(schools), n, p=shares.to_numpy())
    weights = 1.0 / (n * shares.to_numpy()[at])
    sample = schools.select("stype", "awards", "api")[at].with_columns(w=pl.Series(weights))
    run = _Sample(settings, int(key[1]), sample, len(schools) / n, whole_seed(streams[1]))
    run.synthesize = synthesize
    run.noise = np.random.default_rng(streams[2])
    heaviest = float(schools["size"].sum() / (n * schools["size"].min()))
    with warnings.catch_warnings():
        for kind in (ConvergenceWarning, MisfitWarning):  # The table has what they cost.
            warnings.simplefilter("ignore", kind)
        return Result(list(run.rows(heaviest)))


class _Sample:
    """A sample under way."""

    noise: np.random.Generator
    synthesize: Callable[..., Any]

    def __init__(
        self,
        settings: Mapping[str, Any],
        number: int,
        sample: pl.DataFrame,
        mean_weight: float,
        seed: int,
    ) -> None:
        self._settings, self._number, self._sample = settings, number, sample
        self._mean, self._seed = mean_weight, seed

    def rows(self, heaviest: float) -> Iterator[dict[str, Any]]:
        truth = _truth(self._settings["population"])
        yield from self._published("design", None, None, [self._sample] * 2, truth)
        plain = self._run(Unweighted(), self._schema("exponents"))
        yield from self._published("unweighted", None, *plain, truth)
        for c in self._settings["constants"]:
            for name in ("exponents", "synthetic weights", "ignored"):
                epsilon, released = self._run(LipschitzWeighted(c=c), self._schema(name, heaviest))
                yield from self._published(name, c, epsilon, released, truth)
                if name == "exponents":
                    bound = epsilon / (2.0 * self._settings["datasets"])
                    alike = self._run(ScalarWeighted(match=bound), self._schema(name))
                    yield from self._published("one weight", c, *alike, truth)
                    for several, share in (("laplace", 1), ("laplace of many", None)):
                        part = epsilon / (share or self._settings["tables"])
                        yield from self._laplace(several, c, epsilon, part, heaviest, truth)

    def _schema(self, name: str, heaviest: float = 0.0) -> Schema:
        table_model: dict[str, Any] = {
            "model": "table",
            "settings": {"concentration": self._settings["concentration"]},
        }
        columns = {
            "stype": Column(levels=_TYPES, **table_model),
            "api": Column(levels=_CLASSES, predictors=("stype",), **table_model),
            "awards": Column(levels=("No", "Yes"), predictors=("stype",), **table_model),
        }
        if name == "exponents":
            return Schema(columns, survey_weight="w", mean_survey_weight=self._mean)
        if name == "ignored":
            return Schema(columns)
        columns["w"] = Column(
            model="normal",
            outcome_scale="log",
            predictors=("stype", "awards"),
            range=(1.0, np.ceil(heaviest)),
        )
        return Schema(columns, survey_weight="w")

    def _run(self, mechanism: Any, schema: Schema) -> tuple[float, list[Any]]:
        """What the datasets cost together, and the datasets."""
        release = self.synthesize(
            self._sample,
            schema=schema,
            mechanism=mechanism,
            datasets=self._settings["datasets"],
            draws=self._settings["draws"],
            warmup=200,
            chains=1,
            engine="laplace",
            seed=self._seed,
        )
        flat = [] if "w" in release.datasets[0] else [pl.lit(self._mean).alias("w")]
        datasets = [dataset.with_columns(flat) for dataset in release.datasets]
        return release.summary["epsilon_total"], datasets

    def _published(
        self,
        name: str,
        c: float | None,
        epsilon: float | None,
        datasets: list[Any],
        truth: Mapping[Any, float],
    ) -> Iterator[dict[str, Any]]:
        for figure in tabulate(datasets, **_ASKED).figures:
            figures = (figure.estimate, figure.lower, figure.upper)
            yield from self._row(
                name, c, epsilon, (figure.statistic, figure.point, *figure.cell), figures, truth
            )

    def _laplace(
        self,
        name: str,
        c: float,
        epsilon: float,
        part: float,
        heaviest: float,
        truth: Mapping[Any, float],
    ) -> Iterator[dict[str, Any]]:
        """Figures of the Laplace mechanism; their intervals have the noise alone."""
        plan = table_plan(
            **{"total": (), "strata": None, "clusters": None, "schema": None, **_ASKED}
        )

        def noise(counts: Any, *, scale: float) -> Any:
            return counts + np.rint(self.noise.laplace(0.0, scale, len(counts)))

        held = read_records(self._sample, plan, "sample")
        ranges = {**_RANGES, "w": (0.0, float(np.ceil(heaviest)))}
        noisy = laplace_figures(held, plan, ranges, epsilon=part, noise=noise)
        for statistic, (figures, errors) in zip(plan.statistics, noisy, strict=True):
            for row, cell in enumerate(plan.cells):
                for column, point in enumerate(statistic.points):
                    at, half = figures[row, column], 1.96 * errors[row, column]
                    place = (statistic.kind, str(point), *cell)
                    yield from self._row(name, c, epsilon, place, (at, at - half, at + half), truth)

    def _row(
        self,
        name: str,
        c: float | None,
        epsilon: float | None,
        place: tuple[str, ...],
        figures: tuple[float, float, float],
        truth: Mapping[Any, float],
    ) -> Iterator[dict[str, Any]]:
        if place[:2] == ("share", "No"):
            return
        estimate, lower, upper = (float(x) if np.isfinite(x) else None for x in figures)
        yield {
            **{"replicate": self._number, "mechanism": name, "c": c, "epsilon": epsilon},
            **{"statistic": place[0], "cell": place[2], "truth": truth[place]},
            **{"estimate": estimate, "lower": lower, "upper": upper},
        }


@cache
def _truth(kind: str) -> dict[tuple[str, ...], float]:
    """The figures of the whole population."""
    schools = population(kind).with_columns(w=pl.lit(1.0))
    figures = tabulate([schools] * 2, **_ASKED).figures
    return {(row.statistic, row.point, *row.cell): row.estimate for row in figures}


def report(settings: Mapping[str, Any], results: Mapping[Key, Result], out: Path) -> Report:
    """Write table.csv and show it: coverage of given intervals, bias and RMSE, by mechanism,
    constant and statistic; both relative to the population's figure, as means over the cells.
    """
    rows = pl.DataFrame(all_rows(results), infer_schema_length=None)
    gap = pl.col("estimate") - pl.col("truth")
    inside = (pl.col("lower") <= pl.col("truth")) & (pl.col("truth") <= pl.col("upper"))
    by = ["mechanism", "c", "statistic"]
    cells = rows.group_by([*by, "cell"], maintain_order=True).agg(
        epsilon=pl.col("epsilon").mean(),
        coverage=inside.filter(pl.col("upper").is_not_null()).mean(),
        bias=(gap / pl.col("truth")).mean(),
        rmse=((gap / pl.col("truth")) ** 2).mean().sqrt(),
        given=pl.col("upper").is_not_null().mean(),
    )
    table = cells.group_by(by, maintain_order=True).agg(
        pl.col("epsilon", "coverage", "bias", "rmse", "given").mean()
    )
    write_whole(out / "table.csv", table.write_csv())
    samples = rows["replicate"].n_unique()
    table_shown = terminal_table(
        f"{samples} samples of {settings['n']} schools: coverage of 95 % intervals, relative RMSE",
        left=["mechanism"],
        right=[
            "c",
            "epsilon",
            *(f"{statistic} {what}" for statistic in _STATISTICS for what in ("cov", "RMSE")),
        ],
    )
    for (name, c), part in table.group_by(["mechanism", "c"], maintain_order=True):
        by_statistic = {row["statistic"]: row for row in part.to_dicts()}
        figures = [
            ""
            if by_statistic[statistic][what] is None
            else f"{by_statistic[statistic][what]:.{digits}f}"
            for statistic in _STATISTICS
            for what, digits in (("coverage", 2), ("rmse", 3))
        ]
        table_shown.add_row(
            MECHANISMS[str(name)],
            "" if c is None else f"{c:g}",
            "none" if name == "design" else f"{by_statistic['mean']['epsilon']:.1f}",
            *figures,
        )
    return Report([table_shown], ["table.csv"])


def survey_study(
    synthesize: Callable[..., Any], *, simulated: bool = False, small: bool = False
) -> ReplicatedStudy:
    """The study of runs by `vws.synthesize`; `simulated` needs no R, and `small` makes few runs."""
    settings = dict(SMALL if small else SETTINGS)
    if simulated:
        settings["population"] = "simulated"
    population(settings["population"])  # Refuse a missing R before any work.
    return ReplicatedStudy(
        name="survey",
        settings=settings,
        replicates=2 if small else 100,
        keys=keys,
        replicate=partial(replicate, synthesize),
        report=report,
    )
