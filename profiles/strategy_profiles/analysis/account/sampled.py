"""Rows of a part of the loop that was sampled: by kind, then by line of the program."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec.structs import replace

from strategy_profiles.analysis.account.regions import Part, Regions, lines_of_steps, split
from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.program_loops import loops_around
from strategy_profiles.run.event_parts import StackPlace
from strategy_profiles.tables.columns import Bools

MOST_LINES = 6
"""Lines of the program that a kind of row is divided by; the others are one row."""
LONGEST_INTERVAL_MS, LONG_MS, FEW = 125.0, 1000.0, 0.2
"""Mean time between two samples at most; a length in which a fifth of them must be there."""
ENOUGH = 5
"""Samples of one place from which on it has the time in which no sample could be taken."""
SMALLEST = 0.002
"""Share of the loop below which a line has no row of its own."""
BRIEF = 0.01
"""Share of the longest place of a row; after what steps one with less came is not counted."""
_OWN = frozenset({"op", "call", "python"})
_VALIDATES = re.compile(
    r"(?:^|[^a-z])(?:val|valid|validate|validation|eval|evaluate|test)(?=[^a-z]|$)"
)
_VALIDATES_BY_CALL = re.compile(r"(?:^|[^a-z])(?:val|valid|validate|validation|test)(?=[^a-z]|$)")
"""`agent.evaluate(state)` of a `tf.function` may be anything, such as the value of a state."""
_PREDICTS = re.compile(r"(?:^|[^a-z])(?:predict|prediction|infer|inference)(?=[^a-z]|$)")
_SAVES = re.compile(r"(?:^|[^a-z])(?:save|checkpoint)(?=[^a-z]|$)")
_SAVES_MODEL = re.compile(
    r"(?:checkpoint|ckpt|manager|model|net|weights|saver?)\w*\.(?:save|write)|save_(?:weights|model)"
)
_NAMED = {
    "validation": (_VALIDATES, _VALIDATES),
    "predict": (_PREDICTS, _PREDICTS),
    "checkpoint": (_SAVES, _SAVES_MODEL),
}
"""What a loop of the program's own does, by the names of its functions, and by the text of its
line: `val_step(batch)`. A line may save anything, such as a picture."""
_MAKES_ITERATOR = re.compile(r"(?<![\w.])iter\(")
_COORDINATOR, _POLLS = "ClusterCoordinator.", re.compile(r"\bsleep\(|\.done\(\)|\.wait\(")
_CALL_FUNCTIONS = {"validation", "predict"}
"""Parts of the loop in which Keras calls a function that it has made for them."""
Where = Literal["first", "steps", "between"]


def sampled_rows(
    parent: str, regions: Regions, chosen: Bools, total_ms: float, windows_ms: float = 0.0
) -> Iterator[Row]:
    """Rows that add up to a length; the rest if no sample was taken in it.

    `windows_ms` is what starting and stopping the profiler took of it: meanwhile, few samples may
    be taken as well.
    """
    where: Where = "first" if parent.endswith("first") else "between"
    parts = split(regions, chosen, total_ms)
    held_ms = _held_ms(regions, parts, total_ms) if where == "between" else 0.0
    if held_ms:
        parts = split(regions, chosen, total_ms - held_ms)
        of_windows_ms = min(held_ms, windows_ms)
        if of_windows_ms:
            yield Row(f"{parent}/windows", "recording", of_windows_ms, "derived")
        if of_windows_ms < held_ms:
            own_ms = held_ms - of_windows_ms
            yield Row(f"{parent}/lock-held", "own-lines", own_ms, "derived")
    elif not parts and total_ms > 0:
        yield Row(f"{parent}/rest", "rest", total_ms, "rest")
    yield from rows_of(parent, parts, regions, where)


def _held_ms(regions: Regions, parts: Sequence[Part], total_ms: float) -> float:
    """The part of a length in which the sampler could not run, 0 if it ran as it should.

    It needs Python's lock: where it is kept waiting, the program runs code that keeps the lock,
    such as a garbage collection. It gets the lock when that code returns, so if one place has
    several samples, they have the time before them, too. Else the line is not known.
    """
    if any(part.num_samples >= ENOUGH for part in parts):
        return 0.0
    sampled_ms = sum(part.num_samples for part in parts) * LONGEST_INTERVAL_MS
    is_held = regions.stacks.count and total_ms >= LONG_MS and sampled_ms < FEW * total_ms
    return total_ms - sampled_ms if is_held else 0.0


def rows_of(parent: str, parts: Sequence[Part], regions: Regions, where: Where) -> Iterator[Row]:
    """Rows of these parts by kind, the longest first, each followed by its lines."""
    starts = _starting_lines(regions.stacks.places) | _heads_of_loops(regions)
    kinds: dict[tuple[str, str], list[Part]] = defaultdict(list)
    schedules = any(place.call.startswith(_COORDINATOR) for place in regions.stacks.places)
    for part in parts:
        of_place = _kind(part.place, starts, where)
        if schedules and where == "steps" and of_place[0] == "own-lines" and _polls(part.place):
            of_place = "workers", ""
        kinds[of_place].append(part)
    for (kind, name), members in sorted(kinds.items(), key=lambda item: -_ms(item[1])):
        path = f"{parent}/{kind}:{name}" if name else f"{parent}/{kind}"
        row = _row(path, kind, members, call=name or None)
        lines = list(by_line(path, kind, members, SMALLEST * regions.loop_ms))
        if len(lines) == 1:
            row, lines = replace(lines[0], row=path, call=row.call or lines[0].call), []
        yield row
        yield from lines


def kinds_between(places: Sequence[StackPlace]) -> list[str]:
    """The kind of row of each place, between steps."""
    starts = _starting_lines(places)
    return [_kind(place, starts, "between")[0] for place in places]


def _kind(place: StackPlace, starts: set[tuple[str, int]], where: Where) -> tuple[str, str]:
    """Kind of row, and the name that tells it from others of the kind."""
    if place.doing == "tracing" and place.within in _CALL_FUNCTIONS:
        return "tracing", ""  # once per function: not what each validation takes
    if place.doing == "recording":
        return "recording", ""  # in a callback of the lab's, too
    if place.within:
        return place.within, place.call if place.within == "callback" else ""
    if where == "between" and (named := _kind_by_name(place)):
        return named, ""
    if place.doing == "python" and _line_of(place) in starts:
        return "epoch-start", ""  # freeing the last iterator has no frame of its own
    return _plain_kind(place, where), ""


def makes_iterator(place: StackPlace) -> bool:
    """Whether it makes an iterator, or is at a line that does: it frees the last one, which has no
    frame of its own, or waits for the first batch, as `next(iter(dataset))` does."""
    if place.doing not in ("python", "input") or not place.frames:
        return place.doing == "epoch-start"
    return _MAKES_ITERATOR.search(place.frames[-1].text) is not None


def _polls(place: StackPlace) -> bool:
    """Whether the line waits until a coordinator's workers are done, without `join`."""
    return place.doing == "python" and _POLLS.search(place.frames[-1].text) is not None


def _plain_kind(place: StackPlace, where: Where) -> str:
    if where != "between" and place.doing == "function":
        return "running"
    if where == "steps" and place.doing in ("op", "call"):
        return "eager"
    if place.doing in _OWN:
        return "own-lines" if place.frames else "rest"
    return place.doing


def _kind_by_name(place: StackPlace) -> str | None:
    """What the program's own loop does, if a function or the line itself is named after it.

    Not what Keras's `fit` does: its line may name the data of a validation that passed long before.
    """
    if place.doing in ("tracing", "recording", "import") or place.call.endswith(".fit"):
        return None
    names = [frame.function.lower() for frame in place.frames]
    texts = [frame.text.lower() for frame in place.frames[-1:]]
    for kind, (of_name, of_text) in _NAMED.items():
        is_call = kind == "validation" and place.doing == "function"
        of_line = _VALIDATES_BY_CALL if is_call else of_text
        if any(map(of_name.search, names)) or any(map(of_line.search, texts)):
            return kind
    return None


def _starting_lines(places: Iterable[StackPlace]) -> set[tuple[str, int]]:
    """The lines that make iterators, as `for batch in dataset` and `model.fit` do.

    One that calls `iter`, or the head of a loop that takes batches, need not be seen at it: to free
    the last iterator, which both do as well, takes far longer.
    """
    return {
        _line_of(place)
        for place in places
        if place.frames
        and (
            place.doing == "epoch-start"
            or _MAKES_ITERATOR.search(place.frames[-1].text)
            or (place.doing == "input" and place.frames[-1].text.startswith("for "))
        )
    }


def _heads_of_loops(regions: Regions) -> set[tuple[str, int]]:
    """The heads of the loops that take a batch for each step, `for batch in dataset`.

    A batch that is there is taken in no time, so no sample need be taken while one is.
    """
    heads = set[tuple[str, int]]()
    for file, text in regions.stacks.sources.items() if regions.takes_batches else ():
        for line in lines_of_steps(regions, file):
            loops = loops_around(text, line, ())
            if loops and isinstance(loops[-1], ast.For):
                heads.add((file, loops[-1].lineno))
    return heads


def _line_of(place: StackPlace) -> tuple[str, int]:
    return (place.frames[-1].file, place.frames[-1].line) if place.frames else ("", 0)


def by_line(parent: str, kind: str, members: Sequence[Part], smallest_ms: float) -> Iterator[Row]:
    """A row for each of the longest lines, then one for the others."""
    lines: dict[tuple[str, int], list[Part]] = defaultdict(list)
    for member in members:
        lines[_line_of(member.place)].append(member)
    ordered = sorted(lines.items(), key=lambda item: -_ms(item[1]))
    others: list[Part] = []
    for number, ((file, line), parts) in enumerate(ordered):
        if not file or (len(ordered) > 1 and (number >= MOST_LINES or _ms(parts) < smallest_ms)):
            others += parts
            continue
        longest = max(parts, key=lambda part: part.ms).place
        row = _row(f"{parent}/{number}", kind, parts, call=longest.call or None)
        yield replace(row, file=file, line=line, text=longest.frames[-1].text or None)
    if others:
        yield _row(f"{parent}/others", kind, others)


def whole_row(path: str, kind: str, members: Sequence[Part]) -> Row:
    """One row of several parts, with their longest line."""
    line = next(by_line("", kind, members, 0.0))
    return replace(_row(path, kind, members), file=line.file, line=line.line, text=line.text)


def _row(path: str, kind: str, members: Sequence[Part], call: str | None = None) -> Row:
    longest_ms = max(part.ms for part in members)
    gaps = {gap for part in members if part.ms >= BRIEF * longest_ms for gap in part.gaps}
    num_samples = sum(part.num_samples for part in members)
    return Row(path, kind, _ms(members), "sampled", num_samples, len(gaps), call=call)


def _ms(members: Iterable[Part]) -> float:
    return sum(part.ms for part in members)
