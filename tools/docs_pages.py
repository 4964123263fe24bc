"""Hooks of mkdocs: a page and pictures that follow from the package are made with the site.

Errata and references come from their lists and pictures from tools/gallery.py, so that no page
copies them. A paper's key in a page, such as [vws2024], becomes a link to its entry. A formula in
dollars becomes MathML, which browsers show without a script.
"""

from __future__ import annotations

import importlib.util
import inspect
import io
import json
import re
import sys
from html import unescape
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files
from pyvws_validation.errata import Convention, Erratum, conventions, count, errata

from pyvws import plots
from pyvws._base.resources import REFERENCES

ROOT = Path(__file__).resolve().parents[1]
_FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>([.,;:)]*)', flags=re.DOTALL
)
_KEY = re.compile(r"(?<!\[)\[(" + "|".join(REFERENCES) + r")\](?![\[(:])")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made here, of a notebook too, and the gallery's pictures."""
    case = json.loads((ROOT / "docs" / "agency-case.ipynb").read_text(encoding="utf-8"))
    text, shown = _tool("notebook").page(case, "agency-case")
    made: dict[str, str | bytes] = {
        "references.md": references_page(),
        "agency-case.md": text,
        **shown,
        **pictures(),
    }
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Each formula as MathML, short code on one line, and the headings of tables as such."""
    html = _FORMULA.sub(_mathml, html)
    html = re.sub(r"(?<!<pre>)<code>(?=[^<\n]{1,20}</code>)", '<code class="whole">', html)
    html = re.sub(r"<th(?: [^>]*)?></th>", "<td></td>", html)
    html = re.sub(r"(<tr[^>]*>)<th>(?=[^<]*</th><td>)", r'\1<th scope="row">', html)
    return re.sub(r"<th(?! scope)(?=[ >])", '<th scope="col"', html)


def on_post_template(output: str, template_name: str, config: Any) -> str:
    """The page for a wrong address has the theme's controls too."""
    return on_post_page(output, None, config)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Names for the theme's controls that have none."""
    for which in ("drawer", "search"):
        box = f'<input class="md-toggle" data-md-toggle="{which}"'
        output = output.replace(box, f'{box} aria-label="{which.capitalize()}"')
    return output.replace('role="dialog">', 'role="dialog" aria-label="Search">', 1)


def _mathml(found: re.Match[str]) -> str:
    """MathML of a formula. What follows it in the line stays with it."""
    display = "block" if found[1] == "div" else "inline"
    made = convert(unescape(found[2]), display=display)
    # A prime as high as its letter, and a sign that is no difference: fonts differ in both.
    made = re.sub(
        r"<msup>(<mi>\w</mi>)<mi>&#x02032;</mi></msup>", r"<mrow>\1<mo>′</mo></mrow>", made
    )
    made = re.sub(
        r"((?:[(,\[]|&#x0002[8C];|&#x0005B;)</mo>)<mo>&#x02212;", r'\1<mo form="prefix">−', made
    )
    made = made.replace("<mo>′", '<mo lspace="0" rspace="0">′')
    if display == "block":
        return f'<div class="formula" tabindex="0">{made}</div>{found[3]}'
    return f'<span class="whole">{made}{found[3]}</span>' if found[3] else made


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Link the keys of papers, outside of examples, and put pictures into the gallery."""
    if page.file.src_uri == "gallery.md":
        return with_pictures(markdown)
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.DOTALL | re.MULTILINE)
    return "".join(
        part if part.startswith("```") else _KEY.sub(r"[[\1]](references.md#\1)", part)
        for part in parts
    )


def references_page() -> str:
    """Every paper under its key, slips and conventions, and how to cite the package."""
    entries = [f"### {key} {{ #{key} }}\n\n{entry}\n" for key, entry in sorted(REFERENCES.items())]
    return "\n".join(
        [
            "# Papers, errata and how to cite\n",
            "## References\n",
            "Pages, docstrings and validation rows cite the papers by these keys.\n",
            *entries,
            *_errata(),
            "## How to cite\n",
            "Cite the package and the paper whose mechanism you ran. The file `CITATION.cff` has "
            "the entry of the package.\n",
            f"```yaml\n{(ROOT / 'CITATION.cff').read_text(encoding='utf-8')}```\n",
        ]
    )


def _errata() -> list[str]:
    """Slips and conventions from validation/errata.toml, a heading an entry."""
    lead = (
        f"{count()} of the papers, their listings and the authors' scripts. Each number on this "
        "page is computed by the test that stands under it. `pyvws validate --errata` prints the "
        "same lists.\n"
    )
    return [
        "## Errata\n",
        lead,
        *map(_erratum, errata()),
        "## Conventions\n",
        "Where sources differ and none is wrong, the package takes one side and says which.\n",
        *map(_convention, conventions()),
    ]


def _erratum(slip: Erratum) -> str:
    return (
        f"### {slip.id} {{ #{slip.id} }}\n\n"
        f"{_sources(slip.sources)}; {_plain(slip.place)}\n\n"
        f"{_quoted(slip.quotes)}- **Says:** {_plain(slip.says)}\n"
        f"- **Meant:** {_plain(slip.meant)}\n"
        f"- **{_plain(slip.number)}:** {_shown(slip.as_printed)} as printed, "
        f"{_shown(slip.as_meant)} as meant\n- **Package:** {_plain(slip.package)}\n"
        f"- **Test:** `{slip.test}`\n"
    )


def _convention(entry: Convention) -> str:
    test = f"- **Test:** `{entry.test}`\n" if entry.test else ""
    return (
        f"### {entry.id} {{ #{entry.id} }}\n\n{_sources(entry.sources)}\n\n"
        f"{_quoted(entry.quotes)}- **Differs:** {_plain(entry.differs)}\n"
        f"- **Package:** {_plain(entry.package)}\n{test}"
    )


def _quoted(quotes: tuple[str, ...]) -> str:
    return "".join(f"- **Reads:** {_plain(quote)}\n" for quote in quotes)


def _sources(keys: tuple[str, ...]) -> str:
    return ", ".join(f"[{key}]" if key in REFERENCES else key for key in keys)


def _plain(text: str) -> str:
    """Text as it is: none of its characters means formatting."""
    return re.sub(r"([\\`*_\[\]<>{}#|$])", r"\\\1", text)


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.6g}"


def with_pictures(markdown: str) -> str:
    """The gallery's page with a picture and its text alternative above each function's entry."""

    def shown(found: re.Match[str]) -> str:
        name = found[1]
        said = " ".join((inspect.getdoc(getattr(plots, name)) or "").split("\n\n")[0].split())
        without_keys = re.sub(r" ?\[[a-z]+\d{4}\]", "", said).replace('"', "'")
        picture = f"![{without_keys}](gallery/{name}.png){{ loading=lazy }}"
        return f"## {name}\n\n{picture}\n\n{found[0]}"

    return re.sub(r"(?m)^::: [\w.]+\.(\w+)$", shown, markdown)


def pictures() -> dict[str, bytes]:
    """The gallery's figures as PNG, by their place in the site."""
    found, draw = {}, _tool("gallery").FIGURES
    for name in plots.__all__:
        buffer = io.BytesIO()
        draw[name]().savefig(buffer, format="png", dpi=90)
        found[f"gallery/{name}.png"] = buffer.getvalue()
    return found


def _tool(name: str) -> Any:
    """A module of tools/, which is no package."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]
