"""Noisy counts beside other tools, where they are installed, on three public files.

synthpop and SDV have no formal guarantee. The guarantee of dpmm's MST and AIM, by its makers'
account, is (epsilon, delta)-differential privacy. Each tool runs as a program of its own, on a
table of categories as codes, and prints what it took. AIM has fewer steps than by default, which
take long: 100 in the place of 1000, with models of at most 1 megabyte.

The files are those of `pyvws_studies.inverse_tables`, with numbers in bands. All tools get the same
columns and levels, which are read off these public files, and count records. Noise is fresh, so a
second study prints other last digits.
"""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from pyvws import __version__
from pyvws._base.folders import private_folder
from pyvws.errors import InputError
from pyvws.evaluation.k_marginal import k_marginal
from pyvws.plots.drawing import DASHED, MARKS, colours, legend_below, panels
from pyvws.synthesis.loop import SILENT, Listener
from pyvws_studies._report import save_pictures, table_of
from pyvws_studies.counts_reference import schema_of
from pyvws_studies.inverse_tables import FILES
from pyvws_studies.noisy_counts import counted, ends, score_of_triples
from pyvws_studies.own_process import memory_gigabytes, processor
from pyvws_studies.whole_tables import DESIGNS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILONS: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Those of noisy counts, at even steps of the picture."""

TABLES: Final = {
    **FILES,
    "ma2019.csv": replace(
        FILES["ma2019.csv"], columns=DESIGNS["ma2019"].source, bands={"AGEP": range(5, 100, 5)}
    ),
}
"""How each file is read, by its name."""

_OF_TOOLS: Final = (1.0, 4.0)
_DELTA: Final = 1e-5
SCALE: Final = ("a bootstrap", "independent columns")
_SYNTHPOP: Final = """
suppressMessages(library(synthpop))
given <- commandArgs(TRUE)
made <- syn(read.csv(given[1], colClasses = "factor"), seed = as.integer(given[3]),
            print.flag = FALSE, maxfaclevels = 1000)
write.csv(made$syn, given[2], row.names = FALSE, quote = FALSE)
cat("\\n", sum(proc.time()[1:2]))
"""
_DPMM: Final = """
import sys, time, warnings
warnings.simplefilter("ignore")
import pandas as pd
from dpmm.pipelines.aim import AIMPipeline
from dpmm.pipelines.mst import MSTPipeline
kind, epsilon, delta, path, out, seed, *levels = sys.argv[1:]
pipeline, own = {
    "MST": (MSTPipeline, {}),
    "AIM": (AIMPipeline, {"max_model_size": 1, "gen_kwargs": {"n_iters": 100}}),
}[kind]
table = pd.read_csv(path)
made = pipeline(
    epsilon=float(epsilon), delta=float(delta), disable_processing=True, n_jobs=1, **own
)
made.fit(table, domain=dict(zip(table, map(int, levels))), random_state=int(seed))
drawn = made.generate(n_records=len(table), random_state=int(seed))
drawn[list(table)].astype(int).to_csv(out, index=False)
print("\\n", time.process_time())
"""
_SDV: Final = """
import sys, time, warnings
warnings.simplefilter("ignore")
import pandas as pd
from sdv.metadata import Metadata
from sdv.single_table import GaussianCopulaSynthesizer
path, out, seed, *_ = sys.argv[1:]
table = pd.read_csv(path, dtype=str).sample(frac=1, random_state=int(seed))
columns = {name: {"sdtype": "categorical"} for name in table}
known = Metadata.load_from_dict({"tables": {"table": {"columns": columns}}})
made = GaussianCopulaSynthesizer(known)
made.fit({"table": table})
made.sample(len(table))["table"][list(table)].to_csv(out, index=False)
print("\\n", time.process_time())
"""


@dataclass(frozen=True, slots=True)
class Tool:
    """A way of a tool: its name, package and program; epsilon is None without a guarantee."""

    name: str
    package: str
    program: tuple[str, ...]
    epsilon: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRow:
    """The means over runs of one way to make the table of a file.

    `pairs` and `triples` are k-marginal scores from 0 to 1000, larger = more useful; `least` and
    `most` are the ends of `pairs` over the runs. Epsilon is None without a guarantee; larger = less
    private. Processor seconds are of one run.
    """

    file: str
    records: int
    way: str
    package: str = ""
    epsilon: float | None = None
    delta: float | None = None
    pairs: float
    least: float
    most: float
    triples: float
    processor_seconds: float | None = None
    runs: int


@dataclass(frozen=True, slots=True)
class ToolStudy:
    """The rows of all files, machine and versions by name, and what was left out."""

    rows: list[ToolRow]
    about: dict[str, str]
    problems: list[str]


def run(
    folder: Path,
    *,
    synthesize: Callable[..., Any],
    seed: int,
    runs: int = 5,
    tool_runs: int = 3,
    others: Path | None = None,
    listener: Listener = SILENT,
) -> ToolStudy:
    """Make the tables of `TABLES` that a folder has by noisy counts and by other tools.

    `synthesize` is `vws.synthesize`, and `seed` the public seed of the first run. `others` is a
    Python interpreter that may have dpmm and SDV; without it no other tool runs. Raises InputError
    for a folder without a file of the study, and for a file without its columns.
    """
    there = {name: own for name, own in TABLES.items() if (folder / name).is_file()}
    if not there:
        raise InputError.by("folder-of-no-file", known=", ".join(TABLES))
    tools, problems = ([], []) if others is None else installed(others)
    rows = list[ToolRow]()
    for file, own in there.items():
        frame = own.read(folder / file).select(own.columns)
        found = _made(frame, tools, seed, runs=runs, tool_runs=tool_runs, synthesize=synthesize)
        for way, made in found:
            if isinstance(made, str):
                problems.append(f"{file}: {made}")
                continue
            rows.append(_row(file, frame, way, made))
            listener.line(f"  {file}, {way.name}: {rows[-1].pairs:.1f}")
    return ToolStudy(rows, _about(others), problems)


_Made = tuple[pl.DataFrame, float | None]
"""A table, and the processor seconds that it took."""


def _made(
    frame: pl.DataFrame,
    tools: Sequence[Tool],
    seed: int,
    *,
    runs: int,
    tool_runs: int,
    synthesize: Callable[..., Any],
) -> Iterator[tuple[Tool, list[_Made] | str]]:
    """Each way with its tables, or why there are none; last what bounds the scale."""
    schema, rng = schema_of(frame), np.random.default_rng(seed)
    levels = {name: column.levels or () for name, column in schema.columns.items()}
    for epsilon in EPSILONS:
        own = list[_Made]()
        for number in range(runs):
            began, asked = time.process_time(), {"schema": schema, "seed": seed + number}
            (one,) = counted(synthesize, frame, (epsilon, _DELTA), **asked).datasets
            own.append((one, time.process_time() - began))
        yield Tool("pyvws", f"pyvws {__version__}", (), epsilon), own
    for tool in tools:
        others = list[_Made]()
        for number in range(tool_runs):
            made = made_by(tool, frame, levels, seed=seed + number)
            if isinstance(made, str):
                yield tool, made
                break
            others.append(made)
        else:
            yield tool, others
    found = [ends(frame, rng) for _ in range(runs)]
    for name in SCALE:
        yield Tool(name, "", ()), [(one[name], None) for one in found]


def _row(file: str, frame: pl.DataFrame, way: Tool, made: Sequence[_Made]) -> ToolRow:
    pairs = [k_marginal(frame, [one], replicates=1).score for one, _ in made]
    triples = [score_of_triples(frame, one.select(frame.columns)) for one, _ in made]
    seconds = [spent for _, spent in made if spent is not None]
    return ToolRow(
        file=file,
        records=len(frame),
        way=way.name,
        package=way.package,
        epsilon=way.epsilon,
        delta=None if way.epsilon is None else _DELTA,
        pairs=round(float(np.mean(pairs)), 1),
        least=round(min(pairs), 1),
        most=round(max(pairs), 1),
        triples=round(float(np.mean(triples)), 1),
        processor_seconds=round(float(np.mean(seconds)), 1) if seconds else None,
        runs=len(made),
    )


def installed(python: Path) -> tuple[list[Tool], list[str]]:
    """The ways of the tools that are installed, and a line for each other; `python` has two.

    Those with a guarantee stand first.
    """
    tools, left_out = list[Tool](), list[str]()
    version = _printed("Rscript", "-e", "cat(as.character(packageVersion('synthpop')))")
    if version is None:
        left_out.append("Left out: synthpop, which R does not have here.")
    else:
        tools.append(Tool("synthpop", f"synthpop {version}", ("Rscript", "-e", _SYNTHPOP)))
    for package, called in (("dpmm", "MST and AIM of dpmm"), ("sdv", "SDV")):
        asked = f"from importlib.metadata import version; print(version({package!r}))"
        version = _printed(str(python), "-c", asked)
        if version is None:
            left_out.append(f"Left out: {called}, which {python} does not have.")
        elif package == "sdv":
            tools.append(Tool("SDV", f"sdv {version}", (str(python), "-c", _SDV)))
        else:
            for kind in ("AIM", "MST"):
                for epsilon in _OF_TOOLS:
                    program = (str(python), "-c", _DPMM, kind, f"{epsilon:g}", f"{_DELTA:g}")
                    tools.append(Tool(kind, f"dpmm {version}", program, epsilon))
    return sorted(tools, key=lambda tool: tool.epsilon is None), left_out


def _printed(*command: str) -> str | None:
    """What a command prints; None where it fails or is not there."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return ran.stdout.strip() or None if ran.returncode == 0 else None


def made_by(
    tool: Tool,
    table: pl.DataFrame,
    levels: Mapping[str, Sequence[str]],
    *,
    seed: int,
    minutes: float = 60.0,
) -> tuple[pl.DataFrame, float] | str:
    """The table of a tool and the processor seconds that it took; or why there is none."""
    kinds = {name: pl.Enum(list(levels[name])) for name in table.columns}
    with private_folder() as folder:
        given, out = folder / "table.csv", folder / "made.csv"
        codes = [pl.col(name).cast(kind).to_physical() for name, kind in kinds.items()]
        table.select(codes).write_csv(given)
        sizes = [str(len(levels[name])) for name in table.columns]
        try:
            ran = subprocess.run(
                [*tool.program, str(given), str(out), str(seed % 2**31), *sizes],
                capture_output=True,
                text=True,
                check=False,
                timeout=60.0 * minutes,
            )
        except subprocess.TimeoutExpired:
            return f"Left out: {tool.name}, which took more than {minutes:g} minutes."
        if ran.returncode:
            return f"Left out: {tool.name}, which ended with exit status {ran.returncode}."
        made = pl.read_csv(out)
    labels = [
        pl.lit(pl.Series(list(levels[name]))).gather(pl.col(name)).alias(name) for name in kinds
    ]
    return made.select(labels), float(ran.stdout.split()[-1])


def _about(others: Path | None) -> dict[str, str]:
    """The machine, without its name, and what the tools run in."""
    found = {
        "processor": f"{processor()}, {os.cpu_count()} cores",
        "memory": f"{memory_gigabytes():.0f} GB",
        "Python": platform.python_version(),
    }
    if others is not None:
        asked = (str(others), "-c", "import platform; print(platform.python_version())")
        found["Python of other tools"] = _printed(*asked) or "none"
        found["R"] = _printed("Rscript", "-e", "cat(format(getRversion()))") or "none"
    return found


_SHOWN: Final = {
    **{"file": ("file", ""), "way": ("way", ""), "epsilon": ("epsilon", "g")},
    **{"pairs": ("pairs", ".1f"), "least": ("least", ".1f"), "most": ("most", ".1f")},
    **{"triples": ("triples", ".1f"), "processor s": ("processor_seconds", ".1f")},
    "runs": ("runs", ""),
}


def table(result: ToolStudy) -> Any:
    """The study as a table for a terminal, one part for each file."""
    rows = [asdict(row) for row in result.rows]
    return table_of("k-marginal scores", rows, _SHOWN, left=2, group="file")


def markdown(rows: Sequence[ToolRow]) -> str:
    """The rows of a file as a table of a page."""
    lines = ["| | epsilon | pairs | triples | processor s |", "| --- | ---: | ---: | ---: | ---: |"]
    for row in rows:
        epsilon = "" if row.epsilon is None else f"{row.epsilon:g}"
        took = "" if row.processor_seconds is None else f"{row.processor_seconds:.1f}"
        lines.append(f"| {row.way} | {epsilon} | {row.pairs:.1f} | {row.triples:.1f} | {took} |")
    return "\n".join(lines) + "\n"


def in_words(rows: Sequence[ToolRow]) -> str:
    """What the picture of a file shows, for those who do not see it."""
    places = ["" if row.epsilon is None else f" at epsilon {row.epsilon:g}" for row in rows]
    shown = zip(rows, places, strict=True)
    return "; ".join(f"{row.way}{place}: {row.pairs:.1f}" for row, place in shown)


def picture(rows: Sequence[ToolRow]) -> Figure:
    """The scores of pairs of a file over epsilon; a bootstrap and independent columns are lines."""
    figure, (axis,) = panels(1, size=(4.2, 3.9))
    ways = dict.fromkeys(row.way for row in rows if row.way not in SCALE)
    hues, aside = colours(ways), {"AIM": -0.13, "MST": 0.13, "synthpop": -0.13, "SDV": 0.13}
    last = float(np.log2(EPSILONS[-1])) + 1.3  # The place of tools without a guarantee.
    for way, mark in zip(ways, MARKS, strict=False):
        own = [row for row in rows if row.way == way]
        places = [last if row.epsilon is None else float(np.log2(row.epsilon)) for row in own]
        scores = np.array([(row.pairs, row.pairs - row.least, row.most - row.pairs) for row in own])
        axis.errorbar(
            np.array(places) + aside.get(way, 0.0), scores[:, 0], yerr=scores[:, 1:].T.clip(0.0),
            fmt=mark, ls="-" if way == "pyvws" else "", ms=5, capsize=3, color=hues[way], label=way,
        )  # fmt: skip
    for row in rows:
        if row.way in SCALE:
            axis.axhline(row.pairs, **DASHED)
            place = {"xy": (0.01, row.pairs), "xycoords": ("axes fraction", "data")}
            axis.annotate(row.way, xytext=(0, 2), textcoords="offset points", **place)
    axis.axvline(last - 0.65, color="lightgrey", linewidth=0.8)
    ticks = {f"{epsilon:g}": float(np.log2(epsilon)) for epsilon in EPSILONS} | {"none": last}
    axis.set_xticks(list(ticks.values()), list(ticks))
    axis.set(xlabel="epsilon (log scale); none = no guarantee", ylabel="k-marginal score of pairs")
    axis.set(title=f"{rows[0].file}, {rows[0].records:,} records")
    legend_below(figure, [axis], columns=3)
    figure.set_label(in_words(rows))
    return figure


def write(result: ToolStudy, folder: Path) -> list[str]:
    pl.DataFrame([asdict(row) for row in result.rows]).write_csv(folder / "table.csv")
    packages = dict.fromkeys(row.package for row in result.rows if row.package)
    about = [f"{name}: {said}" for name, said in result.about.items()]
    (folder / "machine.txt").write_text("; ".join([*about, *packages]) + ".\n", encoding="utf-8")
    pictures, written = {}, ["table.csv", "machine.txt"]
    for file in dict.fromkeys(row.file for row in result.rows):
        own, name = [row for row in result.rows if row.file == file], Path(file).stem
        (folder / f"{name}.txt").write_text(markdown(own), encoding="utf-8")
        pictures[f"{name}.svg"] = picture(own)
        written += [f"{name}.txt", f"{name}.svg"]
    save_pictures(pictures, folder)
    return written
