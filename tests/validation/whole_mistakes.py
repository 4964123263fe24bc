"""Errors in whole runs and in what they draw: what each replaces, its wrong version, and its row.

Each entry is the error, the places it is written to, each with the wrong version, and the row that
has to fail. No other row of the levels that need neither R nor Stan sees it.
"""

import dataclasses
from typing import Any

import numpy as np
from release_mistakes import equal_records_once
from scipy.special import log_ndtr, ndtr
from statement_mistakes import Wrong

from pyvws.models.regression import linear_predictor


def of_confidential_predecessors(_: Any) -> Any:
    """Each column is drawn from the design rows of the table's own records."""
    return lambda one, of, values: one.design[of if one.rows is None else one.rows[of]]


def of_the_next_unit(_: Any) -> Any:
    return lambda weights, units: (
        weights if units is None else np.roll(weights, -1, axis=0)[units.of_record]
    )


def values_alone(conditionals: Any) -> Any:
    """The category of a number's parts has a term for the records that have a number."""

    def wrong(schema: Any, name: str, values: Any, modelled: Any) -> Any:
        found = conditionals(schema, name, values, modelled)
        return {one: (own, has & modelled.valued) for one, (own, has) in found.items()}

    return wrong


def over_the_largest(read: Any) -> Any:
    """Survey weights over the largest of them, whatever mean is public."""

    def wrong(*arguments: Any) -> Any:
        roles = read(*arguments)
        e = roles.exponents
        return roles if e is None else dataclasses.replace(roles, exponents=e / e.max())

    return wrong


def last_target_unsaturated(parts: Any) -> Any:
    def wrong(target: Any, records: Any) -> Any:
        *found, last = parts(target, records)
        return [*found, dataclasses.replace(last, shift=np.zeros_like(last.shift))]

    return wrong


def last_bound_unsaturated(bounded: Any) -> Any:
    """The bounds see the last column's log-likelihoods, which the target takes the largest off."""

    def wrong(source: Any, posterior: Any, weights: Any, clamp: Any = None) -> Any:
        *columns, last = source.model.columns
        model = _Unsaturated(last.model)
        columns.append(dataclasses.replace(last, model=model))
        whole = dataclasses.replace(source.model, columns=tuple(columns))
        return bounded(dataclasses.replace(source, model=whole), posterior, weights, clamp)

    return wrong


class _Unsaturated:
    """A family whose largest log-likelihood is taken for 0."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def saturated(self, cells: Any) -> Any:
        return np.zeros(cells.n_cells)


def of_half_the_interval(uniforms: Any) -> Any:
    return lambda design, rng: 0.5 * uniforms(design, rng)


def without_their_shift(uniforms: Any) -> Any:
    class Stream:
        """The numbers that order alike records, and 0 in the place of the shift."""

        def __init__(self, rng: Any) -> None:
            self._rng = rng

        def random(self, size: Any = None) -> Any:
            found = self._rng.random(size)
            return found if size is not None else 0.0

    return lambda design, rng: uniforms(design, Stream(rng))


def at_twice_phi(simulate: Any) -> Any:
    return lambda model, eta, draw, rng: simulate(
        model, eta, {**draw, "phi": 2.0 * draw["phi"]}, rng
    )


def _above(model: Any, cells: Any, eta: Any, sigma: Any) -> Any:
    """log of the share that lies within the ends, of what lies above the lower one."""
    low, high = (ends[cells.row_of_cell] for ends in model._ends(cells))
    a, b = (low - eta) / sigma, (high - eta) / sigma
    return np.log1p(-np.exp(log_ndtr(-b) - log_ndtr(-a)))


def without_the_upper_end(log_lik: Any) -> Any:
    """Records' log-likelihoods whose normaliser is 1 - Phi((L - eta) / sigma)."""

    def wrong(model: Any, draws: Any, cells: Any) -> Any:
        eta = linear_predictor(draws["beta"], cells.rows)[:, cells.row_of_cell]
        return log_lik(model, draws, cells) + _above(model, cells, eta, draws["sigma"][:, None])

    return wrong


def density_without_the_upper_end(density: Any) -> Any:
    """The same in the weighted density of a fit, whose gradient stays as it is."""

    def wrong(q: Any, rows: Any, sums: Any, total: Any, low: Any, high: Any, grad: Any) -> Any:
        eta, sigma = rows @ q[: rows.shape[1]], np.exp(q[-1])
        a, b = (low - eta) / sigma, (high - eta) / sigma
        more = sums[0] @ np.log((ndtr(b) - ndtr(a)) / ndtr(-a))
        return density(q, rows, sums, total, low, high, grad) + more

    return staticmethod(wrong)


def of_the_range(ends: Any) -> Any:
    """The ends of the family's range for those of each record."""
    return lambda model, cells: ends(model, dataclasses.replace(cells, ends=None))


def without_strictness(narrowed: Any) -> Any:
    return lambda rule, low, high, values: narrowed(
        dataclasses.replace(rule, strict=False), low, high, values
    )


UNIFORMS = "pyvws.posterior.systematic_draws:systematic_uniforms"
TRUNCATED = "pyvws.models.truncated_normal:TruncatedNormal."

WHOLE_MISTAKES: tuple[tuple[str, tuple[tuple[str, Wrong], ...], str], ...] = (
    (
        "confidential predecessors",
        (("pyvws.models.sequence:DrawnColumn.design_rows", of_confidential_predecessors),),
        "statement/values-follow",
    ),
    (
        "equal records once",
        (("pyvws.tables.design.units:unit_kinds", equal_records_once),),
        "statement/release-units",
    ),
    (
        "the next unit's weight",
        (("pyvws.synthesis.fit_sources:by_record", of_the_next_unit),),
        "statement/release-units",
    ),
    (
        "no log p(missing)",
        (("pyvws.plan.by_schema:conditionals", values_alone),),
        "statement/release-missing",
    ),
    (
        "exponents over the largest",
        (("pyvws.synthesis.confidential_table:read_roles", over_the_largest),),
        "statement/release-survey",
    ),
    (
        "no saturated term in the target",
        (("pyvws.posterior.joint_target:JointTarget._parts", last_target_unsaturated),),
        "statement/release-clamped",
    ),
    (
        "no saturated term in the bound",
        (("pyvws.synthesis.fit_sources:ModelSource.bounded", last_bound_unsaturated),),
        "statement/release-clamped",
    ),
    ("half the interval", ((UNIFORMS, of_half_the_interval),), "systematic_draws/uniforms"),
    ("no shift", ((UNIFORMS, without_their_shift),), "systematic_draws/uniforms"),
    (
        "twice phi",
        (("pyvws.models.negative_binomial:NegativeBinomial.simulate", at_twice_phi),),
        "statement/values-negative-binomial",
    ),
    (
        "no upper end",
        (
            (TRUNCATED + "log_likelihood", without_the_upper_end),
            (TRUNCATED + "log_density", density_without_the_upper_end),
        ),
        "statement/release-truncated-normal",
    ),
    (
        "the range's normaliser for a record's",
        ((TRUNCATED + "_ends", of_the_range),),
        "statement/release-bounded",
    ),
    (
        "a strict bound off by a step",
        (("pyvws.tables.schema.rules:Bound.narrowed", without_strictness),),
        "statement/release-bounded",
    ),
)
