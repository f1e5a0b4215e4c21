"""The events of a host's threads as spans."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from strategy_imports.event_names import host_category
from strategy_imports.launches import link_id
from strategy_imports.recording import (
    CATEGORY,
    GROUP_SIZE,
    MOVED_BYTES,
    PRODUCER,
    Ints,
    Line,
    Plane,
)
from strategy_imports.spans import OTHER, Spans, Texts
from strategy_profiles.capture.event_names import split_op_name
from strategy_profiles.capture.graph import CATEGORY_NAMES
from strategy_profiles.errors import shortened

_PORT = re.compile(r":\d{1,5}\Z")
_MOST_CHARACTERS = 100


def readable(raw: bytes) -> str:
    """A name in a file that anyone may have made, as a short line without control characters."""
    text = raw.decode("utf-8", "replace")
    printable = "".join(
        char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text
    )
    return shortened(printable, _MOST_CHARACTERS)


def distinct_names(own: Sequence[str], of_files: Sequence[str]) -> list[str]:
    """Return a name per file: its own without the port, else with it, else that of the file.

    Files of a session may have the same host: containers are often all called `localhost`.
    """
    for names in ([_PORT.sub("", name) for name in own], list(own)):
        if all(names) and len(set(names)) == len(names):
            return names
    return list(of_files)


def host_spans(planes: Sequence[Plane], texts: Texts) -> list[Spans]:
    """Return the events of the host's threads, a line each."""
    parts = []
    for plane in planes:
        nodes = [
            None if CATEGORY in kind.stats else split_op_name(kind.name) for kind in plane.kinds
        ]
        names = [
            texts.index(n[0] if n else k.name) for n, k in zip(nodes, plane.kinds, strict=True)
        ]
        ops = [
            texts.index(node[1] if node else str(kind.stats.get(CATEGORY, "")))
            for kind, node in zip(plane.kinds, nodes, strict=True)
        ]
        categories = [
            CATEGORY_NAMES.index(host_category(kind.name, node))
            for kind, node in zip(plane.kinds, nodes, strict=True)
        ]
        columns = [np.asarray([*column, OTHER], np.int64) for column in (names, ops, categories)]
        parts += [
            Spans.of(
                len(line),
                **{
                    key: column[line.kind]
                    for key, column in zip(("name", "op", "category"), columns, strict=True)
                },
                start_ns=line.start_ns,
                end_ns=line.end_ns,
                thread=line.thread,
                correlation=_launch(line),
                step_num=line.stat("step_num"),
                instance=line.stat("instance_key"),
                bytes=line.stat(MOVED_BYTES),
                group_size=line.stat(GROUP_SIZE),
            )
            for line in plane.lines
            if len(line)
        ]
    return parts


def _launch(line: Line) -> Ints:
    """Return what joins a call with the events of devices that it launched."""
    known = line.stat("correlation_id")
    if PRODUCER not in line.stats:
        return known
    return np.where(known > 0, known, link_id(line.stats[PRODUCER]))
