"""The public page: the package makes it from `release/` alone, so it shows nothing confidential."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from pyvws._base.deltas import delta_to_decide
from pyvws._base.phrase import counted
from pyvws._base.resources import REFERENCES
from pyvws.evaluation.combining_rules import noise_of_records, rule_named, rule_of
from pyvws.evaluation.one_column import LevelMargin
from pyvws.plots import association_matrices
from pyvws.report.codebook import codebook, files_of_counts, rests_on, some_of
from pyvws.report.deciding_pictures import column_pictures, pictures_of_release
from pyvws.report.epsilon_in_words import epsilon_in_words
from pyvws.report.margins import MEASURES, NumberMargin, margin_of, pairs_of
from pyvws.report.output_folder import PublicPart, records_counted
from pyvws.report.page import Heading, PagePicture, formatted, mechanism_words, picture, render
from pyvws.report.reading_programs import programs, reading
from pyvws.sheet import Sheet
from pyvws.statement.words import (
    FIELDS,
    GUARANTEES,
    NOT_COVERED,
    SCHEMA,
    caveat_keys,
    claim_of,
    need_words,
    parted_caveats,
)

_SHORT_OF: Final = ("problems", "problems-of-draws", "counts-lost")


def statement_facts(
    privacy: Mapping[str, Any], rows: str, formatted: Callable[[Any], str] = formatted
) -> list[tuple[str, str, str]]:
    """The figures at the top of a page: name, value, note. `formatted` writes a figure.

    Each epsilon has its neighbours beside it, since a strict claim may be for others.
    """
    neighbours = privacy["neighbours"]
    strict = []
    if certified := privacy.get("certified"):
        dataset, total = (
            formatted(certified[f"epsilon_{count}"]) for count in ("per_dataset", "total")
        )
        note = f"{certified['neighbours']} neighbours, {dataset} a dataset"
        strict.append(("Certified ε of all datasets", total, note))
    window = []
    if "epsilon_of_window" in privacy:
        replaced = formatted(privacy["epsilon_by_neighbours"]["replace-one"]["of_window"])
        note = f"weights held fixed; {replaced} where a record is replaced"
        window.append(("ε of the window, a dataset", formatted(privacy["epsilon_of_window"]), note))
    both, claimed = privacy.get("epsilon_by_neighbours", {}), (certified or privacy)["neighbours"]
    together = [
        (f"ε of all datasets, δ = {delta}", formatted(total), f"{claimed} neighbours")
        for delta, total in both.get(claimed, {}).get("total_by_delta", {}).items()
    ][:1]
    own = f"{neighbours} neighbours" + (", not certified" if claimed != neighbours else "")
    draws = privacy["draws_released"]
    shared = "" if draws == privacy["datasets"] else f", from {counted(draws, 'draw')}"
    return [
        *strict,
        ("ε of a dataset", formatted(privacy["epsilon_per_dataset"]), own),
        *window,
        ("ε of all datasets", formatted(privacy["epsilon_total"]), own),
        *together,
        ("Unit of privacy", privacy["unit_of_privacy"], f"{claimed} neighbours"),
        ("Datasets", formatted(privacy["datasets"]), f"of {counted(rows, 'row')} each{shared}"),
    ]


def tone_of(privacy: Mapping[str, Any], rows: int) -> str:
    """How a page marks a guarantee of datasets of so many rows.

    No claim fails. A board judges what no proof covers, and a delta above 1 / (10 rows).
    """
    guarantee = privacy["guarantee"]
    if guarantee != claim_of(guarantee) or delta_to_decide(privacy.get("delta") or 0.0, rows):
        return "warn"
    return {"none": "bad", "asymptotic-dp": "warn"}.get(guarantee, "good")


def problems(privacy: Mapping[str, Any]) -> dict[str, str]:
    """The caveats on convergence by key; there are none when diagnostics were in order."""
    caveats = zip(caveat_keys(privacy), privacy["caveats"], strict=True)
    return {key: text for key, text in caveats if key in _SHORT_OF}


def relied_on(privacy: Mapping[str, Any]) -> Sheet:
    """What the guarantee relies on; no rows for a statement before version 3."""
    entries = privacy.get("relies_on", {})
    meanings = SCHEMA["properties"]["relies_on"]["properties"]
    return Sheet(
        "Each part that the guarantee takes as it is.",
        ("part", "value", "meaning"),
        [
            (name.replace("_", " "), formatted(value), meanings[name]["description"])
            for name, value in entries.items()
            if name != "not_covered"
        ],
    )


def not_covered(privacy: Mapping[str, Any]) -> list[str]:
    """What the guarantee does not cover, in words."""
    return [NOT_COVERED[key] for key in privacy.get("relies_on", {}).get("not_covered", ())]


def public_page(public: PublicPart, heading: Heading | None = None) -> str:
    """The page as HTML, from the statement, the synthetic datasets and the agency's heading."""
    privacy = public.privacy
    mechanism, text = mechanism_words(privacy)
    title, meaning = GUARANTEES[privacy["guarantee"]]
    tone = tone_of(privacy, public.files[0].rows)
    if problems(privacy) and tone == "good":
        tone = "warn"
    words, in_words = epsilon_in_words(privacy)
    margins = [margin_of(public.values(column)) for column in public.synthetic]
    of = rule_of(privacy)["of"]
    content = {
        "heading": heading or Heading(),
        "words": words,
        "parted": parted_caveats(privacy),
        "in_words": in_words,
        "public": public,
        "privacy": privacy,
        "draws": privacy["draws_released"],
        "capped": records_counted(privacy),
        "tone": tone,
        "guarantee_title": title,
        "guarantee_text": meaning,
        "fell_short": bool(problems(privacy)),
        "facts_shown": statement_facts(privacy, public.rows),
        "mechanism_title": mechanism,
        "mechanism_text": text,
        "numbers": _numbers(privacy),
        "relied_on": relied_on(privacy),
        "not_covered": not_covered(privacy),
        "guarantees": Sheet(
            "The guarantees, strongest first.",
            ("of this release", "word in privacy.json", "guarantee", "meaning"),
            [
                ("yes" if word == privacy["guarantee"] else "no", word, *words)
                for word, words in GUARANTEES.items()
            ],
        ),
        "ledger": Sheet(
            f"Costs of {privacy['unit_of_privacy']}, {privacy['neighbours']} neighbours, rounded "
            "up to one decimal; larger = less private.",
            ("use", "ε"),
            [(entry["use"], formatted(entry["epsilon"])) for entry in privacy["ledger"]],
        ),
        "costs": costs(privacy, formatted),
        "small_pictures": pictures_of_release(privacy, public.cells, None),
        "columns": codebook(public),
        "rests_on": rests_on(public),
        "held": files_of_counts(public),
        "reading": reading(public),
        "programs": programs(public),
        "drawn": column_pictures([(0.0, margin) for margin in margins], beside_data=False),
        "parts": [_statistics(margins), *_pairs(public)],
        "files": files_table("The files", public),
        "predicted": predicted(privacy),
        "needs": needs(privacy),
        "rule": rule_named("partial", of),
        "of": of,
        "records_noise": noise_of_records(privacy, public.files[0].rows),
        "table_rule": of and rule_named("partial", "table"),
    }
    page = render("public.html.j2", references={}, **content)
    cited = {key for key in REFERENCES if f"[{key}]" in page} | {"nist2025"}
    named = {key: entry for key, entry in REFERENCES.items() if key in cited}
    return render("public.html.j2", references=named, **content)


def files_table(caption: str, public: PublicPart) -> Sheet:
    """The files of a release, with their sizes and digests."""
    return Sheet(
        caption,
        ("file", "rows", "bytes", "SHA-256"),
        [(f.path.name, f.rows, f.size, f.sha256) for f in public.files],
    )


def predicted(privacy: Mapping[str, Any]) -> Sheet:
    """What the noisy counts say of scores and kept dependence; no rows without noisy counts."""
    counts = privacy.get("counts", {})
    rows = [(f"score of {name}", f"{x:.1f}") for name, x in counts.get("predicted", {}).items()]
    if "kept_dependence" in counts:
        kept = counts["kept_dependence"]
        rows.append(("dependence kept", "not estimated" if kept is None else f"{kept:.0%}"))
    return Sheet(
        "How near a dataset should be to the confidential table, by the noisy counts alone. "
        "k-marginal scores are of the counted cells: 1000 = the same shares, and larger = nearer. "
        "Sets that nobody counted follow from the model. The dependence kept is of counted pairs.",
        ("figure", "predicted"),
        rows,
    )


def needs(privacy: Mapping[str, Any]) -> Sheet:
    """What analysts need, and whether it is met; no rows where nobody named a need."""
    found = privacy.get("counts", {}).get("needs", ())
    return Sheet(
        "What analysts need, by the noisy counts and the datasets alone.",
        ("need", "within", "whether it is met"),
        [
            (x["need"], "" if x["within"] is None else f"{x['within']:g}", need_words(x))
            for x in found
        ],
    )


def _numbers(privacy: Mapping[str, Any]) -> Sheet:
    return Sheet(
        "Figures are rounded up to one decimal, never down.",
        ("number", "value", "meaning", "range and unit", "direction"),
        [
            (name, formatted(privacy[name]), field.meaning, field.range, field.direction)
            for name, field in FIELDS.items()
            if name in privacy
        ],
    )


def costs(privacy: Mapping[str, Any], figure: Callable[[Any], str]) -> Sheet:
    """Each synthesized column of a table with its part of the cost; no rows for one outcome."""
    return Sheet(
        "The synthesized columns in their order. A column alone: what a dataset of this column "
        "costs by itself, under the same weights; larger = less private.",
        ("column", "model", "drawn from", "ε of the column alone"),
        [
            (
                *(column["name"], column["model"], some_of(column["predictors"]) or "nothing"),
                figure(column["epsilon_alone"]),
            )
            for column in privacy.get("columns", ())
        ],
    )


def _statistics(margins: Sequence[NumberMargin | LevelMargin]) -> Sheet:
    """Quantiles and means of the synthesized numbers, as means over the datasets."""
    rows = []
    for margin in margins:
        if isinstance(margin, NumberMargin):
            means = margin.statistics[:, 2]
            figures = *margin.statistics.mean(axis=0)[[0, 3, 1, 2]], means.min(), means.max()
            rows.append((margin.name, *figures))
    return Sheet(
        "Statistics of the numbers, in their own units: means over the synthetic datasets, and the "
        "smallest and the largest mean of a dataset",
        (
            *("column", "15th quantile", "median", "90th quantile", "mean"),
            *("smallest mean", "largest mean"),
        ),
        rows,
        digits=6,
    )


def _pairs(public: PublicPart) -> Iterator[PagePicture | Sheet]:
    """How strongly columns go together in the synthetic datasets, as means over them."""
    pairs = pairs_of(public)
    if pairs is None:
        return
    mean = pairs.matrices.mean(axis=0)
    yield picture(
        association_matrices({"synthetic": mean}, pairs.names),
        alt=f"Matrix of associations of {', '.join(pairs.names)} in the synthetic datasets.",
        caption=f"{MEASURES} No figure is of the confidential data.",
    )
    yield Sheet(
        "The pairs of columns that go together most",
        ("column", "with", "measure", "mean over the datasets", "smallest", "largest"),
        [
            (
                *(pairs.names[i], pairs.names[j], pairs.measure(i, j)),
                *(summary(pairs.matrices[:, i, j]) for summary in (np.mean, np.min, np.max)),
            )
            for i, j in pairs.largest(mean)
        ],
    )
