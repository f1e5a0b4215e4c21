"""The model as it was placed: blocks by layer, each device's part of them, and transfers.

Times are means over the typical captured steps: the lengths of a block's ops, added up, also of
ops that ran at the same time. Of a collective the transfer counts, not the wait for the others.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from strategy_model.blocks import (
    Key,
    NodeBlocks,
    find_blocks,
    most_common_scope,
)
from strategy_model.fold import block_title, fold
from strategy_model.model import (
    PARTS,
    Block,
    ModelPicture,
    Move,
    Part,
    Share,
)
from strategy_model.read import GraphNodes, graph_files, read_nodes
from strategy_model.served import served_picture
from strategy_profiles.analysis.sends import Send, sends
from strategy_profiles.analysis.steps import typical_captured_steps
from strategy_profiles.capture.graph import COLLECTIVES, RECEIVES, SENDS
from strategy_profiles.errors import RunFolderError
from strategy_profiles.reporting.device_names import in_order
from strategy_profiles.run.tensorflow_names import FUNCTION_ENDS
from strategy_profiles.tables.columns import of_segment, texts

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

_TITLES = {
    "input": "Input",
    "loss": "Loss and metrics",
    "reduce": "Sum of gradients",
    "optimizer": "Optimizer",
    "delay": "Injected delay",
    "other": "Ops without a layer",
}
_NO_TIME = "no captured step of this segment has times of ops"


@dataclass(slots=True)
class _Part:
    """Sums of one device in one block."""

    num_ops: int = 0
    time_ms: float | None = None
    wait_ms: float | None = None
    variables: list[int | None] = field(default_factory=list)
    output_bytes: int = 0
    num_unsized: int = 0


_Parts = dict[Key, dict[str, _Part]]


def model_picture(profile: Profile, segment: int, unfolded: tuple[str, ...] = ()) -> ModelPicture:
    """Draw up the picture of a segment from its graphs, spans and transfers.

    Blocks whose title is in `unfolded` are drawn layer by layer.
    """
    files = graph_files(profile, segment)
    if not files:
        served = served_picture(profile, segment)
        return served or ModelPicture(segment, reason=_why_none(profile))
    try:
        nodes = read_nodes(files)
    except RunFolderError as error:
        why = str(error).removesuffix(".")
        return ModelPicture(segment, reason=f"its graph cannot be used: {why}")
    of_nodes = find_blocks(nodes)
    parts: _Parts = defaultdict(lambda: defaultdict(_Part))
    _count(nodes, of_nodes, parts)
    _add_variables(nodes, of_nodes, parts)
    has_times, num_steps = _add_times(profile, segment, nodes, of_nodes, parts)
    blocks, place_of = _fold(profile, segment, nodes, of_nodes, parts, unfolded)
    every = {share.device for block in blocks for share in block.shares}
    return ModelPicture(
        segment=segment,
        devices=tuple(in_order(every)),
        blocks=blocks,
        moves=_moves(nodes, of_nodes, sends(profile, segment), place_of),
        num_steps=num_steps,
        num_elsewhere=of_nodes.num_elsewhere,
        reason=None if blocks else "the recorded graph has no op of a training step",
        no_time=None if has_times else _NO_TIME,
    )


def _why_none(profile: Profile) -> str:
    if profile.is_imported:
        return "an imported profile has no graph"
    return "the run has no graph of this segment"


def _count(nodes: GraphNodes, blocks: NodeBlocks, parts: _Parts) -> None:
    for node, key in enumerate(blocks.block):
        op = nodes.op[node]
        if key is None or op in FUNCTION_ENDS or op in SENDS or op in RECEIVES:
            continue
        part = parts[key][nodes.device[node]]
        part.num_ops += 1
        size = nodes.bytes[node]
        part.output_bytes += size or 0
        part.num_unsized += size is None


def _add_variables(nodes: GraphNodes, blocks: NodeBlocks, parts: _Parts) -> None:
    """A variable belongs to the first block that uses it: its layer before the optimizer."""
    users: dict[int, list[Key]] = defaultdict(list)
    for node, key in enumerate(blocks.block):
        op = nodes.op[node]
        if key is not None and ("VariableOp" in op or op.startswith("Resource")):
            for producer in nodes.inputs[node]:
                if nodes.op[producer] == "_Arg":
                    users[producer].append(key)
    for argument, keys in users.items():
        first = min(keys, key=lambda key: PARTS.index(key[0]))
        parts[first][nodes.device[argument]].variables.append(nodes.bytes[argument])


def _add_times(
    profile: Profile, segment: int, nodes: GraphNodes, blocks: NodeBlocks, parts: _Parts
) -> tuple[bool, int]:
    """Add mean times of ops; return whether there are any, and of how many steps."""
    steps = typical_captured_steps(profile, segment).tolist()
    of_node: dict[tuple[str, str], tuple[Key, str]] = {}
    for node, key in enumerate(blocks.block):
        if key is not None and nodes.op[node] not in SENDS and nodes.op[node] not in RECEIVES:
            of_node.setdefault((nodes.name[node], nodes.device[node]), (key, nodes.op[node]))
    has_times = False
    for name, device, length in _totals(profile, "spans", segment, steps, ("duration_ns",)):
        known = of_node.get((name, device))
        if known is not None and known[1] not in COLLECTIVES:
            part = parts[known[0]][device]
            part.time_ms = (part.time_ms or 0.0) + length / 1e6 / len(steps)
            has_times = True
    columns = ("transfer_ms", "wait_ms")
    for name, device, took, waited in _totals(profile, "collectives", segment, steps, columns):
        known = of_node.get((name, device))
        if known is not None and known[1] in COLLECTIVES:
            part = parts[known[0]][device]
            part.time_ms = (part.time_ms or 0.0) + took / len(steps)
            part.wait_ms = (part.wait_ms or 0.0) + waited / len(steps)
    return has_times, len(steps)


def _totals(
    profile: Profile, table: str, segment: int, steps: Sequence[int], columns: Sequence[str]
) -> Iterable[tuple[Any, ...]]:
    """Sums of columns over the steps by name and device of the op."""
    rows = of_segment(profile.table(table), segment)
    rows = rows.select(["step", "name", "device", *columns])
    rows = rows.filter(pa.compute.is_in(rows["step"], pa.array(steps, rows["step"].type)))
    rows = rows.unify_dictionaries()
    for name in ("name", "device"):
        rows = rows.set_column(
            rows.schema.get_field_index(name), name, rows[name].cast(pa.string())
        )
    sums = rows.group_by(["name", "device"]).aggregate([(name, "sum") for name in columns])
    values = [sums[f"{name}_sum"].to_pylist() for name in columns]
    return zip(sums["name"].to_pylist(), sums["device"].to_pylist(), *values, strict=True)


def _fold(
    profile: Profile,
    segment: int,
    nodes: GraphNodes,
    of_nodes: NodeBlocks,
    parts: _Parts,
    unfolded: tuple[str, ...],
) -> tuple[tuple[Block, ...], dict[Key, int]]:
    """Return the blocks in the order of the picture, and the block of each key."""
    layers = list(of_nodes.layers)
    layers += sorted({key[1] for key in parts if key[0] == "gradient"} - set(layers))
    rows = of_segment(profile.table("placement"), segment)
    variables = {
        (name or "").partition("/")[0]
        for kind, name in zip(texts(rows, "kind"), texts(rows, "name"), strict=True)
        if kind == "variable"
    }
    titles = plain_titles([layer for layer in layers if layer], variables)
    by_layer: list[list[str]] = []
    for group in fold(layers):
        title = block_title([titles.get(layer, layer) for layer in group if layer] or [""])
        by_layer += [[layer] for layer in group] if title in unfolded else [group]
    blocks: list[Block] = []
    place_of: dict[Key, int] = {}
    for part in PARTS:
        is_by_layer = part in {"forward", "gradient"}
        groups = by_layer if is_by_layer else [[""]]
        for group in groups:
            keys = [(part, layer) for layer in group if (part, layer) in parts]
            if not keys:
                continue
            named = tuple(titles.get(layer, layer) for layer in group if layer)
            title = block_title(named) if named else _title(part, nodes, of_nodes)
            place_of |= dict.fromkeys(keys, len(blocks))
            shares = _shares([parts[key] for key in keys])
            blocks.append(Block(part, title, named, shares))
    return tuple(blocks), place_of


def _title(part: Part, nodes: GraphNodes, blocks: NodeBlocks) -> str:
    if part == "gradient":
        return "Other gradients"
    if part != "optimizer":
        return _TITLES[part]
    names = (nodes.name[at] for at, key in enumerate(blocks.block) if key == ("optimizer", ""))
    scope = most_common_scope(names)
    return f"{_TITLES[part]} ({scope})" if scope else _TITLES[part]


def _shares(members: Sequence[dict[str, _Part]]) -> tuple[Share, ...]:
    shares = []
    for device in in_order({device for member in members for device in member}):
        own = [member[device] for member in members if device in member]
        sizes = [size for part in own for size in part.variables]
        times = [part.time_ms for part in own if part.time_ms is not None]
        waits = [part.wait_ms for part in own if part.wait_ms is not None]
        known = [size for size in sizes if size is not None]
        shares.append(
            Share(
                device=device,
                num_ops=sum(part.num_ops for part in own),
                time_ms=sum(times) if times else None,
                wait_ms=sum(waits) if waits else None,
                num_variables=len(sizes),
                variable_bytes=sum(known) if len(known) == len(sizes) else None,
                output_bytes=sum(part.output_bytes for part in own),
                num_unsized=sum(part.num_unsized for part in own),
            )
        )
    return tuple(shares)


def _moves(
    nodes: GraphNodes, blocks: NodeBlocks, sent: Sequence[Send], place_of: dict[Key, int]
) -> tuple[Move, ...]:
    """Sum the sends of a step by the blocks that they leave and reach, the largest first."""
    ends: dict[tuple[str, str, str], tuple[Key | None, Key | None]] = {}
    for node, edge in enumerate(nodes.tensor):
        if edge is not None:
            key = (_tensor_name(edge[0]), edge[1], edge[2])
            source, target = ends.get(key, (None, None))
            is_send = nodes.op[node] in SENDS
            ends[key] = (
                (blocks.block[node] or source, target)
                if is_send
                else (source, blocks.block[node] or target)
            )
    groups: dict[tuple[int, int], list[Send]] = defaultdict(list)
    for send in sent:
        source, target = ends.get((send.tensor, send.send_device, send.recv_device), (None, None))
        if source in place_of and target in place_of and send.bytes != 0:
            groups[place_of[source], place_of[target]].append(send)
    moves = [_move(source, target, group) for (source, target), group in groups.items()]
    return tuple(sorted(moves, key=lambda move: -(move.bytes or 0)))


def _move(source: int, target: int, group: Sequence[Send]) -> Move:
    pairs: dict[tuple[str, str], list[Send]] = defaultdict(list)
    for send in group:
        pairs[send.send_device, send.recv_device].append(send)
    sized = [(*pair, _bytes_of(members)) for pair, members in pairs.items()]
    return Move(
        source,
        target,
        bytes=_bytes_of(group),
        num_sends=sum(send.per_step for send in group),
        pairs=tuple(sorted(sized, key=lambda pair: -(pair[2] or 0))),
    )


def _bytes_of(group: Sequence[Send]) -> float | None:
    sizes = [None if send.bytes is None else send.per_step * send.bytes for send in group]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _tensor_name(edge: str) -> str:
    """`edge_1457_replica_1/concat` is tensor `replica_1/concat`, as `transfers` names it."""
    _, _, rest = edge.removeprefix("edge_").partition("_")
    return rest if edge.startswith("edge_") and rest else edge


def plain_titles(layers: Iterable[str], of_variables: Iterable[str]) -> dict[str, str]:
    """Name layers as their variables are, where Keras numbered their scopes a second time.

    Keras builds a model before the step is traced. Each scope of the step then gets a suffix:
    layer `conv2d_1` runs in scope `conv2d_1_2`. The suffixes are removed if the names stay
    distinct and match more variables than before.
    """
    names, known = list(layers), set(of_variables)
    short = {name: re.sub(r"_\d+$", "", name) for name in names}
    is_distinct = len(set(short.values())) == len(names)
    if is_distinct and len(known & set(short.values())) > len(known & set(names)):
        return short
    return {name: name for name in names}
