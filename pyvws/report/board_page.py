"""The page for the disclosure board: exact figures, diagnostics, risks of single records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pyvws import plots
from pyvws._base.checks import Floats
from pyvws.evaluation.match_risk import MatchRisk
from pyvws.evaluation.whack_a_mole import risk_summary, top_records, whack_a_mole
from pyvws.r_numbers import rarith
from pyvws.report.evidence import Evidence, RiskEvidence
from pyvws.report.output_folder import ConfidentialPart, PublicPart
from pyvws.report.page import (
    Picture,
    Section,
    Table,
    mechanism_words,
    number,
    picture,
    render,
    shown,
)
from pyvws.report.public_page import (
    files_table,
    four_statistics,
    not_covered,
    problems,
    relied_on,
    statement_facts,
)
from pyvws.statement.schema import FIELDS, GUARANTEES
from pyvws.tables.row_order import RELEASED_ROW

__all__ = ["board_page"]

_PARAMETERS: Final = 12
_COLUMNS: Final = 40
_LEVELS: Final = np.array([0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0])


def board_page(
    public: PublicPart, confidential: ConfidentialPart, evidence: Evidence | None
) -> str:
    """The page as HTML; `evidence` has the figures of the confidential table, if there is one."""
    summary = confidential.summary
    exact = summary["privacy"]
    sections: list[Section] = (
        [_histogram_section(confidential)]
        if public.histogram
        else [_bounds_section(public, confidential, evidence), _fits_section(confidential)]
    )
    if evidence is not None:
        if evidence.risk is not None:
            sections.append(_risk_section(public, evidence, evidence.risk))
        sections.append(_utility_section(public, evidence))
    bound, growth = (exact.get(of) for of in ("lipschitz_bound", "bound_growth_per_doubling"))
    return render(
        "board.html.j2",
        public=public,
        exact=exact,
        summary=summary,
        evidence=evidence,
        mechanism=mechanism_words(exact)[0],
        guarantee=GUARANTEES[exact["guarantee"]],
        tone={"none": "bad", "asymptotic-dp": "warn"}.get(exact["guarantee"], "good"),
        problems=problems(exact),
        growth=None if bound is None or growth is None else growth / bound,
        facts_shown=statement_facts(exact | _short(exact), public.files[0].rows),
        statement=_statement(exact, public.privacy),
        relied_on=relied_on(exact),
        not_covered=not_covered(exact),
        ledger=Table(
            "Exact costs; larger = less private. “Not accounted”: known, but not in the total.",
            ("use", "ε"),
            [(e["use"], _exactly(e["epsilon"])) for e in exact["ledger"]],
        ),
        sections=sections,
        settings=_pairs("Settings", {**summary["settings"], "seed": summary["seed"]}),
        versions=_pairs("Versions", summary["versions"]),
        files=files_table("Files of the release", public),
    )


def _short(exact: Mapping[str, Any]) -> dict[str, Any]:
    return {name: number(exact[name], 6) for name in ("epsilon_per_dataset", "epsilon_total")}


def _exactly(value: Any) -> str:
    return shown(value, repr)


def _statement(exact: Mapping[str, Any], released: Mapping[str, Any]) -> Table:
    rows = [
        (name, _exactly(exact[name]), shown(released[name]), said.meaning, said.direction)
        for name, said in FIELDS.items()
        if name in exact
    ]
    return Table(
        "Released figures are rounded up to one decimal.",
        ("number", "exact", "released", "meaning", "direction"),
        rows,
    )


def _pairs(caption: str, entries: Mapping[str, Any]) -> Table:
    """A table of settings as the run noted them, without settings that nobody set."""
    rows = [(str(name), shown(value)) for name, value in entries.items() if value is not None]
    return Table(caption, ("name", "value"), rows)


def _bounds_section(
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
    if evidence is not None and RELEASED_ROW in records and len(evidence.y) == len(kept):
        parts.append(
            picture(
                plots.weights_against_outcome(evidence.y[kept], weights, name=public.outcome),
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
        ("", *(f"{level:.0%}" for level in _LEVELS)),
        rows,
    )


def _riskiest(records: dict[str, Floats], fits: dict[str, tuple[str, str]]) -> Table:
    columns = [name for pair in fits.values() for name in pair]
    bound = np.nan_to_num(records[columns[-1]], nan=np.inf, posinf=np.inf)
    return _ten_largest(
        "The ten records with the largest bounds; row 1 is the first of the table",
        bound,
        {name.replace("_", " "): records[name] for name in columns},
    )


def _ten_largest(caption: str, by: Floats, columns: Mapping[str, Floats]) -> Table:
    """The columns of the ten records that are largest in `by` (N,)."""
    rows = np.argsort(-by, kind="stable")[:10]
    figures = [(str(row + 1), *(number(x[row]) for x in columns.values())) for row in rows]
    return Table(caption, ("row", *columns), figures)


def _fits_section(confidential: ConfidentialPart) -> Section:
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
    outside = summary.get("share_outside_window")
    if outside:
        text.append(
            "The clamp kept back the terms of a share of "
            f"{number(outside['mean'], 3)} of the records, by draw from "
            f"{number(outside['least'], 3)} to {number(outside['most'], 3)}. These records do not "
            "move the fit."
        )
    columns = summary.get("design_columns", [])
    slopes = [name for name in draws.columns if name.startswith("beta[")]
    if slopes and len(slopes) == len(columns):
        more = " ..." if len(columns) > _COLUMNS else ""
        text.append(
            f"beta[1] to beta[{len(slopes)}] belong to: {', '.join(columns[:_COLUMNS])}{more}."
        )
    if names:
        drawn = names[:_PARAMETERS]
        figure = plots.parameter_densities(
            {name: draws[name].to_numpy() for name in drawn}, draws["chain"].to_numpy()
        )
        alt = f"Posterior densities by chain of {', '.join(drawn)}; chains that agree overlap."
        parts.append(picture(figure, alt=alt))
        if len(names) > len(drawn):
            text.append(f"{len(drawn)} of {len(names)} parameters are drawn.")
    return Section("fits", "Fits and diagnostics", text, parts)


def _histogram_section(confidential: ConfidentialPart) -> Section:
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


def _risk_section(public: PublicPart, evidence: Evidence, risk: RiskEvidence) -> Section:
    """Identification and match risks, the ten riskiest and largest records, whack-a-mole."""
    how = risk.settings
    short = {"Data": "D", "Unweighted": "S", "Synthetic": _label(public)}
    ordered = {short[n]: risk.by_record[n] for n in short if n in risk.by_record}
    reach = f"{how.radius:.0%}" if how.radius_kind == "percentage" else f"{how.radius:g}"
    known = ", ".join(how.known) if how.known else "nothing else"
    text = [
        f"An intruder knows a record's {public.outcome} within r = {reach}, and {known}. The risk "
        "is the share of like records that are not near, in [0, 1]; larger = riskier."
    ]
    parts: list[Picture | Table] = [
        picture(
            plots.risk_violins({f"r = {reach}": ordered}),
            alt=f"Violin plots of identification risks with their means: {', '.join(ordered)}.",
            caption=(
                "Identification risks by record, bars at the means. D: confidential data; "
                + ("S: synthesizer without weights; " if "S" in ordered else "")
                + "the rest: this release."
            ),
        ),
        _risk_table(risk),
    ]
    for by, caption in (
        (risk.by_record["Data"], "ten riskiest records of the data"),
        (evidence.y, "ten largest records"),
    ):
        parts.append(_top(by, caption, public, evidence, risk))
    if "Unweighted" in risk.by_record:
        parts += _whack_a_mole(risk, _label(public))
    else:
        text.append(
            "Records whose risk rose through weighting cannot be told: no release without weights "
            "was given (--unweighted)."
        )
    return Section("risks", "Risks of single records", text, parts)


def _risk_table(risk: RiskEvidence) -> Table:
    rows = []
    for label, values in risk.by_record.items():
        found = risk_summary(values, policy=risk.settings.policy)
        mean = number(rarith.mean(values))
        rows.append((label, mean, *map(number, (found.maximum, found.iqr, found.share_above))))
    return Table(
        f"Identification risks in [0, 1]; larger = riskier. {_match_text(risk.match)}",
        ("", "mean", "largest", "IQR", f"share above {risk.settings.policy:g}"),
        rows,
    )


def _match_text(match: MatchRisk) -> str:
    """Match risks averaged over datasets; the false rate is averaged where datasets have one."""
    false = match.mean_false_rate
    said = "none (no single match)" if false is None else number(false)
    return (
        f"Averaged over the datasets: {number(match.expected.mean())} records are expected to be "
        f"matched, true match rate {number(match.true_rate.mean())}, false match rate {said} "
        "(larger = safer)."
    )


def _top(
    by: Any, caption: str, public: PublicPart, evidence: Evidence, risk: RiskEvidence
) -> Table:
    top = top_records(by, risk.by_record)
    return Table(
        f"The {caption}; row 1 is the first of the table",
        ("row", public.outcome, *(f"risk, {label}" for label in top.risks)),
        [
            (
                str(row + 1),
                number(evidence.y[row], 7),
                *(number(values[place]) for values in top.risks.values()),
            )
            for place, row in enumerate(top.records)
        ],
    )


def _whack_a_mole(risk: RiskEvidence, label: str) -> list[Picture | Table]:
    before, after = risk.by_record["Unweighted"], risk.by_record["Synthetic"]
    rise = risk.settings.rise
    found = whack_a_mole(before, after, rise=rise, policy=risk.settings.policy)
    return [
        picture(
            plots.whack_a_mole_scatter(before, {label: after}, rise=rise),
            alt="Scatter plot of risks in this release against those without weights.",
            caption=(
                f"Whack-a-mole: {int(found.rose.sum())} records, in orange, have a risk at least "
                f"{rise:g} higher than without weights."
            ),
        ),
        _ten_largest(
            "The ten records whose risk rose most through weighting",
            found.change,
            {"risk without weights": before, "risk here": after, "change": found.change},
        ),
    ]


def _utility_section(public: PublicPart, evidence: Evidence) -> Section:
    """The utility figures: how near the datasets come to the confidential table."""
    y, outcomes, name = evidence.y, public.outcomes, public.outcome
    label = _label(public)
    scores = evidence.scores
    table = evidence.table
    text = [
        f"Distances of distribution functions: U_m = {evidence.ecdf.maximum:.4f}, U_a = "
        f"{evidence.ecdf.average:.6f}, both in [0, 1]; smaller = more useful. pMSE is "
        f"{rarith.mean([s.ratio for s in scores]):.2f} times what chance gives; 1 = alike."
    ]
    parts: list[Picture | Table] = [
        picture(
            plots.densities({label: outcomes[0]}, y, name=name),
            alt=f"Densities of {name}: the confidential data and the first synthetic dataset.",
        ),
        picture(
            plots.utility({label: four_statistics(outcomes)}, four_statistics([y])[0]),
            alt=f"Violin plots of Q15, Q90, mean and median of {name} over the datasets.",
        ),
    ]
    if evidence.intervals:
        found = evidence.intervals.items()
        parts.append(
            picture(
                plots.intervals(
                    {stat: {label: _three(by["Synthetic"])} for stat, by in found},
                    {stat: _three(by["Data"]) for stat, by in found},
                ),
                alt="Bootstrap estimates and 95 % intervals, with lines for the data's own.",
            )
        )
    else:
        text.append("The table is too large for bootstrap intervals; they are left out.")
    rows = (
        ("data", table.original),
        ("synthetic, average", table.average),
        ("synthetic, lowest", table.lowest),
        ("synthetic, highest", table.highest),
    )
    parts.append(
        Table(
            f"Quantiles and mean of {name}, in its unit",
            ("", *table.names),
            [(label, *(number(value, 6) for value in row)) for label, row in rows],
        )
    )
    return Section("utility", "Utility", text, parts)


def _three(found: Any) -> tuple[float, float, float]:
    return found.estimate, found.lower, found.upper


def _label(public: PublicPart) -> str:
    """The papers' label of the fit that made the datasets."""
    label = mechanism_words(public.privacy)[0]
    return f"{label}_final" if public.privacy.get("reweighted") else label
