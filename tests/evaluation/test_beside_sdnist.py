"""The k-marginal score beside SDNist's own, on the same simulated public tables.

The kept figures are those of sdnist 2.4 with pandas 2.0.0 on the tables of `tables()`, written by
`write_csv` and read by pandas with `dtype=str, keep_default_na=False` ("gaps": with empty cells as
missing):

    import sdnist.report  # first, since the metrics import it
    from sdnist.metrics.kmarginal import KMarginal
    from sdnist.metrics.unique_exact_matches import unique_exact_matches
    KMarginal(original, synthetic).compute_score()
    KMarginal(original, synthetic, ["PUMA"]).compute_score()  # "in groups"
    unique_exact_matches(original, synthetic)
"""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pyvws.evaluation.k_marginal import k_marginal
from pyvws.evaluation.table_risk import table_risk

_DATA = Path(__file__).parents[3] / "shared" / "data"
TEN = (
    *("AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE"),
    *("OWN_RENT", "EDU", "PINCP_DECILE", "DVET", "DEYE"),
)
_ROUNDING = 1e-9  # Relative: both sums are in double precision, in another order.


def tables() -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """600 records of five categories that go together, and tables that keep more or less."""
    rng = np.random.default_rng(19)
    n = 600
    area, sex = rng.integers(1, 4, n), rng.integers(1, 3, n)
    age = 5 * np.clip(rng.integers(0, 14, n) + 2 * area, 0, 19)
    school = np.clip(age // 15 + rng.integers(0, 3, n), 1, 6)
    tenth = np.where(age < 15, -1, np.clip(school + sex + rng.integers(0, 4, n) - 2, 0, 9))
    codes = {"PUMA": area, "AGEP": age, "SEX": sex, "EDU": school, "PINCP_DECILE": tenth}
    original = (
        pl.DataFrame(codes).cast(pl.String).with_columns(pl.col("PINCP_DECILE").replace("-1", "N"))
    )
    permuted = pl.col("PINCP_DECILE").gather(pl.lit(pl.Series(rng.permutation(n))))
    gaps = pl.when(pl.lit(pl.Series(rng.random(n) < 0.2))).then(None)
    return original, {
        "bootstrap": original[rng.integers(0, n, 450)],
        "independent columns": pl.DataFrame(
            {name: original[name].gather(rng.permutation(n)) for name in original.columns}
        ),
        "permuted column": original.with_columns(permuted),
        "gaps": original.with_columns(gaps.otherwise(pl.col("EDU")).alias("EDU")),
    }


SDNIST = {
    "bootstrap": (882.0370370370371, 817.3148148148148, 155),
    "independent columns": (729.7222222222222, 634.4444444444443, 41),
    "permuted column": (862.7777777777777, 822.2222222222222, 105),
    "gaps": (948.3333333333334, 948.3333333333334, 234),
}
"""Its score, its score in groups, and the unique records that it finds again."""
_FOUR = ("AGEP", "SEX", "EDU", "PINCP_DECILE")  # SDNist leaves PUMA out of the pairs.


@pytest.mark.parametrize("name", SDNIST)
def test_pairs_of_columns_have_sdnist_s_score(name: str) -> None:
    original, made = tables()
    table = made[name]
    if name == "gaps":  # SDNist drops a record with a missing value, and still divides by all.
        alone = k_marginal(original, [table], columns=_FOUR, replicates=1)
        missing = table["EDU"].null_count() / len(table)
        half = np.mean(["EDU" in pair for pair in alone.by_pair]) * missing * 500
        assert alone.score + half == pytest.approx(SDNIST[name][0], rel=_ROUNDING)
        return
    found = k_marginal(original, [table], columns=_FOUR, replicates=1).score
    assert found == pytest.approx(SDNIST[name][0], rel=_ROUNDING)


@pytest.mark.parametrize("name", [name for name in SDNIST if name != "gaps"])
def test_sdnist_s_score_in_groups_is_of_triples_of_columns(name: str) -> None:
    original, made = tables()
    joined = [
        one.with_columns(pl.concat_str("PUMA", name, separator="|").alias(name) for name in _FOUR)
        for one in (original, made[name])
    ]
    distances = [
        k_marginal(
            joined[0].with_columns(original[second]),
            [joined[1].with_columns(made[name][second])],
            columns=[first, second],
            replicates=1,
        ).by_pair[first, second]
        for place, first in enumerate(_FOUR)
        for second in _FOUR[place + 1 :]
    ]
    assert 500 * (2 - np.mean(distances)) == pytest.approx(SDNIST[name][1], rel=_ROUNDING)


@pytest.mark.parametrize("name", SDNIST)
def test_sdnist_counts_unique_records_that_are_found_again(name: str) -> None:
    """`copies_of_uniques` is of synthetic records; of distinct ones it is SDNist's count."""
    original, made = tables()
    distinct = made[name].unique(maintain_order=True)
    copied = table_risk(original, [distinct], keys=original.columns).copies_of_uniques
    assert copied * len(distinct) == pytest.approx(SDNIST[name][2], rel=_ROUNDING)


def test_sdnist_s_scores_of_the_acs_excerpt() -> None:
    """Its scores of three tables that a seed makes of the public file, ages by five years."""
    path = _DATA / "ma2019.csv"
    if not path.exists():
        assert not os.environ.get("CI"), "the ACS excerpt must be there in CI"
        pytest.skip(f"needs {path.name}, which lies beside the checkout of the developers")
    original = pl.read_csv(path, infer_schema=False).select(TEN)
    original = original.with_columns((pl.col("AGEP").cast(pl.Int64) // 5).cast(pl.String))
    n, rng = len(original), np.random.default_rng(19)
    bootstrap = original[rng.integers(0, n, n)]
    apart = {name: original[name].gather(rng.permutation(n)) for name in TEN}
    permuted = original["PINCP_DECILE"].gather(rng.permutation(n))
    for table, score in (
        (bootstrap, 981.119552877478),
        (pl.DataFrame(apart), 918.3943178179491),
        (original.with_columns(permuted), 968.0115273775216),
    ):
        found = k_marginal(original, [table], replicates=1).score
        assert found == pytest.approx(score, rel=_ROUNDING)
