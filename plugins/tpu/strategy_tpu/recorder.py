"""Records what an expansion emits: op counts by device, communications and copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import tensorflow as tf

from strategy_tpu.report import (
    Collective,
    ExpansionReport,
    Fallback,
    Transfer,
    num_bytes,
    total_bytes,
)


class TrafficRecorder:
    """Fills one report.

    Records nothing while `paused`, as during an emission into a scratch graph.
    """

    def __init__(self, report: ExpansionReport) -> None:
        self.report = report
        self._in_loop = 0  # depth of nested contexts, as is `_paused`
        self._paused = 0
        self._seen: set[tuple[int, str]] = set()
        self._kept: list[tf.Tensor] = []  # keeps tensors alive, so that no id in `_seen` is reused
        self._open: list[list[int | None]] = []
        """Bytes of the copies of each open `communication`, innermost last; None: unknown size."""

    @contextmanager
    def loop(self) -> Iterator[None]:
        """Context for records that repeat with each iteration of a loop."""
        self._in_loop += 1
        try:
            yield
        finally:
            self._in_loop -= 1

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Context that records nothing, for ops that are discarded afterwards."""
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1

    def op(self, op_type: str, device: str) -> None:
        if not self._paused:
            self.report.ops_by_device.setdefault(device, Counter())[op_type] += 1

    def partitioned(self, op_type: str) -> None:
        if not self._paused:
            self.report.partitioned[op_type] += 1

    def transfer(self, tensor: tf.Tensor, send: str, recv: str, reason: str) -> None:
        """Record a copy of `tensor` from device `send` to device `recv`.

        The first copy to a device is the only one that counts: the runtime sends a tensor to each
        device once, however many ops there read it. Inside `communication`, its bytes count for
        the innermost one, too.
        """
        if self._paused or send == recv or (id(tensor), recv) in self._seen:
            return
        self._seen.add((id(tensor), recv))
        self._kept.append(tensor)
        size = num_bytes(tensor)
        self.report.transfers.append(
            Transfer(tensor.name, size, send, recv, reason, self._in_loop > 0)
        )
        if self._open:
            self._open[-1].append(size)

    @contextmanager
    def communication(
        self, op: str, name: str, devices: Sequence[str], contribution: int | None
    ) -> Iterator[list[tf.Tensor]]:
        """Context whose transfers form one collective, carried out by the nodes added to the list.

        Nothing is recorded unless data is sent from one device to another.
        """
        nodes: list[tf.Tensor] = []
        self._open.append([])
        try:
            yield nodes
        finally:
            moved = self._open.pop()
        if not moved or self._paused:
            return
        self.report.collectives.append(
            Collective(
                instance=len(self.report.collectives),
                op=op,
                name=name,
                devices=tuple(devices),
                bytes=contribution,
                moved_bytes=total_bytes(moved),
                nodes=tuple(node.op.name for node in nodes),
                in_loop=self._in_loop > 0,
            )
        )

    def fallback(
        self, op_type: str, name: str, replica: int, reason: str, sizes: Sequence[int | None]
    ) -> None:
        if not self._paused:
            size = total_bytes(list(sizes))
            self.report.fallbacks.append(Fallback(op_type, name, replica, reason, size))
