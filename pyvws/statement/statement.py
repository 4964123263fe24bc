"""The form of a privacy statement, which the statements of all mechanisms share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyvws._base.phrase import Phrase
from pyvws.privacy.seller import Spending
from pyvws.sheet import InSheets, Sheet
from pyvws.statement.parts import Epsilons, LedgerEntry, ReliesOn, certified, draw_of_dataset, spent
from pyvws.statement.releases import costs_together, release_cost, releases_known
from pyvws.statement.words import STRICT, USUAL_TRUST, caveat, if_public, parted_caveats, trust

STATEMENT_VERSION = 3
"""Version of the form of privacy.json. privacy.schema.json says how earlier versions differ."""

ROW_ORDERS = ("random", "as in the table")
"""A statement's words for the order of rows: without and with keep_order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(ABC):
    """The facts that the statements of all mechanisms hold.

    - `mechanism`: Name as on the command line.
    - `datasets`: Synthetic datasets released.
    - `columns_released_unchanged`: Columns that the agency treats as public and releases as they
      are.
    - `rounded`: Whether the outcome was rounded to whole numbers first.
    - `keep_order`, `compared`: Whether rows stand in the table's order, not a random one; and
      whether settings were compared on this table first.
    - `unit`: The column whose values name the units of privacy; a record is a unit if not given.
    - `proposed`: Whether the schema is under review, so that entries may come from the table.
    - `relies_on`: The parts of the run that the guarantee takes as they are.
    - `earlier`: Statements of earlier releases of the same table.
    - `spending`: What the run's seller of measurements may sell and has sold; None where the
      mechanism is not strict.
    """

    mechanism: str
    datasets: int
    columns_released_unchanged: tuple[str, ...]
    rounded: bool
    keep_order: bool = False
    compared: bool = False
    unit: str | None = None
    proposed: bool = False
    relies_on: ReliesOn
    earlier: tuple[Mapping[str, Any], ...] = ()
    spending: Spending | None = None

    @property
    @abstractmethod
    def claim_made(self) -> str:
        """The word of the claim, if a signed schema holds nothing that only the records tell."""

    @property
    @abstractmethod
    def claimed_for(self) -> str:
        """The neighbours of a strict claim, else those of the figures."""

    @property
    def guarantee(self) -> str:
        """The word of the claim, with the condition of a signed proposal."""
        return if_public(self.claim_made, signed=self._signed)

    @property
    def strict(self) -> bool:
        """Whether the claim holds for every table that the settings admit."""
        return self.guarantee in STRICT

    @property
    def _signed(self) -> bool:
        """Whether a program proposed the schema from the records, and somebody signed it."""
        return "schema_was_proposed" in self.relies_on.public_settings and not self.proposed

    @property
    def _of_proposal(self) -> dict[str, bool]:
        """The caveats on a schema that was proposed from the table: in review, or signed."""
        return {"proposed": self.proposed, "proposed-and-signed": self._signed}

    def exact(self) -> dict[str, Any]:
        """The statement with exact figures, for the confidential folder."""
        return self._written(False)

    def released(self) -> dict[str, Any]:
        """The statement for the release: figures rounded up to one decimal."""
        return self._written(True)

    @abstractmethod
    def caveats(self, *, exact: bool = False) -> list[Phrase]:
        """The sentences that a reader must know before relying on the numbers.

        Only the agency's own statement (`exact`) has diagnostics, since these describe the data.
        """

    @abstractmethod
    def ledger(self) -> list[LedgerEntry]:
        """Every use of the confidential data and its cost."""

    def trusted(self) -> list[Phrase]:
        """What a reader must trust."""
        return [Phrase(key) for key in USUAL_TRUST]

    @property
    @abstractmethod
    def draws_released(self) -> int:
        """The draws d behind the datasets: posterior draws, or one noisy histogram."""

    @property
    @abstractmethod
    def epsilon_per_dataset(self) -> float:
        """What a dataset costs; larger = less private."""

    def _composed(self, draw: float, once: float = 0.0) -> Epsilons:
        """The epsilons of one dataset and of all datasets, by sequential composition over draws.

        `draw` is the cost of a draw with all its datasets; the release pays `once` once.
        """
        return draw + once, self.draws_released * draw + once

    @property
    def _draws_are_fewer(self) -> dict[str, bool]:
        """The caveats on the variance between draws, which fewer draws than datasets hide."""
        d, m = self.draws_released, self.datasets
        return {"one-draw": d == 1 < m, "few-draws": 1 < d < m}

    @abstractmethod
    def _facts(self, round_up: bool) -> dict[str, Any]:
        """The values of the statement that `_written` does not add."""

    @property
    def _unit_column(self) -> dict[str, str]:
        return {} if self.unit is None else {"unit_column": self.unit}

    def _certified(self, epsilons: Epsilons, round_up: bool) -> dict[str, Any] | None:
        """The neighbours of a strict claim and its figures; None for another claim."""
        return certified(self.claimed_for, epsilons, round_up) if self.strict else None

    def _written(self, round_up: bool) -> dict[str, Any]:
        caveats = self.caveats(exact=not round_up)
        keys = [phrase.key for phrase in caveats]
        looked = [LedgerEntry(Phrase("compared"), None)] if self.compared else []
        written = {
            "statement_version": STATEMENT_VERSION,
            "mechanism": self.mechanism,
            **self._facts(round_up),
            "unit_of_privacy": f"all records of one {self.unit}" if self.unit else "one record",
            "datasets": self.datasets,
            "draws_released": self.draws_released,
            "draw_of_dataset": draw_of_dataset(self.datasets, self.draws_released),
            "columns_released_unchanged": list(self.columns_released_unchanged),
            "row_order": ROW_ORDERS[self.keep_order],
            "relies_on": self.relies_on.written(self.claimed_for, self.epsilon_per_dataset, keys),
            **({} if self.spending is None else {"spending": spent(self.spending)}),
            "ledger": [entry.written(round_up) for entry in [*looked, *self.ledger()]],
            "trust_assumptions": [trust(phrase) for phrase in self.trusted()],
            "trust_keys": [phrase.written() for phrase in self.trusted()],
            "caveats": [caveat(phrase) for phrase in caveats],
            "caveat_keys": [phrase.written() for phrase in caveats],
        }
        if self.earlier:
            together = costs_together([*self.earlier, written])
            neighbours = together["neighbours"]
            before = releases_known(self.earlier)
            written["costs_together"] = {**together, "earlier": before}
            entries = [_earlier(one, neighbours).written(round_up) for one in before]
            written["ledger"] = entries + written["ledger"]
        return written

    @property
    def _other_releases(self) -> dict[str, bool]:
        """The caveat on other releases: those that were given, and those that were not."""
        return {"other-releases": not self.earlier, "further-releases": bool(self.earlier)}


def _earlier(known: Mapping[str, Any], neighbours: str) -> LedgerEntry:
    """An earlier release in the ledger, at its cost for these neighbours."""
    cost = release_cost(known, neighbours)
    facts = {"mechanism": known["mechanism"], "guarantee": cost.guarantee, "neighbours": neighbours}
    stated = cost.guarantee != "none" and math.isfinite(cost.epsilon)
    return LedgerEntry(Phrase("earlier", facts), cost.epsilon if stated else None)


_SENTENCES = ("caveats", "trust_assumptions")
_APART = ("ledger", *_SENTENCES, "caveat_keys", "trust_keys")  # The keys are for programs.


class ShownStatement(InSheets, dict[str, Any]):
    """The entries of `privacy.json`. A notebook shows them as tables: figures, ledger, caveats."""

    @property
    def sheets(self) -> list[Sheet]:
        """The figures, the uses of the confidential data, and the caveats."""
        entries = [(name, _plain(x)) for name, x in self.items() if name not in _APART and x != []]
        ledger = [
            (entry.get("use", ""), _plain(entry.get("epsilon"))) for entry in self.get("ledger", [])
        ]
        first, rest = parted_caveats(self) if self.get("caveats") else ([], [])
        trusted = self.get("trust_assumptions", [])
        said = {"Caveats": first, "Further caveats": rest, "Trust assumptions": trusted}
        return [
            Sheet("Statement", ("entry", "value"), entries),
            Sheet("Uses of the confidential data", ("use", "epsilon"), ledger),
            *(
                Sheet(name, ("",), [(sentence,) for sentence in sentences])
                for name, sentences in said.items()
                if sentences
            ),
        ]


def _plain(value: object) -> str:
    """A value as words: a list with commas, nested entries as (name: value)."""
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name}: {_plain(inner)}" for name, inner in value.items()) + ")"
    if isinstance(value, list | tuple):
        return ", ".join(_plain(inner) for inner in value)
    return "none" if value is None else str(value)
