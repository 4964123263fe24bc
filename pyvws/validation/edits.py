"""Named edits: the documented errata, applied at run time to code that others wrote.

Nothing of that code is stored here. An edit finds its place by a short pattern, carries the id of
its entry in ``validation/errata.toml``, and fails where it no longer applies: then the code has
changed, and the entry is out of date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pyvws.errors import PyvwsError

__all__ = ["Edit", "EditError", "apply_edits"]


class EditError(PyvwsError):
    """An edit whose place is not in the code."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a piece of code.

    Attributes
    ----------
    name : str
        What the edit does, for the rows.
    erratum : str
        Id of the erratum that it corrects, or of the convention that it follows.
    pattern, replacement : str
        Of `re.sub`, line by line; every place that matches is changed.
    """

    name: str
    erratum: str
    pattern: str
    replacement: str

    def apply(self, code: str) -> str:
        """The code with the change; EditError where the pattern matches nowhere."""
        changed, places = re.subn(self.pattern, self.replacement, code, flags=re.MULTILINE)
        if not places:
            raise EditError(
                f"The edit {self.name} (erratum {self.erratum}) no longer applies: the code has "
                "changed. Read it again and bring validation/errata.toml up to date."
            )
        return changed


def apply_edits(code: str, edits: Iterable[Edit]) -> str:
    """The code after all edits, in their order."""
    for edit in edits:
        code = edit.apply(code)
    return code
