"""Model families by the name that the command line takes, and by a column of a schema."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Final

from pyvws._base.checks import choice, near, one_of_a_kind
from pyvws.errors import InputError
from pyvws.models.beta import Beta
from pyvws.models.conditional_table import ConditionalTable
from pyvws.models.gamma import Gamma
from pyvws.models.logistic import Logistic
from pyvws.models.model import Model
from pyvws.models.negative_binomial import NegativeBinomial
from pyvws.models.nominal import Nominal
from pyvws.models.normal import Normal
from pyvws.models.normal_mixture import NormalMixture
from pyvws.models.ordinal import Ordinal
from pyvws.models.poisson import Poisson
from pyvws.models.truncated_normal import TruncatedNormal
from pyvws.tables.design.public import PatternDesign, PublicDesign
from pyvws.tables.schema.parts import ModelledSchema
from pyvws.tables.schema.schema import Schema

_FAMILIES: tuple[Model, ...] = (
    Poisson(),
    NegativeBinomial(),
    Normal(),
    TruncatedNormal(),
    Gamma(),
    Logistic(),
    Ordinal(),
    Nominal(),
    ConditionalTable(),
    Beta(),
    NormalMixture(),
)

MODELS: dict[str, Model] = {model.name: model for model in _FAMILIES}
"""Each family with its own default settings."""


def find_model(model: str | Model, **settings: Any) -> Model:
    """The model of that name with the settings that it takes, or an instance as it is.

    A setting of None counts as not given. Raises InputError for other names and settings.
    """
    if not isinstance(model, str):
        one_of_a_kind(model, Model, "model", {name: type(known) for name, known in MODELS.items()})
        return model
    family = MODELS[choice(model.replace("_", "-"), "model", tuple(MODELS))]
    given = {key: value for key, value in settings.items() if value is not None}
    takes = model_settings(family)
    if unused := sorted(set(given) - set(takes)):
        raise InputError.by(
            "model-unknown-setting",
            family=family.name,
            unused=", ".join(unused),
            takes=", ".join(takes) or "no settings",
            hint=near(unused[0], takes),
        )
    changed: Any = family
    return replace(changed, **given) if given else family


def is_own(model: Model) -> bool:
    """Whether the family is a user's own: the package does not check such a family."""
    return type(model) not in map(type, _FAMILIES)


def gives_probabilities(model: Model) -> bool:
    """Whether each term is known to be a log probability, which never exceeds 0.

    The package's families of whole numbers and categories are; its others are log densities. Of a
    user's own family nothing is known.
    """
    return model.whole_numbers and not is_own(model)


def model_settings(model: Model) -> tuple[str, ...]:
    """Names of the settings that a user of the model can give."""
    family: Any = model
    return tuple(field.name for field in fields(family) if not field.metadata.get("prepared"))


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
    return len(schema.synthesized) > 1 and len(design.names) > _FEW


def first_code(model: Model) -> float:
    """What a value of the family's becomes in the table's codes: value + first_code."""
    return _FIRST.get(model.name, 0.0)
