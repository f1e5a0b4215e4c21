"""The line of a step, of which a run has more than of anything else.

A step's work leaves nothing of Python's code in the processor's caches, so that the encoder for all
events takes several times as long as in a loop of its own. One f-string takes half of that.
"""

from __future__ import annotations

from typing import Protocol


class StepFields(Protocol):
    """What has the fields of a `StepDone`: to make one takes as long as to write its line."""

    @property
    def segment(self) -> int: ...
    @property
    def step(self) -> int: ...
    @property
    def start_ns(self) -> int: ...
    @property
    def wall_ms(self) -> float: ...
    @property
    def loss(self) -> float | None: ...
    @property
    def examples(self) -> int | None: ...
    @property
    def captured(self) -> bool: ...
    @property
    def input_ms(self) -> float | None: ...
    @property
    def marks_ns(self) -> list[list[int]] | None: ...


def step_line(event: StepFields, at_ns: int) -> str | None:
    """Exactly what the encoder for all events gives; None where a field is not what it should be.

    A loss that is no number is null: JSON has no word for it.
    """
    loss, examples, input_ms, marks = event.loss, event.examples, event.input_ms, event.marks_ns
    wall_ms = event.wall_ms
    # Exact types: a number of NumPy's has another `repr`. Infinities and NaN less themselves are
    # not zero: to call a function takes longer.
    if not (
        type(wall_ms) is float
        and wall_ms - wall_ms == 0.0
        and (loss is None or type(loss) is float)
        and (examples is None or type(examples) is int)
        and (input_ms is None or type(input_ms) is float)
    ):
        return None
    return (
        f'{{"kind": "step", "at_ns": {at_ns}, "segment": {event.segment}, "step": {event.step}, '
        f'"start_ns": {event.start_ns}, "wall_ms": {wall_ms!r}, '
        f'"loss": {"null" if loss is None or loss - loss != 0.0 else repr(loss)}, '
        f'"examples": {"null" if examples is None else examples}, '
        f'"captured": {"true" if event.captured else "false"}, '
        f'"input_ms": {"null" if input_ms is None else repr(input_ms)}, '
        f'"marks_ns": {"null" if marks is None else marks}}}'
    )
