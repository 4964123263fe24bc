"""The board's section on utility: how near the datasets come to the confidential table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pyvws import plots
from pyvws.evaluation.k_marginal import KMarginal, k_marginal
from pyvws.evaluation.one_column import LevelMargin
from pyvws.r_numbers import rarith
from pyvws.report.evidence import Closeness, Evidence, NumberEvidence
from pyvws.report.margins import DRAWN, MEASURES, Pairs
from pyvws.report.output_folder import PublicPart
from pyvws.report.page import PagePicture, Section, fit_label, picture
from pyvws.sheet.sheet import Sheet, number

_TENTHS: Final = np.arange(1, 10) / 10
_LEAST: Final = 0.05  # Colours of differences are darkest here at the least.


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
    if evidence.pairs is not None:
        words, pictures = _pairs(evidence.pairs, label)
        text += words
        parts += pictures
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
                    {stat: {label: _three(by["Synthetic"])} for stat, by in intervals},
                    {stat: _three(by["Data"]) for stat, by in intervals},
                ),
                alt="Bootstrap estimates and 95 % intervals, with lines for the data's own.",
            )
        )
    else:
        text.append("The table is too large for bootstrap intervals; they are left out.")
    parts.append(table.sheet(f"Quantiles and mean of {name}, in its unit"))
    return text, parts


def _three(interval: Any) -> tuple[float, float, float]:
    return interval.estimate, interval.lower, interval.upper


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


def _pairs(pairs: Pairs, label: str) -> tuple[list[str], list[PagePicture | Sheet]]:
    """Associations of the data, of the datasets, and their differences."""
    data, own = pairs.matrices[0], pairs.matrices[1:].mean(axis=0)
    change = own - data
    score = _score(pairs)
    limit = max(_LEAST, float(np.abs(np.nan_to_num(change)).max()))
    names = ", ".join(pairs.names)
    text = [
        f"The k-marginal score of pairs of columns is {score.score:.0f} of 1000; larger = nearer "
        f"to the data. Independent columns have {score.independent:.0f}, "
        f"{'records' if pairs.units is None else 'whole units'} drawn anew from "
        f"the data {score.bootstrap:.0f}. Numbers enter it by the data's tenths."
    ]
    return text, [
        picture(
            plots.association_matrices({"Data": data, label: own}, pairs.names),
            alt=f"Matrices of associations of {names}: the data, and means over the datasets.",
            caption=f"{MEASURES} {label}: means over the datasets.",
        ),
        picture(
            plots.association_matrices({f"{label} less Data": change}, pairs.names, limit=limit),
            alt=f"Matrix of differences of associations of {names}: datasets less data.",
            caption="How associations changed: 0 = kept.",
        ),
        Sheet(
            "The pairs of columns whose association changed most. Distance: the sum of the "
            "differences of joint shares, from 0 to 2; smaller = more useful.",
            ("column", "with", "measure", "data", "synthetic", "difference", "distance"),
            [
                (
                    *(pairs.names[i], pairs.names[j], pairs.measure(i, j)),
                    *(matrix[i, j] for matrix in (data, own, change)),
                    score.by_pair[pairs.names[i], pairs.names[j]],
                )
                for i, j in pairs.largest(change)
            ],
        ),
    ]


def _score(pairs: Pairs) -> KMarginal:
    data, *own = pairs.tables
    tenths = {
        name: np.unique(rarith.quantile(data[name].to_numpy(), _TENTHS))
        for name, categorical in zip(pairs.names, pairs.categorical, strict=True)
        if not categorical
    }
    unit = None if pairs.units is None else pairs.units.name
    if pairs.units is not None:
        data = data.with_columns(pairs.units)
    return k_marginal(data, own, columns=pairs.names, bins=tenths, unit=unit)
