"""The synthesis loop of a study: one outcome, a design, the native engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyvws._base.checks import Floats
from pyvws.engines.nuts import NativeEngine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.models.model import Model
from pyvws.models.registry import find_model
from pyvws.synthesis.fit_sources import ModelSource
from pyvws.synthesis.loop import SILENT, Listener, SynthesisLoop
from pyvws.tables.design.cells import make_cells


def native_loop(
    model: str | Model,
    y: Floats,
    design: Floats,
    settings: SamplerSettings,
    *,
    seed: int,
    listener: Listener = SILENT,
) -> SynthesisLoop:
    """The loop on outcomes y (N,), in the unit that `model` was prepared for, and design (N, K)."""
    family = find_model(model)
    cells = make_cells(family.encode(y), design)
    return SynthesisLoop(
        family,
        cells,
        source=ModelSource(family, cells, NativeEngine()),
        settings=settings,
        seed=seed,
        listener=listener,
    )


def one_chain(settings: Mapping[str, Any]) -> SamplerSettings:
    """Settings of one chain: the study's replicates share the processors already."""
    return SamplerSettings(draws=settings["draws"], warmup=settings["warmup"], chains=1)
