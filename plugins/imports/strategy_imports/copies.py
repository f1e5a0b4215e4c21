"""Copies between memories in the captured steps: rows of the table `transfers`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from strategy_imports.recording import Ints
from strategy_imports.spans import TRANSFER
from strategy_profiles.capture.kernel_names import copy_of

if TYPE_CHECKING:
    from strategy_imports.host_profile import HostProfile

_HOST_MEMORY = "S(5)"
"""The memory space of a TPU's host in the layout of an HLO shape."""
_COPY_START = re.compile(
    r"%?copy-start\S* = \((\S+?\[[^\]]*\]\{[^}]*\}), (\S+?\[[^\]]*\]\{[^}]*\})"
)


def copies(host: HostProfile, devices: Sequence[str], numbers: Ints) -> dict[str, Any]:
    """Return the columns; a side of a copy is null if the profile does not tell it."""
    spans = host.spans
    ends = _ends(host)
    is_copy = np.asarray([index in ends for index in range(len(host.texts.all))], bool)
    at = np.flatnonzero((spans.category == TRANSFER) & (spans.step >= 0) & (spans.device >= 0))
    # A TPU core's own line has no copies, only their begin and the waits for them.
    has_own = np.asarray([device.kind != "TPU" for device in host.devices], bool)[spans.device[at]]
    is_sent = (spans.bytes[at] >= 0) | (has_own & (spans.correlation[at] >= 0))
    at = at[is_copy[spans.op[at]] & is_sent]
    rows = spans.take(at)
    found = [ends.get(int(op), "") for op in rows.op]
    host_name = devices[-1]
    own = [devices[device] for device in rows.device.tolist()]
    return {
        "step": numbers[rows.step],
        "tensor": pa.array([host.texts.all[name] for name in rows.name], pa.string()),
        "bytes": pa.array(rows.bytes, mask=rows.bytes < 0),
        "send_device": pa.array(_side(0, found, own, host_name), pa.string()),
        "recv_device": pa.array(_side(1, found, own, host_name), pa.string()),
        "start_ns": rows.start_ns,
        "duration_ms": (rows.end_ns - rows.start_ns) / 1e6,
        "source": pa.array(["measured"] * len(rows), pa.string()),
        "bytes_source": pa.array(
            ["measured" if size >= 0 else None for size in rows.bytes.tolist()], pa.string()
        ),
    }


def _side(
    side: int, ends: Sequence[str], devices: Sequence[str], host_name: str
) -> list[str | None]:
    """Return the device at one side of each copy; None if it is another one than the copy's own."""
    named = {"H": host_name}
    return [
        named.get(end[side], device if end[side] == "D" else None)
        for end, device in zip(ends, devices, strict=True)
    ]


def _ends(host: HostProfile) -> dict[int, str]:
    """Return the ends of copies by the index of what ran: `HD`, `DH` or `PP`."""
    found = {
        index: ends for index, name in enumerate(host.texts.all) if (ends := copy_of(name) or "")
    }
    for device in host.devices:
        for kind in device.plane.kinds:
            match = _COPY_START.match(kind.name)
            if match:
                name = kind.name.partition(" = ")[0].removeprefix("%")
                to, of = (_HOST_MEMORY in shape for shape in match.groups())
                if to != of:
                    found[host.texts.index(name)] = "DH" if to else "HD"
    return found
