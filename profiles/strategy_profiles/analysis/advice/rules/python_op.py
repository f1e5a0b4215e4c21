"""An op runs Python inside the graph.

## What it does

Adds up the time in which any replica runs a `py_function` or `numpy_function` op: 10 % of a step
or more, and names the line inside that most samples are at. The lab's own delay is left out.

## Why is this slow

The op holds the GIL and runs on the host: replicas run it one after the other, and on an
accelerator its tensors travel there and back.

## What to do

Replace it with TensorFlow ops. In the input pipeline it holds the GIL as well, but there `cache()`
can keep what is the same in each epoch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from strategy_profiles.analysis.account.op_time import at_place
from strategy_profiles.analysis.advice.line_advice import advice_on_python, most_of_python
from strategy_profiles.analysis.causes import Cause
from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.run.injected_delay import is_injected
from strategy_profiles.run.op_scopes import without_replica

KEY = "python-op"
ROWS = ("loop/steps/compute", "loop/steps/wait")
_WAITS = re.compile(r"\b(?:sleep|urlopen|recv|requests\.\w+)\(")
"""What a line says that waits and computes nothing."""
HELD_SHARE = 0.1
"""A cause of idling is named from this share of a step on."""


def find(facts: Facts) -> Iterator[Finding]:
    """Ops that leave the graph to run Python."""
    wall, every = facts.breakdown.mean_ms("wall"), _ops_of_program(facts)
    if not wall or not every:
        return
    held_ms = min(wall, sum(cause.held_ms for cause in every))
    if held_ms / wall < HELD_SHARE:
        return
    longest = max(every, key=lambda cause: (cause.each_ms or 0.0) * cause.count)
    line = facts.line_of.get(longest.name)
    at = at_place(line)
    others = " and others" if len({without_replica(cause.name) for cause in every}) > 1 else ""
    kind = "" if longest.name == longest.detail else f" ({longest.detail})"
    in_turn = (
        ", in one replica after the other" if len({each.replica for each in every}) > 1 else ""
    )
    yield finding(
        facts,
        KEY,
        f"{of_a_step(facts, held_ms, wall)} runs Python inside the graph{in_turn}: the op "
        f"{longest.name}{kind}{others}{at}.{most_of_python(facts)}",
        _advice(facts),
        per_step(facts, held_ms, wall),
        op=longest.name,
        line=line,
        held_ms=held_ms,
    )


def _advice(facts: Facts) -> str:
    """Python that waits is helped by waiting for many things at once; other Python is not."""
    inside = facts.read_python_in_ops(0)
    lock = inside.lock if inside is not None else None
    in_turn = (
        f"The calls wait for each other at {lock.place} (`{lock.text}`): hold the lock only for "
        "what they share, and wait outside of it. "
        if lock
        else ""
    )
    if inside is not None and _WAITS.search(inside.line.text):
        return (
            f"{in_turn}The Python waits and computes nothing: call it in the dataset's map(), "
            "behind batch(), with num_parallel_calls=16 and prefetch(). tf.data has one thread for "
            "each core: set options.threading.private_threadpool_size to 16, too."
        )
    return (
        f"{in_turn}Replace py_function or numpy_function with TensorFlow ops. In the dataset's "
        "map() it would keep Python's lock from the step as well, so it gains there only with a "
        "cache() behind it."
        f"{advice_on_python(facts)}"
    )


def _ops_of_program(facts: Facts) -> list[Cause]:
    """The ops that run Python of the program, and no delay that the lab injected."""
    causes = facts.held_up.of_kind("python-op")
    return [cause for cause in causes if not is_injected(cause.name, "PyFunc")]


def of_turns_ms(facts: Facts) -> float:
    """Time of a captured step in which replicas of one process run Python, 0 if only one does.

    TensorFlow runs such ops of a function one after the other, so the last replica is late by up to
    this time because it waits for its turn.
    """
    own = _ops_of_program(facts)
    is_shared = facts.segment.num_workers == 1 and len({cause.replica for cause in own}) > 1
    return sum(cause.held_ms for cause in own) if is_shared else 0.0


def removal(facts: Facts, result: Finding) -> Removal:
    """With Python ops of this type that take no time: the most that TensorFlow ops can save."""
    known = {cause.name: cause.detail for cause in facts.held_up.of_kind("python-op")}
    op = result.evidence["op"]
    return Removal("free-ops", kind_of_op=known.get(op) or op, is_bound=True)
