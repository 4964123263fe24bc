"""The perturbed histogram: noisy counts of public bins, and synthetic records from them.

Wasserman and Zhou [wasserman2010], compared with pseudo posteriors by [global2022]. The outcome is
bounded and cut into B bins with counts C_j. Then D_j = C_j + noise, max(D_j, 0) over its sum is the
probability of bin j, and a record is a bin drawn by these and a uniform value inside it.

Replacing one record changes two counts by one each, so the noise has scale 2 / epsilon; deleting
one changes one count, so it has 1 / epsilon. Beware: the 2010 paper states the noise by its
variance, 8 / epsilon^2, which is that of scale 2 / epsilon. It is no scale.

Everything after the noise costs nothing more. Any number of datasets from one noisy histogram cost
epsilon once; a fresh histogram for each of m datasets costs m epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats, choice, finite_vector, positive, whole_number
from pyvws.errors import InputError
from pyvws.mechanisms.histogram.bins import bin_counts, bin_probabilities, public_edges
from pyvws.mechanisms.histogram.discrete_laplace import add_discrete_laplace

__all__ = [
    "NoisyHistogram",
    "noise_scale",
    "perturbed_histogram",
    "seeded_laplace",
    "synthesize_from_histogram",
]

_SENSITIVITY: Final = {"replace": 2, "loo": 1}


@dataclass(frozen=True, slots=True)
class NoisyHistogram:
    """Noisy counts of public bins: what `perturbed_histogram` gives.

    Attributes
    ----------
    edges : ndarray, shape (B + 1,)
        In the outcome's unit; bin j is [edges[j], edges[j + 1]), the last one with its upper end.
    counts : ndarray, shape (B,)
        D_j, noisy and some of them negative; whole numbers unless the noise is seeded.
    probabilities : ndarray, shape (B,)
        max(D_j, 0) over its sum; 1 / B for every bin where no count is above 0.
    epsilon : float
        What the counts cost, once, however many records are drawn from them; larger = riskier.
    neighbours : {"replace", "loo"}
        What epsilon holds for: one record replaced, or one left out.
    scale : float
        Scale of the noise, in records.
    guarantee : {"dp-if-bounded", "none"}
        "dp-if-bounded" is differential privacy for data that surely lie in the range; "none" where
        edges come from the data or the noise from a seed.
    publishable : bool
        False where the noise comes from a seed: who has the seed has the true counts.
    """

    edges: Floats
    counts: NDArray[Any]
    probabilities: Floats
    epsilon: float
    neighbours: str
    scale: float
    guarantee: Literal["dp-if-bounded", "none"]
    publishable: bool

    @property
    def noisy_total(self) -> int:
        """The sum of the noisy counts, rounded, at least 0: a number of records fit to be known."""
        return max(0, round(float(self.counts.sum())))


def perturbed_histogram(
    outcome: Any,
    *,
    epsilon: float,
    edges: Any = None,
    range: Any = None,
    bins: int | Literal["cube-root"] | None = None,
    public_n: int | None = None,
    neighbours: Literal["replace", "loo"] = "replace",
    noise: Literal["secret", "seeded-float"] = "secret",
    seed: int | None = None,
    allow_outside: bool = False,
    edges_from_data: bool = False,
) -> NoisyHistogram:
    """Count an outcome in public bins and add Laplace noise (section 4 of [wasserman2010]).

    Edges, range and number of bins must be fixed without the data. Choosing among results, or
    calling once more, spends epsilon each time.

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
        Number of equal bins, or ceil(n^(1/3)), the default: the rate of [wasserman2010].
    public_n : int, optional
        n for the rule. By default N under "replace", where all neighbours have it. Under "loo" N
        is itself protected, so the rule needs this number, or bins must be a number.
    neighbours : {"replace", "loo"}
        One record replaced (scale 2 / epsilon) or left out (1 / epsilon).
    noise : {"secret", "seeded-float"}
        "secret" is exact discrete Laplace noise through OpenDP (`pip install 'pyvws[dp]'`), for
        release. "seeded-float" is Laplace noise of R's stream, for comparison with R alone.
    seed : int, optional
        R's seed for "seeded-float". Secret noise has none.
    allow_outside : bool
        Count values outside the range in the first or last bin instead of refusing them.
    edges_from_data : bool
        Take the range from the data's smallest and largest values, which the edges then reveal.

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
    y = finite_vector(outcome, "outcome")
    scale = noise_scale(epsilon, neighbours)
    choice(noise, "noise", ("secret", "seeded-float"))
    if sum((edges is not None, range is not None, bool(edges_from_data))) != 1:
        raise InputError(
            "Give one of edges= and range=(L, U), fixed without the data, or edges_from_data=True, "
            "which leaves no guarantee."
        )
    n: int | None = len(y)
    if edges_from_data:
        range = (y.min(), y.max())
    elif neighbours == "loo":
        n = None
    cuts = public_edges(edges, range, bins, public_n, n)
    if allow_outside:
        y = np.clip(y, cuts[0], cuts[-1])
    counts = bin_counts(y, cuts)
    noisy: NDArray[Any]
    if noise == "secret":
        if seed is not None:
            raise InputError("Secret noise has no seed. Leave seed out, or use 'seeded-float'.")
        noisy = add_discrete_laplace(counts, scale=scale)
    else:
        if seed is None:
            raise InputError("noise='seeded-float' needs a seed, a whole number.")
        noisy = counts + seeded_laplace(len(counts), scale=scale, seed=seed)
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
    )


def synthesize_from_histogram(
    histogram: NoisyHistogram, size: int, rng: np.random.Generator
) -> Floats:
    """Draw synthetic records: bins by their probabilities, uniform values inside them.

    It reads the noisy histogram alone, so it costs no epsilon, and its generator may be seeded.

    Parameters
    ----------
    histogram : NoisyHistogram
        From `perturbed_histogram`. For m datasets draw m times from one histogram, at epsilon in
        all, or once from each of m, at m epsilon.
    size : int
        Number of records. Under "replace" neighbours that of the data is public. Under "loo" it is
        not, and a dataset of just that size gives it away: take `histogram.noisy_total` or a
        number fixed without the data.
    rng : numpy.random.Generator
        Two uniform numbers are taken for each record.

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
    # Rounding can lift the product to the total itself, which lies past every bin.
    bins = np.minimum(bins, np.flatnonzero(histogram.probabilities)[-1])
    low, high = histogram.edges[bins], histogram.edges[bins + 1]
    return np.asarray(np.minimum(low + (high - low) * where, high), dtype=np.float64)


def noise_scale(epsilon: float, neighbours: Literal["replace", "loo"] = "replace") -> float:
    """Scale of the noise in records: 2 / epsilon for "replace", 1 / epsilon for "loo".

    It is the least double that is not below the true quotient, so that rounding spends nothing.
    Raises InputError for an epsilon not above 0 or another word.
    """
    loss = positive(epsilon, "epsilon")
    changed = _SENSITIVITY[choice(neighbours, "neighbours", tuple(_SENSITIVITY))]
    scale = changed / loss
    if math.isinf(scale):
        raise InputError(f"epsilon is too small for a finite noise. Got {loss:g}.")
    if Fraction(scale) * Fraction(loss) < changed:
        scale = math.nextafter(scale, math.inf)
    return scale


def seeded_laplace(size: int, *, scale: float, seed: int) -> Floats:
    """Laplace noise (size,) of R's ``runif`` after ``set.seed(seed)``, never for release.

    -scale sign(v) log(1 - 2 |v|) for v = u - 1/2. Raises InputError for a bad size, scale or seed.
    """
    # Importing this loads numba, which the rest of the module does without.
    from pyvws.r_numbers.r_random import RRandom

    width = positive(scale, "scale")
    centred = RRandom(seed).runif(whole_number(size, "size", least=1)) - 0.5
    # NumPy's own log1p differs between processors; the C library's is R's.
    sizes = np.array([math.log1p(-2.0 * abs(v)) for v in centred.tolist()])
    return -width * np.sign(centred) * sizes
