"""A cluster's own network, its links, and what is said where the system refuses them.

Each test asks the system first: where it refuses, the refusal is what is tested.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from strategy_core.cluster.network import isolation
from strategy_core.cluster.network.isolation import Network, lay_network
from strategy_core.processes.namespace_handle import NamespaceHandle
from strategy_profiles.errors import LabError
from strategy_profiles.spec.run_spec import NetworkOptions
from tests.processes import is_living
from tests.timeouts import wait_until

pytestmark = pytest.mark.run
ORDINARY = ("setpriv", "--bounding-set", "-sys_admin,-net_admin")
"""Root without these may do what an ordinary user may."""


def why_refused(options: NetworkOptions) -> str | None:
    """Why this system does not lay such a network, in its own words; None where it does."""
    try:
        with lay_network(options, 2) as network:
            return None if network.namespace_handles[0] else network.notes[0].message
    except LabError as refusal:
        return str(refusal)


@contextmanager
def program(
    namespace_handle: NamespaceHandle | None, *arguments: object
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "tests.strategy_core.cluster.link_program"),
            *(namespace_handle.arguments if namespace_handle else []),
            *map(str, arguments),
        ],
        pass_fds=namespace_handle.namespaces if namespace_handle else (),
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def answer_of(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def send(network: Network, num_bytes: int) -> dict[str, Any]:
    """Process 0 sends process 1 so many bytes; what it measured."""
    host, _, port = network.addresses[1].rpartition(":")
    with program(network.namespace_handles[1], "serve", host, port) as server:
        assert answer_of(server) == {"ready": host}
        with program(network.namespace_handles[0], "call", host, port, num_bytes) as caller:
            sent: dict[str, Any] = answer_of(caller)
            return sent


def test_no_outside_process_reaches_a_contained_cluster() -> None:
    refused = why_refused(NetworkOptions())
    with lay_network(NetworkOptions(), 2) as network:
        if refused:
            assert network.namespace_handles == [None, None]
            assert "open on every interface" in network.notes[0].message
            return
        assert network.notes == []
        host, _, port = network.addresses[1].rpartition(":")
        with program(network.namespace_handles[1], "serve", host, port) as server:
            answer_of(server)
            with pytest.raises(OSError, match="refused"):
                socket.create_connection((host, int(port)), timeout=5).close()
            with program(network.namespace_handles[0], "call", host, port, 1_000_000) as caller:
                assert answer_of(caller)["counted"]["sent_bytes"] >= 1_000_000


def test_each_process_has_an_interface_that_counts_what_its_link_carries() -> None:
    options = NetworkOptions(interfaces=True)
    if why_refused(options):
        with pytest.raises(LabError, match="network namespaces"):
            lay_network(options, 2)
        return
    with lay_network(options, 3) as network:
        assert len(set(network.addresses)) == 3
        sent = send(network, 20_000_000)
    counted, interface = sent["counted"], sent["interface"]
    explained = (
        counted["sent_bytes"] + counted["retransmitted_bytes"] + 66 * interface["sent_packets"]
    )
    assert interface["sent_bytes"] == pytest.approx(explained, rel=0.001)


@pytest.mark.parametrize("delay_ms", [None, 10.0])
def test_a_rate_and_a_delay_are_kept(delay_ms: float | None) -> None:
    options = NetworkOptions(rate_mbit=200, delay_ms=delay_ms)
    if why_refused(options):
        with pytest.raises(LabError, match="network namespaces"):
            lay_network(options, 2)
        return
    with lay_network(options, 2) as network:
        sent = send(network, 5_000_000)
    assert sent["took_s"] >= 5e6 * 8 / 200e6 * 0.9, "no faster than its link"
    if delay_ms:
        assert sent["round_trip_ms"] >= 2 * delay_ms


@pytest.mark.parametrize("delay_ms", [None, 10.0])
def test_a_small_message_over_an_idle_link_takes_what_its_rate_allows(
    delay_ms: float | None,
) -> None:
    options = NetworkOptions(rate_mbit=10, delay_ms=delay_ms)
    if why_refused(options):
        with pytest.raises(LabError, match="network namespaces"):
            lay_network(options, 2)
        return
    with lay_network(options, 2) as network:
        sent = send(network, 90_000)
    assert sent["took_s"] >= 90_000 * 8 / 10e6 * 0.9


def test_an_ordinary_user_gets_a_contained_cluster_or_the_reason() -> None:
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.fail("The test needs setpriv (package util-linux).")
    script = (
        "from strategy_profiles.spec.run_spec import NetworkOptions\n"
        "from strategy_core.cluster.network.isolation import lay_network\n"
        "with lay_network(NetworkOptions(), 2) as network:\n"
        "    handle = network.namespace_handles[0]\n"
        "    print(len(handle.namespaces) if handle else 0)\n"
        "    print([note.message for note in network.notes])\n"
    )
    prefix = ORDINARY if os.geteuid() == 0 else ()
    done = subprocess.run(
        [*prefix, sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
    )
    num_namespaces, notes = done.stdout.splitlines()
    if num_namespaces == "0":
        assert "open on every interface" in notes
    else:
        assert num_namespaces == "2", "a user namespace, and the network in it"
        assert "open on every interface" not in notes


def test_a_killed_launcher_leaves_no_switch_process() -> None:
    options = NetworkOptions(delay_ms=1)
    if why_refused(options):
        with pytest.raises(LabError, match="network namespaces"):
            lay_network(options, 2)
        return
    script = (
        "import os, signal\n"
        "from strategy_profiles.spec.run_spec import NetworkOptions\n"
        "from strategy_core.cluster.network.isolation import lay_network\n"
        "network = lay_network(NetworkOptions(delay_ms=1), 2)\n"
        "import psutil\n"
        "print([child.pid for child in psutil.Process().children()], flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", script],
        check=False,
        capture_output=True,
        text=True,
    )
    (pid,) = json.loads(killed.stdout)
    wait_until(lambda: not is_living(pid))


def test_a_network_that_cannot_be_emulated_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(isolation, "_ask_for", refuse)
    with pytest.raises(LabError, match="Operation not permitted") as refusal:
        lay_network(NetworkOptions(rate_mbit=100), 2)
    assert "network.rate_mbit" in str(refusal.value)
    with lay_network(NetworkOptions(), 2) as network:
        assert network.namespace_handles == [None, None]
        (note,) = network.notes
    assert note.level == "warning"
    assert "Operation not permitted" in note.message
