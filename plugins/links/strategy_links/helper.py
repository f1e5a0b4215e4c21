"""The helper process that lays a network of emulated links, as `setup_helper` of the kernel.

    python -m strategy_links.helper DESCRIPTOR      one end of a socket pair

Each process of the run gets a namespace with an interface. To delay frames, this process keeps
running as the switch.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from strategy_core.cluster.network import namespaces
from strategy_core.cluster.network.namespaces import INTERFACE
from strategy_core.cluster.network.setup_helper import Laid, own_network, serve
from strategy_links.switch import LEAST_QUEUE_BYTES, QUEUE_S, Switch, open_tap

_BURST_S = 0.001
_LEAST_BURST_BYTES = 2 * 1514
"""What an idle link lets through at once: two frames, or what it carries in 1 ms. With 128 KiB, a
message of 95 kB crossed a link of 5 Mb/s in 0.5 ms instead of 152 ms. With what a link carries in
0.2 ms, one of 1 Gb/s carried half as much, because the kernel's timers were late."""
_SEARCHED = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
"""Search path for programs: an ordinary user's PATH often omits the folder of `tc`."""


class _Setup(NamedTuple):
    """The requested network."""

    num_processes: int
    rate_mbit: float | None
    delay_ms: float | None


def lay(request: Mapping[str, Any]) -> Laid:
    """Create the namespaces and connect them; raises OSError."""
    setup = _Setup(*(request[name] for name in _Setup._fields))
    _check_tools(setup)
    hub = own_network({})
    spokes = [namespaces.make_another() for _ in range(setup.num_processes)]
    hosts = [_address(number) for number in range(setup.num_processes)]
    if setup.delay_ms:
        switch = _connect_by_switch(spokes, setup)
        return Laid(hub.user, spokes, hosts, switch.run_until_closed)
    _connect_by_bridge(hub.networks[0], spokes, setup)
    # The hub last: its holder keeps the bridge alive.
    return Laid(hub.user, [*spokes, *hub.networks], hosts)


def _address(process: int) -> str:
    return f"10.0.{(process + 1) // 250}.{(process + 1) % 250}"


def _connect_by_bridge(hub: int, spokes: Sequence[int], setup: _Setup) -> None:
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


def _connect_by_switch(spokes: Sequence[int], setup: _Setup) -> Switch:
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
            f"addr add {_address(number)}/16 dev {INTERFACE}",
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
    environment = os.environ | {"PATH": _SEARCHED}
    try:
        subprocess.run(
            command, input=text, text=True, capture_output=True, check=True, env=environment
        )
    except subprocess.CalledProcessError as error:
        said = str(error.stderr).strip().partition("\n")[0]
        raise OSError(f"{command[0]}: {said or error}") from error


def _check_tools(setup: _Setup) -> None:
    for tool in ("ip", "tc") if setup.rate_mbit else ("ip",):
        if shutil.which(tool, path=_SEARCHED) is None:
            raise FileNotFoundError(2, f"the program {tool} is not there (package iproute2)")


if __name__ == "__main__":
    sys.exit(serve(lay))
