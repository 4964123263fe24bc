"""Cases of `pyvws.studies.simulated_data`: the papers' data under several seeds."""

from __future__ import annotations

from typing import Any, Final

_SEEDS: Final = (123, 1234, 0, -2147483647, 2147483647)  # The first two are the papers' seeds.


def _counts(seed: int, *shape: int) -> dict[str, Any]:
    return {"seed": _SEEDS[seed - 1], "n": shape[0]}
