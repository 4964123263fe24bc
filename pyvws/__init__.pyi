"""What type checkers see of the names that are loaded when first used.

Written by tools/declared.py.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pyvws import errors as errors
from pyvws import families as families
from pyvws import judge as judge
from pyvws import mechanisms as mechanisms
from pyvws import papers as papers
from pyvws import plots as plots
from pyvws.auditing.audit import Audit as Audit
from pyvws.auditing.audit import audit as audit
from pyvws.auditing.canaries import CanaryAudit as CanaryAudit
from pyvws.bounds.joint import JointBounds as JointBounds
from pyvws.bounds.joint import joint_bounds as joint_bounds
from pyvws.bounds.lipschitz import LipschitzBounds as LipschitzBounds
from pyvws.bounds.lipschitz import lipschitz_bounds as lipschitz_bounds
from pyvws.comparison.compare import compare as compare
from pyvws.comparison.found import Comparison as Comparison
from pyvws.engines.engine import Engine
from pyvws.engines.sampler_settings import SamplerSettings as SamplerSettings
from pyvws.engines.user_program import UserProgram as UserProgram
from pyvws.errors import ConvergenceError as ConvergenceError
from pyvws.errors import ConvergenceWarning as ConvergenceWarning
from pyvws.errors import DisclosureWarning as DisclosureWarning
from pyvws.errors import InputError as InputError
from pyvws.errors import MisfitWarning as MisfitWarning
from pyvws.errors import MissingDependencyError as MissingDependencyError
from pyvws.errors import OutputError as OutputError
from pyvws.errors import PyvwsError as PyvwsError
from pyvws.errors import SearchError as SearchError
from pyvws.evaluation.associations import associations as associations
from pyvws.evaluation.attack_risk import AttackRisk as AttackRisk
from pyvws.evaluation.attack_risk import attack_risk as attack_risk
from pyvws.evaluation.bootstrap import bootstrap_interval as bootstrap_interval
from pyvws.evaluation.combining_rules import combine as combine
from pyvws.evaluation.combining_rules import combine_formula as combine_formula
from pyvws.evaluation.counted_cells import counted_cells as counted_cells
from pyvws.evaluation.match_risk import match_risk as match_risk
from pyvws.evaluation.one_column import ecdf_utility as ecdf_utility
from pyvws.evaluation.one_column import utility_table as utility_table
from pyvws.evaluation.pmse import pmse as pmse
from pyvws.evaluation.published_table import PublishedTable as PublishedTable
from pyvws.evaluation.published_table import tabulate as tabulate
from pyvws.evaluation.regression_utility import interval_overlap as interval_overlap
from pyvws.evaluation.regression_utility import regression_utility as regression_utility
from pyvws.evaluation.table_risk import TableRisk as TableRisk
from pyvws.evaluation.table_risk import table_risk as table_risk
from pyvws.evaluation.table_scores import TableUtility as TableUtility
from pyvws.evaluation.table_utility import table_utility as table_utility
from pyvws.evaluation.topcoding import topcode as topcode
from pyvws.evaluation.whack_a_mole import risk_summary as risk_summary
from pyvws.evaluation.whack_a_mole import whack_a_mole as whack_a_mole
from pyvws.mechanisms.censored import Censored as Censored
from pyvws.mechanisms.count_weighted import CountWeighted as CountWeighted
from pyvws.mechanisms.count_weighted import MarginalWeighted as MarginalWeighted
from pyvws.mechanisms.count_weighted import PairwiseWeighted as PairwiseWeighted
from pyvws.mechanisms.given_weights import GivenWeights as GivenWeights
from pyvws.mechanisms.histogram.perturbed_histogram import NoisyHistogram as NoisyHistogram
from pyvws.mechanisms.histogram.perturbed_histogram import (
    perturbed_histogram as perturbed_histogram,
)
from pyvws.mechanisms.histogram.perturbed_histogram import (
    synthesize_from_histogram as synthesize_from_histogram,
)
from pyvws.mechanisms.inverse_weighted import InverseWeighted as InverseWeighted
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted as LipschitzWeighted
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.mechanisms.noisy_counts import NoisyCounts as NoisyCounts
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram as PerturbedHistogram
from pyvws.mechanisms.scalar_weighted import ScalarWeighted as ScalarWeighted
from pyvws.mechanisms.unweighted import Unweighted as Unweighted
from pyvws.mechanisms.weighted_epsilon import WeightedEpsilon as WeightedEpsilon
from pyvws.models.beta import Beta as Beta
from pyvws.models.conditional_table import ConditionalTable as ConditionalTable
from pyvws.models.gamma import Gamma as Gamma
from pyvws.models.logistic import Logistic as Logistic
from pyvws.models.model import Model
from pyvws.models.negative_binomial import NegativeBinomial as NegativeBinomial
from pyvws.models.nominal import Nominal as Nominal
from pyvws.models.normal import Normal as Normal
from pyvws.models.normal_mixture import NormalMixture as NormalMixture
from pyvws.models.ordinal import Ordinal as Ordinal
from pyvws.models.poisson import Poisson as Poisson
from pyvws.models.truncated_normal import TruncatedNormal as TruncatedNormal
from pyvws.posterior.censoring import censored_share as censored_share
from pyvws.posterior.censoring import clamp_log_likelihood as clamp_log_likelihood
from pyvws.r_numbers.r_random import RRandom as RRandom
from pyvws.r_numbers.rarith import quantile as quantile
from pyvws.release.release import Release as Release
from pyvws.release.synthesizer import Synthesizer as Synthesizer
from pyvws.release.verification import VerificationAnswer as VerificationAnswer
from pyvws.release.verification import verify as verify
from pyvws.risks.attribute_risk import AttributeRisk as AttributeRisk
from pyvws.risks.attribute_risk import attribute_risk as attribute_risk
from pyvws.risks.identification_risk import identification_risk as identification_risk
from pyvws.risks.pairwise import four_way_weights as four_way_weights
from pyvws.risks.pairwise import pairwise_weights as pairwise_weights
from pyvws.risks.pairwise import three_way_weights as three_way_weights
from pyvws.statement.several_draws import epsilon_per_draw as epsilon_per_draw
from pyvws.statement.several_draws import total_epsilon as total_epsilon
from pyvws.synthesis.existing_fit import ExistingFit as ExistingFit
from pyvws.synthesis.existing_fit import from_arviz as from_arviz
from pyvws.synthesis.existing_fit import from_cmdstan_csv as from_cmdstan_csv
from pyvws.synthesis.existing_fit import from_log_lik as from_log_lik
from pyvws.synthesis.existing_fit import from_stanfit as from_stanfit
from pyvws.synthesis.forecast import forecast as forecast
from pyvws.tables.files.example import example as example
from pyvws.tables.schema.column import Column as Column
from pyvws.tables.schema.schema import Schema as Schema
from pyvws.weights.weights import downscale as downscale
from pyvws.weights.weights import inverse_weights as inverse_weights
from pyvws.weights.weights import lipschitz_weights as lipschitz_weights
from pyvws.weights.weights import reweight as reweight
from pyvws.weights.weights import risk_weights as risk_weights
from pyvws.weights.weights import scalar_weights as scalar_weights
from pyvws.weights.weights import weighted_epsilon_weights as weighted_epsilon_weights

__version__: str
__all__: list[str]

def synthesize(
    frame: Any,
    *,
    outcome: str | None = None,
    schema: str | Path | Schema | None = None,
    model: str | Model = "negative-binomial",
    mechanism: str | Mechanism | None = None,
    formula: str = "~ 1",
    column: str | Mapping[str, Any] | None = None,
    keep: Sequence[str] | list[str] | str = (),
    unit: str | None = None,
    datasets: int = 5,
    draws_per_release: int | None = None,
    sampling: str = "independent",
    reweight: bool = False,
    tolerance: float = 0.05,
    accept_above_target: bool = False,
    threshold: float = 1.0,
    round: bool = False,
    keep_order: bool = False,
    k: float = 0.95,
    epsilon: float | None = None,
    accounting: Literal["papers", "window"] = "papers",
    total_epsilon: float | None = None,
    delta: float | None = None,
    accept_delta: bool = False,
    types: str = "schema",
    records: int | Literal["noisy"] | None = None,
    records_epsilon: float | None = None,
    accept_unconverged: bool = False,
    compared: bool = False,
    after: Sequence[str] | list[str] | str = (),
    downscale: bool = False,
    most_seconds: float = 300.0,
    engine: str | Engine = "native",
    program: UserProgram | None = None,
    existing_fit: ExistingFit | Mapping[str, ExistingFit] | None = None,
    outcome_scale: str | None = None,
    outcome_centre: float | None = None,
    outcome_unit: float | None = None,
    smallest_sd: float | None = None,
    range: Sequence[float] | None = None,
    largest_shape: float | None = None,
    levels: Sequence[float] | Sequence[str] | None = None,
    coefficient_sd: float | None = None,
    concentration: float | None = None,
    squeeze: float | None = None,
    largest_kappa: float | None = None,
    components: int | None = None,
    gamma_shape: float | None = None,
    gamma_rate: float | None = None,
    labels: str | None = None,
    c: float | None = None,
    g: float | None = None,
    by_column: bool | None = None,
    map: str | None = None,
    t: float | None = None,
    power: float | None = None,
    search_t: bool | None = None,
    radius: float | None = None,
    radius_kind: str | None = None,
    known: Sequence[str] | None = None,
    match: Literal["lw"] | float | None = None,
    weights: str | None = None,
    clamp: str | None = None,
    weight_column: str | None = None,
    reference: str | None = None,
    stage_epsilon: float | None = None,
    bins: int | None = None,
    neighbours: str | None = None,
    edges_from_data: bool | None = None,
    allow_outside: bool | None = None,
    noise: str | None = None,
    measure: Sequence[str] | str | None = None,
    tables: Sequence[str] | str | None = None,
    cap: int | None = None,
    cells_share: float | None = None,
    classes: int | None = None,
    best_file: bool | None = None,
    needs: Sequence[str] | str | None = None,
    totals: str | None = None,
    draws: int = 1000,
    warmup: int = 1000,
    chains: int = 4,
    target_accept: float = 0.8,
    refit_warmup: int | None = None,
    grid_range: Sequence[float] = (),
    grid_steps: Sequence[int] = (),
    seed: int | None = None,
) -> Release: ...
