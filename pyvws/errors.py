"""Every error and warning that the package raises on purpose.

A message says what is wrong, where, and what to do. It holds column names, counts and positions,
never a confidential value.
"""

from __future__ import annotations

__all__ = [
    "ClusterError",
    "ConvergenceError",
    "ConvergenceWarning",
    "DisclosureWarning",
    "InputError",
    "MissingDependencyError",
    "OutputError",
    "PyvwsError",
    "SearchError",
]


class PyvwsError(Exception):
    """Base of the package's own errors."""


class InputError(PyvwsError, ValueError):
    """An argument, a column or a table that the method cannot take."""


class OutputError(PyvwsError, OSError):
    """A folder or file that cannot be written as asked."""


class SearchError(PyvwsError, RuntimeError):
    """A search for k or c that did not meet its bound."""


class ConvergenceError(PyvwsError, RuntimeError):
    """A sampler that could not start or returned no usable draws."""


class ClusterError(PyvwsError, ConnectionError):
    """A cluster that does not answer, or that has no workers."""


class MissingDependencyError(PyvwsError, ImportError):
    """An optional part that is not installed; the message names what to install."""


class ConvergenceWarning(UserWarning):
    """Draws whose diagnostics fall short: R-hat, effective sample size or divergences."""


class DisclosureWarning(UserWarning):
    """A column released as it is that tells the order of the confidential outcome."""
