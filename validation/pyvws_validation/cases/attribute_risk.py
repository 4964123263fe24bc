"""Cases of `pyvws.risks.attribute_risk`: an intruder's posterior over guesses."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.risks import attribute_risk as package
from pyvws_validation._draws import Draws


def attribute_risk(log_guesses: list[Floats], **options: Any) -> package.AttributeRisk:
    """The risk from a matrix (S, G) for each record, since no array of three dimensions crosses."""
    return package.attribute_risk(np.stack(log_guesses, axis=1), **options)


def _guesses(seed: int, draws: int, records: int, guesses: int) -> dict[str, Any]:
    """Guesses, one impossible at all draws and one at some; a weight and a prior of 0."""
    stream = Draws(seed)
    log_guesses = [
        stream.uniform(draws * guesses, -9.0, -1.0).reshape(draws, guesses) for _ in range(records)
    ]
    true = stream.whole(records, guesses)
    weights = np.clip(stream.uniform(records, -0.2, 1.2), 0.0, 1.0)
    prior = stream.uniform(records * guesses, 0.5, 2.0).reshape(records, guesses)
    for i in range(1, records):
        other = (true[i] + 1) % guesses
        if i % 3 == 1:
            log_guesses[i][:, other] = -np.inf
        elif i % 3 == 2:
            log_guesses[i][0, other] = -np.inf
            prior[i, (true[i] + 2) % guesses] = 0.0
    synthetic = stream.uniform(draws * (1 + seed % 3), -120.0, -110.0).reshape(draws, -1)
    return {
        "log_guesses": log_guesses,
        "log_synthetic": synthetic,
        "true": true,
        "weights": weights,
        "prior": prior,
    }
