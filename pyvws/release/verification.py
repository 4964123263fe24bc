"""Verification answers: whether a coefficient on synthetic data agrees with the confidential one.

Whole units fall to M parts by a secret coin each, and the same regression is fitted in each part.
The answer follows from how many parts agree within a tolerance, told with discrete Laplace noise of
scale 1 / epsilon. A unit left out or added changes one part. A unit that is replaced leaves its
coin to the other, since coins are independent of what they are tossed for: it changes one part too.
So the count moves by 1 at most under both neighbours, for units of any size and with any cap.

All else is public: M, the tolerance, the estimate, its standard error, and what is refused. A part
that cannot be fitted says no, whatever stops it.
"""

from __future__ import annotations

import json
import math
import re
import secrets
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtr

from pyvws._base.checks import Floats, positive, whole_number
from pyvws._base.folders import write_whole
from pyvws._base.secret_noise import opendp_version, secret_keys
from pyvws.errors import InputError
from pyvws.evaluation.regressions import fit_formula
from pyvws.evaluation.released_folder import STATEMENT, ReleasedFolder
from pyvws.privacy.budget import Budget
from pyvws.privacy.seller import PricedMeasurement, Seller
from pyvws.sheet import InSheets, Sheet
from pyvws.statement.parts import ReliesOn
from pyvws.statement.verification import VerificationStatement
from pyvws.synthesis.earlier_releases import read_earlier
from pyvws.tables.files.frame import check_columns, open_frame, units_by_id
from pyvws.tables.files.labels import as_number
from pyvws.tables.files.read import file_digest, read_table
from pyvws.tables.schema.read_values import Unknown, coded_columns, numbers_and_codes
from pyvws.tables.schema.schema import SCHEMA_FILE, Schema
from pyvws.tables.schema.write_values import content_of

YES, NO, CANNOT_TELL = "yes", "no", "cannot tell"
ANSWERS: Final = "verified"
"""The folder beside release/ that holds a folder for each answer, with its statement."""
SET_BY_AGENCY: Final = "verification.json"
"""The file of confidential/ that has the agency's budget and the place of its table."""
PARTS: Final = (20, 30)
AGREEING: Final = "agreeing parts"
"""The name of the measurement that an answer buys."""

_NOT_TOLD: Final = "not told"
_WEIGHT: Final = "\0weight"  # No column of a formula is called so.
_OF_ALL_ROWS: Final = re.compile(r"\b(poly|scale)\s*\(")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of the confidential table: all of it is public.

    - `formula`, `family`, `names`: The regression, and the names of its coefficients.
    - `coefficient`, `estimate`, `error`: The one that is asked for, its estimate of the datasets,
      and its standard error in a file of as many records.
    - `within`: The tolerance, in the coefficient's unit.
    - `parts`: M, the number of parts.
    - `scale`: Scale of the noise of the number of parts that agree.
    """

    formula: str
    family: str
    names: tuple[str, ...]
    coefficient: str
    estimate: float
    error: float
    within: float
    parts: int
    scale: float

    @property
    def deviation(self) -> float:
        """The standard deviation of the discrete Laplace noise, in parts."""
        q = math.exp(-1.0 / self.scale)
        return math.sqrt(2.0 * q) / (1.0 - q)

    @property
    def error_of_part(self) -> float:
        """The standard error in one part: sqrt(M) times that of the file."""
        return math.sqrt(self.parts) * self.error

    def predicted(self, distance: float) -> float:
        """How many parts agree on average where the confidential estimate is that far away."""
        ends = np.array([self.within - distance, -self.within - distance])
        if self.error_of_part == 0.0:
            return float(self.parts * (ends[0] >= 0.0))
        upper, lower = ndtr(ends / self.error_of_part)
        return float(self.parts * (upper - lower))

    @property
    def can_tell(self) -> bool:
        """Whether an answer may be yes, by what is public."""
        if self.error_of_part > 0.5 * self.within:
            return False
        return self.answer(self.predicted(0.0)) == YES

    def answer(self, agreeing: float) -> str:
        """Yes or no, unless the noisy number of parts is within 2 deviations of half of them."""
        beyond = agreeing - 0.5 * self.parts
        if abs(beyond) <= 2.0 * self.deviation:
            return CANNOT_TELL
        return YES if beyond > 0.0 else NO

    def agrees(self, part: pl.DataFrame) -> bool:
        """Whether the regression in a part (n,) of the records has the coefficient within reach."""
        weights = _WEIGHT if _WEIGHT in part.columns else None
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                fit = fit_formula(part, self.formula, family=self.family, weights=weights)
        except Exception:  # No record may decide that a run stops.
            return False
        if {*fit.names} != {*self.names}:  # A level that is missing changes what others mean.
            return False
        found = float(fit.coefficients[fit.names.index(self.coefficient)])
        return abs(found - self.estimate) <= self.within  # Not where it is NaN.


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
    def sheets(self) -> list[Sheet]:
        """One sheet, with the answer first."""
        asked = self.question
        same, apart = asked.predicted(0.0), asked.predicted(2.0 * asked.within)
        rows: list[tuple[str, Any]] = [
            ("answer", self.answer),
            ("estimate of the datasets", asked.estimate),
            ("tolerance", asked.within),
            ("standard error, public", asked.error),
            ("parts", asked.parts),
            (
                "parts that agree, with noise",
                "not asked" if self.agreeing is None else self.agreeing,
            ),
            ("predicted at distance 0", same),
            ("predicted at twice the tolerance", apart),
            ("epsilon of this answer", self.epsilon),
            ("epsilon of all answers", self.spent),
            ("most that answers may cost", self.most),
        ]
        least = 2.0 * asked.error_of_part
        why = f"a tolerance of {least:.4g} or more" if asked.within < least else "more epsilon"
        free = f"Public figures say this, so nothing was asked or spent. An answer needs {why}."
        cost = "The cost is in the ledger: pyvws ledger adds it to that of the release."
        noise = f"Noise of the number of parts has a standard deviation of {asked.deviation:.2g}."
        return [
            Sheet(
                f"{asked.coefficient} of {asked.formula}: within the tolerance?",
                ("figure", "value"),
                rows,
                notes=[noise, cost if self.privacy else free],
                facts={
                    "answer": self.answer,
                    **_told(asked),
                    "agreeing": self.agreeing,
                    "epsilon": self.epsilon,
                    "spent": self.spent,
                    "most_epsilon": self.most,
                },
            )
        ]


def _told(asked: Question) -> dict[str, Any]:
    """A question as a statement has it, with the parts that are predicted to agree."""
    return {
        "formula": asked.formula,
        "family": asked.family,
        "coefficient": asked.coefficient,
        "estimate": asked.estimate,
        "standard_error": asked.error,
        "within": asked.within,
        "parts": asked.parts,
        "scale": asked.scale,
        "predicted": {
            "equal": asked.predicted(0.0),
            "twice_the_tolerance": asked.predicted(2.0 * asked.within),
        },
    }


def verify(
    folder: str | Path,
    formula: str,
    *,
    within: float | str,
    epsilon: float,
    original: str | Path | None = None,
    most_epsilon: float | None = None,
    coefficient: str | None = None,
    parts: int = 25,
    family: str = "gaussian",
) -> VerificationAnswer:
    """Whether a coefficient on the datasets is within a tolerance of the confidential table's.

    The answer is differentially private and enters the ledger. Each question is about one
    coefficient, at its own price. Only the agency can ask, since it holds the table.

    Parameters
    ----------
    folder : path
        A run's folder, with release/ and confidential/.
    formula : str
        The regression, such as "income ~ age". Columns are read as the schema codes them.
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
    family : {"gaussian", "logistic", "poisson"}
        As in `pyvws.regression_utility`. Survey weights of the release need "gaussian".

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
    out = Path(folder)
    budget = Budget(epsilon=epsilon)
    whole_number(parts, "parts", least=PARTS[0])
    if parts > PARTS[1]:
        raise InputError.by("verify-parts", least=PARTS[0], most=PARTS[1], parts=parts)
    if _OF_ALL_ROWS.search(formula):
        raise InputError.by("verify-of-all-rows", formula=formula)
    release = ReleasedFolder.read(out)
    schema = Schema.parse(release.schema)
    if schema is None or schema.under_review:
        raise InputError.by("verify-without-schema", folder=out, schema_file=SCHEMA_FILE)
    asked = question(
        *(release, schema, formula),
        within=within,
        scale=budget.scale(),
        coefficient=coefficient,
        parts=parts,
        family=family,
    )
    agency = _Agency.read(out, original, most_epsilon)
    cost = budget.epsilon
    if not asked.can_tell:
        return VerificationAnswer(
            answer=CANNOT_TELL,
            question=asked,
            agreeing=None,
            epsilon=0.0,
            spent=float(agency.spent),
            most=agency.most,
            privacy={},
        )
    agency.refuse_beyond(cost)
    if schema.exponents or schema.weighing:
        if family != "gaussian":
            raise InputError.by("verify-weights-family", family=family)
    opendp_version()  # Raises before anything is entered.
    table = open_frame(read_table(agency.original, every_line=True).as_written)
    unit = release.privacy.get("unit_column")
    check_columns(table, [] if unit is None else [unit], role="unit")
    records = coded_records(schema, table, release.datasets[0].columns)
    units = np.arange(len(table)) if unit is None else units_by_id(table[unit])
    place = agency.entered()
    statement = _statement(asked, release, schema, cost, agency.statements(but=place))
    _write(place, statement, _NOT_TOLD, None)
    agency.refuse_beyond(0.0, undo=place)  # Of several at once.
    noisy = agreeing_parts(asked, records, units, budget)
    answer = asked.answer(noisy)
    return VerificationAnswer(
        answer=answer,
        question=asked,
        agreeing=noisy,
        epsilon=cost,
        spent=float(agency.spent),
        most=agency.most,
        privacy=_write(place, statement, answer, noisy),
    )


def question(
    release: ReleasedFolder,
    schema: Schema,
    formula: str,
    *,
    within: float | str,
    scale: float,
    coefficient: str | None = None,
    parts: int = 25,
    family: str = "gaussian",
) -> Question:
    """The question, with the estimate of the datasets; InputError where they have none."""
    names = release.datasets[0].columns
    fits = [
        fit_formula(
            coded_records(schema, open_frame(own), names), formula, f"dataset {number}", family
        )
        for number, own in enumerate(release.datasets, start=1)
    ]
    found = fits[0].names
    if any(fit.names != found for fit in fits):
        raise InputError.by("verify-designs-differ", formula=formula)
    others = [name for name in found if name != "(Intercept)"] or [*found]
    if coefficient is None and len(others) > 1:
        raise InputError.by("verify-several", listed=", ".join(others))
    chosen = others[0] if coefficient is None else coefficient
    if chosen not in found:
        raise InputError.by("verify-no-such", coefficient=chosen, listed=", ".join(found))
    place = found.index(chosen)
    estimate = float(np.mean([fit.coefficients[place] for fit in fits]))
    error = math.sqrt(float(np.mean([fit.variances[place] for fit in fits])))
    if not (math.isfinite(estimate) and math.isfinite(error)):
        raise InputError.by("verify-not-fitted", coefficient=chosen, formula=formula)
    return Question(
        formula=formula,
        family=family,
        names=found,
        coefficient=chosen,
        estimate=estimate,
        error=error,
        within=_tolerance(within, estimate),
        parts=parts,
        scale=scale,
    )


def _tolerance(within: float | str, estimate: float) -> float:
    """A tolerance above 0 in the coefficient's unit, also of a share of the estimate."""
    if not isinstance(within, str):
        return positive(within, "within")
    number = as_number(within.strip().removesuffix("%"))
    if number is None or not 0.0 < number < math.inf:
        raise InputError.by("verify-within", within=within)
    own = abs(estimate) * number / 100.0 if within.strip().endswith("%") else number
    if own == 0.0:
        raise InputError.by("verify-share-of-zero", within=within)
    return own


def coded_records(schema: Schema, table: Any, released: Sequence[str]) -> pl.DataFrame:
    """The columns of a table (N,) that a release has, coded by its schema, with survey weights.

    Each cell is read by itself, and none is refused: numbers end at their range, and what is missing
    or unknown to the schema has no value. Weights that are no numbers above 0 leave a record out.
    """
    own = {name: x for name, x in schema.columns.items() if name in released and x.role != "id"}
    check_columns(table, own, role="The schema")
    unknown: Unknown = {}
    coded = coded_columns(own, table, counts=None, by_schema=own, unknown=unknown)
    made: dict[str, Any] = {}
    for name, column in own.items():
        values: Any = coded[name]
        if column.categorical:
            gone, content = {None, *column.missing_codes}, content_of(column)
            cells = [None if x in gone else _cell(str(x), content) for x in column.coded_levels]
            values = np.array(cells, dtype=object)[values.astype(np.intp) - 1]
            values[unknown[name]] = None
            made[name] = values.tolist()
        else:
            made[name] = np.where(unknown[name], np.nan, values)
    if (weights := _weights(schema, table)) is not None:
        made[_WEIGHT] = np.where(weights > 0.0, weights, np.nan)
    return pl.DataFrame(made, strict=False)


def _cell(level: str, content: str) -> Any:
    """A level as a regression reads it."""
    if content == "truth values":
        return level.lower() == "true"
    return as_number(level) if content == "numbers" else level


def _weights(schema: Schema, table: Any) -> Floats | None:
    """The survey weights (N,) that the datasets follow; None without any, as in datasets."""
    weighing = schema.weighing
    name = schema.exponents if weighing is None else weighing.column
    if name is None or name not in table.columns:
        return None
    if weighing is not None:
        return weighing.read(table[name]).parts.astype(np.float64)
    numbers, _ = numbers_and_codes(table[name], (), strict=True)
    return np.where(np.isfinite(numbers), numbers, 0.0)


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


@dataclass(frozen=True)
class _Agency:
    """The agency's `most` for all answers in the folder `out`, and its table."""

    out: Path
    original: Path
    most: float

    @classmethod
    def read(cls, out: Path, original: str | Path | None, most: float | None) -> _Agency:
        """What the first question sets; InputError for another budget, or another table."""
        inside = out / "confidential"
        try:
            summary = json.loads((inside / "summary.json").read_text(encoding="utf-8"))
            kept = inside / SET_BY_AGENCY
            known = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
        except (OSError, ValueError):
            raise InputError.by("verify-without-confidential", folder=out) from None
        agreed = known.get("most_epsilon", most)
        place = known.get("original") if original is None else original
        if agreed is None or place is None:
            raise InputError.by("verify-not-set")
        if most is not None and positive(most, "most_epsilon") != agreed:
            raise InputError.by("verify-other-budget", agreed=agreed, file=kept)
        table = Path(place).resolve()
        if not table.exists():
            raise InputError.by("verify-no-table", table=table.name)
        of_file = summary.get("input_sha256_of", "file") == "file"
        if of_file and file_digest(table) != summary["input_sha256"]:
            raise InputError.by("verify-other-table", folder=out, table=table.name)
        found = cls(out, table, positive(agreed, "most_epsilon"))
        if known != (settings := {"original": str(table), "most_epsilon": found.most}):
            write_whole(kept, json.dumps(settings) + "\n", private=True)
        return found

    @cached_property
    def _answers(self) -> Path:
        return self.out / ANSWERS

    def _entries(self) -> list[Path]:
        return sorted(self._answers.glob(f"*/{STATEMENT}"))

    @property
    def spent(self) -> Decimal:
        """Epsilon of all answers so far, those that were not told too."""
        entries = [json.loads(path.read_text(encoding="utf-8")) for path in self._entries()]
        return sum((Decimal(repr(own["epsilon_total"])) for own in entries), Decimal(0))

    def refuse_beyond(self, cost: float, undo: Path | None = None) -> None:
        """Raise InputError where the answers and a further `cost` are beyond the budget."""
        left = Decimal(repr(self.most)) - self.spent
        if Decimal(repr(cost)) <= left:
            return
        if undo is not None:
            shutil.rmtree(undo)
        left = max(left, Decimal(0))
        raise InputError.by("verify-beyond-budget", most=self.most, left=f"{left:g}")

    def statements(self, but: Path) -> tuple[dict[str, Any], ...]:
        """The statements of the release and of its answers, but for one."""
        others = [path for path in self._entries() if path.parent != but]
        return read_earlier([self.out / "release", *others])

    def entered(self) -> Path:
        """A new folder for an answer, by the next number."""
        self._answers.mkdir(exist_ok=True)
        number = 1 + max(
            (int(x.name) for x in self._answers.iterdir() if x.name.isdigit()), default=0
        )
        while True:
            place = self._answers / f"{number:03d}"
            try:
                place.mkdir()
                return place
            except FileExistsError:
                number += 1


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
    signed = {} if schema.reviewed is None else {"schema_was_proposed": True}
    settings = {"schema": SCHEMA_FILE, "formula": asked.formula, "parts": asked.parts}
    return VerificationStatement(
        mechanism="verification",
        datasets=0,
        columns_released_unchanged=(),
        rounded=False,
        unit=privacy.get("unit_column"),
        relies_on=ReliesOn(
            engine="discrete-laplace", exact_draws=True, public_settings={**settings, **signed}
        ),
        earlier=earlier,
        neighbours="replace" if claim["neighbours"] == "replace-one" else "loo",
        epsilon=epsilon,
        question=_told(asked) | {"release": privacy.get("release_id")},
        weight=weight or "",
        fixed=bool(weight) and (weighing is None or weighing.calibrated),
    )


def _write(
    place: Path, statement: VerificationStatement, answer: str, agreeing: int | None
) -> dict[str, Any]:
    """Write an answer's statement to its folder. All its figures are settings or public."""
    written = statement.exact()
    written["release_id"] = secrets.token_hex(16)
    written["verification"] |= {"answer": answer, "agreeing": agreeing}
    write_whole(place / STATEMENT, json.dumps(written, indent=2, ensure_ascii=False) + "\n")
    return written
