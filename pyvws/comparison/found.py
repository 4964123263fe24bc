"""What a comparison finds: its rows over the seeds, a table and a figure, and what to take and why.

A difference of two choices counts where it exceeds twice its Monte Carlo standard error. The
variance over seeds is taken as equal for the choices that are compared at an epsilon, since each
has few seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from pyvws._base.phrase import Phrase
from pyvws.comparison.points import Point
from pyvws.errors import InputError
from pyvws.evaluation.k_marginal import standing
from pyvws.evaluation.table_scores import Score
from pyvws.mechanisms.remedies import remedies
from pyvws.sheet import InSheets, Sheet, number
from pyvws.statement.words import SIGNED, STRICT, caveat

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS: Final = {
    "dp": "strict",
    "approximate-dp": "strict but for delta",
    "dp-if-bounded": "strict if bounded",
    "dp-if-public": "strict if public",
    "approximate-dp-if-public": "strict if public, but for delta",
    "dp-if-weights-fixed": "strict if weights are fixed",
    "approximate-dp-if-weights-fixed": "strict if weights are fixed, but for delta",
    "dp-if-public-and-weights-fixed": "strict if public, with fixed weights",
    "approximate-dp-if-public-and-weights-fixed": "as the last, but for delta",
    "asymptotic-dp": "asymptotic",
    "none": "no guarantee",
}
"""The kinds of guarantee in words, the strongest first."""

_LISTED: Final = 4
_ONCE: Final = "That is what all datasets together cost."
_ON_TABLES: Final = (
    "One record can move all weights of lw. On a table take inverse in its place, at a t that you "
    "chose on a public file: pyvws compare PUBLIC --t .2,.5,1,2,5."
)
_NOT_STRICT: Final = (
    "A release of this table that was chosen here states nothing strict, since the comparison "
    "looked at the table. To keep a strict claim, compare on public records, such as an earlier "
    "release."
)


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """The results of one point over the seeds.

    `guarantee` is the kind of its statement. By seed, `epsilons` are what a dataset costs and
    `totals` what all of them cost (larger = less private). `windows` are the window's figures where
    there are any, `scores` its scores, and `problems` why there is no result. `signed` says that
    the schema was proposed, and somebody signed it. Over the seeds, `mean_weight` is a mean in
    [0, 1] and `rhat` the worst one, near 1 where chains agree. `seconds` are a seed's own of a
    processor.
    """

    point: Point
    guarantee: str
    epsilons: tuple[float, ...]
    scores: tuple[tuple[Score, ...], ...]
    mean_weight: float | None
    rhat: float | None
    seconds: float
    problems: tuple[str, ...]
    totals: tuple[float, ...] = ()
    delta: float = 0.0
    windows: tuple[float, ...] = ()
    signed: bool = False

    @property
    def kind(self) -> str:
        """The kind of guarantee in words, with its delta."""
        return KINDS[self.guarantee] + (f" {self.delta:g}" if self.delta else "")

    @property
    def claim(self) -> str:
        """The kind of guarantee; an asymptotic one by a signed proposal says so."""
        signed = self.signed and self.guarantee == "asymptotic-dp"
        return f"{self.kind}, by a signed proposal" if signed else self.kind

    def values(self, name: str) -> list[float]:
        """A score by seed."""
        return [score.value for scores in self.scores for score in scores if score.name == name]

    def mean(self, name: str) -> float:
        """A score's mean over the seeds."""
        return float(np.mean(self.values(name)))


@dataclass(frozen=True, slots=True)
class Advice:
    """What to take for an epsilon a dataset; `row` is None where nothing stays within it."""

    epsilon: float
    row: ComparedRow | None
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sentences as one text."""
        return " ".join(self.sentences)


@dataclass(frozen=True, slots=True)
class _Compared:
    """Rows by one score, whose variance over the seeds is taken as one for all rows."""

    score: str
    variance: float

    @classmethod
    def of(cls, rows: Sequence[ComparedRow], score: str) -> _Compared:
        spread = [np.var(row.values(score), ddof=1) for row in rows if len(row.scores) > 1]
        return cls(score, float(np.mean(spread)) if spread else math.inf)

    def error(self, *rows: ComparedRow) -> float:
        """The standard error of a row's mean, or of the difference of two rows' means."""
        return math.sqrt(sum(self.variance / len(row.scores) for row in rows))

    def apart(self, first: ComparedRow, other: ComparedRow) -> float:
        return abs(first.mean(self.score) - other.mean(self.score))

    def figure(self, row: ComparedRow) -> str:
        """A row's mean, with twice its standard error where there are several seeds."""
        band = 2.0 * self.error(row)
        mean = number(row.mean(self.score), 4)
        return mean + (f" ± {number(band, 2)}" if math.isfinite(band) else "")

    def scale(self, row: ComparedRow) -> Score:
        return next(score for score in row.scores[0] if score.name == self.score)


def advised(
    rows: Sequence[ComparedRow], epsilon: float, score: str, not_run: Sequence[Point] = ()
) -> Advice:
    """The choice of the best mean score among those with a guarantee whose cost stays within.

    A choice that failed under a seed is not taken. Each choice stands for its best point. Points
    that were `not_run` are named where they could have been taken.
    """
    some = [row for row in rows if row.scores and not row.problems]
    within = [row for row in some if row.guarantee != "none" and max(row.epsilons) <= epsilon]
    opening = f"At epsilon {epsilon:.4g} a dataset"
    if not within:
        sentence = f"{opening}: nothing that was run has a guarantee and stays within it."
        return Advice(epsilon, None, (sentence, *_lacking(not_run, epsilon)))
    compared = _Compared.of(within, score)
    scale = compared.scale(within[0])
    sign = -1.0 if scale.larger_is_better else 1.0
    ranked = sorted(within, key=lambda row: sign * row.mean(score))
    labels = [row.point.choice.label for row in ranked]
    best, *others = [ranked[labels.index(label)] for label in dict.fromkeys(labels)]
    where = "better"  # Of margins nothing is: independent columns have the data's own.
    if score != "margins":
        ends = scale.independent, scale.bootstrap
        where = standing(best.mean(score), *ends, best=scale.best)
    worse = where == "worse"
    seeds = f"{len(best.scores)} seeds" if len(best.scores) > 1 else "1 seed"
    mechanism = best.point.settings.chosen_mechanism
    caveats, helps = mechanism.facts.caveats, remedies(mechanism).pairs
    sentences = [
        f"{opening}: {'the best is' if worse else 'take'} {best.point.name}, {best.claim}.",
        f"It has {compared.figure(best)} of {score} from {seeds}, at epsilon "
        f"{span(best.epsilons)}; a second sample has {scale.bootstrap:.4g}, independent columns "
        f"{scale.independent:.4g}, and {'larger' if scale.larger_is_better else 'smaller'} is "
        "better.",
        *([_ONCE] if best.totals and max(best.totals) == max(best.epsilons) else []),
        *_beside(best, others, compared),
        *_lacking(not_run, epsilon),
        *([_ON_TABLES] if mechanism.facts.name == "lw" and "schema" in best.point.given else []),
        *(f"Its statement says: {caveat(sentence)}" for sentence in caveats),
    ]
    strict = [row for row in (best, *others) if row.guarantee in STRICT]
    if strict and strict[0] is not best:
        sentences.append(
            f"The best strict one is {strict[0].point.name}, with {compared.figure(strict[0])}."
        )
    if strict:
        sentences.append(_NOT_STRICT)
    if worse:
        sentences.insert(
            0,
            f"{opening}: FAILS. Independent columns score better than all that was run, so take "
            f"none of it. For {best.point.choice.label}: {helps}",
        )
    elif where == "hardly better":
        sentences.append(f"That is hardly better than independent columns. {helps}")
    for row in [row for row in some if row.guarantee == "none"][:1]:
        sentences.append(
            f"Without a guarantee {row.point.name} has {compared.figure(row)} at epsilon "
            f"{span(row.epsilons)}."
        )
    return Advice(epsilon, best, tuple(sentences))


def _beside(best: ComparedRow, others: Sequence[ComparedRow], compared: _Compared) -> list[str]:
    """The next choices, and whether chance can tell them from the best."""
    if not others:
        return ["No other choice that was run has a guarantee and stays within it."]
    listed = [f"{row.point.name} has {compared.figure(row)}" for row in others[:_LISTED]]
    sentences = [f"{'; '.join(listed)}."]
    if not math.isfinite(compared.variance):
        return [
            *sentences,
            "One seed tells nothing of chance: run more before you rely on the order.",
        ]
    tied = [row for row in others if compared.apart(best, row) <= 2.0 * compared.error(best, row)]
    if tied:
        names = " and ".join(row.point.name for row in tied[:_LISTED])
        return [*sentences, f"These seeds do not tell {names} from it."]
    apart, error = compared.apart(best, others[0]), compared.error(best, others[0])
    return [
        *sentences,
        f"The next is {number(apart, 2)} behind, and the standard error of that is "
        f"{number(error, 2)}.",
    ]


def _lacking(not_run: Sequence[Point], epsilon: float) -> list[str]:
    """The points that time did not allow and that might cost no more than epsilon."""
    names = [point.name for point in not_run if point.epsilon is None or point.epsilon <= epsilon]
    if not names:
        return []
    return [
        f"Time did not allow {', '.join(names)}: the same command goes on, and the advice "
        "may change."
    ]


def span(values: Sequence[float]) -> str:
    """The least and the largest value, or one where they look alike."""
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return high if low == high else f"{low} to {high}"


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
    def sheet(self) -> Sheet:
        """A row for each point, under the advice; scores with two standard errors over seeds."""
        scores: Sequence[Score] = next((row.scores[0] for row in self.rows if row.scores), ())
        names = [score.name for score in scores]
        advice = {f"{entry.epsilon:g}": entry.text for entry in self.advice}
        notes = self._notes()
        return Sheet(
            "Choices by epsilon (confidential). Larger epsilon = less private. Scores ± two "
            "standard errors; processor seconds a seed.",
            ("choice", *_FIRST, *names, "weight", "R-hat", "seconds"),
            [_as_text(row, names) for row in self.rows],
            notes=[*notes, LOOKED],
            lead=[*advice.values()],
            facts={"rows": self.table().to_dicts(), "advice": advice, "notes": notes},
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
        from pyvws.plots.datasets import choices_against_epsilon

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
