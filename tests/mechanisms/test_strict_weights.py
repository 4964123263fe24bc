"""Weights inside a clamp that stay strict: no other record moves a weight by a bit."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pyvws_validation._grid_engine import KnownDraws
from refusals import refused

from pyvws import Column, InputError, SamplerSettings, Schema, Synthesizer, synthesize
from pyvws._base.checks import Floats
from pyvws.mechanisms import strict_weights
from pyvws.mechanisms.censored import CENSORED_WEIGHTS, Censored
from pyvws.mechanisms.registry import make_mechanism
from pyvws.mechanisms.weighing import ReferenceSizes
from pyvws.models.registry import find_model
from pyvws.posterior.clamp import CLAMPS
from pyvws.synthesis.reference import Reference
from pyvws.weights.weights import column_weights, fixed_scale_weights

# Told to the agency where a table is so small, or its draws so far, that nothing is inside.
pytestmark = pytest.mark.filterwarnings("ignore:epsilon clamps every record")

ROWS = 11
FORMULA = "~ x + town"
EXTREMES: dict[str, list[float]] = {
    "poisson": [0, 5, 2**53],
    "negative-binomial": [0, 5, 2**53],
    "normal": [-1e300, 0.5, 1e9],
    "gamma": [1e-300, 2.0, 1e300],
    "beta": [0.0, 5e-324, 1.0],
    "logistic": [0, 1],
    "ordinal": [1, 3],
}
OF_MODEL: dict[str, dict[str, Any]] = {"ordinal": {"levels": (1, 2, 3)}}


def outcomes(model: str, rng: np.random.Generator, n: int) -> list[float]:
    """Values that the family has, none of them extreme."""
    made = {
        "poisson": rng.poisson(5, n),
        "negative-binomial": rng.poisson(5, n),
        "normal": rng.normal(size=n),
        "gamma": rng.gamma(2.0, size=n),
        "beta": rng.beta(2.0, 3.0, n),
        "logistic": rng.integers(0, 2, n),
        "ordinal": rng.integers(1, 4, n),
    }
    return [float(value) for value in made[model]]


def public_table(model: str, n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "y": outcomes(model, rng, n),
            "x": rng.normal(size=n),
            "town": [f"town {i % 3}" for i in range(n)],
            "w": np.linspace(0.0, 1.0, n),
        }
    )


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("references")
    found = {}
    for model in EXTREMES:
        found[model] = str(folder / f"{model}.parquet")
        public_table(model, 15, 9).write_parquet(found[model])
    return found


def settings_of(source: str, references: dict[str, str], model: str) -> dict[str, Any]:
    return {
        "public": {"weight_column": "w"},
        "reference": {"reference": references[model]},
        "staged": {"stage_epsilon": 0.7},
    }[source]


def weights_of(
    table: pl.DataFrame, model: str, mechanism: Censored, folder: Path | None = None
) -> Floats:
    """The weights in records.parquet, in the order of the table; in steps where a folder is given.

    All fits return the same draws, as if chance had been the same on both neighbours.
    """
    family = find_model(model, **OF_MODEL.get(model, {}))
    draws = 0.3 * np.random.default_rng(4).normal(size=(7, family.dimension(4)))
    run = Synthesizer(
        outcome="y",
        model=family,
        mechanism=mechanism,
        formula=FORMULA,
        datasets=1,
        settings=SamplerSettings(draws=7, chains=1),
        engine=KnownDraws([draws]),
        keep_order=True,
    )
    assert run.strict
    if folder is None:
        release = run.fit(table, seed=1 << 62)
        assert release.privacy["guarantee"] == "dp"
        return np.asarray(release.records["weight"].to_numpy())
    source = folder / "table.parquet"
    table.write_parquet(source)
    said = run.fit_to(source, folder / "out", seed=1 << 62, overwrite=True)
    assert said["guarantee"] == "dp"
    found = pl.read_parquet(folder / "out" / "confidential" / "records.parquet")
    assert (found["released_row"].to_numpy() == np.arange(1, len(found) + 1)).all()
    return np.asarray(found["weight"].to_numpy())


def neighbours(table: pl.DataFrame, extremes: list[float]) -> list[tuple[pl.DataFrame, list[int]]]:
    """Tables with a record more, one less, one replaced; and the rows of the others in each."""
    others = list(range(1, len(table)))
    made = [(table[1:], list(range(len(others))))]
    for value in extremes:
        at = pl.Series("y", [value], dtype=table["y"].dtype)
        changed = table[:1].with_columns(at)
        made.append((pl.concat([changed, table[1:]]), others))
        made.append((pl.concat([table, changed]), others))
    return made


def refuse_a_moved_weight(model: str, mechanism: Censored, folder: Path | None = None) -> None:
    table = public_table(model, ROWS, 2)
    before = weights_of(table, model, mechanism, folder)
    for other, rows in neighbours(table, EXTREMES[model]):
        after = weights_of(other, model, mechanism, folder)
        assert after[rows].tobytes() == before[1:].tobytes()


@pytest.mark.runs
@pytest.mark.parametrize("clamp", CLAMPS)
@pytest.mark.parametrize("source", ["public", "reference", "staged"])
@pytest.mark.parametrize("model", EXTREMES)
def test_no_other_record_moves_a_weight_by_a_bit(
    model: str, source: str, clamp: str, references: dict[str, str]
) -> None:
    own = settings_of(source, references, model)
    refuse_a_moved_weight(model, Censored(epsilon=2.0, weights=source, clamp=clamp, g=0.1, **own))


@pytest.mark.runs
@pytest.mark.parametrize("source", ["public", "reference", "staged"])
def test_nor_does_it_in_steps_and_the_weights_are_those_in_memory(
    source: str, references: dict[str, str], tmp_path: Path
) -> None:
    own = settings_of(source, references, "poisson")
    mechanism = Censored(epsilon=2.0, weights=source, **own)
    refuse_a_moved_weight("poisson", mechanism, tmp_path)
    table = public_table("poisson", ROWS, 2)
    twice = pl.concat([table, table])  # The tally counts each row twice.
    in_steps = weights_of(twice, "poisson", mechanism, tmp_path)
    in_memory = weights_of(twice, "poisson", mechanism)
    once = weights_of(table, "poisson", mechanism)
    assert in_steps.tobytes() == in_memory.tobytes() == np.tile(once, 2).tobytes()


def by_the_largest(sizes: Floats, *, low: float = 0.0, high: float, **shape: Any) -> Floats:
    """The planted error: sizes on the scale of the table's largest."""
    return fixed_scale_weights(sizes, low=low, high=float(sizes[np.isfinite(sizes)].max()), **shape)


def from_the_table(self: Reference, posterior: Any, clamp: Any) -> ReferenceSizes:
    """The planted error: constants of the confidential records."""
    found = SIZES(self, posterior, clamp)
    finite = found.by_record[np.isfinite(found.by_record)]
    return ReferenceSizes(found.by_record, finite.min(), finite.max(), finite.max())


SIZES: Callable[..., ReferenceSizes] = Reference.sizes


@pytest.mark.runs
@pytest.mark.parametrize(
    ("source", "place", "planted"),
    [
        ("staged", (strict_weights, "fixed_scale_weights"), by_the_largest),
        ("reference", (strict_weights, "fixed_scale_weights"), by_the_largest),
        ("reference", (Reference, "sizes"), from_the_table),
    ],
)
def test_constants_of_the_table_are_noticed(
    source: str,
    place: tuple[Any, str],
    planted: Any,
    references: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = settings_of(source, references, "normal")
    mechanism = Censored(epsilon=2.0, weights=source, **own)
    monkeypatch.setattr(*place, planted)
    with pytest.raises(AssertionError):
        refuse_a_moved_weight("normal", mechanism)


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        (lambda: column_weights([1.5]), refused("outside-0-to-1")),
        (lambda: fixed_scale_weights([1.0], low=2.0, high=2.0), refused("low-above-high")),
        (lambda: fixed_scale_weights([1.0], high=np.inf), refused("not-finite", name="high")),
        (lambda: fixed_scale_weights([1.0], high=1.0, c=-1.0), refused("negative-number")),
        (lambda: Censored(epsilon=1.0, weights="staged"), refused("weights-need-setting")),
        (
            lambda: make_mechanism("censored", epsilon=1.0, weights="none", weight_column="w"),
            refused("belongs-to-weights"),
        ),
        (
            lambda: Censored(epsilon=1.0, weights="staged", stage_epsilon=np.inf),
            refused("not-finite", name="stage_epsilon"),
        ),
        (
            lambda: Censored(epsilon=1.0, weights="staged", stage_epsilon=0.0),
            refused("not-above-0"),
        ),
        (
            lambda: Censored(epsilon=1.0, weights="reference", reference=3),  # type: ignore[arg-type]
            refused("staged-option-value"),
        ),
    ],
)
def test_what_is_refused_before_any_table(call: Any, refusal: Any) -> None:
    with refusal:
        call()


def test_which_sources_are_strict_and_which_fits_clamp() -> None:
    own: dict[str, dict[str, Any]] = {
        "none": {},
        "public": {"weight_column": "w"},
        "reference": {"reference": Path("old")},
        "staged": {"stage_epsilon": 1.0},
    }
    made = {name: Censored(epsilon=1.0, weights=name, **given) for name, given in own.items()}
    assert {one.facts.claim for one in made.values()} == {"dp"}
    assert {one.window.kind for one in made.values()} == {"deviance"}
    assert {name for name, one in made.items() if not one.facts.clamps_every_fit} == {"reference"}
    assert [one.facts.weights_source for one in made.values()] == list(own)
    assert made["reference"].reference == "old"
    for name in ("lw", "cw"):
        whole = Censored(epsilon=1.0, weights=name)
        assert (whole.facts.claim, whole.facts.weights_source) == ("asymptotic-dp", "table")


def one_run(mechanism: Censored, draws: Floats, **changes: Any) -> Synthesizer:
    given: dict[str, Any] = {
        "outcome": "y",
        "model": "poisson",
        "mechanism": mechanism,
        "datasets": 2,
        "settings": SamplerSettings(draws=4, chains=1),
        "engine": KnownDraws([draws]),
    }
    return Synthesizer(**{**given, **changes})


@pytest.mark.runs
def test_staged_weights_come_from_the_last_draw_alone_by_hand() -> None:
    table = pl.DataFrame({"y": [0.0, 4.0, 9.0]})
    draws = np.array([[5.0, 0.0], [np.log(4.0), 0.0]])
    run = one_run(Censored(epsilon=1.0, weights="staged", stage_epsilon=0.5), draws)
    release = run.fit(table, seed=1 << 62)
    # Half the unit deviance of a Poisson count at mean 4: y log(y / 4) - (y - 4).
    half = np.array([4.0, 0.0, 9.0 * np.log(9.0 / 4.0) - 5.0])
    np.testing.assert_allclose(release.records["risk"], np.minimum(half / 4.0, 1.0), atol=1e-14)
    np.testing.assert_allclose(release.records["weight"], 1.0 - np.minimum(half / 4.0, 1.0))
    first, second = run.engine.targets  # type: ignore[union-attr]
    assert (first.clamp.epsilon, first.clamp.kind) == (0.5, "deviance")
    assert first.weights.tolist() == [1.0, 1.0, 1.0]
    assert second.clamp.epsilon == 1.0
    said = release.privacy
    assert said["relies_on"]["weights"] == {"source": "staged", "epsilon": 0.5}
    assert (said["epsilon_per_dataset"], said["epsilon_total"]) == (1.0, 2.5)
    both = said["epsilon_by_neighbours"]
    assert [[of["per_dataset"], of["total"]] for of in both.values()] == [[1.5, 2.5], [3.0, 5.0]]
    assert [(entry["key"], entry["epsilon"]) for entry in said["ledger"]] == [
        ("first-stage", 0.5),
        ("datasets", 2.0),
    ]
    assert "weights-staged" in [caveat["key"] for caveat in said["caveat_keys"]]


@pytest.mark.runs
def test_a_weighted_term_lies_inside_the_window_at_the_first_draw() -> None:
    table = pl.DataFrame({"y": list(range(60))})
    draws = np.array([[1.0, 0.0]])
    mechanism = Censored(epsilon=1.3, weights="staged", stage_epsilon=0.5)
    records = one_run(mechanism, draws, datasets=1).fit(table, seed=1 << 62).records
    y, mean = table["y"].to_numpy(), np.e
    logs = np.log(np.where(y > 0, y / mean, 1.0))
    weighted = records["weight"].to_numpy() * (y * logs - (y - mean))
    assert 0.99 * 1.3 < weighted.max() <= 1.3 * (1 + 1e-12)


@pytest.mark.runs
def test_reference_weights_by_hand(tmp_path: Path) -> None:
    table = pl.DataFrame({"y": [0.0, 4.0, 9.0, 50.0]})
    public = pl.DataFrame({"y": [4.0, 8.0, 4.0]})
    public.write_csv(tmp_path / "old.csv")
    draws = np.array([[np.log(4.0), 0.0], [np.log(8.0), 0.0]])
    mechanism = Censored(epsilon=1.0, weights="reference", reference=str(tmp_path / "old.csv"))
    run = one_run(mechanism, draws)
    release = run.fit(table, seed=1 << 62)

    def largest(y: float) -> float:
        return max(y * np.log(y / mean) - (y - mean) if y else mean for mean in (4.0, 8.0))

    low, high = sorted([largest(4.0), largest(8.0)])
    f = np.array([largest(y) for y in table["y"]])
    expected = 1.0 - np.clip((f - low) / (high - low), 0.0, 1.0)
    np.testing.assert_allclose(release.records["weight"], expected, atol=1e-12)
    fitted, confidential = run.engine.targets  # type: ignore[union-attr]
    assert fitted.clamp is None
    assert fitted.cells.values.tolist() == [4.0, 8.0]
    assert fitted.weights.tolist() == [1.0, 1.0, 1.0]
    assert confidential.clamp.epsilon == 1.0
    assert [(entry["key"], entry["epsilon"]) for entry in release.privacy["ledger"]] == [
        ("reference-fit", 0.0),
        ("datasets", 2.0),
    ]
    assert release.privacy["epsilon_total"] == 2.0


@pytest.mark.runs
def test_a_level_that_the_reference_lacks_has_weight_0_and_is_no_error(tmp_path: Path) -> None:
    public_table("poisson", 15, 9).write_parquet(tmp_path / "old.parquet")
    mechanism = Censored(
        epsilon=1.0, weights="reference", reference=str(tmp_path / "old.parquet"), g=0.5
    )
    table = public_table("poisson", ROWS, 2)
    with_new = table.with_columns(town=pl.Series(["aaa", *table["town"].to_list()[1:-1], "zzz"]))
    # The table has five levels and the reference three, so their fits have other dimensions.
    draws = [np.zeros((7, 4 * 2 + 6)), np.zeros((7, 6 * 2 + 15))]
    given = {"engine": KnownDraws(draws), "formula": FORMULA, "keep_order": True}
    found = one_run(mechanism, draws[0], **given).fit(with_new, seed=1 << 62).records["weight"]
    before = weights_of_zero_draws(mechanism, table)
    assert found[0] == found[-1] == 0.0
    assert (found.to_numpy()[1:-1] == before[1:-1]).all()
    assert (before > 0).all()
    nobody = table.with_columns(town=pl.Series([f"new {i % 2}" for i in range(len(table))]))
    draws = [np.zeros((7, 4 * 2 + 6)), np.zeros((7, 3 * 2 + 3))]
    given["engine"] = KnownDraws(draws)
    with pytest.warns(UserWarning, match="epsilon clamps every record"):
        alone = one_run(mechanism, draws[0], **given).fit(nobody, seed=1 << 62)
    assert set(alone.records["weight"]) == {0.0}


def weights_of_zero_draws(mechanism: Censored, table: pl.DataFrame) -> Floats:
    draws = np.zeros((7, 4 * 2 + 6))
    run = one_run(mechanism, draws, formula=FORMULA, keep_order=True)
    return np.asarray(run.fit(table, seed=1 << 62).records["weight"].to_numpy())


@pytest.mark.runs
def test_the_folder_of_a_run_is_a_reference_as_its_files_together_are(tmp_path: Path) -> None:
    table = pl.DataFrame({"y": [0, 4, 9, 50, 2, 2]})
    draws = np.array([[1.0, 0.0], [1.5, 0.0]])
    old = one_run(Censored(epsilon=1.0, weights="none"), draws).fit(table, seed=1 << 62)
    old.write(tmp_path / "old")
    pl.concat(old.datasets).write_csv(tmp_path / "both.csv")
    found = [
        one_run(Censored(epsilon=1.0, weights="reference", reference=str(path)), draws)
        .fit(table, seed=1 << 62)
        .records["weight"]
        .to_list()
        for path in (tmp_path / "old", tmp_path / "old" / "release", tmp_path / "both.csv")
    ]
    assert found[0] == found[1] == found[2]
    assert len(set(found[0])) > 2


@pytest.mark.runs
@pytest.mark.parametrize(
    ("public", "formula", "key"),
    [
        ({"y": [1, 2, 3]}, "~ x", "columns-lacking"),
        ({"y": [1, 2, None]}, "~ 1", "column-missing-at-rows"),
        ({"y": [1, -2, 3]}, "~ 1", "counts-negative"),
        ({"y": [2, 2, 2]}, "~ 1", "reference-of-one-size"),
        (
            {"y": [1, 2, 3, 4], "x": [1.0, 2.0, 3.5, 9.0]},
            "~ poly(x, 2)",
            "formula-of-other-rows-in-reference",
        ),
        ({"y": [1, 2, 3], "x": ["a", "b", "b"]}, "~ x", "formula-changes-type"),
    ],
)
def test_a_reference_that_cannot_be_used_is_refused(
    public: dict[str, Any], formula: str, key: str, tmp_path: Path
) -> None:
    pl.DataFrame(public).write_csv(tmp_path / "old.csv")
    table = pl.DataFrame({"y": [5, 6, 7, 8, 7], "x": [1.0, 2.0, 3.0, 5.0, 9.0]})
    mechanism = Censored(epsilon=1.0, weights="reference", reference=str(tmp_path / "old.csv"))
    run = one_run(mechanism, np.zeros((3, 2)), formula=formula)
    with refused(key):
        run.fit(table, seed=1 << 62)


def test_a_reference_needs_a_model_whose_levels_are_given() -> None:
    mechanism = Censored(epsilon=1.0, weights="reference", reference="old.csv")
    with refused("reference-levels"):
        one_run(mechanism, np.zeros((3, 2)), model="ordinal")
    one_run(mechanism, np.zeros((3, 2)), model=find_model("ordinal", levels=(1, 2)))


@pytest.mark.runs
@pytest.mark.parametrize(
    ("weights", "column", "key"),
    [
        ([0.5, 1.5, 1.0], "w", "public-weights-outside"),
        ([0.5, None, 1.0], "w", "missing"),
        ([0.5, 0.5, 1.0], "v", "columns-lacking"),
        ([0.5, 0.5, 1.0], "y", "weight-column-outcome"),
    ],
)
@pytest.mark.parametrize("in_steps", [False, True])
def test_a_column_that_holds_no_weights_is_refused(
    weights: list[Any], column: str, key: str, in_steps: bool, tmp_path: Path
) -> None:
    table = pl.DataFrame({"y": [1, 2, 3], "w": weights})
    table.write_parquet(tmp_path / "table.parquet")
    mechanism = Censored(epsilon=1.0, weights="public", weight_column=column)
    path = tmp_path / "table.parquet"

    def fit() -> None:
        run = one_run(mechanism, np.zeros((3, 2)))
        if in_steps:
            run.fit_to(path, tmp_path / "out", seed=1 << 62)
        else:
            run.fit(table, seed=1 << 62)

    if key == "missing":
        key = "column-missing-in-records" if in_steps else "column-missing-at-rows"
    with refused(key) as caught:
        fit()
    assert "1.5" not in str(caught.value)


@pytest.mark.runs
def test_a_column_of_weights_is_not_released_unless_it_is_kept() -> None:
    table = pl.DataFrame({"y": [1, 2, 3], "w": [0.25, 0.5, 1.0]})
    mechanism = Censored(epsilon=1.0, weights="public", weight_column="w", c=0.5, g=0.25)
    release = one_run(mechanism, np.zeros((3, 2))).fit(table, seed=1 << 62)
    assert release.datasets[0].columns == ["y"]
    assert release.records["weight"].to_list() == [0.375, 0.5, 0.75]
    assert release.records["risk"].to_list() == [0.75, 0.5, 0.0]
    kept = one_run(mechanism, np.zeros((3, 2)), keep=["w"]).fit(table, seed=1 << 62)
    assert kept.datasets[0].columns == ["y", "w"]
    assert kept.privacy["columns_released_unchanged"] == ["w"]
    assert json.dumps(release.privacy["relies_on"]["weights"]["source"]) == '"public"'


@pytest.mark.runs
def test_one_constant_is_a_column_of_it_and_comes_from_public_records_alone(tmp_path):
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"y": rng.poisson(6, 60)})
    public = tmp_path / "public.csv"
    pl.DataFrame({"y": rng.poisson(6, 80)}).write_csv(public)
    run = {"outcome": "y", "model": "poisson", "mechanism": "censored", "epsilon": 1.0}
    run |= {"datasets": 1, "seed": 2**60 + 1}
    constant = synthesize(frame, weights="constant", c=0.25, **run)
    ones = frame.with_columns(one=pl.lit(1.0))
    column = synthesize(ones, weights="public", weight_column="one", c=0.25, **run)
    assert constant.datasets[0]["y"].equals(column.datasets[0]["y"])
    assert constant.privacy["guarantee"] == "dp"
    assert constant.privacy["relies_on"]["weights"]["source"] == "constant"
    found = {
        synthesize(table, weights="constant", reference=str(public), **run).privacy["relies_on"][
            "public_settings"
        ]["c"]
        for table in (frame, frame[1:], frame.with_columns(pl.col("y") + 40))
    }
    (c,) = found  # No record of the table has a part in it.
    assert 0.0 < c < 1.0


@pytest.mark.parametrize(
    "given", [{}, {"c": 0.2, "reference": "a.csv"}, {"c": 2.0}, {"c": 0.1, "g": 0.2}]
)
def test_a_constant_is_one_number_from_one_source(given):
    with pytest.raises(InputError, match="constant"):
        Censored(epsilon=1.0, weights="constant", **given)


@pytest.mark.runs
@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")  # Only c is read.
def test_a_tables_constant_comes_from_public_records_of_all_columns(tmp_path):
    """c = epsilon / W, W of each public record's whole sum, which is above that of one column."""
    rng = np.random.default_rng(3)

    def records(n):
        first = rng.choice([1, 2], n, p=[0.9, 0.1])
        second = rng.choice([1, 2], n)
        return pl.DataFrame({"a": first, "b": second}).with_columns(pl.all().cast(pl.String))

    public, table, path = records(2000), records(60), tmp_path / "public.csv"
    public.write_csv(path)
    levels = {"model": "table", "levels": ("1", "2")}
    schema = Schema({"a": Column(**levels), "b": Column(**levels, predictors=("a",))})
    run = {"schema": schema, "mechanism": "censored", "weights": "constant", "epsilon": 1.0}
    run |= {"datasets": 1, "draws": 100, "warmup": 100, "seed": 2**60 + 1, "reference": str(path)}
    found = {
        synthesize(given, accept_unconverged=True, **run).privacy["relies_on"]["public_settings"][
            "c"
        ]
        for given in (table, table[1:])
    }
    (c,) = found  # No record of the table has a part in it.
    pairs = public.join(public.group_by("a", "b").len(), on=["a", "b"])["len"].to_numpy()
    W = np.quantile(-np.log(pairs / len(public)), 0.95)  # At the public shares themselves.
    alone = -np.log((public["a"] == "2").mean())
    assert alone + 0.5 < W < 1.0 / c < 1.3 * W


@pytest.mark.parametrize("c", [None, 0.5])
@pytest.mark.parametrize("weights", CENSORED_WEIGHTS)
def test_one_rule_says_which_weights_take_a_reference(weights: str, c: float | None) -> None:
    own: dict[str, Any] = {"public": {"weight_column": "w"}, "staged": {"stage_epsilon": 1.0}}
    given = {"weights": weights, "c": c, **own.get(weights, {})}
    takes = Censored.takes_reference(weights, c)
    with nullcontext() if takes else pytest.raises(InputError, match="reference"):
        Censored(epsilon=1.0, reference="public.csv", **given)
    with pytest.raises(InputError, match="reference") if takes else nullcontext():
        Censored(epsilon=1.0, **given)
