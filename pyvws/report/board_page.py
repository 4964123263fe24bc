"""The page for the disclosure board: exact figures, diagnostics, risks of single records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from pyvws.report.board_evidence import risk_section, utility_section
from pyvws.report.board_fits import bounds_section, fits_section, histogram_section
from pyvws.report.evidence import Evidence
from pyvws.report.output_folder import ConfidentialPart, PublicPart
from pyvws.report.page import Section, Table, number, render
from pyvws.report.public_page import problems, statement_facts
from pyvws.report.statement_fields import mechanism_words, shown
from pyvws.statement.schema import FIELDS, GUARANTEES

__all__ = ["board_page"]

_SETTLED = 0.05  # Growth of the bound per doubling of draws, as a share of it, that is small.


@dataclass(frozen=True, slots=True)
class _Check:
    tone: str
    text: str


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
    return render(
        "board.html.j2",
        version=version("pyvws"),
        summary=_summary(public, summary),
        facts_shown=statement_facts(exact | _short(exact), public.files[0].rows),
        checks=_checks(public, exact, evidence),
        statement=_statement(exact, public.privacy),
        caveats=exact["caveats"],
        trust=exact["trust_assumptions"],
        ledger=Table(
            "Exact costs; larger = less private. “Not accounted”: known, but not in the total.",
            ("use", "ε"),
            [(e["use"], _exactly(e["epsilon"])) for e in exact["ledger"]],
        ),
        sections=sections,
        settings=_pairs("Settings", {**summary["settings"], "seed": summary["seed"]}),
        versions=_pairs("Versions", summary["versions"]),
        files=Table(
            "Files of the release",
            ("file", "rows", "bytes", "SHA-256"),
            [(f.path.name, str(f.rows), str(f.size), f.sha256) for f in public.files],
        ),
    )


def _summary(public: PublicPart, summary: Mapping[str, Any]) -> str:
    mechanism = mechanism_words(public.privacy)[0]
    fitted = "" if public.histogram else f", model {public.privacy['model']}"
    return (
        f"{len(public.files)} synthetic datasets of {public.outcome!r} from {summary['records']} "
        f"confidential records, by the mechanism {mechanism}{fitted}."
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


def _checks(
    public: PublicPart, exact: Mapping[str, Any], evidence: Evidence | None
) -> list[_Check]:
    title, meaning = GUARANTEES[exact["guarantee"]]
    tone = {"none": "bad", "asymptotic-dp": "warn"}.get(exact["guarantee"], "good")
    made = [_Check(tone, f"The guarantee is: {title}. {meaning}")]
    claimed = exact.get("certified") or exact
    total, neighbours = number(claimed["epsilon_total"], 6), claimed["neighbours"]
    text = (
        f"Whether ε = {total} for the whole release, under {neighbours} neighbours, is acceptable."
    )
    made.append(_Check("warn", text))
    unchanged = exact["columns_released_unchanged"]
    if unchanged:
        text = f"Released as they are, so they must be public: {', '.join(unchanged)}."
        made.append(_Check("warn", text))
    lost = [entry["use"] for entry in exact["ledger"] if isinstance(entry["epsilon"], str)]
    if lost:
        text = f"{len(lost)} uses of the data are known but not accounted; the ledger lists them."
        made.append(_Check("warn", text))
    if not public.histogram:
        made += _fit_checks(exact)
    return made + _evidence_checks(evidence)


def _fit_checks(exact: Mapping[str, Any]) -> list[_Check]:
    made = [_Check("bad", said) for said in problems(exact)]
    if not made:
        made.append(_Check("good", "Convergence: R-hat, effective sample sizes and divergences."))
    bound, growth = exact["lipschitz_bound"], exact["bound_growth_per_doubling"]
    if bound is not None and growth is not None:
        share = growth / bound
        text = f"With twice the draws the bound would rise by about {share:.1%}."
        made.append(_Check("good" if share <= _SETTLED else "warn", text))
    target, reached = exact["epsilon_target"], exact["epsilon_per_dataset"]
    if target is not None and reached is not None:
        held = reached <= target * (1 + 1e-9)
        text = f"The target was ε = {number(target)}; the datasets have ε = {number(reached)}."
        made.append(_Check("good" if held else "bad", text))
    return made


def _evidence_checks(evidence: Evidence | None) -> list[_Check]:
    if evidence is None:
        return [
            _Check(
                "warn",
                "Risks of single records and utility were not computed: the confidential table was "
                "not given (--original).",
            )
        ]
    said = {
        True: ("good", "The table compared with is the file of the run."),
        False: ("warn", "The table compared with is not the very file of the run: digests differ."),
        None: ("warn", "Whether the table compared with is that of the run: no file was noted."),
    }
    made = [_Check(*said[evidence.same_file])]
    if evidence.risk is not None:
        policy = evidence.risk.settings.policy
        above = int((evidence.risk.by_record["Synthetic"] > policy).sum())
        text = f"{above} records have an identification risk above {policy:g} in the datasets."
        made.append(_Check("bad" if above else "good", text))
    return made
