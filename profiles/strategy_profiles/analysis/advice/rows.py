"""What a finding says of a row of the account: its line, its share, how it comes about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.account.sampled import ENOUGH
from strategy_profiles.analysis.cost import Cost
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import SourceLine

SHARE = 0.05
"""Of the loop without its first step: a row that takes less has no finding."""
SHORTEST_MS = 1.0
"""Of each time that it happens: loops and Keras's own callbacks take less."""
PARENTS = ("loop/between", "loop/steps")
FEWEST_OF_LARGE, LARGE = 3, 0.2
"""So few samples of a row are enough, instead of `ENOUGH`, if it is this share of the loop."""


ALSO = 0.25
"""Part of a row that a second line takes, to be named."""
FEWEST_STEPS = 2
"""With fewer steps a length is that of all that the program did, not of a step."""
SEEN_EACH_TIME_MS = 250.0
"""Two mean intervals of the sampler: what is shorter happens more often than it is seen."""


def large_rows(facts: Facts, kind: str, parent: str = "loop/between") -> list[Row]:
    """The rows of a kind between steps, or below another row, that are worth a finding."""
    rows = [row for row in facts.account.children(parent) if row.kind == kind]
    return [row for row in rows if _is_large(facts, row)]


def large_parts(facts: Facts, kind: str, has: Callable[[Row], bool]) -> list[list[Row]]:
    """Of each row of a kind between steps the lines that have something, worth a finding together;
    the row itself if all of its lines have it."""
    parts = []
    for row in large_rows(facts, kind):
        lines = facts.account.children(row.row) or [row]
        some = [line for line in lines if has(line)]
        if len(some) == len(lines):
            parts.append([row])
        elif some and _is_large(facts, _sum(row, some)):
            parts.append(some)
    return parts


def _sum(row: Row, lines: list[Row]) -> Row:
    """A row with the time of some of its lines."""
    num_samples = sum(line.num_samples or 0 for line in lines)
    return replace(row, total_ms=sum(line.total_ms for line in lines), num_samples=num_samples)


def _is_large(facts: Facts, row: Row) -> bool:
    share = facts.account.share_of_usual(row)
    fewest = FEWEST_OF_LARGE if share >= LARGE else ENOUGH
    is_known = row.num_samples is None or row.num_samples >= fewest
    is_long = row.total_ms >= SHORTEST_MS * (row.num_times or 1)
    return is_known and is_long and share >= SHARE


def anywhere(kind: str) -> tuple[str, ...]:
    """The rows of a kind in steps and between them: it is one cost, wherever a step ends."""
    return tuple(f"{parent}/{kind}" for parent in PARENTS)


def rows_anywhere(facts: Facts, kind: str) -> list[Row]:
    """The rows of a kind in steps and between them that are worth a finding."""
    return [row for parent in PARENTS for row in large_rows(facts, kind, parent)]


def rows_as_finding(facts: Facts, key: str, kind: str, does: str, advice: str) -> Iterator[Finding]:
    """What is worth saying of a kind, wherever it happens: `Validation takes 41 % of the loop`."""
    if rows := rows_anywhere(facts, kind):
        yield finding(
            facts,
            key,
            f"{does} {how_long(facts, *rows)}{at_line(facts, *rows)}.",
            advice,
            cost_of(facts, *rows),
            place=main_line(facts, *rows).place,
        )


def main_line(facts: Facts, *rows: Row) -> Row:
    """The line that most of the rows' time passes at; a row itself if it has only one line."""
    lines = [line for row in rows for line in facts.account.children(row.row) if line.place]
    lines = lines or list(rows)
    total_ms: dict[str | None, float] = defaultdict(float)
    for line in lines:
        total_ms[line.place] += line.total_ms
    longest = max(lines, key=lambda line: total_ms[line.place])
    return replace(longest, total_ms=total_ms[longest.place])


def at_line(
    facts: Facts, *rows: Row, line: Row | None = None, loop: SourceLine | None = None
) -> str:
    """` at train.py:62 (`for x, y in data`)`, with its share if that is not all of the rows: of the
    line that most of it passes at, or of another one, or of the loop that this one is in."""
    line = line or main_line(facts, *rows)
    if line.place is None:
        return ""
    text = f" (`{line.text}`)" if line.text else ""
    where = f"at {line.place}{text}"
    if loop is not None:
        where = f"in the loop at {loop.place} (`{loop.text.strip()}`)"
    whole_ms = sum(row.total_ms for row in rows)
    part = line.total_ms / whole_ms if whole_ms else 1.0
    if part > 0.9:
        return f" {where}"
    also = "" if loop else _also_at(facts, rows, line, whole_ms)
    return f", {units.share(part)} of it {where}{also}"


def _also_at(facts: Facts, rows: Sequence[Row], line: Row, whole_ms: float) -> str:
    """`, 40 % at train.py:63`: the second line of the rows, if it takes a large part as well."""
    others = [
        each
        for row in rows
        for each in facts.account.children(row.row)
        if each.place and each.place != line.place
    ]
    second = max(others, key=lambda each: each.total_ms, default=None)
    if second is None or second.total_ms < ALSO * whole_ms:
        return ""
    return f", {units.share(second.total_ms / whole_ms)} at {second.place}"


def how_long(facts: Facts, *rows: Row) -> str:
    """`41 % of the loop, 3.2 s in all`, or of what happens often `..., 3.57 ms a step`."""
    share = units.share(sum(facts.account.share(row) for row in rows))
    num_times, num_steps = max(row.num_times or 0 for row in rows), facts.account.num_steps
    if 0 < num_times < num_steps / 2 or num_steps < FEWEST_STEPS:
        total_ms = sum(row.total_ms for row in rows)
        each_ms, total = total_ms / max(1, num_times), units.seconds(total_ms / 1e3)
        is_seldom_seen = rows[0].source == "sampled" and each_ms < SEEN_EACH_TIME_MS
        if len(rows) > 1 or is_seldom_seen or num_steps < FEWEST_STEPS:
            return f"{share} of the loop ({total} in all)"
        times = "once" if num_times == 1 else f"{num_times:,} times {units.seconds(each_ms / 1e3)}"
        return f"{share} of the loop ({total} in all, {times})"
    each_ms = sum(facts.account.ms_per_step(row) for row in rows)
    return f"{share} of the loop ({units.milliseconds(each_ms)} a step)"


def cost_of(facts: Facts, *rows: Row) -> Cost | None:
    """What rows of the account cost."""
    return facts.account.cost(sum(row.total_ms for row in rows), rows[0].source)


def said_of_growth(grown: tuple[float, float] | None) -> str:
    """` It grows: 2.1 ms in the first quarter ...`; empty if the gaps between steps do not grow."""
    if grown is None:
        return ""
    first, last = map(units.milliseconds, grown)
    return f" It grows: {first} in the first quarter of the steps, {last} in the last."
