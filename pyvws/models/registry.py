"""Model families by the name that the command line takes."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

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
    unused = sorted(set(given) - set(takes))
    if unused:
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
