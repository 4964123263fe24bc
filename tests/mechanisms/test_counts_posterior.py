"""The posterior given noisy counts under a rule that bars codes, against draws of the prior."""

import itertools
import math

import numpy as np
import pytest
from prior_of_classes import MANY, prior_draws

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
