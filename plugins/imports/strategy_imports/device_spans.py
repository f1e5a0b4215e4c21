"""What a device ran, as spans: each event with its op, its kernel and its category."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from strategy_imports.device_lines import lines_of
from strategy_imports.event_names import ran_as
from strategy_imports.launches import launch_of_events
from strategy_imports.proto_fields import signed
from strategy_imports.recording import (
    CATEGORY,
    GROUP_SIZE,
    MOVED_BYTES,
    OLD_OP,
    EventKind,
    HloOp,
    Ints,
    Line,
    Plane,
)
from strategy_imports.spans import COLLECTIVE, WAIT, Numbered, Spans, Texts
from strategy_profiles.capture.event_names import split_op_name
from strategy_profiles.capture.graph import CATEGORY_NAMES
from strategy_profiles.capture.kernel_names import copy_of, device_category, executed_category
from strategy_profiles.tables.columns import distinct

Programs = Mapping[int, Mapping[str, HloOp]]


def hlo_of_events(plane: Plane, line: Line, programs: Programs) -> tuple[Ints, list[HloOp]]:
    """Return the index of each event's instruction, -1 if it is not known, and the instructions.

    A GPU's event names program and instruction itself, a TPU core's by its kind.
    """
    of_kinds = [_of_kind(kind, programs) for kind in plane.kinds]
    ops = [each for each in of_kinds if each is not None]
    index_of_kind = np.full(len(of_kinds) + 1, -1, np.int64)
    has_one = np.asarray([*(each is not None for each in of_kinds), False], bool)
    index_of_kind[has_one] = np.arange(len(ops))
    index = index_of_kind[line.kind]
    names, ids = line.stats.get("hlo_op"), line.stats.get("program_id")
    if names is None or ids is None or not programs:
        return index, ops
    (names, name_of), (ids, id_of) = distinct(names), distinct(ids)
    pairs, pair_of = distinct(id_of * len(names) + name_of)
    of_pairs = [
        programs.get(int(ids[program]), {}).get(plane.texts.get(int(names[name]), ""))
        for program, name in (divmod(pair, len(names)) for pair in pairs.tolist())
    ]
    index_of_pair = np.full(len(pairs), -1, np.int64)
    for number, op in enumerate(of_pairs):
        if op is not None:
            index_of_pair[number] = len(ops)
            ops.append(op)
    by_event = index_of_pair[pair_of]
    return np.where(by_event >= 0, by_event, index), ops


def _of_kind(kind: EventKind, programs: Programs) -> HloOp | None:
    program, source = kind.stats.get("program_id"), kind.stats.get("source")
    if isinstance(program, int):
        op = programs.get(signed(program), {}).get(ran_as(kind))
        if op is not None:
            return op
    if not isinstance(source, str):
        return None
    return HloOp(ran_as(kind), source_line=source)


_SIZE = re.compile(r"\bsize:(\d{1,17})(?!\d)")
_NO_HLO = HloOp()
_MODULE_ONLY = "XlaModule:"
"""The `tf_op` of a kernel of a program that XLA compiled: the same for all of them."""


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What the events with one kind and one op of the program are."""

    name: str
    op: str
    category: int
    hlo: HloOp


def device_spans(
    plane: Plane, device: int, programs: Programs, texts: Texts, hlo: Numbered[HloOp]
) -> list[Spans]:
    """Return what the device number `device` of its host ran, and its waits, a line each."""
    lines = lines_of(plane)
    parts = [
        _of_line(plane, line, device, programs, texts, hlo).with_columns(
            correlation=launch_of_events(line, lines.modules)
        )
        for line in lines.executed
    ]
    return parts + [_waits(plane, line, device, texts) for line in lines.waits]


def _of_line(
    plane: Plane, line: Line, device: int, programs: Programs, texts: Texts, hlo: Numbered[HloOp]
) -> Spans:
    instruction, instructions = hlo_of_events(plane, line, programs)
    references, reference = distinct(_program_op(plane, line))
    num_hlo = len(instructions) + 1
    keys, key_of = distinct((line.kind * len(references) + reference) * num_hlo + instruction + 1)
    on_line = copy_of(line.name.replace(" ", "")) or ""
    meanings = []
    for key in keys.tolist():
        rest, ran = divmod(key, num_hlo)
        kind, text = divmod(rest, len(references))
        program_op = plane.texts.get(int(references[text]), "")
        op = instructions[ran - 1] if ran else _NO_HLO
        meanings.append(_meaning(plane.kinds[kind], program_op, op, on_line))
    columns = {
        "name": [texts.index(meaning.name) for meaning in meanings],
        "op": [texts.index(meaning.op) for meaning in meanings],
        "category": [meaning.category for meaning in meanings],
        "hlo": [-1 if meaning.hlo is _NO_HLO else hlo.index(meaning.hlo) for meaning in meanings],
    }
    of_events = {name: np.asarray(column, np.int64)[key_of] for name, column in columns.items()}
    sizes = np.asarray([meaning.hlo.collective_bytes for meaning in meanings], np.int64)[key_of]
    of_copies = _moved_bytes(plane, line)
    moved_bytes = line.stat(MOVED_BYTES)
    moved_bytes = np.where(moved_bytes < 2**61, moved_bytes, -1)
    is_collective = of_events["category"] == COLLECTIVE
    return Spans.of(
        len(line),
        device=device,
        **of_events,
        start_ns=line.start_ns,
        end_ns=line.end_ns,
        thread=line.thread,
        step_num=line.stat("step_num"),
        bytes=np.where(moved_bytes >= 0, moved_bytes, np.where(is_collective, sizes, of_copies)),
        group_size=line.stat(GROUP_SIZE),
    )


def _program_op(plane: Plane, line: Line) -> Ints:
    """Return the text number of the op of the program that each event belongs to, or -1."""
    chosen = np.full(len(line), -1, np.int64)
    for name in (OLD_OP, "hlo_op", "name", "tf_op"):  # the last one that is known counts
        stat = line.stats.get(name)
        if stat is None:
            continue
        numbers, number_of = distinct(stat)
        says = [
            plane.texts.get(number, "") not in ("", _MODULE_ONLY) for number in numbers.tolist()
        ]
        known = np.asarray(says, bool)[number_of]
        chosen[known] = stat[known]
    return chosen


def _meaning(kind: EventKind, program_op: str, hlo: HloOp, on_line: str) -> _Meaning:
    hlo_category = str(kind.stats.get("hlo_category", "")) or hlo.opcode
    ran = ran_as(kind)
    program_op = program_op or str(kind.stats.get("tf_op", ""))
    if hlo.op_name and program_op in ("", hlo.name):
        program_op = hlo.op_name
    node = None if CATEGORY in kind.stats else split_op_name(program_op)
    name = node[0] if node else program_op.rstrip(":")
    category = executed_category(kind.name, program_op if node else "", hlo_category, on_line)
    return _Meaning(name or ran, ran, CATEGORY_NAMES.index(category), hlo)


def _moved_bytes(plane: Plane, line: Line) -> Ints:
    """Return the size of each copy between memories; -1 if unknown or no copy.

    A TPU core's own line has an event when a copy is issued and one when the core waits for it: the
    copy itself is on the line of asynchronous ops.
    """
    if line.name.startswith("Async"):
        accessed = [kind.stats.get("bytes_accessed", -1) for kind in plane.kinds]
        sizes = [size if isinstance(size, int) and 0 < size < 2**61 else -1 for size in accessed]
        return np.asarray(sizes, np.int64)[line.kind]
    details = line.stats.get("memcpy_details")
    if details is None:
        return np.full(len(line), -1, np.int64)
    numbers, number_of = distinct(details)
    sizes = [_size(plane.texts.get(number, "")) for number in numbers.tolist()]
    return np.asarray(sizes, np.int64)[number_of]


def _size(details: str) -> int:
    match = _SIZE.search(details)
    size = int(match[1]) if match else 0
    return size or -1  # profilers write 0 where they do not know


def _waits(plane: Plane, line: Line, device: int, texts: Texts) -> Spans:
    waits = [device_category(kind.name) == "wait" for kind in plane.kinds]
    at = np.flatnonzero(np.asarray([*waits, False], bool)[line.kind])
    names = [texts.index(kind.name) for kind in plane.kinds]
    named = np.asarray(names, np.int64)[line.kind[at]] if len(at) else at
    return Spans.of(
        len(at),
        device=device,
        name=named,
        op=named,
        category=WAIT,
        start_ns=line.start_ns[at],
        end_ns=line.end_ns[at],
        thread=line.thread,
    )
