"""Memory of a step's tensors: from when to when the device of each op holds what it returned.

Derived from the graph and the ops' times, because TensorFlow reports no allocations of CPUs: an
op's output is held from its start until the last op that reads it ends. These follow the kernels of
TensorFlow 2.21:

- ops that only pass a buffer on (`Identity`, `Reshape`) hold nothing of their own;
- an element-wise op that is the last reader of an input of its size writes into that buffer
  (`forward_input_or_allocate_output`);
- a received tensor is held by the receiving device, as on devices with memory of their own;
- variables, constants and what a kernel needs only while it runs are left out.

Only outputs 0 with a static shape have a size (`recorder.placement`); all outputs of a split are
counted. docs/decisions/numbers.md compares the result with TensorFlow's allocator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from strategy_profiles.capture.graph import RECEIVES, SENDS, Graph, Node
from strategy_profiles.capture.joined import Joined

_PASS_ON = frozenset(
    {
        *SENDS,
        "Const",
        "ExpandDims",
        "Identity",
        "IdentityN",
        "PreventGradient",
        "ReadVariableOp",
        "Reshape",
        "Snapshot",
        "Squeeze",
        "StopGradient",
        "VarHandleOp",
        "_Arg",
        "_DeviceArg",
        "_DeviceRetval",
        "_ReadVariablesOp",
        "_Retval",
    }
)
_RETURNS = frozenset({"_Retval", "_DeviceRetval"})
_IN_PLACE = frozenset(
    {
        "Add",
        "AddN",
        "AddV2",
        "BiasAdd",
        "CollectiveReduce",
        "CollectiveReduceV2",
        "CollectiveReduceV3",
        "Elu",
        "Exp",
        "Log",
        "Maximum",
        "Minimum",
        "Mul",
        "Neg",
        "RealDiv",
        "Relu",
        "Relu6",
        "Relu6Grad",
        "ReluGrad",
        "Rsqrt",
        "Sigmoid",
        "SigmoidGrad",
        "Softmax",
        "Sqrt",
        "Square",
        "Sub",
        "Tanh",
        "TanhGrad",
        "_FusedBatchNormEx",
    }
)
_SPLITS = frozenset({"Split", "SplitV", "Unpack"})
"""Ops whose outputs together are as large as what they cut."""
_COLUMNS = ("step", "device", "name", "op", "bytes", "start_ns", "end_ns")
Interval = tuple[int, int]


def tensor_table(joined: Joined) -> dict[str, Any]:
    """Return one row per tensor of the capture's last step, as columns.

    A single step, because all steps of a segment run the same graph and every row costs the
    conversion time.
    """
    rows = _rows(joined) if len(joined.steps) and joined.graph.nodes else []
    columns: dict[str, Any] = {name: [row[at] for row in rows] for at, name in enumerate(_COLUMNS)}
    return columns | {"source": ["derived"] * len(rows)}


def _rows(joined: Joined) -> list[tuple[Any, ...]]:
    step = len(joined.steps) - 1
    ran = _intervals(joined, step)
    lives = _Lifetimes(joined.graph, ran, int(joined.steps.end_ns[step]))
    buffers: dict[int, tuple[Node, int, Interval]] = {}
    for index in sorted(ran, key=lambda each: ran[each]):
        node = joined.node(index)
        size = _size(joined.graph, node)
        if not size or node.op in _PASS_ON:
            continue
        start_ns = ran[index][0]
        if node.op in _IN_PLACE:
            for before in lives.read_by(node):
                held = buffers.get(before)
                if held and held[1] == size and lives.last_reader(before) == index:
                    buffers[before] = held[0], size, (held[2][0], start_ns)
                    break
        buffers[index] = node, size, (start_ns, max(ran[index][1], lives.end_ns(index)))
    number = int(joined.steps.number[step])
    return [
        (number, node.device, node.name, node.op, size, *interval)
        for node, size, interval in buffers.values()
    ]


def _intervals(joined: Joined, step: int) -> dict[int, Interval]:
    """Return when each node ran in the step; of several times (a loop), from first to last."""
    ops, received, steps = joined.ops, joined.received, joined.steps
    own = (ops.step == step) & (ops.node >= 0)
    arrived = steps.of(received.done_ns) == step
    node = np.concatenate([ops.node[own], received.node[arrived]])
    start = np.concatenate([ops.start_ns[own], received.done_ns[arrived]])
    end = np.concatenate([ops.end_ns[own], received.done_ns[arrived]])
    ran: dict[int, Interval] = {}
    for index, begun, done in zip(node.tolist(), start.tolist(), end.tolist(), strict=True):
        before = ran.get(index, (begun, done))
        ran[index] = min(before[0], begun), max(before[1], done)
    return ran


def _size(graph: Graph, node: Node) -> int | None:
    if node.op in _SPLITS:
        return max((each.bytes or 0 for each in graph.data_producers(node)), default=None)
    sender = graph.peer(node) if node.op in RECEIVES else None
    return node.bytes if sender is None else sender.bytes


class _Lifetimes:
    """Who reads a tensor last, also through ops that pass its buffer on or recorded no event."""

    def __init__(self, graph: Graph, ran: dict[int, Interval], step_end_ns: int) -> None:
        self._graph = graph
        self._ran = ran
        self._step_end_ns = step_end_ns
        self._last: dict[int, tuple[int, int]] = {}
        """End of the last reader and its node, by node."""

    def end_ns(self, index: int) -> int:
        """Return when the last reader ends; 0 if nothing reads the tensor."""
        return self._last_of(index)[0]

    def last_reader(self, index: int) -> int:
        """Return the node that reads the tensor last, or -1."""
        return self._last_of(index)[1]

    def read_by(self, node: Node) -> list[int]:
        """Return the nodes that made what `node` reads."""
        producers, stack, seen = [], list(self._graph.data_producers(node)), {node.index}
        while stack:
            producer = stack.pop()
            if producer.index in seen:
                continue
            seen.add(producer.index)
            if self._passes_on(producer):
                stack.extend(self._graph.data_producers(producer))
            else:
                producers.append(producer.index)
        return producers

    def _passes_on(self, node: Node) -> bool:
        return node.op in _PASS_ON or node.index not in self._ran

    def _last_of(self, index: int) -> tuple[int, int]:
        """The end, in ns, of the last reader of what a node makes, and that reader; (0, -1) if none
        reads it. Where a reader passes it on, those behind it read it, too."""
        known = self._last.get(index)
        if known is not None:
            return known
        last, seen, stack = (0, -1), {index}, [index]
        while stack:  # not recursive: a chain may be long, and a loop's graph has cycles
            for reader in self._graph.readers.get(stack.pop(), ()):
                if reader.index in seen:
                    continue
                seen.add(reader.index)
                if reader.op in _RETURNS:
                    last = max(last, (self._step_end_ns, reader.index))
                if reader.index in self._ran:
                    last = max(last, (self._ran[reader.index][1], reader.index))
                if self._passes_on(reader):
                    stack.append(reader.index)
        self._last[index] = last
        return last
