"""The wheel holds what git knows and nothing else, works unpacked, and agrees on the version."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile

import pytest

import pyvws
from pyvws._base.resources import RESOURCES

DATA = "pyvws/_resources_data/"


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory):
    """A wheel built as an installer builds it, but offline."""
    folder = tmp_path_factory.mktemp("wheel")
    run = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def test_holds_what_git_knows_and_nothing_else(wheel, files_of_git):
    names = [n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n]
    packed = {
        f"validation/{name}" if name.startswith("pyvws_") else name.removeprefix(DATA)
        for name in names
    }
    assert len(packed) == len(names)
    known = files_of_git("pyvws", *RESOURCES)
    assert known - packed == set(), "known to git, but not packed"
    assert packed - known == set(), "packed, but unknown to git"
    for folder in ("pyvws", *RESOURCES):
        assert any(name.startswith(f"{folder}/") for name in packed)


def test_every_resource_is_force_included(project, root):
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    parts = [path.name for path in (root / "validation").iterdir() if "pyvws" not in path.name]
    whole = {name for name in RESOURCES if name != "validation"}
    assert included == {name: DATA + name for name in whole | {f"validation/{n}" for n in parts}}
    packed = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {f"/{name}" for name in ("pyvws", "tests", *RESOURCES)} <= set(packed)
    # The targets of the Makefile work in an unpacked source archive too.
    beside = {"requirements.lock", "Containerfile", "codemeta.json", "paper.md", "paper.bib"}
    assert {f"/{name}" for name in beside} <= set(packed)
    assert all((root / name.removeprefix("/")).exists() for name in packed)


@pytest.mark.runs
def test_works_unpacked(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import pyvws\n"
        "from pyvws._base.resources import RESOURCES, folder\n"
        "from pyvws.weights.weights import risk_weights\n"
        "import pyvws_studies.registry, pyvws_validation.errata\n"
        "print(pyvws.__file__, *(folder(name) for name in RESOURCES), sep='\\n')\n"
        "assert risk_weights([0.25]).tolist() == [0.75]\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    places = run.stdout.split()
    assert places[0] == str(tmp_path / "pyvws" / "__init__.py")
    assert places[1:] == [str(tmp_path / DATA / name) for name in RESOURCES]


def test_metadata_and_entry_point(wheel, project):
    archive = zipfile.ZipFile(wheel)
    info = f"pyvws-{pyvws.__version__}.dist-info/"
    metadata = archive.read(info + "METADATA").decode()
    assert f"\nVersion: {pyvws.__version__}\n" in metadata
    assert "pyvws = pyvws.__main__:run" in archive.read(info + "entry_points.txt").decode()
    assert any(name.startswith(info + "licenses/") for name in archive.namelist())
    # R stays an extra: it is under the GPL and checks the package without feeding it.
    required = [d for d in project["project"]["dependencies"] if "rpy2" in d]
    assert required == []


@pytest.mark.runs
def test_another_checkout_gives_the_same_bytes(root, wheel, files_of_git, tmp_path):
    """Dates and modes of files do not enter, nor does the place of the checkout."""
    for name in files_of_git("."):
        copy = tmp_path / "again" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, copy, follow_symlinks=False)
        if not copy.is_symlink():
            copy.chmod((root / name).stat().st_mode & 0o700)
            os.utime(copy, (0, 0))
    build = [sys.executable, "-m", "hatchling", "build", "-d"]
    for number, place in enumerate((tmp_path / "again", root)):
        made = [*build, str(tmp_path / str(number)), *(["-t", "sdist"] if number else [])]
        subprocess.run(made, cwd=place, capture_output=True, check=True)
    (archive,) = (tmp_path / "1").iterdir()
    for one in (wheel, archive):
        assert one.read_bytes() == (tmp_path / "0" / one.name).read_bytes(), one.name


def test_the_lock_has_every_dependency_with_its_hashes(root, project):
    pinned = dict(
        re.findall(
            r"^([\w.-]+)==\S+ \\\n    (--hash=sha256:[0-9a-f]{64})",
            (root / "requirements.lock").read_text(),
            flags=re.MULTILINE,
        )
    )
    wanted = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["dp"],
    ]
    assert {re.split(r"[<>=\[]", name)[0] for name in wanted} <= set(pinned)


def test_one_version(root, project):
    assert project["project"]["version"] == pyvws.__version__
    described = (root / "r_package/pyvws/DESCRIPTION").read_text(encoding="utf-8")
    assert f"\nVersion: {pyvws.__version__}\n" in described
    assert json.loads((root / "codemeta.json").read_text())["version"] == pyvws.__version__
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    found = re.search(r"^version: *[\"']?([^\"'\s]+)", citation, flags=re.MULTILINE)
    assert found is not None
    assert found[1] == pyvws.__version__
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert pyvws.__version__ in changes or "Unreleased" in changes
