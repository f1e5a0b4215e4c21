"""Which server holds which variable, and what a worker's step moves: derived, not measured.

A step pulls every model variable once, in full. It pushes the gradient of each weight (of a sparse
one only its rows) and the new value of each state. The optimizer's own variables are not moved: its
update runs on the server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from strategy_profiles.run.event_parts import ServedVariable, Server
from strategy_profiles.run.events import VariablesServed
from strategy_servers.push_accounting import Pushes
from strategy_servers.sharded_weights import StepVariables

Role = Literal["weight", "state", "optimizer"]
_SERVER = re.compile(r"/job:ps/.*/task:(\d+)/")


def served(
    segment: int,
    held: StepVariables,
    pushes: Pushes | None,
    *,
    num_workers: int,
    num_servers: int,
    feed: Literal["worker", "coordinator"],
) -> VariablesServed:
    """The event. `pushes` is None if a workload's own step pulls and pushes in its own way."""
    servers = [
        Server(1 + num_workers + index, f"/job:ps/replica:0/task:{index}/device:CPU:0")
        for index in range(num_servers)
    ]
    rows = [_row(*described, pushes, held.names) for described in _all(held)]
    return VariablesServed(segment, servers, rows, feed)


def _all(held: StepVariables) -> Iterator[tuple[Role, Any, int, int]]:
    """Role, variable, index of the shard, number of shards."""
    for parts in held.weights:
        for number, part in enumerate(parts):
            yield "weight", part, number, len(parts)
    for variable in held.states:
        yield "state", variable, 0, 1
    for variable in held.optimizer.variables:
        yield "optimizer", variable, 0, 1


def _row(
    role: Role,
    variable: Any,
    part: int,
    num_parts: int,
    pushes: Pushes | None,
    names: Mapping[str, str],
) -> ServedVariable:
    size = int(variable.value.shape.num_elements()) * int(variable.value.dtype.size)
    pulled: int | None = 0
    pushed: int | None = 0
    if role != "optimizer":
        pulled = None if pushes is None else size
        pushed = None if pushes is None else pushes.bytes.get(variable.path, 0)
    return ServedVariable(
        name=names.get(variable.path, variable.path),
        role=role,
        bytes=size,
        server=server_of(variable.value.device),
        shape=list(variable.shape),
        part=part,
        num_parts=num_parts,
        pull_bytes=pulled,
        push_bytes=pushed,
    )


def server_of(device: str) -> int | None:
    """Index of the parameter server of a device; None if the device is not on one."""
    match = _SERVER.search(device)
    return int(match[1]) if match else None
