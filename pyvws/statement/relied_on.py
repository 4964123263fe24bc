"""What the guarantee of a release relies on, as keys and values, and what it does not cover."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyvws.statement.ledger import figure
from pyvws.statement.words import NOT_COVERED


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliesOn:
    """The parts of a run that the guarantee's proof takes as they are.

    - `neighbours` {"replace-one", "leave-one-out"}: The neighbours that the claim is for.
    - `clamp` {"deviance", "half", ""}: The kind of the clamp of each record's term; empty for terms
      without a clamp.
    - `epsilon`: Width of the clamp's window in nats; larger = less private.
    - `weights_source`: Where the weights come from; "none" for weights of 1.
    - `stage_epsilon`: The epsilon of the draw that staged weights come from; 0 otherwise.
    - `engine`: Name of the engine that drew, or of the noise of a histogram.
    - `exact_draws`: Whether the draws are exact; else the guarantee holds as if the chains had
      converged.
    - `approximated`: Whether draws were resampled from an approximation.
    - `public_settings`: Settings that must have been chosen without the confidential data.
    """

    neighbours: str
    clamp: str = ""
    epsilon: float = 0.0
    weights_source: str = "none"
    stage_epsilon: float = 0.0
    engine: str
    exact_draws: bool
    approximated: bool = False
    public_settings: Mapping[str, Any] = field(default_factory=dict)

    def written(self, caveats: Iterable[str]) -> dict[str, Any]:
        """The statement's `relies_on`. Of the keys of `caveats`, it lists what is not covered."""
        epsilon = figure(self.epsilon, False)
        draws = "resampled" if self.approximated else "as-if-converged"
        return {
            "neighbours": self.neighbours,
            "clamp": {"kind": self.clamp, "epsilon": epsilon} if self.clamp else None,
            "weights": {"source": self.weights_source, "epsilon": self.stage_epsilon},
            "sampler": {
                "engine": self.engine,
                "draws": "exact" if self.exact_draws else draws,
            },
            "public_settings": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in self.public_settings.items()
            },
            "not_covered": [key for key in caveats if key in NOT_COVERED],
        }
