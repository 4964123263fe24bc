"""Turn the declared settings into options, and the command line's words into settings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand

from pyvws._base.setting import Setting, common_default, described, on_command_line
from pyvws.errors import InputError, UsageError

_NOT_IN_A_FILE = ("table", "out", "config", "help", "help_all", "overwrite", "quiet", "as_json")
_OF_A_FIRST_RUN = (
    *("schema", "outcome", "formula", "model", "mechanism", "choice", "epsilon", "epsilons"),
    *("delta", "reweight", "datasets", "minutes", "out", "config", "overwrite", "help"),
    "help_all",
)
_NAME = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|\Z)')
_HINTS = {
    "COL,COL": "Names with commas between them; the option may be repeated.",
    "L,U": "Two numbers, as in 0,1.",
    "N,N": "Numbers, as in 1,2,3.",
    "A,B": "Numbers or labels with commas between them.",
    int: "A whole number.",
    float: "A number.",
}


@contextmanager
def wrong_usage() -> Iterator[None]:
    """Make of an InputError in the `with` block a UsageError: settings refused before any table."""
    try:
        yield
    except InputError as error:
        raise UsageError(str(error), key=error.key) from None


class PlainCommand(TyperCommand):
    """A command whose help is plain text: an option with its type and default in one entry."""

    def get_short_help_str(self, limit: int = 1000) -> str:
        """The first sentence of the help, which a list of commands shows whole."""
        return super().get_short_help_str(max(limit, 1000))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._write_help(ctx, formatter, shown=None)

    def _write_help(
        self, ctx: typer.Context, formatter: Any, *, shown: tuple[str, ...] | None
    ) -> None:
        """Write the options named in `shown`, in its order, or all of them by their panels."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        panels: dict[str, list[tuple[str, str]]] = {}
        options = self.get_params(ctx)
        if shown is not None:
            named = {option.name: option for option in options}
            arguments = [option for option in options if option.param_type_name == "argument"]
            options = [*arguments, *(named[name] for name in shown if name in named)]
        for option in options:
            record = option.get_help_record(ctx)
            if record is not None:
                panel = "Arguments" if option.param_type_name == "argument" else "Options"
                if shown is None:
                    panel = getattr(option, "rich_help_panel", None) or panel
                panels.setdefault(panel, []).append(record)
        for panel, records in panels.items():
            with formatter.section(panel):
                formatter.write_dl(records, col_max=26, col_spacing=2)
        self.format_epilog(ctx, formatter)


class DeclaredCommand(PlainCommand):
    """A command that takes every declared setting besides its own options.

    `--help` shows the options of a first run, `--help-all` every option. The command reads the
    settings only when needed, because the families load a compiler. So `--help` of other commands
    does not wait for the compiler.
    """

    def __init__(self, **given: Any) -> None:
        self._own = inspect.unwrap(given["callback"])
        super().__init__(**given)

    @cached_property
    def _whole(self) -> Any:
        app = typer.Typer(add_completion=False)
        app.command()(_with_declared(self._own))
        return typer.main.get_command(app)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._write_help(ctx, formatter, shown=_OF_A_FIRST_RUN)

    def all_help(self, ctx: typer.Context) -> str:
        """The help with every option."""
        formatter = ctx.make_formatter()
        self._write_help(ctx, formatter, shown=None)
        return formatter.getvalue().rstrip("\n")

    params = property(lambda self: self._whole.params, lambda self, _: None)  # type: ignore[assignment]
    callback = property(lambda self: self._whole.callback, lambda self, _: None)  # type: ignore[assignment]


def _show_all(context: typer.Context, asked: bool) -> None:
    if asked:
        print(context.command.all_help(context))  # type: ignore[attr-defined]
        raise typer.Exit


def _declared() -> dict[str, list[Setting]]:
    from pyvws.synthesis.settings_by_name import declared

    return {name: alike for name, alike in declared().items() if alike[0].option}


def _with_declared(function: Callable[..., None]) -> Callable[..., None]:
    """The function with an option for each declared setting; the context holds their values."""
    own = inspect.signature(function, eval_str=True).parameters
    options = [_parameter(name, alike) for name, alike in _declared().items() if name not in own]
    everything = Annotated[
        bool,
        typer.Option("--help-all", help="Show every option.", callback=_show_all, is_eager=True),
    ]
    options.append(_keyword("help_all", everything, False))
    first = [option for option in own.values() if option.default is option.empty]
    last = [option for option in own.values() if option.default is not option.empty]

    def whole(**given: Any) -> None:
        function(**{name: given[name] for name in own})

    return with_options(whole, [*first, *options, *last])


def with_options(
    function: Callable[..., None], parameters: Iterable[inspect.Parameter]
) -> Callable[..., None]:
    """The function as a command of these parameters, in their order."""
    named = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in parameters]
    function.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    function.__annotations__ = {option.name: option.annotation for option in named}
    return function


def _parameter(name: str, alike: list[Setting]) -> inspect.Parameter:
    kind, metavar = _kind(alike)
    first = alike[0]
    usual = common_default(alike)
    words = f" One of {', '.join(first.choices)}." if metavar == "NAME" else ""
    option = typer.Option(
        *([f"--{first.flag or name.replace('_', '-')}"] if kind is bool or first.flag else []),
        help=on_command_line(described(alike)) + words,
        metavar=metavar,
        rich_help_panel=first.panel or None,
    )
    default = False if kind is bool else usual
    if usual == ():
        default = [] if kind == list[str] else ""
    return _keyword(
        name,
        Annotated[kind | None if default is None else kind, option],
        inspect.Parameter.empty if usual is ... else default,
    )


def _keyword(name: str, annotation: object, default: object) -> inspect.Parameter:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=default, annotation=annotation)


def _kind(alike: list[Setting]) -> tuple[Any, str | None]:
    """An option's type, and the word for its value in --help; None leaves typer's own word."""
    first = alike[0]
    if first.several and any(other.several != first.several for other in alike):
        return str, "A,B"
    if first.several:
        if first.several[0] is str:
            return list[str], "COL,COL"
        return str, "N,N" if ... in first.several else "L,U"
    if first.choices:
        enumeration: Any = StrEnum
        words = enumeration(first.name, {word.replace("-", "_"): word for word in first.choices})
        return words, "NAME" if len(first.choices) > 3 else None
    number = next((kind for kind in (bool, int, float) if kind in first.parts), None)
    if number is None or first.words:
        return str, None
    return number, None


def given_settings(context: typer.Context, *, own: str = "") -> dict[str, Any]:
    """The declared settings that the command line or its file gives, as Python values.

    The setting named `own` is left out: the command has an option of that name.
    """
    values = {}
    chosen = {str(context.params[role]) for role in ("model", "mechanism")}
    for name, alike in _declared().items():
        if name == own:
            continue
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            setting = next((setting for setting in alike if chosen & set(setting.takers)), alike[0])
            value = _value(setting, context.params[name])
            if not (value is None or value is False or value == ()):
                values[name] = value
    return values


def _value(setting: Setting, given: Any) -> Any:
    option = f"--{setting.name.replace('_', '-')}"
    if setting.several:
        if setting.several[0] is str:
            texts = [given] if isinstance(given, str) else given
            if len(texts) == 1 and texts[0] in setting.choices:
                return texts[0]
            return tuple(name for text in texts for name in names(text))
        return read_numbers(given, option, two=... not in setting.several)
    if setting.words and given not in setting.words:
        return _number(given, option, setting)
    return str(given) if isinstance(given, StrEnum) else given


def names(text: str | None) -> tuple[str, ...]:
    """The names of a "COL,COL" option.

    A name in quotes may hold commas; such a name doubles every quote inside.
    """
    parts = (part.groups() for part in _NAME.finditer(text or ""))
    return tuple(
        bare.strip() if quoted is None else quoted.replace('""', '"')
        for quoted, bare in parts
        if quoted is not None or bare.strip()
    )


def read_numbers(text: str, option: str, *, two: bool) -> tuple[float, ...]:
    """The numbers of an "N,N" option, or the two numbers of an "L,U" option."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or (two and len(values) != 2):
        wanted = "two numbers, as in 0,1" if two else "numbers, as in 1,2,3"
        raise UsageError.by("option-type", option=option, wanted=wanted, text=text)
    return values


def _number(text: str, option: str, setting: Setting) -> float:
    kinds = {int: "a whole number", float: "a number"}
    try:
        return int(text) if int in setting.parts else float(text)
    except ValueError:
        wanted = " or ".join(kinds.get(kind) or ", ".join(get_args(kind)) for kind in setting.parts)
        raise UsageError.by("option-value", option=option, wanted=wanted, text=text) from None


def template_options(command: Any) -> list[tuple[str, Any, str]]:
    """Name, default and help of each option that a file of settings may hold."""
    declared = _declared()
    options = []
    for parameter in command.params:
        if parameter.name in _NOT_IN_A_FILE:
            continue
        default, text = parameter.default, parameter.help or ""
        if parameter.name in declared:
            setting = declared[parameter.name][0]
            kind, metavar = _kind(declared[parameter.name])
            default = setting.default if default is None and setting.default is not ... else default
            hint = _HINTS.get(metavar) or (_HINTS.get(kind) if default is None else None)
            text += f" {hint}" if hint else ""
        options.append((parameter.name, getattr(default, "value", default), text))
    return options
