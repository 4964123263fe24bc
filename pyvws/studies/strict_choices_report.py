"""Print and write the study of strict choices: tables, what is told apart, one picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import Key, Result
from pyvws.studies._report import MIXED, mean_of, mixing, rows_by_place, write_report
from pyvws.studies._tables import terminal_table
from pyvws.studies.printed import LEVEL, PairedDifference, paired_difference
from pyvws.studies.replicates import Report
from pyvws.studies.strict_report import TITLES

LABELS: Final = {
    "none": "none",
    "public": "public: one constant",
    "reference": "reference",
    "staged, one": "staged, one dataset",
    "staged, many": "staged, many datasets",
    "native": "native",
    "grid": "grid",
}
_NAMES: Final = ("u_m", "mean_weight", "outside", "within", "within_apart", "width")

Line = dict[str, Any]


Rows = dict[tuple[Any, ...], list[Line]]
"""Rows of replicates.csv by part, kind of data, choice and epsilon, replicates in order."""
_PLACE: Final = ("part", "data", "choice", "epsilon")


def _difference(
    rows: Rows, part: str, data: str, names: tuple[str, str], epsilon: float
) -> PairedDifference:
    """U_m of the second choice less that of the first, over replicates that have both."""
    sides = (rows.get((part, data, name, epsilon), []) for name in names)
    pairs = [[row["u_m"] for row in pair] for pair in zip(*sides, strict=True)]
    first, second = np.array([pair for pair in pairs if None not in pair]).T
    return paired_difference(*names, "U_m", first, second)


def means(results: Mapping[Key, Result]) -> list[Line]:
    """A line for each part, kind of data, choice and epsilon: means over the replicates, the worst
    R-hat, the share of fits whose chains disagree, and how many would stop a strict run.
    """
    return [
        {
            **{"part": part, "data": data, "choice": choice, "epsilon": epsilon},
            **{"n": rows[0]["n"], "spent": rows[0]["spent"]},
            **{column: mean_of(rows, column) for column in _NAMES},
            "u_m_error": _error([row["u_m"] for row in rows if row["u_m"] is not None]),
            **mixing(rows),
            "draws": " ".join(sorted({row["draws"] for row in rows if row["draws"]})) or None,
            "stopped": sum(row["u_m"] is None for row in rows),
            "replicates": len(rows),
        }
        for (part, data, choice, epsilon), rows in rows_by_place(results, *_PLACE).items()
    ]


def report(settings: Mapping[str, Any], results: Mapping[Key, Result], out: Path) -> Report:
    """Write summary.csv, explanation.txt and the picture; show tables and explanation."""
    lines, rows = means(results), rows_by_place(results, *_PLACE)
    tables = [_weights_table(settings, lines)]
    tables += [_engines_table(settings, rows, lines)]
    tables += [_draws_table(lines, data) for data in settings["draw_data"]]
    return write_report(
        out,
        tables,
        tables={"summary.csv": lines},
        text=explanation(settings, results),
        pictures={"strict-choices.svg": picture(settings, lines)},
    )


def _weights_table(settings: Mapping[str, Any], lines: list[Line]) -> Any:
    epsilons = settings["epsilons"]
    table = terminal_table(
        "U_m by what a dataset costs, deviance clamp",
        left=["data", "weights"],
        right=[f"{epsilon:g}" for epsilon in epsilons],
    )
    of_part = [line for line in lines if line["part"] == "weights"]
    for data in dict.fromkeys(line["data"] for line in of_part):
        choices = dict.fromkeys(line["choice"] for line in of_part if line["data"] == data)
        for choice in choices:
            by_epsilon = {
                line["epsilon"]: line["u_m"]
                for line in of_part
                if (line["data"], line["choice"]) == (data, choice)
            }
            cells = [f"{by_epsilon[epsilon]:.3f}" for epsilon in epsilons]
            end = choice == list(choices)[-1]
            table.add_row(TITLES[data], LABELS[choice], *cells, end_section=end)
    table.caption = (
        f"means over {of_part[0]['replicates']} databases with {settings['datasets']} datasets "
        "each; a smaller distance = more useful; staged: the first stage is within the cost"
    )
    return table


def _engines_table(settings: Mapping[str, Any], rows: Rows, lines: list[Line]) -> Any:
    table = terminal_table(
        f"Engines on {TITLES['poisson']}",
        right=["epsilon", "native", "grid", "grid less native", f"{LEVEL:.0%} interval", "R"],
    )
    of_part = {
        (line["choice"], line["epsilon"]): line for line in lines if line["part"] == "engines"
    }
    for epsilon in settings["engine_epsilons"]:
        pair = _difference(rows, "engines", "poisson", ("native", "grid"), epsilon)
        both = (of_part[name, epsilon]["u_m"] for name in ("native", "grid"))
        table.add_row(
            *(f"{epsilon:g}", *(f"{u_m:.4f}" for u_m in both), f"{pair.mean:+.4f}"),
            *(f"[{pair.low:+.4f}, {pair.high:+.4f}]", str(pair.replicates)),
        )
    table.caption = "U_m, means over fits that a strict run releases; the interval is paired"
    return table


def _draws_table(lines: list[Line], data: str) -> Any:
    """U_m and coverage by the number of draws behind the datasets."""
    table = terminal_table(
        f"{TITLES[data]}: datasets that share draws",
        right=[
            "draws",
            "epsilon of a draw",
            "spent",
            "U_m",
            "coverage",
            "as if a draw each",
            "width",
        ],
    )
    of_part = [line for line in lines if (line["part"], line["data"]) == ("draws", data)]
    of_part.sort(key=lambda line: (int(line["choice"]), line["epsilon"]))
    for line, after in zip(of_part, [*of_part[1:], None], strict=True):
        table.add_row(
            *(line["choice"], f"{line['epsilon']:g}", f"{line['spent']:g}", f"{line['u_m']:.4f}"),
            "" if line["within"] is None else f"{line['within']:.1%}",
            *(f"{line['within_apart']:.1%}", f"{line['width']:.2f}"),
            end_section=after is None or after["choice"] != line["choice"],
        )
    table.caption = (
        f"{of_part[0]['replicates']} databases; coverage: shares of the 95 % intervals of the mean "
        "that hold the true one; as if a draw each: datasets taken as independent"
    )
    return table


def explanation(settings: Mapping[str, Any], results: Mapping[Key, Result]) -> Iterator[str]:
    """Which source of weights wins where, what the engines' statements say, what one draw lacks."""
    lines, rows = means(results), rows_by_place(results, *_PLACE)
    weighted = [line for line in lines if line["part"] == "weights"]
    for data in dict.fromkeys(line["data"] for line in weighted):
        for name in dict.fromkeys(line["choice"] for line in weighted):
            if name != "none":
                pairs = {
                    epsilon: _difference(rows, "weights", data, ("none", name), epsilon)
                    for epsilon in settings["epsilons"]
                }
                yield f"{TITLES[data]}, weights {LABELS[name]}, beside none: {_compared(pairs)}."
    yield from _engines(settings, lines, rows)
    for data in settings["draw_data"]:
        yield from _one_draw(settings, lines, data)
    unmixed = [line for line in lines if line["disagree"]]
    for line in unmixed:
        yield (
            f"Chains disagree (R-hat above {MIXED}) in {line['disagree']:.0%} of the fits: "
            f"{TITLES[line['data']]}, {line['part']} {line['choice']}, at {line['epsilon']:g}."
        )


def _compared(pairs: Mapping[float, PairedDifference]) -> str:
    """Where a choice is better, worse, and not told apart."""
    verdict: dict[str, list[str]] = {"better": [], "worse": [], "not told apart": []}
    for epsilon, pair in pairs.items():
        word = (
            "not told apart" if not pair.excludes_zero else "worse" if pair.mean > 0 else "better"
        )
        verdict[word].append(f"{epsilon:g}")
    return "; ".join(f"{word} at {', '.join(at)}" for word, at in verdict.items() if at)


def _engines(settings: Mapping[str, Any], lines: list[Line], rows: Rows) -> Iterator[str]:
    pairs = {
        epsilon: _difference(rows, "engines", "poisson", ("native", "grid"), epsilon)
        for epsilon in settings["engine_epsilons"]
    }
    yield f"Engine grid beside native, U_m: {_compared(pairs)}."
    for name in ("native", "grid"):
        own = [line for line in lines if (line["part"], line["choice"]) == ("engines", name)]
        stopped, fits = (sum(line[c] for line in own) for c in ("stopped", "replicates"))
        yield (
            f"Statements call the draws of engine {name} {own[0]['draws']}. The diagnostics of "
            f"{stopped} of {fits} fits would stop a strict run."
        )


def _one_draw(settings: Mapping[str, Any], lines: list[Line], data: str) -> Iterator[str]:
    """The coverage of one draw's intervals beside that of a draw for each dataset."""
    of_part = [line for line in lines if (line["part"], line["data"]) == ("draws", data)]
    for count, column in ((1, "within_apart"), (settings["datasets"], "within")):
        own = [line for line in of_part if line["choice"] == str(count) and line[column]]
        if own:
            shares = ", ".join(f"{line[column]:.1%} at {line['spent']:g}" for line in own)
            yield (
                f"{TITLES[data]}, {settings['datasets']} datasets of {_draws_label(str(count))}: "
                f"95 % intervals hold the true mean in {shares} spent."
            )


def picture(settings: Mapping[str, Any], lines: list[Line]) -> Any:
    """Panels: weights on each kind of data, engines, utility and coverage of shared draws.

    The lines are those of `means`, so a stored summary.csv draws the picture of its study.
    """
    from pyvws.plots import choices_against_epsilon

    panels: dict[str, dict[str, dict[float, Floats]]] = {}
    title = f"{settings['datasets']} datasets of few draws: "
    utility, coverage = title + "utility", title + "intervals"
    for line in lines:
        part, data, choice = line["part"], line["data"], line["choice"]
        if line["u_m"] is None:  # The diagnostics would stop each of its fits.
            continue
        u_m = _around(line["u_m"], line["u_m_error"])
        if part != "draws":
            at, label = line["epsilon"], LABELS[choice]
            drawn = {f"{part.capitalize()}: {TITLES[data]}": u_m}
        elif data == settings["draw_data"][0]:
            at, label = float(line["spent"]), _draws_label(choice)
            share, R = line["within_apart" if choice == "1" else "within"], line["replicates"]
            error = math.sqrt(share * (1.0 - share) / (R - 1)) if R > 1 else None
            drawn = {utility: u_m, coverage: _around(share, error)}
        else:
            continue
        for panel, values in drawn.items():
            panels.setdefault(panel, {}).setdefault(label, {})[at] = values
    return choices_against_epsilon(
        panels,
        {coverage: 0.95},
        names={coverage: "share of 95 % intervals with the true mean"},
        against=dict.fromkeys((utility, coverage), "ε spent in all"),
    )


def _error(values: list[float]) -> float | None:
    """The standard error of the mean of values; None for fewer than two."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None


def _around(mean: float, error: float | None) -> Floats:
    """Two values that have this mean and this standard error of it."""
    return np.array([mean - (error or 0.0), mean + (error or 0.0)])


def _draws_label(count: str) -> str:
    return "1 draw" if count == "1" else f"{count} draws"
