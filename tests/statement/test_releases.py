"""Costs of several releases of one table: what adds up, and what does not."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from pyvws.statement import releases
from pyvws.statement.releases import (
    common_neighbours,
    costs_together,
    digest,
    refuse_other_units,
    release_cost,
    releases_known,
)
from pyvws.synthesis.earlier_releases import read_earlier, read_statement


def strict(total, neighbours="leave-one-out", rho=None, unit="one record"):
    both = {"leave-one-out": {"total": total}, "replace-one": {"total": 2.0 * total}}
    if rho is not None:
        both["leave-one-out"]["total_zcdp"], both["replace-one"]["total_zcdp"] = rho, 4.0 * rho
    return {
        **{"guarantee": "dp", "unit_of_privacy": unit, "epsilon_by_neighbours": both},
        "mechanism": "censored",
        "certified": {"neighbours": neighbours, "epsilon_total": both[neighbours]["total"]},
    }


def counts(epsilon, delta, rho, neighbours="leave-one-out"):
    both = {"leave-one-out": {"total": None}, "replace-one": {"total": None}}
    both[neighbours] = {"total": epsilon}
    return {
        **{"guarantee": "approximate-dp", "unit_of_privacy": "one record", "delta": delta},
        **{"mechanism": "noisy-counts", "epsilon_by_neighbours": both},
        "certified": {"neighbours": neighbours, "epsilon_total": epsilon},
        "counts": {"rho": rho},
    }


def estimated(total, window=None, guarantee="asymptotic-dp"):
    both = {"leave-one-out": {"total": total}, "replace-one": {"total": 2.0 * total}}
    if window is not None:
        both["leave-one-out"]["total_of_window"] = window
        both["replace-one"]["total_of_window"] = 2.0 * window
    return {
        **{"guarantee": guarantee, "unit_of_privacy": "one record", "certified": None},
        "epsilon_by_neighbours": both,
    }


ANY = st.one_of(
    st.builds(
        strict,
        st.floats(0.1, 9),
        st.sampled_from(["leave-one-out", "replace-one"]),
        st.none() | st.floats(0.01, 1),
    ),
    st.builds(counts, st.floats(0.1, 4), st.floats(1e-9, 1e-5), st.floats(0.001, 1)),
    st.builds(estimated, st.floats(0.1, 40), st.none() | st.floats(0.1, 20)),
    st.builds(lambda total: estimated(total, guarantee="none"), st.floats(0.1, 40)),
)


@given(st.lists(ANY, min_size=1, max_size=5))
def test_each_kind_adds_up_for_one_kind_of_neighbours_and_no_other_enters(statements):
    found = costs_together(statements)
    neighbours = common_neighbours(statements)
    costs = [release_cost(statement, neighbours) for statement in statements]
    assert found["neighbours"] == neighbours
    assert sum(found["releases"].values()) == len(statements)
    for kind, guarantees in {
        "strict": ("dp", "approximate-dp"),
        "asymptotic": ("asymptotic-dp",),
    }.items():
        of = [cost for cost in costs if cost.guarantee in guarantees]
        assert found["releases"][kind] == len(of)
        assert found[kind]["epsilon"] == math.fsum(cost.epsilon for cost in of)
    claims = {(said["certified"] or {}).get("neighbours") for said in statements}
    assert (neighbours == "replace-one") == ("replace-one" in claims)
    alone = [said for said in statements if said["guarantee"] in ("dp", "approximate-dp")]
    if alone:  # No asymptotic figure has a part in a strict sum.
        assert costs_together(alone)["strict"] == found["strict"]


def test_by_hand():
    both = costs_together([strict(2.0, rho=0.5), strict(1.0)])
    assert both["strict"] == {"epsilon": 3.0, "delta": 0.0, "zcdp": 0.5 + 0.5}
    mixed = costs_together([strict(2.0), counts(1.0, 1e-6, 0.1), estimated(9.0, 4.0)])
    assert mixed["strict"] == {"epsilon": 3.0, "delta": 1e-6, "zcdp": 2.1}
    assert mixed["asymptotic"] == {"epsilon": 9.0, "of_window": 4.0}
    replaced = costs_together([strict(2.0, "replace-one"), counts(1.0, 1e-6, 0.1)])
    assert replaced["neighbours"] == "replace-one"
    assert replaced["strict"]["epsilon"] == 4.0 + 2.0
    assert replaced["strict"]["delta"] == pytest.approx((1.0 + math.e) * 1e-6)
    assert replaced["strict"]["zcdp"] == pytest.approx(8.0 + 0.2)


def test_units_differ_and_nothing_is_refused_in_one_line():
    other = strict(1.0, unit="all records of one household")
    for adds in (costs_together, refuse_other_units):
        with refused("not-a-choice"):
            adds([strict(1.0), other])
    with refused("not-a-whole-number"):
        costs_together([])


def test_a_statement_is_found_by_its_folder(tmp_path):
    (tmp_path / "out" / "release").mkdir(parents=True)
    file = tmp_path / "out" / "release" / "privacy.json"
    file.write_text(json.dumps(strict(1.0)), encoding="utf-8")
    for path in (file, file.parent, tmp_path / "out"):
        assert read_statement(path) == strict(1.0)
    with refused("statement-missing"):
        read_statement(tmp_path)
    file.write_text("[1]", encoding="utf-8")
    with refused("statement-not-a-statement"):
        read_statement(file)


def test_a_statement_that_was_edited_is_refused(tmp_path):
    file = tmp_path / "privacy.json"
    whole = strict(2.0, "replace-one")
    both = whole["epsilon_by_neighbours"]
    lowered = {**both, "replace-one": {"total": 0.1}}
    approximate = counts(1.0, 1e-6, 0.1)
    for unchanged in (whole, approximate, strict(1.0, rho=0.1)):
        file.write_text(json.dumps(unchanged), encoding="utf-8")
        assert read_statement(file) == unchanged
    for edited in (
        whole | {"guarantee": "strict"},
        whole | {"guarantee": "asymptotic-dp"},
        whole | {"certified": None},
        whole | {"certified": {"neighbours": "others", "epsilon_total": 4.0}},
        whole | {"epsilon_by_neighbours": lowered},
        whole | {"epsilon_by_neighbours": {"replace-one": {"total": 4.0}}},
        whole | {"epsilon_by_neighbours": {**both, "leave-one-out": {"total": -2.0}}},
        whole | {"certified": 1},
        whole | {"costs_together": {"releases": {"strict": "2"}}},
        {key: value for key, value in whole.items() if key != "unit_of_privacy"},
        {key: value for key, value in whole.items() if key != "epsilon_by_neighbours"},
        approximate | {"delta": -1.0},
    ):
        file.write_text(json.dumps(edited), encoding="utf-8")
        with refused("statement-not-a-statement"):
            read_statement(file)


def made(said, number, *earlier):
    """A statement as a run writes it: with a name of its own, and what it was made after."""
    named = said | {"release_id": str(number)}
    if earlier:
        together = costs_together([*earlier, said])
        named["costs_together"] = {**together, "earlier": releases_known(earlier)}
    return named


@st.composite
def histories(draw):
    """Releases of one table, each after some of those before it, and all that each knows of."""
    statements, known = [], []
    for number, said in enumerate(draw(st.lists(ANY, min_size=1, max_size=5))):
        after = draw(st.sets(st.sampled_from(range(number)))) if number else set()
        statements.append(made(said, number, *(statements[place] for place in sorted(after))))
        known.append({number}.union(*(known[place] for place in after)))
    return statements, known


@given(histories(), st.data())
def test_a_ledger_has_each_release_that_its_files_know_of_once(history, data):
    statements, known = history
    places = st.sampled_from(range(len(statements)))
    files = data.draw(st.lists(places, min_size=1, max_size=7))  # Some missing, some twice.
    found = costs_together([statements[place] for place in files])
    every = sorted(set().union(*(known[place] for place in files)))
    names = sorted(digest(statements[place]) for place in every)
    assert sorted(one["digest"] for one in releases_known([statements[f] for f in files])) == names
    plain = [statements[place] | {"costs_together": None} for place in every]
    wanted = costs_together(plain)
    for kind in ("strict", "asymptotic"):
        assert found[kind] == pytest.approx(wanted[kind], rel=1e-9)
    assert {**found, "strict": 0, "asymptotic": 0} == {**wanted, "strict": 0, "asymptotic": 0}


def test_two_releases_that_say_the_same_both_count():
    same = [made(strict(1.0), number) for number in range(2)]
    assert costs_together(same)["strict"]["epsilon"] == 2.0
    old = [strict(1.0), strict(1.0)]  # Without a name a copy cannot be told from another release.
    assert costs_together(old)["strict"]["epsilon"] == 2.0
    after = made(strict(1.0), 3, *old)
    assert costs_together([*old, after])["strict"]["epsilon"] == 3.0
    assert costs_together([old[0], after])["strict"]["epsilon"] == 3.0


def test_each_earlier_release_is_named_once_and_names_those_before_it(tmp_path):
    first = made(strict(1.0), 1)
    second = made(strict(2.0), 2, first)
    unnamed = strict(1.0) | {"costs_together": {"releases": {"strict": 2}}}
    files = {"first": first, "copy": first, "second": second, "old": strict(1.0)}
    for name, said in {**files, "unnamed": unnamed}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "privacy.json").write_text(json.dumps(said, indent=2), encoding="utf-8")
    assert read_earlier([]) == ()
    assert read_earlier([tmp_path / "second"]) == (second,)
    assert costs_together([second])["strict"]["epsilon"] == 3.0
    place = tmp_path / "first"
    for twice in (
        [place, place / "privacy.json"],
        [place, tmp_path / "copy"],
        [tmp_path / "old", tmp_path / "old" / "privacy.json"],
    ):
        with refused("release-named-twice"):
            read_earlier(twice)
    with refused("ledger-unnamed-releases", unnamed=1):
        read_earlier([tmp_path / "unnamed"])
    for name in ("digest", "mechanism", "cost_by_neighbours", "guarantee"):
        (lost,) = second["costs_together"]["earlier"]
        lost = {key: value for key, value in lost.items() if key != name}
        together = second["costs_together"] | {"earlier": [lost]}
        text = json.dumps(second | {"costs_together": together})
        (tmp_path / "second" / "privacy.json").write_text(text, encoding="utf-8")
        with refused("statement-not-a-statement"):
            read_earlier([tmp_path / "second"])


def test_planted_errors_are_seen(monkeypatch):
    """An earlier release left out, other neighbours added."""
    test_by_hand()
    whole = releases.costs_together
    with monkeypatch.context() as planted:
        planted.setitem(globals(), "costs_together", lambda statements: whole(statements[-1:]))
        with pytest.raises(AssertionError):
            test_by_hand()
    with monkeypatch.context() as planted:
        planted.setattr(releases, "common_neighbours", lambda _statements: "leave-one-out")
        with pytest.raises(AssertionError):
            test_by_hand()
