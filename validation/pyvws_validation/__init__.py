"""Compare every published quantity with R: the tests and the runner read the same cases.

A case names a function of the package, the R function that states the same algorithm, and seeded
arguments for both functions. `runner.run` compares the two results and `report` prints the rows.
"""

from pathlib import Path

from pyvws.errors import add_sentences

add_sentences(Path(__file__).with_name("refusals.toml"))
