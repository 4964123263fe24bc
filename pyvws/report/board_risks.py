"""The board's section on risks: of single records, of matches, and of the largest values."""

from __future__ import annotations

from pyvws import plots
from pyvws._base.checks import Floats
from pyvws.evaluation.whack_a_mole import top_records, whack_a_mole
from pyvws.report.evidence import RiskEvidence
from pyvws.report.output_folder import PublicPart
from pyvws.report.page import PagePicture, Section, fit_label, picture, ten_largest
from pyvws.sheet.sheet import Sheet, number
from pyvws.statement.words import of_single_records


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
        *risk.sheets,
    ]
    for by, caption in (
        (risk.by_record["Data"], "ten riskiest records of the data"),
        (risk.y, "ten largest records"),
    ):
        parts.append(_top(by, caption, risk))
    if "Unweighted" in risk.by_record:
        parts += _whack_a_mole(risk, fit_label(public.privacy))
    else:
        text.append(
            "Records whose risk rose through weighting cannot be told: no release without weights "
            "was given (--unweighted)."
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
