"""The documented errata of the papers' listings, as named edits by paper and listing."""

from __future__ import annotations

import re
from typing import Final

from pyvws.validation.edits import Edit

__all__ = ["LISTING_EDITS", "TODAYS_STAN", "one_form"]

_ROWS: Final = Edit(
    "row-maxima-in-base-r",
    "rfast-maxima",
    r"\browMaxs\( ?(\w+), ?value ?= ?TRUE ?\)",
    r"apply(\1, 1, max)",
)
_COLUMNS: Final = Edit(
    "column-maxima-in-base-r",
    "rfast-maxima",
    r"\bcolMaxs\( ?(\w+), ?value ?= ?TRUE ?\)",
    r"apply(\1, 2, max)",
)
_KEPT: Final = Edit(
    "draws-within-the-threshold",
    "logthresh-undefined",
    r"^(.*<- *colMaxs\( ?)(logthresh\w*)\b",
    r"\2 <- log_ratio[log_ratio_theta <= L, , drop = FALSE]\n\1\2",
)
_CLOSED: Final = Edit(
    "functions-block-closed",
    "functions-block-open",
    r"(return \w+; ?\})\n(data ?\{)",
    r"\1\n}\n\2",
)
_OF_A_RECORD: Final = Edit(
    "function-of-one-record",
    "record-function-name",
    r"(log_lik\[i\] ?= ?wt_pois)(_lpmf)",
    r"\1i\2",
)

LISTING_EDITS: Final[dict[tuple[str, str], tuple[Edit, ...]]] = {
    **{(key, "weights"): (_KEPT, _ROWS, _COLUMNS) for key in ("vws2020", "vws2024")},
    **{(key, "bounds"): (_ROWS,) for key in ("vws2020", "vws2024")},
    ("vws2020", "poisson"): (),
    ("vws2024", "poisson"): (_CLOSED, _OF_A_RECORD),
}
# Stan 2.33 took away what these programs were written in; rstan 2.21 knows nothing else.
TODAYS_STAN: Final = (
    Edit("array-argument-of-today", "old-array-syntax", r"\bint\[\] (\w+)", r"array[] int \1"),
    Edit(
        "array-of-today",
        "old-array-syntax",
        r"\b(int<lower=0>) (\w+)\[(\w+)\];",
        r"array[\3] \1 \2;",
    ),
)


def one_form(program: str) -> str:
    """A Stan program with one blank between its symbols, so that equal programs compile once."""
    if "//" in program or "/*" in program or "#" in program:
        return program
    symbols = re.findall(r"[A-Za-z_]\w*|\d+\.?\d*(?:[eE][+-]?\d+)?|[-+*/<>=!]=|\S", program)
    return " ".join(symbols) + "\n"
