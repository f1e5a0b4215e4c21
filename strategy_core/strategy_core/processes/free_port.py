"""A free port for the page, near the one that people remember."""

from __future__ import annotations

import socket

from strategy_profiles.errors import LabError

FIRST_PORT = 8501
_NUM_PORTS = 100


def free_port(host: str) -> int:
    """The first free port from 8501 on; raises LabError if all are in use."""
    for port in range(FIRST_PORT, FIRST_PORT + _NUM_PORTS):
        if is_free(host, port):
            return port
    raise LabError(
        f"All ports from {FIRST_PORT} to {FIRST_PORT + _NUM_PORTS - 1} are in use",
        advice="Name another one with --port",
    )


def is_free(host: str, port: int) -> bool:
    """Whether a server can listen at this address now; raises LabError if `host` has no address.

    Another process may take the port before the caller does.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # Without it, a port counts as in use for a minute after its last server has ended, because
        # the kernel keeps that server's connections (TIME_WAIT). Servers set it, too.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if isinstance(error, socket.gaierror):
                raise LabError(f"{host} is not an address of this machine") from None
            return False
    return True
