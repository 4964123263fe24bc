"""The shared part of the scripts of ``validation/reproduce``: options, tables, exit code."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence

from pyvws_studies.printed import Recomputed, paired_table, printed_tables
from rich.console import Console

_WIDTH = 200


def main(
    recompute: Callable[..., Recomputed], about: str, *, arguments: Sequence[str] | None = None
) -> int:
    """Recompute printed tables and print them: 1 if a printed figure lies outside, else 0."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--replicates", type=int, help="at least 2; the study's own without it")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, help="replicates at once; all processors without it")
    chosen = {k: v for k, v in vars(parser.parse_args(arguments)).items() if v is not None}
    began = time.perf_counter()
    recomputed = recompute(**chosen)
    seconds = time.perf_counter() - began
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    for table in printed_tables(recomputed.cells):
        console.print(table)
    if recomputed.pairs:
        console.print(paired_table("What the replicates tell apart", recomputed.pairs))
    outside = sum(not cell.inside for cell in recomputed.cells)
    summary = f"{len(recomputed.cells)} printed figures, {outside} outside; {seconds:.0f} seconds."
    console.print(summary, highlight=False)
    return 1 if outside else 0
