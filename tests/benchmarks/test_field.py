"""How an answer of the lab is judged against what is true of a program."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.field import KINDS, PROGRAMS, Diagnosis, judge
from strategy_profiles.analysis.advice.registry import RULES

TRUTH: dict[str, Any] = {
    "kind": "epoch-start",
    "also_right": ["input"],
    "line": 62,
    "lines_ok": [63],
    "op": None,
    "untrue": ["late-replica"],
}


@pytest.mark.parametrize(
    ("diagnosis", "verdict"),
    [
        (Diagnosis(["epoch-start", "compute"], [0.5, 0.3], "", 62, ""), "right"),
        (Diagnosis(["epoch-start"], [0.5], "", None, ""), "right"),
        (Diagnosis(["input"], [0.5], "", 9, ""), "right"),
        (Diagnosis(["epoch-start"], [0.5], "", 9, ""), "wrong"),
        (Diagnosis(["compute"], [0.5], "", None, ""), "wrong"),
        (Diagnosis(["epoch-start", "late-replica"], [0.5, 0.2], "", 62, ""), "misled"),
        (Diagnosis(["epoch-start", "late-replica"], [0.5, 0.01], "", 62, ""), "right"),
        (None, "wrong"),
    ],
)
def test_an_answer_is_right_by_its_kind_and_line(diagnosis: Diagnosis | None, verdict: str) -> None:
    assert judge(TRUTH, diagnosis)[0] == verdict


def test_a_computation_has_to_name_the_op() -> None:
    truth = TRUTH | {"kind": "compute", "op": "TopKV2 MatMul", "line": None, "lines_ok": []}
    assert judge(truth, Diagnosis(["compute"], [0.5], "", None, "`TopKV2`"))[0] == "right"
    assert judge(truth, Diagnosis(["compute"], [0.5], "", None, "`Conv2D` of `conv`"))[0] == "wrong"


def test_every_rule_that_names_a_cause_has_a_kind() -> None:
    without = {"busy-machine", "costly-capture", "failure", "inter-op-threads", "loss-lost"}
    without |= {"memory-limit", "no-further-step", "not-captured", "partial-batch"}
    without |= {"shared-collective-key", "shared-cores", "unsteady", "variables-in-first-step"}
    without |= {"xla-across-devices"}
    assert {rule.key for rule in RULES} - without <= KINDS.keys()


def test_every_program_has_an_answer() -> None:
    programs = {path.stem for path in PROGRAMS.glob("*.py")}
    answers = {path.stem for path in PROGRAMS.glob("*.json")}
    assert programs == answers
    for name in answers:
        truth = json.loads((PROGRAMS / f"{name}.json").read_text())
        assert truth.keys() >= {"kind", "also_right", "line", "lines_ok", "untrue", "exit_code"}
