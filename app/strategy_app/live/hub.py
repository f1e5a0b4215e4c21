"""Follows the runs in the runs folder, with one reader per run for all its viewers."""

from __future__ import annotations

import asyncio
import stat
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from strategy_app.live.live_run import LiveRun
from strategy_profiles.errors import RunFolderError
from strategy_profiles.user_input.text import quoted

POLL_S = 0.025
"""Interval at which a run with viewers is read: at most 40 updates per second."""
POLL_PER_VIEWER_S = 0.003
"""With more than eight viewers the interval grows with their number, so that the server sends at
most 333 messages per second: it may share its cores with the training. A viewer that has not taken
its last message does not count, as that of a suspended computer."""
POLL_ENDED_S = 0.5
"""Interval once the run is over; still read, because a run may be continued by hand."""
NUM_THREADS = 4
"""Threads that read runs for viewers: a read is bounded, so a few serve many runs. As many others
make messages, so that none waits for a read."""
SHARE_READING = 0.5
"""Share of its interval for which a run that is behind is read: other pages need the interpreter,
too."""
MAX_KEPT = 8
"""Runs without a viewer that stay in memory, so that a viewer who comes back does not wait for
them to be read. One of 20,000 steps on four replicas takes 7 MB."""

T = TypeVar("T")


def run_folder(runs: Path, run_id: str) -> Path:
    """The folder of a run by its name; raises RunFolderError if it does not exist.

    A name is one path component: nothing outside the runs folder can be named.
    """
    is_name = Path(run_id).name == run_id and run_id[:1] not in ("", ".")
    try:
        if is_name and stat.S_ISDIR((runs / run_id).stat().st_mode):
            return runs / run_id
    except (OSError, ValueError):
        pass  # not there, longer than a name can be, or with a null byte
    raise RunFolderError(f"There is no run {quoted(run_id)} in the runs folder")


def interval_s(poll_s: float, num_viewers: int) -> float:
    """Return the interval at which a run is read for so many viewers."""
    return max(poll_s, num_viewers * POLL_PER_VIEWER_S)


class Hub:
    """The runs that viewers look at, and those they looked at last."""

    def __init__(
        self,
        runs: Path,
        *,
        poll_s: float = POLL_S,
        poll_ended_s: float = POLL_ENDED_S,
        max_kept: int = MAX_KEPT,
    ) -> None:
        self.runs = runs
        self._pace = poll_s, poll_ended_s
        self._max_kept = max_kept
        self._lock = threading.Lock()
        self._followed: OrderedDict[str, LiveRun] = OrderedDict()
        self._pumps: dict[LiveRun, _Pump] = {}
        # Not `asyncio.to_thread`, whose threads all pages share.
        self._reading = ThreadPoolExecutor(NUM_THREADS, "following")
        self._telling = ThreadPoolExecutor(NUM_THREADS, "telling")

    def run(self, run_id: str) -> LiveRun:
        """Return the run of that name, which all viewers share; raises RunFolderError if none.

        Follows the run from now on if it was not followed yet, and again if the folder now holds
        another run: one that was deleted and recorded again under the same name.
        """
        folder = run_folder(self.runs, run_id)
        with self._lock:
            live = self._followed.get(run_id)
            if live is None or live.find_replaced():
                live = self._followed[run_id] = LiveRun(folder)
            self._followed.move_to_end(run_id)
            self._drop_oldest_idle()
            return live

    def current(self, run_id: str) -> LiveRun:
        """Return the run as `run` does, after reading everything written so far."""
        live = self.run(run_id)
        live.catch_up()
        if live.is_replaced:
            live = self.run(run_id)
            live.catch_up()
        return live

    async def stream(self, run_id: str, cursor: str = "") -> AsyncGenerator[str, None]:
        """Messages for one viewer from `cursor` on: at once what is there, then what is new.

        A slow viewer gets fewer, larger messages; nothing queues up for it. If another run takes
        the name, its first message says so (`"reset": true`); raises RunFolderError if the run is
        deleted.
        """
        while True:
            live = await _in_thread(self._reading, self.run, run_id)
            async with self._pump_of(live) as pump:
                while not live.is_replaced:
                    seen = pump.tick
                    text, cursor = await _in_thread(self._telling, live.message, cursor)
                    yield text
                    await pump.news_after(seen)

    def close(self) -> None:
        """Stop following."""
        for pump in self._pumps.values():
            pump.stop()
        self._pumps.clear()
        self._reading.shutdown(wait=False)
        self._telling.shutdown(wait=False)

    @asynccontextmanager
    async def _pump_of(self, live: LiveRun) -> AsyncGenerator[_Pump, None]:
        """Count one more viewer of a run in the block, and yield the pump that they share.

        The first viewer creates the pump, the last one to leave removes it.
        """
        pump = self._pumps.setdefault(live, _Pump(live, self._reading, *self._pace))
        try:
            async with pump:
                yield pump
        finally:
            if pump.num_viewers == 0:
                self._pumps.pop(live, None)

    def _drop_oldest_idle(self) -> None:
        """Drop the runs without viewers that were used longest ago, beyond the limit."""
        watched = {live for live, pump in list(self._pumps.items()) if pump.num_viewers}
        idle = [name for name, live in self._followed.items() if live not in watched]
        for name in idle[: max(0, len(idle) - self._max_kept)]:
            del self._followed[name]


async def _in_thread(threads: ThreadPoolExecutor, work: Callable[..., T], *given: Any) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, work, *given)


class _Pump:
    """Reads one run while it has viewers, and wakes them when something is new."""

    def __init__(
        self, live: LiveRun, threads: ThreadPoolExecutor, poll_s: float, poll_ended_s: float
    ) -> None:
        self._live = live
        self._threads = threads
        self._poll_s = poll_s
        self._poll_ended_s = poll_ended_s
        self.num_viewers = 0
        self._num_waiting = 0
        """Viewers that have taken all messages so far."""
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Condition()
        self.tick = 0

    async def __aenter__(self) -> None:
        self.num_viewers += 1
        if self._task is None:
            await _in_thread(self._threads, self._live.advance)
            self._task = self._task or asyncio.create_task(self._poll())

    async def __aexit__(self, *_exc: object) -> None:
        self.num_viewers -= 1
        if self.num_viewers == 0:
            self.stop()

    async def news_after(self, seen: int) -> None:
        self._num_waiting += 1
        try:
            async with self._changed:
                await self._changed.wait_for(lambda: self.tick > seen)
        finally:
            self._num_waiting -= 1

    def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()

    async def _poll(self) -> None:
        seen = -1
        while True:
            due_s = interval_s(self._poll_s, self._num_waiting)
            # Compares counts: a page of the run may read it too, and take the new events.
            changes = await _in_thread(self._threads, self._live.catch_up, due_s * SHARE_READING)
            has_grown, seen = changes != seen, changes
            if has_grown or self._live.is_replaced:
                self.tick += 1
                async with self._changed:
                    self._changed.notify_all()
            if self._live.is_replaced:
                return
            # A run that grows is alive even if its status says otherwise: one that is being copied
            # here, or another host's.
            is_quiet = self._live.status.is_over and not has_grown
            await asyncio.sleep(self._poll_ended_s if is_quiet else due_s)
