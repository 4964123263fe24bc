"""Write what follows from the declared settings: python tools/declared.py

The stubs of `pyvws` and of its doors (pyvws/*.pyi), and the table in docs/settings.md.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pyvws
from pyvws import families, judge, papers
from pyvws._base.setting import common_default, explained
from pyvws.synthesis.settings_by_name import declared

ROOT = Path(__file__).resolve().parents[1]


def stub() -> str:
    """What type checkers see: each public name where it is loaded from, and `synthesize` whole."""
    homes = {name: getattr(pyvws, name).__module__ for name in pyvws.__all__[1:]}
    del homes["synthesize"]
    others: dict[str, str] = {}
    parameters = "".join(
        f"    {one.name}: {_annotation(one.annotation, others)}{_default(one)},\n"
        for one in inspect.signature(pyvws.synthesize).parameters.values()
        if one.kind is one.KEYWORD_ONLY
    )
    lines = [f"from {home} import {name} as {name}\n" for name, home in homes.items()]
    lines += [f"from {home} import {name}\n" for name, home in others.items() if name not in homes]
    return (
        '"""What type checkers see of the names that are loaded when first used.\n\n'
        'Written by tools/declared.py.\n"""\n\n'
        "from collections.abc import Mapping, Sequence\nfrom pathlib import Path\n"
        "from typing import Any, Literal\n\n"
        + "".join(f"from pyvws import {name} as {name}\n" for name in pyvws._DOORS)
        + "".join(sorted(lines))
        + "\n__version__: str\n__all__: list[str]\n\n"
        f"def synthesize(\n    frame: Any,\n    *,\n{parameters}) -> Release: ...\n"
    )


def door(module: ModuleType) -> str:
    """What type checkers see of a module that hands on names of `pyvws`."""
    names = "".join(f"from pyvws import {name} as {name}\n" for name in module.__all__)
    lead = f"What type checkers see of {module.__name__}.\n\nWritten by tools/declared.py.\n"
    return f'"""{lead}"""\n\n{names}'


def _default(one: inspect.Parameter) -> str:
    return "" if one.default is one.empty else f" = {one.default!r}".replace("'", '"')


def _annotation(kind: Any, others: dict[str, str]) -> str:
    """A type as source; `others` gets the module of each name that must be imported for it."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " | ".join(_annotation(one, others) for one in inner)
    if origin is Literal:
        return "Literal[" + ", ".join(f'"{word}"' for word in inner) + "]"
    if origin is tuple:  # A list is taken as well.
        return f"Sequence[{_annotation(inner[0], others)}]"
    if origin is not None:
        parts = ("..." if one is ... else _annotation(one, others) for one in inner)
        return f"{origin.__name__}[{', '.join(parts)}]"
    if kind is NoneType:
        return "None"
    if kind.__module__.startswith("pyvws."):
        others[kind.__name__] = kind.__module__
    return kind.__name__


def settings_page() -> str:
    """The documentation's page of settings: a table for each part of a run."""
    parts: dict[str, list[str]] = {}
    for name, alike in declared().items():
        kind, said = explained(alike)
        usual = common_default(alike)
        shown = "" if usual in (..., None, ()) or usual is False else f"`{usual}`"
        kind = kind.removesuffix(", optional").replace(", ...]", "]")
        row = f"| `{name}` | {kind} | {shown} | {said} |\n"
        parts.setdefault(alike[0].panel or "Run", []).append(row)
    tables = "\n".join(
        f"## {part}\n\n| setting | value | default | what it does |\n| --- | --- | --- | --- |\n"
        + "".join(rows)
        for part, rows in parts.items()
    )
    return f"{_LEAD}\n{tables}"


_LEAD = """# Settings

In Python each setting is an argument of [synthesize][pyvws.release.synthesizer.synthesize]. On the
command line it is an option with hyphens, such as `--keep-order`, and several names or numbers have
commas between them. In `run.toml` it is a line: `keep_order = true`.

What begins with "For" belongs to the mechanisms or families named there, and others refuse it.
[Choose a mechanism](mechanisms.md) says where to start.
"""


def main() -> None:
    """Write the files."""
    for path, text in FILES.items():
        (ROOT / path).write_text(text(), encoding="utf-8")
        print(path)
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", *FILES], cwd=ROOT, check=True)


FILES: dict[str, Callable[[], str]] = {
    "pyvws/__init__.pyi": stub,
    "pyvws/families.pyi": partial(door, families),
    "pyvws/judge.pyi": partial(door, judge),
    "pyvws/papers.pyi": partial(door, papers),
    "docs/settings.md": settings_page,
}

if __name__ == "__main__":
    main()
