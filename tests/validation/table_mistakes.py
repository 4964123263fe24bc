"""Errors in the clamp of a table: what each replaces, the wrong version, and the row it fails."""

import dataclasses
from typing import Any

import numpy as np
from statement_mistakes import Wrong

from pyvws.posterior.clamp import Clamp
from pyvws.posterior.pseudo_posterior import PseudoPosterior

DENSITY = "pyvws.posterior.joint_target:JointTarget.density_and_gradient"
SHIFT = "pyvws.posterior.clamp:Clamp.shift"


def _in_all(density: Any, target: Any, clamps: Any) -> Any:
    """The density of columns each of which has a clamp of its own, or none."""

    def of_one(of: Any, clamp: Any) -> Any:
        alone = PseudoPosterior(of.model, of.cells, target.weights, clamp)
        return alone.density_and_gradient() if clamp is None else density(alone.joint())

    densities = list(map(of_one, target.columns, clamps))

    def together(q: Any) -> tuple[float, Any]:
        found = [own(q[at]) for own, at in zip(densities, target.blocks(), strict=True)]
        return sum(value for value, _ in found), np.concatenate([slope for _, slope in found])

    return together


def a_window_a_column(density: Any) -> Any:
    """Each column's terms stay in a window of epsilon, so their sum needs K of these."""
    return lambda target: _in_all(density, target, [target.clamp] * len(target.columns))


def the_last_column_left_out(density: Any) -> Any:
    """The window is of the sum of all columns but the last, whose terms are free."""
    return lambda target: _in_all(density, target, [target.clamp, None])


def window_before_the_shift(density: Any) -> Any:
    """The window is asked of the log-likelihoods' sum; what is added has the shifts taken off."""

    def made(target: Any) -> Any:
        low, high = target.clamp.window
        plain = dataclasses.replace(target, clamp=Clamp(target.clamp.epsilon, "half")).terms()
        shifted = target.terms()
        prior = density(dataclasses.replace(target, weights=np.zeros(len(target.weights))))

        def wrong(q: Any) -> tuple[float, Any]:
            asked, terms = plain(q), shifted(q)
            within = (low < asked) & (asked < high)
            value, slope = prior(q)
            return value + np.where(within, terms, np.clip(asked, low, high)).sum(), slope

        return wrong

    return made


def columns_in_their_own_order(density: Any) -> Any:
    """Each column's records are sorted for themselves, as where columns are read one by one."""

    def made(target: Any) -> Any:
        columns = tuple(
            dataclasses.replace(
                of,
                cells=dataclasses.replace(
                    of.cells, cell_of_record=np.sort(of.cells.cell_of_record)[::step]
                ),
            )
            for of, step in zip(target.columns, (1, -1), strict=True)
        )
        return density(dataclasses.replace(target, columns=columns))

    return made


def windows_wider(factor: float) -> Wrong:
    """The table's window is `factor` times as wide as the clamp says."""

    def wrong(density: Any) -> Any:
        def made(target: Any) -> Any:
            clamp = Clamp(factor * target.clamp.epsilon, target.clamp.kind)
            return density(dataclasses.replace(target, clamp=clamp))

        return made

    return wrong


def room_of_whole_weights(density: Any) -> Any:
    """The window gives back what the weights take: epsilon over the smallest weight."""

    def made(target: Any) -> Any:
        clamp = Clamp(target.clamp.epsilon / target.weights.min(), target.clamp.kind)
        return density(dataclasses.replace(target, clamp=clamp))

    return made


def shift_of_the_mean(shift: Any) -> Any:
    """One shift for all records of a column: the mean of the table's."""

    def made(clamp: Any, model: Any, cells: Any) -> Any:
        found = shift(clamp, model, cells)
        return np.full(len(found), found[cells.cell_of_record].mean())

    return made


def no_shift(_: Any) -> Any:
    """The log-likelihoods' sum itself is clamped to [-epsilon, 0]."""
    return lambda _clamp, _model, cells: np.zeros(cells.n_cells)


_COINS, _AMOUNTS = "table-deviance-two-logistic", "table-deviance-poisson-normal"
_WEIGHTED, _BOUNDED = "table-deviance-weights-0.45", "table-censored-bounded"


_ROWS, _WEIGHTED_ROWS = "table-deviance-two-tables", "table-deviance-tables-weights-0.45"
_MIXED = "table-deviance-table-normal"

TABLE_MISTAKES: tuple[tuple[str, str, Wrong, str], ...] = tuple(
    (what, place, wrong, f"guarantee/{row}")
    for what, place, wrong, rows in (
        (
            *("a window a column", DENSITY, a_window_a_column),
            [_COINS, _AMOUNTS, "table-censored-poisson-normal", _BOUNDED],
        ),
        ("a window a column", DENSITY, a_window_a_column, [_ROWS, _MIXED]),
        ("the last column left out", DENSITY, the_last_column_left_out, [_COINS, _ROWS, _MIXED]),
        ("window before the shift", DENSITY, window_before_the_shift, [_AMOUNTS]),
        ("columns in their own order", DENSITY, columns_in_their_own_order, [_COINS, _AMOUNTS]),
        ("shift of the mean", SHIFT, shift_of_the_mean, [_AMOUNTS]),
        ("room of whole weights", DENSITY, room_of_whole_weights, [_WEIGHTED, _WEIGHTED_ROWS]),
        (
            *("epsilon times 1.02", DENSITY, windows_wider(1.02)),
            [_COINS, _WEIGHTED, _AMOUNTS, _ROWS, _MIXED, _BOUNDED],
        ),
        ("epsilon twice", DENSITY, windows_wider(2.0), [_COINS, _AMOUNTS]),
    )
    for row in rows
)
