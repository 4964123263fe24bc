"""The whole job in one call: Algorithms 1 to 3 of [vws2024]."""

from __future__ import annotations

import inspect
from typing import Any

from narwhals.typing import IntoFrame

from pyvws._base.setting import common_default, common_kind, documented
from pyvws.release.release import Release
from pyvws.release.synthesizer import Synthesizer
from pyvws.synthesis.settings_by_name import arranged, declared


def synthesize(frame: IntoFrame, *, seed: int | None = None, **settings: Any) -> Release:
    """Make synthetic datasets of a confidential table, with a privacy statement.

    Parameters
    ----------
    frame : pandas, polars or Arrow table, N rows
        The confidential table; datasets come back in its kind.
    seed : int, optional
        Seed of sampling and synthesis; keep the seed confidential. A long one is drawn if not
        given, and stands in `summary` and `config_with_seed`.
    **settings
        Any setting of the page Settings: the run's, and by name the mechanism's and the model's.

    Returns
    -------
    Release
        .datasets, .aligned(), .privacy, .records, .posterior, .summary, .write(folder).

    Raises
    ------
    InputError
        Before any work, for a table or setting that the method cannot take.
    ConvergenceError
        If the chains of a run fail their diagnostics whose guarantee would be "dp".
    SearchError
        If no k or c meets its bound, or the fit misses epsilon and the settings refuse a miss.

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> table = pl.DataFrame({"visits": np.random.default_rng(1).poisson(20, 200)})
    >>> release = synthesize(table, outcome="visits", model="poisson", datasets=2, seed=1)
    >>> release.privacy["guarantee"], len(release.datasets)
    ('asymptotic-dp', 2)
    """
    return Synthesizer(**arranged(settings)).fit(frame, seed=seed)


def _declare() -> None:
    """Give `synthesize` the signature and the Parameters section that the settings declare."""
    settings = declared()
    given = inspect.signature(synthesize, eval_str=True).parameters
    keywords = []
    for name, alike in settings.items():
        usual, kind = common_default(alike), common_kind(alike)
        keywords.append(
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=kind | None if usual is None else kind,
                default=inspect.Parameter.empty if usual is ... else usual,
            )
        )
    signature = inspect.Signature(
        [given["frame"], *keywords, given["seed"]], return_annotation=Release
    )
    synthesize.__signature__ = signature  # type: ignore[attr-defined]
    synthesize.__doc__ = documented(synthesize.__doc__, settings)


_declare()
