"""Papers are cited by keys that exist, and every key is used."""

import re

from pyvws._base.resources import REFERENCES

KEY = re.compile(r"\[([a-z]+(?:19|20)\d\d[a-z]?)\]")


def test_cited_keys_and_listed_papers_agree(root):
    cited = {}
    for path in sorted((root / "pyvws").rglob("*")):
        if path.suffix not in (".py", ".toml"):
            continue
        for key in KEY.findall(path.read_text(encoding="utf-8")):
            cited.setdefault(key, []).append(path.name)
    assert {key: places for key, places in cited.items() if key not in REFERENCES} == {}
    assert set(REFERENCES) - set(cited) == set()


def test_entries_are_full_sentences_with_a_year():
    for key, entry in REFERENCES.items():
        assert f"({key[-4:]})" in entry
        assert entry.endswith(".")
