"""Join what a device ran with the host's calls that launched it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from strategy_imports.recording import CONSUMER, Ints, Line
from strategy_imports.spans import COLLECTIVE, TRANSFER, Spans
from strategy_imports.steps import Steps, Windows
from strategy_profiles.capture import launches
from strategy_profiles.capture.kernel_names import collective_of

_POSITIVE = 2**62 - 1
_MOST_NESTED = 4
"""Annotations of one collective that are inside of each other."""
_MOST_UNKNOWN = 0.1
"""Share of a device's events whose launch may be unknown before its steps are not told by them."""


def link_id(stat: Ints) -> Ints:
    """Return the ids of producers and consumers, which may be any number, as positive ones."""
    return np.where(stat == -1, -1, stat & _POSITIVE)


def launch_of_events(line: Line, modules: Sequence[Line]) -> Ints:
    """Return what joins a device's events with the calls that launched them; -1 if unknown.

    A GPU's event has its own id, a TPU core's that of the program's execution in which it began.
    """
    correlation = line.stat("correlation_id")
    for module in modules:
        if CONSUMER in module.stats:
            order = np.argsort(module.start_ns, kind="stable")
            windows = Windows(module.start_ns[order], module.end_ns[order])
            execution = windows.of(line.start_ns)
            own = np.append(link_id(module.stats[CONSUMER])[order], -1)[execution]
            correlation = np.where(correlation > 0, correlation, own)
    return correlation


def launching_calls(on_devices: Spans, host: Spans) -> Ints:
    """Return which event of the host launched each event of a device; -1 if it is not known.

    An event and the call that launched it have the same positive correlation id.
    """
    return launches.launching_calls(on_devices.correlation, host.correlation)


def told_by_host(on_devices: Spans, host: Spans, call: Ints, names: Sequence[str]) -> Spans:
    """Return the events of devices with what only the host says of them.

    The `call` that launched a copy may know its size. PyTorch's annotations around the call that
    launched a collective know its name, its group and its size; the size only if they launched no
    other collective.
    """
    copied = np.flatnonzero((on_devices.category == TRANSFER) & (call >= 0))
    at = np.flatnonzero((on_devices.category == COLLECTIVE) & (call >= 0))
    named = [number for number, text in enumerate(names) if len(at) and collective_of(text)]
    is_named = np.isin(host.name, named) & ~(host.correlation > 0)
    if not (is_named.any() or (host.bytes >= 0).any()):
        return on_devices
    size, group = on_devices.bytes.copy(), on_devices.group_size.copy()
    name = on_devices.name.copy()
    size[copied] = np.where(size[copied] >= 0, size[copied], host.bytes[call[copied]])
    outer = host.take(~(host.correlation > 0))

    def of_annotation(column: Ints, is_known: NDArray[np.bool_], *, of_one: bool = False) -> Ints:
        """By launch the value that the innermost host event around it has in a column, or -1.

        With `of_one` an event that is around several launches counts for none.
        """
        teller = _innermost(outer, np.flatnonzero(is_known), host, call[at])
        if of_one:
            teller = np.where(np.bincount(teller + 1)[teller + 1] == 1, teller, -1)
        return np.where(teller >= 0, np.append(column, -1)[teller], -1)

    annotated = of_annotation(outer.name, np.isin(outer.name, named))
    is_bare = (name[at] == on_devices.op[at]) & (annotated >= 0)
    name[at] = np.where(is_bare, annotated, name[at])
    size_around = of_annotation(outer.bytes, outer.bytes >= 0, of_one=True)
    size[at] = np.where(size[at] >= 0, size[at], size_around)
    group[at] = np.where(
        group[at] > 0, group[at], of_annotation(outer.group_size, outer.group_size > 0)
    )
    return on_devices.with_columns(bytes=size, group_size=group, name=name)


def _innermost(outer: Spans, tellers: Ints, host: Spans, call: Ints) -> Ints:
    """Return the last of the tellers to begin that is around each call, on its thread, or -1."""
    innermost = np.full(len(call), -1, np.int64)
    tellers = tellers[np.argsort(outer.start_ns[tellers], kind="stable")]
    for thread in np.unique(host.thread[call]).tolist():
        own = tellers[outer.thread[tellers] == thread]
        calls = np.flatnonzero(host.thread[call] == thread) if len(own) else own
        at_ns = host.start_ns[call[calls]]
        last = np.searchsorted(outer.start_ns[own], at_ns, side="right") - 1
        for depth in range(_MOST_NESTED):
            outer_at = last - depth
            is_open = (outer_at >= 0) & (innermost[calls] < 0)
            is_open &= outer.end_ns[own[np.maximum(outer_at, 0)]] >= at_ns
            innermost[calls[is_open]] = own[outer_at[is_open]]
    return innermost


def windows_by_launch(steps: Steps, on_devices: Spans, launched_ns: Ints) -> Steps:
    """Return the steps with each device's own begin and end.

    A device works after the host: its step lasts from the first event that the host launched in the
    step until the first one of the next. The last one is as long as the host's, or lasts until its
    last event. Where launches are unknown, the host's times count. Steps that the devices
    themselves tell are left as they are.
    """
    if not len(steps) or steps.how in ("step line", "modules"):
        return steps
    launched_in = np.where(launched_ns >= 0, steps.host.of(launched_ns), -1)
    last_ns = int(steps.host.end_ns[-1] - steps.host.start_ns[-1])
    bounds = {}
    for device in np.unique(on_devices.device).tolist():
        own = np.flatnonzero(on_devices.device == device)
        begin_and_end = launches.device_windows(
            launched_in[own], on_devices.start_ns[own], on_devices.end_ns[own], len(steps), last_ns
        )
        windows = Windows(*begin_and_end) if begin_and_end else None
        # What runs before the first event of a known launch was launched before the recording.
        after = own[on_devices.start_ns[own] >= windows.start_ns[0]] if windows else own
        is_known = float((launched_ns[after] >= 0).mean()) >= 1 - _MOST_UNKNOWN
        if windows is not None and is_known:
            bounds[device] = windows
    return replace(steps, devices=bounds)
