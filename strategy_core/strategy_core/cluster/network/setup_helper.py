"""The helper process that sets up a cluster's network: creates the namespaces and sends them.

    python -m strategy_core.cluster.network.setup_helper DESCRIPTOR      one end of a socket pair

It receives a request (`NetworkSetup`) as one JSON line and answers with one line and the
namespaces' descriptors: `{"user": true, "networks": 3}`, or `{"error": ...}`. It is a separate
process because only a process with a single thread can create a user namespace. To delay frames, it
keeps running as the switch.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from strategy_core.cluster.network import namespaces
from strategy_core.cluster.network.link_emulator import LEAST_QUEUE_BYTES, QUEUE_S, Switch, open_tap

INTERFACE = "lab0"
"""A worker's own interface, in its own namespace."""
_BURST_S = 0.001
_LEAST_BURST_BYTES = 2 * 1514
"""What an idle link lets through at once: two frames, or what it carries in 1 ms. With 128 KiB, a
message of 95 kB crossed a link of 5 Mb/s in 0.5 ms instead of 152 ms. With what a link carries in
0.2 ms, one of 1 Gb/s carried half as much, because the kernel's timers were late."""
SEARCHED = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
"""Search path for programs: an ordinary user's PATH often omits the folder of `tc`."""


@dataclass(frozen=True, slots=True)
class NetworkSetup:
    """The requested network."""

    num_interfaces: int
    """One namespace with an interface for each process; 0: one namespace that all processes
    share."""
    rate_mbit: float | None = None
    delay_ms: float | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def address(process: int) -> str:
    """The IPv4 address of a process that has an interface of its own."""
    return f"10.0.{(process + 1) // 250}.{(process + 1) % 250}"


def main(argv: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    control = socket.socket(fileno=int(arguments[0]))
    setup = NetworkSetup(**json.loads(control.recv(4096)))
    try:
        made, switch = _lay(setup)
    except (OSError, subprocess.CalledProcessError) as error:
        control.sendall(json.dumps({"error": _why(error)}).encode())
        return 1
    user, networks = made
    answer = {"user": user is not None, "networks": len(networks)}
    fds = [fd for fd in (user, *networks) if fd is not None]
    socket.send_fds(control, [json.dumps(answer).encode()], fds)
    for fd in fds:
        os.close(fd)
    if switch is not None:
        switch.run_until_closed(control)
    return 0


Made = tuple[int | None, list[int]]
"""A descriptor of the user namespace, if one was created, and those of the networks."""


def _lay(setup: NetworkSetup) -> tuple[Made, Switch | None]:
    user = namespaces.current("user") if namespaces.make_private() else None
    namespaces.bring_up("lo")
    hub = namespaces.current("net")
    if not setup.num_interfaces:
        return (user, [hub]), None
    _check_tools(setup)
    spokes = [namespaces.make_another() for _ in range(setup.num_interfaces)]
    if setup.delay_ms:
        return (user, spokes), _connect_by_switch(spokes, setup)
    _connect_by_bridge(hub, spokes, setup)
    return (user, [*spokes, hub]), None  # the hub last: its holder keeps the bridge alive


def _connect_by_bridge(hub: int, spokes: Sequence[int], setup: NetworkSetup) -> None:
    """Connect each namespace to a bridge in the hub by a veth pair; both ends send at the rate."""
    namespaces.enter([hub])
    lines = ["link add name bridge type bridge", "link set bridge up"]
    for number, spoke in enumerate(spokes):
        far = f"/proc/{os.getpid()}/fd/{spoke}"
        lines.append(f"link add port{number} type veth peer name {INTERFACE} netns {far}")
        lines.append(f"link set port{number} master bridge up")
    _ip(lines)
    if setup.rate_mbit:
        for number in range(len(spokes)):
            _limit(f"port{number}", setup.rate_mbit)
    for number, spoke in enumerate(spokes):
        _set_up(spoke, number)
        if setup.rate_mbit:
            _limit(INTERFACE, setup.rate_mbit)


def _connect_by_switch(spokes: Sequence[int], setup: NetworkSetup) -> Switch:
    """A TAP device in each namespace; this process forwards the frames."""
    taps = []
    for number, spoke in enumerate(spokes):
        namespaces.enter([spoke])
        taps.append(open_tap(INTERFACE))
        _set_up(spoke, number)
    return Switch(taps, setup.rate_mbit, setup.delay_ms or 0.0)


def _set_up(spoke: int, number: int) -> None:
    namespaces.enter([spoke])
    namespaces.bring_up("lo")
    _ip(
        [
            f"link set {INTERFACE} addrgenmode none",  # IPv6 frames would only be noise
            f"addr add {address(number)}/16 dev {INTERFACE}",
            f"link set {INTERFACE} up",
        ]
    )


def _limit(interface: str, rate_mbit: float) -> None:
    bytes_per_s = rate_mbit * 1e6 / 8
    burst = max(_LEAST_BURST_BYTES, int(bytes_per_s * _BURST_S))
    queue = max(LEAST_QUEUE_BYTES, int(bytes_per_s * QUEUE_S))
    shape = f"rate {rate_mbit:g}mbit burst {burst} limit {queue}"
    _run(["tc", "qdisc", "replace", "dev", interface, "root", "tbf", *shape.split()])


def _ip(lines: Sequence[str]) -> None:
    _run(["ip", "-batch", "-"], "\n".join(lines) + "\n")


def _run(command: Sequence[str], text: str = "") -> None:
    environment = os.environ | {"PATH": SEARCHED}
    subprocess.run(command, input=text, text=True, capture_output=True, check=True, env=environment)


def _check_tools(setup: NetworkSetup) -> None:
    for tool in ("ip", "tc") if setup.rate_mbit else ("ip",):
        if shutil.which(tool, path=SEARCHED) is None:
            raise FileNotFoundError(2, f"the program {tool} is not there (package iproute2)")


def _why(error: OSError | subprocess.CalledProcessError) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        said = str(error.stderr).strip().partition("\n")[0]
        return f"{error.cmd[0]}: {said or error}"
    where = f" ({error.filename})" if error.filename else ""
    return f"{error.strerror or error}{where}"


if __name__ == "__main__":
    sys.exit(main())
