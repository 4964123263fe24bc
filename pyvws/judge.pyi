"""What type checkers see of pyvws.judge.

Written by tools/declared.py.
"""

from pyvws import AttackRisk as AttackRisk
from pyvws import Audit as Audit
from pyvws import CanaryAudit as CanaryAudit
from pyvws import Comparison as Comparison
from pyvws import PublishedTable as PublishedTable
from pyvws import TableRisk as TableRisk
from pyvws import TableUtility as TableUtility
from pyvws import VerificationAnswer as VerificationAnswer
from pyvws import associations as associations
from pyvws import attack_risk as attack_risk
from pyvws import combine as combine
from pyvws import combine_formula as combine_formula
from pyvws import counted_cells as counted_cells
from pyvws import ecdf_utility as ecdf_utility
from pyvws import interval_overlap as interval_overlap
from pyvws import match_risk as match_risk
from pyvws import pmse as pmse
from pyvws import regression_utility as regression_utility
from pyvws import table_risk as table_risk
from pyvws import table_utility as table_utility
from pyvws import tabulate as tabulate
from pyvws import utility_table as utility_table
from pyvws import verify as verify
