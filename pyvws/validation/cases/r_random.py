"""Cases of `pyvws.r_random`: uniform numbers, samples, and one stream that serves both."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.r_random import RRandom
from pyvws.validation._case import Case
from pyvws.validation._draws import Floats

__all__ = ["CASES", "mixed", "positions", "uniforms"]

# The least and the largest of R's integers among them.
_SEEDS: Final = (123, 0, -2147483647, 2147483647, 1234)
# One value, a power of 2 and one more, more than 16 bits, and nearly 31.
_BELOW: Final = (1000, 1, 65536, 65537, 2147483646)


def uniforms(seed: int, n: int) -> Floats:
    """n uniform numbers."""
    return RRandom(seed).runif(n)


def positions(seed: int, n: int, size: int) -> Floats:
    """`size` positions in 1, ..., n."""
    return RRandom(seed).sample(n, size).astype(np.float64)


def mixed(seed: int, n: int, size: int) -> Floats:
    """Uniform numbers, positions, and both once more, from one stream."""
    stream = RRandom(seed)
    parts = [stream.runif(size), stream.sample(n, size), stream.runif(2), stream.sample(2, 3)]
    return np.concatenate(parts)


def _count(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"seed": _SEEDS[seed - 1], "n": shape[0]}


def _sample(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"seed": _SEEDS[seed - 1], "n": _BELOW[seed - 1], "size": shape[0]}


def _case(function: str, arguments: Any, longest: int, paper: str, cites: str) -> Case:
    """The longest takes more than the generator's 624 words."""
    return Case(
        id=f"r_random/{function}",
        paper=paper,
        cites=cites,
        script="r_random",
        r_function=function,
        python_function=f"pyvws.validation.cases.r_random:{function}",
        arguments=arguments,
        shapes=((1,), (20,), (longest,)),
    )


CASES: Final = (
    _case("uniforms", _count, 640, "matsumoto1998", "the generator, under R's seeding"),
    _case("positions", _sample, 330, "risk2024", "section 2.3.1, R's sample"),
    _case("mixed", _sample, 315, "risk2024", "section 2.3.1, R's sample and runif"),
)
