"""Runs whose contexts were traced: chosen, and given as recordings to step through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import streamlit as st

from strategy_app.widgets.empty import empty
from strategy_app.widgets.text import plain
from strategy_contexts.stepper.recorded_contexts import read_recording
from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.layout import worker_folders


def traced_segments(runs: Path) -> dict[str, Path]:
    """Recordings under a runs folder, newest run first, by what they are called on the page."""
    recordings: list[tuple[float, str, Path]] = []
    for run in runs.iterdir() if runs.is_dir() else ():
        with suppress(OSError):  # a folder that cannot be read, or is being deleted
            recordings += _recordings(run)
    return {title: path for _, title, path in sorted(recordings)}


def _recordings(run: Path) -> Iterator[tuple[float, str, Path]]:
    """Age, title and path of the recordings of a run."""
    for folder in worker_folders(run) if run.is_dir() else ():
        for path in sorted(folder.path.glob("contexts-*.json")):
            segment = path.stem.removeprefix("contexts-")
            if segment.isdecimal() and path.is_file():
                title = f"{run.name} · segment {int(segment)}"
                yield -path.stat().st_mtime, title, path


def pick_recording(runs: Path) -> dict[str, Any] | None:
    """The recording that the user chose; None after saying on the page that no run has one."""
    segments = traced_segments(runs)
    if not segments:
        empty(
            "No run has traced its contexts yet.",
            "Switch on Trace contexts under Capture of a new run, or run with "
            "--set capture.contexts=true.",
            page="lab",
            link="New run",
        )
        return None
    chosen = st.selectbox("Run", list(segments), format_func=plain, key="context_run")
    try:
        return read_recording(segments[chosen])
    except RunFolderError as error:
        empty(f"This recording cannot be shown: {error}.", "Run it again to record a new trace.")
        return None
