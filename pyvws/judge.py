"""Functions that judge synthetic data from any tool: tables go in, figures come out.

Each name loads its module at its first use.
"""

from __future__ import annotations

from typing import Final

import pyvws

_NAMES: Final = (
    "AttackRisk",
    "Audit",
    "CanaryAudit",
    "Comparison",
    "PublishedTable",
    "TableRisk",
    "TableUtility",
    "VerificationAnswer",
    "associations",
    "attack_risk",
    "combine",
    "combine_formula",
    "counted_cells",
    "ecdf_utility",
    "interval_overlap",
    "match_risk",
    "pmse",
    "regression_utility",
    "table_risk",
    "table_utility",
    "tabulate",
    "utility_table",
    "verify",
)

__all__ = [*_NAMES]
__getattr__, __dir__ = pyvws._door(__name__, _NAMES)
