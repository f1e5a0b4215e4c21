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
_MOST_DIGITS = 10
_IMPORTED = re.compile(r"([^/]*)/(?:device:(.*)|(host):CPU)", re.DOTALL)
"""A device, or the host itself, of a profile: with the host's name in front if it has several."""


def short_names(devices: Iterable[str]) -> dict[str, str]:
    """`/job:localhost/replica:0/task:0/device:CPU:1` as `CPU:1`, or `worker 1 CPU:1`.

    Jobs and tasks are omitted if there is only one. The devices of imported profiles are named
    `/device:GPU:0`, or `host/device:GPU:0`. A name of another form stays as it is.
    """
    names = list(dict.fromkeys(devices))
    matches = {name: _FULL.fullmatch(name) for name in names}
    places = {(match["job"], match["task"]) for match in matches.values() if match}
    return {name: _short(name, matches[name], len(places) > 1) for name in names}


def folded(names: Iterable[str]) -> list[str]:
    """Write three or more names in a row that count up as one: `CPU:0 to CPU:15`."""
    groups: list[list[str]] = []
    counted: int | None = None  # the number that counts up in the last group, by its place
    for name in names:
        index = _place_of_next(groups[-1][-1], name) if groups else None
        if index is not None and counted in (None, index):
            groups[-1].append(name)
            counted = index
        else:
            groups.append([name])
            counted = None
    return [
        name
        for group in groups
        for name in ([f"{group[0]} to {group[-1]}"] if len(group) > 2 else group)
    ]


def in_order(devices: Iterable[str]) -> list[str]:
    """Sorted as people count: worker 2 before worker 10."""
    return sorted(devices, key=counting_order)


def counting_order(name: str) -> list[tuple[str, int, str]]:
    """The key by which names are sorted as people count."""
    # Fewer digits is the smaller number: a name may have more than `int` converts.
    return [(text, len(number), number) for text, number in _PARTS(name)]


def _place_of_next(name: str, other: str) -> int | None:
    """Return the place of the one number of `other` that is higher by 1, None if it is not so."""
    before, after = _PARTS(name), _PARTS(other)
    if [text for text, _ in before] != [text for text, _ in after]:
        return None
    pairs = [(one[1], two[1]) for one, two in zip(before, after, strict=True)]
    places = [index for index, (one, two) in enumerate(pairs) if one != two]
    if len(places) != 1:
        return None
    low, high = pairs[places[0]]
    is_short = 0 < len(low) <= len(high) < _MOST_DIGITS
    return places[0] if is_short and int(low) + 1 == int(high) else None


def _short(name: str, match: re.Match[str] | None, with_place: bool) -> str:
    if match is None:
        imported = _IMPORTED.fullmatch(name)
        return f"{imported[1]} {imported[2] or imported[3]}".strip() if imported else name
    device = f"{match['kind']}:{match['number']}" if match["kind"] else "host"
    if not with_place:
        return device
    job = _JOBS.get(match["job"], match["job"])
    return f"{job} {device}" if match["job"] == "chief" else f"{job} {match['task']} {device}"
