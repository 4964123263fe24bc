"""The notebook of the agency case: its cells run, and they show what the page shows."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from documents import ROOT, differences

_CASE = json.loads((ROOT / "docs" / "agency-case.ipynb").read_text(encoding="utf-8"))
_FIT = 'mechanism=\\"lw\\", datasets=5'
_SHORTER_FIT = f"{_FIT}, draws=400, warmup=400, chains=2"
_WITHIN = 2 / 3  # As "prints roughly": noise is secret, and two runs of a sampler differ.


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "tools")
    sys.modules.pop("notebook", None)
    import notebook

    return notebook


def outputs(notebook: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What each cell shows, beside its code."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            yield "".join(cell["source"]), output.get("data", {"printed": output.get("text")})


def plain(data: dict[str, Any]) -> str:
    told = "".join(data.get("printed") or data.get("text/html") or data["text/plain"])
    told = re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<style.*?</style>", "", told))
    told = told.partition("Which key makes")[0]  # One record is lone, copied by chance.
    return told.replace("NaN", "blank")  # No number equals it.


@pytest.mark.slow
@pytest.mark.draws
@pytest.mark.filterwarnings("ignore::pyvws.MisfitWarning", "ignore::pyvws.ConvergenceWarning")
def test_the_case_runs_and_shows_what_the_page_shows(notebook: Any, tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    text = json.dumps(_CASE)
    assert text.count(_FIT) == 1
    again = notebook.run(json.loads(text.replace(_FIT, _SHORTER_FIT)), tmp_path)
    kept, made = list(outputs(_CASE)), list(outputs(again))
    for (code, before), (_, after) in zip(kept, made, strict=True):
        assert before.keys() == after.keys(), code
        texts = (plain(one) for one in (before, after))
        assert list(differences(*texts, within=_WITHIN)) == [], code
    statement = json.loads((tmp_path / "out" / "release" / "privacy.json").read_text())
    assert (statement["guarantee"], statement["epsilon_total"]) == ("approximate-dp", 1.0)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["confidential", "release"]
    pictures = [data for _, data in made if "image/png" in data]
    assert len(pictures) == 3


def test_a_cell_shows_what_it_prints_and_its_last_line(notebook: Any, tmp_path: Path) -> None:
    cells = [
        {"cell_type": "code", "metadata": {}, "source": ["a = 2\n", "print('x', a)\n", "a + 1"]},
        {"cell_type": "code", "metadata": {}, "source": ["!echo $((1 + 1)) > two; cat two"]},
    ]
    made = list(outputs(notebook.run({"cells": cells}, tmp_path)))
    assert [plain(data) for _, data in made] == ["x 2\n", "3", "2\n"]
    assert (tmp_path / "two").read_text() == "2\n"
    text, pictures = notebook.page(notebook.run({"cells": cells}, tmp_path), "case")
    assert "```text\nx 2\n```" in text
    assert "```sh\necho" in text
    assert pictures == {}


def test_a_cell_that_fails_stops_the_notebook(notebook: Any, tmp_path: Path) -> None:
    cells = [{"cell_type": "code", "metadata": {}, "source": ["1 / 0"]}]
    with pytest.raises(ZeroDivisionError):
        notebook.run({"cells": cells}, tmp_path)
