"""Statements by the names of their facts, whichever part has a fact."""

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

from pyvws.statement.accounting import PrivacyStatement
from pyvws.statement.parts import NumberOfRows, ReliesOn, StatedBound

PARTS: dict[str, Any] = {"bound": StatedBound, "rows": NumberOfRows, "relies_on": ReliesOn}
OF_LW = {
    **{"mechanism": "lw", "model": "poisson", "reweighted": False, "searched": False},
    **{"lipschitz_bound": 3.31, "datasets": 20, "draws": 4000, "threshold": 1.0},
    **{"columns_released_unchanged": (), "rounded": False, "data_weights": True},
    **{"weights_source": "table", "engine": "native", "exact_draws": False},
}
OF_A_CLAMP = OF_LW | {
    **{"mechanism": "censored", "enforced": True, "data_weights": False, "weights_source": "none"},
    **{"draws": 400, "lipschitz_bound": 0.25},
}


def statement(**changes: Any) -> PrivacyStatement:
    """The statement of a run of lw with other facts; a clamp may have `enforced` its bound."""
    facts = {**OF_LW, "clamp": "half", **changes}
    if not facts.pop("enforced", False):
        del facts["clamp"]
    parts = {
        part: kind(**{own.name: facts.pop(own.name) for own in fields(kind) if own.name in facts})
        for part, kind in PARTS.items()
    }
    return PrivacyStatement(**parts, **facts)


def facts_of(made: PrivacyStatement) -> SimpleNamespace:
    """All facts of a statement by their names."""
    flat = {own.name: getattr(made, own.name) for own in fields(made)}
    for part, kind in PARTS.items():
        flat |= {own.name: getattr(getattr(made, part), own.name) for own in fields(kind)}
    derived = ("guarantee", "draws_released", "enforced", "epsilon_per_dataset")
    return SimpleNamespace(**flat, **{name: getattr(made, name) for name in derived})
