"""Table 1 of the 2024 paper, before and after re-weighting, and the bound of Appendix 6.

python validation/reproduce/table1_2024.py --seed 1 --jobs 2
"""

import sys

from pyvws_studies.mixture_table import table_1
from pyvws_validation.reproduce import main

if __name__ == "__main__":
    about = __doc__.partition("\n")[0]
    sys.exit(main(table_1, about))
