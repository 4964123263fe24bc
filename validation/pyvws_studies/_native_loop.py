"""The synthesis loop of a study: one outcome, a design, the native engine if no other is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.engines.engine import Engine
from pyvws.engines.nuts import NativeEngine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.models.model import Model
from pyvws.models.registry import find_model
from pyvws.synthesis.fit_sources import ModelSource
from pyvws.synthesis.loop import SILENT, Listener, ReferenceFits, SynthesisLoop
from pyvws.synthesis.reference import Reference
from pyvws.tables.design.cells import make_cells


def native_loop(
    model: str | Model,
    y: Floats,
    design: Floats,
    settings: SamplerSettings,
    *,
    seed: int,
    listener: Listener = SILENT,
    engine: Engine | None = None,
    public: Floats | None = None,
) -> SynthesisLoop:
    """The loop on outcomes y (N,), in the unit that `model` was prepared for, and design (N, K).

    `public` (M,) are the outcomes of a public reference, for a design of ones.
    """
    family = find_model(model)
    cells = make_cells(family.encode(y), design)
    reference = None
    if public is not None:
        known = make_cells(family.encode(public), np.ones((len(public), 1)))
        of_public = Reference(family, known, cells, np.ones(len(y), dtype=np.bool_))
        reference = ReferenceFits(of_public, ModelSource(family, known, NativeEngine()), settings)
    return SynthesisLoop(
        family,
        cells,
        source=ModelSource(family, cells, engine or NativeEngine()),
        settings=settings,
        seed=seed,
        listener=listener,
        reference=reference,
    )


def one_chain(settings: Mapping[str, Any]) -> SamplerSettings:
    """Settings of one chain: the study's replicates share the processors already."""
    return SamplerSettings(draws=settings["draws"], warmup=settings["warmup"], chains=1)
