"""One run, followed: what its viewers need, already as JSON, the oldest steps thinned out.

A step becomes a row `[worker, step, segment, start_ms, wall_ms, loss, examples, phases]`; its times
count from the run's first event, and `phases` holds five numbers per replica of that worker
(`profiles.marks`) or null. Rows are encoded once, however many viewers there are.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.changes import describe
from profiles.marks import split_step
from profiles.run_file import read_run_file
from profiles.sources import EventSource, Record
from profiles.status import Status, derive_status
from profiles.tail import Tail
from profiles.window_summary import summarise_window

RECENT_ROWS = 16_384
OLD_ROWS = 4_096
MAX_NEWS = 2_000
MAX_TEXT = 2_000
STATUS_EVERY_S = 0.5
PLAIN_NEWS = {
    "answer": ("number", "command", "status", "step", "message", "took_ms"),
    "failed": ("message", "detail"),
    "exited": ("worker", "generation", "exit_code", "verdict", "message"),
    "finished": ("status", "steps"),
    "launched": ("worker", "generation", "from_spare"),
    "note": ("level", "message"),
}
"""Fields of the events that go to viewers as they are."""
SEGMENT_NEWS = (
    "segment",
    "strategy",
    "num_replicas",
    "num_workers",
    "global_batch_size",
    "first_step",
    "replica_devices",
    "cross_device_ops",
    "parameter_bytes",
    "moved",
)


class LiveRun:
    """Follows one run folder. Safe to advance from any thread."""

    def __init__(
        self,
        folder: Path,
        *,
        recent_rows: int = RECENT_ROWS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder = folder
        self.status = Status("incomplete")
        self.spec: dict[str, Any] | None = None
        self.segments: list[Record] = []
        self._tail = Tail(folder)
        self._lock = threading.Lock()
        self._clock = clock
        self._status_at = -math.inf
        self._origin_ns: int | None = None
        self._recent: deque[str] = deque()
        self._recent_rows = recent_rows
        self._old: list[str] = []
        self._stride, self._skipped = 1, 0
        self._num_rows = 0
        self._news: list[str] = []
        self._sources: dict[tuple[Any, Any], EventSource] = {}
        self._last_step: int | None = None

    def advance(self) -> bool:
        """Read what is new; True where viewers have something to learn."""
        with self._lock:
            records = self._tail.read()
            for record in records:
                self._take(record)
            return self._refresh_status(force=bool(self._kinds(records))) or bool(records)

    def message(self, cursor: str = "") -> tuple[str, str]:
        """What is new since `cursor` as JSON text, and the cursor after it.

        A cursor from too long ago, or none of ours, gets everything again (`"reset": true`).
        """
        with self._lock:
            rows_seen, news_seen = _parse_cursor(cursor)
            missed = self._num_rows - rows_seen
            reset = not cursor or not 0 <= missed <= len(self._recent)
            reset = reset or not 0 <= news_seen <= len(self._news)
            if reset:
                rows: list[str] = [*self._old, *self._recent]
                news = self._news
            else:
                start = len(self._recent) - missed
                rows = [self._recent[i] for i in range(start, len(self._recent))]
                news = self._news[news_seen:]
            after = f"{self._num_rows}-{len(self._news)}"
            text = (
                f'{{"cursor":"{after}","reset":{json.dumps(reset)},"status":{self._status_json()},'
                f'"steps":[{",".join(rows)}],"news":[{",".join(news)}]}}'
            )
            return text, after

    def news(self) -> list[dict[str, Any]]:
        """Everything that happened besides steps, oldest first."""
        with self._lock:
            return [json.loads(text) for text in self._news]

    @property
    def last_step(self) -> int | None:
        """Number of the last step that was written."""
        return self._last_step

    @property
    def applied_spec(self) -> dict[str, Any] | None:
        """The spec in force: the last segment's, or what was asked for before there is one."""
        return self.segments[-1].get("spec") if self.segments else self.spec

    def _kinds(self, records: list[Record]) -> set[str]:
        return {record["kind"] for record in records} - {"step", "memory"}

    def _take(self, record: Record) -> None:
        kind = record["kind"]
        if self._origin_ns is None:
            self._origin_ns = _integer(record.get("at_ns"))
        if kind == "step":
            self._take_step(record)
            return
        if kind != "memory":
            self._remember(record)
        if kind == "segment":
            self._take_segment(record)
        elif kind == "window":
            self._take_window(record)
        elif kind in PLAIN_NEWS:
            self._tell(record, {name: record.get(name) for name in PLAIN_NEWS[kind]})

    def _remember(self, record: Record) -> None:
        """Keep what the status is derived from."""
        own = "generation" in record and record["kind"] not in ("launched", "exited")
        key = (record.get("worker"), record.get("generation")) if own else (None, None)
        if key not in self._sources:
            self._sources[key] = EventSource("", key[0], key[1], [], 0)
        self._sources[key].records.append(record)

    def _take_step(self, record: Record) -> None:
        step = _integer(record.get("step"))
        self._last_step = self._last_step if step is None else step
        start_ns = _integer(record.get("start_ns")) or _integer(record.get("at_ns")) or 0
        row = [
            _integer(record.get("worker")) or 0,
            step,
            _integer(record.get("segment")),
            self._since_start_ms(start_ns),
            _rounded(record.get("wall_ms")),
            _rounded(record.get("loss"), 6),
            _integer(record.get("examples")),
        ]
        self._recent.append(f"{_dumps(row)[:-1]},{_phases_text(record)}]")
        self._num_rows += 1
        if len(self._recent) > self._recent_rows:
            self._thin(self._recent.popleft())

    def _thin(self, row: str) -> None:
        """Keep every so many of the rows that are no longer recent."""
        self._skipped += 1
        if self._skipped < self._stride:
            return
        self._skipped = 0
        self._old.append(row)
        if len(self._old) > OLD_ROWS:
            self._old = self._old[::2]
            self._stride *= 2

    def _take_segment(self, record: Record) -> None:
        if (_integer(record.get("worker")) or 0) != 0:
            return
        before = self.segments[-1].get("spec") if self.segments else None
        after = record.get("spec")
        changes = (
            describe(before, after)
            if isinstance(before, Mapping) and isinstance(after, Mapping)
            else []
        )
        self.segments.append(record)
        told = {name: record.get(name) for name in SEGMENT_NEWS}
        self._tell(record, told | {"changes": changes})

    def _take_window(self, record: Record) -> None:
        names = ("window", "segment", "first_step", "num_steps", "num_spans", "error")
        told = {name: record.get(name) for name in names} | {"worker": record.get("worker", 0)}
        origin = f"worker-{record.get('worker', 0)}-{record.get('generation', 0)}"
        folder = self.folder / origin / Path(str(record.get("folder"))).name
        if not record.get("error"):
            try:
                told |= summarise_window(folder)
            except (OSError, ValueError, KeyError) as error:
                told["error"] = f"Its tables cannot be read ({type(error).__name__})."
        self._tell(record, told)

    def _tell(self, record: Record, fields: dict[str, Any]) -> None:
        at_ms = self._since_start_ms(_integer(record.get("at_ns")) or 0)
        told = {"kind": record["kind"], "at_ms": at_ms} | _plain(fields)
        if len(self._news) < MAX_NEWS:
            self._news.append(json.dumps(told, separators=(",", ":")))

    def _refresh_status(self, *, force: bool) -> bool:
        if not force and self._clock() - self._status_at < STATUS_EVERY_S:
            return False
        self._status_at = self._clock()
        if self.spec is None:
            identity = read_run_file(self.folder)
            self.spec = identity.spec if identity else None
        status = derive_status(list(self._sources.values()))
        changed, self.status = status != self.status, status
        return changed

    def _status_json(self) -> str:
        spec = self.applied_spec or {}
        told = asdict(self.status) | {"steps": spec.get("steps"), "workload": spec.get("workload")}
        return json.dumps(_plain(told), separators=(",", ":"))

    def _since_start_ms(self, at_ns: int) -> float:
        return round((at_ns - (self._origin_ns or at_ns)) / 1e6, 3)


_dumps = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def _phases_text(record: Record) -> str:
    """Phases of every replica as a JSON array, `null` where there are none.

    One formatting of all numbers: at 20,000 events a second, one at a time is too slow.
    """
    phases = split_step(record)
    if phases is None:
        return "null"
    flat = [ms for replica in phases for ms in replica]
    if not math.isfinite(sum(flat)):
        return "null"
    return "[" + ",".join(["%.3f"] * len(flat)) % tuple(flat) + "]"


def _parse_cursor(text: str) -> tuple[int, int]:
    rows, _, news = text.partition("-")
    if rows.isascii() and rows.isdigit() and news.isascii() and news.isdigit():
        return int(rows), int(news)
    return -1, -1


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _rounded(value: Any, digits: int = 4) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return round(value, digits)


def _plain(value: Any) -> Any:
    """JSON-ready: text cut to a length, numbers finite."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else value[:MAX_TEXT] + "…"
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
