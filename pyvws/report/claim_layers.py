"""The layers of a claim of differential privacy that [nist2025] asks about, with their answers.

Every answer is the statement's own: its figures, and its sentences by key. So the table says
nothing that `privacy.json` does not say, and two releases with one statement have one table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final, NamedTuple

from pyvws._base.phrase import counted
from pyvws._base.resources import REFERENCES
from pyvws.report.page import Heading, formatted, mechanism_words, render
from pyvws.sheet import Sheet
from pyvws.statement.words import GUARANTEES, NOT_COVERED, STRICT, caveat_keys

NEIGHBOURS: Final = {
    "leave-one-out": "One table lacks a unit that the other has, so their sizes differ: the "
    "unbounded kind.",
    "replace-one": "One unit is replaced by any other, so the sizes are equal: the bounded kind.",
}
"""What each kind of neighbouring tables is, in the words of [nist2025]."""

KEYS: Final[dict[str, tuple[str, ...]]] = {
    "parameters": ("counts-delta",),
    "unit": ("units", "enforced-for-units", "counts-cap", "counts-slots", "survey-weights"),
    "neighbours": (
        *("certified-for-replacement", "certified-for-deletion", "leave-one-out", "replaced"),
        *("left-out", "counts-replaced", "counts-left-out"),
    ),
    "composition": (
        *("composition", "composition-of-draws", "several-draws", "one-histogram"),
        *("counts-once", "counts-chosen", "noisy-records", "noisy-units", "weights-staged"),
    ),
    "others": ("other-releases", "further-releases"),
    "unprotected": (
        *("unchanged", "kept-order", "records", "number-of-units", "figures", "convergence"),
        *("levels-from-data", "edges-from-data", "bins-from-records", "weights"),
    ),
    "influence": (
        *("enforced", "estimated", "window", "no-upper-limit", "smallest-sd", "growth"),
        "confirmed",
        *("unweighted", "scalar", "not-sparse-by-bound", "not-sparse-by-risk", "threshold"),
    ),
    "post-processing": (
        *("reads-outcome", "own-predictions", "unchecked-predictions", "unknown-predictions"),
    ),
    "utility": (
        *("counts-model", "counts-best-file", "counts-lost", "one-draw"),
        *("few-draws", "systematic", "problems", "problems-of-draws"),
    ),
    "bias": ("counts-unknown", "within-bins", "outside-range", "record-bounds", "rounded"),
    "settings": (
        *("public-settings", "proposed", "proposed-and-signed", "compared", "searched", "shift"),
        *("prepared", "public-t", "searched-t", "public-records", "public-units"),
        "bounded-outcome",
    ),
    "rounding": (
        *("computation", "exact-computation", "noise-computation", "float-noise-computation"),
        *("as-if-exact", "exact-draws", "approximated", "rounded-figures", "seeded-noise"),
    ),
    "randomness": ("seed", "seed-of-rows", "public-seed", "short-seed", "short-seed-of-rows"),
    "refusals": ("domain", "converged", "accepts-unconverged"),
    "access": ("agency", "public"),
}
"""The sentences of a statement that answer each question, by the keys of caveats and of trust."""


class Layer(NamedTuple):
    """A layer of a claim, what this release does, and where it says so."""

    name: str
    answer: str
    where: str


def sentences(privacy: Mapping[str, Any]) -> dict[str, str]:
    """The caveats and trust assumptions of a statement by key; older ones have no keys of trust."""
    trust = [entry["key"] for entry in privacy.get("trust_keys", ())]
    of_trust = privacy["trust_assumptions"]
    by_key = dict(zip(trust, of_trust, strict=True)) if trust else {"agency": " ".join(of_trust)}
    return by_key | dict(zip(caveat_keys(privacy), privacy["caveats"], strict=True))


def answered(privacy: Mapping[str, Any], *questions: str) -> str:
    """The sentences of the statement on some questions of `KEYS`; empty where it has none."""
    said = sentences(privacy)
    return " ".join(said[key] for name in questions for key in KEYS[name] if key in said)


def influence(privacy: Mapping[str, Any]) -> str:
    """What limits the influence of one unit."""
    if counts := privacy.get("counts"):
        slots = f", of {counts['slots']} slots" if "slots" in counts else ""
        scales = dict.fromkeys(formatted(counts[x]) for x in ("least_scale", "largest_scale"))
        return (
            f"Discrete {counts['noise'].capitalize()} noise of scale {' to '.join(scales)} is on "
            f"each of {counted(counts['cells'], 'count')}. At most "
            f"{counted(counts['cap'], 'record')} of a unit count{slots}."
        )
    if "noise_scale" in privacy:
        return (
            f"Laplace noise of scale {formatted(privacy['noise_scale'])} is on each of "
            f"{counted(privacy['bins'], 'count')}, and a unit is in one of them."
        )
    return answered(privacy, "influence")


def post_processing(privacy: Mapping[str, Any]) -> str:
    """What is made of the protected quantities without a further look at the table."""
    if told := answered(privacy, "post-processing"):
        return told
    if "lipschitz_bound" in privacy:
        return (
            "Synthetic values are drawn from the model at a draw of its parameters, given columns "
            "that are public or synthetic. That reads nothing further of the table, so all "
            "datasets of a draw cost what the draw costs."
        )
    return (
        "All datasets follow from the noisy counts and public settings. That reads nothing further "
        "of the table, so any number of datasets costs ε once."
    )


def claim(privacy: Mapping[str, Any]) -> str:
    """The claim with its parameters, for all datasets together."""
    claimed = privacy.get("certified") or privacy
    title, meaning = GUARANTEES[privacy["guarantee"]]
    delta = f" and δ = {privacy['delta']:g}" if privacy.get("delta") else ""
    held = "" if privacy["guarantee"] in STRICT else " No theorem proves it for this table."
    return (
        f"{title}: ε = {formatted(claimed['epsilon_total'])}{delta} for "
        f"{counted(privacy['datasets'], 'dataset')} together.{held} {meaning}"
    )


def claim_layers(privacy: Mapping[str, Any], audit: Mapping[str, Any]) -> list[Layer]:
    """Each layer of the claim, from the figure on top to the ground that it stands on.

    `audit` is what was asked of an audit of this release, empty without one.
    """
    parts = chain(_guarantee(privacy), _algorithm(privacy), _deployment(privacy, audit))
    layers = [Layer(*part) for part in parts]
    told = " ".join(layer.answer for layer in layers)
    rest = " ".join(text for text in privacy["caveats"] if text not in told)
    return [*layers, *([Layer("Further conditions", rest, "caveats")] if rest else [])]


_Parts = Iterator[tuple[str, str, str]]


def _guarantee(privacy: Mapping[str, Any]) -> _Parts:
    neighbours = (privacy.get("certified") or privacy)["neighbours"]
    unit, kind = privacy["unit_of_privacy"], NEIGHBOURS[neighbours]
    costs = "; ".join(f"{one['use']}: {formatted(one['epsilon'])}" for one in privacy["ledger"])
    stated = _said(privacy, "parameters", claim(privacy))
    yield "Privacy parameters and variant", stated, "guarantee, epsilon_total, delta"
    named = f"{unit[0].upper()}{unit[1:]}."
    yield "Unit of privacy", _said(privacy, "unit", named), "unit_of_privacy"
    of = "neighbours, epsilon_by_neighbours, certified"
    yield "Neighbouring tables", _said(privacy, "neighbours", kind), of
    paid = f"Uses of the table and their ε: {costs}."
    yield "Composition", _said(privacy, "composition", paid), "ledger, spending"
    yield "Other releases of the same records", answered(privacy, "others"), "costs_together"
    bare = [NOT_COVERED[key] for key in privacy.get("relies_on", {}).get("not_covered", ())]
    listed = f"Not covered: {'; '.join(bare)}." if bare else ""
    yield (
        "Quantities without protection",
        _said(privacy, "unprotected", listed),
        "relies_on.not_covered, columns_released_unchanged, number_of_rows",
    )


def _algorithm(privacy: Mapping[str, Any]) -> _Parts:
    title, text = mechanism_words(privacy)
    yield "Mechanism", f"{title}. {text}", "mechanism, docs/mechanisms.md, docs/proofs.md"
    yield "Sensitivity", influence(privacy), "counts, noise_scale, lipschitz_bound, relies_on.clamp"
    yield "Post-processing", post_processing(privacy), "draws_released, draw_of_dataset"
    scores = privacy.get("counts", {}).get("predicted", {})
    own = "; ".join(f"{name} {score:.1f}" for name, score in scores.items())
    scored = (
        f"Predicted scores in counted cells, of 1000: {own}."
        if own
        else "The statement has no score, since scores describe the confidential table."
    )
    of = "counts.predicted, report.html"
    yield "Utility and accuracy", _said(privacy, "utility", scored), of
    yield "Bias", _said(privacy, "bias", _bias(privacy)), "caveats; inside, pyvws utility"
    of = "relies_on.public_settings, ledger"
    yield "Settings and preparation of the data", answered(privacy, "settings"), of


def _bias(privacy: Mapping[str, Any]) -> str:
    """Where values are known to be drawn off."""
    relies = privacy.get("relies_on", {})
    weighs = relies.get("weights", {}).get("source", "none") != "none"
    bends = relies.get("clamp") or (weighs and "unweighted" not in caveat_keys(privacy))
    return "The statement does not say how groups of people fare." + (
        " Weights and clamps draw rare and extreme values towards the bulk, so tails and small "
        "groups can be understated."
        if bends
        else " Noise drowns counts that are near its scale, so small groups can be far off."
        if "lipschitz_bound" not in privacy
        else ""
    )


def _deployment(privacy: Mapping[str, Any], audit: Mapping[str, Any]) -> _Parts:
    batch = "Not interactive: readers get datasets, and nobody asks the table."
    yield "Query model", batch, "datasets"
    central = "The central model: one agency sees the records, and readers see the release."
    yield "Threat and trust model", _said(privacy, "access", central), "trust_assumptions"
    of = "relies_on.sampler, trust_assumptions"
    yield "Floating point and exactness", answered(privacy, "rounding"), of
    yield "Randomness", answered(privacy, "randomness"), "trust_assumptions, SECURITY.md"
    timed = "No ε covers how long a run takes, or that it ended."
    of = "docs/strict.md, docs/limits.md"
    yield "Side channels", _said(privacy, "refusals", timed), of
    yield (
        "Security and access control",
        "A run writes confidential/ for its owner alone, and release/ to leave. The run does not "
        "know how the agency keeps its machines.",
        "SECURITY.md",
    )
    yield (
        "Exposure in the collection of the data",
        "The agency has to say how the records were collected, and who has seen them. No ε covers "
        "that.",
        "nowhere in this release",
    )
    yield "Audits and repetition", _checked(privacy, audit), "audit.json, report.html"


def _checked(privacy: Mapping[str, Any], audit: Mapping[str, Any]) -> str:
    made = (
        "An audit of this run was made, and its figures stay inside. It proves nothing."
        if audit
        else "The release says nothing of an audit of this run."
    )
    again = "counts" in privacy and " The command pyvws reproduce makes the datasets again."
    return f"{made}{again or ''} The command pyvws validate compares the package with R."


def _said(privacy: Mapping[str, Any], question: str, own: str) -> str:
    """Words of this module, and the sentences of the statement on a question, if there are any."""
    return " ".join(filter(None, (own, answered(privacy, question))))


def layers_page(
    privacy: Mapping[str, Any], audit: Mapping[str, Any], heading: Heading | None = None
) -> str:
    """The table as a page of its own; a function of public files alone."""
    nothing = "The statement does not say."
    return render(
        "layers.html.j2",
        heading=heading or Heading(),
        claim=claim(privacy),
        reference=REFERENCES["nist2025"],
        layers=Sheet(
            "Layers from the figure on top to the ground that it stands on",
            ("layer", "what this release does", "where it is said"),
            [(x.name, x.answer or nothing, x.where) for x in claim_layers(privacy, audit)],
        ),
    )
