"""A user's own Stan program, run with the data of a table.

The program declares what it needs among n, K, y (n), X (n, K), weights (n) and the data that the
user gives beside it, must declare weights, and writes log_lik, one value a record, in generated
quantities. It may write y_rep there, a synthetic outcome for each record. Engines that give a
program's density at a point check both at the program's own draws.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from pyvws._base.checks import Floats, choice, weight_vector
from pyvws.engines.engine import Progress
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.stan_run import StanEngine
from pyvws.errors import InputError
from pyvws.models.model import Draws
from pyvws.posterior.draws import Y_REP

_SUPPLIED: Final = ("n", "K", "y", "X", "weights", "shift")
_SWITCHES: Final = {"censored": 0, "low": 0.0, "high": 0.0, "write_log_lik": 1}
# Reading from the left, none of the three patterns matches a part of another.
_NO_CODE: Final = re.compile(r'/\*.*?\*/|"[^"\n]*"|(?://|#(?!include))[^\n]*', re.S)
# A type and a name; bounds and sizes are taken out before.
_DECLARED: Final = re.compile(r" ?(array )?[a-z]\w* +(?P<name>[A-Za-z]\w*) ?")


@dataclass(frozen=True, slots=True)
class UserFit:
    """Draws of a user's program, chain after chain: log_lik (S, N) in nats, and others by name."""

    log_lik: Floats
    draws: dict[str, Floats]
    chains: int
    divergences: int
    seconds: float


@dataclass(frozen=True, slots=True)
class UserProgram:
    """A checked program, what its log_lik holds, and the data that it needs beside the table's.

    Attributes
    ----------
    text : str
        The program.
    log_lik : {"weighted", "plain"}
        "weighted" where the program writes weights[i] * l_i, as the papers' programs do, and
        "plain" where it writes l_i. The text does not show which, so the user has to say so.
    data : mapping of str to numbers or arrays
        Further data by name, such as group indices. Arrays of records are in the table's order.
        They count as public: no weight protects what synthetic values take from them.
    unread : sequence of str
        Parameters that the family's prediction does not read though the program has them. Without
        y_rep a program is refused unless it names them here.

    Raises InputError for a program that lacks weights or log_lik, or data that do not fit it.

    Examples
    --------
    >>> program = '''
    ... data { int n; array[n] int y; vector[n] weights; }
    ... parameters { real<lower=0> rate; }
    ... model { for (i in 1:n) target += weights[i] * poisson_lpmf(y[i] | rate); }
    ... generated quantities { vector[n] log_lik;
    ...   for (i in 1:n) log_lik[i] = weights[i] * poisson_lpmf(y[i] | rate); }
    ... '''
    >>> UserProgram(program).predicts
    False
    """

    text: str
    log_lik: str = "weighted"
    data: Mapping[str, Any] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        choice(self.log_lik, "log_lik", ("weighted", "plain"))
        further = {name: _numbers(name, value) for name, value in self.data.items()}
        object.__setattr__(self, "data", further)
        unread = (self.unread,) if isinstance(self.unread, str) else tuple(self.unread)
        object.__setattr__(self, "unread", unread)
        check_program(self.text, further)
        if strange := sorted(set(unread) - set(parameter_names(self.text))):
            raise InputError.by("stan-parameter-undeclared", strange=", ".join(strange))

    @property
    def predicts(self) -> bool:
        """Whether the program writes y_rep, so that no family's prediction is used."""
        return Y_REP in generated_names(self.text)

    def fit(
        self,
        engine: StanEngine,
        data: dict[str, Any],
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Progress | None = None,
    ) -> UserFit:
        """Run the program with `program_data` and return its draws.

        Raises InputError if the program needs other data or does not compile, or if log_lik or
        y_rep has another length. It does so too if the target does not move with the weights as
        log_lik says, or if y_rep reads the records. Raises ConvergenceError if Stan fails.
        """
        needed = check_program(self.text, self.data)
        given = {**_SWITCHES, "shift": np.zeros(data["n"]), **data, **self.data}
        used = {name: given[name] for name in needed}
        copies = [name for name, value in self.data.items() if np.array_equal(value, data["y"])]
        if copies:
            raise InputError.by("stan-data-is-outcome", copies=", ".join(copies))
        run = engine.run(self.text, used, settings, seed=seed, progress=progress)
        flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in run.draws.items()}
        log_lik = flat.pop("log_lik", np.empty((0, 0)))
        _check_length("log_lik", log_lik, data["n"])
        if self.predicts:
            _check_length(Y_REP, flat.get(Y_REP, np.empty((0, 0))), data["n"])
        if engine.name in CHECKING_ENGINES:
            run_of, weighted = (engine.name, self.text, used, flat), self.log_lik == "weighted"
            if not adds_its_log_lik(*run_of, weighted=weighted):
                raise InputError.by("stan-target-not-weighted")
            if self.predicts and reads_records(*run_of):
                raise InputError.by("y-rep-reads-outcome")
        return UserFit(log_lik, flat, settings.chains, run.divergences, run.seconds)


def _check_length(name: str, values: Floats, n: int) -> None:
    if values.ndim != 2 or values.shape[1] != n:
        raise InputError.by("program-vector-length", name=name, n=n, shape=values.shape[1:])


def _numbers(name: str, value: ArrayLike) -> Any:
    """A number or an array of numbers for Stan; whole numbers stay whole."""
    if name in (*_SUPPLIED, *_SWITCHES):
        raise InputError.by("stan-data-reserved", name=name)
    try:
        array = np.asarray(value)
    except ValueError:  # Rows of different lengths.
        array = np.empty(0, dtype=object)
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    if array.dtype.kind not in "iuf":
        raise InputError.by("stan-data-not-numbers", name=name)
    return array.astype(np.int64) if array.dtype.kind == "u" else array


def program_data(outcome: ArrayLike, design: ArrayLike, weights: ArrayLike) -> dict[str, Any]:
    """n, K, y (n,), X (n, K) and weights (n,) for a program; whole outcomes become integers."""
    y = np.asarray(outcome, dtype=np.float64)
    X = np.asarray(design, dtype=np.float64)
    whole = bool((y == np.floor(y)).all())
    return {
        "n": len(y),
        "K": X.shape[1],
        "y": y.astype(np.int64) if whole else y,
        "X": X,
        "weights": weight_vector(weights),
    }


def check_program(text: str, further: Collection[str] = ()) -> tuple[str, ...]:
    """The names of the data that a program declares; InputError unless it declares weights, log_lik
    and nothing that the package cannot supply.
    """
    plain = _without_comments(text)
    if "#include" in plain:
        raise InputError.by("stan-includes-file")
    names = _declarations(_block(plain, "data"))
    if "weights" not in names:
        raise InputError.by("stan-data-without-weights")
    strange = [name for name in names if name not in (*_SUPPLIED, *_SWITCHES, *further)]
    if strange:
        raise InputError.by(
            "stan-data-unknown",
            strange=", ".join(strange),
            supplied=", ".join(_SUPPLIED),
            switches=", ".join(_SWITCHES),
        )
    needless = [name for name in further if name not in names]
    if needless:
        raise InputError.by("stan-data-undeclared", needless=", ".join(needless))
    if "log_lik" not in generated_names(text):
        raise InputError.by("stan-without-log-lik")
    return tuple(names)


def parameter_names(text: str) -> tuple[str, ...]:
    """Names that a program declares in its parameters block, in either dialect."""
    return tuple(_declarations(_block(_without_comments(text), "parameters")))


def generated_names(text: str) -> tuple[str, ...]:
    """Names that a program declares in its generated quantities, in either dialect."""
    return tuple(_declarations(_block(_without_comments(text), "generated quantities")))


def _without_comments(text: str) -> str:
    """The program with comments and texts blanked and white space made single."""
    return re.sub(r"\s+", " ", _NO_CODE.sub(" ", text))


def _block(plain: str, name: str) -> str:
    """The text between the braces of a block; empty where there is no such block."""
    opening = re.search(rf"(?<!transformed )\b{name} ?\{{", plain)
    if opening is None:
        return ""
    depth = 1
    for at in range(opening.end(), len(plain)):
        depth += {"{": 1, "}": -1}.get(plain[at], 0)
        if depth == 0:
            return plain[opening.end() : at]
    raise InputError.by("stan-open-brace", name=name)


def _declarations(body: str) -> list[str]:
    """Names declared at the top level of a block, in either dialect's array syntax."""
    for inner, instead in ((r"\{[^{}]*\}", ";"), (r"\([^()]*\)", "~"), (r"\[[^][]*\]", " ")):
        while re.search(inner, body):
            body = re.sub(inner, instead, body)
    names = []
    for statement in re.sub(r"<[^;]*?>(?= *\w)", " ", body).split(";"):
        first, *more = (part.partition("=")[0] for part in statement.split(","))
        if declared := _DECLARED.fullmatch(re.sub(r"\s+", " ", first)):
            names += [declared["name"], *(name.strip() for name in more)]
    return names


CHECKING_ENGINES: Final = ("pystan", "rstan")  # They give a program's density at a point.
_DRAWS: Final = 8
_ROUNDING: Final = 1e-8  # Of the sums of log-likelihoods; a slip moves them by whole nats.


def adds_its_log_lik(
    engine: str, program: str, data: dict[str, Any], draws: Draws, *, weighted: bool
) -> bool:
    """Whether the target moves with the weights as the program's log_lik says.

    Equation 3 of [vws2024] asks for two things. The target under some weights less the target under
    others is the difference of the weighted log-likelihoods, up to a constant in the parameters.
    And each weighted log-likelihood is a weight times a number that no weight moves: a program that
    leaves the weights out altogether would pass the first test alone. Both differences are compared
    at a few of the program's own draws, each of shape (S, ...).

    `data` is what the program declares; its weights (n,) are replaced. `weighted` says whether
    log_lik holds alpha_i l_i rather than l_i. Raises InputError if the program stops at one of its
    draws. The program's prints can hold data values, so this function discards them.
    """
    with _unheard() if engine == "pystan" else nullcontext():
        try:
            return _agree(engine, program, data, draws, weighted=weighted)
        except (ValueError, RuntimeError):
            raise InputError.by("stan-stops-under-weights") from None


def reads_records(engine: str, program: str, data: dict[str, Any], draws: Draws) -> bool:
    """Whether y_rep of a program changes with outcomes or weights at the program's own draws.

    It must be a function of the parameters, of public data and of random numbers.
    `data` is what the program declares. Two tables stand in for its own: the outcomes in falling
    order without the largest, and in rising order without the least, under weights of 0.2 to 1.
    Raises InputError if the program stops under one of them.
    """
    with _unheard() if engine == "pystan" else nullcontext():
        try:
            module = import_module(f"pyvws.engines.{engine}")
            picked = _at_rows(draws)
            own = module.predictions(program, data, picked)
            others = [module.predictions(program, other, picked) for other in _others(data)]
        except (ValueError, RuntimeError):
            raise InputError.by("stan-stops-under-outcomes") from None
    return not all(np.array_equal(own, other, equal_nan=True) for other in others)


def _others(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Data with other outcomes, which have neither the same order nor the same range or mean."""
    rng = np.random.default_rng(2)
    weights = rng.uniform(0.2, 1.0, len(data["weights"]))
    if "y" not in data:
        return [{**data, "weights": weights}]
    rising = np.sort(data["y"])
    least, largest = rising[0], rising[-1]
    lower = np.where(rising == largest, least, rising)[::-1].copy()
    upper = np.where(rising == least, largest, rising)
    return [{**data, "y": y, "weights": weights} for y in (lower, upper)]


def _at_rows(draws: Draws) -> list[dict[str, Any]]:
    """A few evenly spaced draws, each a dict of the program's variables."""
    S = len(next(iter(draws.values())))
    rows = np.unique(np.linspace(0, S - 1, _DRAWS).astype(int))
    return [{name: values[row] for name, values in draws.items()} for row in rows]


def _agree(
    engine: str, program: str, data: dict[str, Any], draws: Draws, *, weighted: bool
) -> bool:
    module = import_module(f"pyvws.engines.{engine}")
    points = module.unconstrained(program, data, _at_rows(draws))
    rng = np.random.default_rng(1)
    apart = np.zeros(len(points))
    records: list[Floats] = []  # l_i, which no weight moves.
    size = 1.0
    for sign in (1.0, -1.0):
        weights = rng.uniform(0.2, 1.0, len(data["weights"]))
        target, _, written = module.densities(program, {**data, "weights": weights}, points)
        terms: Floats = written["log_lik"] if weighted else written["log_lik"] * weights
        records.append(terms / weights)
        apart += sign * (target - terms.sum(axis=1))
        size = max(size, float(np.abs(terms).sum(axis=1).max()))
    with np.errstate(invalid="ignore"):
        moved = float(np.abs(records[0] - records[1]).max())
    return bool(max(np.ptp(apart), moved) <= _ROUNDING * size)


@contextmanager
def _unheard() -> Iterator[None]:
    """Nothing reaches the process's standard output, not even from a compiled program."""
    library = ctypes.CDLL(None)
    sys.stdout.flush()
    library.fflush(None)
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    try:
        yield
    finally:
        library.fflush(None)  # Else text still in memory would be printed below.
        os.dup2(kept, 1)
        os.close(kept)
