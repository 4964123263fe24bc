"""Print and write the five-mechanisms study: the slides' figures, order and violins.

Differences are paired, because two synthesizers of one replicate saw the same records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import Key, Result
from pyvws.errors import PyvwsError
from pyvws_studies._report import write_report
from pyvws_studies._tables import terminal_table
from pyvws_studies.five_synthesizers import COUNTS, LABELS
from pyvws_studies.printed import LEVEL, PairedDifference, paired_difference, paired_table
from pyvws_studies.replicates import Report

ORDER = (
    ("weighted", "weighted-epsilon"),
    ("weighted", "censored-weighted"),
    ("weighted-epsilon", "censored-unweighted"),
    ("censored-weighted", "censored-unweighted"),
    ("censored-unweighted", "perturbed-histogram"),
)
"""Order by avg-ECDF at epsilon 5 on the slides of [global2022]: the first of a pair is better."""

ORDER_EPSILON = 5.0
_ROUNDING = 1e-9  # Rounding error of a difference of two log densities of thousands of terms.


@dataclass(frozen=True, slots=True)
class Cases:
    """Values over replicates, (R,), by mechanism, epsilon and downscaling, without None."""

    rows: list[dict[str, Any]]

    @classmethod
    def of(cls, results: Mapping[Key, Result]) -> Cases:
        """The cases of a study: the rows of replicates.csv with each row's explanation."""
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
    """The difference in `column` of each pair of the slides' order at epsilon 5, not downscaled."""
    return [
        _paired(cases, (first, ORDER_EPSILON, False), (second, ORDER_EPSILON, False), column)
        for first, second in ORDER
    ]


def verdict(pair: PairedDifference) -> str:
    """The verdict on one pair of the slides' order, in words."""
    if not pair.excludes_zero:
        return "not told apart"
    return "as on the slides" if pair.mean > 0 else "the other way round"


def check_censored(cases: Cases) -> tuple[float, float]:
    """The largest censored term as a share of epsilon / 2, and one record's effect as a share of
    the window's far end; PyvwsError for one above 1.
    """
    clamped = [row for row in cases.rows if "largest_term" in row]
    term = max(row["largest_term"] / (0.5 * row["epsilon"]) for row in clamped)
    over = max(row["largest_effect"] - row["far_end"] for row in clamped)
    if term > 1.0 or over > _ROUNDING:
        raise PyvwsError(
            "A censored fit has a term outside its window, so its clamp failed. Its figures cannot "
            "be used; please report this with the seed."
        )
    return term, max(row["largest_effect"] / row["far_end"] for row in clamped)


def explanation(settings: Mapping[str, Any], results: Mapping[Key, Result]) -> Iterator[str]:
    """The check of the clamps, the verdict on the order, and how the chains went."""
    cases = Cases.of(results)
    term, effect = check_censored(cases)
    yield (
        f"Censored bounds: the largest term of any draw is {term:.4f} of epsilon / 2. Leaving out "
        f"the record with the largest unclamped term moves the sampled log density by at most "
        f"{effect:.4f} of the window's far end. That is epsilon / 2, or epsilon under the deviance "
        "clamp."
    )
    if ORDER_EPSILON in settings["epsilons"]:
        at = f"at epsilon {ORDER_EPSILON:g}, paired differences with their {LEVEL:.0%} intervals"
        yield f"Order of avg-ECDF {at}: {_compared(compare(cases))}."
        yield (
            f"Order of the distances of the fitted curves alone, with neither the luck of one draw "
            f"nor that of n records, {at}: {_compared(compare(cases, 'curve_u_a'))}."
        )
    fitted = [row for row in cases.rows if "rhat" in row]
    yield (
        f"Worst R-hat {max(row['rhat'] for row in fitted):.3f}, smallest ESS "
        f"{min(row['ess'] for row in fitted):.0f}, {sum(row['divergences'] for row in fitted)} "
        "divergences."
    )


def _compared(pairs: list[PairedDifference]) -> str:
    return "; ".join(
        f"{LABELS[p.first]} before {LABELS[p.second]} ({_interval(p)}) {verdict(p)}" for p in pairs
    )


def _interval(pair: PairedDifference) -> str:
    return f"{pair.mean:+.5f} [{pair.low:.5f}, {pair.high:.5f}]"


def _paired(
    cases: Cases, first: tuple[str, float, bool], second: tuple[str, float, bool], column: str
) -> PairedDifference:
    """The second case's distance minus the first case's distance."""
    values = (cases.values(column, *case) for case in (first, second))
    return paired_difference(first[0], second[0], column, *values)


def truth(settings: Mapping[str, Any]) -> dict[str, float]:
    """Q15, median, mean and Q90 of the distribution that the data come from."""
    law = stats.beta(*settings["shapes"])
    q15, median, q90 = (float(value) for value in law.ppf([0.15, 0.5, 0.9]))
    return {"q15": q15, "median": median, "mean": float(law.mean()), "q90": q90}


_MEANS = ("u_m", "u_a", "median", "q15", "q90", "mean")


def report(settings: Mapping[str, Any], results: Mapping[Key, Result], out: Path) -> Report:
    """Write summary.csv, explanation.txt and the figures; show table and explanation."""
    text = list(explanation(settings, results))  # It checks the clamp before anything is written.
    cases, R = Cases.of(results), len(results)
    lines = summary(cases, settings)
    return write_report(
        out,
        [_table(settings, lines, R), *_order(cases, settings, R)],
        tables={"summary.csv": lines},
        text=text,
        pictures=_figures(cases, settings),
    )


def summary(cases: Cases, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each case: bounds, their share at most epsilon / 2, and means of other columns."""
    lines = []
    for epsilon in settings["epsilons"]:
        for downscaled in (False, True):
            for name in LABELS:
                case = (name, epsilon, downscaled)
                bounds = cases.values("lipschitz", *case)
                line: dict[str, Any] = {
                    "epsilon": epsilon,
                    "downscaled": downscaled,
                    "mechanism": name,
                    "lipschitz_mean": float(bounds.mean()) if len(bounds) else None,
                    "lipschitz_max": float(bounds.max()) if len(bounds) else None,
                    "within": float((bounds <= 0.5 * epsilon).mean()) if len(bounds) else None,
                }
                line |= {column: float(cases.values(column, *case).mean()) for column in _MEANS}
                lines.append(line)
    return lines


def _table(settings: Mapping[str, Any], lines: list[dict[str, Any]], replicates: int) -> Any:
    a, b = settings["shapes"]
    bounds, distances = ("Lipschitz", "largest", "<= eps/2"), ("max-ECDF", "avg-ECDF")
    table = terminal_table(
        f"Beta({a:g}, {b:g}), n = {settings['n']}, R = {replicates}",
        left=["epsilon", "downscaled", ""],
        right=[*bounds, *distances, "median", "Q15", "Q90", "mean"],
    )
    for line in lines:
        reached = [line["lipschitz_mean"], line["lipschitz_max"]]
        table.add_row(
            f"{line['epsilon']:g}",
            "yes" if line["downscaled"] else "no",
            LABELS[line["mechanism"]],
            *("" if bound is None else f"{bound:.3f}" for bound in reached),
            "" if line["within"] is None else f"{line['within']:.0%}",
            f"{line['u_m']:.4f}",
            f"{line['u_a']:.5f}",
            *(f"{line[name]:.4f}" for name in ("median", "q15", "q90", "mean")),
            end_section=line["mechanism"] == COUNTS,
        )
    true = truth(settings)
    table.add_row(
        *("", "", "true", *[""] * 5),
        *(f"{true[name]:.4f}" for name in ("median", "q15", "q90", "mean")),
    )
    table.caption = (
        "means over the replicates; PH, the deviance clamp and noisy counts do not depend on "
        "downscaling, their rows repeat"
    )
    return table


def _order(cases: Cases, settings: Mapping[str, Any], replicates: int) -> Iterator[Any]:
    """Tables of the slides' pairs, by the distance of a dataset and of the fitted curve."""
    if ORDER_EPSILON in settings["epsilons"] and replicates > 1:
        pairs = [*compare(cases), *compare(cases, "curve_u_a")]
        yield paired_table(f"Pairs of the slides' order at epsilon {ORDER_EPSILON:g}", pairs)


def _figures(cases: Cases, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the slides' violins, a panel for each epsilon, without and with downscaling."""
    from pyvws_studies.figures import replicate_violins

    titles = {f"epsilon = {epsilon:g}": epsilon for epsilon in settings["epsilons"]}
    half = {title: 0.5 * epsilon for title, epsilon in titles.items()}
    true = dict.fromkeys(titles, truth(settings)["median"])
    drawn = {}
    for file, column, name, lines, line in (
        ("lipschitz", "lipschitz", "database Lipschitz bound (nats)", half, "epsilon / 2"),
        ("max-ecdf", "u_m", "maximum ECDF distance", None, ""),
        ("avg-ecdf", "u_a", "average squared ECDF distance", None, ""),
        ("median", "median", "median", true, "true median"),
    ):
        for downscaled in (False, True):
            groups = {
                title: {
                    label: values
                    for key, label in LABELS.items()
                    if len(values := cases.values(column, key, epsilon, downscaled))
                }
                for title, epsilon in titles.items()
            }
            figure = replicate_violins(groups, lines, name=name, line=line)
            drawn[f"{file}{'-downscaled' * downscaled}.png"] = figure
    return drawn
