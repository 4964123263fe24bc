"""Vector-weighted pseudo posterior synthesizers for confidential microdata, checked against R.

A confidential table goes in, synthetic datasets with a privacy statement come out. The package
loads most names at their first use: importing the package touches neither pandas, numba nor R.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from pyvws.mechanisms.histogram.perturbed_histogram import (
    perturbed_histogram as perturbed_histogram,
)

# The package loads a function with the name of its module at once: importing the module later
# would otherwise put the module in the function's place.
from pyvws.risks.attribute_risk import attribute_risk as attribute_risk
from pyvws.risks.identification_risk import identification_risk as identification_risk

__version__ = "0.1.0"

_PUBLIC: Final[dict[str, str]] = {
    "Audit": "pyvws.auditing.audit",
    "AttackRisk": "pyvws.evaluation.attack_risk",
    "AttributeRisk": "pyvws.risks.attribute_risk",
    "Beta": "pyvws.models.beta",
    "CanaryAudit": "pyvws.auditing.canaries",
    "Censored": "pyvws.mechanisms.censored",
    "ConvergenceError": "pyvws.errors",
    "ConvergenceWarning": "pyvws.errors",
    "Column": "pyvws.tables.schema.column",
    "Comparison": "pyvws.comparison.found",
    "ConditionalTable": "pyvws.models.conditional_table",
    "CountWeighted": "pyvws.mechanisms.count_weighted",
    "DisclosureWarning": "pyvws.errors",
    "ExistingFit": "pyvws.synthesis.existing_fit",
    "Gamma": "pyvws.models.gamma",
    "GivenWeights": "pyvws.mechanisms.given_weights",
    "InputError": "pyvws.errors",
    "InverseWeighted": "pyvws.mechanisms.inverse_weighted",
    "JointBounds": "pyvws.bounds.joint",
    "LipschitzBounds": "pyvws.bounds.lipschitz",
    "LipschitzWeighted": "pyvws.mechanisms.lipschitz_weighted",
    "Logistic": "pyvws.models.logistic",
    "MarginalWeighted": "pyvws.mechanisms.count_weighted",
    "MisfitWarning": "pyvws.errors",
    "MissingDependencyError": "pyvws.errors",
    "NegativeBinomial": "pyvws.models.negative_binomial",
    "NoisyCounts": "pyvws.mechanisms.noisy_counts",
    "NoisyHistogram": "pyvws.mechanisms.histogram.perturbed_histogram",
    "Nominal": "pyvws.models.nominal",
    "Normal": "pyvws.models.normal",
    "NormalMixture": "pyvws.models.normal_mixture",
    "Ordinal": "pyvws.models.ordinal",
    "OutputError": "pyvws.errors",
    "PairwiseWeighted": "pyvws.mechanisms.count_weighted",
    "PerturbedHistogram": "pyvws.mechanisms.perturbed_histogram",
    "Poisson": "pyvws.models.poisson",
    "PublishedTable": "pyvws.evaluation.published_table",
    "PyvwsError": "pyvws.errors",
    "RRandom": "pyvws.r_numbers.r_random",
    "Release": "pyvws.release.release",
    "SamplerSettings": "pyvws.engines.sampler_settings",
    "Schema": "pyvws.tables.schema.schema",
    "ScalarWeighted": "pyvws.mechanisms.scalar_weighted",
    "SearchError": "pyvws.errors",
    "TableRisk": "pyvws.evaluation.table_risk",
    "TableUtility": "pyvws.evaluation.table_scores",
    "Synthesizer": "pyvws.release.synthesizer",
    "TruncatedNormal": "pyvws.models.truncated_normal",
    "VerificationAnswer": "pyvws.release.verification",
    "Unweighted": "pyvws.mechanisms.unweighted",
    "UserProgram": "pyvws.engines.user_program",
    "WeightedEpsilon": "pyvws.mechanisms.weighted_epsilon",
    "associations": "pyvws.evaluation.associations",
    "attack_risk": "pyvws.evaluation.attack_risk",
    "audit": "pyvws.auditing.audit",
    "bootstrap_interval": "pyvws.evaluation.bootstrap",
    "censored_share": "pyvws.posterior.censoring",
    "clamp_log_likelihood": "pyvws.posterior.censoring",
    "combine": "pyvws.evaluation.combining_rules",
    "combine_formula": "pyvws.evaluation.combining_rules",
    "compare": "pyvws.comparison.compare",
    "counted_cells": "pyvws.evaluation.counted_cells",
    "downscale": "pyvws.weights.weights",
    "ecdf_utility": "pyvws.evaluation.one_column",
    "epsilon_per_draw": "pyvws.statement.several_draws",
    "example": "pyvws.tables.files.example",
    "forecast": "pyvws.synthesis.forecast",
    "four_way_weights": "pyvws.risks.pairwise",
    "from_arviz": "pyvws.synthesis.existing_fit",
    "from_cmdstan_csv": "pyvws.synthesis.existing_fit",
    "from_log_lik": "pyvws.synthesis.existing_fit",
    "from_stanfit": "pyvws.synthesis.existing_fit",
    "interval_overlap": "pyvws.evaluation.regression_utility",
    "inverse_weights": "pyvws.weights.weights",
    "joint_bounds": "pyvws.bounds.joint",
    "lipschitz_bounds": "pyvws.bounds.lipschitz",
    "lipschitz_weights": "pyvws.weights.weights",
    "match_risk": "pyvws.evaluation.match_risk",
    "pairwise_weights": "pyvws.risks.pairwise",
    "pmse": "pyvws.evaluation.pmse",
    "quantile": "pyvws.r_numbers.rarith",
    "regression_utility": "pyvws.evaluation.regression_utility",
    "risk_summary": "pyvws.evaluation.whack_a_mole",
    "reweight": "pyvws.weights.weights",
    "risk_weights": "pyvws.weights.weights",
    "scalar_weights": "pyvws.weights.weights",
    "synthesize": "pyvws.release.synthesizer",
    "synthesize_from_histogram": "pyvws.mechanisms.histogram.perturbed_histogram",
    "table_risk": "pyvws.evaluation.table_risk",
    "table_utility": "pyvws.evaluation.table_utility",
    "tabulate": "pyvws.evaluation.published_table",
    "three_way_weights": "pyvws.risks.pairwise",
    "total_epsilon": "pyvws.statement.several_draws",
    "topcode": "pyvws.evaluation.topcoding",
    "utility_table": "pyvws.evaluation.one_column",
    "verify": "pyvws.release.verification",
    "weighted_epsilon_weights": "pyvws.weights.weights",
    "whack_a_mole": "pyvws.evaluation.whack_a_mole",
}

# Modules that group the names above for one kind of user, or that hold figures.
_DOORS: Final = ("errors", "families", "judge", "mechanisms", "papers", "plots")

# What a first week needs. `dir` shows these and the doors; each other name stands in a door too.
_FIRST: Final = (
    *("Column", "ExistingFit", "Release", "SamplerSettings", "Schema", "Synthesizer"),
    *("UserProgram", "attack_risk", "audit", "combine", "combine_formula", "compare"),
    *("counted_cells", "example", "forecast", "from_arviz", "from_cmdstan_csv", "from_log_lik"),
    *("from_stanfit", "regression_utility", "synthesize", "table_risk", "table_utility"),
    *("tabulate", "total_epsilon"),
)

# What scripts outside the project call here. Any other name is to be had from its door.
_CALLED: Final = (
    *("Censored", "InverseWeighted", "NoisyCounts", "RRandom", "associations"),
    *("bootstrap_interval", "ecdf_utility", "inverse_weights", "joint_bounds", "lipschitz_bounds"),
    *("lipschitz_weights", "pairwise_weights", "quantile", "reweight", "risk_weights"),
    *("scalar_weights", "verify"),
)

__all__ = [
    "__version__",
    *sorted([*_PUBLIC, "attribute_risk", "identification_risk", "perturbed_histogram"]),
]


def __getattr__(name: str) -> Any:
    if name in _DOORS:
        return import_module(f"pyvws.{name}")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'pyvws' has no attribute {name!r}")
    if name not in (*_FIRST, *_CALLED):
        door = next(door for door in _DOORS if name in dir(import_module(f"pyvws.{door}")))
        why = f"pyvws.{name} goes with the next version. Take pyvws.{door}.{name}."
        warnings.warn(why, DeprecationWarning, stacklevel=2)
        return _handed_on(name)
    globals()[name] = _handed_on(name)
    return globals()[name]


def _handed_on(name: str) -> Any:
    """The object of a public name, from the module that has it."""
    return getattr(import_module(_PUBLIC[name]), name) if name in _PUBLIC else globals()[name]


def __dir__() -> list[str]:
    return sorted(["__version__", *_FIRST, *_DOORS])


def _door(
    module: str, names: tuple[str, ...]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module that hands on public names at their first use."""

    def found(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return _handed_on(name)

    return found, lambda: sorted(names)
