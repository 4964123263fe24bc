"""nutpie's NUTS over the package's compiled densities, a peer of the package's own sampler.

nutpie has no public way to take C functions, so its model of them is filled in here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import cache
from typing import Any

import numpy as np
import nutpie
import pyarrow
from numba import carray
from numba.core import types

from pyvws._base.checks import Floats
from pyvws._base.kernels import callback
from pyvws.engines.compiled_target import CompiledTarget
from pyvws.engines.sampler_settings import SamplerSettings

__all__ = ["nutpie_chains"]


def nutpie_chains(
    compiled: CompiledTarget,
    first_point: Callable[[int], Floats],
    settings: SamplerSettings,
    seed: int,
) -> tuple[Floats, int, int]:
    """Draws (chains, draws, D) on the sampled scale by one thread, and slopes before and in them.

    `first_point` gives a start (D,) by a seed.
    """
    D, model_class = len(first_point(1)), nutpie.compile_pymc.CompiledPyMCModel
    known = {
        "compiled_logp_func": compiled.density,
        "compiled_expand_func": _same(),
        "initial_point_func": first_point,
        "shared_data": {"arguments": compiled.arguments},
        "user_data": compiled.arguments.words,
        "n_expanded": D,
        "shape_info": (["q"], [slice(0, D)], [(D,)]),
        "_n_dim": D,
        "_shapes": {"q": (D,)},
    }
    unknown = [field.name for field in fields(model_class) if field.default is MISSING]
    model = model_class(**dict.fromkeys(unknown) | known)
    trace = nutpie.sample(
        model,
        draws=settings.draws,
        tune=settings.warmup,
        chains=settings.chains,
        cores=1,
        seed=seed,
        save_warmup=True,
        progress_bar=False,
        target_accept=settings.target_accept,
        return_raw_trace=True,
    )
    batches, statistics = trace.get_arrow_trace()
    drawn, warm, slopes = [], 0, 0
    for batch, stats in zip(batches, statistics, strict=True):
        steps, values = _flat(stats.column("n_steps")), pyarrow.array(batch.column("q")).flatten()
        drawn.append(_flat(values).reshape(-1, D)[-settings.draws :])
        warm += int(steps[: -settings.draws].sum())
        slopes += int(steps[-settings.draws :].sum())
    return np.stack(drawn), warm, slopes


def _flat(column: Any) -> Any:
    return pyarrow.array(column).to_numpy(zero_copy_only=False)


@cache
def _same() -> Any:
    doubles, word = types.CPointer(types.float64), types.uint64
    signature = types.int64(word, word, doubles, doubles, types.voidptr)
    return callback(_draw, signature, cached=False)


def _draw(dimension: Any, _length: Any, z_at: Any, q_at: Any, _address: Any) -> int:
    z, q = carray(z_at, dimension), carray(q_at, dimension)
    for i in range(len(z)):
        q[i] = z[i]
    return 0
