"""Read the event files of a run: the writer of each, and its events.

A last line without a newline counts if it is a valid event, because a file can be cut off there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from strategy_profiles.errors import RunFolderError
from strategy_profiles.guards import RefusedFileError, open_file
from strategy_profiles.run.event_columns import read_columns
from strategy_profiles.run.event_decoder import LeftOut, describe_left_out, read_chunks
from strategy_profiles.run.events import Event, Recorded
from strategy_profiles.run.layout import launcher_files, worker_folders
from strategy_profiles.run.memory_columns import MemoryColumns
from strategy_profiles.run.step_columns import StepColumns
from strategy_profiles.run.step_lines import Decoded, decode_chunk

Kind = TypeVar("Kind", bound=Recorded)


@dataclass(frozen=True, slots=True)
class EventSource:
    """One event file. `worker` and `generation` are None for a launcher's file."""

    file: str
    """Path relative to the run folder."""
    worker: int | None
    generation: int | None
    events: list[Event]
    """All events except steps and memory samples, in the order of the file."""
    steps: StepColumns = field(default_factory=lambda: StepColumns.of(()))
    memory: MemoryColumns = field(default_factory=lambda: MemoryColumns.of(()))
    left_out: LeftOut = field(default_factory=Counter)
    """Invalid lines, including an incomplete last one, and repetitions of a line."""
    num_missing: int = 0
    """Number of missing lines, by the line numbers of the events."""
    num_misplaced: int = 0
    """Number of lines that stood behind one with a larger number; they are in order here."""
    _sorted: dict[type | None, Any] = field(default_factory=dict, compare=False, repr=False)
    """Events by class; None has the number of sorted events, as `events` of a live run grows."""

    def of_kind(self, kind: type[Kind]) -> list[Kind]:
        """Return the events of a class, in order."""
        if self._sorted.get(None) != len(self.events):
            self._sorted.clear()
            for event in self.events:
                self._sorted.setdefault(type(event), []).append(event)
            self._sorted[None] = len(self.events)
        events: list[Kind] = self._sorted.get(kind, [])
        return events

    @property
    def notes(self) -> list[str]:
        """Sentences about lines that are left out, missing or in another order."""
        return describe_left_out(self.file, self.left_out, self.num_missing, self.num_misplaced)

    @property
    def last_ns(self) -> int:
        """Time of the last event on the writer's clock; 0 without events."""
        return max(self._at_ns(-1), default=0)

    @property
    def first_ns(self) -> int:
        """Time of the first event on the writer's clock; 0 without events."""
        return min(self._at_ns(0), default=0)

    def _at_ns(self, index: int) -> list[int]:
        """Return the time of the event, the step and the sample at a place, of those there are."""
        events = [self.events[index].at_ns] if self.events else []
        columns = (self.steps.at_ns, self.memory.at_ns)
        return events + [int(at_ns[index]) for at_ns in columns if len(at_ns)]


def read_sources(run: Path) -> tuple[EventSource, ...]:
    """Read the launchers' events, then those of the workers by number and generation.

    Raises RunFolderError if the folder cannot be read.
    """
    try:
        sources = [read_source(run, path) for path in launcher_files(run)]
        sources += [
            read_source(run, folder.events, folder.worker, folder.generation)
            for folder in worker_folders(run)
        ]
    except OSError as error:
        raise RunFolderError(f"The run folder {run} cannot be read: {error.strerror}") from error
    return tuple(source for source in sources if source is not None)


def source_of(
    file: str,
    worker: int | None,
    generation: int | None,
    chunks: Iterable[bytes],
    left_out: LeftOut | None = None,
    decoded: Iterable[Decoded] = (),
) -> EventSource:
    """Return a source with the events that are `decoded`, then those in chunks of whole lines."""
    left_out = Counter() if left_out is None else left_out
    parts = [*decoded, *(decode_chunk(chunk, left_out) for chunk in chunks)]
    source = _without_doubled(
        EventSource(
            file,
            worker,
            generation,
            [event for part in parts for event in part.others],
            StepColumns.together([part.steps for part in parts if len(part.steps)]),
            MemoryColumns.together([part.memory for part in parts if len(part.memory)]),
            left_out,
        )
    )
    return _in_order(source)


def _without_doubled(source: EventSource) -> EventSource:
    """Remove repeated line numbers and count the missing ones."""
    columns = source.steps.line, source.memory.line
    others = np.array([event.line for event in source.events], np.int64)
    lines = np.concatenate([*columns, others])
    num_numbers, last = _count_distinct(lines[lines > 0])
    num_missing = max(0, last - num_numbers - source.left_out.total())
    num_doubled = int((lines > 0).sum()) - num_numbers
    if not num_doubled:
        return replace(source, num_missing=num_missing) if num_missing else source
    is_kept = lines == 0
    is_kept[np.unique(lines, return_index=True)[1]] = True
    source.left_out["line", "it is there twice"] += num_doubled
    kept = np.split(is_kept, np.cumsum([len(column) for column in columns]))
    return replace(
        source,
        events=[event for event, is_first in zip(source.events, kept[2], strict=True) if is_first],
        steps=source.steps.only(kept[0]),
        memory=source.memory.only(kept[1]),
        num_missing=num_missing,
    )


def _in_order(source: EventSource) -> EventSource:
    """Put lines into the order of their numbers: a file that was merged or edited may have others.

    Lines of earlier versions, which have no number, stay where they are, and so does the rest of a
    file with both.
    """
    others = np.array([event.line for event in source.events], np.int64)
    lines = others, source.steps.line, source.memory.line
    num_misplaced = sum(map(_num_misplaced, lines))
    if not num_misplaced or any((each == 0).any() for each in lines):
        return source
    events, steps, memory = (np.argsort(each, kind="stable") for each in lines)
    return replace(
        source,
        events=[source.events[index] for index in events],
        steps=source.steps.in_order(steps),
        memory=source.memory.only(memory),
        num_misplaced=num_misplaced,
    )


def _num_misplaced(lines: npt.NDArray[np.int64]) -> int:
    if (lines[1:] >= lines[:-1]).all():  # as nearly always
        return 0
    return int((lines < np.maximum.accumulate(lines)).sum())


def _count_distinct(numbers: npt.NDArray[np.int64]) -> tuple[int, int]:
    """Return how many distinct positive numbers there are, and the largest; 0 without numbers."""
    last = int(numbers.max(initial=0))
    if last > 4 * len(numbers) + 1024:  # of a damaged file: a mask of that length may not fit
        return len(np.unique(numbers)), last
    is_there = np.zeros(last + 1, np.bool_)  # 50 times as fast as sorting
    is_there[numbers] = True
    return int(is_there.sum()), last


def read_source(
    run: Path, path: Path, worker: int | None = None, generation: int | None = None
) -> EventSource | None:
    """Read one file; None if there is none. Raises OSError."""
    file_name, left_out = path.relative_to(run).as_posix(), LeftOut()
    try:
        file = open_file(path)
    except (FileNotFoundError, RefusedFileError):
        return None
    with file:
        decoded = list(read_columns(path, file)) if worker is not None else []
        chunks = (chunk for chunk, _ in read_chunks(file, left_out))
        return source_of(file_name, worker, generation, chunks, left_out, decoded)
