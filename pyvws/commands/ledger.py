"""pyvws ledger: what all releases of one table have cost so far."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from pyvws.commands.output import AsJson, Quiet, tell
from pyvws.sheet import Sheet

_FIGURES = ("epsilon", "delta", "rho", "window", "signed")


def ledger(
    folder: Annotated[
        Path, typer.Argument(help="Folder that holds the releases of one table, at any depth.")
    ],
    figure: Annotated[
        Path | None, typer.Option(help="Also draw the costs, added up, to this .png or .svg file.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Add up what the releases of one table have cost so far.

    The command reads every privacy.json under FOLDER, and nothing else. Strict costs add up among
    themselves, and asymptotic ones apart from them. A release without a guarantee is in no sum.
    Copies of a release count once. Where an earlier release has no file there, its cost is read
    from a later one, and the command says so.
    zCDP is a cost in zero-concentrated differential privacy. window is an estimated cost of one
    record left out, with the weights held.

    Keep the releases of each table in a folder of their own.

    Example: pyvws ledger releases/
    """
    from pyvws._base.phrase import Phrase
    from pyvws.errors import InputError, UsageError
    from pyvws.statement.releases import costs_together, release_cost, releases_known
    from pyvws.statement.words import SIGNED, caveat
    from pyvws.synthesis.earlier_releases import STATEMENT_FILE, read_statement

    if figure is not None and figure.suffix not in (".png", ".svg"):
        raise UsageError.by("figure-suffix", figure=figure.name)
    places = _places(folder, STATEMENT_FILE) if folder.is_dir() else []
    if not places:
        raise InputError.by("no-releases-below", folder=folder, statement_file=STATEMENT_FILE)
    read = [read_statement(place / STATEMENT_FILE) for place in places]
    together = costs_together(read)
    neighbours = together["neighbours"]
    statements = dict(zip(_names(places, folder), read, strict=True))
    known, notes = _by_name(releases_known(read), statements)
    costs = {name: release_cost(one, neighbours) for name, one in known.items()}
    if figure is not None:
        import io

        from pyvws._base.folders import write_whole
        from pyvws.report.ledger_figure import ledger_figure

        picture = io.BytesIO()
        drawn = ledger_figure(costs, together["unit_of_privacy"])
        drawn.savefig(picture, format=figure.suffix[1:])
        write_whole(figure, picture.getvalue())
    each = {
        name: {
            "mechanism": known[name]["mechanism"],
            "digest": known[name]["digest"],
            "missing": name not in statements,
            "guarantee": cost.guarantee,
            **{key: getattr(cost, key) for key in _FIGURES},
        }
        for name, cost in costs.items()
    }
    signed = ", ".join(name for name, cost in costs.items() if cost.signed)
    sheet = Sheet(
        f"Costs of {together['unit_of_privacy']}, {neighbours} neighbours",
        ("release", "mechanism", "guarantee", "epsilon", "delta", "zCDP", "window"),
        [
            (
                *(name, str(known[name]["mechanism"]), cost.guarantee),
                *map(_formatted, (cost.epsilon, cost.delta, cost.rho, cost.window)),
            )
            for name, cost in costs.items()
        ],
        notes=[
            *_sums(together),
            *notes,
            *([f"{signed}: {caveat(Phrase(SIGNED))}"] if signed else []),
        ],
        facts={"releases": each, "together": together},
    )
    tell(sheet, quiet=quiet, as_json=as_json)


def _by_name(
    known: list[dict[str, Any]], statements: dict[str, dict[str, Any]]
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Each known release by the name of its file, and a line for each copy and each missing file.

    A release without a file is called missing 1, missing 2 and so on.
    """
    from pyvws.statement.releases import digest, earlier_of

    files: dict[str, list[str]] = {}
    for name, statement in statements.items():
        files.setdefault(digest(statement), []).append(name)
    named: dict[str, dict[str, Any]] = {}
    notes, lost = [], 0
    for one in known:
        if own := files.get(one["digest"]):
            named[own.pop(0)] = one
            continue
        lost += 1
        named[f"missing {lost}"] = one
        later = ", ".join(
            name
            for name, statement in statements.items()
            if one["digest"] in [held["digest"] for held in earlier_of(statement)]
        )
        notes.append(
            f"missing {lost}: no file of release {one['digest'][:12]} is there. It was made before "
            f"{later}, which holds its cost."
        )
    first = {one["digest"]: name for name, one in named.items()}
    copies = [(copy, first[name]) for name, own in files.items() for copy in own]
    return named, notes + [f"{copy}: a copy of {name}, and counts once." for copy, name in copies]


def _places(folder: Path, name: str) -> list[Path]:
    """The folders that hold a file of that name, in their order; links to folders are followed.

    Each folder counts once, whatever leads to it. Raises InputError for a folder that cannot be
    read, since the costs in it would be missing.
    """
    from pyvws.errors import InputError

    def refuse(error: OSError) -> None:
        raise InputError.by("file-unreadable", filename=error.filename)

    holding: list[Path] = []
    seen: set[Path] = set()
    for place, folders, files in os.walk(folder, onerror=refuse, followlinks=True):
        if (real := Path(place).resolve()) in seen:
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        if name in files:
            holding.append(Path(place))
    return holding


def _names(places: list[Path], folder: Path) -> list[str]:
    """The releases' names: paths in the folder, without a last release/ where they then differ."""
    paths = [place.relative_to(folder) for place in places]
    short = [path.parent if path.name == "release" else path for path in paths]
    named = short if len({*short}) == len(short) else paths
    return [path.as_posix() if path.parts else folder.resolve().name for path in named]


def _formatted(value: float | None) -> str:
    known = value is not None and value != float("inf")
    return f"{value:.6g}" if known else ""


def _sums(together: dict[str, Any]) -> list[str]:
    """The sums in words, a line for each kind of which there is a release."""
    strict, others, numbers = (together[key] for key in ("strict", "asymptotic", "releases"))
    lines = []
    if numbers["strict"]:
        delta = f", delta {strict['delta']:.6g}" if strict["delta"] else ""
        rho = "" if strict["zcdp"] is None else f"; zCDP {strict['zcdp']:.6g}"
        lines.append(
            f"strict releases together: epsilon {_formatted(strict['epsilon'])}{delta}{rho}"
        )
    if numbers["asymptotic"]:
        lines.append(
            f"asymptotic releases together: epsilon {_formatted(others['epsilon'])}; by the window "
            f"{_formatted(others['of_window'])}"
        )
    if numbers["none"]:
        lines.append(f"without a guarantee, and in no sum: {numbers['none']}")
    return lines
