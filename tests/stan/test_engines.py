"""Each Stan engine behind the protocol: draws like the native engine's, and nothing left behind."""

import contextlib
import tempfile
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from pyvws_validation._stan_case import seeded_target
from refusals import refused
from switched_program import switched_program

from pyvws import ConvergenceError, InputError, MissingDependencyError, PyvwsError, SamplerSettings
from pyvws.engines.nuts import NativeEngine
from pyvws.engines.registry import engine_version, find_engine, find_stan_engine
from pyvws.engines.user_program import program_data

ENGINES = ("pystan", "rstan", "cmdstan")
SHORT = SamplerSettings(draws=50, warmup=150, chains=2)
CONFIDENTIAL = 7654321


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    with contextlib.suppress(MissingDependencyError):
        engine_version("rstan")  # R's own folder stays as long as R runs, and is made before.
    folder = tmp_path / "t"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def left(place) -> list[str]:
    """Private folders that were not removed."""
    return [path.name for path in place.iterdir() if path.name.startswith("pyvws-")]


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(("model", "K"), [("poisson", 1), ("negative-binomial", 3)])
def test_draws_have_the_native_names_and_shapes(name, model, K, need, place, capfd):
    need(name)
    target = seeded_target(model, 30, K, seed=2)
    texts, seen = [], []
    engine = find_engine(name, log=texts.append)
    posterior = engine.sample(target, SHORT, seed=4, progress=lambda *at: seen.append(at))
    native = NativeEngine().sample(target, SHORT, seed=4)
    assert {key: value.shape for key, value in posterior.draws.items()} == {
        key: value.shape for key, value in native.draws.items()
    }
    assert (posterior.engine, posterior.chains, posterior.n_draws) == (name, 2, 100)
    assert posterior.seconds > 0
    assert np.isfinite(posterior.diagnostics.rhat_max)
    assert seen[-1] == (400, 400)
    if name != "rstan":
        assert any("Iteration" in text for text in texts)
    assert capfd.readouterr() == ("", "")
    assert left(place) == []


@pytest.mark.parametrize("name", ENGINES)
def test_a_seed_gives_the_same_draws_again(name, need):
    need(name)
    target = seeded_target("poisson", 30, 1, seed=2)
    first, again, other = (
        find_engine(name).sample(target, SHORT, seed=seed).draws["beta"] for seed in (4, 4, 5)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("name", ENGINES)
def test_chains_follow_each_other(name, need):
    need(name)
    target = seeded_target("poisson", 30, 1, seed=2)
    beta = find_engine(name).sample(target, SHORT, seed=4).draws["beta"]
    moves = np.diff(beta[:, 0]) == 0
    # A rejected proposal repeats a draw within a chain and never across chains.
    assert not moves[SHORT.draws - 1]
    assert len(np.unique(beta)) > 30


@pytest.mark.parametrize("name", ENGINES)
def test_a_failed_fit_says_nothing_of_the_data(name, need, place, capfd):
    need(name)
    texts = []
    data = program_data(np.array([CONFIDENTIAL, 1]), np.ones((2, 1)), np.ones(2))
    data["censored"] = 8  # It starts outside its support.
    with pytest.raises(ConvergenceError) as caught:
        find_stan_engine(name, log=texts.append).run(switched_program(name), data, SHORT, seed=1)
    assert str(CONFIDENTIAL) not in str(caught.value)
    assert caught.value.__cause__ is None
    assert str(CONFIDENTIAL) not in "".join(capfd.readouterr())
    # rstan drops what a program prints; the others log it, and so may hold data in their log.
    told = "Initialization failed" if name == "rstan" else str(CONFIDENTIAL)
    assert any(told in text for text in texts)
    assert left(place) == []


@pytest.mark.parametrize("name", ENGINES)
def test_a_program_that_does_not_compile_is_an_input_error(name, need, capfd):
    need(name)
    with pytest.raises(InputError, match="does not accept the program"):
        find_stan_engine(name).run("parameters { real", {}, SHORT, seed=1)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["pystan", "cmdstan"])
def test_confidential_files_lie_in_a_private_folder_while_it_runs(name, need, place):
    need(name)
    target = seeded_target("poisson", 30, 1, seed=2)
    modes = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.005):
            modes.update(path.stat().st_mode & 0o777 for path in place.glob("pyvws-*"))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        find_engine(name).sample(target, SHORT, seed=4)
    finally:
        over.set()
        watcher.join()
    assert modes == {0o700}
    assert left(place) == []


@pytest.mark.parametrize("name", ["pystan", "cmdstan"])
def test_an_interrupt_stops_the_chains_and_removes_the_folder(name, need, place):
    need(name)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    target = seeded_target("poisson", 200, 3, seed=2)
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        find_engine(name).sample(target, SamplerSettings(draws=100_000), seed=4, progress=interrupt)
    assert time.perf_counter() - began < 20
    assert left(place) == []


def test_engines_do_not_leave_their_own_errors(need):
    need("cmdstan")
    with pytest.raises(PyvwsError):
        find_stan_engine("cmdstan").run(
            "data { int n; } parameters { real a; } model { a ~ normal(0, 1); }", {}, SHORT, seed=1
        )


def test_whole_numbers_beyond_r_s_are_refused_and_not_wrapped(need):
    need("rstan")
    target = seeded_target("poisson", 30, 1, seed=2)
    cells = replace(target.cells, values=target.cells.values + 2.0**32)
    with refused("stan-integers-too-large", name="y", largest=2147483647) as caught:
        find_engine("rstan").sample(replace(target, cells=cells), SHORT, seed=4)
    assert "429496" not in str(caught.value)
