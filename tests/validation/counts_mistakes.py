"""Errors in noisy counts, each with the row that has to fail.

Each entry is the error, what is replaced, the wrong version, and the row.
"""

import dataclasses
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.stats import norm
from statement_mistakes import Wrong

from pyvws import InputError, Schema
from pyvws.mechanisms.counts.measurements import OF_SQUARES
from pyvws.tables.schema.weight import WeighedRecords

__all__ = ["COUNTED_RECORDS_MISTAKES", "COUNTS_MISTAKES"]


def one_set_short(noise_of: Any) -> Any:
    """The budget shared by all tables but the last, which gets the least noise of another one."""

    def wrong(budget: Any, shares: Any) -> Any:
        *rest, last = shares
        noise = noise_of(budget, {name: shares[name] for name in rest})
        scales = {**noise.scales, last: min(noise.scales.values())}
        return dataclasses.replace(noise, scales=scales)

    return wrong


def lists_for_free(noise_of_lists: Any) -> Any:
    """The number that chooses among lists of sets is all that their noise is priced by."""

    def wrong(budget: Any, first: Any, lists: Any) -> Any:
        made = noise_of_lists(budget, first, lists)
        for name, noise in made.items():
            scales = {n: x if n == first else 0.9 * x for n, x in noise.scales.items()}
            made[name] = dataclasses.replace(noise, scales=scales)
        return made

    return wrong


def breakers_by_others(codes_of: Any) -> Any:
    """A record that breaks an order has the code of the first record that keeps it."""

    def wrong(one: Any, codes: Any, values: Any) -> Any:
        own = codes_of(one, codes, values)
        return np.where(own < 0, own[own >= 0][:1].sum() if (own >= 0).any() else -1, own)

    return wrong


def half_the_variance(noise_of: Any) -> Any:
    """All noise has half of the variance that the budget pays for."""

    def wrong(budget: Any, shares: Any) -> Any:
        noise = noise_of(budget, shares)
        scales = {name: x / math.sqrt(2.0) for name, x in noise.scales.items()}
        return dataclasses.replace(noise, scales=scales)

    return wrong


def sets_twice(counts: Any) -> Any:
    """Each record counts twice in the sets."""

    def wrong(seller: Any, name: str, cells: Any, size: int) -> Any:
        def twice(records: Any) -> Any:
            found = cells(records)
            if not name.startswith("set "):
                return found
            return dataclasses.replace(found, records=2 * found.records)

        return counts(seller, name, twice, size)

    return wrong


def exact_number(_: Any) -> Any:
    """The number of rows is that of the records."""
    return lambda seller, size: max(1, size(seller._records))


def exact_fine_counts(bought_cells: Any) -> Any:
    """The cells of numbers are chosen by the records' own counts, which nobody paid for."""

    def wrong(seller: Any, noise: Any, cells: Any, codes: Any, classes: Any) -> Any:
        bought = bought_cells(seller, noise, cells, codes, classes)
        return {name: _exact(own, codes(seller._records, name)) for name, own in bought.items()}

    return wrong


def exact_roundness(bought_cells: Any) -> Any:
    """Numbers heap as the records' own do, which nobody paid for."""

    def wrong(seller: Any, noise: Any, cells: Any, codes: Any, classes: Any) -> Any:
        bought = bought_cells(seller, noise, cells, codes, classes)
        for name in cells.roundness:
            rounded = _exact(bought[name].rounded, classes(seller._records, name))
            bought[name] = dataclasses.replace(bought[name], rounded=rounded)
        return bought

    return wrong


def _exact(noisy: Any, own: Any) -> Any:
    known = own.cells >= 0
    exact = np.bincount(own.cells[known], own.records[known], minlength=len(noisy.counts))
    exact = exact.astype(np.int64)
    return dataclasses.replace(noisy, counts=exact)


def fine_counts_free(count_noise: Any) -> Any:
    """The budget is shared by the sets alone, and not by the counts that choose cells."""

    def wrong(budget: Any, table: Any, *, cells: Any, **given: Any) -> Any:
        noise, priced = (count_noise(budget, table, cells=x, **given) for x in (None, cells))
        free = {name: max(noise.scales.values()) for name in priced.scales}
        return dataclasses.replace(noise, scales={**free, **noise.scales})

    return wrong


def roundness_free(count_noise: Any) -> Any:
    """The budget is shared by sets and fine cells, and not by the classes of round numbers."""

    def wrong(budget: Any, table: Any, *, cells: Any, **given: Any) -> Any:
        unrounded = SimpleNamespace(columns=cells.columns, roundness={})
        noise, priced = (count_noise(budget, table, cells=x, **given) for x in (unrounded, cells))
        free = {name: max(noise.scales.values()) for name in priced.scales}
        return dataclasses.replace(noise, scales={**free, **noise.scales})

    return wrong


def exact_priors(bought_tables: Any) -> Any:
    """Codes of a row are possible where a record has them, which nobody paid for."""

    def wrong(seller: Any, noise: Any, table: Any, counts: Any, **named: Any) -> Any:
        tables = bought_tables(seller, noise, table, counts, **named)
        codes = seller._records.codes
        own = {n: with_own_counts(one, n, table, codes) for n, one in table.given.items()}
        return dataclasses.replace(tables, table=dataclasses.replace(table, given=own))

    def with_own_counts(one: Any, name: str, table: Any, codes: Any) -> Any:
        known = table.by_name(codes[(codes >= 0).all(axis=1)])
        prior = np.zeros((one.rows.size, one.prior.shape[-1]))
        np.add.at(prior, (one.rows.cells(known), known[name]), 1.0)
        return dataclasses.replace(one, prior=prior)

    return wrong


def coarse_sets_free(noise_of: Any) -> Any:
    """The budget is shared by all sets but the last one, whose cells are coarse."""

    def wrong(budget: Any, shares: Any) -> Any:
        last = [name for name in shares if name.startswith("set ")][-1]
        noise = noise_of(budget, {name: x for name, x in shares.items() if name != last})
        free = next(iter(noise.scales.values()))
        return dataclasses.replace(noise, scales={**noise.scales, last: free})

    return wrong


def clipped(bought_tables: Any) -> Any:
    """Noisy counts below 0 become 0 before they are released and modelled."""

    def wrong(*given: Any, **named: Any) -> Any:
        tables = bought_tables(*given, **named)
        return dataclasses.replace(tables, counts=np.maximum(tables.counts, 0))

    return wrong


def linear_in_the_cap(noise_of: Any) -> Any:
    """rho grows with the cap, and not with its square."""

    def wrong(budget: Any, shares: Any) -> Any:
        noise = noise_of(budget, shares)
        scales = {name: x / math.sqrt(budget.cap) for name, x in noise.scales.items()}
        return dataclasses.replace(noise, scales=scales)

    return wrong


def seeded_laplace(_: Any) -> Any:
    """Noise of a generator with a seed."""

    def wrong(counts: Any, *, scale: float) -> Any:
        rng = np.random.default_rng(20)
        return counts + np.rint(rng.laplace(0.0, scale, len(counts))).astype(np.int64)

    return wrong


def seeded_gaussian(_: Any) -> Any:
    def wrong(counts: Any, *, scale: float) -> Any:
        rng = np.random.default_rng(20)
        return counts + np.rint(rng.normal(0.0, scale, len(counts))).astype(np.int64)

    return wrong


def continuous_delta(_: Any) -> Any:
    """The delta of normal noise that is not rounded, which is too small where sigma is."""

    def wrong(u: float, weights: Any, epsilon: float) -> float:
        mu = math.sqrt(u * sum(weights))
        return float(
            norm.cdf(0.5 * mu - epsilon / mu)
            - math.exp(epsilon) * norm.cdf(-0.5 * mu - epsilon / mu)
        )

    return wrong


def half_rho(delta_of_rho: Any) -> Any:
    return lambda rho, epsilon: delta_of_rho(0.5 * rho, epsilon)


def half_shift(normal_delta: Any) -> Any:
    return lambda mu, epsilon: normal_delta(0.5 * mu, epsilon)


def kept_by_one_stream(_: Any) -> Any:
    """Which records of a unit are kept follows from one random stream over all records."""

    def wrong(units: Any) -> Any:
        keys = np.random.default_rng(4).permutation(len(units))
        return np.array(
            [(keys[units == own] < key).sum() for own, key in zip(units, keys, strict=True)]
        )

    return wrong


def all_kept(_: Any) -> Any:
    """No unit is too large."""
    return lambda units: np.zeros(len(units), dtype=np.intp)


def _with_schema(settings: Any, columns: dict[str, Any]) -> Any:
    schema = settings.schema
    return dataclasses.replace(settings, schema=Schema({**schema.columns, **columns}))


def levels_of_the_table(counted: Any) -> Any:
    """The levels are those that the table has."""

    def wrong(table: Any, settings: Any, **more: Any) -> Any:
        sex = settings.schema.columns["sex"]
        there = [level for level in sex.levels if level in [*table["sex"]]] or sex.levels[:1]
        own = dataclasses.replace(sex, levels=tuple(there))
        return counted(table, _with_schema(settings, {"sex": own}), **more)

    return wrong


def cuts_of_the_table(counted: Any) -> Any:
    """A cut lies at the mean of the table's own numbers."""

    def wrong(table: Any, settings: Any, **more: Any) -> Any:
        age = settings.schema.columns["age"]
        numbers = [float(x) for x in table["age"] if x in {"3", "20", "39"}]
        cut = float(np.rint(np.mean(numbers))) if numbers else 30.0
        own = dataclasses.replace(age, cuts=tuple(sorted({15.0, cut})))
        found = counted(table, _with_schema(settings, {"age": own}), **more)
        object.__setattr__(settings, "plan", found.plan)
        return found

    return wrong


def refused(counted: Any) -> Any:
    """A record that breaks a rule stops the run."""

    def wrong(table: Any, settings: Any, **more: Any) -> Any:
        if any(
            age == "3" and job != "N" for age, job in zip(table["age"], table["job"], strict=True)
        ):
            raise InputError("A record breaks a rule.")
        return counted(table, settings, **more)

    return wrong


def without_rule_breakers(counted: Any) -> Any:
    """Records that break a rule are left out, so the number of rows tells how many there are."""

    def without(tally: Any, kept: Any) -> Any:
        return dataclasses.replace(tally, cells=tally.cells[kept], records=tally.records[kept])

    def wrong(table: Any, settings: Any, **more: Any) -> Any:
        found = counted(table, settings, **more)
        codes, sets = found.counted.codes, found.plan.counting.table
        kept = np.ones(len(codes), dtype=np.bool_)
        for q in range(len(sets.sets)):
            kept &= sets.cells(codes, q) >= 0
        own = dataclasses.replace(
            found.counted,
            codes=codes[kept],
            fine={name: without(x, kept) for name, x in found.counted.fine.items()},
            classes={name: without(x, kept) for name, x in found.counted.classes.items()},
        )
        outcomes = [dataclasses.replace(x, y=x.y[kept]) for x in found.outcomes]
        return dataclasses.replace(found, counted=own, outcomes=tuple(outcomes))

    return wrong


def sets_of_the_table(measured: Any) -> Any:
    """The sets that are bought are others where the table has a woman."""

    def wrong(counting: Any, noise: Any, seller: Any, *, records: Any) -> Any:
        women = (seller._records.codes[:, 0] == 0).any()
        measure = ("sex:age", "sex:job") if women else counting.measure
        own = dataclasses.replace(counting, measure=measure)
        return measured(own, noise, seller, records=records)

    return wrong


def totals_of_the_table(measured: Any) -> Any:
    """The totals that records meet are larger where the table has more records."""

    def wrong(counting: Any, noise: Any, seller: Any, *, records: Any) -> Any:
        found, more = measured(counting, noise, seller, records=records), seller._records.number
        sets = [dataclasses.replace(x, totals=x.totals + more) for x in found.noisy.totals.sets]
        totals = dataclasses.replace(found.noisy.totals, sets=tuple(sets))
        return dataclasses.replace(found, noisy=dataclasses.replace(found.noisy, totals=totals))

    return wrong


def weights_as_they_are(_: Any) -> Any:
    """Weights beyond their public range are not clipped."""

    def wrong(weight: Any, column: Any) -> Any:
        parts = [round(1024 * float(x or 0) / weight.high) if x != "inf" else 0 for x in column]
        return WeighedRecords(np.maximum(np.array(parts, dtype=np.int64), 0), 0, 0)

    return wrong


def squares_free(noise_of: Any) -> Any:
    """The budget is shared by all sums but those of squared weights."""

    def wrong(budget: Any, shares: Any) -> Any:
        own = {name: x for name, x in shares.items() if not name.startswith(OF_SQUARES)}
        noise = noise_of(budget, own)
        free = dict.fromkeys(shares, max(noise.scales.values()))
        return dataclasses.replace(noise, scales={**free, **noise.scales})

    return wrong


def squares_as_weights(counts: Any) -> Any:
    """A squared weight is counted in parts of the largest weight, and priced as a weight."""

    def wrong(seller: Any, name: str, cells: Any, size: int) -> Any:
        if not name.startswith(OF_SQUARES):
            return counts(seller, name, cells, size)
        found = cells(seller._records)
        known = found.cells >= 0
        exact = np.bincount(found.cells[known], 1024 * found.records[known], minlength=size)
        return seller.numbers(name, exact.astype(np.int64))

    return wrong


def members_as_units(widened: Any) -> Any:
    """Each row of a unit is a wide record of its own."""
    return lambda slots, frame, units: widened(slots, frame, np.arange(len(units)))


def slots_of_the_table(rows_in_slots: Any) -> Any:
    """A row's slot is its place among the rows of the table, and not of its unit."""

    def wrong(slots: Any, frame: Any, units: Any) -> Any:
        rows = rows_in_slots(slots, frame, units)
        return np.roll(rows, len(units) % rows.shape[1], axis=1)

    return wrong


_NOISE_OF = "pyvws.mechanisms.counts.measurements:noise_of"
_BOUGHT = "pyvws.mechanisms.counts.counting:"
_SELLER = "pyvws.privacy.seller:"
_COUNTED = "pyvws.release.synthesizer:check_table"
_PLACES = "pyvws.plan.reading:places_in"
_BUDGET = "pyvws.privacy.budget:"
_SLOTS = "pyvws.tables.schema.slots:"
_CONVERSION = "pyvws_validation.cases.noisy_counts:"

COUNTS_MISTAKES: tuple[tuple[str, str, Wrong, str], ...] = (
    *(
        ("one set short", _NOISE_OF, one_set_short, f"guarantee/counts-{row}")
        for row in (
            *("loo", "replace", "loo-delta", "replace-delta", "units", "units-delta"),
            *("conditionals", "regressions", "tables", "groups", "one-column"),
        )
    ),
    *(
        ("half of the variance", _NOISE_OF, half_the_variance, f"guarantee/counts-{row}")
        for row in ("loo", "loo-delta", "released-cost-delta")
    ),
    *(
        (
            *("lists for free", "pyvws.mechanisms.counts.counting:noise_of_lists"),
            *(lists_for_free, f"guarantee/counts-auto{kind}"),
        )
        for kind in ("", "-delta")
    ),
    *(
        (
            *("sets counted twice", _SELLER + "Seller.counts"),
            *(sets_twice, f"guarantee/counts-{row}"),
        )
        for row in (
            *("loo", "replace-delta", "units", "conditionals", "regressions"),
            *("groups", "one-column"),
        )
    ),
    *(
        (
            "exact number of records",
            _BOUGHT + "bought_number",
            exact_number,
            f"guarantee/counts-{row}",
        )
        for row in (
            *("loo", "loo-delta", "units", "conditionals", "regressions"),
            *("groups", "one-column", "auto"),
        )
    ),
    *(
        ("exact priors", _BOUGHT + "bought_tables", exact_priors, f"guarantee/counts-{row}")
        for row in ("conditionals", "regressions", "tables")
    ),
    *(
        ("coarse sets free", _NOISE_OF, coarse_sets_free, f"guarantee/counts-{row}")
        for row in ("conditionals", "regressions", "tables")
    ),
    *(
        (what, _BOUGHT + "bought_cells", wrong, "guarantee/counts-chosen-cells")
        for what, wrong in (
            ("exact fine counts", exact_fine_counts),
            ("exact roundness counts", exact_roundness),
        )
    ),
    *(
        (
            *(what, "pyvws.mechanisms.counts.counting:count_noise", wrong),
            f"guarantee/counts-chosen-cells{name}",
        )
        for what, wrong, names in (
            ("fine counts free", fine_counts_free, ("-delta",)),
            ("roundness free", roundness_free, ("", "-delta")),
        )
        for name in names
    ),
    (
        *("weights not clipped", "pyvws.tables.schema.weight:SurveyWeight.read"),
        *(weights_as_they_are, "guarantee/counts-weights"),
    ),
    (
        *("totals of the table", "pyvws.release.noisy_counts:measured", totals_of_the_table),
        "guarantee/counts-totals",
    ),
    ("squares free", _NOISE_OF, squares_free, "guarantee/counts-weights-delta"),
    (
        "squares as weights",
        _SELLER + "Seller.counts",
        squares_as_weights,
        "guarantee/counts-weights",
    ),
    *(
        (
            *("breakers by others", "pyvws.mechanisms.counts.by_rule:BoundedColumn.codes_of"),
            *(breakers_by_others, f"guarantee/counts-{row}"),
        )
        for row in ("order", "order-delta")
    ),
    ("counts clipped", _BOUGHT + "bought_tables", clipped, "guarantee/counts-loo"),
    ("the cap, not its square", _NOISE_OF, linear_in_the_cap, "guarantee/counts-units-delta"),
    (
        *("seeded noise", _SELLER + "add_discrete_laplace", seeded_laplace),
        "guarantee/counts-fresh-noise",
    ),
    (
        *("seeded noise", _SELLER + "add_discrete_gaussian", seeded_gaussian),
        "guarantee/counts-fresh-noise-delta",
    ),
    (
        *("continuous Gaussian", _BUDGET + "composed_delta", continuous_delta),
        "guarantee/counts-small-noise",
    ),
    *(
        ("continuous Gaussian", _CONVERSION + "composed_delta", continuous_delta, row)
        for row in ("guarantee/counts-conversion-one", "guarantee/counts-conversion-small")
    ),
    ("half of rho", _CONVERSION + "delta_of_rho", half_rho, "guarantee/counts-conversion-many"),
    ("half of rho", _BUDGET + "delta_of_rho", half_rho, "guarantee/counts-units-delta"),
    ("half of the shift", _BUDGET + "normal_delta", half_shift, "guarantee/counts-units-delta"),
    *(
        (what, _PLACES, wrong, f"guarantee/counts-{row}")
        for what, wrong in (("one stream", kept_by_one_stream), ("no cap", all_kept))
        for row in ("units", "units-delta")
    ),
    *(
        (what, _SLOTS + name, wrong, "guarantee/counts-slots")
        for what, name, wrong in (
            ("a unit counted by members", "Slots.widened", members_as_units),
            ("slots of the table", "Slots._rows_in_slots", slots_of_the_table),
        )
    ),
    *(
        (
            *("sets of the table", "pyvws.release.noisy_counts:measured"),
            *(sets_of_the_table, f"guarantee/counts-{row}"),
        )
        for row in ("loo", "replace")
    ),
    *(
        (what, _COUNTED, wrong, f"guarantee/counts-{row}")
        for what, wrong, rows in (
            ("levels of the table", levels_of_the_table, ("loo", "replace")),
            ("cuts of the table", cuts_of_the_table, ("loo", "replace-delta")),
            ("refused for a rule", refused, ("loo", "replace")),
            ("no rule breakers", without_rule_breakers, ("replace", "replace-delta")),
        )
        for row in rows
    ),
)


def unknown_as_the_first(workload: Any) -> Any:
    """An unknown value counts as the first level."""

    def wrong(*given: Any) -> Any:
        table = workload(*given)
        return SimpleNamespace(counts=lambda codes: table.counts(np.maximum(codes, 0)))

    return wrong


def with_noise(times: float) -> Wrong:
    """A fit takes the noise for so many times what it is."""
    return lambda counts: (
        lambda noisy: counts(dataclasses.replace(noisy, scales=noisy.scales * times))
    )


def prior_twice(counts: Any) -> Any:
    """A fit adds the records of its prior twice."""

    def wrong(noisy: Any) -> Any:
        made = counts(noisy)
        made.prior *= 2.0
        return made

    return wrong


# The compared function, what is replaced in it, and the wrong version.
_RECORDS = "pyvws_validation.cases.counted_records:"
COUNTED_RECORDS_MISTAKES: tuple[tuple[str, str, Wrong], ...] = (
    (_RECORDS + "pair_counts", _RECORDS + "workload", unknown_as_the_first),
    (_RECORDS + "two_counts_delta", _RECORDS + "composed_delta", continuous_delta),
    (_RECORDS + "fit_slopes", _RECORDS + "PenalisedCounts", with_noise(0.5**0.5)),
    (_RECORDS + "fit_slopes", _RECORDS + "PenalisedCounts", prior_twice),
    (_RECORDS + "fit_ties", _RECORDS + "PenalisedCounts", with_noise(0.5**0.5)),
)
