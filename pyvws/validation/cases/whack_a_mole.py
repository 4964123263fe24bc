"""Cases of `pyvws.evaluation.whack_a_mole`: change, records that rose, summaries, tables."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.evaluation import whack_a_mole as package
from pyvws.validation._case import Case
from pyvws.validation._draws import Draws, Floats

__all__ = ["CASES", "summary", "top"]

_SHAPES: Final = ((1,), (14,), (90,))


def summary(risk: Any, policy: float) -> Floats:
    """The three numbers of a summary."""
    found = package.risk_summary(risk, policy=policy)
    return np.array([found.maximum, found.iqr, found.share_above])


def top(by: Any, risk: Any, count: int) -> Floats:
    """Places of the largest records, then their risks."""
    found = package.top_records(by, {"risk": risk}, count=count)
    return np.concatenate([found.records, found.risks["risk"]])


def _risks(seed: int, records: int) -> Floats:
    """Shares of a pattern: ties, and 0 among them."""
    return np.asarray(Draws(seed).whole(records, 21) / 20.0)


def _pair(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    (records,) = shape
    return {
        "unweighted": _risks(seed, records),
        "weighted": _risks(seed + 20, records),
        "rise": (0.25, 0.5, 0.25, 0.1, 0.05)[seed - 1],
    }


def _one(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"risk": _risks(seed, shape[0]), "policy": (0.5, 0.25, 0.9, 0.5, 0.05)[seed - 1]}


def _ranked(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    (records,) = shape
    return {"by": Draws(seed).counts(records), "risk": _risks(seed, records), "count": 3 * seed}


def _case(name: str, r_function: str, arguments: Any, place: str, **more: Any) -> Case:
    return Case(
        id=f"whack_a_mole/{name}",
        paper="risk2024",
        cites=more.pop("cites", "section 2.3.2"),
        script="whack_a_mole",
        r_function=r_function,
        python_function=place,
        arguments=arguments,
        shapes=_SHAPES,
        **more,
    )


_PACKAGE: Final = "pyvws.evaluation.whack_a_mole:whack_a_mole"
_HERE: Final = "pyvws.validation.cases.whack_a_mole"

CASES: Final = (
    _case("change", "risk_change", _pair, _PACKAGE, part="change"),
    _case("rose", "records_that_rose", _pair, _PACKAGE, part="rose"),
    _case("summary", "risk_summary", _one, f"{_HERE}:summary"),
    _case("top", "top_records", _ranked, f"{_HERE}:top", cites="Tables 2 and 3"),
)
