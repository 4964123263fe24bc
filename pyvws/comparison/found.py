"""What a comparison finds: its rows over the seeds, the advice, a table and a figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pyvws._base.html_table import html_table
from pyvws.comparison.advice import Advice, ComparedRow
from pyvws.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
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

    def _repr_html_(self) -> str:
        """The advice at each epsilon as a table, for a notebook."""
        rows = [(f"{advice.epsilon:g}", advice.text) for advice in self.advice]
        return html_table("Comparison (confidential)", ("epsilon", "advice"), rows)

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
        raise InputError(
            f"The comparison has no choice for epsilon {epsilon:g}. It has advice for "
            f"{', '.join(f'{advice.epsilon:g}' for advice in self.advice if advice.row) or 'none'}."
        )

    def plot(self) -> Figure:
        """The score against epsilon, a line for each choice, bars of two standard errors."""
        from pyvws.plots.guarantees import choices_against_epsilon

        lines: dict[str, dict[float, Any]] = {}
        scales = []
        for row in self.rows:
            if row.scores and all(x > 0 and np.isfinite(x) for x in row.epsilons):
                label = f"{row.point.choice.label} ({row.kind})"
                at = float(np.mean(row.epsilons))
                lines.setdefault(label, {})[at] = row.values(self.score)
                scales += [score for score in row.scores[0] if score.name == self.score]
        if not lines:
            raise InputError("No point has a result to draw.")
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
