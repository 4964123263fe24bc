"""The board's section on utility: how near the datasets come to the confidential table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from pyvws import plots
from pyvws.evaluation.one_column import LevelMargin
from pyvws.r_numbers import rarith
from pyvws.report.evidence import Closeness, Evidence, NumberEvidence
from pyvws.report.margins import DRAWN, MEASURES
from pyvws.report.output_folder import PublicPart
from pyvws.report.page import PagePicture, Section, fit_label, picture
from pyvws.sheet.sheet import Sheet, number


def utility_section(public: PublicPart, evidence: Evidence) -> Section:
    """Each column beside the data's, and pairs of columns before and after."""
    label = fit_label(public.privacy)
    text: list[str] = []
    parts: list[PagePicture | Sheet] = []
    if evidence.categories:
        parts += _categories(evidence.categories, label)
    first = evidence.numbers[0] if evidence.numbers else None
    if first is not None and first.closeness is not None:
        words, pictures = _one_number(first, first.closeness, label)
        text += words
        parts += pictures
    elif evidence.numbers:
        parts += _several_numbers(evidence.numbers, label)
    if evidence.scores is not None:
        figure = picture(
            evidence.scores.plot(),
            alt=(
                "Matrices of associations of pairs of columns: the data, means over the datasets, "
                "and the difference."
            ),
            caption=f"{MEASURES} synthetic: means over the datasets. difference: 0 = kept.",
        )
        parts += [figure, *evidence.scores.sheets]
    return Section("utility", "Utility", text, parts)


def _categories(margins: Sequence[LevelMargin], label: str) -> list[PagePicture | Sheet]:
    drawn = [margin.folded(DRAWN) for margin in margins[:DRAWN]]
    names = ", ".join(margin.name for margin in drawn)
    return [
        picture(
            plots.level_shares(
                {
                    margin.name: {"Data": margin.shares[:1], label: margin.shares[1:]}
                    for margin in drawn
                },
                {margin.name: margin.levels for margin in drawn},
            ),
            alt=f"Bar charts: shares of the levels of {names}, in the data and in the datasets.",
            caption=(
                "Shares of the levels: bars are means over the datasets, lines join the smallest "
                "and the largest."
            ),
        ),
        Sheet(
            "Shares of the levels of categories. Distance: half the sum of the differences, the "
            "share of rows that would have to change, as a mean over the datasets; smaller = more "
            "useful. The level is the one whose mean share is furthest off.",
            ("column", "levels", "distance", "level", "share, data", "share, synthetic"),
            [_furthest(margin) for margin in margins],
        ),
    ]


def _furthest(margin: LevelMargin) -> tuple[Any, ...]:
    data, own = margin.shares[0], margin.shares[1:]
    mean = own.mean(axis=0)
    place = int(np.abs(mean - data).argmax())
    return (
        *(margin.name, len(margin.levels), margin.distance, margin.levels[place]),
        *(data[place], mean[place]),
    )


def _one_number(
    evidence: NumberEvidence, closeness: Closeness, label: str
) -> tuple[list[str], list[PagePicture | Sheet]]:
    name, margin, table = evidence.margin.name, evidence.margin, evidence.table
    text = [
        f"Distances of distribution functions: U_m = {evidence.ecdf.maximum:.4f}, U_a = "
        f"{evidence.ecdf.average:.6f}, both in [0, 1]; smaller = more useful. pMSE is "
        f"{rarith.mean([s.ratio for s in closeness.scores]):.2f} times what chance gives; 1 = "
        "alike."
    ]
    parts: list[PagePicture | Sheet] = [
        picture(
            plots.densities({label: margin.curves[1]}, margin.curves[0], name=name),
            alt=f"Densities of {name}: the confidential data and the first synthetic dataset.",
        ),
        picture(
            plots.utility({label: margin.statistics[1:]}, margin.statistics[0]),
            alt=f"Violin plots of Q15, Q90, mean and median of {name} over the datasets.",
        ),
    ]
    if closeness.intervals:
        intervals = closeness.intervals.items()
        parts.append(
            picture(
                plots.intervals(
                    {stat: {label: astuple(by["Synthetic"])} for stat, by in intervals},
                    {stat: astuple(by["Data"]) for stat, by in intervals},
                ),
                alt="Bootstrap estimates and 95 % intervals, with lines for the data's own.",
            )
        )
    else:
        text.append("The table is too large for bootstrap intervals; they are left out.")
    parts.append(table.sheet(f"Quantiles and mean of {name}, in its unit"))
    return text, parts


def _several_numbers(numbers: Sequence[NumberEvidence], label: str) -> list[PagePicture | Sheet]:
    drawn = [column.margin for column in numbers[:DRAWN]]
    rows = []
    for column in numbers:
        data, own = column.margin.statistics[0], column.margin.statistics[1:].mean(axis=0)
        figures = [number(values[place], 6) for place in (2, 3, 1) for values in (data, own)]
        ecdf = f"{column.ecdf.maximum:.4f}", f"{column.ecdf.average:.6f}"
        rows.append((column.margin.name, *ecdf, *figures))
    return [
        picture(
            plots.column_densities(
                {own.name: {"Data": own.curves[0], label: own.curves[1]} for own in drawn}
            ),
            alt=(
                f"Densities of {', '.join(own.name for own in drawn)}: the confidential data and "
                "the first synthetic dataset."
            ),
        ),
        Sheet(
            "Numbers. U_m and U_a: distances of distribution functions, in [0, 1]; smaller = more "
            "useful. Other figures are in the column's unit; synthetic ones are means over the "
            "datasets.",
            (
                *("column", "U_m", "U_a", "mean, data", "mean, synthetic", "median, data"),
                *("median, synthetic", "90th quantile, data", "90th quantile, synthetic"),
            ),
            rows,
        ),
    ]
