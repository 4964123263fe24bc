"""The figures that section 3.1 and Appendix 6 of the 2024 paper give in numbers for Poisson(100).

python validation/reproduce/poisson_2024.py --seed 1 --jobs 2
"""

import sys

from pyvws_studies.poisson_figures import poisson_figures
from pyvws_validation.reproduce import main

if __name__ == "__main__":
    about = __doc__.partition("\n")[0]
    sys.exit(main(poisson_figures, about))
