"""What rows that stand for survey weights say of the sample: sums of squared weights.

A figure of the population has the sampling variance of sums of w and of w^2, such as
[(1 - 2 p) T_c + p^2 T] / (sum w)^2 of a share p, with T_c the squares of its cell. Kish's effective
number of records takes both sums as one ratio for all cells. So it fails where weights follow the
outcome. A release has noisy sums of squares by the codes of each column. Here every row gets a
square, so that the rows have these sums: by iterative proportional fitting over the columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.evaluation.combining_rules import NoisyCells
from pyvws.evaluation.public_cells import CellRecords
from pyvws.mechanisms.counts.coding import CountedColumn
from pyvws.mechanisms.counts.measurements import OF_SQUARES
from pyvws.privacy.budget import deviation_of

_PASSES: Final = 20


@dataclass(frozen=True, slots=True, eq=False)
class SquaredWeights:
    """The noisy sums of squared weights of a release, in squared rows.

    - `sums`: By the codes (L,) of each column.
    - `variances`: Of the noise of a sum, by column.
    - `stands_for`: The sum of weights that a row stands for.
    - `low`, `high`: The public range of the weights, in rows.
    """

    sums: Mapping[str, Floats]
    variances: Mapping[str, float]
    stands_for: float
    low: float
    high: float

    @classmethod
    def of(cls, cells: NoisyCells | None) -> SquaredWeights | None:
        """Those of a release; None where counts are no sums of weights."""
        if cells is None or not cells.weights:
            return None
        found: dict[str, list[tuple[int, float]]] = {}
        frame = nw.from_native(cells.frame, eager_only=True)
        for name, count, scale in zip(
            *(frame[x].to_list() for x in ("set", "count", "scale")), strict=True
        ):
            if name.startswith(OF_SQUARES):
                found.setdefault(name.removeprefix(OF_SQUARES), []).append((count, scale))
        of_scale, stands_for = deviation_of(cells.noise == "laplace"), cells.weights["stands_for"]
        low, high = cells.weights["range"]
        return cls(
            {name: np.array([float(x) for x, _ in own]) for name, own in found.items()},
            {name: (own[0][1] * of_scale) ** 2 for name, own in found.items()},
            stands_for,
            low / stands_for,
            high / stands_for,
        )

    def beside(
        self, records: CellRecords, frame: nw.DataFrame[Any], columns: Mapping[str, CountedColumn]
    ) -> CellRecords:
        """The rows of a dataset with the weights that they stand for, and their squares.

        Rows of clusters have no squares of their own.
        """
        weights = records.weights * self.stands_for
        if records.clusters is not None:
            return replace(records, weights=weights)
        known = {n: columns[n] for n in self.sums if n in columns}
        there = {n: x for n, x in known.items() if {y.name for y in x.reads} <= {*frame.columns}}
        codes = {name: column.read(frame)[0] for name, column in there.items()}
        squares = self.raked(np.ones(len(frame)), codes)
        return replace(records, weights=weights, squares=squares)

    def raked(self, rows: Floats, codes: Mapping[str, NDArray[Any]]) -> Floats:
        """The mean square (M,) of each of M cells, which stand for so many `rows`.

        `codes` (M,) are their codes by column, -1 for none. What differs from the mean of all rows
        by no more than noise is left out, and a mean square lies within the range of the weights.
        """
        square = np.full(len(rows), self._overall(rows))
        wanted = {}
        for name, own in codes.items():
            known, L = own >= 0, len(self.sums[name])
            n = np.bincount(own[known], rows[known], minlength=L)
            apart = self.sums[name] - square[0] * n if len(rows) else np.zeros(L)
            noise = L * self.variances[name]
            kept = max(0.0, 1.0 - noise / max(float(apart @ apart), 1e-300))
            wanted[name] = np.clip(square[:1] * n + kept * apart, self.low * n, self.high * n)
        for _ in range(_PASSES):
            for name, sums in wanted.items():
                own = codes[name]
                known = own >= 0
                each = np.bincount(own[known], (rows * square)[known], minlength=len(sums))
                ratio = np.divide(sums, each, out=np.ones_like(sums), where=each > 0.0)
                square[known] *= ratio[own[known]]
        return np.clip(square, max(self.low, 1e-6), self.high)

    def _overall(self, rows: Floats) -> float:
        """The mean square of all rows, of the sums over each column by their noise."""
        precision = np.array([1.0 / (len(x) * self.variances[n]) for n, x in self.sums.items()])
        totals = np.array([own.sum() for own in self.sums.values()])
        mean = float(totals @ precision / precision.sum()) / max(float(rows.sum()), 1.0)
        return float(np.clip(mean, max(1.0, self.low), self.high)) if len(totals) else 1.0
