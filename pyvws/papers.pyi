"""What type checkers see of pyvws.papers.

Written by tools/declared.py.
"""

from pyvws import AttributeRisk as AttributeRisk
from pyvws import JointBounds as JointBounds
from pyvws import LipschitzBounds as LipschitzBounds
from pyvws import NoisyHistogram as NoisyHistogram
from pyvws import RRandom as RRandom
from pyvws import attribute_risk as attribute_risk
from pyvws import bootstrap_interval as bootstrap_interval
from pyvws import censored_share as censored_share
from pyvws import clamp_log_likelihood as clamp_log_likelihood
from pyvws import combine as combine
from pyvws import downscale as downscale
from pyvws import ecdf_utility as ecdf_utility
from pyvws import epsilon_per_draw as epsilon_per_draw
from pyvws import four_way_weights as four_way_weights
from pyvws import identification_risk as identification_risk
from pyvws import inverse_weights as inverse_weights
from pyvws import joint_bounds as joint_bounds
from pyvws import lipschitz_bounds as lipschitz_bounds
from pyvws import lipschitz_weights as lipschitz_weights
from pyvws import pairwise_weights as pairwise_weights
from pyvws import perturbed_histogram as perturbed_histogram
from pyvws import quantile as quantile
from pyvws import reweight as reweight
from pyvws import risk_summary as risk_summary
from pyvws import risk_weights as risk_weights
from pyvws import scalar_weights as scalar_weights
from pyvws import synthesize_from_histogram as synthesize_from_histogram
from pyvws import three_way_weights as three_way_weights
from pyvws import topcode as topcode
from pyvws import total_epsilon as total_epsilon
from pyvws import utility_table as utility_table
from pyvws import weighted_epsilon_weights as weighted_epsilon_weights
from pyvws import whack_a_mole as whack_a_mole
