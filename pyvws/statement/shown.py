"""The statement of a release, as a notebook shows it."""

from __future__ import annotations

from typing import Any

from pyvws.sheet.sheet import InSheets, Sheet

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
        return [
            Sheet("Statement", ("entry", "value"), entries),
            Sheet("Uses of the confidential data", ("use", "epsilon"), ledger),
            *(
                Sheet(name.replace("_", " ").capitalize(), ("",), [(x,) for x in self[name]])
                for name in _SENTENCES
                if self.get(name)
            ),
        ]


def _plain(value: Any) -> str:
    """A value as words: a list with commas, nested entries as (name: value)."""
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name}: {_plain(inner)}" for name, inner in value.items()) + ")"
    if isinstance(value, list | tuple):
        return ", ".join(_plain(inner) for inner in value)
    return "none" if value is None else str(value)
