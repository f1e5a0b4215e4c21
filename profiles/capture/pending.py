"""Captures that wait for their conversion: a file beside each, until its result is recorded.

The converter process ends with its worker. If the worker is lost, its launcher finds here what the
conversion needs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import msgspec

from strategy_lab.profiles.capture.helper import Job
from strategy_lab.profiles.decoders import converted, decoder_of
from strategy_lab.profiles.run.events import WindowCaptured
from strategy_lab.profiles.run.layout import WorkerFolder

_FOUND = ("num_events", "num_spans", "convert_ms", "num_unmatched", "num_ambiguous", "tables")


class Pending(msgspec.Struct, frozen=True):
    """A capture to convert, and its event before the conversion."""

    job: Job
    event: WindowCaptured

    def event_of(self, answer: Mapping[str, Any]) -> WindowCaptured:
        """Return the event with the converter's answer."""
        error = answer["error"]
        found = {} if error else {key: answer[key] for key in _FOUND}
        fields = msgspec.to_builtins(self.event) | found | {"error": error}
        return converted(fields, WindowCaptured)

    def save(self, folder: WorkerFolder) -> None:
        """Write the file. Without it (a full disk) the capture is lost if the worker is."""
        with contextlib.suppress(OSError):
            folder.pending(self.job.number).write_bytes(msgspec.json.encode(self))

    def remove(self, folder: WorkerFolder) -> None:
        folder.pending(self.job.number).unlink(missing_ok=True)


def read_pending(folder: WorkerFolder) -> list[Pending]:
    """Return the captures that a worker has left, by number; a file cut short is skipped."""
    decode = decoder_of(Pending).decode
    found = []
    for path in folder.all_pending():
        with contextlib.suppress(OSError, ValueError):
            found.append(decode(path.read_bytes()))
    return found
