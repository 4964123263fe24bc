"""What the scripts of ``validation/reproduce`` share: their options, their tables, an exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from rich.console import Console

from pyvws.studies._printed import Printed, printed_table

__all__ = ["main"]

_WIDTH = 200


def main(
    recompute: Callable[..., list[Printed]],
    about: str,
    *,
    replicates: int,
    arguments: Sequence[str] | None = None,
) -> int:
    """Recompute printed tables and print them; 1 if a printed figure lies outside, else 0.

    `replicates` is the default of --replicates; `arguments` replace those of the command line.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--replicates", type=int, default=replicates, help="at least 2")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, help="replicates at once; all processors without it")
    chosen = parser.parse_args(arguments)
    cells = recompute(replicates=chosen.replicates, seed=chosen.seed, jobs=chosen.jobs)
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    for table in dict.fromkeys(cell.table for cell in cells):
        own = [cell for cell in cells if cell.table == table]
        # Eight intervals in a row are wider than a page: a table for each statistic.
        for part in dict.fromkeys(cell.column.partition(":")[0] for cell in own):
            chosen_cells = [cell for cell in own if cell.column.partition(":")[0] == part]
            console.print(printed_table(f"{own[0].paper}, {table}", chosen_cells))
    outside = sum(not cell.inside for cell in cells)
    console.print(f"{len(cells)} printed figures, {outside} outside.", highlight=False)
    return 1 if outside else 0
