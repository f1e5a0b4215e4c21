"""How large are the variables that a step writes?"""

from __future__ import annotations

from collections import Counter

from strategy_profiles.analysis.graph_file import graph_of
from strategy_profiles.capture.graph import Graph
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.tensorflow_names import ARGUMENT, WRITE_VARIABLE
from strategy_profiles.tables.store import Profile, once


@once
def written_bytes(profile: Profile, segment: SegmentOpened) -> int | None:
    """Bytes of the variables that ops of the segment's step write on the device that has most of
    them, with what an optimizer keeps; None without a graph, or if no op writes."""
    graph = graph_of(profile, segment)
    return max(written_on_devices(graph).values(), default=None) if graph else None


def written_on_devices(graph: Graph) -> dict[str, int]:
    """The bytes of the arguments of the functions that an op writes, by device."""
    of_device = Counter[str]()
    for node in graph.nodes:
        readers = graph.readers.get(node.index, ()) if node.op == ARGUMENT else ()
        if any(reader.op.startswith(WRITE_VARIABLE) for reader in readers):
            of_device[node.device] += node.bytes or 0
    return dict(of_device)
