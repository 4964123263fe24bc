"""The checkout and what git knows of it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))  # tools/house.py reads the code for the tests too.


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def files_of_git():
    """A function: the checkout's files that git tracks or would, under the given folders."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a git checkout, or no git")

    def listed(*folders: str) -> set[str]:
        command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"]
        found = subprocess.run(
            [*command, "--", *folders], cwd=ROOT, capture_output=True, check=True
        )
        names = found.stdout.decode().split("\0")
        return {name for name in names if name and (ROOT / name).is_file()}

    return listed
