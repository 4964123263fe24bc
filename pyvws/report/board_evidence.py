"""Parts of the board's page that need the confidential table: risks of records, and utility."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyvws.evaluation.match_risk import MatchRisk
from pyvws.evaluation.whack_a_mole import risk_summary, top_records, whack_a_mole
from pyvws.r_numbers import rarith
from pyvws.report import density_plots, risk_plots, utility_plots
from pyvws.report.evidence import Evidence, RiskEvidence
from pyvws.report.output_folder import PublicPart
from pyvws.report.page import Picture, Section, Table, number, picture
from pyvws.report.public_page import four_statistics
from pyvws.report.statement_fields import mechanism_words

__all__ = ["risk_section", "utility_section"]


def risk_section(public: PublicPart, evidence: Evidence, risk: RiskEvidence) -> Section:
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
            risk_plots.risk_violins({f"r = {reach}": ordered}),
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
    """Match risks averaged over the datasets; the false rate over those that have one."""
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
    order = np.argsort(-found.change, kind="stable")[:10]
    return [
        picture(
            risk_plots.whack_a_mole_scatter(before, {label: after}, rise=rise),
            alt="Scatter plot of risks in this release against those without weights.",
            caption=(
                f"Whack-a-mole: {int(found.rose.sum())} records, in orange, have a risk at least "
                f"{rise:g} higher than without weights."
            ),
        ),
        Table(
            "The ten records whose risk rose most through weighting",
            ("row", "risk without weights", "risk here", "change"),
            [
                (str(row + 1), *map(number, (before[row], after[row], found.change[row])))
                for row in order
            ],
        ),
    ]


def utility_section(public: PublicPart, evidence: Evidence) -> Section:
    """How near the datasets come to the confidential table."""
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
            density_plots.densities({label: outcomes[0]}, y, name=name),
            alt=f"Densities of {name}: the confidential data and the first synthetic dataset.",
        ),
        picture(
            utility_plots.utility({label: four_statistics(outcomes)}, four_statistics([y])[0]),
            alt=f"Violin plots of Q15, Q90, mean and median of {name} over the datasets.",
        ),
    ]
    if evidence.intervals:
        found = evidence.intervals.items()
        parts.append(
            picture(
                utility_plots.intervals(
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
