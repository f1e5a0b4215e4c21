"""Encode a view for the browser: a JSON header, then columns that it maps without a copy.

Format: uint32 length of the header including its padding | header | columns. Columns are
little-endian, in the order and with the types of the header's `columns`; each starts at a multiple
of 8 bytes.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from strategy_profiles.timeline.layout import Timeline
from strategy_profiles.timeline.view import View

COLUMNS = {
    "start": "f8",
    "duration": "f4",
    "index": "i4",
    "name": "i4",
    "step": "i4",
    "row": "u2",
    "category": "u1",
    "covered": "u1",
    "waited": "f4",
}
MAX_NAME = 400


def encode_view(timeline: Timeline, view: View) -> bytes:
    """Encode a view. The header contains the names and ops of its individual spans."""
    single = view.index >= 0
    at = np.maximum(view.index, 0)
    known = len(timeline.start) > 0
    name = np.where(single, timeline.name[at], -1) if known else view.index
    step = np.where(single, timeline.step[at], -1) if known else view.index
    columns = {
        "start": view.start,
        "duration": view.duration,
        "index": view.index,
        "name": name,
        "step": step,
        "row": view.row,
        "category": view.category,
        "covered": view.covered,
        "waited": view.waited,
    }
    header = {
        "from": view.from_ns,
        "to": view.to_ns,
        "count": len(view.start),
        "columns": COLUMNS,
        "names": _names(timeline, view.index[single]),
        "links": view.links,
    }
    parts = [_padded_header(header)]
    for key, kind in COLUMNS.items():
        parts.append(_padded(np.ascontiguousarray(columns[key], f"<{kind}").tobytes()))
    return b"".join(parts)


def _names(timeline: Timeline, spans: Any) -> dict[int, list[str]]:
    """Return text and op by name number."""
    numbers, first = np.unique(timeline.name[spans], return_index=True)
    ops = timeline.op[spans[first]].tolist()
    return {
        number: [timeline.names[number][:MAX_NAME], timeline.ops[op][:MAX_NAME]]
        for number, op in zip(numbers.tolist(), ops, strict=True)
    }


def _padded_header(header: dict[str, Any]) -> bytes:
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 4) % 8)
    return struct.pack("<I", len(text)) + text


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 8)
