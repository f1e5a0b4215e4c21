"""Which device runs which op: the graph as the runtime placed it, recorded in the first step.

The runtime must collect graphs when a function is first instantiated; later there is nothing to
export. `tf.summary.trace_on` is the public way. It does nothing while a `tf.function` is traced, it
needs TensorBoard from TensorFlow 2.22 on, and it gives the graphs in a summary file, which has to
be read back. So the runtime is asked directly where that is possible.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import tensorflow as tf

from strategy_core.private_tf import tracing as private_tf
from strategy_core.private_tf.tensor_sizes import tensor_sizes
from strategy_profiles.capture.graph import COLLECTIVES, RECEIVES, SENDS, XLA_CALL, Node
from strategy_profiles.run.topology import host_process
from strategy_profiles.tables.schema import TABLES

_UNSIZED = frozenset({tf.string, tf.resource, tf.variant})
"""Types whose elements have no fixed size."""
_LARGEST_OF_EXPORT = 8
"""Nodes of the graph of one eager op: its arguments, results and constants."""


def begin_trace() -> None:
    """Collect the graphs of functions that are instantiated from now on, and no earlier ones."""
    if private_tf.begin_graph_collection():
        return
    # TensorFlow 2.21 continues to collect after `trace_off`, for example the all-reduce in which
    # workers agree on a change. Exporting with `record_if(False)` first discards those graphs
    # without writing them.
    tf.summary.trace_on(graph=True, profiler=False)
    with tf.summary.record_if(False):
        tf.summary.trace_export("before", step=0)
    tf.summary.trace_on(graph=True, profiler=False)


def abandon_trace() -> None:
    """Stop collecting graphs without an export."""
    if not private_tf.end_graph_collection():
        tf.summary.trace_off()


def end_trace(scratch: Path) -> Any:
    """The RunMetadata of all functions instantiated since `begin_trace`, or None without any."""
    collected = private_tf.end_graph_collection()
    if not collected and private_tf.why_no_graphs() is not None:
        return None
    metadata = collected[0] if collected else _export(scratch)
    return metadata if metadata is not None and metadata.function_graphs else None


def _export(scratch: Path) -> Any:
    writer = tf.summary.create_file_writer(str(scratch))
    try:
        with writer.as_default(step=0):
            tf.summary.trace_export("placement")
        writer.close()
        return _read_metadata(scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def read_nodes(metadata: Any) -> list[Node]:
    """Return the nodes that run, from the RunMetadata that `end_trace` returns.

    TensorFlow splits the graph of a function into one partition per device and adds sends and
    receives between them, so these are the nodes as placed. Tensor sizes come from shape inference
    on the optimised graph before the split; they are None if a shape is not static.
    """
    nodes: list[Node] = []
    for function, graphs in enumerate(metadata.function_graphs):
        if _is_of_export(graphs):
            continue
        sizes = _tensor_bytes(graphs.post_optimization_graph)
        constants = _constants(graphs.partition_graphs)
        for partition in graphs.partition_graphs:
            for node in partition.node:
                nodes.append(_node(node, len(nodes), function, sizes, constants))
    return nodes


def count_compiled(metadata: Any) -> int:
    """Return how many calls of the graphs XLA compiles.

    `jit_compile=True` marks a call as one that must be compiled; auto-clustering replaces a cluster
    of ops by `_XlaCompile` and `_XlaRun`.
    """
    return sum(
        node.op == "_XlaRun" or node.attr["_XlaMustCompile"].b
        for graphs in metadata.function_graphs
        for partition in graphs.partition_graphs
        for node in partition.node
        if node.op == "_XlaRun" or "_XlaMustCompile" in node.attr
    )


def write_placement(
    nodes: Sequence[Node],
    lines: Sequence[str | None],
    variables: Sequence[Row],
    replica_of: Mapping[str, int],
    segment: int,
    worker: int,
    path: Path,
) -> int:
    """Write the placement table of a segment, ops then variables. Returns the number of rows.

    `lines` has the line of the program that made each node, or None.
    A row on a pod host's device gets that host's process number; other rows get `worker`.
    """
    ops = [("op", n.name, n.op, n.device, n.bytes, str(n.function), n.dtype) for n in nodes]
    rows: list[Row] = [*ops, *(variables or _variable_arguments(nodes))]
    kind, name, op, device, size, function, dtype = map(list, zip(*rows, strict=True))
    columns = {
        "segment": [segment] * len(rows),
        "worker": [_or(host_process(d), worker) for d in device],
        "kind": kind,
        "name": name,
        "op": op,
        "device": device,
        "replica": [replica_of.get(d) for d in device],
        "bytes": size,
        "function": function,
        "source_line": [*lines, *[None] * (len(rows) - len(nodes))],
        "dtype": dtype,
    }
    _write(pa.table(columns, schema=TABLES["placement"]), path)
    return len(rows)


def copy_placements(sources: Sequence[Path], segment: int, path: Path) -> int:
    """Copy the placement tables of other segments under the number `segment`.

    Returns the number of rows.
    """
    table = pa.concat_tables([pq.read_table(source) for source in sources])
    schema = TABLES["placement"]
    at = schema.get_field_index("segment")
    numbers = pa.array([segment] * table.num_rows, schema.field(at).type)
    _write(table.set_column(at, schema.field(at), numbers), path)
    return int(table.num_rows)


def _write(table: pa.Table, path: Path) -> None:
    """Write to a temporary file and rename it, so that a reader never sees a partial table."""
    temporary = path.with_name(f".{path.name}.part")
    pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)
    temporary.rename(path)


def _or(process: int | None, worker: int) -> int:
    return worker if process is None else process


Row = tuple[str, str, str | None, str, int | None, str | None, str | None]


def variable_rows(variables: Iterable[Any]) -> list[Row]:
    """One row per copy: a mirrored variable has a copy on every replica's device."""
    return [row for variable in variables for row in _copies(variable)]


def _copies(variable: Any) -> Iterable[Row]:
    name = getattr(variable, "path", None) or variable.name.split(":")[0]
    # Keras wraps a TensorFlow variable
    held = variable.value if hasattr(variable, "path") else variable
    for copy in getattr(held, "values", None) or (held,):
        dtype = tf.as_dtype(copy.dtype)
        size = _bytes(tf.TensorShape(copy.shape), dtype)
        yield "variable", name, type(held).__name__, copy.device, size, None, dtype.name


def _variable_arguments(nodes: Sequence[Node]) -> Iterable[Row]:
    """Rows for the variables that traced functions take as arguments, under their argument
    names."""
    for node in nodes:
        if node.op == "_Arg" and node.name.endswith("_resource") and node.bytes is not None:
            name = node.name.removesuffix("_resource").removesuffix("_readvariableop")
            function = str(node.function)
            yield "variable", name, None, node.device, node.bytes, function, node.dtype


def _read_metadata(folder: Path) -> Any:
    for file in folder.glob("*"):
        for record in _records(file.read_bytes()):
            for value in tf.compat.v1.Event.FromString(record).summary.value:
                if value.tensor.string_val:
                    return tf.compat.v1.RunMetadata.FromString(value.tensor.string_val[0])
    return None


def _records(data: bytes) -> Iterable[bytes]:
    """The records of a TFRecord file. Each is stored as length, checksum, bytes, checksum.

    Parsed in Python because `tf.data` would run ops that appear in the next trace.
    """
    at = 0
    while at + 12 <= len(data):
        length = int.from_bytes(data[at : at + 8], "little")
        yield data[at + 12 : at + 12 + length]
        at += 16 + length


def _is_of_export(graphs: Any) -> bool:
    """Whether a function graph is one of the export's own eager ops, which also run as
    functions. A step of the program that writes summaries has such ops, and others."""
    nodes = graphs.partition_graphs[0].node if graphs.partition_graphs else ()
    return len(nodes) <= _LARGEST_OF_EXPORT and any(
        node.op.endswith(("SummaryWriter", "SummaryFileWriter", "WriteSummary")) for node in nodes
    )


def _node(
    node: Any, index: int, function: int, sizes: dict[str, int | None], constants: _Constants
) -> Node:
    attributes = node.attr
    is_edge = node.op in SENDS or node.op in RECEIVES
    is_compiled = "_XlaMustCompile" in attributes and attributes["_XlaMustCompile"].b
    data = [name for name in node.input if not name.startswith("^")]
    if node.op == "_Arg":
        size = _handle_bytes(attributes) or sizes.get(f"{node.name}:0")
    elif node.op in SENDS or node.op in COLLECTIVES:
        size = sizes.get(_output(data[0])) if data else None
        if size is None and data:
            size = constants.bytes.get(_output(data[0]))
    else:
        size = sizes.get(f"{node.name}:0")
    group = constants.value.get(data[1]) if node.op in COLLECTIVES and data[1:] else None
    return Node(
        index,
        function,
        node.name,
        XLA_CALL if is_compiled else node.op,
        node.device,
        tuple(node.input),
        attributes["tensor_name"].s.decode() if is_edge else None,
        attributes["send_device"].s.decode() if is_edge else None,
        attributes["recv_device"].s.decode() if is_edge else None,
        size,
        group,
        _dtype(attributes),
    )


def _output(text: str) -> str:
    return text if ":" in text else f"{text}:0"


def _tensor_bytes(graph_def: Any) -> dict[str, int | None]:
    """Bytes of every tensor by `node:output`, from TensorFlow's own shape inference.

    Empty if TensorFlow cannot import the graph, for example for an unknown op.
    """
    try:
        return {name: _size(count, dtype) for name, count, dtype in tensor_sizes(graph_def)}
    except ValueError:
        return {}  # sizes stay unknown, and are shown as such


@dataclass(frozen=True, slots=True)
class _Constants:
    """Sizes of constants by tensor name, and values of integer constants by node name.

    Control edges between devices are sent as empty constants that the unpartitioned graph lacks.
    """

    bytes: dict[str, int] = field(default_factory=dict)
    value: dict[str, int] = field(default_factory=dict)


def _constants(partitions: Any) -> _Constants:
    constants = _Constants()
    for node in (node for partition in partitions for node in partition.node if node.op == "Const"):
        tensor = node.attr["value"].tensor
        size = _bytes(tf.TensorShape(tensor.tensor_shape), tf.as_dtype(tensor.dtype))
        if size is not None:
            constants.bytes[f"{node.name}:0"] = size
        if tensor.int_val:
            constants.value[node.name] = tensor.int_val[0]
    return constants


def _handle_bytes(attributes: Any) -> int | None:
    """Bytes of the variable behind a resource argument, or None if unknown."""
    shapes = attributes["_handle_shapes"].list.shape
    types = attributes["_handle_dtypes"].list.type
    if not shapes or not types:
        return None
    return _bytes(tf.TensorShape(shapes[0]), tf.as_dtype(types[0]))


def _dtype(attributes: Any) -> str | None:
    """The element type that a node computes with; None if it has none, or several.

    Ops that make numbers have `dtype`, and `T` is then the type of the shape that they make them
    in. A call has a list of types.
    """
    if "_handle_dtypes" in attributes and attributes["_handle_dtypes"].list.type:
        return _name_of(attributes["_handle_dtypes"].list.type[0])
    for name in ("dtype", "T"):
        if name in attributes and attributes[name].type:
            return _name_of(attributes[name].type)
    return None


def _name_of(type_number: int) -> str:
    name: str = tf.as_dtype(type_number).base_dtype.name
    return name


def _bytes(shape: tf.TensorShape, dtype: tf.DType) -> int | None:
    """Size of a tensor in bytes; None if its shape is dynamic or its type has no fixed size."""
    return _size(shape.num_elements(), dtype)


def _size(num_elements: int | None, dtype: tf.DType) -> int | None:
    if num_elements is None or dtype in _UNSIZED:
        return None
    return int(num_elements) * int(dtype.size)
