"""Find the steps of a recording: from annotations, else from what repeats.

In this order: annotations of the program (`tf.profiler.experimental.Trace("train", step_num=...)`,
which Keras writes, too), the line `Steps` of a device, the program that each device runs most of
the time, the steps of an optimizer of PyTorch, the function or annotation that launches most of the
devices' work. The last three are derived: a step lasts from one execution's begin, or one
optimizer's end, to the next one's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from strategy_imports.chrome_spellings import OPTIMIZER, USER_ANNOTATION
from strategy_imports.device_lines import DeviceLines
from strategy_imports.event_names import called
from strategy_imports.recording import Ints, Line, Plane
from strategy_imports.spans import Spans
from strategy_profiles.capture.intervals import index_containing
from strategy_profiles.capture.kernel_names import collective_of
from strategy_profiles.tables.columns import sorted_distinct

FEWEST = 3
"""What occurs less often does not repeat."""

HALF = 0.5
"""A first or last step with less than this share of the others' length and work is a part of one.
An annotation that is taken for the step's launches at least this share of all work."""
WHOLE = 0.9
"""What comes before the first end of an optimizer's step is one, if it has this share of the work
of the others."""

_DIGITS = re.compile(r"\d+")

How = Literal["annotations", "step line", "modules", "optimizer", "calls"]


@dataclass(frozen=True, slots=True)
class Windows:
    """Begin and end of each step, in order of time."""

    start_ns: Ints
    end_ns: Ints

    def of(self, times: Ints) -> Ints:
        """Return the index of the step that contains each time, or -1."""
        return index_containing(self.start_ns, self.end_ns, times)

    def cut(self, kept: slice) -> Windows:
        return Windows(self.start_ns[kept], self.end_ns[kept])


@dataclass(frozen=True, slots=True)
class Launched:
    """The work of devices whose launch is known: when the host launched it, how long it ran."""

    at_ns: Ints
    length_ns: Ints


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of one host."""

    number: Ints
    host: Windows
    """By the host, or by all devices together where the host does not tell."""
    how: How | None
    what: str = ""
    """What was taken for a step, for a sentence."""
    devices: Mapping[int, Windows] = field(default_factory=dict)
    """By device, where its own events tell; each has as many steps as `number`."""
    partial: tuple[tuple[int, int], ...] = ()
    """Number and length in ns of a first and a last step of which the recording has a part only.
    They are left out of the others."""

    def __len__(self) -> int:
        return len(self.number)

    @property
    def is_derived(self) -> bool:
        return self.how in ("modules", "optimizer", "calls")


NONE = Steps(np.zeros(0, np.int64), Windows(np.zeros(0, np.int64), np.zeros(0, np.int64)), None)


def find_steps(
    planes: Sequence[Plane],
    lines: Mapping[int, DeviceLines],
    host: Spans,
    names: Sequence[str],
    launched: Launched,
) -> Steps:
    """Return the steps of a host. `planes` and `lines` are those of its devices, by number."""
    steps = _annotated(host)
    if steps is not None:
        return steps
    for source in (_of_step_lines, _of_modules):
        steps = source(planes, lines)
        if steps is not None:
            return steps
    return _of_optimizer(host, names, launched) or _of_calls(host, names, launched) or NONE


def without_partial(steps: Steps, times: Ints) -> Steps:
    """Leave out a first and a last step that the recording has cut; `times` are those of its work.

    Such a step is much shorter than the others and has much less work: one alone may be a step that
    was launched ahead, or one that does something else.
    """
    if len(steps) < 2 or steps.is_derived:  # these are made of whole executions
        return steps
    own = steps.host.of(times)
    work = np.bincount(own[own >= 0], minlength=len(steps))
    length = steps.host.end_ns - steps.host.start_ns
    first, last = (
        int(
            length[at] < HALF * np.median(np.delete(length, at))
            and work[at] < HALF * np.median(np.delete(work, at))
        )
        for at in (0, len(steps) - 1)
    )
    kept = slice(first, len(steps) - last)
    partial = [*range(first), *range(len(steps) - last, len(steps))]
    return replace(
        steps,
        number=steps.number[kept],
        host=steps.host.cut(kept),
        devices={device: windows.cut(kept) for device, windows in steps.devices.items()},
        partial=tuple((int(steps.number[at]), int(length[at])) for at in partial),
    )


def _annotated(host: Spans) -> Steps | None:
    marked = host.take(np.flatnonzero((host.step_num >= 0) & (host.end_ns > host.start_ns)))
    if not len(marked):
        return None
    order = np.lexsort((-marked.end_ns, marked.start_ns))
    start, end, number = marked.start_ns[order], marked.end_ns[order], marked.step_num[order]
    # Both the program and its framework may annotate a step; keep the outer annotation.
    outer = np.ones(len(start), bool)
    outer[1:] = start[1:] >= np.maximum.accumulate(end)[:-1]
    start, end, number = start[outer], end[outer], number[outer]
    # A step that is abandoned because the data has ended starts again under the same number.
    last = np.ones(len(number), bool)
    last[:-1] = number[1:] != number[:-1]
    start, end, number = start[last], end[last], number[last]
    if len(sorted_distinct(number)) < len(number):  # several loops, each from 0
        number = np.arange(len(number), dtype=np.int64)
    return Steps(number, Windows(start, end), "annotations", "annotations of the program")


def _of_step_lines(planes: Sequence[Plane], lines: Mapping[int, DeviceLines]) -> Steps | None:
    by_plane: dict[int, dict[int, tuple[int, int]]] = {}
    for device, own in lines.items():
        for line in own.steps:
            by_plane.setdefault(device, {}).update(_numbered(planes[device], line))
    numbers = sorted(set.intersection(*map(set, by_plane.values()))) if by_plane else []
    if not numbers:
        return None
    windows = {
        device: Windows(
            np.asarray([steps[number][0] for number in numbers], np.int64),
            np.asarray([steps[number][1] for number in numbers], np.int64),
        )
        for device, steps in by_plane.items()
    }
    if any((np.diff(each.start_ns) <= 0).any() for each in windows.values()):
        return None  # numbers that start again
    together = _together(list(windows.values()))
    # Where no device begins a step before all have ended the one before, they have the same steps:
    # a device that begins late or ends early is idle meanwhile. By its own line it would never be.
    is_common = all((each.end_ns <= together.end_ns).all() for each in windows.values())
    return Steps(
        np.asarray(numbers, np.int64),
        together,
        "step line",
        "the line Steps of the devices",
        {} if is_common else windows,
    )


def _numbered(plane: Plane, line: Line) -> dict[int, tuple[int, int]]:
    steps = {}
    for kind, start, end in zip(
        line.kind.tolist(), line.start_ns.tolist(), line.end_ns.tolist(), strict=True
    ):
        digits = plane.kinds[kind].name.rpartition(" ")[2]
        if digits.isascii() and digits.isdigit() and len(digits) < 18 and end > start:
            steps[int(digits)] = (start, end)
    return steps


def _of_modules(planes: Sequence[Plane], lines: Mapping[int, DeviceLines]) -> Steps | None:
    """Return the executions of the program that takes most of the devices' time."""
    busy = {device: own for device, own in lines.items() if own.modules}
    counts: dict[str, list[int]] = {}
    total: Counter[str] = Counter()
    for device, own in busy.items():
        for line in own.modules:
            length = np.bincount(line.kind, line.end_ns - line.start_ns)
            for kind, count in enumerate(np.bincount(line.kind).tolist()):
                name = planes[device].kinds[kind].name
                if count:
                    counts.setdefault(name, []).append(count)
                    total[name] += int(length[kind])
    repeated = [
        name
        for name, counted in counts.items()
        if len(counted) == len(busy) and min(counted) == max(counted) >= FEWEST
    ]
    if not repeated:
        return None
    chosen = max(repeated, key=lambda name: (total[name], name))
    windows = {}
    for device, own in busy.items():
        kinds = [i for i, kind in enumerate(planes[device].kinds) if kind.name == chosen]
        at = [np.isin(line.kind, kinds) for line in own.modules]
        start = np.concatenate([line.start_ns[m] for line, m in zip(own.modules, at, strict=True)])
        end = np.concatenate([line.end_ns[m] for line, m in zip(own.modules, at, strict=True)])
        windows[device] = _until_the_next(start, end)
    number = np.arange(counts[chosen][0], dtype=np.int64)
    what = f"the {len(number):,} executions of the program {chosen.partition('(')[0]}"
    return Steps(number, _together(list(windows.values())), "modules", what, windows)


def _of_optimizer(host: Spans, names: Sequence[str], launched: Launched) -> Steps | None:
    """Return what lies between the ends of the steps of the optimizer that takes the most time."""
    best: tuple[int, str, Windows, int] | None = None
    for index, name in enumerate(names):
        if not OPTIMIZER.match(name):
            continue
        rows = host.take(np.flatnonzero(host.name == index))
        calls = _outer(rows.start_ns, rows.end_ns)
        length = int((calls.end_ns - calls.start_ns).sum())
        if len(calls.start_ns) >= 2 and (best is None or length > best[0]):
            best = (length, name, calls, int(rows.thread[0]))
    if best is None:
        return None
    _, name, calls, thread = best
    begin = int(host.start_ns[host.thread == thread].min())
    between = Windows(np.append(begin, calls.end_ns[:-1]), calls.end_ns)
    own = between.of(launched.at_ns)
    work = np.bincount(own[own >= 0], minlength=len(calls.end_ns))
    if not work[0] or work[0] < WHOLE * np.median(work[1:]):
        between = between.cut(slice(1, None))
    number = np.arange(len(between.start_ns), dtype=np.int64)
    what = f"what ends with each of the {len(calls.end_ns):,} annotations {name}"
    return Steps(number, between, "optimizer", what)


def _annotated_names(host: Spans, names: Sequence[str]) -> dict[int, str]:
    """Return PyTorch's annotations that may be a step: the name without numbers, by its index."""
    if USER_ANNOTATION not in names:
        return {}
    own = sorted_distinct(host.name[host.op == names.index(USER_ANNOTATION)]).tolist()
    return {i: _DIGITS.sub("N", names[i]) for i in own if collective_of(names[i]) is None}


def _of_calls(host: Spans, names: Sequence[str], launched: Launched) -> Steps | None:
    """Return the calls of the function that launches most work.

    Without launches, return those of the function that takes most of the host's time.
    """
    functions = {i: function for i, name in enumerate(names) if (function := called(name))}
    annotated = _annotated_names(host, names) if len(launched.at_ns) else {}
    functions |= annotated
    least = HALF * int(launched.length_ns.sum()) if annotated else 0
    at = np.flatnonzero(np.isin(host.name, list(functions)))
    best: tuple[int, str, Windows] | None = None
    for function in sorted(set(functions.values())):
        own = [i for i, each in functions.items() if each == function]
        rows = host.take(at[np.isin(host.name[at], own)])
        windows = _outer(rows.start_ns, rows.end_ns)
        length = int((windows.end_ns - windows.start_ns).sum())
        if len(launched.at_ns):
            length = int(launched.length_ns[windows.of(launched.at_ns) >= 0].sum())
        is_step = len(windows.start_ns) >= FEWEST and length >= least
        if is_step and (best is None or length > best[0]):
            best = (length, function, windows)
    if best is None:
        return None
    _, function, windows = best
    windows = _until_the_next(windows.start_ns, windows.end_ns)
    number = np.arange(len(windows.start_ns), dtype=np.int64)
    what = f"the {len(number):,} calls of {function}"
    return Steps(number, windows, "calls", what)


def _outer(start: Ints, end: Ints) -> Windows:
    """Return the events in order of start that are in no other."""
    order = np.lexsort((-end, start))
    start, end = start[order], end[order]
    outer = np.ones(len(start), bool)
    if len(start) > 1:
        outer[1:] = start[1:] >= np.maximum.accumulate(end)[:-1]
    return Windows(start[outer], end[outer])


def _until_the_next(start: Ints, end: Ints) -> Windows:
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    return Windows(start, np.append(start[1:], end[-1:]))


def _together(windows: Sequence[Windows]) -> Windows:
    """Return the steps of all devices: from the first begin of each to that of the next."""
    start = np.min([each.start_ns for each in windows], axis=0)
    end = np.max([each.end_ns for each in windows], axis=0)
    return Windows(start, np.append(np.minimum(end[:-1], start[1:]), end[-1:]))
