"""Counts the bytes exchanged with each peer, from this process's TCP connections.

A connection between two tasks has an end in each. The end that opened it knows the peer by the
address in the cluster; the other end only sees a caller's port, which identifies no task. So a link
is identified by the task that opened it, and its two ends are matched when the folders of all
processes are read. The bytes of a closed connection stay counted as of its last check.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strategy_core.cluster.network.namespaces import INTERFACE
from strategy_core.cluster.tasks import Cluster
from strategy_core.cluster.telemetry.tcp_info import Connection, connections, why_unavailable
from strategy_profiles.run.event_parts import InterfaceCounts, LinkCounts
from strategy_profiles.run.events import LinkBytes

RESOLVE_EVERY_S = 5.0
_INTERFACES = Path("/proc/thread-self/net/dev")


@dataclass
class LinkMeter:
    """The counters of one process. Use it from one thread."""

    cluster: Cluster
    process: int
    read: Callable[[], Sequence[Connection]] = connections
    why_not: Callable[[], str | None] = why_unavailable
    _last: dict[int, Connection] = field(default_factory=dict)
    _peers: dict[tuple[str, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = [self._resolve(process) for process in range(len(self.cluster))]
        if not all(known):
            threading.Thread(target=self._resolve_names, name="peers", daemon=True).start()

    def count(self, segment: int | None, step: int | None) -> LinkBytes:
        """Return the bytes exchanged so far by peer and opener, or the reason why they are unknown.

        The last counts of a connection are kept after it has closed.
        """
        reason = self.why_not()
        if reason is not None:
            return LinkBytes(segment, step, [], own_interface(), reason)
        # By the kernel's cookie: addresses and ports can be those of an earlier connection.
        self._last.update({connection.cookie: connection for connection in self.read()})
        together: dict[tuple[int | None, bool], list[Connection]] = {}
        for connection in self._last.values():
            together.setdefault(self._peer_of(connection), []).append(connection)
        links = [
            LinkCounts(peer=peer, opened=opened, **_sums(own))
            for (peer, opened), own in sorted(together.items(), key=lambda item: str(item[0]))
        ]
        return LinkBytes(segment, step, links, own_interface())

    def _peer_of(self, connection: Connection) -> tuple[int | None, bool]:
        """Return `(peer, opened)`: the peer's process number, if known, and whether this process
        opened the connection."""
        called = self._peers.get(connection.remote)
        if called is not None:
            return called, True
        own_port = int(self.cluster.tasks[self.process].address.rpartition(":")[2])
        if connection.local[1] != own_port:
            return None, True  # not a peer: data that the program loads, for example
        peers = list(self._peers.items())  # a copy: `_resolve_names` adds to it in its thread
        # The caller's port is a temporary one: only its host can identify it, if one task is there.
        callers = {peer for (host, _), peer in peers if host == connection.remote[0]}
        return (callers.pop() if len(callers) == 1 else None), False

    def _resolve(self, process: int, flags: int = socket.AI_NUMERICHOST) -> bool:
        """Look up the addresses of a task.

        Returns False if its host is a name, unless `flags` allow to resolve names.
        """
        host, _, port = self.cluster.tasks[process].address.rpartition(":")
        try:
            answers = socket.getaddrinfo(host.strip("[]"), int(port), flags=flags)
        except OSError:
            return False
        for answer in answers:
            # As `tcp_info` writes it: an IPv4 peer of an IPv6 socket appears as ::ffff:10.0.0.1.
            self._peers[str(answer[4][0]).removeprefix("::ffff:"), int(port)] = process
        return True

    def _resolve_names(self) -> None:
        """Resolve host names, which may take long and may succeed only later."""
        waiting = list(range(len(self.cluster)))
        while waiting := [process for process in waiting if not self._resolve(process, flags=0)]:
            time.sleep(RESOLVE_EVERY_S)


def own_interface() -> InterfaceCounts | None:
    """The counters of this process's own interface; None if it shares its host's."""
    try:
        lines = _INTERFACES.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, counts = line.partition(":")
        if name.strip() == INTERFACE:
            # Eight counters of what was received (bytes, packets, errors, ...), then eight of what
            # was sent, in the same order (proc_pid_net(5)).
            numbers = [int(word) for word in counts.split()]
            return InterfaceCounts(
                name=INTERFACE,
                sent_bytes=numbers[8],
                received_bytes=numbers[0],
                sent_packets=numbers[9],
                received_packets=numbers[1],
            )
    return None


def _sums(every: Sequence[Connection]) -> dict[str, Any]:
    """Return the counters of `LinkCounts` over at least one connection between the same tasks.

    Counts are sums since the connections were opened. `retransmitted_bytes` is None if the kernel
    does not report it for all of them. `rtt_ms` is the shortest round trip: it has the least
    queueing in it.
    """
    retransmitted = [connection.retransmitted_bytes for connection in every]
    return {
        "sent_bytes": sum(connection.sent_bytes for connection in every),
        "received_bytes": sum(connection.received_bytes for connection in every),
        "sent_packets": sum(connection.sent_packets for connection in every),
        "received_packets": sum(connection.received_packets for connection in every),
        "retransmitted_bytes": None if None in retransmitted else sum(filter(None, retransmitted)),
        "rtt_ms": min(connection.rtt_ms for connection in every),
    }
