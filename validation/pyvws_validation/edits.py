"""Named edits: they apply the documented errata at run time to code that others wrote.

The package stores nothing of that code. An edit finds its place by a short pattern, and carries the
id of its entry in ``validation/errata.toml``. An edit that no longer applies fails: then the code
has changed, and the entry is out of date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pyvws.errors import PyvwsError


class EditError(PyvwsError):
    """The code lacks the place that an edit changes."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to a piece of code, in every place that matches, by arguments of `re.sub`.

    `erratum` is the id of the erratum that the edit corrects, or of the convention that it follows.
    """

    name: str
    erratum: str
    pattern: str
    replacement: str

    def apply(self, code: str) -> str:
        """The code with the change; EditError if the pattern matches nowhere."""
        changed, places = re.subn(self.pattern, self.replacement, code, flags=re.MULTILINE)
        if not places:
            raise EditError(
                f"The edit {self.name} (erratum {self.erratum}) no longer applies: the code has "
                "changed. Read it again and bring validation/errata.toml up to date."
            )
        return changed


def apply_edits(code: str, edits: Iterable[Edit]) -> str:
    """The code after all edits, applied in the given order."""
    for edit in edits:
        code = edit.apply(code)
    return code
