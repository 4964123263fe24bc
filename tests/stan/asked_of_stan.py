"""Of which families the suite compiles Stan programs: each takes a minute of processor time.

For all families `tests/validation/test_stored_densities.py` holds Stan's stored answers to the same
questions, and a changed program makes them stale. `python -m pytest -m evidence` asks Stan itself.
"""

from collections.abc import Iterable
from typing import Any

import pytest

FAMILIES = {
    "pystan": ("poisson", "negative-binomial", "normal-mixture"),
    "rstan": ("poisson", "negative-binomial"),
}


def asked(cases: Iterable[Any]) -> list[Any]:
    """Cases as parameters; one whose program no other test needs is evidence."""
    return [
        pytest.param(case, id=case.id, marks=pytest.mark.evidence if _alone(case) else ())
        for case in cases
    ]


def _alone(case: Any) -> bool:
    """Of the papers' programs with a clamp, which are programs of their own, one is compiled."""
    if case.engine == "rstan" and "-density/" in case.id:
        return bool(case.model != "poisson")
    return case.engine in FAMILIES and case.model not in FAMILIES[case.engine]
