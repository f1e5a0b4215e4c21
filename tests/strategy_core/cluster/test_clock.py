"""Messages between workers find how far their clocks are apart, whatever the way does to them."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_core.cluster.tasks import Cluster, Task
from strategy_core.cluster.telemetry import clock, clock_exchange
from strategy_core.cluster.telemetry.clock import (
    ClockFollower,
    ClockServer,
    Waiting,
    join_clock,
    measured,
)
from strategy_core.cluster.telemetry.clock_exchange import Exchange
from strategy_profiles.run.events import ClockMeasured, Note
from tests.timeouts import wait_until

MS = 1_000_000
TOKEN = clock_exchange.token_of("this run")
PLANTED_MS = 50
DRIFT = 2e-3
"""Far more than any clock drifts, so that a second shows it."""


def exchange(offset_ns: int, there_ns: int, back_ns: int, answering_ns: int = 0) -> Exchange:
    """What both sides read where the reference is ahead by `offset_ns`."""
    sent_ns = 10**18
    received_ns = sent_ns + offset_ns + there_ns
    answered_ns = received_ns + answering_ns
    return Exchange(sent_ns, received_ns, answered_ns, answered_ns - offset_ns + back_ns)


ways = st.integers(0, 10**10)


@given(st.integers(-(10**15), 10**15), ways, ways, ways)
def test_the_error_is_at_most_half_the_round_trip(
    offset_ns: int, there_ns: int, back_ns: int, answering_ns: int
) -> None:
    measured_once = exchange(offset_ns, there_ns, back_ns, answering_ns)
    assert measured_once.round_trip_ns == there_ns + back_ns
    assert abs(measured_once.offset_ns - offset_ns) <= measured_once.uncertainty_ns
    assert measured_once.uncertainty_ns <= measured_once.round_trip_ns // 2 + 1


@given(st.lists(st.tuples(ways, ways), min_size=1, max_size=20))
def test_the_fastest_exchange_of_a_burst_counts(delays: list[tuple[int, int]]) -> None:
    event = measured([exchange(7 * MS, *pair) for pair in delays], 0, "no answer")
    assert event.round_trip_ns == min(there + back for there, back in delays)
    assert event.offset_ns is not None
    assert abs(event.offset_ns - 7 * MS) <= (event.uncertainty_ns or 0)
    assert event.num_exchanges == len(delays)


def test_an_exchange_during_which_the_clock_was_set_does_not_count() -> None:
    assert measured([exchange(0, -5 * MS, 0)], 3, "no answer").reason == "no answer"
    assert measured([], 3, "no answer").offset_ns is None


def test_a_silent_leader_is_reported_once_after_a_delay() -> None:
    lost, answered = measured([], 0, "no answer"), measured([exchange(0, 1, 1)], 0, "")
    waiting = Waiting(100.0)
    assert [waiting.is_news(lost, s) for s in (100.0, 109.0, 110.0, 120.0)] == [0, 0, 1, 0]
    assert waiting.is_news(answered, 121.0)
    assert waiting.was_answered
    assert not waiting.is_news(lost, 200.0)


def cluster_at(port: int) -> Cluster:
    """Two workers, the first of them at a port of this host."""
    tasks = [Task("worker", 0, f"127.0.0.1:{port}"), Task("worker", 1, "127.0.0.1:1")]
    return Cluster(tuple(tasks))


@pytest.fixture
def server() -> Iterator[ClockServer]:
    made = ClockServer("127.0.0.1", 0, TOKEN)
    yield made
    made.close()


def first(follower: ClockFollower, is_wanted: Callable[[ClockMeasured], bool]) -> ClockMeasured:
    """The first event that is wanted; a machine under load may take its time."""
    events: list[ClockMeasured] = []

    def has_event() -> bool:
        for event in follower.take_events():
            assert isinstance(event, ClockMeasured)
            if is_wanted(event):
                events.append(event)
        return events != []

    wait_until(has_event)
    return events[0]


def test_the_measured_offset_on_one_host_is_zero(server: ClockServer) -> None:
    assert server.port is not None
    follower = ClockFollower("127.0.0.1", server.port, TOKEN, every_s=0.01)
    try:
        estimate = first(follower, lambda e: (e.uncertainty_ns or 2 * MS) < MS)
    finally:
        follower.close()
    assert estimate.offset_ns is not None
    assert estimate.uncertainty_ns is not None
    assert abs(estimate.offset_ns) <= estimate.uncertainty_ns < MS


def test_a_planted_offset_and_drift_are_found(server: ClockServer) -> None:
    began_ns = time.time_ns()

    def behind() -> int:
        """A clock that lags, and falls back further."""
        now_ns = time.time_ns()
        return now_ns - PLANTED_MS * MS - int(DRIFT * (now_ns - began_ns))

    assert server.port is not None
    follower = ClockFollower("127.0.0.1", server.port, TOKEN, clock=behind, every_s=0.01)
    try:
        for _ in range(5):
            estimate = first(follower, lambda e: (e.uncertainty_ns or MS) < 500_000)
            truth = PLANTED_MS * MS + DRIFT * (estimate.measured_ns - began_ns + PLANTED_MS * MS)
            assert estimate.offset_ns == pytest.approx(truth, rel=0.05)
    finally:
        follower.close()


def test_strangers_are_not_answered(server: ClockServer) -> None:
    assert server.port is not None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", server.port))
        for data in (b"", b"x" * 40, clock_exchange.pack(clock_exchange.token_of("other"), 1)):
            sock.send(data)
        own = clock_exchange.pack(TOKEN, 7)
        sock.send(own)
        sock.settimeout(60)
        answer = sock.recv(100)
    # The first answer is to the only question of this run.
    assert clock_exchange.unpack(answer, TOKEN)[0] == 7  # type: ignore[index]
    assert len(answer) == len(own)


def test_a_clock_port_in_use_is_noted_and_the_run_continues() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        server = join_clock(cluster_at(port), 0)
        events = server.take_events()
        server.close()
    assert [type(event) for event in events] == [Note]
    assert server.take_events() == []


@pytest.mark.slow
def test_an_unreachable_leader_is_recorded_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "UNANSWERED_S", 0.0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        follower = join_clock(cluster_at(silent.getsockname()[1]), 1)
        assert isinstance(follower, ClockFollower)
        try:
            event = first(follower, lambda e: e.offset_ns is None)
        finally:
            follower.close()
    assert "did not answer on UDP port" in (event.reason or "")


def test_a_run_joins_by_its_cluster_alone() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        cluster = cluster_at(free.getsockname()[1])
    reference, other = join_clock(cluster, 0), join_clock(cluster, 1)
    try:
        assert isinstance(other, ClockFollower)
        assert first(other, lambda e: e.offset_ns is not None).reference == 0
    finally:
        reference.close()
        other.close()


def test_closing_ends_the_threads(server: ClockServer) -> None:
    assert server.port is not None
    follower = ClockFollower("127.0.0.1", server.port, TOKEN)
    first(follower, lambda e: e.offset_ns is not None)
    follower.close()
    wait_until(lambda: all(each.name != "clock-follower" for each in threading.enumerate()))
