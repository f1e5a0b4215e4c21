"""Which tasks of a cluster have started, and what a missing one means."""

from __future__ import annotations

import socket

import pytest

from strategy_core.cluster.discovery.peer_probe import (
    PeerProbe,
    PeerProber,
    ProbeTimeouts,
    answers,
    check_own_port,
    silent_peers,
    wait_for_names,
)
from strategy_core.cluster.discovery.task_address import OwnTask, own_task_from_addresses
from strategy_profiles.errors import LabError
from tests.e2e.following import wait_until


def own_task(*addresses: str, own: int = 0, servers: int = 0) -> OwnTask:
    return own_task_from_addresses(addresses, servers, own, "--cluster")


def test_missing_tasks_are_named_at_the_deadline() -> None:
    probe = PeerProbe(own_task("a:1", "b:2", "c:3", own=1), 60.0, now=100.0)
    assert probe.too_late(159.0) is None
    assert probe.missing == "worker 0 (a:1) and worker 2 (c:3)"
    probe.note({2})
    assert probe.too_late(160.0) == "waited 60 s for worker 0 (a:1) without success."


def test_if_all_tasks_answer_the_timeout_names_tensorflow() -> None:
    probe = PeerProbe(own_task("a:1", "b:2"), 60.0, now=0.0)
    probe.note({1})
    assert probe.missing == ""
    assert probe.too_late(59.0) is None
    assert "TensorFlow did not bring them together" in (probe.too_late(60.0) or "")


def test_a_leader_has_left_if_it_answered_before_and_stays_silent() -> None:
    probe = PeerProbe(own_task("a:1", "b:2", "c:3", own=2, servers=1), 60.0, now=0.0)
    for _ in range(10):
        probe.note(set())
    assert not probe.has_leader_come
    assert not probe.has_leader_left
    probe.note({0})
    assert probe.has_leader_come
    for present in (set(), set(), {0}, set(), set(), set()):
        probe.note(present)
        assert not probe.has_leader_left
    probe.note(set())
    assert probe.has_leader_left


def test_ports_are_probed_until_every_task_has_answered() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        where = own_task("127.0.0.1:9", address)
        prober = PeerProber(where, PeerProbe(where, 0.0, now=0.0))
        try:
            wait_until(lambda: not prober.missing)
            assert prober.too_late(1.0) is not None
        finally:
            prober.dismiss()
        assert answers(address)
    assert not answers(address)
    assert not answers("no-such-host.invalid:1")


def test_a_port_in_use_is_refused_before_the_server_starts() -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(LabError, match=f"worker 1 cannot listen on port {port}"):
            check_own_port(own_task("a:1", f"b:{port}", own=1))
    check_own_port(own_task("a:1", f"b:{port}", own=1))


def test_host_names_may_resolve_late_but_not_after_the_timeout() -> None:
    now, known = [0.0], {"a:1"}

    def wait(seconds: float) -> None:
        now[0] += seconds
        if now[0] >= 5:
            known.add("b:2")

    where = own_task("a:1", "b:2")
    wait_for_names(where, 10.0, is_known=known.__contains__, clock=lambda: now[0], wait=wait)
    assert now[0] == 5.0
    with pytest.raises(LabError, match=r"No address was found within 10 s for worker 2 \(c:3\)"):
        wait_for_names(
            own_task("a:1", "b:2", "c:3"),
            10.0,
            is_known=known.__contains__,
            clock=lambda: now[0],
            wait=wait,
        )


def test_connected_peers_have_a_separate_limit_and_are_named() -> None:
    timeouts = ProbeTimeouts(own_task("a:1", "b:2", "c:3", own=1))
    assert timeouts.too_late(None, 1e6, 60.0) is None
    assert timeouts.too_late(100.0, 759.0, 60.0) is None
    assert timeouts.too_late(100.0, 760.0, 60.0) == (
        "waited 660 s without success for worker 0 (a:1) or worker 2 (c:3), which had "
        "connected, to do its part of a step."
    )
    assert "for 30 s waiting for worker 0 (a:1)" in timeouts.sentence(100.0, 130.0)


def test_peers_that_no_longer_answer_are_named() -> None:
    where = own_task("a:1", "b:2", "c:3", own=1)
    assert silent_peers(where, answers=lambda address: address == "a:1") == "worker 2 (c:3)"
    assert silent_peers(where, answers=lambda _: False) == "worker 0 (a:1) and worker 2 (c:3)"
    assert silent_peers(where, answers=lambda _: True) == ""
