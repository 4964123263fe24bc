"""Noisy counts of a table's sets of columns, and records of fits to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pyvws._base.checks import choice, finite_number, positive, whole_number
from pyvws._base.setting import about, setting
from pyvws.errors import InputError
from pyvws.mechanisms.counts.counting import CellCounting
from pyvws.mechanisms.counts.given_columns import ALIKE, NONE, NotGiven
from pyvws.mechanisms.counts.measurements import of_set
from pyvws.mechanisms.counts.needs import (
    MOST_EPSILON,
    Need,
    half_widths,
    least_epsilon,
    needs_of,
    refuse_beyond,
    sets_of_needs,
)
from pyvws.mechanisms.counts.set_words import set_word
from pyvws.mechanisms.counts.workload import AUTO, PAIRS, Workload, by_no_family
from pyvws.mechanisms.mechanism import Facts, MechanismBase
from pyvws.privacy.budget import NEIGHBOURS, Budget
from pyvws.tables.files.public import PublicTable
from pyvws.tables.schema.schema import Schema
from pyvws.tables.schema.slots import Slots

COUNT_MODELS: Final = ("classes", "conditionals")
"""The models that are fitted to the counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyCounts(MechanismBase):
    """Count public cells of sets of columns once, under exact noise, and fit records to them.

    Of each set q the release holds S_q = M_q(D) + Z_q: the counts of the set's cells, with discrete
    noise. Where one record is left out, Laplace noise has scales b_q with sum_q 1 / b_q = epsilon.
    Gaussian noise has scales whose privacy losses together keep delta at epsilon. Larger epsilon or
    delta = less private. A setting out of its range raises InputError.

    The datasets follow from the noisy counts, public settings and a public seed alone, so all of
    them together cost epsilon once. Each is drawn from a fit of its own to the counts. A single
    dataset is the best file, of the mean of several fits: it is nearer to the table, and has no
    standard errors.
    With `delta` 0 the noise is discrete Laplace noise and the guarantee is pure.
    Else it is discrete Gaussian noise, which costs less for many sets. `measure` names the sets:
    "pairs" is every pair, "triples" every three columns, "margins" each column alone, "predictors"
    each column with its predictors, and "a:b:c" one set. "auto", the default, takes margins, pairs
    or triples by the noise, the cells and the number of records, and pairs beside survey weights.
    Its margins join columns of few levels. A set with public cuts that are coarser than its
    columns' own is "a:b/15/30", which is the same as
    {"columns": ["a", "b"], "cuts": {"b": [15, 30]}}. The cuts of a category are the first levels of
    its groups. "a:b/#3" joins the cells of b into three groups of about as many. What `needs` ask
    for is counted too, by about as much of the budget as all pairs.

    A number of more than few values is counted in fine public cells first, with the `cells_share`
    of the budget. These counts say where in a cell its numbers are drawn. Without cuts its cells
    join the fine ones, ten at most, by their noisy counts alone. So epsilon covers the choice.
    `workload` of such a schema has as many cells, evenly. A number of many steps is also
    counted by how round it is: as a multiple of 10, of 5 or of 1, and so on. That takes about a
    tenth of its part of the budget. Synthetic numbers then heap where those of the table do.

    Under `model` "classes" the classes of a mixture give the columns. `tables` names columns that
    combinations of others give in their place, or their own family in the schema. The word
    "alike" stands for columns that have an earlier twin: the name of one holds that of the other
    and a letter more. A category is given its twin of the same four or more levels. A number is
    given its one or two predictors, one of them a twin of nearly its range. Both are counted, and
    of such a number its difference from the twin, in cells that are narrow around 0.
    Under "conditionals" its family gives each column, given its predictors in the schema.
    """

    declared = Facts(
        name="noisy-counts",
        title="Noisy counts",
        explanation="Noise is added once to the counts of public cells of sets of columns. Records "
        "follow from a model of these noisy counts, and from nothing else of the table.",
        fits_model=False,
        takes_table=True,
        takes_units=True,
        weights_from_data=False,
        in_steps=True,
    )

    epsilon: float = field(metadata=about("What the counts cost, once for all datasets."))
    delta: float = setting(
        0.0,
        "delta of (epsilon, delta)-differential privacy, public and well below 1 over the number "
        "of records.",
        more="0 is pure differential privacy, under Laplace noise.",
    )
    measure: tuple[str, ...] | str = setting(
        (AUTO,),
        "What is counted: auto, pairs, triples, margins, predictors, and sets such as a:b:c.",
        more="auto takes one of the next three, by a public rule, and pairs beside survey weights. "
        "a:b/15/30 counts b by groups that begin at 15 and 30. In Python a set may be a "
        "tuple of names, or a dict with columns, cuts and share.",
    )
    tables: tuple[str, ...] | str = setting(
        (ALIKE,),
        "Columns that a table gives inside the model, such as c:a:b for c given a and b.",
        more="A column alone has its family of the schema. `alike` stands for columns that are"
        " named like another person's, and `none` for none.",
    )
    neighbours: str = setting(
        "loo",
        "Neighbours that epsilon is for: one record left out, or one replaced.",
        more="Under loo the number of records is counted with noise, unless it is public.",
        choices=("loo", "replace"),
    )
    cap: int | None = setting(
        None,
        "The most records of a unit that are counted; needed for a unit without members.",
        more="Of a larger unit chance decides which records count. Larger = more noise.",
    )
    cells_share: float = setting(
        0.1,
        "Share of the budget that counts numbers in fine cells, and by how round they are.",
        more="They choose the cells of numbers without cuts in the schema, and say where in a cell "
        "numbers are drawn, and where they heap. 0 keeps public cells: 20 equal ones, or cells in "
        "powers of ten. Larger = cells nearer to those of equally many records, and more noise in "
        "the counts of the sets.",
    )
    classes: int = setting(
        30, "Latent classes of the mixture.", more="Larger = nearer to the counts, and slower."
    )
    best_file: bool = setting(
        False,
        "Also write the best file beside several datasets, as best-file.parquet.",
        more="It is the file that a single dataset would be. It costs nothing.",
    )
    model: str = "classes"
    needs: tuple[str, ...] | str = setting(
        (),
        "What analysts need: poor by region within 2, or income ~ age + sex.",
        more="within 2 is points that a 95 % interval of a share reaches to each side. Behind it, "
        "of 400 is the size of a group. A regression has it in standard errors without noise.",
        flag="need",
    )
    reference: str | None = setting(
        None,
        "A public table, or the folder of an earlier release, whose ties of columns enter fits.",
        more="In Python a frame too.",
    )
    totals: str | None = setting(
        None, "A public table of published totals that records meet.", more="In Python a frame too."
    )

    def __post_init__(self) -> None:
        choice(self.model, "model", COUNT_MODELS)
        choice(self.neighbours, "neighbours", NEIGHBOURS)
        object.__setattr__(self, "measure", _words(self.measure, "measure"))
        object.__setattr__(self, "tables", _words(self.tables or NONE, "tables"))
        object.__setattr__(self, "needs", needs_of(self.needs))
        self.asked  # noqa: B018  # Refuses what cannot be read.
        object.__setattr__(self, "epsilon", float(positive(self.epsilon, "epsilon")))
        object.__setattr__(self, "classes", whole_number(self.classes, "classes", least=1))
        object.__setattr__(self, "cells_share", finite_number(self.cells_share, "cells_share"))
        if not 0.0 <= self.cells_share < 1.0:
            raise InputError.by("cells-share-range", cells_share=self.cells_share)
        for name in ("reference", "totals"):
            if (public := getattr(self, name)) is not None:
                object.__setattr__(self, name, PublicTable(public))
        if self.cap is not None:
            object.__setattr__(self, "cap", whole_number(self.cap, "cap", least=1))
        self.budget  # noqa: B018  # Refuses what is out of range.

    @property
    def budget(self) -> Budget:
        """What the counts may cost, by the neighbours and the cap."""
        return Budget(
            epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours, cap=self.cap or 1
        )

    @property
    def asked(self) -> tuple[Need, ...]:
        """What analysts need."""
        return tuple(map(Need.read, self.needs))

    def widths(self, schema: Schema, records: int, epsilon: float) -> dict[str, float]:
        """How far intervals of needed shares reach at an epsilon, in points, by the need's words.

        `records` is 0 where their number is not known. No record is read.
        """
        counting = self.counting(schema)
        noise = counting.noise(replace(self, epsilon=epsilon).budget, hidden=True)
        if records:
            counting, noise, _ = counting.settled(noise, records)
        own = {frozenset(x.columns): x.name for x in counting.table.cliques if not x.groups}

        def deviation(need: Need) -> float:
            return noise.deviation(of_set(own[frozenset(need.columns)]))

        return half_widths(self.asked, schema, deviation, records)

    def least_epsilon(self, schema: Schema, records: int) -> float | None:
        """The least epsilon that meets the needs of shares with a precision; None without any.

        Raises InputError where none below 20 does.
        """
        return least_epsilon(self.asked, lambda x: self.widths(schema, records, x))

    def refuse_needs(self, schema: Schema, records: object) -> None:
        """Raise InputError for a precision that no epsilon below 20 gives, by public things."""
        public = records if isinstance(records, int) else 0
        if any(need.within and not need.regression for need in self.asked):
            refuse_beyond(self.asked, self.widths(schema, public, MOST_EPSILON))

    def counting(self, schema: Schema) -> CellCounting:
        """What is counted of a table with that schema."""
        named = (PAIRS if schema.weight and word == AUTO else word for word in self.measure)
        measure = dict.fromkeys([*named, *sets_of_needs(self.asked, schema)])
        words, reference = (tuple(measure), tuple(self.tables)), self.reference
        assert reference is None or isinstance(reference, PublicTable)
        if schema.members is not None:  # A unit is a record, which nothing rests on but counts.
            slots = Slots(schema)
            by_name = tuple(word for word in words[1] if word != ALIKE) or (NONE,)
            words = slots.in_slots(words[0]), slots.in_slots(by_name)
            return CellCounting(slots.wide, *words, self._by_families, 0.0, slots=slots)
        how: Any = {"reference": reference, "published": self.totals, "pure": not self.delta}
        return CellCounting(schema, *words, self._by_families, self.cells_share, **how)

    def workload(self, schema: Schema) -> Workload:
        """The sets of a table with that schema; InputError for what cannot be counted.

        Numbers whose cells are chosen have as many cells as can be.
        """
        return self.counting(schema).table

    def by_no_family(self, schema: Schema) -> NotGiven | None:
        """A column that its own family cannot give, why, and what helps; None without."""
        asked = self.counting(schema)
        return by_no_family(asked.schema, asked.tables, conditionals=self._by_families)

    @property
    def _by_families(self) -> bool:
        return self.model == "conditionals"

    @property
    def facts(self) -> Facts:
        """The claim is pure without delta; the noise hides the number of records under loo."""
        return replace(
            super(NoisyCounts, self).facts,
            claim="approximate-dp" if self.delta else "dp",
            own_delta=self.delta,
            cap=self.cap,
            reference=None,  # No model is fitted to it alone.
            protects_records=self.neighbours == "loo",
        )


def _words(given: object, setting: str) -> tuple[str, ...]:
    """Sets in words, of text with commas, or of words, names and entries."""
    several = given.split(",") if isinstance(given, str) else given
    if isinstance(several, Mapping) or not isinstance(several, Iterable):
        raise InputError.by("sets-not-a-list", setting=setting)
    words = tuple(dict.fromkeys(map(set_word, several)))
    if not words or not all(words):
        raise InputError.by("set-unnamed", setting=setting)
    return words
