"""Recordings of contexts for every viewer of the lab: one process per program, a few at once.

A viewer is a browser session. It looks at one program, or at two side by side. Viewers that ask
for the same program share its recording. A recording that no viewer looks at any more is ended:
at once if its last viewer turned to something else, after `GRACE_S` seconds if the connection of
its last viewer was lost, since a page that is loaded again is a new session.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from strategy_profiles.errors import LabError

MAX_RUNNING = 2
GRACE_S = 6.0
KEPT = 40
KEPT_BYTES = 100_000_000
"""Limit for all kept recordings together, as JSON."""
TICK_S = 0.25
STOPPED = "You stopped the recording. Choose Record again to restart it"

Key = tuple[str, str, str]
"""Program, strategy and devices: what a recording depends on."""


class Recording(Protocol):
    """A program that is being recorded: `strategy_contexts.child.ContextRecording`."""

    @property
    def is_running(self) -> bool: ...

    @property
    def num_bytes(self) -> int: ...

    def result(self) -> dict[str, Any]: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Queued:
    place: int
    """1 for the next one to start."""


@dataclass(frozen=True, slots=True)
class Running:
    pass


@dataclass(frozen=True, slots=True)
class Done:
    document: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Refused:
    """There is no recording; `sentence` says why."""

    sentence: str


State = Queued | Running | Done | Refused


class ContextRecordings:
    """Starts, shares and ends recordings. Its methods may be called by any thread.

    `start` starts the recording of a key or raises LabError; `is_connected` says whether a viewer's
    page is still open; `shipped` has the recordings that need no process.
    """

    def __init__(
        self,
        start: Callable[[Key], Recording],
        is_connected: Callable[[str], bool],
        *,
        shipped: Callable[[Key], dict[str, Any] | None] = lambda _key: None,
        max_running: int = MAX_RUNNING,
        kept: int = KEPT,
        kept_bytes: int = KEPT_BYTES,
        clock: Callable[[], float] = time.monotonic,
        tick_s: float | None = TICK_S,
    ) -> None:
        self.max_running = max_running
        self._start = start
        self._is_connected = is_connected
        self._shipped = shipped
        self._kept = kept, kept_bytes
        self._clock = clock
        self._tick_s = tick_s
        """Interval at which a thread calls `tick` while work is left; None: the caller does."""
        self._lock = threading.RLock()
        self._watched: dict[str, tuple[Key, ...]] = {}
        """What each viewer looks at."""
        self._lost: dict[str, float] = {}
        """Viewers whose connection is lost, and since when."""
        self._stopped: set[tuple[str, Key]] = set()
        """Viewers and the recordings that they stopped, for themselves only."""
        self._queue: list[Key] = []
        self._running: dict[Key, Recording] = {}
        self._outcomes: OrderedDict[Key, tuple[Done | Refused, int]] = OrderedDict()
        """Result or error of each ended recording with its size, least recently used first."""
        self._thread: threading.Thread | None = None

    def look(self, viewer: str, keys: Iterable[Key]) -> None:
        """Replace what `viewer` looks at by `keys`, and queue those without a recording or result.

        A recording that the viewer has stopped is not queued, unless the viewer looked elsewhere
        since. Recordings that no viewer looks at any more end.
        """
        with self._lock:
            self._watched[viewer] = tuple(keys)
            self._lost.pop(viewer, None)
            self._stopped = {
                (other, key)
                for other, key in self._stopped
                if other != viewer or key in self._watched[viewer]
            }
            for key in self._watched[viewer]:
                if (viewer, key) not in self._stopped:
                    self._enqueue(key)
        self.tick()

    def leave(self, viewer: str) -> None:
        """Note that `viewer` has left the page, and end what only this viewer looked at."""
        if viewer in self._watched:
            self.look(viewer, ())
            with self._lock:
                self._watched.pop(viewer, None)

    def state(self, viewer: str, key: Key) -> State:
        """The state of a recording for `viewer`. Queues the recording if there is none."""
        with self._lock:
            if (viewer, key) in self._stopped:
                return Refused(STOPPED)
            self._enqueue(key)
            if key in self._outcomes:
                self._outcomes.move_to_end(key)
                return self._outcomes[key][0]
            if key in self._running:
                return Running()
            return Queued(self._queue.index(key) + 1)

    def record_again(self, viewer: str, key: Key) -> None:
        """Discard the result of a recording, or the shipped one, and record again."""
        with self._lock:
            self._stopped.discard((viewer, key))
            self._outcomes.pop(key, None)
            if key not in self._running and key not in self._queue:
                self._queue.append(key)
        self.tick()

    def stop(self, viewer: str, key: Key) -> None:
        """Stop a recording for `viewer`. It ends unless another viewer looks at it."""
        with self._lock:
            self._stopped.add((viewer, key))
        self.tick()

    def tick(self) -> None:
        """Keep the results of ended recordings, end unwatched ones and start queued ones."""
        ended: list[Recording] = []
        with self._lock:
            self._forget_lost_viewers()
            wanted = self._watched_keys()
            self._queue = [key for key in self._queue if key in wanted]
            for key, recording in list(self._running.items()):
                if not recording.is_running:
                    self._keep_result(key, recording)
                elif key in wanted:
                    continue
                del self._running[key]
                ended.append(recording)
            while self._queue and len(self._running) < self.max_running:
                self._begin(self._queue.pop(0))
            self._start_thread()
        for recording in ended:  # takes a moment, which no page should wait for
            recording.close()

    def close(self) -> None:
        """End every recording."""
        with self._lock:
            self._watched.clear()
        self.tick()

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs and nothing waits."""
        with self._lock:
            return not self._running and not self._queue

    def _enqueue(self, key: Key) -> None:
        if key in self._outcomes or key in self._running or key in self._queue:
            return
        if document := self._shipped(key):
            self._keep(key, Done(document))
        else:
            self._queue.append(key)

    def _watched_keys(self) -> set[Key]:
        return {
            key
            for viewer, keys in self._watched.items()
            for key in keys
            if (viewer, key) not in self._stopped
        }

    def _forget_lost_viewers(self) -> None:
        now = self._clock()
        for viewer in list(self._watched):
            if self._is_connected(viewer):
                self._lost.pop(viewer, None)
            elif now - self._lost.setdefault(viewer, now) >= GRACE_S:
                del self._watched[viewer], self._lost[viewer]
                self._stopped = {(other, key) for other, key in self._stopped if other != viewer}

    def _begin(self, key: Key) -> None:
        try:
            self._running[key] = self._start(key)
        except LabError as error:
            self._keep(key, Refused(str(error)))

    def _keep_result(self, key: Key, recording: Recording) -> None:
        try:
            self._keep(key, Done(recording.result()), recording.num_bytes)
        except LabError as error:
            self._keep(key, Refused(str(error)))

    def _keep(self, key: Key, outcome: Done | Refused, num_bytes: int = 0) -> None:
        self._outcomes[key] = (outcome, num_bytes + len(key[0]))
        self._outcomes.move_to_end(key)
        most, most_bytes = self._kept
        while len(self._outcomes) > 1 and (
            len(self._outcomes) > most
            or sum(size for _, size in self._outcomes.values()) > most_bytes
        ):
            self._outcomes.popitem(last=False)

    def _start_thread(self) -> None:
        if self._tick_s is None or self.is_idle or self._thread is not None:
            return
        self._thread = threading.Thread(target=self._tick_on, name="recordings", daemon=True)
        self._thread.start()

    def _tick_on(self) -> None:
        assert self._tick_s is not None
        while True:
            time.sleep(self._tick_s)
            self.tick()
            with self._lock:
                if self.is_idle:
                    self._thread = None
                    return
