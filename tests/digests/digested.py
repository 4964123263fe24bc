"""Digests of datasets, of counted tables and of densities: the items, and what is stored of each.

`python tests/digests/digested.py --write` makes `digests.json` again and says how many changed.
Every item is made through the public interface, but for `counted`, which is adapted in one place.
"""

import hashlib
import json
import platform
import secrets
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import llvmlite.binding as llvm
import narwhals as nw
import numba
import numpy as np
import polars as pl
import pytest
import scipy
from pyvws_validation._stan_case import SAMPLED, UNSATURATED, seeded_target

import pyvws as vws
from pyvws.errors import InputError
from pyvws.models.registry import find_model
from pyvws.models.sequence import Conditional
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.joint_target import JointTarget
from pyvws.tables.design.cells import make_cells

STORED: Final = Path(__file__).with_name("digests.json")
Item = dict[str, Any]


def sha(*parts: Any) -> str:
    """16 hexadecimal digits of arrays and texts."""
    made = hashlib.sha256()
    for part in parts:
        whole = isinstance(part, np.ndarray)
        made.update(np.ascontiguousarray(part).tobytes() if whole else str(part).encode())
        made.update(b"\0")
    return made.hexdigest()[:16]


def environment() -> dict[str, str]:
    """Where bits hold: another processor or library may change a last bit."""
    features = sorted(name for name, has in llvm.get_host_cpu_features().items() if has)
    return {
        "numpy": f"{np.__version__}, scipy {scipy.__version__}, polars {pl.__version__}",
        "numba": numba.__version__,
        "llvmlite": llvm.llvm_version_info.__repr__(),
        "processor": f"{llvm.get_host_cpu_name()} {sha(*features)}",
        "forced": f"{numba.config.CPU_NAME} {numba.config.CPU_FEATURES}",
        "platform": f"{platform.system()} {platform.machine()} Python {sys.version_info[0]}."
        f"{sys.version_info[1]}",
    }


# Datasets.

N: Final = 90
TINY: Final[dict[str, Any]] = {"draws": 30, "warmup": 100, "chains": 1, "datasets": 2, "seed": 7}
COUNTS: Final[dict[str, Any]] = {"mechanism": "noisy-counts", "measure": "pairs", "classes": 4}
OF_COUNTS: Final[dict[str, Any]] = {"datasets": 2, "seed": 7, **COUNTS}


def records() -> pl.DataFrame:
    """Records (N,) with an outcome for each family."""
    rng = np.random.default_rng(3)
    sex = rng.choice(["f", "m"], N)
    mean = np.where(sex == "f", 2.0, 4.0)
    return pl.DataFrame(
        {
            "home": np.sort(rng.integers(0, 40, N)).astype(str),
            "sex": sex,
            "visits": rng.poisson(mean * rng.gamma(4.0, 0.25, N)),
            "pay": (mean + rng.normal(0.0, 0.7, N)).clip(0.1, 8.0).round(2),
            "share": rng.beta(2.0, mean).round(4).clip(0.01, 0.99),
            "works": (rng.random(N) < 0.2 * mean).astype(int),
            "edu": rng.integers(1, 4, N),
        }
    )


def schema(unit: str | None = None, **more: vws.Column) -> vws.Schema:
    columns = {
        "sex": vws.Column(model="table", levels=("f", "m")),
        "edu": vws.Column(model="ordinal", levels=("1", "2", "3")),
        "pay": vws.Column(model="normal", range=(0.0, 10.0), decimals=2),
        "visits": vws.Column(model="poisson", range=(0.0, 60.0)),
    }
    ids = {} if unit is None else {unit: vws.Column(role="id")}
    return vws.Schema({**ids, **columns, **more}, unit=unit)


OUTCOMES: Final = {
    "poisson": "visits",
    "negative-binomial": "visits",
    "normal": "pay",
    "truncated-normal": "pay",
    "gamma": "pay",
    "logistic": "works",
    "ordinal": "edu",
    "nominal": "edu",
    "beta": "share",
    "normal-mixture": "pay",
}


def asked() -> dict[str, dict[str, Any]]:
    """The settings of each run by its name; those that end with a suffix are runs in steps."""
    runs: dict[str, dict[str, Any]] = {}
    for name, outcome in OUTCOMES.items():
        more: dict[str, Any] = {"range": (0.0, 9.0)} if name == "truncated-normal" else {}
        by = {} if name == "normal-mixture" else {"formula": "~ sex"}
        for mechanism in ("unweighted", "lw"):
            run = {"outcome": outcome, "model": name, "mechanism": mechanism, **by, **more}
            runs[f"{name} {mechanism}"] = {**TINY, **run}
    visits = {**TINY, "outcome": "visits", "formula": "~ sex", "model": "poisson"}
    ball = {"radius": 0.4, "known": ("sex",)}
    runs["cw"] = {**visits, "mechanism": "cw", **ball}
    runs["marginal"] = {**visits, "mechanism": "marginal", **ball}
    runs["censored"] = {**visits, "mechanism": "censored", "epsilon": 4.0}
    runs["lw reweighted"] = {**visits, "mechanism": "lw", "reweight": True}
    histogram = {"mechanism": "perturbed-histogram", "range": (0.0, 9.0), "epsilon": 2.0}
    runs["histogram"] = {"outcome": "pay", "datasets": 2, "seed": 7, **histogram}
    for mechanism in ("unweighted", "lw"):
        runs[f"schema {mechanism}"] = {**TINY, "schema": schema(), "mechanism": mechanism}
        runs[f"units {mechanism}"] = {**TINY, "schema": schema("home"), "mechanism": mechanism}
    runs["schema censored"] = {**runs["schema lw"], "mechanism": "censored", "epsilon": 6.0}
    rule = vws.Column(model="logistic", levels=("0", "1"), rule="0 where visits < 1")
    runs["schema rule"] = {**runs["schema lw"], "schema": schema(works=rule)}
    runs["counts"] = {**OF_COUNTS, "schema": schema(), "epsilon": 3.0}
    runs["counts delta"] = {**runs["counts"], "delta": 1e-5, "measure": ("pairs",)}
    runs["counts units"] = {**runs["counts delta"], "schema": schema("home"), "cap": 2}
    runs["counts conditionals"] = {**runs["counts"], "model": "conditionals"}
    runs["counts table"] = {**runs["counts"], "tables": ("edu:sex",), "cells_share": 0.0}
    for suffix in ("csv", "parquet"):
        runs[f"unweighted.{suffix}"] = {**visits, "mechanism": "unweighted"}
        runs[f"lw.{suffix}"] = {**visits, "mechanism": "lw"}
    runs["schema.csv"] = runs["schema lw"]
    return runs


def fixed_secrets(patch: pytest.MonkeyPatch) -> None:
    """What a run draws from the system follows from a fixed seed, so that it can be compared."""
    rng, default = np.random.default_rng(11), np.random.default_rng

    def noise(counts: Any, *, scale: float) -> Any:
        near = np.rint(rng.normal(0.0, scale, len(counts))).astype(np.int64)
        return np.asarray(counts, dtype=np.int64) + near

    patch.setattr("pyvws.privacy.seller.add_discrete_laplace", noise)
    patch.setattr("pyvws.privacy.seller.add_discrete_gaussian", noise)
    patch.setattr(secrets, "token_bytes", rng.bytes)
    patch.setattr(np.random, "default_rng", lambda seed=5: default(seed))


def dataset(name: str) -> Item:
    """The digest of a run's datasets as they are written, and what draws do not change."""
    settings, suffix = asked()[name], name.partition(".")[2]
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fixed_secrets(patch)
        if suffix:
            made = _in_steps(settings, suffix)
        else:
            made = [pl.DataFrame(one) for one in vws.synthesize(records(), **settings).datasets]
    rows = None if settings["mechanism"] == "noisy-counts" else [len(one) for one in made]
    return {
        "digest": sha(*(one.write_csv() for one in made)),
        "same": [made[0].columns, len(made), rows],
    }


def _in_steps(settings: dict[str, Any], suffix: str) -> list[pl.DataFrame]:
    from pyvws.synthesis.settings_by_name import arranged

    given = {name: value for name, value in settings.items() if name != "seed"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{suffix}"
        getattr(records(), f"write_{suffix}")(path)
        run = vws.Synthesizer(**arranged(given))
        run.fit_to(path, Path(folder) / "out", seed=settings["seed"])
        read: Callable[[Path], pl.DataFrame] = getattr(pl, f"read_{suffix}")
        return [read(one) for one in sorted(Path(folder).glob("out/release/synthetic-*"))]


# Counted tables.

MEASURES: Final = (("pairs",), ("predictors",), ("pairs", "a:b:c"))
TABLES: Final[tuple[tuple[str, ...], ...]] = ((), ("c:a",), ("alike",), ("none",))


def random_schema(place: int) -> vws.Schema:
    """Categories, numbers with cuts, mass and missing codes, dates, a lookup and a rule."""
    rng = np.random.default_rng([17, place])
    levels = [str(k) for k in range(1, int(rng.integers(3, 7)))]
    columns = {
        "a": vws.Column(model="nominal", levels=levels, missing="N" if rng.random() < 0.5 else None)
    }
    for name in "bcde"[: int(rng.integers(2, 5))]:
        kind, high = rng.integers(0, 5), float(rng.integers(10, 200))
        cuts = sorted({float(cut) for cut in rng.integers(1, int(high), 3)})
        own: dict[str, Any] = {"missing": True} if rng.random() < 0.4 else {}
        if kind == 0:
            own |= {"model": "ordinal", "levels": [f"l{k}" for k in range(rng.integers(2, 6))]}
        elif kind == 1:
            own |= {"model": "normal", "days_since": "2001-01-01"}
            own |= {"range": ("2001-01-01", f"200{rng.integers(2, 9)}-06-30")}
        else:
            own |= {"model": "normal", "range": (0.0, high), "decimals": int(rng.integers(0, 3))}
            own |= {"mass": (0,)} if rng.random() < 0.4 else {}
            own |= {"cuts": cuts} if kind > 2 else {}
            own |= {"rule": f"0 where a == '{levels[0]}'"} if rng.random() < 0.4 else {}
        columns[name] = vws.Column(**own)
    if rng.random() < 0.4 and columns["a"].missing is None:
        of = {level: "xy"[k % 2] for k, level in enumerate(levels)}
        columns["kind"] = vws.Column(lookup={"a": of}, levels=("x", "y"))
    return vws.Schema(columns)


def random_cells(of: vws.Schema, place: int) -> pl.DataFrame:
    """Records (40,) as text, some of whose values the schema does not know."""
    rng, columns = np.random.default_rng([18, place]), {}
    for name, column in of.columns.items():
        some = [*(column.levels or ("0", "0.5", "3", "17.25", "44", "120")), "N", "", "?"]
        if column.days_since is not None:
            some = ["2001-01-01", "2001-12-24", "2002-06-30", "2010-01-01", ""]
        columns[name] = rng.choice(some, 40)
    return pl.DataFrame(columns)


def counted(place: int) -> Any:
    """What is counted of the schema at that place, before any noise."""
    settings = vws.NoisyCounts(
        epsilon=1.0,
        measure=MEASURES[place % 3],
        tables=TABLES[0 if place % 10 == 9 else place % 4],
        model="conditionals" if place % 10 == 9 else "classes",
        cells_share=0.1 if place % 2 else 0.0,
    )
    return settings.workload(random_schema(place))


def canonical(of: Any, cells: pl.DataFrame) -> list[Any]:
    """What a counted table gives, by names and values. Adapt this where classes change."""
    codes, values = of.read(nw.from_native(cells, eager_only=True))

    def rows(crossed: Any) -> list[Any]:
        steps = [step.tolist() for step in crossed.steps]
        return [crossed.name, list(crossed.columns), list(crossed.sizes), steps]

    def plain(array: Any) -> Any:
        return None if array is None else np.asarray(array).astype(float).round(10).tolist()

    given = {
        name: [rows(own.rows), plain(own.prior), own.redrawn, own.family is not None]
        for name, own in of.given.items()
    }
    skips = {
        name: [rows(own.rows), plain(own.forced), list(own.barred), plain(own.left)]
        for name, own in of.skips.items()
    }
    return [
        [[name, column.labels] for name, column in of.columns.items()],
        [
            [rows(crossed), of.labels(q), round(weight, 10)]
            for q, (crossed, weight) in enumerate(zip(of.cliques, of.weights, strict=True))
        ],
        [plain(of.offsets), plain(of.possible)],
        [sorted(given.items()), sorted(skips.items())],
        [codes.tolist(), {name: plain(values[name]) for name in sorted(values)}],
        of.counts(codes).tolist(),
    ]


def table_of_counts(name: str) -> Item:
    place = int(name)
    cells = random_cells(random_schema(place), place)
    try:
        made = counted(place)
    except InputError:
        return {"same": "refused"}
    codes = canonical(made, cells)
    return {"same": sha(json.dumps(codes))}


# Densities.


def targets() -> Iterator[tuple[str, Any]]:
    """Targets by name: families by clamp and weights, and two columns under one clamp."""
    for family in SAMPLED:
        for kind in (None, "half", "deviance"):
            if kind == "deviance" and family in UNSATURATED:
                continue
            for weighted in (False, True):
                target = seeded_target(family, 30, 2, seed=5)
                weights = target.weights if weighted else np.ones(30)
                clamp = None if kind is None else Clamp(3.0, kind)
                yield f"{family} {kind} {weighted}", replace(target, weights=weights, clamp=clamp)
    rng = np.random.default_rng(23)
    first, weights = rng.integers(1, 3, 30).astype(float), rng.random(30)
    design = np.column_stack([np.ones(30), first - 1.0])
    for family in ("normal", "poisson", "logistic"):
        model = find_model(family)
        y = np.rint(rng.random(30) * (1 if family == "logistic" else 5))
        own = Conditional("b", model, make_cells(model.encode(y), design))
        one = Conditional("a", find_model("logistic"), make_cells(first - 1.0, np.ones((30, 1))))
        for kind in ("half", "deviance"):
            yield f"{family} joint {kind}", JointTarget((one, own), weights, Clamp(4.0, kind))


POINTS: Final = 7


def density(target: Any) -> Iterator[Item]:
    """Digest and rounded sums of the density and gradient at some points."""
    evaluate, rng = target.density_and_gradient(), np.random.default_rng(29)
    dimension = target.blocks()[-1].stop if isinstance(target, JointTarget) else target.dimension
    for _ in range(POINTS):
        value, gradient = evaluate(rng.normal(0.0, 0.5, dimension))
        sums = [value, gradient.sum(), np.square(gradient).sum()]
        yield {"digest": sha(np.float64(value).tobytes().hex(), gradient), "sums": sums}


def densities() -> dict[str, Item]:
    return {
        f"{name} {place}": {**item, "sums": [float(f"{x:.8g}") for x in item["sums"]]}
        for name, target in targets()
        for place, item in enumerate(density(target))
    }


def all_items() -> dict[str, dict[str, Item]]:
    return {
        "datasets": {name: dataset(name) for name in asked()},
        "counted": {str(place): table_of_counts(str(place)) for place in range(60)},
        "densities": densities(),
    }


def main() -> None:
    """Writes the file; says how many items changed."""
    before = json.loads(STORED.read_text()) if STORED.exists() else {}
    made = all_items()
    for part, items in made.items():
        old = before.get(part, {})
        names = sorted({*old, *items})
        changed = [name for name in names if old.get(name) != items.get(name)]
        print(f"{part}: {len(changed)} of {len(items)} changed", *changed[:5], sep="\n  ")
    if "--write" in sys.argv:
        lines = [f'"environment": {json.dumps(environment(), sort_keys=True)}']
        for part, items in sorted(made.items()):
            own = [f" {json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(items.items())]
            lines.append(f'"{part}": {{\n' + ",\n".join(own) + "\n}")
        STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
