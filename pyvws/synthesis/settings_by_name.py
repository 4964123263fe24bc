"""Settings by name: the part of a run that takes each, and a run's settings as TOML.

TOML has them under the names of the command line's options.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final, SupportsFloat

from pyvws._base.checks import near, positive
from pyvws._base.setting import Setting, check_needs, merged, settings_of
from pyvws._base.toml import toml_value
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.user_program import UserProgram
from pyvws.errors import InputError, UsageError
from pyvws.mechanisms.counts.set_words import set_word
from pyvws.mechanisms.given_weights import GivenWeights
from pyvws.mechanisms.noisy_counts import COUNT_MODELS
from pyvws.mechanisms.registry import (
    MECHANISMS,
    make_mechanism,
    mechanism_settings,
    mechanisms_that,
    named,
)
from pyvws.models.registry import MODELS, find_model, model_settings
from pyvws.plan.plan import Plan
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files.frame import numeric_column, open_frame
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.schema import SCHEMA_FILE as SCHEMA_FILE

_PLACES: Final = {
    "Fit": "settings=vws.SamplerSettings({}=...)",
    "Mechanism": "the mechanism, such as mechanism=vws.mechanisms.LipschitzWeighted(c=0.5)",
    "Model": "the model, such as model=vws.families.Normal(outcome_scale='log')",
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
    mechanism = given.pop("mechanism", None)
    if "existing_fit" not in given:  # Its weights are the mechanism.
        mechanism = named(mechanism)
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
        parts["mechanism"].setdefault("epsilon", positive(run["total_epsilon"], "total_epsilon"))
    if mechanism is None and parts["mechanism"]:
        raise InputError.by("existing-fit-with-setting", given=", ".join(parts["mechanism"]))
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
        "mechanism": mechanism and make_mechanism(mechanism, **parts["mechanism"]),
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


_ON_THE_LINE = ("table", "out", "overwrite", "quiet", "json")


def config_text(settings: RunSettings, *, seed: int | None, plan: Plan | None = None) -> str:
    """The text of FILE for `pyvws synthesize TABLE --out FOLDER --config FILE` to repeat a run.

    The `plan` is that of the run's table, if there is one.

    Without a seed the text holds nothing confidential: only a user's choices, and no findings.
    """
    plan = plan or settings.plan
    every = settings_of(type(settings))
    values = {own.name: getattr(settings, own.name) for own in every} | {**plan.written}
    outside = settings.chosen_mechanism.facts.weights_source == "outside"
    by_file = ("program", "existing_fit", *(["mechanism"] if outside else []))
    chosen: dict[str, Any] = {}
    for declared in every:
        value = values[declared.name]
        if declared.name in (*by_file, *plan.says_itself):
            continue
        if declared.name == "schema":
            chosen["schema"] = value and SCHEMA_FILE
        elif isinstance(value, Mapping):
            chosen[declared.name] = toml_value(value)[1:-1]
        elif declared.name == "model":
            chosen |= {"model": value.name, **_values(value, changed=True)}
        elif declared.name == "mechanism":
            chosen |= {"mechanism": value.name, **_values(value)}
        elif declared.name == "engine":
            for name, own in _values(settings.settings).items():
                chosen.setdefault(name, own)  # A mechanism may have its own.
            chosen["engine"] = value if isinstance(value, str) else value.name
        elif value is not None and not (declared.needs and not values[declared.needs]):
            chosen[declared.name] = str(value) if declared.words else value
    if seed is not None:
        chosen["seed"] = seed
    lines = [toml_line(name, value) for name, value in chosen.items() if _is_given(value)]
    lines += [
        f"# The {part} is the user's own, which runs in Python." for part in settings.unchecked
    ]
    if settings.existing_fit is not None:
        lines.append("# The fit was made elsewhere: it is read in Python, and its weights with it.")
    elif outside:
        lines.append("# The weights came from outside: name their file with --given-weights.")
    if isinstance(settings.program, UserProgram):
        program = settings.program
        lines.append(toml_line("stan_log_lik", program.log_lik))
        lines += [toml_line("stan_unread", program.unread)] if program.unread else []
        further = ", and that of its data with --stan-data" if program.data else ""
        lines.append(f"# An own Stan program was used: name its file with --stan{further}.")
    return "".join(f"{line}\n" for line in lines)


def _values(owner: Any, *, changed: bool = False) -> dict[str, Any]:
    """The user's settings of a family, mechanism or sampler, by name; or only changed settings."""
    values = {}
    for entry in fields(owner):
        value, finder = getattr(owner, entry.name), ""
        if "setting" in entry.metadata:
            finder = entry.metadata["setting"].found_by
        if not (
            entry.metadata.get("prepared")
            or (changed and value == entry.default)
            or (finder and getattr(owner, finder, None) is not None)
        ):
            values[entry.name] = value
    return values


def _is_given(value: object) -> bool:
    empty = isinstance(value, (str, tuple, list)) and len(value) == 0
    return not (value is None or value is False or empty)


def toml_line(name: str, value: object) -> str:
    """One setting as a line of TOML; several values become one text with commas.

    A number keeps every digit: the text is the shortest that gives the same float again.
    """
    plain = _line_text(value) if isinstance(value, (tuple, list)) else _plain(value)
    return f"{name} = {toml_value(plain)}"


def _line_text(values: Iterable[Any]) -> str:
    """Names or numbers with commas between, in the form that `pyvws.commands` reads."""
    return ",".join(
        _name_text(value) if isinstance(value, str) else _number_text(_plain(value))
        for value in values
    )


def _name_text(name: str) -> str:
    """A name, in quotes if a reader would take the bare name for another or for several names."""
    if name in ("", "all") or name != name.strip() or "," in name or name.startswith('"'):
        doubled = name.replace('"', '""')
        return f'"{doubled}"'
    return name


def _number_text(value: object) -> str:
    return float.__repr__(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _plain(value: object) -> Any:
    """A setting for TOML: NumPy's and other numbers become Python's numbers, digit for digit."""
    if isinstance(value, (str, bool, int, float)):
        return value
    if hasattr(value, "item"):
        return value.item()
    assert isinstance(value, SupportsFloat)
    return float(value)


def read_config(path: Path, allowed: Collection[str]) -> dict[str, Any]:
    """The settings in a TOML file; names may have hyphens, and an unknown name is an InputError."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise InputError.by("config-unreadable", path=path) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError.by("config-not-toml", path=path.name, error=error) from None
    except RecursionError:
        raise InputError.by("brackets-in-brackets", path=path.name) from None
    given = {name.replace("-", "_"): value for name, value in content.items()}
    beside = path.parent / str(given.get("schema"))
    if "schema" in given and (beside.is_file() or not Path(str(given["schema"])).is_file()):
        given["schema"] = str(beside)
    for name, value in given.items():
        if name not in allowed:
            hint = near(name, allowed) or " pyvws init writes all of them."
            if name in _ON_THE_LINE:
                hint = " It is given on the command line: pyvws synthesize TABLE --out FOLDER."
            raise InputError.by("config-unknown-setting", path=path.name, name=name, hint=hint)
        if isinstance(value, dict):
            raise InputError.by("setting-is-a-table", path=path.name, name=name)
    for name, value in given.items():
        if isinstance(value, list):  # A set of columns may be a table, which has a word.
            given[name] = _line_text(set_word(x) if isinstance(x, Mapping) else x for x in value)
    return given


def commented(options: Iterable[tuple[str, Any, str]]) -> str:
    """A TOML text with every option commented out, below the option's help."""
    parts = [
        "# Settings of pyvws synthesize. Take the # away before those that you set.\n"
        "# Run: pyvws synthesize TABLE --out FOLDER --config THIS-FILE\n"
    ]
    for name, default, text in options:
        example = "..." if default is None else default
        parts.append(f"\n# {text}\n# {toml_line(name, example)}\n")
    return "".join(parts)


def read_weights(path: Path) -> GivenWeights:
    """The mechanism of the weights in a file; InputError unless it has one column of numbers."""
    frame = open_frame(read_table(path).frame)
    if len(frame.columns) != 1:
        raise InputError.by("weights-file-columns", path=path.name, columns=len(frame.columns))
    return GivenWeights(numeric_column(frame, frame.columns[0], role="given weights"))
