"""Collectives of the captured steps: which events of several replicas are one, and their waits.

The definitions are those of `capture.collectives`: a rank waits until the last rank has started.
Ranks on other hosts are not compared, for their clocks are not known to agree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strategy_imports.recording import Ints
from strategy_imports.spans import COLLECTIVE, Spans
from strategy_profiles.capture.grouping import group_max, groups_by, rank_in_group
from strategy_profiles.capture.kernel_names import collective_of

_SHAPE = re.compile(r"\b(pred|[suf]\d+|bf16|c64|c128|f8\w*)\[([\d,]*)\]")
_DONE = re.compile(r"-done\b")
_UNKNOWN = "collective"


@dataclass(frozen=True, slots=True)
class Collectives:
    """One row per rank and execution."""

    span: Ints
    """Index into the spans."""
    op: list[str]
    instance: Ints
    group_size: Ints
    """-1 if unknown."""
    bytes: Ints
    """S as nccl-tests counts it; -1 if unknown."""
    all_started_ns: Ints

    def __len__(self) -> int:
        return len(self.span)


def find_collectives(
    spans: Spans,
    names: Sequence[str],
    sizes: Sequence[int],
    *,
    is_whole: bool,
    usual_group: int = -1,
) -> Collectives:
    """Return the collectives in the steps.

    Args:
      spans: events with their steps and replicas.
      names: the texts of `spans.op` and `spans.name`.
      sizes: bytes by the index of a text, -1 where it does not tell.
      is_whole: whether the ranks of a collective are all among these spans.
      usual_group: how many ranks a collective has that does not tell it; -1 if unknown.
    """
    at = np.flatnonzero((spans.category == COLLECTIVE) & (spans.step >= 0) & (spans.replica >= 0))
    at = at[np.argsort(spans.start_ns[at], kind="stable")]
    rows = spans.take(at)
    kinds = {
        # The program's own name first: a kernel that sends and receives can be any of them.
        (op, name): collective_of(names[name]) or collective_of(names[op]) or _UNKNOWN
        for op, name in {(int(o), int(n)) for o, n in zip(rows.op, rows.name, strict=True)}
    }
    ops = [kinds[int(op), int(name)] for op, name in zip(rows.op, rows.name, strict=True)]
    kind_numbers = {kind: number for number, kind in enumerate(sorted(set(ops)))}
    kind = np.asarray([kind_numbers[op] for op in ops], np.int64)
    instance = np.where(rows.instance >= 0, rows.instance, kind)
    rank = rank_in_group(groups_by(rows.step, rows.replica, instance), rows.start_ns)
    group = groups_by(rows.step, instance, rank)
    size = np.bincount(group)[group] if len(group) else group
    counted = np.where(size > 1, size, -1) if is_whole else np.full(len(size), -1, np.int64)
    known = np.where(counted > 0, counted, usual_group)
    size_of = np.asarray([*sizes, -1], np.int64)
    return Collectives(
        at,
        ops,
        np.where(rows.instance >= 0, rows.instance, kind * (1 << 20) + rank),
        np.where(rows.group_size > 0, rows.group_size, known),
        np.where(rows.bytes >= 0, rows.bytes, size_of[rows.op] if len(rows) else rows.bytes),
        group_max(group, rows.start_ns),
    )


def bytes_of_hlo(text: str) -> int:
    """Return the size S of a collective from the text of its HLO instruction; -1 if unknown.

    `%all-reduce = f32[8,4]{1,0} all-reduce(f32[8,4]{1,0} %x), ...` reduces 128 bytes. S of a
    reduce-scatter is its operand, S of an all-gather its result.
    """
    head, is_found, rest = text.partition(" = ")
    op = collective_of(head)
    if not is_found or op is None or _DONE.search(head.partition("(")[0]):
        return -1
    result, _, operands = rest.partition(f" {op}")
    chosen = operands.partition("(")[2] if op == "reduce-scatter" else result
    # The result of an asynchronous start is a tuple of operand and result: its largest is S.
    sizes = [_bytes(kind, shape) for kind, shape in _SHAPE.findall(chosen)]
    return max(sizes, default=-1) if "-start" in head else (sum(sizes) if sizes else -1)


def _bytes(kind: str, shape: str) -> int:
    is_byte = kind == "pred" or kind.startswith("f8")
    bits = 8 if is_byte else int(re.sub(r"\D", "", kind))
    count = 1
    for size in filter(None, shape.split(",")):
        count *= min(int(size[:18]), 2**40)
    return min(count * bits // 8, 2**61)
