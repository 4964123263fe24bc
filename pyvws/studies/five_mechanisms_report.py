"""What the five-mechanisms study prints and writes: the slides' figures, verdict and violins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scipy import stats

from pyvws._base.folders import write_whole
from pyvws.studies._paired import paired_table
from pyvws.studies._replicates import Report
from pyvws.studies._results import Key, Result
from pyvws.studies.five_mechanisms_order import ORDER_EPSILON, Cases, compare, explanation
from pyvws.studies.five_synthesizers import HISTOGRAM, LABELS

__all__ = ["report", "summary", "truth"]


def truth(settings: Mapping[str, Any]) -> dict[str, float]:
    """Q15, median, mean and Q90 of the distribution that the data come from."""
    made = stats.beta(*settings["shapes"])
    q15, median, q90 = (float(value) for value in made.ppf([0.15, 0.5, 0.9]))
    return {"q15": q15, "median": median, "mean": float(made.mean()), "q90": q90}


_MEANS = ("u_m", "u_a", "median", "q15", "q90", "mean")


def report(settings: Mapping[str, Any], results: Mapping[Key, Result], out: Path) -> Report:
    """Write summary.csv, explanation.txt and the figures; show table and explanation."""
    import polars as pl

    text = list(explanation(settings, results))
    cases = Cases.of(results)
    lines = summary(cases, settings)
    write_whole(out / "summary.csv", pl.DataFrame(lines, infer_schema_length=None).write_csv())
    write_whole(out / "explanation.txt", "\n\n".join(text) + "\n")
    R = len(results)
    shown = [_table(settings, lines, R), *_order(cases, settings, R), *text]
    figures = _figures(cases, settings, out)
    return Report(shown, ["summary.csv", "explanation.txt", *figures])


def summary(cases: Cases, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A line a case: Lipschitz mean, largest and share at most epsilon / 2, means of the rest."""
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
    from rich.table import Table

    a, b = settings["shapes"]
    made = Table(title=f"Beta({a:g}, {b:g}), n = {settings['n']}, R = {replicates}")
    for heading in ("epsilon", "downscaled", ""):
        made.add_column(heading)
    for heading in ("Lipschitz", "largest", "<= eps/2", "max-ECDF", "avg-ECDF", "median"):
        made.add_column(heading, justify="right")
    for heading in ("Q15", "Q90", "mean"):
        made.add_column(heading, justify="right")
    for line in lines:
        bounds = [line["lipschitz_mean"], line["lipschitz_max"]]
        made.add_row(
            f"{line['epsilon']:g}",
            "yes" if line["downscaled"] else "no",
            LABELS[line["mechanism"]],
            *("" if bound is None else f"{bound:.3f}" for bound in bounds),
            "" if line["within"] is None else f"{line['within']:.0%}",
            f"{line['u_m']:.4f}",
            f"{line['u_a']:.5f}",
            *(f"{line[name]:.4f}" for name in ("median", "q15", "q90", "mean")),
            end_section=line["mechanism"] == HISTOGRAM,
        )
    true = truth(settings)
    made.add_row(
        *("", "", "true", *[""] * 5),
        *(f"{true[name]:.4f}" for name in ("median", "q15", "q90", "mean")),
    )
    made.caption = "means over the replicates; PH does not depend on downscaling, its rows repeat"
    return made


def _order(cases: Cases, settings: Mapping[str, Any], replicates: int) -> Iterator[Any]:
    """The pairs of the slides' order, by the distance of a dataset and of the fitted curve."""
    if ORDER_EPSILON in settings["epsilons"] and replicates > 1:
        pairs = [*compare(cases), *compare(cases, "curve_u_a")]
        yield paired_table(f"Pairs of the slides' order at epsilon {ORDER_EPSILON:g}", pairs)


def _figures(cases: Cases, settings: Mapping[str, Any], out: Path) -> list[str]:
    """The slides' violins, a panel for each epsilon, without and with downscaling."""
    from pyvws.plots import replicate_violins

    titles = {f"epsilon = {epsilon:g}": epsilon for epsilon in settings["epsilons"]}
    half = {title: 0.5 * epsilon for title, epsilon in titles.items()}
    true = dict.fromkeys(titles, truth(settings)["median"])
    names = []
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
            names.append(f"{file}{'-downscaled' * downscaled}.png")
            figure = replicate_violins(groups, lines, name=name, line=line)
            figure.savefig(out / names[-1], dpi=120)
    return names
