"""Tables 5 and 6 of the risk-efficient paper and Table 2 of its supplement.

python validation/reproduce/tables_5_6_risk_efficient.py --seed 1 --jobs 2
"""

import sys

from pyvws_studies.risk_efficient import risk_efficient_tables
from pyvws_validation.reproduce import main

if __name__ == "__main__":
    about = __doc__.partition("\n")[0]
    sys.exit(main(risk_efficient_tables, about))
