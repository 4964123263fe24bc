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
from pyvws.report.page import (
    PagePicture,
    Section,
    Table,
    mechanism_words,
    number,
    picture,
    ten_largest,
)
from pyvws.tables.files.row_order import RELEASED_ROW

_LEVELS: Final = np.array([0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0])
_BOUND: Final = "lipschitz_bound_final"
_RISKIEST: Final = 0.01  # The share of records that a column's part is told of.


def bounds_section(
    public: PublicPart, confidential: ConfidentialPart, evidence: Evidence | None
) -> Section:
    """Weights and by-record bounds, before and after re-weighting, and the ten riskiest records."""
    numeric = (column for column in confidential.records if column.dtype.is_numeric())
    records = {column.name: column.to_numpy() for column in numeric}
    label = mechanism_words(public.privacy)[0]
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
        "A by-record bound is the largest weighted log-likelihood of the record over the draws; "
        "the largest of them is the bound of the release. Larger = less private. A weight lies in "
        "[0, 1]; smaller = more protected."
    ]
    if public.privacy.get("columns"):
        text.append(
            "Of a table, the bound is that of the record's sum over its synthesized columns, over "
            "all combinations of the columns' draws."
        )
    own = {
        name: records[weight][kept]
        for name in _columns(public)
        if (weight := f"weight_final_{name}") in records
    }
    if own:
        text.append(
            "Each column has weights of its own. The weight of a record here is the mean of its "
            "columns' weights; the table of quantiles has each column's."
        )
    if not kept.all():
        count = int((~kept).sum())
        text.append(f"Not drawn: {counted(count, 'record')} without a finite bound.")
    if not kept.any():
        return Section("bounds", "Bounds and weights", text)
    parts: list[PagePicture | Table] = [
        picture(
            plots.bounds_and_weights(bounds, weights),
            alt=f"Violin plots of by-record Lipschitz bounds and of weights: {', '.join(fits)}.",
        ),
        picture(
            plots.bounds_against_weights(bounds, weights),
            alt="Scatter plots of by-record bounds against weights, with a line at the largest.",
        ),
    ]
    if len(fits) == 2:
        parts += _reweighting(label, weights, bounds)
    risk = None if evidence is None else evidence.risk
    if risk is not None and RELEASED_ROW in records and len(risk.y) == len(kept):
        parts.append(
            picture(
                plots.weights_against_outcome(risk.y[kept], weights, name=risk.name),
                alt=f"Scatter plots of weights against the confidential {risk.name}.",
            )
        )
    parts += [_quantiles(weights | own, bounds), _riskiest(records, fits)]
    parts += _by_column(public, records, kept)
    return Section("bounds", "Bounds and weights", text, parts)


def _columns(public: PublicPart) -> list[str]:
    """The synthesized columns of a table; none for one outcome."""
    return [column["name"] for column in public.privacy.get("columns", ())]


def _reweighting(
    label: str, weights: dict[str, Floats], bounds: dict[str, Floats]
) -> list[PagePicture | Table]:
    pairs = [(weights[name], bounds[name]) for name in weights]
    (first, _), (last, _) = pairs
    return [
        picture(
            plots.before_and_after({label: (pairs[0], pairs[1])}),
            alt="Scatter plot of bounds against weights before and after re-weighting.",
        ),
        picture(
            plots.weights_before_and_after({label: (first, last)}),
            alt="Scatter plot of each record's weight after re-weighting against the one before.",
        ),
    ]


def _quantiles(weights: dict[str, Floats], bounds: dict[str, Floats]) -> Table:
    rows = [
        (f"{what}, {label}", *(number(v) for v in rarith.quantile(values, _LEVELS)))
        for what, by_label in (("weight", weights), ("bound", bounds))
        for label, values in by_label.items()
    ]
    return Table(
        "Quantiles over the records; bounds in nats",
        ("quantile of", *(f"{level:.0%}" for level in _LEVELS)),
        rows,
    )


def _riskiest(records: dict[str, Floats], fits: dict[str, tuple[str, str]]) -> Table:
    columns = [name for pair in fits.values() for name in pair]
    bound = np.nan_to_num(records[columns[-1]], nan=np.inf, posinf=np.inf)
    return ten_largest(
        "The ten records with the largest bounds; row 1 is the first of the table",
        bound,
        {name.replace("_", " "): records[name] for name in columns},
    )


def _by_column(
    public: PublicPart, records: dict[str, Floats], kept: NDArray[np.bool_]
) -> list[PagePicture | Table]:
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
            alt=f"Bar chart: shares of {', '.join(names)} in the bounds of the riskiest records.",
            caption=(
                "Which columns make the ten riskiest records risky: each column's own bound as a "
                "share of their sum. The joint bound is at most that sum."
            ),
        ),
        Table(
            f"Each column's share of the sum of the columns' own bounds; larger = the column makes "
            f"records riskier. The riskiest {len(risky)} records are those with the largest joint "
            "bounds.",
            (
                *("column", "largest own bound", "mean share", "mean share, riskiest"),
                "riskiest records it makes most of",
            ),
            [
                (
                    name,
                    *(number(x) for x in (own[place, rows].max(), shares[place, rows].mean())),
                    number(shares[place, risky].mean()),
                    str(largest[place]),
                )
                for place, name in enumerate(names)
            ],
        ),
    ]
