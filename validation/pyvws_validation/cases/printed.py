"""Recompute printed tables on simulated data, in some minutes, without R and Stan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from pyvws_studies.printed import Recomputed

from pyvws.errors import PyvwsError
from pyvws_validation.report import Measurement, Row, Verdict

_SEED: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedCase:
    """The printed figures that one function of `pyvws_studies`, "module:function", recomputes."""

    id: str
    python_function: str
    paper: str
    kind: str = "paper"

    def rows(self) -> Iterator[Row]:
        """A row for each printed figure; a single failed row if the study itself fails."""
        module, name = self.python_function.split(":")
        recompute: Callable[..., Recomputed] = getattr(import_module(module), name)
        try:
            recomputed = recompute(seed=_SEED)
        except PyvwsError as error:
            yield self._row(self.id, self.paper, "fail", reason=str(error))
            return
        for cell in recomputed.cells:
            details = "; ".join(
                filter(None, (f"mean {cell.mean:.4g}", cell.how, recomputed.pair_verdicts(cell)))
            )
            outside = f"Printed {cell.value} lies outside {cell.low:.4g} to {cell.high:.4g}."
            measurement = Measurement("printed figure", float(cell.value), cell.low, cell.high)
            yield self._row(
                f"{self.id}/{cell.place}",
                f"{cell.paper}, {cell.place}",
                "pass" if cell.inside else "fail",
                reason="" if cell.inside else outside,
                measured=f"printed {cell.value}; {details}",
                measurements=(measurement,),
            )

    def _row(self, name: str, paper: str, verdict: Verdict, **figures: Any) -> Row:
        return Row(
            id=name,
            paper=paper,
            level=self.kind,
            python_function=self.python_function,
            seeds=(_SEED,),
            shapes=((1000,),),
            verdict=verdict,
            source="the printed figure",
            **figures,
        )


CASES: Final = tuple(
    PrintedCase(id=f"paper/{name}", python_function=f"pyvws_studies.{function}", paper=paper)
    for name, function, paper in (
        ("poisson", "poisson_figures:poisson_figures", "vws2024, section 3.1"),
        ("mixture", "mixture_table:table_1", "vws2024, Table 1"),
        (*("risk-efficient", "risk_efficient:risk_efficient_tables"), "risk2024, Tables 5 and 6"),
    )
)
