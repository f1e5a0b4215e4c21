"""How much memory does each device use, and does it keep growing?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from msgspec import Struct

from strategy_profiles.reporting.device_names import in_order
from strategy_profiles.run.event_files import EventSource
from strategy_profiles.run.events import EpochEnded, WindowCaptured
from strategy_profiles.tables.columns import (
    Bools,
    Floats,
    Ints,
    codes,
    distinct,
    first_of_each,
    floats,
    ints,
)
from strategy_profiles.tables.store import Profile

PROCESS = "host"
"""What a sample of a whole process has for its device."""
COUNTED_BY = {
    "tensorflow-allocator": "TensorFlow's allocator on the device",
    "process-resident": "the system: resident memory of the process",
}
MIN_SAMPLES = 8
GROWING_SHARE = 0.05
FEWEST_RISES = 3
"""So many intervals between two samples must be left for the memory to grow."""


class DeviceMemory(Struct, frozen=True):
    """One device, or a worker's process (`source` says which), over the whole run."""

    worker: int
    device: str
    source: str
    num_samples: int
    last_bytes: int
    peak_bytes: int
    """The allocator's own peak where it keeps one, else the largest sample."""
    growth_bytes_per_step: float | None
    """Slope over the second half of the samples; None with fewer than 8 samples. What is added
    between two epochs, as by a shuffle buffer that is filled again, does not count, nor what the
    process adds while a full capture is made and written."""
    is_growing: bool
    """Over the second half, use grows by more than 5 % and nearly every sample rises. One large
    rise alone is no growth: a capture or a validation allocates once."""


def memory_use(profile: Profile) -> tuple[DeviceMemory, ...]:
    """Every sampled device, by worker and name."""
    rows = profile.table("memory")
    keys = rows_by_device(rows)
    rank = {name: index for index, name in enumerate(in_order({name for _, name, _ in keys}))}
    used, peaks, steps = (
        floats(rows, "bytes_in_use"),
        floats(rows, "peak_bytes"),
        ints(rows, "step"),
    )
    sources = {source.worker: source for source in profile.sources}
    ordered = sorted(keys.items(), key=lambda item: (item[0][0], rank[item[0][1]]))
    return tuple(
        _of_device(
            *key,
            used[members],
            peaks[members],
            steps[members],
            _is_of_program(sources.get(key[0]), key[1], steps[members]),
        )
        for key, members in ordered
    )


def _is_of_program(source: EventSource | None, device: str, steps: Ints) -> Bools:
    """By interval between two samples, whether what is added in it is added by the steps."""
    is_own = np.ones(max(0, len(steps) - 1), bool)
    if source is None:
        return is_own
    ends = np.unique([end.step for end in source.of_kind(EpochEnded)])
    is_own &= np.diff(np.searchsorted(ends, steps)) == 0
    for window in source.of_kind(WindowCaptured) if device == PROCESS else ():
        # Its file is written beside the steps that follow: the window is recorded after that.
        at = np.searchsorted(source.steps.start_ns, window.at_ns, side="right") - 1
        last = source.steps.step[at] if at >= 0 else window.first_step + window.num_steps
        is_own &= (steps[1:] < window.first_step) | (steps[:-1] > last)
    return is_own


def rows_by_device(rows: pa.Table) -> dict[tuple[int, str, str], Ints]:
    """The rows of each worker, device and source, in the order in which they first appear."""
    worker, (device, devices), (source, sources) = (
        ints(rows, "worker"),
        codes(rows, "device"),
        codes(rows, "source"),
    )
    _, index = distinct(worker)
    key = (index * len(devices) + device) * len(sources) + source
    _, group = distinct(key)
    first = first_of_each(key)
    rows_of = {}
    for row in np.sort(first).tolist():
        names = int(worker[row]), devices[device[row]], sources[source[row]]
        rows_of[names] = np.flatnonzero(group == group[row])
    return rows_of


def counted_by(source: str) -> str:
    """The source of a sample in words."""
    return COUNTED_BY.get(source, source)


def memory_of(worker: int, device: str, titles: Mapping[int, str]) -> str:
    """Whose memory it is: `GPU:0`, `worker 1 GPU:0`, or the process itself, `worker 1`.

    `device` is its short name, `titles` what the run's processes are called, by number.
    """
    title = titles.get(worker) if len(titles) > 1 else None
    if device == PROCESS:
        return title or "the process"
    return device if title is None or device.startswith(title) else f"{title} {device}"


def _of_device(
    worker: int,
    device: str,
    source: str,
    used: Floats,
    peaks: Floats,
    steps: Ints,
    is_own: Bools,
) -> DeviceMemory:
    middle = len(used) // 2
    half_used, counts = used[middle:], is_own[middle:]
    added, num_steps = np.diff(half_used)[counts], np.diff(steps[middle:])[counts]
    slope: float | None = None
    is_growing = False
    if len(used) >= MIN_SAMPLES and num_steps.any():
        after, total = (np.concatenate([[0.0], np.cumsum(each)]) for each in (num_steps, added))
        slope = float(np.polyfit(after, total, 1)[0])
        steady = min(slope * float(after[-1]), float(added.sum() - added.max()))
        rises = len(added) >= FEWEST_RISES and np.mean(added > 0) >= 0.8
        is_growing = bool(rises) and steady > GROWING_SHARE * float(half_used.mean())
    known = peaks[np.isfinite(peaks)]
    return DeviceMemory(
        worker=worker,
        device=device,
        source=source,
        num_samples=len(used),
        last_bytes=int(used[-1]),
        peak_bytes=int(max(known.max(initial=0), used.max())),
        growth_bytes_per_step=slope,
        is_growing=is_growing,
    )
