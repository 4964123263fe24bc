"""The grid engine: whole scores, the public prior, exact draws, and what it refuses."""

import itertools
import sys
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pyvws_validation._grid_engine import EnumeratedGrid as Enumerated
from refusals import refused
from scipy import stats
from scipy.integrate import quad
from scipy.stats import halfcauchy, norm
from scipy.stats import t as student

import pyvws as vws
from pyvws import Censored, ConvergenceWarning, InputError, MissingDependencyError, SamplerSettings
from pyvws.engines.grid import (
    LOWEST,
    UNITS_A_NAT,
    GridEngine,
    PublicGrid,
    coefficient_masses,
    noisy_maximum,
    noisy_maximum_measurement,
    public_grid,
    whole_prior,
    whole_scores,
    window_units,
)
from pyvws.engines.registry import ENGINES, find_engine, is_exact
from pyvws.models.registry import MODELS, find_model
from pyvws.models.regression import Regression
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells

SMALL = SamplerSettings(draws=4, chains=1, grid_range=(-2.0, 3.0), grid_steps=(7,))
COUNTS = [0.0, 1.0, 2.0, 30.0, 2.0**40]
OUTCOMES = {
    "poisson": COUNTS,
    "negative-binomial": COUNTS,
    "normal": [-1e9, -2.5, 0.0, 0.3, 1.0, 1e300],
    "gamma": [1e-300, 1e-9, 0.5, 2.5, 1e9],
    "beta": [0.0, 5e-324, 1e-9, 0.25, 1.0 - 2.0**-53, 1.0],
    "logistic": [0.0, 1.0],
}
KINDS = st.sampled_from(["deviance", "half"])


def target(name, outcome, clamp, x=None, weights=None):
    model = find_model(name)
    y = np.asarray(outcome, dtype=np.float64)
    columns = [np.ones(len(y))] + ([] if x is None else [np.asarray(x, dtype=np.float64)])
    cells = make_cells(model.encode(y), np.column_stack(columns))
    return PseudoPosterior(model, cells, np.ones(len(y)) if weights is None else weights, clamp)


def scored(made):
    """The scores of a target on a small grid of its parameters, and the grid."""
    K, own = made.cells.n_coefficients, made.model.own_entries
    steps = SamplerSettings(grid_range=(-9.0, 8.0) * (K + own), grid_steps=(3,) * (K + own))
    grid = public_grid(steps, made.model, K)
    return whole_scores(made, grid.points(), lambda _: None), grid


@st.composite
def tables(draw):
    """A family, a table of it with a column x, weights, and a further record at the end."""
    name = draw(st.sampled_from(sorted(OUTCOMES)))
    x, weight = st.sampled_from([-1.0, 0.0, 7.5]), st.sampled_from([1.0, 0.3])
    record = st.tuples(st.sampled_from(OUTCOMES[name]), x, weight)
    return name, draw(st.lists(record, min_size=1, max_size=6)), draw(record)


@given(tables(), st.sampled_from([1e-3, 0.7, 5.0, 1000.0]), KINDS)
@hypothesis_settings(max_examples=60)
def test_a_record_adds_its_own_whole_number_whatever_the_others_are(made, epsilon, kind):
    name, others, last = made
    clamp = Clamp(epsilon, kind)

    def scores(records):
        y, x, weights = map(np.array, zip(*records, strict=True))
        return scored(target(name, y, clamp, x, weights))[0]

    own = scores([last])
    np.testing.assert_array_equal(scores([*others, last]) - scores(others), own)
    assert (own <= 0).all()
    assert (own >= -window_units(clamp)).all()
    assert Fraction(window_units(clamp), UNITS_A_NAT) <= Fraction(epsilon)


@pytest.mark.parametrize("kind", ["deviance", "half"])
def test_scores_are_the_clamped_target_up_to_rounding(kind):
    y = np.random.default_rng(3).poisson(4.0, 40).astype(np.float64)
    made = target("poisson", y, Clamp(8.0, kind))
    found, grid = scored(made)
    density = made.density_and_gradient()
    prior = PseudoPosterior(made.model, made.cells, np.zeros(40)).density_and_gradient()
    exact = np.array([density(q)[0] - prior(q)[0] for q in grid.points()])
    whole = found / UNITS_A_NAT + 40 * made.clamp.window[1]
    np.testing.assert_allclose(whole, exact, atol=40 / UNITS_A_NAT)
    assert np.ptp(exact) > 1.0


@pytest.fixture
def opendp():
    pytest.importorskip("opendp")


@pytest.mark.usefixtures("opendp")
def test_draws_have_the_probabilities_of_the_scores():
    scores = np.array([0, round(np.log(2.0) * UNITS_A_NAT), round(np.log(5.0) * UNITS_A_NAT)])
    S = 8000
    share = np.bincount(noisy_maximum(scores, S), minlength=3) / S
    expected = np.array([1.0, 2.0, 5.0]) / 8.0
    gap = np.abs(share - expected) / np.sqrt(expected * (1.0 - expected) / S)
    assert gap.max() < 5.0


@pytest.mark.usefixtures("opendp")
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_opendp_accounts_for_the_window_as_a_bounded_range(epsilon):
    """A range of epsilon is epsilon^2 / 8 in zCDP; OpenDP rounds up."""
    rho = noisy_maximum_measurement().map(window_units(Clamp(epsilon)))
    assert rho == pytest.approx(epsilon**2 / 8.0, rel=1e-6)


def test_the_prior_of_one_coefficient_is_that_of_its_integral():
    edges = np.array([-10.0, -3.0, -1.0, -0.1, 0.0, 0.05, 0.5, 2.0, 10.0])

    def mass(low, high):
        def given_scale(s):
            return 2.0 * student.pdf(s, 3) * (norm.cdf(high / s) - norm.cdf(low / s))

        return sum(quad(given_scale, a, b, limit=200)[0] for a, b in [(0, 0.1), (0.1, 3), (3, 2e3)])

    exact = [mass(low, high) for low, high in itertools.pairwise(edges)]
    np.testing.assert_allclose(coefficient_masses((edges,)), exact, rtol=3e-3)


def test_the_prior_of_two_coefficients_is_that_of_draws():
    edges = np.array([-3.0, -0.5, 0.0, 1.0, 4.0])
    rng, S = np.random.default_rng(5), 400_000
    correlation = 2.0 * rng.beta(6.0, 6.0, S) - 1.0
    x, z = rng.normal(size=(2, S))
    scale = np.abs(rng.standard_t(3, size=(2, S)))
    beta = scale * np.array([x, correlation * x + np.sqrt(1.0 - correlation**2) * z])
    drawn = np.histogram2d(*beta, bins=(edges, edges))[0] / S
    made = coefficient_masses((edges, edges))
    np.testing.assert_allclose(made, drawn, atol=5.0 * np.sqrt(drawn.max() / S))
    np.testing.assert_allclose(made[:, 0].sum(), made[0].sum(), rtol=1e-2)


def test_the_prior_of_three_coefficients_holds_two():
    sides = (np.array([-1e9, 0.0, 1.0, 1e9]), np.array([-1e9, 0.5, 1e9]))
    three = coefficient_masses((*sides, np.array([-1e9, 1e9])))
    np.testing.assert_allclose(three[..., 0], coefficient_masses(sides), atol=3e-3)


def test_the_prior_of_own_parameters_is_the_family_s():
    """1/phi ~ half-Cauchy(0, 5), in u = log 1/phi."""
    family = find_model("negative-binomial")
    grid = PublicGrid((-1.0, 1.0, -6.0, 4.0), (2, 10), 1, family.own_prior)
    found = grid.log_prior().reshape(grid.shape)
    u = 0.5 * (grid.edges[1][:-1] + grid.edges[1][1:])
    exact = halfcauchy.logpdf(np.exp(u), scale=5.0) + u
    np.testing.assert_allclose(np.diff(found[0]), np.diff(exact), rtol=1e-9)


REGRESSIONS = [
    find_model(name, **({"levels": (1, 2, 3)} if name == "ordinal" else {}))
    for name, model in MODELS.items()
    if isinstance(model, Regression)
]


@pytest.mark.parametrize("model", REGRESSIONS, ids=lambda model: model.name)
def test_the_prior_of_own_parameters_is_that_of_the_density(model):
    """Up to a constant, where the density holds; and it is finite as far as a grid reaches."""
    own = model.own_entries
    grid = PublicGrid((-1.0, 1.0, *(-5.0, 5.0) * own), (1, *(5,) * own), 1, model.own_prior)
    cells = make_cells(model.encode(np.ones(2)), np.ones((2, 1)))
    density = PseudoPosterior(model, cells, np.zeros(2)).density_and_gradient()
    exact = np.array([density(q)[0] for q in grid.points()])
    gap = grid.log_prior() - exact
    np.testing.assert_allclose(gap, gap[0], rtol=0, atol=1e-9)
    far = PublicGrid((-1e60, 1e60, *(-700.0, 700.0) * own), (3, *(7,) * own), 1, model.own_prior)
    units = whole_prior(far.log_prior())
    assert units.max() == 0
    assert units.min() > LOWEST // 1000


def test_a_far_coefficient_keeps_the_digits_of_its_prior():
    """P(beta > x) falls as x^-3: cells of equal ratio have masses of one ratio."""
    edges = 2.0 ** np.arange(10.0, 60.0)
    masses = coefficient_masses((edges,))
    np.testing.assert_allclose(masses[1:] / masses[:-1], 1.0 / 8.0, rtol=1e-4)


@pytest.mark.parametrize(
    ("ends", "key"),
    [
        ((-1e200, 1e200), "grid-prior-underflows"),
        ((1e-300, 2e-300), "grid-prior-underflows"),
        ((1.0, 1.0 + 2.0**-52), "grid-prior-underflows"),
        ((-1.7e308, 1.7e308), "grid-prior-underflows"),
        ((-1.0, 1.0, -6.0, 701.0), "grid-range-of-logarithm"),
        ((-1.0, 1.0, -1e9, 0.0), "grid-range-of-logarithm"),
    ],
)
def test_an_unfit_prior_is_refused_with_the_settings(ends, key):
    """Before there is a table; a fit would refuse it too."""
    name = "poisson" if len(ends) == 2 else "normal"
    given = SamplerSettings(grid_range=ends, grid_steps=(50,) * (len(ends) // 2))
    asked = {"outcome": "y", "model": name, "mechanism": Censored(epsilon=1.0, weights="none")}
    with refused(key):
        vws.Synthesizer(**asked, settings=given, engine=GridEngine())
    with refused(key):
        GridEngine().sample(target(name, [0.0, 1.0], Clamp(1.0)), given, seed=1)


@pytest.mark.parametrize("bad", [-np.inf, np.nan, np.inf, -1e12])
def test_no_prior_is_cast_that_no_number_of_units_holds(bad):
    with refused("grid-prior-underflows"):
        whole_prior(np.array([0.0, bad, -1.0]))


@given(
    st.sampled_from([1, 2**27 - 1, 2**27, 2**40, 2**53 - 1]),
    st.sampled_from([2.0**-24, 0.3, 1024.0]),
    KINDS,
)
@hypothesis_settings(max_examples=40)
def test_no_number_of_records_is_refused_and_no_sum_wraps(many, epsilon, kind):
    """Of a tally: one record more moves each score by at most a window, downwards."""
    clamp = Clamp(epsilon, kind)
    model = find_model("poisson")

    def scores(count):
        counts = np.array([count, 5.0])
        cells = make_cells(np.array([3.0, 2.0**40]), np.ones((2, 1)), counts)
        return scored(PseudoPosterior(model, cells, np.ones(2), clamp))[0]

    before, after = scores(float(many)), scores(float(many + 1))
    assert ((before >= LOWEST) & (after >= LOWEST) & (before <= 0)).all()
    moved = [int(b) - int(a) for b, a in zip(before, after, strict=True)]
    assert min(moved) >= 0
    assert max(moved) <= window_units(clamp)


def test_points_are_middles_with_the_last_parameter_fastest():
    model = find_model("normal")
    settings = SamplerSettings(grid_range=(0.0, 4.0, -1.0, 1.0), grid_steps=(2, 2))
    points = public_grid(settings, model, 1).points()
    assert points.tolist() == [[1, 0, -0.5], [1, 0, 0.5], [3, 0, -0.5], [3, 0, 0.5]]
    usual = public_grid(SamplerSettings(), model, 1)
    assert usual.shape == (1000, 200)


@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")  # A coarse grid.
@pytest.mark.usefixtures("opendp")
def test_the_engine_draws_the_target_on_the_grid():
    """Against every probability of the grid, as the tester's instrument computes them."""
    made = target("poisson", [1.0, 2.0, 2.0, 6.0], Clamp(3.0, "deviance"))
    settings = SamplerSettings(draws=4000, chains=1, grid_range=(-2, 3), grid_steps=(5,))
    found = GridEngine().sample(made, settings, seed=1)
    middles = public_grid(settings, made.model, 1)
    values, counts = np.unique(found.draws["beta"], return_counts=True)
    score = whole_scores(made, middles.points(), lambda _: None) / UNITS_A_NAT
    score = score + middles.log_prior()
    expected = np.exp(score - score.max())
    expected /= expected.sum()
    drawn = np.zeros(5, dtype=int)
    drawn[np.searchsorted(middles.points()[:, 0], values)] = counts
    for k, chance in zip(drawn, expected, strict=True):  # Exact: the ends have a draw or none.
        assert stats.binomtest(int(k), 4000, chance).pvalue > 1e-7
    assert found.draws["beta"].shape == (4000, 1)
    assert found.diagnostics.independent
    assert found.diagnostics.problems() == []


def test_what_the_grid_refuses():
    y = [0.0, 1.0, 2.0]
    engine = GridEngine()
    with refused("grid-target-unclamped"):
        engine.sample(target("poisson", y, None), SMALL, seed=1)
    wide = make_cells(np.array([0.0, 1.0]), np.eye(4)[:2])
    with refused("grid-too-many-parameters", most_parameters=3):
        engine.sample(
            PseudoPosterior(find_model("poisson"), wide, np.ones(2), Clamp(1.0)), SMALL, seed=1
        )
    with refused("grid-setting-length", name="grid_range", needed=4):
        engine.sample(target("normal", y, Clamp(1.0)), SMALL, seed=1)
    with refused("grid-no-regression"):
        engine.sample(target("normal-mixture", y, Clamp(1.0)), SMALL, seed=1)
    for epsilon in (1e-9, 1025.0):
        with refused("grid-epsilon-range"):
            engine.sample(target("poisson", y, Clamp(epsilon)), SMALL, seed=1)
    many = SamplerSettings(grid_steps=(1001, 1000))
    with refused("grid-too-many-points", most_points=1000000):
        engine.sample(target("normal", y, Clamp(1.0)), many, seed=1)


@pytest.mark.usefixtures("opendp")
@pytest.mark.parametrize(
    ("ends", "said"), [((-90.0, 90.0), "narrower than the steps"), ((-1.0, 0.0), "at an end")]
)
def test_a_coarse_or_narrow_grid_is_a_warning(ends, said):
    made = target("poisson", [20.0, 20.0, 21.0, 30.0] * 5, Clamp(3.0, "deviance"))
    settings = SamplerSettings(draws=4, chains=1, grid_range=ends, grid_steps=(25,))
    with pytest.warns(ConvergenceWarning, match=said):
        GridEngine().sample(made, settings, seed=1)


@pytest.mark.parametrize("ends", [(1.0,), (1.0, 1.0), (0.0, float("inf")), ("a", "b")])
def test_ends_of_a_grid_are_checked(ends):
    with pytest.raises(InputError, match="grid_range"):
        SamplerSettings(grid_range=ends)


def test_without_opendp_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.measurements", None)
    with pytest.raises(MissingDependencyError, match="pip install opendp"):
        find_engine("grid")


def test_one_engine_is_exact():
    assert [name for name in ENGINES if is_exact(name)] == ["grid"]
    assert is_exact(GridEngine())
    assert not is_exact(Enumerated(np.zeros((1, 1))))


VISITS = pl.DataFrame({"visits": np.random.default_rng(1).poisson(3.0, 60)})
STRICT = {
    "outcome": "visits",
    "model": "poisson",
    "mechanism": "censored",
    "weights": "none",
    "epsilon": 2.0,
    "engine": "grid",
}


@pytest.mark.runs
@pytest.mark.usefixtures("opendp")
def test_a_run_draws_once_a_dataset_and_cannot_be_repeated(tmp_path):
    first, again = (vws.synthesize(VISITS, datasets=6, seed=7, **STRICT) for _ in range(2))
    assert first.privacy["guarantee"] == "dp"
    assert first.privacy["draws"] == 6
    assert set(first.posterior.columns) == {"chain", "draw", "beta[1]"}
    assert (first.posterior["beta[1]"] != again.posterior["beta[1]"]).any()
    assert first.summary["diagnostics"]["rhat_max"] is None
    first.write(tmp_path / "out")


@pytest.mark.runs
@pytest.mark.usefixtures("opendp")
@pytest.mark.parametrize("short", [False, True])
def test_the_statement_says_of_the_seed_and_of_rounding_what_is_true_of_exact_draws(short):
    privacy = vws.synthesize(VISITS, datasets=2, seed=7 if short else 1 << 62, **STRICT).privacy
    assert [said["key"] for said in privacy["trust_keys"]] == [
        *("agency", "public", "exact-computation", "seed-of-rows")
    ]
    keys = [said["key"] for said in privacy["caveat_keys"] if said["key"] != "short-seed-of-rows"]
    assert ("short-seed-of-rows" in [one["key"] for one in privacy["caveat_keys"]]) == short
    assert keys == [
        *("leave-one-out", "enforced", "exact-draws", "public-settings", "composition"),
        *("several-draws", "other-releases", "rounded-figures", "domain"),
        *("certified-for-replacement", "records"),
    ]
    sentences = " ".join([*privacy["trust_assumptions"], *privacy["caveats"]])
    for untrue in ("can test any guess", "rounding of the sampler", "only comes near"):
        assert untrue not in sentences


@pytest.mark.runs
@pytest.mark.usefixtures("opendp")
def test_a_run_in_steps(tmp_path):
    VISITS.write_csv(tmp_path / "table.csv")
    run = vws.Synthesizer(
        outcome="visits",
        model="poisson",
        mechanism=vws.Censored(epsilon=2.0, weights="none"),
        datasets=1,
        engine="grid",
        settings=SamplerSettings(grid_range=(-1, 3), grid_steps=(500,)),
    )
    privacy = run.fit_to(tmp_path / "table.csv", tmp_path / "out", seed=1)
    assert privacy["guarantee"] == "dp"
    named = privacy["relies_on"]["public_settings"]
    assert {**named, "grid_range": [-1.0, 3.0], "grid_steps": [500]} == named
    posterior = pl.read_parquet(tmp_path / "out" / "confidential" / "posterior.parquet")
    assert len(posterior) == 4


def test_a_statement_names_the_grid_that_the_defaults_give():
    named = public_grid(SamplerSettings(), find_model("normal"), 1).settings
    assert named == {"grid_range": [-10.0, 10.0, -6.0, 4.0], "grid_steps": [1000, 200]}


@pytest.mark.usefixtures("opendp")
def test_a_run_refuses_fits_without_a_clamp_and_settings_of_another_engine():
    for other in ({"mechanism": "lw", "epsilon": 4.0, "weights": None}, {"weights": "lw"}):
        with refused("grid-without-clamp"):
            vws.synthesize(VISITS, seed=1, **{**STRICT, **other})
    with refused("grid-settings"):
        vws.synthesize(VISITS, seed=1, **{**STRICT, "engine": "native", "grid_steps": (9,)})
    with refused("grid-unconverged"):
        vws.synthesize(VISITS, seed=1, accept_unconverged=True, **STRICT)


@pytest.mark.runs
@pytest.mark.usefixtures("opendp")
def test_a_public_reference_is_fitted_by_native_chains_and_the_table_on_the_grid(tmp_path):
    public = tmp_path / "public.csv"
    pl.DataFrame({"visits": np.random.default_rng(5).poisson(3.0, 80)}).write_csv(public)
    asked = {"weights": "reference", "reference": str(public), "datasets": 2, "seed": 1 << 62}
    made = {
        engine: vws.synthesize(VISITS, **{**STRICT, **asked, "engine": engine})
        for engine in ("grid", "native")
    }
    # Seed and settings give both runs the same fit to the public records, so the same weights.
    weights = {engine: release.records["weight"] for engine, release in made.items()}
    assert weights["grid"].sort().equals(weights["native"].sort())
    assert 0.0 <= weights["grid"].min() < weights["grid"].max() <= 1.0
    relied = made["grid"].privacy["relies_on"]
    assert relied["sampler"] == {"engine": "grid", "draws": "exact"}
    assert relied["weights"]["source"] == "reference"
    assert made["grid"].privacy["guarantee"] == "dp"
    assert "as-if-exact" not in relied["not_covered"]
