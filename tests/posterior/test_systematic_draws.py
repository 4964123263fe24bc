"""Systematic draws: each value's own law, counts near what a draw expects, one number a record."""

from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from pyvws import ConditionalTable, Nominal, Normal
from pyvws.models.registry import find_model
from pyvws.models.sequence import DrawnColumn
from pyvws.posterior.prediction import predicted
from pyvws.posterior.systematic_draws import SystematicStream, systematic_uniforms, van_der_corput

pytestmark = pytest.mark.runs  # seconds of work

# A family, a draw of its parameters, and the design row that all records have.
BETA = {"beta": np.array([[0.3]])}
SPREAD = {**BETA, "sigma": np.array([1.5])}
FAMILIES: dict[str, tuple[Any, dict[str, Any]]] = {
    "nominal": (Nominal(levels=("a", "b", "c")), {"beta": np.array([[[0.5], [-1.0]]])}),
    "logistic": (find_model("logistic"), BETA),
    "ordinal": (find_model("ordinal", levels=(1, 2, 3)), {**BETA, "gaps": np.array([[1.0]])}),
    "normal": (Normal(), SPREAD),
    "truncated-normal": (find_model("truncated-normal", range=(-1, 3)), SPREAD),
    "table": (
        ConditionalTable(levels=("a", "b", "c"), patterns=1),
        {"log_theta": np.log([[[0.2, 0.5, 0.3]]])},
    ),
}


def stream(seed: int) -> SystematicStream:
    return SystematicStream(np.random.default_rng(seed).bit_generator)


def drawn(family: Any, draw: Any, design: Any, rng: np.random.Generator) -> Any:
    column = DrawnColumn("y", family, design)
    return predicted([column], draw, rng, rows=len(design), public={})["y"]


@given(n=st.integers(0, 300))
@settings(max_examples=30, derandomize=True)
def test_van_der_corput_turns_binary_digits_round(n: int) -> None:
    digits = [f"{j:b}"[::-1] for j in range(n)]
    assert van_der_corput(n).tolist() == [int(each, 2) / 2 ** len(each) for each in digits]


@given(n=st.integers(0, 40), K=st.integers(0, 3), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, derandomize=True)
def test_records_take_the_sequence_in_the_order_of_their_rows(n: int, K: int, seed: int) -> None:
    design = np.random.default_rng(seed).integers(-1, 2, (n, K)).astype(float)
    found = systematic_uniforms(design, np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    ties, shift = rng.random(n), rng.random()
    order = sorted(range(n), key=lambda i: (tuple(design[i]), ties[i]))
    for place, record in enumerate(order):
        turned = int(f"{place:b}"[::-1], 2) / 2 ** len(f"{place:b}")
        assert found[record] == (turned + shift) % 1.0


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.0 - 2.0**-53])
def test_no_number_is_0_or_1(shift: float) -> None:
    class Fixed(np.random.Generator):
        def random(self, size: Any = None, *_: Any, **__: Any) -> Any:
            return shift if size is None else np.zeros(size)

    rng = Fixed(np.random.PCG64(1))
    found = systematic_uniforms(np.ones((64, 1)), rng)
    assert ((found > 0) & (found < 1)).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_counts_of_like_records_are_within_one_of_what_the_draw_expects(name: str) -> None:
    n, (family, draw) = 1024, FAMILIES[name]
    design = np.zeros((n, 1)) if name == "table" else np.ones((n, 1))
    many = drawn(family, draw, np.repeat(design, 200, axis=0), np.random.default_rng(1))
    whole = family.whole_numbers or family.categorical
    cuts = np.unique(many) if whole else np.quantile(many, [0.1, 0.5, 0.9])
    below = [drawn(family, draw, design, stream(seed)) <= cut for seed in range(20) for cut in cuts]
    counts = np.array([one.sum() for one in below]).reshape(20, len(cuts))
    # Equal steps of 1/n on a circle: an arc of length p holds n p of them, less or more than 1.
    assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all()
    expected = [n * (many <= cut).mean() for cut in cuts]
    assert np.abs(counts.mean(axis=0) - expected).max() < 1 + 5 * n * 0.5 / len(many) ** 0.5


def test_runs_of_like_records_are_spread_too() -> None:
    """Of two columns in the design, each pattern has its own share in the order of rows."""
    rng = np.random.default_rng(2)
    design = np.column_stack([np.ones(3000), rng.integers(0, 3, 3000), rng.integers(0, 2, 3000)])
    draw = {"beta": np.array([[[0.5, 0.3, -1.0], [-1.0, 0.5, 1.0]]])}
    off: dict[bool, list[float]] = {True: [], False: []}
    for systematic in off:
        for seed in range(20):
            made_by = stream(seed) if systematic else np.random.default_rng(seed)
            made = drawn(Nominal(levels=("a", "b", "c")), draw, design, made_by)
            for row in np.unique(design, axis=0):
                own = made[(design == row).all(axis=1)]
                share = softmax([0.0, *(draw["beta"][0] @ row)])
                counts = np.bincount(own.astype(int), minlength=4)[1:]
                off[systematic].append(float(np.abs(counts - share * len(own)).max()))
    assert max(off[True]) < 5  # About log2(n) / 3 for van der Corput's sequence.
    assert np.mean(off[True]) < 0.2 * np.mean(off[False])


@pytest.mark.parametrize("name", FAMILIES)
def test_each_value_keeps_its_distribution(name: str) -> None:
    """Of each record over the shifts, whatever its place, and also given another's design."""
    family, draw = FAMILIES[name]
    if name == "table":
        family = ConditionalTable(levels=("a", "b", "c"), patterns=2)
        draw = {"log_theta": np.log([[[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]])}
        design = np.array([[1.0], [0.0], [0.0], [1.0], [0.0]])
    else:
        design = np.array([[1.0], [0.0], [0.0], [1.0], [0.0]])
    seeds, rng = 3000, np.random.default_rng(5)
    found = np.array([drawn(family, draw, design, stream(seed)) for seed in range(seeds)])
    whole = family.whole_numbers or family.categorical
    for record, row in enumerate(design):
        law = drawn(family, draw, np.repeat(row[None], 40_000, axis=0), rng)
        cuts = np.unique(law)[:-1] if whole else np.quantile(law, [0.1, 0.5, 0.9])
        for cut in cuts:
            share = (law <= cut).mean()
            error = np.sqrt(share * (1 - share) * (1 / seeds + 1 / 40_000))
            assert abs((found[:, record] <= cut).mean() - share) < 4.5 * error


def test_only_the_first_numbers_of_all_records_are_systematic() -> None:
    design = np.arange(8.0)[:, None]
    uniforms = systematic_uniforms(design, np.random.default_rng(3))
    plain, rng = np.random.default_rng(3), stream(3)
    systematic_uniforms(design, plain)
    draws = rng.of_records(design)
    # Other numbers of them, and other laws, are those of the stream.
    assert draws.random() == plain.random()
    assert draws.random((8, 2)).tolist() == plain.random((8, 2)).tolist()
    assert draws.gamma(2.0, size=8).tolist() == plain.gamma(2.0, size=8).tolist()
    assert draws.poisson(3.0, 8).tolist() == plain.poisson(3.0, 8).tolist()
    assert draws.random(8).tolist() == uniforms.tolist()
    for name in ("random", "standard_normal", "logistic"):
        again, other = (getattr(one, name)(size=8) for one in (draws, plain))
        assert again.tolist() == other.tolist()


def test_a_mixture_s_label_and_its_normal_part_are_not_tied() -> None:
    n, family = 512, find_model("normal-mixture", components=2, labels="prior")
    draw = {
        "beta": np.array([[[0.0], [100.0]]]),
        "sigma": np.array([[1.0, 1.0]]),
        "pi": np.array([[0.5, 0.5]]),
    }
    made = drawn(family, draw, np.ones((n, 1)), stream(4))
    assert (made > 50).sum() == n / 2
    within = np.where(made > 50, made - 100.0, made)
    for part in (within[made > 50], within[made < 50]):
        assert abs(part.mean()) < 4 / (n / 2) ** 0.5
        assert (part > 0).any()
        assert (part < 0).any()


@pytest.mark.parametrize("name", ["poisson", "negative-binomial", "gamma", "beta"])
def test_families_that_draw_by_other_laws_stay_independent(name: str) -> None:
    family = find_model(name, **({"range": (0, 1)} if name == "beta" else {}))
    draw = {**BETA, "phi": np.array([2.0]), "shape": np.array([2.0]), "kappa": np.array([4.0])}
    design = np.ones((50, 1))
    rng = np.random.default_rng(6)
    systematic_uniforms(design, rng)
    assert drawn(family, draw, design, stream(6)).tolist() == (
        family.predict(draw, design, rng).tolist()
    )


class Noting(Normal):
    """Notes the streams that it draws from."""

    seen: ClassVar[list[Any]] = []

    def predict(self, draw: Any, design: Any, rng: Any, *, outcome: Any = None) -> Any:
        self.seen.append((type(rng).__name__, len(design)))
        return super().predict(draw, design, rng, outcome=outcome)


class Within:
    """Limits that about a half of the values break."""

    def refused(self, found: Any, _values: Any) -> Any:
        return (found < 0.3) | (found > 50.0)

    def left(self, _values: Any) -> Any:
        return None

    def rounded(self, found: Any) -> Any:
        return found

    def settled(self, found: Any, _values: Any) -> Any:
        return found

    def broken(self, values: Any) -> Any:
        return values["y"] < 0.3


def test_values_outside_their_limits_are_drawn_again_independently() -> None:
    Noting.seen.clear()
    column = DrawnColumn("y", Noting(), np.ones((64, 1)), finish=Within())
    made = predicted([column], SPREAD, stream(7), rows=64, public={})["y"]
    assert made.min() >= 0.3
    (first, *others) = Noting.seen
    assert first == ("SystematicDraws", 64)
    assert others[0] == ("SystematicStream", 32)
    assert {name for name, _ in others} == {"SystematicStream"}
