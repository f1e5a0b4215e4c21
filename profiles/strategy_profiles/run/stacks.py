"""Read where the thread that trains was: the samples of a worker's `stacks.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from strategy_profiles.run.event_files import read_source
from strategy_profiles.run.event_parts import LineInOp, Loop, StackPlace, ThreadTime
from strategy_profiles.run.events import StacksSampled
from strategy_profiles.run.layout import WorkerFolder

RUNNING = ("function", "op")
FEWEST = 10
"""Samples that must tell how many cores a process uses."""


class ThreadsUsed(Struct, frozen=True):
    """What other threads ran of the program between two times of the wall clock."""

    begin_ns: int
    end_ns: int
    threads: Sequence[ThreadTime]
    num_samples: int = 0
    in_ops: Sequence[LineInOp] = ()
    """Where ops that run Python were, of these samples."""


class Stacks(Struct, frozen=True):
    """Samples in order, arrays of one length."""

    program_ns: int | None
    """When the process started, by its wall clock."""
    at_ns: npt.NDArray[np.int64]
    """When each was taken."""
    for_ms: npt.NDArray[np.float64]
    """Time that the sample counts for: most often that since the sample before."""
    place: npt.NDArray[np.int64]
    """Index into `places`."""
    cpu_ms: npt.NDArray[np.float64]
    """Processor time of the process in such a time; NaN if it was not recorded."""
    places: Sequence[StackPlace] = ()
    loops: Sequence[Loop] = ()
    around: Mapping[tuple[str, int], str] = {}
    """Text by file and line number, of lines that were sampled and of those around them."""
    sources: Mapping[str, str] = {}
    """Text of the program's files by path, as far as it was recorded."""
    threads: Sequence[ThreadsUsed] = ()
    """What other Python threads of the program computed, in order."""
    notes: Sequence[str] = ()
    """Sentences about lines of the file that are left out, missing or in another order."""

    @property
    def count(self) -> int:
        return len(self.at_ns)

    @property
    def unsampled_ms(self) -> float:
        """From the start of the process until its stack is sampled; 0 if that is not known."""
        if self.program_ns is None or not self.count:
            return 0.0
        return float(max(0.0, (self.at_ns[0] - self.program_ns) / 1e6 - self.for_ms[0]))

    def cores_in_steps(self, begin_ns: int, end_ns: int) -> float | None:
        """The mean of the cores that the process used while the thread ran functions or ops, of
        the samples between two times of the wall clock; None of fewer than `FEWEST`."""
        chosen = np.isin(self.place, [n for n, at in enumerate(self.places) if at.doing in RUNNING])
        chosen &= (self.at_ns > begin_ns) & (self.at_ns <= end_ns) & np.isfinite(self.cpu_ms)
        if chosen.sum() < FEWEST:
            return None
        return float(self.cpu_ms[chosen].sum() / self.for_ms[chosen].sum())


NO_STACKS = Stacks(None, np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), np.zeros(0))


def _threads_used(event: StacksSampled) -> ThreadsUsed:
    until_ns = event.since_ns + 1000 * sum(event.after_us)
    return ThreadsUsed(event.since_ns, until_ns, event.threads, len(event.place), event.in_ops)


def read_stacks(folder: WorkerFolder) -> Stacks:
    """The samples of a worker; none if the file is missing or holds none."""
    source = read_source(folder.path.parent, folder.stacks)
    if source is None:
        return NO_STACKS
    events = source.of_kind(StacksSampled)
    known: dict[bytes, int] = {}
    places: list[StackPlace] = []
    at_ns, for_ms, place, cpu_ms = [], [], [], []
    for event in events:
        numbers = []
        for each in event.places:
            key = msgspec.json.encode(each)
            if key not in known:
                known[key] = len(places)
                places.append(each)
            numbers.append(known[key])
        used: list[float] = [*event.cpu_us] or [float("nan")] * len(event.place)
        counts_us = event.for_us or event.after_us
        samples = zip(event.after_us, event.place, used, counts_us, strict=False)
        valid = [sample for sample in samples if sample[1] < len(numbers)]
        after_us = np.array([after for after, _, _, _ in valid], np.int64)
        at_ns.append(event.since_ns + np.cumsum(after_us) * 1000)
        for_ms.append(np.array([counts for _, _, _, counts in valid]) / 1e3)
        place.append(np.array([numbers[which] for _, which, _, _ in valid], np.int64))
        cores = np.array([cpu for _, _, cpu, _ in valid]) / np.maximum(after_us, 1)
        cpu_ms.append(cores * for_ms[-1])
    if not at_ns:  # the file is made with its first samples
        notes = source.notes or [f"{source.file} holds no samples: those of its process are lost"]
        return msgspec.structs.replace(NO_STACKS, notes=notes)
    return Stacks(
        events[0].program_ns or None,
        np.concatenate(at_ns),
        np.concatenate(for_ms),
        np.concatenate(place),
        np.concatenate(cpu_ms),
        places,
        [loop for event in events for loop in event.loops],
        {(each.file, each.line): each.text for event in events for each in event.around},
        {each.file: each.text for event in events for each in event.sources},
        [_threads_used(event) for event in events],
        source.notes,
    )
