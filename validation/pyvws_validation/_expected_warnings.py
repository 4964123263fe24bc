"""Warnings that a case's run gives its agency for good reason; every other kind is still seen."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from pyvws.errors import ConvergenceWarning, DisclosureWarning, MisfitWarning

OF_DRAWS = ConvergenceWarning, MisfitWarning
"""Draws are few, or known ones that fit no table."""
OF_TABLES = DisclosureWarning, MisfitWarning
"""Tables are so small that a column tells of another one."""


@contextmanager
def expected(*kinds: type[Warning]) -> Iterator[None]:
    """Leave out the warnings of these kinds alone."""
    with warnings.catch_warnings():
        for kind in kinds:
            warnings.simplefilter("ignore", kind)
        yield
