"""What the package refuses, as tests ask for it: by key, and by fields of the key's sentence."""

import re
import string
import tomllib
from functools import cache
from pathlib import Path

import pytest

import pyvws
from pyvws.errors import InputError


class refused:
    """As pytest.raises: within it an InputError of this key and these fields leaves, in one line.

    An error may pass on one with the key.
    """

    def __init__(self, key: str, /, **fields: object) -> None:
        self.key, self.fields = key, fields

    def __enter__(self) -> pytest.ExceptionInfo[InputError]:
        self.raises = pytest.raises(InputError)
        return self.raises.__enter__()

    def __exit__(self, *left: object) -> bool:
        caught = self.raises.__exit__(*left)
        said, error = {}, left[1]
        assert not caught or "\n" not in str(error)
        while isinstance(error, InputError):
            said.setdefault(error.key, str(error))
            error = error.__cause__ or error.__context__
        assert not caught or self.key in said, said
        if caught and self.fields:
            assert re.search(_pattern(self.key, self.fields), said[self.key], re.DOTALL), said
        return caught


def _pattern(key: str, fields: dict[str, object]) -> str:
    """A regular expression: the sentence of a key, with any text for fields that are not given."""
    parts, formatter = [], string.Formatter()
    for words, name, form, kind in formatter.parse(_sentences()[key]):
        parts.append(re.escape(words))
        if name in fields:
            value = formatter.convert_field(fields[name], kind)
            parts.append(re.escape(formatter.format_field(value, form)))
        elif name is not None:
            parts.append(".*")
    return "".join(parts)


@cache
def _sentences() -> dict[str, str]:
    rooms = Path(pyvws.__file__).parent.glob("*/refusals.toml")
    return {key: words for room in rooms for key, words in tomllib.loads(room.read_text()).items()}
