"""What [risk2024] finds of its own sample, and whether the study's file agrees.

The largest risk, and the number of risks above 0.5, are those of outcomes other than 0. The ball of
a 0 is one point, so a mixture that keeps the zeros keeps their risk under any weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pyvws.evaluation.whack_a_mole import top_records
from pyvws.r_numbers import rarith
from pyvws_studies.consumer_expenditure_fits import (
    FOUR_WAY,
    MARGINAL,
    PAIRWISE,
    POLICY,
    SYNTHESIZER,
    THREE_WAY,
    ExpenditureStudy,
)

_NEAR: Final = 0.02  # Means of risks that the paper calls similar lie this near.
_LITTLE: Final = 0.05  # A largest risk that is lower by less has improved little.


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of the paper, its place there, whether it holds on the file, and the figures."""

    place: str
    finding: str
    holds: bool
    figures: str


def findings(result: ExpenditureStudy) -> list[Finding]:
    """The paper's findings in its order; a comparison of the file's figures decides each."""
    return [*_of_marginal(result), *_of_pairwise(result), *_of_adjustments(result)]


def _of_marginal(result: ExpenditureStudy) -> Iterator[Finding]:
    synthesizers, n = result.results, len(result.y)
    data = rarith.mean(result.data_risk)
    plain, marginal = _mean(result, SYNTHESIZER), _mean(result, MARGINAL)
    yield Finding(
        "2.3.1, Figure 2",
        "The Synthesizer lowers the mean risk of the data.",
        plain < data,
        f"data {data:.4f}, Synthesizer {plain:.4f}",
    )
    yield Finding(
        "2.3.1, Figure 2",
        "Marginal lowers the mean risk further.",
        marginal < plain,
        f"Synthesizer {plain:.4f}, Marginal {marginal:.4f}",
    )
    risks = {name: synthesizers[name].risk for name in (SYNTHESIZER, MARGINAL)}
    ten = {name: rarith.mean(x) for name, x in top_records(result.data_risk, risks).risks.items()}
    yield Finding(
        "2.3.1, Table 2",
        "Marginal protects the ten riskiest records better than the Synthesizer.",
        ten[MARGINAL] < ten[SYNTHESIZER],
        f"mean of the ten: Synthesizer {ten[SYNTHESIZER]:.4f}, Marginal {ten[MARGINAL]:.4f}",
    )
    top = result.y > result.topcoded.threshold
    above, below = _change(result, top), _change(result, ~top)
    yield Finding(
        "2.3.1, Figure 2 and Table 3",
        "Topcoding protects the top alone.",
        bool(above[1] < above[0] and abs(below[1] - below[0]) < _NEAR),
        f"mean risk of the {top.sum()} topcoded records {above[0]:.4f} before, {above[1]:.4f} "
        f"after; of the others {below[0]:.4f} before, {below[1]:.4f} after",
    )
    data_of = {name: entry[0] for name, entry in result.data.items()}
    away = {
        name: [abs(synthesizers[name].estimates[x][0] - value) for x, value in data_of.items()]
        for name in (SYNTHESIZER, MARGINAL)
    }
    nearer = sum(a < b for a, b in zip(away[SYNTHESIZER], away[MARGINAL], strict=True))
    yield Finding(
        "2.3.1, Table 4",
        "The Synthesizer's estimates are nearer to the data's than Marginal's.",
        nearer == len(data_of),
        f"in {nearer} of {len(data_of)} estimates",
    )
    rose = int(synthesizers[MARGINAL].moles.rose.sum())
    yield Finding(
        "2.3.2, Figure 3",
        "Marginal raises the risk of some records by 0.25 or more.",
        rose > 0,
        f"{rose} of {n} records",
    )
    before, after = _largest(result, SYNTHESIZER), _largest(result, MARGINAL)
    yield Finding(
        "2.3.2, Figure 3",
        "Marginal's largest risk is above the Synthesizer's: Marginal fails to control it.",
        after > before,
        f"Synthesizer {before:.4f}, Marginal {after:.4f}; above 0.5: "
        f"{_above(result, SYNTHESIZER)} and {_above(result, MARGINAL)} of {n}",
    )


def _of_pairwise(result: ExpenditureStudy) -> Iterator[Finding]:
    marginal, pairwise = (result.results[name] for name in (MARGINAL, PAIRWISE))
    spread = marginal.moles.weighted.iqr, pairwise.moles.weighted.iqr
    yield Finding(
        "3.2.1, Figure 8",
        "Pairwise's risks spread less than Marginal's.",
        spread[1] < spread[0],
        f"interquartile range: Marginal {spread[0]:.4f}, Pairwise {spread[1]:.4f}",
    )
    means = _mean(result, MARGINAL), _mean(result, PAIRWISE)
    yield Finding(
        "3.2.1, Figure 8",
        f"Pairwise's mean risk is Marginal's, within {_NEAR:g}.",
        abs(means[1] - means[0]) < _NEAR,
        f"Marginal {means[0]:.4f}, Pairwise {means[1]:.4f}",
    )
    largest = _largest(result, MARGINAL), _largest(result, PAIRWISE)
    yield Finding(
        "3.2.1, Figure 8",
        "Pairwise's largest risk is below Marginal's.",
        largest[1] < largest[0],
        f"Marginal {largest[0]:.4f}, Pairwise {largest[1]:.4f}",
    )
    rose = int(marginal.moles.rose.sum()), int(pairwise.moles.rose.sum())
    yield Finding(
        "3.2.1, Figure 9",
        "Pairwise raises fewer records by 0.25 or more than Marginal.",
        rose[1] < rose[0],
        f"Marginal {rose[0]}, Pairwise {rose[1]}; above 0.5: {_above(result, MARGINAL)} and "
        f"{_above(result, PAIRWISE)}",
    )
    groups = (PAIRWISE, THREE_WAY, FOUR_WAY)
    higher = {name: _largest(result, name) for name in groups}
    moles = {name: int(result.results[name].moles.rose.sum()) for name in groups}
    yield Finding(
        "3.2.1",
        f"Three-way and four-way risks improve little: no largest risk is lower by {_LITTLE:g}, "
        "and no number of risen records is halved.",
        all(
            higher[name] > higher[PAIRWISE] - _LITTLE and 2 * moles[name] >= moles[PAIRWISE]
            for name in groups
        ),
        "; ".join(
            f"{name} mean {_mean(result, name):.4f}, largest {higher[name]:.4f}, {moles[name]} rose"
            for name in groups
        ),
    )
    utility = marginal.utility, pairwise.utility
    yield Finding(
        "3.2.2, Table 7",
        "Pairwise keeps more utility than Marginal: both ECDF distances are smaller.",
        utility[1].maximum < utility[0].maximum and utility[1].average < utility[0].average,
        f"U_m {utility[0].maximum:.4f} and {utility[1].maximum:.4f}, U_a "
        f"{utility[0].average:.2g} and {utility[1].average:.2g}",
    )


def _of_adjustments(result: ExpenditureStudy) -> Iterator[Finding]:
    scaled, shifted = result.adjusted
    names = (PAIRWISE, scaled, shifted)
    distance = {name: result.results[name].utility.maximum for name in names}
    yield Finding(
        "supplement 7.2, Table 3",
        "The shift g brings more utility than the scale c: its U_m is the smallest.",
        distance[shifted] < min(distance[PAIRWISE], distance[scaled]),
        "; ".join(f"{name}: {distance[name]:.4f}" for name in names),
    )
    figures = "; ".join(
        f"{name}: mean {_mean(result, name):.4f}, largest {_largest(result, name):.4f}"
        for name in names
    )
    yield Finding(
        "supplement 7.2, Figure 7",
        "The scale c raises the mean risk, and lowers the largest.",
        _mean(result, scaled) > _mean(result, PAIRWISE)
        and _largest(result, scaled) < _largest(result, PAIRWISE),
        figures,
    )
    yield Finding(
        "supplement 7.2, Figure 7",
        f"The shift g keeps the mean risk within {_NEAR:g}, and raises the largest.",
        abs(_mean(result, shifted) - _mean(result, PAIRWISE)) < _NEAR
        and _largest(result, shifted) > _largest(result, PAIRWISE),
        figures,
    )


def _mean(result: ExpenditureStudy, name: str) -> float:
    return rarith.mean(result.results[name].risk)


def _largest(result: ExpenditureStudy, name: str) -> float:
    """The largest risk of outcomes other than 0; 0 where there are none."""
    return float(result.results[name].risk[result.y != 0].max(initial=0.0))


def _above(result: ExpenditureStudy, name: str) -> int:
    """How many outcomes other than 0 have a risk above the policy's."""
    return int((result.results[name].risk[result.y != 0] > POLICY).sum())


def _change(result: ExpenditureStudy, chosen: NDArray[np.bool_]) -> tuple[float, float]:
    """Mean risk of the chosen records in the data and after topcoding; nan for no record."""
    if not chosen.any():
        return float("nan"), float("nan")
    return rarith.mean(result.data_risk[chosen]), rarith.mean(result.topcoded_risk[chosen])
