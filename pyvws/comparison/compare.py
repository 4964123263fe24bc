"""Compare mechanisms, constants and epsilons on one table under one budget of time.

Every point is a whole run with the bounds of [vws2024], scored against the confidential table. So
what a comparison finds is confidential, and a release under a setting that it chose says in its
ledger that the table was looked at.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, Context
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.typing import IntoDataFrame

from pyvws._base.checks import choice, positive, whole_number
from pyvws._base.folders import write_whole
from pyvws._base.resumable_jobs import ResultFolder, open_folder
from pyvws.comparison.found import ComparedRow, Comparison, advised
from pyvws.comparison.points import Point, Seeds, planned, point_key, refuse_choices, run_seeds
from pyvws.evaluation.table_scores import Score
from pyvws.report.page import picture, render
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.settings import RunSettings
from pyvws.synthesis.settings_by_name import SCHEMA_FILE, arranged, config_text

_NONE: Callable[[int, int], None] = lambda _done, _total: None  # noqa: E731


def compare(
    frame: IntoDataFrame,
    folder: str | Path,
    *,
    epsilons: Sequence[float] = (),
    choices: Sequence[str] | None = None,
    t: Sequence[float] = (),
    seeds: int = 4,
    minutes: float = 10.0,
    jobs: int | None = None,
    seed: int = 1,
    score: str | None = None,
    overwrite: bool = False,
    progress: Callable[[int, int], None] = _NONE,
    **settings: Any,
) -> Comparison:
    """Run choices of mechanisms and constants on a table, and say which to take at an epsilon.

    Each seed makes an unweighted and an LW fit, which its choices share, and runs every point. A
    choice runs under its own constants, and with its constant searched for each of `epsilons`.
    Finished points are files of the folder, so a second call goes on from there, also with other
    choices, epsilons and seeds.

    Parameters
    ----------
    frame : pandas, polars or Arrow table, N rows
        The confidential table.
    folder : path
        Everything is written to its `confidential/`: the points, comparison.csv, .png and .html,
        and a run.toml for each epsilon.
    epsilons : sequence of float
        Targets for a dataset; larger = less private.
    choices : sequence of str, optional
        A mechanism's name, then its settings, such as "lw reweight", "lw c=0.5" or
        "censored weights=none". By default the mechanisms that need no further setting, and
        `inverse` at two t for a table.
    t : sequence of float
        Bounds in nats: `inverse` runs at each, beside `choices`, or else the unweighted run. A
        public file says which t to take; larger = less protected.
    seeds : int
        Runs of each point, from which the bands come.
    minutes : float
        After this time no fit goes on, and what was not run is said.
    jobs : int, optional
        Seeds at once; one a processor if not given.
    seed : int
        Seed that the others follow from.
    score : str, optional
        The score to go by: "k_marginal", "margins" or "associations". By default k_marginal, or
        margins where a release has one column.
    overwrite : bool
        Empty the folder first.
    progress : callable
        Called with (points done, points in all).
    **settings
        Settings that all choices share, such as `schema`, or `outcome`, `formula` and `model`, and
        `draws`.

    Returns
    -------
    Comparison
        .rows, .advice, .table(), .plot(), .settings(epsilon). Confidential.

    Raises
    ------
    InputError
        Before any work, for a table, choice or setting that the method cannot take.
    OutputError
        If the folder holds a comparison of another table or of other settings, or other files.

    Examples
    --------
    >>> import tempfile, numpy as np, polars as pl
    >>> table = pl.DataFrame({"visits": np.random.default_rng(1).poisson(20, 200)})
    >>> shared = {"outcome": "visits", "model": "poisson", "datasets": 2, "draws": 200}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = compare(table, folder, choices=["lw", "sw"], seeds=1, jobs=1, **shared)
    >>> found.score, len(found.rows), found.not_run
    ('margins', 2, ())
    """
    count = whole_number(seeds, "seeds", least=1)
    end = time.time() + 60.0 * positive(minutes, "minutes")
    refuse_choices(settings)
    common = {name: value for name, value in settings.items() if value is not None}
    plain = RunSettings(**arranged({**common, "mechanism": "unweighted"}))
    plan = plain.plan.on(nw.from_native(frame, eager_only=True))
    common |= plan.written
    at = [f"inverse t={positive(float(bound), 't'):g}" for bound in t]
    named = [*(choices or ["unweighted"]), *at] if at else choices
    points, left_out = planned(frame, common, named, epsilons)
    table = check_table(frame, plain)
    several = len([name for name in table.released if name not in table.ids]) > 1
    allowed = ("k_marginal", "margins", "associations") if several else ("margins",)
    by = choice(score or allowed[0], "score", allowed)
    about = {
        "table": table.sha256,
        "common": config_text(plain, seed=None, plan=plan),
        "schema": plan.texts["schema"],
    }
    path = Path(folder) / "confidential"
    kept = open_folder(
        path, name="compare", settings=about, seed=seed, overwrite=overwrite, private=True
    )
    path.chmod(0o700)  # An older folder, or an empty one of the user's, may be open to others.
    work = Seeds(nw.from_native(frame, eager_only=True).to_native(), points, kept, seed, end)
    run_seeds(work, count, jobs=jobs, progress=progress)
    comparison = _found(points, left_out, kept, count, by, epsilons)
    _write(comparison, path)
    return comparison


def _found(
    points: Sequence[Point],
    left_out: Mapping[str, str],
    kept: ResultFolder,
    seeds: int,
    score: str,
    epsilons: Sequence[float],
) -> Comparison:
    """The comparison of the results that the folder has."""
    rows: list[ComparedRow] = []
    lacking: dict[tuple[int, ...], list[str]] = {}
    for point in points:
        results = [kept.read(point_key(point, number)) for number in range(1, seeds + 1)]
        there = [result.rows[0] for result in results if result is not None]
        if there:
            rows.append(_row(point, there))
        gone = tuple(number for number, result in enumerate(results, start=1) if result is None)
        if gone:
            lacking.setdefault(gone, []).append(point.name)
    never = [point for point in points if not any(row.point is point for row in rows)]
    asked = sorted(set(map(float, epsilons)))
    if not asked:
        reached = [max(row.epsilons) for row in rows if row.scores and row.guarantee != "none"]
        asked = sorted({_three_digits(epsilon) for epsilon in reached if np.isfinite(epsilon)})
    return Comparison(
        rows=tuple(rows),
        advice=tuple(advised(rows, epsilon, score, never) for epsilon in asked),
        score=score,
        left_out=left_out,
        not_run=tuple(
            f"seeds {', '.join(map(str, gone))} of "
            + ("every point" if len(names) == len(points) else "; ".join(names))
            for gone, names in lacking.items()
        ),
    )


def _three_digits(epsilon: float) -> float:
    """An epsilon rounded up to three digits, so that what has reached it stays within it."""
    return float(Context(prec=3, rounding=ROUND_CEILING).create_decimal(repr(float(epsilon))))


def _row(point: Point, results: Sequence[Mapping[str, Any]]) -> ComparedRow:
    scored = [result for result in results if "scores" in result]
    names = ("mean_weight", "rhat", "epsilon_of_window")
    weights, worst, windows = (
        [float(result[name]) for result in scored if result.get(name) is not None] for name in names
    )
    costs, totals = (
        [np.inf if x is None else float(x) for x in (result.get(name) for result in scored)]
        for name in ("epsilon", "epsilon_total")
    )
    return ComparedRow(
        point=point,
        guarantee=scored[0]["guarantee"] if scored else "none",
        epsilons=tuple(costs),
        scores=tuple(tuple(_score(score) for score in result["scores"]) for result in scored),
        mean_weight=float(np.mean(weights)) if weights else None,
        rhat=max(worst, default=None),
        seconds=float(np.mean([result["seconds"] for result in results])),
        totals=tuple(totals),
        signed=any(result.get("signed") for result in scored),
        delta=max((result.get("delta") or 0.0 for result in scored), default=0.0),
        problems=tuple(
            dict.fromkeys(result["problem"] for result in results if "problem" in result)
        ),
        windows=tuple(windows),
    )


def _score(kept: Mapping[str, Any]) -> Score:
    given: dict[str, Any] = {n: np.inf if value is None else value for n, value in kept.items()}
    return Score(**{**given, "by_dataset": tuple(kept["by_dataset"])})


def _write(comparison: Comparison, folder: Path) -> None:
    """Write comparison.csv, .png, .html and a take-EPSILON.toml for each advice, all private."""
    files: dict[str, str | bytes] = {"comparison.csv": comparison.table().write_csv()}
    drawn = None
    if any(row.scores for row in comparison.rows):
        figure = comparison.plot()
        caption = (
            f"{comparison.score} of each choice against epsilon for {comparison.unit_of_privacy}, "
            "with bars of two standard errors."
        )
        drawn = picture(figure, alt=caption)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=150)
        files["comparison.png"] = buffer.getvalue()
    for advice in comparison.advice:
        if advice.row is not None:
            settings = RunSettings(**arranged(comparison.settings(advice.epsilon)))
            files[f"take-{advice.epsilon:g}.toml"] = config_text(settings, seed=None)
            if text := settings.plan.texts["schema"]:
                files[SCHEMA_FILE] = text
    sheet = comparison.sheet
    rows = replace(sheet, lead=(), notes=())
    files["comparison.html"] = render(
        "comparison.html.j2", command="compare", sheet=sheet, rows=rows, drawn=drawn
    )
    for name, content in files.items():
        write_whole(folder / name, content, private=True)
