"""Tables that ship with the package: made up, so that anybody may look at every value."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Final

import numpy as np

from pyvws._base.checks import Floats, choice

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES: Final = ("households",)

_HOUSEHOLDS: Final = 2000


def example(name: str) -> pd.DataFrame:
    """Make a made-up table of the package; no value of it is of anybody.

    Parameters
    ----------
    name : {"households"}
        "households" has a row a household. Its columns are household (an id), region, persons (1 to
        6), tenure ("owner" or "tenant"), income, rent and moved_in (a date). Income is a whole
        number a year, 0 for some, and empty where nobody answered. Rent is a whole number a month,
        and empty for owners.

    Returns
    -------
    pandas.DataFrame
        The same table on every machine.

    Raises
    ------
    InputError
        For a name that no example has; the message lists those that there are.

    Examples
    --------
    >>> import pyvws as vws
    >>> vws.example("households").loc[:1, ["household", "persons", "tenure", "rent"]]
      household  persons  tenure  rent
    0     H0001        6   owner  <NA>
    1     H0002        2  tenant   860
    """
    choice(name, "name", EXAMPLES)
    return _households()


def example_schema(name: str) -> str:
    """The text of a reviewed schema of an example, in TOML: what would be public of the table."""
    choice(name, "name", EXAMPLES)
    return (files("pyvws.tables.files") / "examples" / f"{name}.toml").read_text(encoding="utf-8")


def _households() -> pd.DataFrame:
    import pandas as pd

    # Uniform numbers alone are used, which NumPy draws alike on every machine.
    generator = np.random.Generator(np.random.PCG64(2024))

    def uniform() -> Floats:
        return generator.random(_HOUSEHOLDS)

    region = np.searchsorted([0.5, 0.75], uniform())
    persons = 1 + np.searchsorted([0.34, 0.66, 0.81, 0.93, 0.98], uniform())
    owns = uniform() < 0.25 + 0.15 * (region == 2) + 0.09 * persons
    bell = uniform() + uniform() + uniform() + uniform() - 2
    earned = 14_000 + 6_000 * persons + 5_000 * (region == 0) + 9_000 * owns
    income = 100 * np.round(earned * np.exp(0.8 * bell) / 100)
    rent = 10 * np.round((20 + 9 * persons + income / 1500) * np.exp(0.4 * (uniform() - 0.5)))
    days = (3650 * (uniform() + uniform() + uniform() + ~owns)).astype(int)
    nothing, silent = uniform() < 0.08, uniform() < 0.06
    moved = np.datetime64("1985-01-01") + days.astype("timedelta64[D]")
    return pd.DataFrame(
        {
            "household": [f"H{number:04d}" for number in range(1, _HOUSEHOLDS + 1)],
            "region": np.array(["coast", "hills", "plain"])[region],
            "persons": persons,
            "tenure": np.where(owns, "owner", "tenant"),
            "income": pd.Series(np.where(nothing, 0, income), dtype="Int64").mask(silent),
            "rent": pd.Series(rent, dtype="Int64").mask(owns),
            "moved_in": np.datetime_as_string(moved),
        }
    )
