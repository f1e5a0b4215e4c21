"""A process of an emulated network without TensorFlow: serves, or calls one that serves.

    python -m tests.strategy_core.cluster.link_program --enter 5,6 serve HOST PORT
    python -m tests.strategy_core.cluster.link_program --enter 5,7 call HOST PORT BYTES

A caller prints one JSON line: its round trip, how long its bytes took, and what was counted.
"""

from __future__ import annotations

import argparse
import json
import socket
import time
from dataclasses import asdict

from msgspec import structs

from strategy_core.cluster.network import namespaces
from strategy_core.cluster.telemetry.link_meter import own_interface
from strategy_core.cluster.telemetry.tcp_info import connections

NUM_PINGS = 5


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--enter", default="")
    parser.add_argument("what", choices=("serve", "call", "name"))
    parser.add_argument("host", nargs="?")
    parser.add_argument("port", nargs="?", type=int)
    parser.add_argument("bytes", nargs="?", type=int, default=0)
    args = parser.parse_args()
    namespaces.enter_all(args.enter)
    if args.what == "serve":
        serve(args.host, args.port)
    elif args.what == "call":
        print(json.dumps(call(args.host, args.port, args.bytes)), flush=True)
    else:
        print(json.dumps([name for _, name in socket.if_nameindex()]), flush=True)


def serve(host: str, port: int) -> None:
    with socket.create_server(("", port)) as server:
        print(json.dumps({"ready": host}), flush=True)
        caller, _ = server.accept()
        with caller:
            for _ in range(NUM_PINGS):
                caller.sendall(caller.recv(1))
            size = int.from_bytes(caller.recv(8), "big")
            while size:
                size -= len(caller.recv(1 << 20))
            caller.sendall(b"!")
            caller.recv(1)


def call(host: str, port: int, size: int) -> dict[str, object]:
    with socket.create_connection((host, port), timeout=60) as server:
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        trips = [_ping(server) for _ in range(NUM_PINGS)]
        began = time.monotonic()
        server.sendall(size.to_bytes(8, "big") + bytes(size))
        server.recv(1)
        took_s = time.monotonic() - began
        (counted,) = [c for c in connections() if c.remote == (host, port)]
        interface = own_interface()
    return {
        "round_trip_ms": min(trips),
        "took_s": took_s,
        "counted": asdict(counted),
        "interface": structs.asdict(interface) if interface else None,
    }


def _ping(server: socket.socket) -> float:
    began = time.monotonic()
    server.sendall(b"?")
    server.recv(1)
    return (time.monotonic() - began) * 1e3


if __name__ == "__main__":
    main()
