"""Judges code two tables alike, or refuse them: another spelling never makes a risk of 0."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyvws as vws
from pyvws import InputError, regression_utility
from pyvws.evaluation.k_marginal import k_marginal
from pyvws.tables.files.labels import spelled_levels

_RNG = np.random.default_rng(5)
N = 300
TABLE = pl.DataFrame(
    {
        "ill": _RNG.random(N) < 0.3,
        "sex": _RNG.choice(["female", "male"], N),
        "town": _RNG.choice(["Aa", "Bb", "Cc", "Dd"], N),
        "age": _RNG.integers(20, 90, N).astype(float).round(),
        "pay": _RNG.lognormal(9, 1, N).round(2),
    }
)
SCHEMA = vws.Schema(
    {
        "ill": vws.Column(model="table", levels=("false", "true")),
        "sex": vws.Column(model="table", levels=("female", "male")),
        "town": vws.Column(model="table", levels=("Aa", "Bb", "Cc", "Dd")),
        "age": vws.Column(model="normal", range=(0, 120), decimals=0),
        "pay": vws.Column(model="normal", range=(0, 1e7), decimals=2),
    }
)
_AS_TEXT = pl.col("ill").cast(pl.String).str.to_uppercase()
SPELLINGS: dict[str, list[Any]] = {
    "ill as TRUE": [_AS_TEXT],
    "sex in capitals": [pl.col("sex").str.to_uppercase()],
    "town with blanks": [pl.col("town") + " "],
    "one town with a blank": [pl.col("town").replace("Aa", "Aa ")],
    "all of them": [_AS_TEXT, pl.col("sex").str.to_uppercase(), pl.col("town") + " "],
}
CODES = [pl.col("sex").replace_strict({"female": "1", "male": "2"})]


def _risk(original: Any, made: Any, **more: Any) -> Any:
    return vws.table_risk(original, [made], keys=["sex", "town", "age"], target="ill", **more)


@pytest.mark.parametrize("changes", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("turned", [False, True], ids=["of the dataset", "of the original"])
def test_a_copy_is_a_copy_however_it_is_spelled(changes: list[Any], turned: bool) -> None:
    other = TABLE.with_columns(changes)
    pair = (other, TABLE) if turned else (TABLE, other)
    found, plain = _risk(*pair, schema=SCHEMA), _risk(TABLE, TABLE, schema=SCHEMA)
    assert found.copies_of_uniques == plain.copies_of_uniques > 0.9
    assert found.replicated_uniques == plain.replicated_uniques > 0.0
    assert found.disco == plain.disco
    score = vws.table_utility(pair[0], [pair[1]], schema=SCHEMA, s_pmse=False)
    assert score.k_marginal == 1000.0


_JUDGES: dict[str, Callable[[Any, Any], Any]] = {
    "risk": _risk,
    "utility": lambda original, made: vws.table_utility(original, [made], s_pmse=False),
    "k-marginal": lambda original, made: k_marginal(original, [made]),
    "pMSE": vws.pmse,
}


@pytest.mark.parametrize("judge", _JUDGES.values(), ids=_JUDGES)
@pytest.mark.parametrize(
    "changes", [*SPELLINGS.values(), CODES], ids=[*SPELLINGS, "codes for labels"]
)
def test_without_a_schema_other_spellings_are_refused_by_name(
    judge: Callable[[Any, Any], Any], changes: list[Any]
) -> None:
    table = TABLE.select("ill", "sex", "town", "age")
    with pytest.raises(InputError) as error:
        judge(table, table.with_columns(changes))
    (said,) = str(error.value).splitlines()
    names = {change.meta.output_name() for change in changes}
    assert all((name in said) == (name in names) for name in ("ill", "sex", "town"))
    assert not any(value in said for value in ("female", "MALE", "Aa", "TRUE"))
    assert "give a schema" in said


def test_codes_for_labels_are_refused_with_a_schema_too() -> None:
    with pytest.raises(InputError, match=r"in common, or spell some differently: sex\. Spell"):
        _risk(TABLE, TABLE.with_columns(CODES), schema=SCHEMA)
    with pytest.raises(InputError, match="original and hold-out have hardly"):
        _risk(TABLE, TABLE, holdout=TABLE.with_columns(CODES))


def test_levels_of_the_schema_alone_are_no_other_spelling() -> None:
    """A release may lose all levels that the data have."""
    data = TABLE.with_columns(town=pl.lit("Aa"))
    made = TABLE.with_columns(town=pl.lit("Bb"))
    assert _risk(data, made, schema=SCHEMA).copies_of_uniques == 0.0


def test_a_regression_reads_levels_as_the_schema_spells_them() -> None:
    other = TABLE.with_columns(SPELLINGS["all of them"])
    formula = "pay ~ ill + sex + town"
    found = regression_utility(TABLE, [other, other], formula, schema=SCHEMA)
    np.testing.assert_allclose(found.synthetic, found.original, rtol=1e-9)


_LEVELS = st.lists(
    st.one_of(st.none(), st.text(max_size=4), st.sampled_from(["true", "1", "01", "f", "F"])),
    max_size=5,
    unique=True,
)


@given(_LEVELS, st.lists(st.text(max_size=4), max_size=5))
@settings(max_examples=150, derandomize=True)
def test_a_level_is_itself_and_another_label_is_a_level_or_itself(
    levels: list[Any], labels: list[str]
) -> None:
    assert spelled_levels(levels, levels) == levels
    for label, spelled in zip(labels, spelled_levels(labels, levels), strict=True):
        assert spelled == label or spelled in levels
