"""The tables of a report's page, as rows of text."""

import html
import re


def rows_of(page: str, caption: str) -> list[list[str]]:
    """The rows of the table whose caption starts so."""
    for table in re.findall(r"<table.*?</table>", page, flags=re.S):
        found = re.search(r"<caption>(.*?)</caption>", table, flags=re.S)
        if found is not None and html.unescape(found[1]).startswith(caption):
            rows = re.findall(r"<tr>(.*?)</tr>", table.split("<tbody>")[1], flags=re.S)
            return [
                [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
                for row in rows
            ]
    raise AssertionError(f"no table {caption!r}")
