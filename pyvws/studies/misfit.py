"""The constant weight of whole tables, as a public reference gives it: c = min(1, epsilon / W).

W is a half unit deviance that 5 % of the reference's records exceed, under a fit to them alone. It
grows with the columns of a table. Every second record of a public file stands for the reference,
and the others for the table. Each row takes its weight by the rule, as a run does. The fit of the
table under the clamp, which the weight does not depend on, is left out.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from pyvws.errors import ConvergenceWarning, InputError, MisfitWarning
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.mechanism import Facts, MechanismBase
from pyvws.mechanisms.strict_weights import constant_weights
from pyvws.mechanisms.weighing import Loop, Request, Weighting
from pyvws.studies._tables import terminal_table
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.schema import Schema

_EPSILON: Final = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _WeightAlone(MechanismBase):
    """All records at the constant weight of `reference`, and no clamp."""

    declared = Facts(
        name="weight-alone",
        explanation="All records have the weight that public records give, and nothing is clamped.",
        weights_source="constant",
        weights_from_data=False,
    )

    reference: str

    def weigh(self, loop: Loop, request: Request) -> Weighting:
        run = Censored(epsilon=_EPSILON, weights="constant", reference=self.reference)
        strict = constant_weights(loop, run.window, c=None)
        return Weighting(loop.fit(strict.weights, "the weight alone"), strict.risk)


@dataclass(frozen=True, slots=True, kw_only=True)
class MisfitRow:
    """The weight c of a table's columns at `epsilon`, and W in nats; larger W = smaller c."""

    columns: int
    epsilon: float
    c: float
    W: float


@dataclass(frozen=True, slots=True)
class MisfitStudy:
    """The rows, and how many public records the reference has."""

    reference: int
    rows: list[MisfitRow]
    problems: list[str]


def run(
    file: Path,
    *,
    synthesize: Callable[..., Any],
    schema: Path,
    columns: tuple[float, ...],
    seed: int,
    listener: Listener = SILENT,
) -> MisfitStudy:
    """W of a schema's first columns that have a model, for each number of `columns`, on a file.

    The file is public. `synthesize` is `vws.synthesize`: the study stands below the runs that it
    makes. Raises InputError for a number of columns that the schema does not have.
    """
    frame = read_table(Path(file)).frame
    entries = Schema.read(schema).columns.items()
    modelled = [(name, column) for name, column in entries if column.model is not None]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        reference = Path(folder, "reference.parquet")
        frame.gather_every(2).write_parquet(reference)
        for number in map(int, columns):
            if not 1 < number <= len(modelled):
                raise InputError(f"columns must be from 2 to {len(modelled)}. Got {number}.")
            first = Schema(dict(modelled[:number]))
            with warnings.catch_warnings():  # Of the run only its weight is read.
                for kind in (ConvergenceWarning, MisfitWarning):
                    warnings.simplefilter("ignore", kind)
                release = synthesize(
                    frame.gather_every(2, 1).select(list(first.columns)),
                    schema=first,
                    mechanism=_WeightAlone(reference=str(reference)),
                    datasets=1,
                    draws=250,
                    warmup=250,
                    seed=seed,
                )
            c = float(release.summary["fits"][-1]["mean_weight"])  # All records have the weight c.
            rows.append(MisfitRow(columns=number, epsilon=_EPSILON, c=c, W=_EPSILON / c))
            listener.line(f"  {number} columns: W {_EPSILON / c:.1f}")
    return MisfitStudy((len(frame) + 1) // 2, rows, [])


def table(result: MisfitStudy) -> Any:
    weights_table = terminal_table(
        f"A reference of {result.reference} records",
        left=[],
        right=["columns", "W", "c at epsilon 1", "c at epsilon 4", "c at epsilon 8"],
    )
    for row in result.rows:
        weights = (min(1.0, epsilon / row.W) for epsilon in (1.0, 4.0, 8.0))
        weights_table.add_row(str(row.columns), f"{row.W:.1f}", *(f"{c:.3f}" for c in weights))
    return weights_table


def write(result: MisfitStudy, folder: Path) -> list[str]:
    pl.DataFrame([asdict(row) for row in result.rows]).write_csv(folder / "table.csv")
    return ["table.csv"]
