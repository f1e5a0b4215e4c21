"""What a finding says of a row of the account: its line, its share, how it comes about."""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.account.sampled import ENOUGH
from strategy_profiles.analysis.cost import Cost
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.reporting import units

SHARE = 0.05
"""Of the loop without its first step: a row that takes less has no finding."""
SHORTEST_MS = 1.0
"""Of each time that it happens: loops and Keras's own callbacks take less."""
FEWEST_OF_LARGE, LARGE = 3, 0.2
"""So few samples of a row are enough, instead of `ENOUGH`, if it is this share of the loop."""


def large_rows(facts: Facts, kind: str, parent: str = "loop/between") -> list[Row]:
    """The rows of a kind between steps, or below another row, that are worth a finding."""
    rows = [row for row in facts.account.children(parent) if row.kind == kind]
    return [row for row in rows if _is_large(facts, row)]


def _is_large(facts: Facts, row: Row) -> bool:
    share = facts.account.share_of_usual(row)
    fewest = FEWEST_OF_LARGE if share >= LARGE else ENOUGH
    is_known = row.num_samples is None or row.num_samples >= fewest
    is_long = row.total_ms >= SHORTEST_MS * (row.num_times or 1)
    return is_known and is_long and share >= SHARE


def rows_as_findings(
    facts: Facts, key: str, kind: str, does: str, advice: str
) -> Iterator[Finding]:
    """A finding for each row of a kind that is worth one: `Validation takes 41 % of the loop`."""
    for row in [*large_rows(facts, kind), *large_rows(facts, kind, "loop/steps")]:
        yield finding(
            facts,
            key,
            f"{does} {how_long(facts, row)}{at_line(facts, row)}.",
            advice,
            cost_of(facts, row),
            place=main_line(facts, row).place,
        )


def main_line(facts: Facts, row: Row) -> Row:
    """The line that most of a row's time passes at; the row itself if it has only one."""
    lines = [line for line in facts.account.children(row.row) if line.place]
    return lines[0] if lines else row


def at_line(facts: Facts, row: Row) -> str:
    """` at train.py:62 (`for x, y in data`)`, with its share if that is not all of the row."""
    line = main_line(facts, row)
    if line.place is None:
        return ""
    text = f" (`{line.text}`)" if line.text else ""
    part = line.total_ms / row.total_ms if row.total_ms else 1.0
    if part > 0.9:
        return f" at {line.place}{text}"
    return f", {units.share(part)} of it at {line.place}{text}"


def how_long(facts: Facts, row: Row) -> str:
    """`41 % of the loop, 3.2 s in all`, or of what happens often `..., 3.57 ms a step`."""
    share = units.share(facts.account.share(row))
    if row.num_times is not None and row.num_times < facts.account.num_steps / 2:
        each = units.seconds(row.total_ms / row.num_times / 1e3)
        times = "once" if row.num_times == 1 else f"{row.num_times:,} times {each}"
        total = units.seconds(row.total_ms / 1e3)
        return f"{share} of the loop ({total} in all, {times})"
    return f"{share} of the loop ({units.milliseconds(facts.account.ms_per_step(row))} a step)"


def cost_of(facts: Facts, *rows: Row) -> Cost | None:
    """What rows of the account cost."""
    return facts.account.cost(sum(row.total_ms for row in rows), rows[0].source)
