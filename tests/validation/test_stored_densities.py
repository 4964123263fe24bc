"""Stan's stored answers: they need no Stan, they go stale, and a term left out fails a row."""

import dataclasses
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from pyvws_validation import _stan_answers, _stan_case, expected, runner
from pyvws_validation._stan_answers import StoredStan
from pyvws_validation._stan_case import CLAMPED, SAMPLED, UNSATURATED, StanCase
from pyvws_validation.cases import CASES, density, stan_cases
from pyvws_validation.report import Row

from pyvws.errors import MissingDependencyError
from pyvws.models.registry import MODELS
from pyvws.r import bridge

DENSITIES = [case for case in stan_cases() if case.kind == "density"]
PLACE = expected._place(None) / "stan.json"


def missing(*_: object) -> Any:
    raise MissingDependencyError("Neither R nor Stan is here.")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither R nor Stan."""
    monkeypatch.setattr(_stan_case, "engine_version", missing)
    monkeypatch.setattr(bridge, "SESSION", type("None", (), {"run": staticmethod(missing)})())


def of(model: str) -> list[Row]:
    """The rows of a family at level density, from stored results alone."""
    own = [dataclasses.replace(case, cached=True) for case in DENSITIES if case.model == model]
    against_r = [case for case in CASES if case.id == f"clamp/saturated-{model}"]
    rows = [row for case in own for row in case.rows()]
    return rows + (runner.run(source="cached", cases=against_r) if against_r else [])


@pytest.mark.usefixtures("alone")
def test_level_density_needs_neither_r_nor_stan() -> None:
    rows = runner.run(["density"], "cached")
    assert {(row.verdict, row.reason) for row in rows if row.level == "density"} == {("pass", "")}
    assert len(rows) > len(DENSITIES)
    sources = {row.source.split()[1] for row in rows}
    assert sources == {"R", "pystan", "rstan"}


def test_every_family_has_densities_terms_and_saturated_terms() -> None:
    for engine in ("pystan", "rstan"):
        ids = {case.id.removesuffix(f"-{engine}") for case in DENSITIES if case.engine == engine}
        assert {f"density/{name}" for name in SAMPLED} <= ids
        kinds = {"half": "censored", "deviance": "deviance"}
        assert {f"{kinds[kind]}-density/{name}" for name, kind in CLAMPED} <= ids
    saturated = {case.id.removeprefix("clamp/saturated-") for case in CASES}
    assert set(MODELS) - set(UNSATURATED) <= saturated


# Stale answers


def answers(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """A file of answers, changed."""
    content = json.loads(PLACE.read_text(encoding="utf-8"))
    change(content["cases"])
    (tmp_path / "stan.json").write_text(json.dumps(content), encoding="utf-8")


def row_of(case: StanCase) -> Row:
    (row,) = dataclasses.replace(case, cached=True).rows()
    return row


@pytest.mark.parametrize("folder", ["stan", "r_reference"])
def test_a_changed_program_is_stale(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyvws._base import resources

    real = resources.folder
    place = tmp_path / ("stan" if folder == "r_reference" else "")
    place.mkdir(exist_ok=True)
    for program in real(folder).rglob("poisson.stan"):
        (place / "poisson.stan").write_text(program.read_text("utf-8") + "// more\n", "utf-8")
    monkeypatch.setattr(
        resources, "folder", lambda name: tmp_path if name == folder else real(name)
    )
    engine = "pystan" if folder == "stan" else "rstan"
    case = next(one for one in DENSITIES if one.id == f"density/poisson-{engine}")
    row = row_of(case)
    assert row.verdict == "fail"
    assert row.reason == (f"The Stan program has changed since Stan was asked. {expected.REFRESH}")


def test_another_question_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    real = density.seeded_points
    monkeypatch.setattr(density, "seeded_points", lambda *given: real(*given) + 1e-6)
    row = row_of(density.CASES[0])
    assert row.verdict == "fail"
    assert "data or points have changed" in row.reason


def test_last_bits_of_another_processor_are_no_other_question() -> None:
    data = {"n": 3, "y": np.array([0.1, 0.2, 0.0]), "shift": np.zeros(3)}
    near = data | {"y": np.nextafter(data["y"], -1.0), "shift": np.ones(3)}
    points = np.zeros((1, 2))
    digests = {_stan_answers._question_digest(one, points) for one in (data, near)}
    assert len(digests) == 1


def test_an_absent_answer_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = density.CASES[0]
    answers(tmp_path, lambda cases: cases.pop(case.id))
    monkeypatch.setattr(
        _stan_case, "StoredStan", lambda name, engine: StoredStan(name, engine, tmp_path)
    )
    row = row_of(case)
    assert (row.verdict, row.reason) == (
        "fail",
        f"No answer of Stan is stored for this case. {expected.REFRESH}",
    )


# A term left out

_MODELS = "pyvws.models."
# The family, the function, the text that goes, and what comes for it.
LEFT_OUT: tuple[tuple[str, str, str, str], ...] = (
    ("poisson", "poisson:_records", " - log_factorial[c]", ""),
    ("poisson", "poisson:_weighted", "total * eta - count * mu", "total * eta"),
    ("poisson", "priors:log_level_prior", "s2 / SCALE_DF)", "s2 / (4.0 * SCALE_DF))"),
    ("poisson", "priors:log_level_prior", "2.0 * LKJ_SHAPE", "1.9 * LKJ_SHAPE"),
    ("poisson", "poisson:highest_poisson", " - math.log(y[c])", ""),
    ("negative-binomial", "negative_binomial:_records", " - log_factorial[v]", ""),
    ("negative-binomial", "negative_binomial:_log_density", "logp += rising", "pass"),
    ("negative-binomial", "negative_binomial:_log_density", "/ _CAUCHY_SCALE", "/ 2.5"),
    ("normal", "normal:_records", "-u - 0.5", "-0.5"),
    ("normal", "normal:_log_density", " - all_weight * u", ""),
    ("normal", "priors:log_half_t", "scale * scale", "1.21 * scale * scale"),
    ("normal", "_outcome_scale:highest_normal", "math.log(smallest_sd)", "0.0"),
    ("truncated-normal", "truncated_normal:_row", "(high - eta) / sigma", "1e9"),
    ("gamma", "gamma:_log_density", "all_weight * gap + shape * fit", "shape * fit"),
    ("gamma", "gamma:_records", "gap + shape * (d - excess)", "shape * (d - excess)"),
    ("gamma", "gamma:Gamma.saturated", "gap - np.log(cells.outcome)", "gap + 0 * cells.outcome"),
    ("logistic", "logistic:_log_density", "logp += zeros[r] * log_zero", "pass"),
    ("logistic", "logistic:_records", "sign * eta", "eta"),
    ("logistic", "model:Family.saturated", "np.zeros", "np.ones"),
    ("ordinal", "ordinal:_log_density", "logp += level_weight[j] * inner[j]", "pass"),
    ("ordinal", "ordinal:_records", "value + inner[j]", "value"),
    ("nominal", "_nominal_kernels:log_density", "logp -= total[r] * height", "pass"),
    ("nominal", "_nominal_kernels:log_density", "logp += linear[i] * q[i]", "pass"),
    ("nominal", "_nominal_kernels:log_density", "top[a] + top[b]", "top[a]"),
    ("nominal", "_nominal_kernels:_fill_etas", "here[level] + x", "here[level] - x"),
    ("nominal", "_special_functions:exponentials", "1.0 / 6.0", "1.0 / 6.01"),
    ("nominal", "_nominal_kernels:log_likelihood", " - height[r]", ""),
    ("nominal", "_nominal_kernels:_log_normal_prior", "1.0 / (sd * sd)", "1.0 / sd"),
    ("beta", "beta:_row", "gap_a + gap_b - whole[0]", "gap_a + gap_b"),
    ("beta", "beta:_best_logit", "0.5 * (low + high))", "logit_v)"),
    ("normal-mixture", "normal_mixture:_records", " - math.log(sigma[c])", ""),
    ("normal-mixture", "normal_mixture:_add_terms", " + math.log(inverse[c])", ""),
    ("normal-mixture", "normal_mixture:_log_sizes_prior", "-C * constant", "0.0"),
)


def _modules() -> Iterator[Any]:
    return (module for name, module in list(sys.modules.items()) if name.startswith("pyvws."))


@pytest.fixture
def in_python(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    """Every kernel as Python runs it, so that no edit is compiled; and a maker of one edit."""

    def everywhere(changed: Callable[[Any], Any]) -> None:
        """Exchange functions in modules and in families, where `changed` is not None."""
        for module in _modules():
            for name, held in list(vars(module).items()):
                if (new := changed(held)) is not None:
                    monkeypatch.setattr(module, name, new)
        families = {base for model in MODELS.values() for base in type(model).__mro__}
        for family in families - {object}:
            for name, held in list(vars(family).items()):
                own = held.__func__ if isinstance(held, staticmethod) else held
                if (new := changed(own)) is not None:
                    made = staticmethod(new) if isinstance(held, staticmethod) else new
                    monkeypatch.setattr(family, name, made)

    everywhere(lambda held: held.py_func if type(held).__name__ == "_Kernel" else None)

    def edit(place: str, old: str, new: str) -> None:
        module_name, _, name = place.partition(":")
        module = import_module(_MODELS + module_name)
        owner, _, method = name.rpartition(".")
        right = getattr(getattr(module, owner) if owner else module, method)
        text = dedent(inspect.getsource(right))
        text = text[text.index("def ") :]
        assert text.count(old) >= 1
        made: dict[str, Any] = {}
        exec(compile(text.replace(old, new), place, "exec"), vars(module), made)
        everywhere(lambda held: made[method] if held is right else None)

    return edit


def test_no_row_fails_in_python_without_an_edit(in_python: Any) -> None:
    with np.errstate(all="ignore"):
        assert {row.verdict for row in of("normal") + of("nominal")} == {"pass"}


@pytest.mark.parametrize(
    ("model", "place", "old", "new"),
    LEFT_OUT,
    ids=[f"{place}-{place_of}" for place_of, (_, place, _, _) in enumerate(LEFT_OUT)],
)
def test_a_term_left_out_fails_a_row(
    model: str, place: str, old: str, new: str, in_python: Any
) -> None:
    in_python(place, old, new)
    with np.errstate(all="ignore"):
        failed = [row.reason for row in of(model) if row.verdict == "fail"]
    assert failed
    assert not [reason for reason in failed if expected.REFRESH in reason]  # None is stale.
