"""Several datasets for intervals, each from a fit of its own to the noisy counts.

To the noisy counts S each dataset adds noise e of the same law, from the public seed, less its mean
over the datasets, and fits the classes to that. So fits differ by what noise could have done to the
counts. For an estimate A S that is linear in the counts, datasets have the variance of A S between
them: that of its posterior under a flat prior. Their mean is A S itself: the noise of few datasets
adds nothing to its error, and intervals of few datasets are rather too wide. Records come near to
the counts that a fit expects of measured pairs, and chance alone joins the codes of other pairs
within a class.

A fit holds less of the dependence M - I between columns than there is, for expected counts M and
the products I of their margins. By Stein's identity the share that is kept is

    k = sum w [(M - I)(S - I) - cov(M - I, e - I)] / sum w [(S - I)^2 - var(e - I)]

over measured cells, with w = 1 / sigma^2 and the covariances between fits. It is exact for Gaussian
noise. So the codes' shares in classes move away from the margins, phi = m + g (phi - m), by the g
at which fits have 1 / k of their dependence. One k stands for all pairs, and some keep less. So
datasets get from none to twice of the rest, evenly spread, which is in their variance. Directions
that keep far less stay too small: so intervals of few strong ties can miss. Where the dependence
does not stand out of the noise, nothing moves. The covariance of both columns' ranks r is that
of the counts: a shrunken one would take regressions from the truth. So the expected counts of a
pair get factors exp(theta r_a r_b), by which none is below 0. All of it is post-processing, so it
costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.cores import steady_sums
from pyvws.mechanisms.counts.best_file import Imputed, best_records, misfit_of
from pyvws.mechanisms.counts.fitted_classes import FittedClasses, Further, PenalisedCounts, one_fit
from pyvws.mechanisms.counts.fitted_counts import in_pairs, with_classes, within_reach
from pyvws.mechanisms.counts.given_records import with_given
from pyvws.mechanisms.counts.measurements import Measurements

_STANDS_OUT: Final = 2.0  # Deviations of the sum of squares of noise.
_LEAST_KEPT: Final = 0.25  # Of the dependence; less is taken as this.
_FURTHEST: Final = 5.0  # Times that a class may move from the margins.
_HALVINGS: Final = 12  # Of the steps to how far it moves.
_FURTHER_OFF: Final = 2.0  # Times the misfit that a class may move by.
_TILTS: Final = 12  # Steps along ranks, each at most
_STEEPEST: Final = 2.0  # in log shares of a product of ranks of 1,
_RAKED: Final = 2  # and passes over rows and columns after each.
_HARDLY: Final = 1e-3  # Of what margins expect: codes that ties ask to have nothing in common.


def drawn_fits(
    noisy: Measurements, *, datasets: int, classes: int, seed: int, further: Further | None = None
) -> Imputed:
    """Records of so many fits to the noisy counts."""
    noisy = within_reach(noisy)
    streams = np.random.SeedSequence([seed, 3]).spawn(datasets)
    rngs = [np.random.default_rng(stream) for stream in streams]
    sums, misfit = _Sums(with_classes(in_pairs(noisy))), 0.0
    by_classes = bool(sums.counts.table.columns)
    with steady_sums():
        fits = []
        for own, rng in zip(around(noisy, rngs), rngs, strict=True):
            counts = PenalisedCounts(with_classes(in_pairs(own)))
            fit = None
            if by_classes:
                fit = one_fit(counts, classes, rng, further)
                sums.add(counts, *fit)
                misfit += counts.misfit(*fit) / (2.0 * datasets)  # Of the noise of both.
            fits.append((own, counts, fit, rng))
        codes, numbers = [], []
        amounts = spread_amounts(1.0 / sums.kept, datasets, seed)
        for (own, counts, fit, rng), more in zip(fits, amounts, strict=True):
            records, fitted = np.empty((noisy.records, 0), dtype=np.int32), None
            if fit is not None:
                shares, profiles = fit
                profiles = with_dependence(counts, shares, profiles, more)
                ties = along_ranks(counts, shares, profiles)
                near = counts.precision > 0.0
                fitted = FittedClasses(shares, profiles, counts.offsets, ties, misfit, near)
                records = best_records(fitted, noisy.records, rng, with_classes(own))
            made, drawn = with_given(records, in_pairs(own), rng, fitted)
            codes.append(made)
            misfit += 0.0 if by_classes else misfit_of(own, made) / datasets
            numbers.append(drawn)
    noise = np.array([own.counts - noisy.counts for own, *_ in fits])
    return Imputed(codes, numbers, misfit, classes, noise)


def spread_amounts(more: float, datasets: int, seed: int) -> Floats:
    """How many times its dependence each fit gets, evenly from 1 to 2 `more` - 1, in any order."""
    places = np.random.default_rng([seed, 4]).permutation(datasets)
    return np.asarray(1.0 + (more - 1.0) * (2.0 * places + 1.0) / datasets)


def once_more(noisy: Measurements, rng: np.random.Generator) -> Measurements:
    """The noisy counts and number of records under noise of the same law once more."""
    of_cells = np.repeat(noisy.scales, noisy.table.sizes) * noisy.table.possible
    draw = rng.laplace if noisy.laplace else rng.normal
    more = np.rint(draw(0.0, 1.0, len(of_cells)) * of_cells).astype(np.int64)
    number = noisy.records + draw(0.0, 1.0) * noisy.records_scale
    return replace(noisy, counts=noisy.counts + more, records=max(1, int(np.rint(number))))


def around(noisy: Measurements, rngs: Sequence[np.random.Generator]) -> list[Measurements]:
    """The noisy counts under noise once more, by each generator, whose mean are these counts."""
    several = [once_more(noisy, rng) for rng in rngs]
    off = np.mean([own.counts for own in several], axis=0) - noisy.counts
    near = [np.rint(own.counts - off).astype(np.int64) for own in several]
    return [
        replace(own, counts=counts).to_totals for own, counts in zip(several, near, strict=True)
    ]


class _Sums:
    """Sums over fits, of the cells of measured pairs: what the share that is kept follows from."""

    def __init__(self, noisy: Measurements) -> None:
        self.counts, self.fits = PenalisedCounts(noisy), 0
        self.product = np.zeros_like(self.counts.square)  # I,
        self.depends = np.zeros_like(self.counts.square)  # M - I,
        self.noise = np.zeros_like(self.counts.square)  # e - I,
        self.crossed = np.zeros(2)  # and the last two times e - I, weighted.

    def add(self, own: PenalisedCounts, shares: Floats, profiles: Floats) -> None:
        """Add the fit of counts under noise once more."""
        product, depends = dependence(shares, profiles, self.counts.noisy.records)
        noise = own.square - self.counts.square - product
        self.fits += 1
        self.product += product
        self.depends += depends
        self.noise += noise
        self.crossed += [np.vdot(self._weights * x, noise) for x in (depends, noise)]

    @property
    def _weights(self) -> Floats:
        """1 / sigma^2 of the cells of pairs, 0 of others."""
        if not self.counts.noisy.laplace:
            return self.counts.precision
        return np.asarray(0.5 * self.counts.precision**2)

    @property
    def kept(self) -> float:
        """The share of the dependence that fits keep, up to 1; 1 where it does not stand out."""
        fits, weights = self.fits, self._weights
        if fits < 2:
            return 1.0
        noise, depends = self.noise / fits, self.depends / fits
        means = np.array([np.vdot(weights * x, noise) for x in (depends, noise)])
        spread = (self.crossed - fits * means) / (fits - 1)
        whole = self.counts.square - self.product / fits
        held, all_of_it = (np.vdot(weights * x, whole) for x in (depends, whole))
        squares = 5.0 if self.counts.noisy.laplace else 2.0  # Their variance, in sigma^2.
        by_chance = (2.0 * squares * (weights > 0.0).sum()) ** 0.5  # Pairs stand there both ways.
        if all_of_it - spread[1] <= _STANDS_OUT * by_chance:
            return 1.0
        share = (held - spread[0]) / (all_of_it - spread[1])
        return float(np.clip(share, _LEAST_KEPT, 1.0))


def dependence(shares: Floats, profiles: Floats, records: float) -> tuple[Floats, Floats]:
    """The products of margins (sum of L, sum of L), and what expected counts have beside them."""
    margins = shares @ profiles
    product = records * np.outer(margins, margins)
    return product, (profiles * (records * shares)[:, None]).T @ profiles - product


def with_dependence(
    counts: PenalisedCounts, shares: Floats, profiles: Floats, more: float
) -> Floats:
    """Profiles (H, sum of L) with so many times the dependence of measured pairs, or near it.

    Margins stay, and so does what rules bar. Codes that a class hardly has leave it first. Where
    classes are apart already, moving them further would take them from the counts: it ends there.
    """
    if more <= 1.0:
        return profiles
    margins, (_, depends) = shares @ profiles, dependence(shares, profiles, 1.0)
    weighted = counts.precision * depends
    wanted = more * np.vdot(weighted, depends)
    furthest = _FURTHER_OFF * counts.misfit(shares, profiles)
    low, high, moved = 1.0, _FURTHEST, profiles
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        moved = np.maximum(margins + middle * (profiles - margins), 0.0) * (profiles > 0.0)
        moved = counts.raked(shares, counts.shares_of_columns(moved), margins)
        held = np.vdot(weighted, dependence(shares, moved, 1.0)[1])
        if held < wanted and counts.misfit(shares, moved) <= furthest:
            low = middle
        else:
            high = middle
    return moved


def along_ranks(counts: PenalisedCounts, shares: Floats, profiles: Floats) -> Floats:
    """Ties (sum of L, sum of L) by which measured pairs have the counts' covariances of ranks.

    No pair of codes has fewer than 0 records, so they have the nearest covariances that there are.
    """
    of_classes, margins = (profiles * shares[:, None]).T @ profiles, shares @ profiles
    measured, ranks = counts.precision > 0.0, counts.ranks
    goal = counts.by_pairs(counts.square * measured * ranks) / counts.noisy.records
    made = of_classes + counts.ties(shares, profiles)
    made = np.maximum(made, _HARDLY * np.outer(margins, margins)) * measured
    for _ in range(_TILTS):
        made = _with_margins(counts, made, margins)
        covariance = counts.by_pairs(made * ranks)
        slope = np.maximum(counts.by_pairs(made * ranks**2) - covariance**2, 1e-9)
        theta = np.clip((goal - covariance) / slope, -_STEEPEST, _STEEPEST)
        made = made * np.exp(counts.by_cells(theta) * ranks)
    return (_with_margins(counts, made, margins) - of_classes) * measured


def _with_margins(counts: PenalisedCounts, made: Floats, margins: Floats) -> Floats:
    """Shares of pairs of codes, both ways, whose sums come near to the margins (sum of L,)."""
    for _ in range(2 * _RAKED):  # Rows and columns in turn.
        there = np.add.reduceat(made, counts.offsets[:-1], axis=1)
        factors = margins[:, None] / np.maximum(there, 1e-300)
        made = (made * np.repeat(factors, counts.sizes, axis=1)).T
    return made
