"""Rows of audits: they pass, and fail for audits that err."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from pyvws_validation.cases import audits
from pyvws_validation.report import Row
from test_guarantee import plant

from pyvws.auditing import losses
from pyvws.evaluation import attack_risk

_ATTACK = "pyvws.evaluation.attack_risk"
BY_ID = {case.id.partition("/")[2]: case for case in audits.CASES}


def row(name: str) -> Row:
    (found,) = BY_ID[name].rows()
    return found


@pytest.mark.parametrize("name", BY_ID)
def test_what_audits_print_is_what_is_known(name: str) -> None:
    found = row(name)
    assert (found.verdict, found.reason) == ("pass", "")


@pytest.mark.parametrize("name", ["audit-lw", "audit-inverse", "audit-replaced"])
def test_weights_held_fixed_in_the_audit_are_seen(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run has the weights of the first, so LW seems to lose next to nothing."""
    right, held = losses.Fitted.weighted.__func__, {}  # type: ignore[attr-defined]

    def wrong(cls: Any, run: Any, weights: Any, posterior: Any) -> Any:
        held.setdefault("weights", weights)
        return right(cls, run, held["weights"][: len(weights)], posterior)

    monkeypatch.setattr(losses.Fitted, "weighted", classmethod(wrong))
    found = row(name)
    assert found.verdict == ("pass" if name == "audit-inverse" else "fail")


def test_canaries_guessed_from_confidential_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guesses from the exact counts of the copy: more right ones than the claim allows."""

    def exactly(told_of: Any) -> Any:
        def wrong(*given: Any) -> Any:
            for told in told_of(*given):
                exact = np.bincount(told.cells[told.cells >= 0], minlength=len(told.counts))
                yield dataclasses.replace(told, counts=exact)

        return wrong

    plant(monkeypatch, "pyvws.auditing.canaries:_told", exactly)
    found = row("audit-canaries")
    assert found.verdict == "fail"
    assert found.measurements[0].value > found.measurements[0].high


@pytest.mark.parametrize("asked", [True, False])
def test_a_control_group_from_the_table_is_seen(
    asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused; and where nothing refuses it, the risk of what is released is hidden."""

    def from_the_table(tables: Any) -> Any:
        def wrong(*given: Any, **named: Any) -> Any:
            found = tables(*given, **named)
            return dataclasses.replace(found, synthetic=[*found.synthetic[:-1], found.original])

        return wrong

    plant(monkeypatch, f"{_ATTACK}:plain_tables", from_the_table)
    if not asked:
        (refuses,) = (name for name in vars(attack_risk) if "refuse" in name and "records" in name)
        plant(monkeypatch, f"{_ATTACK}:{refuses}", lambda _: lambda *_: None)
    found = row("control-group")
    assert found.verdict == "fail"
    if not asked:
        assert found.measurements[0].value < found.measurements[0].low
