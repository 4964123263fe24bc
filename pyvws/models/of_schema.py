"""The family of a column of a schema, by what the schema says of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pyvws.models.conditional_table import ConditionalTable
from pyvws.models.model import Model
from pyvws.models.registry import find_model, model_settings
from pyvws.tables.design.public import PatternDesign, PublicDesign
from pyvws.tables.schema.parts import ModelledSchema
from pyvws.tables.schema.schema import Schema

_FEW: Final = 10
"""Coefficients of a level up to which a table's nominal columns have the hierarchical prior."""

WIDE_SD: Final = 2.0
"""Standard deviation of the normal prior of nominal columns of a table with more coefficients."""

_FIRST: Final = {"logistic": 1.0}  # Its values are 0 and 1; a table's codes start at 1.


def family_of(
    schema: Schema | ModelledSchema, name: str, design: PublicDesign | PatternDesign | None
) -> Model:
    """The family of a synthesized column; its levels and range are the schema's, so public."""
    column = schema.columns[name]
    given: dict[str, Any] = dict(column.settings)
    assert column.model is not None
    takes = model_settings(find_model(column.model))
    if column.outcome_scale is not None:
        given["outcome_scale"] = column.outcome_scale
    if "levels" in takes and column.levels is not None:
        given["levels"] = tuple(range(1, column.n_drawn + 1))
    if "range" in takes and column.range is not None:
        given["range"] = column.range
    if is_wide(schema, name, design):
        given["coefficient_sd"] = WIDE_SD
    family = find_model(column.model, **given)
    if isinstance(family, ConditionalTable) and isinstance(design, PatternDesign):
        return replace(family, patterns=design.patterns)
    return family


def is_wide(
    schema: Schema | ModelledSchema, name: str, design: PublicDesign | PatternDesign | None
) -> bool:
    """Whether a nominal column of a table has so many coefficients that its prior is normal.

    A column with a `coefficient_sd` of its own keeps it. The schema alone decides, so the choice is
    public. The hierarchical prior has a scale for each coefficient of a level and a correlation for
    each pair.
    """
    column = schema.columns[name]
    if design is None or column.model != "nominal" or "coefficient_sd" in column.settings:
        return False
    return design is not None and len(schema.synthesized) > 1 and len(design.names) > _FEW


def first_code(model: Model) -> float:
    """What a value of the family's becomes in the table's codes: value + first_code."""
    return _FIRST.get(model.name, 0.0)
