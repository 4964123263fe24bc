"""R's random numbers, to the bit and without R: `RRandom`.

R's default generator is the Mersenne Twister, with inversion for normal numbers. Calls on one
`RRandom` use up the stream as the same calls do in R after ``set.seed``. Each distribution has a
module of its own, written from the published algorithm that R's help pages name.

Logarithms, exponentials and roots come from the C library, which R calls too. The project
compared every number with R 4.2 on Linux with x86-64. The last bits can differ under another C
library, or where R was compiled with fused operations.

R's stream serves to reproduce R's results. The stream is not secret and must protect nothing.
"""

from __future__ import annotations

from pyvws.r_numbers._continuous import Continuous
from pyvws.r_numbers._counts import Counts
from pyvws.r_numbers._sample import Samples

__all__ = ["RRandom"]


class RRandom(Continuous, Counts, Samples):
    """A stream of R's default generator after ``set.seed(seed)``.

    `runif`, `rnorm`, `rexp`, `rgamma`, `rbeta`, `rpois`, `rbinom`, `rnbinom`, `rnegbin`,
    `rmultinom`, `sample` and `sample_int` give R's numbers from one stream. Parameters may be
    vectors, which repeat as in R.

    Parameters
    ----------
    seed : int
        One of R's integers, from -(2^31 - 1) to 2^31 - 1.
    sample_kind : {"rejection", "rounding"}
        The rule for samples. "rejection" is R's rule since 3.6. "rounding" is R's earlier rule, for
        ``RNGkind(sample.kind = "Rounding")`` and older archives.

    Raises
    ------
    InputError
        If the seed is no whole number or outside that range, or the kind is unknown.

    Examples
    --------
    >>> RRandom(123).runif(2).tolist()
    [0.28757752012461424, 0.7883051354438066]
    >>> stream = RRandom(1)
    >>> stream.rpois(3, [1, 10, 100]).tolist(), stream.rnorm(1).round(4).tolist()
    ([0, 8, 113], [1.2724])
    """

    __slots__ = ()
