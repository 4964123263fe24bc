"""Risks of synthetic tables whose rows belong to no records: by keys, by copies and by distances.

Every risk stands beside the same risk of the original itself, released without synthesis, and of
independent columns: the original with each column in an order of its own, which tells of nobody
what the margins do not tell [raab2024] [gower1971].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np
from narwhals.typing import IntoFrame
from numpy.typing import NDArray

from pyvws._base.checks import whole_number
from pyvws.errors import InputError
from pyvws.evaluation.bootstrap import units_drawn
from pyvws.evaluation.disclosure import (
    attribute_disclosure,
    closest_distances,
    replicated_uniques,
    share_nearer,
)
from pyvws.evaluation.known_keys import KeyContribution, KnownKeys, key_contributions, proposed_keys
from pyvws.evaluation.original_and_datasets import (
    OriginalAndDatasets,
    Plain,
    PlainTables,
    plain_tables,
)
from pyvws.sheet import InSheets, Sheet
from pyvws.tables.schema.schema import Schema

_MOST: Final = 2000  # Records whose closest record is looked for, fewer in a large table.
_LEAST: Final = 100
_COMPARED: Final = 1_000_000_000  # Cells that are compared for them.
BLIND: Final = {
    "replicated_uniques": (
        "whether the copied record's other values are right, and records that share their key"
    ),
    "disco": (
        "whether an intruder can tell a right value from a wrong one, targets that are almost "
        "certain, and what is known of everybody: compare it with independent columns"
    ),
    "copies_of_uniques": "near copies, and copies of a part of the columns",
    "closest": (
        "membership, of which it tells little, whom a near record is near to, and rare records "
        "among many, which a mean hides; columns count alike, whether sensitive or not"
    ),
}
"""What each risk cannot see. None of them bounds what an intruder can learn, as epsilon does."""


@dataclass(frozen=True, slots=True)
class RiskScore:
    """One risk of the synthetic datasets, in [0, 1]; larger = riskier.

    - `name`: Such as "replicated_uniques"; of an attribute "disco TARGET".
    - `value`: Mean over the datasets.
    - `by_dataset`: The risk of each dataset.
    - `without_synthesis`: The risk of the original as it is.
    - `independent`: The risk of independent columns with the original's margins.
    - `blind`: What the risk cannot see.
    - `chance`: Of copies, the share that records have which are drawn independently of the original
      ones; None of other risks. The hold-out's records tell it. Without a hold-out each original
      record, or unit, is left out in turn, and stands for such a record.
    - `chance_margin`: How far above `chance` a share may lie: three standard errors.
    """

    name: str
    value: float
    by_dataset: tuple[float, ...]
    without_synthesis: float
    independent: float
    blind: str
    chance: float | None = None
    chance_margin: float = 0.0

    @property
    def exceeds_chance(self) -> bool:
        """Whether the risk is larger than chance explains, where it has a chance of its own."""
        return self.chance is not None and self.value > self.chance + self.chance_margin


@dataclass(frozen=True, slots=True)
class TableRisk(InSheets):
    """What `table_risk` finds: shares in [0, 1], larger = riskier throughout.

    Attributes
    ----------
    replicated_uniques : float
        repU: the share of original records that are alone with their keys, and whose keys a single
        synthetic record has.
    disco : dict of str to float
        DiSCO by target: the share of original records whose target the synthetic records with their
        keys agree on, and rightly.
    copies_of_uniques : float
        The share of synthetic records that equal, in all columns, an original record that is alone.
    closest : float
        How often a synthetic record is nearer to its closest original record than to its closest
        hold-out record. Without a hold-out, the comparison is another original record and its
        closest one. 1/2 = as an independent sample of the population; a smaller hold-out gives
        more. It tells little of membership, which can show where it is 1/2 [dcr2025].
    holdout : bool
        Whether a hold-out was given.
    scores : tuple of RiskScore
        All of these with what gives them a scale.
    exact, by_data : tuple of str
        Numbers among the keys, compared as they are; numbers among the targets, compared by tenths
        of the original's values.
    known : KnownKeys
        The keys, and what proposed them where nobody named any.
    contributions : tuple of KeyContribution
        Which key makes the risk.
    largest_set : int
        The most keys of a minimal sample unique that was looked for.
    """

    replicated_uniques: float
    disco: Mapping[str, float]
    copies_of_uniques: float
    closest: float
    holdout: bool
    scores: tuple[RiskScore, ...]
    exact: tuple[str, ...]
    by_data: tuple[str, ...]
    known: KnownKeys
    contributions: tuple[KeyContribution, ...]
    largest_set: int

    @property
    def sheets(self) -> list[Sheet]:
        """The risks, and what each key adds to them."""
        return [self.sheet, self.by_key]

    @property
    def by_key(self) -> Sheet:
        """What each key adds to the risk, the largest first."""
        rows = sorted(self.contributions, key=lambda own: (-own.alone, -own.minimal))
        return Sheet(
            "Which key makes the risk (confidential)",
            ("key", "alone", "minimal", "replicated"),
            [(own.key, own.alone, own.minimal, own.replicated) for own in rows],
            notes=[
                "Shares from 0 to 1; larger = the key makes more of the risk.",
                "alone: of the records that are alone with all keys, those that are not without "
                "this one. replicated: of the replicated uniques, those that are none without it.",
                "minimal: of the smallest sets of keys, up to "
                f"{self.largest_set}, by which a record is alone, those that have this key.",
            ],
            facts={"keys": {own.key: asdict(own) for own in self.contributions}},
        )

    @property
    def sheet(self) -> Sheet:
        """Each risk beside that of the data as they are and of independent columns."""
        closest = "its closest hold-out record" if self.holdout else "records of the data are apart"
        kinds = {score.name.split()[0]: score.blind for score in self.scores}
        remarks = (
            ("Numbers among the keys are compared as they are", self.exact),
            ("Numbers among the targets are compared by tenths of the data", self.by_data),
        )
        return Sheet(
            f"Risks of {len(self.scores[0].by_dataset)} synthetic datasets (confidential)",
            ("risk", "synthetic", "without synthesis", "independent"),
            [(x.name, x.value, x.without_synthesis, x.independent) for x in self.scores],
            notes=[
                "Shares from 0 (best) to 1 (worst); larger = riskier. without synthesis: the "
                "data released as they are. independent: each column of the data in an order "
                "of its own.",
                "closest: how often a synthetic record is nearer to a record of the data than "
                f"{closest}; 0.5 = as an independent sample.",
                *(
                    f"{own.name}: {own.chance:.4f} of records drawn independently of these "
                    "would equal a lone one; up to "
                    f"{own.chance + own.chance_margin:.4f} is chance."
                    for own in self.scores
                    if own.chance is not None
                ),
                *(f"{name} cannot see {blind}." for name, blind in kinds.items()),
                "None bounds what an intruder can learn, as epsilon does.",
                *(f"{text}: {', '.join(columns)}." for text, columns in remarks if columns),
                *filter(None, [self.known.words]),
            ],
            facts={score.name: asdict(score) for score in self.scores},
        )


def table_risk(
    original: IntoFrame,
    synthetic: Sequence[Any],
    *,
    keys: Sequence[str] | str | None = None,
    target: Sequence[str] | str = (),
    holdout: IntoFrame | None = None,
    schema: Schema | None = None,
    bins: Mapping[str, Any] | None = None,
    seed: int = 1,
) -> TableRisk:
    """Risks of synthetic tables from any tool, with rows in any order and number [raab2024].

    Replicated uniques and attribute disclosure (DiSCO) by keys, copies of unique records, and
    distances to the closest record [gower1971], each beside the risk without synthesis. They
    describe what datasets show to these intruders; they bound nothing.

    Parameters
    ----------
    original : pandas, polars or Arrow table
        Confidential records.
    synthetic : sequence of tables
        Synthetic datasets. A single one stands in a list.
    keys : sequence of str, optional
        Columns that an intruder knows of a record; by default those that the schema proposes.
        Numbers are compared as they are, unless `bins` has them.
    target : str or sequence of str
        Columns that an intruder wants to know. Numbers are compared by `bins`, else by tenths of
        the original's values.
    holdout : table, optional
        Records of the same population that no dataset was made from, best as many as `original`.
    schema : Schema, optional
        As in `pyvws.table_utility`.
    bins : mapping of str to array_like of shape (E,), optional
        Rising edges of numbers' bins.
    seed : int
        Seed of the independent columns, and of the at most 2,000 records whose distances are taken.

    Returns
    -------
    TableRisk

    Raises
    ------
    InputError
        For a column that a table lacks or that is constant, no key, and a target among the keys.

    Examples
    --------
    >>> import pandas as pd
    >>> original = pd.DataFrame({"age": [20, 30, 30, 40] * 5, "ill": list("nnyy") * 5})
    >>> table_risk(original, [original], keys=["age"], target="ill").disco["ill"]
    0.5
    """
    seed = whole_number(seed, "seed", least=0)
    targets = [target] if isinstance(target, str) else list(target)
    read = OriginalAndDatasets.read(original, synthetic, schema=schema, holdout=holdout)
    named_keys = (keys,) if isinstance(keys, str) else tuple(keys or ())
    chosen_keys = KnownKeys(named_keys)
    if keys is None:
        chosen_keys = proposed_keys(schema, read.first.columns, but=targets) or chosen_keys
    known = list(chosen_keys.keys)
    if not known:
        raise InputError.by("keys-missing")
    bins = {**chosen_keys.bins, **(bins or {})}
    if both := sorted(set(known) & set(targets)):
        raise InputError.by("key-is-target", both=both[0])
    tables = plain_tables(read, bins=bins, least=1)
    tables.require((*known, *targets), read.first.columns)
    held = tables.synthetic[-1] if holdout is not None else None
    datasets = tables.synthetic[:-1] if holdout is not None else tables.synthetic
    rng = np.random.default_rng(seed)
    first, N = tables.original, len(next(iter(tables.original.values())))
    apart = {name: values[rng.permutation(N)] for name, values in first.items()}
    most = max(_LEAST, min(_MOST, _COMPARED // (N * len(first))))
    chosen = np.sort(rng.permutation(N)[:most])
    ranges = {n: float(np.nanmax(first[n]) - np.nanmin(first[n])) for n in tables.edges}

    def score(name: str, measure: Callable[[Plain], float], label: str = "") -> RiskScore:
        values = tuple(measure(table) for table in datasets)
        ends = measure(first), measure(apart)
        return RiskScore(label or name, float(np.mean(values)), values, *ends, BLIND[name])

    def replicated(table: Plain) -> float:
        return replicated_uniques(*_patterns(tables, known, bins, first, table)).replicated

    def disclosure_of(name: str) -> RiskScore:
        def disclosed(table: Plain) -> float:
            pair = _patterns(tables, known, bins, first, table)
            cells = [tables.cells({name: records[name]})[:, 0] for records in (first, table)]
            return attribute_disclosure(pair[0], cells[0], pair[1], cells[1]).correct

        return score("disco", disclosed, f"disco {name}")

    def copied(table: Plain) -> float:
        mine, theirs = _patterns(tables, tables.names, {}, first, table)
        counts = np.bincount(mine, minlength=1 + int(max(mine.max(), theirs.max())))
        return float((counts[theirs] == 1).mean())

    def nearer(table: Plain) -> float:
        size = len(next(iter(table.values())))
        rows = np.random.default_rng(seed).permutation(size)[:most]
        records = {name: values[rows] for name, values in table.items()}
        near = closest_distances(records, first, ranges)
        if held is None:
            own = {name: values[chosen] for name, values in first.items()}
            return share_nearer(near, closest_distances(own, first, ranges, itself=chosen))
        far = closest_distances(records, held, ranges)
        return float(np.mean(np.where(near == far, 0.5, near < far)))

    rows = sum(len(next(iter(table.values()))) for table in datasets)
    if held is None:
        unit = getattr(schema, "unit", None)
        units = units_drawn(read.first, unit) if unit in read.first.columns else np.arange(N)
        mine, _ = _patterns(tables, tables.names, {}, first, first)
        chance = _chance(_copies_left_out(mine, units), 2.0 / N, rows)
    else:
        chance = _chance(copied(held), 1.0 / len(next(iter(held.values()))), rows)
    scores = (
        score("replicated_uniques", replicated),
        *map(disclosure_of, targets),
        replace(score("copies_of_uniques", copied), chance=chance[0], chance_margin=chance[1]),
        score("closest", nearer),
    )
    coded = (np.array([*_coded(tables, known, bins, first, table)]) for table in datasets)
    added, largest = key_contributions(known, ((both[:, :N], both[:, N:]) for both in coded))
    by_name = {entry.name: entry.value for entry in scores}
    numbers = [name for name in tables.by_data if name in tables.edges]
    return TableRisk(
        replicated_uniques=by_name["replicated_uniques"],
        disco={name: by_name[f"disco {name}"] for name in targets},
        copies_of_uniques=by_name["copies_of_uniques"],
        closest=by_name["closest"],
        holdout=holdout is not None,
        scores=scores,
        exact=tuple(name for name in known if name in numbers),
        known=chosen_keys,
        contributions=added,
        largest_set=largest,
        by_data=tuple(name for name in targets if name in numbers),
    )


def _copies_left_out(codes: NDArray[np.intp], units: NDArray[np.intp]) -> float:
    """How often a record equals a lone one of the others, where its unit (N,) is left out.

    >>> _copies_left_out(np.array([0, 0, 1, 2, 2, 2]), np.arange(6))
    0.3333333333333333
    """
    _, of_unit, own = np.unique(
        np.column_stack([codes, units]), axis=0, return_inverse=True, return_counts=True
    )
    others = np.bincount(codes)[codes] - own[of_unit.ravel()]
    return float((others == 1).mean())


def _chance(share: float, step: float, rows: int) -> tuple[float, float]:
    """A share that chance has, and three standard errors of another one in so many rows.

    One record more would make `step` more of the share.
    """
    most = share + step
    return share, 3.0 * float(np.sqrt(most / rows + most * step))


def _patterns(
    tables: PlainTables,
    names: Sequence[str],
    binned: Mapping[str, Any],
    first: Plain,
    second: Plain,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Codes of the combinations of some columns' values in both tables; missing is a value."""
    count = len(first[names[0]])
    codes = np.zeros(count + len(second[names[0]]), dtype=np.intp)
    for places in _coded(tables, names, binned, first, second):
        _, codes = np.unique(codes * (places.max() + 1) + places, return_inverse=True)
    return codes[:count], codes[count:]


def _coded(
    tables: PlainTables,
    names: Sequence[str],
    binned: Mapping[str, Any],
    first: Plain,
    second: Plain,
) -> Iterator[NDArray[np.intp]]:
    """Codes (N + N_s,) of each column's values in one table after the other."""
    for name in names:
        if name in binned:
            parts = [tables.cells({name: records[name]})[:, 0] for records in (first, second)]
        else:
            parts = [first[name], second[name]]
        yield np.unique(np.concatenate(parts), return_inverse=True)[1]
