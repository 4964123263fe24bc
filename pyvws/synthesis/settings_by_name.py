"""Settings by name: all names, and the part of a run that takes each setting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from itertools import chain
from typing import Any, Final

from pyvws._base.checks import near, positive
from pyvws._base.setting import Setting, check_needs, merged, settings_of
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import InputError, UsageError
from pyvws.mechanisms.noisy_counts import COUNT_MODELS
from pyvws.mechanisms.registry import (
    MECHANISMS,
    make_mechanism,
    mechanism_settings,
    mechanisms_that,
)
from pyvws.models.registry import MODELS, find_model, model_settings
from pyvws.synthesis.settings import RunSettings

_PLACES: Final = {
    "Fit": "settings=vws.SamplerSettings({}=...)",
    "Mechanism": "the mechanism, such as mechanism=vws.LipschitzWeighted(c=0.5)",
    "Model": "the model, such as model=vws.Normal(outcome_scale='log')",
}


def declared() -> dict[str, list[Setting]]:
    """Every setting by name, as the run, families, mechanisms and the sampler declare it."""
    owners: list[tuple[type[Any], str]] = [(RunSettings, "")]
    owners += [(type(family), "Model") for family in MODELS.values()]
    owners += [(mechanism, "Mechanism") for mechanism in MECHANISMS.values()]
    owners += [(SamplerSettings, "Fit")]
    declared = chain.from_iterable(settings_of(owner, panel) for owner, panel in owners)
    return merged(
        replace(each, help=f"{each.help} Only under {', '.join(mechanisms_that(each.only))}.")
        if each.only
        else each
        for each in declared
    )


def arranged(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `RunSettings` for settings by name, each passed to the part that takes it.

    If a run and its mechanism both declare a name, the mechanism takes the setting. The run takes
    the setting only if the run's declaration needs another setting that the user gave, as `delta`
    needs `total_epsilon`. None counts as not given.
    """
    given = {name: value for name, value in given.items() if value is not None}
    of_run = {declared.name: declared for declared in settings_of(RunSettings)}
    of_sampler = {declared.name for declared in settings_of(SamplerSettings)}
    of_families = {name for family in MODELS.values() for name in model_settings(family)}
    _refuse_unknown(given, {*of_run, *of_sampler, *of_families})
    mechanism = given.pop("mechanism", of_run["mechanism"].default)
    taken = mechanism_settings(mechanism) if isinstance(mechanism, str) else ()
    run: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {"model": {}, "mechanism": {}, "sampler": {}}
    if "model" in taken and given.get("model") in COUNT_MODELS:  # No family: the mechanism's own.
        parts["mechanism"]["model"] = given.pop("model")
    model = given.pop("model", of_run["model"].default)
    for name, value in given.items():
        if name in of_run and (name not in taken or given.get(of_run[name].needs)):
            run[name] = value
        elif name in of_sampler and name not in taken:
            parts["sampler"][name] = value
        else:
            to_family = name in of_families and name not in taken
            parts["model" if to_family else "mechanism"][name] = value
    check_needs(of_run, run)
    if "total_epsilon" in run and "epsilon" in taken:  # The run finds what a draw costs.
        total = positive(run["total_epsilon"], "total_epsilon")
        parts["mechanism"].setdefault("epsilon", total)
    for role, chosen in (("model", model), ("mechanism", mechanism)):
        if parts[role] and not isinstance(chosen, str):
            names = ", ".join(parts[role])
            if not any(hasattr(chosen, name) for name in parts[role]):
                raise UsageError.by(
                    "part-unknown-setting", role=role, chosen=chosen.name, names=names
                )
            raise InputError.by("setting-of-an-instance", role=role, names=names)
    return {
        **run,
        "model": find_model(model, **parts["model"]),
        "mechanism": make_mechanism(mechanism, **parts["mechanism"]),
        "settings": SamplerSettings(**parts["sampler"]),
    }


def refuse_elsewhere(names: Iterable[str]) -> None:
    """Raise UsageError for a setting by name that is not a field of `RunSettings`."""
    own = {entry.name for entry in fields(RunSettings)}
    for name in names:
        if name in own:
            continue
        _refuse_unknown({name: ...}, {*declared()})
        place = _PLACES[declared()[name][0].panel].format(name)
        raise UsageError.by("setting-of-a-part", name=name, place=place)


def _refuse_unknown(given: Mapping[str, Any], names: set[str]) -> None:
    """Raise InputError for a setting that neither `names` nor any mechanism has."""
    known = names.union(*map(mechanism_settings, MECHANISMS))
    for name in given:
        if name not in known:
            hint = near(name, known) or " docs/settings.md lists all of them."
            raise UsageError.by("unknown-setting", name=name, hint=hint)
