"""Timelines of the runs that somebody looks at, laid out once per state of their files."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import asdict
from pathlib import Path
from typing import Any

from strategy_lab.app.hub import run_folder
from strategy_lab.profiles.store import Profile, load
from strategy_lab.profiles.timeline import Timeline, lay_out

MAX_KEPT = 4
"""A million spans take some 60 MB."""


class Timelines:
    """A small cache. Safe to use from many threads; two that ask for one timeline build it once."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[str, Timeline]] = OrderedDict()

    def describe(self, run_id: str) -> dict[str, Any]:
        """What a viewer must know before it asks for spans; raises LabError.

        `version` changes when the run has new capture windows.
        """
        profile = load(run_folder(self._runs, run_id))
        version, timeline = self._of(run_id, profile)
        return {
            "version": version,
            "running": not profile.status.is_over,
            "length_ns": timeline.length_ns,
            "num_spans": timeline.num_spans,
            "num_rows": timeline.num_rows,
            "tracks": [asdict(track) for track in timeline.tracks],
            "categories": timeline.categories,
            "steps": timeline.steps,
        }

    def get(self, run_id: str) -> Timeline:
        """The timeline as it was described last, or as it is now; raises LabError."""
        folder = run_folder(self._runs, run_id)
        with self._lock:
            kept = self._kept.get(run_id)
        return kept[1] if kept else self._of(run_id, load(folder))[1]

    def _of(self, run_id: str, profile: Profile) -> tuple[str, Timeline]:
        version = _version(profile)
        with self._lock:
            kept = self._kept.get(run_id)
            if kept is None or kept[0] != version:
                kept = (version, lay_out(profile))
                self._kept[run_id] = kept
            self._kept.move_to_end(run_id)
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
            return kept


def _version(profile: Profile) -> str:
    files = profile.files.get("spans", [])
    newest = max((path.stat().st_mtime_ns for path in files), default=0)
    # Until there is a capture, marks of a cluster's steps are shown, and there are ever more.
    shown = 0 if files or len(profile.clocks.workers) < 2 else len(profile.mark_rows)
    return f"{profile.path.stat().st_ino}-{len(files)}-{newest}-{shown}"
