"""Categories that are derived from a column: its parts, its groups, and the levels in a group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from pyvws._base.checks import near
from pyvws.errors import InputError
from pyvws.tables.schema.entries import names, refuse_both, refuse_no_text
from pyvws.tables.schema.families import FAMILIES, MOST_LEVELS, PARTED, family_named

_OF_PART: Final = ("model", "predictors", "formula")


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A category that says the part, the group or the level in a group of a column's values.

    Its codes are 1 to L, of which a family draws the first, and rules alone give the others.

    - `role` {"synthesize", "public"}: The role of the column.
    - `model`: The family that draws it, such as "nominal"; None for a public one.
    - `levels`, `ruled`: The labels that a family draws, and those that only rules give.
    - `settings`: Settings of the family.
    """

    role: str = "synthesize"
    model: str | None = None
    levels: tuple[str, ...]
    ruled: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    categorical: ClassVar = True
    range: ClassVar[None] = None
    scale: ClassVar[None] = None
    cuts: ClassVar[None] = None
    outcome_scale: ClassVar[None] = None

    def __post_init__(self) -> None:
        if len(self.levels) < 2:
            raise InputError.by("levels-too-few", levels=len(self.levels))
        object.__setattr__(self, "model", family_named(self.model))
        if self.model == "nominal":
            refuse_many(self.n_drawn)

    @property
    def coded_levels(self) -> tuple[str, ...]:
        """The labels that codes 1 to L stand for."""
        return (*self.levels, *self.ruled)

    @property
    def n_drawn(self) -> int:
        """The number of first levels that a family draws."""
        return len(self.levels)


def part_label(code: str | None) -> str:
    """The label of the part, or of the group, that a code of missing values is."""
    return "empty" if code is None else f"missing {code}"


def parted(labels: tuple[str, ...], ruled: int, part: Mapping[str, Any]) -> Category:
    """The category of a number's parts, of which rules alone give the last, by its `part`.

    Where rules settle every part but "value", no family draws the category.
    """
    drawn = len(labels) - ruled
    if drawn == 1:
        drawn = len(labels)
    settings = {name: value for name, value in part.items() if name not in _OF_PART}
    model = part.get("model", "nominal")
    return Category(model=model, levels=labels[:drawn], ruled=labels[drawn:], settings=settings)


def read_part(part: object, entries: Iterable[str]) -> dict[str, Any]:
    """The entries of the category of a number's parts; InputError for what it cannot have."""
    if not isinstance(part, Mapping):
        raise InputError.by("part-shape")
    for name in ("model", "formula"):
        refuse_no_text(part.get(name), name)
    if part.get("predictors") is not None:
        names(part["predictors"], "predictors")
    refuse_both(part.get("predictors"), part.get("formula"))
    model = family_named(part.get("model", "nominal"))
    refuse_settings(model, [name for name in part if name not in _OF_PART], entries)
    if model not in PARTED:
        raise InputError.by("family-of-part", parted=", ".join(PARTED))
    return dict(part)


def refuse_many(levels: int) -> None:
    """Raise InputError for more levels than the family "nominal" takes."""
    if levels > MOST_LEVELS:
        raise InputError.by("nominal-too-many-levels", most_levels=MOST_LEVELS, levels=levels)


def refuse_settings(model: str | None, given: Iterable[str], entries: Iterable[str]) -> None:
    """Raise InputError for a name that is no setting of the model, nor one of the `entries`."""
    of_model = FAMILIES.get(model or "", ())
    for name in given:
        if name not in of_model:
            raise InputError.by(
                "entry-unknown", name=name, model=model, hint=near(name, [*entries, *of_model])
            )
