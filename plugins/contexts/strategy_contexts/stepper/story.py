"""A recording as the steps that the stepper shows: lane, reason and the values that cross lanes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from strategy_contexts.stepper.reasons import reason

Entry = Mapping[str, Any]
MAX_TEXT = 26
"""Characters on an arrow; the panel of values has all of them."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """Values that cross from one lane to another."""

    start: str
    end: str
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step: control enters a call, leaves it, or the program prints a line."""

    seq: int
    kind: str
    """`enter`, `leave` or `print`."""
    entry: int | None
    """`seq` of the entry; of the call around it for a printed line."""
    context: str
    replica: int | None
    why: str
    text: str = ""
    arrows: list[Arrow] = field(default_factory=list)


def steps(recording: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The steps of a recording, in order, JSON-ready."""
    trace = recording["trace"]
    entries = {entry["seq"]: entry for entry in trace["entries"]}
    replicas = sorted(
        {e["replica"] for e in entries.values() if e["call"] == "enter replica"} - {None}
    )
    story: list[Step] = []
    merging: dict[int | None, Entry] = {}  # the merge_call that each replica is in
    for seq, entry in sorted(entries.items()):
        merging = {of: call for of, call in merging.items() if _is_open(call, seq)}
        story += _of_entry(entry, entries, list(merging.values()), replicas)
        if _is_merge(entry):
            merging[entry["replica"]] = entry
    story += [_of_printed(line, entries) for line in trace["printed"]]
    return [asdict(step) for step in sorted(story, key=lambda step: step.seq)]


def _of_entry(
    entry: Entry, entries: Mapping[int, Entry], merging: Sequence[Entry], replicas: Sequence[int]
) -> Iterable[Step]:
    context = entry["context"], entry["replica"]
    callers = _callers(entry, entries, merging)
    waiting = [call["replica"] for call in merging]
    why = reason(entry, waiting, replicas, is_merged=len(callers) > 0 and _is_merge(callers[0]))
    arrows = [
        # `run` starts the replicas by a call without values of its own.
        Arrow(
            lane(caller),
            lane(entry),
            _values(entry["values_in"] or caller["values_in"], _part(entry, caller)),
        )
        for caller in callers
    ]
    yield Step(entry["seq"], "enter", entry["seq"], *context, why, arrows=arrows)
    is_shown = entry["switch"] or entry["value_out"] or entry["error"]
    if entry["end_seq"] is None or not (is_shown or _is_merge(entry)):
        return
    result = [("", entry["value_out"])] if entry["value_out"] else []
    back = [
        Arrow(lane(entry), lane(caller), _values(result, caller["replica"])) for caller in callers
    ]
    why = reason(entry, waiting, replicas, leaves=True)
    yield Step(entry["end_seq"], "leave", entry["seq"], *context, why, arrows=back)


def _of_printed(line: Mapping[str, Any], entries: Mapping[int, Entry]) -> Step:
    # A recording of an older version has the context of a printed line only in its caller.
    around = entries.get(line["parent"]) or {"context": "default", "replica": None}
    parent = line if "context" in line else around
    return Step(
        line["seq"], "print", line["parent"], parent["context"], parent["replica"], "", line["text"]
    )


def _callers(entry: Entry, entries: Mapping[int, Entry], merging: Sequence[Entry]) -> list[Entry]:
    """The calls from which control came in; every replica's for a merge function."""
    parent = entries.get(entry["parent"]) if entry["switch"] else None
    if parent is None or lane(parent) == lane(entry):
        return []
    return list(merging) if _is_merge(parent) else [parent]


def _is_merge(entry: Entry) -> bool:
    return bool(entry["call"] == "merge_call")


def _is_open(entry: Entry, seq: int) -> bool:
    return entry["end_seq"] is None or bool(entry["end_seq"] > seq)


def lane(entry: Entry) -> str:
    """The lane of a context: one for each replica, one for every other context."""
    if entry["context"] == "replica" and entry["replica"] is not None:
        return f"replica {entry['replica']}"
    return str(entry["context"])


def _part(entry: Entry, caller: Entry) -> int | None:
    """Of which replica a value's component crosses; None for the whole value."""
    replica = caller["replica"] if caller["context"] == "replica" else entry["replica"]
    return replica if isinstance(replica, int) else None


def _values(values: Iterable[Any], replica: int | None) -> str:
    texts = [(name, _text(value, replica)) for name, value in values]
    texts = [("" if name.startswith("args") else name, each) for name, each in texts if each]
    text = ", ".join(f"{name} = {each}" if name else each for name, each in texts)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def _text(value: Mapping[str, Any], replica: int | None) -> str:
    parts = value["components"]
    own = [part for part in parts if part["replica"] == replica]
    if parts:
        return " | ".join(_value_text(part) for part in (own or parts))
    return ", ".join(text for _, item in value["items"] if (text := _text(item, replica)))


def _value_text(part: Mapping[str, Any]) -> str:
    """The number in a component of a value, or its type and shape if the trace has no number."""
    number = part["value"]
    if number is None:  # large, or symbolic while a function is traced
        return f"{part['dtype']}{part['shape']}" if part["shape"] is not None else part["dtype"]
    return f"{number:.4g}" if isinstance(number, float) else str(number)
