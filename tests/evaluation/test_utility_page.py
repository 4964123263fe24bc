"""The table of docs/utility.md that shows what one margin does not see, computed anew.

Orders and samples are random, so each figure is held to what differs from one to another.
"""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pyvws import table_utility

_ROOT = Path(__file__).parents[2]
_CE = _ROOT.parent / "shared" / "data" / "ce_2017.csv"
_WITHIN = {  # Some four times what such figures differ from one random order or sample to another.
    "U_m of income": 0.015,
    "`k_marginal`": 4.0,
    "`s_pmse`": 2.0,
    "`associations`": 0.01,
    "associations of income kept": 0.06,
}


def shown() -> dict[str, list[float]]:
    """The figures of the page: permuted income, a bootstrap, independent columns."""
    page = (_ROOT / "docs" / "utility.md").read_text(encoding="utf-8")
    table = page.split("## One margin is not a table")[1].split("\n\n")[2]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {name: list(map(float, cells)) for name, *cells in rows[2:]}


@pytest.mark.runs
def test_the_page_s_figures_are_those_of_the_file():
    if not _CE.exists():
        assert not os.environ.get("CI"), f"{_CE.name} must be there in CI"
        pytest.skip(f"needs {_CE.name}, which lies beside the checkout of the developers")
    original, rng = pl.read_csv(_CE), np.random.default_rng(1)

    def permuted(*names: str) -> pl.DataFrame:
        orders = {name: rng.permutation(len(original)) for name in names}
        return original.with_columns(original[name].gather(order) for name, order in orders.items())

    tables = permuted("Income"), original.sample(fraction=1.0, with_replacement=True, seed=1)
    page = shown()
    assert set(page) == set(_WITHIN)
    for place, table in enumerate((*tables, permuted(*original.columns))):
        found = table_utility(original, [table])
        income = next(one for one in found.columns if one.name == "Income")
        scores = {f"`{one.name}`": one.value for one in found.scores}
        scores |= {"U_m of income": income.margin}
        scores |= {"associations of income kept": income.associations_kept}
        for name, cells in page.items():
            assert abs(scores[name] - cells[place]) <= _WITHIN[name], (name, place)
