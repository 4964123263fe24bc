"""Declare each setting once, on the field of the class that takes the setting.

`k: float = setting(0.95, "...")` declares a setting with its default. A setting that the user must
give is declared by `field(metadata=about("..."))`. The signature and docstring of Python, the stub,
the command line, run.toml, the template of `pyvws init` and the table of the documentation follow
from the declarations.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from pyvws.errors import UsageError

T = TypeVar("T")

_PLACE = re.compile(r" {4}\*\*settings\n {8}.*(?=\n)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting as one class declares it.

    `help` is a sentence or two for all readers; `more` is for readers in Python and of the
    documentation. A name in backticks is another setting: the command line shows `k` as --k.
    `choices` are the allowed words. The package refuses a setting without the setting that it
    `needs`, or with a mechanism that lacks the property `only`. `found_by` names the setting that
    finds this setting's value, so the user cannot give both. `panel` is the setting's place in
    --help. `option` is False where the command line has an option of its own for the setting.
    `flag` is its option's name on the command line, if not its own.
    `in_steps` is False where the setting needs a table that fits in memory. The other entries come
    from the field: its name, its type as an object and as written, its default (... where there is
    none), and the mechanisms or families that take the setting.
    """

    help: str
    more: str = ""
    choices: tuple[str, ...] = ()
    needs: str = ""
    found_by: str = ""
    only: str = ""
    panel: str = ""
    option: bool = True
    flag: str = ""
    in_steps: bool = True
    name: str = ""
    kind: Any = None
    type: str = ""
    default: Any = ...
    takers: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[Any, ...]:
        """The types that the setting's value may have, without None."""
        union = get_origin(self.kind) in (Union, UnionType)
        kinds = get_args(self.kind) if union else (self.kind,)
        return tuple(kind for kind in kinds if kind is not NoneType)

    @property
    def words(self) -> tuple[str, ...]:
        """The words that a setting takes beside numbers, such as lw for a bound to meet."""
        return tuple(
            word for kind in self.parts if get_origin(kind) is Literal for word in get_args(kind)
        )

    @property
    def several(self) -> tuple[Any, ...]:
        """The types of the elements of a tuple setting: (str, ...), or (float, float)."""
        return next((get_args(kind) for kind in self.parts if get_origin(kind) is tuple), ())


def about(help: str, **more: Any) -> dict[str, Setting]:
    """The metadata of a dataclass field that declares a setting; keywords as in `Setting`."""
    return {"setting": Setting(help=help, **more)}


def setting(default: T, meaning: str | dict[str, Setting], **more: Any) -> T:
    """A dataclass field with a default; `meaning` is its help, or metadata that fields share."""
    metadata = about(meaning, **more) if isinstance(meaning, str) else meaning
    return field(default=default, metadata=metadata)


def settings_of(owner: type[Any], panel: str = "") -> tuple[Setting, ...]:
    """The settings that a class declares, in order, with a `panel` for those without one."""
    return _declared(cast(Any, owner), panel)


@cache
def _declared(owner: type[Any], panel: str) -> tuple[Setting, ...]:
    hints = get_type_hints(owner)
    name = getattr(owner, "name", None)
    return tuple(
        replace(
            entry.metadata["setting"],
            panel=entry.metadata["setting"].panel or panel,
            name=entry.name,
            kind=hints[entry.name],
            type=str(entry.type),
            default=... if entry.default is MISSING else entry.default,
            takers=(name,) if isinstance(name, str) else (),
        )
        for entry in fields(owner)
        if "setting" in entry.metadata
    )


def check_needs(declarations: Mapping[str, Setting], given: Mapping[str, Any]) -> None:
    """Refuse a setting if the user leaves out another setting that it needs."""
    for name in given:
        needs = declarations[name].needs
        if needs and not given.get(needs):
            raise UsageError.by("belongs-to-setting", name=name, needs=needs)


def merged(settings: Iterable[Setting]) -> dict[str, list[Setting]]:
    """Settings by name; equal declarations of several classes become one setting."""
    by_name: dict[str, list[Setting]] = {}
    for setting in settings:
        alike = by_name.setdefault(setting.name, [])
        for place, other in enumerate(alike):
            if (setting.help, setting.more, setting.choices) == (
                other.help,
                other.more,
                other.choices,
            ):
                shared = setting.default if setting.default == other.default else None
                takers = (*other.takers, *setting.takers)
                alike[place] = replace(other, takers=takers, default=shared)
                break
        else:
            alike.append(setting)
    return by_name


def common_default(alike: list[Setting]) -> Any:
    """The default of a run's own setting (... if there is none); None for a setting with takers."""
    return alike[0].default if len(alike) == 1 and not alike[0].takers else None


def common_kind(alike: list[Setting]) -> Any:
    """The type of a setting's name: any that one of its declarations has."""
    return reduce(or_, dict.fromkeys(setting.kind for setting in alike))


def described(alike: list[Setting]) -> str:
    """The description of a setting's name: its help, its takers and its default."""
    sentences = []
    for setting in alike:
        text, usual = setting.help, setting.default
        if setting.takers:
            text = f"For {', '.join(setting.takers)}: {text[0].lower()}{text[1:]}"
        if not (common_default(alike) or usual in (..., None, ()) or usual is False):
            values = usual if isinstance(usual, tuple) else (usual,)
            words = ",".join(f"{x:g}" if isinstance(x, float) else str(x) for x in values)
            text += f" {words} if not given."
        sentences.append(
            text if setting.in_steps else f"{text} Only for a table that fits in memory."
        )
    return " ".join(sentences)


def explained(alike: list[Setting]) -> tuple[str, str]:
    """The type and the whole description of a setting, for docstrings and the documentation."""
    first = alike[0]
    kinds = ["{" + ", ".join(map(repr, first.choices)) + "}"] if first.choices else []
    left_out = ("None", "str") if kinds else ("None",)
    texts = dict.fromkeys(text for each in alike for text in each.type.split(" | "))
    kind = " or ".join([*kinds, *(text for text in texts if text not in left_out)])
    optional = ", optional" if first.takers or first.default is None else ""
    return kind + optional, " ".join(
        [described(alike), *(setting.more for setting in alike)]
    ).strip()


def documented(docstring: str | None, settings: dict[str, list[Setting]]) -> str | None:
    """The docstring with one entry for each setting in place of the entry `**settings`."""
    lines = []
    for name, alike in settings.items():
        kind, text = explained(alike)
        lines += [f"{name} : {kind}", textwrap.indent(textwrap.fill(text, 88), "    ")]
    entries = textwrap.indent("\n".join(lines), "    ")
    return docstring and re.sub(_PLACE, lambda _: entries, docstring)


def on_command_line(text: str) -> str:
    """The text with names of settings as command-line options, such as --k for `k`."""
    return re.sub(r"`(\w+)`", lambda match: "--" + match[1].replace("_", "-"), text)
