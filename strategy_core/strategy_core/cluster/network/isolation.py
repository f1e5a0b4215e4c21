"""The network of a local cluster: a separate one if the system allows it.

TensorFlow's servers listen on every interface and do not authenticate clients. So a local cluster
gets a network namespace: only its own processes reach its ports, and they reach nothing else. If
links are emulated, which a package does (entry points of the group `strategy_lab.links`), each
process gets its own namespace and interface.

    with lay_network(spec, 3) as network:
        spawner.spawn(network.namespaces[0])  # the worker enters before any import

The namespaces have no names. They exist while this process holds their descriptors or a process is
inside, so they disappear even if the launcher is killed.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Self

from strategy_core.cluster.network.ports import reserved_ports
from strategy_core.processes import protocol
from strategy_core.processes.import_path import module_command, with_own_code
from strategy_profiles.errors import LabError
from strategy_profiles.registered import registered
from strategy_profiles.run.events import Note
from strategy_profiles.spec.run_spec import NetworkOptions

LOCAL_HOST = "127.0.0.1"
_FIRST_PORT = 2222
_ANSWER_WITHIN_S = 30.0
_MAX_DESCRIPTORS = 250


@dataclass
class Network:
    """The network addresses of a cluster's processes, by process number; open until they have
    ended."""

    addresses: list[str]
    namespaces: list[tuple[int, ...]]
    """Open descriptors of those that each process enters; none: it is in the launcher's network."""
    profilers: list[str] = field(default_factory=list)
    """A second address for each process."""
    notes: list[Note] = field(default_factory=list)
    held: ExitStack = field(default_factory=ExitStack)
    ports: ExitStack = field(default_factory=ExitStack)
    """Sockets that reserve the ports until the servers bind them."""

    def let_ports_go(self) -> None:
        self.ports.close()

    def close(self) -> None:
        self.ports.close()
        self.held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def lay_network(options: NetworkOptions, num_processes: int) -> Network:
    """The network of a local cluster; raises LabError if links cannot be emulated."""
    if not options.contain and not options.emulates:
        return _open_network(num_processes, "network.contain is false")
    try:
        return _own_network(options, num_processes)
    except OSError as error:
        why = error.strerror or str(error)
        if options.emulates:
            raise LabError(
                f"Links cannot be emulated here: {why}",
                advice="Emulated links need network namespaces: run on Linux as root or where "
                "user namespaces are allowed, or leave network.rate_mbit, network.delay_ms and "
                "network.interfaces out",
            ) from error
        return _open_network(num_processes, why)


@functools.cache
def why_not_emulated() -> str | None:
    """Why this machine cannot emulate links; None if it can. Determined once, by trying."""
    return _why_not(NetworkOptions(rate_mbit=1000))


@functools.cache
def why_not_contained() -> str | None:
    """Why a cluster on this machine gets no separate network; None if it gets one.

    Determined once, by trying.
    """
    return _why_not(NetworkOptions())


def _why_not(options: NetworkOptions) -> str | None:
    try:
        _own_network(options, 1).close()
    except OSError as error:
        return error.strerror or str(error)
    return None


def _open_network(num_processes: int, why: str) -> Network:
    """Ports of this host, reserved until the cluster's servers bind them."""
    with ExitStack() as held:
        reserved = held.enter_context(reserved_ports(2 * num_processes))
        ports, second = reserved[:num_processes], reserved[num_processes:]
        said = (
            "The cluster's ports are open on every interface of this host: TensorFlow's "
            "servers do not authenticate clients, and the cluster has no network of its own "
            f"({why})"
        )
        return Network(
            [f"{LOCAL_HOST}:{port}" for port in ports],
            [()] * num_processes,
            [f"{LOCAL_HOST}:{port}" for port in second],
            [Note("warning", said, {"ports": ports})],
            ports=held.pop_all(),
        )


def _own_network(options: NetworkOptions, num_processes: int) -> Network:
    """A separate network. Raises OSError if the system does not allow it."""
    with ExitStack() as held:
        user, networks, hosts = _ask_for(options, num_processes, held)
        namespaces = [tuple(fd for fd in (user, network) if fd is not None) for network in networks]
        endpoints = [(host, _FIRST_PORT) for host in hosts]
        if not hosts:
            endpoints = [(LOCAL_HOST, _FIRST_PORT + process) for process in range(num_processes)]
            namespaces = namespaces * num_processes
        addresses = [f"{host}:{port}" for host, port in endpoints]
        profilers = [f"{host}:{port + num_processes}" for host, port in endpoints]
        return Network(addresses, namespaces[:num_processes], profilers, [], held.pop_all())


def _helper_of(options: NetworkOptions) -> str:
    """The module of the helper that lays the network; raises OSError."""
    if not options.emulates:
        return "strategy_core.cluster.network.setup_helper"
    for emulator in registered("links").values():
        return emulator.value
    raise OSError("no installed package emulates links")


def _ask_for(
    options: NetworkOptions, num_processes: int, held: ExitStack
) -> tuple[int | None, Sequence[int], list[str]]:
    """Start the helper. Returns descriptors of the user namespace, if any, and of the networks,
    and the addresses of processes that have one of their own."""
    wanted = {"num_processes": num_processes} | options.model_dump()
    command = module_command(_helper_of(options))
    if sys.platform != "linux":
        raise OSError(f"{sys.platform} has no network namespaces")
    ours, theirs = socket.socketpair()
    with theirs:
        helper = subprocess.Popen(
            [*command, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=with_own_code(os.environ),
        )
    held.callback(_end, helper)
    held.enter_context(ours)  # closed first on exit, which ends a helper that stayed as the switch
    ours.settimeout(_ANSWER_WITHIN_S)
    ours.sendall(json.dumps(wanted).encode())
    data, descriptors, _, _ = socket.recv_fds(ours, 4096, _MAX_DESCRIPTORS)
    for descriptor in descriptors:
        held.callback(os.close, descriptor)
    answer = protocol.parse_line(data)
    if "networks" not in answer:
        raise OSError(answer.get("error", "the helper that sets up the network ended early"))
    user = descriptors[0] if answer["user"] else None
    return user, descriptors[1:] if answer["user"] else descriptors, answer["hosts"]


def _end(helper: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        helper.wait(1)
    helper.kill()
    helper.wait()
