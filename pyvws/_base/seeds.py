"""The seed of a run: a whole number, or a long one drawn at random."""

from __future__ import annotations

import hashlib
import secrets
from functools import cache

from pyvws._base.checks import whole_number


def chosen_seed(seed: int | None) -> int:
    """The seed, at least 0; a drawn one for None."""
    return drawn_seed() if seed is None else whole_number(seed, "seed", least=0)


def drawn_seed() -> int:
    """A random seed of 63 bits, the most that TOML holds; the highest bit is always 1."""
    return 1 << 62 | secrets.randbits(62)


def release_id(seed: int | None) -> str:
    """A name for a release, of 32 hexadecimal digits, which tells nothing of the table.

    The seed's own, where the seed brings the same release back; None draws one at random.
    """
    return secrets.token_hex(16) if seed is None else _id_of(seed)


@cache
def _id_of(seed: int) -> str:
    """A digest of the seed, slow by intent: nobody can try long seeds until one has this name."""
    return hashlib.pbkdf2_hmac("sha256", str(seed).encode(), b"release", 1 << 17, 16).hex()


def public_seed(seed: int) -> int:
    """A seed of 62 bits that may be released, which tells nothing of the long seed it follows from.

    So a seed that another run keeps confidential may be given again.
    """
    return int.from_bytes(hashlib.sha256(f"public {seed}".encode()).digest()[:8]) >> 2
