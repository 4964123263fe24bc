"""What analysts need of three files: made-up files of their columns, by the command, and docs."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from documents import ROOT
from pyvws_studies import needs
from pyvws_studies.whole_tables import DESIGNS
from refusals import refused
from run_here import run_here

import pyvws as vws

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")

KEPT = ROOT / "docs/studies/needs.csv"


def _files(folder: Path, n: int = 600) -> None:
    """Records with columns of the two files of R packages; 2 in 100 have hy040n, 1 hy080n."""
    rng = np.random.default_rng(4)
    age, sex = rng.integers(0, 90, n), rng.choice(["female", "male"], n)
    grown = {"pb220a": rng.choice(["AT", "EU"], n), "py010n": rng.choice([0.0, 9e3, 2e4], n)}
    rare = {name: np.where(np.arange(n) < k, 5e3, 0.0) for name, k in (("40", 12), ("80", 5))}
    silc = {"db030": np.arange(n) // 2, "rb030": np.arange(n), "age": age, "rb090": sex, **grown}
    silc |= {"hsize": rng.integers(1, 4, n), "db040": rng.choice(["Tyrol", "Styria"], n)}
    silc |= {f"hy0{name}n": own for name, own in rare.items()}
    silc["eqIncome"] = (silc["py010n"] + rng.gamma(5.0, 2e3, n)).round(2)
    made = pl.DataFrame(silc).with_columns(
        pl.when(pl.col("age") < 16).then(None).otherwise(pl.col(name)).alias(name) for name in grown
    )
    made.write_csv(folder / "eusilc.csv", null_value="NA")
    own = {"sex": sex, "age": age, "edu": rng.choice(["LOW", "HIGH"], n)}
    own |= {"marital": rng.choice(["SINGLE", "MARRIED"], n), "smoke": rng.choice(["NO", "YES"], n)}
    own |= {"depress": rng.poisson(4.0, n), "income": (500 + 10 * age + rng.normal(0, 99, n)) // 1}
    pl.DataFrame(own).write_csv(folder / "SD2011.csv")


def test_each_file_has_its_rows_by_one_command(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    _files(data)
    run = run_here("study", "needs", "--data", data, "--runs", "2", "--out", out)
    assert run.code == 0, run.err
    assert "Left out: ma2019.csv, which the folder lacks." in run.err
    rows = pl.read_csv(out / "table.csv").to_dicts()
    for name in ("SD2011.csv", "eusilc.csv"):
        own = [row for row in rows if row["file"] == name]
        asked = [*needs.FILES[name].needs]
        assert [row["figure"] for row in own if row["kind"] == "regression"] == [*asked] * 3
        pairs = [row for row in own if row["kind"] == "pairs"]
        assert [(row["epsilon"], row["delta"]) for row in pairs[:2]] == [*needs.OF_MANY]
        assert pairs[2]["mean"] < pairs[3]["mean"] <= 1000.0
        assert all(row["worst"] <= row["mean"] for row in pairs)
    amounts = {row["figure"]: row["mean"] for row in rows if row["kind"] == "amount"}
    assert [*amounts] == ["py010n", "hy040n"]
    assert amounts["hy040n"] > -60.0  # A proposal makes it a constant 0, of -100.


def test_coefficients_are_counted_in_standard_errors_of_the_records(tmp_path: Path) -> None:
    _files(tmp_path)
    file, need = needs.FILES["SD2011.csv"], "income ~ age + sex + edu"
    frame = file.read(tmp_path / "SD2011.csv")
    made = needs._Made("SD2011.csv", file, frame, file.schema(frame), vws.synthesize, 1, 1)
    assert made._off(need, frame) == 0.0
    shifted = frame.with_columns(pl.col("income") + 10.0)
    fit = made._fitted(need, frame)
    expected = 10.0 / np.sqrt(fit.variances[0]) / len(fit.names)
    assert made._off(need, shifted) == pytest.approx(expected)


def test_other_files_are_refused(tmp_path: Path) -> None:
    given = {"synthesize": vws.synthesize, "seed": 1}
    with refused("folder-of-no-file"):
        needs.run(tmp_path, **given)
    ten = {name: [1, 2] for name in DESIGNS["ma2019"].source if name != "EDU"}
    pl.DataFrame(ten).write_csv(tmp_path / "ma2019.csv")
    with refused("file-lacks-columns") as error:
        needs.run(tmp_path, **given)
    assert "EDU" in str(error.value)


def test_the_page_shows_what_the_command_wrote() -> None:
    page = (ROOT / "docs/noisy-counts.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("### What analysts need\n")
    section, _, _ = rest.partition("\n### ")
    rows = pl.read_csv(KEPT).to_dicts()
    means = {f"{row['mean']:.{d}f}" for row in rows for d in (1, 2)}
    shown = re.findall(r"(?<=\| )-?\d+\.\d+", section)
    assert len(shown) > 10
    assert {*shown} <= means
    for way in ("needs", "needs beside margins"):
        off = [row["mean"] for row in rows if row["way"] == way]
        assert f"{sum(x <= 1.5 for x in off)} of {len(off)}" in section
    amounts = [row for row in rows if row["kind"] == "amount"]
    high = [x["mean"] for x in amounts if x["mean"] > 2.0 * x["spread"] / (x["runs"] - 1) ** 0.5]
    words = ("two", "three", "four", "five", "six", "seven")
    assert f"{dict(enumerate(words, 2))[len(high)]} have" in " ".join(section.split())
    least = -min(row["mean"] for row in amounts)
    assert f"{min(high):.1f} to {max(high):.1f} percent" in section
    assert f"up to {least:.1f} percent" in section
