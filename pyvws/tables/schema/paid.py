"""What of a schema was bought under noise: its cost, and which entries it and a steward gave."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from pyvws._base.checks import choice, non_negative, positive
from pyvws.errors import InputError

PAID, SAID, PUBLIC = "paid for", "on my word", "public"
"""What a line of such a schema is: bought, said by who asked for it, or known to anybody."""

_CHOSEN: Final = "cuts"  # A run that chooses cells pays for them itself.


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidSchema:
    """The cost of entries that were found under noise, once for all releases made with them.

    - `name`: A random name of the purchase, so that two of the same table have two digests.
    - `epsilon`, `delta`: What all of it cost; larger = less private.
    - `neighbours`: One unit of privacy left out, or one replaced.
    - `unit`: The column whose values name the units of privacy; a record is a unit if not given.
    - `goods`: What was bought, by name: the `scale` of its noise in records, the noisy count of
      records (`least`) that an entry took, and the share of `delta` that its threshold costs.
    - `entries`, `word`: By column the entries that follow from what was bought, and those on a
      steward's word.
    - `digest`: SHA-256 of all that and of the values that were bought.
    """

    name: str
    epsilon: float
    delta: float
    neighbours: str
    unit: str | None = None
    goods: Mapping[str, Mapping[str, float]]
    entries: Mapping[str, tuple[str, ...]]
    word: Mapping[str, tuple[str, ...]]
    digest: str = ""

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> PaidSchema:
        """The values of a TOML file; InputError for what nobody bought."""
        own = {entry.name for entry in fields(cls)}
        needed = own - {"unit", "digest"}
        tables = [given.get(name) for name in ("goods", "entries", "word")]
        if not (needed <= {*given} <= own and all(isinstance(x, Mapping) for x in tables)):
            raise InputError.by("paid-schema-entries")
        positive(given["epsilon"], "epsilon of paid")
        non_negative(given["delta"], "delta of paid")
        choice(given["neighbours"], "neighbours of paid", ("loo", "replace"))
        named = {
            key: {name: tuple(entries) for name, entries in given[key].items()}
            for key in ("entries", "word")
        }
        return cls(**{**given, **named})

    def digest_with(self, columns: Mapping[str, Any]) -> str:
        """The digest of the purchase and of what the `columns` of a schema have of it."""
        given = {name: columns[name].given for name in self.entries if name in columns}
        bought = {
            name: [given.get(name, {}).get(entry) for entry in entries]
            for name, entries in self.entries.items()
        }
        content = {**self.written, "bought": bought}
        del content["digest"]
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def mark(self, column: str, entry: str) -> str:
        """What a line of the schema is, of the words above."""
        if entry in self.word.get(column, ()):
            return SAID
        return PAID if entry in self.entries.get(column, ()) or entry == _CHOSEN else PUBLIC

    @property
    def protects(self) -> str:
        """What neighbours differ by."""
        return "one record" if self.unit is None else f"all records of one {self.unit}"

    @property
    def written(self) -> dict[str, Any]:
        """The entries as they stand in a file and in a statement."""
        own = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: value for name, value in own.items() if value is not None}

    @property
    def scales(self) -> list[float]:
        """The scales of the noise of all that was bought, in records."""
        return [own["scale"] for own in self.goods.values()]

    @property
    def delta_of_noise(self) -> float:
        """Delta without what thresholds cost; 0 of Laplace noise."""
        return max(0.0, self.delta - sum(own.get("delta", 0.0) for own in self.goods.values()))

    @property
    def cost(self) -> dict[str, Any]:
        """What a statement has of the purchase: its digest, and what it costs."""
        own = self.written
        return {name: own[name] for name in ("digest", "epsilon", "delta", "neighbours")}
