"""Find the code listings in a paper's text, HTML or LaTeX source.

The package stores nothing of a listing. This module first undoes the typesetting, by named steps,
then finds each listing by short patterns of its first and last lines. Last, the module makes white
space plain, so that one listing has one SHA-256 whatever the form of the paper.
"""

from __future__ import annotations

import hashlib
import html
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyvws.errors import InputError

# Named steps that undo typesetting; the module applies the steps to every document in this order.
NORMALISED: Final[tuple[tuple[str, str, str], ...]] = (
    ("line-ends", r"\r\n?|\u2028|\f", "\n"),
    ("typeset-blanks", r"[\u00a0\u00af\u2000-\u200a\u202f\u3000\t]", " "),
    ("invisible-characters", r"[\u00ad\u200b-\u200d\ufeff]", ""),
    ("typeset-double-quotes", r"[\u201c-\u201f]", '"'),
    ("typeset-single-quotes", r"[\u2018-\u201b]", "'"),
    ("typeset-minus", r"[\u2010-\u2015\u2212]", "-"),
    ("typeset-comparisons", r"\u2264", "<="),
    ("typeset-comparisons-above", r"\u2265", ">="),
    ("typeset-tilde", r"[\u02dc\u223c]", "~"),
    ("split-assignment", r"<\s-(?=\s)", "<-"),
    ("fences", r"^ *(?:`{3}.*|\\(?:begin|end)\{.*)$", ""),
)

# A title stands at the beginning of a line, after a heading's mark or LaTeX's command.
_START: Final = r"^[#\s]*(?:\\title\w*(?:\[[^\]]*\])?\s*\{\s*(?:\\\w+\b\s*)*)?"
_TITLES: Final = (
    ("vws2020", re.compile(_START + r"Re-weighting\s+of\s+Vector-weighted\s+Mechanisms", re.M)),
    ("vws2024", re.compile(_START + r"Vector-weighted\s+Mechanisms", re.M)),
)
_SUFFIXES: Final = {
    ".txt": "text", ".md": "text", ".html": "html", ".htm": "html", ".xhtml": "html",
    ".tex": "latex", ".ltx": "latex",
}  # fmt: skip
# First and last line of each listing; the first of the two R listings reads the unweighted fit.
_FIRST: Final = {
    "weights": r"^ *log_lik *<- *\w*_unweighted\$",
    "bounds": r"^ *log_lik *<- *\w*_weighted\$",
    "poisson": r"^ *functions *\{",
}
_LAST: Final = {"weights": r"^ *weights\[.*>=.*$", "bounds": r"^.*<- *quantile\(.*$"}
_LAST_BLOCK: Final = re.compile(r"^ *generated +quantities *\{", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Paper:
    """A document: the paper's key, the document's files, and its text as printed."""

    key: str
    files: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A listing after the normalising steps: the kind, the code, and the code's SHA-256."""

    kind: str
    code: str

    @property
    def sha256(self) -> str:
        """SHA-256 of the lines without leading, trailing or repeated blanks and empty lines."""
        return hashlib.sha256(self.code.encode("utf-8")).hexdigest()


def read_papers(path: Path) -> list[Paper]:
    """The papers with listings among the text, HTML or LaTeX files of a file or folder.

    The LaTeX files of one folder are one document. Raises InputError if there is no paper.
    """
    documents: dict[tuple[str, ...], str] = {}
    base = path.parent if path.is_file() else path
    latex: dict[Path, list[Path]] = {}
    for file in [path] if path.is_file() else sorted(path.rglob("*")):
        form = _SUFFIXES.get(file.suffix.lower()) if file.is_file() else None
        if form == "latex":
            latex.setdefault(file.parent, []).append(file)
        elif form:
            documents[(file.relative_to(base).as_posix(),)] = _plain(_read(file), form)
    for files in latex.values():
        texts = {file: _read(file) for file in files}
        ordered = sorted(files, key=lambda file: ("\\title" not in texts[file], file))
        name = tuple(file.relative_to(base).as_posix() for file in ordered)
        documents[name] = _plain("\n".join(texts[file] for file in ordered), "latex")
    papers = [
        Paper(key, files, text)
        for files, text in documents.items()
        for key in [key for key, pattern in _TITLES if pattern.search(text)][:1]
    ]
    if not papers:
        raise InputError.by("papers-without-listings", path=path)
    return papers


def find_listings(paper: Paper) -> dict[str, Listing]:
    """The listings in a paper's text by kind: "weights" and "bounds" in R, "poisson" in Stan."""
    text = paper.text
    for _, pattern, replacement in NORMALISED:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    listings = {}
    for kind, first in _FIRST.items():
        start = re.search(first, text, re.MULTILINE)
        end = _end(kind, text, start.start()) if start else None
        if start and end:
            lines = (" ".join(x.split()) for x in text[start.start() : end].splitlines())
            listings[kind] = Listing(kind, "".join(f"{line}\n" for line in lines if line))
    return listings


def _end(kind: str, text: str, start: int) -> int | None:
    if kind != "poisson":
        last = re.compile(_LAST[kind], re.MULTILINE).search(text, start)
        return last.end() if last else None
    block = _LAST_BLOCK.search(text, start)
    if block is None:
        return None
    depth = 0
    for place in range(block.end() - 1, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return None


def _read(file: Path) -> str:
    return file.read_bytes().decode("utf-8", errors="replace")


def _plain(text: str, form: str) -> str:
    """HTML text without tags, one line for each block; other forms unchanged."""
    if form != "html":
        return text
    text = re.sub(r"(?is)<(script|style)\b.*?</\1>", "", text)
    text = re.sub(r"(?i)<br */?>|</(?:p|div|pre|li|tr|h\d|title)>", "\n", text)
    return html.unescape(re.sub(r"</?[A-Za-z!][^<>]*>", "", text))
