"""Captures that wait for their conversion: a file beside each, until its result is recorded.

The file is there before the profiler writes the capture, which takes seconds of a long one.

The converter process ends with its worker. If the worker is lost, its launcher, or else
`strategy-lab recover`, finds here what the conversion needs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from os.path import lexists
from pathlib import Path
from typing import Any

import msgspec

from strategy_profiles.capture.helper import Job
from strategy_profiles.decoders import converted, decoder_of
from strategy_profiles.guards import files_below, read_file
from strategy_profiles.run.events import WindowCaptured
from strategy_profiles.run.layout import WorkerFolder

_NOT_WRITTEN = "not-written.xplane.pb"
_MOST_BYTES = 1 << 24
_FOUND = (
    "num_events",
    "num_spans",
    "convert_ms",
    "num_unmatched",
    "num_ambiguous",
    "tables",
    "problems",
)


class Pending(msgspec.Struct, frozen=True):
    """A capture to convert, and its event before the conversion."""

    job: Job
    event: WindowCaptured
    is_written: bool = True
    """False before the profiler has written the capture: the raw file's name is not known then, and
    the graph may not be there."""

    def event_of(self, answer: Mapping[str, Any]) -> WindowCaptured:
        """Return the event with the converter's answer."""
        error = answer["error"]
        values = {} if error else {key: answer[key] for key in _FOUND}
        fields = msgspec.to_builtins(self.event) | values | {"error": error}
        return converted(fields, WindowCaptured)

    def save(self, folder: WorkerFolder) -> None:
        """Write the file. Without it (a full disk) the capture is lost if the worker is."""
        path = folder.pending(self.job.number)
        written = path.with_suffix(".new")
        with contextlib.suppress(OSError):
            written.write_bytes(msgspec.json.encode(self))
            written.replace(path)  # the one before it is good until then

    def remove(self, folder: WorkerFolder) -> None:
        folder.pending(self.job.number).unlink(missing_ok=True)


def read_pending(folder: WorkerFolder) -> tuple[list[Pending], list[Path]]:
    """Return the captures that a worker has left, by number, and the files that name none.

    A file that was cut short names none, nor does one that names a file outside of the folder. A
    run may have been renamed or copied, so all its paths are those in the folder as it is now.
    """
    decode = decoder_of(Pending).decode
    windows, unusable = [], []
    for path in folder.all_pending():
        try:
            windows.append(_in_folder(decode(read_file(path, _MOST_BYTES)), path, folder))
        except (OSError, ValueError):
            unusable.append(path)
    return windows, unusable


def _in_folder(pending: Pending, path: Path, folder: WorkerFolder) -> Pending:
    """Return what the file `path` says, with the paths of the folder that it is in.

    Raises ValueError if it is of another window or process, or names a file elsewhere.
    """
    job, event = pending.job, pending.event
    window = folder.window(job.number)
    of_this = folder.pending(job.number), folder.worker, job.number, window.name
    if (path, job.worker, event.window, event.folder) != of_this:
        raise ValueError(f"{path} is of another window")
    xplane, graph = job.xplane, job.graph
    if not pending.is_written:
        raw = raw_capture(folder, job.number)
        xplane = str(raw or folder.unconverted(job.number) / _NOT_WRITTEN)
        graph = graph if graph and Path(_own_file(graph, folder)).exists() else None
    own = replace(
        job,
        xplane=_own_file(xplane, folder),
        graph=_own_file(graph, folder) if graph else None,
        folder=str(window),
        hosts=[_own_file(host, folder) for host in job.hosts],
    )
    return Pending(own, event, pending.is_written)


def raw_capture(folder: WorkerFolder, number: int) -> Path | None:
    """Return the raw file of a window that is not converted, which may have been moved to where it
    is kept; None if there is none."""
    places = folder.unconverted(number), folder.kept_capture(number)
    files = (file for parent in places for file in files_below(parent))
    return next((file for file in files if file.name.endswith(".xplane.pb")), None)


def _own_file(name: str, folder: WorkerFolder) -> str:
    """Return where a file is that was in the folder; raises ValueError if it is elsewhere."""
    parts = Path(name).parts
    if folder.path.name not in parts:
        raise ValueError(f"{name} is not in {folder.path}")
    below = parts[len(parts) - parts[::-1].index(folder.path.name) :]
    path = folder.path.joinpath(*below)
    is_inside = path.resolve().is_relative_to(folder.path.resolve())
    if not is_inside or (lexists(path) and not path.is_file()):
        raise ValueError(f"{name} is not a file of {folder.path}")
    return str(path)
