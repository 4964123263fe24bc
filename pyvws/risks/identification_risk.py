"""Identification risk by radius and pattern: how isolated a record's value is.

IR_i = #{h in M_i : y_h not in B(y_i, r)} / |M_i| (Algorithm 2 of [vws2024], Equations 1 and 2 of
[risk2024]). M_i holds the records that share i's known values, record i among them. The ball
B(y_i, r) = [y_i - rho_i, y_i + rho_i] includes its ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, dataset_list
from pyvws.errors import InputError
from pyvws.r_numbers import rarith
from pyvws.risks.balls import Balls, count_inside, make_balls, outcomes

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

Known: TypeAlias = "ArrayLike | Mapping[str, ArrayLike] | IntoDataFrame | None"
"""What an intruder knows of records: a column of values, several, or a table."""


def identification_risk(
    original: ArrayLike,
    synthetic: Sequence[Any] | None = None,
    *,
    radius: float | Sequence[float] = 0.2,
    radius_kind: Literal["percentage", "absolute", "fixed"] = "percentage",
    known: Known = None,
    norm: Literal["box", "euclidean"] = "box",
) -> Floats:
    """Identification risk of each record, on the confidential or on synthetic data.

    Parameters
    ----------
    original : array_like, shape (N,) or (N, P)
        Confidential outcome, or P outcomes that an intruder knows together.
    synthetic : sequence of array_like of the shape of `original`, optional
        Synthetic outcomes, with the rows in the order of `original`. With synthetic outcomes the
        risk in a dataset is T_i #{h in M_i : y*_h not in B(y_i, r)} / |M_i|. T_i = 1 when y*_i lies
        in B(y_i, r), and 0 otherwise. The result is the average over the datasets.
    radius : float, or sequence of P floats
        r above 0: a share of |y_i| (0.2 = 20 %) or an absolute distance in the outcome's unit. One
        number holds for every outcome.
    radius_kind : {"percentage", "absolute"}
        rho_i = r |y_i|, or rho_i = r; "fixed" is another name of "absolute". Since |y_i| is an
        absolute value, a negative outcome has a ball as well.
    known : array_like, shape (N,) or (N, K), table, mapping or sequence of K columns, optional
        Public columns. Their joint value is a record's pattern; by default all records share one.
    norm : {"box", "euclidean"}
        The ball for several outcomes. In a "box" each outcome lies within its own reach. Under
        "euclidean" the sum over outcomes of ((y_hp - y_ip) / rho_ip)^2 is at most 1. For one
        outcome the two balls are equal.

    Returns
    -------
    ndarray, shape (N,)
        IR_i in [0, 1]; larger = more isolated = riskier.

    Raises
    ------
    InputError
        For missing values, a radius not above 0, or columns whose lengths differ.

    Examples
    --------
    >>> identification_risk([100.0, 110.0, 400.0], radius=0.2).tolist()
    [0.3333333333333333, 0.3333333333333333, 0.6666666666666666]
    >>> identification_risk([[100.0, 1.0], [110.0, 5.0]], radius=0.2).tolist()
    [0.5, 0.5]
    """
    y = outcomes(original, "original")
    balls = make_balls(y, radius, radius_kind, norm)
    codes = pattern_codes(known, len(y))
    # Records with near values then search in the same place of memory.
    order = np.lexsort((y[:, 0], codes))
    balls, codes = balls.in_order(order), codes[order]
    if synthetic is None:
        risks = [_share_outside(y[order], balls, codes)]
    else:
        datasets = (values[order] for values in paired_outcomes(y, synthetic))
        risks = [balls.hold(here) * _share_outside(here, balls, codes) for here in datasets]
    result = np.empty(len(y))
    result[order] = risks[0] if len(risks) == 1 else rarith.column_means(np.array(risks))
    return result


def paired_outcomes(y: Floats, synthetic: Sequence[Any]) -> list[Floats]:
    """Synthetic outcomes of the shape (N, P) of y; InputError for a dataset of another shape."""
    datasets = []
    for number, dataset in enumerate(dataset_list(synthetic, "synthetic"), start=1):
        values = outcomes(dataset, f"synthetic dataset {number}")
        if len(values) != len(y):
            raise InputError.by(
                "balls-unequal-records", number=number, y=len(y), values=len(values)
            )
        if values.shape != y.shape:
            raise InputError.by(
                "balls-unequal-outcomes", number=number, shape=y.shape[1], shape2=values.shape[1]
            )
        datasets.append(values)
    return datasets


def pattern_codes(known: Known, n: int) -> NDArray[np.intp]:
    """A whole number for each record (n,), equal where all known columns are equal."""
    codes = np.zeros(n, dtype=np.intp)
    if known is None:
        return codes
    for label, column in _columns(known):
        if column.shape != (n,):
            raise InputError.by("known-length", size=column.size, n=n, label=label)
        if _has_missing(column):
            raise InputError.by("known-missing", label=label)
        if column.dtype == object:  # Values of several types cannot be sorted.
            seen: dict[Any, int] = {}
            try:
                inverse = np.array([seen.setdefault(value, len(seen)) for value in column])
            except TypeError:
                raise InputError.by("known-of-lists", label=label) from None
        else:
            _, inverse = np.unique(column, return_inverse=True)
        _, codes = np.unique(codes * (inverse.max() + 1) + inverse, return_inverse=True)
    return codes


def _has_missing(column: NDArray[Any]) -> bool:
    if column.dtype.kind in "biuSU":
        return False
    if column.dtype.kind in "fc":
        return bool(np.isnan(column).any())
    return any(_is_missing(value) for value in column)


def _is_missing(value: object) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA has no truth value.
        return True
    except ValueError:  # A list of several values has no truth value, and is not missing.
        return False


def _columns(known: Any) -> list[tuple[str, NDArray[Any]]]:
    """Each known column's name, or a word for a column without a name, and its values."""
    if hasattr(known, "collect_schema") and not hasattr(known, "__len__"):
        raise InputError.by("known-is-lazy")
    if isinstance(known, Mapping):
        names: Any = list(known)
    else:  # An Arrow table's `columns` are values, so its names come first.
        names = getattr(known, "column_names", getattr(known, "columns", None))
    if names is not None:
        return [(repr(name), np.asarray(known[name])) for name in names]
    several = isinstance(known, (list, tuple)) and len(known) > 0 and np.ndim(known[0]) == 1
    if not several:
        table = np.asarray(known)
        if table.ndim not in (1, 2) or table.size == 0:
            raise InputError.by("known-shape")
        known = [known] if table.ndim == 1 else list(table.T)
    return [
        (repr(name) if isinstance(name, str) and name else str(number), np.asarray(column))
        for number, column in enumerate(known, start=1)
        for name in [getattr(column, "name", None)]
    ]


def _share_outside(values: Floats, balls: Balls, codes: NDArray[np.intp]) -> Floats:
    """The share of each record's pattern outside the record's ball (N,); `codes` ascend."""
    size = np.bincount(codes)[codes]
    return np.asarray((size - count_inside(values, balls, codes)) / size)
