"""The calls of the open step that compute gradients, each of which may turn out to be a step."""

from __future__ import annotations

from collections.abc import Sequence

from strategy_core.tracing.calls import Call
from strategy_core.tracing.units import Unit


class StepCalls:
    """What each call of a step took, until it is known whether the calls are one step.

    `num_workers` processes have as many examples as this one.
    """

    def __init__(self, num_workers: int) -> None:
        self._num_workers = num_workers
        self.calls: list[Call] = []

    def __len__(self) -> int:
        return len(self.calls)

    @property
    def units(self) -> Sequence[Unit]:
        """The function of each call."""
        return [call.unit for call in self.calls]

    @property
    def first(self) -> Call:
        return self.calls[0]

    def part_done(self, call: Call, ended_ns: int) -> None:
        """A part of an eager call has ended."""
        if not self.calls or self.calls[-1] is not call:
            self.calls.append(call)
        call.ended_ns = ended_ns

    def num_examples(self) -> int | None:
        """Examples of all calls of the function that is called first; None if one is unknown.

        The other functions get the same batches, or what these have computed.
        """
        own = [call.num_examples for call in self.calls if call.unit is self.first.unit]
        if None in own:
            return None
        return self._num_workers * sum(examples for examples in own if examples is not None)
