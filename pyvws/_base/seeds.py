"""The seed of a run: a whole number, or a long one drawn at random."""

from __future__ import annotations

import secrets

from pyvws._base.checks import whole_number


def chosen_seed(seed: int | None) -> int:
    """The seed, at least 0; a drawn one for None."""
    return drawn_seed() if seed is None else whole_number(seed, "seed", least=0)


def drawn_seed() -> int:
    """A random seed of 63 bits, the most that TOML holds; the highest bit is always 1."""
    return 1 << 62 | secrets.randbits(62)
