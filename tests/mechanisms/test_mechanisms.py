"""Mechanisms as settings: defaults, what is checked at birth, and lookup by name."""

import dataclasses
import math

import numpy as np
import pytest
from refusals import refused

from pyvws.bounds.lipschitz import LipschitzBounds
from pyvws.errors import InputError
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.count_weighted import CountWeighted, MarginalWeighted, PairwiseWeighted
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.mechanisms.registry import MECHANISMS, make_mechanism
from pyvws.mechanisms.scalar_weighted import ScalarWeighted
from pyvws.mechanisms.unweighted import Unweighted
from pyvws.mechanisms.weighing import WeightedFit
from pyvws.mechanisms.weighted_epsilon import WeightedEpsilon
from pyvws.statement.words import NOT_COVERED

NEEDED = {
    "inverse": {"t": 2.0},
    "weighted-epsilon": {"epsilon": 5.0},
    "censored": {"epsilon": 5.0},
    "perturbed-histogram": {"epsilon": 5.0, "range": (0.0, 1.0)},
    "noisy-counts": {"epsilon": 5.0},
}


def test_names_and_the_papers_defaults():
    plain = {name: kind for name, kind in MECHANISMS.items() if name not in NEEDED}
    assert {name: kind() for name, kind in plain.items()} == {
        "unweighted": Unweighted(),
        "lw": LipschitzWeighted(c=1.0, g=None),  # The papers' 0, where it loses no kind of records.
        "cw": CountWeighted(
            c=1.0, g=0.0, radius=0.2, radius_kind="percentage", known=(), match=None
        ),
        "marginal": MarginalWeighted(c=1.0, g=0.0, radius=0.2),
        "pairwise": PairwiseWeighted(c=1.0, g=0.0, radius=0.2),
        "sw": ScalarWeighted(match="lw"),
    }
    assert make_mechanism("weighted-epsilon", epsilon=5.0) == WeightedEpsilon(epsilon=5.0)
    assert make_mechanism("censored", epsilon=5.0) == Censored(epsilon=5.0, weights="lw")
    assert make_mechanism("perturbed-histogram", epsilon=5.0, range=(0, 1)) == PerturbedHistogram(
        epsilon=5.0, range=(0.0, 1.0), neighbours="replace", noise="secret"
    )
    assert all(kind.name == name for name, kind in MECHANISMS.items())


def test_made_by_name_with_the_settings_that_apply():
    assert make_mechanism("lw", c=0.5, radius=None) == LipschitzWeighted(c=0.5)
    assert make_mechanism("cw", known=["age", "sex"], match=3.5).match == 3.5
    assert make_mechanism("cw", known=["age", "sex"]).known == ("age", "sex")
    assert CountWeighted(known="age").known == ("age",)
    assert make_mechanism("sw", match=2).match == 2.0
    own = ScalarWeighted(match=4)
    assert make_mechanism(own) is own


def test_what_rests_on_the_theorem_says_what_its_condition_is_worth():
    said = {}
    for name, kind in MECHANISMS.items():
        made = kind(**NEEDED.get(name, {}))
        if made.facts.claim == "asymptotic-dp" and not made.facts.clamps:
            said[name] = [caveat.key for caveat in made.facts.caveats]
    by_bound, by_risk = ["not-sparse-by-bound"], ["not-sparse-by-risk"]
    assert said == {
        **dict.fromkeys(("lw", "weighted-epsilon"), by_bound),
        **dict.fromkeys(("cw", "marginal", "pairwise"), by_risk),
        "sw": ["scalar"],
        "inverse": ["inverse-map", "public-t"],
    }
    assert {key for keys in said.values() for key in keys} <= set(NOT_COVERED)
    both = [caveat.key for caveat in LipschitzWeighted(by_column=True).facts.caveats]
    assert both == [*by_bound, "weights-by-column"]
    (_, mapped) = LipschitzWeighted(map="softmax").facts.caveats
    assert (mapped.key, mapped.values["map"]) == ("map-of-bounds", "softmax")
    assert mapped.key in NOT_COVERED


@pytest.mark.parametrize("name", MECHANISMS)
def test_settings_stay_as_they_were_made(name):
    kind = MECHANISMS[name]
    given = NEEDED.get(name, {})
    made = kind(**given)
    assert hash(made) == hash(kind(**given))
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
        made.c = 2.0
    with pytest.raises(TypeError):
        kind(1.0)  # keyword only


@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda: LipschitzWeighted(c=-1), "negative-number"),
        (lambda: LipschitzWeighted(g=math.inf), "not-finite"),
        (lambda: WeightedEpsilon(epsilon=0), "not-above-0"),
        (lambda: Censored(epsilon=5, weights="sw"), "not-a-choice"),
        (lambda: PerturbedHistogram(epsilon=5), "histogram-without-range"),
        (lambda: PerturbedHistogram(epsilon=5, range=(1, 1)), "range-not-numbers"),
        (lambda: CountWeighted(radius=0), "not-above-0"),
        (lambda: CountWeighted(radius_kind="share"), "not-a-choice"),
        (lambda: CountWeighted(match=0), "not-above-0"),
        (lambda: ScalarWeighted(match=math.nan), "not-finite"),
        (lambda: ScalarWeighted(match="cw"), "match-words"),
        (lambda: make_mechanism("laplace"), "not-a-choice"),
        (lambda: make_mechanism(LipschitzWeighted), "not-known-or-instance"),
        (lambda: make_mechanism("cw", c=2.0, match="lw"), "match-and-c"),
        (lambda: make_mechanism("lw", radius=0.2, known=()), "mechanism-unknown-setting"),
        (lambda: make_mechanism("unweighted", c=1.0), "mechanism-unknown-setting"),
    ],
)
def test_bad_settings(call, key):
    with refused(key):
        call()


def test_a_mechanism_without_a_setting_that_it_needs_says_how_to_set_it():
    with pytest.raises(InputError, match=r"needs epsilon. Set it by --epsilon \(epsilon=... in"):
        make_mechanism("censored")


def test_a_confirmed_fit_has_the_larger_bounds_of_each_column_too():
    """What columns cost alone is then never below what they cost together."""

    def fit(*by_column):
        own = np.array(by_column)
        by_record = own.sum(axis=1)
        sizes = LipschitzBounds(
            by_record, np.zeros(3), float(by_record.max()), np.ones(3, np.bool_), own
        )
        return WeightedFit("", np.ones(len(own)), None, sizes, by_record)

    confirmed = fit([1.0, 2.0], [0.5, 0.5]).confirming(fit([3.0, 1.0], [0.1, 0.9]))
    assert confirmed.bounds.by_record.tolist() == [4.0, 1.0]
    assert confirmed.bounds.by_column.tolist() == [[3.0, 2.0], [0.5, 0.9]]
    assert confirmed.bounds.separate.sum() >= confirmed.bounds.epsilon == 8.0
