"""Cases of `pyvws.risks.pairwise`: weights from pairs and from triples."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.validation._case import Case
from pyvws.validation._draws import Draws

__all__ = ["CASES"]

_SHARES: Final = (0.2, 0.15, 0.3, 0.05, 1.0)
_DISTANCES: Final = (10.0, 25.0, 1.0, 0.5, 100.0)
# The default, one that clips at 1, one that clips at 0, one in between, and a plain shift.
_SCALES: Final = ((1.0, 0.0), (1.7, 0.3), (0.8, -0.25), (0.9, 0.05), (0.0, 0.4))


def _percentage(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Amounts of both signs with zeros, whose ball is one point; odd seeds take counts."""
    draws = Draws(seed)
    original = draws.counts(*shape) if seed % 2 else draws.amounts(*shape)
    return {"original": original, "radius": _SHARES[seed - 1]}


def _patterns(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Whole distances in up to four patterns of two known columns, each of two records or more."""
    (records,) = shape
    groups = np.arange(records) % min(4, records // 2)
    return {
        "original": Draws(seed).counts(records),
        "radius": _DISTANCES[seed - 1],
        "radius_kind": "absolute" if seed % 2 else "fixed",
        "known": [groups % 2, groups // 2],
    }


def _scaled(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    c, g = _SCALES[seed - 1]
    return {**_percentage(seed, shape), "c": c, "g": g}


def _lonely(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """About half the patterns have one record."""
    (records,) = shape
    known = Draws(seed + 50).whole(records, 2 * records)
    kind = "weight-zero" if seed % 2 else "weight-one"
    return {**_scaled(seed, shape), "known": known, "singletons": kind}


def _case(
    name: str, function: str, r_function: str, arguments: Any, sizes: Any, **more: Any
) -> Case:
    return Case(
        id=f"pairwise/{name}",
        paper="risk2024",
        cites=more.pop("cites", "Equations 6 to 9"),
        script="pairwise",
        r_function=r_function,
        python_function=f"pyvws.risks.pairwise:{function}",
        arguments=arguments,
        shapes=tuple((size,) for size in sizes),
        **more,
    )


_LARGE: Final = (100, 200, 300)


def _added_up(*sizes: int) -> dict[str, Any]:
    """Sizes of the largest pattern, and the difference in ulp that they allow."""
    return {
        "sizes": sizes,
        "tolerance": 2 * max(sizes),
        "why": (
            "R rounds each IR_ij, their sum, its quotient and the difference from 1, together at "
            "most 4 x 2^-53, beside a weight of at least 2 / |M|: 2 |M| ulp. The package counts in "
            "whole numbers and rounds once, so it is the nearer to the true fraction."
        ),
    }


_PAIRS: Final = ("pairwise_weights", "counted_pairwise_weights")
_TRIPLES: Final = ("three_way_weights", "three_way_weights")
_C_AND_G: Final = "Equations 6 to 9, supplement Equation 10"

CASES: Final = (
    _case("added-up", "pairwise_weights", "pairwise_weights", _percentage, **_added_up(2, 13, 60)),
    _case(
        *("added-up-patterns", "pairwise_weights", "pairwise_weights", _patterns),
        **_added_up(2, 13, 60),
    ),
    _case(
        *("added-up-large", "pairwise_weights", "pairwise_weights", _percentage),
        **_added_up(*_LARGE),
    ),
    _case("counted", *_PAIRS, _percentage, (2, 13, 60)),
    _case("counted-large", *_PAIRS, _percentage, _LARGE),
    _case("counted-patterns", *_PAIRS, _patterns, (2, 13, 60)),
    _case("c-g", *_PAIRS, _scaled, (2, 13, 60), cites=_C_AND_G),
    _case("singletons", *_PAIRS, _lonely, (1, 13, 60), cites=_C_AND_G),
    _case("three-way", *_TRIPLES, _scaled, (3, 8, 25), cites="section 3.2.1"),
    _case("three-way-patterns", *_TRIPLES, _lonely, (2, 12, 30), cites="section 3.2.1"),
)
