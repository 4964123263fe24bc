"""Parts of the board's page from the run itself: bounds and weights, fits, a noisy histogram."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.r_numbers import rarith
from pyvws.report import density_plots, weight_plots
from pyvws.report.evidence import Evidence
from pyvws.report.output_folder import ConfidentialPart, PublicPart
from pyvws.report.page import Picture, Section, Table, number, picture
from pyvws.report.statement_fields import mechanism_words
from pyvws.tables.row_order import RELEASED_ROW

__all__ = ["bounds_section", "fits_section", "histogram_section"]

_PARAMETERS: Final = 12
_COLUMNS: Final = 40
_LEVELS: Final = np.array([0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0])


def bounds_section(
    public: PublicPart, confidential: ConfidentialPart, evidence: Evidence | None
) -> Section:
    """Weights and by-record bounds, before and after re-weighting, and the ten riskiest records."""
    records = {name: column.to_numpy() for name, column in _numbers(confidential).items()}
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
    if not kept.all():
        text.append(f"{int((~kept).sum())} records without a finite bound are not drawn.")
    if not kept.any():
        return Section("bounds", "Bounds and weights", text)
    parts: list[Picture | Table] = [
        picture(
            weight_plots.bounds_and_weights(bounds, weights),
            alt=f"Violin plots of by-record Lipschitz bounds and of weights: {', '.join(fits)}.",
        ),
        picture(
            weight_plots.bounds_against_weights(bounds, weights),
            alt="Scatter plots of by-record bounds against weights, with a line at the largest.",
        ),
    ]
    if len(fits) == 2:
        parts += _reweighting(label, weights, bounds)
    if evidence is not None and RELEASED_ROW in records and len(evidence.y) == len(kept):
        parts.append(
            picture(
                weight_plots.weights_against_outcome(
                    evidence.y[kept], weights, name=public.outcome
                ),
                alt=f"Scatter plots of weights against the confidential {public.outcome}.",
            )
        )
    parts += [_quantiles(weights, bounds), _riskiest(records, fits)]
    return Section("bounds", "Bounds and weights", text, parts)


def _numbers(confidential: ConfidentialPart) -> dict[str, Any]:
    return {column.name: column for column in confidential.records if column.dtype.is_numeric()}


def _reweighting(
    label: str, weights: dict[str, Floats], bounds: dict[str, Floats]
) -> list[Picture | Table]:
    pairs = [(weights[name], bounds[name]) for name in weights]
    (first, _), (last, _) = pairs
    return [
        picture(
            weight_plots.before_and_after({label: (pairs[0], pairs[1])}),
            alt="Scatter plot of bounds against weights before and after re-weighting.",
        ),
        picture(
            weight_plots.weights_before_and_after({label: (first, last)}),
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
        ("", *(f"{level:.0%}" for level in _LEVELS)),
        rows,
    )


def _riskiest(records: dict[str, Floats], fits: dict[str, tuple[str, str]]) -> Table:
    final = list(fits.values())[-1]
    bound = records[final[1]]
    order = np.argsort(-np.nan_to_num(bound, nan=np.inf, posinf=np.inf), kind="stable")[:10]
    columns = [name for pair in fits.values() for name in pair]
    return Table(
        "The ten records with the largest bounds; row 1 is the first of the table",
        ("row", *(name.replace("_", " ") for name in columns)),
        [(str(row + 1), *(number(records[name][row]) for name in columns)) for row in order],
    )


def fits_section(confidential: ConfidentialPart) -> Section:
    """Diagnostics of every fit, the search, and posterior densities by chain."""
    summary = confidential.summary
    fits = Table(
        "Every fit to the confidential data, in order",
        (
            *("fit", "Delta (nats)", "ε", "mean weight", "R-hat", "bulk ESS", "tail ESS"),
            *("divergences", "seconds"),
        ),
        [
            (
                fit["label"],
                *(number(fit[name], 6) for name in ("Delta", "epsilon", "mean_weight")),
                *(number(value) for value in fit["diagnostics"].values()),
                number(fit["seconds"], 3),
            )
            for fit in summary["fits"]
        ],
    )
    search = Table(
        "The search for a tuning constant, try by try",
        ("fit", "constant", "value", "bound reached", "bound aimed at"),
        [
            (
                made["label"],
                made["symbol"],
                *(number(made[n]) for n in ("value", "reached", "target")),
            )
            for made in summary["search"]
        ],
    )
    draws = confidential.posterior
    names = [
        name
        for name in draws.columns
        if name not in ("chain", "draw")
        and draws[name].is_finite().all()
        and draws[name].n_unique() > 1
    ]
    parts: list[Picture | Table] = [fits, search]
    text = [
        "R-hat near 1 and at most 1.01: chains agree. Effective sample sizes of at least 400: the "
        "bound is based on enough independent draws. Divergences should be 0."
    ]
    columns = summary.get("design_columns", [])
    slopes = [name for name in draws.columns if name.startswith("beta[")]
    if slopes and len(slopes) == len(columns):
        more = " ..." if len(columns) > _COLUMNS else ""
        text.append(
            f"beta[1] to beta[{len(slopes)}] belong to: {', '.join(columns[:_COLUMNS])}{more}."
        )
    if names:
        drawn = names[:_PARAMETERS]
        figure = density_plots.parameter_densities(
            {name: draws[name].to_numpy() for name in drawn}, draws["chain"].to_numpy()
        )
        alt = f"Posterior densities by chain of {', '.join(drawn)}; chains that agree overlap."
        parts.append(picture(figure, alt=alt))
        if len(names) > len(drawn):
            text.append(f"{len(drawn)} of {len(names)} parameters are drawn.")
    return Section("fits", "Fits and diagnostics", text, parts)


def histogram_section(confidential: ConfidentialPart) -> Section:
    """The noisy counts of a perturbed histogram."""
    bins = confidential.posterior
    return Section(
        "histogram",
        "Noisy histogram",
        ["Counts after noise; those below 0 are drawn from with probability 0."],
        [
            Table(
                "Bins",
                ("from", "to", "noisy count", "probability"),
                [tuple(number(value) for value in row) for row in bins.iter_rows()],
            )
        ],
    )
