"""A figure that shows itself in a notebook, though it belongs to no window."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure of its own. A notebook without matplotlib's pyplot knows no picture of a Figure."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()
