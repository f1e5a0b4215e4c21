"""Merge the captures of a TPU pod's coordinator and its hosts.

The coordinator's capture has the steps and calls, the hosts' captures have the ops. All processes
run on one machine and use its clock. A step counts only if all of them capture while it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from strategy_profiles.capture import xspace
from strategy_profiles.capture.xspace import Events, XSpaceColumns

_OF_HOSTS = (xspace.OP, xspace.ISSUED, xspace.DONE)


def with_hosts(whole: XSpaceColumns, parts: Sequence[XSpaceColumns]) -> XSpaceColumns:
    """Return the coordinator's columns with the ops of its hosts."""
    places = {key: i for i, key in enumerate(zip(whole.names, whole.ops, strict=True))}
    events_of = {kind: [events] for kind, events in whole.by_kind.items()}
    for part in parts:
        names = [
            places.setdefault(key, len(places)) for key in zip(part.names, part.ops, strict=True)
        ]
        index = np.asarray(names, np.int64)
        for kind in _OF_HOSTS:
            events = _while_on(part.events(kind), whole)
            events_of.setdefault(kind, []).append(replace(events, name=index[events.name]))
    by_kind = {kind: xspace.concatenate(events) for kind, events in events_of.items()}
    if xspace.STEP in by_kind:
        by_kind[xspace.STEP] = _inside(by_kind[xspace.STEP], parts)
    return XSpaceColumns(
        [name for name, _ in places],
        [op for _, op in places],
        by_kind,
        whole.device_events,
        whole.stages,  # as their events, of the coordinator alone
        sum(each.num_events for each in (whole, *parts)),
        sum(each.num_dropped for each in (whole, *parts)),
        whole.from_ns,
        whole.until_ns,
        [problem for each in (whole, *parts) for problem in each.problems],
    )


def _while_on(events: Events, coordinator: XSpaceColumns) -> Events:
    """Return the events that begin while the coordinator captures; hosts capture for longer."""
    until_ns = coordinator.until_ns or np.iinfo(np.int64).max
    return events.take((events.start_ns >= coordinator.from_ns) & (events.start_ns <= until_ns))


def _inside(steps: Events, parts: Sequence[XSpaceColumns]) -> Events:
    """Return the steps during which every host captures."""
    from_ns = max(part.from_ns for part in parts)
    until_ns = min(part.until_ns for part in parts)
    return steps.take((steps.start_ns >= from_ns) & (steps.end_ns <= until_ns))
