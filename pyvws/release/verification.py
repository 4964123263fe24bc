"""Verification answers: whether a coefficient on synthetic data agrees with the confidential one.

Whole units fall to M parts by a secret coin each, and the same regression is fitted in each part
[barrientos2018]. The answer follows from how many parts agree within a tolerance, told with
discrete Laplace noise of scale 1 / epsilon. A unit left out or added changes one part. A unit that
is replaced leaves its coin to the other, since coins are independent of what they are tossed for:
it changes one part too. So the count moves by 1 at most under both neighbours, for units of any
size and with any cap.

All else is public: M, the tolerance, the estimate, its standard error, and what is refused. A part
that cannot be fitted says no, whatever stops it.
"""

from __future__ import annotations

import json
import secrets
import shutil
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pyvws._base.checks import positive, whole_number
from pyvws._base.folders import write_whole
from pyvws._base.secret_noise import opendp_version, secret_keys
from pyvws.errors import InputError
from pyvws.evaluation.released_folder import STATEMENT, ReleasedFolder
from pyvws.evaluation.verification_question import CANNOT_TELL, Question, coded_records, question
from pyvws.privacy.budget import Budget
from pyvws.privacy.seller import PricedMeasurement, Seller
from pyvws.sheet import InSheets, Sheet
from pyvws.statement.parts import ReliesOn
from pyvws.statement.verification import VerificationStatement
from pyvws.synthesis.earlier_releases import read_earlier
from pyvws.tables.files.frame import check_columns, open_frame, units_by_id
from pyvws.tables.files.read import file_digest, read_table
from pyvws.tables.schema.schema import SCHEMA_FILE, Schema

ANSWERS: Final = "verified"
"""The folder beside release/ that holds a folder for each answer, with its statement."""
SET_BY_AGENCY: Final = "verification.json"
"""The file of confidential/ that has the agency's budget and the place of its table."""
AGREEING: Final = "agreeing parts"
"""The name of the measurement that an answer buys."""

_LEAST_PARTS, _MOST_PARTS = 20, 30
_NOT_TOLD: Final = "not told"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class VerificationAnswer(InSheets):
    """The answer to a question, and what it cost.

    - `answer` {"yes", "no", "cannot tell"}: Whether the confidential estimate is within reach.
    - `question`: What was asked; public.
    - `agreeing`: The noisy number of parts that agree; None where nothing was asked of the table,
      since public figures say that no answer could tell.
    - `epsilon`: What the answer cost; 0 then. Larger = less private.
    - `spent`, `most`: What all answers on the release cost, and the agency's budget for them.
    - `privacy`: The answer's statement, which is in the ledger; empty where it cost nothing.
    """

    answer: str
    question: Question
    agreeing: int | None
    epsilon: float
    spent: float
    most: float
    privacy: dict[str, Any]

    @property
    def sheet(self) -> Sheet:
        """The figures, with the answer first."""
        asked, told = self.question, self.question.told()
        least = asked.least_within
        why = f"a tolerance of {least:.4g} or more" if asked.within < least else "more epsilon"
        cost = {"epsilon": self.epsilon, "spent": self.spent, "most_epsilon": self.most}
        first = {"answer": self.answer, "agreeing": self.agreeing}
        shown = {**first, **told, **told["predicted"], **cost}
        names = {
            "answer": "answer",
            "estimate": "estimate of the datasets",
            "within": "tolerance",
            "standard_error": "standard error, public",
            "agreeing": f"parts of {asked.parts} that agree, with noise",
            "equal": "predicted where estimates are equal",
            "twice_the_tolerance": "predicted at twice the tolerance",
            "epsilon": "epsilon of this answer",
            "spent": "epsilon of all answers",
            "most_epsilon": "most that answers may cost",
        }
        notes = [
            f"Noise of the number of parts has a standard deviation of {asked.deviation:.2g}.",
            "The cost is in the ledger: pyvws ledger adds it to that of the release."
            if self.privacy
            else f"Public figures say so: nothing was asked or spent. An answer needs {why}.",
        ]
        rows = [(name, shown[key]) for key, name in names.items()]
        title = f"{asked.coefficient} of {asked.formula}: within the tolerance?"
        facts = {**first, **told, **cost}
        return Sheet(title, ("figure", "value"), rows, notes=notes, facts=facts)


def verify(
    folder: str | Path,
    formula: str,
    *,
    within: float | str,
    epsilon: float,
    original: str | Path | None = None,
    most_epsilon: float | None = None,
    coefficient: str | None = None,
    parts: int = 30,
) -> VerificationAnswer:
    """Whether a coefficient on the datasets is within a tolerance of the confidential table's.

    The answer is differentially private and enters the ledger. Each question is about one
    coefficient, at its own price. Only the agency can ask, since it holds the table.

    Parameters
    ----------
    folder : path
        A run's folder, with release/ and confidential/.
    formula : str
        A least-squares regression, such as "income ~ age". Its columns are as the schema codes
        them. Where datasets follow survey weights, the regression on the table has these.
    within : float or str
        The tolerance above 0, in units of the outcome per unit of the predictor. Text such as
        "10%" is a share of the datasets' estimate.
    epsilon : float
        What the answer may cost, above 0; larger = less private, and less noise.
    original : path, optional
        The file that the run read. The first question names it, and later ones need not.
    most_epsilon : float, optional
        What all answers on the release may cost together. The first question sets it.
    coefficient : str, optional
        Name of the coefficient, as R has it; needed where there are several besides the intercept.
    parts : int
        Number M of parts, 20 to 30. More parts need a wider tolerance and less epsilon.

    Returns
    -------
    VerificationAnswer
        .answer is "yes", "no" or "cannot tell".

    Raises
    ------
    InputError
        For another table, a formula that the datasets cannot be fitted by, a release without a
        public schema, and a cost beyond the budget.

    Examples
    --------
    >>> verify("out", "income ~ age", within="10%", epsilon=0.5)  # doctest: +SKIP
    """
    out, budget = Path(folder), Budget(epsilon=epsilon)
    if whole_number(parts, "parts", least=_LEAST_PARTS) > _MOST_PARTS:
        raise InputError.by("verify-parts", least=_LEAST_PARTS, most=_MOST_PARTS, parts=parts)
    release = ReleasedFolder.read(out)
    known, unit = Schema.parse(release.schema), release.privacy.get("unit_column")
    if known is None or known.under_review:
        raise InputError.by("verify-without-schema", folder=out, schema_file=SCHEMA_FILE)
    asked = question(
        *(release.datasets, known, formula),
        within=within,
        scale=budget.scale(),
        coefficient=coefficient,
        parts=parts,
    )
    agency = _Agency.read(out, original, most_epsilon)
    agency.refuse_beyond(budget.epsilon)
    answer, noisy, privacy = CANNOT_TELL, None, dict[str, Any]()
    if asked.can_tell:
        opendp_version()  # Raises before anything is entered.
        table = open_frame(read_table(agency.original, every_line=True).as_written, least=0)
        check_columns(table, [] if unit is None else [unit], role="unit")
        records = coded_records(known, table, release.datasets[0].columns)
        units = np.arange(len(table)) if unit is None else units_by_id(table[unit])
        statement = _statement(asked, release, known, budget.epsilon, agency.statements())
        place = agency.entered()  # The cost, before anything is bought.
        privacy = _write(place, statement, _NOT_TOLD, None)
        agency.refuse_beyond(0.0, undo=place)  # Of several at once.
        noisy = agreeing_parts(asked, records, units, budget)
        answer = asked.answer(noisy)
        privacy = _write(place, statement, answer, noisy)
    return VerificationAnswer(
        answer=answer,
        question=asked,
        agreeing=noisy,
        epsilon=budget.epsilon if privacy else 0.0,
        spent=float(agency.spent),
        most=agency.most,
        privacy=privacy,
    )


def agreeing_parts(
    asked: Question, records: pl.DataFrame, units: NDArray[np.intp], budget: Budget
) -> int:
    """The noisy number of parts whose regression agrees, bought of a seller.

    `units` (N,) are those of the records, from 0 on, and -1 of a record that counts nowhere. Raises
    SpendingError where the noise is too small for the budget.
    """
    good = PricedMeasurement(AGREEING, budget.price(asked.scale), asked.scale)
    seller = Seller([good], budget=budget, records=records)
    part_of = secret_parts(units, asked.parts)
    agreeing = sum(asked.agrees(records.filter(part_of == part)) for part in range(asked.parts))
    return int(seller.numbers(AGREEING, np.array([agreeing], dtype=np.int64))[0])


def secret_parts(units: NDArray[np.intp], parts: int) -> NDArray[np.intp]:
    """The part (N,) of each record by the coin of its unit; -1 where it has none."""
    coins = secret_keys(1 + int(units.max(initial=-1))) % np.uint64(parts)
    return np.append(coins.astype(np.intp), -1)[units]


@dataclass(frozen=True, slots=True)
class _Agency:
    """The agency's table, and the `most` that all answers in the folder `out` may cost."""

    out: Path
    original: Path
    most: float

    @classmethod
    def read(cls, out: Path, original: str | Path | None, most: float | None) -> _Agency:
        """What the first question set; InputError for another budget, or another table."""
        kept = out / "confidential" / SET_BY_AGENCY
        try:
            summary = json.loads(kept.with_name("summary.json").read_text(encoding="utf-8"))
            known = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
        except (OSError, ValueError):
            raise InputError.by("verify-without-confidential", folder=out) from None
        agreed = known.get("most_epsilon", most)
        place = known.get("original") if original is None else original
        if agreed is None or place is None:
            raise InputError.by("verify-not-set")
        if most not in (None, agreed):
            raise InputError.by("verify-other-budget", agreed=agreed, file=kept)
        table = Path(place).resolve()
        if not table.exists():
            raise InputError.by("verify-no-table", table=table.name)
        of_file = summary.get("input_sha256_of", "file") == "file"
        if of_file and file_digest(table) != summary["input_sha256"]:
            raise InputError.by("verify-other-table", folder=out, table=table.name)
        found = cls(out, table, positive(agreed, "most_epsilon"))
        own = {"original": str(table), "most_epsilon": found.most}
        if own != known:
            write_whole(kept, json.dumps(own) + "\n", private=True)
        return found

    @property
    def _entries(self) -> list[Path]:
        return sorted((self.out / ANSWERS).glob(f"*/{STATEMENT}"))

    @property
    def spent(self) -> Decimal:
        """Epsilon of all answers so far, those that were not told too."""
        entries = [json.loads(path.read_text(encoding="utf-8")) for path in self._entries]
        return sum((Decimal(repr(own["epsilon_total"])) for own in entries), Decimal(0))

    def refuse_beyond(self, cost: float, undo: Path | None = None) -> None:
        """Raise InputError where the answers and a further `cost` are beyond the budget."""
        left = Decimal(repr(self.most)) - self.spent
        if Decimal(repr(cost)) > left:
            if undo is not None:
                shutil.rmtree(undo)
            left = max(left, Decimal(0))
            raise InputError.by("verify-beyond-budget", most=self.most, left=f"{float(left):g}")

    def statements(self) -> tuple[dict[str, Any], ...]:
        """The statements of the release and of its answers."""
        return read_earlier([self.out / "release", *self._entries])

    def entered(self) -> Path:
        """A new folder for an answer, by the next number."""
        number = 1 + len(self._entries)
        while (place := self.out / ANSWERS / f"{number:03d}").exists():
            number += 1
        place.mkdir(parents=True)
        return place


def _statement(
    asked: Question,
    release: ReleasedFolder,
    schema: Schema,
    epsilon: float,
    earlier: tuple[dict[str, Any], ...],
) -> VerificationStatement:
    privacy, weighing = release.privacy, schema.weighing
    claim = privacy.get("certified") or privacy
    weight = schema.exponents if weighing is None else weighing.column
    settings: dict[str, Any] = {"schema": SCHEMA_FILE, "formula": asked.formula}
    if schema.reviewed is not None:
        settings["schema_was_proposed"] = True
    return VerificationStatement(
        mechanism="verification",
        datasets=0,
        columns_released_unchanged=(),
        rounded=False,
        unit=privacy.get("unit_column"),
        relies_on=ReliesOn(engine="discrete-laplace", exact_draws=True, public_settings=settings),
        earlier=earlier,
        neighbours="replace" if claim["neighbours"] == "replace-one" else "loo",
        epsilon=epsilon,
        question=asked.told() | {"release": privacy.get("release_id")},
        weight=weight or "",
        fixed=bool(weight) and (weighing is None or weighing.calibrated),
    )


def _write(
    place: Path, statement: VerificationStatement, answer: str, agreeing: int | None
) -> dict[str, Any]:
    """Write an answer's statement to its folder. All its figures are settings or public."""
    written = statement.exact() | {"release_id": secrets.token_hex(16)}
    written["verification"] |= {"answer": answer, "agreeing": agreeing}
    write_whole(place / STATEMENT, json.dumps(written, indent=2, ensure_ascii=False) + "\n")
    return written
