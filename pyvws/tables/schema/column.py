"""What is public of one column of a table: an entry of `schema.toml`, checked on creation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyvws._base.checks import Floats, as_text, near
from pyvws.errors import InputError
from pyvws.tables.files.labels import as_days, as_number, iso_of, label_of, meant
from pyvws.tables.schema.arithmetic import level_numbers
from pyvws.tables.schema.category import (
    Category,
    part_label,
    parted,
    read_part,
    refuse_many,
    refuse_settings,
)
from pyvws.tables.schema.entries import Entries, refuse_both
from pyvws.tables.schema.families import CATEGORICAL, COUNTS, FAMILIES, MOST_LEVELS
from pyvws.tables.schema.rules import Fixed, Lookup, Rule, read_rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Entries):
    """What is public of one column. All entries are known without looking at the records.

    Attributes
    ----------
    role : {"synthesize", "public", "drop", "id"}
        A public column is released as it is and can be a predictor; a dropped one is not used. An
        id is not read: the released column numbers the synthetic records from 1.
    model : str, optional
        Family of a synthesized column given its predictors, such as "nominal" or "normal".
    levels : tuple of str, optional
        Every value of a category. Whole numbers and truth values count as their text. A single
        level is a constant, at no cost. Here, in `range` and in `cuts` the word "private" asks
        `pyvws schema --private` to find the entry in the records, under noise that is paid for.
        With levels and range private it finds out too which of both the column has.
    group_by : int, optional
        A number of characters. Levels that begin with the same ones are a group. The column follows
        by its group, then by its level in the group, and columns after it are given the group.
    days_since : str, optional
        A public date, such as "2000-01-01": the column holds dates, which count as whole days since
        then. Its range, mass, cuts and centre of `scale` are given as dates, and kept as days.
    range : tuple of float, optional
        Lowest and highest possible number. As a predictor, a number x enters as
        (x - middle) / half width.
    scale : tuple of float, optional
        Centre and width for a number as a predictor: (x - centre) / width. It replaces the range.
    cuts : tuple of float, optional
        Rising cut points. As a predictor, a category whose levels are numbers enters by the
        interval it lies in, and so does a number of a model "table". A cut point begins its
        interval.
    decimals : int, optional
        Decimals that synthetic numbers are rounded to.
    predictors : tuple of str, optional
        Predictors of a synthesized column; by default all public and all earlier columns.
    formula : str, optional
        R formula over permitted predictors, such as "~ age * sex", in the place of `predictors`.
    prefix : str, optional
        Public text before the number of a new id, such as "P".
    missing : str, True or a list of them, optional
        Codes of missing values; True stands for empty cells.
    outside : str or True, optional
        What a value counts as that the schema does not know: one of the levels. True stands for the
        nearest: the end of the range, or of levels that are numbers the nearest one. Where it is
        true of a number, text that is no number is a missing value. Without it such a record is
        refused, or in no cell.
    known : bool, optional
        Whether an intruder may know the column of a record: a key that risks are measured by.
        Without a word, `pyvws.table_risk` proposes keys by the levels.
    mass : tuple of float
        Points of mass of a number, such as 0.
    part : dict, optional
        Entries of the category of a number's parts: model "nominal" (the default) or "table", its
        settings, and predictors or a formula in the place of the number's own.
    lookup : dict, optional
        The values of a column that another one decides. It has the other's name with a table from
        its levels to the values, such as {"area": {"a": 4.5, "b": 7.0}}. The column has no model.
    rule : str or tuple of str, optional
        How the value follows from other columns, as `pyvws.tables.schema.rules` says, such as
        "missing where age < 15". The first rule whose condition holds fixes the value.
    outcome_scale : str, optional
        Scale of the outcome of the normal families.
    settings : dict
        Further settings of the family, such as outcome_unit; of dates that is in days.
    note : str, optional
        A remark on the column, such as why a proposal drops it.
    review : tuple of str
        Entries that a proposal took from the data and that nobody has called public yet.
    private : tuple of str
        The entries that are to be found under noise: those given as "private".

    Examples
    --------
    >>> Column(model="table", levels=["owner", "tenant"], missing="N").levels
    ('owner', 'tenant')
    """

    if TYPE_CHECKING:  # What may be given: creation makes tuples of lists, and text of levels.

        def __init__(
            self,
            *,
            role: str = "synthesize",
            model: str | None = None,
            levels: Sequence[Any] | None = None,
            group_by: int | None = None,
            days_since: str | date | None = None,
            range: Sequence[Any] | None = None,
            scale: Sequence[Any] | None = None,
            cuts: Sequence[Any] | None = None,
            decimals: int | None = None,
            predictors: Sequence[str] | None = None,
            formula: str | None = None,
            prefix: str | None = None,
            missing: str | float | Sequence[str | float] | None = None,
            outside: str | float | None = None,
            known: bool | None = None,
            mass: Sequence[Any] = (),
            part: Mapping[str, Any] | None = None,
            lookup: Mapping[str, Mapping[Any, Any]] | None = None,
            rule: str | Sequence[str] | None = None,
            outcome_scale: str | None = None,
            settings: Mapping[str, Any] = ...,
            note: str | None = None,
            review: Sequence[str] = (),
            private: Sequence[str] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        Entries.__post_init__(self)
        refuse_both(self.predictors, self.formula)
        if self.private:  # Checked when what it lacks is there.
            return
        if self.levels is not None and (self.range or self.scale or self.mass):
            raise InputError.by("levels-and-range")
        if (self.prefix is not None) > (self.role == "id"):
            raise InputError.by("prefix-without-ids")
        others = set(self.given) - {"role", "prefix", "note", "review"}
        if self.role == "id" and others:
            raise InputError.by("ids-with-entries", others=", ".join(sorted(others)))
        if self.cuts is not None and self.categorical:
            level_numbers(self, "cuts are of numbers")
        self._check_rules()
        self._check_within()
        self._keep("outside", self._agreed_outside())
        if self.part is not None:
            computed = self.is_computed and not self.frees_missing
            if not self.parts or computed or self.role != "synthesize":
                raise InputError.by("part-without-parts")
            self._keep("part", read_part(self.part, ENTRIES))
        self._check_groups()
        self._check_model()
        for name in self.review:
            if name not in self.given:
                hint = near(name, self.given)
                raise InputError.by("review-unknown-entry", name=name, hint=hint)

    def _check_groups(self) -> None:
        """Check that levels fall into groups that the family can take."""
        if self.group_by is None:
            return
        if self.levels is None or self.model not in (None, "nominal", "table"):
            raise InputError.by("group-by-without-levels")
        sizes = [len(levels) for levels in self.levels_by_group.values()]
        if len(sizes) < 2 or max(sizes) < 2:
            raise InputError.by(
                "group-by-parts-nothing",
                group_by=self.group_by,
                sizes=len(sizes),
                group_of_level=len(self.group_of_level),
            )
        if self.model == "nominal" and max(len(sizes), *sizes) > MOST_LEVELS:
            raise InputError.by(
                "group-too-large",
                group_by=self.group_by,
                sizes=len(sizes),
                sizes2=max(sizes),
                most_levels=MOST_LEVELS,
            )

    def _check_rules(self) -> None:
        """Check that the column can follow each of its rules."""
        if self.rules and self.role != "synthesize":
            raise InputError.by("rule-of-other-role")
        if self.is_computed and (len(self.rules) > 1 or self.model or self.mass):
            raise InputError.by("computed-with-more")
        if self.lookup and not self.categorical and self.missing_codes:
            raise InputError.by("lookup-not-numbers")
        for rule in self.rules:
            rule.check(self)
        if {*self.ruled_codes} & {*(self.levels or ())}:
            raise InputError.by("only-where-is-level")
        fixed = [value for rule in self.rules for value in rule.fixes]
        if any(sum(label in (None, code) for label in fixed) > 1 for code in self.ruled_codes):
            raise InputError.by("only-where-twice")

    def _check_within(self) -> None:
        """Check that points of mass and fixed numbers lie within the range."""
        if self.categorical:
            return
        low, high = self.range or (-np.inf, np.inf)
        fixed = (value for rule in self.rules for value in rule.fixes)
        given = [label for label in fixed if label is not None and label not in self.missing_codes]
        for label in (*map(self.label_of_number, self.mass), *given):
            number = self.number_of(label)
            if number is not None and not low <= number <= high:
                raise InputError.by("range-below-points", label=label)

    def _agreed_outside(self) -> str | bool | None:
        """What an unknown value counts as, or None; InputError where no value is like that."""
        if self.outside in (None, False):
            return None
        levels = self.levels or ()
        if self.outside is True:
            if not (self.range or any(as_number(level) is not None for level in levels)):
                raise InputError.by("outside-of-text")
            return True
        level = label_of(self.outside)
        if level not in levels:
            raise InputError.by("outside-words", level=as_text(level), hint=near(level, levels))
        return level

    def _check_model(self) -> None:
        """Check that the model takes the column and its settings."""
        given = [*self.settings, *(["outcome_scale"] if self.outcome_scale else [])]
        refuse_settings(self.model, given, ENTRIES)
        if self.role != "synthesize":
            return
        if self.model is None and (self.is_computed or self.is_constant):
            return
        if self.model is None:
            raise InputError.by("model-missing", families=", ".join(FAMILIES))
        if self.model in CATEGORICAL and self.levels is None:
            raise InputError.by("family-without-levels", model=self.model)
        if self.model == "nominal" and self.group_by is None:
            refuse_many(self.n_drawn)
        if self.model not in CATEGORICAL and self.levels is not None:
            raise InputError.by("family-of-numbers", model=self.model)
        if self.model == "logistic" and len(self.coded_levels) != 2:
            raise InputError.by("logistic-levels", coded_levels=len(self.coded_levels))

    @property
    def categorical(self) -> bool:
        """Whether the column is a category, coded by its levels."""
        return self.levels is not None

    @property
    def missing_codes(self) -> tuple[str | None, ...]:
        """The codes of missing values, None for empty cells; last those that only rules give."""
        if self.missing is None:
            return ()
        codes = self.missing if isinstance(self.missing, tuple) else (self.missing,)
        return tuple(sorted((None if x is True else str(x) for x in codes), key=self._is_ruled))

    @property
    def coded_levels(self) -> tuple[str | None, ...]:
        """The levels that codes 1 to L stand for, with those of missing values; None if empty."""
        levels = self.levels or ()
        extra = [code for code in self.missing_codes if code not in levels]
        return (*levels, *sorted(extra, key=lambda code: (self._is_ruled(code), code is None)))

    @property
    def group_of_level(self) -> tuple[str, ...]:
        """The group of each coded level: its first characters, or a missing code by itself."""
        return tuple(
            part_label(x) if x is None or x in self.missing_codes else x[: self.group_by]
            for x in self.coded_levels
        )

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of the levels, each once."""
        return tuple(dict.fromkeys(self.group_of_level))

    @property
    def levels_by_group(self) -> dict[str, tuple[str, ...]]:
        """The coded levels of each group, in their order; none of the group of empty cells."""
        pairs = list(zip(self.group_of_level, self.coded_levels, strict=True))
        return {
            group: tuple(level for own, level in pairs if own == group and level is not None)
            for group in self.groups
        }

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of the column, read."""
        texts = (self.rule,) if isinstance(self.rule, str) else self.rule or ()
        lookups = (Lookup(other, values) for other, values in (self.lookup or {}).items())
        return (*map(read_rule, texts), *lookups)

    def _is_ruled(self, code: str | None) -> bool:
        """Whether a rule says where a missing code is, or all are, and that it is only there."""
        only = (rule.value for rule in self.rules if isinstance(rule, Fixed) and rule.only)
        return any(value in (None, code) for value in only)

    @property
    def ruled_codes(self) -> tuple[str | None, ...]:
        """The missing codes that only rules give, so that no family draws them."""
        return tuple(filter(self._is_ruled, self.missing_codes))

    @property
    def n_drawn(self) -> int:
        """The number of first levels that a family draws: missing ones may follow by a rule."""
        return len(self.coded_levels) - len(self.ruled_codes)

    @property
    def is_computed(self) -> bool:
        """Whether the column is computed from others, so that it has no family."""
        return any(rule.computes for rule in self.rules)

    @property
    def frees_missing(self) -> bool:
        """Whether a computed number may be missing where the rule gives it a value."""
        return any(rule.frees_missing for rule in self.rules)

    @property
    def is_constant(self) -> bool:
        """Whether no family has a choice: a category has one level, but where rules say missing."""
        return self.categorical and self.n_drawn == 1

    @property
    def parts(self) -> tuple[str, ...]:
        """Labels of a number's parts: "value", its points of mass, then its missing codes.

        Empty for a category and for a number without such values.
        """
        if self.categorical or not (self.missing_codes or self.mass):
            return ()
        codes = map(part_label, self.missing_codes)
        return ("value", *map(self.label_of_number, self.mass), *codes)

    @property
    def category_of_parts(self) -> Category:
        """The category that says which of its `parts` a number has."""
        if self.role == "public":
            return Category(role="public", levels=self.parts)
        return parted(self.parts, len(self.ruled_codes), self.part or {})

    def number_of(self, label: str) -> float | None:
        """The number that a label spells, or the days of a date; None for other text."""
        return as_number(label) if self.days_since is None else as_days(label, self.days_since)

    def label_of_number(self, number: float) -> str:
        """The text that spells a number, or the date that it stands for."""
        return label_of(number) if self.days_since is None else iso_of(number, self.days_since)

    def takes(self, label: str) -> bool:
        """Whether a label spells a value that the column can have."""
        if self.categorical:
            return label in self.coded_levels
        return label in self.missing_codes or self.number_of(label) is not None

    def place_outside(self, label: str) -> int | None:
        """The place among the coded levels of what an unknown label counts as; None without one.

        Of a number the place among the missing codes, which count text that is no number.
        """
        if self.outside is None or meant(label) is None:
            return None
        if not self.categorical:
            codes = self.missing_codes
            return codes.index(None) if None in codes else 0 if codes else None
        if isinstance(self.outside, str):
            return self.coded_levels.index(self.outside)
        if (number := as_number(label)) is None:
            return None
        levels = ((as_number(level), place) for place, level in enumerate(self.levels or ()))
        return min((abs(x - number), place) for x, place in levels if x is not None)[1]

    def within(self, numbers: Floats | float) -> Floats:
        """Numbers (n,), those beyond the range as its ends where `outside` says so."""
        return np.asarray(np.clip(numbers, *self.range) if self.outside and self.range else numbers)

    def code_of(self, label: str | None) -> float:
        """A value in the table's coding: a level's code, or the number; NaN if missing."""
        if self.categorical:
            level = self.missing_codes[0] if label is None else label
            return self.coded_levels.index(level) + 1.0
        number = None if label in (None, *self.missing_codes) else self.number_of(str(label))
        return np.nan if number is None else number

    def part_code_of(self, label: str | None) -> float:
        """The code of the part of a number that a value belongs to, the first if missing."""
        first = 2 + len(self.mass)
        if label is None:
            return float(first)
        if label in self.missing_codes:
            return float(first + self.missing_codes.index(label))
        number = self.number_of(label)
        return 2.0 + self.mass.index(number) if number in self.mass else 1.0

    @property
    def is_whole(self) -> bool:
        """Whether the column says that its numbers are whole."""
        return self.decimals == 0 or self.model in COUNTS

    @property
    def step(self) -> float | None:
        """The distance of two neighbouring numbers; None without decimals."""
        return 1.0 if self.is_whole else self.decimals and 10.0**-self.decimals

    def rounded(self, numbers: Floats | float) -> Floats:
        """Numbers (n,) at the column's decimals."""
        decimals = 0 if self.is_whole else self.decimals
        return np.asarray(numbers if decimals is None else np.round(numbers, decimals) + 0.0)

    @property
    def given(self) -> dict[str, Any]:
        """The entries as they stand in a file, those left at their defaults out."""
        own = {
            entry.name: getattr(self, entry.name)
            for entry in fields(self)
            if entry.name not in ("settings", "review", "private")
        } | dict.fromkeys(self.private, "private")
        kept = {name: value for name, value in own.items() if value is not None}
        if not self.mass:
            del kept["mass"]
        if self.days_since is not None:
            del kept["decimals"]
            for name in {"range", "mass", "cuts"} & set(kept) - {*self.private}:
                kept[name] = tuple(map(self.label_of_number, kept[name]))
            if self.scale is not None:
                kept["scale"] = (self.label_of_number(self.scale[0]), self.scale[1])
        if self.lookup and not self.categorical and self.days_since is None:
            kept["lookup"] = {
                other: {
                    x: value if (n := as_number(value)) is None else n
                    for x, value in values.items()
                }
                for other, values in self.lookup.items()
            }
        if self.role == "synthesize" and "role" not in self.review:
            del kept["role"]
        kept |= self.settings
        return kept | ({"review": self.review} if self.review else {})


ENTRIES: Final = tuple(x.name for x in fields(Column) if x.name not in ("settings", "private"))


Columns = Mapping[str, Column]
"""Columns by name, in the order of a schema."""


def part_of(name: str) -> str:
    """The name of the category that says which part of a number a record has."""
    return f"part of {name}"
