"""What the statements of all releases share: how facts become privacy.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyvws._base.phrase import Phrase
from pyvws.statement.ledger import LedgerEntry
from pyvws.statement.words import caveat

__all__ = ["ROW_ORDERS", "STATEMENT_VERSION", "Statement"]

STATEMENT_VERSION = 2
"""Of the form of privacy.json, which privacy.schema.json describes; 1 had no keys of caveats."""

ROW_ORDERS = ("random", "as in the table")
"""What a statement calls the order of rows: without and with keep_order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What the statements of all mechanisms hold.

    Attributes
    ----------
    mechanism : str
        Name as on the command line.
    datasets : int
        Synthetic datasets released.
    columns_released_unchanged : tuple of str
        Columns that are released as they are, treated as public.
    rounded : bool
        Whether the outcome was rounded to whole numbers first.
    keep_order : bool
        Whether rows stand in the table's order; else they are in a random one.
    """

    mechanism: str
    datasets: int
    columns_released_unchanged: tuple[str, ...]
    rounded: bool
    keep_order: bool = False

    def exact(self) -> dict[str, Any]:
        """The statement with exact figures, for the confidential folder."""
        return self._written(False)

    def released(self) -> dict[str, Any]:
        """The statement for the release: figures rounded up to one decimal."""
        return self._written(True)

    def caveats(self, *, exact: bool = False) -> list[Phrase]:
        """What a reader must know before relying on the numbers.

        Diagnostics are told only to the agency itself (`exact`): they are figures of the data.
        """
        raise NotImplementedError

    def ledger(self) -> list[LedgerEntry]:
        """Every use of the confidential data and its cost."""
        raise NotImplementedError

    def _trusted(self) -> list[str]:
        raise NotImplementedError

    def _facts(self, round_up: bool) -> dict[str, Any]:
        """The values of the statement but for those of `_written`."""
        raise NotImplementedError

    def _written(self, round_up: bool) -> dict[str, Any]:
        caveats = self.caveats(exact=not round_up)
        return {
            "statement_version": STATEMENT_VERSION,
            "mechanism": self.mechanism,
            **self._facts(round_up),
            "unit_of_privacy": "one record",
            "datasets": self.datasets,
            "columns_released_unchanged": list(self.columns_released_unchanged),
            "row_order": ROW_ORDERS[self.keep_order],
            "ledger": [entry.written(round_up) for entry in self.ledger()],
            "trust_assumptions": self._trusted(),
            "caveats": [caveat(said) for said in caveats],
            "caveat_keys": [said.written() for said in caveats],
        }
