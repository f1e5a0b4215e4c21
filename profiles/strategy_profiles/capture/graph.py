"""The graph as the runtime placed it: the device of each node, its producers and consumers.

The recorder writes this table, one row per node (`GRAPH_SCHEMA`), once per segment from the
partition graphs of the traced functions. Reading it needs no TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct
from numpy.typing import NDArray

from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.injected_delay import is_injected
from strategy_profiles.tables.parquet_file import UnreadableTableError, read_other

_NAME = pa.dictionary(pa.int32(), pa.string())
GRAPH_SCHEMA = pa.schema(
    [
        ("function", pa.int32()),  # number of the traced function
        ("name", pa.string()),
        ("op", _NAME),
        ("device", _NAME),
        ("inputs", pa.list_(pa.string())),  # as in a GraphDef: "node:1", "^control"
        ("tensor", pa.string()),  # sends and receives: the edge they carry
        ("send_device", _NAME),
        ("recv_device", _NAME),
        ("bytes", pa.int64()),  # of what it sends, contributes or outputs; null if unknown
        ("group_size", pa.int32()),  # collectives
    ]
)

CATEGORY_NAMES = ("compute", "collective", "transfer", "input", "wait", "other", "delay")
"""What an event is: the column `spans.category`."""
COLLECTIVES = {
    "CollectiveReduceV2": "all-reduce",
    "CollectiveReduceV3": "all-reduce",
    "CollectiveReduce": "all-reduce",
    "NcclAllReduce": "all-reduce",
    "CollectiveGatherV2": "all-gather",
    "CollectiveGather": "all-gather",
    "CollectiveReduceScatterV2": "reduce-scatter",
    "CollectiveAllToAllV2": "all-to-all",
    "CollectiveAllToAllV3": "all-to-all",
    "CollectiveBcastSendV2": "broadcast",
    "CollectiveBcastRecvV2": "broadcast",
    "CollectiveBcastSend": "broadcast",
    "CollectiveBcastRecv": "broadcast",
}
COMBINERS = {"AddN": ("all-reduce", "reduce"), "ConcatV2": ("all-gather", "gather")}
"""Ops that combine what devices sent: the collective if every sender gets the result, and else."""
SENDS = frozenset({"_Send", "_HostSend"})
RECEIVES = frozenset({"_Recv", "_HostRecv"})
XLA_CALL = "XlaLaunch"
"""Op of a function call that XLA compiles, whatever the graph names it: TensorFlow runs the kernel
of that op in its place."""
INPUT_OPS = frozenset(
    {
        "IteratorGetNext",
        "IteratorGetNextSync",
        "IteratorGetNextAsOptional",
        "MultiDeviceIteratorGetNextFromShard",
        "OneShotIterator",
    }
)


def category(name: str, op: str) -> str:
    """Return the category of a node: compute, collective, transfer, input or delay."""
    if is_injected(name, op):
        return "delay"
    if op in COLLECTIVES:
        return "collective"
    if op in SENDS or op in RECEIVES:
        return "transfer"
    return "input" if op in INPUT_OPS else "compute"


class Node(Struct, frozen=True):
    """A node of a partition graph."""

    index: int
    function: int
    name: str
    op: str
    device: str
    inputs: tuple[str, ...]
    tensor: str | None = None
    send_device: str | None = None
    recv_device: str | None = None
    bytes: int | None = None
    group_size: int | None = None
    dtype: str | None = None
    """Element type of what it computes, or of the variable that it passes; None if unknown."""


def replica_of(
    replica_devices: Sequence[str], core_devices: Sequence[Sequence[str]] = ()
) -> dict[str, int]:
    """Map each replica's device, and with TPUStrategy each of its cores, to the replica."""
    every = {device: replica for replica, cores in enumerate(core_devices) for device in cores}
    return every | {device: replica for replica, device in enumerate(replica_devices)}


class Graph:
    """Nodes of all traced functions, joined to events by their name."""

    def __init__(
        self,
        nodes: Sequence[Node],
        replica_devices: Sequence[str],
        core_devices: Sequence[Sequence[str]] = (),
    ) -> None:
        """`core_devices` are, with TPUStrategy, the devices of each replica by core."""
        self.nodes = tuple(nodes)
        self.replica_devices = tuple(replica_devices)
        self.core_devices = tuple(tuple(cores) for cores in core_devices)
        self.replica_of = replica_of(replica_devices, core_devices)

    @cached_property
    def by_name(self) -> dict[str, Node | None]:
        """Nodes by name; None if nodes on different devices share the name."""
        by_name: dict[str, Node | None] = {}
        for node in self.nodes:
            known = by_name.setdefault(node.name, node)
            if known is not None and known.device != node.device:
                by_name[node.name] = None
            elif known is not None and known.op != node.op:
                # Keep the node of the lower-numbered function, the step; helper functions reuse
                # names like `Identity`.
                by_name[node.name] = known if known.function < node.function else node
        return by_name

    @cached_property
    def is_send(self) -> NDArray[np.bool_]:
        """Which nodes are sends; the last entry is for index -1, no node."""
        return np.asarray([node.op in SENDS for node in self.nodes] + [False])

    @cached_property
    def _in_function(self) -> dict[tuple[int, str, str], Node]:
        return {(node.function, node.device, node.name): node for node in self.nodes}

    @cached_property
    def _ends_of_edges(self) -> dict[tuple[int, str, str, str, bool], Node]:
        """Sends and receives, by all that the two ends of an edge share and by being the send.

        One tensor may be sent to several devices, and its name may occur in several functions.
        """
        return {
            (n.function, n.tensor, n.send_device or "", n.recv_device or "", n.op in SENDS): n
            for n in self.nodes
            if n.tensor is not None
        }

    @cached_property
    def consumers(self) -> dict[int, list[Node]]:
        """Nodes that read a node's outputs or wait for it, on the same device, by node."""
        consumers: dict[int, list[Node]] = {}
        for node in self.nodes:
            for producer in self.producers(node):
                consumers.setdefault(producer.index, []).append(node)
        return consumers

    @cached_property
    def _producers(self) -> list[list[Node]]:
        known = self._in_function
        return [
            [
                producer
                for text in node.inputs
                if (producer := known.get((node.function, node.device, _source(text))))
            ]
            for node in self.nodes
        ]

    @cached_property
    def readers(self) -> dict[int, list[Node]]:
        """Nodes that read a node's outputs on the same device, by node."""
        consumers: dict[int, list[Node]] = {}
        for node in self.nodes:
            for producer in self.data_producers(node):
                consumers.setdefault(producer.index, []).append(node)
        return consumers

    def data_producers(self, node: Node) -> list[Node]:
        """Return the nodes on its device whose outputs a node reads, without control edges."""
        known = self._in_function
        return [
            producer
            for text in node.inputs
            if not text.startswith("^")
            and (producer := known.get((node.function, node.device, _source(text))))
        ]

    def producers(self, node: Node) -> list[Node]:
        """Return the nodes on its device that feed a node, including control edges."""
        return self._producers[node.index]

    def peer(self, node: Node) -> Node | None:
        """Return the receive of a send or the send of a receive, or None if it is unknown."""
        return self._ends_of_edges.get(
            (
                node.function,
                node.tensor or "",
                node.send_device or "",
                node.recv_device or "",
                node.op in RECEIVES,
            )
        )

    def receives_before(self, node: Node, has_event: Callable[[Node], bool]) -> list[Node]:
        """Return the receives a node depends on through nodes too small to record an event."""
        producers, seen, stack = [], {node.index}, list(self.producers(node))
        while stack:
            producer = stack.pop()
            if producer.index in seen:
                continue
            seen.add(producer.index)
            if producer.op in RECEIVES:
                producers.append(producer)
            elif not has_event(producer):
                stack.extend(self.producers(producer))
        return producers


def _source(text: str) -> str:
    """Return the node of an input such as `node:1` or `^node`."""
    return text.removeprefix("^").partition(":")[0]


def read_graph(
    path: Path, replica_devices: Sequence[str], core_devices: Sequence[Sequence[str]] = ()
) -> Graph:
    """Read the graph of a segment. Raises RunFolderError if the file is not a graph."""
    rows = read_graph_rows(path).to_pylist()
    return Graph(
        [
            Node(index, **{**row, "inputs": tuple(row["inputs"] or ())})
            for index, row in enumerate(rows)
        ],
        replica_devices,
        core_devices,
    )


def read_graph_rows(path: Path) -> pa.Table:
    """Return one row per node, with the columns of `GRAPH_SCHEMA`.

    Raises RunFolderError if the file is not a graph.
    """
    try:
        return read_other(path, GRAPH_SCHEMA, ("function", "name", "op", "device"))
    except UnreadableTableError as error:
        raise RunFolderError(f"{path.name} {error}") from None


def write_graph(nodes: Sequence[Node], path: Path) -> None:
    """Write the nodes to a temporary file and rename it, so that a reader never sees a part."""
    columns = {name: [getattr(node, name) for node in nodes] for name in GRAPH_SCHEMA.names}
    temporary = path.with_name(f".{path.name}.part")
    pq.write_table(pa.table(columns, schema=GRAPH_SCHEMA), temporary, compression="zstd")
    temporary.rename(path)


def copy_graphs(sources: Sequence[Path], path: Path) -> list[str]:
    """Copy the graphs of other segments to `path` as one, whose functions have other numbers.

    An event has no more than the name of its node. Nodes of two graphs that differ in nothing but
    their bytes have unknown bytes in the copy.

    Returns the names of the collectives among them, those that the runtime has an op for and those
    that are derived from a sum or a concatenation. Raises RunFolderError if a file is not a graph.
    """
    unsure: set[tuple[str, str, str]] = set()
    parts: list[pa.Table] = []
    num_functions = 0
    for source in sources:
        rows = read_graph_rows(source)
        numbers = pc.add(rows["function"], pa.scalar(num_functions, pa.int32()))
        parts.append(_with(rows, "function", numbers))
        num_functions = (pc.max(numbers).as_py() or 0) + 1
    rows = pa.concat_tables(parts)
    if len(parts) > 1:
        nodes = list(
            zip(*(rows[name].to_pylist() for name in ("name", "op", "device")), strict=True)
        )
        num_bytes = rows["bytes"].to_pylist()
        first = dict(zip(reversed(nodes), reversed(num_bytes), strict=True))
        unsure = {node for node, each in zip(nodes, num_bytes, strict=True) if first[node] != each}
        known = [
            None if node in unsure else each for node, each in zip(nodes, num_bytes, strict=True)
        ]
        rows = _with(rows, "bytes", pa.array(known, pa.int64()))
    temporary = path.with_name(f".{path.name}.part")
    pq.write_table(rows, temporary, compression="zstd")
    temporary.rename(path)
    return sorted({name for name, op, _ in unsure if op in COLLECTIVES or op in COMBINERS})


def _with(rows: pa.Table, name: str, values: Any) -> pa.Table:
    at = rows.schema.get_field_index(name)
    return rows.set_column(at, rows.schema.field(at), values)
