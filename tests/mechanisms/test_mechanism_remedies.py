"""Remedies name what a mechanism has: nothing else, for every kind of trouble."""

import re
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest

import pyvws as vws
from pyvws.evaluation.column_checks import TROUBLES
from pyvws.mechanisms.mechanism import Facts, MechanismBase
from pyvws.mechanisms.registry import MECHANISMS, make_mechanism
from pyvws.mechanisms.remedies import Remedies, remedies
from pyvws.synthesis.settings import RunSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Own(MechanismBase):
    declared = Facts(name="own", explanation="A mechanism of a user's own.")

    def record_weights(self, request: Any) -> Any:
        return np.ones(len(request.y))


_NEEDED: dict[str, Any] = {
    "inverse": {"t": 2.0},
    "perturbed-histogram": {"epsilon": 1.0, "range": (0.0, 9.0)},
    **{key: {"epsilon": 1.0} for key in ("weighted-epsilon", "censored", "noisy-counts")},
}


_ALL = {
    **{name: make_mechanism(name, **_NEEDED.get(name, {})) for name in MECHANISMS},
    "conditionals": vws.NoisyCounts(epsilon=1.0, model="conditionals", measure="pairs"),
    "given": vws.GivenWeights(alpha=np.ones(3)),
    "own": _Own(),
}


def _lines(found: Remedies) -> list[str]:
    return [*found.by_trouble.values(), found.uneven, found.small, found.pairs]


@pytest.mark.parametrize("mechanism", _ALL.values(), ids=_ALL)
def test_every_trouble_has_a_remedy_of_short_sentences(mechanism: Any) -> None:
    found = remedies(mechanism)
    assert found.by_trouble.keys() == TROUBLES.keys()
    assert found.pairs
    for line in _lines(found):
        assert "{" not in line
        assert all(len(part.split()) <= 25 for part in re.split(r"(?<=\.) ", line)), line


@pytest.mark.parametrize("mechanism", _ALL.values(), ids=_ALL)
def test_a_remedy_names_settings_that_the_run_has(mechanism: Any) -> None:
    own = {field.name for field in fields(mechanism)}
    of_run = {field.name for field in fields(RunSettings)}
    for line in _lines(remedies(mechanism)):
        for named in re.findall(r"--([a-z-]+)", line):
            assert named.replace("-", "_") in own | of_run, (line, named)
    asked = mechanism.facts.own_epsilon is not None or mechanism.facts.takes_target
    said = " ".join([*remedies(mechanism).by_trouble.values(), remedies(mechanism).pairs])
    assert asked or "epsilon" not in said


@pytest.mark.parametrize("name", ["noisy-counts", "conditionals", "perturbed-histogram"])
def test_what_fits_no_model_is_told_of_no_predictors_families_or_weights(name: str) -> None:
    said = " ".join(_lines(remedies(_ALL[name])))
    for word in ("predictor", "interaction", "weight", "clamp", "--g", "another family", "C("):
        assert word not in said, word
    assert ("--model conditionals" in said) == (name == "noisy-counts")


def test_weights_clamps_and_shifts_are_named_where_they_are() -> None:
    shift = {name: "--g" in remedies(own).uneven for name, own in _ALL.items()}
    assert {name for name, has in shift.items() if has} == {
        *("lw", "cw", "marginal", "pairwise", "weighted-epsilon")
    } & {*_ALL}
    assert "clamp" in remedies(_ALL["censored"]).uneven
    assert "clamp" not in remedies(_ALL["lw"]).uneven
