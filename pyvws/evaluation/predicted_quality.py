"""How near datasets of noisy counts are to the table, and how much dependence they keep.

Both follow from what a release holds, so they cost nothing. A noisy count S is M + Z: the
confidential count M, and noise Z of variance v. X is the count of a dataset, and I the count that
its margins alone would give. The noise moves X and I too. Stein's identity takes that off. So the
dependence kept is the share

    sum [(X - I) (S - I) - cov(Z, X) + cov(Z, I)] / v  of  sum [(S - I)^2 - v + 2 cov(Z, I)] / v

over the cells of counted pairs. The covariances of several datasets are those with the noise that
their fits added. A best file is made once more, from its own counts under fresh noise.

Scores follow from how far datasets, or both files, lie from each other. In squares the table lies

    (S - X)^2 - v + 2 cov(Z, X)

from a dataset, summed over all cells. Scores of margins and pairs are moved by as much as this is
further, and those of triples, which no set counts, by a part of it for a best file. An unsure
ratio is drawn towards the usual one. Between two datasets chance counts twice, and between a
dataset and the table once: so the table is usually nearer than a second dataset.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.evaluation.k_marginal import predicted_k_marginals
from pyvws.evaluation.whole_tables import noise_probabilities
from pyvws.mechanisms.counts.best_file import Imputed
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.measurements import Measurements

_STANDS_OUT: Final = 2.0  # Deviations of dependence that is told from noise.
_MOST: Final = 2_000_000  # Records of a file that is made once more.
_MOST_NOISE: Final = 20_000.0  # A scale in records.
_USUAL: Final = 0.18  # log of squares of the table's distance over those of a second file: mean
_BETWEEN: Final = 0.17  # and deviation between six public files,
_OF_TRIPLES: Final = 0.65  # where triples lie further by about this part of it.
_OF_DRAWS: Final = -0.15  # The mean for several datasets: three public files.
_MOST_PAIRS: Final = 0.9
_LEAST: Final = 1e-2  # The variance of a count in records^2, for a weight.


@dataclass(frozen=True, slots=True)
class PredictedQuality:
    """What noisy counts and datasets say of each of the datasets.

    - `scores`: k-marginal scores of "margins", "pairs" and "triples", 0 to 1000; larger = nearer to
      the table. Empty where nothing tells them, and of margins alone where under nine tenths of the
      pairs of columns were counted: nothing tells what the others lost.
    - `kept`: The share of the counted pairs' dependence that datasets keep; 1 = all of it, smaller
      = less. None where the dependence hardly stands out of the noise.
    """

    scores: Mapping[str, float]
    kept: float | None


def predicted_quality(
    noisy: Measurements, imputed: Imputed, again: Callable[[Measurements], Imputed], *, seed: int
) -> PredictedQuality:
    """The scores and the kept dependence of imputed datasets, from noisy counts alone.

    `again` makes a best file of other noisy counts, as this one was made. `seed` is that of their
    noise, and may be public. A table of very many records and noise beyond all counts are left out.
    """
    datasets, most = imputed.codes, max(noisy.scales)
    if not 0 < len(datasets[0]) <= _MOST or most > _MOST_NOISE:
        return PredictedQuality({}, None)
    cells = _Cells.of(noisy)
    counts, alone = cells.counts(datasets)
    means = counts.mean(axis=0), alone.mean(axis=0)
    if len(datasets) == 1:
        noise = cells.noise(np.random.default_rng([seed, 3]))
        simulated = (counts[0].astype(np.int64) + noise) * noisy.table.possible
        made = again(replace(noisy, counts=simulated)).codes
        apart = [x[0] - mean for x, mean in zip(cells.counts(made), means, strict=True)]
        moved, moved_alone = (noise * x for x in apart)
        own, second, usual, of_triples = 0.0, apart[0] ** 2, _USUAL, _OF_TRIPLES
        scores = predicted_k_marginals([datasets[0], *made])
    else:
        off, D = counts - means[0], len(datasets)
        noise = np.zeros_like(off) if imputed.noise is None else imputed.noise
        moved, moved_alone = ((noise * x).sum(axis=0) / (D - 1) for x in (off, alone - means[1]))
        own, usual, of_triples = (off**2).mean(axis=0), _OF_DRAWS, 1.0
        second = own * (2.0 * D / (D - 1))
        scores = predicted_k_marginals(datasets)
    table = (noisy.counts - means[0]) ** 2 - cells.variance + 2.0 * moved + own
    further = cells.further(table, second, usual)
    for name, score in scores.items():
        part = of_triples if name == "triples" else 1.0
        scores[name] = max(0.0, 1000.0 - (1000.0 - score) * (1.0 + part * further))
    if cells.pairs_counted < _MOST_PAIRS:
        scores = {name: score for name, score in scores.items() if name == "margins"}
    return PredictedQuality(scores, cells.kept(*means, moved, moved_alone))


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """The counted cells (C,), with the law of their noise by set and the variance of each.

    `pairs` says which of them belong to plain pairs of columns.
    """

    noisy: Measurements
    laws: list[tuple[Floats, Floats]]
    variance: Floats
    pairs: NDArray[np.bool_]

    @classmethod
    def of(cls, noisy: Measurements) -> _Cells:
        kind: Literal["laplace", "gaussian"] = "laplace" if noisy.laplace else "gaussian"
        sizes = noisy.table.sizes
        by_scale = {x: noise_probabilities(x, kind) for x in {*noisy.scales.tolist()}}
        laws = [by_scale[x] for x in noisy.scales.tolist()]
        variance = np.repeat([float(mass @ z**2) for z, mass in laws], sizes)
        pairs = np.repeat([own.is_pair for own in noisy.table.cliques], sizes)
        return cls(noisy, laws, variance, pairs & noisy.table.possible)

    @property
    def _weights(self) -> Floats:
        return self.noisy.table.possible / np.maximum(self.variance, _LEAST)

    @property
    def _of_square(self) -> float:
        """The variance of the square of a count's noise, in squares of its variance."""
        return 5.0 if self.noisy.laplace else 2.0

    @property
    def pairs_counted(self) -> float:
        """The share of the pairs of columns that stand in a set together."""
        of_sets = (combinations(own.columns, 2) for own in self.noisy.table.cliques)
        pairs = {frozenset(pair) for pair in chain.from_iterable(of_sets)}
        return len(pairs) / max(1, math.comb(len(self.noisy.table.columns), 2))

    def noise(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Fresh noise (C,) of the law of each set."""
        sizes = self.noisy.table.sizes
        drawn = [rng.choice(z, n, p=mass) for (z, mass), n in zip(self.laws, sizes, strict=True)]
        return np.concatenate(drawn).astype(np.int64)

    def counts(self, datasets: Sequence[Codes]) -> tuple[Floats, Floats]:
        """The counts (D, C) of datasets, and those that pairs would have by their margins alone."""
        table = self.noisy.table
        counts = np.array([table.counts(codes) for codes in datasets], dtype=np.float64)
        alone = counts.copy()
        for q, own in enumerate(table.cliques):
            if own.is_pair:
                at = slice(*table.offsets[q : q + 2])
                joint = counts[:, at].reshape(-1, *own.sizes)
                product = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
                product /= np.maximum(joint.sum(axis=(1, 2), keepdims=True), 1.0)
                alone[:, at] = product.reshape(len(counts), -1)
        return counts, alone

    def kept(
        self, counts: Floats, alone: Floats, moved: Floats, alone_moved: Floats
    ) -> float | None:
        """The share of dependence kept, of the cells' counts (C,) and those without dependence.

        `moved` and `alone_moved` (C,) are the covariances of these with the noise.
        """
        w, S = self._weights * self.pairs, self.noisy.counts
        whole = float(w @ ((S - alone) ** 2 - self.variance + 2.0 * alone_moved))
        deviation = math.sqrt(self._of_square * self.pairs.sum() + 4.0 * max(whole, 0.0))
        if whole <= _STANDS_OUT * deviation:
            return None
        kept = float(w @ ((counts - alone) * (S - alone) - moved + alone_moved)) / whole
        return min(1.0, max(0.0, kept))

    def further(self, table: Floats, second: Floats, usual: float) -> float:
        """How far the table lies from a dataset, over how far a second dataset does, less 1.

        Both are estimates (C,) of squares of distances. The less sure their ratio is, the nearer
        the result is to `usual`, a log of their ratio.
        """
        own, other = (float(self._weights @ squares) for squares in (table, second))
        if not other:
            return 0.0
        own = max(own, _LEAST * other)
        noise = self._of_square * float(self.noisy.table.possible.sum())
        sure, before = own**2 / (noise + 4.0 * (own + other)), _BETWEEN**-2.0
        ratio = (sure * math.log(own / other) + before * usual) / (sure + before)
        return math.exp(0.5 * ratio) - 1.0
