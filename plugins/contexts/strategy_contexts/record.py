"""A trace as rows of the `contexts` table, and as the recording that a stepper shows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import tensorflow as tf

from strategy_contexts.course import headline
from strategy_contexts.stepper import page
from strategy_contexts.trace import ContextTrace, Entry
from strategy_profiles.errors import SpecError
from strategy_profiles.tables.schema import TABLES


@dataclass(frozen=True, slots=True)
class Recording:
    """A finished recording: everything that a stepper needs, JSON-ready.

    `source` is the text of `file`; entries from other files highlight no line.
    """

    title: str
    text: str
    source: str
    file: str
    devices: list[str]
    trace: dict[str, Any]
    error: dict[str, Any] | None
    tensorflow: str
    """The version of TensorFlow that ran the program."""

    def to_json(self) -> dict[str, Any]:
        """The recording as the page, the command line and files hold it."""
        return asdict(self)


def recording_of(
    trace: ContextTrace,
    file: Path | None = None,
    *,
    devices: Iterable[str] = (),
    error: dict[str, Any] | None = None,
) -> Recording:
    """The recording of a trace. Without `file`, shows the file that most of its calls came from."""
    main_file = str(file) if file else _main_file(trace)
    try:
        source = Path(main_file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        source = ""
    title, text = headline(source)
    return Recording(
        title or Path(main_file).name or "Contexts",
        text,
        source,
        main_file,
        list(devices) or _devices(trace),
        to_json(trace),
        error,
        tf.__version__,
    )


def save(trace: ContextTrace, path: Path, segment: int | None = None) -> None:
    """Write a trace as `.html` (a page to step through), `.json` or `.parquet` (the table).

    `segment` is the number of the run's segment for the table's rows, if the trace is part of a
    run.
    """
    recording = recording_of(trace).to_json()
    part = path.with_name(f"{path.name}.part")
    if path.suffix == ".html":
        part.write_text(page(recording), encoding="utf-8")
    elif path.suffix == ".json":
        part.write_text(json.dumps(recording, default=str), encoding="utf-8")
    elif path.suffix == ".parquet":
        pq.write_table(to_table(trace, segment), part, write_page_checksum=True)
    else:
        raise SpecError(
            f"A trace cannot be saved as {path.name}",
            advice="Choose a name that ends in .html, .json or .parquet",
        )
    part.replace(path)


def to_json(trace: ContextTrace) -> dict[str, Any]:
    """Entries ordered by `seq`, and the output printed between them."""
    entries = sorted(trace.entries, key=lambda entry: entry.seq)
    return {
        "entries": [asdict(entry) for entry in entries],
        "printed": [asdict(line) for line in trace.printed],
    }


def to_table(trace: ContextTrace, segment: int | None = None) -> pa.Table:
    """The `contexts` table: one row per entry, ordered by `seq`."""
    rows = [
        _row(entry) | {"segment": segment}
        for entry in sorted(trace.entries, key=lambda entry: entry.seq)
    ]
    return pa.Table.from_pylist(rows, schema=TABLES["contexts"])


def _main_file(trace: ContextTrace) -> str:
    files = Counter(entry.source.file for entry in trace.entries if entry.source.file)
    return files.most_common(1)[0][0] if files else ""


def _devices(trace: ContextTrace) -> list[str]:
    """The devices of the recorded values, for a recording without a list of devices."""
    values = [value for entry in trace.entries for _, value in entry.values_in]
    return sorted({part.device for value in values for part in value.components if part.device})


def _row(entry: Entry) -> dict[str, Any]:
    return {
        "seq": entry.seq,
        "end_seq": entry.end_seq,
        "thread": entry.thread,
        "context": entry.context,
        "replica": entry.replica,
        "call": entry.call,
        "file": entry.source.file or None,
        "line": entry.source.line or None,
        "function": entry.source.function or None,
        "depth": entry.depth,
        "parent": entry.parent,
        "phase": entry.phase,
        "switch": entry.switch,
        "strategy": entry.strategy,
        "values_in": json.dumps([[name, asdict(value)] for name, value in entry.values_in]),
        "value_out": json.dumps(asdict(entry.value_out)) if entry.value_out else None,
        "error": entry.error,
    }
