"""What became of a run: derived from its events and its processes, never stored."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from strategy_lab.profiles.liveness import is_alive, process_started_ns
from strategy_lab.profiles.sources import EventSource, Record

State = Literal["finished", "running", "stopped", "failed", "incomplete"]

_BAD_VERDICTS = {
    "failed": "failed",
    "crashed": "crashed",
    "killed": "was killed",
    "hung": "hung: no sign of life",
    "out-of-memory": "ran out of memory",
}
_REPLACEMENT_NS = 60_000_000_000
"""So long may the next worker take to follow one that left with the verdict `replaced`."""

_SIGN_OF_LIFE_NS = 120_000_000_000
"""A process on another machine that wrote nothing for this long is taken for gone."""


@dataclass(frozen=True, slots=True)
class Status:
    """`message` is a sentence for people; None where the state says it all."""

    state: State
    message: str | None = None

    @property
    def is_over(self) -> bool:
        return self.state != "running"


@dataclass(frozen=True, slots=True)
class ProcessName:
    """A process as a run knows it: its pid, and when it began or by when it had begun."""

    pid: int
    started_ns: int | None = None
    started_by_ns: int | None = None


def derive_status(
    sources: Sequence[EventSource],
    *,
    alive: Callable[[ProcessName], bool] | None = None,
    now_ns: Callable[[], int] = time.time_ns,
) -> Status:
    """The status of a run from its event files; `alive` answers for this machine."""
    sources = _of_the_run(sources)
    latest = _latest_processes(sources)
    chief = latest[0] if latest else None
    failure = _failure(latest, sources)
    if chief and not chief.of_kind("failed"):
        for record in reversed(chief.of_kind("finished")):
            if record.get("status") in ("finished", "stopped"):
                return Status(record["status"])
    if failure:
        return Status("failed", failure)
    exits = _last_exits(sources)
    if any(record.get("verdict") == "stopped" for record in exits):
        return Status("stopped")
    if _is_running(sources, alive or _alive_here, now_ns()):
        return Status("running")
    return Status("incomplete", "The run was cut off, and nobody was left to say why.")


def _of_the_run(sources: Sequence[EventSource]) -> Sequence[EventSource]:
    """Without a fresh worker that has yet to take over: the launcher records it when it has."""
    launched = [
        (record.get("worker"), record.get("generation"))
        for source in sources
        if source.worker is None
        for record in source.of_kind("launched")
    ]
    if not launched:
        return sources
    return [
        source
        for source in sources
        if not source.generation or (source.worker, source.generation) in launched
    ]


def _latest_processes(sources: Sequence[EventSource]) -> list[EventSource]:
    """Each worker's last process; the first closes the run's books.

    One that was launched again since is not its worker's last, though the next has yet to write.
    """
    latest: dict[int, EventSource] = {}
    newest = {
        record["worker"]: record["generation"] for record in _launcher_records(sources, "launched")
    }
    for source in sources:
        if source.worker is not None:
            if (source.generation or 0) < newest.get(source.worker, 0):
                continue
            known = latest.setdefault(source.worker, source)
            if (source.generation or 0) > (known.generation or 0):
                latest[source.worker] = source
    return [latest[worker] for worker in sorted(latest)]


def _failure(latest: Sequence[EventSource], sources: Sequence[EventSource]) -> str | None:
    """Why the run failed, in the words of whoever knew most; None where nothing failed."""
    exits = _last_exits(sources)
    causes = [record for record in exits if not _is_consequence(record)]
    follower = {record["worker"] for record in exits if _is_consequence(record)}
    told = [source for source in latest if source.worker not in follower]
    failures = {source.worker: source.of_kind("failed") for source in told}
    own = [record for found in failures.values() for record in found if not _heard(record)]
    if own:
        return str(own[0].get("message") or "The run failed.")
    # Of several workers that nobody watched together, those who only heard of a peer's end come
    # last, and so do their launchers, who know no more.
    heard = [record for found in failures.values() for record in found]
    for record in sorted(causes, key=lambda record: bool(failures.get(record["worker"]))):
        verdict = _BAD_VERDICTS.get(str(record.get("verdict")))
        if verdict and not (heard and failures.get(record["worker"])):
            return str(record.get("message") or f"Worker {record['worker']} {verdict}.")
    if not heard:
        return None
    first = next(worker for worker, found in failures.items() if found)
    launcher = [record.get("message") for record in exits if record["worker"] == first]
    said = [*launcher, heard[0].get("message"), "The run failed."]  # its launcher may know more
    return _of_silent_peer(latest, sources, str(next(filter(None, said))))


def _heard(failed: Record) -> bool:
    """Whether a failure only tells of a peer's end."""
    return failed.get("follows") is True


def _of_silent_peer(
    latest: Sequence[EventSource], sources: Sequence[EventSource], said: str
) -> str:
    """What those who heard of a peer's end say; with its name where its whole host fell silent."""
    ended = {record["worker"] for record in _last_exits(sources)}
    ended |= {source.worker for source in latest if source.of_kind("finished")}
    launched = _launcher_records(sources, "launched")
    silent = [record for record in launched if record.get("host") and record["worker"] not in ended]
    if not silent:
        return said
    names = " and ".join(
        f"{record.get('task') or record['worker']} on {record['host']}" for record in silent
    )
    return f"Nothing was heard again of {names}. Its peers: {said}"


def _is_consequence(record: Record) -> bool:
    """Whether a process ended because another one had, which its own `exited` tells of."""
    return type(record.get("follows")) is int and record.get("follows") != record.get("worker")


def _launcher_records(sources: Sequence[EventSource], kind: str) -> list[Record]:
    """The last record of `kind` per worker, whatever its generation."""
    latest: dict[object, Record] = {}
    for source in sources:
        if source.worker is None:
            latest |= {
                record["worker"]: record
                for record in source.of_kind(kind)
                if type(record.get("worker")) is int and type(record.get("generation")) is int
            }
    return list(latest.values())


def _last_exits(sources: Sequence[EventSource]) -> list[Record]:
    """Exits of workers that were not started again since."""
    launched = {
        record.get("worker"): record.get("generation")
        for record in _launcher_records(sources, "launched")
    }
    return [
        record
        for record in _launcher_records(sources, "exited")
        if launched.get(record.get("worker")) in (None, record.get("generation"))
    ]


def _is_running(
    sources: Sequence[EventSource], alive: Callable[[ProcessName], bool], now_ns: int
) -> bool:
    exits = _last_exits(sources)
    if _is_at_work_elsewhere(sources, exits, now_ns):
        return True
    if not _is_this_machine(sources):
        return False
    if any(alive(process) for process in _processes(sources, exits)):
        return True
    return any(
        record.get("verdict") == "replaced"
        and isinstance(record.get("at_ns"), int)
        and 0 <= now_ns - record["at_ns"] < _REPLACEMENT_NS
        for record in exits
    )


def _is_at_work_elsewhere(sources: Sequence[EventSource], exits: list[Record], now_ns: int) -> bool:
    """Whether a process on another machine wrote something of late; its pid says nothing here."""
    gone = {(record.get("worker"), record.get("generation")) for record in exits}
    for record in _launcher_records(sources, "launched"):
        name = (record.get("worker"), record.get("generation"))
        if record.get("host") in (None, platform.node()) or name in gone:
            continue
        written = [record.get("at_ns")]
        for source in sources:
            if (source.worker, source.generation) == name:
                written += [found.get("at_ns") for found in source.records[-1:]]
        if any(type(at_ns) is int and now_ns - at_ns < _SIGN_OF_LIFE_NS for at_ns in written):
            return True
    return False


def _processes(sources: Sequence[EventSource], exits: list[Record]) -> list[ProcessName]:
    """The processes that should be at work: as launched, or as they say where nobody launched."""
    gone = {(record.get("worker"), record.get("generation")) for record in exits}
    if any(source.worker is None for source in sources):
        named = [
            (record.get("pid"), record.get("pid_started_ns"), None)
            for record in _launcher_records(sources, "launched")
            if (record.get("worker"), record.get("generation")) not in gone
            and record.get("host") in (None, platform.node())
        ]
    else:
        named = [
            (record.get("pid"), None, record.get("realtime_ns"))
            for source in sources
            for record in source.of_kind("worker_started")
        ]
    return [
        ProcessName(pid, began, by) for pid, began, by in named if isinstance(pid, int) and pid > 0
    ]


def _is_this_machine(sources: Sequence[EventSource]) -> bool:
    """False where the run names another host: a pid from there says nothing here.

    Launchers that name their host are told apart one by one.
    """
    if any(record.get("host") for record in _launcher_records(sources, "launched")):
        return True
    for source in sources:
        for record in source.of_kind("environment"):
            host = record.get("host")
            name = host.get("name") if isinstance(host, dict) else None
            if isinstance(name, str) and name != platform.node():
                return False
    return True


def _alive_here(process: ProcessName) -> bool:
    started_ns = process.started_ns
    if started_ns is None:
        started_ns = process_started_ns(process.pid)
        # A process that began after it took the run is another one under a reused pid.
        if started_ns is None or started_ns > (process.started_by_ns or started_ns):
            return False
    return is_alive(process.pid, started_ns)
