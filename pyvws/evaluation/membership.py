"""Membership, by a reference table: which records the datasets were made from [domias2023].

A record's score is log p(x) - log q(x): p is how dense the datasets are about it, and q how dense a
reference table of the same population is. Where a synthesizer has learned a record by heart, p is
large and q is not. Both are means of exp(-d / h) over a table's records, d their distance from x.
The width h is (3 c + m) / 64: c is the distance from x to its closest reference record, and m the
mean of these distances over all records. So a copy outweighs other records, whatever the columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.evaluation.disclosure import (
    AttackScore,
    closest_distances,
    distance_blocks,
    rate,
    score_of,
    share_nearer,
)
from pyvws.evaluation.original_and_datasets import Plain

_SHARES: Final = (0.1, 0.01)  # Of false positives.


def membership_attack(
    members: Plain,
    controls: Plain,
    reference: Plain,
    datasets: Sequence[Plain],
    ranges: Mapping[str, float],
) -> tuple[list[AttackScore], dict[str, str]]:
    """The scores of the attack on members (M,) and controls (C,), and what could not be tried.

    The first score has the AUC as its attack, 1/2 as its control and 2 AUC - 1 as its risk. Its
    interval is Wilson's for 3 M C / (M + C + 1) trials, which is right where there is no attack.
    The others have the rates above the score that a share of the controls is above; their interval
    takes that score as known. `ranges` has the range of each number. Larger = riskier.
    """
    both = {name: np.concatenate([members[name], controls[name]]) for name in members}
    size = len(next(iter(members.values())))
    ratios = density_ratios(both, datasets, reference, ranges)
    own, others = ratios[:size], np.sort(ratios[size:])[::-1]
    trials = 3.0 * size * len(others) / (size + len(others) + 1.0)
    auc, error = rate(share_nearer(others, own) * trials, trials)
    risk, error = 2.0 * auc - 1.0, 2.0 * error
    ends = risk - error, risk + error
    scores = [AttackScore("membership", auc, 0.5, risk, *ends, 0.5, size, len(others))]
    not_made = {}
    for share in _SHARES:
        name, count = f"membership, {share:.0%}".replace("%", " %"), int(share * (len(others) + 1))
        if not 0 < count < len(others):
            not_made[name] = f"it needs {1.0 / share:.0f} control records beside the reference"
            continue
        least = (others[count - 1] + others[count]) / 2.0
        hits = float((own > least).sum()), float((others > least).sum())
        scores.append(score_of(name, hits, (size, len(others)), share))
    return scores, not_made


def density_ratios(
    records: Plain, datasets: Sequence[Plain], reference: Plain, ranges: Mapping[str, float]
) -> Floats:
    """Log density (M,) of the datasets, each as much as another, over that of the reference.

    `ranges` has the range of each number. Larger = rather a member.

    >>> tables = [{"x": np.array(own)} for own in ([0.0, 9.0], [0.0, 8.0], [1.0, 8.0])]
    >>> density_ratios(*tables[:1], tables[1:2], tables[2], {"x": 10.0}).round(1).tolist()
    [16.0, 0.0]
    """
    near = closest_distances(records, reference, ranges) * len(records)
    width = (3.0 * near + near.mean()) / 64.0 if near.any() else np.ones(len(near))
    q, *p = (_log_density(records, table, ranges, width) for table in (reference, *datasets))
    ratios: Floats = np.logaddexp.reduce(p) - np.log(len(p)) - q
    return ratios.round(9)  # What differs by the order of sums ties.


def _log_density(
    records: Plain, table: Plain, ranges: Mapping[str, float], width: Floats
) -> Floats:
    """The log of the mean (M,) of exp(-distance / width) over the records of a table."""
    found = np.empty(len(next(iter(records.values()))))
    for rows, distances in distance_blocks(records, table, ranges):
        least = distances.min(axis=1)
        nearer = np.exp((least[:, None] - distances) / width[rows, None])
        found[rows] = np.log(nearer.mean(axis=1)) - least / width[rows]
    return found
