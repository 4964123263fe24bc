"""The public page: the package makes it from `release/` alone, so it shows nothing confidential."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.references import REFERENCES
from pyvws.plots import densities, utility
from pyvws.r_numbers import rarith
from pyvws.report.output_folder import PublicPart
from pyvws.report.page import Picture, Table, mechanism_words, number, picture, render, shown
from pyvws.statement.schema import FIELDS, GUARANTEES, SCHEMA
from pyvws.statement.words import NOT_COVERED, caveat_keys

__all__ = [
    "files_table",
    "four_statistics",
    "not_covered",
    "problems",
    "public_page",
    "relied_on",
    "statement_facts",
]

_SHORT_OF: Final = ("problems", "problems-of-draws")
_DRAWN: Final = 8  # A reader can tell this many curves apart.
_ENOUGH: Final = 8  # A violin needs this many datasets; the table shows fewer datasets.
_LEVELS: Final = np.array([0.15, 0.5, 0.9])


def four_statistics(outcomes: list[Floats]) -> Floats:
    """Q15, Q90, mean and median of each dataset, shape (datasets, 4), in the outcome's unit."""
    rows = []
    for values in outcomes:
        q15, median, q90 = rarith.quantile(values, _LEVELS)
        rows.append([q15, q90, rarith.mean(values), median])
    return np.array(rows)


def statement_facts(privacy: Mapping[str, Any], rows: int) -> list[tuple[str, str, str]]:
    """The figures at the top of a page: name, value, note."""
    neighbours = privacy["neighbours"]
    strict = []
    if certified := privacy.get("certified"):
        dataset, total = (shown(certified[f"epsilon_{of}"]) for of in ("per_dataset", "total"))
        note = f"{certified['neighbours']} neighbours, {dataset} a dataset"
        strict.append(("Certified ε of all datasets", total, note))
    draws = privacy["draws_released"]
    shared = "" if draws == privacy["datasets"] else f", from {draws} draw{'s' * (draws > 1)}"
    return [
        *strict,
        ("ε of a dataset", shown(privacy["epsilon_per_dataset"]), "larger = less private"),
        ("ε of all datasets", shown(privacy["epsilon_total"]), "larger = less private"),
        ("Unit of privacy", privacy["unit_of_privacy"], f"{neighbours} neighbours"),
        ("Datasets", shown(privacy["datasets"]), f"of {rows} rows each{shared}"),
    ]


def problems(privacy: Mapping[str, Any]) -> list[str]:
    """The caveats on convergence; the list is empty when diagnostics were in order."""
    said = zip(caveat_keys(privacy), privacy["caveats"], strict=True)
    return [text for key, text in said if key in _SHORT_OF]


def relied_on(privacy: Mapping[str, Any]) -> Table:
    """What the guarantee relies on; no rows for a statement before version 3."""
    entries = privacy.get("relies_on", {})
    meanings = SCHEMA["properties"]["relies_on"]["properties"]
    return Table(
        "Each part that the guarantee takes as it is.",
        ("part", "value", "meaning"),
        [
            (name.replace("_", " "), shown(value), meanings[name]["description"])
            for name, value in entries.items()
            if name != "not_covered"
        ],
    )


def not_covered(privacy: Mapping[str, Any]) -> list[str]:
    """What the guarantee does not cover, in words."""
    return [NOT_COVERED[key] for key in privacy.get("relies_on", {}).get("not_covered", ())]


def public_page(public: PublicPart) -> str:
    """The page as HTML, from the statement and the synthetic datasets."""
    privacy = public.privacy
    mechanism, text = mechanism_words(privacy)
    title, meaning = GUARANTEES[privacy["guarantee"]]
    tone = {"none": "bad", "asymptotic-dp": "warn"}.get(privacy["guarantee"], "good")
    if problems(privacy) and tone == "good":
        tone = "warn"
    content = {
        "public": public,
        "privacy": privacy,
        "draws": privacy["draws_released"],
        "tone": tone,
        "guarantee_title": title,
        "guarantee_text": meaning,
        "fell_short": bool(problems(privacy)),
        "facts_shown": statement_facts(privacy, public.files[0].rows),
        "mechanism_title": mechanism,
        "mechanism_text": text,
        "numbers": _numbers(privacy),
        "relied_on": relied_on(privacy),
        "not_covered": not_covered(privacy),
        "guarantees": Table(
            "The guarantee of this release is marked.",
            ("", "word in privacy.json", "guarantee", "meaning"),
            [
                ("▶ this release" if word == privacy["guarantee"] else "", word, *said)
                for word, said in GUARANTEES.items()
            ],
        ),
        "ledger": Table(
            "Epsilon rounded up to one decimal; larger = less private.",
            ("use", "ε"),
            [(entry["use"], shown(entry["epsilon"])) for entry in privacy["ledger"]],
        ),
        "columns": Table(
            "The columns",
            ("column", "what it holds"),
            [
                (name, "synthetic" if name == public.outcome else "released unchanged")
                for name in public.columns
            ],
        ),
        "figures": _figures(public),
        "statistics": _statistics(public),
        "files": files_table("The files", public),
        "suffix": public.files[0].path.suffix,
        "formula": _formula(public.outcome, public.predictors[:2]),
    }
    page = render("public.html.j2", references={}, **content)
    cited = {key for key in REFERENCES if f"[{key}]" in page} | {"reiter2003", "nist2025"}
    named = {key: entry for key, entry in REFERENCES.items() if key in cited}
    return render("public.html.j2", references=named, **content)


def files_table(caption: str, public: PublicPart) -> Table:
    """The files of a release, with their sizes and digests."""
    return Table(
        caption,
        ("file", "rows", "bytes", "SHA-256"),
        [(f.path.name, str(f.rows), str(f.size), f.sha256) for f in public.files],
    )


def _formula(outcome: str, predictors: Sequence[str]) -> str:
    """The regression in the page's programs; backticks enclose a name that R cannot read."""
    left, *right = (
        name if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) else f"`{name}`"
        for name in (outcome, *predictors)
    )
    return f"{left} ~ {' + '.join(right) or '1'}"


def _numbers(privacy: Mapping[str, Any]) -> Table:
    return Table(
        "Figures are rounded up to one decimal, never down.",
        ("number", "value", "meaning", "range and unit", "direction"),
        [
            (name, shown(privacy[name]), field.meaning, field.range, field.direction)
            for name, field in FIELDS.items()
            if name in privacy
        ],
    )


def _figures(public: PublicPart) -> list[Picture]:
    first = dict(islice(_numbered(public.outcomes), _DRAWN))
    made = [
        picture(
            densities(first, name=public.outcome),
            alt=(
                f"Line chart: densities of {public.outcome} in {len(first)} synthetic datasets, a "
                "curve each."
            ),
            caption=(
                f"Density of {public.outcome} in {len(first)} of {len(public.files)} synthetic "
                "datasets. No curve is of the confidential data."
            ),
        )
    ]
    if len(public.outcomes) >= _ENOUGH:
        made.append(
            picture(
                utility({"synthetic": four_statistics(public.outcomes)}),
                alt=(
                    f"Four violin plots: 15th quantile, 90th quantile, mean and median of "
                    f"{public.outcome} over {len(public.files)} synthetic datasets."
                ),
                caption=(
                    f"How much statistics of {public.outcome} differ between the datasets: this "
                    "spread is what combining rules add to the variance."
                ),
            )
        )
    return made


def _numbered(outcomes: list[Floats]) -> Any:
    return ((f"dataset {place}", values) for place, values in enumerate(outcomes, start=1))


def _statistics(public: PublicPart) -> Table:
    rows = four_statistics(public.outcomes)
    return Table(
        f"Statistics of {public.outcome} in the synthetic datasets, in its own unit",
        ("dataset", "15th quantile", "90th quantile", "mean", "median"),
        [
            (str(place), *(number(value, 6) for value in row))
            for place, row in enumerate(rows, start=1)
        ],
    )
