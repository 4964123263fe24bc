"""Both pages of a table of 24 columns in a browser: nothing is wider than the page."""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from axe import findings
from run_here import run_here

import pyvws as vws
from pyvws import Column, Schema

pytestmark = pytest.mark.runs
_LEVELS = ("never", "rarely", "sometimes, when asked by the interviewer", "often", "always")
_NAMES = [f"answer_to_question_{place:02d}_of_the_interview" for place in range(1, 25)]
_MEASURE = """<script>addEventListener("load", () => {
const page = document.documentElement, boxes = [...document.querySelectorAll("main *")]
  .filter((one) => !one.closest(".scroll, pre"));
page.dataset.found = JSON.stringify({
  page: [page.scrollWidth, page.clientWidth],
  wide: boxes.filter((one) => one.getBoundingClientRect().right > page.clientWidth + 1)
    .map((one) => one.outerHTML.slice(0, 90)),
  cut: [...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth)
    .map((one) => one.innerText.slice(0, 40)),
  pictures: [...document.images].map((one) => one.complete && one.naturalWidth > 100),
  text: document.body.innerText,
}); });</script>"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    rng = np.random.default_rng(3)
    last, made = np.zeros(200, np.intp), {}
    for name in _NAMES:
        last = np.where(rng.random(200) < 0.5, last, rng.integers(0, 5, 200))
        made[name] = np.array(_LEVELS)[last]
    columns = {
        name: Column(model="table", levels=_LEVELS, predictors=tuple(_NAMES[max(0, at - 1) : at]))
        for at, name in enumerate(_NAMES)
    }
    release = vws.synthesize(
        pd.DataFrame(made), schema=Schema(columns), mechanism="lw", datasets=2, draws=50, chains=2,
        seed=1,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("wide")
    release.write(folder / "out")
    pd.DataFrame(made).to_csv(folder / "table.csv", index=False)
    run = run_here("report", folder / "out", "--original", folder / "table.csv")
    assert run.code == 0, run.err
    board = folder / "out/confidential/report.html"
    return (folder / "out/release/report.html").read_text(), board.read_text()


@pytest.mark.parametrize("width", [1280, 800])
def test_nothing_is_wider_than_the_page(
    pages: tuple[str, str], width: int, visit: Callable[..., tuple[str, list[str]]], tmp_path: Path
) -> None:
    def found(page: str) -> Any:
        free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
        (tmp_path / "page.html").write_text(free.replace("</body>", f"{_MEASURE}</body>"))
        dom, said = visit(tmp_path / "page.html", f"--window-size={width},900")
        assert said == []
        return json.loads(html.unescape(re.search(r'data-found="([^"]*)"', dom)[1]))

    for page, pictures in zip(pages, (2, 6), strict=True):
        seen = found(page)
        assert seen["page"][0] <= seen["page"][1]
        assert seen["wide"] == []
        if width == 1280:  # Two long names beside each other.
            assert all(one.startswith("The pairs of columns") for one in seen["cut"])
        assert len(seen["pictures"]) >= pictures
        assert all(seen["pictures"])
        assert [name for name in _NAMES if name not in seen["text"]] == []
    planted = found(pages[0].replace("</main>", '<p style="min-width: 3000px">x</p></main>'))
    assert planted["page"][0] > planted["page"][1]
    assert len(planted["wide"]) == 1


@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(
    pages: tuple[str, str], width: int, browser: str, tmp_path: Path
) -> None:
    names = [tmp_path / name for name in ("public.html", "board.html", "planted.html")]
    planted = pages[0].replace("</main>", '<img src="data:,"></main>')
    for path, page in zip(names, (*pages, planted), strict=True):
        path.write_text(page)
    found = findings(browser, names, width)
    assert len(found) == 1
    assert found[0].startswith("planted.html: image-alt: ")
