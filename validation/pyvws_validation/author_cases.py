"""Cases that compare the authors' public scripts of [risk2024] with the package, on seeded data.

`package_cases.py` has those of their R packages.

Where the authors' code is known to differ from the paper, a quantity has two cases: the code as
written, which must differ, and the code after a named edit, which must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, Ints
from pyvws.evaluation.bootstrap import bootstrap_interval
from pyvws.evaluation.one_column import ecdf_utility
from pyvws.r_numbers import rarith
from pyvws.risks.identification_risk import identification_risk
from pyvws.risks.pairwise import pairwise_weights
from pyvws.weights.weights import risk_weights
from pyvws_validation._draws import Draws
from pyvws_validation.edits import Edit

# Both sides add the same whole numbers and divide, so roundings differ by a few units in the last
# place of 1. Any other difference is at least 1 / (60 * 60 * 3), the smallest step of a risk or a
# weight at the largest size.
LIMIT: Final = 8 * 2.0**-52


@dataclass(frozen=True, slots=True)
class AuthorCall:
    """One call of the authors' function, and the records that the call's result belongs to.

    `known` holds the pattern of each record, for the edit that splits a call by pattern. If the
    function returns a list, `part` names the list's entries to compare.
    """

    arguments: dict[str, Any]
    places: NDArray[np.intp] | None = None
    known: NDArray[np.int64] | None = None
    part: tuple[str, ...] = ()


Compared = Callable[[int, int], tuple[AuthorCall, Floats]]
"""From a seed and a size to the call of the authors' function and the package's result."""


@dataclass(frozen=True, slots=True)
class InputEdit:
    """A change of the input to the authors' function: one call becomes one or several calls."""

    name: str
    erratum: str
    change: Callable[[AuthorCall], list[AuthorCall]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorCase:
    """One quantity by seed and size: `case(seed, n)` is a call of the authors' function and the
    package's numbers; a call that stops counts as a difference.
    """

    id: str
    cites: str
    function: str
    python_function: str
    case: Compared
    paper: str = "risk2024"
    needs: tuple[str, ...] = ()
    given: str = ""
    limit: float = LIMIT
    sizes: tuple[int, ...] = (8, 30, 60)
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    edits: tuple[Edit, ...] = ()
    inputs: tuple[InputEdit, ...] = ()
    expect: Literal["same", "differs"] = "same"
    erratum: str = ""


# Arguments of the authors' functions, and the package's numbers for the same data

_RADII: Final = (0.2, 0.15, 0.3, 0.25, 0.1)
_SCALES: Final = ((1.0, 0.0), (1.7, 0.3), (0.8, -0.25), (0.9, 0.05), (1.5, 0.0))


def _frame(y: ArrayLike, index: Ints | None = None) -> pd.DataFrame:
    return pd.DataFrame({"outcome": np.asarray(y)}, index=index)


def _risk(y: pd.DataFrame, synthetic: list[pd.DataFrame], radius: float) -> dict[str, Any]:
    return {
        "origdata": y,
        "syndata": synthetic,
        "syn.vars": np.array(y.columns, dtype=object),
        "m": len(synthetic),
        "n": len(y),
        "r": radius,
    }


def _scaled(risk: Floats, c: float, g: float) -> AuthorCall:
    return AuthorCall({"exp.risk_record": risk, "scale_factor": c, "shift_factor": g})


def _neighbours(y: Floats, seed: int, datasets: int) -> list[Floats]:
    """Synthetic values near to and far from y, in whole steps."""
    steps = Draws(seed + 900).whole(datasets * len(y), 81) - 40
    return [y + step for step in steps.reshape(datasets, len(y))]


def _values(seed: int, n: int, kind: str) -> Floats:
    """Counts, or whole amounts of both signs."""
    counts = Draws(seed).counts(n)
    if kind == "counts":
        return counts
    return np.asarray(np.where(Draws(seed + 5).uniform(n) < 0.3, -counts - 1.0, counts))


def _confidential(
    ours: Callable[..., Floats], kind: str = "counts", known: bool = False
) -> Compared:
    """Risk or pairwise weights of the confidential data, which is a synthetic dataset to theirs."""

    def case(seed: int, n: int) -> tuple[AuthorCall, Floats]:
        y, radius = _values(seed, n, kind), _RADII[seed - 1]
        codes = np.arange(n, dtype=np.int64) % 3 if known else None
        frame = _frame(y)
        return (
            AuthorCall(_risk(frame, [frame], radius), known=codes),
            ours(y, radius=radius, known=codes),
        )

    return case


def _synthetic(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    y, radius = Draws(seed).counts(n), _RADII[seed - 1]
    datasets = _neighbours(y, seed, 3)
    call = AuthorCall(_risk(_frame(y), [_frame(values) for values in datasets], radius))
    return call, identification_risk(y, datasets, radius=radius)


def _filtered(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    """Risks from a frame that kept its row names when a user dropped every other row."""
    y, radius = Draws(seed).counts(n), _RADII[seed - 1]
    names = np.arange(2, 2 * n + 1, 2)
    frame = _frame(y, names)
    return AuthorCall(_risk(frame, [frame], radius)), identification_risk(y, radius=radius)


def _two_outcomes(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    first, radius = Draws(seed).counts(n) + 1.0, _RADII[seed - 1]
    second = Draws(seed + 3).counts(n) * 16.0 + 1.0
    frame = pd.DataFrame({"outcome": first, "other": second})
    y = np.column_stack([first, second])
    return AuthorCall(_risk(frame, [frame], radius)), identification_risk(y, radius=radius)


def _at_the_end(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    """Risks of synthetic values exactly at y + r y: the ball includes its end."""
    y, radius = Draws(seed).uniform(n, 1.0, 1000.0), _RADII[seed - 1]
    call = AuthorCall(_risk(_frame(y), [_frame(y + radius * y)], radius))
    return call, identification_risk(y, [y + radius * y], radius=radius)


def _marginal(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    risk, (c, g) = Draws(seed).uniform(n), _SCALES[seed - 1]
    return _scaled(risk, c, g), risk_weights(risk, c=c, g=g)


def _pairwise_scaled(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    """The authors' driver hands 1 - alpha to the function of the marginal weights."""
    y, (c, g) = Draws(seed).counts(n), _SCALES[seed - 1]
    risk = 1.0 - pairwise_weights(y, radius=0.2)
    return _scaled(risk, c, g), pairwise_weights(y, radius=0.2, c=c, g=g)


def _one_record(seed: int, _: int) -> tuple[AuthorCall, Floats]:
    y = Draws(seed).counts(1) + 1.0
    call = AuthorCall(_risk(_frame(y), [_frame(y)], 0.2))
    return call, pairwise_weights(y, singletons="weight-zero")


def _ecdf(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    y = Draws(seed).counts(n)
    datasets = _neighbours(y, seed, 3)
    distances = ecdf_utility(y, datasets)
    arguments = {"origdata": _frame(y), "syndata": [_frame(v) for v in datasets], "m": 3}
    return AuthorCall(arguments, part=("Um", "Ua")), np.array(
        [distances.maximum, distances.average]
    )


def _bootstrap(name: str, *, records: int | None = None) -> Compared:
    statistics = {
        "mean": rarith.mean,
        "median": lambda x: float(rarith.quantile(x, 0.5)),
        "quantile": lambda x: float(rarith.quantile(x, 0.9)),
    }

    def case(seed: int, n: int) -> tuple[AuthorCall, Floats]:
        y = Draws(seed).counts(n if records is None else records) + 9.0
        datasets = _neighbours(y, seed, 2) if records is None else [y]
        interval = bootstrap_interval(datasets, statistics[name], n=n, replicates=40, seed=seed)
        extra = {"q": 0.9} if name == "quantile" else {"FUN": name}
        frames = [_frame(values) for values in datasets]
        arguments = {"syndata": frames, "m": len(frames), "seed": seed, "S": 40, "n": n, **extra}
        ours = np.array([interval.estimate, interval.lower, interval.upper])
        return AuthorCall(arguments, part=("PE", "lower", "upper")), ours

    return case


# Edits and cases


def _plain_row_names(call: AuthorCall) -> list[AuthorCall]:
    arguments = dict(call.arguments)
    arguments["origdata"] = arguments["origdata"].reset_index(drop=True)
    arguments["syndata"] = [frame.reset_index(drop=True) for frame in arguments["syndata"]]
    return [replace(call, arguments=arguments)]


def _by_pattern(call: AuthorCall) -> list[AuthorCall]:
    assert call.known is not None
    calls = []
    for code in np.unique(call.known):
        rows = np.flatnonzero(call.known == code)
        part = {"origdata": call.arguments["origdata"].iloc[rows], "n": len(rows)}
        part["syndata"] = [frame.iloc[rows] for frame in call.arguments["syndata"]]
        calls += _plain_row_names(AuthorCall(call.arguments | part, places=rows))
    return calls


_SIZE_OF_RADIUS: Final = Edit(
    "radius-from-absolute-value", "negative-radius", r"(\bradius\w*\s*=\s*r)\*(.+)$", r"\1*abs(\2)"
)
_RADIUS_EACH: Final = Edit(
    "radius-for-each-outcome",
    "radius-of-last-outcome",
    r"(\bradius\s*=\s*r)\*.+$",
    r"\1*sapply(syn.vars, function(name) origdata[[name]][i])",
)
_ALL_DIGITS: Final = Edit(
    "radius-in-all-digits",
    "radius-through-text",
    r"(,\s*)(radius\w*)(\s*,\s*sep)",
    r'\1sprintf("%.17g", \2)\3',
)
_SAMPLE_PLACES: Final = Edit(
    "sample-places-not-values",
    "sample-of-one-value",
    r"sample\((\w+), (\w+), replace = TRUE\)",
    r"\1[sample.int(length(\1), \2, replace = TRUE)]",
)
_ROW_NAMES: Final = InputEdit("plain-row-names", "row-name-matching", _plain_row_names)
_PATTERNS: Final = InputEdit("one-call-a-pattern", "pattern-size-fixed", _by_pattern)

_SMALL: Final = (4, 12, 25)
_RISK: Final = "pyvws.risks.identification_risk:identification_risk"
_PAIRWISE: Final = "pyvws.risks.pairwise:pairwise_weights"
_BOOTSTRAP: Final = "pyvws.evaluation.bootstrap:bootstrap_interval"
_INTERVAL: Final = "section 2.3.1"


def written_and_edited(case: AuthorCase, edit: Edit | InputEdit) -> tuple[AuthorCase, AuthorCase]:
    """Two cases of one: the code as written must differ, and the edited code must agree."""
    case = replace(case, erratum=edit.erratum)
    written = replace(case, id=f"{case.id}-as-written", expect="differs")
    if isinstance(edit, Edit):
        return written, replace(case, edits=(*case.edits, edit))
    return written, replace(case, inputs=(*case.inputs, edit))


def _cases(
    name: str,
    of: tuple[str, str, str],
    case: Compared,
    edit: Edit | InputEdit | None = None,
    **more: Any,
) -> tuple[AuthorCase, ...]:
    """A case of a place in the paper and both functions; with an edit the two of `edit`."""
    of_paper: Any = dict(zip(("cites", "function", "python_function"), of, strict=True))
    own = AuthorCase(id=f"authors/{name}", case=case, **of_paper, **more)
    return (own,) if edit is None else written_and_edited(own, edit)


_IR: Final = ("Equation 2", "IdentificationRisk", _RISK)
_IR_1: Final = ("Equation 1", "IdentificationRisk", _RISK)
_PW: Final = ("Equations 6 to 9", "IdentificationRisk_pw", _PAIRWISE)
_MARGINAL: Final = ("Equation 3", "ComputeAlphas_constant", "pyvws.weights.weights:risk_weights")
_SCALED: Final = ("Supplement 7, Equation 10", "ComputeAlphas_constant", _PAIRWISE)
_ECDF: Final = (_INTERVAL, "calculate_ECDF", "pyvws.evaluation.one_column:ecdf_utility")
_BOOT: Final = (_INTERVAL, "boot_stat", _BOOTSTRAP)
_RISK_BY_PATTERN: Final = _confidential(identification_risk, known=True)
_PAIRWISE_BY_PATTERN: Final = _confidential(pairwise_weights, known=True)
_RISK_OF_AMOUNTS: Final = _confidential(identification_risk, "amounts")
_PAIRWISE_OF_AMOUNTS: Final = _confidential(pairwise_weights, "amounts")
_ALONE: Final[dict[str, Any]] = {"expect": "differs", "erratum": "pattern-of-one"}

CASES: Final[tuple[AuthorCase, ...]] = (
    *_cases("risk", _IR, _confidential(identification_risk)),
    *_cases("risk-synthetic", _IR_1, _synthetic),
    *_cases("marginal-weights", _MARGINAL, _marginal),
    *_cases("pairwise", _PW, _confidential(pairwise_weights), sizes=_SMALL),
    *_cases("pairwise-c-g", _SCALED, _pairwise_scaled),
    *_cases("ecdf", _ECDF, _ecdf),
    *_cases("bootstrap-mean", _BOOT, _bootstrap("mean")),
    *_cases("bootstrap-median", _BOOT, _bootstrap("median")),
    *_cases("bootstrap-quantile", (_INTERVAL, "boot_quantile", _BOOTSTRAP), _bootstrap("quantile")),
    *_cases("risk-negative", _IR, _RISK_OF_AMOUNTS, _SIZE_OF_RADIUS),
    *_cases("pairwise-negative", _PW, _PAIRWISE_OF_AMOUNTS, _SIZE_OF_RADIUS, sizes=_SMALL),
    *_cases("risk-filtered", _IR, _filtered, _ROW_NAMES),
    *_cases("risk-patterns", _IR, _RISK_BY_PATTERN, _PATTERNS),
    *_cases("pairwise-patterns", _PW, _PAIRWISE_BY_PATTERN, _PATTERNS, sizes=(9, 12, 24)),
    *_cases("risk-two-outcomes", _IR, _two_outcomes, _RADIUS_EACH),
    *_cases("risk-at-the-end", _IR_1, _at_the_end, _ALL_DIGITS),
    *_cases(
        "bootstrap-one-value", _BOOT, _bootstrap("mean", records=1), _SAMPLE_PLACES, sizes=(3, 5, 8)
    ),
    *_cases("pairwise-one-record-as-written", _PW, _one_record, sizes=(1,), **_ALONE),
)
