"""Put every node of a graph into a block of the picture: a layer, its gradient, the optimizer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from strategy_model.model import Part
from strategy_model.read import GraphNodes
from strategy_profiles.analysis.scopes import Scoped, layer_of, models, scoped
from strategy_profiles.capture.graph import RECEIVES, SENDS, category
from strategy_profiles.run.tensorflow_names import FUNCTION_ENDS, WRITE_VARIABLE

Key = tuple[Part, str]
"""Part of the step, and the layer of a forward or gradient block."""


@dataclass(frozen=True, slots=True)
class NodeBlocks:
    """The block of each node (None: not drawn), and the layers in the order of the data."""

    block: list[Key | None]
    layers: tuple[str, ...]
    num_elsewhere: int
    """Ops of other functions than the step's, such as those that make the dataset."""


def find_blocks(nodes: GraphNodes) -> NodeBlocks:
    """Find the block of every node."""
    kinds = [category(name, op) for name, op in zip(nodes.name, nodes.op, strict=True)]
    paths = {name: scoped(name) for name in set(nodes.name)}
    of_step = _step_functions(nodes, paths)
    drawn = [
        op not in FUNCTION_ENDS and (function in of_step or kind in {"input", "collective"})
        for op, function, kind in zip(nodes.op, nodes.function, kinds, strict=True)
    ]
    inside = [node for node, is_drawn in enumerate(drawn) if is_drawn]
    keys = _by_name(nodes, kinds, paths, inside)
    levels, order = _levels(nodes)
    _by_flow(nodes, keys, inside, order)
    _ends_of_transfers(nodes, keys, inside)
    count = sum(op not in FUNCTION_ENDS for op in nodes.op) - len(inside)
    return NodeBlocks(keys, _layers_in_order(nodes, keys, levels), count)


def _step_functions(nodes: GraphNodes, paths: dict[str, Scoped]) -> set[tuple[int, int]]:
    """Return the functions that train: those with gradients; without any, all."""
    rows = zip(nodes.name, nodes.function, strict=True)
    functions = {function for name, function in rows if paths[name].is_gradient}
    return functions or set(nodes.function)


def _by_name(
    nodes: GraphNodes, kinds: Sequence[str], paths: dict[str, Scoped], inside: Sequence[int]
) -> list[Key | None]:
    """Return the block of the nodes whose name or op tells it."""
    names = {nodes.name[node] for node in inside}
    of_models = models(paths[name] for name in names)
    with_gradient = {path.path[0] for path in map(paths.__getitem__, names) if path.is_gradient}
    of_optimizer = {
        paths[nodes.name[node]].path[0]
        for node in inside
        if nodes.op[node].startswith(WRITE_VARIABLE)
    } - with_gradient
    keys: list[Key | None] = [None] * len(nodes)
    for node in inside:
        path = paths[nodes.name[node]]
        layer = layer_of(path, of_models)
        if kinds[node] == "input":
            keys[node] = ("input", "")
        elif kinds[node] == "delay":
            keys[node] = ("delay", "")
        elif kinds[node] == "collective":
            keys[node] = ("reduce", "")
        elif path.is_gradient:
            keys[node] = ("gradient", layer or "")
        elif path.path[0] in of_optimizer and with_gradient:
            keys[node] = ("optimizer", "")
        elif layer is not None and (path.path[0] in with_gradient or not with_gradient):
            keys[node] = ("forward", layer)
    layers = {key[1] for key in keys if key is not None and key[0] == "forward"}
    return [
        ("gradient", "") if key and key[0] == "gradient" and key[1] not in layers else key
        for key in keys
    ]


def _levels(nodes: GraphNodes) -> tuple[list[int], list[int]]:
    """Return the longest way from an argument to each node, and the nodes in such an order.

    Nodes on a cycle, which only loops have, keep the level that they had reached.
    """
    consumers: list[list[int]] = [[] for _ in nodes.inputs]
    waiting = [len(inputs) for inputs in nodes.inputs]
    for node, inputs in enumerate(nodes.inputs):
        for producer in inputs:
            consumers[producer].append(node)
    level = [0] * len(nodes)
    order = [node for node, count in enumerate(waiting) if not count]
    for node in order:  # grows while it is read
        for consumer in consumers[node]:
            level[consumer] = max(level[consumer], level[node] + 1)
            waiting[consumer] -= 1
            if not waiting[consumer]:
                order.append(consumer)
    return level, order


def _by_flow(
    nodes: GraphNodes, keys: list[Key | None], inside: Sequence[int], order: Sequence[int]
) -> None:
    """Place nodes without a telling name: before the gradients the loss, after them the sums.

    A sum that a gradient reads again belongs to that gradient.
    """
    is_gradient = [bool(key and key[0] == "gradient") for key in keys]
    after = list(is_gradient)
    for node in order:
        after[node] = after[node] or any(after[each] for each in nodes.inputs[node])
    read_by: dict[int, Key] = {}
    for node in inside:
        key = keys[node]
        if key is not None and key[0] == "gradient":
            for producer in nodes.inputs[node]:
                if keys[producer] is None:
                    read_by[producer] = key
    has_gradient = any(is_gradient)
    for node in inside:
        if keys[node] is None and nodes.op[node] not in SENDS | RECEIVES:
            if node in read_by:
                keys[node] = read_by[node]
            elif not has_gradient:
                keys[node] = ("other", "")
            else:
                keys[node] = ("reduce", "") if after[node] else ("loss", "")


def _ends_of_transfers(nodes: GraphNodes, keys: list[Key | None], inside: Sequence[int]) -> None:
    """A send belongs to the block that makes its tensor, a receive to the one that reads it."""
    readers: dict[int, list[int]] = defaultdict(list)
    for node in inside:
        for producer in nodes.inputs[node]:
            readers[producer].append(node)
    is_end = [nodes.op[node] in SENDS or nodes.op[node] in RECEIVES for node in inside]
    for node, is_of_transfer in zip(inside, is_end, strict=True):
        if is_of_transfer:
            near = nodes.inputs[node] if nodes.op[node] in SENDS else readers[node]
            keys[node] = next((keys[each] for each in near if keys[each]), keys[node])


def _layers_in_order(
    nodes: GraphNodes, keys: Sequence[Key | None], levels: Sequence[int]
) -> tuple[str, ...]:
    """Order layers by the level at which their result leaves them, so by the flow of data."""
    leaves: dict[str, list[int]] = defaultdict(list)
    ends: dict[str, list[int]] = defaultdict(list)
    for node, key in enumerate(keys):
        if key is not None and key[0] == "forward":
            ends[key[1]].append(levels[node])
        for producer in nodes.inputs[node]:
            source = keys[producer]
            if source and source[0] == "forward" and source != key and _goes_on(key):
                leaves[source[1]].append(levels[producer])
    return tuple(sorted(ends, key=lambda layer: (max(leaves.get(layer) or ends[layer]), layer)))


def _goes_on(key: Key | None) -> bool:
    return key is not None and key[0] in {"forward", "loss"}


def most_common_scope(names: Iterable[str]) -> str | None:
    """Return the outermost scope that most of the names have."""
    scopes = Counter(path[0] for path in (scoped(name).path for name in names) if len(path) > 1)
    return scopes.most_common(1)[0][0] if scopes else None
