"""The prior that the classes of noisy counts have in common, by draws."""

from functools import cache

import numpy as np

MANY = 200_000


def prior_draws(levels: int, seed: int) -> np.ndarray:
    """Draws (many, levels) of c m: the parameters of the prior of the shares in every class."""
    rng = np.random.default_rng(seed)
    common = rng.dirichlet(np.full(levels, 0.5), MANY)
    return np.maximum(rng.exponential(5.0, MANY)[:, None] * common, 1e-9)


@cache
def log_codes(*counts: tuple[int, ...]) -> float:
    """log p of the codes of all classes, with so many records of each code in each class."""
    a = prior_draws(len(counts[0]), seed=2)
    log_p = np.zeros(MANY)
    for own in counts:
        for code, n in enumerate(own):
            log_p += np.log(a[:, [code]] + np.arange(n)).sum(axis=1)
        log_p -= np.log(a.sum(axis=1)[:, None] + np.arange(sum(own))).sum(axis=1)
    return float(np.log(np.exp(log_p).mean()))
