"""The slides' order of the five synthesizers against replicates, and what departs from it, why.

Differences are paired: two synthesizers of one replicate saw the same records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import PyvwsError
from pyvws.studies._paired import PairedDifference, paired_difference
from pyvws.studies._printed import LEVEL
from pyvws.studies._results import Key, Result
from pyvws.studies.five_synthesizers import HISTOGRAM, LABELS

__all__ = ["ORDER", "ORDER_EPSILON", "Cases", "check_censored", "compare", "explanation", "verdict"]

ORDER = (
    ("weighted", "weighted-epsilon"),
    ("weighted", "censored-weighted"),
    ("weighted-epsilon", "censored-unweighted"),
    ("censored-weighted", "censored-unweighted"),
    ("censored-unweighted", "perturbed-histogram"),
)
"""avg-ECDF at epsilon 5 on the slides of [global2022]: the first of each pair is the better one."""

ORDER_EPSILON = 5.0
_ROUNDING = 1e-9  # Of a difference of two log densities of thousands of terms.


@dataclass(frozen=True, slots=True)
class Cases:
    """Values over replicates, (R,), by mechanism, epsilon and downscaling; None left out."""

    rows: list[dict[str, Any]]

    @classmethod
    def of(cls, results: Mapping[Key, Result]) -> Cases:
        """Rows of replicates.csv with what explains them."""
        return cls(
            [
                {**row, **why}
                for result in results.values()
                for row, why in zip(result.rows, result.extra["rows"], strict=True)
            ]
        )

    def values(self, column: str, name: str, epsilon: float, downscaled: bool) -> Floats:
        """One column of one case, in the order of the replicates."""
        case = (name, epsilon, downscaled)
        chosen = [
            row[column]
            for row in self.rows
            if (row["mechanism"], row["epsilon"], row["downscaled"]) == case
            and row.get(column) is not None
        ]
        return np.array(chosen, dtype=np.float64)


def compare(cases: Cases, column: str = "u_a") -> list[PairedDifference]:
    """Every pair of the slides' order at epsilon 5, without downscaling, by a distance."""
    return [
        _paired(cases, (first, ORDER_EPSILON, False), (second, ORDER_EPSILON, False), column)
        for first, second in ORDER
    ]


def verdict(pair: PairedDifference) -> str:
    """What a pair of the slides' order shows."""
    if not pair.told_apart:
        return "not told apart"
    return "as on the slides" if pair.mean > 0 else "the other way round"


def check_censored(cases: Cases) -> tuple[float, float]:
    """The largest censored term, and the largest effect of one record on a sampled density.

    Both as shares of epsilon / 2. Raises PyvwsError where either is above 1, at any draw.
    """
    shares = [
        (row["largest_term"] / (0.5 * row["epsilon"]), row["largest_effect"] - 0.5 * row["epsilon"])
        for row in cases.rows
        if "largest_term" in row
    ]
    effects = [
        row["largest_effect"] / (0.5 * row["epsilon"]) for row in cases.rows if "clamped" in row
    ]
    if max(share for share, _ in shares) > 1.0 or max(over for _, over in shares) > _ROUNDING:
        raise PyvwsError(
            "A censored fit has a term above epsilon / 2, so its clamp failed. Its figures cannot "
            "be used; please report this with the seed."
        )
    return max(share for share, _ in shares), max(effects)


def explanation(settings: Mapping[str, Any], results: Mapping[Key, Result]) -> Iterator[str]:
    """Verdict on the order, then what the measured parts say, a paragraph each."""
    cases, n = Cases.of(results), settings["n"]
    term, effect = check_censored(cases)
    yield (
        f"Censored bounds: the largest term of any draw is {term:.4f} of epsilon / 2, and leaving "
        f"out the record with the largest unclamped term moves the sampled log density by at most "
        f"{effect:.4f} of it."
    )
    if ORDER_EPSILON in settings["epsilons"]:
        yield from _verdict(cases, n)
    yield from _parts(cases, settings)
    yield from _downscaling(cases, settings)
    yield _sampling(cases, results)


def _verdict(cases: Cases, n: int) -> Iterator[str]:
    pairs = compare(cases)
    departures = [pair for pair in pairs if verdict(pair) != "as on the slides"]
    at = f"at epsilon {ORDER_EPSILON:g}, paired differences with their {LEVEL:.0%} intervals"
    yield f"Order of avg-ECDF {at}: {_told(pairs)}."
    yield (
        f"Order of the distances of the fitted curves alone, with neither the luck of one draw nor "
        f"that of n records, {at}: {_told(compare(cases, 'curve_u_a'))}."
    )
    if departures:
        yield (
            "Beside the distance of the fitted curve (of the mean draw, without synthesis), "
            "avg-ECDF holds the luck of one draw and of n records, which may also make up for a "
            "part of it. Two samples of n from one distribution differ by 1/(3 n) = "
            f"{1 / (3 * n):.5f} on average."
        )
    for pair in departures:
        sides = []
        for name in (pair.first, pair.second):
            case = (name, ORDER_EPSILON, False)
            curve, whole = (cases.values(c, *case).mean() for c in ("curve_u_a", "u_a"))
            weights = "" if name == HISTOGRAM else _weights(cases, case)
            sides.append(f"{LABELS[name]} {whole:.5f}, its curve alone {curve:.5f}{weights}")
        yield f"  {LABELS[pair.first]} and {LABELS[pair.second]}: {'; '.join(sides)}."


def _told(pairs: list[PairedDifference]) -> str:
    return "; ".join(
        f"{LABELS[p.first]} before {LABELS[p.second]} ({_interval(p)}) {verdict(p)}" for p in pairs
    )


def _interval(pair: PairedDifference) -> str:
    return f"{pair.mean:+.5f} [{pair.low:.5f}, {pair.high:.5f}]"


def _weights(cases: Cases, case: tuple[str, float, bool]) -> str:
    """Mean weight, records out and clamped of a case, in words."""
    told = f" (mean weight {cases.values('mean_weight', *case).mean():.3f}"
    if (out := cases.values("out", *case).mean()) >= 0.05:
        told += f", {out:.1f} records at weight 0"
    if len(clamped := cases.values("clamped", *case)):
        told += f", {clamped.mean():.0f} records clamped at some draw"
    return told + ")"


def _parts(cases: Cases, settings: Mapping[str, Any]) -> Iterator[str]:
    """What each mechanism does to the fitted curve, by epsilon."""
    for epsilon in settings["epsilons"]:
        told = []
        for name, label in LABELS.items():
            case = (name, epsilon, False)
            weights = "" if name == HISTOGRAM else _weights(cases, case)
            told.append(f"{label} {cases.values('curve_u_a', *case).mean():.5f}{weights}")
        yield f"Distance of the fitted curve at epsilon {epsilon:g}: {'; '.join(told)}."
    case = (HISTOGRAM, settings["epsilons"][0], False)
    bins, first, without = (
        cases.values(column, *case).mean() for column in ("bins", "first_bin", "bins_u_a")
    )
    yield (
        f"PH: {bins:.0f} equal bins, of which the first holds {first:.0%} of the records. With no "
        f"noise at all its distance would be {without:.5f}, so the bins decide it. Its noise, of "
        "scale 2 / epsilon, is for one record replaced; the others' epsilon is for one left out."
    )


def _downscaling(cases: Cases, settings: Mapping[str, Any]) -> Iterator[str]:
    for epsilon in settings["epsilons"]:
        told = []
        for name, label in LABELS.items():
            if name != HISTOGRAM:
                pair = _paired(cases, (name, epsilon, False), (name, epsilon, True), "u_a")
                told.append(f"{label} {_interval(pair)}")
        yield f"Downscaling at epsilon {epsilon:g} changes avg-ECDF by: {'; '.join(told)}."
    yield (
        "Weighted-e is downscaled after its truncation, which leaves the records out that it had "
        "truncated. Downscaling before it would leave nothing to truncate: downscaled Weighted."
    )


def _sampling(cases: Cases, results: Mapping[Key, Result]) -> str:
    searched = [row for row in cases.rows if "tries" in row]
    short = sum(row["short"] for row in searched)
    plain = [result.extra["plain"] for result in results.values()]
    bounds = {
        name: np.mean([of[name]["lipschitz"] for of in plain]) for name in ("unweighted", "LW")
    }
    curves = {
        name: np.mean([of[name]["curve_u_a"] for of in plain]) for name in ("unweighted", "LW")
    }
    fitted = [row for row in cases.rows if "rhat" in row]
    return (
        f"Unweighted: Lipschitz {bounds['unweighted']:.2f}, curve {curves['unweighted']:.5f}. LW "
        f"at c = 1: {bounds['LW']:.2f}, {curves['LW']:.5f}; Weighted is LW with c searched, "
        f"{np.mean([row['tries'] for row in searched]):.1f} refits on average; {short} of "
        f"{len(searched)} searches ended without a confirmed bound and took the nearest. Worst "
        f"R-hat {max(row['rhat'] for row in fitted):.3f}, smallest ESS "
        f"{min(row['ess'] for row in fitted):.0f}, {sum(row['divergences'] for row in fitted)} "
        f"divergences in {sum(r.extra['fits'] for r in results.values())} fits."
    )


def _paired(
    cases: Cases,
    first: tuple[str, float, bool],
    second: tuple[str, float, bool],
    column: str,
) -> PairedDifference:
    """A distance of the second case less that of the first."""
    values = (cases.values(column, *case) for case in (first, second))
    return paired_difference(first[0], second[0], column, *values)
