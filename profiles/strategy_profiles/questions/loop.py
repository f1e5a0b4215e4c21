"""Where does the time of the loop go: at which lines of the program, and for what?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, groupby

import numpy as np
from msgspec.structs import replace

from strategy_profiles.analysis.account.account import Account
from strategy_profiles.analysis.account.kinds import KINDS
from strategy_profiles.analysis.account.regions import Line, regions_of
from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.account.source_lines import LoopLine, loop_lines
from strategy_profiles.analysis.advice.rules.input_bound import line_of_input
from strategy_profiles.analysis.facts import Facts
from strategy_profiles.analysis.steps import longest_captured_step
from strategy_profiles.answers.answer import (
    Answer,
    Code,
    CodeLine,
    Column,
    Part,
    Share,
    Shares,
    Table,
    is_named,
    table,
)
from strategy_profiles.reporting.palette import part_colours
from strategy_profiles.tables.store import Profile

KEY = "loop"
SMALLEST = 0.01
"""Share of the loop below which a row is not shown; the table `account` has all."""
TITLE = "Where the loop's time goes"
_ACCOUNT = (
    "The wall time of the thread that trains, divided once: the parts of a row add up to it. "
    "Sampled parts are of the thread's stack, 8 to 20 times a second; derived ones are of captured "
    "steps, scaled to all."
)
_PROGRAM = (
    "From the start of the process to its end: before training, the loop, after it. What comes "
    "before and after is sampled like the loop."
)
_LINES = (
    "Time of the loop and of its first step by line of the program, per step, from samples of the "
    "thread that trains. A step's time is at the line that calls it, that of its ops at the lines "
    "that made them, and the wait for a batch at that of the limiting stage, as far as captured "
    "steps tell."
)


def loop(profile: Profile, facts: Facts) -> Answer:
    """Return the answer for a segment: its lines, its parts, and every row of its account."""
    if not facts.account.loop_ms:
        return Answer(KEY)
    account = facts.account
    return Answer(
        KEY,
        parts=(_shares(account), *_code(profile, facts), _rows(account), *_program(account)),
    )


def _code(profile: Profile, facts: Facts) -> tuple[Part, ...]:
    # not above: the help of verbs that end with this answer would import all rules
    from strategy_profiles.analysis.findings import main_finding

    main = main_finding(facts)
    said = main.sentence if main else ""
    if main and len(profile.workers) > 1:  # the advice names what the late one is at
        said = f"{said} {main.advice}"
    lines = loop_lines(profile, facts.segment.segment, line_of_input(facts), said)
    step = longest_captured_step(profile, facts.segment.segment)
    calls = _lines_that_call_steps(profile, facts.segment.segment) if step is not None else ()

    def with_step(each: LoopLine) -> CodeLine:
        called = step if (each.file, each.line) in calls and each.share is not None else None
        named = is_named(each.file, each.line, said)
        return CodeLine(each.line, each.text, each.ms_per_step, each.share, called, named)

    files = tuple(
        (file.rpartition("/")[2], tuple(map(with_step, own)))
        for file, own in groupby(lines, key=lambda each: each.file)
    )
    title = "Which lines take it, first step included"
    return (Code("code", title, files, definition=_LINES),) if files else ()


def _lines_that_call_steps(profile: Profile, segment: int) -> set[Line]:
    """The lines at which the thread was for more of its time during steps than between them."""
    regions = regions_of(profile, segment)
    if regions is None:
        return set()
    balance: dict[Line, float] = defaultdict(float)
    stacks = regions.stacks
    signed = stacks.for_ms * (regions.is_step.astype(int) - regions.is_between)
    by_place = np.bincount(stacks.place, signed, len(stacks.places))
    for place, ms in zip(stacks.places, by_place.tolist(), strict=True):
        for frame in place.frames[-1:]:
            balance[frame.file, frame.line] += ms
    return {line for line, ms in balance.items() if ms > 0}


def _shares(account: Account) -> Shares:
    """The first step, the phases of the others, and what happens between them."""
    rows = [
        row
        for path in ("loop", "loop/steps", "loop/between")
        for row in account.children(path)
        if row.row not in ("loop/steps", "loop/between")
    ]
    for path in ("loop/steps", "loop/between"):
        whole = account.row(path)
        if whole and not account.children(path):
            rows.append(whole)
    rows = list(_by_title(account, rows))
    large = [row for row in rows if account.share(row) >= SMALLEST]
    left_ms = (account.loop_ms or 0.0) - sum(row.total_ms for row in large)
    if account.loop_ms and left_ms >= account.loop_ms * SMALLEST / 2:
        large.append(Row("loop/others", "others", left_ms, "rest"))
    numbers = {kind: number for number, kind in enumerate(KINDS)}
    colours = part_colours({row.kind: numbers.get(row.kind, 0) for row in large})
    parts = tuple(
        Share(_title(row), account.ms_per_step(row), account.share(row), colours[row.kind])
        for row in large
    )
    return Shares("shares", TITLE, parts, definition=_ACCOUNT)


def _by_title(account: Account, rows: Sequence[Row]) -> Iterator[Row]:
    """Rows of one title as one; the first step alone, as in the finding on it."""
    named: dict[str, list[Row]] = defaultdict(list)
    for row in chain.from_iterable(map(partial(_alone, account), rows)):
        named[_title(row)].append(row)
    for same in named.values():
        yield replace(same[0], total_ms=sum(row.total_ms for row in same))


def _alone(account: Account, row: Row) -> Iterator[Row]:
    """The row; that of the first step without what the loop and the recorder do beside it."""
    if row.row != "loop/first":
        yield row
        return
    recorder = account.row("loop/first/recording")
    recorded_ms = recorder.total_ms if recorder else 0.0
    before_ms = row.total_ms - recorded_ms - account.first_ms
    yield Row("loop/before-first", "before-first", before_ms, "derived")
    yield replace(row, total_ms=account.first_ms)
    if recorder:
        yield recorder


def _rows(account: Account) -> Table:
    rows = [row for row in _below(account, "loop") if account.share(row) >= SMALLEST]
    columns = (
        Column("title", "Part", "name", value=_title),
        Column("ms_per_step", "Time per step", "ms", value=account.ms_per_step),
        Column("share", "Of the loop", "share", value=account.share),
        Column("source", "Source"),
        Column("where", "Where", "name", value=_where),
    )
    depths = tuple(row.row.count("/") for row in rows)
    return table(
        "account", "Account of the loop", rows, columns, definition=_ACCOUNT, depths=depths
    )


def _below(account: Account, path: str) -> Iterator[Row]:
    """A row, and after each row its parts, as indented below it."""
    if row := account.row(path):
        yield row
    for part in account.children(path):
        yield from _below(account, part.row)


def _program(account: Account) -> Iterator[Table]:
    """What comes before the loop and after it, if the whole program was sampled."""
    program = account.row("program")
    if program is None or not program.total_ms:
        return
    whole_ms = program.total_ms
    loop_row = account.row("loop")
    outside = [row for row in account.rows if row.row.startswith("program/")]
    after = [row for row in outside if row.row.startswith("program/after")]
    before = [row for row in outside if row not in after]
    ordered = [program, *before, *([loop_row] if loop_row else []), *after]
    rows = [row for row in ordered if row.total_ms >= SMALLEST * whole_ms]
    columns = (
        Column("title", "Part", "name", value=_title),
        Column("total_s", "Time", "s", value=lambda row: row.total_ms / 1e3),
        Column("share", "Of the program", "share", value=lambda row: row.total_ms / whole_ms),
        Column("source", "Source"),
        Column("where", "Where", "name", value=_where),
    )
    depths = tuple(1 if row.row == "loop" else row.row.count("/") for row in rows)
    yield table(
        "program", "Account of the program", rows, columns, definition=_PROGRAM, depths=depths
    )


def _title(row: Row) -> str:
    if row.op:
        return row.op
    if row.row.endswith("/others"):
        return "Others"
    title = KINDS.get(row.kind, (row.kind, ""))[0]
    if row.kind == "callback" and row.call:
        return f"{title} {row.call}"
    return "Line" if row.row.rpartition("/")[2].isdigit() else title


def _where(row: Row) -> str:
    """The line of the program, or the layer of an op; empty if it has none. What the line says is
    in the listing of the lines above."""
    return row.place or row.layer or ""
