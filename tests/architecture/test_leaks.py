"""Tracked files hold no path of a machine and no note to self, and no module is long."""

import re

import pytest

MACHINE = re.compile(
    r"(?<![\w.:/*])/(?:home|Users|root|work|tmp)/\w|[A-Za-z]:[\\/]+Users[\\/]", re.ASCII
)
NOTE = re.compile("|".join(rf"\b{start}{end}\b" for start, end in (("TO", "DO"), ("FIX", "ME"))))
LONGEST = 500  # A file is split where a reader looks for two things; beyond this it surely is two.
SHIPPED = ("pyvws/", "r_reference/", "stan/")


@pytest.fixture(scope="module")
def texts(root, files_of_git):
    """The text of every file that git knows, by name."""
    found = {}
    for name in files_of_git():
        content = (root / name).read_bytes()
        if b"\0" not in content:
            found[name] = content.decode("utf-8")
    assert {"README.md", "pyproject.toml", "pyvws/__init__.py"} <= set(found)
    return found


def lines_with(pattern, texts):
    return [
        f"{name}:{number}"
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def test_the_patterns_find_what_they_should():
    home, tmp, users, root, to = "home", "tmp", "Users", "root", "TO"
    for line in (f"see /{home}/ann/x.csv", f'"/{tmp}/out"', f"C:\\{users}\\ann", f"(/{root}/a)"):
        assert MACHINE.search(line)
    for line in (f"https://example.org/{home}/ann", f"r/{root}/x", "~/data", "/usr/bin/env"):
        assert not MACHINE.search(line)
    assert NOTE.search(f"# {to}DO: later")
    assert not NOTE.search("mastodon")


def test_no_path_of_a_machine(texts):
    assert lines_with(MACHINE, texts) == []


def test_no_note_to_self(texts):
    assert lines_with(NOTE, texts) == []


def test_no_module_is_long(texts):
    modules = {name: text for name, text in texts.items() if name.startswith(SHIPPED)}
    assert len(modules) > 50
    long = {name for name, text in modules.items() if len(text.splitlines()) > LONGEST}
    assert long == set()
