"""What a release shows in a notebook: its public statement, escaped, and nothing confidential."""

import json

import numpy as np
import polars as pl
import pytest
from refusals import refused

import pyvws as vws
from pyvws.release.release import Release
from pyvws.statement.statement import ShownStatement

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
    with refused("no-picture-of-category"):
        made([pl.DataFrame({"sex": ["f"]})]).plot(pl.DataFrame({"sex": ["m"]}))
    with refused("columns-lacking"):
        made([other.select("pay")]).plot(data.select("id"))


def test_a_table_is_drawn_by_its_associations() -> None:
    rng = np.random.default_rng(2)
    data = pl.DataFrame({"a": rng.integers(0, 3, 90), "b": rng.normal(size=90), "c": range(90)})
    drawn = made([data.select("a", "b")]).plot(data)
    assert len(drawn.axes) >= 3
    assert [label.get_text() for label in drawn.axes[0].get_yticklabels()] == ["a", "b"]


def test_a_statement_shows_figures_ledger_and_caveats_and_stays_a_dict() -> None:
    entries = {"mechanism": "l<w", "epsilon_by_neighbours": {"replace-one": {"total": None}}}
    entries |= {
        "ledger": [{"use": "fit 'LW'", "epsilon": "not accounted"}],
        "caveats": ["Read it."],
    }
    entries |= {"caveat_keys": [{"key": "once"}], "columns_numbered": []}
    statement = ShownStatement(entries)
    assert statement == entries
    assert json.loads(json.dumps(statement)) == entries
    shown = statement._repr_html_()
    assert "l&lt;w" in shown
    assert "<td>(replace-one: (total: none))</td>" in shown
    assert "<td>fit &#x27;LW&#x27;</td><td>not accounted</td>" in shown
    assert "<td>Read it.</td>" in shown
    assert "caveat_keys" not in shown
    assert "columns_numbered" not in shown


@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
def test_the_statement_of_a_run_shows_itself() -> None:
    data = pl.DataFrame({"y": np.random.default_rng(3).poisson(5, 60)})
    run = vws.synthesize(
        data, outcome="y", model="poisson", datasets=1, draws=100, seed=1, mechanism="lw"
    )
    assert "<td>guarantee</td><td>asymptotic-dp</td>" in run.privacy._repr_html_()


def test_a_schema_shows_its_columns_and_says_where_it_is_confidential() -> None:
    columns = {
        "sex": vws.Column(role="public", levels=["f", "m<"]),
        "pay": vws.Column(model="normal", range=[0, 9]),
    }
    shown = vws.Schema(columns)._repr_html_()
    cells = ("pay", "synthesize", "normal", "range = [0.0, 9.0]", "sex")
    assert "".join(f"<td>{cell}</td>" for cell in cells) in shown
    assert "m&lt;" in shown
    assert "confidential" not in shown
    proposed = vws.Schema(columns, reviewed=False)
    assert "confidential" in proposed._repr_html_()
    assert repr(proposed) == "Schema(under review, 2 columns: sex, pay)"
