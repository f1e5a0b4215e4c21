"""Emulated links: interfaces, rates and delays, where the system allows them.

Each test asks the system first: where it refuses, the refusal is what is tested.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from strategy_core.cluster.network.isolation import Network, lay_network
from strategy_profiles.errors import LabError
from strategy_profiles.spec.run_spec import NetworkOptions
from tests.processes import is_living
from tests.strategy_core.cluster.test_isolation import answer_of, program, why_refused
from tests.timeouts import wait_until

pytestmark = pytest.mark.run


def send(network: Network, num_bytes: int) -> dict[str, Any]:
    """Process 0 sends process 1 so many bytes; what it measured."""
    host, _, port = network.addresses[1].rpartition(":")
    with program(network.namespaces[1], "serve", host, port) as server:
        assert answer_of(server) == {"ready": host}
        with program(network.namespaces[0], "call", host, port, num_bytes) as caller:
            sent: dict[str, Any] = answer_of(caller)
            return sent


def test_each_process_has_an_interface_that_counts_what_its_link_carries() -> None:
    options = NetworkOptions(interfaces=True)
    if why_refused(options):
        with pytest.raises(LabError, match="Links cannot be emulated here"):
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
        with pytest.raises(LabError, match="Links cannot be emulated here"):
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
        with pytest.raises(LabError, match="Links cannot be emulated here"):
            lay_network(options, 2)
        return
    with lay_network(options, 2) as network:
        sent = send(network, 90_000)
    assert sent["took_s"] >= 90_000 * 8 / 10e6 * 0.9


def test_a_killed_launcher_leaves_no_switch_process() -> None:
    options = NetworkOptions(delay_ms=1)
    if why_refused(options):
        with pytest.raises(LabError, match="Links cannot be emulated here"):
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
