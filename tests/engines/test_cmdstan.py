"""Whose fault it is that a program is not compiled: the program's, or a CmdStan that is broken."""

from pathlib import Path

import pytest

from pyvws.engines import stan_run
from pyvws.engines.cmdstan import built
from pyvws.errors import InputError, MissingDependencyError

_GOOD = "parameters { real y; } model { y ~ normal(0, 1); }"
_BAD = "parameters { rael y; } model { y ~ normal(0, 1); }"
_STANC = """#!/bin/sh
for word; do last=$word; done
if grep -q rael "$last"; then echo "Syntax error: rael" >&2; exit 1; fi
"""


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A CmdStan whose make always stops, as where there is no C++ compiler, with a stanc."""
    pytest.importorskip("cmdstanpy")
    folder = tmp_path / "cmdstan-2.99.0"
    (folder / "bin").mkdir(parents=True)
    (folder / "makefile").write_text("CMDSTAN_VERSION := 2.99.0\n%:\n\t@echo broken; false\n")
    (folder / "bin" / "stanc").write_text(_STANC)
    (folder / "bin" / "stanc").chmod(0o755)
    monkeypatch.setenv("CMDSTAN", str(folder))
    monkeypatch.setattr(stan_run, "user_cache_path", lambda *_, **__: tmp_path)
    return folder


@pytest.mark.parametrize("how", ["no compiler", "no stanc", "a stanc that stops", "no make"])
def test_a_broken_cmdstan_is_not_blamed_on_the_program(
    broken: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stanc = broken / "bin" / "stanc"
    if how == "no stanc":
        stanc.unlink()
    elif how == "a stanc that stops":
        stanc.write_text("#!/bin/sh\nexit 127\n")
    elif how == "no make":
        monkeypatch.setenv("MAKE", str(broken / "none"))
    for program in (_GOOD, _BAD) if how in ("no stanc", "a stanc that stops") else (_GOOD,):
        with pytest.raises(MissingDependencyError, match=r"compiles no program.*install it anew"):
            built(program)
    assert list((broken.parent / "stan").iterdir()) == []


def test_a_program_that_is_wrong_is_named(broken: Path) -> None:
    with pytest.raises(InputError, match="Stan does not accept the program"):
        built(_BAD)
