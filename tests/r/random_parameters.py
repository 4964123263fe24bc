"""Parameters that reach every branch of R's generators, and digests of R's numbers under them.

``python tests/r/random_parameters.py`` writes the digests anew from R.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pyvws import RRandom
from pyvws.r.bridge import call

__all__ = [
    *("DIGESTS", "HERE", "MANY", "PARAMETERS", "SOME", "UNEVEN", "Call", "by_r", "by_us"),
    "digests",
]

HERE = Path(__file__).parent
DIGESTS = HERE / "random_digests.json"
MANY = 1_000_000
SOME = 100_000

Call = tuple[str, dict[str, Any]]

# Every branch of each generator, one set of parameters after the other: by names as in R.
PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "runif": [{}, {"min": -3.0, "max": 7.5}],
    "rnorm": [{}, {"mean": 3.3, "sd": 1.7}],
    "rexp": [{}, {"rate": 0.37}],
    "rgamma": [
        {"shape": shape, "rate": 1.0 / 0.7}
        # Below 1; at most 3.686, at most 13.022 and above, where GD changes its constants.
        for shape in (0.01, 0.3, 0.99, 1.0, 1.5, 3.686, 3.687, 8.0, 13.022, 13.03, 100.0, 1e5)
    ],
    "rbeta": [
        {"shape1": first, "shape2": second}
        for first, second in (
            # Both above 1, in either order and equal.
            *((1.5, 1.5), (2.0, 5.0), (5.0, 2.0), (50.0, 3.0), (1.001, 400.0)),
            # One at most 1.
            *((0.5, 3.0), (3.0, 0.5), (0.5, 0.5), (1.0, 1.0), (1.0, 2.0), (0.01, 0.02)),
        )
    ],
    "rpois": [
        {"lambda": mu}
        for mu in (0.01, 0.5, 1.0, 3.3, 9.99, 10.0, 10.5, 15.0, 30.0, 100.0, 1234.5, 1e6, 1e12)
    ],
    "rbinom": [
        {"size": size, "prob": prob}
        for size, prob in (
            # Inversion, below and above 1/2, and with so many trials that powers round.
            *((1.0, 0.5), (10.0, 0.3), (10.0, 0.9), (50.0, 0.5), (100.0, 0.29999), (2e9, 1e-8)),
            # BTPE from its threshold on, up to distances whose square leaves 32 bits.
            *((100.0, 0.3), (100.0, 0.7), (70.0, 0.45), (1000.0, 0.1), (1e5, 1e-3), (1e6, 0.4)),
            *((1e9, 0.6), (2147483646.0, 0.5)),
        )
    ],
    "rnbinom": [
        *({"size": size, "prob": prob} for size, prob in ((0.4, 0.3), (3.0, 0.01), (20.0, 1.0))),
        *({"size": size, "mu": mu} for size, mu in ((0.4, 3.0), (5.0, 100.0), (20.0, 0.0))),
    ],
    "rnegbin": [
        {"mu": mu, "theta": theta} for mu, theta in ((100.0, 20.0), (100.0, 5.0), (2.0, 0.3))
    ],
}
# Weights that are all different.
UNEVEN = np.random.PCG64(1).random_raw(1000) * 2.0**-64


def by_us(seed: int, calls: list[Call], kind: str = "Rejection") -> Any:
    """The numbers of a sequence of calls on one `RRandom`, in R's order."""
    stream = RRandom(seed, sample_kind=kind.lower())
    parts = []
    for name, arguments in calls:
        given = {{"lambda": "mu"}.get(key, key): value for key, value in arguments.items()}
        drawn = getattr(stream, name.replace(".", "_"))(**given)
        parts.append(drawn.ravel(order="F").astype(np.float64))
    return np.concatenate(parts)


def by_r(seed: int, calls: list[Call], kind: str = "Rejection") -> Any:
    """The numbers of the same calls in R."""
    there = [{"name": name, "arguments": arguments} for name, arguments in calls]
    arguments = {"seed": seed, "calls": there, "sample_kind": kind}
    return call("random_numbers", "stream", arguments, folder=HERE)


def digests(draw: Callable[[int, list[Call]], Any]) -> dict[str, str]:
    """SHA-256 of the bits of 100,000 numbers for each set of parameters, by their name."""
    calls: list[Call] = [
        (name, {"n": SOME, **given}) for name, sets in PARAMETERS.items() for given in sets
    ]
    for weights in (np.ones(5), UNEVEN[:50], UNEVEN[:300]):
        n = len(weights)
        calls += [
            ("rmultinom", {"n": SOME // n, "size": 200, "prob": weights}),
            ("sample.int", {"n": n, "size": SOME, "replace": True, "prob": weights}),
            ("sample.int", {"n": n, "prob": weights}),
        ]
    for n in (1000, 65537):
        calls += [("sample.int", {"n": n, "size": SOME, "replace": True}), ("sample.int", {"n": n})]
    calls.append(("sample.int", {"n": 20_000_001, "size": SOME}))
    found = {}
    for name, arguments in calls:
        said = (
            f"{key}={np.size(x)} weights" if np.ndim(x) else f"{key}={x}"
            for key, x in arguments.items()
        )
        label = f"{name}({', '.join(said)})"
        found[label] = hashlib.sha256(draw(11, [(name, arguments)]).tobytes()).hexdigest()
    assert len(found) == len(calls)
    return found


if __name__ == "__main__":
    DIGESTS.write_text(json.dumps(digests(by_r), indent=1) + "\n", encoding="utf-8")
