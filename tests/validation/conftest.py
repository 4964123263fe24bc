"""What tests of the errata list share."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pyvws_validation.errata import conventions, errata

from pyvws.r import bridge


def words(number: float) -> str:
    return "nan" if math.isnan(number) else repr(number)


@pytest.fixture
def shows() -> Callable[[str, Any, Any], None]:
    """Check that two computed results are those that an entry of the list states."""
    entries = {entry.id: entry for entry in errata()}

    def check(entry: str, as_printed: Any, as_meant: Any) -> None:
        stated = entries[entry].as_printed, entries[entry].as_meant
        for computed, value in zip((as_printed, as_meant), stated, strict=True):
            if isinstance(computed, str) or isinstance(value, str):
                found = (
                    "nan" if not isinstance(computed, str) and math.isnan(computed) else computed
                )
                assert found == value
            else:
                assert computed == pytest.approx(value, rel=5e-4, abs=1e-12)
        assert stated[0] != stated[1]

    return check


@pytest.fixture
def printed() -> Callable[[str, int], list[float]]:
    """The numbers in one quote of an entry, in their order."""
    quotes = {entry.id: entry.quotes for entry in (*errata(), *conventions())}

    def numbers(entry: str, place: int) -> list[float]:
        return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", quotes[entry][place])]

    return numbers


@pytest.fixture
def in_r() -> Callable[..., Any]:
    """Run lines of R in a place of their own; the number `result`, or "stops" where R does."""

    def run(code: str, **inputs: Any) -> Any:
        arguments = {"code": code, "inputs": inputs, "results": np.array(["result"], dtype=object)}
        try:
            return float(bridge.call("listings", "run_listing", arguments)["result"][0])
        except bridge.RError:
            return "stops"

    return run
