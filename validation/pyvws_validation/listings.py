"""Compare the papers' own R and Stan listings, read at run time, with the package.

This module undoes the typesetting by named steps, finds each listing in the paper's text by short
patterns of its first and last lines, records the listing's SHA-256, applies the
documented errata as named edits, and runs the edited listing in R or Stan. The module also runs
each listing without each edit in turn. Without an edit the listing must stop or differ; if the
listing agrees, the erratum is out of date.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.bounds.lipschitz import lipschitz_bounds
from pyvws.engines.registry import engine_version
from pyvws.errors import InputError, MissingDependencyError, PyvwsError
from pyvws.r import bridge
from pyvws.weights.weights import weights_from_bounds
from pyvws_validation._case import numbers
from pyvws_validation._draws import Draws
from pyvws_validation._measured_case import Findings
from pyvws_validation.cases.density import SHAPES, judge_program
from pyvws_validation.compare import largest_ulp
from pyvws_validation.edits import Edit, apply_edits
from pyvws_validation.report import Row, Verdict

TARGET: Final = "pyvws.posterior.pseudo_posterior:PseudoPosterior"
"""What the package has beside a Stan program of others."""

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


# The documented errata of the listings, by paper and listing.

ROW_MAXIMA: Final = Edit(
    "row-maxima-in-base-r",
    "rfast-maxima",
    r"\browMaxs\( ?(\w+), ?value ?= ?TRUE ?\)",
    r"apply(\1, 1, max)",
)
COLUMN_MAXIMA: Final = Edit(
    "column-maxima-in-base-r",
    "rfast-maxima",
    r"\bcolMaxs\( ?(\w+), ?value ?= ?TRUE ?\)",
    r"apply(\1, 2, max)",
)
_KEPT: Final = Edit(
    "draws-within-the-threshold",
    "logthresh-undefined",
    r"^(.*<- *colMaxs\( ?)(logthresh\w*)\b",
    r"\2 <- log_ratio[log_ratio_theta <= L, , drop = FALSE]\n\1\2",
)
_CLOSED: Final = Edit(
    "functions-block-closed", "functions-block-open", r"(return \w+; ?\})\n(data ?\{)", r"\1\n}\n\2"
)
_OF_A_RECORD: Final = Edit(
    "function-of-one-record", "record-function-name", r"(log_lik\[i\] ?= ?wt_pois)(_lpmf)", r"\1i\2"
)

LISTING_EDITS: Final[dict[tuple[str, str], tuple[Edit, ...]]] = {
    **{(key, "weights"): (_KEPT, ROW_MAXIMA, COLUMN_MAXIMA) for key in ("vws2020", "vws2024")},
    **{(key, "bounds"): (ROW_MAXIMA,) for key in ("vws2020", "vws2024")},
    ("vws2020", "poisson"): (),
    ("vws2024", "poisson"): (_CLOSED, _OF_A_RECORD),
}
# Stan 2.33 removed the array syntax of these programs; rstan 2.21 knows only that syntax.
TODAYS_STAN: Final = (
    Edit("array-argument-of-today", "old-array-syntax", r"\bint\[\] (\w+)", r"array[] int \1"),
    Edit(
        "array-of-today",
        "old-array-syntax",
        r"\b(int<lower=0>) (\w+)\[(\w+)\];",
        r"array[\3] \1 \2;",
    ),
)

Numbers = dict[str, Floats]

_SEEDS: Final = (1, 2, 3, 4, 5)
_SHAPES: Final = ((1, 6), (4, 9), (12, 30))
# c, g and threshold: weights that clip at 1, at 0 and at neither; thresholds that drop draws.
_TUNING: Final = (
    (1.0, 0.0, 1.0),
    (1.7, 0.3, 0.9),
    (0.8, -0.25, 0.95),
    (1.0, 0.0, 0.5),
    (2.0, 0.1, 0.99),
)
_FIT: Final = {"weights": "stan_estimate_unweighted", "bounds": "stan_estimate_weighted"}
# The package's name of a quantity, the listing's variable, and the places that define both.
_BOUNDS: Final = "pyvws.bounds.lipschitz:lipschitz_bounds"
_QUANTITIES: Final = {
    "weights": (
        ("weights", "weights", "step 4", "pyvws.weights.weights:weights_from_bounds"),
        ("by-record", "log_ratio_data", "step 3", f"{_BOUNDS}.by_record"),
        ("by-draw", "log_ratio_theta", "step 2", f"{_BOUNDS}.by_draw"),
        ("database", "L", "step 2", f"{_BOUNDS}.database"),
    ),
    "bounds": (
        ("by-draw", "log_ratio_theta", "step 7", f"{_BOUNDS}.by_draw"),
        ("database", "L", "step 7", f"{_BOUNDS}.database"),
    ),
}  # fmt: skip
_ENGINES: Final = (("rstan", ()), ("pystan", TODAYS_STAN))


def run(papers: Path) -> Iterator[Row]:
    """A row for each listing of the papers in a file or folder, compared when it is asked for.

    A listing that the text lacks makes a row "fail", and a missing R or Stan makes it "skipped".
    Raises InputError if no paper with listings is there.
    """
    papers_and_listings = ((paper, find_listings(paper)) for paper in read_papers(papers))
    each = (
        _rows(paper, kind, listings.get(kind), edits)
        for paper, listings in papers_and_listings
        for (key, kind), edits in LISTING_EDITS.items()
        if key == paper.key
    )
    return chain.from_iterable(each)


def _rows(
    paper: Paper, kind: str, listing: Listing | None, edits: tuple[Edit, ...]
) -> Iterator[Row]:
    blank = Row(
        id=f"listings/{paper.key}-{kind}",
        paper=f"{paper.key}, Appendix {2 if kind == 'poisson' else 1}",
        level="exact",
        r_function=f"{', '.join(paper.files)}: listing {kind}",
        python_function="",
        seeds=_SEEDS,
        shapes=_SHAPES,
        verdict="fail",
        sha256=listing.sha256 if listing else "",
        edits=tuple(edit.name for edit in edits),
    )
    if listing is None:
        yield replace(blank, reason=f"The paper has no listing of kind {kind}, or none was found.")
    elif kind == "poisson":
        yield from stan_rows(blank, listing, edits)
    else:
        yield from r_rows(blank, listing, edits)


def r_rows(blank: Row, listing: Listing, edits: tuple[Edit, ...]) -> Iterator[Row]:
    available, missing = bridge.r_available()
    if not available:
        yield replace(blank, verdict="skipped", reason=missing)
        return
    blank = replace(blank, source=f"R {bridge.r_versions()['R']}")
    try:
        code = apply_edits(listing.code, edits)
        gaps = _largest(listing.kind, code)
    except PyvwsError as error:
        yield replace(blank, reason=str(error))
        return
    for name, _, step, python_function in _QUANTITIES[listing.kind]:
        gap, row_id = gaps[name], blank.id.replace(listing.kind, name)
        yield replace(
            blank,
            id=row_id if listing.kind == "weights" else f"{row_id}-weighted",
            paper=f"{blank.paper}, {step}",
            python_function=python_function,
            largest_difference=gap,
            verdict="pass" if gap == 0 else "fail",
            reason="" if gap == 0 else f"Differs by {gap} ulp." if gap else "The shapes differ.",
        )
    for edit in edits:
        yield _without(blank, edit, lambda code: bool(_largest(listing.kind, code)), listing, edits)
    infinite = replace(blank, id=f"{blank.id}-not-finite", erratum="listing-not-finite")
    yield _differing(infinite, lambda: not _spoilt(listing.kind, code))


def _largest(kind: str, code: str) -> dict[str, int | None]:
    """Largest distance in ulp of each quantity of an R listing; None if shapes or NaNs differ."""
    largest: dict[str, int | None] = {}
    for shape in _SHAPES:
        for seed in _SEEDS:
            log_lik, tuning = Draws(seed).log_lik(*shape), _TUNING[seed - 1]
            theirs, ours = _listed(kind, code, log_lik, tuning), _ours(log_lik, tuning)
            for name, variable, *_ in _QUANTITIES[kind]:
                gap = largest_ulp(ours[name], theirs[variable])
                before = largest.get(name, 0)
                largest[name] = None if gap is None or before is None else max(before, gap)
    return largest


def _listed(kind: str, code: str, log_lik: Floats, tuning: Sequence[float]) -> Numbers:
    inputs = dict(zip(("c", "g", "thresh"), tuning, strict=True)) | {
        _FIT[kind]: {"log_lik": log_lik}
    }
    results = np.array([variable for _, variable, *_ in _QUANTITIES[kind]], dtype=object)
    arguments: dict[str, Any] = {"code": code, "inputs": inputs, "results": results}
    answer = bridge.call("listings", "run_listing", arguments)
    return {name: numbers(value) for name, value in answer.items()}


def _ours(log_lik: Floats, tuning: Sequence[float]) -> Numbers:
    c, g, threshold = tuning
    bounds = lipschitz_bounds(log_lik, method="leave_one_out", threshold=threshold)
    return {
        "weights": weights_from_bounds(bounds.by_record, c=c, g=g),
        "by-record": bounds.by_record,
        "by-draw": bounds.by_draw,
        "database": np.array([bounds.database]),
    }


def _spoilt(kind: str, code: str) -> bool:
    """Whether one record at -Inf leaves the listing without finite bounds of the other records."""
    log_lik = Draws(1).log_lik(4, 9)
    log_lik[0, 2] = -np.inf
    try:
        theirs = _listed(kind, code, log_lik, _TUNING[0])
    except bridge.RError:
        return True
    return not np.isfinite(theirs["log_ratio_theta"]).all()


def stan_rows(blank: Row, listing: Listing, edits: tuple[Edit, ...]) -> Iterator[Row]:
    for engine, more in _ENGINES:
        named = (*edits, *more)
        row = replace(
            blank,
            id=f"{blank.id}-{engine}",
            level="density",
            python_function=TARGET,
            edits=tuple(edit.name for edit in named),
        )
        row = judged(row, engine, partial(_judge, engine, listing.code, named))
        yield row
        if row.measured:
            for edit in named if engine == "rstan" else more:
                yield _without(row, edit, partial(_compiles, engine), listing, named)


def judged(row: Row, engine: str, judge: Callable[[], Findings]) -> Row:
    """The row of a Stan program of others, as `judge` compares it now; skipped without engine."""
    row = replace(row, seeds=(1,), shapes=SHAPES)
    try:
        row = replace(row, source=f"{engine} {engine_version(engine)}")
        found = judge()
    except MissingDependencyError as missing:
        return replace(row, verdict="skipped", reason=str(missing))
    except PyvwsError as error:
        return replace(row, reason=str(error))
    reason = "" if found.passed else f"Too far apart: {found.words}"
    verdict: Verdict = "fail" if reason else "pass"
    return replace(row, verdict=verdict, reason=reason, measured=found.words)


def one_form(program: str) -> str:
    """A Stan program with one blank between its symbols, so that equal programs compile once."""
    if "//" in program or "/*" in program or "#" in program:
        return program
    symbols = re.findall(r"[A-Za-z_]\w*|\d+\.?\d*(?:[eE][+-]?\d+)?|[-+*/<>=!]=|\S", program)
    return " ".join(symbols) + "\n"


def _judge(engine: str, code: str, edits: tuple[Edit, ...] = ()) -> Findings:
    return judge_program("poisson", engine, program=one_form(apply_edits(code, edits)))


def _compiles(engine: str, program: str) -> bool:
    return _judge(engine, program).passed


def _without(
    row: Row, left_out: Edit, runs: Callable[[str], bool], listing: Listing, edits: tuple[Edit, ...]
) -> Row:
    """The row of the listing with all edits but one; that code must stop or differ."""
    rest = tuple(edit for edit in edits if edit.name != left_out.name)
    row = replace(
        row,
        id=f"{row.id}-without-{left_out.name}",
        edits=tuple(edit.name for edit in rest),
        erratum=left_out.erratum,
        measured="",
    )
    try:
        code = apply_edits(listing.code, rest)
    except PyvwsError as error:
        return replace(row, reason=str(error))
    return _differing(row, lambda: runs(code))


def _differing(row: Row, runs: Callable[[], bool]) -> Row:
    """A row that passes while the code stops or disagrees."""
    try:
        stops = not runs()
    except PyvwsError:
        stops = True
    if stops:
        return replace(row, verdict="pass", reason="", measured="stops, as known")
    reason = f"It runs, but should not: see the erratum {row.erratum}."
    return replace(row, verdict="fail", reason=reason)
