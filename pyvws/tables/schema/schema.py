"""What is public of a table: `schema.toml`, read, written, proposed and applied to a table."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import narwhals as nw
from narwhals.typing import EagerAllowed, IntoBackend, IntoFrame, IntoSeries
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, as_text, near, positive, whole_number
from pyvws._base.folders import write_whole
from pyvws._base.toml import toml_value
from pyvws.errors import InputError
from pyvws.sheet import Sheet, html
from pyvws.tables.files.frame import check_columns, open_frame
from pyvws.tables.files.headers import about
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.decided import check_left, is_decided
from pyvws.tables.schema.formula import read_formula
from pyvws.tables.schema.members import Members, read_members
from pyvws.tables.schema.paid import PaidSchema
from pyvws.tables.schema.read_values import Unknown, coded_columns
from pyvws.tables.schema.toml_text import read_column, schema_text
from pyvws.tables.schema.weight import SurveyWeight, read_weight
from pyvws.tables.schema.write_values import written_column

SCHEMA_FILE: Final = "schema.toml"
"""Name of the file that a release has its schema in."""

_OF_TABLE: Final = (
    *("reviewed", "proposed_from", "proposed_entries", "unit", "members"),
    *("survey_weight", "mean_survey_weight", "weight", "weight_range", "weight_kind", "records"),
)
_PAID: Final = "paid"
_HEADINGS: Final = ("role", "model", "predictors")  # Columns of a shown schema.


@dataclass(frozen=True, slots=True, repr=False)
class Schema:
    """What is public of a table, checked on creation. Synthesis follows the order of `columns`.

    Attributes
    ----------
    columns : mapping of str to Column
        Columns of the table by name. A column that is not named is not used and not released.
    unit : str, optional
        Column of ids whose records are one unit of privacy. By default a record is a unit.
    members : Members, optional
        What is public of units whose members are records: whole units are then synthesized.
    survey_weight : str, optional
        Column of survey weights w_i. A record's likelihood is raised to w_i over
        `mean_survey_weight`, unless the column is synthesized, as the last one.
    mean_survey_weight : float, optional
        The public mean of the weights: the population over the size that the design has.
    weight, weight_range : str and two numbers, optional
        Column of survey weights that noisy counts add up, not released, and their public range.
    weight_kind : {"calibrated", "design"}, optional
        Whether a weight may depend on other records, as a calibrated one does. By default it may.
    records : int, optional
        A public number of rows of a dataset, or with `members` of units, if no column is public.
    reviewed : bool or str, optional
        Who signed a proposal: a name, or True. False where nobody did. A schema by hand needs none.
    proposed_from : int, optional
        How many records, or units, a proposal looked at: confidential, and gone once it is signed.
    proposed_entries : int, optional
        How many entries a proposal took from the records: confidential, and kept for the board.
    paid : PaidSchema, optional
        What entries cost that were found in the records under noise. A run adds it to its own cost.

    Raises
    ------
    InputError
        For predictors that are unknown, dropped, or synthesized later than their column.

    Examples
    --------
    >>> Schema({"job": Column(model="table", levels=["a", "b"])}).synthesized
    ('job',)
    """

    columns: Mapping[str, Column]
    unit: str | None = None
    members: Members | None = None
    survey_weight: str | None = None
    mean_survey_weight: float | None = None
    weight: str | None = None
    weight_range: tuple[float, float] | None = None
    weight_kind: str | None = None
    records: int | None = None
    reviewed: bool | str | None = None
    proposed_from: int | None = None
    proposed_entries: int | None = None
    paid: PaidSchema | None = None
    once: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What follows from the schema alone, by name: made when it is first asked for."""

    def __post_init__(self) -> None:
        if not (self.reviewed is None or isinstance(self.reviewed, bool | str)) or (
            isinstance(self.reviewed, str) and not self.reviewed.strip()
        ):
            raise InputError.by("reviewed-words", reviewed=as_text(self.reviewed))
        object.__setattr__(self, "columns", dict(self.columns))
        if self.members is not None:
            object.__setattr__(self, "members", read_members(self.members))
            object.__setattr__(self, "columns", self.members.expanded(self.columns, self.unit))
        if not self.columns:
            raise InputError.by("schema-empty")
        for name, column in self.columns.items():
            if not (isinstance(name, str) and isinstance(column, Column)):
                raise InputError.by("columns-not-a-mapping")
            with about(f"Column {name!r}"):
                self._check_names("predictor", name, self._wanted(name) or ())
                self._check_names("predictor", name, self.predictors_of_part(name) or ())
                self._check_formula(name)
                self._check_rules(name)
        if isinstance(self.paid, Mapping):
            object.__setattr__(self, "paid", PaidSchema.read(self.paid))
        for name in ("unit", "survey_weight"):
            value = getattr(self, name)
            if not (value is None or isinstance(value, str)):
                raise InputError.by("not-text", name=name, value=as_text(value))
        if self.mean_survey_weight is not None:
            if self.survey_weight is None:
                raise InputError.by("mean-without-survey-weight")
            mean = positive(self.mean_survey_weight, "mean_survey_weight")
            object.__setattr__(self, "mean_survey_weight", mean)
        if self.weighing is not None:
            object.__setattr__(self, "weight_range", (self.weighing.low, self.weighing.high))
        for name, least in {"records": 1, "proposed_from": 1, "proposed_entries": 0}.items():
            if (value := getattr(self, name)) is not None:
                whole_number(value, name, least=least)

    def _check_names(self, what: str, name: str, names: Iterable[str]) -> None:
        """Raise InputError for a name that is no public or earlier column."""
        permitted = self._permitted(name)
        for wanted in names:
            if wanted in permitted:
                continue
            column = self.columns.get(wanted)
            if column is None:
                raise InputError.by(
                    "schema-column-unknown", what=what, wanted=wanted, hint=near(wanted, permitted)
                )
            if wanted == name:
                raise InputError.by("predictor-of-itself", what=what)
            if column.role in ("drop", "id"):
                gone = "is dropped" if column.role == "drop" else "gets new ids"
                raise InputError.by("column-role", what=what, wanted=wanted, gone=gone)
            raise InputError.by("order-of-synthesis", what=what, wanted=wanted, name=name)

    def _check_formula(self, name: str) -> None:
        """Raise InputError for a formula, or that of a part, that names a column with groups."""
        named = (self._wanted(name) or ()) if self.columns[name].formula is not None else ()
        if "formula" in (self.columns[name].part or {}):
            named = (*named, *(self.predictors_of_part(name) or ()))
        for wanted in named:
            if self.columns[wanted].group_by is not None:
                raise InputError.by("formula-of-grouped-levels", wanted=wanted)

    def _check_rules(self, name: str) -> None:
        """Raise InputError for a rule that the columns of the schema do not fit."""
        if self.private:
            return
        for rule in self.columns[name].rules:
            self._check_names("column of a rule", name, rule.columns)
            rule.check_among(name, self.columns)
        check_left(name, self.columns)

    def _wanted(self, name: str) -> tuple[str, ...] | None:
        """The predictors that a column's own entries name; None if they name none."""
        column = self.columns[name]
        return column.predictors if column.formula is None else read_formula(column.formula).columns

    def _permitted(self, name: str) -> tuple[str, ...]:
        names = list(self.columns)
        earlier = names[: names.index(name)]
        return (
            *(other for other in self.public if other != name),
            *(() if self.members is None or name in self.of_unit else self.members.of_member),
            *(other for other in earlier if self.columns[other].role == "synthesize"),
        )

    @property
    def derived(self) -> tuple[str, ...]:
        """Names of the columns that a table lacks: the size of units and summaries of members."""
        summaries = () if self.members is None else self.members.summaries
        return tuple(name for name in summaries if name in self.columns)

    @property
    def of_unit(self) -> tuple[str, ...]:
        """Names of the columns that are drawn once a unit, where units have members."""
        return () if self.members is None else (self.members.size, *self.members.of_unit)

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """The schema of a TOML file; InputError in one line for what it cannot be."""
        path = Path(path)
        try:
            entries = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            raise InputError.by("schema-cannot-be-read", path=path) from None
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise InputError.by("toml-unreadable", path=path.name, error=error) from None
        with about(path.name):
            return _schema(entries)

    @classmethod
    def parse(cls, text: str) -> Schema | None:
        """The schema of TOML text, as `text` gives it; None of an empty text."""
        return _schema(tomllib.loads(text)) if text else None

    @classmethod
    def propose(cls, frame: IntoFrame) -> Schema:
        """A schema by the kinds of a table's columns and counts of their values.

        All of it comes from the data, and `review` of each column lists the entries that hold
        values. A run counts them as "not accounted" until somebody who knows the survey has checked
        them, taken the names out, and signed the schema by `reviewed` or `signed`.

        Text, truth values and categories become nominal, and an ordered category ordinal. Whole
        numbers of at most 20 different values become nominal, and small counts of more
        negative-binomial. All other numbers and dates become normal. A column with one value, or
        with text that always differs, is dropped. What an earlier column decides is a lookup or a
        rule. Categories become conditional tables where regressions on all earlier columns would be
        too long. An id that several records share is the unit of privacy.
        """
        from pyvws.tables.proposal.codes import proposed_unit, units_of_records
        from pyvws.tables.proposal.columns import proposed_columns
        from pyvws.tables.proposal.computed import computed_columns
        from pyvws.tables.proposal.often import CodedRecords, as_they_are, with_numbers_outside
        from pyvws.tables.proposal.rules import proposed_exclusions, proposed_rules
        from pyvws.tables.proposal.short_conditionals import short_conditionals

        table = open_frame(frame, least=1)
        columns = proposed_columns(table)
        coded = cls(columns).coded(table)
        often, plain = units_of_records(table, columns), cls(as_they_are(columns)).coded(table)
        computed = computed_columns(CodedRecords(columns, plain, often))
        columns = {name: columns[name] for name in computed}
        records = CodedRecords(columns, coded, often)
        proposed = short_conditionals(replace(records, columns=computed))
        proposed = proposed_exclusions(proposed_rules(proposed, records), records)
        unit, number = proposed_unit(table, columns), len(set(often.units.tolist()))
        noted = with_numbers_outside(proposed, table)
        made = cls(noted, unit=unit, reviewed=False, proposed_from=number)
        return replace(made, proposed_entries=len(made.to_review))

    def signed(self, by: bool | str = True) -> Schema:
        """The schema as one that `by` has reviewed; entries in `review` of a column stay there."""
        return replace(self, reviewed=by, proposed_from=None)

    @property
    def why_not_accepted(self) -> str | None:
        """Why nobody may accept a proposal as it is, and what to do; None if somebody may."""
        from pyvws.tables.proposal.often import why_not_accepted

        return why_not_accepted(self.columns, self.unit, self.proposed_from or 0)

    def accepted(self, by: bool | str = True) -> Schema:
        """The schema as one of which `by` says that every entry is known without the records.

        Nothing is left in `review`. A statement of a run says that the schema was proposed. Raises
        InputError for a proposal from so few records that its entries give records back.
        """
        if (why := self.why_not_accepted) is not None:
            raise InputError.by("proposal-not-accepted", why=why)
        columns = {name: replace(column, review=()) for name, column in self.columns.items()}
        return replace(self, columns=columns, reviewed=by, proposed_from=None)

    def write(self, path: str | Path) -> None:
        """Write the schema as TOML; `Schema.read` gives the same schema again.

        A schema under review can be read by its owner alone (mode 0600).
        """
        write_whole(Path(path), self.text, private=self.under_review)

    def __repr__(self) -> str:
        """One line without entries, which are confidential while the schema is under review."""
        review = "under review, " if self.under_review else ""
        return f"Schema({review}{len(self.columns)} columns: {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        """The columns as a table, for a notebook; confidential while the schema is under review."""
        rows = []
        for name, column in self.columns.items():
            entries = {key: value for key, value in column.given.items() if key not in _HEADINGS}
            text = "; ".join(f"{key} = {toml_value(value)}" for key, value in entries.items())
            synthesized = name in self.synthesized
            predictors = self.predictors_of(name) if synthesized else ()
            model = column.model if synthesized else None
            rows.append((name, column.role, model or "", text, ", ".join(predictors)))
        title = "Schema, under review: confidential" if self.under_review else "Schema"
        return html([Sheet(title, ("column", *_HEADINGS[:2], "entries", "given"), rows)])

    @property
    def text(self) -> str:
        """The schema as TOML. Confidential while it is under review."""
        return self._toml()

    @property
    def public_text(self) -> str:
        """What a release may have of the schema: TOML without notes and without who signed it.

        That somebody signed a proposal stays. Empty while the schema is under review.
        """
        signed = None if self.reviewed is None else True
        own = ("note", "proposed_from", "proposed_entries")
        return "" if self.under_review else self._toml(*own, reviewed=signed)

    def _toml(self, *without: str, **instead: Any) -> str:
        given = {name: getattr(self, name) for name in _OF_TABLE} | instead
        if self.members is not None:
            given["members"] = self.members.entries
        columns = {name: x for name, x in self.columns.items() if name not in self.derived}
        return schema_text(given, columns, without, under_review=self.under_review, paid=self.paid)

    @property
    def private(self) -> tuple[str, ...]:
        """Names of the columns of which entries are still to be found under noise."""
        return tuple(name for name, column in self.columns.items() if column.private)

    @property
    def synthesized(self) -> tuple[str, ...]:
        """Names of the columns to synthesize, in their order."""
        return self._with_role("synthesize")

    @property
    def public(self) -> tuple[str, ...]:
        """Names of the columns that are released as they are."""
        return tuple(name for name in self._with_role("public") if name not in self.derived)

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the columns that get new ids."""
        return self._with_role("id")

    def _with_role(self, role: str) -> tuple[str, ...]:
        return tuple(name for name, column in self.columns.items() if column.role == role)

    @property
    def under_review(self) -> bool:
        """Whether any of it comes from the data unreviewed: an unsigned proposal, or an entry."""
        return self.reviewed is False or bool(self.to_review)

    @property
    def to_review(self) -> tuple[tuple[str, str], ...]:
        """Each (column, entry) that stands under `review`, signed or not."""
        return tuple((name, entry) for name, own in self.columns.items() for entry in own.review)

    def predictors_of(self, name: str) -> tuple[str, ...]:
        """Predictors of a synthesized column: those it names, or all public and earlier ones.

        A column that is computed from others is a predictor only where it is named.
        """
        if name not in self.synthesized:
            raise InputError.by("predictors-of-public-column", name=name)
        if (wanted := self._wanted(name)) is not None:
            return wanted
        return tuple(other for other in self._permitted(name) if other not in self.computed)

    @property
    def computed(self) -> frozenset[str]:
        """Names of synthesized columns that no family draws, as `is_decided` says."""
        if "computed" not in self.once:
            own, columns = self.synthesized, self.columns
            self.once["computed"] = frozenset(x for x in own if is_decided(columns[x], columns))
        names: frozenset[str] = self.once["computed"]
        return names

    def formula_of(self, name: str) -> str | None:
        """The formula of a column's predictors; None without one."""
        return self.columns[name].formula

    def predictors_of_part(self, name: str) -> tuple[str, ...] | None:
        """Predictors that `part` of a column names; None where it names none."""
        part = self.columns[name].part or {}
        if "formula" in part:
            return read_formula(part["formula"]).columns
        return tuple(part["predictors"]) if "predictors" in part else None

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the columns that a run reads: those to synthesize and what they follow from."""
        read = {
            wanted
            for name in self.synthesized
            for wanted in (
                *(name, *self.predictors_of(name), *(self.predictors_of_part(name) or ())),
                *(other for rule in self.columns[name].rules for other in rule.columns),
            )
        }
        return tuple(name for name in self.columns if name in read)

    def refuse_unbuilt(self) -> None:
        """Raise InputError for entries that a run cannot follow yet."""
        if self.private:
            raise InputError.by("private-not-bought", names=", ".join(map(repr, self.private)))
        if self.computed == {*self.synthesized}:
            raise InputError.by("nothing-to-synthesize")
        if self.unit in self.synthesized:
            raise InputError.by("unit-is-synthesized", unit=self.unit)
        if self.survey_weight is None or self.survey_weight not in self.synthesized:
            return
        weighed = self.columns[self.survey_weight]
        if self.survey_weight != self.synthesized[-1]:
            raise InputError.by("survey-weight-not-last", survey_weight=self.survey_weight)
        if weighed.outcome_scale != "log" or not (weighed.range and weighed.range[0] > 0):
            raise InputError.by("survey-weight-without-range", survey_weight=self.survey_weight)
        if self.mean_survey_weight is not None:
            raise InputError.by("synthetic-weights-with-exponents")

    @property
    def exponents(self) -> str | None:
        """The column of survey weights that are exponents; None without one, or if synthesized."""
        return None if self.survey_weight in self.synthesized else self.survey_weight

    @property
    def weighing(self) -> SurveyWeight | None:
        """The survey weight that noisy counts add up, and its public range; None without one."""
        own = self.columns.get(self.weight or "")
        role = "drop" if own is None else own.role
        entries = self.weight, self.weight_range, self.weight_kind
        return read_weight(*entries, role=role, unit=self.unit)

    def coded(
        self,
        frame: IntoFrame,
        *,
        counts: Floats | None = None,
        by_schema: Collection[str] = (),
        unknown: Unknown | None = None,
    ) -> dict[str, Floats]:
        """The columns in `used` as floats (N,): levels as codes 1 to L, numbers as they are.

        A missing number is NaN. A number with missing values or points of mass has a second entry,
        "part of NAME". It has codes 1 to P of the number's parts, and 1 is a value that is neither.
        So has a category with groups, "group of NAME". Columns of `by_schema` may have levels of
        any type.

        Raises InputError for a column that the table lacks, for levels that the schema lacks and
        for numbers outside their range. The message counts records: a row stands for `counts` (N,)
        of them, or for one. Where `unknown` is given, nothing is refused for a record: it gets,
        for each column, the records (N,) with such a value, which stand at any value of the schema.
        """
        table = open_frame(frame, least=1 if unknown is None else 0)
        own = {name: self.columns[name] for name in self.used if name not in self.derived}
        check_columns(table, [*self.public, *own], role="The schema")
        return coded_columns(own, table, counts=counts, by_schema=by_schema, unknown=unknown)

    def numbered(
        self, name: str, numbers: NDArray[Any], backend: IntoBackend[EagerAllowed]
    ) -> nw.Series[Any]:
        """New ids (M,) of synthetic records, by their numbers from 1."""
        prefix = self.columns[name].prefix
        if prefix is None:
            return nw.new_series(name, numbers, nw.Int64, backend=backend)
        texts = [f"{prefix}{number}" for number in numbers]
        return nw.new_series(name, texts, nw.String, backend=backend)

    def decoded(
        self, name: str, values: ArrayLike, *, like: IntoSeries, parts: Floats | None = None
    ) -> nw.Series[Any]:
        """Synthetic `values` (M,) of a column, as `coded` gives them, as a column to release.

        The column has the kind and type of `like`, the input's column. Labels come out as they went
        in. Numbers are rounded to `decimals`; whole numbers stay whole numbers if `like` has them.
        A missing number has the code that its part says, the first code without `parts` (M,).
        """
        return written_column(self.columns[name], name, values, like=like, parts=parts)


def _schema(content: Mapping[str, Any]) -> Schema:
    """The schema of the values of a TOML file."""
    known = (*_OF_TABLE, _PAID, "columns")
    for name in content:
        if name not in known:
            hint = near(name, known)
            raise InputError.by("schema-entry-unknown", name=name, hint=hint)
    columns = content.get("columns", {})
    if not isinstance(columns, dict):
        raise InputError.by("columns-not-tables")
    schema = Schema(
        columns={name: read_column(name, entries) for name, entries in columns.items()},
        **{name: content[name] for name in (*_OF_TABLE, _PAID) if name in content},
    )
    if schema.paid and schema.paid.digest != schema.paid.digest_with(schema.columns):
        raise InputError.by("paid-schema-changed")
    return schema
