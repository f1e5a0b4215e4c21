"""The lines of the program that ops run, that call Python."""

from __future__ import annotations

import pytest

from strategy_profiles.analysis import python_in_ops
from strategy_profiles.analysis.python_in_ops import PythonInOps
from strategy_profiles.run.event_parts import LineInOp, StackFrame
from strategy_profiles.run.stacks import NO_STACKS, ThreadsUsed
from tests.replaced import replace

S = 1_000_000_000
LINE = StackFrame("/home/me/train.py", 12, "Clips.rows", "yield decode(clip)")
OTHER = StackFrame("/home/me/train.py", 10, "Clips.rows", "for clip in clips:")


class _Loop:
    """From 10 s to 20 s."""

    over_ns = 20 * S
    loop_ms = 10_000.0


class _Profile:
    def __init__(self, *parts: ThreadsUsed) -> None:
        self._parts = parts

    def stacks(self, _worker: int) -> object:
        return replace(NO_STACKS, threads=self._parts)


def _sampled(begin_s: int, num_samples: int, **counts: int) -> ThreadsUsed:
    lines = {"line": LINE, "other": OTHER}
    in_ops = [LineInOp(lines[name], count) for name, count in counts.items()]
    return ThreadsUsed(begin_s * S, (begin_s + 2) * S, [], num_samples, in_ops)


def _python_in_ops(monkeypatch: pytest.MonkeyPatch, *parts: ThreadsUsed) -> PythonInOps | None:
    monkeypatch.setattr(python_in_ops, "regions_of", lambda *_: _Loop())
    found = python_in_ops.python_in_ops.__wrapped__  # type: ignore[attr-defined]
    return found(_Profile(*parts), 0, 1)


def test_the_line_with_most_samples_of_the_loop_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = _sampled(4, 20, other=20), _sampled(20, 20, other=20)
    inside = [_sampled(second, 20, line=12, other=4) for second in (10, 12)]
    found = _python_in_ops(monkeypatch, before, *inside, after)
    assert found is not None
    assert (found.line, found.share, found.of_line) == (LINE, 0.8, 0.75)
    assert found.said == "75 % of the time at train.py:12 (`yield decode(clip)`)"


def test_of_a_loop_of_many_lines_the_function_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [StackFrame("/home/me/train.py", 20 + n, "iou", f"line {n}") for n in range(5)]
    in_ops = [LineInOp(line, 3 + (line is lines[2])) for line in lines]
    in_ops.append(LineInOp(OTHER, 4))
    found = _python_in_ops(monkeypatch, ThreadsUsed(10 * S, 12 * S, [], 20, in_ops))
    assert found is not None
    assert found.said == "in `iou` for 80 % of it, most often at train.py:22"


@pytest.mark.parametrize(
    "counts", [{"line": 3}, {}], ids=["few samples", "no op runs Python of the program"]
)
def test_without_enough_samples_no_line_is_named(
    counts: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _python_in_ops(monkeypatch, _sampled(10, 20, **counts)) is None
