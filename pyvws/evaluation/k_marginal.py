"""The k-marginal score with k = 2: how near the joint shares of pairs of columns are [nist2023].

For two columns let p be the share of original records in each cell of their cross table, and q the
share of synthetic records. The distance of the pair is sum |p - q|, from 0 to 2, and

    score = 500 (2 - mean of the distances over all pairs of columns).

Numbers enter in public bins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Final, Literal

import narwhals as nw
import numpy as np
from narwhals.typing import IntoFrame
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, whole_number
from pyvws.errors import InputError
from pyvws.evaluation.bootstrap import second_sample, units_drawn
from pyvws.evaluation.original_and_datasets import (
    Codes,
    OriginalAndDatasets,
    rising_edges,
    shared_codes,
)
from pyvws.r_numbers import rarith
from pyvws.tables.files.frame import check_columns
from pyvws.tables.files.kinds import distinct, floats_of
from pyvws.tables.files.labels import as_number


@dataclass(frozen=True, slots=True)
class PairDistances:
    """Distances (P,) of P = D (D - 1) / 2 pairs of columns, in [0, 2], and the score in [0, 1000].

    Pairs are (1, 2), (1, 3), ..., (2, 3) and so on. Smaller distances, and a larger score, are more
    useful.
    """

    distances: Floats
    score: float


@dataclass(frozen=True, slots=True)
class KMarginal:
    """k-marginal scores in [0, 1000]; larger = nearer to the original.

    - `score`: Mean over the synthetic datasets.
    - `by_dataset`: The score of each dataset.
    - `together`: The score of all datasets as one table, as an analyst's means over them see it. A
      dataset drawn from a posterior has noise of its own, which such means lose.
    - `independent`: The score of the original with each column in a random order of its own: right
      shares of each column, and nothing that ties columns together.
    - `bootstrap`: The score of records, or of whole units, drawn from the original with
      replacement: what a second sample would about have.
    - `margin`: How far the scores of such samples lie apart: what chance makes of a score.
    - `by_pair`: The distance of each pair of columns, from 0 to 2, as a mean over the datasets;
      larger = worse.
    """

    score: float
    by_dataset: tuple[float, ...]
    together: float
    independent: float
    bootstrap: float
    margin: float
    by_pair: Mapping[tuple[str, str], float]

    @property
    def worse_than_independent(self) -> bool:
        """Whether `worse_than_independent` holds of these scores."""
        return worse_than_independent(self.score, self.independent, self.bootstrap)


Standing = Literal["worse", "hardly better", "better", "untied"]
"""Where datasets stand beside independent columns."""

_TOLD: Final = 20  # Of fewer records chance may leave none with a value in common.
_HARDLY: Final = 0.2  # Of the way from independent columns to a second sample.


def share_of_the_way(score: float, independent: float, bootstrap: float) -> float:
    """How far a score lies from independent columns' to a second sample's.

    0 = as independent columns, 1 = as a second sample. NaN where a second sample is no nearer to
    the original than independent columns.

    >>> round(share_of_the_way(936.6, 936.4, 957.6), 2)
    0.01
    """
    way = bootstrap - independent
    return (score - independent) / way if way > 0.0 else float("nan")


def standing(
    score: float, independent: float, bootstrap: float, margin: float = 0.0, *, best: float = 1000.0
) -> Standing:
    """Where a score stands between those of independent columns and of a second sample.

    "better" takes a fifth of the way, and more than the `margin` of chance. Where a second sample
    itself is not nearer than independent columns by more than that, the columns are hardly tied:
    "untied" is as near as such a sample.

    >>> standing(936.6, 936.4, 957.6)
    'hardly better'
    """
    if worse_than_independent(score, independent, bootstrap, best=best):
        return "worse"
    lacking, apart, again = (abs(best - x) for x in (score, independent, bootstrap))
    if apart - again <= margin:
        return "untied" if lacking <= again + margin else "hardly better"
    enough = max(margin, _HARDLY * (apart - again))
    return "better" if apart - lacking >= enough else "hardly better"


def worse_than_independent(
    score: float, independent: float, bootstrap: float, *, best: float = 1000.0
) -> bool:
    """Whether a score is worse than that of independent columns by more than chance.

    Independent columns have the data's own margins, which no sample has. So where columns are
    nearly independent, a good dataset is farther from the `best` score than they are, by about as
    much as a bootstrap is. A score counts as worse from twice as much on.
    """
    lacking = abs(best - score)
    return lacking > max(abs(best - independent), 2.0 * abs(best - bootstrap))


def k_marginal(
    original: IntoFrame,
    synthetic: Sequence[Any],
    *,
    columns: Sequence[str] | None = None,
    bins: Mapping[str, Any] | None = None,
    unit: str | None = None,
    replicates: int = 5,
    seed: int = 1,
) -> KMarginal:
    """The k-marginal score (k = 2) of synthetic tables beside two scores that give it a scale.

    Best is 1000: every pair of columns has the original's joint shares. Worst is 0: no pair has a
    cell in common. In between the scale is short: independent columns often score above 900, and a
    second sample of the same population below 1000. So read the score between `independent` and
    `bootstrap`. With many cells to few records, a bootstrap scores low as well.

    The score is blind to what ties three or more columns together, to differences within a bin, and
    to rare cells, which have small shares. A copy of the original scores 1000, so the score says
    nothing of privacy.

    - `original`: Confidential records.
    - `synthetic` (sequence of tables): Synthetic datasets, from any tool; row counts may differ. A
      single one stands in a list.
    - `columns` (sequence of str, optional): Columns to score, two or more; by default all of
      `original`.
    - `bins` (mapping of str to array_like, optional): Rising edges of a number's bins, chosen
      without looking at the data: bin j holds edge_j <= x < edge_{j+1}, and numbers before the
      first and from the last edge on have a bin of their own each. A code such as "N" in a column
      of text stays a category. Without bins each value is a category.
    - `unit` (str, optional): Column of the original with the ids of units of several records. Then
      `bootstrap` draws whole units; a record without an id is one of its own.
    - `replicates`: Tables that `independent` and `bootstrap` are means over.
    - `seed`: Seed of these tables.

    Larger = more useful. Raises InputError for columns that a table lacks, fewer than two
    columns, bins that do not rise, and text or truth values that two tables spell apart.

    >>> import pandas as pd
    >>> original = pd.DataFrame({"sex": ["f", "f", "m", "m"], "age": [20, 30, 20, 30]})
    >>> synthetic = pd.DataFrame({"sex": ["f", "f", "m", "m"], "age": [20, 20, 30, 30]})
    >>> k_marginal(original, [synthetic]).score
    500.0
    """
    tables = OriginalAndDatasets.read(original, synthetic)
    first = tables.first
    names = list(first.columns) if columns is None else list(columns)
    if len(names) < 2:
        raise InputError.by("too-few-columns", names=len(names))
    edges = {name: rising_edges(values, name) for name, values in (bins or {}).items()}
    check_columns(first, [*names, *edges], role="original")
    tables.require(names)
    by_column = {
        name: shared_codes(_cells(frame[name], edges.get(name)) for frame in tables.frames.values())
        for name in names
    }
    text = {
        name: coded
        for name, coded in by_column.items()
        if name not in edges
        and min(map(len, tables.frames.values())) >= _TOLD
        and not all(frame[name].dtype.is_numeric() for frame in tables.frames.values())
    }
    tables.refuse_other_spellings(text)
    data, *codes = (
        np.column_stack(parts)
        for parts in zip(*(parts for parts, _ in by_column.values()), strict=True)
    )
    units = None if unit is None else units_drawn(first, unit)
    return coded_k_marginal(data, codes, names, units=units, replicates=replicates, seed=seed)


def coded_k_marginal(
    original: Codes,
    synthetic: Sequence[Codes],
    names: Sequence[str],
    *,
    units: Codes | None = None,
    replicates: int = 5,
    seed: int = 1,
) -> KMarginal:
    """`k_marginal` of tables of codes (N, D) and (M, D): whole numbers from 0 on, by column.

    The original's records may belong to `units` (N,), whole numbers from 0 on.
    """
    count, N = whole_number(replicates, "replicates", least=1), len(original)
    rng = np.random.default_rng(seed)
    *results, together = _distances(original, synthetic)
    apart = [pair_distances(original, rng.permuted(original, axis=0)).score for _ in range(count)]
    drawn = [second_sample(rng, N, units) for _ in range(count)]
    again = [pair_distances(original, original[rows]).score for rows in drawn]
    scores = tuple(result.score for result in results)
    distances = np.mean([result.distances for result in results], axis=0).tolist()
    return KMarginal(
        score=rarith.mean(scores),
        by_dataset=scores,
        together=together.score,
        independent=rarith.mean(apart),
        bootstrap=rarith.mean(again),
        margin=max(again) - min(again),
        by_pair=dict(zip(combinations(names, 2), distances, strict=True)),
    )


def predicted_k_marginals(datasets: Sequence[NDArray[Any]]) -> dict[str, float]:
    """The scores of margins, pairs and triples that datasets predict of each of them, by name.

    Draws of a posterior lie as far from each other as from the table, as far as their model is
    right. So these are mean scores between datasets (M, D) of codes, which need no table. None of
    fewer than two datasets, or of no records. At most three neighbours are compared, and the first
    with the third dataset. Sets of columns are spread evenly where there are many.
    """
    if len(datasets) < 2 or not len(datasets[0]):
        return {}
    N, D = datasets[0].shape
    compared = [*list(pairwise(datasets))[:3], *zip(datasets[:1], datasets[2:3], strict=False)]
    compared = compared[: max(1, _COMPARED // (100 * N))]
    widths = np.max([codes.max(axis=0) for codes in datasets], axis=0).astype(np.intp) + 1
    found = {}
    for name, k in _SIZES.items():
        sets = list(combinations(range(D), k))
        spread = sets[:: max(1, -(-len(sets) // max(20, _COMPARED // N)))]
        scores = [
            _set_distance(codes[:, columns], others[:, columns], widths[[*columns]])
            for codes, others in compared
            for columns in spread
        ]
        if scores:
            found[name] = (2.0 - rarith.mean(scores)) * 500.0
    return found


_SIZES: Final = {"margins": 1, "pairs": 2, "triples": 3}
_COMPARED: Final = 50_000_000  # Records times sets: some seconds.


def _set_distance(original: NDArray[Any], synthetic: NDArray[Any], widths: Codes) -> float:
    """The distance of the joint shares of all columns of tables (N, k) and (M, k), 0 to 2."""
    both, N = np.concatenate([original, synthetic]), len(original)
    place, cells = np.ravel_multi_index(tuple(both.T), tuple(widths)), int(np.prod(widths))
    if cells > len(both):
        patterns, place = np.unique(place, return_inverse=True)
        cells = len(patterns)
    p, q = (np.bincount(own, minlength=cells) / len(own) for own in np.split(place, [N]))
    return float(np.abs(p - q).sum())


def chained_k_marginal(original: Codes, *, replicates: int = 5, seed: int = 1) -> float:
    """The mean score of tables whose columns each follow from one earlier column alone.

    Of the codes (N, D) each column takes the earlier one that it is least independent of, and
    draws its code from the records with that one's code: tables of two columns, without noise.
    """
    rng = np.random.default_rng(seed)
    N, D = original.shape
    widths = original.max(axis=0) + 1
    margins = [np.bincount(original[:, d], minlength=widths[d]) / N for d in range(D)]
    chosen = [-1]
    for d in range(1, D):
        tied = []
        for e in range(d):
            joint = np.bincount(original[:, e] * widths[d] + original[:, d])
            patterns = np.flatnonzero(joint)
            p = margins[e][patterns // widths[d]] * margins[d][patterns % widths[d]]
            tied.append(float(np.abs(joint[patterns] / N - p).sum() + 1.0 - p.sum()))
        chosen.append(int(np.argmax(tied)))
    scores = []
    for _ in range(replicates):
        chained = np.empty_like(original)
        for d, e in enumerate(chosen):
            if e < 0:
                chained[:, d] = rng.choice(original[:, d], N)
                continue
            order = np.argsort(original[:, e], kind="stable")
            counts = np.bincount(original[:, e], minlength=widths[e])
            ends = np.cumsum(counts)
            own = chained[:, e]
            at = ends[own] - 1 - (rng.random(N) * counts[own]).astype(np.intp)
            chained[:, d] = original[order[at], d]
        scores.append(pair_distances(original, chained).score)
    return rarith.mean(scores)


def pair_distances(original: ArrayLike, synthetic: ArrayLike) -> PairDistances:
    """Distances and score of tables of codes (N, D) and (M, D): whole numbers from 0 on."""
    return _distances(original, [synthetic])[0]


def _distances(original: ArrayLike, synthetic: Sequence[Any]) -> list[PairDistances]:
    """`pair_distances` of each table, and last of all of them as one."""
    first, *others = (np.asarray(table, np.intp) for table in (original, *synthetic))
    widths = np.max([table.max(axis=0) for table in (first, *others)], axis=0) + 1
    sizes = [len(table) for table in (first, *others)]
    distances = []
    for a, b in combinations(range(first.shape[1]), 2):
        place = np.concatenate([x[:, a] * widths[b] + x[:, b] for x in (first, *others)])
        count = int(widths[a] * widths[b])
        if count > len(place):
            patterns, place = np.unique(place, return_inverse=True)
            count = len(patterns)
        own, *counts = (
            np.bincount(x, minlength=count) for x in np.split(place, np.cumsum(sizes)[:-1])
        )
        p = own / len(first)
        shares = [x / size for x, size in zip(counts, sizes[1:], strict=True)]
        shares.append(np.sum(counts, axis=0) / sum(sizes[1:]))
        distances.append([rarith.sum_in_order(np.abs(p - q)) for q in shares])
    each = np.array(distances).T
    return [PairDistances(x, (2.0 - rarith.mean(x)) * 500.0) for x in each]


def _cells(column: nw.Series[Any], edges: Floats | None) -> tuple[Codes, list[Any]]:
    """Each record's place (N,) among some cells: labels, numbers of bins, and None if missing."""
    if edges is not None and column.dtype.is_numeric():
        values = floats_of(column)
        bin_of = np.where(np.isnan(values), -1, np.searchsorted(edges, values, side="right"))
        return bin_of.astype(np.intp), [*range(len(edges) + 1), None]
    places, labels = distinct(column)
    cells: list[Any] = list(labels)
    if edges is not None:
        numbers = [as_number(label) for label in labels]
        cells = [
            label if number is None else int(np.searchsorted(edges, number, side="right"))
            for label, number in zip(labels, numbers, strict=True)
        ]
    return places, [*cells, None]
