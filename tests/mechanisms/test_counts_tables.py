"""Columns that tables give, and sets of coarser cells: their records and their counts."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from refusals import refused
from runs import command

import pyvws as vws
from pyvws.mechanisms.counts.best_file import best_file
from pyvws.mechanisms.counts.cliques import clique
from pyvws.mechanisms.counts.drawn_fits import drawn_fits
from pyvws.mechanisms.counts.given_columns import GivenColumn
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.workload import Workload
from pyvws.tables.files.frame import open_frame

pytestmark = [pytest.mark.runs, pytest.mark.draws]

SCHEMA = vws.Schema(
    {
        "a": vws.Column(model="table", levels=("0", "1")),
        "b": vws.Column(model="table", levels=("0", "1", "2")),
    }
)


def tables() -> dict[str, Workload]:
    """Tables whose b has shares by a alone."""
    sets = {"columns": ["a", "b"], "cuts": {"b": [1]}}
    named = vws.NoisyCounts(epsilon=1, measure=["pairs", sets], tables=["b:a"], classes=1)
    chain = vws.NoisyCounts(epsilon=1, measure=[sets], model="conditionals")
    alone = vws.NoisyCounts(epsilon=1, measure=["a", "b"]).workload(SCHEMA)
    inside = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 2.0]]) / 2
    nested = replace(alone, given={"b": GivenColumn(clique(alone.columns, {"a"}), inside, True)})
    return {
        "named": named.workload(SCHEMA),
        "conditionals": chain.workload(SCHEMA),
        "groups": nested,
    }


@pytest.mark.parametrize("laplace", [True, False])
@pytest.mark.parametrize("name", ["named", "conditionals", "groups"])
def test_columns_that_tables_give_are_near_their_counts(name, laplace):
    table, rng, n = tables()[name], np.random.default_rng(3), 3_000
    a = rng.integers(0, 2, n)
    b = np.where(rng.random(n) < 0.5, 0, 1 + (rng.random(n) < 0.2 + 0.5 * a))
    b = np.where(a, 2, np.minimum(b, 1)) if name == "groups" else b
    x = np.column_stack([a, b]).astype(np.int32)
    noise = np.rint(rng.normal(0, 5, len(table.possible))).astype(np.int64)
    scales = 4.0 + 0.5 * np.arange(len(table.sets))
    noisy = Measurements(table, table.counts(x) + noise, scales, laplace=laplace, records=n)
    for made in (
        best_file(noisy, classes=1, seed=3),
        drawn_fits(noisy, datasets=2, classes=1, seed=3),
    ):
        for codes in made.codes:
            assert np.abs(table.counts(codes) - table.counts(x)).max() < 90
            if name == "groups":  # No code stands outside its group.
                assert ((codes[:, 1] == 2) == (codes[:, 0] == 1)).all()


WIDE = vws.Schema(
    {
        "age": vws.Column(
            model="normal", range=(0, 60), cuts=(15, 20, 30), decimals=0, mass=(0,), missing="N"
        ),
        "kind": vws.Column(model="nominal", levels=("a", "b", "c", "d")),
        "job": vws.Column(
            model="nominal",
            levels=tuple(str(k) for k in range(110)),
            missing="N",
            rule="N only where age < 15",
        ),
        "field": vws.Column(
            lookup={"job": {**{str(k): str(k % 7) for k in range(110)}, "N": "N"}},
            levels=(*(str(k) for k in range(7)), "N"),
        ),
    }
)


def test_coarser_sets_count_the_groups_of_their_codes():
    coarse = {"columns": ["age", "kind"], "cuts": {"age": [15, 30], "kind": ["c"]}, "share": 3}
    table = vws.NoisyCounts(epsilon=1, measure=["pairs", coarse]).workload(WIDE)
    q = table.names.index("age/15/30:kind/c")
    assert table.labels(q) == [["0", "N", "0 to 15", "15 to 30", "30 to 60"], ["a to b", "c to d"]]
    assert table.weights[q] == 3.0
    frame = pl.DataFrame(
        {
            "age": ["0", "N", "14", "15", "29", "30", "60", "16"],
            "kind": ["a", "b", "c", "d", "a", "b", "c", "x"],
            "job": ["N", "N", "N", "3", "4", "5", "6", "7"],
            "field": ["N", "N", "N", "3", "4", "5", "6", "0"],
        }
    )
    codes, _ = table.read(open_frame(frame))
    counts = table.counts(codes)[table.offsets[q] : table.offsets[q + 1]].reshape(5, 2)
    assert counts.tolist() == [[1, 0], [1, 0], [0, 1], [1, 1], [1, 1]]  # The unknown x: in none.


def test_a_record_is_in_one_cell_of_each_set_at_most():
    coarse = {"columns": ["age", "kind", "field"], "cuts": {"age": [15], "kind": ["b", "c"]}}
    table = vws.NoisyCounts(epsilon=1, measure=["pairs", coarse]).workload(WIDE)
    codes = np.stack(np.meshgrid(*(range(-1, one.size) for one in table.columns.values())), -1)
    rng = np.random.default_rng(0)
    for record in rng.permutation(codes.reshape(-1, codes.shape[-1]))[:400]:
        counts = table.counts(record[None, :].astype(np.int32))
        of_set = np.add.reduceat(counts, table.offsets[:-1])
        assert of_set.max() <= 1


def test_a_large_column_is_counted_under_its_group_and_keeps_its_lookup_and_rule():
    table = vws.NoisyCounts(epsilon=1, measure="pairs").workload(WIDE)
    assert [*table.columns] == ["age", "kind", "field", "job"]
    assert "age:field" in table.names
    assert "job" in table.names
    assert not any("job" in name for name in table.names if ":" in name)
    rng = np.random.default_rng(1)
    age = rng.integers(1, 60, 300)
    job = np.where(age < 15, "N", rng.integers(0, 110, 300).astype(str))
    field = ["N" if one == "N" else str(int(one) % 7) for one in job]
    frame = pl.DataFrame(
        {"age": age.astype(str), "kind": rng.choice(["a", "b"], 300), "job": job, "field": field}
    )
    made = vws.synthesize(
        frame,
        schema=WIDE,
        mechanism="noisy-counts",
        measure="pairs",
        epsilon=5,
        classes=4,
        datasets=2,
        tables=["kind:age/15"],
        seed=1,
    )
    assert made.privacy["model"] == "classes"
    assert made.privacy["relies_on"]["public_settings"]["tables"] == ["kind:age/15"]
    for dataset in made.datasets:
        assert dataset.columns == ["age", "kind", "job", "field"]
        young = dataset["age"].cast(pl.String).replace("N", None).cast(pl.Float64) < 15
        jobs = dataset["job"].cast(pl.String)
        assert ((jobs == "N") == young.fill_null(False)).all()
        looked_up = ["N" if one == "N" else str(int(one) % 7) for one in jobs]
        assert dataset["field"].cast(pl.String).to_list() == looked_up


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"measure": [{"columns": ["age"], "cuts": {"kind": ["a"]}}]}, "cuts-of-other-column"),
        ({"measure": [{"columns": ["age"], "cuts": {"age": [17]}}]}, "measure-cut-no-cell"),
        ({"measure": [{"columns": ["kind"], "cuts": {"kind": ["z"]}}]}, "measure-cut-no-level"),
        ({"measure": [{"column": ["kind"]}]}, "set-entries"),
        ({"measure": [("a:b", "kind")]}, "set-signs"),
        ({"measure": "kind*x"}, "set-share"),
        ({"tables": ["age:kind"]}, "tables-words"),
        ({"tables": ["job:kind"]}, "tables-words"),
        ({"model": "product"}, "not-a-choice"),
    ],
)
def test_sets_and_tables_that_cannot_be_are_refused_in_one_line(settings, key):
    with refused(key):
        vws.NoisyCounts(epsilon=1, **{"measure": "pairs", **settings}).workload(WIDE)


def test_conditionals_refuse_too_many_patterns_in_one_line():
    columns = {
        name: vws.Column(model="nominal", levels=tuple(map(str, range(40)))) for name in "abcde"
    }
    with refused("given-too-many-codes"):
        vws.NoisyCounts(epsilon=1, model="conditionals", measure="pairs").workload(
            vws.Schema(columns)
        )


def test_two_sets_of_one_name_are_refused_since_nobody_could_tell_their_counts_apart():
    """counts.parquet names sets, so the same release could not be made again."""
    plain = vws.Column(model="nominal", levels=("0", "1"), predictors=[])
    joined = {"a:b": plain, "a": plain, "b": plain}
    for columns, more in (({"records": plain}, ()), (joined, (("a", "b"),))):
        mechanism = vws.NoisyCounts(epsilon=1, measure=("predictors", *more))
        with refused("sets-of-one-name"):
            mechanism.workload(vws.Schema(columns))


def test_a_config_has_sets_as_tables_and_the_release_is_made_again_from_its_own(tmp_path):
    rng = np.random.default_rng(2)
    table = pl.DataFrame({name: rng.choice(["0", "1"], 60) for name in "ab"})
    table.write_csv(tmp_path / "table.csv")
    SCHEMA.write(tmp_path / "schema.toml")
    (tmp_path / "run.toml").write_text(
        'schema = "schema.toml"\nmechanism = "noisy-counts"\nepsilon = 2\n'
        'model = "conditionals"\ndatasets = 2\n'
        '[[measure]]\ncolumns = "pairs"\n'
        '[[measure]]\ncolumns = ["a", "b"]\nshare = 2\ncuts = {b = [1]}\n'
    )
    out, config = tmp_path / "out", tmp_path / "run.toml"
    command("synthesize", tmp_path / "table.csv", "--out", out, "--config", config)
    counts = pl.read_parquet(tmp_path / "out/release/counts.parquet")
    assert counts["set"].unique(maintain_order=True).to_list() == ["records", "a:b", "a:b/1"]
    said = (tmp_path / "out/release/run.toml").read_text()
    assert 'model = "conditionals"' in said
    privacy = json.loads((tmp_path / "out/release/privacy.json").read_text())
    assert privacy["model"] == "conditionals"
    command("report", out)
    assert "latent classes" not in (tmp_path / "out/release/report.html").read_text()
    assert all(json.loads(command("reproduce", out, "--json"))["same"].values())


@pytest.mark.parametrize("more", [{}, {"model": "conditionals"}])
def test_a_table_of_one_column_is_near_its_shares(more):
    rng = np.random.default_rng(6)
    share = vws.Column(
        model="beta", range=(0, 1), cuts=(0.001, 0.01, 0.03, 0.06, 0.1, 0.2, 0.3, 0.5)
    )
    own = rng.beta(0.5, 3.0, 2000)
    made = vws.synthesize(
        pl.DataFrame({"share": own}),
        schema=vws.Schema({"share": share}),
        mechanism="noisy-counts",
        epsilon=0.5,
        datasets=4,
        seed=2,
        **more,
    )
    assert made.privacy["guarantee"] == "dp"
    assert made.privacy["epsilon_total"] == 0.5
    for dataset in made.datasets:
        assert dataset["share"].is_between(0, 1).all()
    near = vws.ecdf_utility(own, [dataset["share"] for dataset in made.datasets])
    assert near.maximum < 0.08


def _of_two_persons() -> vws.Schema:
    """A person and the head of the household, with columns that only look alike beside them."""
    whole = {"model": "normal", "decimals": 0, "cuts": (20, 30, 40, 50, 60, 70, 80)}
    levels = {"race": "12345", "sex": "12", "kin": "pc", "q": "12345", "headsex": "12"}
    levels |= {"headrace": "12345", "race2": "12345", "headq": "12345"}
    categories = {n: vws.Column(model="nominal", levels=tuple(x)) for n, x in levels.items()}
    return vws.Schema(
        {
            **categories,
            "age": vws.Column(**whole, range=(0, 100), predictors=()),
            "pay": vws.Column(**whole, range=(0, 100), predictors=("age",)),
            "headage": vws.Column(**whole, range=(10, 100), predictors=("age", "kin")),
            "headpay": vws.Column(**whole, range=(0, 100), predictors=("pay", "age", "kin")),
        }
    )


def test_columns_that_look_like_those_of_another_person_have_tables() -> None:
    schema = _of_two_persons()

    def given(**settings) -> tuple[dict[str, tuple[str, ...]], list[str]]:
        table = vws.NoisyCounts(epsilon=1, measure=["sex:kin"], **settings).workload(schema)
        by_name = {name: column.rows.columns for name, column in table.given.items()}
        return by_name, [name for name in table.names if ":" in name and name != "sex:kin"]

    gap = "headage - age"
    alike = {"headrace": ("race",), gap: ("kin", "age"), "headage": ("kin", "age", gap)}
    assert given() == (alike, ["race:headrace", f"kin:{gap}"])
    assert given(tables=()) == given(tables="none") == ({}, [])
    named = given(tables="alike,headage:sex")
    assert named == ({"headrace": ("race",), "headage": ("sex",)}, ["race:headrace"])
    assert given(tables=["alike"], model="conditionals")[1] == []


def test_ages_of_two_persons_stay_near_in_few_classes() -> None:
    rng = np.random.default_rng(4)
    kin = rng.choice(["p", "c"], 1500)
    head = rng.integers(30, 85, 1500)
    age = np.where(kin == "p", np.clip(head + rng.integers(-4, 5, 1500), 18, 99), 99)
    age = np.where(kin == "c", rng.integers(18, 100, 1500), age)
    both = pl.DataFrame({"kin": kin, "age": age, "headage": head})
    columns = {name: _of_two_persons().columns[name] for name in both.columns}

    def years(**settings) -> float:
        mechanism = vws.NoisyCounts(epsilon=20, classes=3, **{"measure": "pairs", **settings})
        made = vws.synthesize(both, schema=vws.Schema(columns), mechanism=mechanism, datasets=1)
        partners = pl.DataFrame(made.datasets[0]).filter(pl.col("kin") == "p")
        return float((partners["headage"] - partners["age"]).abs().mean())

    assert years() < 3.5 < 8.0 < years(tables=())


@pytest.mark.parametrize("tables", ["rent:age", "rent"])
def test_a_given_column_keeps_its_tie_to_one_that_does_not_give_it(tables: str) -> None:
    """Who lives in a group quarter pays no rent: rows of equal ages alone lost most of that."""
    rng, N = np.random.default_rng(3), 3000
    age, group = rng.integers(0, 30, N), rng.random(N) < 0.06
    rent = np.where(group, "none", np.where(rng.random(N) < 0.02 * age + 0.1, "own", "rent"))
    levels = {"age": tuple(map(str, range(30))), "home": ("group", "house")}
    columns = {name: vws.Column(model="nominal", levels=own) for name, own in levels.items()}
    columns["rent"] = vws.Column(
        model="nominal", levels=("none", "own", "rent"), predictors=("age",)
    )
    frame = pl.DataFrame(
        {"age": age.astype(str), "home": np.where(group, "group", "house"), "rent": rent}
    )
    counts = vws.NoisyCounts(epsilon=8.0, delta=1e-5, measure="pairs", tables=tables)
    schema = vws.Schema(columns)
    made = vws.synthesize(frame, schema=schema, mechanism=counts, datasets=1, seed=1).datasets[0]
    apart = (made["home"] == "group") != (made["rent"] == "none")
    assert apart.sum() < 0.01 * N
