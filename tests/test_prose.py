"""Pages, docstrings and statements: at most one sentence in a hundred has more than 28 words."""

import inspect
import re
import tomllib
from collections.abc import Iterator

import pytest
from documents import ROOT

import pyvws

_LONG = 28
_MOST = 0.01
_SHORT = sorted(
    path.stem
    for path in (ROOT / "docs").glob("*.md")
    if path.stem != "settings"  # tools/declared.py makes them.
)
_LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_ITEM = r"(?:[-*]|\d+\.) "
_PARAGRAPH = re.compile(rf"\n\s*\n|\n(?=\s*{_ITEM})")
_END = re.compile(r"(?<=[.?!])[\"')*]*\s+(?=[A-Z`*\"(\d$-])")


def sentences(page: str) -> Iterator[str]:
    """Each sentence of a page, without code, formulas on their own lines, headings and tables."""
    text = "\n".join(
        line
        for line in re.sub(r"(?ms)^```.*?^```$|^\$\$.*?\$\$$", "", page).splitlines()
        if not line.startswith(("#", "|"))
    )
    for paragraph in _PARAGRAPH.split(_LINK.sub(r"\1", re.sub(r"<[^>]+>", "", text))):
        plain = " ".join(re.sub(rf"^\s*{_ITEM}", "", paragraph.strip()).split())
        yield from filter(None, _END.split(plain))


def long_sentences(page: str) -> tuple[list[str], int]:
    """The sentences above the limit, and the number of all."""
    every = list(sentences(page))
    return [sentence for sentence in every if len(sentence.split()) > _LONG], len(every)


@pytest.mark.parametrize("name", ["README", *_SHORT])
def test_sentences_are_short(name: str) -> None:
    path = ROOT / "README.md" if name == "README" else ROOT / "docs" / f"{name}.md"
    long, number = long_sentences(path.read_text(encoding="utf-8"))
    assert len(long) <= _MOST * number, long


def test_the_words_of_a_statement_are_short() -> None:
    words = tomllib.loads((ROOT / "pyvws/statement/words.toml").read_text(encoding="utf-8"))
    said = [text for part in words.values() for text in part.values()]
    assert len(said) > 150
    every = [sentence for text in said for sentence in sentences(text)]
    assert [sentence for sentence in every if len(sentence.split()) > 25] == []
    for key, text in words["caveats"].items():
        assert len(list(sentences(text))) <= 2, key


def test_docstrings_of_public_names_are_short() -> None:
    long, number = [], 0
    for name in pyvws.__all__:
        text = inspect.getdoc(getattr(pyvws, name)) or ""
        prose = re.sub(r"(?m)^>>>.*(?:\n.+)*|^-+$", "", text)
        found, here = long_sentences(re.sub(r"(?m)^(\w.*)\n(?=    )", "\n\n", prose))
        long, number = long + found, number + here
    assert number > 1000
    assert len(long) <= _MOST * number, long


def test_a_long_sentence_is_noticed_wherever_it_stands() -> None:
    many = " ".join(["word"] * (_LONG + 1))
    page = f"# A heading\n\n- Short one. {many.capitalize()}.\n- Next.\n\n"
    page += f"```sh\n{many}\n```\n\n| {many} |\n"
    long, number = long_sentences(page)
    assert ([len(sentence.split()) for sentence in long], number) == ([_LONG + 1], 3)
    assert long_sentences(f"See [{many}](a.md#b).")[0]
    assert not long_sentences(f"See [it]({'x' * 400}).")[0]


def test_the_front_pages_speak_of_no_person_without_a_verb() -> None:
    """Phrases that leave out their subject or deny twice."""
    pages = ("index", "tutorial", "choose", "questions", "limits", "utility", "audit", "strict")
    for name in ("README", *pages):
        path = ROOT / "README.md" if name == "README" else ROOT / "docs" / f"{name}.md"
        text = " ".join(path.read_text(encoding="utf-8").split())
        found = re.findall(r"\b(?:what is said of|those of|tells? of|is told of|not un\w+)\b", text)
        assert found == [], name
