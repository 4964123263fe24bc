"""A job in a process of its own: its memory is not this one's, and its error comes back."""

import os

import pytest
from pyvws_studies.own_process import in_own_process, peak_gigabytes

from pyvws.errors import InputError

pytestmark = pytest.mark.runs


def peak_of(megabytes: int) -> tuple[int, float]:
    """The process, and its peak after it held so much."""
    held = bytearray(b"x") * (megabytes * 10**6)
    return os.getpid() if held else 0, peak_gigabytes()


def refuse(name: str) -> None:
    raise InputError(f"No {name}.")


def test_memory_is_that_of_the_job_alone() -> None:
    peak_of(400)  # This process has held more.
    (first, small), (second, large) = in_own_process(peak_of, 1), in_own_process(peak_of, 300)
    assert len({first, second, os.getpid()}) == 3
    assert small < 0.3 < large < peak_gigabytes()


def test_an_error_comes_back() -> None:
    with pytest.raises(InputError, match="No table"):
        in_own_process(refuse, "table")
