"""Read a run from disk: `load(path)` returns a frozen `Profile` with its events and tables.

    profile = load("runs/mine")
    profile.status.state, profile.table("steps")

The profile of an unfinished run is a snapshot; `strategy_profiles.run.tail` follows a run.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import msgspec
import numpy as np
import pyarrow as pa

from strategy_profiles.clocks.estimate import Clocks, estimate_clocks
from strategy_profiles.errors import RunFolderError
from strategy_profiles.reporting.units import counted
from strategy_profiles.run.event_files import EventSource, Kind, read_sources
from strategy_profiles.run.events import Environment, Imported, SegmentOpened
from strategy_profiles.run.layout import (
    LAUNCHER_EVENTS,
    RUN_FILE,
    WORKER_EVENTS,
    worker_folders,
)
from strategy_profiles.run.manifest import RunIdentity, read_run_file, why_damaged
from strategy_profiles.run.process_history import read_processes
from strategy_profiles.run.stacks import NO_STACKS, Stacks, read_stacks
from strategy_profiles.run.status import Status, derive_status
from strategy_profiles.run.topology import is_pod
from strategy_profiles.tables.arrivals import Arrivals, read_arrivals
from strategy_profiles.tables.columns import of_steps
from strategy_profiles.tables.event_tables import (
    links_table,
    memory_table,
    read_segments,
    resources_table,
    segments_table,
    steps_table,
)
from strategy_profiles.tables.mark_rows import MarkRows, read_mark_rows
from strategy_profiles.tables.marks_table import last_gradients_ns, marks_table
from strategy_profiles.tables.merged_windows import count_steps
from strategy_profiles.tables.multi_worker import (
    COMPLETED,
    complete_tables,
    wait_for_batches,
)
from strategy_profiles.tables.parquet_tables import (
    read_parts,
    read_table,
    rows_by_step,
    table_files,
)
from strategy_profiles.tables.recorded import (
    RecordedFile,
    absent_workers,
    missing_contexts,
    missing_files,
    missing_processes,
    of_this_run,
    recorded_files,
    unconverted_captures,
    unreported_files,
    unreported_notes,
)
from strategy_profiles.tables.schema import DELAYED, TABLES, WINDOW_TABLES
from strategy_profiles.tables.served_tables import closures_table, served_table
from strategy_profiles.tables.unmeasured_delay import with_delays

Answer = TypeVar("Answer")
Others = ParamSpec("Others")
_ANALYSIS = f"{__package__.removesuffix('.tables')}.analysis"
_RUN_ADVICE = "Name the folder that `strategy-lab run -o` wrote"


def once(
    function: Callable[Concatenate[Profile, Others], Answer],
) -> Callable[Concatenate[Profile, Others], Answer]:
    """Have each profile keep what a function returns of it and of the further arguments.

    A segment counts by its number.
    """

    @functools.wraps(function)
    def kept(profile: Profile, /, *args: Others.args, **kwargs: Others.kwargs) -> Answer:
        others = (each.segment if isinstance(each, SegmentOpened) else each for each in args)
        key = (function, *others, *kwargs.items())
        return profile.once(key, lambda: function(profile, *args, **kwargs))

    return kept


@dataclass(frozen=True, repr=False)
class Profile:
    """A run as it was when it was loaded. Tables are read on first access and cached."""

    path: Path
    identity: RunIdentity | None
    """None if `run.json` is missing or damaged."""
    sources: tuple[EventSource, ...]
    files: dict[str, list[str]]
    """Paths of the Parquet files by table."""
    status: Status
    _recorded: Mapping[str, RecordedFile] = field(default_factory=dict)
    """The rows and checksums that the events report, by file."""
    _notes: list[str] = field(default_factory=list)
    _tables: dict[str, pa.Table] = field(default_factory=dict)
    _columns: dict[str, dict[str, pa.ChunkedArray]] = field(default_factory=dict)
    """The columns that were read of tables that were not read as a whole."""
    _answers: dict[tuple[object, ...], Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a run folder. Raises RunFolderError if `path` is not one or cannot be read."""
        try:
            return cls._load(Path(path))
        except OSError as error:  # also if it is moved or deleted meanwhile
            raise RunFolderError(
                f"The run folder {path} cannot be read: {error.strerror or error}"
            ) from error

    @classmethod
    def _load(cls, run: Path) -> Self:
        _check_is_run(run)
        run_file = read_run_file(run)
        identity, sources, notes = of_this_run(run_file, read_sources(run))
        notes += missing_processes(run, identity, sources, read_segments(sources))
        recorded = recorded_files(run, sources)
        by_path = {file.path: file for file in recorded}
        files = _files_of(run, sources)
        status = derive_status(sources)
        if unreported := unreported_files(files, by_path):
            files = {
                name: [path for path in paths if path not in unreported]
                for name, paths in files.items()
            }
            if status.state != "running":  # otherwise the event is about to be written
                notes += unreported_notes(unreported)
        if status.is_over and (unconverted := unconverted_captures(run)):
            notes.append(unconverted)
        if status.is_over:
            notes += missing_contexts(run, sources)
        return cls(
            path=run,
            identity=identity,
            sources=sources,
            files=files,
            status=status,
            _recorded=by_path,
            _notes=[*notes, *_first_notes(run, run_file, sources), *missing_files(recorded, files)],
        )

    def __repr__(self) -> str:
        """One line: notebooks store this text beside the report, and it would have every event."""
        segments = counted(len(self.segments), "segment")
        return f"<Profile {str(self.path)!r}: {self.status.state}, {segments}>"

    @property
    def name(self) -> str:
        """That of the folder, by which pages and commands find it: a copy has a name of its own.

        A folder's name that is not text is replaced by the one that the run was recorded under.
        """
        folder = self.path.resolve().name
        try:
            folder.encode()
        except UnicodeEncodeError:
            return self.identity.name if self.identity else ascii(folder)[1:-1]
        return folder

    @property
    def spec(self) -> dict[str, Any] | None:
        """The requested RunSpec as plain JSON; None if the run has none."""
        return self.identity.spec if self.identity else None

    @cached_property
    def segments(self) -> tuple[SegmentOpened, ...]:
        """The configurations that the run used, in order."""
        return read_segments(self.sources)

    @cached_property
    def environment(self) -> Environment | None:
        """The environment of the run, with the devices of all its processes.

        None if no process recorded it.
        """
        environments = self.events(Environment)
        if not environments:
            return None
        devices = {device.name: device for item in environments for device in item.devices}
        return msgspec.structs.replace(environments[0], devices=list(devices.values()))

    @cached_property
    def unknown(self) -> Mapping[str, str]:
        """Why an imported run lacks something, by topic (`events.Imported`); else empty."""
        return {
            topic: reason
            for event in self.events(Imported)
            for topic, reason in event.unknown.items()
        }

    @property
    def num_ranks(self) -> int | None:
        """How many ranks an imported program has, if its files say so; they may be of some only."""
        return next((event.num_ranks for event in self.events(Imported)), None)

    @property
    def framework(self) -> str | None:
        """`PyTorch`, if its profiler recorded an imported run; None for TensorFlow and JAX."""
        return next((event.framework for event in self.events(Imported)), None)

    @property
    def is_imported(self) -> bool:
        """Whether the run was recorded by another program."""
        return bool(self.events(Imported))

    @cached_property
    def clocks(self) -> Clocks:
        """The offsets between the workers' clocks."""
        return estimate_clocks(self.sources)

    @cached_property
    def process_titles(self) -> dict[int, str]:
        """The display name of each process the run has had, by its number: `worker 1`."""
        return read_processes(self.sources).titles()

    @cached_property
    def mark_rows(self) -> MarkRows:
        """The marks as they were written; the table `marks` is computed from them."""
        return read_mark_rows(self.sources, self.segments)

    @cached_property
    def arrivals(self) -> Arrivals:
        """When each worker had its batch, in segments of several workers without marks."""
        return self.arrivals_with({})

    def arrivals_with(self, agreeing: Mapping[int, float]) -> Arrivals:
        """`arrivals`, with the shares of each worker's wait in which it has its own batch."""
        return read_arrivals(
            self.sources, self.segments, self.mark_rows, self.clocks, agreeing, self._cores_in_steps
        )

    def _cores_in_steps(self, worker: int, segment: int) -> float | None:
        steps = [source.steps for source in self.sources if source.worker == worker]
        ends_ns = np.concatenate(
            [(s.start_ns + s.wall_ms * 1e6)[s.segment == segment] for s in steps] or [np.zeros(0)]
        )
        if not ends_ns.size:
            return None
        return self.stacks(worker).cores_in_steps(int(ends_ns.min()), int(ends_ns.max()))

    def _read(self, name: str, noted: Callable[[str], None]) -> pa.Table:
        return read_table(name, self.files[name], noted, self._recorded)

    @property
    def notes(self) -> tuple[str, ...]:
        """Descriptions of what could not be read; empty for an intact run."""
        return tuple(dict.fromkeys(self._notes))

    def is_lost(self, name: str) -> bool:
        """Whether the events report rows of a table, but no file of it could be read.

        Such a table is empty, as if nothing was captured. Each lost file has a note.
        """
        files = [file for file in self._recorded.values() if file.table == name]
        is_recorded = any(file.num_rows for file in files)
        return bool(self._notes) and is_recorded and not self.rows_by_step(name)

    def events(self, kind: type[Kind]) -> list[Kind]:
        """Return events of a class of `strategy_profiles.run.events`: the launcher's, then each
        worker's.

        Steps and memory samples are not among them; the tables `steps` and `memory` have them.
        """
        return [event for source in self.sources for event in source.of_kind(kind)]

    def once(self, key: tuple[object, ...], make: Callable[[], Answer]) -> Answer:
        """Return the result of `make`, computed on the first call with `key` and cached."""
        if key not in self._answers:
            self._answers[key] = make()
        answer: Answer = self._answers[key]
        return answer

    @property
    def workers(self) -> set[int]:
        """The workers that have records."""
        return {source.worker for source in self.sources if source.worker is not None}

    def stacks(self, worker: int) -> Stacks:
        """Where the thread that trains was, by samples of a worker's last process."""
        return self.once(("stacks", worker), lambda: self._read_stacks(worker))

    def _read_stacks(self, worker: int) -> Stacks:
        folders = list(worker_folders(self.path)) if self.path.is_dir() else []
        for folder in folders[::-1]:
            if folder.worker == worker:
                stacks = read_stacks(folder)
                self._notes.extend(stacks.notes)
                if stacks.count:
                    return stacks
        return NO_STACKS

    def absent_workers(self, segment: SegmentOpened) -> tuple[int, ...]:
        """Return the workers that belong to the segment but have no records."""
        return absent_workers(self.sources, segment)

    def table(self, name: str) -> pa.Table:
        """Return a table with exactly the columns of `strategy_profiles.tables.schema`.

        Raises RunFolderError if there is no table of this name.
        """
        if name not in TABLES:
            raise RunFolderError(
                f"There is no table {name!r}", advice=f"Choose one of {', '.join(TABLES)}"
            )
        if name not in self._tables:
            self._tables[name] = self._build(name)
        return self._tables[name]

    def columns(self, name: str, columns: Sequence[str]) -> pa.Table:
        """Return some columns of a table: of a large table in less time and memory than all.

        A column once read is cached, as the table is. Raises RunFolderError like `table`.
        """
        if name in self._tables or name not in self.files or name in (*COMPLETED, *DELAYED):
            return self.table(name).select(list(columns))
        known = self._columns.setdefault(name, {})
        if missing := [column for column in columns if column not in known]:
            empty = TABLES[name].empty_table().select(missing)
            parts = self._parts(name, missing, _unchanged)
            read = pa.concat_tables([*parts, *([] if parts else [empty])]).unify_dictionaries()
            if any(len(column) != read.num_rows for column in known.values()):
                return self.table(name).select(list(columns))  # a file has changed in between
            known.update(zip(missing, read.columns, strict=True))
        schema = pa.schema([TABLES[name].field(column) for column in columns])
        return pa.table([known[column] for column in columns], schema=schema)

    def parts(
        self,
        name: str,
        columns: Sequence[str],
        convert: Callable[[pa.Table], Answer],
        steps: Collection[int] | None = None,
    ) -> list[Answer]:
        """Return `convert` of some columns of a table, a part of its rows at a time, in order.

        A large table is never in memory as a whole, and nothing of it is cached: `convert` runs in
        several threads then. Raises RunFolderError like `table`.

        Args:
          steps: the steps whose rows are wanted (see `columns.of_steps`); None for all rows.
        """
        if name in self._tables or name not in self.files or name in (*COMPLETED, *DELAYED):
            return [convert(of_steps(self.table(name), steps).select(list(columns)))]
        return self._parts(name, columns, convert, steps)

    def of_windows(self, folders: Collection[Path]) -> Self:
        """Return this run with the captures of some windows alone, given by their folders.

        Its notes are empty: what cannot be read is noted where the whole table is read.
        """
        files = dict(self.files)
        for name in WINDOW_TABLES:
            wanted = {f"{folder}/{name}.parquet" for folder in folders}
            files[name] = [path for path in files[name] if path in wanted]
        tables = {name: table for name, table in self._tables.items() if name not in files}
        return replace(self, files=files, _notes=[], _tables=tables, _columns={}, _answers={})

    def rows_by_step(self, name: str) -> dict[tuple[int, int], int]:
        """Return the number of rows by segment and step, -1 for rows without one.

        Of a large table in less time than reading its steps. Raises RunFolderError like `table`.
        """
        if name in self.files and name not in (*self._tables, *COMPLETED, *DELAYED):
            return rows_by_step(name, self.files[name], self._notes.append, self._recorded)
        counted = count_steps(self.table(name))
        return {(segment, step): num_rows for segment, step, num_rows in counted}

    def _parts(
        self,
        name: str,
        columns: Sequence[str],
        convert: Callable[[pa.Table], Answer],
        steps: Collection[int] | None = None,
    ) -> list[Answer]:
        noted, files = self._notes.append, self.files[name]
        return read_parts(name, columns, convert, files, noted, self._recorded, steps)

    def _build(self, name: str) -> pa.Table:
        if name in self.files:
            table = self._read(name, self._notes.append)
            if name in DELAYED:
                table = with_delays(table, self.segments)
            return self._completed(name, table) if name in COMPLETED else table
        if name == "marks":
            incomplete = [item.segment for item in self.segments if self.absent_workers(item)]
            return marks_table(self.mark_rows, self.clocks, self.segments, incomplete)
        made = {
            "segments": lambda: segments_table(self.segments),
            "steps": lambda: steps_table(self.sources),
            "memory": lambda: memory_table(self.sources),
            "resources": lambda: resources_table(self.sources),
            "links": lambda: links_table(self.sources),
            "closures": lambda: closures_table(self.sources, self.clocks, self.segments),
            "served": lambda: served_table(self.sources),
            "account": lambda: _answer_table("account.table", self),
        }
        return made[name]()

    def _completed(self, name: str, captured: pa.Table) -> pa.Table:
        """Complete a table of captured steps with the marks of other workers."""
        if len(self.workers) < 2:
            return captured
        # A pod's captures already include the replicas of all its hosts.
        pods = [segment.segment for segment in self.segments if is_pod(segment)]
        marked = self.mark_rows.only(~np.isin(self.mark_rows.segment, pods))
        if not len(marked) and not len(self.arrivals.rows):
            return captured
        raw = {
            other: captured if other == name else self._read(other, _discard_note)
            for other in COMPLETED
        }
        raw["replica_steps"] = with_delays(raw["replica_steps"], self.segments)
        if len(self.arrivals.rows):
            raw = wait_for_batches(raw, self.arrivals)
        layout = {segment.segment: segment for segment in self.segments}
        last_ns = last_gradients_ns(marked, self.clocks, layout)
        return complete_tables(raw, marked, last_ns, layout)[name]


def _discard_note(_note: str) -> None:
    """Discard notes of a table that is read only to complete another one.

    They are reported when the table itself is read.
    """


def _answer_table(module: str, profile: Profile) -> pa.Table:
    """A table that an analysis computes: imported when it is read, as analyses draw on tables."""
    return importlib.import_module(f"{_ANALYSIS}.{module}").table(profile)


def _unchanged(table: pa.Table) -> pa.Table:
    return table


load = Profile.load


def _files_of(run: Path, sources: Sequence[EventSource]) -> dict[str, list[str]]:
    """Return the table files of the run's own workers."""
    left_out = {folder.path for folder in worker_folders(run)}
    left_out -= {(run / source.file).parent for source in sources}
    silent = {path for path in left_out if not (path / WORKER_EVENTS).exists()}
    left_out -= silent  # a folder without events does not name another run
    files = table_files(run)
    if not left_out:
        return files  # the usual case: do not look at the folders of a thousand files
    return {
        name: [path for path in paths if not left_out.intersection(Path(path).parents)]
        for name, paths in files.items()
    }


def _check_is_run(run: Path) -> None:
    if not run.exists():
        raise RunFolderError(f"No run folder at {run}", advice=_RUN_ADVICE)
    if not run.is_dir():
        raise RunFolderError(
            f"{run} is a file, not a run folder",
            advice="A profile of another program is opened with strategy-lab import, a baseline "
            "is checked with strategy-lab gate RUN --baseline FILE",
        )
    known = (run / RUN_FILE).exists() or (run / LAUNCHER_EVENTS).exists()
    if not known and not any(worker_folders(run)):
        raise RunFolderError(
            f"{run} is not a run folder: it has neither {RUN_FILE} nor a worker's folder",
            advice=_RUN_ADVICE,
        )


def _first_notes(
    run: Path, identity: RunIdentity | None, sources: Sequence[EventSource]
) -> list[str]:
    """Return the notes about `run.json` and events; those about a table come when it is read."""
    notes = []
    if identity is None:
        why = why_damaged(run)
        state = "missing" if why is None else f"damaged ({why})"
        notes.append(f"{RUN_FILE} is {state}: the run's spec is unknown")
    for source in sources:
        notes += source.notes
    return notes
