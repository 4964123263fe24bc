"""The documentation site: it builds without a warning or a dead link, and its examples are true."""

import inspect
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args, get_type_hints
from urllib.parse import unquote, urlsplit

import pytest
from axe import findings
from documents import (
    ROOT,
    blocks,
    commands,
    differences,
    examples,
    figures,
    printed_by,
    validate_a_few,
)
from pyvws_validation.errata import conventions, errata
from statements import statement
from typer import Context
from typer.main import get_command

import pyvws
from pyvws import plots
from pyvws._base.resources import REFERENCES
from pyvws.commands.cli import app
from pyvws.mechanisms.histogram.perturbed_histogram import NoisyHistogram
from pyvws.mechanisms.registry import MECHANISMS
from pyvws.weights import weights

PAGES = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
WITH_EXAMPLES = sorted(name for name, text in PAGES.items() if examples(text))
_IN_CHECKOUT = re.compile(r"`((?:pyvws|tests|tools|validation|r_reference|stan)/[\w./-]+)`")
NAMES = [name for name in pyvws.__all__ if name != "__version__"]


class Links(HTMLParser):
    """Links of a page, what it loads, its anchors, and pictures without a text alternative."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.silent: list[str] = []
        self.levels: list[int] = []
        self.nameless: list[str] = []
        self.formulas = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.loaded.append(given["src"])
        if tag == "link" and given.get("rel") != "canonical" and given.get("href"):
            self.loaded.append(given["href"])
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if tag == "th" and not given.get("scope"):
            self.nameless.append("a table's heading without scope")
        if given.get("role") == "dialog" and not given.get("aria-label"):
            self.nameless.append("a dialog without a name")
        self.formulas += tag == "math"
        if tag == "img" and len(given.get("alt") or "") < 20:
            self.silent.append(given.get("src", ""))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Links]]:
    """The built site, a parsed page under each name."""
    for module in ("mkdocs", "material", "mkdocstrings_handlers", "latex2mathml"):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    build = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stderr[-3000:]
    assert "WARNING" not in build.stderr
    return {
        str(path.relative_to(folder)): (path, Links(path.read_text(encoding="utf-8")))
        for path in sorted(folder.rglob("*.html"))
    }


@pytest.mark.slow
def test_no_link_is_dead_and_nothing_is_fetched(site: dict[str, tuple[Path, Links]]) -> None:
    root = site["index.html"][0].parent
    anchors = {path.resolve(): page.anchors for path, page in site.values()}
    dead = []
    for name, (path, page) in site.items():
        if name == "404.html":  # Its links start at the site's own root.
            continue
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto"):
                assert link not in page.loaded, f"{name} loads {link}"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            assert target.is_relative_to(root.resolve())
            known = anchors.get(target)
            if not target.exists() or (parts.fragment and known and parts.fragment not in known):
                dead.append(f"{name}: {link}")
    assert dead == []
    assert sum(len(page.links) for _, page in site.values()) > 500


@pytest.mark.slow
def test_every_picture_speaks_and_every_figure_is_there(
    site: dict[str, tuple[Path, Links]],
) -> None:
    assert {name: page.silent for name, (_, page) in site.items() if page.silent} == {}
    shown = site["gallery.html"][1].loaded
    for name in plots.__all__:
        assert f"gallery/{name}.png" in shown
        assert (site["gallery.html"][0].parent / "gallery" / f"{name}.png").stat().st_size > 5000


@pytest.mark.slow
def test_axe_finds_nothing(site: dict[str, tuple[Path, Links]], browser: str) -> None:
    # Between them these pages have every kind of element that the site has.
    names = ("index", "tutorial", "agency-case", "gallery", "strict", "tables", "questions")
    assert findings(browser, [site[f"{name}.html"][0] for name in names], 1280) == []
    assert findings(browser, [site["tables.html"][0]], 390) == []


@pytest.mark.slow
def test_a_site_that_is_opened_as_files_can_be_searched(
    site: dict[str, tuple[Path, Links]], browser: str
) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as play:
        window = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = window.new_page()
        page.goto(site["tutorial.html"][0].as_uri())
        page.locator("input.md-search__input").click()
        page.keyboard.type("questionnaire")
        found = page.locator('.md-search-result__item a[href*="schema.html"]').first
        found.wait_for(state="attached")
        window.close()


@pytest.mark.slow
def test_a_page_can_be_read_without_a_screen(site: dict[str, tuple[Path, Links]]) -> None:
    for name, (path, page) in site.items():
        assert page.nameless == [], name
        assert page.levels[0] == 1, name
        assert page.levels.count(1) == 1, name
        assert all(after <= before + 1 for before, after in pairwise(page.levels)), name
        text = path.read_text(encoding="utf-8")
        assert "arithmatex" not in text, name
        # A formula that a line breaks would stand as it is; references quote the papers' own.
        assert name == "references.html" or "$\\" not in text, name
    assert min(site[name][1].formulas for name in ("methods.html", "proofs.html")) > 50


def test_links_differ_from_text_by_more_than_colour() -> None:
    style = (ROOT / "docs" / "site.css").read_text(encoding="utf-8")
    (rule,) = re.findall(r"\.md-typeset a:not\(\.headerlink\) \{(.*?)\}", style, flags=re.DOTALL)
    assert "text-decoration: underline" in rule


def test_what_a_screen_reader_would_miss_is_noticed() -> None:
    page = Links('<h1>A</h1><h3>B</h3><table><th>x</th></table><div role="dialog">')
    assert (page.levels, len(page.nameless)) == ([1, 3], 2)


def test_the_front_page_leads_to_every_page() -> None:
    named = set(re.findall(r"\((\w[\w-]*\.md)", PAGES["index.md"]))
    assert set(PAGES) - {"index.md"} <= named


@pytest.mark.slow
def test_lists_of_the_package_are_whole(site: dict[str, tuple[Path, Links]]) -> None:
    assert {slip.id for slip in errata()} <= site["references.html"][1].anchors
    assert {entry.id for entry in conventions()} <= site["references.html"][1].anchors
    assert set(REFERENCES) <= site["references.html"][1].anchors


@pytest.mark.slow
def test_the_api_shows_every_public_name(site: dict[str, tuple[Path, Links]]) -> None:
    anchors = {a for name in ("api.html", "gallery.html") for a in site[name][1].anchors}
    public = [getattr(pyvws, name) for name in NAMES] + [getattr(plots, n) for n in plots.__all__]
    paths = {f"{value.__module__}.{value.__name__}" for value in public}
    assert paths - anchors == set()


def test_every_public_name_is_asked_for() -> None:
    asked = set(re.findall(r"^::: ([\w.]+)$", "\n".join(PAGES.values()), flags=re.MULTILINE))
    for name in NAMES:
        assert f"{getattr(pyvws, name).__module__}.{name}" in asked
    for name in plots.__all__:
        assert f"{getattr(plots, name).__module__}.{name}" in asked


def test_every_name_of_the_api_is_public() -> None:
    """The pages say that their names are imported from `pyvws`, figures from `pyvws.plots`."""
    asked = re.findall(r"^::: [\w.]+\.(\w+)$", "\n".join(PAGES.values()), flags=re.MULTILINE)
    assert set(asked) <= {*NAMES, *plots.__all__}


def functions() -> Iterator[str]:
    for name in NAMES:
        if not isinstance(getattr(pyvws, name), type):
            yield name


@pytest.mark.parametrize("name", sorted(functions()))
def test_methods_give_each_function_its_place(name: str) -> None:
    assert f"pyvws.{name}" in PAGES["methods.md"] or f".{name}]" in PAGES["methods.md"]


def drawn(name: str) -> bool:
    """Whether a page shows numbers that a sampler made."""
    return any(example.within for example in examples(PAGES[name]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.draws] if drawn(n) else []) for n in WITH_EXAMPLES]
)
def test_examples_run_and_print_what_the_page_shows(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    if re.search("perturbed-histogram|tabulate.*--original", "".join(commands(PAGES[name]))):
        pytest.importorskip("opendp")
    if "--engine pystan" in "".join(commands(PAGES[name])):
        pytest.importorskip("httpstan")
    names: dict[str, Any] = {"__name__": "__main__"}
    for example in examples(PAGES[name]):
        if example.language == "r":
            continue
        place = f"docs/{name}, line {example.line}"
        printed = printed_by(example, tmp_path, names, place)
        if example.shown is not None:
            wrong = list(differences(example.shown, printed, within=example.within))
            if example.within:
                for number, (shown, here) in enumerate(figures(example.shown, printed), start=1):
                    record_property(f"{place}, number {number}", f"{shown} {here}")
            assert wrong == [], place


@pytest.mark.r
def test_r_prints_the_numbers_that_python_printed() -> None:
    """All R of a page in one run, with a mark after each block."""
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not on the path")
    compared = 0
    for name in WITH_EXAMPLES:
        found = [e for e in examples(PAGES[name]) if "library(pyvws)" not in e.code]
        code = "\ncat('\\n@@\\n')\n".join(e.code for e in found if e.language == "r")
        if not code:
            continue
        done = subprocess.run(
            ["Rscript", "--vanilla", "-"], input=code, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        printed = done.stdout.split("@@")
        beside = [(first, second) for first, second in pairwise(found) if first.language == "r"]
        for (_, python), output in zip(beside, printed, strict=True):
            assert python.language == "python"
            assert python.shown is not None
            place = f"docs/{name}, line {python.line}"
            assert list(differences(python.shown, output)) == [], place
            compared += 1
    assert compared > 10


def test_commands_and_options_exist() -> None:
    """Also those that stand in a sentence and are not run."""
    command: Any = get_command(app)
    context = Context(command)
    named = {name: command.get_command(context, name) for name in command.list_commands(context)}
    options = {"--help"}
    for sub in [command, *named.values()]:
        for deeper in [sub, *getattr(sub, "commands", {}).values()]:
            options |= {opt for p in deeper.params for opt in [*p.opts, *p.secondary_opts]}
    for name, text in PAGES.items():
        own = re.sub(r"`pip [^`]*`", "", text)
        assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", own)) <= options, name
        for sub in re.findall(r"`pyvws ([a-z]+)", text):
            assert sub in named, name


def test_extras_and_files_that_pages_name_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for text in PAGES.values():
        for extra in re.findall(r"\.\[([\w,]+)\]", " ".join(commands(text))):
            assert set(extra.split(",")) <= set(extras["optional-dependencies"])
        for path in _IN_CHECKOUT.findall(text):
            assert (ROOT / path).exists(), path


def test_the_table_of_mechanisms_states_what_the_package_states() -> None:
    rows = re.findall(
        r"^\| `([\w-]+)`([^|]*)\| `([\w-]+)` \| [^|]+ \| ([^|]+) \|",
        PAGES["mechanisms.md"].split("## The knobs")[0],
        flags=re.MULTILINE,
    )
    assert {name for name, *_ in rows} == set(MECHANISMS)
    for name, given, guarantee, neighbours in rows:
        if name == "perturbed-histogram":
            assert guarantee in get_args(get_type_hints(NoisyHistogram)["guarantee"])
            assert neighbours.split(", or ") == ["replace", "leave-one-out"]
            continue
        if name == "noisy-counts":
            with_delta = {"delta": 1e-5} if "delta" in given else {}
            assert (
                guarantee
                == pyvws.NoisyCounts(epsilon=1, **{"measure": "pairs", **with_delta}).facts.claim
            )
            assert neighbours.split(", or ") == ["leave-one-out", "replace"]
            continue
        made = statement(
            mechanism=name,
            claim="none" if name == "unweighted" else "dp",
            enforced=name == "censored",
            data_weights="none" not in given,
            downweights=name != "unweighted",
        ).released()
        first = (made["certified"] or made)["neighbours"]
        assert (made["guarantee"], first) == (guarantee, neighbours.split(", or ")[0]), name


def test_an_example_that_lies_is_noticed() -> None:
    text = '```python\nprint(2, "b")\n```\n\n```text title="prints"\n3 b\n```\n'
    (example,) = examples(text)
    printed = printed_by(example, ROOT, {}, "here")
    assert list(differences(str(example.shown), printed)) == ["3.0 is shown, 2.0 was printed"]
    assert list(differences("2.1 b", printed, within=0.25)) == []
    assert list(differences("2.1 c", printed, within=0.25)) == ["c is shown, b was printed"]
    assert list(differences("99 b", printed, within=float("inf"))) == []
    assert list(differences("99 c", printed, within=float("inf"))) == ["c is shown, b was printed"]
    assert blocks(text, "python") == ['print(2, "b")\n']


def test_a_wrong_function_fails_the_few_cases_of_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "pyvws validate --level exact --cached"
    assert validate_a_few(command, tmp_path).returncode == 0
    right = weights.lipschitz_weights
    monkeypatch.setattr(
        weights, "lipschitz_weights", lambda *given, **named: right(*given, **named) + 2.0**-52
    )
    assert validate_a_few(command, tmp_path).returncode == 1


@pytest.mark.parametrize("name", NAMES)
def test_parameters_described_together_have_one_type_and_default(name: str) -> None:
    """The site prints the first one's for all of them."""
    made = getattr(pyvws, name)
    text = inspect.getdoc(made) or ""
    section = re.search(r"Parameters\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", text, flags=re.DOTALL)
    if section is None:
        return
    given = inspect.signature(made).parameters
    for names, kind in re.findall(r"(?m)^(\w+(?:, \w+)+)(?: : (.*))?$", section[1]):
        assert kind, f"{names} need a type"
        assert len({repr(given[one].default) for one in names.split(", ")}) == 1, names
