"""What one host's recording says: devices, steps, replicas, collectives and phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strategy_imports.collectives import Collectives, bytes_of_hlo, find_collectives
from strategy_imports.device_lines import device_of, is_host, lines_of
from strategy_imports.device_spans import device_spans
from strategy_imports.event_names import ran_as
from strategy_imports.host_spans import host_spans
from strategy_imports.launches import (
    launching_calls,
    told_by_host,
    windows_by_launch,
)
from strategy_imports.phases import SplitSteps, host_input, split_steps
from strategy_imports.recording import HloOp, Ints, Plane, Recording
from strategy_imports.replicas import Replicas, find_replicas
from strategy_imports.slice_messages import SliceMessages, slice_messages
from strategy_imports.spans import INPUT, Numbered, Spans, Texts
from strategy_imports.steps import (
    Launched,
    Steps,
    Windows,
    find_steps,
    without_partial,
)


@dataclass(frozen=True, slots=True)
class Device:
    """A device of the host; `num_events` is 0 if the profile has none of it."""

    name: str
    kind: str
    number: int
    num_events: int
    plane: Plane


@dataclass(frozen=True, slots=True)
class HostProfile:
    """A host of the profile, ready to be written as one process of a run."""

    recording: Recording
    devices: tuple[Device, ...]
    texts: Texts
    hlo: list[HloOp]
    """Instructions by the numbers in `spans.hlo`."""
    spans: Spans
    steps: Steps
    replicas: Replicas
    collectives: Collectives
    messages: SliceMessages
    splits: tuple[SplitSteps, ...]
    input_ns: Ints
    """By step: how long the host waited for its batch."""
    has_input: bool
    """Whether the profile has any event of the input pipeline."""


def read_host(recording: Recording, *, is_alone: bool) -> HostProfile:
    """Interpret a recording; `is_alone` says that the profile has no other host.

    The lines of its planes are removed once their events are spans: a large profile would else be
    in memory twice.
    """
    ordered = sorted(
        ((device_of(plane) or ("", 0), plane) for plane in recording.planes),
        key=lambda item: item[0],
    )
    planes = [plane for (kind, _), plane in ordered if kind]
    lines = {device: lines_of(plane) for device, plane in enumerate(planes)}
    devices = tuple(
        Device(plane.name.partition(" ")[0], kind, number, own.num_events, plane)
        for ((kind, number), plane), own in zip(
            [item for item in ordered if item[0][0]], lines.values(), strict=True
        )
    )
    for (kind, _), plane in ordered:
        if not kind and plane.name.startswith("/device:") and any(map(len, plane.lines)):
            recording.not_recognised[f"plane {plane.name}"] += sum(map(len, plane.lines))
    texts = Texts()
    host_of = host_spans([plane for plane in recording.planes if is_host(plane)], texts)
    hlo: Numbered[HloOp] = Numbered()
    parts = [
        part
        for i, plane in enumerate(planes)
        for part in device_spans(plane, i, recording.programs, texts, hlo)
    ]
    num_on_devices = sum(map(len, parts))
    parts += host_of
    del host_of
    spans = Spans.joined(parts)
    on_devices = spans.take(slice(None, num_on_devices))
    host = spans.take(slice(num_on_devices, None))
    call = launching_calls(on_devices, host)
    annotated = told_by_host(on_devices, host, call, texts.all)
    launched_ns = np.where(call >= 0, np.append(host.start_ns, -1)[call], -1)
    is_known = launched_ns >= 0
    length_ns = on_devices.end_ns - on_devices.start_ns
    launched = Launched(launched_ns[is_known], length_ns[is_known])
    steps = find_steps(planes, lines, host, texts.all, launched)
    worked_ns = np.where(is_known, launched_ns, on_devices.start_ns)
    steps = without_partial(steps, worked_ns if len(worked_ns) else host.start_ns)
    steps = windows_by_launch(steps, on_devices, launched_ns)
    if annotated is not on_devices:
        for column in ("bytes", "group_size", "name"):
            both = np.concatenate([getattr(annotated, column), getattr(host, column)])
            spans = spans.with_columns(**{column: both})
    messages = slice_messages(recording.planes)
    lines.clear()
    for plane in recording.planes:
        plane.lines.clear()
    replicas = find_replicas(spans, texts.all, len(planes))
    spans = spans.with_columns(replica=replicas.of_event, step=_step_of_events(spans, steps))
    collectives = find_collectives(
        spans,
        texts.all,
        _sizes(planes, texts),
        is_whole=is_alone and max(recording.num_ranks or 0, 2) <= len(replicas.devices),
        usual_group=_usual_group(recording),
    )
    waiting = host_input(spans)
    splits = tuple(
        split_steps(spans, collectives, replica, _windows(steps, device), waiting)
        for replica, device in enumerate(replicas.devices)
        if len(steps)
    )
    return HostProfile(
        recording,
        devices,
        texts,
        hlo.all,
        spans,
        steps,
        replicas,
        collectives,
        messages,
        splits,
        waiting.length_within(steps.host.start_ns, steps.host.end_ns),
        bool((spans.category == INPUT).any()),
    )


def _step_of_events(spans: Spans, steps: Steps) -> Ints:
    of_host = steps.host.of(spans.start_ns)
    for device, windows in steps.devices.items():
        own = np.flatnonzero(spans.device == device)
        of_host[own] = windows.of(spans.start_ns[own])
    return of_host


def _usual_group(recording: Recording) -> int:
    """Return the size of all groups of ranks that the program can have; -1 if it is not known."""
    sizes = recording.group_sizes or ({2} if recording.num_ranks == 2 else set())
    return next(iter(sizes)) if len(sizes) == 1 else -1


def _windows(steps: Steps, device: int) -> Windows:
    return steps.devices.get(device, steps.host)


def _sizes(planes: Sequence[Plane], texts: Texts) -> list[int]:
    """Return the bytes of collectives by the index of what ran."""
    sizes = [-1] * len(texts.all)
    for plane in planes:
        for kind in plane.kinds:
            size = bytes_of_hlo(kind.name)
            if size >= 0:
                index = texts.index(ran_as(kind))
                if index < len(sizes):  # else no event ran it
                    sizes[index] = size
    return sizes
