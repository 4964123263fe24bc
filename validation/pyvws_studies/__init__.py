"""The papers' studies, one a module."""

from pathlib import Path

from pyvws.errors import add_sentences

add_sentences(Path(__file__).with_name("refusals.toml"))
