"""Runs whose contexts were traced: chosen, and given as recordings to step through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import streamlit as st

from strategy_lab.app.widgets.empty import empty
from strategy_lab.app.widgets.text import plain
from strategy_lab.profiles.run.layout import worker_folders


def traced_segments(runs: Path) -> dict[str, Path]:
    """Recordings under a runs folder, newest run first, by what they are called on the page."""
    found: list[tuple[float, str, Path]] = []
    for run in runs.iterdir() if runs.is_dir() else ():
        for folder in worker_folders(run) if run.is_dir() else ():
            for path in sorted(folder.path.glob("contexts-*.json")):
                segment = int(path.stem.rpartition("-")[2])
                title = f"{run.name} · segment {segment}"
                found.append((-path.stat().st_mtime, title, path))
    return {title: path for _, title, path in sorted(found)}


def pick_recording(runs: Path) -> dict[str, Any] | None:
    """The recording that the user chose; None after saying on the page that no run has one."""
    segments = traced_segments(runs)
    if not segments:
        empty(
            "No run has traced its contexts yet.",
            "Switch on Trace contexts under Capture in the Lab, or run with "
            "--set capture.contexts=true.",
            page="lab",
            link="Open the Lab",
        )
        return None
    chosen = st.selectbox("Run", list(segments), format_func=plain, key="context_run")
    try:
        recording: dict[str, Any] = json.loads(segments[chosen].read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        empty(f"This recording cannot be read: {error}.", "Run it again to record a new trace.")
        return None
    return recording
