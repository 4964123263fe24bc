"""Run a notebook and keep what its cells show: python tools/notebook.py docs/agency-case.ipynb

Each cell runs in one namespace, in an empty folder. A cell that begins with ! is a command of the
shell. What a cell prints, and what its last line shows of itself, becomes its output, as in
Jupyter. Nothing of Jupyter is needed. tools/docs_pages.py makes a page of the site of it.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def run(notebook: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The notebook with new outputs."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        new = dict(cell)
        if cell["cell_type"] == "code":
            count += 1
            new |= {"execution_count": count, "outputs": _outputs(cell, folder, names, count)}
        cells.append(new)
    return {**notebook, "cells": cells}


def _outputs(
    cell: dict[str, Any], folder: Path, names: dict[str, Any], count: int
) -> list[dict[str, Any]]:
    code, printed, value = "".join(cell["source"]), io.StringIO(), None
    if code.startswith("!"):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", code[1:]],
            cwd=folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        printed.write(done.stdout)
    else:
        body = ast.parse(code).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            exec(compile(ast.Module(body, []), f"cell {count}", "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), names)
    made: list[dict[str, Any]] = []
    if printed.getvalue():
        made.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        made.append(
            {
                "output_type": "execute_result",
                "execution_count": count,
                "metadata": {},
                "data": _shown(value),
            }
        )
    return made


def _shown(value: Any) -> dict[str, Any]:
    if hasattr(value, "_repr_png_"):
        return {"image/png": base64.b64encode(value._repr_png_()).decode(), "text/plain": "Figure"}
    if hasattr(value, "_repr_html_"):
        return {"text/html": _lines(value._repr_html_()), "text/plain": "a table"}
    return {"text/plain": _lines(repr(value))}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def page(notebook: dict[str, Any], name: str) -> tuple[str, dict[str, bytes]]:
    """The notebook as Markdown, and its pictures by their place beside the page."""
    parts, pictures = [], {}
    for cell in notebook["cells"]:
        code = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(code)
            continue
        language = "sh" if code.startswith("!") else "python"
        parts.append(f"```{language}\n{code.removeprefix('!')}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {"text/plain": output.get("text")})
            if "image/png" in data:
                place = f"{name}/{len(pictures) + 1}.png"
                pictures[place] = base64.b64decode(data["image/png"])
                parts.append(f"![{cell['metadata']['alt']}]({place}){{ loading=lazy }}")
            elif "text/html" in data:
                table = re.sub(r"(?s)<style.*?</style>", "", "".join(data["text/html"]))
                table = table.replace(' border="1" class="dataframe"', "")  # The site's own style.
                parts.append(re.sub(r"\n\s*", "", table))
            else:
                parts.append("```text\n" + "".join(data["text/plain"]).rstrip() + "\n```")
    return "\n\n".join(parts) + "\n", pictures


if __name__ == "__main__":
    place = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        done = run(json.loads(place.read_text(encoding="utf-8")), Path(folder))
    place.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
