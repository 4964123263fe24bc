"""What a release's epsilon means for one record, as a factor and as a guess that a reader holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from pyvws.report.page import Table, number

_GUESS: Final = 0.01  # The chance that a reader gives a guess before the release.
_CERTAIN: Final = 0.99
_RAISED: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def factor(epsilon: float) -> str:
    """The factor e^epsilon in three digits, rounded up; from a million on as a power of ten."""
    power = math.floor(epsilon / math.log(10))
    if power < 6:
        unit = 10.0 ** (power - 2)
        return f"{math.ceil(math.exp(epsilon) / unit) * unit:,.{max(2 - power, 0)}f}"
    tenths = math.ceil(10 ** (epsilon / math.log(10) - power + 1))
    tenths, power = (tenths, power) if tenths < 100 else (10, power + 1)
    return f"{tenths / 10:.1f} × 10{str(power).translate(_RAISED)}"


def largest_belief(epsilon: float) -> float:
    """The chance up to which odds times e^epsilon lift a guess that had a chance of 1 in 100."""
    return 1 / (1 + (1 / _GUESS - 1) * math.exp(-epsilon))


def epsilon_in_words(privacy: Mapping[str, Any]) -> tuple[str, Table]:
    """A sentence on what the claim says, and a table of both costs: of a dataset and of all.

    `privacy` is a statement; of a strict claim the certified figures stand here.
    """
    claimed = privacy.get("certified") or privacy
    costs = {"one dataset": claimed["epsilon_per_dataset"]}
    together = f"all {privacy['datasets']} datasets together"
    if privacy["datasets"] > 1:
        costs[together] = claimed["epsilon_total"]
        if len(set(costs.values())) == 1:
            costs.pop("one dataset")  # Noisy counts are paid once, however many datasets follow.
    chance = {
        "none": "The release claims no guarantee. If its figures held, ",
        "asymptotic-dp": "The figures are estimates that need many records. If they hold, ",
        "approximate-dp": f"But for a chance of about {privacy.get('delta') or 0:g}, ",
    }.get(privacy["guarantee"], "")
    change = "replacing" if claimed["neighbours"] == "replace-one" else "adding or removing"
    text = f"{chance}{change} {privacy['unit_of_privacy']}"
    rows = []
    for label, epsilon in costs.items():
        belief = largest_belief(epsilon)
        become = "above 99 %: no bound on what can be learned" if belief > _CERTAIN else None
        rows.append((label, number(epsilon), factor(epsilon), become or f"{_percent(belief)} %"))
    return (
        f"{text[0].upper()}{text[1:]} changes the chance of any result by a factor of at most e^ε. "
        "Smaller is more private. Suppose that a reader holds a guess on it for 1 % likely before "
        "the release. The last figure is how likely the guess can become.",
        Table(
            "What epsilon says of this release",
            ("released", "ε", "factor e^ε, at most", "a guess of 1 % can become"),
            rows,
        ),
    )


def _percent(share: float) -> str:
    return f"{math.ceil(share * 1000) / 10:g}"
