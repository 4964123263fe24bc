"""Show a run on a terminal: progress of fits, tries of a search, warnings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from pyvws.engines._engine import Progress as Tick
from pyvws.synthesis.loop import Listener

__all__ = ["console_listener"]


@contextmanager
def console_listener(console: Console) -> Iterator[Listener]:
    """A listener that draws a bar for each fit on a terminal, and plain lines elsewhere."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        count = 0
        last: TaskID | None = None

        def fit(label: str) -> Tick:
            nonlocal count, last
            if last is not None:
                bars.update(last, completed=1, total=1)
            count += 1
            task = last = bars.add_task(f"fit {count}: {label}")
            if not console.is_terminal:
                console.print(f"fit {count}: {label}", highlight=False)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield Listener(fit=fit, line=lambda text: bars.console.print(text, highlight=False))
        if last is not None:
            bars.update(last, completed=1, total=1)
