"""What analysts need of three public files: named regressions, many columns, and amounts.

The files are NIST's ma2019.csv, by the ten columns of `pyvws_studies.whole_tables`, and two files
of R packages: SD2011 of synthpop, and eusilc of laeken, as `write.csv` writes them. Each schema is
`Schema.propose` of the file itself. In eusilc it makes constants of amounts that few receive.
These amounts get a range here instead, which is read off the file too. Each row has several runs
under fresh noise, so a second study prints other last digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws._base.checks import Floats, whole_number
from pyvws.errors import InputError
from pyvws.evaluation.k_marginal import KMarginal, k_marginal
from pyvws.evaluation.regressions import LeastSquares, fit_formula
from pyvws.mechanisms.counts.workload import AUTO, MARGINS
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.tables.files.read import read_table
from pyvws.tables.proposal.numbers import rounded_outwards
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_studies._report import table_of
from pyvws_studies.noisy_counts import REGRESSIONS, counted
from pyvws_studies.whole_tables import DESIGNS

OF_NEEDS: Final = (4.0, 1e-5)
"""Epsilon and delta of the regressions."""
OF_MANY: Final = ((1.0, 1e-5), (1.0, 0.0))
"""Those of many columns."""
OF_AMOUNTS: Final = (10.0, 1e-5)
"""Those of amounts."""

_FEW: Final = 20  # Numbers of more values are scored in tenths.
_RECEIVED: Final = 0.01  # Amounts of a smaller share of the records are no row.


@dataclass(frozen=True, slots=True)
class _File:
    """What is made of a file: needs by formula with their family, and amounts by prefix.

    `columns` are all of it but ids, or some. Where it has `many` columns, these are scored.
    """

    needs: Mapping[str, str]
    columns: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    amounts: tuple[str, ...] = ()
    many: bool = True
    codes: Mapping[str, None] = field(default_factory=dict)

    def read(self, path: Path) -> pl.DataFrame:
        """The columns of the file, nothing in the place of `codes`, and 1 for YES in a logit."""
        frame = read_table(path).frame
        named = {name for need in self.needs for name in _named(need)}
        if lacking := sorted({*named, *self.columns, *self.ids} - {*frame.columns}):
            listed = ", ".join(lacking)
            raise InputError.by("file-lacks-columns", file=path.name, lacking=listed)
        frame = frame.select(self.columns or pl.exclude(self.ids))
        if self.codes:
            frame = frame.with_columns(pl.col(pl.String).replace(self.codes).cast(pl.Int64))
        yes = {_named(need)[0] for need, family in self.needs.items() if family == "logistic"}
        return frame.with_columns(pl.col(yes).replace_strict({"NO": 0, "YES": 1}, default=None))

    def schema(self, frame: pl.DataFrame) -> Schema:
        """A proposal, with numbers in the place of amounts that it makes constants."""
        proposed = Schema.propose(frame)
        columns = dict(proposed.columns)
        for name in filter(lambda name: columns[name].range is None, self.received(frame, 0.0)):
            ends = np.quantile(frame[name].drop_nulls().to_numpy(), (0.0, 1.0))
            ages = {"missing": True, "rule": "missing where age < 16"}
            given: dict[str, Any] = ages if frame[name].null_count() else {}
            columns[name] = Column(
                model="normal", range=rounded_outwards(*ends), mass=(0.0,), decimals=2, **given
            )
        return Schema(columns).signed("study")

    def received(self, frame: pl.DataFrame, share: float = _RECEIVED) -> list[str]:
        """The amounts that a share of the records or more have."""
        named = (name for name in frame.columns if name[:2] in self.amounts and name[-1] == "n")
        return [name for name in named if (frame[name] != 0.0).sum() >= share * len(frame)]


FILES: Final = {
    "ma2019.csv": _File(
        {f"{own} ~ {' + '.join(right)}": "gaussian" for own, *right in REGRESSIONS.values()},
        columns=DESIGNS["ma2019"].source,
        many=False,
        codes={"N": None},
    ),
    "SD2011.csv": _File(
        {
            "income ~ age + sex + edu": "gaussian",
            "smoke ~ age + sex + edu": "logistic",
            "depress ~ age + sex + marital": "gaussian",
        },
    ),
    "eusilc.csv": _File(
        {
            "py010n ~ age + rb090 + pb220a": "gaussian",
            "eqIncome ~ age + rb090 + pb220a": "gaussian",
            "eqIncome ~ hsize + age + db040": "gaussian",
        },
        ids=("db030", "rb030"),
        amounts=("py", "hy"),
    ),
}
"""What is asked of each file, by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsRow:
    """The mean, the worst and the standard deviation over runs of one figure.

    The figure of a `regression` is the mean distance of its coefficients from those of the records,
    in the records' own standard errors; larger = less useful. That of `pairs` is a k-marginal
    score from 0 to 1000; larger = more useful. That of an `amount` is
    how far its mean is above the records', in percent of their mean without signs. Epsilon is None
    where nothing was synthesized.
    """

    file: str
    kind: str
    figure: str
    way: str
    epsilon: float | None = None
    delta: float | None = None
    mean: float
    worst: float
    spread: float
    runs: int


@dataclass(frozen=True, slots=True)
class NeedsStudy:
    """The rows of the study, and what was left out."""

    rows: list[NeedsRow]
    problems: tuple[str, ...]


def run(
    folder: Path,
    *,
    synthesize: Callable[..., Any],
    seed: int,
    runs: int = 5,
    listener: Listener = SILENT,
) -> NeedsStudy:
    """Print what analysts need of each of `FILES` that a folder has.

    `synthesize` is `vws.synthesize`, and `seed` the public seed of the first run. Raises InputError
    for a folder without a file of the study, and for a file without its columns.
    """
    whole_number(runs, "runs", least=1)
    there = {name: own for name, own in FILES.items() if (folder / name).is_file()}
    if not there:
        raise InputError.by("folder-of-no-file", known=", ".join(FILES))
    tables = [(name, own, own.read(folder / name)) for name, own in there.items()]
    rows = list[NeedsRow]()
    for name, own, frame in tables:
        study = _Made(name, own, frame, own.schema(frame), synthesize, seed, runs)
        for row in study.rows():
            rows.append(row)
            listener.line(f"  {name}, {row.figure}, {row.way}: {row.mean:.2f}")
    problems = (f"Left out: {name}, which the folder lacks." for name in FILES if name not in there)
    return NeedsStudy(rows, tuple(problems))


@dataclass(frozen=True, slots=True)
class _Made:
    """A file with its schema, and how its best files are made."""

    name: str
    file: _File
    frame: pl.DataFrame
    schema: Schema
    synthesize: Callable[..., Any]
    seed: int
    runs: int

    def rows(self) -> Iterator[NeedsRow]:
        """The rows of the file."""
        yield from self._regressions()
        if self.file.many:
            yield from self._many()
        if self.file.amounts:
            yield from self._amounts()

    def _best(
        self, budget: tuple[float, float], needs: Sequence[str] = (), measure: str = AUTO
    ) -> list[pl.DataFrame]:
        """The best file of each run."""
        given = {"schema": self.schema, "needs": tuple(needs), "measure": (measure,)}
        releases = (
            counted(self.synthesize, self.frame, budget, seed=self.seed + number, **given)
            for number in range(self.runs)
        )
        return [release.datasets[0] for release in releases]

    def _row(
        self,
        kind: str,
        figure: str,
        way: str,
        found: Sequence[float],
        budget: tuple[float, float] | tuple[None, None] = (None, None),
    ) -> NeedsRow:
        return NeedsRow(
            file=self.name,
            kind=kind,
            figure=figure,
            way=way,
            epsilon=budget[0],
            delta=budget[1],
            mean=float(np.mean(found)),
            worst=min(found) if kind == "pairs" else max(found, key=abs),
            spread=float(np.std(found)),
            runs=len(found),
        )

    def _regressions(self) -> Iterator[NeedsRow]:
        needs = tuple(self.file.needs)
        ways = {"no need named": ((), AUTO), "needs": (needs, AUTO)}
        for way, asked in {**ways, "needs beside margins": (needs, MARGINS)}.items():
            made = self._best(OF_NEEDS, *asked)
            for need in self.file.needs:
                found = [self._off(need, one) for one in made]
                yield self._row("regression", need, way, found, OF_NEEDS)

    def _off(self, need: str, made: pl.DataFrame) -> float:
        """How far the coefficients of a table are from the records', in standard errors."""
        own, other = self._fitted(need, self.frame), self._fitted(need, made)
        theirs = dict(zip(other.names, other.coefficients, strict=True))
        there = np.array([theirs.get(name, 0.0) for name in own.names])
        return float(np.mean(np.abs(there - own.coefficients) / np.sqrt(own.variances)))

    def _fitted(self, need: str, frame: pl.DataFrame) -> LeastSquares:
        return fit_formula(frame, need, self.name, self.file.needs[need], self.schema)

    def _many(self) -> Iterator[NeedsRow]:
        figure = f"pairs of {len(self.schema.synthesized)} columns"
        for budget in OF_MANY:
            scored = [self._scored(one) for one in self._best(budget)]
            yield self._row("pairs", figure, "best file", [one.score for one in scored], budget)
        yield self._row("pairs", figure, "independent columns", [scored[0].independent])
        yield self._row("pairs", figure, "a bootstrap", [scored[0].bootstrap])

    def _scored(self, made: pl.DataFrame) -> KMarginal:
        """The k-marginal scores of a table, with numbers of many values in tenths of the records'.

        Empty cells are a level, which tables have in common.
        """
        numbers = [n for n in self.frame.columns if self.frame[n].dtype.is_numeric()]
        many = [n for n in numbers if self.frame[n].n_unique() > _FEW]
        tenths = np.linspace(0.0, 1.0, 11)[1:-1]
        bins = {n: np.unique(np.quantile(self.frame[n].drop_nulls(), tenths)) for n in many}
        own, other = (
            frame.select(self.frame.columns)
            .cast(self.frame.schema, strict=False)
            .with_columns(pl.col(pl.String).fill_null(""))
            for frame in (self.frame, made)
        )
        return k_marginal(own, [other], bins=bins, seed=self.seed)

    def _amounts(self) -> Iterator[NeedsRow]:
        made = self._best(OF_AMOUNTS)
        for name in self.file.received(self.frame):
            own, *others = (_filled(frame, name) for frame in (self.frame, *made))
            found = [100.0 * (x.mean() - own.mean()) / np.abs(own).mean() for x in others]
            yield self._row("amount", name, "best file", found, OF_AMOUNTS)


def _named(need: str) -> list[str]:
    """The columns of a need, the response first."""
    return [part.strip() for part in need.replace("~", "+").split("+")]


def _filled(frame: pl.DataFrame, name: str) -> Floats:
    """The numbers (n,) of an amount, 0 where it is missing."""
    return frame[name].cast(pl.Float64).fill_null(0.0).to_numpy()


_SHOWN: Final = {
    **{"figure": ("figure", ""), "way": ("way", ""), "epsilon": ("epsilon", "g")},
    **{"delta": ("delta", "g"), "mean": ("mean", ".2f"), "worst": ("worst", ".2f")},
    **{"between runs": ("spread", ".2f"), "runs": ("runs", "")},
}


def table(result: NeedsStudy) -> Any:
    """The study as a table for a terminal, one part for each file."""
    rows = [asdict(row) for row in result.rows]
    return table_of("What analysts need", rows, _SHOWN, left=2, group="file")


def write(result: NeedsStudy, folder: Path) -> list[str]:
    rows = pl.DataFrame([asdict(row) for row in result.rows])
    rows.with_columns(pl.col("mean", "worst", "spread").round(2)).write_csv(folder / "table.csv")
    return ["table.csv"]
