"""A program whose `main()` makes its data and then trains with `fit`, without a loop of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import strategy_profiles
from strategy_profiles.analysis import longest_before
from strategy_profiles.analysis.account.regions import Regions, regions
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.run.event_parts import StackFrame, StackPlace
from strategy_profiles.run.stacks import NO_STACKS
from tests.replaced import replace
from tests.synthetic import write_run

EVERY_NS = 100_000_000
MAIN = StackFrame("train.py", 72, "<module>", "main()")
MAKE = StackFrame("train.py", 58, "main", "x, y = make_windows(series)")
MEAN = StackFrame("train.py", 31, "make_windows", "mean = window.mean()")
SPREAD = StackFrame("train.py", 32, "make_windows", "spread = window.std()")
ADAPT = StackFrame("train.py", 60, "main", "layer.adapt(texts)")
FIT = StackFrame("train.py", 66, "main", "model.fit(x, y)")
PLACES = (
    StackPlace("python", "", "", [MAIN, MAKE, MEAN]),
    StackPlace("python", "", "", [MAIN, MAKE, SPREAD]),
    StackPlace("op", "", "TextVectorization.adapt", [MAIN, ADAPT]),
    StackPlace("function", "", "TensorFlowTrainer.fit", [MAIN, FIT]),
)
"""The last one is that of the steps."""


def _regions(folder: Path, before: list[int]) -> Regions:
    """`before` has the number of the place of each sample before the first step."""
    steps = step_times(strategy_profiles.load(write_run(folder, replicas=1, steps=200)), 0)
    begin_ns = int(steps.start_ns[0])
    end_ns = int(steps.start_ns[-1] + steps.wall_ms[-1] * 1e6)
    at_ns = np.concatenate(
        [
            begin_ns - EVERY_NS * np.arange(len(before), 0, -1),
            np.arange(begin_ns + EVERY_NS // 2, end_ns, EVERY_NS),
        ]
    )
    place = np.full(len(at_ns), len(PLACES) - 1)
    place[: len(before)] = before
    stacks = replace(
        NO_STACKS,
        program_ns=int(at_ns[0] - EVERY_NS),
        at_ns=at_ns,
        for_ms=np.full(len(at_ns), 100.0),
        place=place,
        cpu_ms=np.full(len(at_ns), 100.0),
        places=PLACES,
    )
    return regions(steps, stacks)


def test_what_main_does_before_fit_is_not_a_part_of_the_first_step(tmp_path: Path) -> None:
    found = _regions(tmp_path / "run", [2] * 60)
    assert found.before_ms == pytest.approx(6000, abs=200)


@pytest.mark.parametrize(
    ("before", "line", "inner", "share"),
    [
        ([2] * 60 + [0] * 10, ADAPT, None, 1.0),
        ([0] * 50 + [1] * 40 + [2] * 30, MAKE, MEAN, 5 / 9),
        ([0] * 90 + [1] * 10 + [2] * 30, MEAN, None, 1.0),
    ],
)
def test_the_call_is_named_unless_one_of_its_lines_takes_most(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: list[int],
    line: StackFrame,
    inner: StackFrame | None,
    share: float,
) -> None:
    found = _regions(tmp_path / "run", before)
    monkeypatch.setattr(longest_before, "regions_of", lambda *_: found)
    longest = longest_before.longest_before(None, 0)  # type: ignore[arg-type]
    assert longest is not None
    assert (longest.line, longest.inner) == (line, inner)
    assert longest.inner_ms / longest.ms == pytest.approx(share, rel=0.05)
