"""Cases of `pyvws.evaluation.topcoding`: by value and by quantile."""

from __future__ import annotations

from typing import Any, Final

from pyvws.validation._case import Case
from pyvws.validation._draws import Draws

__all__ = ["CASES"]

_LEVELS: Final = (0.975, 0.9, 0.5, 0.99, 0.75)


def _quantile(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"original": Draws(seed).amounts(*shape), "quantile": _LEVELS[seed - 1]}


def _value(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Whole counts, some of them at the threshold."""
    return {"original": Draws(seed).counts(*shape), "value": 80.0 + 10.0 * seed}


def _case(name: str, part: str, arguments: Any) -> Case:
    return Case(
        id=f"topcoding/{name}-{part}",
        paper="risk2024",
        cites="section 1",
        script="topcoding",
        r_function=f"topcode_{part}",
        python_function="pyvws.evaluation.topcoding:topcode",
        part=part,
        arguments=arguments,
        shapes=((1,), (13,), (70,)),
    )


CASES: Final = tuple(
    _case(name, part, arguments)
    for name, arguments in (("value", _value), ("quantile", _quantile))
    for part in ("values", "threshold", "share")
)
