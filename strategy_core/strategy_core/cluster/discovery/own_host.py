"""Finds this host among the addresses of a cluster, for engines that do not number their tasks."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence

import psutil

from strategy_core.cluster.discovery.task_address import split_address
from strategy_profiles.errors import SpecError


def own_index(addresses: Sequence[str], own: Iterable[str] | None = None) -> int:
    """Return the index of this host's address among `addresses` (`host:port`).

    `own` are this host's IP addresses; by default those of its interfaces. Raises SpecError unless
    exactly one address is this host's.
    """
    here = set(own_addresses() if own is None else own)
    found = [index for index, address in enumerate(addresses) if here & _ip_addresses_of(address)]
    if len(found) == 1:
        return found[0]
    what = "none is" if not found else f"{len(found)} are"
    raise SpecError(
        "Exactly one of the cluster's addresses must be this host's; of "
        f"{', '.join(addresses)} {what}",
        advice="Name this task with --index N",
        field="index",
    )


def own_addresses() -> set[str]:
    """The IP addresses of this host's interfaces."""
    interfaces = psutil.net_if_addrs().values()
    return {found.address.partition("%")[0] for every in interfaces for found in every}


def _ip_addresses_of(address: str) -> set[str]:
    """The IP addresses of the host of `host:port`; empty if its name cannot be resolved (yet)."""
    host, port = split_address(address)
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(host, port)}
    except OSError:
        return set()
