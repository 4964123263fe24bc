"""Programs that combine an estimate over synthetic datasets, in Python and in R."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["python_recipe", "r_recipe"]

_SYNTACTIC = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def python_recipe(
    names: Sequence[str], suffix: str, outcome: str, predictors: Sequence[str]
) -> str:
    """A least-squares regression over all files with pandas and this package."""
    reader = "read_csv" if suffix == ".csv" else "read_parquet"
    formula = _formula(outcome, predictors)
    return f"""# pip install pyvws; run it beside the synthetic files
from pathlib import Path
import pandas as pd
from pyvws import combine_formula

files = sorted(Path(".").glob("synthetic-*{suffix}"))
assert len(files) == {len(names)}
datasets = [pd.{reader}(file) for file in files]
for name, found in combine_formula(datasets, {formula!r}).items():
    lower, upper = found.interval(0.95)
    print(f"{{name:<24}} {{found.estimate:12.6g}} [{{lower:.6g}}, {{upper:.6g}}]")
"""


def r_recipe(suffix: str, outcome: str, predictors: Sequence[str]) -> str:
    """The same in base R."""
    reader = "read.csv(file, check.names = FALSE)"
    setup = "# base R; run it beside the synthetic files"
    if suffix != ".csv":
        reader = "as.data.frame(nanoparquet::read_parquet(file))"
        setup = '# install.packages("nanoparquet"); run it beside the synthetic files'
    return f"""{setup}
files <- sort(list.files(pattern = "^synthetic-[0-9]+[.]{suffix[1:]}$"))
datasets <- lapply(files, function(file) {reader})
fits <- lapply(datasets, function(data) lm({_formula(outcome, predictors)}, data = data))
m <- length(fits)
q <- matrix(sapply(fits, coef), ncol = m)
v <- matrix(sapply(fits, function(fit) diag(vcov(fit))), ncol = m)
between <- apply(q, 1, var)
within <- rowMeans(v)
total <- between / m + within
df <- (m - 1) * (1 + within * m / between)^2
half <- qt(0.975, df) * sqrt(total)
print(data.frame(estimate = rowMeans(q), lower = rowMeans(q) - half,
                 upper = rowMeans(q) + half, row.names = names(coef(fits[[1]]))), digits = 6)
"""


def _formula(outcome: str, predictors: Sequence[str]) -> str:
    return f"{_quoted(outcome)} ~ {' + '.join(map(_quoted, predictors)) or '1'}"


def _quoted(name: str) -> str:
    return name if _SYNTACTIC.fullmatch(name) else f"`{name}`"
