"""Every example in a docstring runs and gives what it says."""

import doctest
import importlib
import inspect

import pytest
from house import MODULES, unit_of

import pyvws


def modules_with_examples():
    for name, path in MODULES.items():
        lines = path.read_text(encoding="utf-8").splitlines()
        if any(">>> " in line and "+SKIP" not in line for line in lines):
            yield name


MARKS = {"r": pytest.mark.r}  # By room.
MARKS |= dict.fromkeys(("comparison", "release", "plots", "pyvws_validation"), pytest.mark.runs)
WITH_EXAMPLES = list(modules_with_examples())


def test_public_functions_have_examples():
    tables = {
        "pyvws.bounds.lipschitz",
        "pyvws.weights.weights",
        "pyvws.risks.identification_risk",
    }
    assert tables | {"pyvws.r_numbers.rarith", "pyvws.evaluation.one_column"} <= set(WITH_EXAMPLES)


@pytest.mark.parametrize("name", [n for n in dir(pyvws) if n in pyvws.__all__ and n[0] != "_"])
def test_names_of_a_first_week_have_an_example(name):
    made = getattr(pyvws, name)
    assert ">>> " in (inspect.getdoc(made) or "")
    assert made.__module__ in WITH_EXAMPLES


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=MARKS.get(unit_of(name), ())) for name in WITH_EXAMPLES]
)
def test_examples_run(name):
    result = doctest.testmod(importlib.import_module(name), report=True)
    assert result.attempted > 0
    assert result.failed == 0
