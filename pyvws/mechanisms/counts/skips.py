"""Rules of a schema as skips: a column that a rule fixes has probability 1 there.

A rule such as "missing where age < 15" reads columns before its own. Its condition is true or false
of whole cells, since the numbers that it compares with begin and end cells. A skipped column takes
its forced code and has no part in its class's shares. A rule with "never" bars codes in a case, so
that such records are impossible [structuralzeros2014]. No record breaks a rule.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyvws.errors import InputError
from pyvws.mechanisms.counts.by_rule import BlankColumn, BoundedColumn, counted_names
from pyvws.mechanisms.counts.cliques import Clique, clique
from pyvws.mechanisms.counts.coding import Codes, CountedColumn
from pyvws.tables.schema.rules import Fixed, Never
from pyvws.tables.schema.schema import Schema

_MOST_CASES = 1_000_000
MOST_PATTERNS = 64
"""Of rules that classes keep by themselves."""


@dataclass(frozen=True, slots=True, eq=False)
class Skip:
    """What rules fix a column at, and what they bar.

    - `rows`: The cases: combinations of the columns that the rules read, all before the column's
      own.
    - `forced` (cases,): The code that a case has, or -1 where the model draws it.
    - `barred`: Codes that rules alone give, so that the model draws none of them.
    - `left` (cases, codes): The codes that a case leaves; all without it.
    """

    rows: Clique
    forced: Codes
    barred: tuple[int, ...] = ()
    left: NDArray[np.bool_] | None = None

    def of(self, codes: Mapping[str, Codes]) -> Codes:
        """The forced codes (N,) of records of known codes (N,), -1 where the model draws."""
        return self.forced[self.rows.cells(codes)]

    def allowed(self, cases: NDArray[np.signedinteger[Any]], size: int) -> NDArray[np.bool_]:
        """Which of so many codes of the column some cases (M,) leave, (M, size)."""
        forced, codes = self.forced[cases, None], np.arange(size)
        kept = np.where(forced < 0, ~np.isin(codes, self.barred), codes == forced)
        return kept if self.left is None else kept & self.left[cases]

    def keeps(self, codes: Mapping[str, Codes], own: Codes) -> NDArray[np.bool_]:
        """Whether records of codes (N,) may have their `own` ones (N,) of the column."""
        case = self.rows.cells(codes)
        forced = self.forced[case]
        kept = np.where(forced < 0, ~np.isin(own, self.barred), forced == own)
        return kept if self.left is None else kept & self.left[case, own]


def skips_of(schema: Schema, columns: Mapping[str, CountedColumn]) -> dict[str, Skip]:
    """The skips by their column; InputError for a rule that is no skip.

    A bound is none: what is counted keeps it. But its codes follow from whether the number that
    bounds is missing.
    """
    skips, counted = {}, counted_names(columns)
    for name, as_counted in counted.items():
        told = [rule for rule in schema.columns[name].rules if isinstance(rule, Fixed | Never)]
        for rule in told:
            _check(name, rule, counted)
        own, further = columns[as_counted], dict[str, str]()
        if isinstance(own, BoundedColumn) and own.earlier.column.missing_codes:
            further = {x: counted[x] for x in (own.earlier.name,) if x in counted}
        if told or further:
            skips[as_counted] = _skip(name, told, schema, columns, further)
    return skips


def _check(name: str, rule: Fixed | Never, counted: Mapping[str, str]) -> None:
    compared = (
        comparison
        for comparison in ast.walk(rule.condition.tree)
        if isinstance(comparison, ast.Compare)
    )
    plain = all(
        sum(isinstance(part, ast.Name) and part.id != "missing" for part in ast.walk(comparison))
        == 1
        for comparison in compared
    )
    if not plain or not {*rule.columns} <= {*counted}:
        raise InputError.by("counts-rule-unreadable", name=name)


def _skip(
    name: str,
    rules: list[Fixed | Never],
    schema: Schema,
    columns: Mapping[str, CountedColumn],
    further: Mapping[str, str],
) -> Skip:
    counted = counted_names(columns)
    parents = {parent: counted[parent] for rule in rules for parent in rule.columns} | {**further}
    rows = clique(columns, parents.values())
    cases = rows.size
    if cases > _MOST_CASES:
        raise InputError.by("counts-rule-too-many-cases", name=name, cases=cases)
    own, codes = columns[counted[name]], rows.codes
    forced = np.full(cases, -1, dtype=np.int32)
    barred: set[int] = set()
    left = np.ones((cases, own.size), dtype=np.bool_)
    for as_counted in further.values():
        assert isinstance(own, BoundedColumn)
        left &= own.left(np.isnan(columns[as_counted].ends[0][codes[as_counted]]))
    for rule in rules:
        ends = [
            rule.condition.holds(
                {parent: columns[x].ends[high][codes[x]] for parent, x in parents.items()},
                schema.columns,
            )
            for high in (False, True)
        ]
        if (ends[0] != ends[1]).any():
            for other in rule.columns:
                if isinstance(columns[parents[other]], BlankColumn):
                    raise InputError.by("counts-rule-unreadable", name=name)
                if other != parents[other]:
                    counts = parents[other]
                    raise InputError.by(
                        "counts-rule-of-bounded", name=name, other=other, counted=counts
                    )
            raise InputError.by("counts-rule-splits-cell", name=name)
        missing = own.column.missing_codes
        if isinstance(rule, Never):
            gone = (label for x in rule.barred for label in (missing if x is None else (x,)))
            left[np.ix_(ends[0], np.array([own.code_of(label) for label in gone]))] = False
            continue
        code = own.code_of(missing[0] if rule.value is None else rule.value)
        forced[ends[0] & (forced < 0)] = code
        if rule.only:
            labels = missing if rule.value is None else (rule.value,)
            barred |= {own.code_of(label) for label in labels}
    own_left = None if left.all() else left
    return Skip(rows, forced, tuple(sorted(barred)), own_left)


def barred_pairs(
    columns: Mapping[str, CountedColumn], skips: Mapping[str, Skip]
) -> NDArray[np.bool_]:
    """Which pairs of codes (sum of L, sum of L) the rules of either column leave no record."""
    sizes = [column.size for column in columns.values()]
    begin = dict(zip(columns, np.cumsum([0, *sizes]).tolist(), strict=False))
    barred = np.zeros((sum(sizes), sum(sizes)), dtype=np.bool_)
    for name, skip in skips.items():
        own = slice(begin[name], begin[name] + columns[name].size)
        for parent, of_case in skip.rows.codes.items():
            for code in range(columns[parent].size):
                left = skip.allowed(np.flatnonzero(of_case == code), columns[name].size)
                barred[begin[parent] + code, own] |= ~left.any(axis=0)
    return barred | barred.T


def rule_patterns(
    columns: Mapping[str, CountedColumn], skips: Mapping[str, Skip]
) -> NDArray[np.bool_]:
    """Patterns of codes, (P, sum of L) over the columns in turn, of which there are at most 64.

    All combinations within a pattern keep the rules: it takes codes that no rule tells apart of
    each column that a rule reads, with what rules then force or bar elsewhere. Where the rules make
    too many patterns, some columns' rules are in none. Those that fix a code come first.
    """
    kept, every = dict[str, Skip](), sum(column.size for column in columns.values())
    patterns = np.ones((1, every), dtype=np.bool_)
    for name in sorted(skips, key=lambda name: skips[name].left is not None):
        more = {one: skip for one, skip in skips.items() if one in kept or one == name}
        if (wider := _patterns(columns, more)) is not None:
            kept, patterns = more, wider
    return patterns


def _patterns(
    columns: Mapping[str, CountedColumn], skips: Mapping[str, Skip]
) -> NDArray[np.bool_] | None:
    """The patterns of `rule_patterns` of all these rules; None of none and of above 64."""
    found: list[dict[str, NDArray[np.bool_]]] = [{}]
    for name, column in columns.items():
        alike, skip = _alike(column.size, name, skips), skips.get(name)
        wider = []
        for left in found:
            own = np.ones(column.size, dtype=np.bool_)
            if skip is not None:
                codes = np.arange(column.size, dtype=np.int32)
                parents = {
                    parent: np.full_like(codes, left[parent].argmax())
                    for parent in skip.rows.columns
                }
                own = skip.keeps({**parents, name: codes}, codes)
            for group in np.unique(alike[own]):
                wider.append({**left, name: own & (alike == group)})
        found = wider
        if not 0 < len(found) <= MOST_PATTERNS:
            return None
    none = np.empty(0, dtype=np.bool_)
    return np.array([np.concatenate([none, *left.values()]) for left in found])


def _alike(size: int, name: str, skips: Mapping[str, Skip]) -> NDArray[np.intp]:
    """A group (L,) of each code of a column, where rules of others tell no two of one apart."""
    seen = [b""] * size
    for skip in skips.values():
        if name in skip.rows.columns:
            axis = skip.rows.columns.index(name)
            forced = (skip.forced + 1).astype(">u4")  # Their bytes have the order of the codes.
            for of_case in [forced, *([] if skip.left is None else [skip.left])]:
                by_column = of_case.reshape(*skip.rows.sizes, -1)
                rows = np.moveaxis(by_column, axis, 0)
                seen = [before + row.tobytes() for before, row in zip(seen, rows, strict=True)]
    groups = {key: g for g, key in enumerate(sorted({*seen}))}
    return np.array([groups[key] for key in seen], dtype=np.intp)
