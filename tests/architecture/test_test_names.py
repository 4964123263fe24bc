"""Tests replace objects, not names in strings, so moving a module breaks only its own tests."""

import ast
import re

import pytest

# These plant mistakes at named places: the place is what they test.
PLANTED = ("test_mutations.py", "_mistakes.py", "test_guarantee.py")
PRIVATE = re.compile(r"pyvws(\.\w+)*[.:]_[a-z]\w*")


@pytest.mark.runs
def test_no_private_name_is_a_string_and_no_whole_sentence_is_pinned(root):
    found = []
    for path in sorted((root / "tests").rglob("*.py")):
        if path.name.endswith(PLANTED):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                texts = [one.value for one in node.args if isinstance(one, ast.Constant)]
                patched = isinstance(node.func, ast.Attribute) and node.func.attr == "setattr"
                named = [text for text in texts if isinstance(text, str) and patched]
                pinned = [
                    one.value.value
                    for one in node.keywords
                    if one.arg == "match" and isinstance(one.value, ast.Constant)
                ]
                bad = [text for text in named if text.startswith("_") or PRIVATE.match(text)]
                bad += [text for text in map(str, pinned) if re.match(r"\^.*\\\.\$$", text)]
                found += [f"{path.name}:{node.lineno}: {text}" for text in bad]
    assert found == []


def test_no_example_has_a_deadline(root):
    """The profile of tests/conftest.py takes deadlines off, as a busy machine would miss them."""
    timed = {
        path.name
        for path in (root / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "deadline"
    }
    assert timed == {"conftest.py"}
