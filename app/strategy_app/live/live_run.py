"""Follows one run, and encodes what its viewers need as JSON once for all of them."""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strategy_app.live.json_safe import dumps, plain
from strategy_app.live.key_numbers import LiveNumbers, message_of_all_steps
from strategy_app.live.process_view import ProcessView
from strategy_app.live.set_clock import SetClock
from strategy_app.live.step_rows import RECENT_ROWS, StepRows, rows_ahead
from strategy_app.live.step_sampler import StepSampler
from strategy_profiles.analysis.epoch_ends import describe_end
from strategy_profiles.analysis.first_steps import earlier_first_step_ms
from strategy_profiles.analysis.headline import workload_title
from strategy_profiles.analysis.window_summary import summarise_window
from strategy_profiles.reporting.spec_changes import describe
from strategy_profiles.run.activity import Activity, ActivityState
from strategy_profiles.run.events import (
    ClockMeasured,
    ClosureDone,
    EpochEnded,
    EpochEnding,
    Exited,
    Launched,
    LinkBytes,
    MemorySampled,
    ResourcesSampled,
    SegmentOpened,
    StepDone,
    WindowCaptured,
)
from strategy_profiles.run.identity import identity_of
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.run.manifest import read_run_file
from strategy_profiles.run.status import Status, status_of
from strategy_profiles.run.tail import Tail, WrittenEvent
from strategy_profiles.run.topology import has_servers, worker_of
from strategy_profiles.tables.multi_worker_steps import LiveSteps

MOST_BYTES = 1 << 20
"""Read of each event file at a time; its lines of steps are sampled (`StepSampler`)."""
END_BYTES = 1 << 14
"""Read of the end of the first worker's file while more is unread: its newest steps come first."""
CATCH_UP_S = 0.25
"""For which a page waits, enough for some 100,000 steps; then its viewers see the rest come."""
MAX_NEWS = 2_000
MAX_EPOCH_ENDS = 1_000
"""Those after them are not hatched on the charts; they leave the other news their room."""
FREQUENT = (
    MemorySampled,
    ResourcesSampled,
    ClockMeasured,
    LinkBytes,
    ClosureDone,
    EpochEnding,
    EpochEnded,
)
"""Events that come all along and say nothing of the run's status."""
STATUS_EVERY_S = 0.5
NUMBERS_EVERY_S = 0.2
"""Key numbers are computed once for all viewers, and no more often than people can read them."""
EXIT_REASON_WITHIN_S = 3.0
"""Time for a launcher to write, after a process was lost, its exit reason or a restart."""
TOLD: dict[str, tuple[str, ...]] = {
    "answer": ("number", "command", "status", "step", "message", "took_ms"),
    "failed": ("worker", "message", "detail", "follows"),
    "exited": ("worker", "generation", "exit_code", "verdict", "message"),
    "finished": ("worker", "status", "steps"),
    "launched": ("worker", "generation", "from_spare", "task"),
    "note": ("level", "message"),
    "epoch": ("step", "wall_ms"),
    "window": ("worker", "window", "segment", "first_step", "num_steps", "num_spans", "error"),
    "segment": (
        "segment",
        "strategy",
        "num_replicas",
        "num_workers",
        "global_batch_size",
        "first_step",
        "cross_device_ops",
        "parameter_bytes",
        "moved",
    ),
}
"""Fields sent to viewers, by kind of event. Steps are sent as rows, other kinds not at all."""
_COUNT = re.compile(r"[0-9]{1,18}")
"""Python refuses to read a number of thousands of digits, which a viewer may send."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """What `message` tells: made by the thread that has read it, and never changed."""

    key: str = "new"
    num_rows: int = 0
    num_news: int = 0
    group_version: int = -1
    group: str = "null"
    resources: str = "null"
    served: str = "null"
    numbers: str = "null"
    status: Mapping[str, Any] = field(default_factory=dict)
    doing: Mapping[str, Any] | None = None
    doing_since_ns: int | None = None
    last_step_ns: int | None = None
    behind_ms: float | None = None
    """Time between the newest event that is read and the newest one; None if everything is read."""
    ahead: str = ""
    """Rows of the newest steps of the first worker, if what comes before them is still unread."""


class LiveRun:
    """Follows one run folder. Safe to advance from any thread.

    One thread at a time reads, a bounded part of what was written, and then replaces what `message`
    tells as a whole. So a message waits for no reading. While something stays unread, a message has
    the newest steps as well.
    """

    def __init__(
        self,
        folder: Path,
        *,
        recent_rows: int = RECENT_ROWS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder = folder
        self.identity = identity_of(folder)
        """See `strategy_profiles.run.identity`; None until the run has written something."""
        self.is_replaced = False
        """Whether the folder was found gone or holding another run: nothing more is read then."""
        self.status = Status("incomplete")
        self.doing: ActivityState | None = None
        """What it is doing; None if it is over."""
        self.spec: dict[str, Any] | None = None
        """The requested spec; None if `run.json` has none."""
        self.segments: list[SegmentOpened] = []
        self.last_step: int | None = None
        self._tail = Tail(folder)
        self._sampler = StepSampler(clock)
        self._reading = threading.Lock()
        self._shown = _Shown()
        self._clock = clock
        self._num_changes = 0
        self._status_at = -math.inf
        self._seemed_lost_at: float | None = None
        """When the run first looked lost; None unless its launcher's account is being awaited."""
        self._origin_ns: int | None = None
        self._num_clocks_set = 0
        self._clocks_ahead_ns = 0
        """What the changes of the first worker's clock come to."""
        self._live_steps = LiveSteps()
        self._numbers = LiveNumbers(self._live_steps.split)
        self._rows = StepRows(self._numbers.split, recent_rows)
        self._news: list[str] = []
        self._num_epoch_ends = 0
        """Of the news."""
        self._activity = Activity()
        self._expected_ms: dict[str, float | None] = {}
        """Length of the first step in an earlier run, by the spec that it was asked for."""
        self._group = ProcessView()
        self._leader_generation: int | None = None
        self._numbers_text = "null"
        self._numbers_at = -math.inf
        self._are_numbers_stale = True
        self._newest_ns: int | None = None
        """When the newest event was written that is read."""
        self._has_asked_for_whole = False
        """Whether the numbers of the whole run were requested since its last event."""

    def advance(self) -> int:
        """Read new events, a bounded part. Returns the number of changes so far, by all readers."""
        with self._reading:
            whole_is_due = self._advance()
            self._shown = self._as_shown()
        if whole_is_due:  # reads the whole run: another reader does not wait for it
            whole = message_of_all_steps(self.folder)
            with self._reading:
                self._numbers.settle(whole)
                self._encode_numbers()
                self._num_changes += 1
                self._shown = self._as_shown()
        return self._num_changes

    def catch_up(self, for_s: float = CATCH_UP_S) -> int:
        """Read everything written so far, or what can be read in this time. Returns what `advance`
        does."""
        until_s = self._clock() + for_s
        changes = self.advance()
        while self._tail.num_left and not self.is_replaced and self._clock() < until_s:
            changes = self.advance()
        return changes

    def _advance(self) -> bool:
        """Read new events. Returns whether the caller must now compute the numbers of the whole
        run, see `_refresh_numbers`."""
        if self.is_replaced:
            return False
        every = self._tail.read_some(MOST_BYTES, self._sampler.choose)
        # Compared after reading: what was read before another run began is still of this one.
        if (every or self._is_status_due()) and self.find_replaced():
            return False
        for written in every:
            self._take(written)
        self._newest_ns = every[-1].event.at_ns if every else self._newest_ns
        is_news = any(not isinstance(written.event, (StepDone, *FREQUENT)) for written in every)
        is_news |= bool(every) and self.doing is ActivityState.BETWEEN_EPOCHS
        if self._refresh_status(force=is_news) or every:
            self._num_changes += 1
        return self._refresh_numbers(has_grown=bool(every))

    def _as_shown(self) -> _Shown:
        doing = self.doing
        ahead = self._tail.newest(END_BYTES) if self._tail.num_left else []
        return _Shown(
            self._key,
            self._rows.total,
            len(self._news),
            self._group.version,
            self._group.text(),
            dumps(self._group.resources.message()),
            dumps(self._group.served.message()),
            self._numbers_text,
            self._status_told(),
            None if doing is None else self._doing_told(doing),
            None if doing is None else self._activity.since_ns(doing),
            self._activity.last_step_ns,
            self._behind_ms(ahead),
            ",".join(self._rows_of(ahead)),
        )

    def _behind_ms(self, ahead: list[WrittenEvent]) -> float | None:
        if not self._tail.num_left or self._newest_ns is None:
            return None
        newest_ns = ahead[-1].event.at_ns if ahead else time.time_ns()
        return max(0.0, (newest_ns - self._newest_ns) / 1e6)

    def _rows_of(self, ahead: list[WrittenEvent]) -> list[str]:
        steps = [each.event for each in ahead if isinstance(each.event, StepDone)]
        return rows_ahead((step, self._since_start_ms(step.start_ns)) for step in steps)

    def message(self, cursor: str = "") -> tuple[str, str]:
        """What is new since `cursor` as JSON text, and the cursor after it.

        A cursor from too long ago, of another run or malformed gets everything again
        (`"reset": true`).
        """
        current, now_ns = self._shown, time.time_ns()
        rows_seen, news_seen, group_seen = _parse_cursor(cursor, current.key)
        rows = self._rows.since(rows_seen, current.num_rows)
        reset = rows is None or news_seen > current.num_news
        if reset or rows is None:
            rows, news_seen, group_seen = self._rows.rows_until(current.num_rows), 0, -1
        news = self._news[news_seen : current.num_news]
        group = "null" if group_seen == current.group_version else current.group
        after = f"{current.key}-{current.num_rows}-{current.num_news}-{current.group_version}"
        text = (
            f'{{"cursor":"{after}","reset":{dumps(reset)},'
            f'"status":{dumps(plain(_status_now(current, now_ns)))},'
            f'"resources":{current.resources},"served":{current.served},'
            f'"group":{group},"numbers":{current.numbers},'
            f'"behind_ms":{dumps(current.behind_ms)},'
            f'"steps":[{",".join(rows)}],"ahead":[{current.ahead}],"news":[{",".join(news)}]}}'
        )
        return text, after

    def news(self) -> list[dict[str, Any]]:
        """Everything that happened besides steps, oldest first."""
        return [json.loads(text) for text in self._news[: self._shown.num_news]]

    @property
    def applied_spec(self) -> dict[str, Any] | None:
        """The spec of the last segment, or the requested one before the first segment."""
        return self.segments[-1].spec if self.segments else self.spec

    def find_replaced(self) -> bool:
        """Return `is_replaced` after checking the folder again."""
        if not self.is_replaced:
            identity = identity_of(self.folder)
            if self.identity is None:
                self.identity = identity
            self.is_replaced = identity != self.identity or not self.folder.is_dir()
        return self.is_replaced

    @property
    def _key(self) -> str:
        """What a viewer's cursor is of: its rows are no longer those of the run if it changes."""
        return f"{self.identity or 'new'}.{self._num_clocks_set}"

    def _is_status_due(self) -> bool:
        return self._clock() - self._status_at >= STATUS_EVERY_S

    def _take(self, written: WrittenEvent) -> None:
        event = written.event
        self._activity.take(written)
        if self._origin_ns is None:
            self._origin_ns = event.at_ns
        if isinstance(event, StepDone):
            self._rows.add(written.worker or 0, event, self._since_start_ms(event.start_ns))
            self.last_step = event.step
            self._group.note_time(written)
            return
        self._group.take(written)
        if not written.worker and (clock := SetClock.of(event)) is not None:
            self._set_clock(clock)
        self._live_steps.take(written)
        self._numbers.take(written)
        if event.kind in TOLD and len(self._news) < MAX_NEWS + self._num_epoch_ends:
            self._append_news(written)

    def _set_clock(self, clock: SetClock) -> None:
        """Count on by the clock of the run's beginning. All viewers start over: they have steps by
        the new one."""
        self._rows.shift(clock)
        self._clocks_ahead_ns += clock.jump_ns
        self._num_clocks_set += 1

    def _append_news(self, written: WrittenEvent) -> None:
        """Append an event to the news, with what it means."""
        event, document = written.event, written.to_json()
        news = {name: document.get(name) for name in TOLD[event.kind]}
        if isinstance(event, SegmentOpened):
            if written.worker:
                return  # every worker opens it; the first one's word is enough
            news["size"] = event.size
            news["workers"] = [worker_of(event, number) for number in range(event.num_replicas)]
            news["changes"] = describe(self.segments[-1].spec, event.spec) if self.segments else []
            news["has_servers"] = has_servers(event)
            news["is_of_lab"] = event.is_of_lab
            self.segments.append(event)
        elif isinstance(event, EpochEnded):
            if written.worker or self._num_epoch_ends >= MAX_EPOCH_ENDS:
                return  # the worker that the steps are of is enough
            self._num_epoch_ends += 1
            news |= {"text": describe_end(event), "begin_ms": self._since_start_ms(event.start_ns)}
        elif isinstance(event, WindowCaptured):
            news |= self._summary(written, event)
        elif isinstance(event, Exited):
            news["is_consequence"] = event.is_consequence
        elif isinstance(event, Launched):
            if event.worker == 0:
                self._leader_generation = event.generation
            elif event.generation == self._leader_generation:
                return  # it came with the leader
        at_ms = self._since_start_ms(event.at_ns)
        self._news.append(dumps({"kind": event.kind, "at_ms": at_ms} | plain(news)))

    def _refresh_numbers(self, *, has_grown: bool) -> bool:
        """Update the key numbers from the newest steps, at most every `NUMBERS_EVERY_S`.

        `has_grown` says whether this read brought events, which `_advance` counted as a change.
        Returns True once after the run has ended and a read brought nothing more: the caller then
        replaces these numbers by those of the whole run. An event after that, of a run that is
        continued, allows it again.
        """
        self._are_numbers_stale |= has_grown
        self._has_asked_for_whole &= not has_grown
        if self.status.is_over and not has_grown and not self._has_asked_for_whole:
            self._has_asked_for_whole = True
            return True
        is_due = self._clock() - self._numbers_at >= NUMBERS_EVERY_S
        # While something is unread, the newest steps that were read may have gaps between them.
        if self._are_numbers_stale and is_due and not self._tail.num_left:
            self._encode_numbers()
            self._num_changes += not has_grown  # the numbers of an earlier read, delayed until now
        return False

    def _encode_numbers(self) -> None:
        self._numbers_at, self._are_numbers_stale = self._clock(), False
        message = self._numbers.message(self._group.titles, self._group.served.walls_ms())
        self._numbers_text = dumps(plain(message))

    def _summary(self, written: WrittenEvent, window: WindowCaptured) -> dict[str, Any]:
        """Breakdown and traffic of a capture window, or why it has none."""
        if window.error:
            return {}
        try:
            folder = worker_folder(self.folder, written.worker or 0, written.generation or 0).path
            summary = summarise_window(
                folder / window.folder, window.segment, self._live_steps.complete
            )
        except (OSError, ValueError, KeyError) as error:
            return {"error": f"Its tables cannot be read ({type(error).__name__})."}
        self._numbers.captured(summary.communication)
        return summary.to_json()

    def _refresh_status(self, *, force: bool) -> bool:
        if not force and not self._is_status_due():
            return False
        self._status_at = self._clock()
        if self.spec is None:
            identity = read_run_file(self.folder)
            self.spec = identity.spec if identity else None
        status = self._confirmed(status_of(self._group.history))
        has_lost_one = bool(status.num_gone) or self._group.has_lost_one
        now_ns = time.time_ns()
        doing = None if status.is_over else self._activity.state(now_ns, has_lost_one=has_lost_one)
        changed = (status, doing) != (self.status, self.doing)
        self.status, self.doing = status, doing
        return changed

    def _confirmed(self, status: Status) -> Status:
        """Return `status`, or the previous "running" if the loss of a process is unconfirmed.

        A process that fails is in its own log before the launcher has written its exit reason, or
        has restarted the process. Until then, and for `EXIT_REASON_WITHIN_S` at most, the run
        stays "running": otherwise viewers would see a run fail that recovers a moment later.
        """
        looks_lost = status.state in ("failed", "incomplete") and self.status.state == "running"
        if not looks_lost or self._group.has_exit_reasons:
            self._seemed_lost_at = None
            return status
        if self._seemed_lost_at is None:
            self._seemed_lost_at = self._clock()
        waited_s = self._clock() - self._seemed_lost_at
        return self.status if waited_s < EXIT_REASON_WITHIN_S else status

    def _status_told(self) -> dict[str, Any]:
        spec = self.applied_spec or {}
        workload = spec.get("workload")
        title = workload_title(workload) if workload else None
        requested = {"steps": spec.get("steps"), "workload": title}
        return {"state": self.status.state, "message": self.status.message} | requested

    def _doing_told(self, doing: ActivityState) -> dict[str, Any]:
        """The state of a run that is not over."""
        is_starting = self._group.has_arriving_ones
        return {
            "state": doing,
            "text": self._activity.text(doing, are_new_processes_starting=is_starting),
            "expected_ms": self._expected() if doing is ActivityState.COMPILING else None,
            "late_after_ms": self._activity.late_after_ns / 1e6,
        }

    def _expected(self) -> float | None:
        spec = self.applied_spec or {}
        key = dumps(plain(spec))
        if key not in self._expected_ms:
            self._expected_ms[key] = earlier_first_step_ms(self.folder, spec)
        return self._expected_ms[key]

    def _since_start_ms(self, at_ns: int) -> float:
        return round((at_ns - self._clocks_ahead_ns - (self._origin_ns or at_ns)) / 1e6, 3)


def _status_now(current: _Shown, now_ns: int) -> dict[str, Any]:
    """The status, with how long what the run does has lasted."""
    doing = current.doing and {
        **current.doing,
        "for_ms": _age_ms(current.doing_since_ns, now_ns),
        "step_age_ms": _age_ms(current.last_step_ns, now_ns),
    }
    return {**current.status, "doing": doing}


def _age_ms(since_ns: int | None, now_ns: int) -> float | None:
    return None if since_ns is None else max(0.0, (now_ns - since_ns) / 1e6)


def _parse_cursor(text: str, key: str) -> tuple[int, int, int]:
    """Rows, news and the version of the processes that a viewer of run `key` has seen.

    All are negative if the text is no cursor, or one of another run.
    """
    of_run, *parts = text.split("-")
    is_cursor = len(parts) == 3 and all(_COUNT.fullmatch(part) for part in parts)
    if of_run != key or not is_cursor:
        return -1, -1, -1
    rows, news, group = map(int, parts)
    return rows, news, group
