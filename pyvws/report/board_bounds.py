"""The board's section on bounds: weights, by-record bounds, and the columns that make them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from pyvws import plots
from pyvws._base.checks import Floats
from pyvws._base.phrase import counted
from pyvws.r_numbers import rarith
from pyvws.report.evidence import Evidence
from pyvws.report.output_folder import ConfidentialPart, PublicPart
from pyvws.report.page import PagePicture, Section, mechanism_words, picture, ten_largest
from pyvws.sheet.sheet import Sheet
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
    finite = np.isfinite(
        np.column_stack([records[name] for pair in fits.values() for name in pair])
    )
    kept = finite.all(axis=1)
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
