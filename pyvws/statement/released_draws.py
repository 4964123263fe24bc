"""The draws that synthetic datasets come from: each draw is paid, each dataset is not.

A dataset is a function of its draw and of fresh randomness, so several datasets of one draw cost
what the draw costs (post-processing). d draws cost d times as much (sequential composition).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def draw_of_dataset(datasets: int, draws: int) -> list[int]:
    """The number, from 1, of the draw behind each of m datasets that come from d <= m draws.

    The draws take turns: the first d datasets come from d different draws, and the numbers of
    datasets of two draws differ by at most 1.
    """
    return [1 + dataset % draws for dataset in range(datasets)]


def with_released_draws(privacy: Mapping[str, Any]) -> dict[str, Any]:
    """The statement with draws_released and draw_of_dataset, which came with version 3.

    The datasets of an earlier statement have one posterior draw each, or one noisy histogram.
    """
    datasets = privacy.get("datasets")
    if "draw_of_dataset" in privacy or not isinstance(datasets, int):
        return dict(privacy)
    draws = datasets if "lipschitz_bound" in privacy else 1
    draw_of = draw_of_dataset(datasets, draws)
    return {**privacy, "draws_released": draws, "draw_of_dataset": draw_of}
