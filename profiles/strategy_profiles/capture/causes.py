"""Find what delays the captured steps: columns of the table `causes`, kinds as in `schema.CAUSES`.

The cost of a cause depends on where it runs. Host work (tracing, a stage of the input, Python)
costs the time in which no replica runs anything: host work that overlaps with the replicas' work
costs nothing. Ops that run Python, or run on another device than their replica's, cost their
duration.

Python waits for a function that it calls, so samples of its stack show the call. While the runtime
executes the function, the time between its ops is not Python's.

A step waits for its batch while `IteratorGetNext` runs. Stages of tf.data nest, and each stage with
a buffer has its own thread, so most stages only wait for the stage below. The limiting stage is
the deepest one that is active at that moment.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from strategy_profiles.capture import event_names, xspace
from strategy_profiles.capture.attribution import Attribution
from strategy_profiles.capture.detours import find_detours
from strategy_profiles.capture.graph import RECEIVES, SENDS
from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.capture.joined import INPUT, Joined, Steps
from strategy_profiles.capture.python_samples import (
    EXECUTE,
    PythonSamples,
    of_samples,
    times_of,
)
from strategy_profiles.run.injected_delay import is_injected
from strategy_profiles.run.op_scopes import loop_in
from strategy_profiles.run.tensorflow_names import DEBUGGING_OPS, PYTHON_OPS
from strategy_profiles.tables.columns import Ints, sorted_distinct
from strategy_profiles.tables.schema import CALLS

Row = dict[str, Any]
"""One cause in one step: `step` is the index of the step in the capture, lengths are in ns."""

LEAST_SHARE = 0.01
"""Stages, and lines between two steps, that take less than this share of the step are omitted."""


def cause_table(joined: Joined, attribution: Attribution, samples: PythonSamples) -> dict[str, Any]:
    """Return every cause of every captured step, as columns."""
    waiting = _waiting(joined)
    running = Intervals.union((joined.calls.start_ns, joined.calls.end_ns))
    explained = attribution.busy | waiting | running | _traced(joined)
    calls = times_of(samples, joined.steps, EXECUTE, *CALLS)
    rows = [
        *_between_ops(joined, _difference(running, attribution.busy | waiting)),
        *_launches(joined, waiting),
        *_tracing(joined, attribution.busy),
        *_compiling(joined),
        *_input_stages(joined, attribution.working, waiting),
        *_input_python("input-python", joined, _difference(waiting, attribution.working)),
        *_input_python("input-python-ahead", joined, _difference(calls, explained)),
        *of_samples(samples, joined.steps, explained),
        *_between(samples, joined.steps),
        *_python_ops(joined),
        *_debugging_ops(joined),
        *_detours(joined),
    ]
    names = ("kind", "name", "detail", "replica", "device", "count", "bytes")
    columns: dict[str, Any] = {name: [row.get(name) for row in rows] for name in names}
    numbers = np.append(joined.steps.number, -1)  # index -1 (no step) becomes step -1
    columns["step"] = numbers[np.array([row["step"] for row in rows], np.int64)]
    for name in ("total", "held"):
        columns[f"{name}_ms"] = np.array([row[f"{name}_ns"] for row in rows], np.float64) / 1e6
    return columns


def _waiting(joined: Joined) -> Intervals:
    """Return the times at which the program, or an op of its step, asks for a batch."""
    host, ops = joined.host_inputs, joined.ops
    at = (ops.category == INPUT) & (ops.device >= 0)
    return Intervals.union((host.start_ns, host.end_ns), (ops.start_ns[at], ops.end_ns[at]))


def _between_ops(joined: Joined, gaps: Intervals) -> list[Row]:
    """Return one row per step that calls a function: what passes before its next op is started.

    `count` are the ops of the replica that has most of them, and `name` is the loop that half of
    the ops or more belong to. The executor does not record ops that it takes for cheap. If the
    graph has a loop whose ops are not recorded, the row names it, and their number is unknown.
    """
    steps, ops = joined.steps, joined.ops
    if joined.ran is not None:
        return []  # a call on a GPU ends before its ops have run: see `_launches`
    wall = steps.end_ns - steps.start_ns
    held = gaps.length_within(steps.start_ns, steps.end_ns)
    loop_of = [loop_in(name) for name in joined.columns.names]
    unrecorded = {loop for node in joined.graph.nodes if (loop := loop_in(node.name))}
    unrecorded -= {loop_of[name] for name in np.unique(ops.name[ops.device >= 0]).tolist()}
    rows: list[Row] = []
    for step in np.flatnonzero(held > LEAST_SHARE * wall).tolist():
        own = np.flatnonzero((ops.step == step) & (ops.device >= 0))
        loops = Counter(loop_of[name] for name in ops.name[own].tolist())
        loop, num_in_loop = loops.most_common(1)[0] if loops else (None, 0)
        rows.append(
            {
                "kind": "between-ops",
                "name": loop if loop and 2 * num_in_loop >= own.size else None,
                "step": step,
                "count": int(np.bincount(ops.device[own]).max()) if own.size else 0,
                "total_ns": int(held[step]),
                "held_ns": int(held[step]),
            }
            | ({"name": min(unrecorded), "count": None} if unrecorded else {})
        )
    return rows


def _launches(joined: Joined, waiting: Intervals) -> list[Row]:
    """Return one row per step and GPU: how long it was idle until the host launched what came next.

    A gap counts if the kernel at its end was launched after the gap had begun, unless the program
    waited for a batch meanwhile. `count` are the step's kernels and copies.
    """
    ran, rows = joined.ran, list[Row]()
    if ran is None:
        return rows
    for device in np.unique(ran.device[ran.device >= 0]).tolist():
        own = np.flatnonzero(ran.device == device)
        own = own[np.argsort(ran.start_ns[own], kind="stable")]
        start_ns, launched_ns = ran.start_ns[own], ran.launched_ns[own]
        steps = joined.steps_on(device)
        before_ns = np.append(start_ns[:1], np.maximum.accumulate(ran.end_ns[own])[:-1])
        # Before a step's first kernel, the device is idle in this step since it began.
        step = steps.of(start_ns)
        before_ns = np.where(step >= 0, np.maximum(before_ns, steps.start_ns[step]), start_ns)
        is_late = launched_ns >= before_ns
        gaps = Intervals.union((before_ns[is_late], start_ns[is_late]))
        held = _difference(gaps, waiting).length_within(steps.start_ns, steps.end_ns)
        count = np.bincount(step[step >= 0], minlength=len(steps))
        name = joined.devices[device]
        rows += [
            {
                "kind": "launch",
                "replica": joined.graph.replica_of.get(name),
                "device": name,
                "step": index,
                "count": int(count[index]),
                "total_ns": int(held[index]),
                "held_ns": int(held[index]),
            }
            for index in np.flatnonzero(held > 0).tolist()
        ]
    return rows


def _traced(joined: Joined) -> Intervals:
    events = joined.columns.events(xspace.TRACING)
    return Intervals.union((events.start_ns, events.end_ns))


def _between(samples: PythonSamples, steps: Steps) -> list[Row]:
    """Return what Python did between the end of a step and the begin of the one after it.

    A row counts for the later step. The first step of the capture, and a step whose predecessor was
    not captured, have no rows: how long the time before them was is not known.
    """
    follows = np.append(False, np.diff(steps.number) == 1)
    before = np.append(steps.start_ns[:1], steps.end_ns[:-1])
    # If the recorded times of two steps overlap, nothing is between them.
    before = np.where(follows, np.minimum(before, steps.start_ns), steps.start_ns)
    nothing = np.zeros(0, np.int64)
    rows = of_samples(
        samples, Steps(steps.number, before, steps.start_ns), Intervals.union((nothing, nothing))
    )
    wall = steps.end_ns - steps.start_ns
    return [
        row | {"kind": "between-steps"}
        for row in rows
        if row["held_ns"] > LEAST_SHARE * wall[row["step"]]
    ]


def _tracing(joined: Joined, busy: Intervals) -> list[Row]:
    """Return one row per step that builds a graph, named after the new function it calls."""
    steps, traced = joined.steps, _traced(joined)
    total = traced.length_within(steps.start_ns, steps.end_ns)
    held = total - _shared_length(traced, busy, steps.start_ns, steps.end_ns)
    events = joined.columns.events(xspace.TRACING)
    counts = np.bincount(steps.of(events.start_ns) + 1, minlength=len(steps) + 1)[1:]
    new = _new_functions(joined)
    return [
        {
            "kind": "tracing",
            "name": new.get(step, "a tf.function"),
            "step": step,
            "count": int(counts[step]),
            "total_ns": int(total[step]),
            "held_ns": int(held[step]),
        }
        for step in np.flatnonzero(total > 0).tolist()
    ]


def _compiling(joined: Joined) -> list[Row]:
    """Return one row per step in which XLA compiles a function, named after the last one called.

    XLA compiles inside the op that runs the function, so the time is a part of that op's.
    """
    steps, calls, names = joined.steps, joined.calls, joined.columns.names
    events = joined.columns.events(xspace.COMPILING)
    total = Intervals.union((events.start_ns, events.end_ns)).length_within(
        steps.start_ns, steps.end_ns
    )
    called = zip(steps.of(calls.start_ns).tolist(), calls.name.tolist(), strict=True)
    function = {
        step: match[1] for step, name in called if (match := event_names.CALLED.match(names[name]))
    }
    return [
        {
            "kind": "compiling",
            "name": function.get(step),
            "step": step,
            "count": 1,
            "total_ns": int(total[step]),
            "held_ns": int(total[step]),
        }
        for step in np.flatnonzero(total > 0).tolist()
    ]


def _new_functions(joined: Joined) -> dict[int, str]:
    """Return the function that a step is the first to call, by index of the step.

    TensorFlow calls a trace of `f` `__inference_f_123` and numbers each trace again, so a full name
    that has not occurred before in the capture means a new trace. If a step calls several, the last
    one is named. Steps without a new trace are absent.
    """
    names, calls = joined.columns.names, joined.calls
    order = np.argsort(calls.start_ns, kind="stable")
    new_in_step: dict[int, str] = {}
    seen: set[int] = set()
    for step, name in zip(
        joined.steps.of(calls.start_ns)[order].tolist(), calls.name[order].tolist(), strict=True
    ):
        match = event_names.CALLED.match(names[name])
        if name not in seen and match and step >= 0:  # -1: between two steps
            new_in_step[step] = match[1]
        seen.add(name)
    return new_in_step


def _input_stages(joined: Joined, busy: Intervals, waiting: Intervals) -> list[Row]:
    """Return the stages that are active while a step waits for its batch, deepest first.

    A stage calls the one below it, so both are active at once, and the deepest has the cause. Each
    stage therefore holds the time in which it is active and no deeper one is: from the deepest up,
    a stage's active time is removed from `unexplained`.
    """
    steps, events = joined.steps, joined.columns.events(xspace.STAGE)
    if not len(events) or not waiting.starts.size:
        return []
    names = [event_names.STAGE_ELEMENT.sub("", name) for name in joined.columns.names]
    of_stage: dict[str, list[int]] = {}
    for index in np.unique(events.name).tolist():
        of_stage.setdefault(names[index], []).append(index)
    rows: list[Row] = []
    wall = steps.end_ns - steps.start_ns
    unexplained = _difference(waiting, busy)
    before = unexplained.length_within(steps.start_ns, steps.end_ns)
    for stage in sorted(of_stage, key=lambda name: -name.count("::")):
        own = events.take(np.isin(events.name, of_stage[stage]))
        at_work = Intervals.union((own.start_ns, own.end_ns))
        unexplained = _difference(unexplained, at_work)
        left = unexplained.length_within(steps.start_ns, steps.end_ns)
        held, before = before - left, left
        mean_ns = float((own.end_ns - own.start_ns).mean())
        ended = np.bincount(steps.of(own.end_ns - 1) + 1, minlength=len(steps) + 1)[1:]
        rows += [
            {
                "kind": "input-stage",
                "name": stage,
                "step": step,
                "count": max(int(ended[step]), 1),
                "total_ns": mean_ns * max(int(ended[step]), 1),
                "held_ns": int(held[step]),
            }
            for step in np.flatnonzero(held > LEAST_SHARE * wall).tolist()
        ]
    return rows


def _input_python(kind: str, joined: Joined, held_up: Intervals) -> list[Row]:
    """Return the ops of tf.data's functions that run Python while a step is held up."""
    ops, steps, rows = joined.ops, joined.steps, []
    for name in [i for i, op in enumerate(joined.columns.ops) if op in PYTHON_OPS]:
        at = np.flatnonzero((ops.name == name) & (ops.device < 0))
        at_work = Intervals.union((ops.start_ns[at], ops.end_ns[at]))
        held = _shared_length(held_up, at_work, steps.start_ns, steps.end_ns)
        wall = steps.end_ns - steps.start_ns
        within = steps.of(ops.end_ns[at] - 1)
        rows += [
            {
                "kind": kind,
                "name": joined.columns.names[name],
                "detail": joined.columns.ops[name],
                "step": step,
                "count": max(int((within == step).sum()), 1),
                "total_ns": int((ops.end_ns - ops.start_ns)[at[within == step]].sum()),
                "held_ns": int(held[step]),
            }
            for step in np.flatnonzero(held > LEAST_SHARE * wall).tolist()
        ]
    return rows


def _python_ops(joined: Joined) -> list[Row]:
    """Return the ops that run Python inside a step's graph, with their durations.

    Python runs one of them at a time, so their durations overlap while they wait for each other. A
    row's `held_ns` is the part that no row before it has: the rows of a step add up to its time in
    Python.
    """
    ops = joined.ops
    wanted = [i for i, op in enumerate(joined.columns.ops) if op in PYTHON_OPS]
    wanted.sort(key=lambda name: is_injected(joined.columns.names[name], joined.columns.ops[name]))
    rows: list[Row] = []
    covered = Intervals.union()
    for name in wanted:
        at = np.flatnonzero((ops.name == name) & (ops.device >= 0) & (ops.step >= 0))
        for device in np.unique(ops.device[at]).tolist():
            own = at[ops.device[at] == device]
            known = {
                "kind": "python-op",
                "name": joined.columns.names[name],
                "detail": joined.columns.ops[name],
                **_where(joined, device),
            }
            with_own = covered | Intervals.union((ops.start_ns[own], ops.end_ns[own]))
            new_ns = _within_steps(joined, with_own) - _within_steps(joined, covered)
            covered = with_own
            parts = _by_step(known, ops.step[own], ops.end_ns[own] - ops.start_ns[own])
            rows += [row | {"held_ns": int(new_ns[row["step"]])} for row in parts]
    return rows


def _within_steps(joined: Joined, intervals: Intervals) -> Ints:
    return intervals.length_within(joined.steps.start_ns, joined.steps.end_ns)


def _debugging_ops(joined: Joined) -> list[Row]:
    """Return the types of ops that print, check or log inside a step's graph, each as one row.

    `tf.debugging.enable_check_numerics` adds an op for every other one, so they have no row each.
    """
    ops = joined.ops
    type_of = np.array([op in DEBUGGING_OPS for op in joined.columns.ops], np.bool_)
    if not type_of.any():
        return []
    at = np.flatnonzero(type_of[ops.name] & (ops.device >= 0) & (ops.step >= 0))
    kinds = np.array([joined.columns.ops[name] for name in ops.name[at].tolist()], np.str_)
    rows: list[Row] = []
    for kind, device in sorted(set(zip(kinds.tolist(), ops.device[at].tolist(), strict=True))):
        own = at[(kinds == kind) & (ops.device[at] == device)]
        known = {"kind": "debugging-op", "name": kind, **_where(joined, device)}
        rows += _by_step(known, ops.step[own], ops.end_ns[own] - ops.start_ns[own])
    return rows


def _detours(joined: Joined) -> list[Row]:
    """Return a replica's ops on another device, with the bytes sent there and back."""
    ops, rows = joined.ops, []
    for detour in find_detours(joined.graph):
        at = np.flatnonzero(np.isin(ops.node, detour.nodes) & (ops.step >= 0))
        kinds = [joined.node(int(node)).op for node in ops.node[at]]
        own = at[[kind not in SENDS and kind not in RECEIVES for kind in kinds]]
        known = {
            "kind": "detour",
            "name": detour.name,
            "detail": detour.described,
            "bytes": detour.bytes,
            **_where(joined, joined.devices.index(detour.device)),
            "replica": detour.replica,
        }
        rows += _by_step(known, ops.step[own], ops.end_ns[own] - ops.start_ns[own])
    return rows


def _by_step(known: Row, step: Ints, length_ns: Ints) -> list[Row]:
    return [
        known
        | {
            "step": number,
            "count": int((step == number).sum()),
            "total_ns": int(length_ns[step == number].sum()),
            "held_ns": int(length_ns[step == number].sum()),
        }
        for number in np.unique(step).tolist()
    ]


def _where(joined: Joined, device: int) -> Row:
    name = joined.devices[device]
    return {"device": name, "replica": joined.graph.replica_of.get(name)}


def _shared_length(first: Intervals, second: Intervals, starts: Ints, ends: Ints) -> Ints:
    """Return the length of the sets' intersection within each window."""
    either = (first | second).length_within(starts, ends)
    shared: Ints = first.length_within(starts, ends) + second.length_within(starts, ends) - either
    return shared


def _difference(first: Intervals, second: Intervals) -> Intervals:
    """Return the first set minus the second."""
    edges = sorted_distinct(np.concatenate([first.starts, first.ends, second.starts, second.ends]))
    if not edges.size:
        return first
    # Neither set begins or ends between two neighbouring edges: the start decides for the piece.
    starts, ends = edges[:-1], edges[1:]
    keep = first.contains(starts) & ~second.contains(starts)
    return Intervals.union((starts[keep], ends[keep]))
