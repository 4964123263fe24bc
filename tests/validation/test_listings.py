"""The papers' listings: found in any form of a document, edited, run, and compared."""

import html
import os
from pathlib import Path
from typing import Any

import pytest
from pyvws_validation import listings
from pyvws_validation.edits import Edit, EditError, apply_edits
from pyvws_validation.listings import (
    LISTING_EDITS,
    TODAYS_STAN,
    Listing,
    find_listings,
    one_form,
    read_papers,
)

from pyvws.errors import InputError

_PAPERS = Path(__file__).parents[3] / "shared" / "papers"

# A document of our own, with nothing of a listing but the lines that mark its ends.
OWN = """# Vector-weighted Mechanisms

Some prose about log_lik <- and functions.

log_lik  <- my_unweighted$log_lik
  x <- "quoted"
if (x != 'a' && 1 <= 2)   y <- -1

weights[weights >= 1] <- 1
More prose.
functions {
  real f(real a) { return a; }
}
generated quantities { vector[2] z; for (i in 1:2) { z[i] = f(1 - i); } }
And the end }.
"""
TITLE = "Vector-weighted Mechanisms"


def typeset(text: str) -> str:
    """The text as a typesetter leaves it."""
    changes = (('"', "\u201d"), ("'", "\u2019"), ("  ", "\u00a0\u00af"), (" 1 -", " 1 \u2212"))
    for plain, set_by_hand in changes:
        text = text.replace(plain, set_by_hand)
    return text.replace("\n", "\r\n")


def as_html(text: str) -> str:
    title, _, body = text.lstrip("# \n").partition("\n")
    lines = "".join(f"<div class='line'>{html.escape(line)}</div>" for line in body.splitlines())
    return f"<html><script>functions {{ </script><h1>{title}</h1>{lines}</html>"


def as_latex(text: str) -> str:
    title, _, body = text.lstrip("# \n").partition("\n")
    head = f"\\documentclass{{article}}\n\\title{{\\bf {title}}}\n"
    return f"{head}\\begin{{lstlisting}}[language=R]\n{body}\n\\end{{lstlisting}}\n"


FORMS = {"paper.txt": str, "paper.html": as_html, "paper.tex": as_latex, "set.txt": typeset}


def found(folder: Path, name: str, text: str) -> dict[str, Listing]:
    (folder / name).write_text(text, encoding="utf-8")
    (paper,) = read_papers(folder / name)
    return find_listings(paper)


@pytest.fixture(scope="module")
def papers() -> Path:
    if not _PAPERS.exists():
        assert not os.environ.get("CI"), "the papers must be there in CI"
        pytest.skip("needs the papers, which lie beside the checkout of the developers")
    return _PAPERS


@pytest.mark.parametrize("name", FORMS)
def test_found_in_every_form(tmp_path: Path, name: str) -> None:
    code = found(tmp_path, name, FORMS[name](OWN))
    assert set(code) == {"weights", "poisson"}
    assert code["weights"].code.splitlines() == [
        "log_lik <- my_unweighted$log_lik",
        'x <- "quoted"',
        "if (x != 'a' && 1 <= 2) y <- -1",
        "weights[weights >= 1] <- 1",
    ]
    assert code["poisson"].code.endswith("{ z[i] = f(1 - i); } }\n")


def test_the_hash_is_of_the_code_alone(tmp_path: Path) -> None:
    hashes = {found(tmp_path, n, form(OWN))["weights"].sha256 for n, form in FORMS.items()}
    assert len(hashes) == 1
    other = OWN.replace("-1", "-2")
    assert found(tmp_path, "other.txt", other)["weights"].sha256 not in hashes


def test_latex_files_of_a_folder_are_one_document(tmp_path: Path) -> None:
    title, _, body = OWN.partition("\n")
    (tmp_path / "a.tex").write_text(body, encoding="utf-8")
    (tmp_path / "main.tex").write_text(f"\\title{{{title[2:]}}}\n\\input{{a}}\n", encoding="utf-8")
    (paper,) = read_papers(tmp_path)
    assert paper.files == ("main.tex", "a.tex")
    assert set(find_listings(paper)) == {"weights", "poisson"}


def test_the_title_decides_which_paper(tmp_path: Path) -> None:
    for number, title in enumerate([f"Re-weighting of {TITLE}", TITLE, f"About {TITLE}"]):
        (tmp_path / f"{number}.txt").write_text(f"# {title}\n", encoding="utf-8")
    assert [paper.key for paper in read_papers(tmp_path)] == ["vws2020", "vws2024"]
    with pytest.raises(InputError, match="No paper with listings"):
        read_papers(tmp_path / "2.txt")


def test_real_papers_in_every_form(papers: Path, tmp_path: Path) -> None:
    for paper in read_papers(papers):
        printed = find_listings(paper)
        assert set(printed) == {"weights", "bounds", "poisson"}
        for name, form in FORMS.items():
            text = (papers / paper.files[0]).read_text(encoding="utf-8")
            again = found(tmp_path, f"{paper.key}-{name}", form(text))
            assert {k: v.sha256 for k, v in again.items()} == {
                k: v.sha256 for k, v in printed.items()
            }


# Edits


def test_an_edit_that_no_longer_applies_fails() -> None:
    edit = Edit("shorter", "some-slip", r"^long(er)?$", "short")
    assert apply_edits("long\nlonger\n", [edit]) == "short\nshort\n"
    with pytest.raises(
        EditError, match=r"The edit shorter \(erratum some-slip\) no longer applies"
    ):
        apply_edits("short\n", [edit])


def test_every_edit_applies_to_its_listing_once(papers: Path) -> None:
    for paper in read_papers(papers):
        for kind, listing in find_listings(paper).items():
            more = TODAYS_STAN if kind == "poisson" else ()
            code = apply_edits(listing.code, (*LISTING_EDITS[paper.key, kind], *more))
            for edit in (*LISTING_EDITS[paper.key, kind], *more):
                if edit.name != "draws-within-the-threshold":  # Its line stays, with one above it.
                    with pytest.raises(EditError):
                        edit.apply(code)


def test_one_form_keeps_symbols() -> None:
    program = "real<lower=0> a ;\n a+=1.5e-3*b[ 1 ];  x<=y"
    kept = "real < lower = 0 > a ; a += 1.5e-3 * b [ 1 ] ; x <= y\n"
    assert one_form(program) == one_form(kept) == kept
    assert one_form("a; // to the end\nb;") == "a; // to the end\nb;"


def test_both_papers_have_one_stan_program(papers: Path) -> None:
    programs = {
        one_form(apply_edits(find_listings(paper)["poisson"].code, LISTING_EDITS[key, "poisson"]))
        for paper in read_papers(papers)
        for key in [paper.key]
    }
    assert len(programs) == 1


# Runs


def only_r(monkeypatch: Any) -> None:
    monkeypatch.setattr(listings, "stan_rows", lambda *_: iter(()))


@pytest.mark.r
def test_r_listings_give_the_packages_bits(papers: Path, monkeypatch: Any) -> None:
    only_r(monkeypatch)
    rows = [*listings.run(papers)]
    assert {row.id: row.reason for row in rows if row.verdict != "pass"} == {}
    assert [row.largest_difference for row in rows].count(0) == 12
    assert len(rows) == 24
    assert len({row.sha256 for row in rows}) == 4


@pytest.mark.r
@pytest.mark.slow
def test_stan_listings_give_the_packages_density(papers: Path, need: Any, monkeypatch: Any) -> None:
    need("rstan")
    need("pystan")
    monkeypatch.setattr(listings, "r_rows", lambda *_: iter(()))
    rows = [*listings.run(papers)]
    assert {row.id: row.reason for row in rows if row.verdict != "pass"} == {}
    assert sum("log density" in row.measured for row in rows) == 4
    assert sum(row.measured == "stops, as known" for row in rows) == 6


@pytest.mark.r
@pytest.mark.parametrize(
    ("change", "failed", "reason"),
    [
        (("abs(", "(2 * "), "weights", "Differs by"),
        (("value = TRUE", "values = TRUE"), "weights", "no longer applies"),
        (("weights[weights >= 1]", "weights[1]"), "weights", "none was found"),
        (("<- quantile(", "<- max("), "bounds", "none was found"),
    ],
)
def test_a_changed_listing_fails(
    papers: Path, tmp_path: Path, monkeypatch: Any, change: Any, failed: str, reason: str
) -> None:
    only_r(monkeypatch)
    (paper,) = (paper for paper in read_papers(papers) if paper.key == "vws2024")
    text = (papers / paper.files[0]).read_text(encoding="utf-8")
    assert change[0] in text
    (tmp_path / "paper.txt").write_text(text.replace(*change), encoding="utf-8")
    rows = {row.id: row for row in listings.run(tmp_path) if row.verdict == "fail"}
    assert any(failed in name and reason in row.reason for name, row in rows.items())


@pytest.mark.r
def test_a_slip_that_has_gone_fails(papers: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """A listing that runs without one of its edits."""
    only_r(monkeypatch)
    (paper,) = (paper for paper in read_papers(papers) if paper.key == "vws2024")
    text = (papers / paper.files[0]).read_text(encoding="utf-8")
    given = "rowMaxs <- function(x, value) apply(x, 1, max)\n## step 2\n"
    (tmp_path / "paper.txt").write_text(text.replace("## step 2\n", given, 1), encoding="utf-8")
    rows = {row.id: row for row in listings.run(tmp_path)}
    row = rows["listings/vws2024-weights-without-row-maxima-in-base-r"]
    assert row.verdict == "fail"
    assert row.reason == "It runs, but should not: see the erratum rfast-maxima."
