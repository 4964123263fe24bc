"""Say which choice to take at an epsilon, and why, from the results of all seeds.

A difference of two choices counts where it exceeds twice its Monte Carlo standard error. The
variance over seeds is taken as equal for the choices that are compared at an epsilon, since each
has few seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pyvws.comparison.choices import Point
from pyvws.evaluation.k_marginal import standing
from pyvws.evaluation.table_scores import Score
from pyvws.mechanisms.remedies import remedies
from pyvws.sheet.sheet import number
from pyvws.statement.words import STRICT, caveat

KINDS: Final = {
    "dp": "strict",
    "approximate-dp": "strict but for delta",
    "dp-if-bounded": "strict if bounded",
    "dp-if-public": "strict if public",
    "approximate-dp-if-public": "strict if public, but for delta",
    "asymptotic-dp": "asymptotic",
    "none": "no guarantee",
}
"""The kinds of guarantee in words, the strongest first."""

_LISTED: Final = 4
_ONCE: Final = "That is what all datasets together cost."
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


def span(values: Sequence[float], form: str = ".1f") -> str:
    """The least and the largest value, or one where they look alike."""
    low, high = format(min(values), form), format(max(values), form)
    return high if low == high else f"{low} to {high}"
