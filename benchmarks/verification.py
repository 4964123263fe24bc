"""How often verification answers are right, on a public file.

One release is made of the file by a schema. Each question is then asked anew many times, with fresh
coins and fresh noise. A truth is clear where the estimate of the datasets is within a third of the
tolerance of the file's, or twice the tolerance away.

    python -m benchmarks.verification ../shared/data/ma2019.csv
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pyvws.evaluation.regressions import fit_formula
from pyvws.evaluation.verification_question import (
    CANNOT_TELL,
    NO,
    YES,
    Question,
    coded_records,
    question,
)
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.privacy.budget import Budget
from pyvws.release.synthesizer import synthesize
from pyvws.release.verification import agreeing_parts
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.schema import Schema

SCHEMA = Path(__file__).with_name("ma2019.toml")
COLUMNS = ("AGEP", "SEX", "OWN_RENT", "DPHY", "PINCP", "POVPIP")
QUESTIONS = (
    ("PINCP ~ SEX", 25_000.0),
    ("AGEP ~ DPHY", 11.0),
    ("POVPIP ~ OWN_RENT", 40.0),
)
"""Three regressions, each with its tolerance in the coefficient's unit."""


@dataclass(frozen=True)
class Asked:
    """A question, the `distance` of both estimates in tolerances, and the share of each answer."""

    question: Question
    distance: float
    shares: dict[str, float]

    @property
    def truth(self) -> str:
        """Yes or no where it is clear."""
        return YES if self.distance <= 1.0 / 3.0 else NO if self.distance >= 2.0 else "not clear"


def answers(
    file: Path, questions: Sequence[tuple[str, float]], runs: int, epsilon: float = 0.5
) -> Iterator[Asked]:
    """Each question by the datasets, and at two known distances, asked so many times."""
    whole = Schema.read(SCHEMA)
    columns = {name: replace(whole.columns[name], predictors=(), part=None) for name in COLUMNS}
    schema, table = Schema(columns), read_table(file)
    made = synthesize(
        table.as_spelled.select(COLUMNS),
        schema=schema,
        mechanism=NoisyCounts(epsilon=1.0, delta=1e-5),
        datasets=3,
    )
    records = coded_records(schema, table.as_written, COLUMNS)
    units, budget = np.arange(len(records)), Budget(epsilon=epsilon)
    for formula, within in questions:
        asked = question(made.datasets, schema, formula, within=within, scale=budget.scale())
        fit = fit_formula(records, formula)
        exact = float(fit.coefficients[fit.names.index(asked.coefficient)])
        for estimate in (asked.estimate, exact + 0.25 * asked.within, exact + 2.0 * asked.within):
            own = replace(asked, estimate=estimate)
            told = Counter(
                own.answer(agreeing_parts(own, records, units, budget)) for _ in range(runs)
            )
            shares = {answer: told[answer] / runs for answer in (YES, NO, CANNOT_TELL)}
            yield Asked(own, round(abs(estimate - exact) / own.within, 9), shares)


def main() -> None:
    """Print the answers on the file that the command names."""
    for one in answers(Path(sys.argv[1]), QUESTIONS, runs=25):
        asked = one.question
        print(
            f"{asked.formula}: {asked.estimate:.4g}, within {asked.within:.4g}, "
            f"predicted {asked.predicted(0.0):.1f} of {asked.parts}; distance "
            f"{one.distance:.2f} tolerances, truth {one.truth}; {one.shares}",
            flush=True,
        )


if __name__ == "__main__":
    main()
