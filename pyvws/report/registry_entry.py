"""An entry for the public registry of deployments of differential privacy [registry2025].

It has the form of the registry's files, which are YAML, and JSON is that too. Nobody but the agency
knows some of it: these entries are null, and the notes name them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any, Final

from pyvws._base.phrase import counted
from pyvws.report.claim_layers import (
    NEIGHBOURS,
    answered,
    claim,
    claim_layers,
    influence,
    post_processing,
)
from pyvws.report.page import Heading, mechanism_words
from pyvws.statement.words import claim_of

_VARIANTS: Final = {
    "dp": "Pure DP",
    "dp-if-bounded": "Pure DP",
    "approximate-dp": "Approximate DP",
    "asymptotic-dp": "Custom",
    "none": None,
}
"""The registry's word for each claim; null where nothing is claimed."""


def registry_entry(privacy: Mapping[str, Any], heading: Heading | None = None) -> str:
    """The entry as JSON, from the statement and the agency's heading alone.

    Epsilon is of all datasets together, for the neighbours of the claim; larger = less private.
    """
    heading = heading or Heading()
    agency = [heading.agency] if heading.agency else None
    claimed = privacy.get("certified") or privacy
    layers = {layer.name: layer.answer for layer in claim_layers(privacy, {})}
    words = claim_of(privacy["guarantee"])
    columns = privacy.get("columns_synthesized", ["one column"])
    title, explanation = mechanism_words(privacy)
    together = "costs_together" in privacy
    entry: dict[str, Any] = {
        "basic": {
            "name": heading.title,
            "data_curators": agency,
            "intended_use": None,
            "data_product_type": "Synthetic data",
            "data_product_region": None,
            "description": (
                f"{counted(privacy['datasets'], 'synthetic dataset')} of {', '.join(columns)}. "
                f"{title}."
            ),
            "publication_date": None,
        },
        "dp_variant": {
            "variant_name": _VARIANTS[words],
            "data_domain": (
                f"Tables of {', '.join(columns)}, as the public settings of the release say. "
                f"{answered(privacy, 'refusals')}"
            ).rstrip(),
            "unprotected_quantities": layers["Quantities without protection"],
        },
        "privacy_loss": {
            "privacy_unit": privacy["unit_of_privacy"],
            "privacy_unit_details": (
                f"{NEIGHBOURS[claimed['neighbours']]} {answered(privacy, 'neighbours', 'unit')}"
            ).rstrip(),
            "privacy_parameters": {} if words == "none" else _parameters(privacy, claimed),
            "privacy_parameters_details": claim(privacy),
        },
        "deployment_model": {
            "model_name": "Central",
            "actors": " ".join(privacy["trust_assumptions"]),
            "release_type": "Many releases" if together else "One release",
            "release_type_details": layers["Other releases of the same records"] or None,
            "data_source_type": "Static",
            "access_type": "Non-interactive",
            "access_type_details": layers["Query model"],
        },
        "accounting": {
            "post_processing": post_processing(privacy),
            "composition": layers["Composition"],
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": (
                layers["Settings and preparation of the data"] or None
            ),
            "mechanisms": (
                f"{title}. {explanation} {influence(privacy)} {answered(privacy, 'rounding')} "
                f"Computed by pyvws {version('pyvws')}, whose source archive has the code: "
                "pyvws/mechanisms, and the proofs in docs/proofs.md."
            ),
        },
        "administrative": {
            "sources": (
                "privacy.json, report.html and nist-sp-800-226.html of the release"
                + (f" {privacy['release_id']}" if "release_id" in privacy else "")
            ),
            "notes": "",
            "registry_authors": agency,
        },
    }
    missing = ", ".join(_nulls(entry))
    notes = [f"pyvws report made this draft from privacy.json. Fill in by hand: {missing}."]
    if words == "none":
        notes.append("The release claims no guarantee, so it is no deployment to register.")
    if words == "asymptotic-dp":
        notes.append("The guarantee is asymptotic, and epsilon is an estimate on one table.")
    entry["administrative"]["notes"] = " ".join(notes)
    slug = re.sub(r"[^a-z0-9]+", "-", f"{heading.title} {heading.agency}".lower()).strip("-")
    whole = {"url_slug": slug, "status": "Draft", "tier": 3, "deployment": entry}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _parameters(privacy: Mapping[str, Any], claimed: Mapping[str, Any]) -> dict[str, float]:
    """The figures that the claim has; an epsilon that is not finite is left out."""
    figures = {
        "epsilon": claimed["epsilon_total"],
        "delta": privacy.get("delta") or None,
        "rho": privacy.get("counts", {}).get("rho"),
    }
    return {name: figure for name, figure in figures.items() if figure is not None}


def _nulls(entries: Mapping[str, Any]) -> Iterator[str]:
    """The names of the entries that are null, inside others too."""
    for name, value in entries.items():
        if value is None:
            yield name
        elif isinstance(value, dict):
            yield from _nulls(value)
