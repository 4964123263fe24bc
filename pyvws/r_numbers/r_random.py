"""R's random numbers, to the bit and without R: `RRandom`.

Under R's default kinds of generator, the Mersenne Twister with inversion for normal numbers, calls
on one object use up the stream as the same calls do in R after ``set.seed``. Each distribution has
a module of its own, written from the published algorithm that R's help pages name.

Logarithms, exponentials and roots are those of the C library, which R calls too. Every number was
compared with R 4.2 on Linux with x86-64; another C library or a processor on which R was compiled
with fused operations can differ in last bits.

R's stream is for reproducing R's results. It is neither secret nor fit to protect anything.
"""

from __future__ import annotations

from pyvws.r_numbers._continuous import Continuous
from pyvws.r_numbers._counts import Counts
from pyvws.r_numbers._sample import Samples

__all__ = ["RRandom"]


class RRandom(Continuous, Counts, Samples):
    """A stream of R's default generator after ``set.seed(seed)``.

    `runif`, `rnorm`, `rexp`, `rgamma`, `rbeta`, `rpois`, `rbinom`, `rnbinom`, `rnegbin`,
    `rmultinom`, `sample` and `sample_int` give what R gives, in one stream. Parameters may be
    vectors, which are repeated as in R.

    Parameters
    ----------
    seed : int
        R's integers, from -(2^31 - 1) to 2^31 - 1.
    sample_kind : {"rejection", "rounding"}
        How samples are drawn: "rejection" as R does since 3.6, "rounding" as before, for
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
