"""The weighted log-likelihood of a mixture of normal regressions with its gradient.

Cells of one design row are taken in blocks, and each step of a block is a loop over its cells that
a processor does several at once. A component too far from a block to change a sum there is left out
of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pyvws._base.checks import Arrays, Floats, Ints
from pyvws._base.kernels import inlined_kernel, kernel, summing_kernel
from pyvws.models._special_functions import exponentials
from pyvws.models.regression import add_slope, linear

_FAR = -45.0  # exp() of it is below half an ulp of the sum it would be added to.

_BLOCK = 64


@inlined_kernel
def _heights(
    y: Floats, line: tuple[float, float, float], z: Floats, share: Floats, top: Floats
) -> None:
    """z and log height of one component in each cell; the highest so far into `top`."""
    inverse, scaled, log_height = line
    for i in range(len(y)):
        z[i] = y[i] * inverse - scaled
        share[i] = log_height - 0.5 * z[i] * z[i]
        top[i] = share[i] if share[i] > top[i] else top[i]


@inlined_kernel
def _below_top(share: Floats, z: Floats, top: Floats, n: int) -> None:
    """Heights as gaps to the highest; z = 0 where a component is too far to count."""
    for i in range(n):
        gap = share[i] - top[i]
        near = gap > _FAR
        share[i] = gap if near else 2.0 * _FAR
        z[i] = z[i] if near else 0.0


class _Moments(NamedTuple):
    """The sums of shares, of shares times z, and of shares times z^2."""

    zeroth: float
    first: float
    second: float


@summing_kernel
def _moments(part: Floats, z: Floats, n: int) -> _Moments:
    zeroth, first, second = 0.0, 0.0, 0.0
    for i in range(n):
        once = part[i] * z[i]
        zeroth += part[i]
        first += once
        second += once * z[i]
    return _Moments(zeroth, first, second)


@inlined_kernel
def _near(y: Floats, lines: Arrays, near: Ints) -> int:
    """Fill `near` with the components that count somewhere in the range of y; their number."""
    inverse, scaled, log_height = lines
    C = len(inverse)
    low, high = y[0], y[0]
    for i in range(len(y)):
        low = y[i] if y[i] < low else low
        high = y[i] if y[i] > high else high
    highest = np.empty(C)
    surely = -np.inf
    for c in range(C):
        a, b = low * inverse[c] - scaled[c], high * inverse[c] - scaled[c]
        at_low, at_high = log_height[c] - 0.5 * a * a, log_height[c] - 0.5 * b * b
        lower, upper = (at_low, at_high) if at_low < at_high else (at_high, at_low)
        surely = lower if lower > surely else surely
        highest[c] = log_height[c] if a < 0.0 < b else upper
    count = 0
    for c in range(C):
        if not highest[c] - surely <= _FAR:
            near[count] = c
            count += 1
    return count


@kernel
def log_terms(
    parts: Arrays, rows: Floats, y: Floats, weight: Floats, row_of_cell: Ints, slopes: Arrays
) -> float:
    """sum_i alpha_i log sum_k pi_k N(y_i | X_i beta_k, sigma_k), without log(2 pi) / 2.

    `parts` are beta (C, K), 1 / sigma_k and log pi_k - log sigma_k, both (C,); cells come row by
    row, and blocks of cells that lie close together need the fewest components. Adds to the three
    gradients; a component's share in a cell is its responsibility.
    """
    (beta, inverse, log_height), (by_beta, by_log_sigma, by_log_pi) = parts, slopes
    C = len(beta)
    z, share, exponential = np.empty((C, _BLOCK)), np.empty((C, _BLOCK)), np.empty((C, _BLOCK))
    top, height, unit = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    scaled, by_eta, near = np.empty(C), np.empty(C), np.empty(C, np.intp)
    lines = inverse, scaled, log_height
    total = 0.0
    cell, cells = 0, len(y)
    while cell < cells:
        r = row_of_cell[cell]
        for c in range(C):
            scaled[c] = linear(beta[c], rows, r) * inverse[c]
            by_eta[c] = 0.0
        while cell < cells and row_of_cell[cell] == r:
            n = 1
            while n < _BLOCK and cell + n < cells and row_of_cell[cell + n] == r:
                n += 1
            block = y[cell : cell + n]
            count = _near(block, lines, near)
            for i in range(n):
                top[i], height[i] = -np.inf, 0.0
            for c in near[:count]:
                _heights(block, (inverse[c], scaled[c], log_height[c]), z[c], share[c], top)
            for c in near[:count]:
                _below_top(share[c], z[c], top, n)
                own = exponential[c]
                exponentials(share[c], own, n)
                for i in range(n):
                    height[i] += own[i]
            for i in range(n):
                total += weight[cell + i] * (top[i] + math.log(height[i]))
                unit[i] = weight[cell + i] / height[i]
            for c in near[:count]:
                own = exponential[c]
                for i in range(n):
                    own[i] *= unit[i]
                zeroth, first, second = _moments(own, z[c], n)
                by_log_pi[c] += zeroth
                by_eta[c] += first
                by_log_sigma[c] += second - zeroth
            cell += n
        for c in range(C):
            add_slope(by_beta[c], by_eta[c] * inverse[c], rows, r)
    return total


@inlined_kernel
def relative_shares(share: Floats) -> tuple[float, float]:
    """Turn logarithms (C,) in place into shares of the largest; the largest and the shares' sum."""
    largest, height = -np.inf, 0.0
    for c in range(len(share)):
        largest = share[c] if share[c] > largest else largest
    for c in range(len(share)):
        gap = share[c] - largest
        share[c] = math.exp(gap) if gap > _FAR else 0.0
        height += share[c]
    return largest, height


@kernel
def log_shares(v: Floats) -> Floats:
    """log pi (C,) of log sizes v (C,)."""
    largest, total, log_shares = -np.inf, 0.0, np.empty(len(v))
    for c in range(len(v)):
        largest = v[c] if v[c] > largest else largest
    for c in range(len(v)):
        total += math.exp(v[c] - largest)
    for c in range(len(v)):
        log_shares[c] = v[c] - (largest + math.log(total))
    return log_shares
