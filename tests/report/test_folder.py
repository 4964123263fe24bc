"""A folder appears whole or not at all."""

import errno
import os
import signal
import stat
from pathlib import Path

import pytest

from pyvws._base.folders import (
    check_folder,
    claimed_folder,
    private_write,
    whole_folder,
    write_whole,
)
from pyvws.errors import OutputError


def _hidden(parent: Path) -> list[str]:
    return [path.name for path in parent.iterdir() if path.name.startswith(".")]


def test_a_finished_folder_takes_its_place(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "a" / "out", overwrite=False) as partial:
        assert stat.S_IMODE(partial.stat().st_mode) == 0o700
        (partial / "x").write_text("1")
        assert not (tmp_path / "a" / "out").exists()
    assert (tmp_path / "a" / "out" / "x").read_text() == "1"
    assert _hidden(tmp_path / "a") == []


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_nothing(tmp_path: Path, failure: type[BaseException]) -> None:
    def fill() -> None:
        with whole_folder(tmp_path / "out", overwrite=False) as partial:
            (partial / "x").write_text("1")
            raise failure

    with pytest.raises(failure):
        fill()
    assert list(tmp_path.iterdir()) == []


def test_a_failed_overwrite_leaves_the_old_folder(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("1")

    def fill() -> None:
        with whole_folder(tmp_path / "out", overwrite=True):
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        fill()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["old"]
    assert _hidden(tmp_path) == []


def test_a_folder_that_is_full_needs_overwrite_and_is_replaced_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    check_folder(out, overwrite=False)
    (out / "old").write_text("1")
    with pytest.raises(OutputError, match=r"is not empty.*--overwrite"):
        check_folder(out, overwrite=False)
    with whole_folder(out, overwrite=True) as partial:
        (partial / "new").write_text("1")
    assert [path.name for path in out.iterdir()] == ["new"]
    assert _hidden(tmp_path) == []


def test_a_full_disk_is_reported_and_cleaned_up(tmp_path: Path) -> None:
    def fill() -> None:
        with whole_folder(tmp_path / "out", overwrite=False) as partial:
            (partial / "x").write_text("1")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OutputError, match="No space is left where"):
        fill()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_is_swept_and_a_living_one_s_is_not(tmp_path: Path) -> None:
    dead = tmp_path / ".out.999999999-abcd.partial"
    alive = tmp_path / f".out.{os.getppid()}-abcd.partial"
    for left in (dead, alive):
        left.mkdir()
    with whole_folder(tmp_path / "out", overwrite=False):
        pass
    assert not dead.exists()
    assert alive.exists()


def test_a_folder_caught_between_two_renames_comes_back(tmp_path: Path) -> None:
    old = tmp_path / ".out.999999999-abcd.old"
    old.mkdir()
    (old / "x").write_text("1")
    with (
        pytest.raises(OutputError, match="is not empty"),
        whole_folder(tmp_path / "out", overwrite=False),
    ):
        pass
    assert (tmp_path / "out" / "x").exists()


def test_files_working_folder_and_input_are_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("1")
    with pytest.raises(OutputError, match="is a file"):
        check_folder(file, overwrite=True)
    with pytest.raises(OutputError, match="holds the working folder or the input"):
        check_folder(tmp_path, overwrite=True, source=file)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match="holds the working folder or the input"):
        check_folder(Path(".."), overwrite=True)


def test_a_private_file_is_its_owner_s_alone(tmp_path: Path) -> None:
    private_write(tmp_path / "x", b"1")
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o600


def test_of_two_runs_into_one_new_folder_the_first_to_end_has_it(tmp_path: Path) -> None:
    def second() -> None:
        with whole_folder(tmp_path / "out", overwrite=False) as other:
            (other / "second").write_text("1")
            with whole_folder(tmp_path / "out", overwrite=False) as partial:
                (partial / "first").write_text("1")

    with pytest.raises(OutputError, match="is not empty"):
        second()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["first"]
    assert _hidden(tmp_path) == []


def test_of_two_runs_that_replace_a_folder_the_last_to_end_has_it(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("1")
    with whole_folder(tmp_path / "out", overwrite=True) as last:
        (last / "last").write_text("1")
        with whole_folder(tmp_path / "out", overwrite=True) as first:
            (first / "first").write_text("1")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["last"]
    assert _hidden(tmp_path) == []


def test_a_folder_that_is_held_stays_whatever_its_number_says(tmp_path: Path) -> None:
    """As of a run in another container, whose numbers mean nothing here."""
    held = tmp_path / ".out.999999999-abcd.partial"
    with claimed_folder(held):
        check_folder(tmp_path / "out", overwrite=False)
        assert held.exists()
    check_folder(tmp_path / "out", overwrite=False)
    assert not held.exists()


def test_what_a_killed_run_of_our_own_number_left_is_swept(tmp_path: Path) -> None:
    """As in a container that gives each run the number 1."""
    left = tmp_path / f".out.{os.getpid()}-abcd.partial"
    left.mkdir()
    check_folder(tmp_path / "out", overwrite=False)
    assert not left.exists()


@pytest.mark.parametrize("name", ["out", "out.x", "o[u]t", "*"])
def test_only_what_belongs_to_a_folder_is_swept(tmp_path: Path, name: str) -> None:
    others = [f".{name}.partial", ".x.partial", ".other.999999999-abcd.old"]
    if name == "out":
        others.append(".out.x.999999999-abcd.old")
    for left in (*others, *(f".{whose}.999999999-abcd.partial" for whose in (name, f"{name}y"))):
        (tmp_path / left).mkdir()
    check_folder(tmp_path / name, overwrite=False)
    assert sorted(_hidden(tmp_path)) == sorted(others)


@pytest.mark.parametrize("mark", ["partial", "old"])
@pytest.mark.parametrize("kind", ["of another user", "a link"])
def test_what_is_not_ours_is_neither_removed_nor_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str, kind: str
) -> None:
    left, elsewhere = tmp_path / f".out.999999999-abcd.{mark}", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x").write_text("planted")
    me = os.geteuid()
    if kind == "a link":
        left.symlink_to(elsewhere)
    else:
        elsewhere.rename(left)
        monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    check_folder(tmp_path / "out", overwrite=False)
    assert not (tmp_path / "out").exists()
    assert (left / "x").read_text() == "planted"


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_others_may_write_nothing_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with whole_folder(tmp_path / "out", overwrite=False) as partial:
            (partial / "release").mkdir()
            (partial / "release" / "x").write_text("1")
            (partial / "confidential").mkdir(mode=0o700)
            private_write(partial / "confidential" / "y", b"1")
        write_whole(tmp_path / "z", "1")
    finally:
        os.umask(before)
    found = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*") if path.name
    }
    assert found == {
        "out": 0o755 & ~mask,
        "release": 0o755 & ~mask,
        "x": 0o644 & ~mask,
        "confidential": 0o700,
        "y": 0o600,
        "z": 0o644 & ~mask,
    }


def test_an_output_in_the_input_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = tmp_path / "parts"
    (parts / "region=a").mkdir(parents=True)
    (tmp_path / "link").symlink_to(parts)
    monkeypatch.chdir(parts)
    inside = ["parts/out", "parts", "parts/region=a/new/out", "link/out", "parts/../link/out"]
    for out in [*(tmp_path / name for name in inside), Path("out"), Path("../parts/x"), Path(".")]:
        for source in (parts, tmp_path / "link", Path("../parts")):
            with pytest.raises(OutputError, match="is in the input folder, whose parts"):
                check_folder(out, overwrite=True, source=source)
    check_folder(tmp_path / "out", overwrite=False, source=parts)
    check_folder(Path("../partsout"), overwrite=False, source=parts)


def test_a_signal_waits_until_a_folder_is_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("1")
    rename = Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGINT)
        return rename(self, target)

    def fill() -> None:
        with whole_folder(tmp_path / "out", overwrite=True) as partial:
            (partial / "new").write_text("1")
            monkeypatch.setattr(Path, "rename", interrupted)

    with pytest.raises(KeyboardInterrupt):
        fill()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["new"]
    assert _hidden(tmp_path) == []
