"""The seed of a run: a whole number, or a long one drawn at random."""

from __future__ import annotations

import hashlib
import secrets

from pyvws._base.checks import whole_number


def chosen_seed(seed: int | None) -> int:
    """The seed, at least 0; a drawn one for None."""
    return drawn_seed() if seed is None else whole_number(seed, "seed", least=0)


def drawn_seed() -> int:
    """A random seed of 63 bits, the most that TOML holds; the highest bit is always 1."""
    return 1 << 62 | secrets.randbits(62)


def public_seed(seed: int) -> int:
    """A seed of 62 bits that may be released, which tells nothing of the long seed it follows from.

    So a seed that another run keeps confidential may be given again.
    """
    return int.from_bytes(hashlib.sha256(f"public {seed}".encode()).digest()[:8]) >> 2
