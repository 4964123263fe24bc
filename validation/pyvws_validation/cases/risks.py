"""Cases of `pyvws.risks`: identification risks, and weights from pairs and triples."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.risks import attribute_risk as package
from pyvws_validation._case import Arguments
from pyvws_validation._draws import Draws


def _amounts(seed: int, *shape: int) -> dict[str, Any]:
    """Amounts of both signs, and zeros, whose ball is one point; odd seeds take counts."""
    draws = Draws(seed)
    return {"original": draws.counts(*shape) if seed % 2 else draws.amounts(*shape)}


def _pattern(seed: int, records: int) -> dict[str, Any]:
    """One known column; the last seed gives every record a pattern of its own."""
    known = np.arange(records) if seed == 5 else Draws(seed + 50).whole(records, 3)
    return {**_amounts(seed, records), "known": known}


def _patterns(seed: int, *shape: int) -> dict[str, Any]:
    """Two known columns whose values together make the pattern."""
    draws = Draws(seed + 50)
    return {"known": [draws.whole(shape[0], 2), draws.whole(shape[0], 3)]}


def _synthetic(*datasets: int) -> Arguments:
    """Datasets near the original: some synthetic records fall in the record's ball, some do not.

    `datasets` holds a number of datasets for each seed.
    """

    def arguments_of(seed: int, *shape: int) -> dict[str, Any]:
        arguments = _pattern(seed, *shape)
        draws, original = Draws(seed + 10), arguments["original"]
        n = len(original)
        synthetic = [
            original * draws.uniform(n, 0.6, 1.4) + np.floor(draws.uniform(n))
            for _ in range(datasets[seed - 1])
        ]
        synthetic[0] = original.copy() if seed == 1 else synthetic[0]
        return {**arguments, "synthetic": synthetic}

    return arguments_of


def _outcomes(seed: int, records: int) -> dict[str, Any]:
    """Two or three outcomes with ties and zeros; a box for odd seeds, an ellipsoid for even."""
    outcomes = 2 + seed % 2
    values = Draws(seed).whole(records * outcomes, 9).astype(np.float64)
    return {
        "original": values.reshape(records, outcomes) - 2.0,
        "radius": 0.5 if seed < 4 else np.array([1.0, 2.0, 1.5][:outcomes]),
        "radius_kind": "percentage" if seed < 4 else "absolute",
        "known": Draws(seed + 50).whole(records, 2),
        "norm": "box" if seed % 2 else "euclidean",
    }


def _synthetic_outcomes(seed: int, *shape: int) -> dict[str, Any]:
    arguments = _outcomes(seed, *shape)
    original = arguments["original"]
    draws = Draws(seed + 10)
    synthetic = [
        original + draws.whole(original.size, 3).reshape(original.shape) - 1.0 for _ in range(seed)
    ]
    return {**arguments, "synthetic": synthetic}


_one_synthetic = _synthetic(1, 1, 1, 1, 1)
_several_synthetic = _synthetic(3, 4, 5, 2, 3)


# Weights from pairs and from triples


def _grouped(seed: int, records: int) -> dict[str, Any]:
    """Up to four patterns of two known columns, each with two or more records."""
    groups = np.arange(records) % min(4, records // 2)
    return {"known": [groups % 2, groups // 2]}


def _lonely(seed: int, records: int) -> dict[str, Any]:
    """Patterns of which about half have one record."""
    return {**_amounts(seed, records), "known": Draws(seed + 50).whole(records, 2 * records)}


# An intruder's posterior over guesses


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
