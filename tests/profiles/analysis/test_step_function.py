"""The function that does a step is named by samples of the program's stack."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from strategy_profiles.analysis.account import step_function as module
from strategy_profiles.analysis.account.step_function import (
    FEWEST,
    step_function,
    unrolled_loop,
)
from strategy_profiles.run.event_parts import Loop, StackFrame, StackPlace
from strategy_profiles.run.stacks import Stacks
from strategy_profiles.tables.store import Profile

TRAIN = "/home/me/train.py"
TEXT = """
class Trainer:
    def update(self, batch):
        return self.net(batch)


def main():
    for batch in data:
        trainer.update(batch)
"""


def frames(*lines: tuple[int, str]) -> list[StackFrame]:
    return [StackFrame(TRAIN, line, function) for line, function in lines]


@pytest.mark.parametrize(
    ("below", "text", "expected"),
    [
        ([(4, "Trainer.update")], TEXT, ("Trainer.update", "train.py:3")),
        ([(4, "Trainer.update")], "", ("Trainer.update", "train.py:9")),
        ([], TEXT, None),
    ],
    ids=["a method", "a file that was not recorded", "the loop's own lines"],
)
def test_the_function_that_the_loop_calls_does_the_step(
    below: list[tuple[int, str]],
    text: str,
    expected: tuple[str, str] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = frames((11, "<module>"), (9, "main"), *below)
    place = StackPlace("op", "", "matmul", path)
    stacks = SimpleNamespace(
        places=[place],
        place=np.zeros(4, np.int64),
        loops=[Loop(TRAIN, 8, 9)],
        sources={TRAIN: text} if text else {},
    )
    regions = SimpleNamespace(stacks=cast(Stacks, stacks), is_step=np.ones(4, bool))
    monkeypatch.setattr(module, "regions_of", lambda *_: regions)
    found = step_function(cast(Profile, None), 0)
    assert (None if found is None else (found.name, found.place)) == expected


@pytest.mark.parametrize(("num_inside", "expected"), [(FEWEST, "train.py:20"), (FEWEST - 1, None)])
def test_the_loop_that_the_first_step_is_traced_in_is_not_that_around_the_steps(
    num_inside: int, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = StackPlace("function", "", "call", frames((9, "main")))
    traced = StackPlace("tracing", "", "matmul", frames((9, "main"), (21, "call"), (34, "cell")))
    numbers = [1] * num_inside + [0] * 50
    stacks = SimpleNamespace(
        places=[step, traced],
        place=np.array(numbers),
        count=len(numbers),
        loops=[Loop(TRAIN, 8, 9), Loop(TRAIN, 20, 22)],
        sources={},
    )
    is_first = np.array(numbers) == 1
    regions = SimpleNamespace(stacks=stacks, is_first=is_first, is_step=~is_first)
    monkeypatch.setattr(module, "regions_of", lambda *_: regions)
    assert unrolled_loop(cast(Profile, None), 0, f"{TRAIN}:34") == expected
