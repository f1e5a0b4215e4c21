"""The program's own code between steps takes a large part of the loop.

## What it does

Takes the time between steps in which the program runs its own lines, eager ops, or a `tf.function`
that is not the step: 5 % of the loop or more, with the line that takes most of it. Says so if the
gaps grow: the median of each quarter of the run is longer than that of the one before, and the last
twice the first. Of a line at which the process uses less than a quarter of a core it says that it
waits. Of a line that calls nothing it names the loop: Python lets other threads run at calls and at
the ends of loops, so the samples of such a line may be of those before it. So it does where lines
of one loop take more together than any line. Of a run without samples it says how long the gaps
are, not what fills them. Beside another thread that runs Python a line may wait for that.

## Why is this slow

No replica has anything to do until the next step begins, and no step time includes this.

## What to do

Move work on data into the input pipeline (`map`, in parallel), put several eager ops into one
`tf.function`, compute with whole NumPy arrays instead of a Python loop, do the rest every few
steps. If the gaps grow, each step works on all that the steps before it left, such as a list of
losses: keep a running sum or a metric.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.advice.line_advice import (
    WAITS,
    advice_by_text,
    advice_by_work,
    of_search,
)
from strategy_profiles.analysis.advice.rows import (
    at_line,
    cost_of,
    how_long,
    large_parts,
    main_line,
    said_of_growth,
)
from strategy_profiles.analysis.advice.rules import argument_copy, busy_thread, growing_steps
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.analysis.growth import growth
from strategy_profiles.analysis.line_work import LineWork
from strategy_profiles.analysis.program_loops import function_around
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import SourceLine

KEY = "between-steps"
ROWS = (
    "loop/between/own-lines",
    "loop/between/lock-held",
    "loop/between/function",
    "loop/between/rest",
)
NO_GAIN = "What runs between the steps is not an op of the replayed step."
_LESS_OFTEN = (
    "If it computes the same each time, compute it once, before the loop. If some steps can do "
    "without it, run it every few steps."
)
_ON_DATA = "Work on data can be done in the dataset's map(), beside the steps."
_MAY_LOOP = "If it is a Python loop, compute with whole NumPy arrays instead."
_ONCE_A_STEP = "Make it a part of the step or, if not each step needs it, call it every few steps."
_LOOPS = re.compile(r"\bfor\b.*\bin\b")
_IN_A_LOOP = (
    "It is called in a loop: run the loop less often, over fewer or larger batches, or inside of "
    "the tf.function, which may loop over a dataset."
)
_ONLY_A_CALL = re.compile(r"(?:[\w, ]{1,80} = )?([A-Za-z_][\w.]{0,80})\([^()]{0,200}\)")
_WAITS = (
    *("Queue.get", "Condition.wait", "Event.wait", "Future.result", "Thread.join"),
    *("ApplyResult.get", "IMapIterator.next", "_ConnectionBase.recv"),
)
_BY_ELEMENT = ("_TensorIterator.", "_slice_helper")
MANY_LINES = 1.1
"""Time of the lines of a loop, over that of the longest line, from which on it is the loop."""
_PARTS = ("own-lines", "host-read")
MUCH_MORE = 1.3
"""Time of all lines of a function, over that of one kind of them, from which on to name it."""
_FEW_OPS = 2
"""A line that calls more ops than these computes with the elements that it takes."""
_SUBJECT = {
    "own-lines": "Between steps the program's own code",
    "function": "Between steps a tf.function that is not the step",
    "rest": "Between steps something that was not sampled",
}


def find(facts: Facts) -> Iterator[Finding]:
    for kind, subject in _SUBJECT.items():
        if kind == "rest" and facts.account.is_sampled:
            continue  # so short that no sample fell into it
        for rows in large_parts(facts, kind, _is_no_copy):
            line, work, loop = _longest(facts, rows)
            grown = growth(facts.between.gaps_ms)
            adds = grown or (_adds(line) and any(growing_steps.find(facts)))
            growth_words = f"{said_of_growth(grown)}{_adding(facts, line) if grown else ''}"
            at = at_line(facts, *rows, line=line, loop=loop)
            whole = _whole_function(facts, line, rows)
            yield finding(
                facts,
                KEY,
                f"{subject} takes {how_long(facts, *rows)}{at}.{whole}{growth_words}",
                _on_growth(work) if adds else _advice(facts, line, work),
                cost_of(facts, *rows),
                grows_ms=list(grown) if grown else None,
                place=(loop or line).place,
            )


def _longest(facts: Facts, rows: Sequence[Row]) -> tuple[Row, LineWork, SourceLine | None]:
    """The line that most of the time passes at, and the loop to name instead, if any: where lines
    of one Python loop take more than any line alone, the longest of these, with their time."""
    longest = main_line(facts, *rows)
    lines = [line for row in rows for line in facts.account.children(row.row) or [row]]
    of_loop: dict[str, list[tuple[Row, LineWork]]] = defaultdict(list)
    for line in lines:
        if line.file and line.line:
            work = facts.read_line_work(line.file, line.line)
            if work.loops:
                of_loop[work.loops[0].place].append((line, work))
    in_loop = max(of_loop.values(), key=_total_ms, default=[])
    if len(in_loop) > 1 and _total_ms(in_loop) >= MANY_LINES * longest.total_ms:
        line, work = max(in_loop, key=lambda each: each[0].total_ms)
        return replace(line, total_ms=_total_ms(in_loop)), work, work.loops[-1]
    work = facts.read_line_work(longest.file or "", longest.line or 0)
    is_loop = work.loops and "(" not in (longest.text or "")
    return longest, work, work.loops[-1] if is_loop else None


def _whole_function(facts: Facts, line: Row, rows: Sequence[Row]) -> str:
    """` All of `follow` takes 67 % of the loop ...`: where its other lines read results or copy
    arrays, which other findings have. Not of a function that the steps are in."""
    function = function_around(facts.sources.get(line.file or "", ""), line.line or 0)
    if function is None or function.end_lineno is None:
        return ""
    inside = range(function.lineno, function.end_lineno + 1)
    own = [row for row in facts.account.rows if row.file == line.file and (row.line or 0) in inside]
    between = [row for row in own if row.row.startswith("loop/between/") and row.kind in _PARTS]
    parts = [row for row in between if not facts.account.children(row.row)]
    total_ms, rows_ms = sum(row.total_ms for row in parts), sum(row.total_ms for row in rows)
    has_steps = any(row.row.startswith(("loop/first", "loop/steps")) for row in own)
    if has_steps or total_ms < MUCH_MORE * rows_ms:
        return ""
    share = units.share(sum(facts.account.share(row) for row in parts))
    return (
        f" All of `{function.name}`, with the results that it reads and the arrays that it copies, "
        f"takes {share} of the loop."
    )


def _total_ms(lines: Sequence[tuple[Row, LineWork]]) -> float:
    return sum(line.total_ms for line, _ in lines)


def _is_no_copy(line: Row) -> bool:
    return not argument_copy.makes_tensor(line)  # `argument-copy` reports those


def _on_growth(work: LineWork) -> str:
    """What grows may be a list that is searched."""
    return of_search(work.searches) if work.searches else growing_steps.ADVICE


def _adding(facts: Facts, line: Row) -> str:
    """` train.py:56 (`...`) adds to a tensor or a list.`: what makes another line take longer."""
    adding = None if _adds(line) else growing_steps.adding_line(facts)
    return f" {growing_steps.said_of_adding(adding)}" if adding else ""


def _adds(line: Row) -> bool:
    return growing_steps.ADDS.search(line.text or "") is not None


def _advice(facts: Facts, line: Row, work: LineWork) -> str:
    if line.kind == "function":
        return _IN_A_LOOP if work.loops or _LOOPS.search(line.text or "") else _ONCE_A_STEP
    if (line.call or "").startswith(_BY_ELEMENT) and work.num_ops <= _FEW_OPS:
        return (
            "Each element that Python takes of a tensor is an op: call .numpy() once, and take "
            "elements of the array, or compute with all of it at once."
        )
    if line.call in _WAITS:
        return (
            "The line waits for another thread or process of the program: let it work ahead (a "
            "longer queue, more processes; threads take turns in Python), or make the batches with "
            "tf.data."
        )
    if advice := advice_by_text(facts, line):
        return advice
    if advice := advice_by_work(facts, line):
        return advice if advice == WAITS or work.runs_ops else f"{advice} {_LESS_OFTEN}"
    return _of_unknown(facts, line)


def _of_unknown(facts: Facts, line: Row) -> str:
    if any(busy_thread.find(facts)):
        return "The line may wait for the other threads that run Python: see that finding."
    called = line.call or _called((line.text or "").strip())
    lead = f"The line calls {called}." if called else _MAY_LOOP
    on_data = f" {_ON_DATA}" if facts.lines_with(".map(") else ""
    return f"{lead} {_LESS_OFTEN}{on_data}"


def _called(text: str) -> str | None:
    """`gc.collect` of a line that does nothing but call it: a function in C has no frame."""
    match = _ONLY_A_CALL.fullmatch(text)
    return match[1] if match else None
