"""Was a `tf.function` traced again after the first step, which one, and because of which argument?

From the event `retraced`, which the recorder writes when a tracing count has grown
(`tf.function.experimental_get_tracing_count`).
"""

from __future__ import annotations

from msgspec import Struct

from strategy_profiles.reporting import units
from strategy_profiles.run.events import Retraced
from strategy_profiles.tables.store import Profile


class Retracing(Struct, frozen=True):
    """The steps of a segment, its first one left out, in which something was traced."""

    steps: tuple[int, ...]
    function: str | None
    """The function that was traced most often."""
    num_traces: int
    """Number of traces of `function`."""
    argument: str | None
    """What changed from one trace of the function to the next, in words; None if unknown."""


def retracing(profile: Profile, segment: int) -> Retracing:
    """The retracing of a segment, by what the lowest worker recorded."""
    for source in profile.sources:
        events = [event for event in source.of_kind(Retraced) if event.segment == segment]
        if events:
            return _summed(events)
    return Retracing((), None, 0, None)


def first_trace_note(profile: Profile, segment: int) -> str | None:
    """Say that graph, placement and sizes are of the first trace, where a later one may differ.

    The recorder collects the graph in the first step of a segment alone. None if nothing was
    traced again.
    """
    traced = retracing(profile, segment)
    if not traced.steps:
        return None
    count = len(traced.steps)
    steps = units.counted(count, "step") + ", first in " if count > 1 else ""
    return (
        f"Graph, placement and sizes of collectives of segment {segment} are of the first trace. "
        f"{traced.function} was traced again in {steps}step {traced.steps[0]}."
    )


def _summed(events: list[Retraced]) -> Retracing:
    traces: dict[str, int] = {}
    for event in events:
        traces[event.function] = traces.get(event.function, 0) + event.num_traces
    function = max(traces, key=lambda name: traces[name])
    arguments = [event.argument for event in events if event.function == function]
    known = [argument for argument in arguments if argument]
    return Retracing(
        steps=tuple(sorted({event.step for event in events})),
        function=function,
        num_traces=traces[function],
        argument=known[-1] if known else None,
    )
