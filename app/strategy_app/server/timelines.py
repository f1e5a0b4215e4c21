"""Timelines of the runs in view, laid out once per state of their files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from strategy_app.live.hub import run_folder
from strategy_app.server.opened import open_run
from strategy_profiles.analysis.headline_segment import headline_segment
from strategy_profiles.analysis.no_capture import why_no_capture
from strategy_profiles.analysis.steps import longest_captured_step
from strategy_profiles.analysis.stragglers import stragglers
from strategy_profiles.cache import KeptNewest
from strategy_profiles.errors import LabError
from strategy_profiles.run.identity import identity_of
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline import Opening, Place, Timeline, lay_out, lay_out_opening
from strategy_profiles.timeline.epoch_ends import epoch_ends_of

MOST_IN_SIGHT = 6
"""Tracks; among more of them, a late replica may be below the first screen."""
MAX_KEPT = 4
MAX_SPANS = 8_000_000
"""Limit for all kept timelines but the one used last; a million spans take some 60 MB."""


class ReplacedRunError(LabError):
    """A viewer requested spans of a run whose name another run has taken since, or of a part of a
    timeline that is no longer kept."""


@dataclass(frozen=True, slots=True)
class _Kept:
    identity: str | None
    version: str
    timeline: Timeline
    opening: Opening | None = None
    """If only a part of the run is laid out."""


def place_of(query: Mapping[str, str]) -> Place:
    """Return where an address opens the timeline."""
    step = re.fullmatch(r"\d{1,18}", query.get("step", ""))
    view = re.fullmatch(r"(-?\d{1,18})-(-?\d{1,18})", query.get("view", ""))
    return Place(
        view=(int(view[1]), int(view[2])) if view else None,
        step=int(step[0]) if step else None,
    )


class Timelines:
    """A small cache. Safe to use from many threads; two that ask for one timeline build it once."""

    def __init__(self, runs: Path, *, max_spans: int = MAX_SPANS) -> None:
        self._runs = runs
        self._kept: KeptNewest[_Kept] = KeptNewest(_num_spans, MAX_KEPT, max_spans)
        self._openings: KeptNewest[_Kept | None] = KeptNewest(_num_spans, MAX_KEPT, max_spans)

    def describe(self, run_id: str, place: Place | None = None) -> dict[str, Any]:
        """What a viewer must know before it asks for spans; raises LabError.

        `version` changes when the run has new capture windows, `identity` when another run has
        taken the name. A viewer whose address names no place begins at the step `opens_at`, or at
        the newest capture; of many replicas it draws the one first that is `late`. With `place`, of
        a long run that is not laid out yet the spans there alone are described. `read` then has the
        steps whose spans these are, otherwise it is None.
        """
        folder = run_folder(self._runs, run_id)
        profile = open_run(folder).profile
        identity = identity_of(folder)
        segment = headline_segment(profile) if profile.status.is_over else None
        opens_at = longest_captured_step(profile, segment.segment) if segment else None
        if place == Place():
            place = Place(step=opens_at)
        kept = None if place is None else self._opening(run_id, profile, identity, place)
        if kept is None:
            kept = self._of(run_id, profile, identity)
        timeline, opening = kept.timeline, kept.opening
        has_many = len(timeline.tracks) > MOST_IN_SIGHT
        late = stragglers(profile, segment.segment).straggler if segment and has_many else None
        return {
            "identity": kept.identity,
            "version": kept.version,
            "origin": str(timeline.origin_ns),
            "running": not profile.status.is_over,
            "no_capture": " ".join(why_no_capture(profile)),
            "length_ns": timeline.length_ns,
            "num_spans": timeline.num_spans,
            "num_recorded": opening.num_recorded if opening else timeline.num_spans,
            "read": opening.read if opening else None,
            "num_rows": timeline.num_rows,
            "tracks": [asdict(track) for track in timeline.tracks],
            "categories": timeline.categories,
            "drawn": timeline.drawn_categories,
            "steps": timeline.steps,
            "opens_at": opens_at,
            "late": late.replica if late else None,
            "epoch_ends": epoch_ends_of(profile, timeline),
        }

    def get(self, run_id: str, described: str | None = None, part: str | None = None) -> Timeline:
        """The timeline as it was described last, or as it is now; raises LabError.

        `described` is the identity that the viewer knows: raises ReplacedRunError if the folder
        holds another run by now. `part` is the version of a described part of the timeline: raises
        ReplacedRunError if it is no longer kept.
        """
        folder = run_folder(self._runs, run_id)
        identity = identity_of(folder)
        if described is not None and described != identity:
            raise ReplacedRunError(f"Another run was recorded as {run_id!r}")
        if part:
            opened = self._openings.newest(run_id)
            if opened is None or opened.version != part:
                raise ReplacedRunError(f"That part of the timeline of {run_id!r} is not kept")
            return opened.timeline
        kept = self._kept.newest(run_id)
        if kept is None or kept.identity != identity:
            kept = self._of(run_id, open_run(folder).profile, identity)
        return kept.timeline

    def _of(self, run_id: str, profile: Profile, identity: str | None) -> _Kept:
        version = f"{identity}-{_version(profile)}"
        return self._kept.get(run_id, version, lambda: _Kept(identity, version, lay_out(profile)))

    def _opening(
        self, run_id: str, profile: Profile, identity: str | None, place: Place
    ) -> _Kept | None:
        """Return what is laid out first; None if all spans are laid out, or soon will be."""
        version = f"{identity}-{_version(profile)}"
        whole = self._kept.newest(run_id)
        if whole is not None and whole.version == version:
            return None
        version = f"{version}-{place.view}-{place.step}"

        def lay_out_part() -> _Kept | None:
            opening = lay_out_opening(profile, place)
            return _Kept(identity, version, opening.timeline, opening) if opening else None

        return self._openings.get(run_id, version, lay_out_part)


def _num_spans(kept: _Kept | None) -> int:
    return kept.timeline.num_spans if kept else 0


def _version(profile: Profile) -> str:
    files = profile.files.get("spans", [])
    newest = max(map(_changed_ns, files), default=0)
    # Until there is a capture, marks of a cluster's steps are shown, and there are ever more.
    num_marks = 0 if files or len(profile.clocks.workers) < 2 else len(profile.mark_rows)
    return f"{len(files)}-{newest}-{num_marks}"


def _changed_ns(path: str) -> int:
    """Return when a file was written; 0 if it cannot be read, which a note of the run says."""
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0
