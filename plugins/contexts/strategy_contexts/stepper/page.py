"""Combine a recording, the viewer and its style into one self-contained HTML document."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from strategy_contexts.stepper.locality import locality_rules
from strategy_contexts.stepper.story import steps
from strategy_profiles.reporting import document
from strategy_profiles.reporting.palette import REPLICA_COLOURS

# The page fetches nothing and runs only the viewer: a recording is only data.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; font-src data:"
)


def page(recording: Mapping[str, Any], *, step: int = 1) -> str:
    """Return an HTML document of `recording` (see `strategy_contexts.record.Recording`).

    `step` is the step shown first, counted from 1. The recording is only data: its texts are shown,
    never executed.
    """
    data = dict(recording) | {
        "colours": list(REPLICA_COLOURS),
        "rules": locality_rules(),
        "step": step,
        "steps": steps(recording),
    }
    return document.page(
        str(recording.get("title", "Contexts")),
        document.typefaces() + _asset("stepper.css"),
        viewer_script(),
        policy=_POLICY,
        first_script=document.follow_theme(),
        main="stepper",
        data_id="recording",
        data=data,
    )


def viewer_script() -> str:
    """Return the script of the page, for the policy of a page that frames it."""
    return _asset("stepper.js")


def _asset(name: str) -> str:
    return (files("strategy_contexts.stepper") / name).read_text(encoding="utf-8")
