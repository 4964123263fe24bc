"""Draw the picture of docs/strict-choices.csv: python tools/strict_choices.py [folder, docs/images]

The csv is the summary.csv of `pyvws study strict-choices`, which draws the same picture.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

from pyvws.studies._report import save_pictures
from pyvws.studies.strict_choices import SETTINGS
from pyvws.studies.strict_choices_report import picture

DOCS = Path(__file__).parents[1] / "docs"

if __name__ == "__main__":
    lines = pl.read_csv(DOCS / "strict-choices.csv").to_dicts()
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "images"
    save_pictures({"strict-choices.svg": picture(SETTINGS, lines)}, folder)
