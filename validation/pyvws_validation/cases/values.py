"""Compare what whole runs draw from known parameters with the law that the parameters state.

No fit decides anything here: an engine with known draws replaces the sampler, and the confidential
values follow another rule than the draws. So a synthetic value that follows from a confidential one
breaks a rule that every synthetic row has to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import polars as pl
from scipy import stats

from pyvws._base.checks import Floats
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.mechanisms.unweighted import Unweighted
from pyvws.release.synthesizer import Synthesizer
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.members import Members
from pyvws.tables.schema.schema import Schema
from pyvws_validation._draws import Draws
from pyvws_validation._grid_engine import KnownByWidth
from pyvws_validation._measured_case import OF_DRAWS, Findings, MeasuredRow, expected
from pyvws_validation.cases.accounting import SEED
from pyvws_validation.report import Measurement

_ROWS: Final = 20_000
_LIMIT: Final = 5.0  # Standard errors: about one in 10^6 right comparisons is farther off.
_SHARES: Final = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
_SPREAD: Final = 20.0  # Rows; independent ones are off by a hundred.
_DRAWS: Final = 4  # The fewest that a run takes; all are equal.


@dataclass(frozen=True, kw_only=True)
class _Drawn(MeasuredRow):
    """What the two kinds of case share: a run with known draws, and its row."""

    kind: str = "statement"
    source: str = "the law of the draws"
    paper: str = "vws2024, section 2"

    @property
    def function(self) -> str:
        return "pyvws.release.synthesizer:Synthesizer"


def _released(
    table: pl.DataFrame,
    schema: Schema,
    draws: Sequence[Floats],
    *,
    in_steps: bool = False,
    **given: Any,
) -> pl.DataFrame:
    """The one dataset of an unweighted run whose columns have these parameters, each (D,)."""
    engine = KnownByWidth([np.tile(q, (_DRAWS, 1)) for q in draws])
    run = Synthesizer(
        schema=schema,
        mechanism=Unweighted(),
        engine=engine,
        settings=SamplerSettings(draws=_DRAWS, chains=1),
        datasets=1,
        **given,
    )
    with expected(*OF_DRAWS), TemporaryDirectory() as folder:
        if not in_steps:
            return run.fit(table, seed=SEED).datasets[0]
        out = Path(folder, "out")
        run.fit_to(table.lazy(), out, seed=SEED)
        (parquet,) = out.glob("release/*.parquet")
        return pl.read_parquet(parquet)


@dataclass(frozen=True, kw_only=True)
class DrawnLaw(_Drawn):
    """The values of one family without predictors, beside the law that its parameters `q` state.

    A law has `mean`, `var`, `cdf` and `ppf`. `column` says what a schema says of it, `seen` are two
    confidential values, and a category has the codes 1, 2, ... of its levels.
    """

    column: Column
    q: Sequence[float]
    law: Any
    seen: tuple[Any, Any]
    sampling: str = "independent"

    def found(self) -> Findings:
        """Mean, variance and shares below quantiles, in standard errors of independent rows."""
        released = _released(
            pl.DataFrame({"y": self.seen}),
            Schema({"y": self.column}, records=_ROWS),
            [np.array(self.q)],
            sampling=self.sampling,
        )["y"]
        levels = self.column.levels
        y = (
            released.to_numpy()
            if levels is None
            else np.array([*map(levels.index, released)]) + 1.0
        )
        mean, variance, n = float(self.law.mean()), float(self.law.var()), len(y)
        off = (y - mean) ** 2
        points = np.unique(np.concatenate([np.atleast_1d(self.law.ppf(at)) for at in _SHARES]))
        below = self.law.cdf(points)
        inside = (below > 0.0) & (below < 1.0)
        points, below = points[inside], below[inside]
        share = np.array([(y <= point).mean() for point in points])
        apart = {
            "mean": abs(y.mean() - mean) / np.sqrt(variance / n),
            "variance": abs(off.mean() - variance) / np.sqrt(off.var() / n),
            "shares": np.max(np.abs(share - below) / np.sqrt(below * (1.0 - below) / n)),
        }
        measurements = [
            Measurement(f"{statistic}, standard errors", float(gap), 0.0, _LIMIT)
            for statistic, gap in apart.items()
        ]
        if self.sampling == "systematic":
            gap = n * float(np.abs(share - below).max())
            measurements.append(Measurement("rows too many below a quantile", gap, 0.0, _SPREAD))
        return Findings((Measurement("rows", float(n), float(_ROWS), float(_ROWS)), *measurements))


class _Mixed:
    """The law of a mixture: one of several laws, by shares."""

    def __init__(self, shares: Sequence[float], laws: Sequence[Any]) -> None:
        self._parts = tuple(zip(shares, laws, strict=True))

    def mean(self) -> float:
        return sum(share * law.mean() for share, law in self._parts)

    def var(self) -> float:
        mean = self.mean()
        return sum(share * (law.var() + (law.mean() - mean) ** 2) for share, law in self._parts)

    def cdf(self, x: Floats) -> Any:
        return sum(share * law.cdf(x) for share, law in self._parts)

    def ppf(self, at: float) -> Floats:
        """Each part's own: points at which the law is looked at."""
        return np.array([law.ppf(at) for _, law in self._parts])


@dataclass(frozen=True, kw_only=True)
class FollowingValues(_Drawn):
    """The values of columns that follow from synthetic values before, as `follows` says."""

    table: Callable[[], pl.DataFrame]
    schema: Schema
    draws: Sequence[Floats]
    follows: Callable[[pl.DataFrame], dict[str, Any]]
    sampling: str = "independent"
    in_steps: bool = False
    records: int | None = None

    def found(self) -> Findings:
        """The rows that do not follow, by column."""
        released = _released(
            self.table(),
            self.schema,
            self.draws,
            sampling=self.sampling,
            in_steps=self.in_steps,
            records=self.records,
        )
        return Findings(
            tuple(
                Measurement(f"rows that do not follow: {what}", float(np.sum(~right)), 0.0, 0.0)
                for what, right in self.follows(released).items()
            )
        )


def _categories(shares: Sequence[float] | Floats) -> Any:
    return stats.rv_discrete(values=(np.arange(1, len(shares) + 1), shares))


_LEVELS: Final = ("a", "b", "c")
_ETA: Final = -0.4
_LOGISTIC: Final = stats.logistic(_ETA)
_SHARES_OF_LEVELS: Final = (0.2, 0.5, 0.3)
_OF_LEVELS: Final = _categories(_SHARES_OF_LEVELS)
_TRUNCATED: Final = stats.truncnorm((-1.0 - 1.5) / 2.0, (3.0 - 1.5) / 2.0, 1.5, 2.0)

# Each family's column, its parameters on the samplers' scale (0 for the prior's), and its law.
_LAWS: Final[dict[str, tuple[Column, Sequence[float], Any, tuple[Any, Any]]]] = {
    "poisson": (Column(model="poisson"), (1.2, 0.0), stats.poisson(np.exp(1.2)), (0, 9)),
    "negative-binomial": (
        Column(model="negative-binomial"),
        (1.6, 0.0, -np.log(2.5)),
        stats.nbinom(2.5, 2.5 / (2.5 + np.exp(1.6))),
        (0, 9),
    ),
    "normal": (Column(model="normal"), (-3.0, 0.0, np.log(0.8)), stats.norm(-3.0, 0.8), (0.0, 9.0)),
    "normal-log": (
        Column(
            model="normal",
            outcome_scale="log",
            settings={"outcome_centre": -2.0, "outcome_unit": 50.0},
        ),
        (0.5, 0.0, np.log(0.4)),
        stats.lognorm(0.4, -2.0, 50.0 * np.exp(0.5)),
        (1.0, 9.0),
    ),
    "truncated-normal": (
        Column(model="truncated-normal", range=(-1.0, 3.0)),
        (1.5, 0.0, np.log(2.0)),
        _TRUNCATED,
        (0.0, 3.0),
    ),
    "gamma": (
        Column(model="gamma"),
        (0.7, 0.0, -np.log(1.8)),
        stats.gamma(1.8, scale=np.exp(0.7) / 1.8),
        (0.5, 9.0),
    ),
    "beta": (
        Column(model="beta", range=(10.0, 30.0)),
        (_ETA, 0.0, -np.log(6.0)),
        stats.beta(6.0 * _LOGISTIC.sf(0.0), 6.0 * _LOGISTIC.cdf(0.0), 10.0, 20.0),
        (12.0, 29.0),
    ),
    "logistic": (
        Column(model="logistic", levels=_LEVELS[:2]),
        (_ETA, 0.0),
        _categories((_LOGISTIC.cdf(0.0), _LOGISTIC.sf(0.0))),
        ("a", "b"),
    ),
    "ordinal": (
        Column(model="ordinal", levels=_LEVELS),
        (_ETA, 0.0, np.log(1.5)),
        _categories(np.diff([0.0, _LOGISTIC.cdf(0.0), _LOGISTIC.cdf(1.5), 1.0])),
        ("a", "c"),
    ),
    "nominal": (
        Column(model="nominal", levels=_LEVELS),
        (*np.log(np.divide(_SHARES_OF_LEVELS[1:], _SHARES_OF_LEVELS[0])), 0.0),
        _OF_LEVELS,
        ("a", "c"),
    ),
    "table": (
        Column(model="table", levels=_LEVELS),
        tuple(np.log(_SHARES_OF_LEVELS)),
        _OF_LEVELS,
        ("a", "c"),
    ),
    "normal-mixture": (
        Column(
            model="normal-mixture",
            settings={"components": 2, "smallest_sd": 0.05, "labels": "prior"},
        ),
        (-2.0, 3.0, 0.0, np.log(0.45), np.log(1.15), np.log(0.3), np.log(0.7), 0.0),
        _Mixed((0.3, 0.7), (stats.norm(-2.0, 0.5), stats.norm(3.0, 1.2))),
        (0.0, 9.0),
    ),
}
_ONE_NUMBER: Final = ("normal", "truncated-normal", "logistic", "ordinal", "nominal", "table")
"""Families that make a value of one uniform number, which systematic draws spread evenly."""


# What follows what.

_FOUR: Final = ("1", "2", "3", "4")
_NEVER: Final = -800.0
_SURE: Final = -20.0  # log sigma of numbers that the values before decide.
_NEAR: Final = 1e-6


def _sure(*places: int, levels: int) -> Floats:
    """Log shares of a table whose pattern p has the level `places[p]`, from 0, flattened."""
    log_shares = np.full((len(places), levels), _NEVER)
    log_shares[np.arange(len(places)), places] = 0.0
    return log_shares.ravel()


def _number(*beta: float) -> Floats:
    """The parameters of a normal number that is X beta."""
    K = len(beta)
    return np.array([*beta, *np.zeros(K + K * (K - 1) // 2), _SURE])


_CHAIN: Final = Schema(
    {
        "z": Column(role="public", levels=("u", "v", "w")),
        "a": Column(model="table", levels=_FOUR, predictors=("z",)),
        "b": Column(model="table", levels=_FOUR, predictors=("a",)),
        "c": Column(model="normal", range=(0.0, 64.0), predictors=("b",)),
        "d": Column(model="normal", range=(0.0, 10.0), predictors=("c",)),
        "e": Column(
            model="normal",
            range=(-8.0, 8.0),
            missing=True,
            part={"model": "table", "predictors": ("a",)},
            predictors=("a", "d"),
        ),
        "f": Column(model="normal", range=(-16.0, 16.0), predictors=("e",)),
    }
)
_OF_CHAIN: Final = (
    # Under u and v two levels each, so that a is not known from z alone; under w the fourth.
    np.concatenate([np.log([0.5, 0.5]), [_NEVER] * 4, np.log([0.5, 0.5]), *([_NEVER] * 3, [0.0])]),
    _sure(1, 2, 3, 0, levels=4),
    _number(10.0, 10.0, 20.0, 30.0),
    _number(3.0, 2.0),
    _sure(1, 0, 0, 0, levels=2),
    _number(1.0, 0.0, 0.5, -0.5, 4.0),
    _number(1.0, 4.0, 2.0),
)


def _unlike_the_chain() -> pl.DataFrame:
    """300 records none of whose columns keeps to the chain, but by chance."""
    stream, N = Draws(3), 300
    four = np.array(_FOUR)
    e = stream.uniform(N, -8.0, 8.0)
    return pl.DataFrame(
        {
            "z": np.array(["u", "v", "w"])[stream.whole(N, 3)],
            "a": four[stream.whole(N, 4)],
            "b": four[stream.whole(N, 4)],
            "c": stream.uniform(N, 0.0, 64.0),
            "d": stream.uniform(N, 0.0, 10.0),
            "e": pl.Series(np.where(stream.uniform(N) < 0.5, np.nan, e)).fill_nan(None),
            "f": stream.uniform(N, -16.0, 16.0),
        }
    )


def _chained(released: pl.DataFrame) -> dict[str, Any]:
    """Whether each released row follows, by column."""
    z = released["z"].to_numpy()
    a, b = (released[name].cast(pl.Float64).to_numpy() for name in "ab")
    c, d, e, f = (released[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in "cdef")
    of_a = np.select([a == 3.0, a == 4.0], [0.5, -0.5], 0.0)
    missing = np.isnan(e)
    return {
        "a": np.select([z == "u", z == "v"], [a <= 2.0, a >= 3.0], a == 4.0),
        "b": b == a % 4.0 + 1.0,
        "c": np.abs(c - 10.0 * b) < _NEAR,
        "d": np.abs(d - (3.0 + 2.0 * (c - 32.0) / 32.0)) < _NEAR,
        "part of e": missing == (a == 1.0),
        "e": missing | (np.abs(e - (1.0 + of_a + 4.0 * (d - 5.0) / 5.0)) < _NEAR),
        "f": np.abs(f - np.where(missing, 5.0, 1.0 + 2.0 * e / 8.0)) < _NEAR,
        "levels of a": np.isin(_FOUR, released["a"].to_numpy()),
    }


_UNITS: Final = Schema(
    {
        "home": Column(role="id"),
        "level": Column(model="normal", range=(-16.0, 16.0), predictors=("persons",)),
        "kind": Column(model="table", levels=("x", "y"), predictors=("last",)),
        "amount": Column(model="normal", range=(-32.0, 32.0), predictors=("level", "before")),
    },
    unit="home",
    members=Members(
        sizes=(1, 3),
        of_unit=("level",),
        summaries={"persons": "size", "before": "count", "last": "last kind"},
    ),
)
_NUMBER_OF_UNITS: Final = 500
_OF_UNITS: Final = (
    np.log([0.25, 0.25, 0.5]),
    _number(2.0, 3.0, 6.0),
    _sure(1, 0, 0, levels=2),  # After x comes y, after y and after nobody x.
    _number(1.0, 4.0, 8.0, 12.0),
)


def _unlike_the_units() -> pl.DataFrame:
    """40 units of one to three members whose columns follow no rule."""
    stream, H = Draws(4), 40
    unit = np.repeat(np.arange(H), stream.whole(H, 3) + 1)
    N = len(unit)
    return pl.DataFrame(
        {
            "home": unit,
            "level": stream.uniform(H, -16.0, 16.0)[unit],
            "kind": np.array(["x", "y"])[stream.whole(N, 2)],
            "amount": stream.uniform(N, -32.0, 32.0),
        }
    )


def _of_their_units(released: pl.DataFrame) -> dict[str, Any]:
    """Whether each released member follows from its unit and from the members before, by column."""
    home, kind = released["home"].to_numpy(), released["kind"].to_numpy()
    level, amount = released["level"].to_numpy(), released["amount"].to_numpy()
    units, first, sizes = np.unique(home, return_index=True, return_counts=True)
    place = np.arange(len(home)) - np.repeat(first, sizes)
    own = np.repeat(sizes, sizes)
    shares = np.bincount(sizes, minlength=4)[1:] / len(units)
    after = np.array([0.0, 8.0, 12.0])[place]
    return {
        "home": (np.diff(home) >= 0) & (np.diff(home) <= 1),
        "size": np.abs(shares - (0.25, 0.25, 0.5)) < _LIMIT * 0.5 / np.sqrt(_NUMBER_OF_UNITS),
        "number of units": np.array([len(units) == _NUMBER_OF_UNITS]),
        "level": np.abs(level - (2.0 + 3.0 * (own - 1))) < _NEAR,
        "kind": kind == np.where(place % 2 == 0, "x", "y"),
        "amount": np.abs(amount - (1.0 + 4.0 * level / 16.0 + after)) < _NEAR,
    }


CASES: Final[tuple[DrawnLaw | FollowingValues, ...]] = (
    *(
        DrawnLaw(id=f"statement/values-{name}", column=column, q=q, law=law, seen=seen)
        for name, (column, q, law, seen) in _LAWS.items()
    ),
    *(
        DrawnLaw(
            id=f"statement/values-systematic-{name}",
            **dict(zip(("column", "q", "law", "seen"), _LAWS[name], strict=True)),
            sampling="systematic",
        )
        for name in _ONE_NUMBER
    ),
    *(
        FollowingValues(
            id=f"statement/values-follow{name}",
            table=_unlike_the_chain,
            schema=_CHAIN,
            draws=_OF_CHAIN,
            follows=_chained,
            **how,
        )
        for name, how in (
            ("", {}),
            ("-systematic", {"sampling": "systematic"}),
            ("-in-steps", {"in_steps": True}),
        )
    ),
    FollowingValues(
        id="statement/values-follow-members",
        table=_unlike_the_units,
        schema=_UNITS,
        draws=_OF_UNITS,
        follows=_of_their_units,
        records=_NUMBER_OF_UNITS,
    ),
)
