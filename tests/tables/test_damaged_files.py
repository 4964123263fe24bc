"""Damaged files of columns: refused in one line, or read; never a panic that polars prints."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pyvws.errors import InputError
from pyvws.tables.files.read import read_table, write_table
from pyvws.tables.files.steps import open_large, rough_size


@pytest.mark.runs
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_changed_byte_ends_in_a_sentence_or_a_table(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(4)
    table = pl.DataFrame(
        {"y": rng.poisson(9, 40), "x": rng.random(40), "g": rng.choice(["a", "b"], 40)}
    )
    whole, path = tmp_path / f"whole.{kind}", tmp_path / f"damaged.{kind}"
    write_table(table, whole, format=kind)
    content = whole.read_bytes()
    said = []
    for _ in range(300):
        place, value = int(rng.integers(len(content))), int(rng.integers(256))
        path.write_bytes(content[:place] + bytes([value]) + content[place + 1 :])
        for act in (rough_size, read_table, lambda file: open_large(file).tally(["g", "y"])):
            try:
                act(path)
            except InputError as error:
                said.append(str(error))
    assert len(said) > 30
    assert not any("\n" in message for message in said)
    assert "panicked" not in capfd.readouterr().err
