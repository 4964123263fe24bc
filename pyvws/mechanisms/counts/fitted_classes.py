"""Latent classes [nixon2022] whose parameters are fitted to noisy counts, without any record.

Class h has the share pi_h [nixon2022], and within it column k has code c with probability phi_hkc.
So a set q has the expected counts n m_q(pi, phi), and the fit minimises

    sum_q sum_c (n m_qc - S_qc)^2 / (2 sigma_q^2) - a sum_h sum_k sum_c w_kc log phi_hkc.

Of Laplace noise the first part is sum sqrt((n m - S)^2 + d^2) / b_q, smoothed for the fractions of
expected counts. The second part is a Dirichlet prior: it adds a records to each class and column,
with the shares w_k of the column's noisy margin. Here a is a fifth of the number of columns, since
more columns leave more noise in each count. In the columns of a pair with so many times the usual
share of the budget, as analysts need, it is as much smaller: there the prior hides regressions.
Its cost follows the cells and the classes, and not the records.

Where rules bar codes a class lies within one pattern of `rule_patterns`. Cells that further rules
make impossible count as a measured 0. Several fits begin at random, and their mean is the model: it
stands nearer to the truth than the best of them. A `Further` prior, such as a public table's, adds
slopes of its own. Few classes cannot hold a strong diagonal. So of each pair of columns the part of
its gap that stands out of the noise stays beside the classes. Of a sum X of its cells'
(gap / deviation)^2 that is the share 1 - C / X of the gap, as James and Stein have it, where C is
what noise hardly exceeds. Of the rest the covariance z of both columns' ranks, in deviations, keeps
the share 1 - 1 / z^2: a tie along both orders shows there when all cells together hide it. Of a
pair with more budget the mean of numbers by the other column's codes keeps what James and Stein
leave of it. The fit reads the noisy counts alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.cores import steady_sums
from pyvws.mechanisms.counts.cliques import Clique
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.skips import rule_patterns

FITS: Final = 6
"""Of a best file."""
_MOST_STEPS: Final = 300
_LEAST_STEPS: Final = 180
_OF_STEPS: Final = 60.0  # Steps where the noise of a set's counts adds up to all records.
_STEP: Final = 0.3  # Of a logit, at its largest.
_RISING: Final = 20  # Steps until it is so large; it falls as a cosine to
_LAST: Final = 0.02  # this part.
_MEAN, _SQUARE = 0.9, 0.99  # How slowly the means of slopes and of their squares move.
_PRIOR: Final = 0.2  # Records that the prior adds to each class, for each column.
_SPREAD: Final = 0.5  # Of the logits that a fit begins with.
_SMOOTH: Final = 0.2  # Scales of the noise within which Laplace's log density is round.
_OUTSTANDING: Final = 2.0  # Deviations of a sum of squares of noise.
_RARER: Final = 1e-3  # Of what a fit has of a code, at least: a class may need it.
_RAKED: Final = 20  # Passes that give classes their margins.
_HALF: Final = 0.5  # Records that each code of a margin has more.
_FEW: Final = 10  # The square of all codes has so many times the cells of the few pairs in it.
MOST_CELLS: Final = 200_000
"""Cells of the sets that are no plain pairs, at most, for a fit."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedClasses:
    """A mixture of products of categories, and ties of pairs that it cannot hold.

    - `shares` (H,): The classes' shares.
    - `profiles` (H, sum of L): The codes' shares in each class, column beside column; 0 for what
      rules bar.
    - `offsets` (K + 1,): Where the codes of each column begin.
    - `ties` (sum of L, sum of L): What the shares of pairs of codes have more than those of the
      classes, both ways.
    - `misfit`: Mean over measured cells of ((S - n m) / deviation)^2; larger = further from the
      counts.
    - `near` (sum of L, sum of L): The pairs of codes that records come near to, or all of them.
    """

    shares: Floats
    profiles: Floats
    offsets: NDArray[np.int64]
    ties: Floats
    misfit: float
    near: NDArray[np.bool_] | bool = True

    def pairs(self, records: int) -> Floats:
        """Expected counts of all pairs of codes (sum of L, sum of L) among so many records."""
        of_classes = (self.profiles * (records * self.shares)[:, None]).T @ self.profiles
        return np.asarray(of_classes + records * self.ties)


class FurtherSlopes(Protocol):
    """What a prior adds to the slopes of one fit."""

    def at(self, shares: Floats, profiles: Floats) -> tuple[Floats, Floats]:
        """The slopes by the logits of shares (H,) and of codes (H, sum of L)."""


class Further(Protocol):
    """A prior beside that of the margins; none where `kappa` is 0."""

    @property
    def kappa(self) -> float:
        """The records that the prior counts as, for each record to make."""

    def batches(self, rng: np.random.Generator) -> FurtherSlopes:
        """What one fit adds to its slopes."""


def fitted_classes(
    noisy: Measurements, *, classes: int, seed: int, further: Further | None = None
) -> FittedClasses:
    """The mean of several fits, each of about so many classes."""
    counts = PenalisedCounts(noisy)
    with steady_sums():
        fits = [
            one_fit(counts, classes, np.random.default_rng(stream), further)
            for stream in np.random.SeedSequence(seed).spawn(FITS)
        ]
        shares = np.concatenate([pi for pi, _ in fits]) / FITS
        profiles = np.concatenate([phi for _, phi in fits])
        ties, misfit = counts.ties(shares, profiles), counts.misfit(shares, profiles)
        return FittedClasses(shares, profiles, counts.offsets, ties, misfit)


def one_fit(
    counts: PenalisedCounts, classes: int, rng: np.random.Generator, further: Further | None = None
) -> tuple[Floats, Floats]:
    """Shares (H,) and profiles (H, sum of L) of one fit: adaptive steps along the slope."""
    start = counts.start(classes, rng)
    means, squares = start.zeros(), start.zeros()
    at, prior = start, further.batches(rng) if further is not None and further.kappa else None
    for step in range(1, counts.steps + 1):
        _, slopes = counts.penalised(at)
        if prior is not None:
            of_shares, of_codes = prior.at(_softmax(at.shares), counts.profiles(at.codes))
            slopes = slopes[0] + of_shares, slopes[1] + of_codes * (at.prior > 0.0)
        falling = 0.5 * (1.0 + np.cos(np.pi * step / counts.steps)) + _LAST
        length = _STEP * min(1.0, step / _RISING) * falling
        for x, slope, mean, square in zip(at[:2], slopes, means, squares, strict=True):
            mean += (1.0 - _MEAN) * (slope - mean)
            square += (1.0 - _SQUARE) * (slope**2 - square)
            size = np.sqrt(square / (1.0 - _SQUARE**step)) + 1e-8
            x -= length * mean / (1.0 - _MEAN**step) / size
    shares, profiles = _softmax(at.shares), counts.profiles(at.codes)
    return shares, counts.raked(shares, profiles, counts.near_margins(shares @ profiles))


class Logits(NamedTuple):
    """The parameters of a fit: logits of shares (H,) and of codes (H, sum of L), and its prior.

    `prior` (H, sum of L) are the shares that the prior pulls each class to; 0 for what rules bar.
    """

    shares: Floats
    codes: Floats
    prior: Floats

    def zeros(self) -> tuple[Floats, Floats]:
        return np.zeros_like(self.shares), np.zeros_like(self.codes)


class PenalisedCounts:
    """What a fit minimises: plain pairs of columns in one square matrix, then the other sets.

    Few pairs are among the other sets.
    """

    def __init__(self, noisy: Measurements) -> None:
        self.noisy, self.table = noisy, noisy.table
        self.sizes = np.array([one.size for one in noisy.table.columns.values()], dtype=np.int64)
        self.offsets = np.append(0, np.cumsum(self.sizes)).astype(np.int64)
        ends = zip(noisy.table.columns, pairwise(self.offsets.tolist()), strict=True)
        self.places = {name: slice(*own) for name, own in ends}
        self.of_pairs = noisy.table.weights_of_pairs
        most = self.of_pairs.max(axis=0, initial=1.0)
        self.prior = np.repeat(_PRIOR * len(self.sizes) / most, self.sizes)
        power = 1.0 if noisy.laplace else 2.0
        self.weights = np.repeat(noisy.scales**-power, noisy.table.sizes)
        self.square = np.zeros((self.offsets[-1], self.offsets[-1]))
        self.known = np.zeros_like(self.square)  # With cells that rules make impossible.
        self.precision = np.zeros_like(self.square)
        self.gap, self.slope = np.empty_like(self.square), np.empty_like(self.square)
        self.others: list[tuple[Clique, Floats, Floats]] = []
        pairs = [crossed for crossed in noisy.table.cliques if crossed.is_pair]
        self.in_square = _FEW * sum(crossed.size for crossed in pairs) > self.square.size
        for q, crossed in enumerate(noisy.table.cliques):
            own = slice(*noisy.table.offsets[q : q + 2])
            shape = -1, crossed.sizes[-1]
            S = noisy.counts[own].astype(np.float64).reshape(shape)
            weights = self.weights[own].reshape(shape)
            if crossed.is_pair:
                a, b = (self.places[name] for name in crossed.columns)
                self.square[a, b], self.square[b, a] = S, S.T
                self.known[a, b], self.known[b, a] = weights, weights.T
                measured = weights * noisy.table.possible[own].reshape(shape)
                self.precision[a, b], self.precision[b, a] = measured, measured.T
            if not (self.in_square and crossed.is_pair):
                self.others.append((crossed, S, weights))

    @cached_property
    def margins(self) -> Floats:
        """Shares (sum of L,) of each column's codes, by all sets that have it by its own codes."""
        found = []
        for counted, _ in self._counted:
            own = on_simplex(counted, self.noisy.records) + _HALF
            found.append(own / own.sum())
        return np.concatenate(found)

    @cached_property
    def _counted(self) -> list[tuple[Floats, float]]:
        """The counts of each column and the deviation of their noise, by all sets that have it."""
        return [self.noisy.of_column(name) for name in self.table.columns]

    @cached_property
    def ranks(self) -> Floats:
        """The products (sum of L, sum of L) of both codes' middle ranks, each from -1/2 to 1/2.

        Beside codes that are numbers the others, as missing ones, have no rank but 0.
        """
        ranks = []
        for name, own in self.places.items():
            known = np.isfinite(self.table.columns[name].numbers)
            known |= known.sum() < 2
            share = self.margins[own] * known / (self.margins[own] @ known)
            ranks.append((np.cumsum(share) - 0.5 * share - 0.5) * known)
        return np.outer(*[np.concatenate(ranks)] * 2)

    def near_margins(self, fitted: Floats) -> Floats:
        """Shares (sum of L,) of the codes of a fit, moved to what stands out of their noise.

        A fit can be off by more than all sets leave open: under little noise rare codes get too
        many records, as of amounts that few receive. Its errors have variances in proportion to
        what it expects, so far as the gaps of all columns stand out. A code that more than half of
        the records have comes first, since its count says best how many have the others.
        """
        n, found = float(self.noisy.records), fitted.copy()
        parts = [slice(*ends) for ends in pairwise(self.offsets)]
        apart = [(own, *x) for own, x in zip(parts, self._counted, strict=True) if x[1]]
        gaps = np.concatenate([np.zeros(0), *((x - n * fitted[own]) / d for own, x, d in apart)])
        likely = float(most_by_chance(np.asarray(float(len(gaps))), self.noisy.laplace))
        off = max(float(gaps @ gaps) - likely, 0.0) / max(1.0, sum(n / d**2 for *_, d in apart))
        for own, counted, deviation in apart:
            expected = n * fitted[own]
            kept = off * expected / (off * expected + deviation**2)
            rest, left = np.argsort(-expected, kind="stable"), n
            while len(rest) > 1 and expected[rest[0]] > 0.5 * left:
                most, rest = rest[0], rest[1:]
                moved = expected[most] + kept[most] * (counted[most] - expected[most])
                expected[most] = min(max(moved, 0.5 * left), left - _HALF)
                left -= expected[most]
                expected[rest] *= left / max(expected[rest].sum(), 1e-300)
            moved = expected[rest] + kept[rest] * (counted[rest] - expected[rest])
            moved -= (moved.sum() - left) * kept[rest] / max(kept[rest].sum(), 1e-300)
            expected[rest] = on_simplex(moved, left)
            found[own] = np.maximum(expected / n, _RARER * fitted[own])
        return found

    def raked(self, shares: Floats, profiles: Floats, margins: Floats) -> Floats:
        """Profiles (H, sum of L) that have such margins (sum of L,), or nearly."""
        for _ in range(_RAKED):
            moved = profiles * (margins / np.maximum(shares @ profiles, 1e-300))
            profiles = self.shares_of_columns(moved)
        return profiles

    @cached_property
    def steps(self) -> int:
        """The steps of a fit: fewer where noise is large, which more steps would fit."""
        of_sets = self.noisy.deviations * self.table.sizes / max(1, self.noisy.records)
        wanted = _OF_STEPS / np.sqrt(np.mean(of_sets))
        return int(np.clip(wanted, _LEAST_STEPS, _MOST_STEPS))

    @cached_property
    def patterns(self) -> tuple[Floats, Floats]:
        """The shares (P,) of the patterns that rules leave, and of their codes (P, sum of L)."""
        patterns = rule_patterns(self.table.columns, self.table.skips)
        return _under_rules(patterns, self.margins, self.offsets)

    def start(self, classes: int, rng: np.random.Generator) -> Logits:
        """Where a fit begins: classes of each pattern by its share, near the margins."""
        share, codes = self.patterns
        number = np.maximum(1, np.rint(classes * share)).astype(np.intp)
        prior = np.repeat(codes, number, axis=0)
        with np.errstate(divide="ignore"):
            logits = np.log(prior) + _SPREAD * rng.standard_normal(prior.shape)
        shares = np.log(np.repeat(share / number, number)) + _SPREAD * rng.standard_normal(
            len(prior)
        )
        return Logits(shares, logits, prior)

    def profiles(self, logits: Floats) -> Floats:
        """The shares (H, sum of L) of codes with those logits, which add up to 1 in a column."""
        most = np.maximum.reduceat(logits, self.offsets[:-1], axis=1)
        return self.shares_of_columns(np.exp(logits - self._by_code(most)))

    def shares_of_columns(self, weights: Floats) -> Floats:
        """Weights (H, sum of L) of codes as shares, which add up to 1 in a column."""
        return weights / self._by_code(np.add.reduceat(weights, self.offsets[:-1], axis=1))

    def _by_code(self, of_columns: Floats) -> Floats:
        return np.repeat(of_columns, self.sizes, axis=1)

    def penalised(self, at: Logits) -> tuple[float, tuple[Floats, Floats]]:
        """The value to minimise, and its slopes by the logits of shares and of codes."""
        n, pi, phi = float(self.noisy.records), _softmax(at.shares), self.profiles(at.codes)
        loss, by_code, of_class = 0.0, np.zeros_like(phi), np.zeros_like(pi)
        if self.in_square:
            gap = np.matmul((phi * (n * pi)[:, None]).T, phi, out=self.gap)
            gap -= self.square
            loss, slope = self._loss(gap, self.known, self.slope)
            by_code = phi @ slope
            of_class, loss = 0.5 * (phi * by_code).sum(axis=1), 0.5 * loss
        for crossed, S, weights in self.others:
            parts = [self._grouped(phi, crossed, name) for name in crossed.columns]
            products = _products(parts[:-1], len(pi))
            gap = n * (products[-1] * pi[:, None]).T @ parts[-1] - S
            own, slope = self._loss(gap, weights, np.empty_like(gap))
            loss += own
            slopes, ahead = [products[-1] @ slope], parts[-1] @ slope.T
            of_class += (ahead * products[-1]).sum(axis=1)
            for before, part in zip(products[-2::-1], parts[-2::-1], strict=True):
                ahead = ahead.reshape(len(pi), -1, part.shape[1])
                slopes.append(np.matmul(before[:, None, :], ahead)[:, 0])
                ahead = np.matmul(ahead, part[:, :, None])[:, :, 0]
            for name, of_part in zip(crossed.columns, slopes[::-1], strict=True):
                groups = crossed.groups.get(name)
                own_codes = of_part if groups is None else of_part[:, groups.group_of_code]
                by_code[:, self.places[name]] += own_codes
        of_class *= n
        of_shares = pi * (of_class - pi @ of_class)
        by_code *= phi * (n * pi)[:, None]
        of_columns = np.add.reduceat(by_code, self.offsets[:-1], axis=1)
        of_codes = by_code - phi * self._by_code(of_columns) + self.prior * (phi - at.prior)
        penalty = -(self.prior * at.prior * np.log(np.maximum(phi, 1e-300))).sum()
        return float(loss + penalty), (of_shares, of_codes * (at.prior > 0.0))

    def _loss(self, gap: Floats, weights: Floats, slope: Floats) -> tuple[float, Floats]:
        """The noise's -log density of gaps, summed, and its slopes by the gaps, in `slope`."""
        if not self.noisy.laplace:
            np.multiply(gap, weights, out=slope)
            return 0.5 * float(np.vdot(slope, gap)), slope
        np.multiply(gap, weights, out=slope)  # In scales of the noise.
        size = np.sqrt(slope**2 + _SMOOTH**2)
        loss = float(size[weights > 0.0].sum())
        slope /= size
        slope *= weights
        return loss, slope

    def _grouped(self, phi: Floats, crossed: Clique, name: str) -> Floats:
        """The shares (H, G) of a column's groups in a set, or of its codes."""
        own, groups = phi[:, self.places[name]], crossed.groups.get(name)
        if groups is None:
            return own
        inside = groups.group_of_code[:, None] == np.arange(groups.size)
        return np.asarray(own @ inside)

    def ties(self, shares: Floats, phi: Floats) -> Floats:
        """The shares (sum of L, sum of L) of pairs that stand out, and of ranks, beside classes."""
        n, measured = float(self.noisy.records), self.precision > 0.0
        gap = np.where(measured, self.square - (phi * (n * shares)[:, None]).T @ phi, 0.0)
        precision = 0.5 * self.precision**2 if self.noisy.laplace else self.precision
        likely = most_by_chance(self.by_pairs(measured.astype(float)), self.noisy.laplace)
        kept = kept_of_gap(likely, self.by_pairs(gap**2 * precision))
        beside = (1.0 - self.by_cells(kept)) * gap
        if (self.of_pairs > 1.0).any():
            for _ in range(2):
                beside = (beside - self.by_numbers(beside, precision)).T
            beside = 0.5 * (beside + beside.T)
        along = self.ordered(beside, precision) * measured
        return np.asarray((gap - beside + along) / n)

    def by_pairs(self, of_cells: Floats) -> Floats:
        """Sums (K, K) by pairs of columns of what pairs of codes (sum of L, sum of L) have."""
        at = self.offsets[:-1]
        return np.asarray(np.add.reduceat(np.add.reduceat(of_cells, at, axis=0), at, axis=1))

    def by_cells(self, of_pairs: Floats) -> Floats:
        """What pairs of columns (K, K) have, at each of their pairs of codes."""
        return np.repeat(self._by_code(of_pairs), self.sizes, axis=0)

    def by_numbers(self, gap: Floats, precision: Floats) -> Floats:
        """What of the gaps of pairs with more budget changes means of the second column's numbers.

        They are those of the first column's codes, against the mean of these. What noise explains
        is left out.
        """
        at, scores = self.offsets[:-1], np.zeros((len(gap), len(self.sizes)))
        for k, column in enumerate(self.table.columns.values()):
            if self.of_pairs[k].max() > 1.0:
                known = np.isfinite(column.numbers)
                centre = column.numbers[known].sum() / max(1, known.sum())
                own = np.where(known, column.numbers - centre, 0.0)
                scores[self.offsets[k] : self.offsets[k + 1], k] = own
        squares = (scores**2).sum(axis=0)
        moved = gap @ scores / np.maximum(squares, 1e-300)
        of_pair = np.maximum.reduceat(precision, at, axis=1) * squares
        codes = np.add.reduceat(of_pair > 0.0, at, axis=0).astype(np.float64)
        means = np.add.reduceat(moved, at, axis=0) / np.maximum(codes, 1.0)
        moved -= np.repeat(means, self.sizes, axis=0)
        size = np.add.reduceat(moved**2 * of_pair, at, axis=0)
        kept = kept_of_gap(np.maximum(codes - 3.0, 0.0), size) * (self.of_pairs > 1.0)
        tie = (np.repeat(kept, self.sizes, axis=0) * moved) @ scores.T
        return np.asarray(np.where(precision > 0.0, tie, 0.0))

    def ordered(self, gap: Floats, precision: Floats) -> Floats:
        """What of the gaps lies along the ranks of both columns' codes, and stands out."""
        at, squares = self.offsets[:-1], np.maximum(self.by_pairs(self.ranks**2), 1e-300)
        along = self.by_pairs(self.ranks * gap) / squares
        of_pair = np.maximum.reduceat(np.maximum.reduceat(precision, at, axis=0), at, axis=1)
        size = along**2 * squares * of_pair
        kept = kept_of_gap(np.ones_like(size), size)
        return self.ranks * self.by_cells(kept * along)

    def misfit(self, shares: Floats, phi: Floats) -> float:
        """Mean over measured cells of ((S - n m) / deviation)^2."""
        n, squares = float(self.noisy.records), 0.0
        for q, crossed in enumerate(self.table.cliques):
            low, high = self.table.offsets[q : q + 2]
            parts = [self._grouped(phi, crossed, name) for name in crossed.columns]
            product = _products(parts[:-1], len(shares))[-1]
            expected = n * ((product * shares[:, None]).T @ parts[-1]).ravel()
            gap = (expected - self.noisy.counts[low:high])[self.table.possible[low:high]]
            squares += float(gap @ gap) / self.noisy.deviations[q] ** 2
        return squares / float(self.table.possible.sum())


def _products(parts: list[Floats], classes: int) -> list[Floats]:
    """The shares (H, ...) of combinations of no column, of the first, of the first two, ..."""
    products = [np.ones((classes, 1))]
    for part in parts:
        crossed = products[-1][:, :, None] * part[:, None, :]
        products.append(crossed.reshape(classes, -1))
    return products


def _softmax(logits: Floats) -> Floats:
    shares = np.exp(logits - logits.max())
    return np.asarray(shares / shares.sum())


def kept_of_gap(likely: Floats, squares: Floats) -> Floats:
    """The shares in [0, 1] of gaps that stand out of the noise.

    `squares` are sums of squares of the gaps of cells, in deviations of the noise. `likely` are
    those of noise alone.
    """
    return np.asarray(np.maximum(1.0 - likely / np.maximum(squares, 1e-300), 0.0))


def most_by_chance(cells: Floats, laplace: bool) -> Floats:
    """The sums of squares of so many cells that noise alone hardly exceeds, in deviations."""
    return np.asarray(cells + _OUTSTANDING * np.sqrt((5.0 if laplace else 2.0) * cells))


def on_simplex(counts: Floats, total: float) -> Floats:
    """The nearest counts (L,) that are not below 0 and add up to `total`."""
    falling = np.sort(counts)[::-1]
    over = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    return np.maximum(counts - over[np.flatnonzero(falling > over)[-1]], 0.0)


def _under_rules(
    patterns: NDArray[np.bool_], margins: Floats, offsets: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """The shares (P,) of patterns, and of their codes (P, sum of L), that have these margins.

    Beside the rules columns are independent, as far as the margins leave them so.
    """
    shares, codes = np.ones(len(patterns)), patterns * margins
    for passed in range(_RAKED):
        for low, high in pairwise(offsets):
            own = codes[:, low:high]
            if passed:
                own *= margins[low:high] / np.maximum(shares @ own, 1e-300)
            mass = own.sum(axis=1)
            own /= mass[:, None]
            shares = np.maximum(shares * mass / (shares @ mass), 1e-100)
    return shares, codes
