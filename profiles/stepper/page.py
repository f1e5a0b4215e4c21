"""Combine a recording, the viewer and its style into one self-contained HTML document."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from strategy_lab.profiles.reporting.palette import REPLICA_COLOURS
from strategy_lab.profiles.stepper.locality import locality_rules
from strategy_lab.profiles.stepper.story import steps

# The page fetches nothing and runs only the viewer: a recording is only data.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"

_DOCUMENT = """<!doctype html>
<html lang="en" data-theme="{theme}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main id="stepper"></main>
<script type="application/json" id="recording">{data}</script>
<script>{viewer}</script>
</body>
</html>
"""


def page(recording: Mapping[str, Any], *, theme: str = "auto", step: int = 1) -> str:
    """Return an HTML document of `recording` (see `strategy_core.contexts.record.Recording`).

    `theme` is `light`, `dark` or `auto`; `step` is the step shown first, counted from 1. The
    recording is only data: its texts are shown, never executed.
    """
    data = dict(recording) | {
        "colours": list(REPLICA_COLOURS),
        "rules": locality_rules(),
        "step": step,
        "steps": steps(recording),
    }
    return _DOCUMENT.format(
        theme=html.escape(theme, quote=True),
        policy=_POLICY,
        title=html.escape(str(recording.get("title", "Contexts"))),
        style=_asset("stepper.css"),
        viewer=viewer_script(),
        data=_as_script_data(data),
    )


def viewer_script() -> str:
    """Return the script of the page, for the policy of a page that frames it."""
    return _asset("stepper.js")


def _asset(name: str) -> str:
    return (files("strategy_lab.profiles.stepper") / name).read_text(encoding="utf-8")


def _as_script_data(data: Mapping[str, Any]) -> str:
    """Return JSON in which an HTML parser cannot find the end of the script element."""
    text = json.dumps(data, allow_nan=False, default=str)
    for mark in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text
