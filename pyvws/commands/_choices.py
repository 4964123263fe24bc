"""The words that options take. Those of models and mechanisms mirror the package's registries."""

from __future__ import annotations

from enum import StrEnum

__all__ = [
    "CensoredWeights",
    "Engine",
    "Labels",
    "LogLik",
    "Mechanism",
    "Model",
    "Neighbours",
    "Noise",
    "OutcomeScale",
    "RadiusKind",
]


class Model(StrEnum):
    negative_binomial = "negative-binomial"
    poisson = "poisson"
    normal = "normal"
    gamma = "gamma"
    logistic = "logistic"
    ordinal = "ordinal"
    beta = "beta"
    normal_mixture = "normal-mixture"


class Mechanism(StrEnum):
    unweighted = "unweighted"
    lw = "lw"
    cw = "cw"
    marginal = "marginal"
    pairwise = "pairwise"
    sw = "sw"
    weighted_epsilon = "weighted-epsilon"
    censored = "censored"
    perturbed_histogram = "perturbed-histogram"


class Engine(StrEnum):
    native = "native"
    ensemble = "ensemble"
    cmdstan = "cmdstan"
    rstan = "rstan"
    pystan = "pystan"


class LogLik(StrEnum):
    weighted = "weighted"
    plain = "plain"


class RadiusKind(StrEnum):
    percentage = "percentage"
    absolute = "absolute"


class OutcomeScale(StrEnum):
    identity = "identity"
    log = "log"
    signed_log = "signed-log"


class Labels(StrEnum):
    full_conditional = "full-conditional"
    prior = "prior"


class CensoredWeights(StrEnum):
    lw = "lw"
    cw = "cw"
    none = "none"


class Neighbours(StrEnum):
    replace_one = "replace"
    loo = "loo"


class Noise(StrEnum):
    secret = "secret"
    seeded_float = "seeded-float"
