"""The graph of a segment that was captured."""

from __future__ import annotations

from pathlib import Path

from strategy_profiles.capture.graph import Graph, read_graph
from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.events import SegmentOpened, WindowCaptured
from strategy_profiles.run.layout import WorkerFolder
from strategy_profiles.tables.store import Profile, once


def graph_file(profile: Profile, segment: int) -> Path | None:
    """The file with the graph that the segment's captures were joined with; None without one."""
    for source in profile.sources:
        windows = [item for item in source.of_kind(WindowCaptured) if not item.error]
        if not any(item.segment == segment for item in windows):
            continue
        folder = WorkerFolder(
            (profile.path / source.file).parent, source.worker or 0, source.generation or 0
        )
        if folder.graph(segment).exists():
            return folder.graph(segment)
    return None


@once
def graph_of(profile: Profile, segment: SegmentOpened) -> Graph | None:
    """The graph itself; None without one, or if its file is damaged."""
    path = graph_file(profile, segment.segment)
    if path is None:
        return None
    try:
        return read_graph(path, segment.replica_devices, segment.core_devices or ())
    except RunFolderError:
        return None
