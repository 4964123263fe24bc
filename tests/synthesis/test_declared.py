"""Settings declared once: all that follows from a declaration, and who refuses what."""

import ast
import importlib.util
import subprocess
import sys
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from pyvws import InputError, SamplerSettings
from pyvws._base.setting import described, on_command_line
from pyvws.mechanisms.registry import MECHANISMS
from pyvws.models.registry import MODELS
from pyvws.synthesis.settings import RunSettings
from pyvws.synthesis.settings_by_name import arranged, declared

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "declared.py"

_TOY = """
import importlib.util, inspect, sys, tempfile
from dataclasses import dataclass
from pathlib import Path
from pyvws._base.setting import setting
import MECHANISMS_MODULE as mechanisms, pyvws.synthesis.settings as run

@dataclass(frozen=True, slots=True, kw_only=True)
class Toy(mechanisms.LipschitzWeighted):
    sharpness: float = setting(2.5, "How sharp the toy is.")

@dataclass(frozen=True, slots=True, kw_only=True)
class Run(run.RunSettings):
    toy_box: str = setting("red", "Where toys are.", choices=("red", "dark-blue"))

mechanisms.MECHANISMS["lw"], run.RunSettings = Toy, Run

from typer.main import get_command
from typer.testing import CliRunner
import pyvws
from pyvws.commands.cli import app
from pyvws.errors import InputError
from pyvws.synthesis.settings_by_name import config_text
from pyvws.synthesis.settings_by_name import arranged

parameters = inspect.signature(pyvws.synthesize).parameters
assert parameters["toy_box"].default == "red" and "sharpness" in parameters
assert "toy_box : {'red', 'dark-blue'}" in pyvws.synthesize.__doc__
assert "toy_box : {'red', 'dark-blue'}" in pyvws.Synthesizer.__doc__

shown = " ".join(CliRunner().invoke(app, ["synthesize", "--help-all"]).output.split())
assert "--sharpness" in shown and "--toy-box" in shown and "Where toys are." in shown

folder = Path(tempfile.mkdtemp())
assert CliRunner().invoke(app, ["init", str(folder / "all.toml")]).exit_code == 0
template = (folder / "all.toml").read_text()
assert "# For lw: how sharp the toy is. 2.5 if not given.\\n# sharpness = 2.5\\n" in template
assert '# toy_box = "red"' in template

made = pyvws.Synthesizer(**arranged(
    {"outcome": "y", "mechanism": "lw", "toy_box": "dark-blue", "sharpness": 4}))
assert (made.toy_box, made.mechanism.sharpness) == ("dark-blue", 4)
text = config_text(made, seed=1)
assert 'toy_box = "dark-blue"' in text and "sharpness = 4" in text
(folder / "run.toml").write_text(text)
(folder / "t.csv").write_text("y\\n1\\n")
read = []
def fit(self, *_, **given):
    read.append(self)
    raise InputError("noted")
pyvws.Synthesizer.fit = fit
CliRunner().invoke(app, ["synthesize", str(folder / "t.csv"), "--config",
                         str(folder / "run.toml"), "--out", str(folder / "out")])
assert read == [made]

spec = importlib.util.spec_from_file_location("declared_files", sys.argv[1])
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)
assert "| `toy_box` |" in tool.settings_page() and "| `sharpness` |" in tool.settings_page()
assert "sharpness: float | None = None" in tool.stub()
assert 'toy_box: str = "red"' in tool.stub()
""".replace("MECHANISMS_MODULE", "pyvws.mechanisms.registry")


def test_a_setting_declared_on_a_field_is_everywhere() -> None:
    """In a process of its own, whose classes are replaced before anything reads them."""
    done = subprocess.run(
        [sys.executable, "-c", _TOY, str(TOOL)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = importlib.util.spec_from_file_location("declared_files", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stub_and_the_page_follow_from_the_declarations(tool: Any) -> None:
    said = "Run python tools/declared.py."
    stub = (ROOT / "pyvws" / "__init__.pyi").read_text(encoding="utf-8")
    assert ast.dump(ast.parse(stub)) == ast.dump(ast.parse(tool.stub())), said
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == tool.settings_page(), said


def test_every_field_that_a_user_can_set_is_declared() -> None:
    settings = declared()
    owners = [RunSettings, SamplerSettings, *MECHANISMS.values(), *map(type, MODELS.values())]
    for owner in owners:
        for field in fields(owner):
            if field.name != "settings" and not field.metadata.get("prepared"):
                assert field.name in settings, f"{owner.__name__}.{field.name}"


def test_every_text_is_sentences_that_name_settings_in_both_ways() -> None:
    settings = declared()
    for alike in settings.values():
        for one in alike:
            assert one.help.endswith(".")
            assert one.more == "" or one.more.endswith((".", ").")), one.name
        assert "`" not in on_command_line(described(alike))


def test_a_setting_is_refused_by_all_that_do_not_take_it() -> None:
    own = {field.name for field in fields(RunSettings)}
    refused = 0
    for name, alike in declared().items():
        takers = {taker for one in alike for taker in one.takers}
        if name in own or not all(one.takers for one in alike):
            continue
        roles = [("mechanism", MECHANISMS)] if takers <= set(MECHANISMS) else []
        roles += [("model", MODELS)] if takers <= set(MODELS) else []
        for role, known in roles:
            for other in set(known) - takers:
                with pytest.raises(InputError, match=rf"does not take {name}|needs"):
                    arranged({"outcome": "y", "mechanism": "lw", role: other, name: 0.5})
                refused += 1
    assert refused > 50


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"k": 0.9}, refused("belongs-to-setting", name="k")),
        ({"records_epsilon": 1.0}, refused("belongs-to-setting", name="records_epsilon")),
    ],
)
def test_a_setting_is_refused_without_the_one_that_it_needs(
    given: dict[str, Any], refusal: Any
) -> None:
    for make in (
        lambda: arranged({"outcome": "y", "mechanism": "lw", **given}),
        lambda: RunSettings(outcome="y", mechanism="lw", **given),
    ):
        with refusal:
            make()


def test_a_setting_of_the_run_is_refused_under_mechanisms_without_its_property() -> None:
    refused = {"reweight": set(), "epsilon": set()}
    for mechanism, kind in MECHANISMS.items():
        own = {"perturbed-histogram": {"edges_from_data": True}, "inverse": {"t": 2.0}}
        needed = {"epsilon": 4.0} if "epsilon" in {field.name for field in fields(kind)} else {}
        for name, value in (("reweight", True), ("epsilon", 4.0)):
            with suppress(InputError):
                RunSettings(
                    outcome="y", mechanism=kind(**own.get(mechanism, {}), **needed), **{name: value}
                )
                continue
            refused[name].add(mechanism)
    assert refused["reweight"] == {
        *("unweighted", "inverse", "censored", "perturbed-histogram"),
        "noisy-counts",
    }
    assert refused["epsilon"] == refused["reweight"] | {"weighted-epsilon"}
    said = {name: declared()[name][0].help for name in refused}
    for name, mechanisms in refused.items():
        shown = ", ".join(one for one in MECHANISMS if one not in mechanisms)
        assert said[name].endswith(f" Only under {shown}.")


def test_an_instance_takes_no_settings_beside_it() -> None:
    for role, made, name in (
        ("mechanism", MECHANISMS["lw"](), "c"),
        ("model", MODELS["normal"], "outcome_scale"),
    ):
        with refused("setting-of-an-instance"):
            arranged({"outcome": "y", "mechanism": "lw", role: made, name: 0.5})


def test_of_one_name_the_right_one_is_taken() -> None:
    beta = arranged({"outcome": "y", "mechanism": "lw", "model": "beta", "range": (0.0, 5.0)})
    assert beta["model"].range == (0.0, 5.0)
    histogram = arranged(
        {"outcome": "y", "mechanism": "perturbed-histogram", "range": (0.0, 5.0), "epsilon": 2.0}
    )
    assert (histogram["mechanism"].range, histogram["mechanism"].epsilon) == ((0.0, 5.0), 2.0)
    assert arranged({"outcome": "y", "mechanism": "lw", "epsilon": 2.0})["epsilon"] == 2.0


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"outcom": "y"}, refused("unknown-setting", name="outcom")),
        ({"epsilom": 3}, refused("unknown-setting", name="epsilom")),
        ({"zzz": 3}, refused("unknown-setting", name="zzz")),
        ({"model": "poison"}, refused("not-a-choice", value="'poison'")),
        ({"mechanism": "pairwize"}, refused("not-a-choice", value="'pairwize'")),
        ({"engine": "nativ"}, refused("not-a-choice", value="'nativ'")),
        ({"mechanism": "cw", "radius_knd": "absolute"}, refused("unknown-setting")),
    ],
)
def test_an_unknown_name_is_answered_by_the_nearest(given: dict[str, Any], refusal: Any) -> None:
    with refusal:
        RunSettings(**arranged({"outcome": "y", "mechanism": "lw", **given}))
