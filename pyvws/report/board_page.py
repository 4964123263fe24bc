"""The page for the disclosure board: exact figures, diagnostics, risks of single records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any, Final

from pyvws import plots
from pyvws._base.phrase import counted
from pyvws.evaluation.column_checks import TROUBLES
from pyvws.report.board_decision import at_a_glance, checks
from pyvws.report.board_sections import bounds_section, risk_section, utility_section
from pyvws.report.deciding_pictures import KEY, column_pictures, gaps, pictures_of_release
from pyvws.report.epsilon_in_words import epsilon_in_words
from pyvws.report.evidence import Evidence
from pyvws.report.margins import DRAWN
from pyvws.report.output_folder import ConfidentialPart, PublicPart, records_counted
from pyvws.report.page import (
    Heading,
    PagePicture,
    Section,
    formatted,
    mechanism_words,
    picture,
    render,
)
from pyvws.report.public_page import costs, files_table, not_covered, relied_on, statement_facts
from pyvws.sheet import Sheet, number
from pyvws.statement.words import FIELDS, parted_caveats

_PARAMETERS: Final = 12
_COLUMNS: Final = 40
_ON_SHEET: Final = 12
"""So many small pictures are on the first sheet, and the rest in the appendix."""
_STATISTICS = ("column", "statistic", "data", "synthetic, mean", "lowest", "highest")


def board_page(
    public: PublicPart,
    confidential: ConfidentialPart,
    evidence: Evidence | None,
    heading: Heading | None = None,
) -> str:
    """The page as HTML; `evidence` has the figures of the confidential table, if there is one.

    Two printed sheets to decide by come first, and the rest is their appendix.
    """
    summary = confidential.summary
    exact = summary["privacy"]
    joint = summary.get("column_checks", {}).get("k_marginal")
    small = pictures_of_release(exact, public.cells, joint)
    small += [] if evidence is None else column_pictures(gaps(evidence))
    sections: list[Section] = (
        [_counts_section(public, confidential)]
        if public.counts
        else [_histogram_section(confidential)]
        if public.histogram
        else [bounds_section(public, confidential, evidence), _fits_section(confidential)]
    )
    if "column_checks" in summary:
        sections.append(_columns_section(summary["column_checks"]))
    if evidence is not None:
        if evidence.by_keys is not None:
            title, by_key = "Which column makes the risk", evidence.by_keys.by_key
            sections.append(Section("keys", title, [], [by_key]))
        if evidence.attacks is not None:
            sections.append(Section("attacks", "Attacks", [], [evidence.attacks.sheet]))
        if evidence.risk is not None:
            sections.append(risk_section(public, evidence.risk))
        sections.append(utility_section(public, evidence, small[_ON_SHEET:]))
    words, in_words = epsilon_in_words(exact)
    return render(
        "board.html.j2",
        public=public,
        exact=exact,
        parted=parted_caveats(exact),
        summary=summary,
        heading=heading or Heading(),
        mechanism=mechanism_words(exact)[0],
        words=words,
        in_words=in_words,
        checks=checks(public, summary, evidence),
        small_pictures=small[:_ON_SHEET],
        key="" if evidence is None else KEY,
        glance=at_a_glance(summary, evidence),
        facts_shown=statement_facts(exact, public.rows, _in_four),
        statement=_statement(exact, public.privacy),
        costs=costs(exact, _in_four),
        relied_on=relied_on(exact),
        not_covered=not_covered(exact),
        ledger=Sheet(
            f"Costs of {exact['unit_of_privacy']}, {exact['neighbours']} neighbours; larger = "
            "less private. “Not accounted”: known, but not in the total.",
            ("use", "ε"),
            [(e["use"], _in_four(e["epsilon"])) for e in exact["ledger"]],
        ),
        sections=sections,
        settings=_pairs("Settings", {**summary["settings"], "seed": summary["seed"]}),
        versions=_pairs("Versions", summary["versions"]),
        files=files_table("Files of the release", public),
    )


def _in_four(value: object) -> str:
    return formatted(value, number)


def _statement(exact: Mapping[str, Any], released: Mapping[str, Any]) -> Sheet:
    rows = [
        (name, _in_four(exact[name]), formatted(released[name]), field.meaning, field.direction)
        for name, field in FIELDS.items()
        if name in exact
    ]
    return Sheet(
        "Figures in four digits, and as released: rounded up to one decimal. summary.json has all "
        "digits.",
        ("number", "figure", "released", "meaning", "direction"),
        rows,
    )


def _pairs(caption: str, entries: Mapping[str, Any]) -> Sheet:
    """A table of settings as the run noted them, without settings that nobody set."""
    rows = [(str(name), formatted(value)) for name, value in entries.items() if value is not None]
    return Sheet(caption, ("name", "value"), rows)


def _fits_section(confidential: ConfidentialPart) -> Section:
    """Diagnostics of every fit, the search, and posterior densities by chain."""
    summary = confidential.summary
    approximated = any("khat" in fit["diagnostics"] for fit in summary["fits"])
    draws = confidential.posterior
    names = [
        name
        for name in draws.columns
        if name not in ("chain", "draw")
        and draws[name].is_finite().all()
        and draws[name].n_unique() > 1
    ]
    parts: list[PagePicture | Sheet] = [
        _fits_table(summary["fits"], approximated=approximated),
        _search_table(summary["search"]),
    ]
    text = [
        "Chains agree if R-hat is at most 1.01. The bound has enough independent draws if "
        "effective sample sizes are at least 400. Divergences should be 0."
    ]
    if approximated:
        text.append(
            "khat at most 0.7: the normal approximation is good enough for its importance weights, "
            "whose effective sample size stands here. Such a fit has no chains, so no R-hat."
        )
    outside = summary.get("share_outside_window")
    if outside:
        weighed = "units" if "units" in summary else "records"
        text.append(
            f"The clamp cut the terms of a share of {number(outside['mean'], 3)} of the {weighed}, "
            f"by draw from {number(outside['least'], 3)} to {number(outside['most'], 3)}. "
            f"These {weighed} do not move the fit."
        )
    columns = summary.get("design_columns", [])
    by_column = columns if isinstance(columns, dict) else {"": columns}
    for name, terms in islice(by_column.items(), DRAWN):
        beta = f"{name}.beta" if name else "beta"
        slopes = [name for name in draws.columns if name.startswith(f"{beta}[")]
        if slopes and len(slopes) == len(terms):
            more = " ..." if len(terms) > _COLUMNS else ""
            shown_terms = ", ".join(terms[:_COLUMNS])
            text.append(f"{beta}[1] to {beta}[{len(slopes)}] belong to: {shown_terms}{more}.")
    if names:
        drawn = _in_turn(names)[:_PARAMETERS]
        figure = plots.parameter_densities(
            {name: draws[name].to_numpy() for name in drawn}, draws["chain"].to_numpy()
        )
        alt = f"Posterior densities by chain of {', '.join(drawn)}; chains that agree overlap."
        parts.append(picture(figure, alt=alt))
        if len(names) > len(drawn):
            text.append(f"{len(drawn)} of {len(names)} parameters are drawn.")
    return Section("fits", "Fits and diagnostics", text, parts)


def _fits_table(fits: Sequence[Mapping[str, Any]], *, approximated: bool) -> Sheet:
    measures = ["rhat_max", "ess_bulk_min", "ess_tail_min", "divergences"]
    if approximated:
        measures.append("khat")
    return Sheet(
        "Every fit to the confidential data, in order",
        (
            *("fit", "Delta (nats)", "ε", "mean weight", "R-hat", "bulk ESS", "tail ESS"),
            *("divergences", *(["khat"] if approximated else []), "seconds"),
        ),
        [
            (
                fit["label"],
                *(number(fit[name], 6) for name in ("Delta", "epsilon", "mean_weight")),
                *(number(fit["diagnostics"].get(name)) for name in measures),
                number(fit["seconds"], 3),
            )
            for fit in fits
        ],
    )


def _search_table(search: Sequence[Mapping[str, Any]]) -> Sheet:
    return Sheet(
        "The search for a tuning constant, try by try",
        ("fit", "constant", "value", "bound reached", "bound aimed at"),
        [
            (
                attempt["label"],
                attempt["symbol"],
                *(attempt[n] for n in ("value", "reached", "target")),
            )
            for attempt in search
        ],
    )


def _in_turn(names: Sequence[str]) -> list[str]:
    """Parameters of a table's columns, taken from each column in turn."""
    of_column: dict[str, list[str]] = {}
    for name in names:
        of_column.setdefault(name.rpartition(".")[0], []).append(name)
    return [name for turn in zip_longest(*of_column.values()) for name in turn if name is not None]


def _counts_section(public: PublicPart, confidential: ConfidentialPart) -> Section:
    """How the imputed records fit the noisy counts, and the records that no set counts."""
    imputed = confidential.summary["imputation"]
    left_out = confidential.summary["records_in_no_cell"]
    capped = records_counted(public.privacy)
    return Section(
        "counts",
        "Noisy counts and imputed records",
        [
            *([f"Counts and datasets are of {capped}, not of the whole table."] if capped else []),
            f"Mean squared misfit of the imputed counts, in noise variances: "
            f"{number(imputed['misfit'])}. It is near 1 if the model is large enough. If it is "
            "above 1.1, take more classes.",
            *_of_reference(public.privacy["counts"], confidential.summary),
            *_of_totals(public.privacy["counts"], confidential.summary),
        ],
        [
            Sheet(
                "What was counted",
                ("name", "value"),
                [
                    (name, formatted(value))
                    for name, value in public.privacy["counts"].items()
                    if name not in ("reference", "totals")
                ],
            ),
            Sheet(
                "Records that a set does not count: unknown values, or broken rules",
                ("set", "records"),
                [*left_out.items()],
            ),
        ],
    )


def _of_reference(counts: Mapping[str, Any], summary: Mapping[str, Any]) -> list[str]:
    """What a reference explains, where noisy counts contradict it, and what it shares."""
    if "reference" not in counts:
        return []
    own, overlap = counts["reference"], summary["reference"]
    worst = ", ".join(own["most_contradicted"])
    lacks = ", ".join([*own["lacks"], *(f"{n} in {k}" for n, k in own["unknown"].items())])
    lines = [
        f"The reference {own['file']} of {own['records']:,} records explains "
        f"{own['explained']:.0%} of the dependence of pairs, by the noisy counts. It counts as "
        f"{own['kappa']:.2f} records for each record made.",
        f"The noisy counts contradict it on {counted(own['contradicted'], 'pair')}"
        + (f", most on {worst}." if worst else "."),
    ]
    if lacks:
        lines.append(f"The reference lacks columns, or has values that are unknown: {lacks}.")
    if "found" in overlap:
        lines.append(
            f"{overlap['found']:.0%} of the records of the table equal a record of the reference, "
            f"and {overlap['by_chance']:.0%} are expected of as many other records."
        )
    return [*lines, *filter(None, [overlap["warning"]])]


def _of_totals(counts: Mapping[str, Any], summary: Mapping[str, Any]) -> list[str]:
    """How far datasets and noisy counts are from published totals, and whether they are a copy."""
    if "totals" not in counts:
        return []
    own, noise = counts["totals"], counts["totals"]["noise_apart"]
    lines = [f"Datasets meet the totals of {own['file']} within {number(own['rows_apart'])} rows."]
    if noise is not None:
        lines.append(f"Noisy sums are up to {number(noise)} deviations of their noise off them.")
    return [*lines, *filter(None, [summary["totals"]["warning"]])]


def _histogram_section(confidential: ConfidentialPart) -> Section:
    bins = confidential.posterior
    return Section(
        "histogram",
        "Noisy histogram",
        ["These are counts after noise. No value is drawn from bins with a count below 0."],
        [Sheet("Bins", ("from", "to", "noisy count", "probability"), list(bins.iter_rows()))],
    )


def _columns_section(checks: Mapping[str, Any]) -> Section:
    """The part `column_checks` of summary.json: what differs, then all statistics."""
    columns = checks["columns"]
    worst = sorted(columns, key=lambda name: -sum(bool(row["trouble"]) for row in columns[name]))
    entries = [(name, row) for name in worst[:_COLUMNS] for row in columns[name]]
    bad = [(name, row) for name in worst for row in columns[name] if row["trouble"]]
    more = len(columns) - _COLUMNS
    rest = f"; summary.json has {more} columns more" if more > 0 else ""
    words = (
        "Statistics that differ from the data by more than chance and a tolerance are listed first."
        if bad
        else "No synthetic column differs from its data by more than chance and a tolerance."
    )
    text = [
        f"{words} Means, lowest and highest figures are over the datasets, with "
        f"{checks['rows_checked']} rows of each. If a synthetic range does not include the data's "
        "figure, the model cannot make it."
    ]
    return Section(
        "columns",
        "Columns beside their data",
        text,
        [
            Sheet(
                "What to do about each column",
                ("column", "what is wrong, and what to do"),
                [*checks.get("advice", {}).items()],  # Earlier runs have none.
            ),
            Sheet(
                "Where a synthetic column differs from its data",
                (*_STATISTICS, "what differs"),
                [(*_statistic(name, row), TROUBLES[row["trouble"]]) for name, row in bad],
                digits=6,
            ),
            Sheet(
                "Predictive check: statistics of each column, in its unit or as shares in [0, 1]"
                f"{rest}",
                _STATISTICS,
                [_statistic(name, row) for name, row in entries],
                digits=6,
            ),
        ],
    )


def _statistic(name: str, row: Mapping[str, Any]) -> tuple[Any, ...]:
    return name, row["name"], *(row[part] for part in ("data", "mean", "lowest", "highest"))
