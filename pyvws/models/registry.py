"""Model families by the name that the command line takes."""

from __future__ import annotations

from pyvws._checks import choice
from pyvws.models._model import Model
from pyvws.models.negative_binomial import NegativeBinomial
from pyvws.models.poisson import Poisson

__all__ = ["MODELS", "find_model"]

MODELS: dict[str, Model] = {model.name: model for model in (Poisson(), NegativeBinomial())}


def find_model(name: str) -> Model:
    """The model of that name; underscores count as hyphens. Raises InputError for others."""
    return MODELS[choice(name.replace("_", "-"), "model", tuple(MODELS))]
