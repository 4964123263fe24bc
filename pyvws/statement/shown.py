"""The statement of a release, as a notebook shows it."""

from __future__ import annotations

from typing import Any

from pyvws._base.html_table import html_table

_SENTENCES = ("caveats", "trust_assumptions")
_APART = ("ledger", *_SENTENCES, "caveat_keys", "trust_keys")  # The keys are for programs.


class ShownStatement(dict[str, Any]):
    """The entries of `privacy.json`. A notebook shows them as tables: figures, ledger, caveats."""

    def _repr_html_(self) -> str:
        entries = [(name, _plain(x)) for name, x in self.items() if name not in _APART and x != []]
        ledger = [
            (entry.get("use", ""), _plain(entry.get("epsilon"))) for entry in self.get("ledger", [])
        ]
        tables = [html_table("Statement", ("entry", "value"), entries)]
        if ledger:
            tables.append(html_table("Uses of the confidential data", ("use", "epsilon"), ledger))
        for name in _SENTENCES:
            if self.get(name):
                rows = [(sentence,) for sentence in self[name]]
                tables.append(html_table(name.replace("_", " ").capitalize(), ("",), rows))
        return "".join(tables)


def _plain(value: Any) -> str:
    """A value as words: a list with commas, nested entries as (name: value)."""
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name}: {_plain(inner)}" for name, inner in value.items()) + ")"
    if isinstance(value, list | tuple):
        return ", ".join(_plain(inner) for inner in value)
    return "none" if value is None else str(value)
