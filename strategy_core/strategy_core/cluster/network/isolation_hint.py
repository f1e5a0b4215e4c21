"""A hint for errors that only report an unreachable network, inside an isolated cluster."""

from __future__ import annotations

import socket

from strategy_core.cluster.network.namespaces import INTERFACE

_UNREACHABLE = (
    "name resolution",
    "Name or service not known",
    "nodename nor servname",
    "Network is unreachable",
    "urlopen error",
)
ADVICE = (
    "The cluster has a network of its own, which reaches nothing outside: what is loaded from the "
    "network needs network.contain=false"
)


def with_advice(message: str) -> str:
    """The message, with a hint if the isolation of the cluster's network can be the cause."""
    if any(sign in message for sign in _UNREACHABLE) and is_apart():
        return f"{message.rstrip('.')}. {ADVICE}."
    return message


def is_apart() -> bool:
    """Whether this process is in a network that reaches nothing outside its cluster."""
    try:
        return {name for _, name in socket.if_nameindex()} <= {"lo", INTERFACE}
    except OSError:
        return False
