"""Claims beside computed losses, and errors in what is released: each is planted and seen."""

import dataclasses
import random
from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest
from clamp_mistakes import CLAMP_MISTAKES
from joint_mistakes import JOINT_MISTAKES
from pyvws_validation import runner
from pyvws_validation._privacy_loss import (
    CensoredRuns,
    HistogramRuns,
    SharedDrawRuns,
    StagedRuns,
    TableTargets,
    WholeScoreRuns,
    neighbourhood,
)
from pyvws_validation._stan_case import UNSATURATED
from pyvws_validation._weights_loss import (
    AT_PUBLIC_T,
    AT_SEARCHED_T,
    LEAST_OF_MANY,
    LEAST_OF_SEARCH,
    LOSSES,
    MOST_AT_PUBLIC_T,
    WEIGHTS,
    loss,
    shapes,
)
from pyvws_validation._window_loss import WindowLoss
from pyvws_validation.cases import CASES, MeasuredCase, guarantee, searched
from pyvws_validation.cases.guarantee import ComputedLoss, SampledLoss
from pyvws_validation.report import Row
from release_mistakes import by_least_and_largest, t_of_the_table
from statement_mistakes import (
    PLANTED,
    Wrong,
    at_a_quarter_of_the_scale,
    clamped_at_twice_epsilon,
    half_the_noise,
    squeezed_where_needed,
    windows_times,
)
from table_mistakes import DENSITY, SHIFT, TABLE_MISTAKES, no_shift, windows_wider
from unit_mistakes import UNIT_MISTAKES

from pyvws import Beta, InputError, Logistic
from pyvws._base.phrase import Phrase
from pyvws.auditing.repeats import epsilon_at_least
from pyvws.models.registry import MODELS
from pyvws.models.regression import Regression
from pyvws.statement.words import caveat
from pyvws.synthesis import judged_fits

STATEMENTS = [case for case in CASES if case.script in ("accounting", "window", "several_draws")]
EVERY_EPSILON = [case for case in guarantee.CASES if isinstance(case, ComputedLoss)]
COMPUTED = [dataclasses.replace(case, epsilons=case.epsilons[:1]) for case in EVERY_EPSILON]
WINDOWS = [case for case in guarantee.CASES if isinstance(case, WindowLoss)]
SAMPLED = {case.id: case for case in guarantee.CASES if isinstance(case, SampledLoss)}
CENSORED = SAMPLED["guarantee/tester-censored-normal"]
HISTOGRAM = dataclasses.replace(SAMPLED["guarantee/tester-histogram"], count=600)
TERMS = "pyvws.posterior.pseudo_posterior:table_of_one"
SCALE = "pyvws.mechanisms.histogram.perturbed_histogram:noise_scale"


def plant(monkeypatch: pytest.MonkeyPatch, place: str, wrong: Wrong) -> None:
    module, names = place.split(":")
    *owners, name = names.split(".")
    loaded = import_module(module)
    for owner in owners:
        loaded = getattr(loaded, owner)
    monkeypatch.setattr(loaded, name, wrong(getattr(loaded, name)))


def row_of(case: MeasuredCase) -> Row:
    (row,) = case.rows()
    return row


@pytest.mark.parametrize("case", EVERY_EPSILON, ids=lambda case: case.id)
def test_no_claim_is_below_the_computed_loss(case: ComputedLoss) -> None:
    row = row_of(case)
    assert (row.verdict, row.reason) == ("pass", "")
    assert {found.what.split()[0] for found in row.measurements} <= {"leave-one-out", "replace-one"}


def test_every_family_that_can_be_clamped_is_among_them() -> None:
    """And the histogram under both relations, a predictor, runs in steps, and joint losses."""
    runs = [case.runs for case in COMPUTED]
    clamped = {
        (run.model.name, run.clamp, run.in_steps) for run in runs if isinstance(run, CensoredRuns)
    }
    wanted = (("deviance", False), ("deviance", True), ("half", False))
    names = [name for name, model in MODELS.items() if model.cell_terms is not None]
    asked = {(name, *how) for name in names for how in wanted}
    unclamped = {(name, "deviance", how) for name in UNSATURATED for how in (False, True)}
    assert asked - clamped == unclamped
    sloped = [run for run in runs if isinstance(run.bases[0][0], tuple)]
    assert {run.in_steps for run in sloped if isinstance(run, CensoredRuns)} == {False, True}
    scored = {(run.model.name, run.in_steps) for run in runs if isinstance(run, WholeScoreRuns)}
    regressions = {name for name, model in MODELS.items() if isinstance(model, Regression)}
    regressions -= {name for name, _, _ in unclamped}
    assert {(name, False) for name in regressions} | {("normal", True)} <= scored
    shared = {
        (run.draws, run.in_steps, run.datasets > run.draws)
        for run in runs
        if isinstance(run, SharedDrawRuns)
    }
    assert shared == {(1, False, True), (1, True, True), (2, False, True)}
    assert {run.model.name for run in runs if isinstance(run, StagedRuns)} == {"poisson", "normal"}
    tables = {(run.clamp, len(run.models)) for run in runs if isinstance(run, TableTargets)}
    assert tables == {("deviance", 2), ("half", 2)}
    relations = {run.neighbours for run in runs if isinstance(run, HistogramRuns)}
    assert relations == {"replace", "loo"}


def test_a_run_that_is_refused_for_its_data_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release of the one database and none of the other tells them apart."""

    def refused(*_args: object) -> bool:
        raise InputError("Nothing is left to tell.")

    monkeypatch.setattr(judged_fits, "clamps_everything", refused)
    row = row_of(COMPUTED[0])
    assert (row.verdict, row.reason) == ("fail", "Nothing is left to tell.")


def test_the_largest_numbers_leave_a_clamped_density_finite() -> None:
    case = by_id("guarantee/censored-normal")
    assert isinstance(case.runs, CensoredRuns)
    assert {abs(extreme) for extreme in case.runs.extremes} >= {1e300}
    assert all(np.isfinite(found.value) for found in row_of(case).measurements)


def test_weights_found_anew_lose_what_the_caveat_says() -> None:
    """The figures of the caveat, each within a factor 1.1; with the weights held there are none."""
    said = caveat(Phrase("weights"))
    found = [one.value for one in row_of(WEIGHTS).measurements if one.what.startswith("loss")]
    stated = [figure for losses in LOSSES.values() for figure in losses]
    assert row_of(WEIGHTS).verdict == "pass"
    for lost, figure in zip(found, stated, strict=True):
        assert figure / 1.1 < lost < 1.1 * figure
        assert f"{figure:,.0f}" in said
    one, epsilon = shapes((500, 499, 1))
    none, epsilon_without = shapes((500, 499, 0))
    assert (epsilon, epsilon_without) == (17.6, 1.3)
    held = one - np.array([0.0, 0.0, 0.5])  # Its own record alone leaves.
    assert loss(one, held) < 2.0 < 40.0 < loss(one, none)


def test_weights_at_a_public_t_lose_little_and_at_a_searched_t_much() -> None:
    """The figures of both caveats; a map by the least and the largest bound is seen."""
    said = caveat(Phrase("public-t", {"t": 2.0}))
    assert f"{MOST_AT_PUBLIC_T:g} nats" in said
    assert f"over {LEAST_OF_MANY:g}" in said
    assert [row_of(case).verdict for case in (*AT_PUBLIC_T, AT_SEARCHED_T)] == ["pass"] * 5
    searched = caveat(Phrase("searched-t"))
    assert all(f"{least:,.0f}" in searched for least in LEAST_OF_SEARCH.values())


@pytest.mark.parametrize("wrong", [by_least_and_largest, t_of_the_table])
def test_a_map_that_one_record_moves_is_seen(monkeypatch: pytest.MonkeyPatch, wrong: Wrong) -> None:
    plant(monkeypatch, "pyvws.mechanisms.inverse_weighted:inverse_weights", wrong)
    few = [dataclasses.replace(case, said={1_000: case.said[1_000]}) for case in AT_PUBLIC_T[:2]]
    assert [row_of(case).verdict for case in few] == ["fail"] * 2


@pytest.mark.parametrize("case", [CENSORED, HISTOGRAM, *WINDOWS], ids=lambda case: case.id)
def test_no_claim_is_below_what_releases_show(case: MeasuredCase) -> None:
    row = row_of(case)
    assert (row.verdict, row.reason) == ("pass", "")


def test_every_run_of_a_tester_has_a_seed_of_its_own() -> None:
    few = dataclasses.replace(CENSORED, count=8)
    assert row_of(few).seeds != row_of(few).seeds


@pytest.mark.parametrize(
    ("case", "place", "wrong"),
    [
        # Errors so large that few releases show them, whatever their seed.
        (CENSORED, TERMS, clamped_at_twice_epsilon),
        (HISTOGRAM, "pyvws.privacy.seller:add_discrete_laplace", at_a_quarter_of_the_scale),
        *((case, SCALE, half_the_noise) for case in COMPUTED if "histogram" in case.id),
    ],
    ids=lambda value: getattr(value, "id", ""),
)
def test_too_little_noise_or_too_wide_a_clamp_is_seen(
    monkeypatch: pytest.MonkeyPatch, case: MeasuredCase, place: str, wrong: Wrong
) -> None:
    plant(monkeypatch, place, wrong)
    row = row_of(case)
    assert row.verdict == "fail"
    assert any(found.value > found.high for found in row.measurements)


def by_id(name: str) -> ComputedLoss:
    (case,) = (case for case in COMPUTED if case.id == name)
    return case


def refused(row: Row) -> bool:
    return row.reason.endswith("Report this as a defect of pyvws.")


def exceeding(case: ComputedLoss) -> Row:
    """The row of the first database that shows a loss above its claim, or else of the last."""
    for base in case.runs.bases:
        row = row_of(dataclasses.replace(case, runs=dataclasses.replace(case.runs, bases=(base,))))
        if any(loss.value > loss.high for loss in row.measurements):
            break
    return row


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # Scores that wrap overflow elsewhere too.
@pytest.mark.parametrize(
    ("place", "wrong", "row"),
    [
        pytest.param(*mistake, id=f"{what} {mistake[-1]}")
        for what, *mistake in (*CLAMP_MISTAKES, *JOINT_MISTAKES, *TABLE_MISTAKES, *UNIT_MISTAKES)
    ],
)
def test_an_error_that_costs_more_than_the_claim_is_seen(
    monkeypatch: pytest.MonkeyPatch, place: str, wrong: Wrong, row: str
) -> None:
    plant(monkeypatch, place, wrong)
    found = exceeding(by_id(row))
    assert found.verdict == "fail"
    # The seller of measurements refuses what has no price, before any loss is computed.
    assert any(loss.value > loss.high for loss in found.measurements) or refused(found)


@pytest.mark.parametrize("row", ["deviance-poisson", "deviance-normal-mixture", "censored-normal"])
def test_epsilon_that_is_paid_twice_is_seen(monkeypatch: pytest.MonkeyPatch, row: str) -> None:
    """No loss is above its claim, and none is near it."""
    plant(monkeypatch, TERMS, windows_times(0.5))
    found = row_of(by_id(f"guarantee/{row}"))
    assert found.verdict == "fail"
    assert all(loss.value < 0.6 * loss.high for loss in found.measurements)


@pytest.mark.parametrize(
    ("place", "wrong"), [(SHIFT, no_shift), (DENSITY, windows_wider(0.5))], ids=["shift", "half"]
)
def test_a_table_that_pays_for_more_than_it_keeps_is_seen(
    monkeypatch: pytest.MonkeyPatch, place: str, wrong: Wrong
) -> None:
    """Without its shift a count in the thousands is clamped wherever it lies."""
    case = by_id("guarantee/table-deviance-poisson-normal")
    counts = ((1000.0, 2.0), (1000.0, 700.0), (2.0**53, 2.0))
    many = dataclasses.replace(case.runs, bases=(counts[:1] * 12,), extremes=counts)
    case = dataclasses.replace(case, runs=many)
    assert row_of(case).verdict == "pass"
    plant(monkeypatch, place, wrong)
    found = row_of(case)
    assert found.verdict == "fail"
    assert all(loss.value <= loss.high for loss in found.measurements)


def test_a_squeeze_that_depends_on_the_data_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Beta, "encode", squeezed_where_needed(Beta.encode))
    row = row_of(by_id("guarantee/censored-beta"))
    assert row.verdict == "fail"
    assert all(found.value > 10.0 * found.high for found in row.measurements)


def test_neighbours_that_are_told_other_words_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a word that is not strict."""
    case = by_id("guarantee/deviance-logistic")
    for depends, reason in (
        (lambda model: True, "The claim is not strict"),
        (lambda model: _ANY.random() < 0.4, "Neighbouring databases are told different words"),
    ):
        monkeypatch.setattr(Logistic, "prepared_from_data", property(depends), raising=False)
        row = row_of(case)
        assert row.verdict == "fail"
        assert row.reason.startswith(reason)


_ANY = random.Random(5)


def statements() -> Iterator[Row]:
    """The rows of level "statement", with R's stored results, each when it is asked for."""
    for case in reversed(STATEMENTS):  # The quickest come last, and see errors first.
        yield from runner.run(source="cached", cases=[case])
    yield from (row_of(case) for case in searched.CASES)


def test_what_is_released_passes_without_an_error() -> None:
    assert {row.verdict for row in statements()} <= {"pass", "skipped"}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_in_what_is_released_is_seen(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """No row is computed after the first that fails."""
    for place, wrong in PLANTED[name]:
        plant(monkeypatch, place, wrong)
    failed = next((row for row in statements() if row.verdict == "fail"), None)
    assert failed is not None
    assert " raised " not in failed.reason
    assert runner.exit_code([failed]) == 1


def test_neighbours_have_a_record_fewer_or_an_extreme_one_more() -> None:
    fewer, more = neighbourhood((1.0, 1.0, 2.0), (0.0, 9.0))
    assert fewer == [(1.0, 1.0), (1.0, 2.0)]
    assert more == [(1.0, 1.0, 2.0, 0.0), (1.0, 1.0, 2.0, 9.0)]
    assert neighbourhood((1.0, 2.0), (0.0,))[0] == []


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_tester_finds_most_of_what_randomized_response_leaks(epsilon: float) -> None:
    """A bit that is kept with probability e^epsilon / (1 + e^epsilon)."""
    rng = np.random.default_rng(int(10 * epsilon))
    keep = 1.0 / (1.0 + np.exp(-epsilon))
    zero = (rng.random(20_000) > keep).astype(float)
    one = (rng.random(20_000) < keep).astype(float)
    found = epsilon_at_least(zero, one, failure=1e-6)
    assert 0.6 * epsilon < found <= epsilon
    assert epsilon_at_least(zero, zero, failure=1e-6) == 0.0


def test_all_levels_run_from_the_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without R too: the losses need none, and statements have stored results."""
    monkeypatch.setattr(runner, "CASES", STATEMENTS[:1])
    monkeypatch.setattr(runner, "measured_cases", lambda: (COMPUTED[0], searched.CASES[0]))
    (row,) = runner.run(["guarantee"], "cached")
    assert row.id == COMPUTED[0].id
    found = [STATEMENTS[0].id, COMPUTED[0].id, searched.CASES[0].id]
    assert [row.id for row in runner.run(source="cached")] == found
    assert [row.id for row in runner.run(["statement", "guarantee"], "cached")] == found
