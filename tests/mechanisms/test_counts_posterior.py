"""The posterior given noisy counts, against sums over all tables of five records."""

import itertools
import math

import numpy as np
import pytest
from prior_of_classes import MANY, log_codes, prior_draws
from scipy.integrate import quad
from scipy.special import betaln
from scipy.stats import gamma

import pyvws as vws
from pyvws.mechanisms.counts import classes
from pyvws.mechanisms.counts.classes import impute
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.workload import workload

pytestmark = [pytest.mark.runs, pytest.mark.draws]

N = 5
_BATCHES = 40
_FAR = 5.0  # Batch standard errors.

PLAIN = {
    "a": vws.Column(model="logistic", levels=("0", "1")),
    "b": vws.Column(model="logistic", levels=("0", "1")),
}
RULED = {
    "a": vws.Column(model="logistic", levels=("0", "1")),
    "b": vws.Column(model="nominal", levels=("1", "2"), missing="N", rule="N only where a == '0'"),
}


def log_shares(n_1: int, n_2: int) -> float:
    """log p(z) of two classes: V ~ Beta(1, alpha), alpha ~ Gamma(1/4, 1/4), both integrated out."""

    def term(alpha: float) -> float:
        return math.exp(betaln(1 + n_1, alpha + n_2) - betaln(1, alpha)) * gamma.pdf(
            alpha, 0.25, scale=4.0
        )

    return math.log(quad(term, 0, 1)[0] + quad(term, 1, np.inf)[0])


def exact_means(noisy: Measurements, states: list[tuple[int, int]], ruled: bool) -> np.ndarray:
    """E[number of records in each state | S] by all tables of N records and all classes."""
    share = {n: log_shares(n, N - n) for n in range(N + 1)}
    log_p, tables = [], []
    for members in itertools.product(range(2 * len(states)), repeat=N):
        if list(members) != sorted(members):
            continue
        times = math.lgamma(N + 1) - sum(
            math.lgamma(members.count(one) + 1) for one in set(members)
        )
        records = [(one % 2, *states[one // 2]) for one in members]
        value = times + share[sum(h == 0 for h, *_ in records)]
        first, second = [], []
        for h in (0, 1):
            own = [record for record in records if record[0] == h]
            first.append(tuple(sum(a == c for _, a, _ in own) for c in (0, 1)))
            active = [b for _, a, b in own if not (ruled and a == 0)]
            second.append(tuple(active.count(c) for c in (0, 1)))
        value += log_codes(*first) + log_codes(*second)
        x = np.array([state[1:] for state in records], dtype=np.int32)
        gap = (noisy.counts - noisy.table.counts(x))[noisy.table.possible]
        scale = np.repeat(noisy.scales, noisy.table.sizes)[noisy.table.possible]
        value -= (np.abs(gap) / scale if noisy.laplace else gap**2 / (2 * scale**2)).sum()
        log_p.append(value)
        tables.append([sum(record[1:] == state for record in records) for state in states])
    p = np.exp(np.array(log_p) - max(log_p))
    return p @ np.array(tables) / p.sum()


@pytest.mark.parametrize("laplace", [True, False])
@pytest.mark.parametrize("ruled", [False, True])
def test_imputed_records_are_those_of_the_posterior(laplace, ruled):
    table = workload(vws.Schema(RULED if ruled else PLAIN), ("pairs", "a"))
    states = [(0, 2), (1, 0), (1, 1)] if ruled else list(itertools.product((0, 1), repeat=2))
    truth = np.array([states[k] for k in (0, 0, 1, 1, 2)], dtype=np.int32)
    counts = table.counts(truth) + np.where(np.arange(len(table.possible)) % 2, 2, -3)
    counts[~table.possible] = 0
    noisy = Measurements(
        table=table, counts=counts, scales=np.array([1.5, 2.5]), laplace=laplace, records=N
    )
    made = impute(noisy, datasets=6000, classes=2, sweeps=6000, chains=2, seed=11).codes
    found = np.array(
        [[sum(tuple(record) == state for record in x.tolist()) for state in states] for x in made]
    )
    assert (found.sum(axis=1) == N).all()  # No record breaks the rule.
    batches = found.reshape(_BATCHES, -1, len(states)).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / math.sqrt(_BATCHES)
    expected = exact_means(noisy, states, ruled)
    assert (np.abs(batches.mean(axis=0) - expected) < _FAR * error).all()
    assert (error < 0.05).all()


BARRED = {
    **PLAIN,
    "b": vws.Column(model="logistic", levels=("0", "1"), rule="never 1 where a == '1'"),
}


def means_of_barred(noisy: Measurements, states: list[tuple[int, int]]) -> np.ndarray:
    """E[number of records in each possible state | S], by draws of the parameters' prior.

    A table of N records has the multinomial probability of its states given that they are possible.
    """
    rng = np.random.default_rng(3)
    first = rng.beta(1.0, rng.gamma(0.25, 4.0, MANY) + 1e-300)
    pi = np.array([first, 1.0 - first])
    a, b = (
        np.array([x, 1.0 - x])  # Code, class, draw.
        for x in (rng.beta(*prior_draws(2, seed).T, (2, MANY)) for seed in (4, 5))
    )
    shares = np.array([(pi * a[s] * b[t]).sum(axis=0) for s, t in states])
    shares = (shares + 1e-300) / (shares + 1e-300).sum(axis=0)
    log_p, tables = [], []
    for table in itertools.product(range(N + 1), repeat=len(states)):
        if sum(table) != N:
            continue
        times = math.factorial(N) / math.prod(map(math.factorial, table))
        chance = times * np.prod([p**c for p, c in zip(shares, table, strict=True)], axis=0).mean()
        x = np.repeat(np.array(states, dtype=np.int32), table, axis=0)
        gap = (noisy.counts - noisy.table.counts(x))[noisy.table.possible]
        scale = np.repeat(noisy.scales, noisy.table.sizes)[noisy.table.possible]
        log_p.append(math.log(chance) - (gap**2 / (2 * scale**2)).sum())
        tables.append(table)
    p = np.exp(np.array(log_p) - max(log_p))
    return p @ np.array(tables) / p.sum()


def distance_of_barred() -> float:
    """How far imputed means are from the posterior's, in batch standard errors: the largest."""
    table = workload(vws.Schema(BARRED), ("pairs", "a"))
    states = [(0, 0), (0, 1), (1, 0)]
    truth = np.array([states[k] for k in (0, 1, 1, 2, 2)], dtype=np.int32)
    counts = table.counts(truth) + np.where(np.arange(len(table.possible)) % 2, 2, -3)
    counts[~table.possible] = 0
    noisy = Measurements(
        table=table, counts=counts, scales=np.array([6.0, 6.0]), laplace=False, records=N
    )
    made = impute(noisy, datasets=4000, classes=2, sweeps=4000, chains=2, seed=11).codes
    found = np.array(
        [[sum(tuple(record) == state for record in x.tolist()) for state in states] for x in made]
    )
    assert (found.sum(axis=1) == N).all()  # No record breaks the rule.
    batches = found.reshape(_BATCHES, -1, len(states)).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / math.sqrt(_BATCHES)
    return float((np.abs(batches.mean(axis=0) - means_of_barred(noisy, states)) / error).max())


def test_barred_cells_have_no_record_and_the_others_their_posterior(monkeypatch) -> None:
    assert distance_of_barred() < _FAR
    # Parameters that forget the factor of the possible records have another posterior.
    nobody = np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.int64)
    monkeypatch.setattr(classes, "impossible_records", lambda *_: nobody)
    assert distance_of_barred() > _FAR


def test_the_chain_has_the_prior_of_its_classes_where_counts_say_nothing() -> None:
    """Five records have one class of three with probability .633, by enumeration."""
    table = workload(vws.Schema(PLAIN), ("pairs",))
    noisy = Measurements(
        table=table,
        counts=np.zeros(len(table.possible), dtype=np.int64),
        scales=np.array([1e6]),
        laplace=False,
        records=N,
    )
    alone = []
    for seed in range(8):
        sampler = classes._Sampler(noisy, 3, np.random.default_rng(seed))
        for sweep in range(1_200):
            sampler.step(whole=True, single=0)
            if sweep >= 200:
                alone.append(len(set(sampler.z.tolist())) == 1)
    assert np.mean(alone) == pytest.approx(0.633, abs=0.08)
