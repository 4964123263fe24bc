"""What the package refuses is said by key: each sentence once, in its room, and in plain words."""

import ast
import re
import string
import tomllib
from collections import Counter

import pytest
from house import MODULES, nodes, unit_of

from pyvws.plan import make, refusal, refusals

LONGEST = 25  # Words of a sentence.


@pytest.fixture(scope="module")
def sentences(root):
    """The sentences by room and key."""
    files = [file for at in ("pyvws", "validation") for file in (root / at).glob("*/refusals.toml")]
    return {file.parent.name: tomllib.loads(file.read_text("utf-8")) for file in files}


def calls():
    """Each room, key and names of fields of a refusal."""
    for module, path in MODULES.items():
        for node in nodes(path):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "by" and node.args:
                key = node.args[0]
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield unit_of(module), key.value, {word.arg for word in node.keywords}


def conditions():
    """The keys of what settings and plans are refused for."""
    return [*make.OF_OUTCOME, *make.OF_SCHEMA, *refusals.OF_PLAN, *refusal.OF_RECORDS]


def fields(words: str) -> set[str | None]:
    names = (name for _, name, _, _ in string.Formatter().parse(words) if name is not None)
    return {re.split(r"[.[]", name)[0] for name in names}


def test_each_refusal_has_its_sentence_and_each_sentence_its_refusal(sentences):
    asked = {}
    for room, key, given in calls():
        assert given == fields(sentences[room][key]), key
        asked.setdefault(room, set()).add(key)
    for key in conditions():
        assert fields(sentences["plan"][key]) <= {"asked", "it"}, key
        asked["plan"].add(key)
    assert asked == {room: {*own} for room, own in sentences.items()}


def test_a_key_stands_for_one_sentence(sentences):
    keys = Counter(key for own in sentences.values() for key in own)
    assert [key for key, times in keys.items() if times > 1] == []
    assert all(re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", key) for key in keys)


def test_the_sentences_are_short(sentences):
    for own in sentences.values():
        for key, words in own.items():
            assert words == words.strip(), key
            for sentence in re.split(r"(?<=[a-z)'`\]}])\. |: |; ", words):
                assert len(sentence.split()) <= LONGEST, f"{key}: {sentence}"
