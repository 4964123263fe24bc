"""The writer of the pages of an output folder, and of what stands beside them: all or none."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import ExitStack, suppress
from pathlib import Path

from pyvws._base.folders import FILE_RIGHTS, lives, private_write, umask
from pyvws.errors import OutputError
from pyvws.report.board_page import board_page
from pyvws.report.claim_layers import layers_page
from pyvws.report.evidence import Evidence
from pyvws.report.output_folder import ConfidentialPart, PublicPart, as_left
from pyvws.report.page import Heading
from pyvws.report.public_page import public_page
from pyvws.report.registry_entry import registry_entry

PAGE = "report.html"
LAYERS = "nist-sp-800-226.html"
REGISTRY = "registry.json"
_PARTIAL = ".partial"


def check_pages(out: Path, *, overwrite: bool) -> None:
    """Raise OutputError now if `write_pages` could not write into `out` later."""
    for folder in (out / "release", out / "confidential"):
        if (folder / PAGE).exists() and not overwrite:
            raise OutputError(
                f"{folder / PAGE} exists. Use --overwrite to replace it. The other files "
                "stay as they are."
            )
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OutputError(f"{folder} cannot be written to. Change its rights.")


def write_pages(
    out: Path,
    public: PublicPart,
    confidential: ConfidentialPart,
    evidence: Evidence | None = None,
    heading: Heading | None = None,
    *,
    overwrite: bool = False,
) -> tuple[Path, Path]:
    """Write release/report.html and confidential/report.html; returns their paths in that order.

    Beside the public page go the layers of its claim and an entry for a registry. The function
    completes all of them before it puts one in its place. Until then they lie in the confidential
    folder, where only their owner can read them. A failure keeps old pages.
    """
    check_pages(out, overwrite=overwrite)
    release, board = out / "release", out / "confidential" / PAGE
    with as_left(out):
        pages = {
            release / PAGE: public_page(public, heading),
            release / LAYERS: layers_page(public.privacy, public.audit, heading),
            release / REGISTRY: registry_entry(public.privacy, heading),
            board: board_page(public, confidential, evidence, heading),
        }
    _sweep(out / "confidential")
    with ExitStack() as cleanup:
        partials = {}
        try:
            for path, text in pages.items():
                name = f".{PAGE}.{os.getpid()}-{secrets.token_hex(4)}{_PARTIAL}"
                partial = out / "confidential" / name
                cleanup.callback(partial.unlink, missing_ok=True)
                private_write(partial, text.encode("utf-8"))
                partials[path] = partial
            for path in partials.keys() - {board}:
                partials[path].chmod(FILE_RIGHTS & ~umask())
            _put(partials, cleanup)
        except OSError as error:
            raise OutputError(
                f"{out} could not be written ({error.strerror or type(error).__name__}). The "
                "folder's reports are as they were. Mend the cause and run the report again."
            ) from None
    return release / PAGE, board


def _put(partials: dict[Path, Path], cleanup: ExitStack) -> None:
    """Rename each file into its place. If one rename fails, undo the renames before it."""
    done: list[tuple[Path, Path | None]] = []
    try:
        for path, partial in partials.items():
            old = None
            if path.exists():
                old = partial.with_name(f"{partial.name[: -len(_PARTIAL)]}-old{_PARTIAL}")
                cleanup.callback(old.unlink, missing_ok=True)
                shutil.copy2(path, old)
            partial.replace(path)
            done.append((path, old))
    except BaseException:
        for path, old in reversed(done):
            if old is None:
                path.unlink(missing_ok=True)
            else:
                old.replace(path)
        raise


def _sweep(folder: Path) -> None:
    """Remove the files that killed reports left, and no file of a process that lives."""
    for left in folder.glob(f".{PAGE}.*-*{_PARTIAL}"):
        owner = left.name.removeprefix(f".{PAGE}.").split("-")[0]
        if owner.isdigit() and not lives(int(owner)):
            with suppress(OSError):
                left.unlink()
