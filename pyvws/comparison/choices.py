"""The choices of a comparison, as words such as "lw reweight c=0.5", and the points that they give.

A point is a choice under its own constants, or at an epsilon that its constant is searched for.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from narwhals.typing import IntoDataFrame

from pyvws._base.checks import near, positive
from pyvws.errors import InputError
from pyvws.mechanisms.registry import MECHANISMS, mechanism_settings
from pyvws.synthesis.checked_table import check_table
from pyvws.synthesis.settings import RunSettings
from pyvws.synthesis.settings_by_name import arranged, declared

_UNWEIGHTED: Final = ("unweighted", "lw", "lw reweight", "sw")
OF_OUTCOME: Final = (*_UNWEIGHTED, "cw", "weighted-epsilon", "censored weights=none")
"""What is compared on one outcome if nobody names choices."""
OF_TABLE: Final = (*_UNWEIGHTED, "weighted-epsilon", "noisy-counts", "censored weights=none")
"""What is compared on a table of a schema if nobody names choices."""

_OF_RUN: Final = (
    *("reweight", "k", "tolerance", "downscale"),
    *("accept_above_target", "accept_unconverged"),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A mechanism with its settings; `label` is what a user wrote."""

    label: str
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Point:
    """A choice at an epsilon, None for its own constants; `given` are settings by name."""

    choice: Choice
    epsilon: float | None
    given: Mapping[str, Any] = field(repr=False)

    @property
    def settings(self) -> RunSettings:
        return RunSettings(**arranged(self.given))

    @property
    def name(self) -> str:
        """The choice, and the epsilon that was asked for."""
        return self.choice.label + ("" if self.epsilon is None else f" at {self.epsilon:g}")

    @property
    def key(self) -> tuple[str, str]:
        """The names of the point's files in a comparison's folder."""
        at = "own" if self.epsilon is None else repr(self.epsilon)
        return re.sub(r"[^A-Za-z0-9_.]+", "_", self.choice.label), at.replace("-", "m")


def read_choice(text: str) -> Choice:
    """A choice from words: a mechanism's name, then NAME for yes or NAME=VALUE of its settings."""
    try:
        name, *words = shlex.split(text)
    except ValueError:
        raise InputError.by("choice-words", text=text) from None
    allowed = (*_OF_RUN, *(setting for setting in mechanism_settings(name) if setting != "epsilon"))
    entries: dict[str, Any] = {"mechanism": name}
    for word in words:
        given, _, value = word.partition("=")
        given = given.replace("-", "_")
        if given not in allowed:
            more = " Epsilons are those of the comparison." if given == "epsilon" else ""
            raise InputError.by(
                "choice-unknown-setting",
                text=text,
                given=given,
                allowed=", ".join(allowed),
                more=more or near(given, allowed),
            )
        entries[given] = _value(given, value)
    return Choice(" ".join(text.split()), entries)


def _value(name: str, text: str) -> Any:
    """A setting's value: yes without a text, several with commas, else as TOML or as it is."""
    if any(declared_setting.several for declared_setting in declared()[name]):
        return tuple(map(_one, text.split(",")))
    return _one(text)


def _one(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text or 'true'}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def planned(
    frame: IntoDataFrame,
    common: Mapping[str, Any],
    choices: Sequence[str] | None,
    epsilons: Sequence[float],
) -> tuple[list[Point], dict[str, str]]:
    """The points to run, cheap ones first, and the reason of each usual choice that has none."""
    asked = sorted({positive(float(epsilon), "epsilons") for epsilon in epsilons})
    usual = OF_OUTCOME if common.get("schema") is None else OF_TABLE
    texts = [" ".join(text.split()) for text in (usual if choices is None else choices)]
    points: list[Point] = []
    left_out: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        try:
            points += _points(frame, common, read_choice(text), asked)
        except InputError as error:
            if choices is not None:
                raise
            left_out[text] = str(error)
    if not points:
        raise InputError.by("no-choice-runs", why=next(iter(left_out.values()), "Name one."))
    # Clamped fits last, since they share no fit and take the longest; else epsilon by epsilon.
    clamps = {point.key: point.settings.chosen_mechanism.facts.clamps for point in points}
    return sorted(points, key=lambda at: (clamps[at.key], at.epsilon or 0.0)), left_out


def _points(
    frame: IntoDataFrame, common: Mapping[str, Any], choice: Choice, epsilons: Sequence[float]
) -> list[Point]:
    """The points that the settings allow; the last InputError where they allow none."""
    listed: list[Point] = []
    refused = None
    for epsilon in (None, *epsilons):
        given = {**common, **choice.settings}
        point = Point(choice, epsilon, given if epsilon is None else {**given, "epsilon": epsilon})
        try:
            settings = point.settings
        except InputError as error:
            refused = error
            continue
        if not listed:
            check_table(frame, settings)
        listed.append(point)
    if not listed:
        raise refused or InputError.by("choice-without-point", label=choice.label)
    return listed


def refuse_choices(common: Mapping[str, Any]) -> None:
    """Raise InputError for a common setting that belongs to a choice, or to the comparison."""
    of_run = {name for name, alike in declared().items() if not all(own.takers for own in alike)}
    of_mechanisms = {name for kind in MECHANISMS for name in mechanism_settings(kind)} - of_run
    for name in ("epsilon", "mechanism", "compared", *_OF_RUN, *sorted(of_mechanisms)):
        if common.get(name):
            where = {"epsilon": "epsilons", "compared": "the run.toml that it writes"}
            raise InputError.by("comparison-setting", name=name, given=where.get(name, "choices"))
