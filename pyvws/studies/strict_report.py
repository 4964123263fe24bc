"""Print and write the study of strict guarantees: figures to reach, tables, failures, pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import Key, Result
from pyvws.studies._report import MIXED, mean_of, mixing, rows_by_place, write_report
from pyvws.studies._tables import terminal_table
from pyvws.studies.replicates import Report

LABELS: Final = {
    "deviance": "Deviance clamp",
    "half": "Half clamp",
    "PH": "Perturbed histogram",
    "counts": "Noisy counts",
    "LW": "LW",
    "LW_final": "LW_final",
    "SW": "SW",
    "Weighted": "Weighted (searched)",
    "unweighted": "Unweighted",
    "deviance-far": "Deviance clamp, range far off",
}
_SHOWN: Final = tuple(name for name in LABELS if name != "deviance-far")
TITLES: Final = {
    "poisson": "Poisson(100)",
    "mixture": "0.2 NB(100, 5) + 0.8 NB(100, 20)",
    "beta": "Beta(0.5, 3)",
    "poisson_databases": "Poisson(100), repeated databases",
    "mixture_databases": "NB mixture, repeated databases",
    "income": "CE income, three predictors",
    "wages": "CPS1988 wages, six predictors",
}
_FAILS: Final = 2.0  # Utility of a strict run, as a multiple of the unweighted posterior's.

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Aim:
    """A figure to reach: `value` must be at most `limit` times the figure `beside`."""

    about: str
    value: float
    beside: str
    other: float
    limit: float

    @property
    def ratio(self) -> float:
        """The figure as a multiple of the figure beside it."""
        return self.value / self.other

    @property
    def reached(self) -> bool:
        """Whether the ratio is at most the limit."""
        return self.ratio <= self.limit


def full_size(settings: Mapping[str, Any], data: str) -> int:
    """The n at which a kind of data has every mechanism and epsilon; 0 for repeated databases."""
    if data in settings["n"]:
        return int(settings["n"][data])
    sizes = settings["files"].get(data, {"sizes": []})["sizes"]
    return max((n for n in sizes if n <= settings["largest_full"]), default=0)


def means(results: Mapping[Key, Result]) -> list[Line]:
    """A line for each kind of data, n, mechanism and target: means over the replicates, the worst
    R-hat, and the share of fits whose chains disagree.
    """
    return [
        {
            **{c: rows[0][c] for c in ("data", "n", "mechanism", "guarantee", "target")},
            **{c: mean_of(rows, c) for c in ("epsilon", "u_m", "u_a", "mean_weight", "outside")},
            **mixing(rows),
            "divergences": mean_of(rows, "divergences"),
            "replicates": len(rows),
        }
        for rows in rows_by_place(results, "data", "n", "mechanism", "target").values()
    ]


@dataclass(frozen=True, slots=True)
class _Found:
    """Lines by kind of data, n, mechanism and target."""

    lines: dict[tuple[Any, ...], Line]

    @classmethod
    def of(cls, lines: list[Line]) -> _Found:
        places = ("data", "n", "mechanism", "target")
        return cls({tuple(line[c] for c in places): line for line in lines})

    def get(self, data: str, n: int, mechanism: str, target: float | None = None) -> Line | None:
        return self.lines.get((data, n, mechanism, target))


_AIMS: Final = (
    ("poisson", "u_m", 1.0, "unweighted", None, 1.3),
    ("mixture", "u_m", 5.0, "unweighted", None, 1.2),
    ("mixture", "u_m", 3.0, "unweighted", None, 2.0),
    ("beta", "u_a", 5.0, "Weighted", 5.0, 1.0 / 3.0),
    ("beta", "u_a", 4.0, "Weighted", 4.0, 1.0 / 3.0),
    ("beta", "u_a", 3.0, "PH", 3.0, 1.0),
)
_DISTANCES: Final = {"u_m": "U_m", "u_a": "U_a"}


def aims(settings: Mapping[str, Any], lines: list[Line]) -> list[Aim]:
    """The figures to reach that the settings have, in the order of the study's data."""
    by_place, figures = _Found.of(lines), []
    for data, column, epsilon, name, target, limit in _AIMS:
        n = settings["n"][data]
        clamped = by_place.get(data, n, "deviance", epsilon)
        other = by_place.get(data, n, name, target)
        if clamped is not None and other is not None:
            about = f"{TITLES[data]}, n = {n}: {_DISTANCES[column]} at epsilon {epsilon:g}"
            beside = LABELS[name] if target is None else f"{LABELS[name]} at {target:g}"
            figures.append(Aim(about, clamped[column], beside, other[column], limit))
    return figures


def report(settings: Mapping[str, Any], results: Mapping[Key, Result], out: Path) -> Report:
    """Write summary.csv, explanation.txt and the pictures; show tables and explanation."""
    lines = means(results)
    kinds = dict.fromkeys(line["data"] for line in lines)
    whole = {data: n for data in kinds if (n := full_size(settings, data))}
    grown = [data for data in kinds if data not in settings["n"]]
    tables = [_aims_table(aims(settings, lines))]
    tables += [_table(lines, data, n) for data, n in whole.items()]
    tables += [_growth_table(settings, lines, data) for data in grown]
    return write_report(
        out,
        tables,
        tables={"summary.csv": lines},
        text=explanation(settings, results, lines),
        pictures=_pictures(settings, lines),
    )


def _aims_table(figures_to_reach: list[Aim]) -> Any:
    table = terminal_table(
        "Figures to reach, the deviance clamp beside others",
        left=[""],
        right=["deviance clamp", "beside", "", "ratio", "limit", "reached"],
    )
    for aim in figures_to_reach:
        figures = [f"{aim.value:.5f}", aim.beside, f"{aim.other:.5f}", f"{aim.ratio:.2f}"]
        table.add_row(aim.about, *figures, f"{aim.limit:.2f}", "yes" if aim.reached else "NO")
    table.caption = "means over the replicates; a smaller distance = more useful"
    return table


def _table(lines: list[Line], data: str, n: int) -> Any:
    of_data = [line for line in lines if (line["data"], line["n"]) == (data, n)]
    plain = next(line for line in of_data if line["mechanism"] == "unweighted")
    table = terminal_table(
        f"{TITLES[data]}, n = {n}, R = {plain['replicates']}",
        left=["", "guarantee"],
        right=["epsilon", "U_m", "x unweighted", "U_a", "outside", "R-hat", "disagree"],
    )
    for name, label in LABELS.items():
        chosen = sorted(
            (line for line in of_data if line["mechanism"] == name),
            key=lambda line: line["epsilon"],
        )
        for line in chosen:
            table.add_row(
                *(label, line["guarantee"], f"{line['epsilon']:.3g}", f"{line['u_m']:.4f}"),
                *(f"{line['u_m'] / plain['u_m']:.2f}", f"{line['u_a']:.5f}"),
                "" if line["outside"] is None else f"{line['outside']:.1%}",
                "" if line["rhat"] is None else f"{line['rhat']:.2f}",
                "" if line["disagree"] is None else f"{line['disagree']:.0%}",
                end_section=line is chosen[-1],
            )
    table.caption = (
        "outside: records whose term leaves the window at some draw; R-hat: the worst; disagree: "
        f"fits with an R-hat above {MIXED}"
    )
    return table


def _growth_table(settings: Mapping[str, Any], lines: list[Line], data: str) -> Any:
    """U_m by n, of the unweighted and LW fit and of the deviance clamp at a few epsilons."""
    by_place = _Found.of(lines)
    sizes = dict.fromkeys(line["n"] for line in lines if line["data"] == data)
    few = settings["few_epsilons"]
    of_clamp = [f"clamp at {epsilon:g}" for epsilon in few]
    table = terminal_table(
        f"{TITLES[data]}: U_m by n", right=["n", "R", "Unweighted", "LW", "LW epsilon", *of_clamp]
    )
    for n in sizes:
        plain, lw = (by_place.get(data, n, name) for name in ("unweighted", "LW"))
        if plain is None or lw is None:
            continue
        clamped = [by_place.get(data, n, "deviance", epsilon) for epsilon in few]
        table.add_row(
            *(str(n), str(plain["replicates"]), f"{plain['u_m']:.4f}", f"{lw['u_m']:.4f}"),
            f"{lw['epsilon']:.2f}",
            *("" if line is None else f"{line['u_m']:.4f}" for line in clamped),
        )
    return table


def explanation(
    settings: Mapping[str, Any], results: Mapping[Key, Result], lines: list[Line]
) -> Iterator[str]:
    """Where the deviance clamp fails, what its records lose, what the sampler did."""
    for data in dict.fromkeys(line["data"] for line in lines):
        yield from _failures(lines, data)
    yield from _far(settings, lines)
    figures = aims(settings, lines)
    missed = [aim.about for aim in figures if not aim.reached]
    yield f"Figures reached: {len(figures) - len(missed)} of {len(figures)}." + (
        f" Not reached: {'; '.join(missed)}." if missed else ""
    )
    unmixed = [line for line in lines if line["mechanism"] == "deviance" and line["disagree"]]
    if unmixed:
        fits = "; ".join(
            f"{TITLES[line['data']]}, n = {line['n']}, at {line['epsilon']:g}: "
            f"{line['disagree']:.0%}"
            for line in unmixed
        )
        yield (
            f"Chains of the deviance clamp disagree (R-hat above {MIXED}) in this share of the "
            f"fits: {fits}. A chain then stays where nearly all records are outside; a "
            "run whose chains disagree is not called strict."
        )
    short = [name for result in results.values() for name in result.extra["missed"]]
    if short:
        yield f"{len(short)} searches ended without a confirmed bound or the bound to meet."
    for name, reason in settings["skipped"].items():
        yield f"{TITLES[name]}: left out, because {reason}."


def _failures(lines: list[Line], data: str) -> Iterator[str]:
    """The epsilons at which the clamp's U_m is above a multiple of the unweighted one's."""
    for n in dict.fromkeys(line["n"] for line in lines if line["data"] == data):
        of_data = [line for line in lines if (line["data"], line["n"]) == (data, n)]
        plain = next(line for line in of_data if line["mechanism"] == "unweighted")
        clamp = sorted(
            (line for line in of_data if line["mechanism"] == "deviance"),
            key=lambda line: line["epsilon"],
        )
        bad = [line for line in clamp if line["u_m"] > _FAILS * plain["u_m"]]
        good = [line["epsilon"] for line in clamp if line not in bad]
        failures = ", ".join(
            f"{line['u_m']:.3f} at {line['epsilon']:g} ({line['outside']:.0%} outside)"
            for line in bad
        )
        if bad:
            rest = f"; from {min(good):g} on it is below" if good else ""
            yield (
                f"{TITLES[data]}, n = {n}: the clamp's U_m is above {_FAILS:g} x the unweighted "
                f"{plain['u_m']:.3f}: {failures}{rest}."
            )
        elif clamp:
            yield (
                f"{TITLES[data]}, n = {n}: the clamp's U_m stays within {_FAILS:g} x the "
                f"unweighted {plain['u_m']:.3f}, down to epsilon {min(good):g}."
            )


def _far(settings: Mapping[str, Any], lines: list[Line]) -> Iterator[str]:
    """A public range far from the truth beside the study's own."""
    by_place = _Found.of(lines)
    for epsilon in settings["far_epsilons"]:
        near, far = (
            by_place.get("beta", settings["n"]["beta"], name, epsilon)
            for name in ("deviance", "deviance-far")
        )
        if near is not None and far is not None:
            yield (
                f"A public range far from the truth: Beta(0.5, 3) has kappa 3.5. At epsilon "
                f"{epsilon:g} U_m is {near['u_m']:.3f} with kappa at most "
                f"{settings['largest_kappa']:g}, and {far['u_m']:.3f} with kappa at most "
                f"{settings['far_kappa']:g}."
            )


def _pictures(settings: Mapping[str, Any], lines: list[Line]) -> dict[str, Any]:
    """Draw U_m against epsilon, a panel for each table, and U_m against n."""
    from pyvws.plots import utility_by_guarantee

    data_kinds = dict.fromkeys(line["data"] for line in lines)
    panels = {
        f"{TITLES[data]}, n = {n:,}": _against_epsilon(lines, data, n)
        for data in data_kinds
        if (n := full_size(settings, data))
    }
    kinds = {LABELS[line["mechanism"]]: line["guarantee"] for line in lines}
    drawn = {"strict.svg": utility_by_guarantee(panels, kinds)}
    growing = {
        TITLES[data]: _against_n(settings, lines, data)
        for data in data_kinds
        if data not in settings["n"]
    }
    if growing:
        kinds = {"Unweighted": "none", "LW": "asymptotic-dp"}
        kinds |= {_at(epsilon): "dp" for epsilon in settings["few_epsilons"]}
        drawn["strict-by-size.svg"] = utility_by_guarantee(growing, kinds, against="records")
    return drawn


def _against_epsilon(lines: list[Line], data: str, n: int) -> dict[str, dict[float, Floats]]:
    by_label: dict[str, dict[float, Floats]] = {}
    for name in _SHOWN:
        for line in lines:
            if (line["data"], line["n"], line["mechanism"]) == (data, n, name):
                of_label = by_label.setdefault(LABELS[name], {})
                of_label[line["epsilon"]] = np.array([line["u_m"]])
    return by_label


def _at(epsilon: float) -> str:
    return f"Deviance clamp at {epsilon:g}"


def _against_n(
    settings: Mapping[str, Any], lines: list[Line], data: str
) -> dict[str, dict[float, Floats]]:
    labels: dict[tuple[str, float | None], str] = {
        ("unweighted", None): "Unweighted",
        ("LW", None): "LW",
        **{("deviance", epsilon): _at(epsilon) for epsilon in settings["few_epsilons"]},
    }
    by_label: dict[str, dict[float, Floats]] = {}
    for line in lines:
        label = labels.get((line["mechanism"], line["target"]))
        if line["data"] == data and label is not None:
            by_label.setdefault(label, {})[float(line["n"])] = np.array([line["u_m"]])
    return by_label
