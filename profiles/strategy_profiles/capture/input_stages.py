"""What the stages of tf.data did in captured steps: columns of the table `input_stages`.

tf.data records an event per call of a stage (`Iterator::Root::Prefetch::Map`) and attaches its
settings: the limit of its buffer and what it holds, its parallelism, and whether those are
autotuned. A call contains the calls of the stages below, if they run in its own thread. A stage
with a buffer has others fill it: its own calls take an element out, and last as long as the buffer
is empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from strategy_profiles.capture import event_names, xspace
from strategy_profiles.capture.joined import Joined
from strategy_profiles.capture.xspace import Events, StageSettings
from strategy_profiles.tables.columns import Ints

_COLUMNS = (
    "step",
    "name",
    "dataset",
    "count",
    "total_ms",
    "self_ms",
    "parallelism",
    "buffer_size",
    "buffered",
    "autotuned",
)


def input_stage_table(joined: Joined) -> dict[str, Any]:
    """Return one row per captured step and stage that delivered an element in it, as columns."""
    events = joined.columns.events(xspace.STAGE)
    rows: list[tuple[Any, ...]] = []
    if len(events):
        texts = joined.columns.names
        paths = {
            index: event_names.STAGE_ELEMENT.sub("", texts[index])
            for index in np.unique(events.name).tolist()
        }
        rows = _rows(joined, events, paths)
    columns: dict[str, Any] = {name: [row[at] for row in rows] for at, name in enumerate(_COLUMNS)}
    columns["step"] = np.array(columns["step"], np.int64)
    return columns


def _rows(joined: Joined, events: Events, paths: dict[int, str]) -> list[tuple[Any, ...]]:
    stages, steps = joined.columns.stages, joined.steps
    length = events.end_ns - events.start_ns
    own = _self_ns(events, paths)
    step = steps.of(events.end_ns - 1)
    by_setting = [stage.dataset for stage in stages]
    known = sorted({(path, data or "") for path in paths.values() for data in by_setting})
    numbers = {key: at for at, key in enumerate(known)}
    pairs, inverse = np.unique(
        np.stack([events.name, events.key], axis=1), axis=0, return_inverse=True
    )
    number = np.array([numbers[paths[name], by_setting[key] or ""] for name, key in pairs.tolist()])
    stage = number[inverse.reshape(-1)]
    rows = []
    counted = np.flatnonzero(step >= 0)
    groups, members = np.unique(
        np.stack([step[counted], stage[counted]], axis=1), axis=0, return_inverse=True
    )
    order = np.argsort(members.reshape(-1), kind="stable")
    bounds = np.searchsorted(members.reshape(-1)[order], np.arange(len(groups) + 1))
    for group, (of_step, of_stage) in enumerate(groups.tolist()):
        at = counted[order[bounds[group] : bounds[group + 1]]]
        settings = [stages[key] for key in events.key[at].tolist()]
        path, dataset = known[of_stage]
        rows.append(
            (
                int(steps.number[of_step]),
                path,
                dataset or None,
                len(at),
                float(length[at].sum()) / 1e6,
                float(own[at].sum()) / 1e6,
                *_settings(settings),
            )
        )
    return rows


def _settings(settings: list[StageSettings]) -> tuple[Any, ...]:
    """Return the newest parallelism and buffer, mean number of elements in it, autotuning."""
    held = [each.buffered for each in settings if each.buffered is not None]
    return (
        _last([each.parallelism for each in settings]),
        _last([each.buffer_size for each in settings]),
        sum(held) / len(held) if held else None,
        _last([each.is_autotuned for each in settings]),
    )


def _last(values: list[Any]) -> Any:
    return next((value for value in reversed(values) if value is not None), None)


def _self_ns(events: Events, paths: dict[int, str]) -> Ints:
    """Return each call's length without the calls of the next stage below in its thread."""
    length = events.end_ns - events.start_ns
    own: Ints = length.copy()
    depth_of = {name: path.count("::") for name, path in paths.items()}
    depth = np.array([depth_of[name] for name in events.name.tolist()])
    thread = np.unique(events.thread, return_inverse=True)[1].reshape(-1)
    first = int(events.start_ns.min())
    # Threads one after the other on one axis, so that one search finds the call around another.
    begin = thread * (int(events.end_ns.max()) - first + 1) + events.start_ns - first
    for level in np.unique(depth).tolist():
        inner = np.flatnonzero(depth == level)
        outer = np.flatnonzero(depth == level - 1)
        if not outer.size:
            continue
        outer = outer[np.argsort(begin[outer], kind="stable")]
        at = np.searchsorted(begin[outer], begin[inner], side="right") - 1
        around = outer[np.maximum(at, 0)]
        is_inside = (
            (at >= 0)
            & (thread[around] == thread[inner])
            & (events.end_ns[around] >= events.end_ns[inner])
        )
        np.subtract.at(own, around[is_inside], length[inner[is_inside]])
    return np.maximum(own, 0)
