"""The place of the R file through which R users call the package, with R's package reticulate.

``source(reticulate::import("pyvws.r.interface")$path())`` defines ``import_pyvws()`` in R.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["path"]

_FILE: Final = Path(__file__).with_suffix(".R")


def path() -> str:
    """The path of the R file to source. The file converts data frames, factors and NA both ways.

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
