"""One clock for a cluster: every worker measures its clock's offset to that of worker 0.

    clock = join_clock(cluster, process=1)
    for event in clock.take_events(): ...    # between steps
    clock.close()

The exchange uses UDP on the port number of the leader's gRPC server. That one is TCP, so the two do
not collide, and a cluster that knows its leader's address needs no further setting. It runs beside
the training: a few datagrams every two seconds, of which the fastest exchange counts.

What was tried instead, where the true offset was 0: `tf.timestamp` on the other worker's device was
0.1 to 0.4 ms off. The bounds that the starts and ends of all-reduces give were 0.25 +- 0.46 ms off
on loopback, and 7 +- 20 ms with a link that delays by 5 ms; they only check the clock
(`strategy_profiles.analysis.clocks`). The quickest of 300 datagrams there and back was 0.02 ms off.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence

from strategy_core.cluster.tasks import Cluster
from strategy_core.cluster.telemetry import clock_exchange as wire
from strategy_core.cluster.telemetry.clock_exchange import Clock, Exchange
from strategy_profiles.run.events import ClockMeasured, Event, Note

REFERENCE = 0
"""The worker whose clock is the reference."""
SOURCE = "udp"
EVERY_S = 2.0
FIRST_EVERY_S = 0.25
"""Interval between bursts until the leader has answered once."""
IN_BURST = 16
APART_S = 0.004
"""Interval between two questions: a delay of one, such as another thread's turn, is over by
then."""
ANSWER_WITHIN_S = 1.0
"""Longer than the round trip of any usable link, including emulated ones."""
UNANSWERED_S = 10.0
"""A leader that does not answer is reported after this time: until then it may be starting."""


def join_clock(cluster: Cluster, process: int) -> ClockServer | ClockFollower:
    """The clock of a process of a run.

    Never raises: a failure becomes an event, and the training continues without a common clock.
    """
    host, _, port = cluster.tasks[REFERENCE].address.rpartition(":")
    host = host.strip("[]")
    # A secret shared by all processes of the run; other runs and strangers do not know it.
    token = wire.token_of(cluster.tf_config(REFERENCE))
    if process == REFERENCE:
        return ClockServer(host, int(port), token)
    return ClockFollower(host, int(port), token)


class ClockServer:
    """Answers every question of this run with the times at which it arrived and was answered."""

    def __init__(self, host: str, port: int, token: bytes) -> None:
        self._token = token
        self._stop = threading.Event()
        self._events: list[Event] = []
        self._socket: socket.socket | None = None
        self.port: int | None = None
        """The port it listens on (0 asks for any free port); None if it cannot listen."""
        try:
            self._socket = _bound(host, port)
        except OSError as error:
            self._events.append(Note("warning", _unheard(port, error)))
            return
        self.port = int(self._socket.getsockname()[1])
        threading.Thread(target=self._answer_all, name="clock-server", daemon=True).start()

    def take_events(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        self._stop.set()

    def _answer_all(self) -> None:
        assert self._socket is not None
        with self._socket as sock:
            while not self._stop.is_set():
                # An error here concerns an earlier answer that was not received: its sender is
                # gone.
                with contextlib.suppress(OSError):
                    self._answer(sock)

    def _answer(self, sock: socket.socket) -> None:
        data, sender, received_ns = wire.receive(sock, time.time_ns)
        request = wire.unpack(data, self._token)
        if request is not None:
            answer = wire.pack(self._token, request[0], received_ns, time.time_ns())
            sock.sendto(answer, sender)


class ClockFollower:
    """Measures the offset to the reference in bursts, in its own thread, until the run ends."""

    def __init__(
        self,
        host: str,
        port: int,
        token: bytes,
        *,
        clock: Clock = time.time_ns,
        every_s: float = EVERY_S,
    ) -> None:
        self._address = host, port
        self._token = token
        self._clock = clock
        self._every_s = every_s
        self._stop = threading.Event()
        self._events: deque[Event] = deque()
        self._number = 0
        threading.Thread(target=self._follow, name="clock-follower", daemon=True).start()

    def take_events(self) -> list[Event]:
        # Taken one by one until none is left: `popleft` is atomic, and the follower's thread may
        # append at any time. A list that is read and then cleared could lose an event.
        events: list[Event] = []
        with contextlib.suppress(IndexError):
            while True:
                events.append(self._events.popleft())
        return events

    def close(self) -> None:
        self._stop.set()  # does not wait for the thread, which may be waiting for an answer

    def _follow(self) -> None:
        waited = Waiting(time.monotonic())
        while not self._stop.is_set():
            event = self._measure()
            if waited.is_news(event, time.monotonic()):
                self._events.append(event)
            self._stop.wait(self._every_s if waited.was_answered else FIRST_EVERY_S)

    def _measure(self) -> ClockMeasured:
        host, port = self._address
        reason = f"worker {REFERENCE} did not answer on UDP port {port} of {host}"
        exchanges: list[Exchange] = []
        try:
            # Resolved every time: the leader's name may appear late, and its address may change.
            for family, *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM):
                with socket.socket(family, socket.SOCK_DGRAM) as sock:
                    sock.settimeout(ANSWER_WITHIN_S)
                    # A connected UDP socket receives from this address only, and a port without
                    # a server raises ConnectionRefusedError instead of a timeout.
                    sock.connect(address)
                    wire.ask_for_arrivals(sock)
                    exchanges = list(self._burst(sock))
                if exchanges:
                    break
        except OSError as error:
            reason = f"UDP to {host}:{port}: {error.strerror or error}"
        return measured(exchanges, self._clock(), reason)

    def _burst(self, sock: socket.socket) -> Iterator[Exchange]:
        """Ask `IN_BURST` times; ends early if the first questions are not answered."""
        num_lost = 0
        for _ in range(IN_BURST):
            if self._stop.wait(APART_S):
                return
            exchange = self._exchange(sock)
            if exchange is not None:
                yield exchange
                continue
            num_lost += 1
            if num_lost >= 3:
                return

    def _exchange(self, sock: socket.socket) -> Exchange | None:
        """Ask one question; None if the answer does not arrive in time."""
        self._number += 1
        until = time.monotonic() + ANSWER_WITHIN_S
        sent_ns = self._clock()
        try:
            sock.send(wire.pack(self._token, self._number))
            while time.monotonic() < until:
                data, _, returned_ns = wire.receive(sock, self._clock)
                answer = wire.unpack(data, self._token)
                # not an answer to an earlier question
                if answer is not None and answer[0] == self._number:
                    return Exchange(sent_ns, answer[1], answer[2], returned_ns)
        except (TimeoutError, ConnectionError):  # no server listens there (yet)
            pass
        return None


class Waiting:
    """Selects the measurements to record.

    These are all that succeeded and, once, the failure to get any for `UNANSWERED_S`.
    """

    def __init__(self, now_s: float) -> None:
        self.was_answered = False
        self._since_s = now_s
        self._was_reported = False

    def is_news(self, event: ClockMeasured, now_s: float) -> bool:
        if event.offset_ns is not None:
            self.was_answered = True
            return True
        is_late = now_s - self._since_s >= UNANSWERED_S
        is_first = is_late and not self._was_reported and not self.was_answered
        self._was_reported = self._was_reported or is_first
        return is_first


def measured(exchanges: Sequence[Exchange], now_ns: int, reason: str) -> ClockMeasured:
    """The event of a burst; `reason` says why the offset is unknown."""
    best = wire.quickest(exchanges)
    if best is None:
        return ClockMeasured(REFERENCE, now_ns, None, None, None, len(exchanges), SOURCE, reason)
    return ClockMeasured(
        reference=REFERENCE,
        measured_ns=(best.sent_ns + best.returned_ns) // 2,
        offset_ns=best.offset_ns,
        uncertainty_ns=best.uncertainty_ns,
        round_trip_ns=best.round_trip_ns,
        num_exchanges=len(exchanges),
        source=SOURCE,
    )


def _bound(host: str, port: int) -> socket.socket:
    """A socket for the workers' questions, on loopback only if the leader's address is there."""
    if host in ("localhost", "::1") or host.startswith("127."):
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
        address = host if ":" in host else "127.0.0.1"
    else:
        # All interfaces: the address by which others know this host may not be one of its own.
        is_dual = socket.has_dualstack_ipv6()
        sock = socket.socket(socket.AF_INET6 if is_dual else socket.AF_INET, socket.SOCK_DGRAM)
        if is_dual:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)  # IPv4 callers, too
        address = ""
    try:
        sock.bind((address, port))
        sock.settimeout(0.5)  # how late the thread that answers notices `close`
        wire.ask_for_arrivals(sock)
    except OSError:
        sock.close()
        raise
    return sock


def _unheard(port: int, error: OSError) -> str:
    return (
        f"The clocks of workers on other hosts are not measured: UDP port {port} cannot be "
        f"listened on ({error.strerror or error})."
    )
