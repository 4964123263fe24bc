"""What helps where a release differs from its data: what its mechanism has, and nothing else.

Every line of advice on datasets is made here, from the mechanism's facts and the names of its
settings. So no release from counts is told of predictors, and none without a clamp of its window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyvws.mechanisms.mechanism import Mechanism

_MOMENTS: Final = ("mean", "spread", "quantiles")
_RANGES: Final = ("negative", "below", "above", "far")
_LEVELS: Final = ("missing", "levels", "order", "slope", "given")

_OF_FITS: Final = {
    **dict.fromkeys(
        _RANGES,
        "Where the schema gives no public range, give one (range). Where its range holds these "
        "values and they are implausible, take another family or scale.",
    ),
    "fractions": "For whole numbers set decimals = 0 in a schema, or --round.",
    "repeated": "A value that many records have is a point of mass: mass in a schema.",
    **dict.fromkeys(_MOMENTS, "Take another family (money is no count), scale or predictors."),
    "missing": "Missing values and levels follow their predictors: name more of them.",
    "levels": "Missing values and levels follow their predictors: name more of them.",
    "order": 'Levels without an order need model = "nominal".',
    "slope": "A predictor whose numbers are codes needs levels in a schema, or C(NAME).",
    "given": "Name interactions.",
}
_OF_COUNTS: Final = {
    **dict.fromkeys(
        _RANGES,
        "Values are drawn from the whole public range. Where public knowledge has a narrower one, "
        "give it (range), or give finer cuts.",
    ),
    "fractions": "For whole numbers set decimals = 0 in a schema.",
    "repeated": "A value that many records have is a point of mass: mass in a schema.",
    **dict.fromkeys(
        _MOMENTS,
        "Noise was added to cells, and a value is drawn within its cell. Give finer cuts there, "
        "from public knowledge alone, or take a larger epsilon{family}.",
    ),
    **dict.fromkeys(
        _LEVELS,
        "Noise was added to the counts of cells. Take a larger epsilon, join rare levels, or count "
        "fewer sets (--measure).",
    ),
}
_BY_FAMILY: Final = ", or --model conditionals, under which its family gives the number"
_OF_HISTOGRAM: Final = {
    **dict.fromkeys(_RANGES, "Values are drawn from the whole public range. Narrow it (--range)."),
    "fractions": "For whole numbers set --round.",
    "repeated": "A value is drawn from its whole bin, so none repeats. noisy-counts has points of "
    "mass.",
    **dict.fromkeys(
        _MOMENTS,
        "Noise was added to bins, and a value is drawn from its whole bin. Take another number of "
        "bins (--bins), or a larger epsilon.",
    ),
    **dict.fromkeys(_LEVELS, "Noise was added to bins. Take a larger epsilon."),
}

_CLAMPED: Final = (
    "The clamp does this: records whose terms lie outside its window count for less. Take a larger "
    "epsilon, or a family or predictors that are nearer to these records."
)
_UNEVEN: Final = (
    "The weights do this: rare levels and more filled cells make a record's bound larger and its "
    "weight smaller. {shift} sw, which gives all records one weight."
)
_SMALL: Final = "The records have small weights, so priors decide much. {help}."


@dataclass(frozen=True, slots=True)
class Remedies:
    """What helps under a mechanism.

    - `by_trouble`: What helps against each key of `TROUBLES`.
    - `uneven`: What helps where weights, or a clamp, move the shares of a column.
    - `small`: What helps where all records count for little.
    - `pairs`: What helps where the datasets say too little of what ties columns together.
    """

    by_trouble: Mapping[str, str]
    uneven: str
    small: str
    pairs: str


def remedies(mechanism: Mechanism) -> Remedies:
    """What helps under a mechanism, by its facts and its settings."""
    facts, own = mechanism.facts, getattr(mechanism, "__dataclass_fields__", {})
    if not facts.fits_model:
        by_trouble = _OF_COUNTS if facts.takes_table else _OF_HISTOGRAM
        chosen: Any = getattr(mechanism, "model", None)
        family = _BY_FAMILY if chosen == "classes" else ""
        return Remedies(
            {key: words.format(family=family) for key, words in by_trouble.items()},
            uneven="",
            small="",
            pairs=(
                "Take a larger epsilon, give each pair more of it by counting fewer sets "
                "(--measure), or have fewer cells: join levels, or give wider cuts."
                if facts.takes_table
                else "Take a larger epsilon."
            ),
        )
    shift = "Raise g (--g), or choose" if "g" in own else "Choose"
    pairs = "ame predictors and interactions that tie the columns, or release fewer columns."
    asked = facts.own_epsilon is not None or facts.takes_target
    more = "Take a larger epsilon" if asked else "Raise t (--t)" if "t" in own else ""
    return Remedies(
        _OF_FITS,
        uneven=_CLAMPED if facts.clamps else _UNEVEN.format(shift=shift),
        small=_SMALL.format(help=more or "Give larger weights"),
        pairs=f"{more}, or n{pairs}" if more else f"N{pairs}",
    )
