"""The native engine for a table under one clamp: a column moves at a time, the others given.

A clamp of the record's whole sum ties the columns together, each through the records that all
columns keep inside the window. The tie is loose, and the columns differ: one takes steps of a
hundredth part of another's. So each iteration of a chain moves the columns in turn, given the other
columns' terms. A conditional table moves row by row (`pyvws.engines.table_rows`), and needs no
warm-up of its own. Another column moves by a step of NUTS, of its own size on its own sampled
scale, whose gradient costs one column's. Each move keeps the joint target as it is.
"""

from __future__ import annotations

import time

import numpy as np

from pyvws._base.checks import Floats
from pyvws.engines._block_chains import Chain, run_chains
from pyvws.engines.compiled_target import CompiledTarget
from pyvws.engines.engine import Progress
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.table_rows import rows_of, with_rows
from pyvws.models.conditional_table import ConditionalTable, patterns_of
from pyvws.models.model import level_places
from pyvws.models.sampled_scale import sampled_scale
from pyvws.models.sequence import joint_draws
from pyvws.posterior.diagnostics import Diagnostics, diagnose, together
from pyvws.posterior.draws import Posterior
from pyvws.posterior.joint_target import JointTarget

_JITTER = 0.1  # Chains start uniformly within this distance of the rough fit, as scaled.
_REMEDY = (
    "Check that the weights leave enough of the data, take predictors out of columns that have "
    "many, or choose a larger epsilon."
)


def sample_joint(
    target: JointTarget, settings: SamplerSettings, *, seed: int, progress: Progress | None = None
) -> Posterior:
    """S = chains x draws of a table's clamped target; the same seed gives the same on any core
    count.

    One iteration moves the parameters of all columns, which are named as "income.beta". Diagnostics
    are the worst over all columns; an iteration diverges where some column's step does. `progress`
    is called with iterations done and in all. Raises ConvergenceError if a chain cannot start, and
    InputError for a family whose terms cannot be clamped.
    """
    began = time.perf_counter()
    rows = rows_of(target)
    others, own = np.zeros((2, target.distinct_units))
    columns = []
    if None in rows:  # Tables have no scale, and start at draws of their own.
        by_column = zip(target.given_others(others, own), target.starts(), rows, strict=True)
        columns = [
            CompiledTarget(given, sampled_scale(start))
            for given, start, table in by_column
            if table is None
        ]
    widths = [block.stop - block.start for block in target.blocks()]
    streams = [
        np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(settings.chains)
    ]
    chains = [
        Chain(
            *(columns, widths, settings, rng),
            jitter=_JITTER,
            records=len(own),
            rows=with_rows(target, rows, rng),
        )
        for rng in streams
    ]
    q = run_chains(chains, settings, progress, _REMEDY)
    flat = q.reshape(-1, target.dimension)
    return Posterior(
        draws=joint_draws(
            {
                column.column: column.model.constrain(
                    np.ascontiguousarray(flat[:, block]), column.cells.n_coefficients
                )
                for column, block in zip(target.columns, target.blocks(), strict=True)
            }
        ),
        chains=settings.chains,
        diagnostics=diagnosed(target, q, sum(chain.diverged for chain in chains)),
        seconds=time.perf_counter() - began,
        engine="native",
    )


def diagnosed(target: JointTarget, q: Floats, divergences: int) -> Diagnostics:
    """The worst diagnostics over the columns of draws (chains, draws, D).

    A conditional table's are of the log shares that some record has.
    """
    by_column = []
    for at, (column, block) in enumerate(zip(target.columns, target.blocks(), strict=True)):
        flat, cells = q[:, :, block].reshape(-1, block.stop - block.start), column.cells
        if isinstance(column.model, ConditionalTable) and cells.n_cells:
            shares = column.model.constrain(flat, cells.n_coefficients)["log_theta"]
            compared = shares[:, patterns_of(cells), level_places(cells)]
        else:
            compared = column.model.diagnosed(flat, cells.n_coefficients)
        by_column.append(diagnose(compared.reshape(*q.shape[:2], -1), 0 if at else divergences))
    return together(by_column, [column.column for column in target.columns])
