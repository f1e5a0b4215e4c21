"""The picture with parameter servers: variables by layer, and what each step pulls and pushes.

The workers trace their steps in their own processes, so the ops of the step are not recorded.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from strategy_model.fold import block_title, fold
from strategy_model.model import Block, ModelPicture, Move, Part, Share
from strategy_profiles.reporting.device_names import in_order
from strategy_profiles.tables.columns import of_segment

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

NO_OPS = "the workers' ops are not recorded, only the variables on the servers"
WORKERS = "each worker"


def served_picture(profile: Profile, segment: int) -> ModelPicture | None:
    """Draw up the picture of a segment from the table `served`; None without such rows."""
    rows = of_segment(profile.table("served"), segment).to_pylist()
    if not rows:
        return None
    of_layer: dict[str, list[dict[str, Any]]] = defaultdict(list)
    others: list[dict[str, Any]] = []
    for row in rows:
        if row["role"] == "optimizer" or "/" not in row["name"]:
            others.append(row)
        else:
            of_layer[row["name"].partition("/")[0]].append(row)
    blocks: list[Block] = []
    members: list[list[dict[str, Any]]] = []
    for group in fold(list(of_layer)):
        members.append([row for layer in group for row in of_layer[layer]])
        blocks.append(_block("forward", block_title(group), tuple(group), members[-1]))
    if others:
        members.append(others)
        blocks.append(_block("optimizer", "Optimizer and counters", (), others))
    last = len(blocks)
    blocks.append(Block("workers", f"{WORKERS.capitalize()}'s step", (), ()))
    moves = []
    for number, own in enumerate(members):
        moves += _moves(own, number, last, "pull_bytes") + _moves(own, last, number, "push_bytes")
    devices = in_order({row["device"] or "" for row in rows})
    moves.sort(key=lambda move: -(move.bytes or 0))
    return ModelPicture(segment, tuple(devices), tuple(blocks), tuple(moves), no_time=NO_OPS)


def _block(part: Part, title: str, layers: tuple[str, ...], rows: list[dict[str, Any]]) -> Block:
    shares = []
    for device in in_order({row["device"] or "" for row in rows}):
        sizes = [row["bytes"] for row in rows if (row["device"] or "") == device]
        shares.append(
            Share(
                device=device,
                num_ops=0,
                time_ms=None,
                wait_ms=None,
                num_variables=len(sizes),
                variable_bytes=sum(sizes),
                output_bytes=0,
                num_unsized=0,
            )
        )
    return Block(part, title, layers, tuple(shares))


def _moves(rows: list[dict[str, Any]], source: int, target: int, column: str) -> list[Move]:
    """Return what one worker's step reads (`pull_bytes`) or sends, without zeros."""
    by_device: dict[str, float] = defaultdict(float)
    for row in rows:
        if row[column]:
            by_device[row["device"] or ""] += row[column]
    if not by_device:
        return []
    is_pull = column == "pull_bytes"
    pairs = tuple(
        (device, WORKERS, size) if is_pull else (WORKERS, device, size)
        for device, size in sorted(by_device.items(), key=lambda item: -item[1])
    )
    count = sum(bool(row[column]) for row in rows)
    return [Move(source, target, sum(by_device.values()), float(count), pairs)]
