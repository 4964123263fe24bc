"""pyvws utility: how close synthetic datasets are to the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from pyvws.commands.output import AsJson, Original, Quiet, print_json, print_table
from pyvws.errors import OutputError

if TYPE_CHECKING:
    from pyvws._base.checks import Floats
    from pyvws.evaluation.table_utility import TableUtility
    from pyvws.report.margins import LevelMargin
    from pyvws.tables.schema.schema import Schema

_BESIDE = ("data", "data_interval", "synthetic", "synthetic_interval", "overlap")
_WORST = 10
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
        list[str] | None,
        typer.Option(help="Compare this regression instead; may be repeated.", metavar="FORMULA"),
    ] = None,
    family: Annotated[
        str, typer.Option(help="Of --regression.", metavar="gaussian|logistic|poisson")
    ] = "gaussian",
    table: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare shares of the last column's levels, or its mean, within cells of the "
            "columns before it; may be repeated.",
            metavar="COL,COL",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap and of permutations.")] = 1,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Print scores of synthetic tables, each beside a second sample and independent columns.

    k-marginal, S_pMSE, margins, missing values and associations, each with its direction, its ends
    and what it cannot see. With --outcome: ECDF distances, quantiles and means of one number, or
    the shares of one category's levels. With --regression and --table: coefficients and cells
    with combined intervals beside the data's. Works on files made by any tool. It prints figures
    of the confidential data too.

    Example: pyvws utility people.csv out/
    """
    if regression or table:
        comparisons = _beside(original, synthetic, schema, (regression or [], table or []), family)
        if as_json:
            figures = {comparison["title"]: comparison["figures"] for comparison in comparisons}
            print_json(comparisons[0]["figures"] if len(comparisons) == 1 else figures)
        elif not quiet:
            for comparison in comparisons:
                _tell_beside(comparison)
        return
    from pyvws.commands._tables import read_column, read_tables, with_unit
    from pyvws.report.margins import LevelMargin, margin_of

    if outcome is None:
        from pyvws.commands.options import names
        from pyvws.evaluation.table_utility import table_utility
        from pyvws.tables.files.headers import display_names

        data, datasets, of_columns = read_tables(original, synthetic, schema)
        unit = None
        if of_columns is None:
            data, unit = with_unit(data, original, synthetic)
        measures = table_utility(
            data,
            datasets,
            schema=of_columns,
            columns=names(columns) or None,
            unit=unit,
            trees=trees,
            seed=seed,
        )
        if figure is not None:
            _draw(measures, figure)
        title = f"{original.name} and {len(datasets)} synthetic datasets"
        _tell_table(measures, title, display_names(data.columns), quiet, as_json)
        return
    values = read_column(original, synthetic, outcome, schema)
    margin = margin_of(values)
    if isinstance(margin, LevelMargin):
        _tell_shares(margin, quiet=quiet, as_json=as_json)
    else:
        _tell_numbers(outcome, values.tables, quiet=quiet, as_json=as_json)


def _beside(
    original: Path,
    synthetic: Sequence[Path],
    schema: Path | None,
    asked: tuple[Sequence[str], Sequence[str]],
    family: str,
) -> list[dict[str, Any]]:
    """Figures that an analyst names, each with its interval in the data and in the datasets."""
    from pyvws.commands._tables import imputed_of, left_out, read_by, read_synthetic
    from pyvws.commands.options import names
    from pyvws.evaluation.combining_rules import rule_named
    from pyvws.evaluation.regression_utility import regression_utility
    from pyvws.report.output_folder import draws_behind
    from pyvws.tables.schema.schema import Schema

    files, datasets, of_columns = read_synthetic(synthetic, schema)
    data, chosen = read_by(of_columns, original), cast("Any", family)
    rule: Any = {"of": imputed_of(None, synthetic), "draw_of_dataset": draws_behind(files)}
    comparisons: list[dict[str, Any]] = []
    for formula in asked[0]:
        fitted = regression_utility(
            *(data, datasets, formula), family=chosen, schema=of_columns, **rule
        )
        rows = zip(
            *(fitted.names, fitted.original, fitted.original_interval),
            *(fitted.synthetic, fitted.synthetic_interval, fitted.overlap),
            strict=True,
        )
        gone = {"data_left_out": fitted.dropped, "synthetic_left_out": fitted.dropped_synthetic}
        figures = {name: dict(zip(_BESIDE, row, strict=True)) | gone for name, *row in rows}
        notes = left_out(fitted.dropped_synthetic, fitted.dropped)
        comparisons.append({"title": f"{formula} ({family})", "figures": figures, "notes": notes})
    for words in asked[1]:
        columns = names(words) or ()
        cells = _cells(data, datasets, columns, of_columns or Schema.propose(data), rule)
        comparisons.append({"title": ", ".join(columns), "figures": cells, "notes": []})
    words_of_rule = rule_named("partial", rule["of"]).words
    of_rule = f"{len(datasets)} synthetic datasets, rule for {words_of_rule}"
    return [comparison | {"datasets": of_rule} for comparison in comparisons]


def _cells(
    data: Any, datasets: Sequence[Any], columns: Sequence[str], schema: Schema, rule: Any
) -> dict[str, dict[str, Any]]:
    """Shares of the levels of the last column, or its means, in cells of the columns before it."""
    import numpy as np

    from pyvws.evaluation.interval_overlap import interval_overlap
    from pyvws.evaluation.published_table import tabulate

    *by, last = columns
    of_levels = last in schema.columns and schema.columns[last].categorical
    what: Any = {"by": by, "schema": schema, ("share" if of_levels else "mean"): last}
    before = tabulate([data, data], **what)  # Of one table twice: its own estimates.
    after = tabulate(datasets, **rule, **what)
    cells = {}
    for own, other in zip(before.figures, after.figures, strict=True):
        ends = [np.array([x.lower, x.upper]) for x in (own, other)]
        both = all(np.isfinite(x).all() and x[0] < x[1] for x in ends)
        overlap = float(interval_overlap(*ends)) if both else np.nan
        figures = own.estimate, ends[0], other.estimate, ends[1], overlap
        where = ", ".join(f"{name} {level}" for name, level in zip(by, own.cell, strict=True))
        label = " ".join(filter(None, (own.statistic, last, own.point, where and f"in {where}")))
        cells[label] = dict(zip(_BESIDE, figures, strict=True))
    return cells


def _tell_beside(comparison: Mapping[str, Any]) -> None:
    print_table(
        f"{comparison['title']}, data and {comparison['datasets']}",
        ("data", "95 % interval", "synthetic", "95 % interval", "overlap"),
        (
            (
                name,
                *(f"{figures['data']:.5g}", "{:.4g} to {:.4g}".format(*figures["data_interval"])),
                *(
                    f"{figures['synthetic']:.5g}",
                    "{:.4g} to {:.4g}".format(*figures["synthetic_interval"]),
                ),
                f"{figures['overlap']:.2f}",
            )
            for name, figures in comparison["figures"].items()
        ),
        *comparison["notes"],
        "overlap: 1 (best) = the same interval, 0 (worst) = apart. It sees these figures and no "
        "others.",
    )


def _draw(measures: TableUtility, path: Path) -> None:
    """Write the picture, which shows figures of the confidential data, for its owner alone."""
    import io

    from pyvws._base.folders import private_write

    buffer = io.BytesIO()
    try:
        measures.associations.plot().savefig(buffer, format=path.suffix[1:] or "png")
        private_write(path, buffer.getvalue())
    except (OSError, ValueError):
        raise OutputError(
            f"{path} could not be written. Name a .png, .pdf or .svg file that does not exist."
        ) from None


def _tell_table(
    measures: TableUtility, title: str, labels: Mapping[str, str], quiet: bool, as_json: bool
) -> None:
    """Print the verdict, the pairs and columns, the worst first, and then the scores.

    `labels` says what each column of the data is called.
    """
    if as_json:
        print_json(_table_in_json(measures, labels))
        return
    if quiet:
        return
    if measures.worse_than_independent:
        print(
            f"Fails: worse than independent columns. k_marginal is {measures.k_marginal:.0f}, and "
            "columns of the data in orders of their own have "
            f"{measures.k_marginal_independent:.0f}."
        )
    print(_verdict(measures))
    _tell_pairs(measures, labels)
    _tell_columns(measures, labels)
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
            for score in measures.scores
        ),
        f"second sample: {_drawn(measures, labels)} drawn from the data with replacement.",
        "independent: each column of the data in an order of its own, which no useful table should "
        "be near.",
        *(f"{score.name} cannot see {score.blind}." for score in measures.scores),
        "No score says anything of privacy: a copy of the data has the best of each.",
        *_notes(measures, labels),
    )


def _drawn(measures: TableUtility, labels: Mapping[str, str]) -> str:
    """What a second sample draws."""
    return "records" if measures.unit is None else f"whole units, by {labels[measures.unit]},"


def _associated(
    measures: TableUtility, labels: Mapping[str, str]
) -> list[tuple[str, str, float, float]]:
    """Each pair of columns with its association in the data and in the datasets."""
    largest = measures.associations.largest(len(measures.by_pair))
    return [(labels[a], labels[b], before, after) for a, b, before, after in largest]


def _table_in_json(measures: TableUtility, labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "verdict": _verdict(measures),
        "share_of_the_way": measures.share_of_the_way,
        "share_together": measures.share_together,
        "scores": {score.name: asdict(score) for score in measures.scores},
        "worse_than_independent": measures.worse_than_independent,
        "columns": {
            labels[column.name]: asdict(column) | {"name": labels[column.name]}
            for column in measures.columns
        },
        "associations": {
            f"{a}, {b}": {"data": before, "synthetic": after}
            for a, b, before, after in _associated(measures, labels)
        },
        "k_marginal_distance": {
            f"{labels[a]}, {labels[b]}": x for (a, b), x in measures.by_pair.items()
        },
        "folded": [labels[name] for name in measures.folded],
        "unseen_pairs": measures.unseen_pairs,
        "left_out": [labels[name] for name in measures.left_out],
        "unit": None if measures.unit is None else labels[measures.unit],
        "tenths_of_the_data": [labels[name] for name in measures.by_data],
    }


def _tell_pairs(measures: TableUtility, labels: Mapping[str, str]) -> None:
    worst = sorted(measures.by_pair, key=lambda pair: -measures.by_pair[pair])[:_WORST]
    tied = {frozenset((a, b)): ends for a, b, *ends in _associated(measures, labels)}
    print_table(
        "pairs, the worst first",
        ("distance", "association in the data", "synthetic"),
        (
            (
                f"{labels[a]} and {labels[b]}",
                f"{measures.by_pair[a, b]:.4f}",
                *("" if x != x else f"{x:.3f}" for x in tied[frozenset((labels[a], labels[b]))]),
            )
            for a, b in worst
        ),
        "distance: of the joint shares, 0 (best) to 2. association: 0 = none, 1 or -1 = the "
        "strongest there is.",
    )


def _tell_columns(measures: TableUtility, labels: Mapping[str, str]) -> None:
    far = {
        column.name: fmean(x for pair, x in measures.by_pair.items() if column.name in pair)
        for column in measures.columns
    }
    print_table(
        "columns, the worst first",
        ("kind", "pairs", "margin", "missing", "missing, synthetic", "associations kept"),
        (
            (
                labels[column.name],
                column.kind,
                f"{far[column.name]:.4f}",
                f"{column.margin:.4f}",
                f"{column.missing:.4f}",
                f"{column.missing_synthetic:.4f}",
                f"{column.associations_kept:.2f}",
            )
            for column in sorted(measures.columns, key=lambda column: -far[column.name])[:_WORST]
        ),
        *([f"{len(far) - _WORST} more columns are in --json."] if len(far) > _WORST else []),
        "pairs: mean distance of the column's pairs, 0 (best) to 2.",
        "margin: distance from the data's distribution, 0 (best) to 1.",
        "associations kept: 1 = as in the data, 0 or below = as a permuted column.",
    )


def _verdict(measures: TableUtility) -> str:
    """One line on where the datasets stand, by their k-marginal score."""
    beside = (
        ("independent columns", measures.k_marginal_independent),
        ("tables of one predictor without noise", measures.k_marginal_conditional),
        ("a second sample", measures.k_marginal_bootstrap),
    )
    words = ["better" if measures.k_marginal >= x else "worse" for _, x in beside]
    if measures.standing == "hardly better":
        words[0] = "hardly better"
    standing = ", ".join(
        f"{word} than {name} ({x:.0f})" for word, (name, x) in zip(words, beside, strict=True)
    )
    share, number = measures.share_of_the_way, len(measures.scores[0].by_dataset)
    all_of_them = f", and all {number} together go {max(measures.share_together, 0.0):.0%}"
    goes = f" A dataset goes {max(share, 0.0):.0%} of the way from the first to the last"
    way = f"{goes}{all_of_them if number > 1 else ''}." if share == share else ""
    return f"Verdict: k_marginal {measures.k_marginal:.0f} is {standing}.{way}"


def _notes(measures: TableUtility, labels: Mapping[str, str]) -> list[str]:
    """What was done to the columns before the scores."""
    remarks = (
        ("Bins of k_marginal are tenths of the data: {}.", measures.by_data),
        ("s_pmse counts the rarest levels as one: {}.", measures.folded),
        (
            "Left out (constant or identifiers, or dropped by the schema): {}.",
            measures.left_out,
        ),
    )
    notes = [
        text.format(", ".join(labels[name] for name in names)) for text, names in remarks if names
    ]
    if measures.unseen_pairs:
        notes.append(
            f"s_pmse has no room for what ties {measures.unseen_pairs} pairs of columns; "
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
    statistics = utility_table(y, values)
    frame = pd.DataFrame({"value": y})
    scores = [
        pmse(frame, pd.DataFrame({"value": x}), formula="~ value + I(value^2)") for x in values
    ]
    value, ratio = (fmean(getattr(score, part) for score in scores) for part in ("value", "ratio"))
    rows = {
        "data": statistics.original,
        "average": statistics.average,
        "lowest": statistics.lowest,
        "highest": statistics.highest,
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
                **{
                    label: dict(zip(statistics.names, row, strict=True))
                    for label, row in rows.items()
                },
            }
        )
    elif not quiet:
        print_table(
            f"{outcome}: data and {len(values)} synthetic datasets",
            statistics.names,
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
