"""The studies that `pyvws study` runs, by name; `find_study` imports a study's module when needed.

To add a study in replicates, write one module with a `STUDY`, and one entry here. A study that
reads a user's file is a command in `pyvws_studies.command` instead. The list of studies shows both
kinds.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Final

from pyvws.errors import InputError
from pyvws_studies.replicates import ReplicatedStudy


@dataclass(frozen=True, slots=True)
class StudyEntry:
    """A study in replicates: the study's purpose, with the paper's key, and its module."""

    about: str
    module: str


STUDIES: Final[dict[str, StudyEntry]] = {
    "risk-efficient": StudyEntry(
        "Radius r and number of datasets L on simulated counts (risk-efficient paper, 2.4)",
        "pyvws_studies.risk_efficient",
    ),
    "five-mechanisms": StudyEntry(
        "Five synthesizers at a set epsilon on repeated samples from Beta(0.5, 3) (slides)",
        "pyvws_studies.five_mechanisms",
    ),
    "contraction": StudyEntry(
        "Lipschitz bounds over repeated databases and their sizes (2024 paper, 6; slides)",
        "pyvws_studies.contraction",
    ),
    "survey-counts": StudyEntry(
        "Totals, means of areas and intervals from weighted counts, over repeated samples",
        "pyvws_studies.survey_counts",
    ),
}


def find_study(name: str) -> ReplicatedStudy:
    """The study of that name; InputError for a name that is not in `STUDIES`."""
    if name not in STUDIES:
        raise InputError.by("study-unknown", known=", ".join(STUDIES), name=name)
    study: ReplicatedStudy = import_module(STUDIES[name].module).STUDY
    return study
