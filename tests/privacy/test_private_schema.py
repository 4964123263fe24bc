"""A schema that is paid for: its cost, what it holds, and that nothing else leaves of the table."""

import re
import warnings
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_here import run_here

import pyvws as vws
from pyvws.errors import InputError
from pyvws.privacy.budget import Budget, epsilon_after, noise_of
from pyvws.privacy.discrete_noise import composed_delta, least_tail
from pyvws.privacy.seller import CountedValues, Seller
from pyvws.statement.releases import costs_together
from pyvws.synthesis import private_answers
from pyvws.synthesis.private_answers import OTHER, ColumnCells
from pyvws.synthesis.private_schema import buy_schema
from pyvws.tables.schema.schema import Schema

pytest.importorskip("opendp")

SEED = 2**60 + 1
ANY = {"levels": "private", "range": "private"}


def table(seed: int, n: int = 4000) -> pl.DataFrame:
    """Tables of two seeds differ in every column, and in levels and ranges that are rare."""
    rng = np.random.default_rng(seed)
    area = rng.choice(["east", "west", "north"], n, p=[0.5, 0.3, 0.2])
    area = np.concatenate([[f"rare{seed}{k}" for k in range(3)], area[3:]])  # A record each.
    return pl.DataFrame(
        {
            "area": area,
            "persons": rng.choice(["1", "2", "3", "4", "5", "6"], n),
            "pay": [f"{x:.0f}" for x in np.exp(rng.normal(7 + seed, 1, n))],
            "joined": [f"20{x:02d}-03-0{1 + x % 9}" for x in rng.integers(0, 20, n)],
            "hid": [f"H{seed}{k}" for k in range(n)],
        }
    )


# The noise and its threshold


@settings(max_examples=60, derandomize=True)
@given(st.floats(0.5, 60.0), st.floats(1e-9, 0.3), st.booleans())
def test_the_threshold_is_the_least_that_noise_seldom_reaches(
    scale: float, chance: float, laplace: bool
) -> None:
    z = np.arange(0, int(60 * scale) + 60)
    mass = np.exp(-z / scale) if laplace else np.exp(-0.5 * (z / scale) ** 2)
    tails = np.cumsum(mass[::-1])[::-1] / (2 * mass.sum() - 1)
    t = least_tail(chance, scale=scale, laplace=laplace)
    assert tails[t] <= chance * (1 + 1e-9)
    assert t == 1 or tails[t - 1] > chance * (1 - 1e-9)


# What is bought


def test_a_bought_schema_has_what_stands_out_and_a_release_adds_its_cost(tmp_path: Path) -> None:
    frame = table(0)
    schema = buy_schema(frame, epsilon=8.0, delta=1e-6)
    columns = schema.columns
    assert columns["area"].levels == ("east", "north", "west", OTHER)
    assert {"1", "6"} <= {*(columns["persons"].levels or ())}
    assert columns["hid"].role == "drop"
    low, high = columns["pay"].range or (0, 0)
    assert low <= 300 < 3000 <= high
    assert columns["joined"].days_since is not None
    schema.write(tmp_path / "s.toml")
    text = (tmp_path / "s.toml").read_text()
    entries = re.findall(r"^(?!#|\[).+$", text.partition("[paid]")[0], re.M)
    assert all(re.search(r"  # (paid for|on my word|public)$", line) for line in entries)
    assert "rare" not in text
    assert Schema.read(tmp_path / "s.toml") == schema
    made = []
    for epsilon in (1.0, 2.0):
        with warnings.catch_warnings(action="ignore"):
            counts = {"mechanism": "noisy-counts", "epsilon": epsilon, "delta": 1e-6}
            release = vws.synthesize(
                frame, schema=tmp_path / "s.toml", datasets=1, **counts, seed=SEED
            )
        privacy = release.privacy
        assert privacy["guarantee"] == "approximate-dp"
        assert 8.0 <= privacy["certified"]["epsilon_total"] <= epsilon + 8.0
        assert privacy["paid_schema"]["run"] == epsilon
        assert privacy["delta"] == pytest.approx(2e-6)
        assert [entry["epsilon"] for entry in privacy["ledger"]] == [8.0, epsilon]
        assert privacy["counts"]["rho"] is None
        assert "paid-schema" in [one["key"] for one in privacy["caveat_keys"]]
        assert "[paid]" in release.public_schema
        made.append(privacy)
    together = costs_together(made)["strict"]
    own = [one["certified"]["epsilon_total"] for one in made]
    assert together["epsilon"] == pytest.approx(own[0] + 2.0)
    assert together["delta"] == pytest.approx(3e-6)
    twice = costs_together(
        [made[0], {**made[1], "paid_schema": {**made[1]["paid_schema"], "digest": "0"}}]
    )
    assert twice["strict"]["epsilon"] == pytest.approx(sum(own))


def test_a_count_of_decimals_that_noise_may_have_makes_no_number_of_codes() -> None:
    """Among whole numbers 0 to 2 a bin of decimals stands out by chance once in a thousand."""
    cells = ColumnCells(vws.Column(**ANY))
    codes = pl.Series("x", ["0", "1", "1", "2"] * 900)
    exact = cells.counted(nw.from_native(codes, series_only=True))
    for count, whole in ((120, ("0", "1", "2")), (160, ())):
        noisy = exact.cells.copy()
        noisy[cells.place("1.25")] += count
        found = cells.found(
            CountedValues(noisy, {}), least=100, apart=70, zero=60, beside=40, last=20
        )
        assert found.whole_numbers == whole


def test_what_a_steward_knows_stays_and_is_on_his_word() -> None:
    known = Schema(
        {
            "persons": vws.Column(model="ordinal", levels="private"),
            "area": vws.Column(missing="north", **ANY),
            "pay": vws.Column(range="private", cuts="private", mass=[0], decimals=0),
        }
    )
    schema = buy_schema(table(1), epsilon=8.0, delta=1e-6, known=known)
    assert [*schema.columns] == ["persons", "area", "pay"]
    assert schema.columns["persons"].model == "ordinal"
    assert schema.columns["area"].missing == "north"
    assert "north" not in (schema.columns["area"].levels or ())
    cuts, of_range = schema.columns["pay"].cuts or (), schema.columns["pay"].range or (1, 0)
    assert cuts
    assert of_range[0] == 0 < cuts[0] < cuts[-1] < of_range[1]
    paid = schema.paid
    assert paid is not None
    assert paid.word == {"persons": ("model",), "area": ("missing",), "pay": ("decimals", "mass")}
    assert {*paid.entries["pay"]} == {"model", "range", "cuts"}


def test_ranges_alone_are_pure() -> None:
    known = Schema({"pay": vws.Column(range="private", decimals=0)})
    schema = buy_schema(table(1), epsilon=4.0, known=known)
    assert schema.paid is not None
    assert schema.paid.delta == 0.0
    with warnings.catch_warnings(action="ignore"):
        release = vws.synthesize(
            table(1), schema=schema, mechanism="noisy-counts", epsilon=1.0, datasets=1, seed=SEED
        )
    assert release.privacy["guarantee"] == "dp"
    assert release.privacy["certified"]["epsilon_total"] == 5.0


def test_a_unit_gives_one_record() -> None:
    frame = pl.DataFrame({"home": ["1"] * 4000 + ["2"], "area": ["a"] * 4001})
    known = Schema(
        {"home": vws.Column(role="id"), "area": vws.Column(levels="private")}, unit="home"
    )
    schema = buy_schema(frame, epsilon=2.0, delta=1e-6, known=known)
    assert schema.columns["area"].levels == (OTHER,)
    assert schema.paid is not None
    assert schema.paid.unit == "home"


@given(
    st.floats(0.05, 1.0),
    st.floats(0.3, 12.0),
    st.sampled_from([("loo", 1), ("replace", 1), ("loo", 3), ("loo", 1024)]),
    st.lists(st.integers(1, 40), min_size=1, max_size=6),
)
@settings(max_examples=25)
def test_noise_of_schema_and_run_costs_less_than_the_sum_and_holds_for_each_list(
    first: float, epsilon: float, kind: tuple[str, int], shares: list[int]
) -> None:
    neighbours, cap = kind
    before = Budget(epsilon=first, delta=2.5e-7, neighbours=neighbours, adaptive=True)
    run = Budget(epsilon=epsilon, delta=5e-7, neighbours=neighbours, cap=cap, adaptive=True)
    bought = [*noise_of(before, {"records": 0.25, "a": 1.0, "b": 1.0}).scales.values()]
    stated = epsilon_after(run, before, bought)
    assert stated <= first + epsilon
    own = noise_of(run, {str(k): float(x) for k, x in enumerate(shares)}).scales.values()
    assert epsilon_after(run, before, bought, own) <= stated * (1.0 + 1e-9)
    # The exact loss of both as one list of counts is below what is stated.
    inverse = np.array([*own, *bought]) ** -2.0
    u = float(inverse.min()) / 64.0
    if cap == 1 and u > 1e-5:  # Of less, losses are too many to be told apart.
        weights = np.ceil(inverse / u).astype(int).tolist() * (2 if neighbours == "replace" else 1)
        assert composed_delta(u, weights, stated) <= 7.5e-7


# What is refused


@pytest.mark.parametrize(
    ("key", "given"),
    [
        ("private-without-delta", {"delta": 0.0}),
        ("private-threshold-above", {"records": 20}),
        ("private-nothing", {"known": Schema({"pay": vws.Column(model="normal", range=(0, 1))})}),
        (
            "private-beside-public",
            {"known": Schema({"area": vws.Column(role="public"), "pay": vws.Column(**ANY)})},
        ),
    ],
)
def test_what_settings_tell_is_refused_before_a_record_is_read(
    key: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Seller, "numbers", lambda *_: pytest.fail("bought"))
    asked = {"epsilon": 1.0, "delta": 1e-6, **given}
    with pytest.raises(InputError) as caught:
        buy_schema(table(0, 30), **asked)
    assert caught.value.key == key
    assert "east" not in str(caught.value)


def test_few_records_are_said_before_a_run_by_their_noisy_number(tmp_path: Path) -> None:
    table(0, 40).write_csv(tmp_path / "t.csv")
    (tmp_path / "known.toml").write_text('[columns.area]\nlevels = "private"\n')
    given = ("--known", tmp_path / "known.toml", "--out", tmp_path / "s.toml", "--overwrite")
    words = ("schema", tmp_path / "t.csv", "--private", "--epsilon", "0.2", "--delta", "1e-6")
    told = 0
    for _ in range(4):  # Noise alone takes the number above what a value takes in 1 of 100.
        run = run_here(*words, *given)
        said = " ".join(run.out.split())
        assert run.code == 0
        assert f"All values are {OTHER!r} in: area." in said
        told += "below what a value takes, so this schema holds next to nothing" in said
    assert told >= 2


def test_runs_refuse_what_is_not_bought_changed_or_of_another_kind(tmp_path: Path) -> None:
    frame, asked = table(0), {"mechanism": "noisy-counts", "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(InputError, match="still to be found"):
        vws.synthesize(frame, schema=Schema({"area": vws.Column(**ANY)}), **asked)
    schema = buy_schema(frame, epsilon=2.0, delta=1e-6)
    for other in ({"mechanism": "lw"}, {**asked, "neighbours": "replace"}):
        with pytest.raises(InputError, match="paid for") as caught:
            vws.synthesize(frame, schema=schema, **other)
        assert caught.value.key.startswith("paid-schema-")
    for old, new in (
        ("epsilon = 2.0", "epsilon = 0.5"),
        (OTHER, "(others)"),
        ("goods =", "good ="),
    ):
        (tmp_path / "s.toml").write_text(schema.text.replace(old, new))
        with pytest.raises(InputError, match=r"paid"):
            Schema.read(tmp_path / "s.toml")


# Nothing leaves that was not bought


def _left(folder: Path, frame: pl.DataFrame) -> str:
    """What a command leaves: its file, words and exit code."""
    frame.write_csv(folder / "t.csv")
    out = folder / "s.toml"
    words = ("t.csv", "--private", "--epsilon", "1", "--delta", "1e-6", "--out", str(out))
    run = run_here("schema", folder / words[0], *words[1:], "--overwrite")
    return repr((run.code, run.out, run.err, out.read_text() if out.exists() else ""))


def _told_apart(folder: Path) -> bool:
    """Whether two tables that got the same answers differ in anything that leaves."""
    known: dict[str, Any] = {}
    texts = []
    values, numbers = Seller.values, Seller.numbers
    for number in (1, 2):

        def answered(own: Any, name: str, counted: Any, given: bool = number == 2) -> Any:
            sold = values(own, name, counted)
            return known[name] if given else known.setdefault(name, sold)

        def noisy(own: Any, name: str, exact: Any, given: bool = number == 2) -> Any:
            sold = numbers(own, name, exact)
            if name.startswith("values of "):
                return sold
            return known[name] if given else known.setdefault(name, sold)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Seller, "values", answered)
            patch.setattr(Seller, "numbers", noisy)
            patch.setattr("pyvws.synthesis.private_schema.secrets.token_hex", lambda _: "0" * 32)
            texts.append(_left(folder, table(number, 2000 + 100 * number)))
    return texts[0] != texts[1]


def test_nothing_leaves_of_a_table_but_what_was_bought(tmp_path: Path) -> None:
    assert not _told_apart(tmp_path)


def _range_beside(place: Any) -> Any:
    """The number of records decides a range."""

    def wrong(own: Any, sold: Any, **given: Any) -> Any:
        found = place(own, sold, **given)
        return (
            found
            if found.bins is None
            else type(found)(bins=(110, 110 + _SIZE["n"] % 7), of_bins=9)
        )

    return wrong


_SIZE = {"n": 0}


def test_a_range_that_is_read_beside_the_seller_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = private_answers.ColumnCells.counted

    def sized(own: Any, cells: Any) -> Any:
        _SIZE["n"] = len(cells) // 100
        return counted(own, cells)

    monkeypatch.setattr(private_answers.ColumnCells, "counted", sized)
    monkeypatch.setattr(
        private_answers.ColumnCells, "found", _range_beside(private_answers.ColumnCells.found)
    )
    assert _told_apart(tmp_path)


# The two commands


def test_from_a_strangers_csv_to_a_release_in_two_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table(0).write_csv("t.csv")
    first = run_here("schema", "t.csv", "--private", "--epsilon", "4", "--delta", "5e-7")
    assert first.code == 0
    assert "paid for, epsilon 4, delta 5e-07" in first.out
    assert "Dropped, since nothing stands out of the noise: hid" in " ".join(first.out.split())
    run = run_here(
        *("synthesize", "t.csv", "--schema", "schema.toml", "--mechanism", "noisy-counts"),
        *("--epsilon", "4", "--delta", "5e-7", "--datasets", "1", "--out", "out", "--quiet"),
    )
    assert run.code == 0
    assert run_here("reproduce", "out").code == 0
    wrong = run_here("schema", "t.csv", "--epsilon", "4", "--out", "b.toml")
    assert wrong.code != 0
    assert "Add --private" in wrong.err
