"""A cluster's own network, and what is said where the system refuses it.

Each test asks the system first: where it refuses, the refusal is what is tested.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from strategy_core.cluster.network import isolation
from strategy_core.cluster.network.isolation import lay_network
from strategy_core.processes.spawner import enter_arguments
from strategy_profiles.errors import LabError
from strategy_profiles.spec.run_spec import NetworkOptions

pytestmark = pytest.mark.run
ORDINARY = ("setpriv", "--bounding-set", "-sys_admin,-net_admin")
"""Root without these may do what an ordinary user may."""


def why_refused(options: NetworkOptions) -> str | None:
    """Why this system does not lay such a network, in its own words; None where it does."""
    try:
        with lay_network(options, 2) as network:
            return None if network.namespaces[0] else network.notes[0].message
    except LabError as refusal:
        return str(refusal)


@contextmanager
def program(namespaces: Sequence[int], *arguments: object) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "tests.strategy_core.cluster.link_program"),
            *enter_arguments(namespaces),
            *map(str, arguments),
        ],
        pass_fds=namespaces,
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


def test_no_outside_process_reaches_a_contained_cluster() -> None:
    refused = why_refused(NetworkOptions())
    with lay_network(NetworkOptions(), 2) as network:
        if refused:
            assert network.namespaces == [(), ()]
            assert "open on every interface" in network.notes[0].message
            return
        assert network.notes == []
        host, _, port = network.addresses[1].rpartition(":")
        with program(network.namespaces[1], "serve", host, port) as server:
            answer_of(server)
            with pytest.raises(OSError, match="refused"):
                socket.create_connection((host, int(port)), timeout=5).close()
            with program(network.namespaces[0], "call", host, port, 1_000_000) as caller:
                assert answer_of(caller)["counted"]["sent_bytes"] >= 1_000_000


def test_an_ordinary_user_gets_a_contained_cluster_or_the_reason() -> None:
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.fail("The test needs setpriv (package util-linux).")
    script = (
        "from strategy_profiles.spec.run_spec import NetworkOptions\n"
        "from strategy_core.cluster.network.isolation import lay_network\n"
        "with lay_network(NetworkOptions(), 2) as network:\n"
        "    print(len(network.namespaces[0]))\n"
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


def test_a_network_that_is_refused_has_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(isolation, "_ask_for", refuse)
    with pytest.raises(LabError, match="Operation not permitted") as refusal:
        lay_network(NetworkOptions(rate_mbit=100), 2)
    assert "network.rate_mbit" in str(refusal.value)
    with lay_network(NetworkOptions(), 2) as network:
        assert network.namespaces == [(), ()]
        (note,) = network.notes
    assert note.level == "warning"
    assert "Operation not permitted" in note.message


def test_without_a_package_that_emulates_links_none_are_emulated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(isolation, "registered", lambda _group: {})
    with pytest.raises(LabError, match="no installed package emulates links"):
        lay_network(NetworkOptions(delay_ms=1), 2)
