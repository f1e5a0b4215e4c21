"""Device names short enough for a chart, long enough to tell them apart."""

from __future__ import annotations

import re

_FULL = re.compile(r"/job:(?P<job>[^/]+)/replica:\d+/task:(?P<task>\d+)/device:(?P<device>.+)")


def short_names(devices: list[str]) -> dict[str, str]:
    """`CPU:0`; with its task where there are several: `worker 1 CPU:0`. Others stay as they are."""
    matches = {device: _FULL.fullmatch(device) for device in devices}
    homes = {(match["job"], match["task"]) for match in matches.values() if match}
    if len(homes) > 1:
        return {
            device: f"{match['job']} {match['task']} {match['device']}" if match else device
            for device, match in matches.items()
        }
    return {device: match["device"] if match else device for device, match in matches.items()}
