"""What carries the project on: hooks, the public check, a report's form, a release's steps."""

import re

import pytest

yaml = pytest.importorskip("yaml")


def _read(root, name):
    return yaml.safe_load((root / name).read_text(encoding="utf-8"))


def test_the_public_check_calls_the_script_that_every_machine_runs(root):
    (job,) = _read(root, ".github/workflows/check.yml")["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step][-1] == ".ci/run"
    assert (root / ".ci/run").stat().st_mode & 0o111


def test_hooks_run_style_and_the_quick_tests(root):
    (local,) = _read(root, ".pre-commit-config.yaml")["repos"]
    entries = {hook["id"]: hook["entry"] for hook in local["hooks"]}
    assert entries["ruff"].startswith(".venv/bin/ruff check")
    assert entries["ruff-format"].startswith(".venv/bin/ruff format --check")
    assert entries["quick"] == "make quick"
    assert re.search(r"^quick:", (root / "Makefile").read_text(), flags=re.MULTILINE)


def test_a_report_asks_for_the_doctor_and_never_for_data(root):
    form = _read(root, ".github/ISSUE_TEMPLATE/bug.yml")
    fields = {field.get("id"): field for field in form["body"]}
    assert "pyvws doctor" in fields["doctor"]["attributes"]["label"]
    assert "Send no data" in fields[None]["attributes"]["value"]
    assert fields["clean"]["attributes"]["options"][0]["required"]
    asked = [field["attributes"]["label"] for field in form["body"] if field.get("id")]
    assert not any("attach" in label.lower() for label in asked)


def test_the_steps_of_a_release_name_files_and_commands_that_exist(root):
    text = (root / "RELEASING.md").read_text(encoding="utf-8")
    for name in re.findall(r"`([\w./-]+\.(?:toml|py|cff|md)|\.ci/run)`", text):
        assert (root / name).exists(), name
    assert "make docs" in text
    for name in ("RELEASING.md", "CODE_OF_CONDUCT.md"):
        assert name in (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
        assert f'"/{name}"' in (root / "pyproject.toml").read_text(encoding="utf-8")
