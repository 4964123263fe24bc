"""The privacy statement: rounding up, totals, what is claimed and what is said."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from statements import facts_of, statement

from pyvws._base.phrase import Phrase
from pyvws.commands.output import tell_release
from pyvws.statement.accounting import growth_per_doubling
from pyvws.statement.parts import by_neighbours, certified, figure, rounded_up
from pyvws.statement.words import CAVEATS, NOT_COVERED, caveat

many = settings(max_examples=300, derandomize=True)


IN_DOLLARS = Phrase("dollars", words="The bound is in dollars.")
ODD = Phrase("own", words="Weights are {odd}.")


def words_of(made, exact=False):
    return [caveat(said) for said in made.caveats(exact=exact)]


def test_by_hand():
    made = statement()
    assert made.epsilon_per_dataset == 6.62
    assert made.epsilon_total == 20 * 6.62
    released = made.released()
    assert released["lipschitz_bound"] == 3.4
    assert released["epsilon_per_dataset"] == 6.7
    assert released["epsilon_total"] == 132.5  # of the exact total 132.4, not of 20 x 6.7
    exact = made.exact()
    assert exact["lipschitz_bound"] == 3.31
    rounded = (
        *("lipschitz_bound", "epsilon_per_dataset", "epsilon_total", "ledger"),
        "epsilon_by_neighbours",
    )
    assert {k: v for k, v in exact.items() if k not in rounded} == {
        k: v for k, v in released.items() if k not in rounded
    }
    assert exact["neighbours"] == "leave-one-out"
    assert released["epsilon_by_neighbours"] == {
        "leave-one-out": {"per_dataset": 6.7, "total": 132.5},
        "replace-one": {"per_dataset": 13.3, "total": 264.9},  # of 13.24 and 264.8
    }
    assert released["certified"] is exact["certified"] is None


def test_an_exact_number_of_records_certifies_replacement():
    strict = {"mechanism": "censored", "enforced": True, "data_weights": False}
    strict |= {"lipschitz_bound": 1.51, "datasets": 2}
    assert statement(**strict).released()["certified"] == {
        "neighbours": "replace-one", "epsilon_per_dataset": 6.1, "epsilon_total": 12.1
    }  # fmt: skip
    public = statement(**strict, records="public")
    assert public.released()["certified"] == {
        "neighbours": "leave-one-out", "epsilon_per_dataset": 3.1, "epsilon_total": 6.1
    }  # fmt: skip
    noisy = statement(**strict, records="noisy", records_epsilon=0.25).exact()
    assert noisy["certified"] == {
        "neighbours": "leave-one-out", "epsilon_per_dataset": 3.27, "epsilon_total": 6.29
    }  # fmt: skip
    assert noisy["epsilon_per_dataset"] == 3.02
    assert noisy["epsilon_total"] == 6.29
    assert [entry["epsilon"] for entry in noisy["ledger"]] == [6.04, 0.25]
    replaced = noisy["epsilon_by_neighbours"]["replace-one"]
    assert (replaced["per_dataset"], replaced["total"]) == (6.04, 12.08)


def test_the_ledger_lists_every_use_and_what_it_costs():
    fits = {"unweighted": 1, "LW": 3}
    uses = tuple(Phrase("fit", {"label": label, "number": n}) for label, n in fits.items())
    made = statement(uses=uses)
    ledger = made.released()["ledger"]
    assert [(entry["use"], entry["epsilon"]) for entry in ledger] == [
        ("fit 'unweighted'", "not accounted"),
        ("fit 'LW', 3 times", "not accounted"),
        ("20 synthetic datasets, one posterior draw each", 132.5),
    ]
    assert [entry["key"] for entry in ledger] == ["fit", "fit", "datasets"]
    assert ledger[1]["values"] == {"label": "LW", "number": 3}
    assert made.exact()["ledger"][-1]["epsilon"] == made.epsilon_total


def test_several_datasets_of_a_draw_cost_what_the_draw_costs():
    made = statement(datasets=20, draws_per_release=1, records="noisy", records_epsilon=0.25)
    exact, released = made.exact(), made.released()
    assert (exact["epsilon_per_dataset"], exact["epsilon_total"]) == (6.62, 6.87)
    assert released["epsilon_by_neighbours"] == {
        "leave-one-out": {"per_dataset": 6.9, "total": 6.9},
        "replace-one": {"per_dataset": 13.3, "total": 13.3},
    }
    assert [entry["epsilon"] for entry in exact["ledger"]] == [6.62, 0.25]
    assert exact["ledger"][0]["use"] == "20 synthetic datasets, all of one posterior draw"
    two = statement(datasets=3, draws_per_release=2, enforced=True, data_weights=False).exact()
    assert two["certified"]["epsilon_total"] == 2 * two["certified"]["epsilon_per_dataset"]
    assert two["epsilon_total"] == two["ledger"][0]["epsilon"] == 13.24
    assert two["ledger"][0]["use"] == "3 synthetic datasets, of 2 posterior draws"
    assert two["draw_of_dataset"] == [1, 2, 1]
    alone = statement(datasets=1)
    assert alone.ledger()[0].written(False)["use"] == "1 synthetic dataset, one posterior draw each"
    assert statement(draws_per_release=20).exact() == statement().exact()


def test_a_strict_statement_names_what_it_relies_on_by_key():
    made = statement(
        enforced=True,
        data_weights=False,
        lipschitz_bound=1.5,
        clamp="deviance",
        weights_source="staged",
        stage_epsilon=0.5,
        engine="grid",
        exact_draws=True,
        public_settings={"range": (0.0, 5.0), "largest_kappa": 30.0, "records": 40},
        records="public",
        datasets=2,
        columns_released_unchanged=("age",),
    )
    released = made.released()
    assert released["relies_on"] == {
        "neighbours": "leave-one-out",
        "clamp": {"kind": "deviance", "epsilon": 3.0},
        "weights": {"source": "staged", "epsilon": 0.5},
        "sampler": {"engine": "grid", "draws": "exact"},
        "public_settings": {"range": [0.0, 5.0], "largest_kappa": 30.0, "records": 40},
        "not_covered": ["public-settings", "other-releases", "domain", "unchanged"],
    }
    assert released["certified"] == {
        "neighbours": "leave-one-out", "epsilon_per_dataset": 3.5, "epsilon_total": 6.5
    }  # fmt: skip
    replaced = released["epsilon_by_neighbours"]["replace-one"]
    assert (replaced["per_dataset"], replaced["total"]) == (7.0, 13.0)
    unclamped = statement(engine="native").released()["relies_on"]
    assert unclamped["clamp"] is None
    assert unclamped["weights"]["source"] == "table"
    assert {"weights", "figures", "estimated"} <= set(unclamped["not_covered"])


def test_what_is_not_covered_is_a_caveat_that_can_be_said():
    assert set(NOT_COVERED) <= set(CAVEATS)
    assert len(set(NOT_COVERED.values())) == len(NOT_COVERED)


def test_growth_is_the_largest_over_that_of_a_random_half():
    rng = np.random.default_rng(1)
    by_draw = rng.gumbel(size=400)
    halves = [rng.permutation(by_draw)[:200].max() for _ in range(20_000)]
    error = np.std(halves) / np.sqrt(len(halves))
    assert abs(growth_per_doubling(by_draw) - (by_draw.max() - np.mean(halves))) < 5 * error + 0.01
    assert growth_per_doubling(np.full(5, 3.0)) == 0.0
    assert growth_per_doubling(np.array([1.0, math.inf])) == math.inf


@given(st.floats(0, 1e308))
@example(0.1)
@example(0.30000000000000004)
@example(2.5)
@example(1e30)
@example(5e-324)
@many
def test_rounds_up_to_a_tenth_and_never_down(value):
    found = rounded_up(value)
    assert found >= value
    nearest = Fraction(round(Fraction(found) * 10), 10)
    assert found == float(nearest)  # one decimal
    below = nearest - Fraction(1, 10)
    assert below < Fraction(value)  # no tenth to spare


@given(st.lists(st.floats(0, allow_infinity=True), min_size=4, max_size=4), st.booleans())
@many
def test_figures_are_written_alike(epsilons, round_up):
    left_out, replaced = tuple(epsilons[:2]), tuple(epsilons[2:])
    expected = [rounded_up(v) if round_up or math.isinf(v) else v for v in epsilons]
    assert [figure(v, round_up) for v in epsilons] == expected
    written = by_neighbours(left_out, replaced, round_up)
    assert [list(figures.values()) for figures in written.values()] == [expected[:2], expected[2:]]
    assert list(certified("replace-one", replaced, round_up).values())[1:] == expected[2:]


def test_rounding_leaves_tenths_and_refuses_what_is_not_finite():
    assert [rounded_up(v) for v in (0.0, 0.5, 3.0, 3.01)] == [0.0, 0.5, 3.0, 3.1]
    assert [rounded_up(v) for v in (math.inf, math.nan, -math.inf)] == [None] * 3


@given(st.floats(0.001, 1e6), st.integers(1, 100))
@many
def test_released_totals_cover_the_exact_ones(bound, datasets):
    made = statement(lipschitz_bound=bound, datasets=datasets)
    exact, released = made.exact(), made.released()
    for name in ("lipschitz_bound", "epsilon_per_dataset", "epsilon_total"):
        assert exact[name] <= released[name] <= exact[name] + 0.1 + 1e-9 * exact[name]
    assert exact["epsilon_total"] == datasets * exact["epsilon_per_dataset"]
    for name, times in (("leave-one-out", 1), ("replace-one", 2)):
        figures = exact["epsilon_by_neighbours"][name]
        assert figures["per_dataset"] == times * exact["epsilon_per_dataset"]
        assert figures["total"] == datasets * figures["per_dataset"]
        for form, exactly in figures.items():
            above = released["epsilon_by_neighbours"][name][form]
            assert exactly <= above <= exactly + 0.1 + 1e-9 * exactly
    assert exact["epsilon_per_dataset"] == 2 * bound


@pytest.mark.parametrize(
    ("changes", "guarantee"),
    [
        ({}, "asymptotic-dp"),
        ({"mechanism": "cw"}, "asymptotic-dp"),
        ({"mechanism": "sw"}, "asymptotic-dp"),
        ({"reweighted": True, "searched": True}, "asymptotic-dp"),
        ({"claim": "none"}, "none"),
        ({"claim": "none", "enforced": True, "data_weights": False}, "none"),
        *(
            ({"unchecked": (own,), "enforced": True, "data_weights": False}, "asymptotic-dp")
            for own in ("mechanism", "model", "engine")
        ),
        ({"downweights": False}, "none"),
        ({"mechanism": "cw", "downweights": False}, "none"),
        ({"enforced": True, "data_weights": False, "downweights": False}, "dp"),
        ({"threshold": 0.999}, "none"),
        ({"lipschitz_bound": math.inf}, "none"),
        ({"lipschitz_bound": math.nan}, "none"),
        ({"reads_outcome": True}, "none"),
        ({"mechanism": "censored", "enforced": True}, "asymptotic-dp"),
        ({"mechanism": "censored", "enforced": True, "data_weights": False}, "dp"),
        ({"enforced": True, "data_weights": False, "reads_outcome": True}, "none"),
        ({"enforced": True, "data_weights": False, "prepared_from_data": True}, "asymptotic-dp"),
        *(
            ({"enforced": True, "data_weights": False, "accepts_unconverged": True, **more}, "none")
            for more in ({}, {"proposed": True}, {"compared": True}, {"unchecked": ("engine",)})
        ),
        ({"mechanism": "weighted-epsilon", "target": 5.0}, "asymptotic-dp"),
    ],
)
def test_what_is_claimed(changes, guarantee):
    assert statement(**changes).guarantee == guarantee
    assert statement(**changes).released()["guarantee"] == guarantee


def test_the_terminal_says_that_a_claim_rests_on_a_signature(capsys):
    for looked in ({}, {"schema_was_proposed": True}):
        privacy = statement(public_settings=looked).released()
        tell_release(privacy, Path("out"), [], quiet=False, as_json=False)
        assert ("signed" in capsys.readouterr().out) == bool(looked)


def test_a_confirmed_figure_that_exceeds_its_target_is_said_to_be_possible():
    made = statement(confirmed=True, target=5.0)
    assert made.epsilon_per_dataset > made.bound.target
    said = " ".join(words_of(made))
    assert "exceed the stated figure" in said
    assert "few exceed the target" in said


def test_a_strict_claim_refuses_no_more_copies_than_are_found():
    # A list of the outcome, or a sum of money as text, holds it too, and passes.
    strict = statement(mechanism="censored", enforced=True, data_weights=False)
    (domain,) = [said for said in words_of(strict) if "model admit" in said]
    assert "a released column or the reference equals" in domain


def test_the_seed_is_assumed_to_be_safe_in_all_that_shows_its_numbers():
    assumed = " ".join(statement().released()["trust_assumptions"])
    assert "assumed that nobody can work it out from the release" in assumed


# Each caveat, and when a reader has to know it.
WHEN = {
    "leave-one-out": lambda _: True,
    "estimated": lambda made: not made.enforced,
    "enforced": lambda made: made.enforced,
    "as-if-exact": lambda made: made.enforced and not made.exact_draws,
    "exact-draws": lambda made: made.enforced and made.exact_draws,
    "public-settings": lambda made: made.guarantee == "dp",
    "weights": lambda made: made.data_weights,
    "composition": lambda made: made.draws_released == made.datasets,
    "composition-of-draws": lambda made: made.draws_released < made.datasets,
    "one-draw": lambda made: made.draws_per_release == 1,
    "few-draws": lambda made: 2 <= made.draws_released < made.datasets,
    "other-releases": lambda _: True,
    "figures": lambda made: not made.enforced,
    "convergence": lambda made: made.enforced and made.guarantee != "dp" and not made.exact_draws,
    "converged": lambda made: made.guarantee == "dp" and not made.exact_draws,
    "accepts-unconverged": lambda made: made.accepts_unconverged,
    "domain": lambda made: made.guarantee == "dp",
    "short-seed": lambda made: made.short_seed and not made.exact_draws,
    "short-seed-of-rows": lambda made: made.short_seed and made.exact_draws,
    "rounded-figures": lambda _: True,
    "records": lambda made: made.records == "exact",
    "public-records": lambda made: made.records == "public",
    "noisy-records": lambda made: made.records == "noisy",
    "certified-for-replacement": lambda made: made.guarantee == "dp" and made.records == "exact",
    "certified-for-deletion": lambda made: made.guarantee == "dp" and made.records != "exact",
    "prepared": lambda made: made.prepared_from_data,
    "growth": lambda made: made.growth > 0 and not made.enforced,
    "unchanged": lambda made: len(made.columns_released_unchanged) > 0,
    "kept-order": lambda made: made.keep_order,
    "systematic": lambda made: "sampling" in made.public_settings,
    "searched": lambda made: made.searched,
    "confirmed": lambda made: made.confirmed,
    "chosen": lambda made: made.searched and not made.confirmed and not made.enforced,
    "unweighted": lambda made: not (made.enforced or made.downweights),
    "unchecked-mechanism": lambda made: "mechanism" in made.unchecked,
    "unchecked-model": lambda made: "model" in made.unchecked,
    "unchecked-engine": lambda made: "engine" in made.unchecked,
    "above-target": lambda made: made.target is not None and made.target < made.lipschitz_bound * 2,
    "shift": lambda made: "shift" in made.of_search,
    "room": lambda made: "room" in made.of_search,
    "reweighted-below": lambda made: "reweighted-below" in made.of_search,
    "own-program": lambda made: made.own_program == "own-program",
    "unchecked-program": lambda made: made.own_program == "unchecked-program",
    "reads-outcome": lambda made: made.reads_outcome,
    "threshold": lambda made: made.threshold != 1 and not made.enforced,
    "rounded": lambda made: made.rounded,
    "problems": lambda made: made.problems != () and not made.enforced,
    "problems-of-draws": lambda made: made.problems != () and made.enforced,
}
any_facts = st.fixed_dictionaries(
    {
        "claim": st.sampled_from(["none", "asymptotic-dp", "dp"]),
        "unchecked": st.sampled_from([(), ("mechanism",), ("mechanism", "model"), ("engine",)]),
        "lipschitz_bound": st.sampled_from([2.5, 3.0, math.inf]),
        "target": st.sampled_from([None, 5.0, 6.0]),
        "of_search": st.sampled_from([(), ("shift",), ("room", "reweighted-below")]),
        "growth": st.sampled_from([0.0, 0.25, math.inf]),
        "threshold": st.sampled_from([1.0, 0.9]),
        "datasets": st.integers(3, 4),
        "draws_per_release": st.sampled_from([None, 1, 2, 3]),
        "records": st.sampled_from(["exact", "public"]),
        "own_program": st.sampled_from(["", "own-program", "unchecked-program"]),
        "columns_released_unchanged": st.sampled_from([(), ("age",)]),
        "brought": st.sampled_from([(), (ODD, Phrase("no-upper-limit"), IN_DOLLARS)]),
        "problems": st.sampled_from([(), ("LW: R-hat is high.",)]),
        "public_settings": st.sampled_from([{}, {"sampling": "systematic"}]),
        **{
            name: st.booleans()
            for name in (
                *("searched", "enforced", "data_weights", "prepared_from_data", "downweights"),
                *("rounded", "reads_outcome", "short_seed", "confirmed", "keep_order"),
                *("accepts_unconverged", "exact_draws"),
            )
        },
    }
)


@given(any_facts)
@many
def test_every_caveat_is_said_just_where_it_applies(facts):
    made = statement(**facts)
    own = facts_of(made)
    for exact in (False, True):
        detail = "LW: R-hat is high." if exact else "the agency has the figures."
        words = {"draws": 4000, "threshold": own.threshold, "problems": detail}
        said = [CAVEATS[key].format(**words) for key in WHEN if WHEN[key](own)]
        said += [caveat(word) for word in own.brought if not own.enforced or word.words]
        written = made.exact() if exact else made.released()
        assert sorted(written["caveats"]) == sorted(said)
        assert words_of(made, exact=exact) == written["caveats"]
        assert written["caveat_keys"] == [of.written() for of in made.caveats(exact=exact)]
        keys = [of["key"] for of in written["caveat_keys"]]
        assert (keys[0] == "weights") == own.data_weights
        assert written["relies_on"]["not_covered"] == [key for key in keys if key in NOT_COVERED]
        claimed = written["certified"] or written
        assert written["relies_on"]["neighbours"] == claimed["neighbours"]
        assert (written["relies_on"]["clamp"] is not None) == own.enforced


@pytest.mark.runs
@given(any_facts)
@many
def test_both_forms_hold_the_figures_that_there_are(facts):
    made = statement(**facts)
    own = facts_of(made)
    finite = math.isfinite(own.lipschitz_bound)
    for written, form in ((made.exact(), float), (made.released(), rounded_up)):
        json.dumps(written, allow_nan=False)
        draws = own.draws_per_release or made.datasets
        total = form(2 * draws * own.lipschitz_bound) if finite else None
        assert written["draws_released"] == draws == len(set(written["draw_of_dataset"]))
        assert written["epsilon_total"] == written["ledger"][-1]["epsilon"] == total
        known = math.isfinite(own.growth) and not own.enforced
        assert written["bound_growth_per_doubling"] == (form(own.growth) if known else None)
        assert (written["certified"] is None) == (made.guarantee != "dp")
        assert written["number_of_rows"] == own.records
        assert written["bound_is"] == ("enforced" if own.enforced else "estimated")
        assert written["ledger"][-1]["use"].startswith(f"{made.datasets} synthetic data")


@given(st.lists(st.integers(0, 640).map(lambda v: v / 64), min_size=1, max_size=80))
@many
def test_growth_is_the_largest_less_its_mean_over_halves(by_draw):
    falling = sorted(by_draw, reverse=True)[:64]
    chances = [Fraction(1, 2 ** (j + 1)) for j in range(len(falling))]
    half = sum(p * Fraction(v) for p, v in zip(chances, falling, strict=True)) / sum(chances)
    found = growth_per_doubling(np.array(by_draw))
    assert found == pytest.approx(float(Fraction(max(by_draw)) - half), rel=1e-12, abs=1e-14)
    assert growth_per_doubling(np.array([*by_draw, np.inf])) == np.inf
