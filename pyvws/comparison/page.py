"""Write what a comparison finds: a table, a figure, a page, and settings for a release."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Final

import numpy as np

from pyvws._base.folders import write_whole
from pyvws._base.phrase import Phrase
from pyvws.comparison.advice import ComparedRow, span
from pyvws.comparison.found import Comparison
from pyvws.report.page import PagePicture, Table, number, picture, render
from pyvws.statement.words import SIGNED, caveat
from pyvws.synthesis.config import SCHEMA_FILE, config_text
from pyvws.synthesis.settings import RunSettings
from pyvws.synthesis.settings_by_name import arranged

LOOKED: Final = (
    "A release under settings that were chosen here says so: compared = true, which stands in each "
    "take-*.toml, puts the comparison into its ledger as not accounted."
)
_MORE: Final = (
    "The same command goes on from here. Fewer seeds, choices or epsilons fit more into the time, "
    "and so do shorter fits: another folder, with --draws 250 --warmup 250."
)


_FIRST: Final = ("epsilon asked", "epsilon reached", "of the window", "all datasets", "guarantee")


def headings(comparison: Comparison) -> tuple[str, ...]:
    """The headings of the table of points after the choice."""
    others = [score.name for score in _scores(comparison)]
    return (*_FIRST, *others, "weight", "R-hat", "seconds")


def formatted_row(comparison: Comparison, row: ComparedRow) -> tuple[str, ...]:
    """A point as text, the choice first; scores with two standard errors over its own seeds."""
    asked = "own" if row.point.epsilon is None else f"{row.point.epsilon:g}"
    label = row.point.choice.label
    if not row.scores:
        return (
            label,
            asked,
            "failed",
            *[""] * (len(headings(comparison)) - 3),
            f"{row.seconds:.1f}",
        )
    return (
        *(label, asked, span(row.epsilons)),
        *(span(figures) if figures else "" for figures in (row.windows, row.totals)),
        row.claim,
        *(_banded(row, score.name) for score in _scores(comparison)),
        *("" if x is None else number(x, 4) for x in (row.mean_weight, row.rhat)),
        f"{row.seconds:.1f}",
    )


def _scores(comparison: Comparison) -> tuple[Any, ...]:
    return next((row.scores[0] for row in comparison.rows if row.scores), ())


def _banded(row: ComparedRow, name: str) -> str:
    values = row.values(name)
    if len(values) < 2:
        return number(row.mean(name), 4)
    band = 2.0 * float(np.std(values, ddof=1)) / len(values) ** 0.5
    return f"{number(row.mean(name), 4)} ± {number(band, 2)}"


def notes(comparison: Comparison) -> list[str]:
    """What has no result, and why."""
    failed = [
        f"{row.point.name} failed under {'every seed' if not row.scores else 'some seeds'}: {why}"
        for row in comparison.rows
        for why in row.problems
    ]
    return [
        *(f"Left out: {label}. {why}" for label, why in comparison.left_out.items()),
        *failed,
        *(f"Not run in the time given: {sentence}." for sentence in comparison.not_run),
        *([_MORE] if comparison.not_run else []),
        *([caveat(Phrase(SIGNED))] if any(row.signed for row in comparison.rows) else []),
    ]


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
    rows = [formatted_row(comparison, row) for row in comparison.rows]
    caption = (
        "Larger epsilon = less private. Scores ± two standard errors; processor seconds a seed."
    )
    return render(
        "comparison.html.j2",
        command="compare",
        advice=[advice.text for advice in comparison.advice],
        looked=LOOKED,
        drawn=drawn,
        rows=Table(caption, ("choice", *headings(comparison)), rows),
        notes=notes(comparison),
    )
