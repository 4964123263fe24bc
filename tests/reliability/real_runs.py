"""Runs of `pyvws synthesize` as processes of their own, killed, interrupted, or many at once."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

__all__ = [
    "CANARY",
    "Place",
    "digest",
    "killed",
    "old_folder",
    "table_with_canaries",
    "writing_seconds",
]

CANARY = "Kq7Canary"
_OLD = "what an earlier run left"
_LONGEST_SECONDS = 1200


@dataclass(frozen=True, slots=True)
class Place:
    """Where runs happen: a folder for their output, one for temporary files, one for caches."""

    folder: Path
    table: Path
    cache: Path
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in (self.folder, self.temporary, self.cache):
            path.mkdir(parents=True, exist_ok=True)

    @property
    def temporary(self) -> Path:
        return self.folder.parent / f"{self.folder.name}-tmp"

    def start(self, out: str = "out", *more: str) -> subprocess.Popen[str]:
        """A run into a folder of that name; canaries of a kept column go through its files."""
        words = [
            sys.executable, "-m", "pyvws", "synthesize", str(self.table), "--out",
            str(self.folder / out), "--outcome", "y", "--formula", "~ g", "--keep", "person",
            "--model", "poisson", "--mechanism", "unweighted", "--draws", "50", "--warmup", "100",
            "--chains", "1", "--seed", "1", "--quiet", *self.options, *more,
        ]  # fmt: skip
        return subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "TMPDIR": str(self.temporary),
                "XDG_CACHE_HOME": str(self.cache),
                **self.environment,
            },
        )

    def finish(self, out: str = "out", *more: str) -> float:
        """Run to the end; how many seconds it took."""
        began = time.perf_counter()
        run = self.start(out, *more)
        _, error = run.communicate(timeout=_LONGEST_SECONDS)
        assert run.returncode == 0, error
        return time.perf_counter() - began

    def partial(self) -> list[Path]:
        """Hidden folders beside the output."""
        return [path for path in self.folder.iterdir() if path.name.startswith(".")]

    def left_behind(self, *outputs: str) -> list[str]:
        """What stands beside the outputs and in the temporary folder, and canaries in the cache."""
        beside = [path for path in self.folder.iterdir() if path.name not in outputs]
        found = [*beside, *self.temporary.iterdir()]
        return sorted(
            [path.name for path in found]
            + [
                path.name
                for path in (self.cache / "pyvws").rglob("*")
                if path.is_file() and CANARY.encode() in path.read_bytes()
            ]
        )


def table_with_canaries(path: Path, records: int) -> Path:
    """A csv with a canary in every record."""
    rng = random.Random(1)
    rows = (f"{int(rng.expovariate(0.2))},{rng.choice('ab')},{CANARY}{i}" for i in range(records))
    path.write_text("\n".join(["y,g,person", *rows]) + "\n")
    return path


def old_folder(path: Path) -> str:
    """Something to replace; its digest."""
    (path / "release").mkdir(parents=True)
    for number in range(40):
        (path / "release" / f"{number}.txt").write_text(f"{_OLD} {number} {CANARY}")
    return digest(path)


def digest(folder: Path) -> str:
    """Of the names and bytes of a folder's public files, or of all of an old one's."""
    made = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.parent.name != "confidential":
            made.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return made.hexdigest()


def killed(
    place: Place,
    rng: random.Random,
    *,
    number: signal.Signals,
    seconds: float,
    writing: float,
    more: tuple[str, ...] = (),
) -> tuple[str, subprocess.Popen[str]]:
    """Start a run and send it a signal, half of the time while it writes; when, and the run.

    `seconds` is how long a run takes, `writing` how long it writes.
    """
    known = set(place.partial())
    run = place.start("out", *more)
    if rng.random() < 0.5:
        time.sleep(rng.uniform(0, seconds))
        when = "at any moment"
    else:
        while run.poll() is None and not set(place.partial()) - known:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, writing))
        when = "while it wrote"
    if run.poll() is None:
        run.send_signal(number)
    else:
        when = "after its end"
    return when, run


def writing_seconds(place: Place, *more: str) -> tuple[float, float]:
    """How long a run takes, and how long its partial folder is there."""
    began = time.perf_counter()
    run = place.start("out", *more)
    while run.poll() is None and not place.partial():
        time.sleep(0.001)
    first = time.perf_counter()
    while place.partial():
        time.sleep(0.001)
    last = time.perf_counter()
    _, error = run.communicate(timeout=_LONGEST_SECONDS)
    assert run.returncode == 0, error
    return time.perf_counter() - began, last - first
