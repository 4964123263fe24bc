"""The board's sections: bounds and weights, risks of single records, and utility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws import plots
from pyvws._base.checks import Floats
from pyvws._base.phrase import counted
from pyvws.evaluation.one_column import LevelMargin
from pyvws.evaluation.whack_a_mole import top_records, whack_a_mole
from pyvws.r_numbers import rarith
from pyvws.report.evidence import Closeness, Evidence, NumberEvidence, RiskEvidence
from pyvws.report.margins import MEASURES
from pyvws.report.output_folder import ConfidentialPart, PublicPart
from pyvws.report.page import PagePicture, Section, fit_label, mechanism_words, picture, ten_largest
from pyvws.sheet import Sheet, number
from pyvws.statement.words import of_single_records
from pyvws.tables.files.row_order import RELEASED_ROW

_LEVELS: Final = np.array([0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0])
_BOUND: Final = "lipschitz_bound_final"
_RISKIEST: Final = 0.01  # The share of records that a column's part is told of.


def bounds_section(
    public: PublicPart, confidential: ConfidentialPart, evidence: Evidence | None
) -> Section:
    """Weights and bounds, before and after re-weighting, and the records with the ten largest.

    Each record has the weight and the bound of its unit of privacy, which text and figures name.
    """
    numeric = (column for column in confidential.records if column.dtype.is_numeric())
    records = {column.name: column.to_numpy() for column in numeric}
    label, unit = mechanism_words(public.privacy)[0], public.privacy["unit_of_privacy"]
    fits = {label: ("weight", "lipschitz_bound")}
    if public.privacy["reweighted"]:
        fits[f"{label}_final"] = ("weight_final", "lipschitz_bound_final")
    drawn = np.array([records[name] for pair in fits.values() for name in pair])
    kept = np.isfinite(drawn).all(axis=0)
    weights = {name: records[pair[0]][kept] for name, pair in fits.items()}
    bounds = {name: records[pair[1]][kept] for name, pair in fits.items()}
    text = [
        f"A bound is the largest weighted log-likelihood of {unit} over the draws; the largest "
        "of them is the bound of the release. Larger = less private. A weight lies in [0, 1]; "
        "smaller = more protected."
    ]
    if public.privacy.get("columns"):
        text.append(
            f"Of a table, the bound of {unit} is that of the sum over the synthesized columns, "
            "over all combinations of the columns' draws."
        )
    own = {
        name: records[weight][kept]
        for name in _columns(public)
        if (weight := f"weight_final_{name}") in records
    }
    if own:
        text.append(
            f"Each column has weights of its own. The weight of {unit} here is the mean of the "
            "columns' weights; the table of quantiles has each column's."
        )
    if not kept.all():
        count = int((~kept).sum())
        text.append(f"Not drawn: {counted(count, 'record')} without a finite bound.")
    if not kept.any():
        return Section("bounds", "Bounds and weights", text)
    name = f"Lipschitz bound (nats)\nof {unit}"
    parts: list[PagePicture | Sheet] = [
        picture(
            plots.bounds_and_weights(bounds, weights, name=name),
            alt=f"Violin plots of Lipschitz bounds and weights of {unit}: {', '.join(fits)}.",
        ),
        picture(
            plots.bounds_against_weights(bounds, weights, name=name),
            alt=f"Scatter plots of bounds of {unit} against weights, with a line at the largest.",
        ),
    ]
    if len(fits) == 2:
        before, after = ((weights[fit], bounds[fit]) for fit in fits)
        parts += [
            picture(
                plots.before_and_after({label: (before, after)}, name=name),
                alt=f"Scatter plot of bounds of {unit} against weights before and after "
                "re-weighting.",
            ),
            picture(
                plots.weights_before_and_after({label: (before[0], after[0])}),
                alt=f"Scatter plot of the weight of {unit} after re-weighting against the one "
                "before.",
            ),
        ]
    risk = None if evidence is None else evidence.risk
    if risk is not None and RELEASED_ROW in records and len(risk.y) == len(kept):
        parts.append(
            picture(
                plots.weights_against_outcome(risk.y[kept], weights, name=risk.name),
                alt=f"Scatter plots of weights of {unit} against the confidential {risk.name}.",
            )
        )
    parts += [_quantiles(weights | own, bounds, unit), _riskiest(records, fits, unit)]
    parts += _by_column(public, records, kept, unit)
    return Section("bounds", "Bounds and weights", text, parts)


def _columns(public: PublicPart) -> list[str]:
    """The synthesized columns of a table; none for one outcome."""
    return [column["name"] for column in public.privacy.get("columns", ())]


def _quantiles(weights: dict[str, Floats], bounds: dict[str, Floats], unit: str) -> Sheet:
    rows = [
        (f"{what}, {label}", *rarith.quantile(values, _LEVELS))
        for what, by_label in (("weight", weights), ("bound", bounds))
        for label, values in by_label.items()
    ]
    return Sheet(
        f"Quantiles over the records of the weights and bounds of {unit}; bounds in nats",
        ("quantile of", *(f"{level:.0%}" for level in _LEVELS)),
        rows,
    )


def _riskiest(records: dict[str, Floats], fits: dict[str, tuple[str, str]], unit: str) -> Sheet:
    columns = [name for pair in fits.values() for name in pair]
    bound = np.nan_to_num(records[columns[-1]], nan=np.inf, posinf=np.inf)
    return ten_largest(
        f"The ten records with the largest bounds of {unit}; row 1 is the first of the table",
        bound,
        {name.replace("_", " "): records[name] for name in columns},
    )


def _by_column(
    public: PublicPart, records: dict[str, Floats], kept: NDArray[np.bool_], unit: str
) -> list[PagePicture | Sheet]:
    """Which column of a table makes which records risky: shares of the columns' own bounds."""
    names = _columns(public)
    if len(names) < 2:
        return []
    rows = np.flatnonzero(kept)
    order = rows[np.argsort(-records[_BOUND][rows], kind="stable")]
    own = np.array([records[f"{_BOUND}_{name}"] for name in names])
    whole = own.sum(axis=0)
    shares = own / np.where(whole == 0.0, 1.0, whole)
    top, risky = order[:10], order[: max(10, round(_RISKIEST * len(order)))]
    largest = np.bincount(shares[:, risky].argmax(axis=0), minlength=len(names))
    return [
        picture(
            plots.bound_shares(
                {name: own[place, top] for place, name in enumerate(names)},
                [f"row {row + 1}" for row in top],
            ),
            alt=f"Bar chart: shares of {', '.join(names)} in the largest bounds of {unit}.",
            caption=(
                f"Which columns make the largest bounds of {unit}, in ten records: each column's "
                "own bound as a share of their sum. The joint bound is at most that sum."
            ),
        ),
        Sheet(
            f"Each column's share of the sum of the columns' own bounds of {unit}; larger = the "
            f"column makes records riskier. The riskiest {len(risky)} records are those with the "
            "largest joint bounds.",
            (
                *("column", "largest own bound", "mean share", "mean share, riskiest"),
                "riskiest records it makes most of",
            ),
            [
                (
                    *(name, own[place, rows].max(), shares[place, rows].mean()),
                    *(shares[place, risky].mean(), largest[place]),
                )
                for place, name in enumerate(names)
            ],
        ),
    ]


def risk_section(public: PublicPart, risk: RiskEvidence) -> Section:
    """Identification and match risks, the ten riskiest and largest records, whack-a-mole."""
    how = risk.settings
    short = {"Data": "D", "Unweighted": "S", "Synthetic": fit_label(public.privacy)}
    ordered = {short[n]: risk.by_record[n] for n in short if n in risk.by_record}
    reach = f"{how.radius:.0%}" if how.radius_kind == "percentage" else f"{how.radius:g}"
    known = ", ".join(how.known) if how.known else "nothing else"
    text = [
        f"An intruder knows a record's {risk.name} within r = {reach}, and {known}. The risk "
        "is the share of like records that are not near, in [0, 1]; larger = riskier.",
        *filter(None, [of_single_records(public.privacy["unit_of_privacy"])]),
    ]
    parts: list[PagePicture | Sheet] = [
        picture(
            plots.risk_violins({f"r = {reach}": ordered}),
            alt=f"Violin plots of identification risks with their means: {', '.join(ordered)}.",
            caption=(
                "Identification risks by record, bars at the means. D: confidential data; "
                + ("S: synthesizer without weights; " if "S" in ordered else "")
                + "the rest: this release."
            ),
        ),
        risk.sheet,
        _top(risk.by_record["Data"], "ten riskiest records of the data", risk),
        _top(risk.y, "ten largest records", risk),
    ]
    if "Unweighted" in risk.by_record:
        parts += _whack_a_mole(risk, fit_label(public.privacy))
    else:
        text.append(
            "To see records whose risk rose through weighting, give a release without weights by "
            "--unweighted."
        )
    return Section("risks", "Risks of single records", text, parts)


def _top(by: Floats, caption: str, risk: RiskEvidence) -> Sheet:
    top = top_records(by, risk.by_record)
    return Sheet(
        f"The {caption}; row 1 is the first of the table",
        ("row", risk.name, *(f"risk, {label}" for label in top.risks)),
        [
            (
                *(int(row) + 1, number(risk.y[row], 7)),
                *(values[place] for values in top.risks.values()),
            )
            for place, row in enumerate(top.records)
        ],
    )


def _whack_a_mole(risk: RiskEvidence, label: str) -> list[PagePicture | Sheet]:
    before, after = risk.by_record["Unweighted"], risk.by_record["Synthetic"]
    rise = risk.settings.rise
    moles = whack_a_mole(before, after, rise=rise, policy=risk.settings.policy)
    return [
        picture(
            plots.whack_a_mole_scatter(before, {label: after}, rise=rise),
            alt="Scatter plot of risks in this release against those without weights.",
            caption=(
                f"Whack-a-mole: {int(moles.rose.sum())} of the records, in orange, have a risk at "
                f"least {rise:g} higher than without weights."
            ),
        ),
        ten_largest(
            "The ten records whose risk rose most through weighting",
            moles.change,
            {"risk without weights": before, "risk here": after, "change": moles.change},
        ),
    ]


def utility_section(public: PublicPart, evidence: Evidence, small: list[PagePicture]) -> Section:
    """Each column beside the data's, and pairs of columns before and after.

    `small` has the pictures of columns that the deciding sheets had no room for.
    """
    label = fit_label(public.privacy)
    text: list[str] = []
    if public.survey_weight is not None:
        text.append(
            f"The datasets follow the population, by the survey weights {public.survey_weight!r}. "
            "The data beside them are the records without weights, so both may differ."
        )
    parts: list[PagePicture | Sheet] = []
    if evidence.categories:
        parts.append(_categories(evidence.categories))
    first = evidence.numbers[0] if evidence.numbers else None
    if first is not None and first.closeness is not None:
        words, pictures = _one_number(first, first.closeness, label)
        text += words
        parts += pictures
    elif evidence.numbers:
        parts.append(_several_numbers(evidence.numbers))
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
    return Section("utility", "Utility", text, parts, small)


def _categories(margins: Sequence[LevelMargin]) -> Sheet:
    worst = sorted(margins, key=lambda margin: -margin.distance)
    return Sheet(
        "Shares of the levels of categories, the furthest first. The distance is the share of rows "
        "that would have to change, as a mean over the datasets; smaller = more useful. The level "
        "is the one whose mean share is furthest off.",
        ("column", "levels", "distance", "level", "share, data", "share, synthetic"),
        [_furthest(margin) for margin in worst],
    )


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
    name, table = evidence.margin.name, evidence.table
    text = [
        f"Distances of distribution functions: U_m = {evidence.ecdf.maximum:.4f}, U_a = "
        f"{evidence.ecdf.average:.6f}, both in [0, 1]; smaller = more useful. pMSE is "
        f"{rarith.mean([s.ratio for s in closeness.scores]):.2f} times what chance gives; 1 = "
        "alike."
    ]
    parts: list[PagePicture | Sheet] = []
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
        text.append("The table is too large for bootstrap intervals.")
    parts.append(table.sheet(f"Quantiles and mean of {name}, in its unit"))
    return text, parts


def _several_numbers(numbers: Sequence[NumberEvidence]) -> Sheet:
    rows = []
    for column in sorted(numbers, key=lambda one: -one.ecdf.maximum):
        data, own = column.margin.statistics[0], column.margin.statistics[1:].mean(axis=0)
        figures = [number(values[place], 6) for place in (2, 3, 1) for values in (data, own)]
        ecdf = f"{column.ecdf.maximum:.4f}", f"{column.ecdf.average:.6f}"
        rows.append((column.margin.name, *ecdf, *figures))
    return Sheet(
        "Numbers, the furthest first. U_m and U_a: distances of distribution functions, in [0, 1]; "
        "smaller = more useful. Other figures are in the column's unit; synthetic ones are means "
        "over the datasets.",
        (
            *("column", "U_m", "U_a", "mean, data", "mean, synthetic", "median, data"),
            *("median, synthetic", "90th quantile, data", "90th quantile, synthetic"),
        ),
        rows,
    )
