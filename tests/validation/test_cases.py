"""Every case against R: as stored by default, live where R runs."""

import dataclasses
import re
import subprocess
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import GenericAlias

import numpy as np
import pytest
import pyvws_studies
from numpy.typing import NDArray
from pyvws_validation import expected, refresh, runner
from pyvws_validation._case import Case, Cell
from pyvws_validation.cases import CASES
from pyvws_validation.runner import run

import pyvws
from pyvws._base import resources as _resources

# Public helpers that a compared function runs through, or that tests of their own judge.
WITHIN_OTHERS = {
    "pyvws.evaluation.regressions:clustered",
    *("pyvws.evaluation.one_column:one_column", "pyvws.evaluation.k_marginal:share_of_the_way"),
    *("pyvws.evaluation.k_marginal:standing", "pyvws.mechanisms.histogram.bins:bin_places"),
    *("pyvws.evaluation.combining_rules:rule_named", "pyvws.evaluation.combining_rules:rule_of"),
    *(
        "pyvws.evaluation.combining_rules:noise_of_records",
        "pyvws.models.conditional_table:log_dirichlet",
    ),
    *("pyvws.evaluation.disclosure:score_of", "pyvws.evaluation.disclosure:rate"),
    *("pyvws.r_numbers.rarith:extended_sum", "pyvws.bounds.joint:blockwise_joint_bounds"),
    *("pyvws.bounds.joint:window_widths", "pyvws.bounds.joint:unit_terms"),
    "pyvws_studies.simulated_data:mixture_counts",
    *("pyvws.bounds.lipschitz:add_largest", "pyvws.bounds.lipschitz:blockwise_bounds"),
    *("pyvws.bounds.lipschitz:centre_and_spread", "pyvws.bounds.lipschitz:largest_sizes"),
    "pyvws.evaluation.combining_rules:combine_formula",
    "pyvws.evaluation.associations:associations",
    "pyvws.evaluation.disclosure:attribute_disclosure",
    "pyvws.evaluation.disclosure:closest_distances",
    "pyvws.evaluation.disclosure:distance_blocks",
    "pyvws.evaluation.disclosure:replicated_uniques",
    "pyvws.evaluation.regressions:independent_columns",
    "pyvws.evaluation.k_marginal:chained_k_marginal",
    "pyvws.evaluation.k_marginal:coded_k_marginal",
    "pyvws.evaluation.k_marginal:k_marginal",
    "pyvws.evaluation.k_marginal:predicted_k_marginals",
    "pyvws.evaluation.k_marginal:worse_than_independent",
    "pyvws.evaluation.regressions:fit_formula",
    "pyvws.evaluation.pmse:pmse",
    "pyvws.evaluation.pmse:tree_pmse",
    "pyvws.evaluation.pmse:tree_score",
    "pyvws.evaluation.pmse:two_way_pmse",
    "pyvws.evaluation.bootstrap:second_sample",
    "pyvws.evaluation.bootstrap:units_drawn",
    "pyvws.evaluation.regression_utility:cells_beside",
    "pyvws.evaluation.regression_utility:left_out",
    "pyvws.evaluation.regression_utility:regression_utility",
    "pyvws.evaluation.regression_utility:together",
    "pyvws.evaluation.whack_a_mole:risk_summary",
    "pyvws.evaluation.whack_a_mole:top_records",
    "pyvws.mechanisms.histogram.bins:public_edges",
    "pyvws.mechanisms.histogram.perturbed_histogram:synthesize_from_histogram",
    "pyvws.risks.identification_risk:paired_outcomes",
    "pyvws.risks.identification_risk:pattern_codes",
    "pyvws.models.conditional_table:patterns_of",
    "pyvws.posterior.systematic_draws:systematic_uniforms",
    *("pyvws.r_numbers.rarith:column_means", "pyvws.weights.weights:fixed_scale_risks"),
    "pyvws.weights.weights:fixed_scale_weights",
}


# The module that a script of R is of, where it has another name.
PARTS = {
    **{"closest_records": "disclosure", "ecdf": "one_column", "s_pmse": "pmse"},
    **{"truncation": "weights", "window": "joint"},
}


class Once(Case):
    """A case that makes its arguments, and the package's numbers, once for every comparison."""

    @cached_property
    def _cells(self) -> list[Cell]:
        return list(super().cells())

    @cached_property
    def _numbers(self) -> dict[str, NDArray[np.float64]]:
        return {cell.label: super(Once, self).python(cell) for cell in self._cells}

    def cells(self) -> Iterator[Cell]:
        return iter(self._cells)

    def python(self, cell: Cell) -> NDArray[np.float64]:
        return self._numbers[cell.label]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.id)
def case(request: pytest.FixtureRequest) -> Once:
    """The scope makes the tests of a case follow each other."""
    own = request.param
    return Once(**{part.name: getattr(own, part.name) for part in dataclasses.fields(own)})


def test_equals_what_r_gave(case: Once) -> None:
    (row,) = run(source="cached", cases=[case])
    if row.verdict == "skipped":
        pytest.skip(row.reason)
    assert (row.verdict, row.reason) == ("pass", "")
    assert row.largest_difference <= case.tolerance


@pytest.mark.r
def test_equals_r_which_gives_what_is_stored(case: Once, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = list(runner.live_results(case))
    monkeypatch.setattr(runner, "live_results", lambda _: fresh)
    (row,) = run(source="live", cases=[case])
    assert (row.verdict, row.reason) == ("pass", "")
    assert row.largest_difference <= case.tolerance
    stored = expected.load(case)
    if stored.long_double_bits == expected.LONG_DOUBLE_BITS:
        for first, second in zip(fresh, stored.results, strict=True):
            np.testing.assert_array_equal(first, second)


def test_arguments_are_reproducible_and_unchanged(case: Once) -> None:
    (again,) = (own for own in CASES if own.id == case.id)
    assert len([case.python(cell) for cell in case.cells()]) == len(case.seeds) * len(case.shapes)
    assert expected.arguments_hash(case) == expected.arguments_hash(again)


@pytest.mark.r
def test_a_refresh_stores_each_script_s_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one case each: the others' results are compared above."""
    chosen = {own.script: own for own in CASES}
    monkeypatch.setattr(refresh, "CASES", tuple(chosen.values()))
    assert {path.name for path in refresh.refresh(tmp_path)} == {f"{name}.json" for name in chosen}
    for own in chosen.values():
        fresh, stored = expected.load(own, tmp_path), expected.load(own)
        if fresh.long_double_bits != stored.long_double_bits:
            pytest.skip("The stored results come from a machine with another long double.")
        for first, second in zip(fresh.results, stored.results, strict=True):
            np.testing.assert_array_equal(first, second)


def test_ids_are_unique_and_quantities_many() -> None:
    ids = [case.id for case in CASES]
    assert len(set(ids)) == len(ids)
    assert len(ids) >= 16


def test_every_reference_function_of_a_case_exists() -> None:
    for case in CASES:
        text = (_resources.folder("r_reference") / f"{case.script}.R").read_text("utf-8")
        assert re.search(rf"^{case.r_function} <- function\(", text, re.MULTILINE), case.id


def test_every_reference_has_a_module_and_a_case() -> None:
    scripts = {path.stem for path in _resources.folder("r_reference").glob("*.R")}
    assert {case.script for case in CASES} <= scripts
    rooms = [Path(package.__file__).parent for package in (pyvws, pyvws_studies)]
    modules = {path.stem for room in rooms for path in room.rglob("*.py")}
    functions = {case.python_function.split(":")[1] for case in CASES}
    assert {PARTS.get(case.script, case.script) for case in CASES} <= modules | functions


def test_every_function_of_a_compared_module_is_compared() -> None:
    compared = {case.python_function for case in CASES}
    modules = {name.split(":")[0] for name in compared if not name.startswith("pyvws_validation")}
    for module in modules:
        loaded = import_module(module)
        functions = {
            f"{module}:{name}"
            for name, found in vars(loaded).items()
            if callable(found) and not isinstance(found, type | GenericAlias)
            if not name.startswith("_") and getattr(found, "__module__", None) == module
        }
        assert functions - WITHIN_OTHERS <= compared, module


def test_hard_arguments_are_among_the_cases() -> None:
    """n = 1, S = 1, ties, zeros, thresholds below 1, weights that clip, values not finite."""
    seen: set[str] = set()
    for case in CASES:
        for cell in case.cells():
            seen |= {f"{len(cell.shape)}d of 1"} if set(cell.shape) == {1} else set()
            for name, value in cell.arguments.items():
                ragged = name in ("synthetic", "datasets", "outcomes", "log_liks")
                array = np.empty(0, dtype=object) if ragged else np.asarray(value)
                if array.dtype == np.float64 and array.ndim:
                    seen |= {"zero"} if (array == 0).any() else set()
                    seen |= {"not finite"} if not np.isfinite(array).all() else set()
                    seen |= {"tie"} if len(np.unique(array)) < array.size else set()
                    seen |= {"negative"} if (array < 0).any() else set()
                if name == "log_lik" and array.shape[0] == 1:
                    seen.add("S = 1")
                if name == "threshold" and value < 1:
                    seen.add("threshold below 1")
                if name == "known" and len(cell.arguments["original"]) > 1 and array.ndim == 1:
                    seen |= {"own patterns"} if len(np.unique(array)) == array.size else set()
            if "c" in cell.arguments and cell.shape[-1] > 10:
                weights = case.python(cell)
                seen |= {"clips at 1"} if (weights == 1).sum() > 1 else set()
                seen |= {"clips at 0"} if (weights == 0).sum() > 1 else set()
    assert seen == {
        *("1d of 1", "2d of 1", "zero", "not finite", "tie", "negative", "S = 1"),
        *("threshold below 1", "own patterns", "clips at 1", "clips at 0"),
    }


@pytest.mark.r
def test_references_work_in_r_alone() -> None:
    lines = [
        f"{path.stem} <- new.env(); sys.source('{path}', {path.stem})"
        for path in sorted(_resources.folder("r_reference").glob("*.R"))
    ]
    code = "; ".join([*lines, "stopifnot(weights$scalar_weights(2, 3, 12) == c(0.25, 0.25))"])
    result = subprocess.run(
        ["Rscript", "--vanilla", "-e", code], capture_output=True, text=True, timeout=120
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
