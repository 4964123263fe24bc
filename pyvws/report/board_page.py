"""The page for the disclosure board: exact figures, diagnostics, risks of single records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyvws.report.board_evidence import risk_section, utility_section
from pyvws.report.board_fits import bounds_section, fits_section, histogram_section
from pyvws.report.evidence import Evidence
from pyvws.report.output_folder import ConfidentialPart, PublicPart
from pyvws.report.page import Section, Table, number, render
from pyvws.report.public_page import files_table, problems, statement_facts
from pyvws.report.statement_fields import mechanism_words, shown
from pyvws.statement.schema import FIELDS, GUARANTEES

__all__ = ["board_page"]


def board_page(
    public: PublicPart, confidential: ConfidentialPart, evidence: Evidence | None
) -> str:
    """The page as HTML; `evidence` is what the confidential table adds, if it was given."""
    summary = confidential.summary
    exact = summary["privacy"]
    sections: list[Section] = (
        [histogram_section(confidential)]
        if public.histogram
        else [bounds_section(public, confidential, evidence), fits_section(confidential)]
    )
    if evidence is not None:
        if evidence.risk is not None:
            sections.append(risk_section(public, evidence, evidence.risk))
        sections.append(utility_section(public, evidence))
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
    """Settings as the run noted them, without what was not set."""
    rows = [(str(name), shown(value)) for name, value in entries.items() if value is not None]
    return Table(caption, ("name", "value"), rows)
