"""Settings, each declared once: on the field of the class that takes it.

`k: float = setting(0.95, "...")` declares one with its default, `field(metadata=about("..."))` one
that must be given. The signature and docstring of Python,
the stub, the command line, run.toml, the template of `pyvws init` and the table of the
documentation are made from these declarations.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, field, fields, replace
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

__all__ = [
    "Setting",
    "about",
    "described",
    "documented",
    "merged",
    "on_command_line",
    "setting",
    "settings_of",
    "shown_default",
    "type_text",
]

T = TypeVar("T")

_INDENT: Any = {
    "initial_indent": "    ",
    "subsequent_indent": "    ",
    "break_on_hyphens": False,
    "break_long_words": False,
}
_BUILT_IN = {bool: "bool", int: "int", float: "float", str: "str"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting as one class declares it.

    `help` is a sentence or two that everybody reads; `more` is read in Python and in the
    documentation. A name in backticks is another setting: the command line shows `k` as --k.
    `choices` are the words that it may be; `needs` is the setting without which it is refused;
    `found_by` is the setting that finds its value, so that both cannot be given. `panel` is its
    place in --help. `option` is False where the command line has an option of its own for it.
    """

    help: str
    more: str = ""
    choices: tuple[str, ...] = ()
    needs: str = ""
    found_by: str = ""
    panel: str = ""
    option: bool = True
    name: str = ""
    kind: Any = None
    default: Any = None
    required: bool = False
    takers: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[Any, ...]:
        """The types that its value may have, None left out."""
        union = get_origin(self.kind) in (Union, UnionType)
        kinds = get_args(self.kind) if union else (self.kind,)
        return tuple(kind for kind in kinds if kind is not NoneType)

    @property
    def words(self) -> tuple[str, ...]:
        """Words that stand beside numbers, such as lw of a bound to meet."""
        return tuple(
            word for kind in self.parts if get_origin(kind) is Literal for word in get_args(kind)
        )

    @property
    def several(self) -> tuple[Any, ...]:
        """The types of its elements where its value is a tuple: (str, ...), or (float, float)."""
        return next((get_args(kind) for kind in self.parts if get_origin(kind) is tuple), ())


def about(help: str, **more: Any) -> dict[str, Setting]:
    """What a dataclass field has as metadata; keywords as in `Setting`."""
    return {"setting": Setting(help=help, **more)}


def setting(default: T, said: str | dict[str, Setting], **more: Any) -> T:
    """A dataclass field with a default; `said` is its help, or metadata that several share."""
    metadata = about(said, **more) if isinstance(said, str) else said
    made: Any = field(default=default, metadata=metadata)
    return cast(T, made)


def settings_of(owner: type[Any], panel: str = "") -> list[Setting]:
    """The settings that a class declares on its fields, in their order; it is their taker.

    A setting that declares no panel is shown in the one that is given.
    """
    hints = get_type_hints(owner)
    name = getattr(owner, "name", None)
    return [
        replace(
            one.metadata["setting"],
            panel=one.metadata["setting"].panel or panel,
            name=one.name,
            kind=hints[one.name],
            default=None if one.default is MISSING else one.default,
            required=one.default is MISSING,
            takers=(name,) if isinstance(name, str) else (),
        )
        for one in fields(owner)
        if "setting" in one.metadata
    ]


def merged(settings: Iterable[Setting]) -> dict[str, list[Setting]]:
    """Settings by name; those that several classes declare in the same words become one."""
    found: dict[str, list[Setting]] = {}
    for one in settings:
        alike = found.setdefault(one.name, [])
        for place, other in enumerate(alike):
            if (one.help, one.more, one.choices) == (other.help, other.more, other.choices):
                shared = one.default if one.default == other.default else None
                takers = (*other.takers, *one.takers)
                alike[place] = replace(other, takers=takers, default=shared)
                break
        else:
            alike.append(one)
    return found


def shown_default(alike: list[Setting]) -> Any:
    """The run's own default; None where several take the setting, or a mechanism or family does."""
    return alike[0].default if len(alike) == 1 and not alike[0].takers else None


def described(alike: list[Setting]) -> str:
    """What the declarations of a name say of it, who takes it, and what it is if not given."""
    said = []
    for one in alike:
        text = one.help
        if one.takers:
            text = f"For {', '.join(one.takers)}: {text[0].lower()}{text[1:]}"
        if shown_default(alike) is None and not (one.default in (None, ()) or one.default is False):
            text += f" {_plain(one.default)} if not given."
        said.append(text)
    return " ".join(said)


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_plain, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def type_text(alike: list[Setting]) -> str:
    """The type as docstrings write it."""
    choices = ", ".join(repr(word) for one in alike[:1] for word in one.choices)
    kinds = dict.fromkeys(kind for one in alike for kind in _kinds_text(one))
    optional = any(NoneType in get_args(one.kind) or one.takers for one in alike)
    words = " or ".join(([f"{{{choices}}}"] if choices else []) + list(kinds))
    return words + (", optional" if optional else "")


def _kinds_text(one: Setting) -> list[str]:
    found = []
    for kind in one.parts:
        if get_origin(kind) is Literal:
            found += [repr(word) for word in get_args(kind)]
        elif get_origin(kind) in (tuple, list):
            element = get_args(kind)[0]
            found.append(f"sequence of {_BUILT_IN.get(element, element)}")
        elif kind in _BUILT_IN:
            if not (kind is str and one.choices):
                found.append(_BUILT_IN[kind])
        else:
            found.append("an instance")
    return found


def documented(docstring: str | None, settings: dict[str, list[Setting]]) -> str | None:
    """The docstring with an entry for each setting in the place of its line `**settings`."""
    lines = []
    for name, alike in settings.items():
        said = " ".join(filter(None, [described(alike), *(one.more for one in alike)]))
        lines += [f"{name} : {type_text(alike)}", *textwrap.wrap(said, 92, **_INDENT)]
    entries = "\n".join(" " * 4 + line for line in lines)
    return docstring and re.sub(r" +\*\*settings\n", lambda _: entries + "\n", docstring)


def on_command_line(text: str) -> str:
    """The text with the names of settings as options."""
    return re.sub(r"`(\w+)`", lambda found: "--" + found[1].replace("_", "-"), text)
