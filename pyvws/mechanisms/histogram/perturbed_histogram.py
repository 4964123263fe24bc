"""The perturbed histogram: noisy counts of public bins, and synthetic records from them.

Wasserman and Zhou [wasserman2010] define the mechanism; [global2022] compares it with pseudo
posteriors. The outcome is bounded and cut into B bins with counts C_j. The noisy counts are
D_j = C_j + noise. The probability of bin j is max(D_j, 0) over its sum. A synthetic record is a
uniform value inside a bin that is drawn by these probabilities.

Replacing one record changes two counts by one each, so the noise has scale 2 / epsilon. Deleting
one record changes one count by one, so the noise has scale 1 / epsilon. Beware: the 2010 paper
states the variance of the noise, 8 / epsilon^2, which belongs to scale 2 / epsilon. This number is
no scale.

Steps after the noise cost no epsilon. Any number of datasets from one noisy histogram cost epsilon
once. A fresh histogram for each of m datasets costs m epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, choice, finite_vector, positive, whole_number
from pyvws.errors import InputError
from pyvws.mechanisms.histogram.bins import bin_counts, bin_places, bin_probabilities, public_edges
from pyvws.privacy.budget import Budget, noise_of, noise_scale
from pyvws.privacy.seller import Seller, Spending

_BINS: Final = "bins"


@dataclass(frozen=True, slots=True)
class NoisyHistogram:
    """Noisy counts of public bins: the result of `perturbed_histogram`.

    Attributes
    ----------
    edges : ndarray, shape (B + 1,)
        Edges in the outcome's unit. Bin j is [edges[j], edges[j + 1]); the last bin has both ends.
    counts : ndarray, shape (B,)
        Noisy counts D_j, some of them negative; whole numbers unless the noise is seeded.
    probabilities : ndarray, shape (B,)
        max(D_j, 0) over its sum, in [0, 1]; 1 / B for every bin where no count is above 0.
    epsilon : float
        The cost of the counts, paid once for any number of synthetic records; larger = riskier.
    neighbours : {"replace", "loo"}
        The change of the data that epsilon covers: one record replaced, or one record left out.
    scale : float
        Scale of the noise, in records.
    guarantee : {"dp-if-bounded", "none"}
        "dp-if-bounded" is differential privacy for data that surely lie in the range. "none" stands
        where edges come from the data or the noise comes from a seed.
    publishable : bool
        False where the noise comes from a seed: a person with the seed has the true counts.
    spending : Spending, optional
        What the seller of the counts may sell and has sold; None where the noise comes from a seed.
    """

    edges: Floats
    counts: NDArray[Any]
    probabilities: Floats
    epsilon: float
    neighbours: str
    scale: float
    guarantee: Literal["dp-if-bounded", "none"]
    publishable: bool
    spending: Spending | None = None

    @property
    def noisy_total(self) -> int:
        """The rounded sum of the noisy counts, at least 0; this number of records may be public."""
        return max(0, round(float(self.counts.sum())))


def perturbed_histogram(
    outcome: ArrayLike,
    *,
    epsilon: float,
    edges: ArrayLike | None = None,
    range: ArrayLike | None = None,
    bins: int | Literal["cube-root"] | None = None,
    public_n: int | None = None,
    neighbours: Literal["replace", "loo"] = "replace",
    noise: Literal["secret", "seeded-float"] = "secret",
    seed: int | None = None,
    allow_outside: bool = False,
    edges_from_data: bool = False,
    uncounted: bool = False,
) -> NoisyHistogram:
    """Count an outcome in public bins and add Laplace noise (section 4 of [wasserman2010]).

    The user must fix the edges, range and number of bins without the data. Each call spends epsilon
    again, also where the user then chooses among the results.

    Parameters
    ----------
    outcome : array_like, shape (N,)
        Confidential outcome, without missing values.
    epsilon : float
        Above 0; larger = riskier.
    edges : array_like, shape (B + 1,), optional
        Public ascending edges, in the outcome's unit.
    range : pair of float, optional
        Public (L, U) to cut into equal bins instead.
    bins : int or "cube-root", optional
        Number of equal bins. The default is the rule ceil(n^(1/3)), the rate of [wasserman2010].
    public_n : int, optional
        n for the rule. Under "replace" the default is N, since all neighbours have N records. Under
        "loo" N is itself protected, so the rule needs public_n; otherwise give a number of bins.
    neighbours : {"replace", "loo"}
        One record replaced (scale 2 / epsilon) or one record left out (scale 1 / epsilon).
    noise : {"secret", "seeded-float"}
        "secret" is exact discrete Laplace noise through OpenDP (`pip install opendp`), for
        release. "seeded-float" is Laplace noise of R's stream, for comparison with R alone.
    seed : int, optional
        R's seed for "seeded-float". Secret noise has none.
    allow_outside : bool
        Count values outside the range in the first or last bin instead of refusing them.
    edges_from_data : bool
        Take the range from the data's smallest and largest values. The edges reveal these values.
    uncounted : bool
        Leave missing values, and those outside the range, in no bin. A refusal tells whoever sees
        it of one record.

    Returns
    -------
    NoisyHistogram

    Raises
    ------
    InputError
        For values outside the range, missing or unordered edges, or arguments that do not go
        together.
    MissingDependencyError
        For secret noise where OpenDP is not installed.

    Examples
    --------
    >>> noisy = perturbed_histogram(
    ...     [1.0, 1.5, 7.0], epsilon=5.0, range=(0.0, 8.0), bins=2, noise="seeded-float", seed=1
    ... )
    >>> noisy.counts.round(2).tolist(), noisy.scale, noisy.publishable
    ([1.75, 0.88], 0.4, False)
    """
    y = np.asarray(outcome, np.float64) if uncounted else finite_vector(outcome, "outcome")
    scale = noise_scale(epsilon, neighbours)
    choice(noise, "noise", ("secret", "seeded-float"))
    if sum((edges is not None, range is not None, bool(edges_from_data))) != 1:
        raise InputError.by("edges-or-range")
    n: int | None = len(y)
    if edges_from_data:
        range = (y.min(), y.max())
    elif neighbours == "loo":
        n = None
    cuts = public_edges(edges, range, bins, public_n, n)
    if allow_outside:
        y = np.clip(y, cuts[0], cuts[-1])
    places = _places_or_none if uncounted else bin_places
    noisy: NDArray[Any]
    spending = None
    if noise == "secret":
        if seed is not None:
            raise InputError.by("secret-noise-with-seed")
        budget = Budget(epsilon=float(epsilon), neighbours=neighbours)
        seller = Seller.of_noise(noise_of(budget, {_BINS: 1.0}), y)
        noisy = seller.counts(_BINS, lambda own: places(own, cuts), len(cuts) - 1)
        spending = seller.spending
    else:
        if seed is None:
            raise InputError.by("seeded-noise-without-seed")
        noisy = bin_counts(y, cuts) + seeded_laplace(len(cuts) - 1, scale=scale, seed=seed)
    secret = noise == "secret"
    return NoisyHistogram(
        edges=cuts,
        counts=noisy,
        probabilities=bin_probabilities(noisy),
        epsilon=float(epsilon),
        neighbours=neighbours,
        scale=scale,
        guarantee="dp-if-bounded" if secret and not edges_from_data else "none",
        publishable=secret,
        spending=spending,
    )


def _places_or_none(outcome: Floats, edges: Floats) -> NDArray[np.intp]:
    """The bin (N,) of each value, -1 for a missing one and for one outside of all bins."""
    places = np.full(len(outcome), -1, dtype=np.intp)
    inside = (edges[0] <= outcome) & (outcome <= edges[-1])
    if inside.any():
        places[inside] = bin_places(outcome[inside], edges)
    return places


def synthesize_from_histogram(
    histogram: NoisyHistogram, size: int, rng: np.random.Generator
) -> Floats:
    """Draw synthetic records: bins by their probabilities, and uniform values inside the bins.

    The function reads the noisy histogram alone, so a call costs no epsilon. The generator may have
    a seed.

    Parameters
    ----------
    histogram : NoisyHistogram
        The result of `perturbed_histogram`. For m datasets, draw m times from one histogram, which
        costs epsilon in all, or draw once from each of m histograms, which costs m epsilon.
    size : int
        Number of synthetic records. Under "replace" neighbours the number N of the data's records
        is public. Under "loo" N is protected, and a dataset of N records would reveal N: give
        `histogram.noisy_total` or a number fixed without the data.
    rng : numpy.random.Generator
        The generator. Each record takes two uniform numbers.

    Returns
    -------
    ndarray, shape (size,)
        In the outcome's unit, within the edges.

    Raises
    ------
    InputError
        If size is not a whole number of at least 1.

    Examples
    --------
    >>> noisy = perturbed_histogram(
    ...     [1.0, 1.5, 7.0], epsilon=5.0, range=(0.0, 8.0), bins=2, noise="seeded-float", seed=1
    ... )
    >>> synthesize_from_histogram(noisy, 3, np.random.default_rng(1)).round(2).tolist()
    [3.79, 5.25, 1.69]
    """
    records = whole_number(size, "size", least=1)
    which = rng.random(records)
    where = rng.random(records)
    reached = np.cumsum(histogram.probabilities, dtype=np.longdouble).astype(np.float64)
    bins = np.searchsorted(reached, which * reached[-1], side="right")
    # Rounding can lift the product to the total itself, and the total lies past every bin.
    bins = np.minimum(bins, np.flatnonzero(histogram.probabilities)[-1])
    low, high = histogram.edges[bins], histogram.edges[bins + 1]
    return np.asarray(np.minimum(low + (high - low) * where, high), dtype=np.float64)


def seeded_laplace(size: int, *, scale: float, seed: int) -> Floats:
    """Laplace noise (size,) of R's ``runif`` after ``set.seed(seed)``, never for release: -scale
    sign(v) log(1 - 2 |v|) for v = u - 1/2 and uniform u.
    """
    # This import loads numba, and only this function needs numba.
    from pyvws.r_numbers.r_random import RRandom

    width = positive(scale, "scale")
    centred = RRandom(seed).runif(whole_number(size, "size", least=1)) - 0.5
    # NumPy's log1p differs between processors; R uses the C library's log1p.
    sizes = np.array([math.log1p(-2.0 * abs(v)) for v in centred.tolist()])
    return -width * np.sign(centred) * sizes
