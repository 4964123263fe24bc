"""Print and write the risk-efficient study: the paper's tables, risks, text and figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from pyvws._base.resumable_jobs import Key, Result
from pyvws.evaluation.whack_a_mole import risk_summary
from pyvws.r_numbers import rarith
from pyvws.risks.identification_risk import identification_risk
from pyvws_studies._report import all_rows, write_report
from pyvws_studies._tables import terminal_table
from pyvws_studies.printed import paired_table
from pyvws_studies.replicates import Report
from pyvws_studies.risk_efficient_comparison import (
    PUBLISHED,
    ComparedCell,
    Published,
    compare,
    differences,
    simulate,
    statistics,
)

Rows = list[dict[str, Any]]


def report(settings: Mapping[str, Any], results: Mapping[Key, Result], out: Path) -> Report:
    """Write tables.csv, pairs.csv, risks.csv and the figures; show the tables."""
    rows = all_rows(results)
    seeds = settings["data_seeds"]
    replicates = len({row["replicate"] for row in rows})
    cells = {seed: compare(rows, seed) for seed in seeds}
    risks = _risk_rows(settings, rows)
    lines = [
        {
            **{name: asdict(c.published)[name] for name in ("table", "row", "column")},
            "published": c.published.value,
            **{name: getattr(c, name) for name in ("data_seed", "low", "mean", "high", "inside")},
        }
        for of_seed in cells.values()
        for c in of_seed
    ]
    pairs = {seed: differences(rows, seed) for seed in seeds}
    differing = [
        {"data_seed": seed, **asdict(pair), "told_apart": pair.excludes_zero}
        for seed, of_seed in pairs.items()
        for pair in of_seed
    ]
    apart = [
        paired_table(f"What the replicates tell apart, data of R's seed {seed}", of_seed)
        for seed, of_seed in pairs.items()
        if replicates > 1
    ]
    return write_report(
        out,
        [*_published_tables(cells, replicates), *apart, _risk_table(risks, replicates)],
        tables={"tables.csv": lines, "risks.csv": risks, "pairs.csv": differing},
        pictures=_figures(settings, results),
    )


def _published_tables(cells: Mapping[int, list[ComparedCell]], replicates: int) -> Iterator[Any]:
    """Each of the paper's tables on each seed's data; Table 6 in two halves."""

    def half(published: Published) -> tuple[str, str]:
        return published.table, published.column.rpartition(":")[0]

    for title in dict.fromkeys(half(published) for published in PUBLISHED):
        for seed, of_seed in cells.items():
            chosen = [cell for cell in of_seed if half(cell.published) == title]
            heading = ", ".join([*filter(None, title), f"data of R's seed {seed}"])
            yield _published_table(heading, chosen, replicates)


def _published_table(title: str, cells: list[ComparedCell], replicates: int) -> Any:
    columns = dict.fromkeys(cell.published.column for cell in cells)
    table = terminal_table(title, left=["", *columns])
    table.caption = f"published figure, in or OUT of the range of {replicates} replicates"
    for label in dict.fromkeys(cell.published.row for cell in cells):
        table.add_row(
            label,
            *(
                f"{cell.published.value} {'in ' if cell.inside else 'OUT'} {cell.range_text}"
                for cell in cells
                if cell.published.row == label
            ),
        )
    return table


def _risk_rows(settings: Mapping[str, Any], rows: Rows) -> Rows:
    """Risks of the data, and the synthesizers' means over replicates, by data, r and mechanism."""
    lines: Rows = []
    for seed in settings["data_seeds"]:
        y = simulate(settings, seed)
        for r in settings["radii"]:
            risk = identification_risk(y, radius=r)
            of_data = risk_summary(risk)
            place = {"data_seed": seed, "radius": r}
            first = {"risk_mean": rarith.mean(risk), "risk_iqr": of_data.iqr}
            lines.append({**place, "mechanism": "data", **first, "risk_max": of_data.maximum})
            for name in ("synthesizer", "marginal", "pairwise"):
                own = [
                    row
                    for row in rows
                    if (row["data_seed"], row["mechanism"], row["radius"]) == (seed, name, r)
                    and row["datasets"] == settings["datasets"]
                ]
                if own:
                    means = {
                        column: rarith.mean([float(row[column]) for row in own])
                        for column in (
                            *("risk_mean", "risk_iqr", "risk_max"),
                            *("rose", "rose_much", "largest_rise"),
                        )
                    }
                    lines.append({**place, "mechanism": name, **means})
    return lines


def _risk_table(risks: Rows, replicates: int) -> Any:
    headings = ("seed", "r", "", "mean", "IQR", "max", "rose", "by 0.25", "largest rise")
    table = terminal_table("Identification risks; larger = riskier", right=headings)
    for row in risks:
        table.add_row(
            *(str(row["data_seed"]), f"{row['radius']:.0%}", row["mechanism"]),
            *(f"{row[name]:.3f}" for name in ("risk_mean", "risk_iqr", "risk_max")),
            *(f"{row[name]:.1f}" if name in row else "" for name in ("rose", "rose_much")),
            f"{row['largest_rise']:.3f}" if "largest_rise" in row else "",
            end_section=row["mechanism"] == "pairwise",
        )
    table.caption = (
        f"means over {replicates} replicates; rose: records whose risk is above the synthesizer's"
    )
    return table


def _figures(settings: Mapping[str, Any], results: Mapping[Key, Result]) -> dict[str, Any]:
    """Draw the paper's figures of the first replicate and dataset."""
    from pyvws import plots

    seed = settings["data_seeds"][0]
    first = next(result for key, result in results.items() if key[1:] == (seed, 1))
    risks = first.extra["risks"]
    y, figures = simulate(settings, seed), {}
    violins = {}
    for r in settings["radii"]:
        own = {"D": identification_risk(y, radius=r)}
        for label, name in (("S", "synthesizer"), ("M", "marginal"), ("P", "pairwise")):
            if f"{name} {r:g}" in risks:
                own[label] = np.array(risks[f"{name} {r:g}"])
        violins[f"r = {r:.0%}"] = own
    figures["risks.png"] = plots.risk_violins(violins)
    r = settings["pairwise_radius"]
    pair = violins[f"r = {r:.0%}"]
    figures["whack-a-mole.png"] = plots.whack_a_mole_scatter(
        pair["S"], {"Marginal": pair["M"], "Pairwise": pair["P"]}
    )
    figures["figure-4.png"] = plots.densities({"simulated data": y})
    by_radius = {title.removeprefix("r = "): own["M"] for title, own in violins.items()}
    figures["figure-6.png"] = plots.risk_violins({"Marginal": by_radius})
    data = _intervals(statistics(settings, [y]))
    estimates = {
        (row["mechanism"], row["radius"]): _intervals(row)
        for row in first.rows
        if row["datasets"] == settings["datasets"]
    }
    synthesizer = {"Synthesizer": estimates["synthesizer", r]}
    by_label = synthesizer | {f"{r:.0%}": estimates["marginal", r] for r in settings["radii"]}
    figures["figure-7.png"] = plots.intervals(_by_statistic(by_label), data)
    by_label = synthesizer | {x.title(): estimates[x, r] for x in ("marginal", "pairwise")}
    figures["supplement-figure-4.png"] = plots.intervals(_by_statistic(by_label), data)
    return figures


def _intervals(row: Mapping[str, Any]) -> dict[str, tuple[float, float, float]]:
    """(estimate, lower, upper) of the mean and the median."""
    return {
        name: (row[name], row[f"{name}_lower"], row[f"{name}_upper"]) for name in ("mean", "median")
    }


def _by_statistic(estimates: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        name: {label: entries[name] for label, entries in estimates.items()}
        for name in ("mean", "median")
    }
