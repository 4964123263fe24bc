"""The rates of an attack on original and on control records, and the risk that follows [giomi2023].

With rates a and c of success, risk = (a - c) / (1 - c): what the datasets tell of their own
records beyond what they tell of everybody. A rate of r in n attacks is the centre of Wilson's
interval, (r + z^2/2) / (n + z^2), with half width z sqrt(r (n - r) / n + z^2/4) / (n + z^2). The
error of the risk follows from both: da / (1 - c) and dc (1 - a) / (1 - c)^2, as a root of squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

_Z: Final = 1.959963984540054  # 95 %.


@dataclass(frozen=True, slots=True)
class AttackScore:
    """One attack: rates in [0, 1], larger = riskier.

    - `name`: Such as "linkability"; of a secret column "inference SECRET".
    - `attack`, `control`: How often it is right on original and on control records.
    - `risk`: (attack - control) / (1 - control), at most 1; a negative risk is chance.
    - `lower`, `upper`: The ends of its 95 % interval.
    - `naive`: How often random guesses are right on original records.
    - `attacks`, `control_attacks`: How many were made.
    """

    name: str
    attack: float
    control: float
    risk: float
    lower: float
    upper: float
    naive: float
    attacks: int
    control_attacks: int


def score_of(name: str, hits: Sequence[float], trials: Sequence[int], naive: float) -> AttackScore:
    """Rates and the risk of `hits` in `trials`, of the original and of the control group."""
    (a, da), (c, dc) = map(rate, hits, trials)
    risk = (a - c) / (1.0 - c)
    error = float(np.hypot(da / (1.0 - c), dc * (1.0 - a) / (1.0 - c) ** 2))
    return AttackScore(name, a, c, risk, risk - error, risk + error, naive, *trials)


def rate(hits: float, trials: float) -> tuple[float, float]:
    """The centre and half width of Wilson's 95 % interval."""
    whole, spread = trials + _Z**2, hits * (trials - hits) / trials
    return (hits + _Z**2 / 2) / whole, _Z / whole * float(np.sqrt(spread + _Z**2 / 4))
