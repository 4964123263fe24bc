"""The public names: there, sorted, described, loaded when used, and called as scripts call them."""

import ast
import inspect
import re
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import pyvws
from pyvws import plots
from pyvws._base.resources import REFERENCES

NAMES = [name for name in pyvws.__all__ if name != "__version__"]
DOORS = [door for door in pyvws._DOORS if door != "plots"]
FUNCTIONS = {
    name: getattr(pyvws, name) for name in NAMES if inspect.isfunction(getattr(pyvws, name))
} | {f"plots.{name}": getattr(plots, name) for name in plots.__all__}
NEEDS_FILES = {"from_cmdstan_csv", "from_stanfit"}
OF_NO_PAPER = {
    "example",
    "plots.parameter_densities",
    *("plots.association_matrices", "plots.bound_shares"),
}

# Names that scripts outside the project rely on: positional parameters, keyword parameters.
FIXED = {
    "attribute_risk": (["log_guesses", "log_synthetic"], ["true", "weights", "prior"]),
    "bootstrap_interval": (["datasets", "statistic"], ["n", "replicates", "seed", "level"]),
    "combine": (["estimates", "variances"], ["kind"]),
    "pairwise_weights": (["original"], ["radius", "radius_kind", "known", "c", "g"]),
    "ecdf_utility": (["original", "synthetic"], []),
    "identification_risk": (["original", "synthetic"], ["radius", "radius_kind", "known"]),
    "inverse_weights": (["by_record"], ["t", "power"]),
    "joint_bounds": (["log_liks"], ["weights"]),
    "lipschitz_bounds": (["log_lik"], ["method", "threshold"]),
    "lipschitz_weights": (["log_lik"], ["c", "g", "threshold", "map"]),
    "quantile": (["x", "p"], []),
    "reweight": (["weights", "by_record"], ["k"]),
    "risk_weights": (["risk"], ["c", "g"]),
    "scalar_weights": (["n"], ["target", "unweighted"]),
    "table_risk": (["original", "synthetic"], ["keys", "target"]),
    "table_utility": (["original", "synthetic"], ["schema"]),
    "synthesize": (
        ["frame"],
        [
            *("outcome", "model", "mechanism", "formula", "keep"),
            *("datasets", "draws", "chains", "engine", "seed"),
        ],
    ),
}
_BALL = {"radius": 0.2, "radius_kind": "percentage", "known": None}
FIXED_DEFAULTS = {
    "bootstrap_interval": {"replicates": 1000, "level": 0.95},
    "combine": {"kind": "partial", "size_ratio": 1.0},
    "combine_formula": {"kind": "partial", "size_ratio": 1.0},
    "from_cmdstan_csv": {"log_lik": "weighted"},
    "from_log_lik": {"log_lik": "weighted"},
    "from_stanfit": {"log_lik": "weighted"},
    "identification_risk": {"synthetic": None, **_BALL, "norm": "box"},
    "inverse_weights": {"power": 1.0},
    "joint_bounds": {"weights": None},
    "lipschitz_bounds": {"method": "direct", "threshold": 1.0},
    "lipschitz_weights": {"c": 1.0, "g": 0.0, "threshold": 1.0, "map": "linear"},
    "match_risk": {**_BALL, "norm": "box", "ball": "open"},
    "pairwise_weights": {**_BALL, "c": 1.0, "g": 0.0, "singletons": "refuse"},
    "three_way_weights": {**_BALL, "c": 1.0, "g": 0.0, "singletons": "refuse"},
    "four_way_weights": {**_BALL, "c": 1.0, "g": 0.0, "singletons": "refuse"},
    "perturbed_histogram": {
        **{"neighbours": "replace", "noise": "secret"},
        **{"allow_outside": False, "edges_from_data": False},
    },
    "pmse": {"model": "logistic", "leaf": 20, "permutations": 100, "seed": 1},
    "risk_summary": {"policy": 0.5},
    "risk_weights": {"c": 1.0, "g": 0.0},
    "SamplerSettings": {"chains": 4},
    "synthesize": {
        **{"model": "negative-binomial", "mechanism": None, "formula": "~ 1", "keep": ()},
        **{"datasets": 5, "draws": 1000, "warmup": 1000, "chains": 4, "target_accept": 0.8},
        **{"engine": "native", "epsilon": None, "downscale": False, "reweight": False},
        **{"k": 0.95, "tolerance": 0.05, "threshold": 1.0, "round": False},
    },
    "whack_a_mole": {"rise": 0.25, "policy": 0.5},
}
FIXED_RESULTS = {
    "EcdfUtility": ["maximum", "average"],
    "BootstrapInterval": ["estimate", "lower", "upper"],
    "Combined": ["estimate", "variance", "df", "interval"],
    "JointBounds": [*("by_record", "by_column", "database", "epsilon", "epsilon_of_separate_runs")],
    "LipschitzBounds": ["by_record", "by_draw", "database", "epsilon", "kept_draws"],
    "Release": ["datasets", "privacy", "records", "posterior", "summary", "write"],
    "RRandom": ["rpois"],
    "Schema": ["read", "propose", "write"],
    "TableUtility": [
        *("k_marginal", "k_marginal_independent", "k_marginal_bootstrap", "s_pmse"),
        "associations",
    ],
}
HEAVY = [
    *("arviz", "cmdstanpy", "formulaic", "matplotlib", "narwhals", "numba", "opendp"),
    *("pandas", "polars", "pyarrow", "rich", "rpy2", "scipy", "stan", "typer"),
]

NOT_FOR_HELP = [name for name in HEAVY if name not in ("rich", "typer")]


def in_fresh_interpreter(program: str) -> str:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout.strip()


def test_type_checkers_see_every_name_where_it_is_loaded_from():
    stub = ast.parse((Path(pyvws.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))
    seen = {}
    for node in ast.walk(stub):
        if isinstance(node, ast.ImportFrom):
            named = [alias for alias in node.names if alias.asname]
            seen |= {alias.asname: (node.module, alias.name) for alias in named}
    for door in pyvws._DOORS:
        assert seen.pop(door) == ("pyvws", door)
    assert sorted([*seen, "synthesize"]) == sorted(NAMES)
    for name, (module, own) in seen.items():
        assert own == name
        assert getattr(import_module(module), name) is getattr(pyvws, name)


def test_sorted_and_complete():
    assert pyvws.__all__[0] == "__version__"
    assert sorted(NAMES) == NAMES
    assert len(set(NAMES)) == len(NAMES)
    first = set(pyvws._FIRST)
    assert dir(pyvws) == sorted(["__version__", *first, *pyvws._DOORS])
    assert len(first) == 25
    assert first < set(NAMES) == first.union(*(dir(getattr(pyvws, x)) for x in DOORS)) & set(NAMES)
    with pytest.raises(AttributeError, match="sythesize"):
        _ = pyvws.sythesize


@pytest.mark.parametrize("name", [door for door in DOORS if door != "errors"])
def test_a_door_hands_on_names_of_the_package(name):
    door = getattr(pyvws, name)
    assert dir(door) == sorted(door.__all__)
    assert set(door.__all__) < set(NAMES)
    for name in door.__all__:
        assert getattr(door, name) is getattr(pyvws, name)
    with pytest.raises(AttributeError, match="sythesize"):
        _ = door.sythesize


def test_every_function_of_arrays_or_tables_has_a_door():
    """Runs, their comparison, fits and the example are asked for by the package's own names."""
    runs = {"audit", "compare", "example", "forecast", "synthesize"} | {
        name for name in NAMES if name.startswith("from_")
    }
    functions = {name for name in NAMES if inspect.isfunction(getattr(pyvws, name))}
    assert functions - runs <= {*pyvws.judge.__all__, *pyvws.papers.__all__}


@pytest.mark.parametrize("name", NAMES)
def test_is_there_and_described(name):
    value = getattr(pyvws, name)
    assert not isinstance(value, ModuleType)
    assert value.__name__ == name
    said = value.__doc__ or ""
    assert len(said) > 20
    assert not said.startswith(f"{name}(")  # not the text that dataclass makes up


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_state_what_they_take_and_give(name):
    function = FUNCTIONS[name]
    said = inspect.getdoc(function)
    if name.startswith("plots."):  # It returns a Figure.
        for parameter in inspect.signature(function).parameters:
            assert re.search(rf"^- .*`{parameter}`", said, flags=re.MULTILINE)
        assert re.search(r"Raises\s+InputError\s+for", said)
        assert "\n\n>>> " in said
        return
    for section in ("Parameters", "Returns", "Raises", "Examples"):
        if section != "Examples" or name not in NEEDS_FILES:
            assert f"\n\n{section}\n{'-' * len(section)}\n" in said
    parameters = said.split("Parameters\n")[1].split("\n\nReturns\n")[0]
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"\b{parameter}\b", parameters)


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - OF_NO_PAPER))
def test_functions_name_their_source(name):
    function = FUNCTIONS[name]
    said = inspect.getdoc(function) + str(inspect.getmodule(function).__doc__)
    assert set(re.findall(r"\[([a-z]+\d{4})\]", said)) & set(REFERENCES)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_have_shapes(name):
    """Each array_like and ndarray of a docstring says its shape, in letters that the text uses."""
    said = inspect.getdoc(FUNCTIONS[name])
    for line in re.findall(r"^.*(?:array_like|ndarray).*$", said, flags=re.MULTILINE):
        assert re.search(r"\(\w*,?.*\)|shape", line), line


@pytest.mark.parametrize("name", FIXED)
def test_fixed_names_are_called_as_before(name):
    positional, keywords = FIXED[name]
    parameters = inspect.signature(getattr(pyvws, name)).parameters
    order = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert order == positional
    named = {p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY}
    assert set(keywords) <= named
    added = named - set(keywords)
    assert all(parameters[p].default is not inspect.Parameter.empty for p in added)


@pytest.mark.parametrize("name", FIXED_DEFAULTS)
def test_what_is_left_out_means_what_it_meant_before(name):
    parameters = inspect.signature(getattr(pyvws, name)).parameters
    for parameter, default in FIXED_DEFAULTS[name].items():
        assert parameters[parameter].default == default


@pytest.mark.parametrize("name", FIXED_RESULTS)
def test_fixed_results_have_their_parts(name):
    of = {
        "EcdfUtility": "one_column",
        "BootstrapInterval": "bootstrap",
        "Combined": "combining_rules",
    }
    kind = getattr(import_module(f"pyvws.evaluation.{of[name]}") if name in of else pyvws, name)
    assert set(FIXED_RESULTS[name]) <= set(dir(kind)) | set(kind.__annotations__)


def test_an_old_name_says_which_door_has_it():
    for name in pyvws._PUBLIC:
        kept = name in (*pyvws._FIRST, *pyvws._CALLED)
        with warnings.catch_warnings(record=True, action="always") as said:
            found = getattr(pyvws, name)
        words = [str(one.message) for one in said]
        if kept:
            assert words == []
        else:
            (door,) = re.findall(rf"Take pyvws\.(\w+)\.{name}\.$", words[0])
            assert getattr(import_module(f"pyvws.{door}"), name) is found


def test_importing_the_package_loads_nothing_heavy():
    loaded = in_fresh_interpreter(
        f"import sys, pyvws; print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert loaded == "[]"


@pytest.mark.runs
def test_help_and_version_load_nothing_heavy():
    """Every command's help in one process: what any of them loads is seen at the end.

    But for those whose options the families and mechanisms declare.
    """
    program = (
        "import contextlib, io, sys, typer\n"
        "from pyvws.commands.cli import app\n"
        "commands = sorted(typer.main.get_command(app).commands)\n"
        "light = [name for name in commands if name not in ('audit', 'compare', 'synthesize')]\n"
        "for said in [['--help'], ['--version'], *([name, '--help'] for name in light)]:\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as shown:\n"
        "        app(said, standalone_mode=False)\n"
        "    assert shown.getvalue(), said\n"
        f"print(len(commands), [m for m in {NOT_FOR_HELP!r} if m in sys.modules])"
    )
    count, loaded = in_fresh_interpreter(program).split(maxsplit=1)
    assert int(count) >= 10
    assert loaded == "[]"


@pytest.mark.runs
def test_functions_stay_functions_whatever_is_imported_first():
    """A module may share its function's name; importing it must not put it in the way."""
    program = (
        "import importlib, pkgutil, types, pyvws\n"
        "for found in pkgutil.iter_modules(pyvws.__path__, 'pyvws.'):\n"
        "    importlib.import_module(found.name)\n"
        "print([n for n in pyvws.__all__ if isinstance(getattr(pyvws, n), types.ModuleType)])"
    )
    assert in_fresh_interpreter(program) == "[]"
