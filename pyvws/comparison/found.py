"""What a comparison finds: its rows over the seeds, the advice, a table and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from pyvws._base.phrase import Phrase
from pyvws.comparison.advice import Advice, ComparedRow, span
from pyvws.errors import InputError
from pyvws.evaluation.table_scores import Score
from pyvws.sheet.html import InSheets
from pyvws.sheet.sheet import Sheet, number
from pyvws.statement.words import SIGNED, caveat

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKED: Final = (
    "A release under settings that were chosen here says so: compared = true, which stands in each "
    "take-*.toml, puts the comparison into its ledger as not accounted."
)
_MORE: Final = (
    "The same command goes on from here. Fewer seeds, choices or epsilons fit more into the time, "
    "and so do shorter fits: another folder, with --draws 250 --warmup 250."
)
_FIRST: Final = ("epsilon asked", "epsilon reached", "of the window", "all datasets", "guarantee")


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(InSheets):
    """What `compare` finds. All of it is confidential: it is computed from the table.

    Attributes
    ----------
    rows : tuple of ComparedRow
        One for each point: a choice under its own constants, or at an epsilon.
    advice : tuple of Advice
        What to take at each epsilon that was asked for, in words, with the reasons. Without such an
        epsilon, each one that a choice with a guarantee reached has its advice.
    score : str
        The score that the advice goes by.
    left_out : mapping of str to str
        Usual choices that the table or the settings refuse, with the reason.
    not_run : tuple of str
        What time did not allow: seeds, and their points.
    """

    rows: tuple[ComparedRow, ...]
    advice: tuple[Advice, ...]
    score: str
    left_out: Mapping[str, str]
    not_run: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Comparison({len(self.rows)} points, {len(self.advice)} epsilons)"

    @property
    def sheets(self) -> tuple[Sheet]:
        """A row for each point, under the advice; scores with two standard errors over seeds."""
        scores: Sequence[Score] = next((row.scores[0] for row in self.rows if row.scores), ())
        names = [score.name for score in scores]
        advice = {f"{entry.epsilon:g}": entry.text for entry in self.advice}
        notes = self._notes()
        return (
            Sheet(
                "Choices by epsilon (confidential). Larger epsilon = less private. Scores ± two "
                "standard errors; processor seconds a seed.",
                ("choice", *_FIRST, *names, "weight", "R-hat", "seconds"),
                [_as_text(row, names) for row in self.rows],
                notes=[*notes, LOOKED],
                lead=[*advice.values()],
                facts={"rows": self.table().to_dicts(), "advice": advice, "notes": notes},
            ),
        )

    def _notes(self) -> list[str]:
        """What has no result, and why."""
        failed = [
            f"{row.point.name} failed under {'some' if row.scores else 'every'} "
            f"seed{'s' if row.scores else ''}: {why}"
            for row in self.rows
            for why in row.problems
        ]
        return [
            *(f"Left out: {label}. {why}" for label, why in self.left_out.items()),
            *failed,
            *(f"Not run in the time given: {sentence}." for sentence in self.not_run),
            *([_MORE] if self.not_run else []),
            *([caveat(Phrase(SIGNED))] if any(row.signed for row in self.rows) else []),
        ]

    @property
    def unit_of_privacy(self) -> str:
        """Whose change epsilon bounds at every point."""
        return self.rows[0].point.settings.plan.unit_of_privacy

    def table(self) -> pl.DataFrame:
        """A row for each point: kind of guarantee, epsilon, scores with their errors, cost."""
        return pl.DataFrame([_entries(row) for row in self.rows], infer_schema_length=None)

    def settings(self, epsilon: float) -> dict[str, Any]:
        """The settings to take at an epsilon of `advice`, as `vws.synthesize` takes them.

        They say `compared=True`, so the release's ledger lists this comparison.
        """
        for advice in self.advice:
            if advice.epsilon == epsilon and advice.row is not None:
                given = {**advice.row.point.given, "compared": True}
                given.pop("accept_unconverged", None)
                return given
        raise InputError.by(
            "no-choice-at-epsilon",
            epsilon=epsilon,
            advice=", ".join(f"{advice.epsilon:g}" for advice in self.advice if advice.row)
            or "none",
        )

    def plot(self) -> Figure:
        """The score against epsilon, a line for each choice, bars of two standard errors."""
        from pyvws.plots.choices import choices_against_epsilon

        lines: dict[str, dict[float, Any]] = {}
        scales = []
        for row in self.rows:
            if row.scores and all(x > 0 and np.isfinite(x) for x in row.epsilons):
                label = f"{row.point.choice.label} ({row.kind})"
                at = float(np.mean(row.epsilons))
                lines.setdefault(label, {})[at] = row.values(self.score)
                scales += [score for score in row.scores[0] if score.name == self.score]
        if not lines:
            raise InputError.by("no-point-with-result")
        levels = {
            "a second sample": scales[0].bootstrap,
            "independent columns": scales[0].independent,
        }
        return choices_against_epsilon(
            {self.score: lines},
            {self.score: levels},
            names={self.score: self.score},
            against={self.score: f"ε of a dataset, for {self.unit_of_privacy}"},
        )


def _as_text(row: ComparedRow, scores: Sequence[str]) -> tuple[str, ...]:
    """A point as text, the choice first; without a result all but its seconds is left empty."""
    asked = "own" if row.point.epsilon is None else f"{row.point.epsilon:g}"
    label, seconds = row.point.choice.label, f"{row.seconds:.1f}"
    if not row.scores:
        return (label, asked, "failed", *[""] * (len(_FIRST) + len(scores)), seconds)
    return (
        *(label, asked, span(row.epsilons)),
        *(span(figures) if figures else "" for figures in (row.windows, row.totals)),
        row.claim,
        *(_banded(row.values(name)) for name in scores),
        *("" if x is None else number(x, 4) for x in (row.mean_weight, row.rhat)),
        seconds,
    )


def _banded(values: Sequence[float]) -> str:
    mean = number(np.mean(values), 4)
    if len(values) < 2:
        return mean
    return f"{mean} ± {number(2.0 * float(np.std(values, ddof=1)) / len(values) ** 0.5, 2)}"


def _entries(row: ComparedRow) -> dict[str, Any]:
    """A row as entries of a table, without scores where it has no result."""
    cost = row.epsilons
    entries: dict[str, Any] = {
        "choice": row.point.choice.label,
        "epsilon_asked": row.point.epsilon,
        "guarantee": row.guarantee if row.scores else None,
        "epsilon_mean": float(np.mean(cost)) if cost else None,
        "epsilon_least": min(cost, default=None),
        "epsilon_most": max(cost, default=None),
        "epsilon_of_window_mean": float(np.mean(row.windows)) if row.windows else None,
        "epsilon_total_mean": float(np.mean(row.totals)) if row.totals else None,
        "delta": row.delta,
        "seeds": len(row.scores),
        "mean_weight": row.mean_weight,
        "rhat": row.rhat,
        "seconds": row.seconds,
        "problem": " ".join(row.problems) or None,
    }
    for score in row.scores[0] if row.scores else ():
        values = row.values(score.name)
        entries[score.name] = float(np.mean(values))
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else None
        entries[f"{score.name}_error"] = error if error is None else float(error)
    return entries
