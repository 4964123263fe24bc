"""The rstan engine: the papers' own programs, run by R.

R feeds no other part of the package. The package loads R when a caller first uses the engine,
never on import.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.folders import private_folder
from pyvws.engines.engine import failure_remedy
from pyvws.engines.stan_run import (
    ProgramDensities,
    StanEngine,
    StanJob,
    StanRun,
    clamp_data,
    compiled,
    paper_program,
    stan_data,
    variables,
)
from pyvws.errors import ConvergenceError, InputError, MissingDependencyError
from pyvws.posterior.pseudo_posterior import PseudoPosterior

_LARGEST = 2**31 - 1  # The largest whole number of R and Stan.


def rstan_version() -> str:
    """rstan's version. Starts R; raises MissingDependencyError where R or rstan is missing."""
    from pyvws.r import bridge

    versions = bridge.r_versions()
    if "rstan" not in versions:
        raise MissingDependencyError(
            "The R package rstan is not installed. Run: apt-get install r-cran-rstan r-cran-bh "
            "r-cran-rcppeigen r-cran-rcppparallel, or install.packages('rstan') in R."
        )
    return f"{versions['rstan']} on R {versions['R']}"


@dataclass(frozen=True, slots=True)
class RStanEngine(StanEngine):
    """NUTS as rstan runs it on the papers' program; `log` gets the text of a fit that fails."""

    name: ClassVar[str] = "rstan"

    def target_program(self, target: PseudoPosterior) -> tuple[str, dict[str, Any]]:
        data = stan_data(target)
        if target.clamp is None:
            return paper_program(target.model), data
        clamp = {name: value for name, value in clamp_data(target).items() if name != "censored"}
        return paper_program(target.model, censored=True), {**data, **clamp}

    def run_job(self, job: StanJob) -> StanRun:
        from pyvws.r.bridge import RError

        settings = job.settings
        try:
            written = _asked(
                "run_program",
                job.program,
                job.data,
                {"initial": job.initial},
                keep=None if job.keep is None else list(job.keep),
                chains=settings.chains,
                warmup=settings.warmup,
                draws=settings.draws,
                seed=job.seed,
                target_accept=settings.target_accept,
            )
        except RError as error:
            if self.log is not None:
                self.log(error.captured)
            remedy = failure_remedy(job.data.get("X"))
            raise ConvergenceError(
                f"rstan failed. Its words are in the engine's log. {remedy}"
            ) from None
        shape = tuple(int(size) for size in written["dim"])
        values = np.swapaxes(np.reshape(written["values"], shape, order="F"), 0, 1)
        return StanRun(
            draws=variables([str(name) for name in written["names"]], values),
            divergences=int(written["divergences"][0]),
            seconds=float(written["seconds"][0]),
        )


def _asked(
    function: str,
    program: str,
    data: dict[str, Any],
    lists: dict[str, list[dict[str, Any]]],
    **arguments: Any,
) -> Any:
    """The result of R's function on a program, its data, lists of its variables, and the rest."""
    from pyvws.r.bridge import call

    crossed, vectors = _for_r(data)
    for name, each in lists.items():
        converted = [_for_r(values) for values in each]
        vectors = vectors.union(*(named for _, named in converted))
        arguments[name] = [values for values, _ in converted] or None
    request = {"file": str(_program_file(program)), "data": crossed, "vectors": sorted(vectors)}
    return call("rstan", function, _texts({**request, **arguments}))


def densities(program: str, data: dict[str, Any], points: Floats) -> ProgramDensities:
    """As `pyvws.engines.pystan.densities`, by rstan's log_prob, grad_log_prob, constrain_pars."""
    answer = _asked("densities", program, data, {}, points=points)
    return ProgramDensities(answer["value"], answer["gradient"], {"log_lik": answer["log_lik"]})


def unconstrained(program: str, data: dict[str, Any], draws: list[dict[str, Any]]) -> Floats:
    """Draws of a program as unconstrained points (P, D), by rstan's unconstrain_pars."""
    answer: Floats = _asked("unconstrained", program, data, {"draws": draws})
    return answer.reshape(len(draws), -1)


def predictions(program: str, data: dict[str, Any], draws: list[dict[str, Any]]) -> Floats:
    """y_rep (P, n) of a program at draws of it, from the same random numbers for any data."""
    points = unconstrained(program, data, draws)
    predictions: Floats = _asked("predictions", program, data, {}, points=points)
    return predictions


def saved_fit(path: Path, name: str | None = None) -> dict[str, Any] | None:
    """log_lik (S, N) in a file of R, chain after chain, with the number of `chains` (1,).

    Also the fit's own `weights` (N,) and `y_rep` (S, N), where it has them. `name` is the object in
    a file of several. None if the file has nothing that is known.
    """
    from pyvws.r.bridge import RError, call

    rstan_version()
    try:
        content = call("rstan", "saved_fit", {"file": str(path.resolve()), "name": name or ""})
    except RError:
        return None
    return content if isinstance(content, dict) else None


def object_fit(fit: object) -> dict[str, Any] | None:
    """As `saved_fit`, of what rpy2 holds. Raises InputError for any other object."""
    from pyvws.r.bridge import save_object

    rstan_version()
    with private_folder() as folder:
        save_object(fit, folder / "fit.rds")
        return saved_fit(folder / "fit.rds")


@cache
def _program_file(program: str) -> Path:
    """Path of the compiled program; built when neither this process nor the cache has one."""
    from pyvws.r.bridge import RError, call

    def build(folder: Path) -> None:
        files = {"source": str(folder / "program.stan"), "file": str(folder / "program.rds")}
        try:
            call("rstan", "compile_program", files)
        except RError as error:
            raise InputError.by(
                "rstan-rejects-program", strip=error.captured.strip()[-2000:]
            ) from None

    return compiled(program, version=f"rstan {rstan_version()}", build=build) / "program.rds"


def _for_r(values: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """Values in R's widths, and the names of those that are vectors even at length one."""
    crossed = {}
    for name, value in values.items():
        array = np.asarray(value)
        if array.dtype.kind == "i" and array.ndim:
            if array.size and np.abs(array).max() > _LARGEST:
                raise InputError.by("stan-integers-too-large", name=name, largest=_LARGEST)
            array = array.astype(np.int32)
        crossed[name] = array if array.ndim else array.item()
    return crossed, {name for name, value in crossed.items() if np.ndim(value) == 1}


def _texts(arguments: dict[str, Any]) -> dict[str, Any]:
    """Lists of text as arrays, which cross to R as one character vector."""
    return {
        name: np.array(value, dtype=object)
        if isinstance(value, list) and value and isinstance(value[0], str)
        else value
        for name, value in arguments.items()
    }
