"""The families of a schema's columns, and what a run on a table cannot have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, cast

from pyvws.engines.registry import is_exact
from pyvws.errors import InputError
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.models.conditional_table import ConditionalTable
from pyvws.models.model import Model
from pyvws.models.registry import find_model, model_settings
from pyvws.synthesis.survey_weights import refuse_exponents
from pyvws.tables.design.patterns import pattern_design
from pyvws.tables.design.public import public_design
from pyvws.tables.schema.parts import is_drawn, modelled_schema
from pyvws.tables.schema.schema import Schema

_MOST_PARAMETERS: Final = 20_000  # Some 200 design columns: coefficients have correlations.
OF_ALL_RECORDS: Final = ("An own Stan program", "A reference")
"""What needs a term of each record, as messages name it."""

_FIRST: Final = {"logistic": 1.0}  # Its values are 0 and 1; a table's codes start at 1.


def family_of(schema: Schema, name: str) -> Model:
    """The family of a synthesized column; its levels and range are the schema's, so public."""
    column = schema.columns[name]
    given: dict[str, Any] = dict(column.settings)
    takes = model_settings(find_model(cast(str, column.model)))
    if column.outcome_scale is not None:
        given["outcome_scale"] = column.outcome_scale
    if "levels" in takes and column.levels is not None:
        given["levels"] = tuple(range(1, column.n_drawn + 1))
    if "range" in takes and column.range is not None:
        given["range"] = column.range
    family = find_model(cast(str, column.model), **given)
    if isinstance(family, ConditionalTable):
        return replace(family, patterns=pattern_design(schema, name).patterns)
    return family


def refuse_too_many(name: str, model: Model, K: int) -> None:
    """Raise InputError for a design of K columns with more parameters than a sampler can fit."""
    if isinstance(model, ConditionalTable) or model.dimension(K) <= _MOST_PARAMETERS:
        return
    raise InputError(
        f"The predictors of {name!r} make {K:,} design columns, and its family then has "
        f"{model.dimension(K):,} parameters; at most {_MOST_PARAMETERS:,} can be fitted. Name "
        "fewer predictors, join levels, or take model table in a schema."
    )


def refuse_sizes(schema: Schema, longest: int, searched: bool) -> None:
    """Raise InputError for columns of too many parameters, or too many draws of the longest fit.

    `searched` says whether that fit confirms a searched epsilon. The schema alone decides.
    """
    whole = modelled_schema(schema)
    for name in whole.synthesized:
        if is_drawn(schema, name):
            family = family_of(whole, name)
            refuse_too_many(name, family, len(public_design(whole, name).names))
            _refuse_too_many_draws(name, family, longest, searched=searched)


def _refuse_too_many_draws(name: str, model: Model, longest: int, *, searched: bool) -> None:
    if not isinstance(model, ConditionalTable) or longest <= model.most_draws:
        return
    fit = "the fit that confirms epsilon" if searched else "a fit"
    raise InputError(
        f"The predictors of {name!r} make {model.patterns:,} patterns of {len(model.levels):,} "
        f"shares, and the {longest:,} draws of {fit} are too many for them; at most "
        f"{model.most_draws:,} are held. Name fewer predictors, give them fewer levels or cuts, or "
        "take fewer draws."
    )


def families_of(schema: Schema) -> tuple[Model, ...]:
    """The families of all conditionals of a table, in their order."""
    if "families" not in schema.once:
        whole = modelled_schema(schema)
        drawn = [name for name in whole.synthesized if is_drawn(schema, name)]
        schema.once["families"] = tuple(family_of(whole, name) for name in drawn)
    families: tuple[Model, ...] = schema.once["families"]
    return families


def design_width(schema: Schema) -> int:
    """The number of design columns of the last conditional of a table."""
    whole = modelled_schema(schema)
    drawn = [name for name in whole.synthesized if is_drawn(schema, name)]
    return len(public_design(whole, drawn[-1]).names)


def refuse_table(
    schema: Any,
    mechanism: Mechanism,
    *,
    of_one_outcome: Sequence[str],
    engine: Any,
    of_one_conditional: Sequence[str],
) -> None:
    """Raise InputError for what a run on a table cannot have.

    `of_one_outcome` names settings that were given and that a schema has itself, and
    `of_one_conditional` those that a table of one conditional may have.
    """
    if not isinstance(schema, Schema):
        raise InputError("schema must be a path or a vws.Schema, as vws.Schema.read gives it.")
    if of_one_outcome:
        raise InputError(
            "A schema says columns, families and predictors itself. Leave "
            f"{', '.join(of_one_outcome)} out."
        )
    schema.refuse_unbuilt()
    if not (mechanism.facts.fits_model or mechanism.facts.takes_table):
        raise InputError(
            f"{mechanism.name} makes a histogram of one outcome, and the cells of several columns "
            "are too many for its noise. Choose noisy-counts, or censored."
        )
    if len(families_of(schema)) > 1:
        if of_one_conditional:
            raise InputError(
                f"{of_one_conditional[0]} is for one outcome, and the schema makes "
                "several conditionals: one a column, and one more for missing values, points "
                "of mass or groups. Leave it out, or synthesize one plain column."
            )
        if is_exact(engine):
            raise InputError("Engine grid is for models of up to three parameters. Choose native.")
    of_all_records = [name for name in of_one_conditional if name in OF_ALL_RECORDS]
    if of_all_records and any(schema.columns[name].rules for name in schema.synthesized):
        raise InputError(
            f"{of_all_records[0]} needs a term of each record, and a rule of the schema leaves "
            "records out. Leave one of them out."
        )
    refuse_exponents(schema, mechanism, engine)


def refuse_by_column(mechanism: Mechanism, schema: Any, changing: Sequence[str]) -> None:
    """Raise InputError for weights by column without a schema, or with what changes weights.

    `changing` names settings that were given and that change the one weight of a record.
    """
    if not mechanism.facts.by_column:
        return
    if schema is None:
        raise InputError(
            "by_column gives each column of a table weights of its own, and a run on one outcome "
            "has one column. Give a schema (--schema), or leave by_column (--by-column) out."
        )
    if changing:
        raise InputError(
            "by_column gives a record several weights, and reweight, downscale and epsilon are for "
            f"one weight a record. Leave {', '.join(changing)} out, or by_column (--by-column)."
        )


def refuse_units(mechanism: Mechanism, column: str, *, program: bool, linked: bool) -> None:
    """Raise InputError for a mechanism or a program that knows records alone.

    `linked` says whether the rows of a run that draws whole units were to be those of records.
    """
    if linked:
        raise InputError(
            "With members in the schema no synthetic record stands for one of the table. Leave "
            "keep_order out, and choose labels prior where a model reads the outcome."
        )
    if not mechanism.facts.takes_units:
        raise InputError(
            f"unit {column!r} makes all records of one id one unit, and mechanism {mechanism.name} "
            "weighs or clamps record by record. Choose lw, sw, unweighted or weighted-epsilon, or "
            "leave unit out."
        )
    if program:
        raise InputError(
            "An own Stan program gives the terms of records, and unit asks for those of units. "
            "Leave one of them out."
        )


def first_code(model: Model) -> float:
    """What a value of the family's becomes in the table's codes: value + first_code."""
    return _FIRST.get(model.name, 0.0)
