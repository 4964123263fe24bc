"""What type checkers see of pyvws.families.

Written by tools/declared.py.
"""

from pyvws import Beta as Beta
from pyvws import ConditionalTable as ConditionalTable
from pyvws import Gamma as Gamma
from pyvws import Logistic as Logistic
from pyvws import NegativeBinomial as NegativeBinomial
from pyvws import Nominal as Nominal
from pyvws import Normal as Normal
from pyvws import NormalMixture as NormalMixture
from pyvws import Ordinal as Ordinal
from pyvws import Poisson as Poisson
from pyvws import TruncatedNormal as TruncatedNormal
