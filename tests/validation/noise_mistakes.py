"""Errors in tables of estimates, in secret noise and in the word of a claim, each with its row.

Each entry is the error, what is replaced, the wrong version, and the row that has to fail.
"""

import dataclasses
from typing import Any

import numpy as np
from statement_mistakes import Wrong, half_the_noise


def within_alone(combine: Any) -> Any:
    """The variance within the datasets, without that between them."""

    def wrong(estimates: Any, variances: Any, **rules: Any) -> Any:
        found = combine(estimates, variances, **rules)
        return dataclasses.replace(found, variance=float(np.mean(variances)))

    return wrong


def whole_epsilon_each(figures: Any) -> Any:
    """Every statistic spends the whole epsilon."""
    return lambda records, plan, ranges, *, epsilon, **given: figures(
        *(records, plan, ranges), epsilon=epsilon * len(plan.statistics), **given
    )


def of_records(figures: Any) -> Any:
    """The noise of a single record, where a unit has several."""
    return lambda *given, most, epsilon, **named: figures(
        *given, most=most, epsilon=epsilon * most, **named
    )


def largest_exponent_1(figures: Any) -> Any:
    """Noise as if no record weighed more than the mean weight."""

    def wrong(records: Any, plan: Any, ranges: Any, *, mean_weight: float, **named: Any) -> Any:
        of_weights = {plan.weights: (0.0, mean_weight)} if mean_weight != 1.0 else {}
        ends = {**ranges, **of_weights}
        return figures(records, plan, ends, mean_weight=mean_weight, **named)

    return wrong


def at_half_the_scale(noise: Any) -> Any:
    """Noise of half of what is said beside it."""
    return lambda counts, *, scale: noise(counts, scale=0.5 * scale)


def continuous(laplace: Any) -> Any:
    """Rounded Laplace noise of the same scale, which has another share of 0."""

    def made(scale: float) -> Any:
        rng = np.random.default_rng()
        return lambda values: [int(v + np.rint(rng.laplace(scale=scale))) for v in values]

    return made


def dp_whatever_is_open(statement: Any) -> Any:
    """The word of a clamp alone, whatever takes it away."""

    class Statement(statement):  # type: ignore[misc]
        __slots__ = ()

        @property
        def guarantee(self) -> str:
            word = str(statement.guarantee.fget(self))
            return "dp" if self.enforced and word == "asymptotic-dp" else word

    return Statement


_TABLE = "pyvws.evaluation.published_table:"
_SELLER = "pyvws.privacy.seller:"
_LAPLACE = "pyvws.privacy.discrete_noise:"
_WORDS = ("proposed", "weights", "prepared", "compared", "unchecked-engine")

NOISE_MISTAKES: tuple[tuple[str, str, Wrong, str], ...] = (
    ("within alone", _TABLE + "combine", within_alone, "published_table/figures"),
    *(
        ("whole epsilon each", _TABLE + "laplace_figures", whole_epsilon_each, row)
        for row in ("published_table/laplace-noise", "guarantee/laplace-figures")
    ),
    (
        *("half the noise of figures", _SELLER + "add_discrete_laplace", at_half_the_scale),
        "guarantee/laplace-figures",
    ),
    ("of records", _TABLE + "laplace_figures", of_records, "guarantee/laplace-figures-units"),
    (
        *("exponents up to 1", _TABLE + "laplace_figures", largest_exponent_1),
        "published_table/laplace-noise",
    ),
    *(
        ("half the noise of rows", place, wrong, "guarantee/noisy-rows")
        for place, wrong in (
            ("pyvws.synthesis.strict_seller:noise_scale", half_the_noise),
            (_SELLER + "add_discrete_laplace", at_half_the_scale),
        )
    ),
    *(
        ("half of all noise", _LAPLACE + "laplace", half_the_scale, row)
        for half_the_scale in (lambda laplace: lambda scale: laplace(0.5 * scale),)
        for row in ("guarantee/drawn-noise-0.4", "guarantee/drawn-noise-50")
    ),
    ("continuous", _LAPLACE + "laplace", continuous, "guarantee/drawn-noise-0.4"),
    *(
        (
            *("dp whatever is open", "pyvws.release.posterior:PrivacyStatement"),
            *(dp_whatever_is_open, f"guarantee/word-{key}"),
        )
        for key in _WORDS
    ),
)
