"""What no row covers: the list follows from the package's files and from what cases run."""

import json
from pathlib import Path

from pyvws_validation import uncovered
from pyvws_validation.cases import CASES, values

from pyvws._base import resources


def stored() -> set[str]:
    path = resources.folder("validation") / "reached.json"
    return set(json.loads(path.read_text(encoding="utf-8")))


def test_every_public_name_is_reached_or_listed() -> None:
    every = {
        f"{module}:{name}" for module, names in uncovered.public_names().items() for name in names
    }
    listed = {
        f"{module}:{name}" for module, names in uncovered.uncovered().items() for name in names
    }
    assert stored() <= every
    assert listed == every - stored()
    assert "pyvws.weights.weights:lipschitz_weights" in stored()
    assert "pyvws.engines.grid:noisy_maximum" in listed


def test_cases_reach_no_more_than_is_stored() -> None:
    """A case of R's results, and one of values."""
    chosen = [case for case in values.CASES if case.id == "statement/values-negative-binomial"]
    with uncovered.functions_seen() as codes:
        CASES[0].python(next(CASES[0].cells()))
        (row,) = chosen[0].rows()
    assert row.verdict == "pass"
    found = set(uncovered.among_public(codes))
    assert {
        "pyvws.models.negative_binomial:NegativeBinomial",
        "pyvws.posterior.prediction:predicted",
    } <= found
    assert found <= stored()


def test_a_new_function_is_public_and_a_kernel_is_not(tmp_path: Path) -> None:
    room = tmp_path / "package" / "room"
    room.mkdir(parents=True)
    text = """
class Held:
    size: int
class Shape:
    def area(self): ...
class WrongError(ValueError):
    def told(self): ...
def done(): ...
def _hidden(): ...
@kernel
def fast(x): ...
figures = 3
"""
    (room / "module.py").write_text(text)
    found = uncovered.public_names(tmp_path / "package")
    assert found == {"package.room.module": ("Shape", "done")}
