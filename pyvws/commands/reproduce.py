"""pyvws reproduce: the datasets of a release from noisy counts, made again by anyone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyvws.commands.output import AsJson, Quiet, print_json


def reproduce(
    release: Annotated[
        Path, typer.Argument(help="A run's folder, or the folder release/ of one, with its files.")
    ],
    reference: Annotated[
        Path | None,
        typer.Option(help="The public table of the run, where it is not at the path of run.toml."),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Check a release from noisy counts: make its datasets again, and compute its cost again.

    The command reads release/ alone: the noisy counts, the schema, the settings and the public
    seed. A run with a reference needs this public table too, and its digest is checked. The command
    compares the datasets byte for byte, for which it needs the versions of pyvws and its libraries
    that made the release. It adds up what the noise of the released counts costs. It exits with 1
    where a dataset differs or the cost is above what the statement says. It cannot see a count
    that was read and then left out.

    Example: pyvws reproduce out/
    """
    import json

    from pyvws._base.phrase import counted
    from pyvws.errors import InputError
    from pyvws.release.reproduce import ReleasedCounts
    from pyvws.report.output_folder import dataset_files, is_output_folder

    folder = release if is_output_folder(release) else release.parent
    if not is_output_folder(folder):
        raise InputError.by("no-release-folder", release=release)
    files = dataset_files(folder)
    privacy = json.loads((folder / "release" / "privacy.json").read_text(encoding="utf-8"))
    counts = ReleasedCounts.read(folder / "release", privacy, reference)
    same = {
        file.name: file.read_bytes() == content
        for file, content in zip(
            [*files, *filter(None, [counts.best_file])], counts.datasets(files), strict=True
        )
    }
    cost, stated = counts.epsilon, privacy["epsilon_total"]
    if as_json:
        print_json({"same": same, "epsilon": cost, "stated": stated, "more": counts.costs_more})
    elif not quiet:
        for name, agrees in same.items():
            print(f"{name}: {'the same bytes' if agrees else 'other bytes'}")
        print(f"the released counts cost epsilon {cost:.4g}; the statement says {stated:g}")
    if counts.costs_more:
        raise InputError.by("released-counts-cost-more")
    if not all(same.values()):
        others = counted(sum(not agrees for agrees in same.values()), "dataset")
        raise InputError.by("other-bytes", others=others)
