"""Write what a comparison finds: a table, a figure, a page, and settings for a release."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from pyvws._base.folders import write_whole
from pyvws.comparison.found import Comparison
from pyvws.report.page import PagePicture, picture, render
from pyvws.synthesis.config import SCHEMA_FILE, config_text
from pyvws.synthesis.settings import RunSettings
from pyvws.synthesis.settings_by_name import arranged


def write_comparison(comparison: Comparison, folder: Path) -> list[Path]:
    """Write comparison.csv, .png, .html and a take-EPSILON.toml for each advice, all private."""
    files: dict[str, str | bytes] = {"comparison.csv": comparison.table().write_csv()}
    drawn = None
    if any(row.scores for row in comparison.rows):
        figure = comparison.plot()
        caption = (
            f"{comparison.score} of each choice against epsilon for {comparison.unit_of_privacy}, "
            "with bars of two standard errors."
        )
        drawn = picture(figure, alt=caption)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=150)
        files["comparison.png"] = buffer.getvalue()
    for advice in comparison.advice:
        if advice.row is not None:
            settings = RunSettings(**arranged(comparison.settings(advice.epsilon)))
            files[f"take-{advice.epsilon:g}.toml"] = config_text(settings, seed=None)
            if text := settings.plan.texts["schema"]:
                files[SCHEMA_FILE] = text
    files["comparison.html"] = _page(comparison, drawn)
    for name, content in files.items():
        write_whole(folder / name, content, private=True)
    return [folder / name for name in files]


def _page(comparison: Comparison, drawn: PagePicture | None) -> str:
    (sheet,) = comparison.sheets
    rows = replace(sheet, lead=(), notes=())
    return render("comparison.html.j2", command="compare", sheet=sheet, rows=rows, drawn=drawn)
