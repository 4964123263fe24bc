"""Censored of [global2022]: the fit clamps each record's weighted term to a window."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from pyvws._base.checks import as_text, choice, positive
from pyvws._base.phrase import Phrase
from pyvws._base.setting import about, setting
from pyvws.errors import InputError
from pyvws.mechanisms.count_weighted import Counting
from pyvws.mechanisms.lipschitz_weighted import SHIFT, Shift
from pyvws.mechanisms.mechanism import Facts
from pyvws.mechanisms.strict_weights import (
    STRICT_WEIGHTS,
    StrictWeights,
    constant_weights,
    weights_from_column,
    weights_from_reference,
    weights_from_stage,
)
from pyvws.mechanisms.weighing import Loop, Request, WeightedFit, Weighting, downscaled
from pyvws.posterior.clamp import CLAMPS, Clamp
from pyvws.weights.weights import risk_weights, scaled_bounds

CENSORED_WEIGHTS = ("lw", "cw", *STRICT_WEIGHTS)

_ROOM = 4.0  # f (1 - f / S) is at most S / 4, which is epsilon for S = 4 epsilon.
_PAID_OR_PUBLIC = ("constant", "public", "reference", "staged")
_NEEDED = {"public": "weight_column", "reference": "reference", "staged": "stage_epsilon"}
_OF_UNITS = ("lw", "none", "constant", "staged")  # The others are weights of records.


@dataclass(frozen=True, slots=True, kw_only=True)
class Censored(Counting):
    """Censored: the fit keeps each record's term in a window that is epsilon wide.

    `clamp` says which term. "half" is the slides': alpha_i l_i in [-epsilon / 2, epsilon / 2].
    "deviance" takes the saturated log-likelihood a_i off first: alpha_i (l_i - a_i), minus half the
    unit deviance, in [-epsilon, 0]. The deviance clamp is the default where no weight depends on
    the data; it costs the same epsilon and keeps more of the model.

    `weights` says which weights the fit has. They are LW's (Censor_w of the slides, which recommend
    it, and the default) or CW's at the given radius. With "none" (Censor_uw) no weight depends on
    the data. The constant c scales the weights, and g shifts them.

    "constant" is one public weight c for all records. Without c it is min(1, epsilon / W). W is a
    half unit deviance, under a fit to the public records of `reference`. 5 % of them exceed it.

    Three more sources keep the strict guarantee, since each weight is a function of its own record
    and of things that are public or accounted (docs/strict.md). "public" takes
    `weight_column`. "reference" fits the model to the public records of `reference`. "staged" takes
    one draw of a first clamped fit without weights, which costs `stage_epsilon` once, beside
    `epsilon` for each dataset.
    """

    declared = Facts(
        name="censored",
        explanation="Each record's weighted term is clamped to a window of width epsilon within "
        "the fit, for any data and any parameters [global2022].",
        in_steps=True,
        clamps=True,
    )

    epsilon: float = field(
        metadata=about("Width of the window that each record's term is clamped to.")
    )
    c: float | None = setting(  # type: ignore[assignment]
        None,
        "Scale of the weights; with weights constant the weight itself, at most 1. Larger = less "
        "protected.",
        more="1 if not given. With weights constant and a `reference` it follows from the public "
        "records.",
    )
    g: float | None = setting(None, SHIFT)
    weights: str = setting(
        "lw",
        "Weights inside the clamp. none, constant, public, reference and staged keep a strict "
        "guarantee.",
        more="With none each weight is 1, and with constant it is `c`. With public it stands "
        "in `weight_column`. With reference it comes from a fit to public records, and "
        "with staged from a first clamped fit.",
        choices=CENSORED_WEIGHTS,
    )
    clamp: str | None = setting(
        None,
        "The term that is clamped: deviance (half the unit deviance) or half (the "
        "log-likelihood, as in the slides). If not given: deviance where no weight depends on the "
        "data, else half.",
        choices=CLAMPS,
    )
    weight_column: str | None = setting(
        None,
        "Public column of weights in [0, 1], for weights public.",
        more="The column is released only where `keep` or `formula` names it. Larger = less "
        "protected.",
    )
    reference: str | None = setting(
        None,
        "Output folder of an earlier run, or a file of public records, for weights reference or "
        "constant. With --plan the records of a forecast, under any mechanism.",
        more="A run fits the model to these records without weights, which costs nothing. The "
        "path stands in run.toml as it is given.",
    )
    stage_epsilon: float | None = setting(
        None,
        "What the first fit costs, once for all datasets, for weights staged.",
        more="`epsilon` is what each dataset costs beside it. Larger = better weights, less "
        "private.",
    )

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        choice(self.weights, "weights", CENSORED_WEIGHTS)
        if self.clamp is not None:
            choice(self.clamp, "clamp", CLAMPS)
        if isinstance(self.reference, os.PathLike):
            object.__setattr__(self, "reference", os.fspath(self.reference))
        for name in ("weight_column", "reference"):
            if not isinstance(getattr(self, name), str | None):
                what = "the name of one column" if name == "weight_column" else "a path"
                raise InputError.by(
                    "staged-option-value", name=name, what=what, given=as_text(getattr(self, name))
                )
        self._check_constant()
        self._check_source()
        if self.weights != "constant" and self.c is None:
            object.__setattr__(self, "c", 1.0)
        super(Censored, self).__post_init__()

    def _check_source(self) -> None:
        """Raise InputError unless the settings of the chosen source, and no other's, are given."""
        for source, name in _NEEDED.items():
            given = getattr(self, name) is not None
            if source == self.weights and not given:
                option = name.replace("_", "-")
                raise InputError.by("weights-need-setting", source=source, name=name, option=option)
            taken = name == "reference" and self.takes_reference(self.weights, self.c)
            if source != self.weights and given and not taken:
                raise InputError.by("belongs-to-weights", name=name, source=source)
        if self.stage_epsilon is not None:
            positive(self.stage_epsilon, "stage_epsilon")

    def _check_constant(self) -> None:
        """Raise InputError unless weights constant has its weight, or public records for it."""
        if self.weights != "constant":
            return
        if self.takes_reference(self.weights, self.c) != (self.reference is not None):
            raise InputError.by("constant-without-c")
        if self.c is not None and not 0.0 < self.c <= 1.0:
            raise InputError.by("constant-c-range")
        if self.g:
            raise InputError.by("constant-with-g")

    @staticmethod
    def takes_reference(weights: str | None, c: float | None) -> bool:
        """Whether such weights come from a reference; a constant weight can be given instead."""
        return weights == "reference" or (weights == "constant" and c is None)

    @property
    def window(self) -> Clamp:
        """The clamp of the fit that makes the datasets."""
        strict = "half" if self._from_data else "deviance"
        return Clamp(self.epsilon, self.clamp or strict)

    @property
    def facts(self) -> Facts:
        """The claim is strict only where no weight comes from the data, as LW's and CW's do.

        The windows are that of the last fit, and that of the first stage, where there is one.
        """
        weights, from_data, stage = self.weights, self._from_data, self.stage_epsilon
        first = () if stage is None else (replace(self.window, epsilon=stage),)
        return replace(
            super(Censored, self).facts,
            claim="asymptotic-dp" if from_data else "dp",
            caveats=(Phrase(f"weights-{weights}"),) if weights in _PAID_OR_PUBLIC else (),
            weights_source="table" if from_data else weights,
            weights_from_data=from_data,
            windows=(self.window, *first),
            counts_in_radius=weights == "cw",
            refuses_constant=weights == "lw",
            fits=2 if weights == "lw" or stage is not None else 1,
            clamps_every_fit=weights != "lw" and self.reference is None,
            takes_units=weights in _OF_UNITS,
        )

    @property
    def _from_data(self) -> bool:
        return self.weights not in STRICT_WEIGHTS

    def run(self, loop: Loop, request: Request) -> Weighting:
        """Make the clamped fit under the weights that the settings name, downscaled where asked."""
        rule = request.downscaling
        fit, n = None, loop.cells.n_records
        stages: tuple[WeightedFit, ...] = ()
        noted: dict[str, float] = {}
        if self.weights == "lw":
            shift = Shift.of(loop, self.g)
            c = cast(float, self.c)
            g, noted = shift.at(c), shift.noted(c)
            risk, label = scaled_bounds(loop.unweighted().bounds.by_record), "Censored LW"
            if rule is None:
                weights = loop.lipschitz_weights(c=c, g=g)
            else:
                fit = loop.lipschitz(c=c, g=g)
        elif self.weights == "cw":
            risk, label = self.counted_risk(loop, request), "Censored CW"
            weights = risk_weights(risk, c=cast(float, self.c), g=self.g or 0.0)
            fit = None if rule is None else loop.fit(weights, "CW")
        elif self.weights in _PAID_OR_PUBLIC:
            strict = self._strict(loop, request)
            risk, weights, stages = strict.risk, strict.weights, strict.stages
            label = f"Censored {self.weights}"
            if self.weights == "constant" and self.c is None:
                noted = {"c": float(weights[0])}
            fit = None if rule is None else loop.fit(weights, self.weights)
        else:
            risk, weights, label = np.ones(n), np.ones(n), "Censored"
            fit = None if rule is None else loop.unweighted()
        if rule is not None and fit is not None:
            weights = downscaled(loop, fit, rule, confirm=False).weights
        return Weighting(loop.fit(weights, label, clamp=self.window), risk, noted, stages)

    def _strict(self, loop: Loop, request: Request) -> StrictWeights:
        """Weights from a public column, a public reference, or one draw of a first stage."""
        if self.weights == "constant":
            return constant_weights(loop, self.window, c=self.c)
        shape = {"c": cast(float, self.c), "g": self.g or 0.0}
        if self.weights == "reference":
            return weights_from_reference(loop, self.window, **shape)
        if self.stage_epsilon is not None:
            window, scale = self.facts.windows[-1], _ROOM * self.epsilon
            return weights_from_stage(loop, window, scale=scale, **shape)
        if request.column is None:
            raise InputError.by("public-weight-missing")
        return weights_from_column(request.column, **shape)
