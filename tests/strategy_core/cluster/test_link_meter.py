"""Bytes between processes as the kernel counts them, and whose they are."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace

from strategy_core.cluster.tasks import Cluster, Task
from strategy_core.cluster.telemetry.link_meter import LinkMeter
from strategy_core.cluster.telemetry.tcp_info import Connection, connections, why_unavailable
from tests.timeouts import wait_until

SENT = 3_000_000
THREE = Cluster(tuple(Task("worker", i, f"10.0.0.{i + 1}:2222") for i in range(3)))
SHARED = Cluster(tuple(Task("worker", i, f"127.0.0.1:{2222 + i}") for i in range(3)))
SOME = Connection(1, ("10.0.0.1", 40_000), ("10.0.0.2", 2222), 100, 7, 3, 2, 0, 0.5)


def test_a_connections_bytes_are_counted_at_both_ends() -> None:
    assert why_unavailable() is None
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
    with client, accepted:
        sender = threading.Thread(target=client.sendall, args=(b"x" * SENT,))
        sender.start()
        received = 0
        while received < SENT:
            received += len(accepted.recv(1 << 16))
        sender.join()
        accepted.sendall(b"thanks")
        assert client.recv(6) == b"thanks"
        by_address = {connection.local: connection for connection in connections()}
        there, accepted_side = by_address[client.getsockname()], by_address[accepted.getsockname()]
    assert there.remote == accepted_side.local
    # Opening and closing a connection count as a byte each.
    assert SENT <= there.sent_bytes <= SENT + 2
    assert SENT <= accepted_side.received_bytes <= SENT + 2
    assert 6 <= there.received_bytes <= 8
    assert there.sent_packets > 0
    assert there.rtt_ms > 0


def test_reading_a_sockets_counters_leaves_its_blocking_mode() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(True)
        connections()
        assert server.getblocking()
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
    with client, accepted:
        connections()
        client.sendall(b"still open")
        assert accepted.recv(10) == b"still open"


def test_a_default_socket_timeout_is_the_reason_for_missing_counters() -> None:
    socket.setdefaulttimeout(5)
    try:
        counted = LinkMeter(THREE, 0).count(0, 1)
    finally:
        socket.setdefaulttimeout(None)
    assert counted.links == []
    assert "setdefaulttimeout" in (counted.reason or "")


def test_a_link_is_identified_by_the_process_that_opened_it() -> None:
    called = replace(SOME, cookie=2, local=("10.0.0.1", 2222), remote=("10.0.0.3", 51_000))
    meter = LinkMeter(THREE, 0, read=lambda: [SOME, called])
    links = {(link.peer, link.opened): link for link in meter.count(0, 1).links}
    assert set(links) == {(1, True), (2, False)}
    assert links[1, True].sent_bytes == 100
    assert links[1, True].received_bytes == 7


def test_on_a_shared_address_only_the_called_peer_is_known() -> None:
    opened = replace(SOME, local=("127.0.0.1", 40_000), remote=("127.0.0.1", 2224))
    called = replace(SOME, cookie=2, local=("127.0.0.1", 2222), remote=("127.0.0.1", 41_000))
    elsewhere = replace(SOME, cookie=3, local=("10.1.1.1", 42_000), remote=("93.184.216.34", 443))
    meter = LinkMeter(SHARED, 0, read=lambda: [opened, called, elsewhere])
    peers = {(link.peer, link.opened) for link in meter.count(0, 1).links}
    assert peers == {(2, True), (None, False), (None, True)}


def test_the_bytes_of_a_closed_connection_stay_counted() -> None:
    alive = [SOME, replace(SOME, cookie=2, sent_bytes=50)]
    meter = LinkMeter(THREE, 0, read=lambda: alive)
    assert meter.count(0, 1).links[0].sent_bytes == 150
    alive.pop()
    alive.append(replace(SOME, cookie=3, sent_bytes=1))
    assert meter.count(0, 2).links[0].sent_bytes == 151


def test_a_system_without_counters_is_recorded_with_the_reason() -> None:
    counted = LinkMeter(THREE, 0, why_not=lambda: "this system does not tell").count(3, 4)
    assert (counted.segment, counted.step, counted.links) == (3, 4, [])
    assert counted.reason == "this system does not tell"


def test_a_peer_given_by_host_name_is_recognised() -> None:
    named = Cluster((Task("worker", 0, "localhost:2222"), Task("worker", 1, "localhost:2223")))
    opened = replace(SOME, local=("127.0.0.1", 40_000), remote=("127.0.0.1", 2223))
    meter = LinkMeter(named, 0, read=lambda: [opened])
    wait_until(lambda: meter.count(0, 1).links[0].peer is not None)
    assert meter.count(0, 1).links[0].peer == 1
