"""The parts of a statement, each of which writes its own entries and says its own caveats.

Figures are rounded up, and stand by neighbours, by draw, in the ledger and of columns. Datasets
come from draws: each draw is paid, each dataset is not. A dataset is a function of its draw and of
fresh randomness, so several datasets of one draw cost what the draw costs (post-processing). d
draws cost d times as much (sequential composition).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

import numpy as np

from pyvws._base.phrase import Phrase
from pyvws.privacy.seller import Spending
from pyvws.statement.words import NOT_COVERED, use

_EXACT = Context(prec=400)  # Digits enough for the largest float and one decimal.


def rounded_up(value: float) -> float | None:
    """The value rounded up to one decimal, never down; None where it is not finite."""
    if not np.isfinite(value):
        return None
    tenth = Decimal("0.1")
    return float(Decimal(float(value)).quantize(tenth, rounding=ROUND_CEILING, context=_EXACT))


def figure(value: float, round_up: bool) -> float | None:
    """A figure as the statement has it: None where it is not finite, since JSON has no infinity."""
    if round_up:
        return rounded_up(value)
    return value if np.isfinite(value) else None


def spent(spending: Spending) -> dict[str, Any]:
    """The statement's `spending`: the cap of the settings, and the sum of what was sold."""
    return {
        "cap": spending.cap,
        "delta": spending.delta,
        "sold": spending.sold,
        "measurements": len(spending.measurements),
    }


Epsilons = tuple[float, float]
"""The epsilon of one dataset, and the epsilon of all datasets together; larger = less private."""


def by_neighbours(
    left_out: Epsilons,
    replaced: Epsilons,
    round_up: bool,
    *,
    windows: tuple[Epsilons, Epsilons] | None = None,
) -> dict[str, dict[str, float | None]]:
    """The statement's `epsilon_by_neighbours`: one record left out, and one record replaced.

    `windows` are the window's figures of both, where there are any.
    """
    entries = {}
    for place, (name, (dataset, total)) in enumerate(
        {"leave-one-out": left_out, "replace-one": replaced}.items()
    ):
        figures = {"per_dataset": dataset, "total": total}
        if windows is not None:
            figures["of_window"], figures["total_of_window"] = windows[place]
        entries[name] = {relation: figure(value, round_up) for relation, value in figures.items()}
    return entries


def certified(neighbours: str, epsilons: Epsilons, round_up: bool) -> dict[str, Any]:
    """The statement's `certified`: the neighbours that a strict claim is for, and its figures."""
    dataset, total = (figure(epsilon, round_up) for epsilon in epsilons)
    return {"neighbours": neighbours, "epsilon_per_dataset": dataset, "epsilon_total": total}


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One use of the confidential data; `epsilon` is its cost, None if not accounted."""

    use: Phrase
    epsilon: float | None

    def written(self, round_up: bool) -> dict[str, Any]:
        """The entry as plain values; `round_up` rounds the cost up to one decimal."""
        cost = "not accounted" if self.epsilon is None else figure(self.epsilon, round_up)
        return {"use": use(self.use), "epsilon": cost, **self.use.written()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnCost:
    """One conditional of a table: a synthesized column, or the category of a number's parts.

    `engine` drew its parameters. `epsilon` is what a run of this column alone costs under the same
    weights, 2 max_i Delta_ik, or the whole epsilon of a clamp; larger = less private.
    """

    name: str
    model: str
    predictors: tuple[str, ...]
    engine: str
    epsilon: float

    def written(self, round_up: bool) -> dict[str, Any]:
        """The column's entry in a statement."""
        return {
            "name": self.name,
            "model": self.model,
            "predictors": list(self.predictors),
            "engine": self.engine,
            "epsilon_alone": figure(self.epsilon, round_up),
        }


def draw_of_dataset(datasets: int, draws: int) -> list[int]:
    """The number, from 1, of the draw behind each of m datasets that come from d <= m draws.

    The draws take turns: the first d datasets come from d different draws, and the numbers of
    datasets of two draws differ by at most 1.
    """
    return [1 + dataset % draws for dataset in range(datasets)]


def with_released_draws(privacy: Mapping[str, Any]) -> dict[str, Any]:
    """The statement with draws_released and draw_of_dataset, which came with version 3.

    The datasets of an earlier statement have one posterior draw each, or one noisy histogram.
    """
    datasets = privacy.get("datasets")
    if "draw_of_dataset" in privacy or not isinstance(datasets, int):
        return dict(privacy)
    draws = datasets if "lipschitz_bound" in privacy else 1
    draw_of = draw_of_dataset(datasets, draws)
    return {**privacy, "draws_released": draws, "draw_of_dataset": draw_of}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliesOn:
    """The parts of a run that the guarantee's proof takes as they are.

    - `clamp` {"deviance", "half", ""}: The kind of the clamp of each record's term; empty for terms
      without a clamp.
    - `data_weights`: Whether weights come from the confidential data.
    - `weights_source` {"none", "public", "reference", "staged", "table"}: Where the weights come
      from: nowhere (all are 1), a public column, a fit to public records, one draw of an earlier
      clamped fit, or the whole confidential table.
    - `stage_epsilon`: The epsilon of the draw that staged weights come from, once for all datasets;
      0 otherwise.
    - `engine`: Name of the engine that drew, or of the noise.
    - `exact_draws`: Whether the draws are exact; else the guarantee holds as if the chains had
      converged.
    - `approximated`: Whether draws were resampled from an approximation, which is never "dp".
    - `prepared_from_data`: Whether the model's levels come from the data.
    - `reads_outcome`: Whether a synthetic value depends on the record's own outcome besides the
      draw.
    - `accepts_unconverged`: Whether the settings accept chains that fail their diagnostics, which
      gives up "dp".
    - `short_seed`: Whether an intruder can find the seed by trying all seeds that are as small.
    - `unchecked` {"mechanism", "model", "engine"}: The parts that are the agency's own. The package
      checks no claim of these parts.
    - `mechanism_words`: Title and explanation of a mechanism of the agency's own.
    - `own_program` {"", "own-program", "unchecked-program"}: Whether the model is a Stan program of
      the agency's own, and whether the engine compared the program's log_lik with its target.
    - `public_settings`: Settings that must have been chosen without the confidential data.
    """

    clamp: str = ""
    data_weights: bool = False
    weights_source: str = "none"
    stage_epsilon: float = 0.0
    engine: str
    exact_draws: bool
    approximated: bool = False
    prepared_from_data: bool = False
    reads_outcome: bool = False
    accepts_unconverged: bool = False
    short_seed: bool = False
    unchecked: tuple[str, ...] = ()
    mechanism_words: Mapping[str, str] = field(default_factory=dict)
    own_program: str = ""
    public_settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def own_parts(self) -> dict[str, Any]:
        """The statement's entries on the agency's own parts."""
        own = {"unchecked": list(self.unchecked), "mechanism_words": dict(self.mechanism_words)}
        return {name: value for name, value in own.items() if value}

    def written(self, neighbours: str, epsilon: float, caveats: Iterable[str]) -> dict[str, Any]:
        """The statement's `relies_on`. Of the keys of `caveats`, it lists what is not covered.

        The claim is for `neighbours`, and `epsilon` is the width of a clamp's window in nats.
        """
        draws = "resampled" if self.approximated else "as-if-converged"
        clamp = {"kind": self.clamp, "epsilon": figure(epsilon, False)}
        source = "table" if self.data_weights else self.weights_source
        return {
            "neighbours": neighbours,
            "clamp": clamp if self.clamp else None,
            "weights": {"source": source, "epsilon": self.stage_epsilon},
            "sampler": {"engine": self.engine, "draws": "exact" if self.exact_draws else draws},
            "public_settings": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in self.public_settings.items()
            },
            "not_covered": [key for key in caveats if key in NOT_COVERED],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumns:
    """The columns of a table by a schema.

    - `synthesized`: Those that are synthesized together; some are several conditionals or none.
    - `numbered`: Those that number the synthetic records, in the place of ids.
    - `costs`: The conditionals in their order, where a pseudo posterior has any.
    """

    synthesized: tuple[str, ...]
    numbered: tuple[str, ...] = ()
    costs: tuple[ColumnCost, ...] = ()

    def written(self, round_up: bool) -> dict[str, Any]:
        separate = sum(column.epsilon for column in self.costs)
        of_costs = {
            "columns": [column.written(round_up) for column in self.costs],
            "epsilon_of_separate_runs": figure(separate, round_up),
        }
        return {
            "columns_synthesized": list(self.synthesized),
            **({"columns_numbered": list(self.numbered)} if self.numbered else {}),
            **(of_costs if self.costs else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberOfRows:
    """Where the number of rows comes from.

    - `records` {"exact", "public", "noisy"}: The table, the settings, or the table with noise.
    - `records_epsilon`: The epsilon of a noisy number, once for all datasets; 0 otherwise.
    - `members`: Whether whole units are drawn; the number is then that of units.
    """

    records: str = "exact"
    records_epsilon: float = 0.0
    members: bool = False

    def written(self) -> dict[str, Any]:
        return {"number_of_rows": self.records}

    def caveats(self) -> dict[str, bool]:
        """Which caveats on the number hold."""
        counted = "units" if self.members else "records"
        return {
            "number-of-units" if self.members else "records": self.records == "exact",
            f"public-{counted}": self.records == "public",
            f"noisy-{counted}": self.records == "noisy",
        }

    def ledger(self) -> list[LedgerEntry]:
        entry = LedgerEntry(Phrase("units" if self.members else "rows"), self.records_epsilon)
        return [entry] if self.records == "noisy" else []


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedBound:
    """The bound of the fit that made the datasets, and how its weights' constants were found.

    - `lipschitz_bound`: Delta_{alpha,x} in nats, or the bound that a clamp enforces; larger = less
      private.
    - `growth`: How much the bound rises when the number of draws doubles, in nats.
    - `window`: max_i w_i: what one draw costs under leave-one-out with the weights held fixed. None
      where no term is known to be a log probability.
    - `confirmed`: Whether the bound is the larger of two: a fit's, and that of a longer fit under
      the same weights, whose draws no search or truncation has seen.
    - `downweights`: Whether any weight is below 1.
    - `draws`: Posterior draws S behind the bound.
    - `threshold`: Quantile of the draws' maxima that the bound takes; 1 = the maximum.
    - `reweighted`, `searched`: Whether Algorithm 3 ran, and whether the run searched a constant
      over refits.
    - `of_search`: Keys of caveats on the choice of constants: "shift", "room" and
      "reweighted-below".
    - `target`: The epsilon that the settings ask for.
    - `accounting` {"papers", "window"}: Whether a search aimed at 2 Delta or at the window's
      figure.
    """

    lipschitz_bound: float
    growth: float = 0.0
    window: float | None = None
    confirmed: bool = False
    downweights: bool = True
    draws: int
    threshold: float
    reweighted: bool
    searched: bool
    of_search: tuple[str, ...] = ()
    target: float | None = None
    accounting: str = "papers"

    def written(self, enforced: bool, round_up: bool) -> dict[str, Any]:
        """The entries on the bound, which a clamp may have `enforced`."""
        return {
            "lipschitz_bound": figure(self.lipschitz_bound, round_up),
            "bound_is": "enforced" if enforced else "estimated",
            "bound_growth_per_doubling": None if enforced else figure(self.growth, round_up),
        }
