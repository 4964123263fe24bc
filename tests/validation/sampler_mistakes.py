"""Errors of samplers, each with the row that has to fail.

Most are edits of a module's text, of which the kernels are then compiled anew.
"""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import numba

Wrong = Callable[[Any], Any]


def edited(place: str, right: str, wrong: str, times: int = 1) -> tuple[str, Wrong]:
    """The place "module:name", and what makes the name anew from the module's edited text."""
    module = import_module(place.split(":")[0])
    text = inspect.getsource(module)
    assert text.count(right) == times, right

    def made(_: Any) -> Any:
        names = {**vars(module)}
        compiled = numba.njit(error_model="numpy", nogil=True)
        body = text.replace(right, wrong).replace("@kernel", "@_compiled")
        names["_compiled"] = compiled
        exec(compile(body.replace("@inlined_kernel", "@_compiled"), module.__name__, "exec"), names)
        return names[place.split(":")[1]]

    return place, made


_NUTS = "pyvws.engines.nuts_steps:nuts_step"
_ROWS = "pyvws.engines.table_rows:move_rows"
_CELLS = "pyvws.engines.table_rows:move_cells"
_GROUPS = "pyvws.engines.table_groups:move_groups"
_HALF = "p[i] += 0.5 * step * g[i]\n                "
_REVERSE = "log_dirichlet(shares[p], count_after, L)"
_GAIN = "low, high = window\n    value = 0.0"


def doubled_window(with_rows: Any) -> Any:
    """The steps of tables take the window for twice as wide."""

    def wrong(*given: Any) -> Any:
        place, first, (packed, units, (low, high), groups) = with_rows(*given)
        return place, first, (packed, units, (2.0 * low, high), groups)

    return wrong


SAMPLER_MISTAKES: Final[tuple[tuple[str, tuple[str, Wrong], str], ...]] = (
    (
        "a first half step of .4",
        edited(_NUTS, _HALF + "at[i]", _HALF.replace("0.5", "0.4") + "at[i]"),
        "statement/sampler-poisson",
    ),
    (
        "a last half step of .4",
        edited(_NUTS, _HALF + "gain", _HALF.replace("0.5", "0.4") + "gain"),
        "statement/sampler-beta",
    ),
    (
        "half steps of .4",
        edited(_NUTS, _HALF, _HALF.replace("0.5", "0.4"), times=2),
        "statement/sampler-logistic",
    ),
    (
        "the momentum of the inverse metric",
        edited(_NUTS, "() / math.sqrt(variances[i])", "() * math.sqrt(variances[i])"),
        "statement/sampler-gamma",
    ),
    (
        "a coin for the ratio of subtrees",
        edited(_NUTS, "math.log(rng.random()) < grown - log_weight", "rng.random() < 0.5"),
        "statement/sampler-normal",
    ),
    (
        "a coin for the ratio of points",
        edited(  # The first point is taken, as no other is there.
            *(_NUTS, "math.log(rng.random()) < gain - grown"), "grown == gain or rng.random() < 0.5"
        ),
        "statement/sampler-nominal",
    ),
    (
        "rows proposed from the prior",
        edited(_ROWS, "draw_shares(rng, count, L", "draw_shares(rng, count_after, L"),
        "statement/table-steps-rows",
    ),
    (
        "rows without their reverse",
        edited(_ROWS, f"{_REVERSE} - log", "-log"),
        "statement/table-steps-rows",
    ),
    (
        "rows with the reverse of the counts before",
        edited(_ROWS, _REVERSE, _REVERSE.replace("count_after", "count")),
        "statement/table-steps-rows-beside",
    ),
    (
        "a wider window of rows",
        edited(_ROWS, _GAIN, "low, high = 2.0 * window[0], window[1]\n    value = 0.0"),
        "statement/table-steps-rows-units",
    ),
    (
        "cells proposed with all their records",
        edited(_CELLS, "whole[c] * int(rng.random() * (_PARTS + 1)) / _PARTS", "whole[c]"),
        "statement/table-steps-cells",
    ),
    (
        "cells without their reverse",
        edited(
            _CELLS, "ratio += _log_parts(before, others, prior, whole[c], count_after[1])", "pass"
        ),
        "statement/table-steps-cells-units",
    ),
    (
        "cells with the reverse of the counts before",
        edited(_CELLS, "whole[c], count_after[1])", "whole[c], count[1])"),
        "statement/table-steps-cells-beside",
    ),
    (
        "a wider window of cells",
        edited(_CELLS, _GAIN, "low, high = 2.0 * window[0], window[1]\n    value = 0.0"),
        "statement/table-steps-cells",
    ),
    (
        "levels with their rows without their reverse",
        edited(_GROUPS, "+ likely - as_likely", ""),
        "statement/table-steps-groups",
    ),
    (
        "levels with the reverse of one part",
        edited(_GROUPS, "value = np.logaddexp(value, own)", "value = own"),
        "statement/table-steps-groups",
    ),
    (
        "levels with the prior of no row",
        edited(_GROUPS, "ratio += (prior[w] - 1.0) * (new[w] - now[w])", "pass"),
        "statement/table-steps-groups",
    ),
    (
        "levels whose pattern keeps its other shares",
        edited(_GROUPS, "shares[j] += now[1] - rest", "pass"),
        "statement/table-steps-groups",
    ),
    (
        "a wider window of chains",
        ("pyvws.engines.nuts:with_rows", doubled_window),
        "statement/table-chains",
    ),
)
