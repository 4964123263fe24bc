"""The words of the command line are those of the package's registries."""

from __future__ import annotations

from pyvws.commands import _choices
from pyvws.engines.registry import ENGINES
from pyvws.mechanisms.censored import CENSORED_WEIGHTS
from pyvws.mechanisms.registry import MECHANISMS
from pyvws.models.registry import MODELS


def test_words_mirror_the_registries():
    assert {word.value for word in _choices.Model} == set(MODELS)
    assert {word.value for word in _choices.Mechanism} == set(MECHANISMS)
    assert {word.value for word in _choices.Engine} == set(ENGINES)
    assert {word.value for word in _choices.CensoredWeights} == set(CENSORED_WEIGHTS)
