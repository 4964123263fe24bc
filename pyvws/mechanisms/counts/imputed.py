"""Tables of records that fits of noisy counts gave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.measurements import Measurements


@dataclass(frozen=True, slots=True, eq=False)
class Imputed:
    """Imputed tables, and how near to the counts they are.

    - `codes` (n, K): The records of each dataset.
    - `numbers` (n,): Numbers within the records' cells, of the columns whose family gives them.
    - `misfit`: Mean over cells of ((S - M) / deviation)^2, of the fitted counts M, or those of the
      records where no class gives a column: near 1 where the model is large enough; larger = the
      model is too small for the noise.
    - `classes`: Classes of the fits.
    """

    codes: list[Codes]
    numbers: list[dict[str, Floats]]
    misfit: float
    classes: int


def misfit_of(noisy: Measurements, codes: Codes) -> float:
    """The misfit of records (n, K) themselves."""
    gap = (noisy.counts - noisy.table.counts(codes)) / np.repeat(
        noisy.deviations, noisy.table.sizes
    )
    return float((gap[noisy.table.possible] ** 2).mean())
