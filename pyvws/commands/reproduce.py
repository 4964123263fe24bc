"""pyvws reproduce: the datasets of a release from noisy counts, made again by anyone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyvws.commands._output import AsJson, Quiet, print_json


def reproduce(
    release: Annotated[
        Path, typer.Argument(help="A run's folder, or the folder release/ of one, with its files.")
    ],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Make the datasets of a release from noisy counts again, and compare them byte for byte.

    The command reads release/ alone: the noisy counts, the schema, the settings and the public
    seed. It needs the versions of pyvws and its libraries that made the release. It exits with 1
    where a dataset differs.

    Example: pyvws reproduce out/
    """
    import json

    from pyvws._base.phrase import counted
    from pyvws.errors import InputError
    from pyvws.release.reproduce import reproduced
    from pyvws.report.output_folder import dataset_files, is_output_folder

    folder = release if is_output_folder(release) else release.parent
    if not is_output_folder(folder):
        raise InputError(f"{release} is no release. Name a folder that pyvws synthesize wrote.")
    files = dataset_files(folder)
    privacy = json.loads((folder / "release" / "privacy.json").read_text(encoding="utf-8"))
    contents = reproduced(folder / "release", privacy, files)
    same = {
        file.name: file.read_bytes() == content
        for file, content in zip(files, contents, strict=True)
    }
    if as_json:
        print_json({"same": same})
    elif not quiet:
        for name, agrees in same.items():
            print(f"{name}: {'the same bytes' if agrees else 'other bytes'}")
    if not all(same.values()):
        others = counted(sum(not agrees for agrees in same.values()), "dataset")
        raise InputError(
            f"{others} came out with other bytes. Take the versions that made the release; "
            "confidential/summary.json names them."
        )
