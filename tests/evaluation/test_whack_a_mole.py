"""Whack-a-mole: by hand, by loops, and the tables of the largest records."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from pyvws.evaluation.whack_a_mole import risk_summary, top_records, whack_a_mole

few = settings(max_examples=60, derandomize=True)
shares = st.integers(0, 16).map(lambda v: v / 16)
pairs = st.integers(1, 20).flatmap(
    lambda n: st.tuples(*(st.lists(shares, min_size=n, max_size=n),) * 2)
)


@given(pairs, st.sampled_from([0.125, 0.25, 0.5]))
@few
def test_against_a_loop(pair, rise):
    before, after = pair
    found = whack_a_mole(before, after, rise=rise, policy=0.25)
    assert found.rose.tolist() == [b - a >= rise for a, b in zip(before, after, strict=True)]
    for summary, risks in ((found.unweighted, before), (found.weighted, after)):
        assert summary.maximum == max(risks)
        assert summary.share_above == sum(risk > 0.25 for risk in risks) / len(risks)
        assert summary.iqr == pytest.approx(np.subtract(*np.quantile(risks, [0.75, 0.25])))
    assert not whack_a_mole(before, before).rose.any()


@given(pairs, st.integers(1, 25), st.sampled_from([0.125, 0.5]))
@few
def test_the_largest_and_their_summary_against_loops(pair, count, policy):
    by, risks = pair
    rows = sorted(range(len(by)), key=lambda i: (-by[i], i))[:count]
    found = top_records(by, {"Data": risks}, count=count)
    assert found.records.tolist() == rows
    assert found.risks["Data"].tolist() == [risks[i] for i in rows]
    summary = risk_summary(risks, policy=policy)
    assert summary.maximum == sorted(risks)[-1]
    assert summary.share_above == sum(risk > policy for risk in risks) / len(risks)
    assert summary.iqr == pytest.approx(np.subtract(*np.quantile(risks, [0.75, 0.25])))


def test_tables_of_the_largest():
    outcome = [5.0, 90.0, 7.0, 90.0]
    columns = {"Data": [0.1, 0.9, 0.3, 0.8], "Marginal": [0.0, 0.2, 0.4, 0.6]}
    by_risk = top_records(columns["Data"], columns, count=2)
    assert by_risk.records.tolist() == [1, 3]
    assert by_risk.risks["Marginal"].tolist() == [0.2, 0.6]
    by_size = top_records(outcome, columns, count=3)
    assert by_size.records.tolist() == [1, 3, 2]  # equal values in the order of the records
    assert by_size.risks["Data"].tolist() == [0.9, 0.8, 0.3]
    assert top_records(outcome, columns).records.tolist() == [1, 3, 2, 0]


def test_bad_options():
    with refused("not-above-0", name="rise"):
        whack_a_mole([0.1], [0.2], rise=0.0)
    with refused("not-above-0", name="policy"):
        risk_summary([0.1], policy=-1.0)
    with refused("unequal-lengths", names="by", names2="risks['Data']"):
        top_records([1.0, 2.0], {"Data": [0.1]})
    with refused("not-a-whole-number", name="count"):
        top_records([1.0], {}, count=0)
