"""The window of a record's term: an interval that holds it at all draws."""

from __future__ import annotations

import numpy as np

from pyvws._base.checks import Floats


def window_widths(by_record: Floats, of_densities: Floats) -> Floats:
    """w_i = Delta_i + min(Delta_i, B_i), in nats; larger = riskier.

    The weighted term of record i lies in [-Delta_i, min(Delta_i, B_i)] at every draw: a log
    probability is at most 0, and log densities add at most B_i (N,), the sum of their bounds.
    """
    return np.asarray(by_record + np.minimum(by_record, of_densities))
