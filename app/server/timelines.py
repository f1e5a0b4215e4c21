"""Timelines of the runs in view, laid out once per state of their files."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from strategy_lab.app.live.hub import run_folder
from strategy_lab.app.server.cache import KeptNewest
from strategy_lab.app.server.opened import open_run
from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.run.identity import identity_of
from strategy_lab.profiles.tables.store import Profile
from strategy_lab.profiles.timeline import Timeline, lay_out

MAX_KEPT = 4
MAX_SPANS = 8_000_000
"""Limit for all kept timelines but the one used last; a million spans take some 60 MB."""


class ReplacedRunError(LabError):
    """A viewer requested spans of a run whose name another run has taken since."""


@dataclass(frozen=True, slots=True)
class _Kept:
    identity: str | None
    version: str
    timeline: Timeline


class Timelines:
    """A small cache. Safe to use from many threads; two that ask for one timeline build it once."""

    def __init__(self, runs: Path, *, max_spans: int = MAX_SPANS) -> None:
        self._runs = runs
        self._kept: KeptNewest[_Kept] = KeptNewest(_num_spans, MAX_KEPT, max_spans)

    def describe(self, run_id: str) -> dict[str, Any]:
        """What a viewer must know before it asks for spans; raises LabError.

        `version` changes when the run has new capture windows, `identity` when another run has
        taken the name.
        """
        folder = run_folder(self._runs, run_id)
        profile = open_run(folder).profile
        kept = self._of(run_id, profile, identity_of(folder))
        timeline = kept.timeline
        return {
            "identity": kept.identity,
            "version": kept.version,
            "running": not profile.status.is_over,
            "length_ns": timeline.length_ns,
            "num_spans": timeline.num_spans,
            "num_rows": timeline.num_rows,
            "tracks": [asdict(track) for track in timeline.tracks],
            "categories": timeline.categories,
            "drawn": timeline.drawn_categories,
            "steps": timeline.steps,
        }

    def get(self, run_id: str, described: str | None = None) -> Timeline:
        """The timeline as it was described last, or as it is now; raises LabError.

        `described` is the identity that the viewer knows: raises ReplacedRunError if the folder
        holds another run by now.
        """
        folder = run_folder(self._runs, run_id)
        identity = identity_of(folder)
        if described is not None and described != identity:
            raise ReplacedRunError(f"Another run was recorded as {run_id!r}")
        kept = self._kept.newest(run_id)
        if kept is None or kept.identity != identity:
            kept = self._of(run_id, open_run(folder).profile, identity)
        return kept.timeline

    def _of(self, run_id: str, profile: Profile, identity: str | None) -> _Kept:
        version = f"{identity}-{_version(profile)}"
        return self._kept.get(run_id, version, lambda: _Kept(identity, version, lay_out(profile)))


def _num_spans(kept: _Kept) -> int:
    return kept.timeline.num_spans


def _version(profile: Profile) -> str:
    files = profile.files.get("spans", [])
    newest = max(map(_changed_ns, files), default=0)
    # Until there is a capture, marks of a cluster's steps are shown, and there are ever more.
    shown = 0 if files or len(profile.clocks.workers) < 2 else len(profile.mark_rows)
    return f"{len(files)}-{newest}-{shown}"


def _changed_ns(path: Path) -> int:
    """Return when a file was written; 0 if it cannot be read, which a note of the run says."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
