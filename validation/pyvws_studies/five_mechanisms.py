"""The simulation study of [global2022]: five synthesizers on repeated samples from Beta(0.5, 3).

A replicate draws n = 2000 records by R's generators and makes one dataset of each synthesizer at
each epsilon, with and without downscaling, from an intercept-only beta regression on (0, 1). The
synthesizers share the unweighted fit and the LW fit. The histogram has the default bins. Its noise
comes from a seed, so that a user can repeat a replicate: seeded noise is right for simulated data
and wrong for a release. Downscaling does not change the histogram, so the histogram's downscaled
row repeats the other row. So do the rows of two synthesizers that are not of the slides: the
deviance clamp, and records imputed from noisy counts of 20 bins under the beta family. The data are
simulated: nothing here is confidential.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import Key, Result, whole_seed
from pyvws.errors import PyvwsError
from pyvws.evaluation.one_column import ecdf_utility
from pyvws.mechanisms.histogram.perturbed_histogram import synthesize_from_histogram
from pyvws.mechanisms.weighing import WeightedFit
from pyvws.models.beta import Beta
from pyvws.r_numbers import rarith
from pyvws.synthesis.loop import SynthesisLoop
from pyvws.tables.schema.column import Column
from pyvws_studies._native_loop import native_loop, one_chain
from pyvws_studies._report import table_of, write_report
from pyvws_studies.five_synthesizers import (
    COUNTS,
    DEVIANCE,
    HISTOGRAM,
    LABELS,
    FiveSynthesizers,
    Made,
    counted_column,
    deviance_clamped,
    largest_effect,
    seeded_histogram,
)
from pyvws_studies.printed import LEVEL, PairedDifference, paired_difference, paired_table
from pyvws_studies.replicates import ReplicatedStudy, Report
from pyvws_studies.simulated_data import beta_proportions

SETTINGS: Mapping[str, Any] = {
    "n": 2000,
    "shapes": [0.5, 3.0],
    "epsilons": [5.0, 4.0, 3.0],
    "passes": 5,
    "draws": 1000,
    "warmup": 500,
    "largest_kappa": 30.0,
}

COLUMNS = (
    *("mechanism", "epsilon", "replicate", "downscaled", "lipschitz"),
    *("u_m", "u_a", "q15", "median", "mean", "q90"),
)
"""Columns of replicates.csv; lipschitz, in nats, is empty for the histogram."""

_RANGE = (0.0, 1.0)


def keys(replicates: int) -> list[Key]:
    return [("beta", number) for number in range(1, replicates + 1)]


def statistics(y: Floats) -> dict[str, float]:
    """Q15, median, mean and Q90 of an outcome, by R's rules."""
    q15, median, q90 = (float(value) for value in rarith.quantile(y, [0.15, 0.5, 0.9]))
    return {"q15": q15, "median": median, "mean": rarith.mean(y), "q90": q90}


def replicate(settings: Mapping[str, Any], key: Key, seed: np.random.SeedSequence) -> Result:
    """One local database, and a row and an explanation for each synthesizer, epsilon and
    downscaling.
    """
    data_seed = whole_seed(seed.spawn(1)[0]) % 2**31
    y = beta_proportions(data_seed, settings["n"], *settings["shapes"])
    model = Beta(range=_RANGE, largest_kappa=settings["largest_kappa"]).prepare(y, "y")
    design = np.ones((len(y), 1))
    loop = native_loop(model, y, design, one_chain(settings), seed=whole_seed(seed))
    five = FiveSynthesizers(loop, settings["passes"])
    rows = _Rows(y, int(key[1]))
    for epsilon in settings["epsilons"]:
        noise, draw = seed.spawn(2)
        noisy = seeded_histogram(epsilon, _RANGE).perturb(y, seed=whole_seed(noise))
        drawn = synthesize_from_histogram(noisy, len(y), np.random.default_rng(draw))
        for downscaled in (False, True):
            for name, clamped in five.fits(epsilon, downscaled=downscaled).items():
                rows.add(loop, (name, epsilon, downscaled), clamped)
            why = {"curve_u_a": _straight(y, noisy.edges, noisy.probabilities)}
            rows.add_drawn(HISTOGRAM, epsilon, downscaled, drawn, why)
    for epsilon, own in zip(
        settings["epsilons"], seed.spawn(len(settings["epsilons"])), strict=True
    ):
        strict = native_loop(model, y, design, one_chain(settings), seed=whole_seed(own))
        clamped = deviance_clamped(strict, epsilon)
        for downscaled in (False, True):
            rows.add(strict, (DEVIANCE, epsilon, downscaled), clamped)
    column = Column(model="beta", range=_RANGE)
    for place, epsilon in enumerate(settings["epsilons"]):
        own = np.random.SeedSequence([whole_seed(seed), place])
        (drawn,) = counted_column(y, column, epsilon=epsilon, datasets=1, seed=own)
        for downscaled in (False, True):
            rows.add_drawn(COUNTS, epsilon, downscaled, drawn, {})
    extra = {"data_seed": data_seed, "rows": rows.why}
    return Result(rows.made, extra)


class _Rows:
    """Rows of one replicate, and an explanation of each row."""

    def __init__(self, y: Floats, number: int) -> None:
        self.made: list[dict[str, Any]] = []
        self.why: list[dict[str, Any]] = []
        self._y, self._number = y, number
        self._drawn: dict[int, Floats] = {}

    def add(self, loop: SynthesisLoop, case: tuple[str, float, bool], fitted: Made) -> None:
        """Add the row of a loop's fit; a fit that downscaling did not change keeps its dataset."""
        fit = fitted.fit
        if id(fit) not in self._drawn:
            design = np.ones((len(self._y), 1))
            (self._drawn[id(fit)],) = loop.synthetic(fit, design, 1)
        self._row(*case, fit.bounds.database, self._drawn[id(fit)])
        diagnostics = fit.posterior.diagnostics
        why: dict[str, Any] = {
            "curve_u_a": _curve(self._y, fit),
            "rhat": diagnostics.rhat_max,
            "ess": diagnostics.ess_bulk_min,
            "divergences": diagnostics.divergences,
        }
        if fit.clamp is not None:
            why["far_end"] = -fit.clamp.window[0]
            why["largest_term"] = float(fit.bounds.by_draw.max())
            why["largest_effect"] = largest_effect(loop, fitted)
        self.why.append(why)

    def add_drawn(
        self, name: str, epsilon: float, downscaled: bool, drawn: Floats, why: dict[str, Any]
    ) -> None:
        """Add the row of a dataset (n,) that comes of no fit."""
        self._row(name, epsilon, downscaled, None, drawn)
        self.why.append(why)

    def _row(
        self, name: str, epsilon: float, downscaled: bool, bound: float | None, drawn: Floats
    ) -> None:
        utility = ecdf_utility(self._y, [drawn])
        values = (name, epsilon, self._number, downscaled, bound, utility.maximum, utility.average)
        self.made.append({**dict(zip(COLUMNS, values, strict=False)), **statistics(drawn)})


def _curve(y: Floats, fit: WeightedFit) -> float:
    """U_a of the fitted density itself at the mean draw, free of the luck of a synthetic draw."""
    draws = fit.posterior.draws
    mu, kappa = float(expit(draws["beta"]).mean()), float(draws["kappa"].mean())
    return _squared(y, stats.beta.cdf(np.sort(y), mu * kappa, (1.0 - mu) * kappa))


def _straight(y: Floats, edges: Floats, shares: Floats) -> float:
    """U_a of a histogram with values uniform inside its bins, shares (B,)."""
    reached = np.concatenate([[0.0], np.cumsum(shares)])
    return _squared(y, np.interp(np.sort(y), edges, reached))


def _squared(y: Floats, at_sorted: Floats) -> float:
    """Mean squared distance of a distribution function from the data's, at the sorted y (N,)."""
    return float(((np.arange(1, len(y) + 1) / len(y) - at_sorted) ** 2).mean())


# The report: the slides' figures, order and violins. Differences are paired, because two
# synthesizers of one replicate saw the same records.

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
    values = {name: cases.values(column, name, ORDER_EPSILON, False) for name in chain(*ORDER)}
    return [paired_difference(a, b, column, values[a], values[b]) for a, b in ORDER]


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
        f"{LABELS[p.first]} before {LABELS[p.second]} "
        f"({p.mean:+.5f} [{p.low:.5f}, {p.high:.5f}]) {verdict(p)}"
        for p in pairs
    )


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


_SHOWN = {
    **{"epsilon": ("epsilon", "g"), "downscaled": ("lowered", ""), "": ("label", "")},
    **{"Lipschitz": ("lipschitz_mean", ".3f"), "largest": ("lipschitz_max", ".3f")},
    **{"<= eps/2": ("within", ".0%"), "max-ECDF": ("u_m", ".4f"), "avg-ECDF": ("u_a", ".5f")},
    **{"median": ("median", ".4f"), "Q15": ("q15", ".4f"), "Q90": ("q90", ".4f")},
    "mean": ("mean", ".4f"),
}


def _table(settings: Mapping[str, Any], lines: list[dict[str, Any]], replicates: int) -> Any:
    a, b = settings["shapes"]
    rows: list[dict[str, Any]] = [
        {**x, "lowered": "yes" if x["downscaled"] else "no", "label": LABELS[x["mechanism"]]}
        for x in lines
    ]
    rows = [{**row, "part": (row["epsilon"], row["lowered"])} for row in rows]
    said = (
        "means over the replicates; PH, the deviance clamp and noisy counts do not depend on "
        "downscaling, their rows repeat"
    )
    title = f"Beta({a:g}, {b:g}), n = {settings['n']}, R = {replicates}"
    true = {"label": "true", **truth(settings)}
    return table_of(title, [*rows, true], _SHOWN, left=3, group="part", caption=said)


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


STUDY = ReplicatedStudy(
    name="five-mechanisms",
    settings=SETTINGS,
    replicates=100,
    keys=keys,
    replicate=replicate,
    report=report,
)
