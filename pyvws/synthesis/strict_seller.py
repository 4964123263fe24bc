"""What a run with a pseudo posterior may buy: draws of clamped fits, and a number of rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np

from pyvws.privacy.budget import MOVED, Budget, noise_scale
from pyvws.privacy.seller import PricedMeasurement, Seller
from pyvws.synthesis.settings import RunSettings

FIRST_STAGE: Final = "first stage"
"""The draw of a first clamped fit that weights come from, and the label of that fit."""
_ROWS: Final = "records"


def draw_name(number: int) -> str:
    """The name of a posterior draw of the fit that makes the datasets; the first is 1."""
    return f"draw {number}"


def seller_of(settings: RunSettings, records: int, *, strict: bool) -> Seller[int] | None:
    """The seller of a run on a table of so many records; None where it buys nothing.

    A strict run buys each posterior draw at the width of its window, and the draw of a first stage
    at that of its own; at twice the width where an exact number of rows tells that a record was
    left out. A noisy number of rows costs `records_epsilon`.
    """
    neighbours = "replace" if settings.records is None else "loo"
    goods: list[PricedMeasurement] = []
    cap = Fraction(0)
    if strict:
        window, *first = settings.facts.windows
        draws = settings.draws_per_release or settings.datasets
        moved = MOVED[neighbours]
        price = moved * Fraction(window.epsilon)
        goods += [PricedMeasurement(FIRST_STAGE, moved * Fraction(own.epsilon)) for own in first]
        goods += [PricedMeasurement(draw_name(k + 1), price) for k in range(draws)]
        cap = sum((good.price for good in goods), cap)
    if settings.records == "noisy" and settings.records_epsilon is not None:
        scale = noise_scale(settings.records_epsilon, "loo")
        goods.append(PricedMeasurement(_ROWS, 1 / Fraction(scale), scale))
        cap += Fraction(settings.records_epsilon)
    if not goods:
        return None
    budget = Budget(epsilon=float(cap), neighbours=neighbours)
    return Seller(goods, budget=budget, cap=cap, records=records)


def rows_to_draw(records: int | str | None, seller: Seller[int] | None) -> int | None:
    """The public number of rows, or a noisy number of records; None for one row a record.

    One record more or less changes the number by 1, so noise of scale 1 / epsilon costs epsilon.
    Raises MissingDependencyError for noise where OpenDP is not installed.
    """
    if records != "noisy" or seller is None:
        return records if isinstance(records, int) else None
    noisy = seller.counts(_ROWS, lambda own: np.zeros(own, dtype=np.intp), 1)
    return max(1, int(noisy[0]))
