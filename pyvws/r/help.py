"""Help on the package's functions and classes in R's words, for `vws_help` of `interface.R`."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any, Final, Literal

import pyvws
from pyvws._base.checks import near
from pyvws.errors import InputError

_WIDTH: Final = 80
_HEADINGS: Final = {
    "Parameters": "Arguments",
    "Attributes": "Parts, by `$`",
    "Returns": "Value",
    "Raises": "Errors",
}
_EXAMPLES: Final = "Examples"  # They are Python's.
_WORDS: Final = {"None": "NULL", "True": "TRUE", "False": "FALSE"}
_TABLE: Final = "pandas, polars or Arrow table"
_BOTH_WAYS: Final = re.compile(r"--[a-z-]+(?: [^ ()]+)? \(([^ ].*?) in Python\)")
_OPTION: Final = re.compile(r"--([a-z][a-z-]*)")
_NAME: Final = re.compile(r"\bvws(\.\w+)+")
_GOT: Final = re.compile(r"Got (str|int|float|bool|NoneType|list|dict|tuple|ndarray)\.")
_BRACKETS: Final = re.compile(
    r"(?:(?<=Got )|(?<==))[\[{(][^\[\]{}()]*(?:[\[(][^\[\]{}()]*[\])][^\[\]{}()]*)*[\]})]"
)
_TYPES: Final = {
    "int": "whole number",
    "float": "number",
    "str": "text",
    "bool": "TRUE or FALSE",
    "dict": "named list",
    "list": "vector or list",
    "NoneType": "NULL",
    "ndarray": "vector or matrix",
    "array_like": "vector or matrix",
    **_WORDS,
}
_OF_THE_FILE: Final = {
    "import_pyvws": """\
The package for R: its functions, classes and values behind `$`.

Usage:

  import_pyvws(module = "pyvws")

  `module` can also be a module of it, such as "pyvws.papers". Functions take and give R's
  vectors, factors, matrices and data frames. Warnings of Python become conditions of R,
  and errors stop.

  source(reticulate::import("pyvws.r.interface")$path())
  vws <- import_pyvws()
""",
    "vws_help": """\
Help on a function, class or value of the package, in R's words.

Usage:

  vws_help(what = NULL)

  `what` is a function, class or value, or its name, such as vws$reweight or
  "Schema$read". NULL lists what there is.
""",
}
"""Help on the functions that `interface.R` itself defines."""


def help_text(what: Any, form: Literal["brief", "full"] = "full") -> list[str]:
    """Lines of help on a function, class or value of the package, or on its name ("Schema$read").

    None lists the package. The form "brief" gives the usage and the first sentence. Raises
    InputError if the package has nothing of that name.
    """
    if what is None or what is pyvws:
        return _listed()
    if isinstance(what, str) and what in _OF_THE_FILE:
        return _OF_THE_FILE[what].splitlines()
    if isinstance(what, str):
        what = _found(what)
    elif not (inspect.isroutine(what) or inspect.isclass(what)):
        what = type(what)
        if not what.__module__.startswith("pyvws"):
            raise InputError.by("r-no-help", name=_TYPES.get(what.__name__, "this"), hint="")
    name = f"vws${name_in_r(what)}"
    title, sections = _sections(inspect.getdoc(what) or "No description.")
    usage = _usage(what, name)
    if form == "brief":
        return [*usage, "", *_filled(title), "", f"vws_help({name}) explains the arguments."]
    lines = [*_filled(title), "", "Usage:", "", *(f"  {line}" for line in usage)]
    for heading, body in sections:
        lines += ["", *([f"{heading}:", ""] if heading else []), *body]
    return lines


def name_in_r(function: Callable[..., Any]) -> str:
    """The name of a function or class as R writes it, such as "Schema$read"."""
    name: str = getattr(function, "__qualname__", type(function).__name__)
    return name.replace(".", "$")


def in_r(text: str) -> str:
    """The words of an error or warning with R's names for options, types and values."""
    text = _BOTH_WAYS.sub(lambda both: re.sub(r"=(\.\.\.|\(\.\.\.\))?$", "", both[1]), text)
    text = _OPTION.sub(lambda option: option[1].replace("-", "_"), text.replace("in Python ", ""))
    text = _NAME.sub(lambda name: name[0].replace(".", "$"), text.replace(_TABLE, "data frame"))
    text = _GOT.sub(lambda kind: f"Got {_TYPES.get(kind[1], 'another kind')}.", text)
    text = _BRACKETS.sub(lambda piece: _literal(piece[0]), text)
    return re.sub(r"\b(None|True|False)\b(?! of )", lambda word: _WORDS[word[0]], text)


def _literal(text: str) -> str:
    """A list or dict of Python, written out, as R writes it; other text in brackets as it is."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    if isinstance(value, dict):
        items = (f"{name} = {_literal(repr(own))}" for name, own in value.items())
        return f"list({', '.join(items)})"
    if not isinstance(value, (list, tuple)):
        return text
    own = [f"{one:.15g}" if isinstance(one, float) else repr(one) for one in value]
    return own[0] if len(own) == 1 else f"c({', '.join(own)})"


def _found(name: str) -> Any:
    thing: Any = pyvws
    for part in re.split(r"[$.]", name.removeprefix("vws$")):
        known = pyvws.__all__ if thing is pyvws else [n for n in dir(thing) if n[0] != "_"]
        if part not in known:
            raise InputError.by("r-no-help", name=name, hint=near(part, known))
        thing = thing._handed_on(part) if thing is pyvws else getattr(thing, part)
    return thing


def _listed() -> list[str]:
    lines = ["Functions and classes of pyvws. vws_help(vws$synthesize) explains one.", ""]
    for name, text in _OF_THE_FILE.items():
        lines.append(f"  {name}: {text.partition(chr(10))[0]}")
    for name in sorted(pyvws.__all__, key=str.lower):
        thing = _found(name)
        if inspect.isroutine(thing) or inspect.isclass(thing):
            title = _r_words((inspect.getdoc(thing) or "").partition("\n")[0])
            lines += textwrap.wrap(
                f"vws${name}: {title}", _WIDTH, initial_indent="  ", subsequent_indent="      "
            )
    return lines


def _usage(what: Callable[..., Any], name: str) -> list[str]:
    """The call with R's defaults, one line or one argument after another."""
    try:
        parameters = inspect.signature(what).parameters.values()
    except (TypeError, ValueError):  # Some built-in classes have none.
        return [f"{name}(...)"]
    arguments = [_argument(parameter) for parameter in parameters if parameter.name != "self"]
    whole = [text.replace(" ", "\0") for text in arguments]  # Lines break between arguments.
    lines = textwrap.wrap(
        f"{name}({', '.join(whole)})",
        _WIDTH - 2,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]


def _argument(parameter: inspect.Parameter) -> str:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return "..."
    default = parameter.default
    if default is parameter.empty:
        return parameter.name
    if isinstance(default, str):
        text = f'"{default}"'
    elif default is None or isinstance(default, (bool, int, float)):
        text = _r_words(repr(default))
    else:
        text = "list()" if default in ((), [], {}) else "..."
    return f"{parameter.name} = {text}"


def _sections(doc: str) -> tuple[str, list[tuple[str, list[str]]]]:
    """The first sentence, and each section's heading and lines."""
    title, _, rest = doc.partition("\n")
    parts = re.split(r"\n([A-Z][A-Za-z ]+)\n-{3,}\n", f"\n{rest}\n")
    sections = [("", _body(parts[0]))] if parts[0].strip() else []
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        if heading != _EXAMPLES:
            typed = heading in ("Parameters", "Attributes", "Returns")
            sections.append((_HEADINGS.get(heading, heading), _body(text, typed=typed)))
    return title, sections


def _body(text: str, *, typed: bool = False) -> list[str]:
    """Indented lines in R's words; on a `typed` section's first level types get R's names."""
    lines = []
    for line in text.strip("\n").splitlines():
        own = _r_words(line)
        if typed and line[:1].strip():
            name, colon, kinds = line.partition(" : ")
            own = f"{name}: {_r_types(kinds)}" if colon else _r_types(line)
        lines.append(f"  {own}".rstrip())
    return lines


def _filled(text: str) -> list[str]:
    return textwrap.wrap(_r_words(text), _WIDTH)


def _r_types(text: str) -> str:
    plain = re.sub(r"\b(?:tuple|list)\[(\w+)[^\]]*\]", r"vector of \1", text)
    return _r_words(plain.replace(_TABLE, "data frame"), _TYPES)


def _r_words(text: str, words: dict[str, str] = _WORDS) -> str:
    return re.sub(r"\b[A-Za-z_]+\b", lambda match: words.get(match[0], match[0]), text)
