"""Errors in a schema that is paid for, each with the row that has to fail."""

from typing import Any

from statement_mistakes import Wrong

__all__ = ["PAID_MISTAKES"]


def threshold_without_the_one(threshold: Any) -> Any:
    """The least count that noise alone seldom reaches, though a record's own count is 1."""
    return lambda seller, name: threshold(seller, name) - 1


def normal_tail(least_tail: Any) -> Any:
    """The threshold of continuous noise of half the scale."""
    return lambda chance, *, scale, laplace: least_tail(chance, scale=scale / 2, laplace=laplace)


def delta_not_added(budget: Any) -> Any:
    """Noise takes the whole delta, and thresholds take their share beside it."""
    return lambda **given: budget(**{**given, "delta": 2.0 * given["delta"]})


def run_beside_schema(_: Any) -> Any:
    """What the schema cost is left out of the total of a run by it."""
    return lambda run, *_: run.epsilon


def values_twice(counted: Any) -> Any:
    """A record counts twice."""

    def wrong(cells: Any, column: Any) -> Any:
        own = counted(cells, column)
        return type(own)(2 * own.cells, own.values)

    return wrong


_SCHEMA = "pyvws.synthesis.private_schema:"
PAID_MISTAKES: tuple[tuple[str, str, Wrong, str], ...] = (
    (
        "threshold without the one",
        "pyvws.privacy.seller:Seller.threshold",
        threshold_without_the_one,
        "guarantee/paid-schema-levels",
    ),
    (
        "threshold of less noise",
        "pyvws.privacy.seller:least_tail",
        normal_tail,
        "guarantee/paid-schema-levels-replace",
    ),
    (
        "delta of thresholds not added",
        f"{_SCHEMA}Budget",
        delta_not_added,
        "guarantee/paid-schema-levels",
    ),
    (
        "a run without its schema",
        f"{_SCHEMA}epsilon_after",
        run_beside_schema,
        "guarantee/paid-schema-with-run",
    ),
    (
        "a record twice",
        "pyvws.synthesis.private_answers:ColumnCells.counted",
        values_twice,
        "guarantee/paid-schema-ranges",
    ),
)
"""What is wrong, where, how, and the row that sees it."""
