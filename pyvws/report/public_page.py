"""The page that may leave the building: from `release/` alone, so nothing else can get into it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from itertools import islice
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.references import REFERENCES
from pyvws.r_numbers import rarith
from pyvws.report.analysis_recipes import python_recipe, r_recipe
from pyvws.report.density_plots import densities
from pyvws.report.output_folder import PublicPart
from pyvws.report.page import Picture, Table, listing, number, picture, render
from pyvws.report.statement_fields import mechanism_words, shown
from pyvws.report.utility_plots import utility
from pyvws.statement.schema import FIELDS, GUARANTEES
from pyvws.statement.words import caveat_keys

__all__ = ["four_statistics", "problems", "public_page", "statement_facts"]

_SHORT_OF: Final = ("problems", "problems-of-draws")
_DRAWN: Final = 8  # Curves that can be told apart.
_ENOUGH: Final = 8  # Datasets that make a violin; fewer are in the table.
_LEVELS: Final = np.array([0.15, 0.5, 0.9])

_MODEL = (
    "The model is {model}. Its posterior is weighted: with weight αᵢ in [0, 1] for record i, the "
    "density of the parameters given the data is proportional to the prior times the product of "
    "p(xᵢ | θ)^αᵢ (Equation 3 of [vws2024]). Each synthetic dataset comes from one draw of the "
    "parameters, and each value from the model at that draw."
)
_BOUND = {
    "estimated": (
        "Delta is the largest |αᵢ log p(xᵢ | θ)| over all records and posterior draws. One dataset "
        "spends ε = 2 Delta; {datasets} datasets from {datasets} draws spend {datasets} ε."
    ),
    "enforced": (
        "Each αᵢ log p(xᵢ | θ) is clamped to [−ε / 2, ε / 2], so that no record can have more "
        "influence. One dataset spends ε; {datasets} datasets spend {datasets} ε."
    ),
}
_REWEIGHTED = (
    "Weights were then raised for records below the bound and the model fitted again, for more "
    "useful data at the same bound (Algorithm 3 of [vws2024])."
)
_HISTOGRAM = (
    "There is no model: counts of {bins} bins, noise of scale {scale} on each, and all datasets "
    "drawn from that one noisy histogram. Together they spend ε once, however many there are."
)


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
    return [
        *strict,
        ("ε of a dataset", shown(privacy["epsilon_per_dataset"]), "larger = less private"),
        ("ε of all datasets", shown(privacy["epsilon_total"]), "larger = less private"),
        ("Unit of privacy", privacy["unit_of_privacy"], f"{neighbours} neighbours"),
        ("Datasets", shown(privacy["datasets"]), f"of {rows} rows each"),
    ]


def problems(privacy: Mapping[str, Any]) -> list[str]:
    """The caveats on convergence, empty when diagnostics were in order."""
    said = zip(caveat_keys(privacy), privacy["caveats"], strict=True)
    return [text for key, text in said if key in _SHORT_OF]


def public_page(public: PublicPart) -> str:
    """The page as HTML, from the statement and the synthetic datasets."""
    privacy = public.privacy
    mechanism, text = mechanism_words(privacy)
    title, meaning = GUARANTEES[privacy["guarantee"]]
    tone = {"none": "bad", "asymptotic-dp": "warn"}.get(privacy["guarantee"], "good")
    if problems(privacy):
        tone = "bad" if tone == "bad" else "warn"
        meaning += " Convergence diagnostics fell short; see the caveats."
    method = _method(public)
    python = r = ""
    if len(public.files) > 1:
        predictors = public.predictors[:2]
        suffix = public.files[0].path.suffix
        names = [file.path.name for file in public.files]
        python = python_recipe(names, suffix, public.outcome, predictors)
        r = r_recipe(suffix, public.outcome, predictors)
    cited = " ".join([text, *method, "[reiter2003] [nist2025]"])
    return render(
        "public.html.j2",
        version=version("pyvws"),
        summary=_summary(public),
        tone=tone,
        guarantee_title=title,
        guarantee_text=meaning,
        facts_shown=statement_facts(privacy, public.files[0].rows),
        mechanism_title=mechanism,
        mechanism_text=text,
        method=method,
        numbers=_numbers(privacy),
        guarantees=Table(
            "The guarantee of this release is marked.",
            ("", "word in privacy.json", "guarantee", "meaning"),
            [
                ("▶ this release" if word == privacy["guarantee"] else "", word, *said)
                for word, said in GUARANTEES.items()
            ],
        ),
        ledger=Table(
            "Epsilon rounded up to one decimal; larger = less private.",
            ("use", "ε"),
            [(entry["use"], shown(entry["epsilon"])) for entry in privacy["ledger"]],
        ),
        caveats=privacy["caveats"],
        trust=privacy["trust_assumptions"],
        columns_text=_columns_text(public),
        columns=_column_table(public),
        figures=_figures(public),
        statistics=_statistics(public),
        files=Table(
            "The files",
            ("file", "rows", "bytes", "SHA-256"),
            [(f.path.name, str(f.rows), str(f.size), f.sha256) for f in public.files],
        ),
        analysis_notes=_notes(public),
        python=python,
        r=r,
        references={key: entry for key, entry in REFERENCES.items() if f"[{key}]" in cited},
    )


def _summary(public: PublicPart) -> str:
    count = len(public.files)
    return (
        f"{count} synthetic dataset{'s' if count > 1 else ''} of {public.files[0].rows} rows. "
        f"The column {public.outcome!r} is synthetic; this page says how it was made, what it "
        "costs in privacy, and how to use it. Every number here is also in privacy.json or is "
        "computed from the synthetic datasets."
    )


def _method(public: PublicPart) -> list[str]:
    privacy = public.privacy
    if public.histogram:
        scale = number(privacy["noise_scale"])
        return [_HISTOGRAM.format(bins=privacy["bins"], scale=scale)]
    said = [
        _MODEL.format(model=privacy["model"]),
        _BOUND[privacy["bound_is"]].format(datasets=privacy["datasets"]),
    ]
    return [*said, _REWEIGHTED] if privacy["reweighted"] else said


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


def _columns_text(public: PublicPart) -> str:
    unchanged = public.privacy["columns_released_unchanged"]
    said = f"The values of {public.outcome!r} are synthetic in every row."
    if not unchanged:
        return f"{said} No other column is released."
    verb = "are" if len(unchanged) > 1 else "is"
    return (
        f"{said} {listing([repr(name) for name in unchanged])} {verb} the "
        "confidential table's own, each record's values in one row: treated as public, and not "
        "protected."
    )


def _column_table(public: PublicPart) -> Table:
    return Table(
        "The columns",
        ("column", "what it holds"),
        [
            (name, "synthetic" if name == public.outcome else "released unchanged")
            for name in public.columns
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


def _notes(public: PublicPart) -> list[str]:
    said = []
    if len(public.files) < 2:
        said.append(
            "This release has one dataset, so the variance between datasets cannot be estimated: "
            "estimates stand without valid intervals."
        )
    if public.histogram:
        said.append(
            "All datasets come from one noisy histogram. The rules below do not see its noise, so "
            "intervals are too short, and relations with other columns are not kept."
        )
    elif public.privacy["mechanism"] != "unweighted":
        said.append(
            "Protection bends the distribution: rare and extreme values are drawn towards the "
            "bulk. Expect tails, small groups and spread to be understated, and intervals to cover "
            "less often than they say."
        )
    return said
