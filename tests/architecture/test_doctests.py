"""Every example in a docstring runs and gives what it says."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import pyvws

PACKAGE = Path(pyvws.__file__).parent


def modules_with_examples():
    for path in sorted(PACKAGE.rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        if any(">>> " in line and "+SKIP" not in line for line in lines):
            parts = ("pyvws", *path.relative_to(PACKAGE).with_suffix("").parts)
            yield ".".join(part for part in parts if part != "__init__")


MARKS = {"r": pytest.mark.r}  # By room.
MARKS |= dict.fromkeys(("comparison", "release", "plots", "validation"), pytest.mark.runs)
WITH_EXAMPLES = list(modules_with_examples())


def test_public_functions_have_examples():
    tables = {
        "pyvws.bounds.lipschitz",
        "pyvws.weights.weights",
        "pyvws.weights.reweight",
        "pyvws.risks.identification_risk",
    }
    assert tables | {"pyvws.r_numbers.rarith", "pyvws.evaluation.ecdf"} <= set(WITH_EXAMPLES)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=MARKS.get(name.split(".")[1], ())) for name in WITH_EXAMPLES],
)
def test_examples_run(name):
    result = doctest.testmod(importlib.import_module(name), report=True)
    assert result.attempted > 0
    assert result.failed == 0
