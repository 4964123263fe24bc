"""Cases of `pyvws.studies.simulated_data`: the papers' data under several seeds."""

from __future__ import annotations

from typing import Any, Final

from pyvws.validation._case import also, cases_of

_SEEDS: Final = (123, 1234, 0, -2147483647, 2147483647)  # The first two are the papers' seeds.


def _counts(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"seed": _SEEDS[seed - 1], "n": shape[0]}


_poisson = also(_counts, mu=(100.0, 100.0, 100.0, 2.5, 2.5))
_beta = also(_counts, shape1=0.5, shape2=3.0)

_case = cases_of("simulated_data", shapes=((1,), (20,), (100,)))

CASES: Final = tuple(
    _case(
        function,
        r_function,
        arguments,
        paper=paper,
        cites=cites,
        python_function=f"pyvws.studies.simulated_data:{function}",
    )
    for function, r_function, arguments, paper, cites in (
        ("poisson_data", "poisson_counts", _poisson, "vws2024", "section 3.1, its data"),
        (
            *("risk_efficient_counts", "risk_efficient_counts", _counts),
            *("risk2024", "section 2.4, its data"),
        ),
        ("beta_proportions", "beta_proportions", _beta, "cheng1978", "skewed proportions"),
    )
)
