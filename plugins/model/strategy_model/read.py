"""The nodes of a segment's graphs as plain lists, of all processes that recorded one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from strategy_profiles.capture.graph import RECEIVES, SENDS, read_graph_rows
from strategy_profiles.run.layout import WorkerFolder

if TYPE_CHECKING:
    from pathlib import Path

    from strategy_profiles.tables.store import Profile

_COLUMNS = ("function", "name", "op", "device", "inputs", "tensor", "send_device", "recv_device")


@dataclass(slots=True)
class GraphNodes:
    """Nodes of all files, and the data edges between them as pairs of positions.

    The receive of a tensor from another device is joined to the node that sends it.
    """

    name: list[str] = field(default_factory=list)
    op: list[str] = field(default_factory=list)
    device: list[str] = field(default_factory=list)
    function: list[tuple[int, int]] = field(default_factory=list)
    """Number of the file and of the function."""
    bytes: list[int | None] = field(default_factory=list)
    inputs: list[list[int]] = field(default_factory=list)
    """Positions of the nodes whose outputs a node reads; control edges are left out."""
    tensor: list[tuple[str, str, str] | None] = field(default_factory=list)
    """Of sends and receives: the tensor, its sending and its receiving device."""

    def __len__(self) -> int:
        return len(self.name)


def graph_files(profile: Profile, segment: int) -> list[Path]:
    """Return the graph of each process, of its newest generation that wrote one."""
    newest: dict[int, tuple[int, Path]] = {}
    for source in profile.sources:
        if source.worker is None:
            continue
        generation = source.generation or 0
        folder = WorkerFolder((profile.path / source.file).parent, source.worker, generation)
        path = folder.graph(segment)
        if path.exists() and generation >= newest.get(source.worker, (0, path))[0]:
            newest[source.worker] = (generation, path)
    return [path for _, (_, path) in sorted(newest.items())]


def read_nodes(files: list[Path]) -> GraphNodes:
    """Read the files. Raises RunFolderError if one is not a graph."""
    nodes = GraphNodes()
    for number, path in enumerate(files):
        _add(nodes, number, read_graph_rows(path))
    return nodes


def _add(nodes: GraphNodes, number: int, table: pa.Table) -> None:
    start = len(nodes)
    function, name, op, device, inputs, tensor, sender, receiver = (
        table[column].to_pylist() for column in _COLUMNS
    )
    nodes.name += [text or "" for text in name]
    nodes.op += [text or "" for text in op]
    nodes.device += [text or "" for text in device]
    nodes.function += [(number, each or 0) for each in function]
    nodes.bytes += table["bytes"].to_pylist()
    keys = zip(function, device, name, strict=True)
    known = {key: start + index for index, key in enumerate(keys)}
    sends: dict[tuple[object, ...], int] = {}
    edges = list(zip(function, tensor, sender, receiver, strict=True))
    for index, edge in enumerate(edges):
        is_edge = op[index] in SENDS or op[index] in RECEIVES
        nodes.tensor.append((edge[1] or "", edge[2] or "", edge[3] or "") if is_edge else None)
        if op[index] in SENDS:
            sends[edge] = start + index
    for index, texts in enumerate(inputs):
        if op[index] in RECEIVES:
            at = [sends.get(edges[index])]
        else:
            at = [
                known.get((function[index], device[index], text.partition(":")[0]))
                for text in texts or ()
                if not text.startswith("^")
            ]
        nodes.inputs.append([each for each in at if each is not None])
