"""Settings as a file: written by every run, read back to the same run."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from refusals import refused
from typer.main import get_command
from typer.testing import CliRunner

import pyvws as vws
from pyvws import Beta, InputError, Normal, NormalMixture, Ordinal, SamplerSettings, Synthesizer
from pyvws.commands.cli import app
from pyvws.commands.options import template_options
from pyvws.models.registry import MODELS, find_model
from pyvws.posterior.systematic_draws import SAMPLINGS
from pyvws.synthesis.settings import RunSettings
from pyvws.synthesis.settings_by_name import config_text, read_config

_FAST = ["--draws", "800", "--warmup", "300", "--chains", "2", "--datasets", "2"]


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    path = tmp_path / "visits.csv"
    pl.DataFrame({"visits": rng.poisson(30, 90), "town": rng.choice(["a", "b"], 90)}).write_csv(
        path
    )
    return path


def run(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


def test_the_file_of_a_run_has_its_seed_inside_alone(visits: Path, tmp_path: Path) -> None:
    given = [
        *("--outcome", "visits", "--model", "poisson", "--mechanism", "cw", "--radius", "0.3"),
        *("--known", "town", "--keep", "town", *_FAST, "--seed", "3"),
    ]
    first = run("synthesize", str(visits), *given, "--out", str(tmp_path / "one"))
    assert first.exit_code == 0, first.output
    own = tmp_path / "one" / "confidential" / "run.toml"
    assert own.stat().st_mode & 0o777 == 0o600
    public = tomllib.loads((tmp_path / "one" / "release" / "run.toml").read_text())
    assert "seed" not in public
    assert public == {k: v for k, v in tomllib.loads(own.read_text()).items() if k != "seed"}
    assert str(tmp_path) not in own.read_text()
    other = run(
        *("synthesize", str(visits), "--config", str(own), "--seed", "4"),
        *("--out", str(tmp_path / "three")),
    )
    assert other.exit_code == 0
    paths = [tmp_path / which / "release" / "synthetic-01.csv" for which in ("one", "three")]
    assert paths[0].read_bytes() != paths[1].read_bytes()


_COMMAND: Any = get_command(app)
_IN_A_FILE = [name for name, *_ in template_options(_COMMAND.commands["synthesize"])]
_NUMBERS = st.floats(1e-9, 1e9)
_SHARES = st.floats(0, 1, exclude_min=True, exclude_max=True)
_NAMES = st.lists(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
    | st.sampled_from(["all", "a,b", '"a"', '"', " a ", "", "a\n", "\x7f", "none"]),
    max_size=3,
).map(tuple)
_RANGES = (
    st.lists(st.floats(-1e15, 1e15), min_size=2, max_size=2, unique=True).map(sorted).map(tuple)
)
_SCALES = st.sampled_from(["identity", "log", "signed-log"])
_COUNTING = {
    "c": _NUMBERS,
    "g": st.floats(-1, 1),
    "radius": _NUMBERS,
    "radius_kind": st.sampled_from(["percentage", "absolute"]),
    "known": _NAMES,
}
_MODELS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(["poisson", "negative-binomial", "logistic", "gamma"]).map(find_model),
    st.builds(Normal, outcome_scale=_SCALES),
    st.builds(Beta, range=_RANGES, squeeze=st.just(0.0) | st.floats(0, 0.4999)),
    st.builds(
        Ordinal, levels=st.lists(st.integers(-(2**53), 2**53), min_size=2, max_size=9, unique=True)
    ),
    st.builds(
        NormalMixture,
        components=st.integers(1, 99),
        gamma_shape=_NUMBERS,
        gamma_rate=_NUMBERS,
        smallest_sd=_NUMBERS,
        labels=st.sampled_from(["prior", "full-conditional"]),
        outcome_scale=_SCALES,
    ),
)
_MATCHES = st.just("lw") | _NUMBERS
_WEIGHTED: st.SearchStrategy[Any] = st.one_of(
    st.builds(vws.LipschitzWeighted, c=_NUMBERS, g=st.floats(-1, 1)),
    st.builds(vws.CountWeighted, **_COUNTING),
    st.builds(vws.PairwiseWeighted, **_COUNTING),
)
_SETTLED: st.SearchStrategy[Any] = st.one_of(
    st.builds(vws.MarginalWeighted, **{**_COUNTING, "c": st.just(1.0)}, match=_MATCHES),
    st.builds(vws.ScalarWeighted, match=_MATCHES),
    st.builds(vws.WeightedEpsilon, epsilon=_NUMBERS),
    st.builds(
        vws.Censored, epsilon=_NUMBERS, weights=st.sampled_from(["lw", "cw", "none"]), **_COUNTING
    ),
)


def _histogram(**given: Any) -> vws.PerturbedHistogram:
    try:
        return vws.PerturbedHistogram(**given)
    except InputError:  # Not all go together.
        reject()


_HISTOGRAMS: st.SearchStrategy[Any] = st.one_of(
    st.builds(
        _histogram,
        epsilon=_NUMBERS,
        range=_RANGES,
        bins=st.none() | st.integers(1, 99),
        allow_outside=st.booleans(),
        neighbours=st.sampled_from(["replace", "loo"]),
    ),
    st.builds(_histogram, epsilon=_NUMBERS, edges_from_data=st.just(True)),
)
_RUN = {
    "outcome": st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=6),
    "formula": st.sampled_from(["~ 1", '~ relevel(a, ref = "x,y") + `\\t`', "~ `a b` + é"]),
    "keep": _NAMES | st.just("all"),
    "datasets": st.integers(1, 40),
    "tolerance": _SHARES,
    "threshold": _SHARES | st.just(1.0),
    "round": st.booleans(),
    "settings": st.builds(
        SamplerSettings,
        draws=st.integers(40, 9999),
        warmup=st.integers(100, 9999),
        chains=st.integers(1, 8),
        target_accept=_SHARES,
        refit_warmup=st.none() | st.integers(100, 9999),
    ),
}
_SETTINGS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries(
        {**_RUN, "model": _MODELS, "mechanism": _WEIGHTED},
        optional={"epsilon": _NUMBERS.map(np.float64)},
    ),
    st.fixed_dictionaries(
        {
            **_RUN,
            "model": _MODELS,
            "mechanism": _WEIGHTED,
            "epsilon": _NUMBERS,
            "downscale": st.just(True),
            "accept_above_target": st.booleans(),
        }
    ),
    st.fixed_dictionaries(
        {**_RUN, "model": _MODELS, "mechanism": _WEIGHTED, "reweight": st.just(True), "k": _SHARES}
    ),
    st.fixed_dictionaries(
        {**_RUN, "model": _MODELS, "mechanism": _SETTLED},
        optional={
            "keep_order": st.just(True),
            "records": st.integers(1, 2**40),
            "sampling": st.sampled_from(SAMPLINGS),
        },
    ),
    st.fixed_dictionaries(
        {
            **_RUN,
            "model": st.builds(Beta, range=_RANGES) | st.builds(Normal, outcome_scale=_SCALES),
            "mechanism": st.builds(
                vws.Censored, epsilon=_NUMBERS, weights=st.just("none"), **_COUNTING
            ),
            "accept_unconverged": st.booleans(),
            "records": st.just("noisy"),
            "records_epsilon": _NUMBERS,
        }
    ),
    st.fixed_dictionaries({**_RUN, "mechanism": _HISTOGRAMS}),
)


@given(chosen=_SETTINGS, seed=st.integers(0, 2**200))
@settings(max_examples=60)
def test_settings_are_read_back_digit_for_digit(chosen: dict[str, Any], seed: int) -> None:
    """As `Synthesizer.fit` gets them from the command line, which reads what was written."""
    try:
        made = RunSettings(**chosen)
    except InputError:  # Not all go together.
        reject()
    fits: list[tuple[Any, int]] = []

    def note(self: Any, _frame: Any, *, seed: int, **_: Any) -> None:
        fits.append((self, seed))
        raise InputError("noted")

    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Synthesizer, "fit", note)
        folder = Path(name)
        (folder / "run.toml").write_text(config_text(made, seed=seed), encoding="utf-8")
        (folder / "table.csv").write_text("y\n1\n")
        patch.setattr("pyvws.commands.synthesize.as_read", lambda _run, source: source.frame)
        given = ("--config", str(folder / "run.toml"), "--out", str(folder / "out"))
        with pytest.raises(InputError, match=r"^noted$"):
            _COMMAND.main(["synthesize", str(folder / "table.csv"), *given], standalone_mode=False)
    ((read, read_seed),) = fits
    assert read_seed == seed
    for field in fields(RunSettings):
        assert getattr(read, field.name) == getattr(made, field.name), field.name
    assert config_text(read, seed=seed) == config_text(made, seed=seed)


@pytest.mark.parametrize(
    "given",
    [
        ["--model", "beta", "--range", "0,1.0000000123456789", "--mechanism", "unweighted"],
        ["--model", "ordinal", "--levels", "1234567,1234568,1234570", "--mechanism", "unweighted"],
        ["--mechanism", "perturbed-histogram", "--range", "0,1234567.125", "--epsilon", "2.345678"],
        ["--model", "normal", "--mechanism", "cw", "--radius", "0.12345678", "--known", '"a,b"'],
        ["--model", "normal", "--mechanism", "lw", "--c", "0.9123456789", "--g", "0.0123456789"],
    ],
    ids=lambda given: " ".join(given[:4]),
)
def test_every_file_of_a_run_is_repeated(given: list[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    made = {
        "beta": rng.beta(2, 3, 60),
        "ordinal": rng.choice([1234567, 1234568, 1234570], 60),
        "normal": rng.gamma(3.0, 2.0, 60) + 1.0,
    }
    outcome = made.get(given[1], rng.uniform(0, 1e6, 60))
    pl.DataFrame({"y": outcome, "a,b": rng.choice(["x", "y"], 60)}).write_csv(tmp_path / "t.csv")
    fast = [*_FAST[:6], "--datasets", "2", "--outcome", "y", "--seed", "5"]
    secret = ["--noise", "seeded-float"] if "perturbed-histogram" in given else []
    first = run(
        *["synthesize", str(tmp_path / "t.csv"), *given, *secret, *fast],
        "--out",
        str(tmp_path / "one"),
    )
    assert first.exit_code == 0, first.exception
    own = str(tmp_path / "one" / "confidential" / "run.toml")
    again = run(
        "synthesize", str(tmp_path / "t.csv"), "--config", own, "--out", str(tmp_path / "two")
    )
    assert again.exit_code == 0, again.exception
    one, two = (
        {
            str(path.relative_to(tmp_path / which)): path.read_bytes()
            for path in (tmp_path / which).rglob("*")
            if path.is_file() and path.name != "summary.json"  # It says how long the run took.
        }
        for which in ("one", "two")
    )
    assert one == two


@pytest.mark.parametrize(
    ("mechanism", "words", "warns"),
    [
        ("lw", ("--epsilon", "3"), True),
        ("lw", ("--model", "gamma", "--memory", "1GB"), True),
        ("lw", ("--memory", "1GB", "--overwrite"), False),
        ("lw", ("--epsilon", "3", "--seed", "8"), False),
        ("noisy-counts", ("--epsilon", "3"), False),  # Its noise follows no seed.
    ],
)
def test_the_seed_of_a_file_beside_other_settings_is_warned_of_before_a_fit(
    mechanism: str, words: tuple[str, ...], warns: bool, tmp_path: Path, monkeypatch: Any
) -> None:
    (tmp_path / "t.csv").write_text("y\n1\n2\n")
    (tmp_path / "s.toml").write_text('[columns.y]\nmodel = "table"\nlevels = ["1", "2"]\n')
    which = 'schema = "s.toml"\nepsilon = 1\n' if mechanism == "noisy-counts" else 'outcome = "y"\n'
    for seed in (f"seed = {1 << 60}\n", ""):
        (tmp_path / "run.toml").write_text(f'mechanism = "{mechanism}"\n{which}{seed}')
        monkeypatch.setattr(Synthesizer, "fit", lambda *_, **__: 1 / 0)
        files = [str(tmp_path / name) for name in ("t.csv", "run.toml", "out")]
        told = run("synthesize", files[0], "--config", files[1], "--out", files[2], *words)
        assert isinstance(told.exception, ZeroDivisionError)
        assert ("share random numbers" in told.stderr) == (warns and bool(seed))
        assert ("--epsilon" in told.stderr) == (words[0] == "--epsilon" and warns and bool(seed))


MECHANISMS: list[Any] = [
    vws.LipschitzWeighted(c=0.5, g=0.1),
    vws.InverseWeighted(t=2.0, power=0.5),
    vws.PairwiseWeighted(known=("a", "b"), match="lw"),
    vws.WeightedEpsilon(epsilon=5.0),
    vws.Censored(epsilon=5.0, weights="none"),
    vws.PerturbedHistogram(epsilon=5.0, range=(0.0, 10.0), bins=4, neighbours="loo"),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda made: made.name)
def test_every_line_names_an_option(mechanism: Any, tmp_path: Path) -> None:
    for name in set(MODELS) - (
        {"normal-mixture", "table", "truncated-normal"} if mechanism.name == "censored" else set()
    ):
        settings = RunSettings(
            outcome="y",
            model=find_model(name),
            mechanism=mechanism,
            settings=SamplerSettings(draws=500),
            round=True,
        )
        path = tmp_path / "run.toml"
        path.write_text(config_text(settings, seed=7))
        read = read_config(path, _IN_A_FILE)
        assert (read["mechanism"], read["seed"], read["draws"]) == (mechanism.name, 7, 500)


def test_init_writes_every_option_commented(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    assert run("init", str(path)).exit_code == 0
    text = path.read_text()
    assert tomllib.loads(text) == {}
    bare = "\n".join(re.findall(r"^# (\w+ = .*)$", text, flags=re.MULTILINE))
    assert set(tomllib.loads(bare)) == set(_IN_A_FILE)
    again = run("init", str(path))
    assert again.exit_code == 1
    assert "exists" in str(again.exception)
    assert run("init", str(path), "--overwrite").exit_code == 0


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("outcom = 1", "config-unknown-setting"),
        ("outcome = ", "config-not-toml"),
        ("[outcome]\nx = 1", "setting-is-a-table"),
    ],
)
def test_files_that_are_none(text: str, key: str, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(text)
    with refused(key):
        read_config(path, _IN_A_FILE)
    with refused("config-unreadable"):
        read_config(tmp_path / "none.toml", [])
