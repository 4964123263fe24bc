"""A case: the package and R compute one quantity from the same arguments."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base import resources as _resources
from pyvws._base.resources import REFERENCES
from pyvws.errors import InputError
from pyvws_validation._draws import Draws

KINDS: Final = ("exact", "close", "density", "posterior", "paper", "statement", "guarantee")
Arguments = Callable[..., dict[str, Any]]
"""From a seed and the entries of a shape to keyword arguments of the R and the Python function."""

_LEAST_SEEDS: Final = 5
_LEAST_SHAPES: Final = 3


@dataclass(frozen=True, slots=True)
class Cell:
    """One comparison of a case: a seed, a shape and the arguments that follow from them."""

    seed: int
    shape: tuple[int, ...]
    arguments: dict[str, Any]

    @property
    def label(self) -> str:
        """For example "seed 3, shape 20x50"."""
        return f"seed {self.seed}, shape {'x'.join(map(str, self.shape))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One quantity to compare with R.

    - `id`: "module/quantity", unique.
    - `paper`, `cites`: Key of `pyvws._base.resources`, and the place in the paper.
    - `script`, `r_function`: A file of `r_reference`, without ``.R``, and a function in that file.
    - `python_function`: "module:function", imported when the case runs. The function belongs to the
      package, or to the case's own module and combines functions of the package.
    - `part`: The attribute of the Python result that the case compares.
    - `arguments`: (seed, *shape) -> the keyword arguments of both functions.
    - `seeds`, `shapes`: At least 5 seeds and 3 shapes; the case tries every seed with every shape.
    - `kind` {"exact", "density", "posterior", "statement"}: The level of the comparison. An "exact"
      case with a tolerance is of level "close".
    - `tolerance`: Largest difference that passes, in units in the last place.
    - `expect` {"same", "differs"}: "differs" marks a known slip of a published listing: the case
      fails when both agree.
    - `why`: Reason for a tolerance above 0 or for a difference.
    """

    id: str
    paper: str
    cites: str
    script: str
    r_function: str
    python_function: str
    arguments: Arguments
    shapes: tuple[tuple[int, ...], ...]
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    part: str | None = None
    kind: Literal["exact", "density", "posterior", "statement"] = "exact"
    tolerance: int = 0
    expect: Literal["same", "differs"] = "same"
    why: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError.by("case-kind", case=self.id, kinds=", ".join(KINDS))
        if self.paper not in REFERENCES:
            raise InputError.by("case-paper", case=self.id, paper=self.paper)
        if len(set(self.seeds)) < _LEAST_SEEDS or len(set(self.shapes)) < _LEAST_SHAPES:
            raise InputError.by(
                "case-too-few", case=self.id, seeds=_LEAST_SEEDS, shapes=_LEAST_SHAPES
            )
        if (self.tolerance or self.expect == "differs") and not self.why:
            raise InputError.by("case-why", case=self.id)

    @property
    def level(self) -> str:
        """The level of the case's row: "exact" for equal bits alone."""
        return "close" if self.kind == "exact" and self.tolerance else self.kind

    def cells(self) -> Iterator[Cell]:
        """Every seed with every shape, in a fixed order."""
        for shape in self.shapes:
            for seed in self.seeds:
                yield Cell(seed, shape, self.arguments(seed, *shape))

    def python(self, cell: Cell) -> NDArray[np.float64]:
        """The package's numbers for a cell."""
        module, name = self.python_function.split(":")
        result = getattr(import_module(module), name)(**cell.arguments)
        return numbers(getattr(result, self.part) if self.part else result)


def read_cases() -> tuple[Case, ...]:
    """The cases of ``validation/cases.toml``, in the order of its tables and rows."""
    path = _resources.folder("validation") / "cases.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8"))["table"]
    return tuple(_row_case(table, row) for table in tables for row in table["cases"])


def _row_case(table: dict[str, Any], row: dict[str, Any]) -> Case:
    """The case of a row that has its table's keys too."""
    row = {**table, **row, "each": {**table.get("each", {}), **row.get("each", {})}}
    module = f"pyvws_validation.cases.{row['module']}"
    function = row["python"]
    if not function.startswith("pyvws_"):
        function = f"{module if function.startswith(':') else 'pyvws.'}{function}"
    return Case(
        id=f"{row['prefix']}/{row['name']}",
        paper=row["paper"],
        cites=row["cites"],
        script=row.get("script", row["prefix"]),
        r_function=row["r"],
        python_function=function,
        arguments=_arguments(row, module),
        shapes=tuple(map(tuple, row["shapes"])),
        part=row.get("part"),
        kind=row.get("kind", "exact"),
        tolerance=row.get("tolerance", 0),
        why=row.get("why", ""),
    )


def _arguments(row: dict[str, Any], module: str) -> Arguments:
    """The arguments of a row; both sides recycle vectors that are rolled."""
    maker = getattr(import_module(module), row["arguments"]) if "arguments" in row else None

    def arguments(seed: int, *shape: int) -> dict[str, Any]:
        own = {} if maker is None else maker(seed, *shape)
        own |= {x: getattr(Draws(seed), how)(*shape) for x, how in row.get("drawn", {}).items()}
        own |= {x: y[seed - 1] if isinstance(y, list) else y for x, y in row["each"].items()}
        own |= {row["sized"]: shape[0]} if "sized" in row else {}
        return own | {x: np.roll(y, 1 - seed) for x, y in row.get("rolled", {}).items()}

    return arguments


def in_steps(figures: ArrayLike, steps: float = 2.0**30) -> NDArray[np.float64]:
    """Figures in whole steps, as the last digits depend on how code computes a density."""
    return np.asarray(np.rint(np.asarray(figures) * steps) / steps)


def numbers(value: ArrayLike) -> NDArray[np.float64]:
    """A result as float64 of at least one dimension; truth values become 0 and 1."""
    return np.atleast_1d(np.asarray(value, dtype=np.float64))
