"""What the contraction study prints and writes: bounds and means by size, beside the claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.folders import write_whole
from pyvws.studies._paired import PairedDifference, paired_difference, paired_table
from pyvws.studies._replicates import Report
from pyvws.studies._results import Key, Result

__all__ = ["differences", "predicted_bound", "report", "summary"]

MECHANISMS = ("unweighted", "weighted", "weighted-epsilon")

_LABELS = {"unweighted": "Unweighted", "weighted": "LW", "weighted-epsilon": "Weighted-e"}
_TITLES = {
    "poisson": "Poisson(100)",
    "mixture": "0.2 NB(100, 5) + 0.8 NB(100, 20)",
}
_PAPER_SIZE = 1000  # Of section 6.


def report(settings: Mapping[str, Any], results: Mapping[Key, Result], out: Path) -> Report:
    """Write summary.csv, explanation.txt and the figures; show tables and explanation."""
    import polars as pl

    rows = [row for result in results.values() for row in result.rows]
    lines, text = summary(settings, rows), list(_explanation(settings, results))
    write_whole(out / "summary.csv", pl.DataFrame(lines).write_csv())
    write_whole(out / "explanation.txt", "\n\n".join(text) + "\n")
    replicates = len({row["replicate"] for row in rows})
    shown = [_table(settings, lines, data, replicates) for data in settings["data"]]
    if replicates > 1:
        shown += [
            paired_table(
                f"{_TITLES[data]}: pairs on one database", differences(settings, rows, data)
            )
            for data in settings["data"]
        ]
    return Report(
        [*shown, *text], ["summary.csv", "explanation.txt", *_figures(settings, rows, out)]
    )


def predicted_bound(largest: float, least: float) -> float:
    """LW's bound at c = 1, g = 0 by algebra, where the weighted fit is as the unweighted one.

    alpha_i f_i = f_i (M - f_i) / (M - m) for unweighted bounds f_i between m = `least` and M =
    `largest` is at most M^2 / (4 (M - m)), at f_i = M / 2; where M / 2 is below m, at most m.
    """
    return largest**2 / (4.0 * (largest - least)) if largest > 2.0 * least else least


def _values(rows: list[dict[str, Any]], column: str, data: str, n: int, mechanism: str) -> Floats:
    case = (data, n, mechanism)
    return np.array(
        [row[column] for row in rows if (row["data"], row["n"], row["mechanism"]) == case],
        dtype=np.float64,
    )


def summary(settings: Mapping[str, Any], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for each kind of data, mechanism and n.

    Smallest, mean and largest bound, their spread, the share above the paper's global bound, and
    mean and root mean squared error of mu.
    """
    lines = []
    for data, of_data in settings["data"].items():
        for mechanism in MECHANISMS:
            for n in settings["sizes"]:
                bounds = _values(rows, "lipschitz", data, n, mechanism)
                mu = _values(rows, "mu", data, n, mechanism)
                lines.append(
                    {
                        **{"data": data, "mechanism": mechanism, "n": n},
                        "smallest": float(bounds.min()),
                        "mean": float(bounds.mean()),
                        "largest": float(bounds.max()),
                        "spread": float(np.ptp(bounds)),
                        "sd": float(bounds.std()),
                        "above": float((bounds > 0.5 * of_data["epsilon"]).mean()),
                        "out": float(_values(rows, "out", data, n, mechanism).mean()),
                        "mu": float(mu.mean()),
                        "mu_rmse": float(np.sqrt(((mu - settings["mean"]) ** 2).mean())),
                    }
                )
    return lines


def differences(
    settings: Mapping[str, Any], rows: list[dict[str, Any]], data: str
) -> list[PairedDifference]:
    """Bound, and distance of mu from the true mean, of mechanisms that saw the same database."""
    made = []
    for first, second in pairwise(MECHANISMS):
        for n in settings["sizes"]:
            bounds = (_values(rows, "lipschitz", data, n, name) for name in (first, second))
            made.append(paired_difference(first, second, f"bound, n = {n}", *bounds))
            away = (
                np.abs(_values(rows, "mu", data, n, name) - settings["mean"])
                for name in (first, second)
            )
            made.append(paired_difference(first, second, f"distance of mu, n = {n}", *away))
    return made


def _table(
    settings: Mapping[str, Any], lines: list[dict[str, Any]], data: str, replicates: int
) -> Any:
    from rich.table import Table

    half = 0.5 * settings["data"][data]["epsilon"]
    made = Table(title=f"{_TITLES[data]}, R = {replicates}")
    for heading in ("", "n", "smallest", "mean", "largest", "spread", "sd", f"above {half:g}"):
        made.add_column(heading, justify="right")
    for heading in ("at weight 0", "mu", "RMSE of mu"):
        made.add_column(heading, justify="right")
    for line in lines:
        if line["data"] == data:
            made.add_row(
                *(_LABELS[line["mechanism"]], str(line["n"])),
                *(f"{line[k]:.2f}" for k in ("smallest", "mean", "largest", "spread", "sd")),
                *(f"{line['above']:.0%}", f"{line['out']:.0f}"),
                *(f"{line[k]:.2f}" for k in ("mu", "mu_rmse")),
                end_section=line["n"] == settings["sizes"][-1],
            )
    made.caption = "database Lipschitz bounds over local databases, in nats; larger = less private"
    return made


def _explanation(settings: Mapping[str, Any], results: Mapping[Key, Result]) -> Iterator[str]:
    rows = [row for result in results.values() for row in result.rows]
    lines = {(line["data"], line["mechanism"], line["n"]): line for line in summary(settings, rows)}
    for data, of_data in settings["data"].items():
        if _PAPER_SIZE in settings["sizes"]:
            yield _section_6(
                _TITLES[data],
                0.5 * of_data["epsilon"],
                {name: lines[data, name, _PAPER_SIZE] for name in MECHANISMS},
            )
        yield from _by_size(_TITLES[data], settings["sizes"], lines, data)
        yield _cause(results, data)
    worst = max(result.extra["rhat"] for result in results.values())
    diverged = sum(result.extra["divergences"] for result in results.values())
    yield f"Worst R-hat {worst:.3f}; {diverged} divergences."


def _section_6(title: str, half: float, of: Mapping[str, Mapping[str, float]]) -> str:
    plain, lw = of["unweighted"], of["weighted"]
    narrower = "as the paper says" if lw["spread"] < plain["spread"] else "against the paper"
    few = "nearly none, as the paper says" if lw["above"] <= 0.05 else "more than the paper says"
    return (
        f"{title}, n = {_PAPER_SIZE}: LW's bounds lie between {lw['smallest']:.2f} and "
        f"{lw['largest']:.2f}, unweighted ones between {plain['smallest']:.2f} and "
        f"{plain['largest']:.2f}: a spread of {lw['spread']:.2f} against {plain['spread']:.2f}, "
        f"{narrower}. {lw['above']:.0%} of LW's are above the paper's global {half:g}: {few}."
    )


def _by_size(
    title: str, sizes: list[int], lines: Mapping[Any, Mapping[str, float]], data: str
) -> Iterator[str]:
    first, last = sizes[0], sizes[-1]
    for name in MECHANISMS:
        spreads = ", ".join(f"{lines[data, name, n]['spread']:.2f}" for n in sizes)
        ends = lines[data, name, first], lines[data, name, last]
        moved = "falls" if ends[1]["spread"] < ends[0]["spread"] else "does not fall"
        errors = ", ".join(f"{lines[data, name, n]['mu_rmse']:.2f}" for n in sizes)
        yield (
            f"{title}, {_LABELS[name]}, n = {', '.join(map(str, sizes))}: the spread of bounds is "
            f"{spreads}; from n = {first} to {last} it {moved}, while the mean bound goes from "
            f"{ends[0]['mean']:.2f} to {ends[1]['mean']:.2f}. RMSE of mu {errors}."
        )


def _cause(results: Mapping[Key, Result], data: str) -> str:
    """LW's bound against what the most extreme record alone predicts."""
    by_algebra, measured = [], []
    for key, result in results.items():
        if key[0] == data:
            bounds = {row["mechanism"]: row["lipschitz"] for row in result.rows}
            by_algebra.append(predicted_bound(bounds["unweighted"], result.extra["least_bound"]))
            measured.append(bounds["weighted"])
    gap = np.abs(np.array(measured) / np.array(by_algebra) - 1.0)
    told = (
        f"{_TITLES[data]}: LW's bound follows from the most extreme record alone: with M and m the "
        "largest and smallest unweighted bound it is M^2 / (4 (M - m)) by algebra, and the "
        f"measured ones are within {gap.mean():.1%} of that on average, {gap.max():.1%} at most"
    )
    if len(set(by_algebra)) > 2:
        told += f" (correlation {np.corrcoef(by_algebra, measured)[0, 1]:.3f})"
    return told + (
        ". M is the largest of n values, so it grows slowly with n and keeps its spread: the "
        "posterior contracts, the data's extremes do not."
    )


def _figures(settings: Mapping[str, Any], rows: list[dict[str, Any]], out: Path) -> list[str]:
    """Bounds and mu over n; at the paper's n its violins of bounds and of estimands."""
    from pyvws.plots import contraction, replicate_violins

    made = {}
    for data, of_data in settings["data"].items():
        half = 0.5 * of_data["epsilon"]

        def over_sizes(column: str, data: str = data) -> dict[str, dict[str, Floats]]:
            return {
                label: {str(n): _values(rows, column, data, n, name) for n in settings["sizes"]}
                for name, label in _LABELS.items()
            }

        lines = dict.fromkeys(_LABELS.values(), half)
        made[f"bounds-{data}.png"] = contraction(over_sizes("lipschitz"), lines)
        means = dict.fromkeys(_LABELS.values(), settings["mean"])
        made[f"mu-{data}.png"] = replicate_violins(
            over_sizes("mu"), means, name="posterior mean of mu", line="true mean"
        )
        if _PAPER_SIZE in settings["sizes"]:
            labels = {"original": "Data", "unweighted": "Unweighted", "weighted": "LW"}
            of_paper = {
                statistic: {
                    label: _values(rows, column, data, _PAPER_SIZE, name)
                    for name, label in labels.items()
                }
                for column, statistic in (
                    *(("q15", "15th quantile"), ("q90", "90th quantile")),
                    *(("mean", "mean"), ("median", "median")),
                )
            }
            made[f"estimands-{data}.png"] = _estimands(of_paper)
    if _PAPER_SIZE in settings["sizes"]:
        panels = {
            _TITLES[data]: {
                _LABELS[name]: _values(rows, "lipschitz", data, _PAPER_SIZE, name)
                for name in ("unweighted", "weighted")
            }
            for data in settings["data"]
        }
        global_bounds = {
            _TITLES[data]: 0.5 * of["epsilon"] for data, of in settings["data"].items()
        }
        made["local-to-global.png"] = contraction(panels, global_bounds)
    for name, figure in made.items():
        figure.savefig(out / name, dpi=120)
    return list(made)


def _estimands(panels: Mapping[str, Mapping[str, Floats]]) -> Any:
    from pyvws.plots import replicate_violins

    return replicate_violins(panels, name="one dataset of each database")
