"""What a release shows in a notebook: its public statement, escaped, and nothing confidential."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from pyvws.errors import InputError
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


def made(datasets: list[pl.DataFrame]) -> Release:
    return Release(datasets, {}, pl.DataFrame(), pl.DataFrame(), {}, config_with_seed="")


def test_one_number_is_drawn_beside_the_data() -> None:
    rng = np.random.default_rng(1)
    data, other = (pl.DataFrame({"pay": rng.normal(size=90), "id": range(90)}) for _ in range(2))
    drawn = made([other.select("pay"), other.select("pay")]).plot(data)
    (axis,) = drawn.axes
    assert axis.get_xlabel() == "pay"
    assert [line.get_label() for line in axis.get_lines()] == ["Data", "Synthetic"]
    with pytest.raises(InputError, match="single category"):
        made([pl.DataFrame({"sex": ["f"]})]).plot(pl.DataFrame({"sex": ["m"]}))
    with pytest.raises(InputError, match="'pay'"):
        made([other.select("pay")]).plot(data.select("id"))


def test_a_table_is_drawn_by_its_associations() -> None:
    rng = np.random.default_rng(2)
    data = pl.DataFrame({"a": rng.integers(0, 3, 90), "b": rng.normal(size=90), "c": range(90)})
    drawn = made([data.select("a", "b")]).plot(data)
    assert len(drawn.axes) >= 3
    assert [label.get_text() for label in drawn.axes[0].get_yticklabels()] == ["a", "b"]
