"""Replicates: seeds by key, whole files, resumed studies, refused settings, an interrupt."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyvws_studies.replicates import ReplicatedStudy, Report, StudyRun, run_study

from pyvws._base.resumable_jobs import Key, Result, replicate_seed, whole_seed
from pyvws.errors import InputError, OutputError


def _keys(replicates: int) -> list[Key]:
    return [("a", number, size) for number in range(1, replicates + 1) for size in (0.5, 2)]


def _draw(settings: Mapping[str, Any], key: Key, seed: np.random.SeedSequence) -> Result:
    values = settings["scale"] * np.random.default_rng(seed).standard_normal(3)
    return Result([{"key": "-".join(map(str, key)), "mean": float(values.mean())}], {"v": [1]})


def _report(_settings: Mapping[str, Any], results: Mapping[Key, Result], out: Path) -> Report:
    (out / "count.txt").write_text(str(len(results)))
    return Report(["shown"], ["count.txt"])


STUDY = ReplicatedStudy(
    name="toy", settings={"scale": 2.0}, replicates=3, keys=_keys, replicate=_draw, report=_report
)


def _run(out: Path, study: ReplicatedStudy = STUDY, **options: Any) -> StudyRun:
    return run_study(study, out, **{"seed": 1, "jobs": 1, **options})


def _table(out: Path) -> bytes:
    return (out / "replicates.csv").read_bytes()


def test_three_replicates_by_hand(tmp_path: Path) -> None:
    made = _run(tmp_path / "out")
    expected = "key,mean\n"
    for key in _keys(3):
        draws = np.random.default_rng(replicate_seed(1, key)).standard_normal(3)
        expected += f"{'-'.join(map(str, key))},{float((2.0 * draws).mean())!r}\n"
    assert _table(tmp_path / "out").decode() == expected
    assert made.computed == 6
    assert (made.report.shown, made.report.files) == (["shown"], ["count.txt"])
    names = {path.name for path in (tmp_path / "out" / "replicates").iterdir()}
    assert names == {f"a-{number}-{size}.json" for number in (1, 2, 3) for size in (0.5, 2)}


def test_every_key_and_seed_has_its_own_stream() -> None:
    keys = [*_keys(200), ("a", 1, 0), ("b",), ("a", 112), ("a", 1, 12)]
    seeds = [whole_seed(replicate_seed(seed, key)) for seed in (0, 1) for key in keys]
    assert len(set(seeds)) == len(seeds)
    assert replicate_seed(1, ("a", 2)).spawn_key == replicate_seed(7, ("a", 2)).spawn_key


def test_neither_jobs_nor_order_changes_a_result(tmp_path: Path) -> None:
    made = _run(tmp_path / "one")
    _run(tmp_path / "two", jobs=2)
    backwards = replace(STUDY, keys=lambda count: _keys(count)[::-1])
    turned = _run(tmp_path / "back", backwards)
    assert _table(tmp_path / "two") == _table(tmp_path / "one")
    assert turned.results == made.results
    lines = _table(tmp_path / "one").splitlines()
    assert _table(tmp_path / "back").splitlines() == [lines[0], *lines[:0:-1]]


def test_a_study_resumes_with_what_is_missing_and_grows(tmp_path: Path) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    _run(whole)
    steps: list[tuple[int, int]] = []
    _run(out, replicates=1)
    assert _run(out, progress=lambda *at: steps.append(at)).computed == 4
    assert steps == [(2, 6), (3, 6), (4, 6), (5, 6), (6, 6)]
    assert _table(out) == _table(whole)
    (out / "replicates" / "a-2-0.5.json").unlink()
    assert _run(out).computed == 1
    assert _table(out) == _table(whole)
    assert _run(out).computed == 0
    assert _run(out, replicates=2).computed == 0
    assert _table(out).splitlines() == _table(whole).splitlines()[:5]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"study": replace(STUDY, settings={"scale": 3.0})}, "scale 2.0 there, 3.0 here"),
        ({"study": replace(STUDY, name="toy2")}, "study toy there, toy2 here"),
        ({"seed": 2}, "seed 1 there, 2 here"),
    ],
)
def test_other_settings_in_the_same_folder_are_refused(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    out = tmp_path / "out"
    _run(out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(OutputError) as caught:
        _run(out, **change)
    assert str(caught.value) == (
        f"{out} holds a study with other settings: {said}. Name another folder, or use --overwrite "
        "to empty it first."
    )
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert _run(out, **change, overwrite=True).computed == 6


def test_other_files_are_neither_mixed_in_nor_believed(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "notes.txt").write_text("1")
    with pytest.raises(OutputError, match="is not empty"):
        _run(full)
    out = tmp_path / "out"
    _run(out, replicates=1)
    _run(tmp_path / "other", replace(STUDY, settings={"scale": 9.0}), replicates=1)
    place = out / "replicates" / "a-1-2.json"
    for content in ("{", (tmp_path / "other" / "replicates" / "a-1-2.json").read_text()):
        place.write_text(content)
        with pytest.raises(OutputError, match=r"a-1-2\.json is no result of this study"):
            _run(out, replicates=1)


def test_what_a_killed_run_left_half_written_is_swept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "replicates").mkdir(parents=True)
    for left in (out / ".study.json.0a.partial", out / "replicates" / ".a-1-2.json.0a.partial"):
        left.write_text("{")
        os.utime(left, (1, 1))
    (out / "replicates").rename(tmp_path / "kept")
    _run(out)
    (tmp_path / "kept" / ".a-1-2.json.0a.partial").rename(out / "replicates" / ".x.partial")
    _run(out)
    assert not list(out.rglob("*.partial"))


def test_a_failing_replicate_stops_the_study_and_leaves_whole_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(InputError, match="number 3"):
        _run(out, replace(STUDY, replicate=_fail_at_3), jobs=2)
    kept = list((out / "replicates").iterdir())
    assert all(json.loads(path.read_text())["rows"] for path in kept)
    assert not (out / "replicates.csv").exists()
    _run(out)
    _run(tmp_path / "whole")
    assert _table(out) == _table(tmp_path / "whole")


def _fail_at_3(settings: Mapping[str, Any], key: Key, seed: np.random.SeedSequence) -> Result:
    if key[1] == 3:
        raise InputError("number 3")
    return _draw(settings, key, seed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupted_study_keeps_whole_results_and_goes_on(
    tmp_path: Path, number: signal.Signals, jobs: int
) -> None:
    """The command line itself, with a study whose later replicates never end."""
    out, script = tmp_path / "out", tmp_path / "script.py"
    script.write_text(
        "import sys, time\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import test_replicates as t, pyvws_studies.registry as registry\n"
        "import pyvws.commands.cli as cli\n"
        "registry.find_study = lambda name: t.replace(t.STUDY, replicate=t.hang_at_3)\n"
        f"sys.argv = ['pyvws', 'study', 'risk-efficient', '--out', {str(out)!r}, '--jobs', "
        f"'{jobs}', '--replicates', '3']\n"
        "cli.main()\n"
    )
    run = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None
    for line in run.stderr:
        if "4 of 6" in line:
            break
    run.send_signal(number)
    _, error = run.communicate(timeout=60)
    if number != signal.SIGKILL:
        assert run.returncode == 130
        # A process of joblib may still say what it cleans away.
        said = [line for line in error.splitlines() if line.startswith("Error")]
        assert said == [
            f"Error: Interrupted; 4 results are kept in {out}. The same command goes on from there."
        ]
    kept = sorted(path.name for path in (out / "replicates").iterdir())
    assert kept == ["a-1-0.5.json", "a-1-2.json", "a-2-0.5.json", "a-2-2.json"]
    assert not (out / "replicates.csv").exists()
    assert _run(out).computed == 2
    _run(tmp_path / "whole")
    assert _table(out) == _table(tmp_path / "whole")


def hang_at_3(settings: Mapping[str, Any], key: Key, seed: np.random.SeedSequence) -> Result:
    while key[1] == 3:  # In steps: a signal that comes just before a sleep waits until its end.
        time.sleep(0.05)
    return _draw(settings, key, seed)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"replicates": 0}, "replicates must be a whole number of at least 1. Got 0."),
        ({"seed": -1}, "seed must be a whole number of at least 0. Got -1."),
        ({"jobs": 0}, "jobs must be a whole number of at least 1. Got 0."),
        (
            {"study": replace(STUDY, keys=lambda _count: [("a", 1), ("a", "1")])},
            "Two replicates of toy have one key.",
        ),
        (
            {"study": replace(STUDY, keys=lambda _count: [("..", "a/b")])},
            "A replicate's key needs parts of letters, digits, _ and dots: ('..', 'a/b').",
        ),
    ],
)
def test_bad_input_stops_before_any_file(
    tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        _run(tmp_path / "out", **options)
    assert str(caught.value) == said
    assert not (tmp_path / "out").exists()
