"""Patterns of codes that rules leave, such that all combinations within a pattern keep the rules.

A rule reads codes of earlier columns. Codes that no rule tells apart are alike, and a pattern takes
alike codes of each column that a rule reads, with what rules then force or bar elsewhere. So the
rules hold in a product of categories that lies within a pattern, and need no further look.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from pyvws.mechanisms.counts.workload import Workload

_MOST: Final = 64


def rule_patterns(table: Workload) -> NDArray[np.bool_] | None:
    """The codes of each pattern: (P, sum of L) over the columns in turn; None of above 64."""
    found: list[dict[str, NDArray[np.bool_]]] = [{}]
    for name, column in table.columns.items():
        alike, skip = _alike(table, name), table.skips.get(name)
        wider = []
        for left in found:
            own = np.ones(column.size, dtype=np.bool_)
            if skip is not None:
                codes = np.arange(column.size, dtype=np.int32)
                parents = {
                    parent: np.full_like(codes, left[parent].argmax())
                    for parent in skip.rows.columns
                }
                own = skip.keeps(parents, codes)
            for group in np.unique(alike[own]):
                wider.append({**left, name: own & (alike == group)})
        found = wider
        if not 0 < len(found) <= _MOST:
            return None
    return np.array([np.concatenate([*left.values()]) for left in found])


def _alike(table: Workload, name: str) -> NDArray[np.intp]:
    """A group (L,) of each code of a column, where rules of others tell no two of one apart."""
    seen = [np.zeros((table.columns[name].size, 1), dtype=np.int64)]
    for skip in table.skips.values():
        if name in skip.rows.columns:
            axis = skip.rows.columns.index(name)
            of_cases = [skip.forced, *([] if skip.left is None else [skip.left])]
            for of_case in of_cases:
                by_column = of_case.astype(np.int64).reshape(*skip.rows.sizes, -1)
                seen.append(np.moveaxis(by_column, axis, 0).reshape(len(seen[0]), -1))
    return np.unique(np.concatenate(seen, axis=1), axis=0, return_inverse=True)[1].ravel()
