"""Find numbers that are sums and differences of others, within rounding.

A number is regressed on all others in some records. Where each coefficient is nearly 1, -1 or 0,
the sum that these make is held against all records. Rounded numbers may miss their sum by half a
step each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from pyvws.tables.files.labels import label_of
from pyvws.tables.proposal.often import Bools, CodedRecords
from pyvws.tables.proposal.rules import formatted_name, number_between
from pyvws.tables.schema.arithmetic import EXACT

_LEAST: Final = 40  # Records of a regression, and two for each number more.
_TRIES: Final = 3  # Of other records.
_NEARLY: Final = 0.05  # How far a coefficient may be from a whole one.
_VARIED: Final = 20.0  # Steps of the standard deviation of what is told within rounding.


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """A sum of numbers, how far rounding puts records from it, and what it makes of them (N,)."""

    text: str
    parts: tuple[str, ...]
    within: float
    broken: Bools
    blank: Bools

    @property
    def rule(self) -> str:
        """The rule that the records keep but for the broken ones."""
        within = f" within {label_of(self.within)}" if self.within else ""
        return f"= {self.text}{within}{' or missing' if self.blank.any() else ''}"


def sums_of(name: str, others: list[str], records: CodedRecords) -> Iterator[Sum]:
    """The sums of `others` that some records say a number is, each once.

    `broken` are the records (N,) that are no such sum, `blank` those that lack the number alone.
    """
    columns, own = records.columns, records.values[name]
    x = np.column_stack([records.values[other] for other in others] or [np.empty((len(own), 0))])
    rows = np.flatnonzero(~np.isnan(own) & ~np.isnan(x).any(axis=1))
    most = _LEAST + 2 * len(others)
    seen: set[str] = set()
    if not others or len(rows) < most:
        return
    for k in range(_TRIES):
        some = rows[np.linspace(k, len(rows) - _TRIES + k, most).astype(np.intp)]
        centred = x[some] - x[some].mean(axis=0)
        found = np.linalg.lstsq(centred, own[some] - own[some].mean(), rcond=None)[0]
        whole = np.rint(found)
        used = np.flatnonzero(whole)
        if (np.abs(found - whole) > _NEARLY).any() or (np.abs(whole) > 1.0).any() or not len(used):
            continue
        steps = [columns[one].step for one in (name, *(others[j] for j in used))]
        exact = 0.5 * (steps[0] or 0.0) + 1e3 * EXACT * float(np.abs(own[some]).max())
        loose = 0.5 * sum(step or 0.0 for step in steps)
        made = x[:, used] @ whole[used]
        gap = own - made
        middle = float(np.median(gap[some]))
        constant = number_between(middle - exact, middle + exact)
        off = np.abs(gap - constant)
        rounded = len(used) > 1 and None not in steps
        rounded = rounded and float(own[some].std()) >= _VARIED * (steps[0] or 0.0)
        far = float(np.median(off[some][off[some] > exact])) if (off[some] > exact).any() else 0.0
        within = round(loose, 10) if rounded and exact < far <= loose * (1.0 + 1e-9) else 0.0
        text = _spelled({others[j]: whole[j] for j in used}, constant)
        if text in seen:
            continue
        seen.add(text)
        there = ~np.isnan(made)
        blank = np.isnan(own) & there
        broken = (off > max(exact, within * (1.0 + 1e-9))) | (~there & ~np.isnan(own))
        yield Sum(text, tuple(others[j] for j in used), within, broken, blank)


def _spelled(signs: Mapping[str, float], constant: float) -> str:
    """The sum in words: first a constant, or what is added."""
    terms = [(sign, formatted_name(other)) for other, sign in signs.items()]
    terms += [(float(np.sign(constant)), label_of(abs(constant)))] if constant else []
    front = constant > 0.0 and any(sign < 0.0 for sign, _ in terms)
    terms.sort(key=lambda term: (term[0] < 0.0, front and term[1] != label_of(abs(constant))))
    text = "".join(f" {'-' if sign < 0.0 else '+'} {said}" for sign, said in terms)
    return text[3:] if terms[0][0] > 0.0 else f"-{text[3:]}"
