"""Mistakes in what a run releases or claims: (compared function, what is replaced, wrong version).

Each of `PLANTED` changes a statement, a target or a weight, and nothing else of a run.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pyvws.posterior.clamp import Clamp
from pyvws.statement import several_draws

Wrong = Callable[[Any], Any]


def delta_for_epsilon(statement: Any) -> Any:
    """epsilon_x = Delta in privacy.json; its total is m Delta then."""

    class Statement(statement):  # type: ignore[misc]
        __slots__ = ()

        @property
        def epsilon_per_dataset(self) -> float:
            return float(self.bound.lipschitz_bound)

    return Statement


def one_dataset_for_all(statement: Any) -> Any:
    class Statement(statement):  # type: ignore[misc]
        __slots__ = ()

        @property
        def epsilon_total(self) -> float:
            return float(self.epsilon_per_dataset)

    return Statement


def down_to_a_tenth(_: Any) -> Any:
    return lambda value: math.floor(10.0 * value) / 10.0


def no_data_weights(_: Any) -> Any:
    return lambda *_args, **_options: False


def windows_times(factor: float) -> Wrong:
    """Each window is `factor` times as wide as the clamp says."""

    def wrong(terms: Any) -> Any:
        def made(model: Any, cells: Any, weights: Any, clamp: Any) -> Any:
            return terms(model, cells, weights, Clamp(factor * clamp.epsilon, clamp.kind))

        return made

    return wrong


clamped_at_epsilon = windows_times(2.0)
clamped_at_twice_epsilon = windows_times(4.0)


def on_either_side(window: Any) -> Any:
    class Window(window):  # type: ignore[misc]
        __slots__ = ()
        below = window.around

    return Window


def whatever_was_reached(_: Any) -> Any:
    return lambda _settings, _loop, final, _target: final


def without_a_cap(_: Any) -> Any:
    def raised(weights: Any, by_record: Any, *, k: float) -> Any:
        moved = (weights > 0) & (by_record > 0)
        factors = by_record.max() / np.where(moved, by_record, 1.0)
        return np.where(moved, k * weights * factors, np.where(weights > 0, 1.0, 0.0))

    return raised


def any_weights(_: Any) -> Any:
    return lambda weights: np.asarray(weights, dtype=np.float64)


def other_sign_of_sums(_: Any) -> Any:
    """A sum below the window counts as its upper end, and one above as its lower end."""

    def added(total: Any, units: Any, window: Any, _inside: Any) -> float:
        (weight, count), (low, high) = units, window
        terms = weight * total
        clamped = np.where((low < terms) & (terms < high), terms, np.where(terms > 0, low, high))
        return float(count @ np.where(weight > 0, clamped, 0.0))

    return added


def certified_for_deletion(statement: Any) -> Any:
    """Beside an exact number of records."""

    class Statement(statement):  # type: ignore[misc]
        __slots__ = ()
        _replaced = statement._left_out

    return Statement


def free_first_stage(statement: Any) -> Any:
    """Where one record is left out."""

    class Statement(statement):  # type: ignore[misc]
        __slots__ = ()

        @property
        def _left_out(self) -> Any:
            return self._composed(self.epsilon_per_dataset, once=self.rows.records_epsilon)

    return Statement


def squeezed_where_needed(encode: Any) -> Any:
    """All values moved inwards where one lies at an end of the range (0, 1)."""

    def encoded(model: Any, outcome: Any) -> Any:
        place, n = encode(model, outcome), len(outcome)
        at_an_end = ((place == 0.0) | (place == 1.0)).any()
        return (place * (n - 1) + 0.5) / n if at_an_end else place

    return encoded


def paired_draws(bounds: Any) -> Any:
    """Bounds over the draws as the fits numbered them, in place of all their pairings."""

    def paired(columns: Any, *, draws: int, weights: Any, **others: Any) -> Any:
        found, _ = bounds(columns, draws=draws, weights=weights, **others)
        terms = [
            column.at(np.arange(column.n_cells))[:, column.cell_of_record] for column in columns
        ]
        maxima = np.abs(sum(terms)).max(axis=0)
        by_record = weights * maxima
        return replace(found, by_record=by_record, database=by_record.max()), maxima

    return paired


def delta_for_a_density(_: Any) -> Any:
    return lambda _model: True


def twice_the_densities(_: Any) -> Any:
    """A + 2 B: the bounds of log probabilities, and those of log densities twice."""

    def widths(_by_record: Any, by_column: Any, discrete: Any) -> Any:
        return by_column[:, discrete].sum(axis=1) + 2.0 * by_column[:, ~discrete].sum(axis=1)

    return widths


def delta_where_one_is_replaced(statement: Any) -> Any:
    class Statement(statement):  # type: ignore[misc]
        __slots__ = ()

        @property
        def _windows(self) -> Any:
            left_out = super()._windows
            return None if left_out is None else (left_out[0], left_out[0])

    return Statement


def window_of_a_record(_: Any) -> Any:
    """The terms of a unit are those of its first record."""

    def terms(records: Any, kinds: Any, _draws: int) -> Any:
        first = kinds.counts.indices[kinds.counts.indptr[:-1]]
        return replace(records, cell_of_record=first[kinds.of_unit])

    return terms


def stage_among_the_draws(statement: Any) -> Any:
    """The draw of a first stage as one more draw of the fit."""

    class Statement(statement):  # type: ignore[misc]
        __slots__ = ()

        def _several_draws(self, epsilon: float, *, stage: float, noise: float) -> Any:
            more = self.draws_released + (stage > 0.0)
            found = replace(self, datasets=more)
            return super(Statement, found)._several_draws(epsilon, stage=0.0, noise=noise)

    return Statement


def an_earlier_release_left_out(costs: Any) -> Any:
    return lambda statements: costs(statements[1:])


def other_neighbours_added(cost: Any) -> Any:
    """Each release adds the figure of the neighbours that its own claim is for."""

    def other(statement: Any, _neighbours: str) -> Any:
        claim = statement.get("certified_for") or statement["certified"]["neighbours"]
        return cost(statement, claim)

    return other


def places_of_a_grid(_: Any) -> Any:
    """The largest delta over a few places only, which understates it."""

    def largest(total: float, width: float, m: int) -> float:
        places = np.linspace(0.0, width, 12)[1:-1]
        return float(several_draws.deltas_at(places, total, width, m).max())

    return largest


def half_the_noise(scale: Any) -> Any:
    return lambda *args, **options: 0.5 * scale(*args, **options)


def at_a_quarter_of_the_scale(noise: Any) -> Any:
    return lambda counts, *, scale: noise(counts, scale=0.25 * scale)


_STATEMENT = "pyvws.release.posterior:PrivacyStatement"
_DISCRETE = "pyvws.synthesis.fit_sources:gives_probabilities"
_WIDTHS = "pyvws.bounds.joint:_windows"
_UNITS = "pyvws.synthesis.fit_sources:unit_terms"

# What is replaced, each place with its wrong version.
PLANTED: dict[str, tuple[tuple[str, Wrong], ...]] = {
    "epsilon is Delta": ((_STATEMENT, delta_for_epsilon),),
    "total without m": ((_STATEMENT, one_dataset_for_all),),
    "a first stage for nothing": ((_STATEMENT, free_first_stage),),
    "figures rounded down": (("pyvws.statement.parts:rounded_up", down_to_a_tenth),),
    "a word that ignores the weights": (("pyvws.release.posterior:data_weights", no_data_weights),),
    "clamp at epsilon": (("pyvws.posterior.pseudo_posterior:table_of_one", clamped_at_epsilon),),
    "two-sided window": (
        ("pyvws.mechanisms.weighing:Window", on_either_side),
        ("pyvws.release.posterior:_held", whatever_was_reached),
    ),
    "uncapped re-weighting": (
        ("pyvws.synthesis.loop:reweight", without_a_cap),
        ("pyvws.posterior.pseudo_posterior:weight_vector", any_weights),
    ),
    "replacement at the price of deletion": ((_STATEMENT, certified_for_deletion),),
    "Delta for a density": ((_DISCRETE, delta_for_a_density),),
    "A + 2 B for a mixed table": ((_WIDTHS, twice_the_densities),),
    "Delta under replace-one": ((_STATEMENT, delta_where_one_is_replaced),),
    "the window of a record for a unit": ((_UNITS, window_of_a_record),),
    "t from a grid": (("pyvws.statement.several_draws:largest_delta", places_of_a_grid),),
    "the binomial for a staged fit": ((_STATEMENT, stage_among_the_draws),),
    "an earlier release left out": (
        ("pyvws.statement.statement:costs_together", an_earlier_release_left_out),
    ),
    "other neighbours added": (("pyvws.statement.releases:release_cost", other_neighbours_added),),
    "the clamp's sign": (("pyvws.posterior.joint_target:sum_inside", other_sign_of_sums),),
}

_MADE = "pyvws_validation.cases.accounting:"
_RELEASES = "pyvws_validation.cases.releases:"
_WINDOWS = "pyvws_validation.cases.window:"
STATEMENT_MISTAKES: tuple[tuple[str, str, Wrong], ...] = (
    (_MADE + "draws_by_delta", *PLANTED["t from a grid"][0]),
    (_MADE + "draws_by_delta", *PLANTED["the binomial for a staged fit"][0]),
    (_MADE + "after_statement", *PLANTED["an earlier release left out"][0]),
    (_MADE + "after_statement", *PLANTED["other neighbours added"][0]),
    (_WINDOWS + "density_statement", *PLANTED["Delta for a density"][0]),
    (_WINDOWS + "mixed_statement", *PLANTED["A + 2 B for a mixed table"][0]),
    (_WINDOWS + "window_widths", *PLANTED["A + 2 B for a mixed table"][0]),
    (_WINDOWS + "probability_statement", *PLANTED["Delta under replace-one"][0]),
    (_WINDOWS + "units_statement", *PLANTED["the window of a record for a unit"][0]),
    (_RELEASES + "clamped_release", "pyvws.posterior.joint_target:sum_inside", other_sign_of_sums),
    (_MADE + "staged_statement", *PLANTED["a first stage for nothing"][0]),
    (
        *(_MADE + "table_statement", "pyvws.synthesis.fit_sources:blockwise_joint_bounds"),
        paired_draws,
    ),
    (_MADE + "reweighted_weights", *PLANTED["uncapped re-weighting"][0]),
    (_MADE + "censored_terms", *PLANTED["the clamp's sign"][0]),
    (_MADE + "censored_terms", *PLANTED["clamp at epsilon"][0]),
)
