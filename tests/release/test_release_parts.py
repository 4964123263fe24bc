"""A release as an object of Python: two of them can be compared, and the README's block repeats."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from documents import ROOT, blocks

import pyvws as vws
from pyvws.release.release import Release


def made() -> Release:
    table = pd.DataFrame({"y": [1, 2]})
    privacy = {"guarantee": "none", "epsilon_total": 1.0}
    return Release([table], privacy, table, table, {"seed": 1})


def test_a_release_is_equal_to_itself_alone() -> None:
    """Tables have no single answer to whether they are equal."""
    first, second = made(), made()
    assert first == first
    assert first != second
    assert first != replace(first)
    assert second in [first, second]
    assert len({first, second}) == 2


def test_the_block_of_the_readme_runs_twice_in_one_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Score:
        k_marginal = k_marginal_independent = k_marginal_bootstrap = 1.0

    def synthesize(*_: Any, **__: Any) -> Release:
        return made()

    monkeypatch.setattr(vws, "synthesize", synthesize)
    monkeypatch.setattr(vws, "table_utility", lambda *_, **__: Score)
    monkeypatch.chdir(tmp_path)
    block, *_ = blocks((ROOT / "README.md").read_text(), "python")
    for _ in range(2):
        exec(block, {})
    assert (tmp_path / "out" / "release" / "privacy.json").is_file()
