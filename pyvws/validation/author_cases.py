"""Cases against the authors' public scripts of [risk2024]: their function, our data, our function.

Where their code is known to differ from the paper, a quantity has two cases: the code as written,
which must differ, and the code after a named edit, which must agree.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from pyvws.risks.identification_risk import identification_risk
from pyvws.risks.pairwise import pairwise_weights
from pyvws.validation import author_inputs as inputs
from pyvws.validation._author_case import AuthorCall, AuthorCase, InputEdit
from pyvws.validation.edits import Edit

__all__ = ["CASES"]


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


def _case(name: str, cites: str, function: str, python: str, case: Any, **more: Any) -> AuthorCase:
    return AuthorCase(
        id=f"authors/{name}",
        cites=cites,
        function=function,
        python_function=python,
        case=case,
        **more,
    )


def _twice(
    name: str,
    cites: str,
    function: str,
    python: str,
    case: Any,
    edit: Edit | InputEdit,
    **more: Any,
) -> tuple[AuthorCase, AuthorCase]:
    """The code as written, which must differ, and the edited one, which must agree."""
    case_as_written = _case(
        f"{name}-as-written",
        *(cites, function, python, case),
        expect="differs",
        erratum=edit.erratum,
        **more,
    )
    kind: dict[str, Any] = {"edits" if isinstance(edit, Edit) else "inputs": (edit,)}
    return case_as_written, replace(case_as_written, id=f"authors/{name}", expect="same", **kind)


_IR: Final = ("Equation 2", "IdentificationRisk", _RISK)
_PW: Final = ("Equations 6 to 9", "IdentificationRisk_pw", _PAIRWISE)

CASES: Final[tuple[AuthorCase, ...]] = (
    _case("risk", *_IR, inputs.confidential(identification_risk)),
    _case("risk-synthetic", "Equation 1", "IdentificationRisk", _RISK, inputs.synthetic),
    _case(
        "marginal-weights",
        "Equation 3",
        "ComputeAlphas_constant",
        "pyvws.weights.weights:risk_weights",
        inputs.marginal,
    ),
    _case("pairwise", *_PW, inputs.confidential(pairwise_weights), sizes=_SMALL),
    _case(
        "pairwise-c-g",
        "Supplement 7, Equation 10",
        "ComputeAlphas_constant",
        _PAIRWISE,
        inputs.pairwise_scaled,
    ),
    _case("ecdf", _INTERVAL, "calculate_ECDF", "pyvws.evaluation.ecdf:ecdf_utility", inputs.ecdf),
    _case("bootstrap-mean", _INTERVAL, "boot_stat", _BOOTSTRAP, inputs.bootstrap("mean")),
    _case("bootstrap-median", _INTERVAL, "boot_stat", _BOOTSTRAP, inputs.bootstrap("median")),
    _case(
        "bootstrap-quantile", _INTERVAL, "boot_quantile", _BOOTSTRAP, inputs.bootstrap("quantile")
    ),
    *_twice(
        "risk-negative", *_IR, inputs.confidential(identification_risk, "amounts"), _SIZE_OF_RADIUS
    ),
    *_twice(
        "pairwise-negative",
        *_PW,
        inputs.confidential(pairwise_weights, "amounts"),
        _SIZE_OF_RADIUS,
        sizes=_SMALL,
    ),
    *_twice("risk-filtered", *_IR, inputs.filtered, _ROW_NAMES),
    *_twice("risk-patterns", *_IR, inputs.confidential(identification_risk, known=True), _PATTERNS),
    *_twice(
        "pairwise-patterns",
        *_PW,
        inputs.confidential(pairwise_weights, known=True),
        _PATTERNS,
        sizes=(9, 12, 24),
    ),
    *_twice("risk-two-outcomes", *_IR, inputs.two_outcomes, _RADIUS_EACH),
    *_twice(
        "risk-at-the-end", "Equation 1", "IdentificationRisk", _RISK, inputs.at_the_end, _ALL_DIGITS
    ),
    *_twice(
        "bootstrap-one-value",
        _INTERVAL,
        "boot_stat",
        _BOOTSTRAP,
        inputs.bootstrap("mean", records=1),
        _SAMPLE_PLACES,
        sizes=(3, 5, 8),
    ),
    _case(
        "pairwise-one-record-as-written",
        *_PW,
        inputs.one_record,
        sizes=(1,),
        expect="differs",
        erratum="pattern-of-one",
    ),
)
