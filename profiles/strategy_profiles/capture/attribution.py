"""Split each replica's step into compute, delay, wait, transfer, input and idle.

Every nanosecond of a step belongs to exactly one phase of a replica: the first phase of this list
that applies (docs/decisions/numbers.md gives the reasons and the evidence):

1. delay: the delay that the lab injected into the replica, although other ops may run meanwhile;
2. compute: an op of the replica runs on its device;
3. transfer: a collective after its last member has started, a send, or a receive on which the
   replica's next op depends, after its send has begun;
4. wait: a collective before its last member has started; a receive on which the next op depends,
   before its send has begun; the end of a call, while other devices are still in it;
5. input: the host asks for a batch, or an iterator's op runs;
6. idle: none of these. The host is between calls, or the replica's ops queue for a core.

With TPUStrategy a replica can have several cores. Each core is split by the same rule, and the
replica by the unions of its cores' phases: it computes while any of its cores does.

Phases are lengths of interval unions in integer nanoseconds, so they add up to the step exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from strategy_profiles.capture.collectives import CollectiveRows
from strategy_profiles.capture.gaps import GapIntervals, call_waits, receive_gaps
from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.capture.joined import (
    COMPUTE,
    DELAY,
    INPUT,
    TRANSFER,
    Joined,
    OpEvents,
)
from strategy_profiles.run.op_scopes import replica_in
from strategy_profiles.tables.columns import Ints


@dataclass(frozen=True, slots=True)
class SplitSteps:
    """One row per replica (or core) and captured step; lengths in ns that add up to the wall."""

    replica: Ints
    core: Ints
    device: Ints
    """For a replica, its own device, which is its first core."""
    step: Ints
    start_ns: Ints
    wall_ns: Ints
    compute_ns: Ints
    delay_ns: Ints
    transfer_ns: Ints
    wait_ns: Ints
    input_ns: Ints
    idle_ns: Ints
    on_device_clock: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Attribution:
    """The phases of every step, and the waits and transfers around receives."""

    replica_steps: SplitSteps
    core_steps: SplitSteps
    """Empty if each replica has one device."""
    gaps: tuple[tuple[int, GapIntervals], ...]
    """Pairs of a device's index and its gaps."""
    busy: Intervals
    """The times at which any replica computes, moves tensors or waits for another replica."""
    working: Intervals
    """The same without the waits: a replica that waits for one that waits for its batch does not
    work."""


_NUM_WORKING = 3
"""A device's phases delay, compute and transfer count as working, and with `wait` as busy."""


@dataclass(frozen=True, slots=True)
class _DevicePhases:
    """The delay, compute, transfer, wait and input intervals of a device; they may overlap."""

    device: int
    phases: tuple[Intervals, ...]
    on_device_clock: bool


def attribute(joined: Joined, collectives: CollectiveRows) -> Attribution:
    """Split every captured step of every replica. `collectives` are the measured ones."""
    of_replicas, of_cores, gaps = [], [], []
    busy, working = Intervals.union(), Intervals.union()
    host = joined.host_inputs
    host_input = Intervals.union((host.start_ns, host.end_ns))
    last_ends = np.sort(joined.ops.end_ns[joined.ops.device >= 0])
    groups = joined.graph.core_devices or [[name] for name in joined.graph.replica_devices]
    for replica, names in enumerate(groups):
        cores = []
        for core, name in enumerate(names):
            index = joined.devices.index(name)
            mine = _on_device(joined.ops, index)
            if not len(mine.node) or joined.is_unknown(index):
                continue
            rows = _of_device(collectives, index)
            device_gaps = _device_gaps(joined, index, mine, rows, last_ends)
            gaps.append((index, device_gaps))
            delay = _intervals(mine, DELAY)
            if not core:
                delay = delay | _delay_elsewhere(joined, replica)
            cores.append(_device_phases(index, mine, rows, device_gaps, host_input, delay))
            of_cores.append(_split(joined, replica, core, cores[-1:]))
            for phase in cores[-1].phases[:_NUM_WORKING]:
                working = working | phase
            busy = busy | cores[-1].phases[_NUM_WORKING]
        if cores:
            of_replicas.append(_split(joined, replica, 0, cores))
    has_cores = bool(joined.graph.core_devices)
    return Attribution(
        _stack(of_replicas),
        _stack(of_cores if has_cores else []),
        tuple(gaps),
        busy | working,
        working,
    )


def _on_device(ops: OpEvents, device: int) -> OpEvents:
    at = np.flatnonzero((ops.device == device) & (ops.step >= 0))
    at = at[np.argsort(ops.start_ns[at], kind="stable")]
    return OpEvents(**{name: getattr(ops, name)[at] for name in OpEvents.__slots__})


def _of_device(rows: CollectiveRows, device: int) -> tuple[Ints, Ints, Ints]:
    """Start, last member's start and end of a device's collectives."""
    at = rows.device == device
    return rows.start_ns[at], rows.all_started_ns[at], rows.end_ns[at]


def _device_gaps(
    joined: Joined,
    index: int,
    mine: OpEvents,
    collectives: tuple[Ints, Ints, Ints],
    last_ends: Ints,
) -> GapIntervals:
    busy = Intervals.union((mine.start_ns, mine.end_ns), (collectives[0], collectives[2]))
    received = receive_gaps(joined, mine, busy, joined.steps_on(index))
    if index in joined.device_steps:
        return received  # its calls end before its work does
    return received.with_waits(*call_waits(joined, busy, last_ends))


def _device_phases(
    device: int,
    mine: OpEvents,
    collectives: tuple[Ints, Ints, Ints],
    gaps: GapIntervals,
    host_input: Intervals,
    delay: Intervals,
) -> _DevicePhases:
    started, all_started, ended = collectives
    moving = np.clip(all_started, started, ended)
    phases = (
        delay,
        _intervals(mine, COMPUTE),
        _intervals(mine, TRANSFER)
        | Intervals.union((moving, ended), (gaps.transfer_from, gaps.transfer_until)),
        Intervals.union((started, moving), (gaps.wait_from, gaps.wait_until)),
        _intervals(mine, INPUT) | host_input,
    )
    return _DevicePhases(device, phases, bool(mine.on_device_clock.any()))


def _split(joined: Joined, replica: int, core: int, devices: list[_DevicePhases]) -> SplitSteps:
    """Split every step: each moment counts as the first phase that any of the devices is in."""
    steps = joined.steps_on(devices[0].device)
    covered = Intervals.union()
    lengths, before = [], np.zeros(len(steps), np.int64)
    for turn in zip(*(each.phases for each in devices), strict=True):
        for phase in turn:
            covered = covered | phase
        total = covered.length_within(steps.start_ns, steps.end_ns)
        lengths.append(total - before)
        before = total
    delay, compute, transfer, wait, input_ = lengths
    wall = steps.end_ns - steps.start_ns
    same = np.ones(len(steps), np.int64)
    return SplitSteps(
        replica=same * replica,
        core=same * core,
        device=same * devices[0].device,
        step=np.arange(len(steps)),
        start_ns=steps.start_ns,
        wall_ns=wall,
        compute_ns=compute,
        delay_ns=delay,
        transfer_ns=transfer,
        wait_ns=wait,
        input_ns=input_,
        idle_ns=wall - before,
        on_device_clock=np.full(len(steps), any(each.on_device_clock for each in devices)),
    )


def _delay_elsewhere(joined: Joined, replica: int) -> Intervals:
    """Return a replica's injected delay if it sleeps on the host, as on behalf of a GPU."""
    ops = joined.ops
    at = np.flatnonzero((ops.category == DELAY) & (ops.device >= 0))
    own = [
        index
        for index in at.tolist()
        if joined.devices[ops.device[index]] not in joined.graph.replica_of
        and (replica_in(joined.columns.names[ops.name[index]]) or 0) == replica
    ]
    return Intervals.union((ops.start_ns[own], ops.end_ns[own]))


def _intervals(ops: OpEvents, category: int) -> Intervals:
    at = ops.category == category
    return Intervals.union((ops.start_ns[at], ops.end_ns[at]))


def _stack(parts: list[SplitSteps]) -> SplitSteps:
    none = np.zeros(0, np.int64)
    return SplitSteps(
        **{
            name: np.concatenate([none, *(getattr(part, name) for part in parts)]).astype(
                bool if name == "on_device_clock" else np.int64
            )
            for name in SplitSteps.__slots__
        }
    )
