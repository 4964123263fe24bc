"""Time a draw of the native engine in two ways, side by side.

    python tools/nutpie_ways.py

One way is nutpie's model of C functions, which the engine fills in. The other is nutpie's public
`from_pyfunc`, which calls Python for each gradient. ARCHITECTURE.md says which of both the engine
takes, and from what ratio on it would change over.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from nutpie import compiled_pyfunc

from pyvws._base.checks import Floats
from pyvws.engines import nuts
from pyvws.engines._compiled_target import CompiledTarget
from pyvws.engines._nutpie_chains import run_chains
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.models.sampled_scale import sampled_scale
from pyvws.validation._stan_case import seeded_target

TABLES = (
    ("poisson", 100, 2),
    ("poisson", 2000, 4),
    ("negative-binomial", 2000, 4),
    ("beta", 500, 3),
)
REPEATS = 3


def python_model(target: Any, scale: Any, first_point: Any) -> Any:
    D = target.dimension
    restore, pull_back = scale.kernels
    density, _, (data,) = target.kernels()

    def make_density() -> Any:
        def log_density(z: Floats) -> tuple[float, Floats]:
            q, gradient = np.empty(D), np.empty(D)
            jacobian, state = restore(z, *scale.data, q)
            value = jacobian + density(q, *data, gradient)
            pull_back(state, q, *scale.data, gradient)
            return value, gradient

        return log_density

    def make_draw(*_: Any) -> Any:
        def draw(z: Floats) -> dict[str, Floats]:
            q = np.empty(D)
            scale.restore(z, q)
            return {"q": q}

        return draw

    shapes = [np.dtype("float64")], [(D,)], ["q"]
    return compiled_pyfunc.from_pyfunc(
        D, make_density, make_draw, *shapes, make_initial_point_fn=first_point
    )


def main() -> None:
    for model, n, K in TABLES:
        for chains in (1, 4):
            target = seeded_target(model, n, K, seed=1)
            settings = SamplerSettings(draws=1000, warmup=500, chains=chains)
            scale = sampled_scale(target.start())
            compiled = CompiledTarget(target, scale)
            first = nuts._first_points(target, scale, compiled, None)
            ways = {
                "C functions": lambda c=compiled, f=first, D=target.dimension: nuts._sampler_model(
                    c, f, D
                ),
                "from_pyfunc": lambda t=target, s=scale, f=first: python_model(t, s, f),
            }
            times: dict[str, list[float]] = {way: [] for way in ways}
            for repeat in range(REPEATS + 1):  # The first is not counted.
                for way, make in ways.items():
                    sampled = make()
                    began = time.perf_counter()
                    run_chains(sampled, settings, 3, lambda: None, "")
                    times[way] += [time.perf_counter() - began] if repeat else []
            c, python = (1e6 * np.median(times[way]) / (chains * 1500) for way in ways)
            print(
                f"{model}, {n} records, {chains} chains: {c:.1f} and {python:.1f} microseconds a "
                f"draw, ratio {python / c:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
