"""The sheets that the board decides by: what was checked, and figures of risk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from pyvws._base.deltas import delta_to_decide
from pyvws._base.phrase import counted
from pyvws.evaluation.attack_risk import AttackRisk
from pyvws.evaluation.column_checks import TROUBLES
from pyvws.evaluation.k_marginal import share_of_the_way, standing
from pyvws.evaluation.table_risk import TableRisk
from pyvws.report.codebook import some_of
from pyvws.report.evidence import Evidence
from pyvws.report.output_folder import PublicPart
from pyvws.report.page import formatted
from pyvws.report.public_page import problems, tone_of
from pyvws.sheet import Sheet, number
from pyvws.statement.words import GUARANTEES, caveat_keys, of_single_records

_MISFITS: Final = 5  # So many misfits are on the first sheets; the appendix has all.
_LOST, _PAID, _PROPOSED = "counts-lost", "paid-schema", "proposed"  # Keys of caveats.
_TONES: Final = ("bad", "warn", "good")  # Fails first.
_RISKS: Final = {
    "replicated_uniques": "lone records, by their keys, that one synthetic record has again",
    "copies_of_uniques": "synthetic records that equal a lone record in all columns",
    "closest": "how often a synthetic record is nearer to a record than other records are",
}
"""What each risk by keys is a share of."""


class BoardCheck(NamedTuple):
    """What was checked, and whether it passes, fails or is for the board to judge."""

    tone: str
    text: str


def checks(
    public: PublicPart, summary: Mapping[str, Any], evidence: Evidence | None
) -> list[BoardCheck]:
    """What was checked and what the board must judge, fails first."""
    rows = public.files[0].rows if public.files else 0
    settings = summary.get("settings", {})  # A clamp's delta is a setting.
    parts = (
        _of_claim(summary, rows),
        _of_schema(summary),
        _of_delta(summary["privacy"].get("delta") or settings.get("delta") or 0.0, rows),
        _of_cap(summary),
        _of_audit(public, summary),
        _of_fits(public, summary),
        _of_data(summary, evidence),
    )
    every = [check for part in parts for check in part]
    return sorted(every, key=lambda check: _TONES.index(check.tone))


def _of_delta(delta: float, rows: int) -> Iterator[BoardCheck]:
    """Whether a delta is small enough; `rows` is the number of records as it is released."""
    tenth = f"a tenth of 1 over their number, {1 / (10 * max(rows, 1)):.2g}"
    if delta_to_decide(delta, rows):
        yield BoardCheck(
            "warn",
            f"Whether δ = {delta:g} is small enough for {rows:,} rows. Above {tenth}, the "
            "guarantee promises a single record little.",
        )
    elif delta:
        yield BoardCheck("good", f"δ = {delta:g} is small for {rows:,} rows: at most {tenth}.")


def _of_cap(summary: Mapping[str, Any]) -> Iterator[BoardCheck]:
    """How many records of a unit count, and how many records that left out."""
    exact = summary["privacy"]
    if "unit_column" not in exact or "cap" not in exact.get("counts", {}):
        return
    lost = summary.get("records_in_no_cell", {}).get("records", 0)
    share = f", {lost / summary['records']:.1%} of them" if lost else ""
    yield BoardCheck(
        "warn" if lost else "good",
        f"At most {counted(exact['counts']['cap'], 'record')} of each {exact['unit_column']} were "
        f"counted. That left out {counted(lost, 'record')}{share}.",
    )


def _of_audit(public: PublicPart, summary: Mapping[str, Any]) -> Iterator[BoardCheck]:
    """What an audit of this run found beside what the run states, if one was made."""
    if not public.audit or "audit" not in summary:
        return
    found = summary["audit"]
    if "canaries" in public.audit:
        fails = found["verdict"] != "as stated"
        told = f"the noise is {found['verdict']}"
    else:
        largest, stated = found["largest"], found["stated"]
        fails = isinstance(largest, float) and largest > stated
        told = f"the largest loss is {formatted(largest, number)}, and {number(stated)} is stated"
    yield BoardCheck(
        "bad" if fails else "good",
        f"An audit was made: {told}. Audits find faults; a small figure proves nothing.",
    )


def _of_claim(summary: Mapping[str, Any], rows: int) -> Iterator[BoardCheck]:
    exact = summary["privacy"]
    title, meaning = GUARANTEES[exact["guarantee"]]
    yield BoardCheck(tone_of(exact, rows), f"The guarantee is: {title}. {meaning}")
    claimed = exact.get("certified") or exact
    window = exact.get("epsilon_of_window")
    held = "" if window is None else f" With weights held fixed a dataset costs {number(window)}."
    yield BoardCheck(
        "warn",
        f"Whether ε = {number(claimed['epsilon_total'])} for the whole release is acceptable, "
        f"under {claimed['neighbours']} neighbours.{held}",
    )
    if unchanged := exact["columns_released_unchanged"]:
        listed = ", ".join(unchanged)
        yield BoardCheck("warn", f"Columns that leave unchanged must be public: {listed}.")
    if lost := sum(isinstance(entry["epsilon"], str) for entry in exact["ledger"]):
        yield BoardCheck(
            "warn",
            f"The ledger lists {counted(lost, 'use')} of the data without a cost in the total.",
        )


def _of_schema(summary: Mapping[str, Any]) -> Iterator[BoardCheck]:
    """Where the schema comes from; nothing of a run without one."""
    exact = summary["privacy"]
    if signature := summary.get("signed_proposal"):
        by, entries = signature["by"], signature["entries"]
        signer = by if isinstance(by, str) else "Somebody who gave no name"
        read = "Entries" if entries is None else f"{entries} of the entries"
        yield BoardCheck(
            "warn",
            "Whether every entry of the schema is known without the records. "
            f"{signer} signed that it is. {read} came from the records, and no ε covers what these "
            "reveal.",
        )
    elif _PAID in caveat_keys(exact):
        yield BoardCheck(
            "good", "The schema was found in the records under noise, whose ε the total includes."
        )
    elif _PROPOSED in caveat_keys(exact):
        yield BoardCheck("warn", "The schema was proposed from the records, and nobody signed it.")
    elif "schema" in exact.get("relies_on", {}).get("public_settings", {}):
        yield BoardCheck(
            "warn",
            "Whether every entry of the schema is known without the records. Whoever wrote it says "
            "so.",
        )


def _of_fits(public: PublicPart, summary: Mapping[str, Any]) -> Iterator[BoardCheck]:
    exact = summary["privacy"]
    short = problems(exact)
    yield from (BoardCheck("warn" if key == _LOST else "bad", text) for key, text in short.items())
    if public.histogram:
        return
    if not short:
        yield BoardCheck(
            "good", "The chains pass their diagnostics: R-hat, sample sizes, divergences."
        )
    bound, growth = exact.get("lipschitz_bound"), exact.get("bound_growth_per_doubling")
    if bound is not None and growth is not None:
        share = growth / bound
        yield BoardCheck(
            "good" if share <= 0.05 else "warn",
            f"With twice the draws the bound would rise by about {share:.1%}.",
        )
    aimed = "epsilon_of_window" if exact.get("accounting") == "window" else "epsilon_per_dataset"
    target, reached = exact["epsilon_target"], exact[aimed]
    if target is not None and reached is not None:
        yield BoardCheck(
            "good" if reached <= target * (1 + 1e-9) else "bad",
            f"The target was ε = {number(target)}; the datasets have ε = {number(reached)}.",
        )


def _beside_independent(joint: Mapping[str, Any]) -> BoardCheck:
    """Where the datasets stand beside independent columns, and what would help."""
    scores = joint["score"], joint["independent"], joint["bootstrap"]
    where, share = standing(*scores, joint.get("margin", 0.0)), share_of_the_way(*scores)
    way = f"They go {max(share, 0.0):.0%} of the way from these to a second sample."
    if where == "untied":
        return BoardCheck(
            "good",
            "The datasets are as near to the data as a second sample. The data's columns are "
            "hardly tied: independent columns are as near.",
        )
    if where == "better":
        return BoardCheck("good", f"The datasets are better than independent columns. {way}")
    words = [
        "The datasets are worse than independent columns."
        if where == "worse"
        else "The datasets are hardly better than independent columns, or no better.",
        *([way] if where != "worse" and share == share else []),
        *filter(None, [joint.get("help")]),  # Earlier runs have none.
    ]
    return BoardCheck("bad" if where == "worse" else "warn", " ".join(words))


def _of_data(summary: Mapping[str, Any], evidence: Evidence | None) -> Iterator[BoardCheck]:
    column_checks = summary.get("column_checks", {})
    if joint := column_checks.get("k_marginal"):
        yield _beside_independent(joint)
    misfits = [
        name
        for name, rows in column_checks.get("columns", {}).items()
        if any(row["trouble"] for row in rows)
    ]
    if misfits:
        yield BoardCheck(
            "warn",
            "Whether it matters that synthetic values differ from the data in: "
            f"{some_of(misfits, _MISFITS)}. The table below shows how.",
        )
    elif column_checks:
        yield BoardCheck(
            "good",
            "No synthetic column differs from the data by more than chance, noise and the "
            "tolerances of the check.",
        )
    if evidence is None:
        yield BoardCheck(
            "warn",
            "Risks of single records and utility were not computed. Give the confidential table by "
            "--original.",
        )
        return
    yield {
        True: BoardCheck("good", "The table compared with is the file of the run."),
        False: BoardCheck(
            "warn", "The table compared with is not the very file of the run: digests differ."
        ),
        None: BoardCheck("warn", "The run noted no file, so the table compared with may differ."),
    }[evidence.same_file]
    if evidence.by_keys is None:
        yield BoardCheck(
            "warn",
            "Risks by what an intruder knows were not measured, since no schema proposes columns, "
            "or the tables are large. Name the columns by --keys.",
        )
    else:
        yield from _of_risks(evidence.by_keys)
    if evidence.attacks is not None:
        yield _of_attacks(evidence.attacks)
    if evidence.risk is not None:
        policy = evidence.risk.settings.policy
        above = int((evidence.risk.by_record["Synthetic"] > policy).sum())
        yield BoardCheck(
            "bad" if above else "good",
            f"{counted(above, 'record')} {'has' if above == 1 else 'have'} an identification risk "
            f"above {policy:g} in the datasets.",
        )


def _of_risks(by_keys: TableRisk) -> Iterator[BoardCheck]:
    """Risks beside the data's own; copies of lone records beside what chance makes of them."""
    if by_keys.known.words:
        yield BoardCheck(
            "warn", f"Whether an intruder knows no more than the keys. {by_keys.known.words}"
        )
    for score in by_keys.scores:
        if score.chance is None:
            continue
        more = score.exceeds_chance
        yield BoardCheck(
            "bad" if more else "good",
            f"Lone records: {number(score.value)} of the synthetic records equal one in all "
            f"columns. That is {'more' if more else 'no more'} than chance explains: of records "
            f"drawn independently a share of {number(score.chance)} would.",
        )
    if worse := [
        _risk_in_words(score.name)
        for score in by_keys.scores
        if score.chance is None and score.value > score.without_synthesis
    ]:
        yield BoardCheck(
            "bad", f"These risks exceed those of the data as they are: {', '.join(worse)}."
        )


def _of_attacks(attacks: AttackRisk) -> BoardCheck:
    """The attacks that find more of the records than of the control group, beyond chance."""
    worse = [f"{own.name} {number(own.risk, 2)}" for own in attacks.scores if own.lower > 0]
    found = (
        f"Attacks that find more of the records than of the control group, by their risk: "
        f"{', '.join(worse)}. By chance about one in 40 would."
        if worse
        else "No attack finds more of the records than of the control group beyond chance."
    )
    caution = "Attacks find faults; a small figure proves nothing."
    return BoardCheck("warn" if worse else "good", f"{found} {caution}")


def at_a_glance(summary: Mapping[str, Any], evidence: Evidence | None) -> list[Sheet]:
    """Risks and misfits, each figure beside what it would be without this release."""
    column_checks = summary.get("column_checks", {})
    of_records = of_single_records(summary["privacy"]["unit_of_privacy"])
    return [
        table
        for table in (
            _risks_by_keys(evidence, of_records),
            _risks_of_records(evidence, of_records),
            _misfits(column_checks.get("columns", {})),
        )
        if table.rows
    ]


def _risks_by_keys(evidence: Evidence | None, of_records: str) -> Sheet:
    scores = evidence.by_keys.scores if evidence and evidence.by_keys else ()
    rows = [
        (_risk_in_words(score.name), score.value, score.without_synthesis, score.independent)
        for score in scores
    ]
    return Sheet(
        "Risks by keys: shares from 0 to 1; larger = riskier. None bounds what an intruder learns."
        f" {of_records}".rstrip(),
        ("risk", "release", "data as they are", "independent columns"),
        rows,
    )


def _risk_in_words(name: str) -> str:
    """A risk by keys with what it is a share of."""
    disco, _, target = name.partition(" ")
    if disco == "disco":
        return f"records whose {target} the keys give away, and rightly ({name})"
    return f"{_RISKS[name]} ({name})"


def _risks_of_records(evidence: Evidence | None, of_records: str) -> Sheet:
    if evidence is None or evidence.risk is None:
        return Sheet("", (), [])
    policy, own = evidence.risk.settings.policy, evidence.risk.summaries
    after, before = own["Synthetic"], own["Data"]
    return Sheet(
        f"Identification risks by {evidence.risk.name}: larger = riskier. {of_records}".rstrip(
            ". "
        ),
        ("risk", "release", "data as they are"),
        [
            ("largest of a record", after.maximum, before.maximum),
            (f"share of records above {policy:g}", after.share_above, before.share_above),
        ],
    )


def _misfits(columns: Mapping[str, Any]) -> Sheet:
    rows = [
        (name, row["name"], row["data"], row["mean"], TROUBLES[row["trouble"]])
        for name, statistics in columns.items()
        for row in statistics
        if row["trouble"]
    ]
    more = f" The appendix has all {len(rows)}." if len(rows) > _MISFITS else ""
    return Sheet(
        f"Columns that differ from their data.{more}",
        ("column", "statistic", "data", "release", "what differs"),
        rows[:_MISFITS],
    )
