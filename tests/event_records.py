"""Events of tests as plain mappings, in which a field that is not given has a usual value."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from strategy_profiles.run.event_decoder import decode
from strategy_profiles.run.event_files import EventSource, source_of
from strategy_profiles.run.events import Event
from strategy_profiles.run.layout import launcher_files, worker_folders
from strategy_profiles.run.line_checksum import sealed

Record = dict[str, Any]

USUAL: dict[str, Record] = {
    "worker_started": {"worker": 0, "pid": 7, "realtime_ns": 5, "monotonic_ns": 0},
    "environment": {"tensorflow": "2.21.0", "python": "3.11", "devices": [], "host": {}},
    "segment": {
        "segment": 0,
        "strategy": "mirrored",
        "num_replicas": 1,
        "num_workers": 1,
        "global_batch_size": 8,
        "first_step": 0,
        "started_ns": 1,
        "replica_devices": [],
        "cross_device_ops": "auto",
        "spec": {},
    },
    "step": {
        "segment": 0,
        "step": 0,
        "start_ns": 1,
        "wall_ms": 1.0,
        "loss": None,
        "examples": None,
        "captured": False,
    },
    "closure": {
        "segment": 0,
        "step": 0,
        "worker": 1,
        "scheduled_ns": 1,
        "marks_ns": [1, 2, 3, 4, 5],
        "finished_ns": 6,
    },
    "launched": {
        "worker": 0,
        "generation": 0,
        "pid": 7,
        "pid_started_ns": 3,
        "from_spare": False,
    },
    "exited": {"worker": 0, "generation": 0, "exit_code": 1, "verdict": "killed"},
    "failed": {"message": "It failed."},
    "finished": {"status": "finished", "steps": 3},
    "note": {"level": "info", "message": "so it is"},
}


def usual(record: Record) -> Record:
    """The record with all fields that its kind needs."""
    return USUAL.get(record["kind"], {}) | record


def event_of(record: Record) -> Event:
    """The event of a record."""
    return decode(json.dumps(usual(record)).encode())


def source(
    worker: int | None, generation: int | None, *records: Record, file: str = "events.jsonl"
) -> EventSource:
    """The event file of one writer."""
    lines = "\n".join(json.dumps(usual(record)) for record in records)
    decoded = source_of(file, worker, generation, [lines.encode()])
    assert not decoded.left_out, decoded.left_out
    return decoded


def read_records(path: Path) -> list[Record]:
    """The lines of an event file as they are on the disk; none if it is not there yet."""
    if not path.exists():
        return []
    data = path.read_bytes()
    return [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write an event file, with the checksums that its lines have now."""
    fields = [{k: v for k, v in record.items() if k != "line_crc32"} for record in records]
    path.write_bytes(b"".join(sealed(json.dumps(each).encode()) + b"\n" for each in fields))


def replace_text(path: Path, before: str, after: str) -> None:
    """Replace text of an event file, all of it JSON before and afterwards."""
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    write_records(path, read_records(path))


def run_records(run: Path, kind: str | None = None) -> list[Record]:
    """Those of all event files of a run, oldest first, each with its writer."""
    if not run.is_dir():
        return []
    every = [(path, {}) for path in launcher_files(run)]
    every += [
        (folder.events, {"worker": folder.worker, "generation": folder.generation})
        for folder in worker_folders(run)
    ]
    records = [writer | record for path, writer in every for record in read_records(path)]
    return _sorted(record for record in records if kind in (None, record["kind"]))


def _sorted(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=lambda record: int(record["at_ns"]))
