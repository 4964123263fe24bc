"""What a release shows in a notebook: its public statement, escaped, and nothing confidential."""

from __future__ import annotations

import polars as pl
import pytest

from pyvws.release.release import Release

pytestmark = pytest.mark.runs


def test_a_notebook_shows_public_figures_alone() -> None:
    privacy = {"mechanism": "lw", "guarantee": "asymptotic-dp", "epsilon_total": 4.2}
    privacy |= {"columns_released_unchanged": ["a<b", "town"]}
    secret = pl.DataFrame({"weight": [0.123456]})
    data = [pl.DataFrame({"y": [987654]})]
    made = Release(data, privacy, secret, secret, {"seed": 31415926}, config_with_seed="seed = 9")
    shown = made._repr_html_()
    assert "<td>epsilon_total</td><td>4.2</td>" in shown
    assert "<td>datasets</td><td>1</td>" in shown
    assert "a&lt;b, town" in shown
    for hidden in ("0.123456", "987654", "31415926", "weight", "seed"):
        assert hidden not in shown
