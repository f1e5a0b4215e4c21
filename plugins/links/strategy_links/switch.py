"""A network switch in this process: forwards Ethernet frames between TAP devices with a delay.

Many kernels lack the kernel's own delay (netem), so the delay is emulated here. Frames arrive as
the kernel builds them, up to 64 KiB before they are cut into packets, so a few thousand of them a
second carry a gigabit.

A port sends and receives at `rate_mbit`: a frame leaves when its last bit has left the sender's
port and arrives `delay_ms` later, and no port receives faster than its rate. A frame that would
wait longer than `QUEUE_S` is dropped, as a router would do.
"""

from __future__ import annotations

import contextlib
import fcntl
import heapq
import os
import select
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

QUEUE_S = 0.05
LEAST_QUEUE_BYTES = 1 << 20
_TUNSETIFF, _TUNSETOFFLOAD = 0x400454CA, 0x400454D0
_IFF_TAP, _IFF_NO_PI, _IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
_OFFLOAD = 0b1111
"""Checksums and segmentation of TCP (v4, v6, ECN) are offloaded to the receiver of the frames."""
_VNET_HEADER_BYTES = 10
_MAX_FRAME_BYTES = 1 << 17
_MANY = 64
"""Most frames taken from one port before the other ports are served."""


def open_tap(name: str) -> int:
    """Create a TAP device in this process's network. Returns its descriptor; raises OSError."""
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    flags = _IFF_TAP | _IFF_NO_PI | _IFF_VNET_HDR
    fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
    fcntl.ioctl(tap, _TUNSETOFFLOAD, _OFFLOAD)
    return tap


@dataclass
class Fabric:
    """Computes when a frame sent by one port is due at another. Times in seconds of one clock."""

    num_ports: int
    rate_mbit: float | None
    delay_ms: float
    _left: list[float] = field(default_factory=list)
    """Time at which each port will have sent all its frames."""
    _arrived: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._left = [0.0] * self.num_ports
        self._arrived = [0.0] * self.num_ports

    def send(self, now: float, port: int, num_bytes: int) -> float | None:
        """When the frame's last bit leaves the port; None if the port's queue is full."""
        if self.rate_mbit is None:
            return now
        takes_s = num_bytes * 8 / (self.rate_mbit * 1e6)
        queue_s = max(QUEUE_S, LEAST_QUEUE_BYTES * 8 / (self.rate_mbit * 1e6))
        if self._left[port] - now > queue_s:
            return None
        self._left[port] = max(now, self._left[port]) + takes_s
        return self._left[port]

    def receive(self, left: float, port: int, num_bytes: int) -> float:
        """When a frame that left at time `left` has arrived at the port with its last bit."""
        due = left + self.delay_ms / 1e3
        if self.rate_mbit is not None:
            takes_s = num_bytes * 8 / (self.rate_mbit * 1e6)
            due = self._arrived[port] = max(due, self._arrived[port] + takes_s)
        return due


class Switch:
    """Forwards frames between TAP devices until its control socket is closed."""

    def __init__(self, taps: Sequence[int], rate_mbit: float | None, delay_ms: float) -> None:
        """`taps` are descriptors of `open_tap`, one per port, which stay the caller's to close.

        `rate_mbit` (10^6 bits per second, None: unlimited) and `delay_ms` hold for every port.
        """
        self._taps = list(taps)
        self._port = {tap: port for port, tap in enumerate(self._taps)}
        self._fabric = Fabric(len(self._taps), rate_mbit, delay_ms)
        self._port_of_address: dict[bytes, int] = {}
        """Port behind which an Ethernet address was last seen."""
        self._in_flight: list[tuple[float, int, int, bytes]] = []
        """Heap of `(due, number, port, frame)`, `due` in seconds of the monotonic clock.

        The number keeps frames that are due together in order: TCP takes frames out of order for
        losses. Without it the heap would order them by port and bytes.
        """
        self._num_frames = 0

    def run_until_closed(self, control: socket.socket) -> None:
        """Forward frames until the other end of `control` is closed, or its process is gone."""
        while True:
            descriptors = [control.fileno(), *self._taps]
            ready, _, _ = select.select(descriptors, [], [], self._wait_s())
            if descriptors[0] in ready:
                return
            for tap in ready:
                self._read_frames(tap)
            self._deliver()

    def _wait_s(self) -> float | None:
        """Return the time until the next frame is due, for `select`; None without frames."""
        if not self._in_flight:
            return None
        return max(0.0, self._in_flight[0][0] - time.monotonic())

    def _read_frames(self, tap: int) -> None:
        """Read the frames that a port sends, and schedule their delivery.

        A frame that does not fit into the port's queue is lost, as in a switch.
        """
        port = self._port[tap]
        for _ in range(_MANY):
            try:
                frame = os.read(tap, _MAX_FRAME_BYTES)
            except OSError:  # no more frames, or the interface is down
                return
            # Destination and source address, behind the virtio-net header of 10 bytes.
            target, source = frame[10:16], frame[16:22]
            self._port_of_address[source] = port
            size = len(frame) - _VNET_HEADER_BYTES
            left = self._fabric.send(time.monotonic(), port, size)
            if left is None:
                continue
            for other in self._targets(target, port):
                due = self._fabric.receive(left, other, size)
                self._num_frames += 1
                heapq.heappush(self._in_flight, (due, self._num_frames, other, frame))

    def _targets(self, target: bytes, port: int) -> list[int]:
        """Return the ports to which a frame from `port` to the Ethernet address `target` goes.

        These are all other ports for a multicast (lowest bit of the first byte) or unknown address.
        """
        home = None if target[0] & 1 else self._port_of_address.get(target)
        if home is not None:
            return [home] if home != port else []
        return [other for other in range(len(self._taps)) if other != port]

    def _deliver(self) -> None:
        """Write the frames that are due to their ports."""
        now = time.monotonic()
        while self._in_flight and self._in_flight[0][0] <= now:
            _, _, port, frame = heapq.heappop(self._in_flight)
            with contextlib.suppress(OSError):  # a full or closed interface loses the frame
                os.write(self._taps[port], frame)
