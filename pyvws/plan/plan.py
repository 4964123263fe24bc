"""What a run does to which columns: made once from settings and a header, before any record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from pyvws._base.checks import Floats, Places
from pyvws._base.phrase import Phrase
from pyvws.models.conditional_table import ConditionalTable
from pyvws.models.model import Model
from pyvws.plan.coded import Beside, CodedTable
from pyvws.tables.files.frame import Frame, HasColumns, check_columns
from pyvws.tables.schema.members import Members
from pyvws.tables.schema.schema import Schema

_OF_WEIGHTS = ("weight_column", "c", "g")  # What scales weights that are strict.


@dataclass(frozen=True, slots=True)
class PlannedConditional:
    """A conditional to fit: its name, its family, and its design before any outcome is read.

    The design, of K columns, is public by a schema, or R's of the public columns of a table; both
    are None before these are read. A `wide` one is nominal, and its prior is normal since it has
    many coefficients.
    """

    name: str
    family: Model
    K: int | None = None
    design: Any = None
    wide: bool = False

    @property
    def parameters(self) -> int:
        """The parameters that a sampler fits by a design of K columns; 0 where K is not known.

        A conditional table is drawn exactly, so it has none.
        """
        if self.K is None or isinstance(self.family, ConditionalTable):
            return 0
        return self.family.dimension(self.K)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(ABC):
    """The columns of a run, and what is public of them.

    - `run`: The settings that the plan follows.
    - `conditionals`: What is fitted, in the order of synthesis.
    - `outcomes`, `predictors`, `kept`, `ids`: The table's columns to synthesize, public ones that
      designs read, further ones to release as they are, and those that get new ids.
    - `unit`: Column whose values name the units of privacy; a record is a unit if not given.
    - `members`: What is public of the members of units that are drawn whole.
    - `exponents`, `mean_exponent`: Column of survey weights that are exponents, and their public
      mean, where there are any.
    - `proposed`: Whether an entry may come from the table, since its schema is under review.
    - `rows`: A public number of rows of a dataset.
    - `header`: The columns of the table; empty before a table is named.
    - `written`: Settings by name that the run's files have in the place of those that were given.
    """

    run: Any = field(compare=False)
    conditionals: tuple[PlannedConditional, ...]
    outcomes: tuple[str, ...]
    predictors: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    unit: str | None = None
    members: Members | None = None
    exponents: str | None = None
    mean_exponent: float | None = None
    proposed: bool = False
    rows: int | None = None
    header: tuple[str, ...] = ()
    written: Mapping[str, Any] = field(default_factory=dict)

    says_itself: ClassVar[tuple[str, ...]] = ("model", "formula")
    """Settings that the run's files leave out, since the schema has them."""

    by_schema: ClassVar[bool] = True
    """Whether its columns need families: a histogram is of one outcome."""

    roles: ClassVar[tuple[str, str]] = ("The schema", "The schema")
    """What names the outcomes, and what names the predictors, in messages."""

    schema: Schema | None = None
    """What says the columns of a table; None where settings say those of one outcome."""

    @property
    def families(self) -> tuple[Model, ...]:
        """The families of the conditionals, in their order."""
        return tuple(conditional.family for conditional in self.conditionals)

    @property
    def reads_outcome(self) -> bool:
        """Whether a family draws synthetic values from the confidential outcome."""
        return any(family.reads_outcome for family in self.families)

    @property
    def prepared_from_data(self) -> bool:
        """Whether any value of a family, or an entry of the schema, comes from the table."""
        return self.proposed or any(family.prepared_from_data for family in self.families)

    @property
    def texts(self) -> dict[str, str]:
        """The schema as TOML, and the text that a release may have; empty without one."""
        return {"schema": "", "public_schema": ""}

    @property
    def signature(self) -> dict[str, Any]:
        """Who signed a proposed schema, and how many of its entries came from the records.

        Empty without a signed proposal. Confidential.
        """
        return {}

    @property
    def truth_words(self) -> dict[str, dict[bool, str]]:
        """How a csv spells the truth values of columns that have words for them."""
        return {}

    @property
    def reads_codes(self) -> bool:
        """Whether cells count as a file spells them."""
        return self.by_schema

    @property
    def leaves_records_out(self) -> bool:
        """Whether a rule leaves records without a term."""
        return False

    @property
    def clamped_one_by_one(self) -> bool:
        """Whether the run clamps each term, and only the term's record and settings decide it."""
        by_data = self.reads_outcome or self.prepared_from_data
        return bool(self.run.clamps_by_settings and not by_data)

    @property
    def strict(self) -> bool:
        """Whether the statement will say "dp", whatever the table holds."""
        return self.clamped_one_by_one and not self.run.accept_unconverged

    @property
    def refuses_no_record(self) -> bool:
        """Whether the claim is strict, so that no record may decide if the run ends.

        A record with a value that the settings do not know then counts nothing there.
        """
        facts = self.run.facts
        return self.strict or facts.takes_table or facts.claim == "dp-if-bounded"

    @property
    def columns_by_cell(self) -> list[str]:
        """The modelled columns whose cells count each by itself where the claim is strict.

        A file's reader gives a column a type by all of its cells, so they are read as written.
        """
        return self.modelled

    @property
    def unit_of_privacy(self) -> str:
        """Whose change epsilon bounds, as the statement and every figure name it."""
        return "one record" if self.unit is None else f"all records of one {self.unit}"

    @property
    def counts_units(self) -> bool:
        """Whether units are counted, each as one record; rows without an id are in none."""
        return bool(self.run.facts.takes_table and self.members is not None)

    @property
    def types_are_public(self) -> bool:
        """Whether no type of a released column may follow from the table's cells."""
        return bool(self.run.types != "table")

    @property
    def referred(self) -> list[str]:
        """The columns that the records of a reference need."""
        return [*self.predictors, *self.outcomes]

    @property
    def unchanged(self) -> set[str]:
        """The columns that go into the release as they are, as far as they are named."""
        return {*self.predictors, *self.kept} - {*self.outcomes}

    @property
    def keys(self) -> list[str]:
        """The columns that a fit reads besides the outcomes, in their order."""
        facts = self.run.facts
        own = [*self.predictors, *facts.known, facts.weight_column, self.exponents]
        return [name for name in dict.fromkeys(own) if name not in {None, *self.outcomes}]

    @property
    def modelled(self) -> list[str]:
        """The columns that a fit reads, the outcomes last."""
        return [*self.keys, *self.outcomes]

    @property
    def released(self) -> list[str]:
        """The columns of a dataset, in the order of the header."""
        public = {*self.outcomes, *self.predictors, *self.kept, *self.ids}
        return [name for name in self.header if name in public]

    @property
    def public(self) -> list[str]:
        """The columns that a dataset has unchanged, in the order of the header."""
        synthetic = {*self.outcomes, *self.ids}
        return [name for name in self.released if name not in synthetic]

    @property
    def read(self) -> list[str]:
        """Every column whose cells the run reads, the released ones in the order of the header."""
        units = [] if self.unit is None else [self.unit]
        return list(dict.fromkeys([*self.modelled, *self.public, *units]))

    @property
    def used(self) -> int | None:
        """The number of columns that the run reads at most; None if that is all of a table's."""
        if self.run.keep == "all" or "." in self.predictors:
            return None
        return len({*self.modelled, *self.kept, self.unit} - {None})

    def settled(self) -> Self:
        """The plan after its refusals, with what is made once of it."""
        return self

    def named(self, table: HasColumns) -> Self:
        """The plan for a table with these columns; InputError for one that it lacks."""
        facts, (outcome, public) = self.run.facts, self.roles
        roles: tuple[tuple[str, Sequence[str | None]], ...] = (
            (outcome, self.outcomes),
            (public, self.predictors),
            ("known", facts.known),
            ("weight_column", [facts.weight_column]),
            ("unit", [self.unit]),
            ("survey_weight", [self.exponents]),
            (outcome, self.ids),
            ("keep", self.kept),
        )
        for role, names in roles:
            check_columns(table, [name for name in names if name is not None], role=role)
        return replace(self, header=tuple(table.columns))

    @property
    @abstractmethod
    def complete(self) -> list[str]:
        """The columns of `modelled` in which an empty cell is refused."""

    @property
    @abstractmethod
    def of_families(self) -> dict[str, Any]:
        """The settings of families, or the schema, that a guarantee takes as public."""

    @property
    def public_settings(self) -> dict[str, Any]:
        """The settings by name that a guarantee takes as chosen without the data.

        They are the families', the constants of strict weights, a public number of rows and
        systematic sampling. The engine grid's own follow from the formula too.
        """
        settings, mechanism, records = self.of_families, self.run.mechanism, self.run.records
        if self.run.facts.weights_source in ("constant", "public", "reference", "staged"):
            constants = {name: getattr(mechanism, name, None) for name in _OF_WEIGHTS}
            settings |= {name: value for name, value in constants.items() if value is not None}
        if self.run.sampling != "independent":
            settings["sampling"] = self.run.sampling
        return settings | ({"records": records} if isinstance(records, int) else {})

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        """The caveats of survey weights as exponents; none without them."""
        if self.exponents is None:
            return ()
        by_data = (Phrase("mean-weight-from-data"),) if self.mean_exponent is None else ()
        return (Phrase("survey-weights", {"column": self.exponents}), *by_data)

    @property
    def uses(self) -> tuple[Phrase, ...]:
        """The unaccounted mean of the survey weights, where no public one is given."""
        by_data = self.exponents is not None and self.mean_exponent is None
        return (Phrase("mean-weight"),) if by_data else ()

    @abstractmethod
    def on(self, table: HasColumns) -> Plan:
        """The plan of a run on a table with these columns."""

    @abstractmethod
    def designed(self, frame: Frame) -> Plan:
        """The plan with the design of each conditional, from the table's public columns."""

    @abstractmethod
    def coded(
        self, frame: Frame, counts: Floats | None, units: Places | None, by_schema: Collection[str]
    ) -> CodedTable:
        """The columns of a table as numbers, and the outcomes of each conditional."""

    @abstractmethod
    def beside(self, public: Frame, frame: Frame, coded: CodedTable) -> Beside:
        """Public records, and the table's in their coding."""
