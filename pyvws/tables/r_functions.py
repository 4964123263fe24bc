"""Functions that a formula may call, with R's names and meanings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.r_numbers import rarith
from pyvws.tables.factors import level_label, make_factor, orthogonal_polynomials

__all__ = ["FACTOR_MAKERS", "FUNCTIONS"]

_LOGARITHMS: Final[dict[float, Callable[[Any], Any]]] = {2: np.log2, 10: np.log10}


def as_is(x: Any) -> Any:
    """R's ``I``: x, of which arithmetic has been done."""
    return x


def as_factor(x: Any) -> Any:
    """R's ``as.factor``: a category keeps its levels; otherwise those that occur, sorted."""
    import pandas as pd

    if isinstance(x, pd.Categorical):
        return x
    made = make_factor(x)
    return pd.Categorical.from_codes(made.codes, list(made.levels))


def factor(x: Any) -> Any:
    """R's ``factor``: as `as_factor`, without the levels that never occur."""
    return as_factor(x).remove_unused_categories()


def relevel(x: Any, ref: Any) -> Any:
    """R's ``relevel``: the level `ref` becomes the first."""
    import pandas as pd

    labels = [level_label(level) for level in x.categories]
    if x.ordered or str(ref) not in labels:
        raise ValueError("relevel takes a factor that is not ordered, and one of its levels")
    moved = sorted(labels, key=lambda label: label != str(ref))
    codes = np.array([moved.index(label) for label in labels])[x.codes]
    return pd.Categorical.from_codes(codes, moved)


def poly(x: Any, degree: int = 1, raw: bool = False) -> Floats:
    """R's ``poly``: orthogonal polynomials of x (N,), or its powers, shape (N, degree)."""
    values = np.asarray(x, dtype=np.float64)
    if raw:
        return np.asarray(values[:, None] ** np.arange(1, int(degree) + 1))
    return orthogonal_polynomials(values, int(degree))


def scale(x: Any) -> Floats:
    """R's ``scale``: x less its mean, over its standard deviation."""
    values = np.asarray(x, dtype=np.float64)
    return np.asarray((values - rarith.mean(values)) / np.sqrt(rarith.var(values)))


def log(x: Any, base: Any = None) -> Any:
    """R's ``log``: natural, or to a base."""
    if base is None:
        return np.log(x)
    if np.ndim(base) == 0 and base in _LOGARITHMS:
        return _LOGARITHMS[base](x)
    return np.log(x) / np.log(base)


def as_numeric(x: Any) -> Floats:
    """R's ``as.numeric`` of numbers and truth values."""
    if np.asarray(x).dtype.kind not in "bif":
        raise TypeError("as.numeric takes numbers and truth values")
    return np.asarray(x, dtype=np.float64)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "C": as_factor,
    "I": as_is,
    "abs": np.abs,
    "as.factor": as_factor,
    "as.numeric": as_numeric,
    "ceiling": np.ceil,
    "exp": np.exp,
    "expm1": np.expm1,
    "factor": factor,
    "floor": np.floor,
    "log": log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "poly": poly,
    "relevel": relevel,
    "scale": scale,
    "sqrt": np.sqrt,
}
# Their argument keeps its type: a level of whole numbers is "100000", of doubles "1e+05".
FACTOR_MAKERS: Final = frozenset({"C", "as.factor", "factor", "relevel"})
