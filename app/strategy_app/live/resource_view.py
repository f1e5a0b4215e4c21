"""What the processes of a followed run use now: cores, memory, network; and their machines."""

from __future__ import annotations

from typing import Any, NamedTuple

from strategy_profiles.run.events import LinkBytes, MemorySampled, ResourcesSampled
from strategy_profiles.run.tail import WrittenEvent

_RESIDENT = "process-resident"


class _Counted(NamedTuple):
    """Bytes that a process has exchanged with the others so far."""

    at_ns: int
    sent_bytes: int
    received_bytes: int


class ResourceView:
    """The newest sample of each process, by the number of the process in the run as text."""

    def __init__(self) -> None:
        self._memory: dict[str, int] = {}
        self._cores: dict[str, float] = {}
        self._network: dict[str, dict[str, float]] = {}
        self._counted: dict[str, _Counted] = {}
        self._machines: dict[int, ResourcesSampled] = {}
        """By the lowest number of a process on the machine: each has one launcher."""

    def take(self, written: WrittenEvent) -> bool:
        """Update from an event. Returns whether it was a sample."""
        event, worker = written.event, str(written.worker)
        match event:
            case ResourcesSampled():
                self._take_sample(event)
            case MemorySampled():
                if event.source == _RESIDENT and written.worker is not None:
                    self._memory[worker] = event.bytes_in_use
            case LinkBytes():
                if event.reason is None:
                    self._count(worker, event)
            case _:
                return False
        return True

    def forget(self, worker: int) -> None:
        """Drop what is known of a process: another one has its number now."""
        for newest in (self._memory, self._cores, self._network, self._counted):
            newest.pop(str(worker), None)

    def message(self) -> dict[str, Any]:
        """`memory` (bytes), `cores` and `network` (bytes per second) of each process; `machines`.

        `machines` has the cores of each machine: all, those that the run uses, those that other
        programs use, and those that the hypervisor gave to other virtual machines.
        """
        return {
            "memory": self._memory,
            "cores": self._cores,
            "network": self._network,
            "machines": [_machine(event) for _, event in sorted(self._machines.items())],
        }

    def _take_sample(self, event: ResourcesSampled) -> None:
        if not event.processes:
            return
        self._machines[min(use.worker for use in event.processes)] = event
        for use in event.processes:
            self._cores[str(use.worker)] = use.cores
            if use.resident_bytes is not None:
                self._memory[str(use.worker)] = use.resident_bytes

    def _count(self, worker: str, event: LinkBytes) -> None:
        """Note a worker's bytes per second since its previous count of the links' totals."""
        now = _Counted(
            event.at_ns,
            sum(link.sent_bytes for link in event.links),
            sum(link.received_bytes for link in event.links),
        )
        before = self._counted.get(worker)
        self._counted[worker] = now
        if before is None or now.at_ns <= before.at_ns:
            return
        elapsed_s = (now.at_ns - before.at_ns) / 1e9
        self._network[worker] = {
            "sent": max(now.sent_bytes - before.sent_bytes, 0) / elapsed_s,
            "received": max(now.received_bytes - before.received_bytes, 0) / elapsed_s,
        }


def _machine(event: ResourcesSampled) -> dict[str, Any]:
    run_cores = sum(use.cores for use in event.processes)
    return {
        "worker": min(use.worker for use in event.processes),
        "num_cores": event.num_cores,
        "run_cores": run_cores,
        "other_cores": max(event.busy_cores - run_cores, 0.0),
        "stolen_cores": event.stolen_cores,
    }
