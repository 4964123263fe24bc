"""What an analyst needs of a release, as sets to count: from settings and the schema alone.

"poor by region" needs the shares of the levels of `poor` within each `region`: their joint set.
"income ~ age + sex" needs a regression: all pairs of its columns, and one set of all of them whose
codes are joined into few groups each. All of them have about as much of the budget as all pairs of
columns. So each has as many times the usual share as there are pairs for it: from `_SHARE` to the
number of columns.

A share p of a group of n_g records has noise of deviation
sigma sqrt((1 - p)^2 k_1 + p^2 k_0) / n_g, for k_1 cells of the level and k_0 others. The group as a
sample adds the variance p (1 - p) / n_g, which no epsilon buys. Least squares over all sets comes
nearer, so this is a bound.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Self

import numpy as np
from scipy.special import ndtri

from pyvws._base.checks import Floats, near
from pyvws.errors import InputError
from pyvws.mechanisms.counts.by_rule import counted_columns
from pyvws.mechanisms.counts.cliques import EVENLY
from pyvws.mechanisms.counts.coding import MOST_OF_PAIR, Codes, CountedColumn
from pyvws.mechanisms.counts.set_words import SHARE, set_word
from pyvws.mechanisms.counts.workload import Workload
from pyvws.tables.schema.formula import read_formula
from pyvws.tables.schema.schema import Schema

LEVEL: Final = 0.95
"""Level of the intervals that a need is about."""
SURE: Final = 4.0
"""Deviations of its noise that a group must have, so that shares of it are told."""
MOST_EPSILON: Final = 20.0
"""The epsilon that no need may ask for."""

_SHARE: Final = 3  # Times the usual one, at least.
_GROUPS: Final = (3, 2)  # Of a column; from 2 to 5 regressions come out nearly alike.
_APART: Final = 2  # Codes beside the groups, such as missing ones.
_MOST_CELLS: Final = 1_000
_OF_EPSILON: Final = 100  # Steps of an epsilon of 1 in its search.
_SIZE: Final = re.compile(
    r"(?P<asked>.+?)(\s+within\s+(?P<within>\d*\.?\d+)(\s+points?)?(\s+of\s+(?P<size>\d+))?)?"
)


@dataclass(frozen=True, slots=True)
class Need:
    """A figure that analysts ask for, and how sure.

    - `words`: The need without its precision: "poor by region", or a formula with one response.
    - `columns`: The column of shares or of the response, and then the others.
    - `regression`: Whether it is a formula.
    - `within`: What a 95 % interval may reach to each side, in points of a share. For a regression,
      the standard errors that it may have, over those of as many records without noise.
    - `size`: The records of a group, where they are assumed.
    """

    words: str
    columns: tuple[str, ...]
    regression: bool
    within: float | None = None
    size: int | None = None

    @classmethod
    def read(cls, text: str) -> Self:
        """The need of a text such as "poor by region + sex within 2 points of 400"."""
        found = _SIZE.fullmatch(text.strip())
        if found is None:
            raise InputError.by("need-words", need=text)
        words, size = found["asked"], found["size"]
        within = None if found["within"] is None else float(found["within"])
        left, tilde, right = (part.strip() for part in words.partition("~"))
        if tilde:
            parts = [own for side in (left, right) for own in read_formula(f"~ {side}").columns]
        else:
            left, by, right = (part.strip() for part in words.partition(" by "))
            parts = [left, *(part.strip() for part in right.split("+"))] if by else []
        columns = tuple(dict.fromkeys(parts))
        asked = bool(left) and len(columns) == len(parts) > 1 and all(columns)
        if not asked or within == 0.0 or size == "0":
            raise InputError.by("need-words", need=text)
        return cls(words, columns, bool(tilde), within, None if size is None else int(size))

    def check(self, columns: Mapping[str, CountedColumn]) -> None:
        """Raise InputError for a column that is not counted, and for shares of numbers."""
        for name in self.columns:
            if name not in columns:
                hint = near(name, columns)
                raise InputError.by("need-unknown-column", need=self.words, name=name, hint=hint)
            if not (self.regression or columns[name].column.categorical):
                raise InputError.by("need-of-number", need=self.words, name=name)

    def sets(self, columns: Mapping[str, CountedColumn]) -> list[str]:
        """The sets to count, as words of `measure` without their share."""
        own = [name for name in columns if name in self.columns]
        if not self.regression:
            return [set_word(own)]
        found = [
            set_word(pair)
            for pair in combinations(own, 2)
            if math.prod(columns[name].size for name in pair) <= MOST_OF_PAIR
        ]
        for groups in _GROUPS if len(own) > 2 else ():
            cut = [name for name in own if columns[name].size > groups + _APART]
            size = math.prod(min(columns[name].size, groups + _APART) for name in own)
            if size <= _MOST_CELLS:
                cuts = {name: [f"{EVENLY}{groups}"] for name in cut}
                return [*found, set_word({"columns": own, "cuts": cuts})]
        return found

    def half_width(
        self, columns: Mapping[str, CountedColumn], deviation: float, records: int
    ) -> float:
        """How far the interval of a share reaches at most, in points of 100.

        `deviation` is that of the noise of the need's set, and `records` the number of all, which
        groups share evenly where their size is not assumed. Infinite where noise hides the group.
        """
        levels = columns[self.columns[0]].size
        groups = math.prod(columns[name].size for name in self.columns[1:])
        size = self.size or records / groups
        if size <= SURE * deviation * math.sqrt(levels):
            return math.inf
        p = np.linspace(0.0, 1.0, 201)
        noise = deviation**2 * ((1.0 - p) ** 2 + p**2 * (levels - 1)) / size**2
        spread = float(np.sqrt(noise + p * (1.0 - p) / size).max())
        return 100.0 * float(ndtri(0.5 + 0.5 * LEVEL)) * spread


def needs_of(given: str | Iterable[str]) -> tuple[str, ...]:
    """Needs one by one, of a text with commas between them, which those in parentheses are not."""
    several = re.split(r",(?![^()]*\))", given) if isinstance(given, str) else map(str, given)
    return tuple(filter(None, (own.strip(' "') for own in several)))


def sets_of_needs(needs: Sequence[Need], schema: Schema) -> list[str]:
    """What the needs add to the sets that are counted of a table with that schema."""
    columns = counted_columns(schema) if needs else {}
    for need in needs:
        need.check(columns)
    sets = dict.fromkeys(word for need in needs for word in need.sets(columns))
    share = max(_SHARE, min(len(columns), math.comb(len(columns), 2) // max(1, len(sets))))
    return [f"{word}{SHARE}{share}" for word in sets]


def half_widths(
    needs: Sequence[Need], schema: Schema, deviation: Callable[[Need], float], records: int
) -> dict[str, float]:
    """What `half_width` says of each need of shares whose groups have a size, by its words.

    `deviation` is that of a need's set. `records` is 0 where their number is not known.
    """
    columns = counted_columns(schema)
    return {
        need.words: need.half_width(columns, deviation(need), records)
        for need in needs
        if not need.regression and (need.size or records)
    }


def off_on_average(
    needs: Sequence[Need], true: Codes, made: Codes, table: Workload
) -> dict[str, float]:
    """How far coefficients of records `made` (n, K) are from those of `true` ones (N, K), by need.

    A mean over coefficients, in standard errors of the true records' own. A number stands at the
    middle of its cell. Names have a column for each level but the first. Larger = further off.
    """
    found = {}
    for need in needs:
        if need.regression:
            fitted = [_least_squares(need, codes, table) for codes in (true, made)]
            (own, error), (other, _) = fitted
            known = np.isfinite(error) & (error > 0.0)
            found[need.words] = float(np.abs((other - own)[known] / error[known]).mean())
    return found


def _least_squares(need: Need, codes: Codes, table: Workload) -> tuple[Floats, Floats]:
    """Coefficients (P,) of the need's columns by least squares, and their standard errors."""
    by_name, kept = table.by_name(codes), np.ones(len(codes), dtype=np.bool_)
    parts: list[Floats] = []
    for name in need.columns:
        column, own = table.columns[name], by_name[name]
        values, kept = column.numbers, kept & (own >= 0)
        if np.isfinite(values).any():
            kept &= np.isfinite(values)[own]
            parts.append(values[own][:, None])
        else:
            parts.append((own[:, None] == np.arange(1, column.size)).astype(np.float64))
    y = parts[0][kept, -1]
    design = np.column_stack([np.ones(len(codes)), *parts[1:]])[kept]
    inverse = np.linalg.pinv(design.T @ design, hermitian=True)
    beta = inverse @ (design.T @ y)
    left = y - design @ beta
    variance = float(left @ left) / max(1, len(left) - len(beta))
    return beta, np.sqrt(np.maximum(np.diag(inverse), 0.0) * variance)


def least_epsilon(
    needs: Sequence[Need], widths: Callable[[float], Mapping[str, float]]
) -> float | None:
    """The least epsilon, in hundredths, at which the needs are met that have a precision.

    `widths` gives the half widths at an epsilon. None where none of them has a precision and a
    size. Raises InputError where none below 20 is enough.
    """
    asked = refuse_beyond(needs, widths(MOST_EPSILON))
    low, high = 0, int(MOST_EPSILON * _OF_EPSILON)
    while asked and high - low > 1:
        middle = (low + high) // 2
        found = widths(middle / _OF_EPSILON)
        if all(found[words] <= within for words, within in asked.items()):
            high = middle
        else:
            low = middle
    return high / _OF_EPSILON if asked else None


def refuse_beyond(needs: Sequence[Need], at_most: Mapping[str, float]) -> dict[str, float]:
    """The precision of each need that has one, by its words.

    Raises InputError for one that the half widths `at_most`, of epsilon 20, do not reach.
    """
    asked = {need.words: need.within for need in needs if need.within and need.words in at_most}
    for words, within in asked.items():
        if at_most[words] > within:
            at, most = at_most[words], MOST_EPSILON
            raise InputError.by("need-beyond-epsilon", need=words, within=within, most=most, at=at)
    return asked
