"""pyvws utility: how close synthetic datasets are to the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer

from pyvws.commands._output import AsJson, Original, Quiet, print_json, print_table
from pyvws.errors import OutputError

if TYPE_CHECKING:
    from pyvws._base.checks import Floats
    from pyvws.evaluation.table_utility import TableUtility
    from pyvws.report.margins import LevelMargin

_ONE_MARGIN = (
    "One margin cannot see what ties the column to others: a permuted column scores as a copy. "
    "Leave --outcome out to judge the whole table."
)


def utility(
    original: Original,
    synthetic: Annotated[list[Path], typer.Argument(help="Synthetic datasets, or a run's folder.")],
    outcome: Annotated[str | None, typer.Option(help="Judge this column's margin alone.")] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns to judge; all by default.", metavar="COL,COL")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="schema.toml; by default that of the run, if any.")
    ] = None,
    trees: Annotated[
        bool, typer.Option("--trees", help="S_pMSE by trees too (needs scikit-learn).")
    ] = False,
    figure: Annotated[
        Path | None, typer.Option(help="Picture of the associations, .png, .pdf or .svg.")
    ] = None,
    regression: Annotated[
        str | None, typer.Option(help="Compare this regression instead.", metavar="FORMULA")
    ] = None,
    family: Annotated[
        str, typer.Option(help="Of --regression.", metavar="gaussian|logistic|poisson")
    ] = "gaussian",
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap and of permutations.")] = 1,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Print scores of synthetic tables, each beside a second sample and independent columns.

    k-marginal, S_pMSE, margins, missing values and associations, each with its direction, its ends
    and what it cannot see. With --outcome: ECDF distances, quantiles and means of one number, or
    the shares of one category's levels. With --regression: coefficients with combined
    intervals beside the data's. Works on files made by any tool. It prints figures of the
    confidential data too.

    Example: pyvws utility people.csv out/
    """
    if regression is not None:
        _tell_regression(original, synthetic, schema, regression, family, quiet, as_json)
        return
    from pyvws.commands._tables import read_column, read_tables
    from pyvws.report.margins import LevelMargin, margin_of

    if outcome is None:
        from pyvws.commands._options import names
        from pyvws.evaluation.table_utility import table_utility
        from pyvws.tables.files.headers import shown_names

        table, datasets, known = read_tables(original, synthetic, schema)
        result = table_utility(
            table, datasets, schema=known, columns=names(columns) or None, trees=trees, seed=seed
        )
        if figure is not None:
            _draw(result, figure)
        title = f"{original.name} and {len(datasets)} synthetic datasets"
        _tell_table(result, title, shown_names(table.columns), quiet, as_json)
        return
    values = read_column(original, synthetic, outcome, schema)
    margin = margin_of(values)
    if isinstance(margin, LevelMargin):
        _tell_shares(margin, quiet=quiet, as_json=as_json)
    else:
        _tell_numbers(outcome, values.tables, quiet=quiet, as_json=as_json)


def _tell_regression(
    original: Path,
    synthetic: Sequence[Path],
    schema: Path | None,
    formula: str,
    family: str,
    quiet: bool,
    as_json: bool,
) -> None:
    """Print each coefficient with its interval in the data and in the datasets."""
    from typing import Any

    from pyvws.commands._tables import left_out, read_synthetic
    from pyvws.evaluation.regression_utility import regression_utility
    from pyvws.report.output_folder import draws_behind
    from pyvws.tables.files.read import read_table

    files, datasets, known = read_synthetic(synthetic, schema)
    chosen: Any = family
    terms = regression_utility(
        *(read_table(original).spelled, datasets, formula),
        family=chosen,
        draw_of_dataset=draws_behind(files),
        schema=known,
    )
    rows = zip(
        *(terms.names, terms.original, terms.original_interval),
        *(terms.synthetic, terms.synthetic_interval, terms.overlap),
        strict=True,
    )
    if as_json:
        parts = ("data", "data_interval", "synthetic", "synthetic_interval", "overlap")
        gone = {
            "data_left_out": terms.dropped,
            "synthetic_left_out": terms.dropped_synthetic,
        }
        print_json({name: dict(zip(parts, row, strict=True)) | gone for name, *row in rows})
    elif not quiet:
        print_table(
            f"{formula} ({family}), data and {len(datasets)} synthetic datasets",
            ("data", "95 % interval", "synthetic", "95 % interval", "overlap"),
            (
                (
                    name,
                    *(f"{before:.5g}", "{:.4g} to {:.4g}".format(*ends)),
                    *(f"{after:.5g}", "{:.4g} to {:.4g}".format(*others)),
                    f"{overlap:.2f}",
                )
                for name, before, ends, after, others, overlap in rows
            ),
            *left_out(terms.dropped_synthetic, terms.dropped),
            "overlap: 1 (best) = the same interval, 0 (worst) = apart. It sees this regression and "
            "no other.",
        )


def _draw(result: TableUtility, path: Path) -> None:
    """Write the picture, which shows figures of the confidential data, for its owner alone."""
    import io

    from pyvws._base.folders import private_write

    buffer = io.BytesIO()
    try:
        result.associations.plot().savefig(buffer, format=path.suffix[1:] or "png")
        private_write(path, buffer.getvalue())
    except (OSError, ValueError):
        raise OutputError(
            f"{path} could not be written. Name a .png, .pdf or .svg file that does not exist."
        ) from None


def _tell_table(
    result: TableUtility, title: str, called: Mapping[str, str], quiet: bool, as_json: bool
) -> None:
    """Print the scores, then each column, then the pairs whose association changed most.

    `called` is what each column of the data is called.
    """
    pairs = [
        (called[a], called[b], before, after)
        for a, b, before, after in result.associations.largest(len(result.by_pair))
    ]
    if as_json:
        print_json(
            {
                "scores": {score.name: asdict(score) for score in result.scores},
                "worse_than_independent": result.worse_than_independent,
                "columns": {
                    called[column.name]: asdict(column) | {"name": called[column.name]}
                    for column in result.columns
                },
                "associations": {
                    f"{a}, {b}": {"data": before, "synthetic": after}
                    for a, b, before, after in pairs
                },
                "k_marginal_distance": {
                    f"{called[a]}, {called[b]}": x for (a, b), x in result.by_pair.items()
                },
                "folded": [called[name] for name in result.folded],
                "unseen_pairs": result.unseen_pairs,
                "left_out": [called[name] for name in result.left_out],
                "tenths_of_the_data": [called[name] for name in result.by_data],
            }
        )
        return
    if quiet:
        return
    if result.worse_than_independent:
        print(
            f"Fails: worse than independent columns. k_marginal is {result.k_marginal:.0f}, and "
            f"columns of the data in orders of their own have {result.k_marginal_independent:.0f}."
        )
    print_table(
        f"{title}: scores",
        ("synthetic", "second sample", "independent", "best", "worst", "better"),
        (
            (
                score.name,
                *(f"{x:.4g}" for x in (score.value, score.bootstrap, score.independent)),
                *(f"{x:.4g}" for x in (score.best, score.worst)),
                "larger" if score.larger_is_better else "smaller",
            )
            for score in result.scores
        ),
        "second sample: records drawn from the data with replacement. independent: each column of",
        "the data in an order of its own, which no useful table should be near.",
        *(f"{score.name} cannot see {score.blind}." for score in result.scores),
        "No score says anything of privacy: a copy of the data has the best of each.",
        *_notes(result, called),
    )
    print_table(
        "columns",
        ("kind", "margin", "missing", "missing, synthetic", "associations kept"),
        (
            (
                called[column.name],
                column.kind,
                f"{column.margin:.4f}",
                f"{column.missing:.4f}",
                f"{column.missing_synthetic:.4f}",
                f"{column.associations_kept:.2f}",
            )
            for column in result.columns
        ),
        "margin: distance from the data's distribution, 0 (best) to 1.",
        "associations kept: 1 = as in the data, 0 or below = as a permuted column.",
    )
    print_table(
        "associations that changed most",
        ("data", "synthetic"),
        ((f"{a} and {b}", f"{before:.3f}", f"{after:.3f}") for a, b, before, after in pairs[:8]),
        "0 = none, 1 or -1 = the strongest there is.",
    )


def _notes(result: TableUtility, called: Mapping[str, str]) -> list[str]:
    """What was done to the columns before the scores."""
    sentences = (
        ("Bins of k_marginal are tenths of the data: {}.", result.by_data),
        ("s_pmse counts the rarest levels as one: {}.", result.folded),
        (
            "Left out (constant or identifiers, or dropped by the schema): {}.",
            result.left_out,
        ),
    )
    notes = [
        text.format(", ".join(called[name] for name in names)) for text, names in sentences if names
    ]
    if result.unseen_pairs:
        notes.append(
            f"s_pmse has no room for what ties {result.unseen_pairs} pairs of columns; "
            "--columns names fewer columns."
        )
    return notes


def _tell_numbers(outcome: str, tables: Sequence[Floats], *, quiet: bool, as_json: bool) -> None:
    import pandas as pd

    from pyvws.evaluation.ecdf import ecdf_utility
    from pyvws.evaluation.pmse import pmse
    from pyvws.evaluation.utility_table import utility_table

    y, *values = tables
    distance = ecdf_utility(y, values)
    table = utility_table(y, values)
    frame = pd.DataFrame({"value": y})
    scores = [
        pmse(frame, pd.DataFrame({"value": x}), formula="~ value + I(value^2)") for x in values
    ]
    value, ratio = (fmean(getattr(score, part) for score in scores) for part in ("value", "ratio"))
    rows = {
        "data": table.original,
        "average": table.average,
        "lowest": table.lowest,
        "highest": table.highest,
    }
    if as_json:
        print_json(
            {
                "outcome": outcome,
                "datasets": len(values),
                "u_m": distance.maximum,
                "u_a": distance.average,
                "pmse": value,
                "pmse_ratio": ratio,
                "blind": _ONE_MARGIN,
                **{label: dict(zip(table.names, row, strict=True)) for label, row in rows.items()},
            }
        )
    elif not quiet:
        print_table(
            f"{outcome}: data and {len(values)} synthetic datasets",
            table.names,
            (
                (label if label == "data" else f"synthetic, {label}", *(f"{x:.6g}" for x in row))
                for label, row in rows.items()
            ),
            f"U_m {distance.maximum:.4f}, U_a {distance.average:.6f} (smaller = nearer)",
            f"pMSE {value:.3g}, {ratio:.2f} times what chance gives (1 = alike)",
            _ONE_MARGIN,
        )


def _tell_shares(margin: LevelMargin, *, quiet: bool, as_json: bool) -> None:
    """Print the share of each level in the data and in the datasets, and their distance."""
    data, own = margin.shares[0], margin.shares[1:]
    rows = zip(data, own.mean(axis=0), own.min(axis=0), own.max(axis=0), strict=True)
    by_level = dict(zip(margin.levels, rows, strict=True))
    names = ("data", "average", "lowest", "highest")
    if as_json:
        shares = {level: dict(zip(names, row, strict=True)) for level, row in by_level.items()}
        print_json(
            {
                "outcome": margin.name,
                "datasets": len(own),
                "distance": margin.distance,
                "blind": _ONE_MARGIN,
                "levels": shares,
            }
        )
    elif not quiet:
        print_table(
            f"{margin.name}: shares in the data and in {len(own)} synthetic datasets",
            names,
            ((level, *(f"{share:.4f}" for share in row)) for level, row in by_level.items()),
            f"distance {margin.distance:.4f}: the share of rows that would have to change "
            "(smaller = nearer)",
            _ONE_MARGIN,
        )
