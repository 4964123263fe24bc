"""The perturbed histogram of [wasserman2010], which [global2022] compares with other mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyvws._base.checks import Floats, choice, finite_number, whole_number
from pyvws._base.setting import about, setting
from pyvws.errors import InputError
from pyvws.mechanisms.histogram.bins import equal_edges
from pyvws.mechanisms.histogram.perturbed_histogram import NoisyHistogram, perturbed_histogram
from pyvws.mechanisms.mechanism import Facts, MechanismBase
from pyvws.privacy.budget import noise_scale


@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbedHistogram(MechanismBase):
    """Noisy bin counts of a bounded outcome; synthetic values are uniform within bins.

    `range` (L, U) is public knowledge. `bins` is a number, or None for the rule. All datasets come
    from one noisy histogram, so all datasets together cost epsilon once. Under "replace"
    neighbours, the usual ones of [wasserman2010], the noise has scale 2 / epsilon. Under "loo" the
    noise has scale 1 / epsilon. `edges_from_data` takes the range from the data and gives up the
    guarantee. `allow_outside` counts values outside the range in the first and last bins. `noise`
    is "secret" (exact and unseeded) for a release. "seeded-float" is for comparison with R, and
    must never be published.
    """

    declared = Facts(
        name="perturbed-histogram",
        title="Perturbed histogram",
        explanation="Noise is added to the counts of a histogram with public bins; values are "
        "drawn from the noisy histogram, uniformly within bins [wasserman2010].",
        fits_model=False,
        weights_from_data=False,
    )

    epsilon: float = field(metadata=about("What the counts cost, once for all datasets."))
    range: tuple[float, float] | None = setting(
        None, "Public range of the outcome, known without looking at the data."
    )
    bins: int | None = setting(
        None,
        "Number of bins, needed under loo neighbours; the cube root of n, rounded up, if not "
        "given. Larger = finer, but noisier.",
    )
    neighbours: str = setting(
        "replace",
        "Neighbours that epsilon is for: one record replaced, or one left out.",
        choices=("replace", "loo"),
    )
    edges_from_data: bool = setting(
        False, "Take the range from the data, which gives up the guarantee."
    )
    allow_outside: bool = setting(False, "Count values outside `range` in the end bins.")
    noise: str = setting(
        "secret",
        "secret for a release; seeded-float is for comparison with R, never for publication.",
        choices=("secret", "seeded-float"),
    )

    def __post_init__(self) -> None:
        neighbours: Any = choice(self.neighbours, "neighbours", ("replace", "loo"))
        noise_scale(self.epsilon, neighbours)
        choice(self.noise, "noise", ("secret", "seeded-float"))
        if self.bins is not None:
            object.__setattr__(self, "bins", whole_number(self.bins, "bins", least=1))
        if self.range is not None:
            low, high = (finite_number(end, "range") for end in self.range)
            if not low < high:
                raise InputError.by("range-not-numbers")
            object.__setattr__(self, "range", (low, high))
            equal_edges(low, high, bins=self.bins or 1)
        if (self.range is None) != self.edges_from_data:
            raise InputError.by("histogram-without-range")
        if self.neighbours == "loo" and self.bins is None and not self.edges_from_data:
            raise InputError.by("bins-of-protected-number")

    @property
    def facts(self) -> Facts:
        """The claim is strict for data in the public range under secret noise.

        The noise hides a left-out record, and thus the number of records, under "loo".
        """
        strict = self.noise == "secret" and not self.edges_from_data
        return replace(
            super(PerturbedHistogram, self).facts,
            claim="dp-if-bounded" if strict else "none",
            protects_records=self.neighbours == "loo",
        )

    def check_columns(self, predictors: Sequence[str], released: Sequence[str]) -> None:
        """Refuse predictors. Refuse other released columns under a protected number of records."""
        if predictors:
            raise InputError.by("histogram-with-predictors")
        if self.neighbours == "loo" and len(released) > 1:
            raise InputError.by("rows-protected")

    def perturb(self, y: Floats, *, seed: int) -> NoisyHistogram:
        """The noisy histogram of an outcome (N,); only seeded noise reads the seed.

        Under a strict claim a value that is missing or outside the range is in no bin.
        """
        noise: Any = self.noise
        neighbours: Any = self.neighbours
        return perturbed_histogram(
            y,
            epsilon=self.epsilon,
            range=self.range,
            bins=self.bins,
            neighbours=neighbours,
            noise=noise,
            seed=seed % 2**31 if self.noise == "seeded-float" else None,
            edges_from_data=self.edges_from_data,
            allow_outside=self.allow_outside,
            uncounted=self.facts.claim != "none",
        )
