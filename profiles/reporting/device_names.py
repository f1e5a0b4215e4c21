"""Devices by the shortest name that still tells them apart."""

from __future__ import annotations

import re
from collections.abc import Iterable

_FULL = re.compile(
    r"/job:(?P<job>[^/]+)(/replica:\d+)?/task:(?P<task>\d+)(/device:(?P<kind>[^:/]+):(?P<number>\d+))?"
)


_JOBS = {"chief": "coordinator", "ps": "parameter server"}
"""TensorFlow's names of jobs that people call otherwise; a coordinator is one alone."""
_PARTS = re.compile(r"(\D*)(\d*)").findall
"""A name as pairs of what is no number and the number after it."""


def short_names(devices: Iterable[str]) -> dict[str, str]:
    """`/job:localhost/replica:0/task:0/device:CPU:1` as `CPU:1`, or `worker 1 CPU:1`.

    Jobs and tasks are omitted if there is only one. The devices of imported profiles are named
    `/device:GPU:0`, or `host/device:GPU:0`. A name of another form stays as it is.
    """
    names = list(dict.fromkeys(devices))
    matches = {name: _FULL.fullmatch(name) for name in names}
    places = {(match["job"], match["task"]) for match in matches.values() if match}
    return {name: _short(name, matches[name], len(places) > 1) for name in names}


def in_order(devices: Iterable[str]) -> list[str]:
    """Sorted as people count: worker 2 before worker 10."""
    return sorted(devices, key=counting_order)


def counting_order(name: str) -> list[tuple[str, int, str]]:
    """The key by which names are sorted as people count."""
    # Fewer digits is the smaller number: a name may have more than `int` converts.
    return [(text, len(number), number) for text, number in _PARTS(name)]


def _short(name: str, match: re.Match[str] | None, with_place: bool) -> str:
    if match is None:
        host, is_imported, device = name.partition("/device:")
        return f"{host} {device}".strip() if is_imported and "/" not in host else name
    device = f"{match['kind']}:{match['number']}" if match["kind"] else "host"
    if not with_place:
        return device
    job = _JOBS.get(match["job"], match["job"])
    return f"{job} {device}" if match["job"] == "chief" else f"{job} {match['task']} {device}"
