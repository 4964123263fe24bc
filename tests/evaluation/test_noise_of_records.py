"""Counts and totals of imputed records have the noise of the number of records in their intervals.

Databases are drawn from a population, and counted under fresh noise, as a release does. What a
posterior knows of shares is drawn from the noisy counts' own error, without a model.
"""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyvws as vws
from pyvws import combine
from pyvws.evaluation import published_table
from pyvws.evaluation.combining_rules import noise_of_records
from pyvws.privacy.discrete_noise import add_discrete_laplace

pytest.importorskip("opendp")
SHARE, MEAN, SCALE, DATABASES = 0.3, 4.0, 50, 40


def held(n: int, *, exact: bool = False) -> dict[tuple[str, str], float]:
    """How often intervals hold the count of all, of a cell, and both totals of the table."""
    rng = np.random.default_rng(8)
    seen: dict[tuple[str, str], list[bool]] = {}
    for _ in range(DATABASES):
        inside = int(rng.binomial(n, SHARE))
        number, noisy = add_discrete_laplace(np.array([n, inside]), scale=SCALE)
        spread = 2.0**0.5 * SCALE
        tables = []
        for _ in range(5):
            of_cell = int(np.clip(noisy + spread * rng.normal(), 1, n - 1) * number / n)
            pay = np.full(number, MEAN)
            tables.append(pl.DataFrame({"a": np.arange(number) < of_cell, "pay": pay}))
        texts = [one.with_columns(pl.col("a").cast(pl.String)) for one in tables]
        noise = 0.0 if exact else spread / number
        asked = {"count": True, "total": "pay", "of": "table", "noise_of_records": noise}
        truth = {"": n, "true": inside}
        for by in ({}, {"a": ["true"]}):
            for one in vws.tabulate(texts, by=by, **asked).figures:
                cell = "".join(one.cell)
                true = truth[cell] * (1.0 if one.statistic == "count" else MEAN)
                seen.setdefault((one.statistic, cell), []).append(one.lower <= true <= one.upper)
    return {name: float(np.mean(found)) for name, found in seen.items()}


def test_intervals_of_counts_and_totals_hold_under_fresh_noise():
    found = held(1_000)
    assert set(found) == {("count", ""), ("count", "true"), ("total", ""), ("total", "true")}
    assert min(found.values()) >= 0.75  # Of 40 databases at 95 %: less has a chance below 1e-6.


def test_a_number_that_is_taken_for_exact_is_noticed():
    """The planted error: the interval of all records is then one number, which is wrong."""
    found = held(1_000, exact=True)
    assert found["count", ""] <= 0.25
    assert found["total", ""] <= 0.25


@pytest.mark.parametrize("of", ["population", "table"])
def test_what_the_number_adds_by_hand(of: str) -> None:
    """n^2 T of a share and its square times the variance of n; degrees of freedom grow."""
    shares, variance, n, sd = np.array([0.2, 0.26, 0.29]), 1e-4, 900, 45.0
    share = combine(shares, [variance] * 3, of=of)
    count = combine(n * shares, [n**2 * variance] * 3, of=of, noise_of_records=sd / n)
    assert count.variance == pytest.approx(n**2 * share.variance + share.estimate**2 * sd**2)
    ratio = count.variance / (n**2 * share.variance)
    assert count.df == pytest.approx(share.df * ratio**2)


@given(st.floats(0.0, 1e6), st.integers(1, 10**9))
def test_the_noise_of_a_statement_over_its_rows(deviation: float, rows: int) -> None:
    said = {"counts": {"deviation_of_records": deviation}}
    assert noise_of_records(said, rows) * rows == pytest.approx(deviation)
    assert noise_of_records({"counts": {}}, rows) == noise_of_records({}, 0) == 0.0


def test_shares_and_means_have_no_noise_of_the_number(monkeypatch) -> None:
    seen = []
    own = published_table.combine
    monkeypatch.setattr(
        published_table,
        "combine",
        lambda *given, **named: seen.append(named.get("noise_of_records")) or own(*given, **named),
    )
    table = pl.DataFrame({"a": ["x", "y"], "pay": [1.0, 2.0]})
    asked = {"count": True, "mean": "pay", "share": {"a": ["x"]}, "quantile": {"pay": [0.5]}}
    vws.tabulate([table, table], of="table", noise_of_records=0.125, **asked)
    assert sorted(filter(None, seen)) == [0.125]
    with pytest.raises(vws.InputError):
        combine([1.0, 2.0], [1.0, 1.0], noise_of_records=-0.1)
