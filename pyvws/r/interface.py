"""The package as an R user calls it, through R's package reticulate.

``source(reticulate::import("pyvws.r.interface")$path())`` defines ``import_pyvws()`` in R.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["path"]

_FILE: Final = Path(__file__).with_suffix(".R")


def path() -> str:
    """The R file to source: it converts data frames, factors and NA in both directions.

    Returns
    -------
    str
        An absolute path.

    Examples
    --------
    >>> path().endswith("interface.R")
    True
    """
    return str(_FILE)
